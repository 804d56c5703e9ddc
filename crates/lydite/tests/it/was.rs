//! The tier between emulated terminals and the database, as a process of its own.

mod lines;

use crate::program::{Program, Running, assert_checks_hold, json, lydite, scratch, text, total};
use std::path::Path;

/// Starts a tier and waits until it listens. Returns it with its address.
fn start(url: &str, arguments: &[&str]) -> (Running, String) {
    let listen = ["was", url, "--listen", "127.0.0.1:0", "--sessions", "4"];
    let mut tier = Program::new(&[&listen, arguments].concat()).start();
    let said = tier.printed();
    tier.wait_until("its address", || said.has("Ctrl-C ends it"));
    let line = said.text();
    let address = line.strip_prefix("WAS at ").and_then(|rest| rest.split(' ').next()).expect("its address");
    (tier, address.to_owned())
}

/// Returns the number of established connections to an address on loopback, both ends of each.
fn lines_to(address: &str) -> usize {
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).expect("a port");
    let remote = format!("0100007F:{port:04X} 01");
    std::fs::read_to_string("/proc/net/tcp").expect("the connections").matches(&remote).count()
}

fn run<'a>(url: &'a str, address: &'a str, result: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let wait = ["--set", "rte.wait_factor=0.01", "--quiet"];
    let all = ["run", url, "--mode", "rte", "--was", address, "--json", text(result), "--warmup", "0s"];
    [&all, &wait[..], more].concat()
}

/// Clauses 2.4.3 to 2.8.3, 5.2.2 and 6.6.2: what terminals enter reaches the database once, and what it answers is
/// consistent, with a menu before each transaction and a context for each terminal.
#[test]
fn terminals_play_over_a_tier_and_the_database_holds_what_they_saw() {
    let directory = scratch();
    let url = format!("sqlite:{}", text(&directory.path().join("shop.db")));
    lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--quiet"]).code(0);
    let (counts, result) = (directory.path().join("was.json"), directory.path().join("run.json"));
    let (tier, address) = start(&url, &["--json", text(&counts)]);
    let delay = ["--duration", "2s", "--display-delay", "5ms"];
    lydite(&run(&url, &address, &result, &delay)).code(0);
    tier.signal(libc::SIGINT);
    tier.wait().code(0);
    let (counts, result) = (json(&counts), json(&result));
    assert_checks_hold(&result, &["before", "after"]);
    let was = &result["terminals"]["was"];
    assert_eq!((was["lines"].as_u64(), was["lost"].as_u64()), (Some(10), Some(0)), "{was}");
    assert!(was["menu_ms"]["p90"].as_f64() > Some(0.0), "{was}");
    assert_eq!(result["terminals"]["display_delay_ms"], 5.0);
    assert_eq!(
        (&result["plan"]["was"], &result["plan"]["display_delay_s"]),
        (&address.clone().into(), &0.005.into())
    );
    assert_eq!((counts["terminals"].as_u64(), counts["ended"].as_u64()), (Some(10), Some(10)), "{counts}");
    assert_eq!(
        (counts["lines_lost"].as_u64(), counts["lines_rejected"].as_u64()),
        (Some(0), Some(0)),
        "{counts}"
    );
    let of = |kind: &str, count: &str| counts["transactions"][kind][count].as_u64().expect("a count");
    let orders = result["transactions"]["new_order"]["committed"].as_u64().expect("a count");
    assert!(orders > 0 && of("new_order", "committed") >= orders, "{counts}");
    // Terminals begin as if they had worked for some time, so the first transaction of some was chosen before.
    let menus = counts["menus"].as_u64().expect("a count");
    assert!(
        menus > 0 && menus + was["lines"].as_u64().expect("a count") >= total(&result, "committed"),
        "{counts}"
    );
}

#[test]
fn a_tier_that_is_killed_ends_the_run_and_what_was_measured_is_written() {
    let directory = scratch();
    let result = directory.path().join("run.json");
    let (tier, address) = start("null:", &[]);
    let long = run("null:", &address, &result, &["-w", "2", "--duration", "1h"]);
    let mut running = Program::new(&long).start();
    running.wait_until("terminals at the tier", || lines_to(&address) >= 20);
    tier.signal(libc::SIGKILL);
    tier.wait();
    let ended = running.wait().code(3);
    assert!(ended.errors().iter().any(|error| error.contains("is gone")), "{ended:?}");
    let result = json(&result);
    assert_eq!(result["status"], "partial");
    assert_eq!(result["terminals"]["was"]["lines"], 20);
}

#[test]
fn what_does_not_fit_a_tier_is_rejected_before_the_run() {
    lydite(&["run", "null:", "--was", "127.0.0.1:7000", "--display-delay", "1m"]).code(2).told(&[
        &["--was: ", "is for --mode rte only"],
        &["--display-delay: ", "at most 10s"],
        &["--display-delay: ", "is for --mode rte only"],
    ]);
    lydite(&["was", "null:", "--listen", "here", "--sessions", "0"])
        .code(2)
        .told(&[&["--listen", "ADDRESS:PORT"], &["--sessions", "from 1 to"]]);
    let empty = scratch();
    let url = format!("sqlite:{}", text(&empty.path().join("empty.db")));
    lydite(&["was", &url, "--listen", "127.0.0.1:0"]).code(2).told(&[&["holds no loaded TPC-C database"]]);
    let (_tier, address) = start("null:", &[]);
    lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--quiet"]).code(0);
    lydite(&["run", &url, "--mode", "rte", "--was", &address])
        .code(2)
        .told(&[&["serves null:", "name the database that the WAS serves"]]);
}
