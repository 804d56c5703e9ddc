//! Faults on the network: each counts its packets, and its rules and its helper go, whoever is killed. They need root
//! and iptables: a run rejects its faults without them, and says so.

use super::{Lab, assert_checks_hold, assert_injected, json, state, text, wait_until, windows_from};
use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

impl Lab {
    fn port(&self) -> u16 {
        let (_, rest) = self.url.rsplit_once(':').expect("a port");
        rest.split('/').next().and_then(|port| port.parse().ok()).expect("a port")
    }

    /// True if the server accepts connections.
    pub(super) fn accepts(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port())).is_ok()
    }

    /// The rules of iptables on the lab's port. Chains that they are in can't go before them.
    pub(super) fn rules(&self) -> Vec<String> {
        let path = std::env::var("PATH").expect("a path");
        let saved = Command::new("sh")
            .args(["-c", "iptables-save"])
            .env("PATH", format!("{path}:/usr/sbin"))
            .output();
        let saved = saved.expect("a shell");
        assert!(saved.status.success(), "{saved:?}");
        let port = format!("port {} ", self.port());
        let lines = String::from_utf8_lossy(&saved.stdout).into_owned();
        lines
            .lines()
            .filter(|line| line.contains("lydite-fault-") && line.contains(&port))
            .map(str::to_owned)
            .collect()
    }

    /// The note of the fault that is in force; none if there is none yet.
    fn note(&self) -> Option<Value> {
        let directories = fs::read_dir(self.place.directory.path()).expect("a directory").flatten();
        let notes =
            directories.map(|entry| entry.path()).find(|path| text(path).contains("lydite-faults-"))?;
        let files = fs::read_dir(notes).expect("notes").flatten().map(|entry| entry.path());
        let note = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        let note = note.filter_map(|path| serde_json::from_slice::<Value>(&fs::read(path).ok()?).ok());
        note.into_iter().find(|note| note["state"]["begun"] == true)
    }
}

/// The number of packets after a verb in the proof of a fault.
fn packets(fault: &Value, verb: &str) -> u64 {
    let detail = fault["detail"].as_str().expect("a detail");
    let (_, rest) = detail.split_once(verb).unwrap_or_else(|| panic!("{verb}: {fault}"));
    rest.split_whitespace().next().and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{fault}"))
}

fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|number| number.try_into().ok()).unwrap_or_else(|| panic!("a number: {value}"))
}

fn lives(pid: u32) -> bool {
    state(pid).is_some_and(|letter| letter != 'Z')
}

#[test]
fn faults_on_the_network_overlap_count_their_packets_and_leave_no_rule() {
    let lab = Lab::new();
    let file = lab.place.file("result.json");
    let faults = [
        "net-delay:20ms,5ms@0.2s..1.2s/lab:pg",
        "net-loss:20@0.8s..2s/lab:pg",
        "net-rate:500k@1.8s..2.8s/lab:pg",
        "net-partition@3s..3.7s/lab:pg/0",
    ];
    let verbs = ["delayed ", "dropped ", "limited ", "dropped "];
    // A machine under load may send no packet within a fault.
    let result = windows_from("5s", |duration| {
        let ended = lab.run(duration, &faults, &["--json", text(&file)]).wait();
        assert!(lab.rules().is_empty(), "{ended:?}");
        if ended.code == Some(3) {
            return None;
        }
        ended.code(0);
        let result = json(&file);
        let counts = verbs.iter().enumerate().map(|(number, verb)| packets(&result["faults"][number], verb));
        let loss = &result["faults"][1];
        let some_passed = packets(loss, "dropped ") < packets(loss, " of ");
        (counts.into_iter().all(|count| count > 0) && some_passed).then_some(result)
    });
    assert_checks_hold(&result, &["before", "after"]);
    let port = format!("in force on port {}; ", lab.port());
    for (number, verb) in verbs.iter().enumerate() {
        // On a machine under load it may be one packet.
        assert_injected(&result["faults"][number], &[&port, verb, " packet"]);
    }
    let how = |number: usize| result["faults"][number]["how"].as_str().expect("a way").to_owned();
    assert!(how(0).starts_with("NFQUEUE ") && how(3).starts_with("DROP of iptables"), "{result}");
    assert_eq!(lab.place.list(), "no active faults\n");
}

#[test]
fn a_delay_holds_each_packet_and_ends_with_lydite_or_is_cleared_after_its_guard() {
    let lab = Lab::new();
    let start = || {
        let mut run = lab.run("600s", &["net-delay:50ms@0.2s..590s/lab:pg"], &["--no-check"]);
        run.wait_until("the fault", || lab.note().is_some());
        run
    };
    let run = start();
    let note = lab.note().expect("a note");
    let helper = number(&note["state"]["queue"]["helper"]["pid"]);
    assert!(lives(helper) && !lab.rules().is_empty(), "{note}");
    // The server's answer to the first packet comes after the delay, on any machine.
    let begun = Instant::now();
    TcpStream::connect(("127.0.0.1", lab.port())).expect("a connection");
    assert!(begun.elapsed() >= Duration::from_millis(50), "{:?}", begun.elapsed());
    run.signal(libc::SIGKILL);
    assert_eq!(run.wait().code, None);
    wait_until("no rule is left", || lab.rules().is_empty());
    wait_until("the helper has ended", || !lives(helper));
    wait_until("no fault is left", || lab.place.list() == "no active faults\n");

    let run = start();
    let note = lab.note().expect("a note");
    let (guard, helper) = (number(&note["guard"]["pid"]), number(&note["state"]["queue"]["helper"]["pid"]));
    // SAFETY: kill has no memory preconditions. The guard waits for the end of its fault.
    assert_eq!(unsafe { libc::kill(guard as i32, libc::SIGKILL) }, 0);
    run.signal(libc::SIGKILL);
    run.wait();
    wait_until("the helper has ended", || !lives(helper));
    // Without the helper packets pass, though the rules are left.
    assert!(!lab.rules().is_empty());
    TcpStream::connect(("127.0.0.1", lab.port())).expect("a connection");
    let cleared = lab.place.lydite(&["faults", "clear", "lab:pg"]).code(0);
    assert_eq!(cleared.stdout, "undone: net-delay:50ms on lab:pg\n");
    assert!(lab.rules().is_empty(), "{:?}", lab.rules());
    assert_eq!(lab.place.list(), "no active faults\n");
}
