//! Data directories that are made once and copied: new ones once per machine, filled ones once per process.

use crate::process::own_user;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Copies a server's new data directory to `to`, which must not exist. `name` is the server's program and version.
///
/// The first call on a machine lets `make` make the directory and keeps a copy beside what cargo builds. A server takes
/// seconds to make its system tables; a copy takes a moment.
pub(crate) fn copy_new(name: &str, to: &Path, make: impl FnOnce(&Path)) {
    // A copy keeps its owner, so another user can't use root's.
    let Some(kept) = place(&format!("{name} of {}", own_user())) else { return make(to) };
    // Test programs may run side by side.
    let lock = File::create(kept.with_extension("lock")).expect("a lock file");
    lock.lock().expect("the lock");
    if kept.exists() {
        copy(&kept, to);
        return;
    }
    make(to);
    let partial = kept.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).expect("what a killed test left");
    }
    copy(to, &partial);
    fs::rename(&partial, &kept).expect("a directory beside what cargo builds");
}

/// Returns the path of a kept directory in cargo's target directory; none if cargo did not build this program.
fn place(name: &str) -> Option<PathBuf> {
    let this = std::env::current_exe().expect("this program's path");
    // TARGET/PROFILE/deps/PROGRAM. Nothing in it says that it is cargo's: cargo marks only a directory that it made.
    let deps = this.parent().filter(|directory| directory.ends_with("deps"))?;
    let data = deps.ancestors().nth(2)?.join("test-deps/data");
    fs::create_dir_all(&data).expect("a directory beside what cargo builds");
    Some(data.join(name))
}

/// Copies a directory with owners and permissions.
pub(crate) fn copy(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    copy.args(["-a", "--reflink=auto", "-T"]).arg(from).arg(to);
    let output = copy.output().expect("cp");
    assert!(output.status.success(), "{copy:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Data directories of filled servers that have ended, by name.
pub(crate) struct Filled(Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>>);

impl Filled {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns the directory of this name. The first caller makes it; others wait for it.
    pub(crate) fn get(&self, name: &str, make: impl FnOnce() -> PathBuf) -> PathBuf {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = Arc::clone(all.entry(name.into()).or_default());
        drop(all);
        entry.get_or_init(make).clone()
    }
}
