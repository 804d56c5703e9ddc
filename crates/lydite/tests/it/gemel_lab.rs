//! Gemel in a process of its own, as a lab: faults act on it, and it opens its database again.

use crate::faults::{Lab, Place, assert_injected, wait_until};
use crate::program::{Ended, json, text, windows_from};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts a lab of Gemel with a small warehouse.
fn lab() -> Lab {
    Lab::try_start_of("gemel", &[]).unwrap_or_else(|ended| panic!("{ended:?}"))
}

/// Returns the numbers of the processes that serve a database below a directory.
fn servers(below: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command);
        if command.contains("\0serve\0") && command.contains(text(below)) {
            found.extend(entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        }
    }
    found
}

fn check(place: &Place, url: &str) -> Ended {
    place.lydite(&["check", url]).code(0)
}

#[test]
fn gemel_comes_back_from_a_kill_with_all_that_it_acknowledged() {
    let lab = lab();
    let (file, log) = (lab.place.file("result.json"), lab.place.file("success.log"));
    let files = ["--json", text(&file), "--success-log", text(&log), "--terminals", "2"];
    // A machine under load may not have the server back within the first window.
    let result = windows_from("4s", |window| {
        let _old = fs::remove_file(&log);
        let ended = lab.run(window, &["kill@1s..1.5s/lab:gemel"], &files).wait();
        (ended.code != Some(3)).then(|| {
            ended.code(0);
            json(&file)
        })
    });
    assert_eq!(result["status"], "complete", "{result}");
    assert_eq!(result["target"]["kind"], "gemel-server");
    let checks = result["checks"].as_array().expect("checks");
    // The twenty conditions before and after, the ledger, the success log, the answers, and the sample.
    assert_eq!(checks.len(), 20 + 20 + 4, "{checks:?}");
    assert!(checks.iter().all(|check| check["ok"] == true), "{checks:?}");
    assert!(result["success_log"]["committed"].as_u64() > Some(0), "{result}");
    assert_injected(&result["faults"][0], &["killed 1 process", " refused connections for "]);
    let judged = &result["availability"][0];
    assert!(judged["fault"] == 0 && judged["seconds_without_commit"].is_u64(), "{judged}");
    assert!(judged["first_commit_s"].is_f64(), "{judged}");
}

#[test]
fn a_shutdown_begins_when_the_server_is_told_to_stop() {
    let lab = lab();
    let file = lab.place.file("result.json");
    let seconds =
        |fault: &Value, name: &str| fault[name].as_f64().unwrap_or_else(|| panic!("{name}: {fault}"));
    // The server can't stop in its orderly way while it stands still. So the shutdown takes until the other fault ends,
    // and has begun before, unless the machine is late with it.
    let result = windows_from("7s", |window| {
        let faults = ["stop@0.5s..4s/nodes=1", "shutdown@1s..5s/lab:gemel/0"];
        let ended = lab.run(window, &faults, &["--no-check", "--json", text(&file)]).wait();
        let result = (ended.code == Some(0)).then(|| json(&file))?;
        let [stop, shutdown] = &result["faults"].as_array()?[..] else { return None };
        (seconds(shutdown, "begun_s") < seconds(stop, "undone_s")).then_some(result)
    });
    assert_injected(&result["faults"][1], &["1 server stopped", " refused connections for "]);
    // It stopped in its orderly way.
    let log = fs::read_to_string(lab.directory().join("server-0/log")).expect("a log");
    assert!(!log.contains("panicked"), "{log}");
}

/// True if a process has been told to end (SIGTERM), and has not noticed it yet.
fn is_told_to_end(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    let pending = pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    pending & (1 << (libc::SIGTERM - 1)) != 0
}

#[test]
fn a_shutdown_that_is_cleared_before_the_server_has_stopped_starts_it_again() {
    let lab = lab();
    let [server] = servers(&lab.directory())[..] else { panic!("one server") };
    // It can't stop in its orderly way while it stands still. On a machine under load a fault may begin seconds late.
    let faults = ["stop@0.2s..590s/nodes=1", "shutdown@10s..595s/lab:gemel/0"];
    let mut run = lab.run("600s", &faults, &["--no-check"]);
    run.wait_until("the shutdown", || is_told_to_end(server));
    let cleared = lab.place.lydite(&["faults", "clear"]).code(0).stdout;
    assert!(cleared.contains("undone: shutdown on lab:gemel/0\n"), "{cleared}");
    let [again] = servers(&lab.directory())[..] else { panic!("one server") };
    assert_ne!(again, server);
    assert_eq!(lab.place.lydite(&["lab", "up", "gemel"]).code(0).stdout.trim(), lab.url);
    run.signal(libc::SIGINT);
    run.wait();
    assert_eq!(lab.place.list(), "no active faults\n");
}

#[test]
fn a_lab_whose_servers_have_ended_is_started_again_on_its_data() {
    let lab = lab();
    let directory = lab.directory();
    // The kill has no end, so the server stays down.
    let ended = lab.run("2s", &["kill@0.5s/lab:gemel"], &["--no-check"]).wait();
    assert!(servers(&directory).is_empty(), "{ended:?}");
    assert!(lab.place.lydite(&["lab", "list"]).code(0).stdout.contains(" does not answer)"));
    for (place, word) in [
        ("gemel/1", "lab gemel has no node 1: use 0 to 0"),
        ("gemel/x", "is no node"),
        ("pg", "there is no lab"),
    ] {
        let error = lab.place.lydite(&["lab", "restart", place]).code(2);
        assert!(error.only_error().contains(word), "{place}: {error:?}");
    }
    let restarted = lab.place.lydite(&["lab", "restart", "gemel/0"]).code(0);
    assert_eq!(restarted.stdout.trim(), lab.url);
    assert!(restarted.stderr.contains(" runs again"), "{restarted:?}");
    check(&lab.place, &lab.url);
    let again = lab.place.lydite(&["lab", "restart", "gemel"]).code(0);
    assert!(again.stderr.contains("all of lab gemel runs already"), "{again:?}");
    assert_eq!(servers(&directory).len(), 1);
    // The experiment for Gemel fits it.
    let experiment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/dike/fig22-gemel.toml");
    let target = format!("target={}", lab.url);
    let sweep = ["sweep", text(&experiment), "--dry-run", "--set", &target, "--out", "/nonexistent/out"];
    assert!(lab.place.lydite(&sweep).code(0).stdout.contains("7 points"));
    lab.place.lydite(&["lab", "down", "gemel"]).code(0);
    wait_until("the server is gone", || servers(&directory).is_empty());
    assert!(!directory.exists());
}

#[test]
fn a_server_that_is_starting_is_awaited_and_not_started_twice() {
    let lab = lab();
    let directory = lab.directory();
    lab.run("2s", &["kill@0.5s/lab:gemel"], &["--no-check"]).wait();
    assert!(servers(&directory).is_empty());
    // The same command line, which stands still before it listens.
    let (head, port) = lab.url.rsplit_once(':').expect("a port");
    let password = head.rsplit_once(':').and_then(|(_, rest)| rest.split('@').next()).expect("a password");
    let data = format!("gemel:{}/server-0/data", directory.display());
    let mut starting = Command::new("sh")
        .args([
            "-c",
            "kill -STOP $$; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_lydite"),
            "driver",
            "serve",
            &data,
        ])
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .env("LYDITE_PASSWORD", password)
        .stdin(Stdio::null())
        .spawn()
        .expect("a shell");
    let pid = starting.id();
    wait_until("it stands still", || {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") T "))
    });
    let mut restart = lab.place.program(&["lab", "restart", "gemel"]).start();
    restart
        .wait_until("the lock", || lab.place.lydite(&["lab", "list"]).code(0).stdout.contains("(starting)"));
    let second = lab.place.lydite(&["lab", "restart", "gemel"]).code(2);
    assert!(second.only_error().contains("this lab is being started: wait"), "{second:?}");
    // SAFETY: kill has no memory preconditions, and the process is this test's own.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), libc::SIGCONT) }, 0);
    assert_eq!(restart.wait().code(0).stdout.trim(), lab.url);
    assert_eq!(servers(&directory), [pid]);
    // A server that the lab did not start itself is ended with it.
    lab.place.lydite(&["lab", "down", "gemel"]).code(0);
    assert!(starting.wait().is_ok() && servers(&directory).is_empty());
}

#[test]
fn a_killed_postgresql_lab_is_started_again_on_its_data() {
    let lab = Lab::new();
    lab.run("2s", &["kill@0.5s/lab:pg"], &["--no-check"]).wait();
    assert!(lab.place.lydite(&["lab", "up", "pg"]).code(2).only_error().contains("does not answer"));
    assert_eq!(lab.place.lydite(&["lab", "restart", "pg"]).code(0).stdout.trim(), lab.url);
    check(&lab.place, &lab.url);
}
