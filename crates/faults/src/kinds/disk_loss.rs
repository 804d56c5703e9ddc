//! `disk-loss`: a lab's server is killed and loses its data, as if its disk had failed. At the end it is started again with
//! the data of a new server, and copies all rows from the other servers.

use super::Acts;
use super::ends::{EndKind, require_end};
use crate::error::FaultError;
use crate::fault::Server;
use crate::server::Down;
use crate::sockets::accepts;
use crate::spec::FaultSpec;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kind.
pub(super) struct DiskLoss;

impl EndKind for DiskLoss {
    const NAME: &'static str = "disk-loss";
    const ACTS: Acts = Acts::OnLabs;
    const ORDERLY: bool = false;

    fn read(fault: &FaultSpec) -> Result<(), FaultError> {
        require_end(fault, "the server gets a new disk")
    }

    fn bear(servers: &[&Server]) -> Result<(), Vec<FaultError>> {
        let alone = servers.iter().filter(|server| !has_copies(server)).map(|server| {
            FaultError::Lacks(format!(
                "the server on port {} has no other server to copy its data from: use the lab galera",
                server.port
            ))
        });
        let alone: Vec<FaultError> = alone.collect();
        if !alone.is_empty() {
            return Err(alone);
        }
        let Some(cluster) = servers.first().and_then(|server| server.cluster.as_ref()) else { return Ok(()) };
        let running: Vec<u16> = cluster.ports.iter().copied().filter(|port| accepts(*port)).collect();
        let left = running.iter().filter(|port| servers.iter().all(|server| server.port != **port)).count();
        // Less than a majority stops, and a server without data can't join it.
        if 2 * left > running.len() {
            Ok(())
        } else {
            Err(vec![FaultError::Lacks(format!(
                "{left} of {} running servers would be left, and only more than half of them go on: name fewer, or start \
                 the others with lydite lab restart",
                running.len()
            ))])
        }
    }

    fn besides() -> &'static str {
        " and removal of the data, then the data of a new server"
    }

    fn ended(servers: &[Down]) -> Result<String, FaultError> {
        let mut lost = 0;
        for server in servers {
            let data = &server.server().data;
            lost += lose(data).map_err(|error| FaultError::system(data.display(), error))?;
        }
        Ok(format!(", removed {:.1} MB", lost as f64 / 1e6))
    }

    fn before_start(servers: &[Down]) -> Result<(), FaultError> {
        let with_data = servers.iter().filter_map(|down| Some((down, down.server().cluster.as_ref()?)));
        for (down, cluster) in with_data {
            let data = &down.server().data;
            renew(data, &cluster.new_data).map_err(|error| FaultError::system(data.display(), error))?;
        }
        Ok(())
    }
}

/// Returns true if other servers have the rows of a server, and it can start without any.
fn has_copies(server: &Server) -> bool {
    // A lab of an older version has no data of a new node.
    server.cluster.as_ref().is_some_and(|cluster| cluster.new_data.exists())
}

/// Returns a path beside the data.
fn beside(data: &Path, ending: &str) -> PathBuf {
    data.with_added_extension(ending)
}

/// Takes the name of a directory with data, so that an end finds all of it or none, and returns the number of its bytes.
/// The end removes the files: that takes longer, and disturbs others on the same disk.
fn lose(data: &Path) -> io::Result<u64> {
    let lost = beside(data, "lost");
    remove(&lost)?;
    fs::rename(data, &lost)?;
    size(&lost)
}

/// Returns the number of bytes in the files of a directory.
fn size(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Copies the data of a new server to where data was lost. Data that is there stays: it was not lost, or was renewed
/// before.
fn renew(data: &Path, new: &Path) -> io::Result<()> {
    remove(&beside(data, "lost"))?;
    if data.exists() {
        return Ok(());
    }
    // The guard of an end that was cut off may be gone before its `cp`, so each end has a copy of its own.
    let copy = beside(data, &format!("new-{}", std::process::id()));
    remove(&copy)?;
    // Keeps the owner, the rights and the holes of files.
    let output = Command::new("cp").arg("-aT").arg("--").arg(new).arg(&copy).output();
    let output = output.map_err(|error| io::Error::new(error.kind(), format!("cp can't be run: {error}")))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("cp: {}", words.trim())));
    }
    fs::rename(&copy, data)
}

/// Removes a directory, if it is there.
fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_data_is_renewed_once_and_data_that_is_there_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (data, new) = (directory.path().join("data"), directory.path().join("new"));
        fs::create_dir_all(new.join("mysql")).unwrap();
        fs::write(new.join("mysql/user"), "root").unwrap();
        fs::create_dir_all(data.join("tpcc")).unwrap();
        fs::write(data.join("tpcc/orders"), "12345").unwrap();

        renew(&data, &new).unwrap();
        assert_eq!(fs::read_to_string(data.join("tpcc/orders")).unwrap(), "12345", "it was not lost");

        // Remains of a begin that was cut off.
        fs::create_dir(beside(&data, "lost")).unwrap();
        fs::write(beside(&data, "lost").join("orders"), "1").unwrap();
        assert_eq!(lose(&data).unwrap(), 5);
        assert!(!data.exists());
        // Remains of an end that was cut off.
        let copy = beside(&data, &format!("new-{}", std::process::id()));
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("half"), "").unwrap();
        for _ in 0..2 {
            renew(&data, &new).unwrap();
            assert_eq!(fs::read_to_string(data.join("mysql/user")).unwrap(), "root");
            let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(names.count(), 2, "nothing else is left");
            fs::write(data.join("mysql/user"), "root").unwrap();
        }
    }
}
