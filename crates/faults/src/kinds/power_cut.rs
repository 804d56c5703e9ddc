//! `power-cut`: the disk of a lab loses its power, and its servers with it. At the end the disk is mounted again, which
//! replays its journal, and the servers are started on what is left.
//!
//! The file system is shut down first (`EXT4_IOC_SHUTDOWN` without a flush of its journal): nothing that a server still
//! writes is kept. Then the servers are killed, the file system is unmounted, and its loop device detached.
//!
//! **What a cut loses:** everything that was in memory: bytes that a server has written and not synced, and names and
//! lengths of files in transactions of ext4 that were not in its journal. Unmounting writes none of it: a file system that
//! is shut down drops its dirty pages, and metadata of a transaction that was not committed are not dirty in the cache of
//! the device.
//!
//! **What a cut can't lose:** everything that ext4 had handed to the loop device. `mount -o loop` sets the device up without
//! direct I/O, so it has these writes in the page cache of the file below, which outlives the cut. A real disk may have them
//! in a cache of its own: there it loses those that were not flushed, or writes them in another order. So a server that
//! writes past the page cache (`O_DIRECT`) and never flushes survives this cut. Detaching the device drops its own cache;
//! the next mount reads from the file alone.

use super::Acts;
use super::ends::{EndKind, KILLED, require_end};
use crate::error::FaultError;
use crate::fault::{Disk, Server};
use crate::process::{ProcessId, trees, wait_while};
use crate::server::Down;
use crate::spec::FaultSpec;
use std::time::Duration;

/// Longest wait until killed processes have left the file system.
const LEFT: Duration = Duration::from_secs(30);

/// The kind.
pub(super) struct PowerCut;

impl EndKind for PowerCut {
    const NAME: &'static str = "power-cut";
    const ACTS: Acts = Acts::OnLabs;
    const ORDERLY: bool = false;
    // The servers stand still from the first moment, and unmounting takes longer.
    const AT_ONCE: bool = true;

    fn read(fault: &FaultSpec) -> Result<(), FaultError> {
        require_end(fault, "the power comes back")
    }

    fn bear(servers: &[&Server]) -> Result<(), Vec<FaultError>> {
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            return Err(FaultError::Lacks("shuts a file system down: run lydite as root".into()).into());
        }
        let shared = servers.iter().filter(|server| server.disk.is_none()).map(|server| {
            FaultError::Lacks(format!(
                "the data of the server on port {} shares its file system with others, which keep their power: start \
                 the lab with --disk SIZE",
                server.port
            ))
        });
        let disks = disks_of(servers.iter().copied()).into_iter();
        let problems: Vec<FaultError> =
            shared.chain(disks.filter_map(|disk| bear_disk(disk, servers).err())).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn besides() -> &'static str {
        " after EXT4_IOC_SHUTDOWN (no flush of the journal), a new mount"
    }

    fn first(servers: &[Down]) -> Result<Vec<ProcessId>, FaultError> {
        // A server that notices the cut may end before the signal, and leave processes without a parent.
        let processes = trees(&processes_of(servers));
        disks_down(servers).into_iter().try_for_each(|disk| disk.volume.cut())?;
        Ok(processes)
    }

    fn ended(servers: &[Down]) -> Result<String, FaultError> {
        let disks = disks_down(servers);
        disks.iter().try_for_each(|disk| disk.volume.unmount(LEFT))?;
        Ok(format!(", {} lost its unwritten data", super::counted(disks.len(), "disk", "disks")))
    }

    fn before_start(servers: &[Down]) -> Result<(), FaultError> {
        for disk in disks_down(servers) {
            // A begin that was cut off: servers may still run, on a file system that is no use to them.
            if disk.volume.is_cut()? {
                kill(&trees(&processes_of(servers)))?;
                disk.volume.unmount(LEFT)?;
            }
            disk.volume.mount()?;
        }
        Ok(())
    }
}

/// Rejects a disk whose power can't be cut.
fn bear_disk(disk: &Disk, servers: &[&Server]) -> Result<(), FaultError> {
    let spared = disk.ports.iter().filter(|port| servers.iter().all(|server| server.port != **port));
    let spared: Vec<String> = spared.map(u16::to_string).collect();
    if !spared.is_empty() {
        return Err(FaultError::Lacks(format!(
            "a cut hits every server on the disk, and the places leave out port {}: name the whole lab",
            spared.join(", ")
        )));
    }
    disk.volume.require_mounted()?;
    let mount = disk.volume.mount.display();
    if !disk.volume.is_ext4().map_err(|error| FaultError::system(&mount, error))? {
        let words =
            format!("{mount}: is no ext4, which alone can lose its power: end the lab, and start it again");
        return Err(FaultError::Lacks(words));
    }
    if disk.volume.is_cut()? {
        return Err(FaultError::Lacks(format!("{mount}: has no power already: run lydite lab restart")));
    }
    Ok(())
}

/// Returns the disks of servers that go down, each once.
fn disks_down(servers: &[Down]) -> Vec<&Disk> {
    disks_of(servers.iter().map(Down::server))
}

/// Returns the disks of servers, each once.
fn disks_of<'a>(servers: impl Iterator<Item = &'a Server>) -> Vec<&'a Disk> {
    let mut disks: Vec<&Disk> = Vec::new();
    for disk in servers.filter_map(|server| server.disk.as_ref()) {
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    disks
}

/// Returns the uppermost processes of servers.
fn processes_of(servers: &[Down]) -> Vec<ProcessId> {
    servers.iter().map(Down::process).collect()
}

/// Kills processes, and waits for their end.
fn kill(processes: &[ProcessId]) -> Result<(), FaultError> {
    for process in processes {
        process
            .signal(libc::SIGKILL)
            .map_err(|error| FaultError::system(format!("end process {}", process.pid), error))?;
    }
    match wait_while(processes, KILLED, ProcessId::lives).first() {
        Some(process) => Err(FaultError::Failed(format!("process {} does not end", process.pid))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::Volume;

    fn server(port: u16, disk: Option<&Disk>) -> Server {
        Server {
            port,
            stop_signal: libc::SIGINT,
            data: "/".into(),
            disk: disk.cloned(),
            cluster: None,
            mover: None,
        }
    }

    fn problems(servers: &[Server]) -> String {
        let servers: Vec<&Server> = servers.iter().collect();
        FaultError::joined(&PowerCut::bear(&servers).unwrap_err()).to_string()
    }

    #[test]
    fn a_disk_that_others_share_that_is_no_ext4_or_none_is_rejected() {
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            assert_eq!(problems(&[server(1, None)]), "shuts a file system down: run lydite as root");
            return;
        }
        let of = |mount: &str| Disk {
            volume: Volume { mount: mount.into(), image: "/nowhere".into() },
            ports: vec![2, 3],
        };
        let proc = of("/proc");
        let spared = problems(&[server(2, Some(&proc))]);
        assert_eq!(
            spared,
            "a cut hits every server on the disk, and the places leave out port 3: name the whole lab"
        );
        let both = problems(&[server(1, None), server(2, Some(&proc)), server(3, Some(&proc))]);
        assert!(both.contains("port 1 shares its file system with others"), "{both}");
        assert!(both.contains("start the lab with --disk SIZE; /proc: is no ext4"), "{both}");
        let directory = tempfile::tempdir().unwrap();
        let none = of(&directory.path().display().to_string());
        let none = problems(&[server(2, Some(&none)), server(3, Some(&none))]);
        assert!(none.ends_with(": no file system is mounted there"), "{none}");
    }
}
