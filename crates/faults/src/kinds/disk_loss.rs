//! `disk-loss`: a lab's server is killed and loses its data, as if its disk had failed. At the end it is started again with
//! the data of a new server, and copies all rows from the other servers.

use super::Acts;
use super::ends::EndKind;
use crate::fault::Server;
use crate::server::Down;
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

    fn read(fault: &FaultSpec) -> Result<(), String> {
        match fault.to {
            Some(_) => Ok(()),
            None => Err("needs an end, when the server gets a new disk: write FROM..TO".into()),
        }
    }

    fn problem(server: &Server) -> Option<String> {
        server.new_data.is_none().then(|| {
            format!(
                "the server on port {} has no other server to copy its data from: use a lab galera that this version of \
                 lydite has started",
                server.port
            )
        })
    }

    fn besides() -> &'static str {
        " and removal of the data, then the data of a new server"
    }

    fn ended(servers: &[Down]) -> Result<String, String> {
        let mut lost = 0;
        for server in servers {
            let data = &server.server().data;
            lost += lose(data).map_err(|error| format!("{}: {error}", data.display()))?;
        }
        Ok(format!(", removed {:.1} MB", lost as f64 / 1e6))
    }

    fn before_start(servers: &[Down]) -> Result<(), String> {
        let with_data = servers.iter().filter_map(|down| Some((down, down.server().new_data.as_ref()?)));
        for (down, new) in with_data {
            let data = &down.server().data;
            renew(data, new).map_err(|error| format!("{}: {error}", data.display()))?;
        }
        Ok(())
    }
}

/// Returns a path beside the data.
fn beside(data: &Path, ending: &str) -> PathBuf {
    data.with_added_extension(ending)
}

/// Removes a directory with all files, and returns the number of its bytes. It loses its name first: the end of a fault
/// that was cut off here finds either all data or none.
fn lose(data: &Path) -> io::Result<u64> {
    let lost = beside(data, "lost");
    fs::rename(data, &lost)?;
    let bytes = size(&lost)?;
    fs::remove_dir_all(&lost)?;
    Ok(bytes)
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
fn renew(data: &Path, new: &Path) -> Result<(), String> {
    remove(&beside(data, "lost")).map_err(|error| error.to_string())?;
    if data.exists() {
        return Ok(());
    }
    let copy = beside(data, "new");
    remove(&copy).map_err(|error| error.to_string())?;
    // Keeps the owner, the rights and the holes of files.
    let output = Command::new("cp").arg("-a").arg("--").arg(new).arg(&copy).output();
    let output = output.map_err(|error| format!("cp can't be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("cp: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    fs::rename(&copy, data).map_err(|error| error.to_string())
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

        assert_eq!(lose(&data).unwrap(), 5);
        assert!(!data.exists());
        // Remains of an end, and of a begin, that were cut off.
        for (ending, file) in [("new", "half"), ("lost", "orders")] {
            fs::create_dir(beside(&data, ending)).unwrap();
            fs::write(beside(&data, ending).join(file), "").unwrap();
        }
        for _ in 0..2 {
            renew(&data, &new).unwrap();
            assert_eq!(fs::read_to_string(data.join("mysql/user")).unwrap(), "root");
            let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(names.count(), 2, "nothing else is left");
            fs::write(data.join("mysql/user"), "root").unwrap();
        }
    }
}
