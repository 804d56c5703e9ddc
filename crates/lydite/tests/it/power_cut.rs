//! The loss of power: a lab's disk is shut down without a flush, its servers are killed, and they start again on what is
//! left. Servers that wait for their disk keep each acknowledged order, those that do not are found.

use crate::audit::{test_of, with_verdict};
use crate::faults::{Lab, assert_injected};
use crate::program::{Ended, check_after, json, text, windows_from};
use serde_json::Value;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::process::Command;

fn lab(kind: &'static str, more: &[&str]) -> Option<Lab> {
    on_disk(kind, "512M", more)
}

/// A lab with a disk of its own; none on a machine that can't have one.
pub(crate) fn on_disk(kind: &'static str, size: &str, more: &[&str]) -> Option<Lab> {
    match Lab::try_start_of(kind, &[&["--disk", size], more].concat()) {
        Ok(lab) => Some(lab),
        Err(ended) => {
            // Not every user may mount file systems, and not every machine has loop devices.
            let error = ended.only_error();
            assert!(error.contains("run lydite as root") || error.contains("--disk: mount: "), "{error}");
            None
        }
    }
}

/// Makes the tests of durability.
fn audit(lab: &Lab) -> (Ended, Value) {
    let file = lab.place.file("audit.json");
    let only = ["--quick", "--only", "durability", "--duration", "1s", "--json", text(&file)];
    let ended = lab.place.lydite(&[&["audit", &lab.url], &only[..]].concat());
    println!("{}{}", ended.stdout, ended.stderr);
    (ended, json(&file))
}

/// Audits a database that does not sync, until a cut finds orders that are not on the disk. On a busy machine the system
/// may have written all of them by itself.
fn audit_without_syncs(lab: &Lab) -> (Ended, Value) {
    let all_there = |(_, found): &(Ended, Value)| {
        let seen = test_of(found, "durability-4", "local")["seen"].as_str().expect("words");
        seen.contains("this time each of ")
    };
    let mut audits = std::iter::repeat_with(|| audit(lab)).take(5);
    audits.find(|all| !all_there(all)).expect("an audit that lost orders")
}

/// Asserts that the loss of power was survived.
#[track_caller]
fn assert_survived((ended, found): &(Ended, Value)) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(with_verdict(found, "passed"), ["durability-1 local", "durability-4 local"], "{found}");
    let test = test_of(found, "durability-4", "local");
    assert_eq!(test["clause"], "3.5.3.4");
    let steps = test["steps"].to_string();
    for step in [
        "the power is cut, of the disk and of all servers: killed ",
        ", 1 disk lost its unwritten data",
        "the servers are started again: port ",
        "all 12 conditions hold",
        " Payments and ",
    ] {
        assert!(steps.contains(step), "{step}: {found}");
    }
}

/// Asserts that the audit found what the loss of power took.
#[track_caller]
fn assert_lost((ended, found): &(Ended, Value)) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let test = test_of(found, "durability-4", "local");
    assert_eq!(test["verdict"], "failed", "{found}");
    let seen = test["seen"].as_str().expect("words");
    // Without syncs the whole database may be gone, or in pieces.
    let gone = ["are lost: order ", "did not come back", "it is empty", "can't be started"];
    assert!(gone.iter().any(|words| seen.contains(words)), "{seen}");
}

/// Cuts the power in a run, which compares each order and each payment.
fn cut_in_a_run(lab: &Lab) {
    let (file, log) = (lab.place.file("result.json"), lab.place.file("success.log"));
    let files = ["--json", text(&file), "--success-log", text(&log), "--terminals", "2"];
    // A machine under load may not have the server back within the first window.
    let result = windows_from("4s", |window| {
        let _old = fs::remove_file(&log);
        let ended = lab.run(window, &["power-cut@0.8s..1.2s/nodes=all"], &files).wait();
        (ended.code != Some(3)).then(|| {
            ended.code(0);
            json(&file)
        })
    });
    assert_injected(
        &result["faults"][0],
        &["killed ", "1 disk lost its unwritten data", " refused connections for "],
    );
    for check in ["success-log", "ledger"] {
        let (ok, words) = check_after(&result, check);
        assert!(ok, "{words}");
    }
    assert!(result["success_log"]["committed"].as_u64() > Some(0), "{result}");
    assert_eq!(result["success_log"]["lost"], 0, "{result}");
    assert_eq!(lab.place.list(), "no active faults\n");
}

impl Lab {
    fn disk(&self) -> std::path::PathBuf {
        self.directory().join("disk")
    }

    /// Injects a fault in a run and kills its guard and the run, once it is in force and `also` is true.
    fn leave_behind(&self, fault: &str, also: impl Fn() -> bool) {
        let mut run = self.run("600s", &[fault], &["--no-check"]);
        run.wait_until("the fault", || also() && self.place.list().contains("guarded by"));
        let list = self.place.list();
        let (_, rest) = list.split_once("guarded by ").expect("a guard");
        let digits: String =
            rest.chars().skip_while(|sign| !sign.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        let guard: i32 = digits.parse().unwrap_or_else(|_| panic!("{list}"));
        // SAFETY: kill has no memory preconditions. The guard waits for the end of its fault.
        assert_eq!(unsafe { libc::kill(guard, libc::SIGKILL) }, 0);
        run.signal(libc::SIGKILL);
        run.wait();
        assert!(self.place.list().contains("left behind"), "{}", self.place.list());
    }

    /// Fails unless the end of the lab ends the faults that are left on it, and so does the start of another one in its
    /// place.
    fn assert_forgotten(&self) {
        let notes = self.place.file(&format!("lydite-faults-{}", self.user()));
        let copy = self.place.file("copy");
        let copied = Command::new("cp").arg("-a").arg(&notes).arg(&copy).status();
        assert!(copied.expect("cp").success());
        let down = || assert!(self.place.lydite(&["lab", "down", "pg"]).code(0).stderr.is_empty());
        down();
        assert_eq!(self.place.list(), "no active faults\n");
        // As if the directory of the lab had been removed by hand.
        fs::remove_dir_all(&notes).expect("the notes");
        fs::rename(&copy, &notes).expect("their copy");
        assert!(self.place.list().contains("left behind"));
        self.place.lydite(&["lab", "up", "pg"]).code(0);
        assert_eq!(self.place.list(), "no active faults\n");
        down();
    }

    fn user(&self) -> u32 {
        // SAFETY: geteuid has no preconditions.
        unsafe { libc::geteuid() }
    }

    fn is_mounted(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        mounts.contains(text(&self.disk()))
    }

    /// Shuts the disk down, as a cut does that is broken off right then.
    fn shut_down(&self) {
        let disk = File::open(self.disk()).expect("the disk");
        let way: u32 = 2;
        // SAFETY: the descriptor is open, and the kernel reads the number, which outlives the call.
        assert_eq!(unsafe { libc::ioctl(disk.as_raw_fd(), 0x8004_587d, &raw const way) }, 0);
    }
}

#[test]
fn postgresql_keeps_what_it_acknowledged_when_its_power_is_cut_also_if_the_cut_is_broken_off() {
    let Some(lab) = lab("pg", &[]) else { return };
    assert_survived(&audit(&lab));

    // Nobody is left to undo this one.
    lab.leave_behind("power-cut@0.5s..590s/lab:pg", || !lab.is_mounted());
    let restarted = lab.place.lydite(&["lab", "restart", "pg"]).code(0);
    assert!(restarted.stderr.contains(" runs again"), "{restarted:?}");
    let check = || {
        let checked = lab.place.lydite(&["check", &lab.url]).code(0);
        assert!(checked.stdout.contains("12 of 12 consistency conditions hold"), "{checked:?}");
    };
    check();
    assert_eq!(lab.place.lydite(&["faults", "clear"]).code(0).stdout, "undone: power-cut on lab:pg\n");
    check();

    lab.shut_down();
    let refused = lab.run("2s", &["power-cut@0.5s..1s/lab:pg"], &["--no-check"]).wait();
    assert_ne!(refused.code, Some(0), "{refused:?}");
    lab.place.lydite(&["lab", "restart", "pg"]).code(0);
    check();
    lab.shut_down();
    lab.place.lydite(&["lab", "down", "pg"]).code(0);
    assert!(!lab.is_mounted() && !lab.directory().exists());

    let Some(lab) = self::lab("pg", &[]) else { return };
    lab.leave_behind("power-cut@0.5s..590s/lab:pg", || !lab.is_mounted());
    lab.assert_forgotten();
}

#[test]
fn a_lab_that_ends_or_starts_anew_forgets_faults_that_were_left_behind_on_its_servers() {
    let lab = Lab::new();
    lab.leave_behind("kill@0.5s..590s/lab:pg", || true);
    lab.assert_forgotten();
}

#[test]
fn postgresql_without_syncs_fails_the_test_of_the_loss_of_power() {
    let Some(lab) = lab("pg", &["--set", "fsync=off"]) else { return };
    let up = ["lab", "up", "pg", "--set", "fsync=off"];
    assert_eq!(lab.place.lydite(&up).code(0).stdout.trim(), lab.url, "once more is the same");
    let other = lab.place.lydite(&["lab", "up", "pg", "--set", "fsync=on"]).code(2);
    assert!(other.only_error().contains("there is a lab without --set fsync=on"), "{other:?}");
    let all = audit(&lab);
    assert_lost(&all);
    let seen = test_of(&all.1, "durability-4", "local")["seen"].as_str().expect("words");
    assert!(!seen.contains("HINT:") && !seen.contains("see lydite faults list"), "{seen}");
}

#[test]
fn mariadb_that_leaves_its_log_to_the_system_loses_orders_and_one_that_syncs_it_does_not() {
    let Some(lab) = lab("mariadb", &["--set", "innodb_flush_log_at_trx_commit=2"]) else { return };
    // The rows of the load are in memory, too.
    assert!(Command::new("sync").arg("-f").arg(lab.disk()).status().expect("sync").success());
    let all = audit_without_syncs(&lab);
    assert_lost(&all);
    let words = "by its settings a commit does not survive the loss of power";
    assert!(test_of(&all.1, "durability-4", "local")["steps"].to_string().contains(words), "{}", all.1);

    lab.place.lydite(&["lab", "down", "mariadb"]).code(0);
    let Some(lab) = self::lab("mariadb", &[]) else { return };
    assert_survived(&audit(&lab));
}

#[test]
fn gemel_keeps_what_it_acknowledged_unless_its_commits_wait_for_nothing() {
    let Some(lab) = lab("gemel", &["--set", "durability=none"]) else { return };
    assert!(Command::new("sync").arg("-f").arg(lab.disk()).status().expect("sync").success());
    assert_lost(&audit(&lab));
    lab.place.lydite(&["lab", "down", "gemel"]).code(0);

    let Some(lab) = self::lab("gemel", &[]) else { return };
    cut_in_a_run(&lab);
}

#[test]
fn settings_of_a_lab_are_checked_before_anything_is_made() {
    for (setting, word) in [
        ("fsync", "write NAME=VALUE"),
        ("port=1", "the lab sets port itself: leave it out"),
        ("a='b'", "the value has a sign"),
    ] {
        let ended =
            crate::program::lydite(&["lab", "up", "pg", "--set", setting, "--dir", "/nonexistent/lab"])
                .code(2);
        assert!(ended.only_error().contains(word), "{setting}: {ended:?}");
    }
    let place = crate::faults::Place::new();
    let ended = place.lydite(&["lab", "up", "pg", "--set", "no_such_setting=1"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.errors().join("\n").contains("no_such_setting"), "{ended:?}");
    // The line with the cause, and no log that was deleted with the lab.
    let ended = place.lydite(&["lab", "up", "mariadb", "--set", "no_such_setting=1"]).code(3);
    let errors = ended.errors().join("\n");
    assert!(errors.contains("no_such_setting") && !errors.contains("its log is"), "{ended:?}");
    let left = place.lydite(&["lab", "list"]).code(0);
    assert!(!left.stdout.contains("127.0.0.1"), "{left:?}");
}
