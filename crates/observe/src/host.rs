//! This machine as a source: processors, memory, disks and network, and the database's share of them, from Linux's
//! `/proc`.

use crate::error::ObserveError;
use crate::kernel::{TICKS_PER_S, counter, gauge};
use crate::processes::Server;
use crate::processors::Processors;
use lydite_database::{Observer, Sample, TargetError};
use std::fs;
use std::path::Path;

/// Bytes of a sector in `/proc/diskstats`, whatever the disk's own sectors.
const SECTOR: f64 = 512.0;
/// Fields of `/proc/meminfo` in kB, with their names here.
const MEMORY: [(&str, &str); 4] =
    [("MemAvailable", "available"), ("Cached", "cached"), ("Dirty", "dirty"), ("Writeback", "writeback")];

/// Reads the files of `/proc`.
struct Host {
    servers: Vec<Server>,
}

/// Opens the observer of this machine and of the processes of these servers on it.
///
/// # Errors
/// The system does not report the times of processors.
pub fn observer(servers: Vec<Server>) -> Result<Box<dyn Observer>, ObserveError> {
    Processors::now()?;
    Ok(Box::new(Host { servers }))
}

impl Observer for Host {
    fn sample(&mut self) -> Result<Vec<Sample>, TargetError> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|error| TargetError::database(format!("{path}: {error}")))
        };
        let times = Processors::now().map_err(TargetError::database)?;
        let mut samples = processors(&times);
        samples.extend(memory(&read("/proc/meminfo")?));
        samples.extend(disks(&read("/proc/diskstats")?, &is_disk));
        samples.extend(network(&read("/proc/net/dev")?, &is_device));
        samples.extend(self.servers.iter_mut().flat_map(Server::samples));
        Ok(samples)
    }
}

/// Returns the times of all processors, as seconds. They grow by one for each processor in each second.
fn processors(times: &Processors) -> Vec<Sample> {
    let Processors { user, system, interrupts, idle, iowait, steal, count: _ } = *times;
    let states = [
        ("user", user),
        ("system", system),
        ("interrupts", interrupts),
        ("iowait", iowait),
        ("steal", steal),
        ("idle", idle),
    ];
    let sample =
        |(state, ticks): (&str, u64)| counter(format!("cpu.{state}"), "cores", ticks as f64 / TICKS_PER_S);
    states.into_iter().map(sample).collect()
}

/// Reads `/proc/meminfo`.
fn memory(text: &str) -> Vec<Sample> {
    let bytes = |field: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
    };
    let samples = MEMORY
        .iter()
        .filter_map(|(field, name)| Some(gauge(format!("memory.{name}"), "bytes", bytes(field)?)));
    samples.collect()
}

/// True for a whole disk: not a part of one, and not made of other disks or of memory.
fn is_disk(name: &str) -> bool {
    let device = Path::new("/sys/block").join(name.replace('/', "!"));
    let made_of_others = fs::read_dir(device.join("slaves")).is_ok_and(|mut slaves| slaves.next().is_some());
    let made_up = ["loop", "ram", "zram"].iter().any(|kind| name.starts_with(kind));
    device.exists() && !made_of_others && !made_up
}

/// Adds up the disks of `/proc/diskstats`.
fn disks(text: &str, is_disk: &dyn Fn(&str) -> bool) -> Vec<Sample> {
    let mut sums = [0.0; 4];
    let mut any = false;
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
        // Reads, merged reads, sectors read, time; writes, merged writes, sectors written.
        if let (Some(name), Some(reads), Some(read), Some(writes), Some(written)) =
            (fields.get(2), number(3), number(5), number(7), number(9))
            && is_disk(name)
        {
            any = true;
            for (sum, value) in sums.iter_mut().zip([reads, read * SECTOR, writes, written * SECTOR]) {
                *sum += value;
            }
        }
    }
    let names = [("reads", "/s"), ("read_bytes", "bytes/s"), ("writes", "/s"), ("written_bytes", "bytes/s")];
    let samples =
        names.into_iter().zip(sums).map(|((name, unit), sum)| counter(format!("disk.{name}"), unit, sum));
    if any { samples.collect() } else { Vec::new() }
}

/// Returns true if an interface is a device. Bridges, bonds and tunnels pass on what devices have counted already.
fn is_device(name: &str) -> bool {
    Path::new("/sys/class/net").join(name).join("device").exists()
}

/// Reads `/proc/net/dev`: the loopback interface, and the sum of the devices.
fn network(text: &str, is_device: &dyn Fn(&str) -> bool) -> Vec<Sample> {
    let (mut others, mut loopback) = ([0.0; 2], 0.0);
    let lines = || text.lines().filter_map(|line| line.split_once(':'));
    // In a container all but the loopback interface may be one end of a tunnel.
    let devices = lines().any(|(name, _)| is_device(name.trim()));
    for (name, rest) in lines() {
        let fields: Vec<f64> = rest.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let (Some(received), Some(sent)) = (fields.first(), fields.get(8)) else { continue };
        if name.trim() == "lo" {
            loopback += sent;
        } else if !devices || is_device(name.trim()) {
            others[0] += received;
            others[1] += sent;
        }
    }
    vec![
        counter("network.received_bytes", "bytes/s", others[0]),
        counter("network.sent_bytes", "bytes/s", others[1]),
        counter("loopback.bytes", "bytes/s", loopback),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(samples: &[Sample], name: &str) -> f64 {
        samples.iter().find(|sample| sample.name == name).expect(name).value
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let found = memory(
            "MemTotal: 100 kB\nMemAvailable:   50 kB\nCached: 7 kB\nDirty: 0 kB\nHugePages_Total: 0\n",
        );
        assert_eq!(value(&found, "memory.available"), 51_200.0);
        assert_eq!(value(&found, "memory.cached"), 7_168.0);
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn whole_disks_are_added_up() {
        let text = " 8 0 sda 10 1 100 5 20 2 200 6 0 9 11\n 8 1 sda1 10 1 100 5 20 2 200 6 0 9 11\n \
                    8 16 sdb 1 0 8 0 2 0 16 0 0 0 0\n";
        let found = disks(text, &|name| !name.ends_with('1'));
        assert_eq!(value(&found, "disk.reads"), 11.0);
        assert_eq!(value(&found, "disk.read_bytes"), 108.0 * 512.0);
        assert_eq!(value(&found, "disk.writes"), 22.0);
        assert_eq!(value(&found, "disk.written_bytes"), 216.0 * 512.0);
        assert!(disks(text, &|_| false).is_empty());
    }

    #[test]
    fn the_loopback_interface_is_apart_and_bridges_count_nothing_twice() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n\
                    \u{20}   lo: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n  eth0:1000 1 0 0 0 0 0 0 70 1 0 0 0 0 0 0\n\
                    \u{20} eth1: 10 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\ndocker0: 900 1 0 0 0 0 0 0 60 1 0 0 0 0 0 0\n";
        let found = network(text, &|name| name.starts_with("eth"));
        assert_eq!(value(&found, "network.received_bytes"), 1010.0);
        assert_eq!(value(&found, "network.sent_bytes"), 77.0);
        assert_eq!(value(&found, "loopback.bytes"), 500.0);
        let tunnels = network(text, &|_| false);
        assert_eq!(value(&tunnels, "network.received_bytes"), 1910.0, "all there is in a container");
    }

    #[test]
    fn this_machine_is_sampled() {
        let found = observer(Vec::new()).unwrap().sample().unwrap();
        assert!(value(&found, "cpu.user") > 0.0);
        assert!(value(&found, "memory.available") > 0.0);
    }
}
