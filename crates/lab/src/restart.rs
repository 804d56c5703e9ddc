//! `lydite lab restart`.

use crate::directories::directory;
use crate::kind::{Kind, Servers};
use crate::note::Lab;
use crate::servers::{Programs, kill};
use crate::trial;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, print};
use lydite_database::secret::shown;
use std::path::PathBuf;

/// Starts the servers of a lab that have ended again, on the data that they have, and prints the lab's URL. `place` is
/// `NAME`, or `NAME/NODE` for one server.
///
/// # Errors
/// There is no such lab or server, or a server does not start.
pub fn restart(place: &str, dir: Option<PathBuf>) -> Outcome {
    let (name, node) = match place.split_once('/') {
        None => (place, None),
        Some((name, node)) => {
            let node: usize = node.parse().map_err(|_| {
                Failure::usage(format!("{} is no node: write KIND/NODE, for example pg/0", shown(place)))
            })?;
            (name, Some(node))
        }
    };
    let kind = Kind::named(name)?;
    let directory = directory(kind, dir)?;
    let lab = Lab::of(kind, &directory)?;
    // Held until this program ends.
    let starting = Lab::lock(&directory)?;
    if trial::is_on(&lab) && node.is_none() {
        // Taking them back locks the note itself.
        drop(starting);
        trial::take_back(kind, &directory)?;
        complain(&format!("all of lab {name} runs again, without the settings of an experiment"));
        return print(&format!("{}\n", lab.arguments()));
    }
    let count = lab.servers.len();
    if let Some(node) = node.filter(|node| *node >= count) {
        return Err(Failure::usage(format!(
            "lab {name} has no node {node}: use 0 to {}",
            count.saturating_sub(1)
        )));
    }
    let programs = Programs::find(kind.servers)?;
    if let Some(disk) = &lab.disk {
        disk.mount_again(|| kill(kind.servers, &lab.servers))?;
    }
    let run = lab.servers.iter().filter(|server| server.answers()).count();
    if kind.servers == Servers::Galera && node.is_some() && 2 * run <= count {
        return Err(Failure::usage(format!(
            "{place}: {run} of {count} nodes run, and the others wait for more: start all with: lydite lab restart {name}"
        )));
    }
    let started = programs.start_down(kind.servers, &directory, &lab, node)?;
    complain(&match (started.as_slice(), node.and_then(|node| lab.servers.get(node))) {
        ([], Some(server)) => format!("the {} runs already", server.shown()),
        ([], None) => format!("all of lab {name} runs already"),
        ([one], _) => format!("the {one} runs again"),
        (several, _) => format!("these run again: {}", several.join(", ")),
    });
    print(&format!("{}\n", lab.arguments()))
}
