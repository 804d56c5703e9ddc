//! Processes of this machine, named so that a reused number is never mistaken for the process that had it before.

use crate::error::FaultError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(2);

/// A process, by its number and the time of its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// Number.
    pub pid: u32,
    /// Time of its start in clock ticks since the machine started (field 22 of `/proc/PID/stat`).
    pub started: u64,
}

/// The fields of `/proc/PID/stat` that faults need.
#[derive(Clone, Copy, Debug)]
struct Stat {
    state: char,
    parent: u32,
    /// The kernel's flags.
    flags: u64,
    /// Processor time that it has used, in clock ticks.
    used: u64,
    started: u64,
}

/// The flag of a process that is ending: `PF_EXITING` of the kernel's `sched.h`.
const EXITING: u64 = 4;

impl Stat {
    /// True if the process has ended, though its parent may still have to wait for it.
    fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// True if the process has ended or is ending.
    fn is_ending(&self) -> bool {
        self.has_ended() || self.flags & EXITING != 0
    }
}

/// The fields of a `/proc/…/stat` after the name, which is the second one.
pub(crate) struct Fields<'a>(Vec<&'a str>);

impl<'a> Fields<'a> {
    pub(crate) fn of(stat: &'a str) -> Self {
        // The name stands in parentheses and may contain some itself.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        Self(rest.split_whitespace().collect())
    }

    /// Returns the value of a field, by its number from 3; none if it is missing or of another type.
    pub(crate) fn get<T: FromStr>(&self, number: usize) -> Option<T> {
        self.0.get(number.checked_sub(3)?)?.parse().ok()
    }
}

/// Reads a process; none if there is none of this number.
fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = Fields::of(&text);
    let used = fields.get::<u64>(14)? + fields.get::<u64>(15)?;
    let (flags, started) = (fields.get(9)?, fields.get(22)?);
    Some(Stat { state: fields.get(3)?, parent: fields.get(4)?, flags, used, started })
}

impl ProcessId {
    /// Returns the process that has the number now; none if there is none, or if it has ended and waits for its parent.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let found = stat(pid)?;
        (!found.has_ended()).then_some(Self { pid, started: found.started })
    }

    /// Returns true if the system lists a process of this number that is ending, or that has ended and waits for its parent.
    #[must_use]
    pub fn is_leaving(pid: u32) -> bool {
        stat(pid).is_some_and(|found| found.is_ending())
    }

    /// Returns this process.
    ///
    /// # Errors
    /// `/proc` can't be read.
    pub fn own() -> io::Result<Self> {
        let pid = std::process::id();
        Self::of(pid).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat can't be read")))
    }

    /// Returns the state letter of the process, as `T` for stopped; none if it has ended.
    #[must_use]
    pub fn state(self) -> Option<char> {
        let found = stat(self.pid)?;
        (found.started == self.started && !found.has_ended()).then_some(found.state)
    }

    /// Returns true if the process has ended or is ending. The kernel shows such a one in no control group but the root's.
    pub(crate) fn is_ending(self) -> bool {
        stat(self.pid).is_none_or(|found| found.started != self.started || found.is_ending())
    }

    /// Returns the processor time that the process has used, in seconds; none if it has ended.
    pub(crate) fn cpu_s(self) -> Option<f64> {
        let found = stat(self.pid)?;
        // SAFETY: sysconf has no preconditions.
        let per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        (found.started == self.started && per_s > 0).then(|| found.used as f64 / per_s as f64)
    }

    /// Returns true if the system still lists the process, also if it has ended and waits for its parent.
    pub(crate) fn is_listed(self) -> bool {
        stat(self.pid).is_some_and(|found| found.started == self.started)
    }

    /// Returns true if the process has not ended.
    #[must_use]
    pub fn lives(self) -> bool {
        self.state().is_some()
    }

    /// Sends a signal to exactly this process. Returns false if it has ended.
    ///
    /// # Errors
    /// The system rejects the signal, for example because the process belongs to somebody else.
    pub fn signal(self, signal: i32) -> io::Result<bool> {
        let pid = libc::pid_t::try_from(self.pid).map_err(io::Error::other)?;
        // SAFETY: pidfd_open takes two numbers and has no memory preconditions.
        let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if opened < 0 {
            let error = io::Error::last_os_error();
            return if error.raw_os_error() == Some(libc::ESRCH) { Ok(false) } else { Err(error) };
        }
        let descriptor = i32::try_from(opened).map_err(io::Error::other)?;
        // The descriptor stands for the process that has the number now. If that is the wanted one, the signal can't
        // reach another, even if the process ends in between.
        let sent = if self.lives() {
            // SAFETY: the descriptor was opened above, and the signal has no further information.
            match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, descriptor, signal, 0, 0) } {
                0 => Ok(true),
                _ => match io::Error::last_os_error() {
                    error if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
                    error => Err(error),
                },
            }
        } else {
            Ok(false)
        };
        // SAFETY: the descriptor was opened above and is used no more.
        unsafe { libc::close(descriptor) };
        sent
    }

    /// Returns the error of a signal to this process, without sending one; none if it may be sent.
    #[must_use]
    pub fn forbidden(self) -> Option<io::Error> {
        // Signal 0 only checks the rights.
        self.signal(0).err()
    }
}

/// Returns the environment that a process was started with, as names and values.
///
/// # Errors
/// It can't be read, or is not in UTF-8.
pub(crate) fn environment(process: ProcessId) -> Result<Vec<(String, String)>, FaultError> {
    let file = format!("/proc/{}/environ", process.pid);
    let bytes = fs::read(&file).map_err(|error| FaultError::system(&file, error))?;
    let text = String::from_utf8(bytes).map_err(|_| FaultError::Failed(format!("{file} is not in UTF-8")))?;
    let pair = |entry: &str| entry.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(text.split('\0').filter_map(pair).collect())
}

/// Waits until no process of these satisfies `condition`, at most for `patience`. Returns those that still do.
pub(crate) fn wait_while(
    processes: &[ProcessId],
    patience: Duration,
    condition: impl Fn(ProcessId) -> bool,
) -> Vec<ProcessId> {
    let begun = Instant::now();
    loop {
        let left: Vec<ProcessId> = processes.iter().copied().filter(|process| condition(*process)).collect();
        if left.is_empty() || begun.elapsed() >= patience {
            return left;
        }
        thread::sleep(LOOK);
    }
}

/// The living processes of this machine with their parents, at one moment.
#[derive(Debug)]
pub struct Processes {
    by_pid: BTreeMap<u32, (ProcessId, u32)>,
}

impl Processes {
    /// Reads all processes.
    #[must_use]
    pub fn now() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let living = pids.filter_map(|pid| {
            let found = stat(pid)?;
            let process = ProcessId { pid, started: found.started };
            (!found.has_ended()).then_some((pid, (process, found.parent)))
        });
        Self { by_pid: living.collect() }
    }

    /// Returns all processes.
    pub fn all(&self) -> impl Iterator<Item = ProcessId> {
        self.by_pid.values().map(|(process, _)| *process)
    }

    /// Returns true if `process` is below `above`, or the same.
    #[must_use]
    pub fn is_within(&self, process: ProcessId, above: ProcessId) -> bool {
        let mut pid = process.pid;
        // Bounded: numbers that were read at different moments may form a ring.
        for _ in 0..=self.by_pid.len() {
            if pid == above.pid {
                return self.by_pid.get(&pid).is_none_or(|(found, _)| *found == above);
            }
            match self.by_pid.get(&pid) {
                Some((_, parent)) if *parent != 0 => pid = *parent,
                _ => return false,
            }
        }
        false
    }

    /// Returns a process and all processes below it, that one first; empty if it has ended.
    #[must_use]
    pub fn tree(&self, root: ProcessId) -> Vec<ProcessId> {
        if self.by_pid.get(&root.pid).is_none_or(|(found, _)| *found != root) {
            return Vec::new();
        }
        let below = self.all().filter(|process| *process != root && self.is_within(*process, root));
        std::iter::once(root).chain(below).collect()
    }
}

/// Returns the living processes of several trees, each once.
pub(crate) fn trees(roots: &[ProcessId]) -> Vec<ProcessId> {
    let now = Processes::now();
    let mut all: Vec<ProcessId> = Vec::new();
    for process in roots.iter().flat_map(|root| now.tree(*root)) {
        if !all.contains(&process) {
            all.push(process);
        }
    }
    all
}

/// Returns the name of the machine's start, which is another after each one. Numbers and times of processes mean nothing
/// after it.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Returns the time of day in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_killed_process_is_ending_before_its_parent_waits_for_it() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = ProcessId::of(child.id()).unwrap();
        assert!(!process.is_ending() && !ProcessId::is_leaving(child.id()));
        child.kill().unwrap();
        // It ends when it runs next.
        while !process.is_ending() {
            std::thread::yield_now();
        }
        assert!(ProcessId::is_leaving(child.id()));
        child.wait().unwrap();
        assert!(process.is_ending() && !ProcessId::is_leaving(child.id()));
    }

    #[test]
    fn a_reused_number_is_another_process_and_gets_no_signal() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = ProcessId::of(child.id()).unwrap();
        let earlier = ProcessId { started: process.started - 1, ..process };
        assert!(!earlier.lives());
        assert!(!earlier.signal(libc::SIGKILL).unwrap());
        assert!(process.lives());
        assert!(process.signal(libc::SIGSTOP).unwrap());
        assert!(wait_while(&[process], Duration::from_secs(60), |one| one.state() != Some('T')).is_empty());
        assert!(process.signal(libc::SIGKILL).unwrap());
        child.wait().unwrap();
        assert!(!process.lives());
        assert!(!process.signal(libc::SIGCONT).unwrap());
    }

    #[test]
    fn a_process_that_works_uses_processor_time() {
        let own = ProcessId::own().unwrap();
        let begun = Instant::now();
        while own.cpu_s().unwrap() <= 0.0 {
            assert!(begun.elapsed() < Duration::from_secs(60));
        }
        assert_eq!(ProcessId { started: own.started - 1, ..own }.cpu_s(), None);
    }

    #[test]
    fn a_tree_has_the_root_and_its_descendants() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & sleep 60 & wait"]).spawn().unwrap();
        let root = ProcessId::of(shell.id()).unwrap();
        let begun = Instant::now();
        while Processes::now().tree(root).len() < 3 {
            assert!(begun.elapsed() < Duration::from_secs(60));
            thread::sleep(LOOK);
        }
        let now = Processes::now();
        let tree = now.tree(root);
        assert_eq!(tree[0], root);
        let own = ProcessId::own().unwrap();
        assert!(tree.iter().all(|process| now.is_within(*process, own)));
        assert!(!now.is_within(own, root));
        for process in tree {
            process.signal(libc::SIGKILL).unwrap();
        }
        shell.wait().unwrap();
    }
}
