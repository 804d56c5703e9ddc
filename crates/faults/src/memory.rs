//! The memory of processes and of this machine, as the kernel reports it. All numbers are bytes.

use crate::group::MOUNT;
use crate::process::ProcessId;
use crate::units::megabytes;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Least limit of a control group that stands for no limit.
const NO_LIMIT: u64 = 1 << 60;

/// Memory that the kernel can't take from processes without a place to swap it to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Resident anonymous memory. What several processes share counts once.
    pub(crate) anonymous: u64,
    /// Resident shared memory, such as the buffers of a database with several processes, likewise.
    pub(crate) shared: u64,
    /// All shared memory that the processes have mapped, resident or not.
    pub(crate) mapped: u64,
}

impl Held {
    /// Reads the memory of some processes. Those that end meanwhile have none.
    pub(crate) fn of(processes: &[ProcessId]) -> Self {
        let mut held = Self::default();
        let mut segments = BTreeMap::<(String, String), u64>::new();
        for process in processes {
            let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", process.pid));
            let sums = read("smaps_rollup").unwrap_or_default();
            let status = read("status").unwrap_or_default();
            // Shares of shared pages, if the kernel tells them; else whole ones.
            held.anonymous += field(&sums, "Pss_Anon:").or(field(&status, "RssAnon:")).unwrap_or_default();
            held.shared += field(&sums, "Pss_Shmem:").or(field(&status, "RssShmem:")).unwrap_or_default();
            for (segment, bytes) in read("maps").unwrap_or_default().lines().filter_map(segment) {
                let known = segments.entry(segment).or_default();
                *known = bytes.max(*known);
            }
        }
        held.mapped = segments.values().sum();
        held
    }

    /// Returns the memory that the processes hold now, or will hold once they have filled their shared memory.
    pub(crate) fn at_most(&self) -> u64 {
        self.anonymous + self.shared.max(self.mapped)
    }

    /// Returns the memory that the processes hold now.
    pub(crate) fn now(&self) -> u64 {
        self.anonymous + self.shared
    }
}

/// Reads a line of `/proc/PID/maps`: the device and the number of a segment of shared memory, and its size.
fn segment(line: &str) -> Option<((String, String), u64)> {
    let mut words = line.split_whitespace();
    let (range, rights) = (words.next()?, words.next()?);
    let (_, device, number, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_memory =
        ["/dev/zero", "/SYSV", "/dev/shm/", "/memfd:"].iter().any(|start| name.starts_with(start));
    if !rights.ends_with('s') || !is_memory {
        return None;
    }
    let (from, to) = range.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some(((device.to_owned(), number.to_owned()), address(to)?.checked_sub(address(from)?)?))
}

/// Returns a number of a list `NAME NUMBER [kB]`, in bytes if the list has a unit.
pub(crate) fn field(list: &str, name: &str) -> Option<u64> {
    let rest = list.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t']))?;
    let mut words = rest.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    match words.next() {
        Some("kB") => number.checked_mul(1024),
        _ => Some(number),
    }
}

/// Returns the size of a number of pages, in words.
pub(crate) fn pages(count: u64) -> String {
    // SAFETY: sysconf has no preconditions.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    megabytes(count.saturating_mul(page))
}

/// Returns the memory of this machine.
pub(crate) fn of_machine() -> Option<u64> {
    field(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// Returns the memory that a helper of this process can take without a need to swap: that of the machine, and that which
/// the control groups of this process leave.
pub(crate) fn available() -> Option<u64> {
    let machine = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    Some(groups().iter().filter_map(|group| left(group)).fold(machine, u64::min))
}

/// Returns the control groups of memory that this process is in, as far as they are mounted here.
fn groups() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let base = match controllers {
            "" => PathBuf::from(MOUNT),
            _ if controllers.split(',').any(|name| name == "memory") => Path::new(MOUNT).join("memory"),
            _ => return None,
        };
        let own = base.join(path.trim_start_matches('/'));
        Some(own.ancestors().take_while(|above| above.starts_with(&base)).map(Path::to_owned).collect())
    };
    text.lines().filter_map(group).flat_map(|groups: Vec<PathBuf>| groups).collect()
}

/// Returns the memory that a control group leaves; none without a limit.
fn left(group: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |text: String| text.trim().parse::<u64>().ok();
    let limit = read("memory.max").or_else(|| read("memory.limit_in_bytes")).and_then(number)?;
    let used = read("memory.current").or_else(|| read("memory.usage_in_bytes")).and_then(number)?;
    let statistics = read("memory.stat").unwrap_or_default();
    // Version 1 has sums with those of the groups below.
    let files = |name: &str| {
        field(&statistics, &format!("total_{name}")).or(field(&statistics, name)).unwrap_or_default()
    };
    let held = used.saturating_sub(files("inactive_file") + files("active_file"));
    (limit < NO_LIMIT).then(|| limit.saturating_sub(held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn a_process_holds_the_memory_that_it_has_written() {
        const TEXT: u64 = 16 << 20;
        let script = format!("held=$(head -c {TEXT} /dev/zero | tr '\\0' x); read line");
        let mut shell = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        let own = [ProcessId::of(shell.id()).unwrap()];
        let begun = Instant::now();
        while Held::of(&own).anonymous < TEXT && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(5));
        }
        let held = Held::of(&own);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(held.anonymous >= TEXT && held.at_most() >= held.now(), "{held:?}");
        assert_eq!(Held::of(&own), Held::default());
    }

    #[test]
    fn segments_of_shared_memory_count_once_and_files_do_not() {
        let zero = "7f0000000000-7f0008000000 rw-s 00000000 00:01 1033  /dev/zero (deleted)";
        assert_eq!(segment(zero), Some((("00:01".into(), "1033".into()), 128 << 20)));
        assert_eq!(segment(&zero.replace("rw-s", "rw-p")), None);
        assert_eq!(segment(&zero.replace("/dev/zero", "/var/lib/data")), None);
        assert_eq!(segment("7f0000000000-7f0008000000 rw-p 00000000 00:00 0"), None);
    }

    #[test]
    fn numbers_of_lists_are_found_by_their_whole_name() {
        let list = "Pss: 9 kB\nPss_Anon:\t  12 kB\npgsteal_direct 7\npgsteal 5\n";
        assert_eq!(field(list, "Pss_Anon:"), Some(12 * 1024));
        assert_eq!((field(list, "pgsteal"), field(list, "Pss_")), (Some(5), None));
        assert!(available().unwrap() <= of_machine().unwrap());
    }
}
