//! Faults on purpose: injected into a run, undone in every way it can end, and judged in its result.

mod memory;
mod net;
mod periodic;
mod random;

use crate::program::{
    Ended, Program, Running, assert_checks_hold, json, lydite, scratch, text, windows_from,
};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than a signal takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A directory for labs and notes of faults that no other test uses.
pub(crate) struct Place {
    pub(crate) directory: lydite_testkit::Directory,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: scratch() }
    }

    pub(crate) fn program(&self, arguments: &[&str]) -> Program {
        // Without a directory of the session, notes are below the one for temporary files.
        Program::new(arguments).env("TMPDIR", self.directory.path()).env("XDG_RUNTIME_DIR", "")
    }

    pub(crate) fn lydite(&self, arguments: &[&str]) -> Ended {
        self.program(arguments).run()
    }

    pub(crate) fn list(&self) -> String {
        self.lydite(&["faults", "list"]).code(0).stdout
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// A lab with a small warehouse, ended also when a test fails.
pub(crate) struct Lab {
    kind: &'static str,
    pub(crate) place: Place,
    pub(crate) url: String,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::started_with(&[])
    }

    /// A lab with more options of `lab up`.
    pub(crate) fn started_with(options: &[&str]) -> Self {
        Self::try_start(options).unwrap_or_else(|ended| panic!("{ended:?}"))
    }

    /// A PostgreSQL lab with more options of `lab up`, or the failed start.
    pub(crate) fn try_start(options: &[&str]) -> Result<Self, Ended> {
        Self::try_start_of("pg", options)
    }

    /// A lab of another kind.
    pub(crate) fn try_start_of(kind: &'static str, options: &[&str]) -> Result<Self, Ended> {
        let place = Place::new();
        let up = place.lydite(&[&["lab", "up", kind], options].concat());
        if up.code != Some(0) {
            return Err(up);
        }
        let url = up.stdout.split_whitespace().next().expect("a URL").to_owned();
        let lab = Self { kind, place, url };
        lab.place.lydite(&["load", &lab.url, "-w", "1", "--size", "small", "--quiet"]).code(0);
        Ok(lab)
    }

    /// The directory of the lab.
    pub(crate) fn directory(&self) -> PathBuf {
        // SAFETY: geteuid has no preconditions.
        self.place.file(&format!("lydite-lab-{}/{}", unsafe { libc::geteuid() }, self.kind))
    }

    /// The number of the server's first process.
    pub(crate) fn postmaster(&self) -> Option<u32> {
        let file = fs::read_to_string(self.directory().join("server-0/data/postmaster.pid")).ok()?;
        file.lines().next()?.parse().ok()
    }

    /// True if the server's first process stands still.
    pub(crate) fn stands_still(&self) -> bool {
        self.postmaster().is_some_and(|pid| state(pid) == Some('T'))
    }

    pub(crate) fn run(&self, duration: &str, faults: &[&str], more: &[&str]) -> Running {
        let mut arguments = vec!["run", &self.url, "--duration", duration, "--warmup", "0s", "--quiet"];
        faults.iter().for_each(|fault| arguments.extend(["--fault", fault]));
        arguments.extend(more);
        self.place.program(&arguments).start()
    }

    /// Starts a run with a fault that stops the server, and waits until the server stands still.
    fn stopped(&self, result: &Path) -> Running {
        let mut run = self.run("600s", &["stop@0.2s..590s/lab:pg"], &["--no-check", "--json", text(result)]);
        run.wait_until("the fault", || {
            self.stands_still() && self.place.list().contains("stop on lab:pg  guarded by")
        });
        run
    }

    pub(crate) fn wait_until_it_goes_on(&self) {
        wait_until("the server goes on", || !self.stands_still());
        wait_until("no fault is left", || self.place.list() == "no active faults\n");
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for arguments in [&["faults", "clear"][..], &["lab", "down", self.kind]] {
            let _ended = std::process::Command::new(env!("CARGO_BIN_EXE_lydite"))
                .args(arguments)
                .env("TMPDIR", self.place.directory.path())
                .env("XDG_RUNTIME_DIR", "")
                .output();
        }
    }
}

/// A process that is killed at the end of a test.
struct Killed(i32);

impl Drop for Killed {
    fn drop(&mut self) {
        // SAFETY: kill has no memory preconditions. The process sleeps far longer than the test takes.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
        }
    }
}

/// The state letter of a process.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("seconds: {value}"))
}

/// Fails unless a fault was injected and undone, not before its moments, with these words as proof.
#[track_caller]
pub(crate) fn assert_injected(fault: &Value, words: &[&str]) {
    assert_eq!(fault["ok"], true, "{fault}");
    assert!(seconds(&fault["begun_s"]) >= seconds(&fault["begin_s"]), "{fault}");
    assert!(seconds(&fault["undone_s"]) >= seconds(&fault["end_s"]), "{fault}");
    let detail = fault["detail"].as_str().expect("a detail");
    assert!(words.iter().all(|word| detail.contains(word)), "{words:?}: {fault}");
}

#[test]
fn a_server_that_is_stopped_and_killed_comes_back_and_is_judged_in_the_result() {
    let lab = Lab::new();
    let file = lab.place.file("result.json");
    let faults = ["stop@5s..7s/lab:pg", "kill@12s..13s/lab:pg/0"];
    // A machine under load may not have the server back within the first window.
    let (result, table) = windows_from("22s", |duration| {
        let ended = lab.run(duration, &faults, &["--json", text(&file)]).wait();
        (ended.code != Some(3)).then(|| (json(&file), ended.code(0).stdout))
    });
    assert_eq!(result["status"], "complete", "{result}");
    assert_checks_hold(&result, &["before", "after"]);
    assert_eq!(result["plan"]["faults"][0], faults[0]);
    let [stop, kill] = &result["faults"].as_array().expect("faults")[..] else {
        panic!("two faults: {result}")
    };
    assert_injected(stop, &["stopped ", " processes, state T"]);
    assert_injected(kill, &["killed ", " refused connections for "]);
    assert_eq!((&stop["kind"], &stop["where"]), (&"stop".into(), &"lab:pg".into()));
    assert!(kill["how"].as_str().expect("a way").starts_with("SIGKILL"), "{kill}");
    let judged = result["availability"].as_array().expect("availability");
    assert_eq!(judged.len(), 2, "{judged:?}");
    if seconds(&stop["begun_s"]) <= 6.0 {
        assert!(judged[0]["seconds_without_commit"].as_u64().expect("a count") >= 1, "{judged:?}");
        assert!(seconds(&judged[0]["first_commit_s"]) >= 1.0, "{judged:?}");
    }
    // The second one is compared with the steady seconds after the first one, if there were any.
    assert_ne!(judged[1]["r_e"].is_f64(), judged[1]["note"] != "", "{judged:?}");
    assert!(judged[0]["steady_after_s"].is_null(), "{judged:?}");
    if judged[1]["r_e"].is_f64() {
        assert!(seconds(&judged[1]["steady_after_s"]) >= 0.0, "{judged:?}");
        assert!(seconds(&judged[1]["tps_normal"]) > 0.0, "{judged:?}");
    }
    let judged = &judged[0];
    assert_ne!(judged["t_e"].is_f64(), judged["note"] != "", "{judged}");
    assert_eq!(judged["t_e"].is_f64(), judged["r_e"].is_f64(), "{judged}");
    assert_eq!(judged["t_e"].is_f64(), judged["recovery_s"].is_f64(), "{judged}");
    assert!(judged["p99_ms"]["before"].is_f64() || seconds(&judged["tps_before"]) < 100.0, "{judged}");
    for part in ["before", "during", "after"] {
        assert!(judged["aborts"][part]["serialization"].is_u64(), "{part}: {judged}");
    }
    assert!(judged["tps_before"].is_f64() && judged["tps_during"].is_f64(), "{judged}");
    // A machine under load may undo it after the begin of the next fault.
    assert!(judged["tps_after"].is_f64() || seconds(&stop["undone_s"]) > 11.0, "{judged}");
    assert!(table.contains("faults   stop on lab:pg from "), "{table}");
    // The faults are events of the page and of the metrics by themselves.
    let page = lab.place.file("page.html");
    let metrics = lydite(&["report", text(&file), "--output", text(&page)]).code(0).stdout;
    assert!(metrics.contains("stop on lab:pg, its end") || judged["t_e"].is_null(), "{metrics}");
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("Faults that the run injected") && page.contains("\"name\":\"stop on lab:pg\""));
    assert_eq!(lab.place.list(), "no active faults\n");
}

#[test]
fn a_server_that_is_shut_down_or_gets_less_processor_time_is_as_before_at_the_end() {
    let lab = Lab::new();
    let file = lab.place.file("result.json");
    let result = windows_from("7s", |duration| {
        let ended = lab.run(duration, &["shutdown@0.5s..1s/lab:pg"], &["--json", text(&file)]).wait();
        (ended.code != Some(3)).then(|| {
            ended.code(0);
            json(&file)
        })
    });
    assert_checks_hold(&result, &["before", "after"]);
    assert_injected(&result["faults"][0], &["1 server stopped; port ", " refused connections for "]);
    let pid = lab.postmaster().expect("a server");
    let groups = || fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("groups");
    let before = groups();
    let fault = format!("cpu-limit:0.5@0.2s..2s/pid:{pid}");
    let ended = lab.run("3s", &[&fault], &["--no-check", "--json", text(&file)]).wait();
    if ended.code == Some(2) {
        // Not every machine lets this user limit processor time.
        let error = ended.only_error();
        assert!(error.contains("control groups") || error.contains("the right to write"), "{error}");
        return;
    }
    ended.code(0);
    assert_injected(&json(&file)["faults"][0], &["limited ", " to 0.5 cores; throttled in "]);
    assert_eq!(groups(), before);
}

#[test]
fn nothing_stays_broken_when_lydite_is_killed_interrupted_or_the_fault_is_cleared() {
    let lab = Lab::new();
    let file = lab.place.file("result.json");
    // One server under two names: the first end would end the other fault too.
    let by_number = format!("stop@2s..4s/pid:{}", lab.postmaster().expect("a server"));
    let refused = lab.run("9s", &["stop@1s..3s/lab:pg", &by_number], &[]).wait().code(2);
    assert!(
        refused.only_error().contains("overlaps stop@1s..3s/lab:pg on the same processes"),
        "{refused:?}"
    );
    let twice = format!("stop@2s..4s/lab:pg,{}", by_number.rsplit_once('/').expect("a place").1);
    let refused = lab.run("9s", &[&twice], &[]).wait().code(2);
    assert!(refused.only_error().contains("names one process under two names"), "{refused:?}");

    let run = lab.stopped(&file);
    run.signal(libc::SIGKILL);
    assert_eq!(run.wait().code, None);
    lab.wait_until_it_goes_on();

    let run = lab.stopped(&file);
    run.signal(libc::SIGINT);
    run.wait().code(130);
    assert!(!lab.stands_still());
    let result = json(&file);
    assert_eq!(
        (&result["status"], &result["faults"][0]["ok"]),
        (&"partial".into(), &true.into()),
        "{result}"
    );

    // A signal to all processes of a service reaches the guard before it ends Lydite.
    let run = lab.stopped(&file);
    let guard = lab.place.list();
    let guard = guard.trim().rsplit_once("process ").and_then(|(_, pid)| pid.parse().ok()).expect("a guard");
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        // SAFETY: kill has no memory preconditions. The guard waits for the end of its fault.
        assert_eq!(unsafe { libc::kill(guard, signal) }, 0);
    }
    run.signal(libc::SIGKILL);
    run.wait();
    lab.wait_until_it_goes_on();

    let run = lab.stopped(&file);
    assert_eq!(lab.place.lydite(&["faults", "clear", "lab:other"]).code(0).stdout, "no active faults\n");
    assert!(lab.stands_still());
    assert_eq!(lab.place.lydite(&["faults", "clear", "lab:pg"]).code(0).stdout, "undone: stop on lab:pg\n");
    lab.wait_until_it_goes_on();
    run.signal(libc::SIGINT);
    let ended = run.wait().code(3);
    assert!(ended.stderr.contains("somebody else undid it before its end"), "{ended:?}");
    assert_eq!(json(&file)["faults"][0]["ok"], false);
}

#[test]
fn busy_threads_and_own_commands_are_faults_and_one_that_can_not_begin_is_exit_3() {
    let place = Place::new();
    let (plan, file) = (place.file("plan.toml"), place.file("result.json"));
    let (begun, ended) = (place.file("begun"), place.file("ended"));
    let faults = format!(
        "target = \"gemel:\"\nwarehouses = 1\nsize = \"small\"\nduration = \"3s\"\nwarmup = \"0s\"\n\
         [[fault]]\nkind = \"command\"\nfrom = \"0.2s\"\nto = \"1s\"\nbegin = \"touch {}\"\nend = \"touch {}\"\n\
         [[fault]]\nkind = \"cpu-burn\"\nargs = 1\nfrom = \"0.2s\"\nto = \"1s\"\nwhere = \"local\"\n",
        begun.display(),
        ended.display()
    );
    fs::write(&plan, &faults).expect("a plan");
    let run = ["run", "--config", text(&plan), "--quiet", "--json", text(&file)];
    place.lydite(&run).code(0);
    let result = json(&file);
    assert_injected(&result["faults"][0], &["begin took ", "; end took "]);
    assert_injected(&result["faults"][1], &["1 thread busy; used ", " s of processor time"]);
    // The busy thread is Lydite's own.
    assert!(!result["warnings"].to_string().contains("Programs other than Lydite"), "{result}");
    assert!(begun.exists() && ended.exists());
    fs::remove_file(&ended).expect("the end's file");

    fs::write(&plan, faults.replace("begin = \"", "begin = \"exit 7; ")).expect("a plan");
    let failed = place.lydite(&run).code(3);
    let result = json(&file);
    assert_eq!(
        (&result["status"], &result["faults"][0]["ok"]),
        (&"complete".into(), &false.into()),
        "{result}"
    );
    assert_eq!(result["faults"][0]["begun_s"], Value::Null);
    assert_injected(&result["faults"][1], &["1 thread busy"]);
    assert!(
        failed.stderr.contains("command on local: could not begin: begin failed: exit status: 7"),
        "{failed:?}"
    );
    assert!(
        result["warnings"].to_string().contains("The fault command on local: could not begin"),
        "{result}"
    );
    assert!(ended.exists(), "the end is run after half a begin");
    assert_eq!(place.list(), "no active faults\n");
    // An end that fails at first is tried again, also after half a begin.
    fs::remove_file(&begun).expect("the begin's file");
    let again =
        format!("begin = \"exit 7; \"\nend = \"test -e {0} || (touch {0}; exit 8)\"\n", begun.display());
    let (head, rest) = faults.split_once("begin = ").expect("a begin");
    let (_, rest) = rest.split_once("[[fault]]").expect("another fault");
    fs::write(&plan, format!("{head}{again}[[fault]]{rest}")).expect("a plan");
    let failed = place.lydite(&run).code(3);
    assert!(!failed.stderr.contains("could not be undone"), "{failed:?}");
    assert_eq!(place.list(), "no active faults\n");
}

/// A note of the kind `command` whose guard has ended, and whose end makes a file.
fn note_of_a_command(file: &Path) -> String {
    let commands = serde_json::json!({
        "begin": "true",
        "end": format!("touch {}", file.display()),
        "limit": {"secs": 10, "nanos": 0},
    });
    let spec = serde_json::json!({
        "kind": "command", "arguments": null, "from": {"secs": 1, "nanos": 0}, "to": null, "host": null,
        "places": ["Local"], "commands": commands,
    });
    let fault = serde_json::json!({"spec": spec, "sites": ["Machine"]});
    let guard = serde_json::json!({"pid": 4_194_304, "started": 1});
    serde_json::json!({"fault": fault, "state": commands, "guard": guard, "boot": ""}).to_string()
}

#[test]
fn a_note_that_others_could_have_written_is_not_obeyed_and_no_run_begins_beside_it() {
    let place = Place::new();
    // SAFETY: geteuid has no preconditions.
    let notes = place.file(&format!("lydite-faults-{}", unsafe { libc::geteuid() }));
    let touched = place.file("touched");
    fs::create_dir(&notes).expect("a directory");
    fs::write(notes.join("7.json"), note_of_a_command(&touched)).expect("a note");
    let mode = |mode| fs::set_permissions(&notes, fs::Permissions::from_mode(mode)).expect("a mode");
    mode(0o777);
    let run = ["run", "null:", "-d", "1s", "--warmup", "0s", "--fault", "cpu-burn:1@0.2s..0.4s/local"];
    for arguments in [&["faults", "list"][..], &["faults", "clear"], &run] {
        let refused = place.lydite(arguments).code(2);
        assert!(refused.stderr.contains("a directory of this user with mode 0700"), "{refused:?}");
        assert!(!refused.stdout.contains("no active faults"), "{refused:?}");
    }
    assert!(!touched.exists());
    mode(0o700);
    assert_eq!(place.lydite(&["faults", "clear"]).code(0).stdout, "undone: command on local\n");
    assert!(touched.exists());
}

#[test]
fn all_wrong_faults_are_rejected_together_and_nothing_is_touched() {
    let place = Place::new();
    let other = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = other.local_addr().expect("its address").port();
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    // Its parent ends at once, so it is neither above nor below this process, which listens.
    let orphan = std::process::Command::new("sh")
        .args(["-c", "sleep 600 >/dev/null 2>&1 & echo $!"])
        .output()
        .expect("a shell");
    let stranger = String::from_utf8_lossy(&orphan.stdout).trim().to_owned();
    let _ended = Killed(stranger.parse().expect("a number"));
    let stranger = format!("stop@4s..6s/pid:{stranger}");
    let faults = [
        ("stpo@1s..2s/lab:pg", "did you mean stop?"),
        ("stop@3s..2s/lab:pg", "ends before it begins"),
        ("stop@28s..31s/lab:mariadb", "is beyond the end of the window at 30 s"),
        ("stop@1s..5s/lab:pg", "lab pg does not run: start it with lydite lab up pg"),
        ("stop@4s..6s/lab:pg/1", "overlaps stop@1s..5s/lab:pg"),
        ("stop@4s..6s/lab:nonsense", "lab \"nonsense\" is not known"),
        ("kill@4s/pid:4194304", "no process has the number 4194304"),
        ("stop@4s..6s/pid:1", "process 1 started lydite itself"),
        (&stranger, "is not the database under test"),
        ("cpu-burn:4096@1s..2s/local", "needs 4096 cores, and this machine has"),
        ("stop@1s..2s/ssh://root@nowhere.invalid/pid:1", "ssh root@nowhere.invalid: "),
    ];
    let mut arguments = vec!["run", &url, "--duration", "30s"];
    faults.iter().for_each(|(fault, _)| arguments.extend(["--fault", fault]));
    let ended = place.lydite(&arguments).code(2);
    for (fault, words) in faults {
        let found = ended.errors().into_iter().any(|error| error.contains(fault) && error.contains(words));
        assert!(found, "{fault}: {words}: {ended:?}");
    }
    let embedded = place.lydite(&["run", "gemel:", "--fault", "stop@1s..2s/pid:1"]).code(2);
    assert!(
        embedded.only_error().contains("the target's URL names no server of this machine"),
        "{embedded:?}"
    );
    let wrong = place.lydite(&["faults", "clear", "nowhere"]).code(2);
    assert!(
        wrong
            .only_error()
            .contains("use local, lab:NAME[/NODE], nodes=N, nodes=all, pid:N, service:NAME or ssh://HOST"),
        "{wrong:?}"
    );
    assert_eq!(place.list(), "no active faults\n");
}
