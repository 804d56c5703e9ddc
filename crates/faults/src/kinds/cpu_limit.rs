//! `cpu-limit:CORES`: the database's processes get so much processor time, by a control group (version 2, else 1).

use super::{Acts, Kind, cores, counted};
use crate::fault::Fault;
use crate::process::{ProcessId, trees};
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Where systems mount control groups.
const MOUNT: &str = "/sys/fs/cgroup";
/// Folders of version 1's controller of processor time.
const V1: [&str; 2] = ["cpu", "cpu,cpuacct"];
/// Period of the quota, in microseconds.
const PERIOD_US: f64 = 100_000.0;
/// Least limit, in cores: the kernel takes no quota below 1 ms.
const LEAST: f64 = 0.01;
/// Most rounds of moving: each finds the processes that were started during the last one.
const ROUNDS: usize = 20;
/// Longest wait until an empty group can be removed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The kind.
pub(super) struct CpuLimit;

/// The version of control groups that the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Version {
    One,
    Two,
}

/// The group of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    version: Version,
    /// The mounted hierarchy.
    base: PathBuf,
    /// The fault's own group.
    group: PathBuf,
    /// Limit in cores.
    cores: f64,
    /// The uppermost process of each place, and the group that it was in.
    roots: Vec<(ProcessId, PathBuf)>,
}

impl Kind for CpuLimit {
    type State = State;
    const NAME: &'static str = "cpu-limit";
    const ACTS: Acts = Acts::OnProcesses;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        limit(fault).map(|_| ())
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        let mut problems = Vec::new();
        let limit = limit(&fault.spec).unwrap_or_else(|problem| {
            problems.push(problem);
            LEAST
        });
        match cores() {
            Ok(cores) if limit > cores as f64 => {
                problems.push(format!("allows {limit} cores, and this machine has {cores}: allow less"));
            }
            Ok(_) => {}
            Err(problem) => problems.push(problem),
        }
        let roots = fault.roots().unwrap_or_else(|more| {
            problems.extend(more);
            Vec::new()
        });
        let found = hierarchy().and_then(|(version, base)| {
            let group = base.join(format!("lydite-fault-{}", std::process::id()));
            let in_groups = |process: &ProcessId| Ok((*process, group_of(version, &base, *process)?));
            let roots = roots.iter().map(in_groups).collect::<Result<_, String>>()?;
            Ok(State { version, base, group, cores: limit, roots })
        });
        match found {
            Ok(state) if problems.is_empty() => Ok(state),
            Ok(_) => Err(problems),
            Err(problem) => {
                problems.push(problem);
                Err(problems)
            }
        }
    }

    fn how(&self, state: &State) -> String {
        match state.version {
            Version::One => format!("cpu.cfs_quota_us of cgroup v1 in {}", state.base.display()),
            Version::Two => format!("cpu.max of cgroup v2 in {}", state.base.display()),
        }
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        let in_group = |file: &str| state.group.join(file);
        fs::create_dir(&state.group).map_err(|error| format!("{}: {error}", state.group.display()))?;
        let quota = (state.cores * PERIOD_US).round();
        match state.version {
            Version::One => {
                write(&in_group("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
                write(&in_group("cpu.cfs_quota_us"), &quota.to_string())?;
            }
            Version::Two => write(&in_group("cpu.max"), &format!("{quota} {PERIOD_US}"))?,
        }
        let roots: Vec<ProcessId> = state.roots.iter().map(|(root, _)| *root).collect();
        let mut moved: Vec<ProcessId> = Vec::new();
        for _ in 0..ROUNDS {
            let new: Vec<ProcessId> =
                trees(&roots).into_iter().filter(|process| !moved.contains(process)).collect();
            if new.is_empty() {
                break;
            }
            for process in new {
                put(process.pid, &state.group)?;
                moved.push(process);
            }
        }
        if moved.is_empty() {
            return Err("the processes have ended before".into());
        }
        Ok(format!("limited {} to {} cores", counted(moved.len(), "process", "processes"), state.cores))
    }

    fn end(&self, state: &State) -> Result<String, String> {
        if !state.group.exists() {
            return Ok(String::new());
        }
        let statistics = fs::read_to_string(state.group.join("cpu.stat")).unwrap_or_default();
        let throttled = statistics.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        let begun = Instant::now();
        loop {
            let inside = fs::read_to_string(state.group.join("cgroup.procs")).unwrap_or_default();
            for pid in inside.lines().filter_map(|line| line.parse::<u32>().ok()) {
                put(pid, &self.home(state, pid))?;
            }
            match fs::remove_dir(&state.group) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) if begun.elapsed() >= PATIENCE => {
                    return Err(format!("{}: {error}", state.group.display()));
                }
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
        Ok(throttled.map_or_else(String::new, |count| format!("throttled in {count} periods of 0.1 s")))
    }
}

impl CpuLimit {
    /// Returns the group that a process goes back to: that of the place it belongs to, else the first one's.
    fn home(&self, state: &State, pid: u32) -> PathBuf {
        let now = crate::process::Processes::now();
        let own = ProcessId::of(pid).and_then(|process| {
            state.roots.iter().find(|(root, _)| now.is_within(process, *root)).map(|(_, group)| group)
        });
        let home = own.or(state.roots.first().map(|(_, group)| group)).filter(|group| group.exists());
        home.unwrap_or(&state.base).clone()
    }
}

/// Reads the limit in cores.
fn limit(fault: &FaultSpec) -> Result<f64, String> {
    let limit = fault.arguments.as_deref().and_then(|text| text.parse::<f64>().ok());
    limit
        .filter(|limit| limit.is_finite() && *limit >= LEAST)
        .ok_or_else(|| format!("needs a number of cores from {LEAST}, as cpu-limit:0.5@5s..10s/lab:pg"))
}

/// Returns the control groups that this user may change.
fn hierarchy() -> Result<(Version, PathBuf), String> {
    let mount = Path::new(MOUNT);
    let children = fs::read_to_string(mount.join("cgroup.subtree_control")).unwrap_or_default();
    let two = children.split_whitespace().any(|name| name == "cpu").then(|| (Version::Two, mount.to_owned()));
    let one = || {
        let bases = V1.map(|name| mount.join(name));
        bases.into_iter().find(|base| base.join("cpu.cfs_quota_us").exists() || base.join("tasks").exists())
    };
    let found = two.or_else(|| one().map(|base| (Version::One, base)));
    let (version, base) = found.ok_or_else(|| {
        format!("needs control groups of processor time, and there are none in {MOUNT}: use cpu-burn")
    })?;
    let path =
        std::ffi::CString::new(base.as_os_str().as_encoded_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the path is a string with an end, which outlives the call.
    if unsafe { libc::access(path.as_ptr(), libc::W_OK) } != 0 {
        let error = io::Error::last_os_error();
        return Err(format!("needs the right to write in {} ({error}): run lydite as root", base.display()));
    }
    Ok((version, base))
}

/// Returns the group that a process is in.
fn group_of(version: Version, base: &Path, process: ProcessId) -> Result<PathBuf, String> {
    let file = format!("/proc/{}/cgroup", process.pid);
    let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let of_line = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let ours = match version {
            Version::One => controllers.split(',').any(|name| name == "cpu"),
            Version::Two => controllers.is_empty(),
        };
        ours.then(|| base.join(path.trim_start_matches('/')))
    };
    text.lines().find_map(of_line).ok_or_else(|| format!("{file} names no group of processor time"))
}

/// Moves a process into a group. One that has ended meanwhile is no error.
fn put(pid: u32, group: &Path) -> Result<(), String> {
    match fs::write(group.join("cgroup.procs"), pid.to_string()) {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
            Err(format!("process {pid} can't be moved to {}: {error}", group.display()))
        }
        _ => Ok(()),
    }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
