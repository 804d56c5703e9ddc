//! The drivers that passed the kit, in a file of this user.

use lydite_families::TargetSpec;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// Returns the file: a line with fingerprint and version for each driver that passed.
fn file() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("lydite/proven"))
}

/// Returns the line of a driver. Another version of the kit may ask for more.
fn line(fingerprint: u64) -> String {
    format!("{fingerprint:016x} {}", env!("CARGO_PKG_VERSION"))
}

/// Notes that a driver passed the kit; other targets are not noted.
///
/// # Errors
/// The file can't be written.
pub(crate) fn note(target: &TargetSpec) -> io::Result<()> {
    let (Some(fingerprint), Some(file)) = (target.fingerprint(), file()) else { return Ok(()) };
    if warning(target).is_none() {
        return Ok(());
    }
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(&file)?;
    // One write: two commands may note at the same time.
    file.write_all(format!("{}\n", line(fingerprint)).as_bytes())
}

/// Returns the warning of a run through a driver that has not passed the kit.
pub(crate) fn warning(target: &TargetSpec) -> Option<String> {
    let line = line(target.fingerprint()?);
    let noted = file().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let proven = noted.lines().any(|noted| noted == line);
    (!proven).then(|| {
        "The driver has not passed the kit in this form, so its answers may be wrong: run lydite driver test".to_owned()
    })
}
