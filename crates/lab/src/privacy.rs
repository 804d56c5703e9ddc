//! Users, passwords and private files: everything that keeps other accounts of the machine out of a lab.

use crate::error::LabError;
use lydite_console::exit::Failure;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, chown};
use std::path::Path;

/// Returns the user that this process runs as.
pub(crate) fn own_user() -> u32 {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
}

/// Returns the user and group for servers that root starts: both products refuse to run as root. Returns `None` if
/// this process does not run as root.
pub(crate) fn unprivileged(name: &str, product: &str) -> Result<Option<(u32, u32)>, Failure> {
    if own_user() != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [found, _, user, group, ..] = fields[..] else { return None };
        (found == name).then(|| Some((user.parse().ok()?, group.parse().ok()?)))?
    });
    user.map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "{product} does not run as root, and there is no user {name}: run lydite as another user"
        ))
    })
}

/// Returns a random password of 128 bits in hexadecimal, which needs no escaping in URLs and SQL.
pub(crate) fn new_password() -> Result<String, Failure> {
    const SOURCE: &str = "/dev/urandom";
    let mut bytes = [0_u8; 16];
    fs::File::open(SOURCE)
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Failure::usage(format!("{SOURCE}: {error}: a lab needs a random password")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Makes the directory of a server, which only its user can enter.
pub(crate) fn make_directory(path: &Path, user: Option<(u32, u32)>) -> Result<(), LabError> {
    let failed = |doing: &str, error| LabError::system(format!("{doing} {}", path.display()), error);
    fs::DirBuilder::new().mode(0o700).create(path).map_err(|error| failed("make", error))?;
    user.map_or(Ok(()), |(user, group)| {
        chown(path, Some(user), Some(group)).map_err(|error| failed("give away", error))
    })
}

/// Writes a new file that only its user can read.
pub(crate) fn write_private(path: &Path, text: &str, user: Option<(u32, u32)>) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    user.map_or(Ok(()), |(user, group)| chown(path, Some(user), Some(group)))
}
