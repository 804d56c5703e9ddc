//! Makes each run in its own process, so that runs share no memory, caches or crashes. The process is this program
//! again. It gets the plan through a pipe, so that no password is in a file or in the list of processes.

use lydite_console::interrupt::Interrupt;
use lydite_console::program::program;
use lydite_plan::MAX_LABEL;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at the run. It is long, so as not to disturb the run.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum size of the kept standard error of a run, in bytes.
const STDERR_MAX: u64 = 64 * 1024;
/// Maximum length of the reported messages of a failed run, in characters.
const MESSAGES_MAX: usize = 400;

/// The database that a run begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The run drops the tables and loads them again.
    Fresh,
    /// The run restores the template of this name.
    Template(String),
    /// The run uses the database as it is.
    AsItIs,
}

/// A run that is to be made.
#[derive(Debug)]
pub struct Play<'a> {
    /// Label of the run.
    pub label: &'a str,
    /// Keys of its plan. They may contain a password.
    pub given: &'a BTreeMap<String, String>,
    /// Tables of its plan (`[[phase]]`, `[[fault]]`), as text of a plan file.
    pub tables: &'a str,
    /// The database that it begins with.
    pub begin: Begin,
    /// True if it may begin with function tests.
    pub verify: bool,
    /// URL of the target, if it is not the plan's.
    pub target: Option<String>,
}

/// The ending of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ending {
    /// Time from its start to its end in seconds, loading and checks included.
    pub took_s: f64,
    /// Exit code; `None` if a signal ended the run.
    pub exit_code: Option<i32>,
    /// Error messages in one line; empty after a success.
    #[serde(default)]
    pub said: String,
}

impl AsRef<Ending> for Ending {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Ending {
    /// Returns true if the run reached its end, whether its requirements were met or not.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.exit_code, Some(0 | 4))
    }

    /// Returns true if the user or a signal ended the run before its end.
    #[must_use]
    pub fn is_broken_off(&self) -> bool {
        matches!(self.exit_code, None | Some(130))
    }

    /// Returns the ending of a run that could not be started.
    #[must_use]
    pub fn without_start(error: &io::Error) -> Self {
        Self { took_s: 0.0, exit_code: None, said: format!("can't be started: {error}") }
    }
}

/// Makes a run and waits for its end. If the user interrupts, the run is asked to end.
///
/// - `lock`: stays locked until the run has ended, even if this process dies first.
/// - `show_progress`: called regularly with the time since the start.
///
/// # Errors
/// The system's error, if the process can't be started.
pub fn run(
    play: &Play<'_>,
    json: &Path,
    lock: &File,
    interrupt: &Interrupt,
    show_progress: &mut dyn FnMut(Duration),
) -> io::Result<Ending> {
    let begun = Instant::now();
    let mut command = Command::new(program()?);
    command.args(["run", "--quiet", "--config", "/dev/stdin", "--json"]).arg(json);
    let label = label(play.label);
    if !label.is_empty() {
        command.arg(format!("--label={label}"));
    }
    match &play.begin {
        Begin::Fresh => _ = command.arg("--fresh"),
        Begin::Template(name) => _ = command.args(["--template", name]),
        Begin::AsItIs => {}
    }
    if !play.verify {
        command.args(["--set", "verify=off"]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Ctrl-C must reach this process only, which passes it on once: a second signal would abort the run.
    command.process_group(0);
    tie_to_this_process(&mut command, lock);
    let mut child = command.spawn()?;
    let stderr = child.stderr.take();
    let stderr_reader = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            let _partial = stderr.by_ref().take(STDERR_MAX).read_to_end(&mut text);
            // Without a reader, a run that prints more would block.
            let _rest = io::copy(&mut stderr, &mut io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    if let Some(mut stdin) = child.stdin.take() {
        // If the run has ended already, its messages say why.
        let _ended = stdin.write_all(plan_file(play).as_bytes());
    }
    let status = wait(&mut child, interrupt, begun, show_progress)?;
    let stderr = stderr_reader.join().unwrap_or_default();
    Ok(Ending {
        took_s: begun.elapsed().as_secs_f64(),
        exit_code: status.code(),
        said: messages(&stderr, status),
    })
}

/// Waits for the end of a run. Passes on the first interrupt.
fn wait(
    child: &mut Child,
    interrupt: &Interrupt,
    begun: Instant,
    show_progress: &mut dyn FnMut(Duration),
) -> io::Result<ExitStatus> {
    let mut ending = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupt.asked() && !ending {
            ending = true;
            end(child);
        }
        show_progress(begun.elapsed());
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns a point's label as a valid `--label`.
fn label(of_point: &str) -> String {
    let line = of_point.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    line.take(MAX_LABEL).collect::<String>().trim().to_owned()
}

/// Returns the plan as a plan file with all values as strings.
fn plan_file(play: &Play<'_>) -> String {
    let value = |key: &str, value: &String| match play.target.as_ref().filter(|_| key == "target") {
        Some(target) => toml::Value::String(target.clone()),
        None => toml::Value::String(value.clone()),
    };
    let keys: String =
        play.given.iter().map(|(key, given)| format!("{key} = {}\n", value(key, given))).collect();
    keys + play.tables
}

/// Returns the messages of a failed run in one line; an empty text after a success.
fn messages(stderr: &str, status: ExitStatus) -> String {
    if status.success() {
        return String::new();
    }
    let lines: Vec<&str> = stderr
        .lines()
        .map(|line| line.strip_prefix("lydite: ").unwrap_or(line).trim())
        .filter(|line| !line.is_empty())
        .collect();
    let mut all = lines.join("; ");
    if let Some(signal) = status.signal() {
        all = format!("ended by signal {signal}{}{all}", if all.is_empty() { "" } else { ": " });
    }
    let clean: String = all.chars().filter(|letter| !letter.is_control()).collect();
    if clean.chars().count() <= MESSAGES_MAX {
        return clean;
    }
    clean.chars().take(MESSAGES_MAX).chain(['…']).collect()
}

/// Makes the run inherit the lock, and end when this process ends.
fn tie_to_this_process(command: &mut Command, lock: &File) {
    let lock = lock.as_raw_fd();
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: fcntl, prctl and getppid are async-signal-safe and change only the child. Nothing else runs between fork
    // and exec. The descriptor is open as long as `lock`, which outlives the spawning.
    unsafe {
        command.pre_exec(move || {
            if libc::fcntl(lock, libc::F_SETFD, 0) == -1 {
                return Err(io::Error::last_os_error());
            }
            #[cfg(target_os = "linux")]
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) == -1 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have ended before prctl.
            if libc::getppid() != parent {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(())
        });
    }
}

/// Asks the run to end as Ctrl-C would: it still writes a result.
fn end(child: &Child) {
    // SAFETY: kill has no memory preconditions; the child has not been waited for, so the number is its own.
    let _gone = unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
}
