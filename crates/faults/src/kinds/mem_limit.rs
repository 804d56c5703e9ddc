//! `mem-limit:SIZE`: the database's processes get so much memory in all, by a control group.
//!
//! A process that moves to another group leaves the memory that it has in its old one: the kernel no longer moves such
//! charges. So the limit of the fault's own group is the size less what the processes hold already. Pages of files in the
//! cache are left in the old group likewise, where no limit meets them. Those of the database are dropped from the cache
//! once, so that the processes that read them again pay for them.

use super::limit::LimitKind;
use super::size_of_memory;
use crate::data;
use crate::error::FaultError;
use crate::fault::{Fault, Site};
use crate::group::{Controller, Group, Version};
use crate::memory::{Held, field, of_machine, pages};
use crate::process::{ProcessId, trees};
use crate::spec::FaultSpec;
use crate::units::megabytes;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Least room above the memory that the processes hold: for pages of files, and for what new sessions need.
const ROOM: u64 = 16 << 20;
/// Deepest directory below the data whose files are dropped from the cache.
const DEPTH: usize = 16;

/// The kind.
pub(super) struct MemLimit;

/// The limit, with the files whose pages it is for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Most {
    /// Memory of all processes.
    bytes: u64,
    /// Directories of data of servers.
    data: Vec<PathBuf>,
}

impl LimitKind for MemLimit {
    type Most = Most;
    const NAME: &'static str = "mem-limit";
    const ARGUMENTS: &'static str = "SIZE";
    const CONTROLLER: Controller = Controller {
        two: "memory",
        one: "memory",
        folders: &["memory"],
        of: "memory",
        otherwise: "mem-burn",
    };
    const CONTROLS: [&'static str; 2] = ["memory.limit_in_bytes", "memory.max"];

    fn read(fault: &FaultSpec) -> Result<(), FaultError> {
        size(fault).map(drop)
    }

    fn most(fault: &Fault) -> Result<Most, Vec<FaultError>> {
        let bytes = size(&fault.spec)?;
        if let Some(machine) = of_machine().filter(|machine| bytes > *machine) {
            return Err(vec![FaultError::Lacks(format!(
                "allows {}, and this machine has {}: allow less",
                megabytes(bytes),
                megabytes(machine)
            ))]);
        }
        let held = Held::of(&trees(&fault.roots()?));
        if let Some(problem) = too_little(bytes, &held) {
            return Err(vec![problem]);
        }
        let data = fault.sites.iter().filter_map(|site| match site {
            Site::Server(server) => Some(server.data.clone()),
            Site::Machine | Site::Process(_) => None,
        });
        Ok(Most { bytes, data: data.collect() })
    }

    fn words(most: &Most) -> String {
        format!("{} in all", megabytes(most.bytes))
    }

    fn set(group: &Group, most: &Most, lifted: bool) -> Result<(), FaultError> {
        let [one, two] = Self::CONTROLS;
        let (control, none) = match group.version() {
            Version::One => (one, "-1"),
            Version::Two => (two, "max"),
        };
        if lifted {
            return group.set(control, none);
        }
        let pids = group.get("cgroup.procs");
        let processes: Vec<ProcessId> =
            pids.lines().filter_map(|pid| ProcessId::of(pid.parse().ok()?)).collect();
        let held = Held::of(&processes);
        // The kernel would end processes at once.
        if let Some(problem) = too_little(most.bytes, &held) {
            return Err(problem);
        }
        let elsewhere = held.now().saturating_sub(charged(group));
        group.set(control, &most.bytes.saturating_sub(elsewhere).to_string())?;
        most.data.iter().for_each(|directory| forget_below(directory, DEPTH));
        if most.data.is_empty() {
            let files = processes.iter().flat_map(|process| data::open_for_writing(*process));
            files.for_each(|(_, file)| forget(&file));
        }
        Ok(())
    }

    fn effect(group: &Group, _: &Most) -> String {
        let statistics = group.get("memory.stat");
        let of = |name: &str| field(&statistics, name).unwrap_or_default();
        let events = group.get("memory.events");
        let (hits, came, ended) = match group.version() {
            Version::One => (
                group.get("memory.failcnt").trim().parse().unwrap_or_default(),
                format!(
                    "read {} of files again that the kernel had reclaimed",
                    pages(of("workingset_refault_file"))
                ),
                field(&group.get("memory.oom_control"), "oom_kill"),
            ),
            Version::Two => (
                field(&events, "max").unwrap_or_default(),
                format!(
                    "the kernel reclaimed {}, and {} of files were read again",
                    pages(of("pgsteal")),
                    pages(of("workingset_refault_file"))
                ),
                field(&events, "oom_kill"),
            ),
        };
        let mut text = match hits {
            0 => "the limit was not reached: allow less".to_owned(),
            1 => format!("the limit was hit once, {came}"),
            hits => format!("the limit was hit {hits} times, {came}"),
        };
        match ended.unwrap_or_default() {
            0 => {}
            1 => text += "; the kernel ended 1 process for want of memory",
            several => text += &format!("; the kernel ended {several} processes for want of memory"),
        }
        text
    }
}

/// Reads the size.
fn size(fault: &FaultSpec) -> Result<u64, FaultError> {
    size_of_memory(fault, "mem-limit:1G@5s..10s/lab:pg")
}

/// Returns the problem of a limit below what the processes hold.
fn too_little(bytes: u64, held: &Held) -> Option<FaultError> {
    let least = held.at_most().saturating_add(ROOM);
    (bytes < least).then(|| {
        FaultError::Lacks(format!(
            "allows {}, and the processes hold {} of their own and {} of shared memory, which the kernel can't take from \
             them, so it would end them: allow {}Mi or more",
            megabytes(bytes),
            megabytes(held.anonymous),
            megabytes(held.shared.max(held.mapped)),
            least.div_ceil(1 << 20)
        ))
    })
}

/// Returns the memory of processes that the group pays for.
fn charged(group: &Group) -> u64 {
    let statistics = group.get("memory.stat");
    let of = |name: &str| field(&statistics, name).unwrap_or_default();
    match group.version() {
        Version::One => of("rss") + of("shmem"),
        Version::Two => of("anon") + of("shmem"),
    }
}

/// Drops the pages of all files below a directory from the cache.
fn forget_below(directory: &Path, depth: usize) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(found) if found.is_file() => forget(&entry.path()),
            Ok(found) if found.is_dir() && depth > 0 => forget_below(&entry.path(), depth - 1),
            _ => {}
        }
    }
}

/// Drops the pages of a file from the cache, but for those that must be written first. One that has gone, or that this
/// user must not read, keeps its pages in the old group, which is no failure of the limit.
fn forget(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    // SAFETY: the descriptor is open, and the call has no memory preconditions.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::super::limit::Limit;
    use super::*;
    use crate::spec::Where;
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    fn fault(size: &str, process: ProcessId) -> Fault {
        Fault {
            spec: FaultSpec {
                places: vec![Where::Process(process.pid)],
                ..FaultSpec::for_test(MemLimit::NAME, Some(size))
            },
            sites: vec![Site::Process(process)],
        }
    }

    /// Returns true if a file is in memory (tmpfs), where the kernel can't reclaim its pages.
    fn is_memory(file: &File) -> bool {
        // SAFETY: an all-zero structure is a valid value of this plain struct.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and the structure outlives the call.
        assert_eq!(unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut found) }, 0);
        found.f_type == libc::TMPFS_MAGIC
    }

    #[test]
    fn processes_that_read_more_files_than_the_limit_leaves_hit_it_and_are_as_before_at_the_end() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("data");
        // Pages that are not on the disk yet can't be dropped from the cache.
        let mut written = File::create(&file).unwrap();
        written.write_all(&vec![7_u8; 64 << 20]).unwrap();
        written.sync_all().unwrap();
        if is_memory(&written) {
            return;
        }
        let script = "exec 3<>data; while :; do cat data; done >/dev/null";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(place.path()).stdin(Stdio::null());
        let mut shell = shell.spawn().unwrap();
        let process = ProcessId::of(shell.id()).unwrap();
        let groups = || fs::read_to_string(format!("/proc/{}/cgroup", process.pid)).unwrap();
        let before = groups();
        let kind = Limit(MemLimit);
        let refused = kind.check(&fault("1Mi", process));
        let checked = kind.check(&fault("40Mi", process));
        let played = checked.map(|mut state| {
            kind.approach(&mut state).unwrap();
            let begun = kind.begin(&mut state).unwrap();
            let until = Instant::now() + Duration::from_secs(60);
            // The file is larger than the limit, so each round over it hits the limit.
            let effect = || MemLimit::effect(state.group(), state.most());
            while effect().contains("not reached") && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            let within = groups();
            assert!(kind.lift(&state));
            (begun, within, kind.end(&state).unwrap())
        });
        let after = groups();
        shell.kill().unwrap();
        shell.wait().unwrap();
        let problem = refused.unwrap_err().iter().map(ToString::to_string).collect::<String>();
        match played {
            // Not every machine lets this user limit memory.
            Err(problems) => {
                let text = problems[0].to_string();
                assert!(
                    text.contains("control groups of memory") || text.contains("the right to write"),
                    "{text}"
                );
            }
            Ok((begun, within, effect)) => {
                assert!(begun.starts_with("limited ") && begun.ends_with(" to 41.9 MB in all"), "{begun}");
                assert!(within.contains("/lydite-fault-"), "{within}");
                assert!(effect.starts_with("the limit was hit ") && effect.contains(" again"), "{effect}");
                assert_eq!(after, before);
                assert!(problem.starts_with("allows 1.0 MB, and the processes hold "), "{problem}");
                assert!(problem.contains("so it would end them: allow "), "{problem}");
            }
        }
    }
}
