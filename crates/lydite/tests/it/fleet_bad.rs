//! Fleets with a NATS server that is closed or goes away, and with agents that stall.

use crate::fleet::{SELDOM, agent, agent_with, result};
use crate::loaded;
use crate::program::{Program, Running, json, lydite, scratch, text};
use lydite_testkit::certificates;
use lydite_testkit::nats;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A seed of an NKey and its public key, from the documentation of NATS.
const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
const PUBLIC: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

/// Runs with one agent, which has the same login as the coordinator.
#[track_caller]
fn assert_runs(directory: &Path, url: &str, login: &[&str]) {
    let _agent = agent_with(url, "a", login);
    let fleet = ["--duration", "1s", "--warmup", "0s", "--agents", "1", "--join", url];
    let (ended, found) = result(directory, &[&fleet[..], login].concat());
    ended.code(0);
    assert_eq!(found["agents"].as_array().map(Vec::len), Some(1), "{found}");
}

/// Fails unless NATS refuses both sides with these words, and no output has the secret.
#[track_caller]
fn assert_refused(url: &str, login: &[&str], code: i32, words: &str) {
    let run = ["run", "null:", "--quiet", "--agents", "1", "--join", url];
    for command in [&["agent", "--join", url][..], &run] {
        let refused = lydite(&[command, login].concat()).code(code);
        let error = refused.only_error();
        assert!(error.contains(words) && !error.contains("secret"), "{error}");
    }
}

/// Writes a file and returns its path.
fn file(directory: &Path, name: &str, content: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, content).expect("a file");
    text(&path).to_owned()
}

#[test]
fn a_fleet_logs_in_with_a_token_an_nkey_or_a_file_of_credentials() {
    let directory = scratch();
    let at = directory.path();

    let server = nats::Server::start(&["--auth", "secret-token"]);
    assert_runs(at, &server.url_with("secret-token"), &[]);
    assert_refused(&server.url(), &[], 2, "NATS refuses the login: give USER:PASSWORD@ or TOKEN@");
    assert_refused(&server.url_with("secret-other"), &[], 2, "NATS refuses the login");

    let users = format!("authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}\n");
    let server = nats::Server::start(&["--config", &file(at, "nkey.conf", &users)]);
    let seed = file(at, "seed", &format!("{SEED}\n"));
    assert_runs(at, &server.url(), &["--nkey", &seed]);
    assert_refused(&server.url(), &[], 2, "NATS refuses the login");
    let wrong = file(at, "wrong", "no seed\n");
    assert_refused(&server.url(), &["--nkey", &wrong], 2, "NATS refuses the login");
    assert_refused(&server.url(), &["--nkey", "/nonexistent"], 2, "--nkey /nonexistent: ");

    let configuration = file(at, "jwt.conf", include_str!("fleet_login/jwt.conf"));
    let server = nats::Server::start(&["--config", &configuration]);
    let credentials = file(at, "user.creds", include_str!("fleet_login/user.creds"));
    assert_runs(at, &server.url(), &["--creds", &credentials]);
    assert_refused(&server.url(), &[], 2, "NATS refuses the login");
    assert_refused(&server.url(), &["--creds", "/nonexistent"], 2, "--creds /nonexistent: ");
}

#[test]
fn a_fleet_talks_by_tls_to_a_server_whose_ca_it_knows() {
    let directory = scratch();
    let at = directory.path();
    certificates::make(at);
    let path = |name: &str| text(&at.join(name)).to_owned();
    let tls = ["--tls", "--tlscert", &path("server.pem"), "--tlskey", &path("server.key")];
    let server = nats::Server::start(&tls);
    let url = server.url().replace("nats://", "tls://");
    assert_runs(at, &url, &["--tls-ca", &path("ca.pem")]);
    // The server demands TLS, whatever the URL says.
    assert_runs(at, &server.url(), &["--tls-ca", &path("ca.pem")]);
    assert_refused(
        &url,
        &["--tls-ca", &path("other.pem")],
        3,
        "name the CA of NATS's certificate with --tls-ca",
    );
    assert_refused(&url, &[], 3, "name the CA of NATS's certificate with --tls-ca");
}

#[test]
fn a_user_without_rights_is_named_with_the_rights_that_it_needs() {
    let directory = scratch();
    let users =
        "authorization { users: [ { user: me, password: secret, permissions: { publish: other } } ] }\n";
    let server = nats::Server::start(&["--config", &file(directory.path(), "nats.conf", users)]);
    let run = ["run", "null:", "--quiet", "--agents", "1", "--join", &server.url_with("me:secret")];
    let refused = lydite(&run).code(2);
    let error = refused.only_error();
    assert!(error.contains("allow the user to publish and subscribe to lydite.>"), "{error}");
}

/// Starts a run of two agents on `null:`, and waits until it measures.
fn measuring(path: &Path, url: &str, window: &str) -> Running {
    let run = ["run", "null:", "-t", "4", "--duration", window, "--warmup", "0s", "--json", text(path)];
    let mut run = Program::new(&[&run[..], &SELDOM, &["--join", url, "--agents", "2"]].concat()).start();
    let said = run.said();
    run.wait_until("it measures", || said.has("NOPM"));
    run
}

/// Returns a number of an agent in a result.
fn number(result: &Value, agent: usize, key: &str) -> f64 {
    result["agents"][agent][key].as_f64().unwrap_or_else(|| panic!("{key} of agent {agent}: {result}"))
}

#[test]
fn a_stalled_agent_is_lost_its_terminals_are_missing_since_and_it_plays_the_next_run() {
    let (directory, server) = (scratch(), nats::Server::start(&[]));
    let (url, path) = (server.url(), directory.path().join("result.json"));
    let (_plays, mut stalls) = (agent(&url, "a"), agent(&url, "b"));
    let run = measuring(&path, &url, "12s");
    stalls.signal(libc::SIGSTOP);
    let ended = run.wait().code(3);
    let lost = |line: &&str| line.contains("agent b") && line.contains("no sign of life for 4 s");
    assert!(ended.errors().iter().any(lost), "{ended:?}");
    let result_of_run = json(&path);
    assert_eq!(result_of_run["status"], "partial");
    let missing = number(&result_of_run, 1, "lost_at_s") + number(&result_of_run, 1, "missing_s");
    assert!((missing - 12.0).abs() < 0.01, "{result_of_run}");
    assert!(result_of_run["agents"][0]["lost"].is_null() && number(&result_of_run, 0, "missing_s") == 0.0);
    let said = stalls.said();
    stalls.signal(libc::SIGCONT);
    stalls
        .wait_until("its share ends", || said.has("share 2 of 2") && said.text().matches("run").count() > 2);
    let fleet = ["--duration", "1s", "--warmup", "0s", "--join", &url, "--agents", "2"];
    result(directory.path(), &fleet).0.code(0);
}

#[test]
fn a_run_whose_nats_server_dies_ends_with_what_it_has_and_the_agents_stop() {
    let (directory, server) = (scratch(), nats::Server::start(&[]));
    let (url, path) = (server.url(), directory.path().join("result.json"));
    let mut agents = [agent(&url, "a"), agent(&url, "b")];
    // Far longer than the test waits for.
    let run = measuring(&path, &url, "1h");
    server.kill();
    let ended = run.wait().code(3);
    for name in ["a", "b"] {
        let lost = |line: &&str| {
            line.contains(&format!("agent {name}")) && line.contains("the connection to NATS was lost")
        };
        assert!(ended.errors().iter().any(lost), "{name}: {ended:?}");
    }
    let result = json(&path);
    assert_eq!(result["status"], "partial");
    // Nothing is known after the last report, so the window ends there.
    let last = number(&result, 0, "lost_at_s").max(number(&result, 1, "lost_at_s"));
    for agent in 0..2 {
        let missing = number(&result, agent, "lost_at_s") + number(&result, agent, "missing_s");
        assert!((missing - last).abs() < 0.01 && last < 3_600.0, "{result}");
    }
    for agent in &mut agents {
        let said = agent.said();
        agent.wait_until("it stops", || said.has("no sign of life of the coordinator"));
    }
}

#[test]
fn a_success_log_is_not_compared_if_an_agent_was_lost() {
    let (directory, server) = (scratch(), nats::Server::start(&[]));
    let (url, path) = (server.url(), directory.path().join("result.json"));
    let (_stays, dies) = (agent(&url, "a"), agent(&url, "b"));
    let database = loaded::on_postgres("fleet_lost_log", 2);
    let log = directory.path().join("success.log");
    let run =
        ["run", &database, "--duration", "10s", "--warmup", "0s", "--json", text(&path), "--agents", "2"];
    let files = ["--join", &url, "--success-log", text(&log)];
    let mut run = Program::new(&[&run[..], &SELDOM, &files].concat()).start();
    let said = run.said();
    run.wait_until("it measures", || said.has("NOPM"));
    dies.signal(libc::SIGKILL);
    let ended = run.wait().code(3);
    let result = json(&path);
    assert!(result["success_log"].is_null(), "{result}");
    let checks = result["checks"].as_array().expect("checks");
    assert!(checks.iter().all(|check| check["id"] != "success-log" && check["id"] != "ledger"), "{checks:?}");
    assert!(result["warnings"].to_string().contains("Ledger and success log are not compared"), "{ended:?}");
}

#[test]
fn an_agent_that_is_ended_at_its_host_is_lost_from_then_on() {
    let (directory, server) = (scratch(), nats::Server::start(&[]));
    let (url, path) = (server.url(), directory.path().join("result.json"));
    let (_plays, ends) = (agent(&url, "a"), agent(&url, "b"));
    let run = measuring(&path, &url, "10s");
    ends.signal(libc::SIGINT);
    let (ended, agent) = (run.wait().code(3), ends.wait().code(0));
    assert!(
        agent.stderr.contains("ends: interrupted at its host\nlydite: agent b ends: interrupted"),
        "{agent:?}"
    );
    let lost = |line: &&str| line.contains("agent b") && line.contains("interrupted at its host");
    assert!(ended.errors().iter().any(lost), "{ended:?}");
    let result = json(&path);
    assert_eq!(result["status"], "partial");
    let missing = number(&result, 1, "lost_at_s") + number(&result, 1, "missing_s");
    assert!((missing - 10.0).abs() < 0.01 && number(&result, 1, "missing_s") > 0.0, "{result}");
}

#[test]
fn an_agent_without_a_terminal_is_rejected() {
    let server = nats::Server::start(&[]);
    let url = server.url();
    let names: Vec<String> = (0..11).map(|number| format!("agent-{number}")).collect();
    let _agents: Vec<Running> = names.iter().map(|name| agent(&url, name)).collect();
    let open =
        ["run", "null:", "--mode", "open", "--rate", "9", "--warehouses", "1", "--sessions", "11", "--quiet"];
    let refused = lydite(&[&open[..], &["--join", &url, "--agents", "11"]].concat()).code(2);
    assert!(refused.only_error().contains("--agents 11: the run has 10 terminals"), "{refused:?}");
}
