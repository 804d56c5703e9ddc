//! Several endpoints of one database: the spread of sessions over them, affinity, and lost endpoints.

use crate::loaded;
use crate::program::{Program, assert_checks_hold, json, lydite, scratch, text, total, windows_from};
use lydite_testkit::postgres::{self, FAST, Server};
use serde_json::Value;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A second address of a server. Dropping it closes the address and all its connections.
struct Forwarder {
    port: u16,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    closed: Arc<AtomicBool>,
}

impl Forwarder {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let (streams, closed) = (Arc::<Mutex<Vec<TcpStream>>>::default(), Arc::<AtomicBool>::default());
        let (kept, over) = (Arc::clone(&streams), Arc::clone(&closed));
        thread::spawn(move || {
            for client in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let client = client.expect("a connection");
                let server = TcpStream::connect(("127.0.0.1", server)).expect("the server");
                let clone = |stream: &TcpStream| stream.try_clone().expect("a copy");
                kept.lock().expect("the streams").extend([clone(&client), clone(&server)]);
                for (mut from, mut to) in [(clone(&client), clone(&server)), (server, client)] {
                    thread::spawn(move || {
                        // Either side may end it.
                        let _ended = io::copy(&mut from, &mut to);
                        let _closed = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { port, streams, closed }
    }

    /// Returns the address as an option of a URL.
    fn node(&self) -> String {
        format!("nodes=127.0.0.1:{}", self.port)
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        // The listener notices it at its next connection.
        let _woken = TcpStream::connect(("127.0.0.1", self.port));
        for stream in self.streams.lock().expect("the streams").drain(..) {
            let _closed = stream.shutdown(Shutdown::Both);
        }
    }
}

/// The numbers of both endpoints under a name.
fn both(result: &Value, name: &str) -> [u64; 2] {
    [0, 1].map(|number| result["endpoints"][number][name].as_u64().expect(name))
}

#[test]
fn sessions_spread_over_endpoints_keep_to_their_warehouses_and_leave_a_lost_endpoint() {
    let server = postgres::shared();
    let direct = loaded::on_postgres("endpoints", 4);
    let forwarder = Forwarder::to(server.port());
    let url = format!("{direct}?{}", forwarder.node());
    let directory = scratch();
    let path = directory.path().join("result.json");
    let plan = ["run", &url, "--warmup", "0", "--quiet", "--json", text(&path)];
    let away = |sessions: u64, affinity: &[&str]| {
        let terminals = sessions.to_string();
        windows_from("2s", |window| {
            let more = ["--terminals", terminals.as_str(), "--duration", window];
            Program::new(&[&plan[..], &more, affinity].concat()).run().code(0);
            let result = json(&path);
            assert_checks_hold(&result, &["before", "after"]);
            let half = sessions / 2;
            assert_eq!(both(&result, "sessions"), [half, half], "{}", result["endpoints"]);
            assert_eq!(both(&result, "opened"), [half, half], "{}", result["endpoints"]);
            let played = both(&result, "transactions").iter().all(|&played| played > 100);
            played.then(|| both(&result, "away").iter().sum::<u64>())
        })
    };
    // The same run with and without affinity shows how many transactions leave their endpoint.
    assert_eq!(away(4, &["--affinity"]), 0);
    assert_eq!(json(&path)["plan"]["affinity"], true);
    // Both sessions begin in the first two of the four warehouses, which the first endpoint leads.
    assert!(away(2, &[]) > 0);

    // The endpoint is lost in the middle of the run: its sessions go on at the other one.
    let orders = || {
        let sum = "SELECT sum(d_next_o_id) FROM district";
        postgres::query(&direct, sum).trim().parse::<u64>().expect("a sum")
    };
    let mut forwarder = Some(forwarder);
    windows_from("6s", |window| {
        let lost = forwarder.take().unwrap_or_else(|| Forwarder::to(server.port()));
        let url = format!("{direct}?{}", lost.node());
        let plan = ["run", &url, "--terminals", "4", "--warmup", "0", "--quiet", "--json", text(&path)];
        let before = orders();
        let mut running = Program::new(&[&plan[..], &["--duration", window, "--affinity"]].concat()).start();
        if !running.reaches("orders", || orders() > before + 20) {
            return None;
        }
        drop(lost);
        let when_lost = orders();
        let goes_on = running.reaches("orders without the endpoint", || orders() > when_lost + 20);
        running.wait().code(0);
        goes_on.then_some(())
    });
    let result = json(&path);
    assert_checks_hold(&result, &["before", "after"]);
    assert_eq!(both(&result, "sessions"), [4, 2], "{}", result["endpoints"]);
    assert_eq!((both(&result, "moved"), both(&result, "lost")), ([2, 0], [0, 2]), "{}", result["endpoints"]);
    assert_eq!(total(&result, "failed"), 0, "{result}");
}

/// The numbers of all endpoints under a name.
fn all(result: &Value, name: &str) -> Vec<u64> {
    let endpoints = result["endpoints"].as_array().expect("endpoints");
    endpoints.iter().map(|endpoint| endpoint[name].as_u64().expect(name)).collect()
}

/// The warnings of a result about endpoints.
fn about_endpoints(result: &Value) -> Vec<&str> {
    let warnings = result["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    warnings.filter(|warning| warning.contains("endpoint")).collect()
}

#[test]
fn every_endpoint_gets_sessions_by_default_and_one_without_is_named() {
    let direct = loaded::on_postgres("endpoints_idle", 1);
    let forwarders = [(); 2].map(|()| Forwarder::to(postgres::shared().port()));
    let url = format!("{direct}?{},127.0.0.1:{}", forwarders[0].node(), forwarders[1].port);
    let idle = format!("127.0.0.1:{}", forwarders[1].port);
    let directory = scratch();
    let path = directory.path().join("result.json");
    let run = |more: &[&str]| {
        let plan = ["run", &url, "-d", "1s", "--warmup", "0", "--no-check", "--quiet", "--json", text(&path)];
        let ended = lydite(&[&plan[..], more].concat()).code(0);
        (json(&path), ended.stderr)
    };
    // One warehouse, so the default is one terminal, except that each endpoint needs one. A pool is filled up.
    for (mode, sessions) in [
        (&[][..], 1),
        (&["--mode", "open", "--rate", "100"], 3),
        (&["--mode", "rte", "--set", "rte.wait_factor=0"], 6),
    ] {
        let (result, said) = run(mode);
        assert_eq!(all(&result, "sessions"), [sessions; 3], "{mode:?}: {result}");
        assert!(!said.contains("gets none"), "{mode:?}: {said}");
    }
    let expected = format!("2 sessions for 3 endpoints: {idle} gets none: use --terminals 3 or more");
    let (result, said) = run(&["--terminals", "2"]);
    assert_eq!(about_endpoints(&result), [&expected], "{result}");
    assert!(said.contains(&expected), "{said}");
    assert_eq!(all(&result, "sessions"), [1, 1, 0], "{result}");
    assert_eq!(all(&result, "transactions")[2], 0, "{result}");
    let (result, _) = run(&["--mode", "open", "--rate", "100", "--sessions", "1"]);
    let warning = about_endpoints(&result).concat();
    assert!(
        warning.contains("1 session for 3 endpoints") && warning.contains("use --sessions 3"),
        "{warning}"
    );
    // One request in all: the other two endpoints have sessions, and no transaction.
    let (result, _) = run(&["--mode", "open", "--rate", "1", "--set", "arrival=constant"]);
    let warnings = about_endpoints(&result).join("\n");
    assert_eq!(
        warnings.matches("got no transaction in the window: it had 3 sessions").count(),
        2,
        "{result}"
    );
    // All sessions of the run are connected, but most of them rest at its end.
    let phases = directory.path().join("plan.toml");
    let two = [3, 1].map(|terminals| format!("[[phase]]\nlasts = \"1s\"\nterminals = {terminals}\n"));
    std::fs::write(&phases, two.concat()).expect("a file");
    let plan =
        ["run", "-c", text(&phases), &url, "--warmup", "0", "--no-check", "--quiet", "--json", text(&path)];
    lydite(&plan).code(0);
    let warnings = about_endpoints(&json(&path)).join("\n");
    assert!(warnings.contains("only 1 of 3 endpoints have a session that plays"), "{warnings}");
}

#[test]
fn endpoints_of_different_databases_are_refused_before_the_run() {
    let url = loaded::on_postgres("endpoints_differ", 1);
    // A copy of the same files: the same load, and the same identifier of the system.
    let other = Server::start(&FAST);
    let there = other.create_database("endpoints_differ");
    let refused = lydite(&["run", &format!("{url}?nodes=127.0.0.1:{}", other.port()), "--quiet"]).code(2);
    let error = refused.only_error();
    assert!(
        error.contains("does not hold the database of") && error.contains(&other.port().to_string()),
        "{error} {there}"
    );
    let nobody = lydite_testkit::free_port();
    let refused = lydite(&["run", &format!("{url}?nodes=127.0.0.1:{nobody}"), "--quiet"]).code(3);
    assert!(refused.only_error().contains(&nobody.to_string()), "{refused:?}");
    let refused = lydite(&["run", &url, "--affinity", "--quiet"]).code(2);
    assert!(refused.only_error().contains("--affinity: needs several endpoints"), "{refused:?}");
}

#[test]
fn connections_are_renewed_after_their_life_time() {
    let url = loaded::on_postgres("endpoints_renewed", 1) + "?connection_lifetime=1s";
    let directory = scratch();
    let path = directory.path().join("result.json");
    let result = windows_from("4s", |window| {
        let plan = ["run", &url, "--terminals", "2", "--warmup", "0", "--duration", window, "--quiet"];
        Program::new(&[&plan[..], &["--json", text(&path)]].concat()).run().code(0);
        let result = json(&path);
        (result["endpoints"][0]["refreshed"].as_u64() > Some(1)).then_some(result)
    });
    let found = &result["endpoints"][0];
    assert_eq!((found["lost"].as_u64(), found["moved"].as_u64()), (Some(0), Some(0)), "{found}");
    assert_eq!((total(&result, "failed"), total(&result, "unknown")), (0, 0), "{result}");
}
