//! Programs of the system that kinds of faults need.

use crate::error::FaultError;
use std::env;
use std::path::PathBuf;

/// Directories of the system's programs. Those of `sbin` are often only on root's path.
const SYSTEM: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/bin"];

/// Returns the place of a program: on the path, else in a directory of the system's programs; none if it is not
/// installed.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(SYSTEM.map(PathBuf::from));
    directories.map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Returns the place of a program. `package` is Debian's.
///
/// # Errors
/// It is not installed.
pub(crate) fn program(name: &str, package: &str) -> Result<PathBuf, FaultError> {
    find_program(name).ok_or_else(|| {
        FaultError::Lacks(format!("needs {name}, which is not installed: run apt-get install {package}"))
    })
}
