//! A process of a driver: starts it, listens to it, and ends it in any case.

use super::config::Program;
use super::sdk::{PYTHON_SDK, PYTPCC};
use super::spawner;
use crate::storage::Temporary;
use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

/// Longest time for a driver to end after its input was closed.
const FAREWELL: Duration = Duration::from_secs(2);
/// Longest wait for a driver's end, and for its last words, after its output has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(2);
/// Options of the check for the end of a process: it neither waits for nor reaps the process.
const LOOKING: WaitIdOptions =
    WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG).union(WaitIdOptions::NOWAIT);
/// Number of lines of its standard error that errors quote, and most characters of each.
const LINES: usize = 5;
const LINE: usize = 300;
/// Environment variable with the path of the socket for further sessions.
const SOCKET: &str = "LYDITE_SOCKET";

/// A driver's process. Dropping it ends the program and every program that it started.
pub(super) struct Process {
    child: Mutex<Child>,
    stderr: Arc<Stderr>,
    /// Directory of the socket for further sessions.
    directory: Temporary,
    /// Sessions that it serves now.
    pub(super) sessions: AtomicU32,
}

#[derive(Default)]
struct Stderr {
    lines: Mutex<(VecDeque<String>, bool)>,
    ended: Condvar,
}

impl Process {
    /// Starts a process and returns the stream of its first session.
    pub(super) fn start(config: &Program, place: &str) -> Result<(Arc<Self>, UnixStream), String> {
        let failed = |error: std::io::Error| format!("{place}: can't be started: {error}");
        let directory = Temporary::new().map_err(failed)?;
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let again = theirs.try_clone().map_err(failed)?;
        let program = config.program();
        let log = match &config.log {
            None => None,
            Some(path) => Some(
                OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .map_err(|error| format!("{place}: log={}: {error}", path.display()))?,
            ),
        };
        let mut command = Command::new(&program);
        command
            .args(&config.words[1..])
            .env(SOCKET, directory.path().join("s"))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(OwnedFd::from(again)))
            .stderr(Stdio::piped());
        if let Some(variables) = &config.pytpcc {
            // Lydite contains the shim and its SDK, so users need not install them.
            for (path, text) in PYTHON_SDK.iter().chain(PYTPCC) {
                let path = directory.path().join(path);
                let write = || {
                    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                    std::fs::write(&path, text)
                };
                write().map_err(failed)?;
            }
            let mut search = directory.path().as_os_str().to_os_string();
            if let Some(given) = std::env::var_os("PYTHONPATH") {
                search.push(":");
                search.push(given);
            }
            command.env("PYTHONPATH", search).env("PYTHONDONTWRITEBYTECODE", "1");
            command.envs(variables.iter().map(|(name, value)| (name, value)));
        }
        let mut child = spawner::spawn(command).map_err(|error| {
            let hint = match error.kind() {
                std::io::ErrorKind::NotFound => ": no such program: look at the command in the URL",
                std::io::ErrorKind::PermissionDenied => {
                    ": make it executable (chmod +x), or name its interpreter"
                }
                _ => "",
            };
            format!("{place}: {} can't be started: {error}{hint}", program.display())
        })?;
        let stderr = Arc::new(Stderr::default());
        match child.stderr.take() {
            Some(stream) => {
                let stderr = Arc::clone(&stderr);
                let listen = move || stderr.listen(stream, log);
                std::thread::Builder::new().name("driver-stderr".into()).spawn(listen).map_err(failed)?;
            }
            None => stderr.end(),
        }
        let process = Self { child: Mutex::new(child), stderr, directory, sessions: AtomicU32::new(0) };
        Ok((Arc::new(process), ours))
    }

    /// Returns the path of the socket for further sessions.
    pub(super) fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    /// True if the process has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.status().is_some()
    }

    /// Returns the exit status if the process has ended, without reaping it. An unreaped process keeps its number,
    /// which is also that of its group, so [`Process`] can't kill another one by mistake.
    fn status(&self) -> Option<WaitIdStatus> {
        let pid = Pid::from_raw(self.child.lock().id().cast_signed())?;
        waitid(WaitId::Pid(pid), LOOKING).ok().flatten()
    }

    /// Returns the exit status and last words for an error message; only ` (its last words: …)` while the process runs.
    pub(super) fn epitaph(&self, ending: bool) -> String {
        let deadline = Instant::now() + LAST_WORDS;
        let mut status = None;
        while ending && status.is_none() && Instant::now() < deadline {
            status = self.status();
            if status.is_none() {
                std::thread::sleep(LOOK);
            }
        }
        let mut lines = self.stderr.lines.lock();
        while status.is_some() && !lines.1 {
            if self.stderr.ended.wait_until(&mut lines, deadline + LAST_WORDS).timed_out() {
                break;
            }
        }
        let words: Vec<&str> = lines.0.iter().map(String::as_str).collect();
        let words = match words.as_slice() {
            [] => "it wrote nothing to its standard error".to_string(),
            words => format!("its last words: {}", words.join(" | ")),
        };
        match status {
            Some(status) => format!("{} ({words})", ended(status)),
            None => format!(" ({words})"),
        }
    }

    /// Kills the process and every process that it started, at once.
    pub(super) fn kill(&self) {
        let child = self.child.lock();
        Self::kill_group(&child);
    }

    fn kill_group(child: &Child) {
        if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
            // The process may have ended already.
            let _sent = kill_process_group(group, Signal::KILL);
        }
    }
}

fn ended(status: WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!(": it ended with exit code {code}"),
        (_, Some(signal)) => format!(": it was killed by signal {signal}"),
        _ => ": it ended".into(),
    }
}

impl Stderr {
    fn listen(&self, stream: ChildStderr, mut log: Option<std::fs::File>) {
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        // The listener continues after bytes that are not text, and after a write error of the log such as a full disk.
        while matches!(stream.read_until(b'\n', &mut bytes), Ok(1..)) {
            if let Some(file) = &mut log {
                let _written = file.write_all(&bytes);
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim();
            if !text.is_empty() {
                let mut lines = self.lines.lock();
                if lines.0.len() == LINES {
                    lines.0.pop_front();
                }
                lines.0.push_back(text.chars().take(LINE).collect());
            }
            bytes.clear();
        }
        self.end();
    }

    fn end(&self) {
        self.lines.lock().1 = true;
        self.ended.notify_all();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut();
        let Some(pid) = Pid::from_raw(child.id().cast_signed()) else { return };
        // Its streams are closed by now.
        let deadline = Instant::now() + FAREWELL;
        while matches!(waitid(WaitId::Pid(pid), LOOKING), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        Self::kill_group(child);
        // A program that waits for a disk can't be killed before the disk answers, so this wait has a limit.
        let deadline = Instant::now() + FAREWELL;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }
}
