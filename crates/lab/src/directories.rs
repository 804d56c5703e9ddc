//! The directories of labs.

use crate::kind::Kind;
use crate::privacy::own_user;
use lydite_console::exit::{Failure, Outcome};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the directory above all labs without `--dir`. It is not in the home directory: servers that refuse to run
/// as root run as users that can't read there.
pub(crate) fn root() -> PathBuf {
    std::env::temp_dir().join(format!("lydite-lab-{}", own_user()))
}

/// Returns the absolute directory of a lab.
pub(crate) fn directory(kind: &Kind, given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let path = given.unwrap_or_else(|| root().join(kind.name));
    std::path::absolute(&path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// Makes the directory of a lab, which must be new or empty. `user` is the user and group of the servers, if they run
/// as another user.
pub(crate) fn make(directory: &Path, user: Option<(u32, u32)>) -> Outcome {
    let failed = |error: io::Error| unusable(directory, &error);
    // Servers of another user must reach their directories, so the lab's directory lets in their group.
    let (above, mode) = if user.is_some() { (0o711, 0o710) } else { (0o700, 0o700) };
    if let Some(account) = user {
        require_way(directory, account)?;
    }
    if directory.starts_with(root()) {
        make_root(above).map_err(failed)?;
    }
    fs::DirBuilder::new().recursive(true).mode(above).create(directory).map_err(failed)?;
    if fs::read_dir(directory).map_err(failed)?.next().is_some() {
        return Err(Failure::usage(format!(
            "{}: the directory is not empty: name another one with --dir",
            directory.display()
        )));
    }
    chown(directory, Some(own_user()), user.map(|(_, group)| group)).map_err(failed)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Rejects a directory that the servers' account could not reach: one above it lets others not in.
fn require_way(directory: &Path, (user, group): (u32, u32)) -> Outcome {
    let root = root();
    // The directory above all labs gets its mode later.
    let above: Vec<&Path> =
        directory.ancestors().skip(1).filter(|above| above.exists() && *above != root).collect();
    // Asked as that account: modes alone do not say what lists of access add.
    let script = r#"for way; do [ -x "$way" ] || { printf %s "$way"; exit 1; }; done"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args(above.iter().rev()).uid(user).gid(group);
    let asked = shell.current_dir("/").stdin(Stdio::null()).output();
    let asked = asked.map_err(|error| Failure::usage(format!("sh can't be run: {error}")))?;
    if asked.status.success() {
        return Ok(());
    }
    let closed = String::from_utf8_lossy(&asked.stdout);
    let closed = if closed.is_empty() { directory.display().to_string() } else { closed.into_owned() };
    Err(Failure::usage(format!(
        "{closed}: the account that runs the servers (user {user}) can't enter it: allow that with chmod o+x, or name \
         another directory with --dir or TMPDIR"
    )))
}

/// Returns the failure of a lab whose directory can't be used.
pub(crate) fn unusable(directory: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{}: {error}: name another directory with --dir", directory.display()))
}

/// Returns true if a directory belongs to the user that this process runs as.
pub(crate) fn is_own(directory: &Path) -> bool {
    fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir() && found.uid() == own_user())
}

/// Makes the directory above all labs. Everybody can create files beside it, so a directory of somebody else is
/// rejected.
fn make_root(mode: u32) -> io::Result<()> {
    let root = root();
    match fs::DirBuilder::new().mode(mode).create(&root) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if is_own(&root) {
                fs::set_permissions(&root, fs::Permissions::from_mode(mode))
            } else {
                Err(io::Error::other(format!("{} belongs to somebody else", root.display())))
            }
        }
        Err(error) => Err(error),
    }
}
