//! `disk-slow:BYTES_PER_S`: the database's processes get so much throughput of the data's device, each for reading and for
//! writing, by a control group.

use super::limit::LimitKind;
use crate::data::{self, Data};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::group::{Controller, Group, Version};
use crate::spec::FaultSpec;
use crate::units::bytes;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// Control files of version 1.
const ONE: [&str; 2] = ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"];
/// Control file of version 2.
const TWO: &str = "io.max";
/// Least limit. The kernel holds back whole requests: one of 1 MiB takes 16 s then.
const LEAST: u64 = 64 << 10;

/// The kind.
pub(super) struct DiskSlow;

/// The limit of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Most {
    /// Numbers of the throttled devices, as `254:0`.
    devices: Vec<String>,
    bytes_per_s: u64,
}

impl LimitKind for DiskSlow {
    type Most = Most;
    const NAME: &'static str = "disk-slow";
    const ARGUMENTS: &'static str = "BYTES_PER_S";
    const CONTROLLER: Controller = Controller {
        two: "io",
        one: "blkio",
        folders: &["blkio"],
        of: "block devices",
        otherwise: "disk-read or disk-write",
    };
    const CONTROLS: [&'static str; 2] = ["blkio.throttle", TWO];

    fn read(fault: &FaultSpec) -> Result<(), FaultError> {
        limit(fault).map(drop)
    }

    fn most(fault: &Fault) -> Result<Most, Vec<FaultError>> {
        let bytes_per_s = limit(&fault.spec)?;
        let data = data::of(fault)?;
        let mut devices = data.iter().map(disk_of).collect::<Result<Vec<_>, _>>()?;
        devices.sort_unstable();
        devices.dedup();
        Ok(Most { devices, bytes_per_s })
    }

    fn words(most: &Most) -> String {
        format!("{} bytes per second on device {}", most.bytes_per_s, most.devices.join(", "))
    }

    fn set(group: &Group, most: &Most, lifted: bool) -> Result<(), FaultError> {
        for device in &most.devices {
            match group.version() {
                Version::One => {
                    let text = format!("{device} {}", if lifted { 0 } else { most.bytes_per_s });
                    ONE.iter().try_for_each(|control| group.set(control, &text))?;
                }
                Version::Two => {
                    let limit = if lifted { "max".to_owned() } else { most.bytes_per_s.to_string() };
                    group.set(TWO, &format!("{device} rbps={limit} wbps={limit}"))?;
                }
            }
        }
        Ok(())
    }

    fn effect(group: &Group, most: &Most) -> String {
        let (mut read, mut written) = (0, 0);
        for device in &most.devices {
            let served = served(group, device);
            (read, written) = (read + served.0, written + served.1);
        }
        format!("read {:.2} MB and wrote {:.2} MB", read as f64 / 1e6, written as f64 / 1e6)
    }
}

/// Returns the bytes that the group has read from a device and written to it.
fn served(group: &Group, device: &str) -> (u64, u64) {
    match group.version() {
        Version::One => {
            let text = group.get("blkio.throttle.io_service_bytes");
            (one(&text, device, "Read"), one(&text, device, "Write"))
        }
        Version::Two => {
            let text = group.get("io.stat");
            (two(&text, device, "rbytes"), two(&text, device, "wbytes"))
        }
    }
}

/// Reads a count of version 1, as `254:0 Read 4096`.
fn one(text: &str, device: &str, name: &str) -> u64 {
    let count = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [on, of, count] if on == device && of == name => count.parse().ok(),
        _ => None,
    };
    text.lines().find_map(count).unwrap_or(0)
}

/// Reads a count of version 2, as `254:0 rbytes=4096 wbytes=8192`.
fn two(text: &str, device: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(device)?.strip_prefix(' '));
    let count = |pair: &str| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    line.and_then(|line| line.split(' ').find_map(count)).unwrap_or(0)
}

/// Reads the limit in bytes per second.
fn limit(fault: &FaultSpec) -> Result<u64, FaultError> {
    let limit = fault.arguments.as_deref().and_then(bytes);
    limit.filter(|limit| *limit >= LEAST).ok_or_else(|| {
        FaultError::Wrong(format!(
            "needs bytes per second from {LEAST}, with k, M, G, Ki, Mi or Gi, as disk-slow:1M@5s..10s/lab:pg"
        ))
    })
}

/// Returns the numbers of the disk that has the data: control groups take no partitions.
fn disk_of(data: &Data) -> Result<String, FaultError> {
    let device = format!("{}:{}", libc::major(data.device), libc::minor(data.device));
    let about = PathBuf::from(format!("/sys/dev/block/{device}"));
    let Ok(about) = about.canonicalize() else {
        return Err(FaultError::Lacks(format!(
            "finds no disk below the file system of {} (device {device}): move the data to a file system on a disk",
            data.directory.display()
        )));
    };
    if !about.join("partition").exists() {
        return Ok(device);
    }
    let disk = about.parent().map(|disk| disk.join("dev")).unwrap_or_default();
    let numbers = fs::read_to_string(&disk).map_err(|error| FaultError::system(disk.display(), error))?;
    Ok(numbers.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_both_versions_are_read() {
        let text = "254:0 Read 4096\n254:0 Write 8192\n254:0 Total 12288\n7:0 Read 1\nTotal 12289\n";
        assert_eq!((one(text, "254:0", "Read"), one(text, "254:0", "Write")), (4096, 8192));
        assert_eq!((one(text, "7:0", "Read"), one(text, "7:0", "Write")), (1, 0));
        let text = "7:0 rbytes=5 wbytes=6\n254:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252\n";
        assert_eq!((two(text, "254:0", "rbytes"), two(text, "254:0", "wbytes")), (90_430_464, 299_008_000));
        assert_eq!((two(text, "7:0", "wbytes"), two(text, "54:0", "wbytes")), (6, 0));
    }

    #[test]
    fn data_without_a_disk_is_rejected() {
        // File systems without a disk have the major number 0.
        let data = Data { directory: "/dev/shm".into(), device: libc::makedev(0, 24) };
        let problem = disk_of(&data).unwrap_err().to_string();
        assert!(problem.contains("no disk below the file system of /dev/shm (device 0:24)"), "{problem}");
    }
}
