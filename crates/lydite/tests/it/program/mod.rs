//! Runs the built program as a user does, and looks at what comes out: exit code, lines, result documents.

use lydite_plan::values::time;
use serde_json::Value;
use std::ffi::{CStr, OsStr};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Far longer than any command of these tests takes on a busy machine: what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20 * 60);
/// Time between two looks at a program.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two looks at a condition. Most ask a server by a client program, which costs processor time.
const LOOK_AT_CONDITION: Duration = Duration::from_millis(50);

/// The five types of transactions, as results name them.
pub(crate) const TYPES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Runs the program to its end.
pub(crate) fn lydite<S: AsRef<OsStr>>(arguments: &[S]) -> Ended {
    Program::new(arguments).run()
}

/// The program with its arguments, not started yet.
pub(crate) struct Program {
    command: Command,
}

impl Program {
    /// With these arguments, and nothing of this process's environment that bears on passwords or looks.
    pub(crate) fn new<S: AsRef<OsStr>>(arguments: &[S]) -> Self {
        Self::of(env!("CARGO_BIN_EXE_lydite"), arguments)
    }

    /// Another program, in the same environment.
    pub(crate) fn of<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in ["LYDITE_PASSWORD", "LYDITE_JOIN", "PGUSER", "PGPASSWORD", "NO_COLOR"] {
            command.env_remove(name);
        }
        command.env("PGPASSFILE", "/nonexistent");
        // Not the state of the user who tests.
        command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
        Self { command }
    }

    /// With a variable of the environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// In a directory.
    pub(crate) fn within(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// With files of at most so many bytes, as by `ulimit -f`.
    pub(crate) fn file_size_at_most(mut self, bytes: u64) -> Self {
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
    pub(crate) fn run(self) -> Ended {
        self.start().wait()
    }

    /// Starts it. It dies with the thread that starts it.
    pub(crate) fn start(mut self) -> Running {
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
        let (stdout, printed) = read_all(child.stdout.take().expect("its output"));
        let (stderr, said) = read_all(child.stderr.take().expect("its errors"));
        Running {
            child,
            shown,
            stdout: Some(stdout),
            stderr: Some(stderr),
            printed,
            said,
            begun: Instant::now(),
        }
    }
}

/// Reads to the end, and shows what came so far.
fn read_all(mut stream: impl Read + Send + 'static) -> (JoinHandle<String>, Said) {
    let said = Said::default();
    let so_far = said.clone();
    let read = move || {
        let mut part = [0; 4096];
        loop {
            match stream.read(&mut part).expect("the program's output") {
                0 => break,
                count => so_far.0.lock().expect("its output so far").extend_from_slice(&part[..count]),
            }
        }
        let bytes = std::mem::take(&mut *so_far.0.lock().expect("its output so far"));
        String::from_utf8(bytes).expect("output in UTF-8")
    };
    (thread::spawn(read), said)
}

/// The text that a program has written so far.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    /// True if the text contains these words.
    pub(crate) fn has(&self, words: &str) -> bool {
        self.text().contains(words)
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("its output so far")).into_owned()
    }
}

/// The program at work. Dropping it kills it.
pub(crate) struct Running {
    child: Child,
    shown: String,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    printed: Said,
    said: Said,
    begun: Instant,
}

impl Running {
    /// Returns its standard error, which grows while the program runs.
    pub(crate) fn said(&self) -> Said {
        self.said.clone()
    }

    /// Returns its standard output, which grows while the program runs.
    pub(crate) fn printed(&self) -> Said {
        self.printed.clone()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory preconditions; the child has not been waited for, so the id is its own.
        let sent = unsafe { libc::kill(self.child.id() as i32, signal) };
        assert_eq!(sent, 0, "{}: signal {signal}", self.shown);
    }

    /// Whether it is still at work.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the program's state").is_none()
    }

    /// Waits until `condition` holds; the program must not end before.
    pub(crate) fn wait_until(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        while !condition() {
            if !self.is_running() || self.begun.elapsed() > PATIENCE {
                let ended = self.end();
                panic!("{} before {what}: {ended:?}", self.shown);
            }
            thread::sleep(LOOK_AT_CONDITION);
        }
    }

    /// Waits until `condition` holds, or the program ends, as a run does whose window was too short for it on a machine
    /// under load. True if the condition holds.
    pub(crate) fn reaches(&mut self, what: &str, mut condition: impl FnMut() -> bool) -> bool {
        loop {
            let running = self.is_running();
            if condition() {
                return true;
            }
            if !running {
                return false;
            }
            assert!(self.begun.elapsed() <= PATIENCE, "{} before {what}", self.shown);
            thread::sleep(LOOK_AT_CONDITION);
        }
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Ended {
        while self.is_running() {
            if self.begun.elapsed() > PATIENCE {
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
pub(crate) struct Ended {
    #[expect(dead_code, reason = "a failed test prints it, by Debug")]
    shown: String,
    /// The exit code; none if a signal killed it.
    pub(crate) code: Option<i32>,
    /// What it wrote to its standard output.
    pub(crate) stdout: String,
    /// What it wrote to its standard error.
    pub(crate) stderr: String,
    /// How long it took.
    pub(crate) took: Duration,
}

impl Ended {
    /// Fails with all that is known unless the exit code is `code`.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// The lines of its errors, without the program's name; progress is not among them.
    pub(crate) fn errors(&self) -> Vec<&str> {
        self.stderr.lines().filter_map(|line| line.strip_prefix("lydite: ")).collect()
    }

    /// Its only error. Fails unless it is all that was said.
    #[track_caller]
    pub(crate) fn only_error(&self) -> &str {
        let errors = self.errors();
        assert_eq!(errors.len(), 1, "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "nothing but the error: {self:?}");
        errors[0]
    }

    /// Fails unless exactly these errors were told, each on a line of its own that contains the words.
    #[track_caller]
    pub(crate) fn told(&self, expected: &[&[&str]]) {
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
pub(crate) fn assert_no_panic(ended: &Ended) {
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

/// Reads a result document.
#[track_caller]
pub(crate) fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a result file");
    serde_json::from_str(&text).expect("a result in JSON")
}

/// The sum of a count over the five types.
pub(crate) fn total(result: &Value, count: &str) -> u64 {
    TYPES.iter().map(|kind| result["transactions"][kind][count].as_u64().expect("a count")).sum()
}

/// Fails unless the result has twenty conditions of each of these times and, if one is after the run, its ledger and its
/// answers, and all hold.
#[track_caller]
pub(crate) fn assert_checks_hold(result: &Value, times: &[&str]) {
    let checks = result["checks"].as_array().expect("checks");
    let mut all = 0;
    for when in times {
        let of_then: Vec<&Value> = checks.iter().filter(|check| check["when"] == *when).collect();
        let others: &[&str] = if *when == "after" { &["ledger", "answers"] } else { &[] };
        for other in others {
            assert_eq!(of_then.iter().filter(|check| check["id"] == *other).count(), 1, "{checks:?}");
        }
        // A fleet keeps no sample, nor does a run that acknowledged nothing that has rows.
        let samples = of_then.iter().filter(|check| check["id"] == "sample").count();
        assert!(samples <= others.len() / 2, "{checks:?}");
        assert_eq!(of_then.len(), 20 + others.len() + samples, "conditions {when}: {checks:?}");
        assert!(of_then.iter().all(|check| check["ok"] == true), "{of_then:?}");
        all += of_then.len();
    }
    assert_eq!(checks.len(), all, "{checks:?}");
}

/// The verdict and the detail of a check after a run, which the result must have once.
#[track_caller]
pub(crate) fn check_after<'a>(result: &'a Value, id: &str) -> (bool, &'a str) {
    let checks = result["checks"].as_array().expect("checks");
    let found: Vec<&Value> = checks.iter().filter(|check| check["id"] == id).collect();
    let [check] = found[..] else { panic!("one check {id}: {checks:?}") };
    assert_eq!(check["when"], "after");
    (check["ok"].as_bool().expect("a verdict"), check["detail"].as_str().expect("a detail"))
}

/// Fails unless `lydite check` finds that all conditions hold.
#[track_caller]
pub(crate) fn assert_consistent(url: &str) {
    let checked = lydite(&["check", url]).code(0);
    assert!(checked.stdout.contains("12 of 12 consistency conditions hold, 8 of 8 own"), "{checked:?}");
}

/// The table checksums of a database that is consistent, by `lydite check --checksums`: names, rows and sums.
#[track_caller]
pub(crate) fn checksums(url: &str) -> Vec<String> {
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

/// Calls `measure` with longer and longer durations of a run, until it returns a value. A machine under load may
/// complete nothing that can be judged within the first. Wrong results should fail in `measure`.
pub(crate) fn longer_windows<T>(measure: impl FnMut(&str) -> Option<T>) -> T {
    windows_from("1s", measure)
}

/// As [`longer_windows`], for a run of which an idle machine needs another duration first.
pub(crate) fn windows_from<T>(first: &str, mut measure: impl FnMut(&str) -> Option<T>) -> T {
    let length = |window: &str| time(window).expect("a time");
    let longer = ["1s", "3s", "6s", "10s", "20s", "60s"]
        .into_iter()
        .filter(|window| length(window) >= 2 * length(first));
    std::iter::once(first).chain(longer).find_map(&mut measure).expect("a minute to be long enough")
}

/// True if the run completed transactions of each of these types, so that what it says of them can be judged.
pub(crate) fn has_each(result: &Value, kinds: &[&str]) -> bool {
    kinds.iter().all(|kind| result["transactions"][*kind]["committed"].as_u64().expect("a count") > 0)
}

/// Writes a script that can be run.
pub(crate) fn write_program(path: &Path, content: &str) {
    fs::write(path, content).expect("a program");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("permissions");
}

/// A scratch directory.
pub(crate) fn scratch() -> lydite_testkit::Directory {
    lydite_testkit::Directory::new("e2e")
}

/// Bytes of the files in a directory.
pub(crate) fn bytes_in(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).expect("a directory");
    files.filter_map(|file| file.ok()?.metadata().ok()).map(|file| file.len()).sum()
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Makes a terminal of so many columns. Returns our side, the path of its other side, and that side itself, open. What is
/// written there is read from ours, up to an error once nobody has the other side open.
///
/// `openpty` would leave the descriptors open in each process that another test starts at the same time. The reader would
/// then wait for the end of that process.
pub(crate) fn terminal(columns: u16) -> (File, PathBuf, File) {
    let open = |path: &Path| {
        let mut options = File::options();
        options.read(true).write(true).custom_flags(libc::O_NOCTTY).open(path).expect("a terminal")
    };
    let ours = open(Path::new("/dev/ptmx"));
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let mut name = [0; 64];
    let number = ours.as_raw_fd();
    // SAFETY: descriptor, name and size are ours and outlive the calls; the name gets no longer than its place.
    let path = unsafe {
        assert_eq!(libc::grantpt(number), 0, "{}", io::Error::last_os_error());
        assert_eq!(libc::unlockpt(number), 0, "{}", io::Error::last_os_error());
        assert_eq!(libc::ptsname_r(number, name.as_mut_ptr(), name.len()), 0);
        assert_eq!(
            libc::ioctl(number, libc::TIOCSWINSZ, &raw const size),
            0,
            "{}",
            io::Error::last_os_error()
        );
        PathBuf::from(CStr::from_ptr(name.as_ptr()).to_str().expect("a path"))
    };
    let its = open(&path);
    (ours, path, its)
}
