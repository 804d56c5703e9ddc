//! Runs on several agents over a NATS server.

use crate::loaded;
use crate::program::{
    Ended, Program, Running, TYPES, assert_checks_hold, check_after, json, lydite, scratch, text,
};
use crate::success_log::lines;
use lydite_testkit::{nats, postgres};
use serde_json::Value;
use std::path::Path;

/// Starts an agent and waits until it waits for runs.
pub(crate) fn agent(url: &str, name: &str) -> Running {
    agent_with(url, name, &[])
}

/// Starts an agent with this login, and waits until it waits for runs.
pub(crate) fn agent_with(url: &str, name: &str, login: &[&str]) -> Running {
    let agent = ["agent", "--join", url, "--name", name];
    let mut agent = Program::new(&[&agent[..], login].concat()).start();
    let said = agent.said();
    agent.wait_until("it waits for runs", || said.has("waits for runs"));
    agent
}

/// A rate that leaves the processors to others while a test waits.
pub(crate) const SELDOM: [&str; 4] = ["--mode", "open", "--rate", "100"];

/// Runs on `null:` with these arguments, and returns the result.
pub(crate) fn result(directory: &Path, arguments: &[&str]) -> (Ended, Value) {
    let path = directory.join("result.json");
    let ended = lydite(&[&["run", "null:", "--quiet", "--json", text(&path)], arguments].concat());
    (ended, json(&path))
}

/// Counts of the completed transactions, by type.
fn completed(result: &Value) -> Vec<u64> {
    let count = |kind: &str, end: &str| result["transactions"][kind][end].as_u64().expect("a count");
    TYPES.iter().map(|kind| count(kind, "committed") + count(kind, "rolled_back")).collect()
}

/// The requests of an open loop come in the first second, so that all are answered before the end: then the counts of
/// each type depend on the inputs alone.
#[test]
fn agents_enter_what_one_process_enters() {
    let directory = scratch();
    let plan = directory.path().join("plan.toml");
    let phases = "[[phase]]\nlasts = \"1s\"\nrate = 300\n[[phase]]\nlasts = \"3s\"\nrate = 0\n";
    let keys = "mode = \"open\"\nrate = 300\narrival = \"poisson\"\nwarmup = \"0s\"\nwarehouses = 3\n";
    std::fs::write(&plan, format!("{keys}{phases}")).unwrap();
    let (ended, alone) = result(directory.path(), &["--config", text(&plan)]);
    ended.code(0);
    let server = nats::Server::start(&[]);
    let url = server.url();
    let _agents: Vec<Running> = ["a", "b", "c"].iter().map(|name| agent(&url, name)).collect();
    for agents in ["1", "2", "3"] {
        let fleet = ["--config", text(&plan), "--join", &url, "--agents", agents];
        let (ended, together) = result(directory.path(), &fleet);
        ended.code(0);
        assert_eq!(completed(&together), completed(&alone), "{agents} agents");
        assert_eq!(together["inputs"], alone["inputs"], "{agents} agents");
        let requests = |of: &Value| -> Vec<Value> {
            let phases = of["phases"].as_array().expect("phases").iter();
            phases.map(|phase| phase["controls"]["rate"]["actual"]["due"].clone()).collect()
        };
        assert_eq!(requests(&together), requests(&alone), "{agents} agents");
        assert_eq!(requests(&alone)[1], 0);
        for (kind, completed) in TYPES.iter().zip(completed(&together)) {
            // All were due in the first phase, so its latencies are those of the window.
            let phase = &together["phases"][0];
            assert_eq!(phase["transactions"][kind], completed, "{agents} agents");
            assert_eq!(
                phase["latency_ms"][kind], together["transactions"][kind]["latency_ms"],
                "{agents} agents"
            );
            assert_eq!(
                phase["queue_ms"][kind], together["transactions"][kind]["queue_ms"],
                "{agents} agents"
            );
        }
        let found = together["agents"].as_array().expect("agents");
        let parts = found.iter().map(|agent| agent["completed"].as_u64().expect("a count"));
        assert_eq!(parts.sum::<u64>(), completed(&alone).iter().sum::<u64>(), "{agents} agents");
        assert_eq!(found.len().to_string(), agents);
        for agent in found {
            assert!(agent["start_s"].is_number() && agent["clock_bound_ms"].as_f64() > Some(0.0), "{agent}");
            assert!(agent["status"] == "complete" && agent["warehouses"].as_u64() >= Some(1), "{agent}");
            assert!(agent["lost"].is_null() && agent["missing_s"] == 0.0, "{agent}");
        }
    }
    assert!(alone["agents"].is_null());
}

#[test]
fn the_ledger_the_success_log_and_the_conditions_hold_over_the_transactions_of_all_agents() {
    let (directory, server) = (scratch(), nats::Server::start(&[]));
    let (url, path) = (server.url(), directory.path().join("result.json"));
    let _agents = ["a", "b"].map(|name| agent(&url, name));
    let database = loaded::on_postgres("fleet", 2);
    let run = ["run", &database, "--duration", "2s", "--warmup", "0s", "--quiet", "--json", text(&path)];
    let log = directory.path().join("success.log");
    let fleet = ["--join", &url, "--agents", "2"];
    lydite(&[&run[..], &fleet].concat()).code(0);
    let result = json(&path);
    assert_checks_hold(&result, &["before", "after"]);
    assert_eq!(result["agents"].as_array().expect("agents").len(), 2);
    assert!(completed(&result).iter().sum::<u64>() > 0);
    lydite(&[&run[..], &fleet, &["--success-log", text(&log)]].concat()).code(0);
    let result = json(&path);
    let (holds, detail) = check_after(&result, "success-log");
    assert!(holds, "{detail}");
    let acknowledged = lines(&log, "new_order") + lines(&log, "payment");
    assert!(acknowledged > 0);
    assert_eq!(result["success_log"]["committed"], acknowledged, "{result}");
}

#[test]
fn an_empty_database_gets_a_warehouse_for_each_agent() {
    let (directory, server) = (scratch(), nats::Server::start(&[]));
    let (url, path) = (server.url(), directory.path().join("result.json"));
    let _agents = ["a", "b", "c"].map(|name| agent(&url, name));
    let postgres = postgres::shared();
    let database = postgres.create_database("fleet_empty");
    let run = ["run", &database, "--size", "small", "--duration", "1s", "--warmup", "0s", "--quiet"];
    let fleet = ["--json", text(&path), "--join", &url, "--agents", "3"];
    let run = [&run[..], &fleet].concat();
    let few = lydite(&[&run[..], &["--terminals", "2"]].concat()).code(2);
    let words =
        "--agents 3: the run has 2 terminals: give each agent at least one, with --terminals 3 or more";
    assert_eq!(few.only_error(), words);
    assert_eq!(
        postgres.psql("fleet_empty", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"),
        "0"
    );
    lydite(&run).code(0);
    let result = json(&path);
    assert_checks_hold(&result, &["before", "after"]);
    let found = result["agents"].as_array().expect("agents");
    assert_eq!(found.iter().map(|agent| agent["warehouses"].as_u64()).collect::<Vec<_>>(), [Some(1); 3]);
}

#[test]
fn an_agent_that_can_not_play_logs_the_reason_that_the_coordinator_names() {
    let server = nats::Server::start(&[]);
    let url = server.url();
    let database = loaded::on_postgres("fleet_failing", 1);
    let agent = ["agent", "--join", &url, "--name", "a"];
    let mut agent = Program::new(&agent).env("PGSSLMODE", "require").start();
    let said = agent.said();
    agent.wait_until("it waits for runs", || said.has("waits for runs"));
    let run = ["run", &database, "--no-check", "--quiet", "--join", &url, "--agents", "1"];
    let ended = lydite(&run).code(3);
    let error = ended.only_error();
    let (_, reason) =
        error.split_once("agent a on ").and_then(|(_, error)| error.split_once(": ")).expect("an agent");
    let failed = format!("ends: failed: {reason}");
    agent.wait_until("it logs the reason", || said.has(&failed));
}

#[test]
fn a_killed_agent_is_reported_and_nothing_is_scaled_up() {
    let (directory, server) = (scratch(), nats::Server::start(&[]));
    let (url, path) = (server.url(), directory.path().join("result.json"));
    let (_stays, dies) = (agent(&url, "a"), agent(&url, "b"));
    let run = ["run", "null:", "-t", "4", "--duration", "10s", "--warmup", "0s", "--json", text(&path)];
    let mut run = Program::new(&[&run[..], &SELDOM, &["--join", &url, "--agents", "2"]].concat()).start();
    let said = run.said();
    run.wait_until("it measures", || said.has("NOPM"));
    dies.signal(libc::SIGKILL);
    let ended = run.wait().code(3);
    assert!(
        ended.errors().iter().any(|line| line.contains("agent b") && line.contains("was lost")),
        "{ended:?}"
    );
    assert!(ended.stderr.contains(" is lost: no sign of life for 4 s"), "while it runs: {ended:?}");
    let result = json(&path);
    assert_eq!(result["status"], "partial");
    let agents = result["agents"].as_array().expect("agents");
    assert_eq!((&agents[0]["name"], &agents[1]["name"]), (&"a".into(), &"b".into()));
    assert!(agents[0]["lost"].is_null() && agents[0]["missing_s"] == 0.0, "{agents:?}");
    assert_eq!((&agents[0]["status"], &agents[1]["status"]), (&"complete".into(), &"lost".into()));
    assert_eq!(agents[1]["terminals"], 2);
    let of_all: f64 = agents.iter().map(|agent| agent["cpu_s"].as_f64().expect("a time")).sum();
    assert!((result["client"]["cpu_s"].as_f64().expect("a time") - of_all).abs() < 1e-6, "{agents:?}");
    let number = |key: &str| agents[1][key].as_f64().expect("a number");
    assert!((number("lost_at_s") + number("missing_s") - 10.0).abs() < 0.01, "{agents:?}");
}

#[test]
fn an_agent_whose_coordinator_dies_waits_for_the_next_run() {
    let (directory, server) = (scratch(), nats::Server::start(&[]));
    let url = server.url();
    let mut agent = agent(&url, "a");
    let run = ["run", "null:", "--duration", "30s", "--warmup", "0s", "--join", &url, "--agents", "1"];
    let mut run = Program::new(&[&run[..], &SELDOM].concat()).start();
    let said = run.said();
    run.wait_until("it measures", || said.has("NOPM"));
    run.signal(libc::SIGKILL);
    let said = agent.said();
    agent.wait_until("it stops", || said.has("ends: no sign of life of the coordinator"));
    let fleet = ["--duration", "1s", "--warmup", "0s", "--join", &url, "--agents", "1"];
    result(directory.path(), &fleet).0.code(0);
}

#[test]
fn fleets_that_can_not_play_the_plan_are_rejected_with_one_line_for_each_reason() {
    let directory = scratch();
    let nowhere = Program::new(&["run", "null:", "--agents", "2"]).env("TMPDIR", directory.path());
    nowhere.run().code(2).told(&[&["--agents", "needs --join", "lydite lab up fleet --agents 2"]]);
    let alone = ["run", "null:", "--join", "nats://me:secret@127.0.0.1:1", "--nkey", "file"];
    lydite(&alone).code(2).told(&[&["--join", "needs --agents"]]);
    let refused =
        ["run", "gemel:", "--ci", "2", "--steady", "--join", "nats://me:secret@127.0.0.1:1", "--agents", "2"];
    let ended = lydite(&refused).code(2);
    ended.told(&[&["--ci", "one process"], &["--steady", "another time"], &["TARGET", "share no file"]]);
    let few = ["run", "null:", "-t", "2", "--join", "nats://127.0.0.1:1", "--agents", "3"];
    let unreachable = lydite(&few).code(3);
    unreachable.told(&[&["nats://127.0.0.1:1", "no NATS server can be reached"]]);
}

#[test]
fn missing_agents_and_names_given_twice_are_named() {
    let server = nats::Server::start(&["--user", "me", "--pass", "secret"]);
    let url = server.url_with("me:secret");
    let _one = agent(&url, "one");
    let run = |agents: &str, url: &str| {
        let run = ["run", "null:", "--quiet", "--agents-timeout", "1s", "--join", url, "--agents", agents];
        lydite(&run)
    };
    let few = run("3", &url).code(3);
    let last = few.errors().last().map(ToString::to_string).unwrap_or_default();
    assert!(last.contains("1 of 3 agents are free (one) after 1 s: start more with: lydite agent --join nats://USER:PASSWORD@"), "{few:?}");
    assert!(!few.stderr.contains("secret"), "{few:?}");
    let refused = run("1", &server.url()).code(2);
    assert!(refused.only_error().contains("refuses the login"), "{refused:?}");
    let _twice = agent(&url, "one");
    let twice = run("2", &url).code(2);
    assert!(twice.only_error().contains("two agents have the name one"), "{twice:?}");
}
