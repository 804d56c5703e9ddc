//! Control groups: a fault's own group, the processes in it, and their way back (version 2, else 1).

use crate::error::FaultError;
use crate::process::{ProcessId, Processes, trees};
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Directory where systems mount control groups.
pub(crate) const MOUNT: &str = "/sys/fs/cgroup";
/// Beginning of the names of the groups of faults.
const NAME: &str = "lydite-fault-";
/// Most rounds of moving: each finds the processes that were started during the last one.
const ROUNDS: usize = 20;
/// Longest wait until an empty group can be removed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A controller of control groups.
#[derive(Debug)]
pub(crate) struct Controller {
    /// Name in version 2.
    pub(crate) two: &'static str,
    /// Name in version 1.
    pub(crate) one: &'static str,
    /// Folders of version 1.
    pub(crate) folders: &'static [&'static str],
    /// The controlled resource, for messages.
    pub(crate) of: &'static str,
    /// Another way, for machines without the controller.
    pub(crate) otherwise: &'static str,
}

/// The version of control groups that the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Version {
    One,
    Two,
}

/// The group of a fault, with the processes that move into it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Group {
    version: Version,
    /// The mounted hierarchy.
    base: PathBuf,
    /// The fault's own group.
    path: PathBuf,
    /// The uppermost process of each place, and the group that it was in.
    roots: Vec<(ProcessId, PathBuf)>,
}

impl Group {
    /// Plans the group of the fault that this process guards. Nothing is made yet.
    ///
    /// # Errors
    /// The machine does not have the controller, or this user must not use it.
    pub(crate) fn plan(controller: &Controller, roots: &[ProcessId]) -> Result<Self, FaultError> {
        let (version, base) = hierarchy(controller)?;
        let path = base.join(format!("{NAME}{}", std::process::id()));
        let in_group = |process: &ProcessId| {
            let group = group_of(controller, version, &base, *process)?;
            let name = group.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(NAME) {
                return Err(FaultError::Lacks(format!(
                    "process {} is in the control group of another fault: let that one end before, or clear it with \
                     lydite faults clear",
                    process.pid
                )));
            }
            Ok((*process, group))
        };
        let found = roots.iter().map(in_group).collect::<Result<Vec<_>, FaultError>>()?;
        // All go back to the group of their root, which must be theirs.
        for (root, group) in &found {
            let elsewhere = |process: &ProcessId| {
                let own = group_of(controller, version, &base, *process);
                own.is_ok_and(|own| own != *group) && !process.is_ending()
            };
            if let Some(other) = trees(&[*root]).into_iter().find(elsewhere) {
                return Err(FaultError::Lacks(format!(
                    "process {} below process {} is in another control group: name the server's own process",
                    other.pid, root.pid
                )));
            }
        }
        let roots = found;
        Ok(Self { version, base, path, roots })
    }

    /// Returns the version of control groups.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Returns the name of a control, as `cpu.max of cgroup v2 in /sys/fs/cgroup`.
    pub(crate) fn words(&self, one: &str, two: &str) -> String {
        let (control, version) = match self.version {
            Version::One => (one, 1),
            Version::Two => (two, 2),
        };
        format!("{control} of cgroup v{version} in {}", self.base.display())
    }

    /// Makes the group.
    ///
    /// # Errors
    /// The system rejects it.
    pub(crate) fn make(&self) -> Result<(), FaultError> {
        fs::create_dir(&self.path).map_err(|error| FaultError::system(self.path.display(), error))
    }

    /// Writes a control.
    ///
    /// # Errors
    /// The system rejects it.
    pub(crate) fn set(&self, control: &str, text: &str) -> Result<(), FaultError> {
        let file = self.path.join(control);
        fs::write(&file, text).map_err(|error| FaultError::system(file.display(), error))
    }

    /// Reads a control; empty if it can't be read.
    pub(crate) fn get(&self, control: &str) -> String {
        fs::read_to_string(self.path.join(control)).unwrap_or_default()
    }

    /// Returns true if the group is there.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Moves the processes into the group, also those that are started meanwhile. Returns their number.
    ///
    /// # Errors
    /// A process can't be moved, or all have ended.
    pub(crate) fn fill(&self) -> Result<usize, FaultError> {
        let roots: Vec<ProcessId> = self.roots.iter().map(|(root, _)| *root).collect();
        let mut moved: Vec<ProcessId> = Vec::new();
        for _ in 0..ROUNDS {
            let new: Vec<ProcessId> =
                trees(&roots).into_iter().filter(|process| !moved.contains(process)).collect();
            if new.is_empty() {
                break;
            }
            for process in new {
                put(process.pid, &self.path)?;
                moved.push(process);
            }
        }
        if moved.is_empty() {
            return Err(FaultError::Failed("the processes have ended before".into()));
        }
        Ok(moved.len())
    }

    /// Moves all processes back and removes the group, if it is there.
    ///
    /// # Errors
    /// A process can't be moved, or the group stays.
    pub(crate) fn remove(&self) -> Result<(), FaultError> {
        let begun = Instant::now();
        while self.exists() {
            let processes = self.get("cgroup.procs");
            let pids = processes.lines().filter_map(|line| line.parse::<u32>().ok());
            // One that can't be moved must not keep the others here.
            let moved = pids.map(|pid| put(pid, &self.home(pid))).fold(Ok(()), Result::and);
            match fs::remove_dir(&self.path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if begun.elapsed() >= PATIENCE => {
                    return moved.and(Err(FaultError::system(self.path.display(), error)));
                }
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
        Ok(())
    }

    /// Returns the group that a process goes back to: that of the place it belongs to, else the first one's.
    fn home(&self, pid: u32) -> PathBuf {
        let now = Processes::now();
        let own = ProcessId::of(pid).and_then(|process| {
            self.roots.iter().find(|(root, _)| now.is_within(process, *root)).map(|(_, group)| group)
        });
        let home = own.or(self.roots.first().map(|(_, group)| group)).filter(|group| group.exists());
        home.unwrap_or(&self.base).clone()
    }
}

/// Returns the control groups that this user may change.
fn hierarchy(controller: &Controller) -> Result<(Version, PathBuf), FaultError> {
    let mount = Path::new(MOUNT);
    let children = fs::read_to_string(mount.join("cgroup.subtree_control")).unwrap_or_default();
    let two = children.split_whitespace().any(|name| name == controller.two);
    let two = two.then(|| (Version::Two, mount.to_owned()));
    let one = || {
        let mut bases = controller.folders.iter().map(|name| mount.join(name));
        bases.find(|base| base.join("tasks").exists()).map(|base| (Version::One, base))
    };
    let (version, base) = two.or_else(one).ok_or_else(|| {
        FaultError::Lacks(format!(
            "needs control groups of {}, and there are none in {MOUNT}: use {}",
            controller.of, controller.otherwise
        ))
    })?;
    let path = CString::new(base.as_os_str().as_encoded_bytes())
        .map_err(|error| FaultError::Failed(error.to_string()))?;
    // SAFETY: the path is a string with an end, which outlives the call.
    if unsafe { libc::access(path.as_ptr(), libc::W_OK) } != 0 {
        let error = io::Error::last_os_error();
        return Err(FaultError::Lacks(format!(
            "needs the right to write in {} ({error}): run lydite as root",
            base.display()
        )));
    }
    Ok((version, base))
}

/// Returns the group that a process is in.
fn group_of(
    controller: &Controller,
    version: Version,
    base: &Path,
    process: ProcessId,
) -> Result<PathBuf, FaultError> {
    let file = format!("/proc/{}/cgroup", process.pid);
    let text = fs::read_to_string(&file).map_err(|error| FaultError::system(&file, error))?;
    let of_line = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let ours = match version {
            Version::One => controllers.split(',').any(|name| name == controller.one),
            Version::Two => controllers.is_empty(),
        };
        ours.then(|| base.join(path.trim_start_matches('/')))
    };
    let group = text.lines().find_map(of_line);
    group.ok_or_else(|| FaultError::Lacks(format!("{file} names no group of {}", controller.of)))
}

/// Moves a process into a group. One that has ended meanwhile is no error.
fn put(pid: u32, group: &Path) -> Result<(), FaultError> {
    match fs::write(group.join("cgroup.procs"), pid.to_string()) {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
            Err(FaultError::system(format!("process {pid} can't be moved to {}", group.display()), error))
        }
        _ => Ok(()),
    }
}
