//! The lab of a fleet: NATS and agents on this machine.

use crate::program::{Ended, Program, json, scratch, text};
use lydite_testkit::Directory;
use lydite_testkit::nats;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory for temporary files, in which labs are. The fleet in it ends with it.
struct Place {
    directory: Directory,
}

impl Place {
    fn new() -> Self {
        Self { directory: scratch() }
    }

    /// Runs the program here, with the NATS server on its path.
    fn lydite(&self, arguments: &[&str]) -> Ended {
        let nats = nats::program();
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", nats.parent().map(text).unwrap_or_default());
        Program::new(arguments).env("PATH", path).env("TMPDIR", self.directory.path()).run()
    }

    /// Returns the directory of the fleet.
    fn fleet(&self) -> PathBuf {
        // SAFETY: geteuid has no preconditions.
        let user = unsafe { libc::geteuid() };
        self.directory.path().join(format!("lydite-lab-{user}")).join("fleet")
    }

    /// Returns the number of the process of a server: the NATS server has its configuration on its command line, an agent
    /// its name.
    fn process(&self, server: usize) -> i32 {
        let note = fs::read(self.fleet().join("lab.json")).expect("a note");
        let note: Value = serde_json::from_slice(&note).expect("JSON");
        let server = &note["servers"][server];
        let configuration = format!("{}/nats.conf", server["path"].as_str().expect("a path"));
        let argument = server["agent"].as_str().unwrap_or(&configuration);
        let processes = fs::read_dir("/proc").expect("processes").flatten();
        let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let has = |process: &i32| command_line(*process).split('\0').any(|part| part == argument);
        numbers.find(has).unwrap_or_else(|| panic!("no process of {argument}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.fleet().exists() {
            let _ended = self.lydite(&["lab", "down", "fleet"]);
        }
    }
}

/// Returns the command line of a process; empty if it has ended.
fn command_line(process: i32) -> String {
    let command = fs::read(Path::new("/proc").join(process.to_string()).join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).into_owned()
}

#[test]
fn the_fleet_of_a_lab_plays_runs_and_ends_with_the_lab() {
    let place = Place::new();
    let up = place.lydite(&["lab", "up", "fleet", "--agents", "2"]).code(0);
    let url = up.stdout.trim().to_owned();
    let (login, address) = url.split_once('@').expect("a login");
    let password = login.strip_prefix("nats://lydite:").expect("a user");
    let port = address.strip_prefix("127.0.0.1:").expect("the loopback");
    assert_eq!(password.len(), 32, "{url}");
    assert!(up.stderr.contains("NATS and 2 agents run") && !up.stderr.contains(password), "{}", up.stderr);
    assert_eq!(place.lydite(&["lab", "up", "fleet"]).code(0).stdout.trim(), url, "once more is the same");
    let other = place.lydite(&["lab", "up", "fleet", "--agents", "3"]).code(2);
    assert!(other.only_error().contains("there is a lab of 2 agents: end it with"), "{other:?}");
    let list = place.lydite(&["lab", "list"]).code(0).stdout;
    assert!(list.contains(&format!("nats://lydite@{address}\n")) && !list.contains(password), "{list}");
    let processes: Vec<i32> = (0..3).map(|server| place.process(server)).collect();
    for process in &processes {
        let line = command_line(*process);
        assert!(!line.is_empty() && !line.contains(password), "everybody sees it: {line}");
    }
    let path = place.directory.path().join("result.json");
    let null =
        ["run", "null:", "-t", "2", "--duration", "1s", "--warmup", "0s", "--json", text(&path), "--agents"];
    let run = |agents: &[&str]| place.lydite(&[&null[..], agents].concat());
    run(&["2", "--join", &url]).code(0);
    let found = run(&["2"]).code(0);
    assert!(found.stderr.contains(&format!("the lab fleet at nats://{address}")), "{}", found.stderr);
    let names: Vec<String> = json(&path)["agents"]
        .as_array()
        .expect("agents")
        .iter()
        .map(|agent| agent["name"].to_string())
        .collect();
    assert_eq!(names, [format!("\"lab-{port}-1\""), format!("\"lab-{port}-2\"")]);
    let few = run(&["3"]).code(2);
    assert!(few.only_error().contains("the lab fleet has 2, not 3"), "{few:?}");

    // SAFETY: kill has no memory preconditions; the process is an agent of this lab.
    let kill = |server: usize| assert_eq!(unsafe { libc::kill(processes[server], libc::SIGKILL) }, 0);
    kill(2);
    let gone = format!("agent lab-{port}-2");
    let refused = place.lydite(&["lab", "up", "fleet"]).code(2);
    let error = refused.only_error();
    assert!(error.contains(&format!("{gone} does not answer")), "{error}");
    assert!(error.contains("lydite lab restart fleet"), "{error}");
    // The others still play, with and without --join.
    let ended = format!("1 of 2 have ended (lab-{port}-2): start them again with: lydite lab restart fleet");
    assert!(run(&["1"]).code(0).stderr.contains(&ended));
    let few = run(&["2", "--agents-timeout", "1s"]).code(3);
    assert!(few.stderr.contains(&ended) && few.stderr.contains("1 of 2 agents are free"), "{few:?}");
    assert!(few.stderr.contains("after 1 s: start them again with: lydite lab restart fleet"), "{few:?}");
    let is_down = |agent: u32| {
        let list = place.lydite(&["lab", "list"]).stdout;
        list.contains(&format!("(agent lab-{port}-{agent} does not answer)"))
    };
    assert!(is_down(2));
    kill(1);
    place.lydite(&["lab", "restart", "fleet/1"]).code(0);
    assert!(is_down(2), "only the node that was named is started again");
    assert_eq!(place.lydite(&["lab", "restart", "fleet"]).code(0).stdout.trim(), url);
    run(&["2"]).code(0);

    let processes: Vec<i32> = (0..3).map(|server| place.process(server)).collect();
    place.lydite(&["lab", "down", "fleet"]).code(0);
    assert!(!place.fleet().exists());
    for process in processes {
        let line = command_line(process);
        assert!(
            !line.contains("lab-") && !line.contains("nats.conf"),
            "process {process} still runs: {line}"
        );
    }
    run(&["2"]).code(2).told(&[&["--agents", "needs --join"]]);
}

#[test]
fn a_fleet_has_agents_and_no_other_lab_has_them() {
    let place = Place::new();
    for (lab, words) in [
        (["pg", "--agents", "2"], "--agents is for fleet, not for pg"),
        (["fleet", "--agents", "0"], "a lab has 1 to 32"),
        (["fleet", "--shards", "2"], "--shards is for pg-sharded and spider, not for fleet"),
        (["fleet", "--disk", "1G"], "--disk is for databases, not for fleet"),
    ] {
        let refused = place.lydite(&[&["lab", "up"], &lab[..]].concat()).code(2);
        assert!(refused.only_error().contains(words), "{refused:?}");
    }
}
