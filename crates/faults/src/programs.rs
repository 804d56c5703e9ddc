//! Programs of the system that kinds of faults need.

use crate::error::FaultError;
use std::env;
use std::path::PathBuf;

/// Directories of system programs, which are often only on root's path.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Returns the place of a program: on the path, else in a directory of system programs. `package` is Debian's.
///
/// # Errors
/// It is not installed.
pub(crate) fn program(name: &str, package: &str) -> Result<PathBuf, FaultError> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(SYSTEM.map(PathBuf::from));
    directories.map(|directory| directory.join(name)).find(|file| file.is_file()).ok_or_else(|| {
        FaultError::Lacks(format!("needs {name}, which is not installed: run apt-get install {package}"))
    })
}
