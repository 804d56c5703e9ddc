//! `disk-full`: the file system of a lab's data has no space left. A file takes all of it, and is removed at the end.
//!
//! Only for labs with a file system of their own.

use super::{Acts, Kind};
use crate::error::FaultError;
use crate::fault::{Fault, Site};
use crate::process::ProcessId;
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest piece that is allocated at once.
const LONGEST: i64 = 1 << 30;
/// Shortest one: a block.
const SHORTEST: i64 = 1 << 10;

/// The kind.
pub(super) struct DiskFull;

/// The fillers of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// Files that take the space, one on each file system.
    files: Vec<PathBuf>,
    /// The process of each server, with its port.
    servers: Vec<(ProcessId, u16)>,
}

impl Kind for DiskFull {
    type State = State;
    const NAME: &'static str = "disk-full";
    const ACTS: Acts = Acts::OnLabs;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        super::no_arguments(fault)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        let (mut files, mut servers, mut problems) = (Vec::<PathBuf>::new(), Vec::new(), Vec::new());
        for (site, root) in fault.sites.iter().zip(fault.roots()?) {
            let Site::Server(server) = site else { continue };
            let Some(disk) = &server.disk else {
                problems.push(FaultError::Lacks(format!(
                    "the data of the server on port {} shares its file system with others: use lydite lab up NAME \
                     --disk SIZE",
                    server.port
                )));
                continue;
            };
            servers.push((root, server.port));
            let file = disk.volume.mount.join(format!("lydite-fault-{}", std::process::id()));
            match disk.volume.require_mounted() {
                _ if files.contains(&file) => {}
                Ok(()) => files.push(file),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(State { files, servers }) } else { Err(problems) }
    }

    fn how(&self, _: &State) -> String {
        "a file that takes all free space (fallocate)".into()
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        let mut filled = 0;
        for path in &state.files {
            filled += fill(path).map_err(|error| FaultError::system(path.display(), error))?;
        }
        Ok(format!("filled {:.1} MB, until no space was left", filled as f64 / 1e6))
    }

    fn end(&self, state: &State) -> Result<String, FaultError> {
        for path in &state.files {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(FaultError::system(path.display(), error));
                }
                _ => {}
            }
        }
        Ok(String::new())
    }

    fn damage(&self, state: &State) -> Option<String> {
        let ended =
            |(_, port): &(ProcessId, u16)| format!("the server on port {port} has ended: start it again");
        let gone: Vec<String> =
            state.servers.iter().filter(|(process, _)| !process.lives()).map(ended).collect();
        (!gone.is_empty()).then(|| gone.join(", "))
    }
}

/// Makes a file that takes all free space. Returns its size in bytes.
fn fill(path: &Path) -> io::Result<u64> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let (mut offset, mut length) = (0, LONGEST);
    while length >= SHORTEST {
        match allocate(&file, offset, length) {
            Ok(()) => offset += length,
            Err(error) if error.kind() == ErrorKind::StorageFull => length /= 2,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(file.metadata()?.blocks() * 512)
}

/// Allocates a part of a file.
fn allocate(file: &File, offset: i64, length: i64) -> io::Result<()> {
    // SAFETY: the descriptor is open, and fallocate has no memory preconditions.
    match unsafe { libc::fallocate(file.as_raw_fd(), 0, offset, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_has_ended_is_damage_and_one_that_runs_is_none() {
        let own = ProcessId::own().unwrap();
        let ended = ProcessId { started: own.started - 1, ..own };
        let state = |servers: &[(ProcessId, u16)]| State { files: Vec::new(), servers: servers.to_vec() };
        assert_eq!(DiskFull.damage(&state(&[(own, 26_000)])), None);
        assert_eq!(
            DiskFull.damage(&state(&[(own, 26_000), (ended, 26_001)])).as_deref(),
            Some("the server on port 26001 has ended: start it again")
        );
    }
}
