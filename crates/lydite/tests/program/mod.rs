//! Runs the built program as a user does, and looks at what comes out: exit code, lines, result documents.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part of it")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

use lydite_testkit::postgres::Server;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Far longer than any command of these tests takes on a busy machine: what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The five types of transactions, as results name them.
pub const TYPES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Runs the program to its end.
pub fn lydite<S: AsRef<OsStr>>(arguments: &[S]) -> Ended {
    Program::new(arguments).run()
}

/// The program with its arguments, not started yet.
pub struct Program {
    command: Command,
    patience: Duration,
}

impl Program {
    /// With these arguments, and nothing of this process's environment that bears on passwords or looks.
    pub fn new<S: AsRef<OsStr>>(arguments: &[S]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lydite"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in ["LYDITE_PASSWORD", "PGUSER", "PGPASSWORD", "NO_COLOR"] {
            command.env_remove(name);
        }
        command.env("PGPASSFILE", "/nonexistent");
        Self { command, patience: PATIENCE }
    }

    /// With so many times the usual time to end: for commands that do what several others do.
    pub fn patience(mut self, times: u32) -> Self {
        self.patience = PATIENCE * times;
        self
    }

    /// With a variable of the environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// In a directory.
    pub fn within(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// With files of at most so many bytes, as by `ulimit -f`.
    pub fn file_size_at_most(mut self, bytes: u64) -> Self {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: setrlimit is async-signal-safe, reads the structure that the closure owns, and changes only
        // the child.
        unsafe {
            self.command.pre_exec(move || {
                if libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) == 0 {
                    Ok(())
                } else {
                    Err(std::io::Error::last_os_error())
                }
            });
        }
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().wait()
    }

    /// Starts it. It dies with the thread that starts it.
    pub fn start(mut self) -> Running {
        // SAFETY: prctl and signal are async-signal-safe, and nothing else is done between fork and exec.
        unsafe {
            self.command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // Tests that were started by nohup would hand on that it is ignored.
                libc::signal(libc::SIGHUP, libc::SIG_DFL);
                Ok(())
            });
        }
        let shown = format!("{:?}", self.command);
        let mut child = self.command.spawn().expect("the program starts");
        let stdout = read_all(child.stdout.take().expect("its output"));
        let stderr = read_all(child.stderr.take().expect("its errors"));
        Running {
            child,
            shown,
            patience: self.patience,
            stdout: Some(stdout),
            stderr: Some(stderr),
            begun: Instant::now(),
        }
    }
}

fn read_all(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("the program's output");
        String::from_utf8(bytes).expect("output in UTF-8")
    })
}

/// The program at work. Dropping it kills it.
pub struct Running {
    child: Child,
    shown: String,
    patience: Duration,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    begun: Instant,
}

impl Running {
    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory preconditions; the child has not been waited for, so the id is its own.
        let sent = unsafe { libc::kill(self.child.id() as i32, signal) };
        assert_eq!(sent, 0, "{}: signal {signal}", self.shown);
    }

    /// Whether it is still at work.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the program's state").is_none()
    }

    /// Waits until `condition` holds; the program must not end before.
    pub fn wait_until(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        while !condition() {
            if !self.is_running() || self.begun.elapsed() > self.patience {
                let ended = self.end();
                panic!("{} before {what}: {ended:?}", self.shown);
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ended {
        while self.is_running() {
            if self.begun.elapsed() > self.patience {
                let ended = self.end();
                panic!("{} hangs: {ended:?}", self.shown);
            }
            thread::sleep(LOOK);
        }
        self.end()
    }

    /// Ends it if it has not ended, and collects what it said.
    fn end(&mut self) -> Ended {
        if self.is_running() {
            self.child.kill().expect("the program can be killed");
        }
        let status: ExitStatus = self.child.wait().expect("the program's end");
        let join = |stream: Option<JoinHandle<String>>| stream.and_then(|stream| stream.join().ok());
        Ended {
            shown: self.shown.clone(),
            code: status.code(),
            stdout: join(self.stdout.take()).unwrap_or_default(),
            stderr: join(self.stderr.take()).unwrap_or_default(),
            took: self.begun.elapsed(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to kill.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// How the program ended.
#[derive(Debug)]
pub struct Ended {
    shown: String,
    /// The exit code; none if a signal killed it.
    pub code: Option<i32>,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl Ended {
    /// Fails with all that is known unless the exit code is `code`.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// The lines of its errors, without the program's name; progress is not among them.
    pub fn errors(&self) -> Vec<&str> {
        self.stderr.lines().filter_map(|line| line.strip_prefix("lydite: ")).collect()
    }

    /// Its only error. Fails unless it is all that was said.
    #[track_caller]
    pub fn only_error(&self) -> &str {
        let errors = self.errors();
        assert_eq!(errors.len(), 1, "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "nothing but the error: {self:?}");
        errors[0]
    }

    /// Fails unless exactly these errors were told, each on a line of its own that contains the words.
    #[track_caller]
    pub fn told(&self, expected: &[&[&str]]) {
        let errors = self.errors();
        assert_eq!(errors.len(), expected.len(), "{self:?}");
        for words in expected {
            assert!(
                errors.iter().any(|error| words.iter().all(|word| error.contains(word))),
                "no error with {words:?}: {self:?}"
            );
        }
        assert_no_panic(self);
    }
}

/// Fails if the program panicked, whatever else it said.
#[track_caller]
pub fn assert_no_panic(ended: &Ended) {
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

/// Reads a result document.
#[track_caller]
pub fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a result file");
    serde_json::from_str(&text).expect("a result in JSON")
}

/// The sum of a count over the five types.
pub fn total(result: &Value, count: &str) -> u64 {
    TYPES.iter().map(|kind| result["transactions"][kind][count].as_u64().expect("a count")).sum()
}

/// Fails unless the result has twelve conditions of each of these times, and all hold.
#[track_caller]
pub fn assert_checks_hold(result: &Value, times: &[&str]) {
    let checks = result["checks"].as_array().expect("checks");
    for when in times {
        let of_then: Vec<&Value> = checks.iter().filter(|check| check["when"] == *when).collect();
        assert_eq!(of_then.len(), 12, "conditions {when}: {checks:?}");
        assert!(of_then.iter().all(|check| check["ok"] == true), "{of_then:?}");
    }
    assert_eq!(checks.len(), 12 * times.len(), "{checks:?}");
}

/// Fails unless `lydite check` finds that all twelve conditions hold.
#[track_caller]
pub fn assert_consistent(url: &str) {
    let checked = lydite(&["check", url]).code(0);
    assert!(checked.stdout.contains("12 of 12 consistency conditions hold"), "{checked:?}");
}

/// The table checksums of a database that is consistent, by `lydite check --checksums`: names, rows and sums.
#[track_caller]
pub fn checksums(url: &str) -> Vec<String> {
    let checked = lydite(&["check", "--checksums", url]).code(0);
    let sums: Vec<String> = checked
        .stdout
        .lines()
        .filter(|line| line.contains(" rows  "))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(sums.len(), 9, "{checked:?}");
    sums
}

/// Loads a database of one warehouse, named `template` on this server, to make copies of.
pub fn load_template(server: &Server, template: &str) {
    let url = server.create_database(template);
    lydite(&["load", &url, "--warehouses", "1", "--quiet"]).code(0);
}

/// Makes a copy of a database and gives its URL.
pub fn copy(server: &Server, template: &str, name: &str) -> String {
    server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"));
    server.url(name)
}

/// A scratch directory.
pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("lydite-e2e-").tempdir().expect("a temporary directory")
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
