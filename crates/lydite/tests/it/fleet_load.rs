//! Loads by several agents.

use crate::fleet::agent;
use crate::loaded;
use crate::program::{Program, Running, checksums, lydite};
use lydite_testkit::{nats, postgres};

#[test]
fn agents_load_the_same_rows_as_one_process() {
    let server = nats::Server::start(&[]);
    let url = server.url();
    let _agents: Vec<Running> = ["a", "b", "c"].iter().map(|name| agent(&url, name)).collect();
    for agents in ["2", "3"] {
        let database = postgres::shared().create_database(&format!("fleet_load_{agents}"));
        let load = ["load", &database, "--warehouses", "3", "--size", "tiny", "--quiet", "--join", &url];
        let load = [&load[..], &["--agents", agents]].concat();
        lydite(&load).code(0);
        assert_eq!(checksums(&database), loaded::sums(3), "{agents} agents");
        lydite(&["check", &database, "--extra", "--quiet"]).code(0);
        let again = lydite(&load).code(2);
        assert!(again.only_error().contains("the database is loaded already"), "{again:?}");
    }
}

/// Loads with two agents, ends one of them by a signal, and loads the rest. The error says `words` of the agent.
fn load_without_one(database: &str, signal: i32, words: &str) {
    let server = nats::Server::start(&[]);
    let url = server.url();
    let (_stays, mut ends) = (agent(&url, "a"), agent(&url, "b"));
    let database = postgres::shared().create_database(database);
    let load = |more: &[&str]| {
        let load = [&["load", &database, "--join", &url], &loaded::SLOWLY[..]].concat();
        Program::new(&[&load[..], more].concat())
    };
    let running = load(&["--agents", "2"]).start();
    let said = ends.said();
    ends.wait_until("its share begins", || said.has("share 2 of 2"));
    ends.signal(signal);
    let ended = running.wait().code(3);
    let error = ended.only_error();
    assert!(error.contains("agent b on ") && error.contains(words), "{error}");
    let command = "--warehouses 6 --size small --seed 1 --resume`, with or without --agents";
    let complete =
        |count| error.contains(&format!("; complete: {count} of 6 small warehouses; finish the load with"));
    assert!((0..=6).any(complete) && error.contains(command), "{error}");
    load(&["--agents", "1", "--resume"]).run().code(0);
    assert_eq!(checksums(&database), loaded::sums_of_slowly());
}

#[test]
fn a_load_of_which_an_agent_dies_names_it_and_is_resumed() {
    load_without_one("fleet_load_dies", libc::SIGKILL, "no sign of life for 4 s");
}

#[test]
fn a_load_of_which_an_agent_is_ended_names_it_and_is_resumed() {
    load_without_one("fleet_load_ends", libc::SIGINT, "it ended its share early: interrupted at its host");
}

#[test]
fn agents_do_not_load_what_they_can_not_share() {
    let join = ["--agents", "2", "--join", "nats://127.0.0.1:1"];
    lydite(&[&["load", "gemel:x", "--warehouses", "2"], &join[..]].concat())
        .code(2)
        .told(&[&["TARGET", "share no file"]]);
    lydite(&[&["load", "null:", "--workload", "micro"], &join[..]].concat())
        .code(2)
        .told(&[&["--agents", "--workload tpcc only"]]);
    let unreachable = lydite(&[&["load", "null:", "--warehouses", "2"], &join[..]].concat()).code(3);
    unreachable.told(&[&["nats://127.0.0.1:1", "no NATS server can be reached"]]);
}
