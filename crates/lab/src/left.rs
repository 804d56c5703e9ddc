//! Faults that earlier runs left behind on the servers of a lab that is gone.

use lydite_console::output::complain;
use lydite_faults::note::{self, Left};
use lydite_faults::{Fault, Site};
use std::path::Path;

/// Ends the faults that nobody guards any more and that act on servers with data in a directory. Those servers are gone, so
/// nothing is started again; rules and groups of the system are removed. A fault that can't be ended is only reported: the
/// lab has ended all the same.
pub(crate) fn end(directory: &Path) {
    for left in
        note::directories().iter().filter_map(|notes| note::all(notes).ok()).flat_map(|(left, _)| left)
    {
        let Left { note, .. } = &left;
        if note.guard.lives() || !acts_on(&note.fault, directory) {
            continue;
        }
        if let Err(problem) = left.take_over() {
            let name = note.fault.name();
            complain(&format!(
                "{name}, left by an earlier run, could not be undone: {problem}: see lydite faults list"
            ));
        }
    }
}

/// Returns true if a fault acts on servers alone, and all of them have their data in a directory.
fn acts_on(fault: &Fault, directory: &Path) -> bool {
    let is_there = |site: &Site| matches!(site, Site::Server(server) if server.data.starts_with(directory));
    fault.spec.host.is_none() && !fault.sites.is_empty() && fault.sites.iter().all(is_there)
}
