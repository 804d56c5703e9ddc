//! Servers that are frozen, or behind a network that swallows everything: no command waits for them without end or without
//! a word. And servers that take long, which are waited for.

use crate::outage::{Held, check_waits, orders, start, victim};
use crate::program::{
    Ended, Program, assert_consistent, json, longer_windows, lydite, scratch, text, total, windows_from,
};
use lydite_testkit::mariadb;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Limit after which a command counts as hanging.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// Time between two looks at a condition.
const LOOK: Duration = Duration::from_millis(50);

/// The way to a server on this machine, which swallows everything once a text has gone over it.
struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The text after which the proxy swallows everything.
    trap: Mutex<Option<String>>,
    swallows: AtomicBool,
    /// Connections that were made since.
    swallowed: AtomicUsize,
}

impl Proxy {
    fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let here = listener.local_addr().expect("its number").port();
        let shared = Arc::<Shared>::default();
        let all = Arc::clone(&shared);
        thread::spawn(move || {
            // They stay open when nothing goes over them any more.
            let mut kept = Vec::new();
            for client in listener.incoming() {
                let client = client.expect("a connection");
                if all.swallows.load(Ordering::SeqCst) {
                    all.swallowed.fetch_add(1, Ordering::SeqCst);
                    kept.push(client);
                    continue;
                }
                let server = TcpStream::connect(("127.0.0.1", port)).expect("the server");
                for (from, to, outward) in [(&client, &server, true), (&server, &client, false)] {
                    let (from, to) = (from.try_clone().expect("a stream"), to.try_clone().expect("a stream"));
                    let shared = Arc::clone(&all);
                    thread::spawn(move || shared.copy(from, to, outward));
                }
            }
        });
        Self { port: here, shared }
    }

    /// Everything is swallowed from this text on, if it has not come before.
    fn trap(&self, words: &str) {
        *self.shared.trap.lock().expect("the trap") = Some(words.to_owned());
    }

    fn swallows(&self) -> bool {
        self.shared.swallows.load(Ordering::SeqCst)
    }

    /// Lets everything go over it again; connections that were there before are cut.
    fn mend(&self) {
        *self.shared.trap.lock().expect("the trap") = None;
        self.shared.swallowed.store(0, Ordering::SeqCst);
        self.shared.swallows.store(false, Ordering::SeqCst);
    }

    /// The URL of a server's database, over this way.
    fn url(&self, url: &str, server: u16) -> String {
        url.replace(&format!(":{server}/"), &format!(":{}/", self.port))
    }
}

impl Shared {
    fn copy(&self, mut from: TcpStream, mut to: TcpStream, outward: bool) {
        let mut part = [0; 16 * 1024];
        // What may be the beginning of the text.
        let mut before = Vec::new();
        loop {
            let count = match from.read(&mut part) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            let trap = self.trap.lock().expect("the trap").clone();
            if let Some(words) = trap.filter(|_| outward) {
                before.extend_from_slice(&part[..count]);
                if before.windows(words.len()).any(|seen| seen == words.as_bytes()) {
                    self.swallows.store(true, Ordering::SeqCst);
                }
                before.drain(..before.len().saturating_sub(words.len()));
            }
            let swallows = self.swallows.load(Ordering::SeqCst);
            if count == 0 {
                // An end is swallowed as well; but who has gone himself is not waited for.
                if !swallows || outward {
                    let _gone = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
                }
                return;
            }
            if !swallows && to.write_all(&part[..count]).is_err() {
                return;
            }
        }
    }
}

/// Runs a command to its end, again as long as the server has not seen that the connections of the one before are gone.
fn alone(command: &[&str]) -> Ended {
    let begin = Instant::now();
    loop {
        let ended = lydite(command);
        if ended.code != Some(2) || !ended.stderr.contains("another load is running") {
            return ended;
        }
        assert!(begin.elapsed() < PATIENCE, "{ended:?}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// The URL with an option more.
fn with(url: &str, option: &str) -> String {
    format!("{url}{}{option}", if url.contains('?') { '&' } else { '?' })
}

#[test]
fn a_frozen_server_is_given_up_within_the_limit_of_its_url_by_every_command() {
    let victim = victim("frozen_from_the_start");
    let url = with(&victim.url, "timeout=2s");
    victim.server().signal(libc::SIGSTOP);
    let commands = [
        vec!["check", &url, "--quiet"],
        vec!["load", &url, "--warehouses", "1", "--quiet"],
        vec!["load", &url, "--warehouses", "1", "--fresh", "--quiet"],
        vec!["run", &url, "--quiet"],
        vec!["run", &url, "--workload", "micro", "--quiet"],
        vec!["verify", &url, "--quiet"],
    ];
    let running: Vec<_> = commands.iter().map(|command| Program::new(command).start()).collect();
    let ended: Vec<_> = running.into_iter().map(|running| running.wait().code(3)).collect();
    victim.server().signal(libc::SIGCONT);
    for ended in ended {
        let error = ended.only_error();
        for words in ["waited for ", "no answer for 2 s, nor to a new connection", "?timeout=TIME"] {
            assert!(error.contains(words), "{error}");
        }
    }
    assert_consistent(&victim.url);
}

#[test]
fn a_network_that_swallows_everything_ends_each_step_with_what_was_waited_for() {
    let victim = victim("swallowed");
    let proxy = Proxy::to(victim.server().port());
    let url = with(&proxy.url(&victim.url, victim.server().port()), "timeout=4s");
    let empty = victim.server().create_database("swallowed_load");
    let load = with(&proxy.url(&empty, victim.server().port()), "timeout=4s");
    let check = vec!["check", &url, "--quiet"];
    let fresh = vec!["load", &load, "-w", "1", "--size", "tiny", "--jobs", "1", "--quiet"];
    let resume = [fresh.as_slice(), &["--resume"]].concat();
    let run = vec!["run", &url, "--terminals", "1", "--duration", "1s", "--quiet"];
    let sessions = [run.as_slice(), &["--no-check"]].concat();
    for (command, trap, waited) in [
        (&check, "pg_extension", "its version and settings"),
        (&check, "SELECT example", "consistency condition"),
        (&run, "SELECT example", "consistency condition"),
        (&sessions, "UPDATE warehouse", "a new session"),
        (&fresh, "COPY order_line", "the rows of warehouse 1"),
        (&resume, "ADD CONSTRAINT", "building keys and indexes"),
        (&resume, "VALIDATE", "adding foreign keys"),
    ] {
        proxy.trap(trap);
        let ended = longer_windows(|window| {
            let command: Vec<_> =
                command.iter().map(|word| if *word == "1s" { window } else { word }).collect();
            let ended = alone(&command);
            // A machine under load may make no Payment within the window of a run.
            proxy.swallows().then_some(ended)
        });
        let ended = ended.code(3);
        let error = ended.only_error();
        for words in [waited, "no answer for 4 s, nor to a new connection"] {
            assert!(error.contains(words), "{trap}: {error}");
        }
        assert_eq!(error.contains("--resume"), command[0] == "load", "{error}");
        proxy.mend();
    }
    alone(&resume).code(0);
    assert_consistent(&empty);
}

#[test]
fn ctrl_c_ends_what_waits_for_a_network_that_swallows_everything_at_once() {
    let victim = victim("swallowed_and_impatient");
    let proxy = Proxy::to(victim.server().port());
    let url = with(&proxy.url(&victim.url, victim.server().port()), "timeout=3600s");
    let empty = victim.server().create_database("impatient_load");
    let load = with(&proxy.url(&empty, victim.server().port()), "timeout=3600s");
    let check = vec!["check", &url, "--quiet"];
    let fresh = vec!["load", &load, "-w", "1", "--size", "tiny", "--jobs", "1", "--quiet"];
    let resume = [fresh.as_slice(), &["--resume"]].concat();
    let run = vec!["run", &url, "--terminals", "1", "--duration", "1h", "--no-check", "--quiet"];
    let unfinished = "the load is unfinished: go on with `lydite load ";
    for (command, trap, said) in [
        (&check, "pg_extension", "interrupted while waiting for the server: its version and settings"),
        (&check, "SELECT example", "conditions were evaluated"),
        (&run, "UPDATE warehouse", "interrupted"),
        (&fresh, "COPY order_line", unfinished),
        (&resume, "ADD CONSTRAINT", unfinished),
    ] {
        proxy.trap(trap);
        let mut running = Program::new(command).start();
        running.wait_until(trap, || proxy.swallows());
        running.signal(libc::SIGINT);
        let ended = running.wait().code(130);
        assert!(ended.only_error().contains(said), "{trap}: {ended:?}");
        proxy.mend();
    }
    // Where the server hears of it, it gives up what it is at, and does not go on with an index for nobody.
    let held = Held::new(victim.server(), "impatient_load", "stock");
    let finish = ["load", &empty, "-w", "1", "--size", "tiny", "--quiet", "--resume"];
    let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = 'impatient_load' AND wait_event_type = 'Lock' \
                 AND query LIKE '%stock_pkey%'";
    let mut running = Program::new(&finish).start();
    running.wait_until("an index", || victim.server().psql("postgres", waits) == "t");
    let asked = Instant::now();
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.only_error().contains(unfinished), "{ended:?}");
    // The lock is still held, so it would wait for ever.
    while victim.server().psql("postgres", waits) == "t" {
        assert!(asked.elapsed() < PATIENCE, "the server gives it up too");
        thread::sleep(LOOK);
    }
    drop(held);
    alone(&finish).code(0);
    assert_consistent(&empty);
}

#[test]
fn a_server_that_takes_longer_than_the_limit_is_waited_for_as_long_as_it_answers_new_connections() {
    let victim = victim("slow_and_alive");
    let held = Held::new(victim.server(), &victim.database, "history");
    let mut running = Program::new(&["check", &with(&victim.url, "timeout=4s")]).start();
    running.wait_until("the check", || check_waits(victim.server(), &victim.database));
    let said = running.said();
    // After 5 s, which is more than the limit.
    running.wait_until("a line about the wait", || said.has("s; it answers new connections)"));
    drop(held);
    let ended = running.wait().code(0);
    assert!(ended.stderr.contains("waiting for the server: consistency conditions 3.3.2."), "{ended:?}");
}

#[test]
fn a_network_that_swallows_the_check_after_a_run_costs_nothing_of_what_was_measured() {
    let victim = victim("swallowed_after");
    let proxy = Proxy::to(victim.server().port());
    let url = with(&proxy.url(&victim.url, victim.server().port()), "timeout=4s");
    windows_from("3s", |window| {
        let before = orders(victim.server(), &victim.database);
        let mut running = start(&url, &victim.result(), &["--terminals", "1", "--duration", window]);
        if !running.reaches("the first order", || orders(victim.server(), &victim.database) > before) {
            return None;
        }
        proxy.trap("SELECT example");
        let ended = running.wait();
        if !proxy.swallows() {
            // The check was over.
            proxy.mend();
            return None;
        }
        let ended = ended.code(3);
        let error = ended.only_error();
        assert!(error.contains("consistency conditions") && error.contains("no answer for 4 s"), "{error}");
        let result = json(&victim.result());
        assert!(total(&result, "committed") > 0, "{}", result["transactions"]);
        Some(())
    });
}

#[test]
fn a_mariadb_that_is_frozen_or_swallowed_is_given_up_too() {
    let server = mariadb::Server::start(&mariadb::FAST[1..]);
    let direct = server.create_database("tpcc");
    let proxy = Proxy::to(server.port());
    // The text is to be seen on its way.
    let over = with(&proxy.url(&direct, server.port()), "sslmode=disable&timeout=4s");
    let load = vec!["load", &over, "-w", "1", "--size", "tiny", "--jobs", "1", "--quiet"];
    let resume = [load.as_slice(), &["--resume"]].concat();
    let check = vec!["check", &over, "--quiet"];
    for (command, trap, waited) in
        [(&load, "ADD INDEX", "building indexes"), (&resume, "ANALYZE TABLE", "gathering statistics")]
    {
        proxy.trap(trap);
        let ended = alone(command).code(3);
        let error = ended.only_error();
        assert!(error.contains(waited) && error.contains("no answer for 4 s"), "{trap}: {error}");
        proxy.mend();
    }
    alone(&resume).code(0);
    proxy.trap("SELECT example");
    let ended = lydite(&check).code(3);
    assert!(ended.only_error().contains("consistency condition"), "{ended:?}");
    server.signal(libc::SIGSTOP);
    let ended = lydite(&["check", &with(&direct, "timeout=2s"), "--quiet"]).code(3);
    server.signal(libc::SIGCONT);
    assert!(ended.only_error().contains("its version and settings"), "{ended:?}");
    let directory = scratch();
    let result = directory.path().join("result.json");
    lydite(&["run", &direct, "-d", "1s", "--warmup", "0", "--quiet", "--json", text(&result)]).code(0);
}
