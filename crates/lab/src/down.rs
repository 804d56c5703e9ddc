//! `lydite lab down`.

use crate::directories::{directory, root};
use crate::kind::Kind;
use crate::left;
use crate::note::Lab;
use crate::servers::{kill, stop};
use lydite_console::exit::{Failure, Outcome};
use std::fs;
use std::path::{Path, PathBuf};

/// Ends a lab and deletes its data.
///
/// # Errors
/// There is no such lab, or a server of it does not end.
pub fn down(name: &str, dir: Option<PathBuf>) -> Outcome {
    let kind = Kind::named(name)?;
    let directory = directory(kind, dir)?;
    end(kind, &directory, &Lab::of(kind, &directory)?)
}

/// Stops the servers of a lab, deletes its directory, and ends faults that were left behind on its servers.
pub(crate) fn end(kind: &Kind, directory: &Path, lab: &Lab) -> Outcome {
    match &lab.disk {
        Some(disk) if disk.is_cut()? => kill(kind.servers, &lab.servers)?,
        _ => stop(kind.servers, &lab.servers)?,
    }
    if let Some(disk) = &lab.disk {
        disk.unmount()?;
    }
    fs::remove_dir_all(directory).map_err(|error| {
        Failure::usage(format!(
            "{}: its servers have ended, but: {error}: delete it by hand",
            directory.display()
        ))
    })?;
    left::end(directory);
    // Succeeds for the last lab; other labs keep the directory.
    let _others = fs::remove_dir(root());
    Ok(())
}
