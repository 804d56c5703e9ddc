//! The processes of a database on this machine, from Linux's `/proc`: processors, memory and disk.

use crate::error::ObserveError;
use crate::kernel::{TICKS_PER_S, counter, gauge};
use lydite_database::Sample;
use lydite_faults::process::{ProcessId, Processes};
use lydite_faults::sockets;
use std::fs;
use std::process;

/// Most readings of one tree of processes, which may change meanwhile.
const ATTEMPTS: usize = 5;
/// Bytes of a kilobyte in `/proc/PID/status`.
const KB: u64 = 1024;

/// Processes that belong to one server, or this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Name in results.
    name: String,
    /// TCP port that it listens on; `None` for this process.
    port: Option<u16>,
    /// The uppermost of its processes, once it is found. A server that was started again is another process.
    root: Option<ProcessId>,
}

/// Resources that some processes have used, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    /// Time on processors, in ticks.
    ticks: u64,
    /// Bytes in memory.
    resident: u64,
    /// Bytes that came from disks, and bytes for disks; `None` if this user may not know.
    disk: Option<(u64, u64)>,
}

impl Server {
    /// Names this process, in which an embedded database works.
    #[must_use]
    pub fn own() -> Self {
        Self { name: "lydite".into(), port: None, root: ProcessId::of(process::id()) }
    }

    /// Names the server that listens on a port, and looks for it.
    ///
    /// # Errors
    /// Nobody listens, or this user must not see who does.
    pub fn find(name: String, port: u16) -> Result<Self, ObserveError> {
        Ok(Self { name, port: Some(port), root: Some(sockets::server(port)?) })
    }

    /// Returns the time that its processes have spent on processors since their start, in seconds, and the uppermost of
    /// them; `None` if it is down.
    #[must_use]
    pub fn cpu_s(&mut self) -> Option<(ProcessId, f64)> {
        let usage = self.usage()?;
        Some((self.root?, usage.ticks as f64 / TICKS_PER_S))
    }

    /// Returns its samples; none if it is down.
    pub(crate) fn samples(&mut self) -> Vec<Sample> {
        let Some(Usage { ticks, resident, disk }) = self.usage() else { return Vec::new() };
        let name = |of: &str| format!("{}.{of}", self.name);
        let mut samples = vec![
            counter(name("cpu"), "cores", ticks as f64 / TICKS_PER_S),
            gauge(name("memory"), "bytes", resident as f64),
        ];
        if let Some((read, written)) = disk {
            samples.push(counter(name("disk.read_bytes"), "bytes/s", read as f64));
            samples.push(counter(name("disk.written_bytes"), "bytes/s", written as f64));
        }
        samples
    }

    fn usage(&mut self) -> Option<Usage> {
        if !self.root.is_some_and(ProcessId::lives) {
            self.root = sockets::server(self.port?).ok();
        }
        let root = self.root?;
        (0..ATTEMPTS).find_map(|_| usage(&Processes::now().tree(root)))
    }
}

/// Adds up processes, the uppermost first; `None` if there is none, or if one ended meanwhile.
///
/// A process that has ended counts in its parent once that has noticed the end. So parents are read before their
/// children: an end in between is a child that is missing, and never one that counts twice.
fn usage(tree: &[ProcessId]) -> Option<Usage> {
    let mut sum = Usage { disk: Some((0, 0)), ..Usage::default() };
    let (mut shared, mut mapped) = (0, 0);
    for process in tree {
        let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", process.pid));
        sum.ticks += ticks(&read("stat").ok()?, process.started)?;
        let status = read("status").ok()?;
        sum.resident += kilobytes(&status, "RssAnon:");
        shared = shared.max(kilobytes(&status, "RssShmem:"));
        mapped = mapped.max(kilobytes(&status, "RssFile:"));
        let disk =
            read("io").ok().and_then(|io| Some((field(&io, "read_bytes:")?, field(&io, "write_bytes:")?)));
        sum.disk = sum.disk.zip(disk).map(|(sum, more)| (sum.0 + more.0, sum.1 + more.1));
    }
    // All of them share these pages, such as the buffers of PostgreSQL.
    sum.resident += shared + mapped;
    (!tree.is_empty()).then_some(sum)
}

/// Returns the ticks that a process and its ended children have used, from `/proc/PID/stat`; `None` if the number belongs
/// to another process by now.
fn ticks(stat: &str, started: u64) -> Option<u64> {
    // The name stands in parentheses and may contain some itself.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The state is the third field of the line, and the first one here.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    (number(22)? == started).then_some(())?;
    [14, 15, 16, 17].into_iter().map(number).sum()
}

/// Returns a field of `/proc/PID/io` or `/proc/PID/status`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns a size in `/proc/PID/status`, in bytes; 0 if the process has none, since it has ended.
fn kilobytes(status: &str, name: &str) -> u64 {
    field(status, name).unwrap_or_default() * KB
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn the_time_of_ended_children_counts_and_a_reused_number_does_not() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 200 0 0 11 22 33 44 20 0 1 0 555 9 9";
        assert_eq!(ticks(stat, 555), Some(110));
        assert_eq!(ticks(stat, 554), None);
    }

    #[test]
    fn this_process_is_sampled_as_the_database_in_it() {
        let names: Vec<String> = Server::own().samples().into_iter().map(|sample| sample.name).collect();
        assert_eq!(names[..2], ["lydite.cpu", "lydite.memory"], "{names:?}");
    }

    #[test]
    fn a_server_is_found_by_its_port() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut server = Server::find("db".into(), port).unwrap();
        let samples = server.samples();
        let memory = samples.iter().find(|sample| sample.name == "db.memory").expect("db.memory");
        assert!(memory.value > 0.0);
        drop(listener);
        assert!(Server::find("db".into(), port).unwrap_err().to_string().contains("no process listens"));
    }

    #[test]
    fn the_processes_of_a_server_are_added_up_and_shared_memory_counts_once() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & echo; read _; kill $!"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The child runs once its parent writes.
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let root = ProcessId::of(shell.id()).unwrap();
        let tree = Processes::now().tree(root);
        assert_eq!(tree.len(), 2, "{tree:?}");
        // A child that has not run yet shares nothing.
        let begun = Instant::now();
        loop {
            let both = usage(&tree).unwrap();
            let parts = tree.iter().map(|process| usage(&[*process]).unwrap().resident).collect::<Vec<_>>();
            if both.resident > 0 && both.resident < parts.iter().sum() {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{both:?} {parts:?}");
            thread::sleep(Duration::from_millis(5));
        }
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(usage(&tree), None, "they have ended");
        assert_eq!(usage(&[]), None);
    }
}
