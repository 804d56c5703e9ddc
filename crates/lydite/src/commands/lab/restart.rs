//! `lydite lab restart`.

use super::directories::directory;
use super::kind::Kind;
use super::note::Lab;
use super::servers::{Programs, in_parallel};
use crate::exit::{Failure, Outcome};
use crate::output::{complain, print};
use std::path::PathBuf;

/// Starts the servers of a lab that have ended again, on the data that they have, and prints the lab's URL. `place` is
/// `NAME`, or `NAME/NODE` for one server.
pub(super) fn restart(place: &str, dir: Option<PathBuf>) -> Outcome {
    let (name, node) = match place.split_once('/') {
        None => (place, None),
        Some((name, node)) => {
            let node: usize = node.parse().map_err(|_| {
                Failure::usage(format!("{place}: {node:?} is no node: write for example {name}/0"))
            })?;
            (name, Some(node))
        }
    };
    let kind = Kind::named(name)?;
    if !kind.servers.start_again() {
        return Err(Failure::usage(
            "restart is not for galera, whose nodes start each other: end the lab with: lydite lab down galera, and \
             start another",
        ));
    }
    let directory = directory(kind, dir)?;
    let lab = Lab::of(kind, &directory)?;
    // Held until this program ends.
    let _starting = Lab::lock(&directory)?;
    let count = lab.servers.len();
    if let Some(node) = node.filter(|node| *node >= count) {
        return Err(Failure::usage(format!("lab {name} has no node {node}: use 0 to {}", count - 1)));
    }
    let programs = Programs::find(kind.servers)?;
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for (number, server) in lab.servers.iter().enumerate() {
        if node.is_none_or(|node| node == number) && !server.answers() {
            if number == 0 { first.push(server) } else { others.push(server) }
        }
    }
    let started = first.len() + others.len();
    // A primary, a coordinator and NATS before the others.
    for (servers, is_first) in [(first, true), (others, false)] {
        in_parallel(&directory, servers, |server| {
            programs.start_again(kind.servers, is_first, server, &lab)
        })?;
    }
    complain(&match started {
        0 => "all servers run already".to_owned(),
        1 => "a server runs again".to_owned(),
        _ => format!("{started} servers run again"),
    });
    print(&format!("{}\n", lab.arguments()))
}
