//! Faults of disks and clocks: injected into a run on a lab, undone whoever is killed, and gone without a trace.

use crate::faults::{Lab, assert_injected, wait_until};
use crate::program::{json, text, windows_from};
use lydite_testkit::postgres::query;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Fails unless the proof of a fault has a number above zero after each of these words.
#[track_caller]
fn assert_more_than_nothing(fault: &Value, words: &[&str]) {
    let detail = fault["detail"].as_str().expect("a detail");
    for word in words {
        let (_, number) = detail.split_once(word).unwrap_or_else(|| panic!("{word}: {detail}"));
        let number = number.split(' ').next().and_then(|number| number.parse::<f64>().ok());
        assert!(number.is_some_and(|number| number > 0.0), "{word}: {detail}");
    }
}

/// The helper processes that keep the disk of a directory busy.
fn helpers(directory: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let line = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).ok();
    let lines = processes.filter_map(line).map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(" faults disk ") && line.contains(text(directory))).collect()
}

#[test]
fn a_busy_disk_is_busy_by_a_helper_that_leaves_nothing() {
    let lab = Lab::new();
    let file = lab.place.file("result.json");
    let files = || fs::read_dir(lab.directory().join("server-0/data")).expect("the data").count();
    let before = files();
    let faults = ["disk-read:2@0.2s..1.5s/lab:pg", "disk-write:1@0.2s..1.5s/lab:pg"];
    lab.run("3s", &faults, &["--no-check", "--json", text(&file)]).wait().code(0);
    let result = json(&file);
    assert_injected(
        &result["faults"][0],
        &["2 threads reading beside the data in ", "/server-0/data; read "],
    );
    assert_more_than_nothing(&result["faults"][0], &["; read ", " MB, "]);
    assert_injected(
        &result["faults"][1],
        &["1 thread writing beside the data in ", "/server-0/data; wrote "],
    );
    assert_more_than_nothing(&result["faults"][1], &["; wrote ", " MB, "]);
    assert_eq!(helpers(&lab.directory()), Vec::<String>::new());
    assert_eq!(files(), before, "no scratch file is left");
    assert_eq!(lab.place.list(), "no active faults\n");
    // Labs of other options.
    let faults = [
        "disk-full@1s..2s/lab:pg",
        "disk-loss@1s..2s/lab:pg",
        "power-cut@2s..3s/lab:pg",
        "clock-jump:+1h@1s..2s/lab:pg",
    ];
    let ended = lab.run("3s", &faults, &[]).wait().code(2);
    let errors = ended.errors().join("\n");
    assert!(
        errors.contains("shares its file system with others: use lydite lab up NAME --disk SIZE"),
        "{errors}"
    );
    assert!(errors.contains("has no other server to copy its data from"), "{errors}");
    assert!(
        errors.contains("others, which keep their power: start the lab with --disk SIZE")
            || errors.contains("shuts a file system down: run lydite as root"),
        "{errors}"
    );
    assert!(errors.contains("start the lab with lydite lab up NAME --clock"), "{errors}");
}

/// The control groups of a process.
fn groups(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("groups")
}

/// True if this user may slow down disks. Not every machine lets it.
fn may_slow_down(lab: &Lab) -> bool {
    let wrong = ["disk-slow:1000000@1s..2s/lab:pg", "cpu-burn:4096@1s..2s/local"];
    let ended = lab.run("3s", &wrong, &[]).wait().code(2);
    let errors = ended.errors();
    let of_groups = errors.iter().find(|error| error.contains("disk-slow"));
    assert!(
        of_groups
            .is_none_or(|error| error.contains("control groups") || error.contains("the right to write")),
        "{errors:?}"
    );
    of_groups.is_none()
}

#[test]
fn a_slow_disk_lets_through_little_and_is_as_before_at_the_end() {
    let lab = Lab::new();
    if !may_slow_down(&lab) {
        return;
    }
    let file = lab.place.file("result.json");
    let pid = lab.postmaster().expect("a server");
    let before = groups(pid);
    let fault = windows_from("4s", |duration| {
        let fault = ["disk-slow:1000000@0.2s..3s/lab:pg"];
        lab.run(duration, &fault, &["--no-check", "--json", text(&file)]).wait().code(0);
        let fault = json(&file)["faults"][0].clone();
        // A machine under load may commit nothing within the fault.
        (!fault["detail"].as_str().expect("a detail").contains("wrote 0.00 MB")).then_some(fault)
    });
    assert_injected(
        &fault,
        &["limited ", " to 1000000 bytes per second on device ", "; read ", " and wrote "],
    );
    assert_more_than_nothing(&fault, &["limited ", " and wrote "]);
    assert_eq!(groups(pid), before);
    assert_eq!(lab.place.list(), "no active faults\n");
}

#[test]
fn faults_whose_guards_are_killed_together_with_lydite_are_cleared() {
    let lab = Lab::new();
    if !may_slow_down(&lab) {
        return;
    }
    let pid = lab.postmaster().expect("a server");
    let before = groups(pid);
    let faults = ["disk-slow:1000000@0.2s..590s/lab:pg", "disk-write:1@0.2s..590s/lab:pg"];
    let mut run = lab.run("600s", &faults, &["--no-check"]);
    run.wait_until("the faults", || {
        groups(pid).contains("lydite-fault-") && lab.place.list().matches("guarded by process ").count() == 2
    });
    assert_eq!(helpers(&lab.directory()).len(), 1);
    let list = lab.place.list();
    let guards: Vec<i32> =
        list.lines().filter_map(|line| line.rsplit_once("guarded by process ")?.1.parse().ok()).collect();
    assert_eq!(guards.len(), 2, "{list}");
    for guard in guards {
        // SAFETY: kill has no memory preconditions, and the guards are those of this test's run.
        assert_eq!(unsafe { libc::kill(guard, libc::SIGKILL) }, 0);
    }
    run.signal(libc::SIGKILL);
    run.wait();
    wait_until("the guards have ended", || lab.place.list().matches("left behind").count() == 2);
    wait_until("the helper has ended", || helpers(&lab.directory()).is_empty());
    assert!(groups(pid).contains("lydite-fault-"), "nobody has undone it yet");
    let cleared = lab.place.lydite(&["faults", "clear"]).code(0).stdout;
    assert!(cleared.contains("undone: disk-slow:1000000 on lab:pg\n"), "{cleared}");
    assert!(cleared.contains("undone: disk-write:1 on lab:pg\n"), "{cleared}");
    assert_eq!(groups(pid), before);
    assert_eq!(lab.place.list(), "no active faults\n");
}

/// The seconds that a server's clock is ahead of this machine's.
fn ahead(lab: &Lab) -> f64 {
    let told = query(&lab.url, "SELECT extract(epoch FROM clock_timestamp())");
    let here = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs_f64();
    told.parse::<f64>().expect("a time") - here
}

#[test]
fn a_clock_jumps_and_jumps_back_also_of_a_server_that_was_killed_and_started_again() {
    let lab = Lab::started_with(&["--clock"]);
    let killed = lab.postmaster();
    let mut run = lab.run("600s", &["kill@0.2s..0.5s/lab:pg"], &["--no-check"]);
    run.wait_until("a new server", || {
        lab.postmaster().is_some_and(|pid| Some(pid) != killed) && lab.place.list() == "no active faults\n"
    });
    run.signal(libc::SIGINT);
    // The sessions may not have reconnected yet.
    run.wait();
    wait_until("the server has recovered", || lab.place.lydite(&["check", &lab.url]).code == Some(0));
    assert!(ahead(&lab).abs() < 1800.0);
    let file = lab.place.file("result.json");
    let fault = ["clock-jump:+1h@0.2s..590s/lab:pg"];
    let mut run = lab.run("600s", &fault, &["--no-check", "--json", text(&file)]);
    run.wait_until("the jump", || ahead(&lab) > 1800.0);
    run.signal(libc::SIGINT);
    run.wait().code(130);
    let fault = &json(&file)["faults"][0];
    assert_eq!(fault["ok"], true, "{fault}");
    let detail = fault["detail"].as_str().expect("a detail");
    assert!(detail.starts_with("1 clock jumped by +3600 s; the offset was read after "), "{detail}");
    // A process may look at the file in its next second only.
    wait_until("the jump back", || ahead(&lab).abs() < 1800.0);
    assert_eq!(lab.place.list(), "no active faults\n");
}

#[test]
fn a_full_disk_has_room_again_at_the_end_and_is_unmounted_with_its_lab() {
    let lab = match Lab::try_start(&["--disk", "512M"]) {
        Ok(lab) => lab,
        Err(ended) => {
            // Not every user may mount file systems, and not every machine has loop devices.
            let error = ended.only_error();
            assert!(error.contains("run lydite as root") || error.contains("--disk: mount: "), "{error}");
            return;
        }
    };
    let disk = lab.directory().join("disk");
    let mounts = || fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(mounts().contains(text(&disk)));
    let before = fs::read_dir(&disk).expect("the disk").count();
    let file = lab.place.file("result.json");
    let fault = ["disk-full@0.2s..1.5s/lab:pg"];
    // The server may not survive.
    lab.run("3s", &fault, &["--no-check", "--json", text(&file)]).wait();
    let fault = &json(&file)["faults"][0];
    // The server may have ended, which the end of the fault does not repair.
    if fault["ok"] == true {
        assert_injected(fault, &["filled ", " MB, until no space was left"]);
    } else {
        let detail = fault["detail"].as_str().expect("a detail");
        assert!(detail.contains("the server on port ") && detail.contains(" has ended: start it"), "{fault}");
    }
    assert_more_than_nothing(fault, &["filled "]);
    assert_eq!(
        fs::read_dir(&disk).expect("the disk").count(),
        before,
        "the file that took the space is gone"
    );
    assert_eq!(lab.place.list(), "no active faults\n");
    lab.place.lydite(&["lab", "down", "pg"]).code(0);
    assert!(!mounts().contains(text(&disk)) && !lab.directory().exists());
}
