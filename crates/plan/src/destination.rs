//! Places of the documents that a run writes. A regular file is replaced as a whole. FIFOs, character devices and
//! descriptors are written into. All other kinds are rejected.

use crate::problem::Problem;
use lydite_families::TargetSpec;
use lydite_report::store::without_links;
use std::ffi::{CString, OsStr};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The standard output's descriptor.
const STDOUT: RawFd = 1;

/// A place for a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A descriptor that the process was started with.
    Descriptor(RawFd),
    /// A path. Its kind is looked up whenever it is written, because it may have changed.
    Path(PathBuf),
}

/// The kind of a path that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file, or nothing yet.
    File,
    /// A FIFO.
    Fifo,
    /// A character device, such as a terminal.
    Device,
}

impl Destination {
    /// Reads a place. `-` and the names of the standard output's file mean the standard output.
    pub fn new(written: impl AsRef<Path>) -> Self {
        let path = written.as_ref();
        if path == Path::new("-") || is_stdout(path) {
            return Self::Descriptor(STDOUT);
        }
        descriptor(path).map_or_else(|| Self::Path(path.to_owned()), Self::Descriptor)
    }

    /// Returns true if it is the standard output.
    pub fn is_stdout(&self) -> bool {
        *self == Self::Descriptor(STDOUT)
    }

    /// Returns true if writing replaces a file, so that the document can be written several times.
    pub fn is_replaced(&self) -> bool {
        matches!(self, Self::Path(path) if matches!(kind(path), Ok(PathKind::File)))
    }

    /// Returns the path of the regular file without links, even if the file does not exist yet; none for other kinds.
    pub fn file(&self) -> Option<PathBuf> {
        let Self::Path(path) = self else { return None };
        matches!(kind(path), Ok(PathKind::File)).then(|| real(path)).flatten()
    }

    /// Returns true if both are the same place.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(one), Self::Path(other)) => {
                one == other || real(one).is_some_and(|one| Some(one) == real(other))
            }
            _ => self == other,
        }
    }

    /// Rejects a place that is one of `inputs`, the results that the document is made of.
    ///
    /// # Errors
    /// The name of that result.
    pub fn apart_from(&self, inputs: &[PathBuf]) -> Result<(), Problem> {
        match inputs.iter().find(|input| self.is(&Self::new(input))) {
            Some(input) => {
                Err(format!("{} is one of the results: name another file", input.display()).into())
            }
            None => Ok(()),
        }
    }

    /// Returns the name for messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Descriptor(STDOUT) => "standard output".into(),
            Self::Descriptor(2) => "standard error".into(),
            Self::Descriptor(number) => format!("descriptor {number}"),
            Self::Path(path) => path.display().to_string(),
        }
    }

    /// Returns the last part of the path; none for a descriptor.
    pub fn file_name(&self) -> Option<&OsStr> {
        match self {
            Self::Descriptor(_) => None,
            Self::Path(path) => path.file_name(),
        }
    }

    /// Checks that the place can be written, and changes nothing: a FIFO is not opened, since its reader would notice.
    ///
    /// # Errors
    /// The problem, and what to do.
    pub fn check(&self) -> Result<(), Problem> {
        let path = match self {
            Self::Descriptor(number) => return check_descriptor(*number),
            Self::Path(path) => path,
        };
        match kind(path)? {
            PathKind::File => check_file(path),
            PathKind::Fifo | PathKind::Device => may_write(path),
        }
        .map_err(unwritable)
    }

    /// Checks the place of a log that is written during the run. It must be a path and no FIFO, since the run can't
    /// wait for a reader.
    ///
    /// # Errors
    /// The problem, and what to do.
    pub fn check_log(&self) -> Result<(), Problem> {
        match self {
            Self::Path(path) if !matches!(kind(path)?, PathKind::Fifo) => self.check(),
            _ => Err("is no file: name one for it alone".into()),
        }
    }
}

/// Returns the kind of a path.
///
/// # Errors
/// The path is of a kind that can't be written; the system's error.
pub fn kind(path: &Path) -> Result<PathKind, Problem> {
    match fs::metadata(path).map(|there| there.file_type()) {
        Ok(there) if there.is_file() => Ok(PathKind::File),
        Ok(there) if there.is_dir() => Err("is a directory: name a file".into()),
        Ok(there) if there.is_fifo() => Ok(PathKind::Fifo),
        Ok(there) if there.is_char_device() => Ok(PathKind::Device),
        Ok(there) if there.is_block_device() => Err("is a block device: name a file".into()),
        Ok(_) => Err("is a socket: name a file".into()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(PathKind::File),
        Err(error) => Err(unwritable(error)),
    }
}

/// Returns the problem of a place that the system can't write.
fn unwritable(error: io::Error) -> Problem {
    format!("can't be written: {error}: choose another place").into()
}

/// Returns a path without links. Its last part need not exist.
fn real(path: &Path) -> Option<PathBuf> {
    let path = without_links(path).ok()?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(directory.canonicalize().ok()?.join(path.file_name()?))
}

/// Checks that a file can be replaced or created, by creating another one beside it for a moment.
fn check_file(path: &Path) -> io::Result<()> {
    let path = without_links(path)?;
    let name = path.file_name().ok_or_else(|| io::Error::other("this is not the name of a file"))?;
    if path.exists() {
        OpenOptions::new().write(true).open(&path)?;
    }
    let probe = path.with_file_name(format!(".{}.{}.probe", name.to_string_lossy(), std::process::id()));
    File::create_new(&probe)?;
    fs::remove_file(&probe)
}

/// Checks the permission to write a path.
fn may_write(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a terminated string that outlives the call.
    if unsafe { libc::access(path.as_ptr(), libc::W_OK) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns the number of the descriptor that a path names.
fn descriptor(path: &Path) -> Option<RawFd> {
    let path = path.to_str()?;
    match path {
        "/dev/stdin" => return Some(0),
        "/dev/stdout" => return Some(STDOUT),
        "/dev/stderr" => return Some(2),
        _ => {}
    }
    let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
    number.parse().ok().filter(|number| *number >= 0)
}

/// Rejects a descriptor that the process was not started with, or can't write to.
fn check_descriptor(number: RawFd) -> Result<(), Problem> {
    // SAFETY: both calls only ask for the flags of a descriptor, whether or not it is open.
    let (own, mode) = unsafe { (libc::fcntl(number, libc::F_GETFD), libc::fcntl(number, libc::F_GETFL)) };
    // Descriptors that this program opened itself have the flag that closes them in its children.
    if own == -1 || (number > 2 && own & libc::FD_CLOEXEC != 0) {
        return Err("is not open: choose another place".into());
    }
    if mode & libc::O_ACCMODE == libc::O_RDONLY {
        return Err("is open for reading only: choose another place".into());
    }
    Ok(())
}

/// Duplicates a descriptor of this process, so that the copy can be closed.
///
/// # Errors
/// The system's error.
pub fn own(number: RawFd) -> io::Result<File> {
    // SAFETY: the descriptor was open when the process started, and nothing here closes it.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    descriptor.try_clone_to_owned().map(File::from)
}

/// Returns true if a path leads to the file of the standard output. Devices such as /dev/null take many outputs side by
/// side and don't count.
fn is_stdout(path: &Path) -> bool {
    let place = |there: &Metadata| (there.dev(), there.ino());
    let Ok(stdout) = own(STDOUT).and_then(|file| file.metadata()) else { return false };
    let shared = stdout.file_type().is_char_device() && !io::stdout().is_terminal();
    !shared && fs::metadata(path).is_ok_and(|there| place(&there) == place(&stdout))
}

/// Rejects a place whose file belongs to the database, or is the plan file.
///
/// # Errors
/// The problem, and what to do.
pub fn apart(place: &Destination, target: Option<&TargetSpec>, config: Option<&Path>) -> Result<(), Problem> {
    let file = place.file();
    // SQLite keeps its log, the index of the log, and the journal of other modes beside the database.
    let beside = |path: &Path, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        Destination::Path(name.into()).is(place)
    };
    if let (Some(file), Some(path)) = (&file, target.and_then(TargetSpec::path))
        && (["", "-wal", "-shm", "-journal"].iter().any(|end| beside(path, end))
            || path.canonicalize().is_ok_and(|database| file.starts_with(database)))
    {
        return Err("belongs to the database: choose another place".into());
    }
    match config {
        Some(config) if file.is_some() && Destination::Path(config.to_owned()).is(place) => {
            Err("is the plan file: choose another place".into())
        }
        _ => Ok(()),
    }
}

/// Reads the places of two documents, each with its flag. Reports what is wrong with them, and if both are the same place.
pub fn documents(asked: [(&str, Option<String>); 2], errors: &mut Vec<String>) -> [Option<Destination>; 2] {
    let names = asked.each_ref().map(|(name, _)| *name);
    let places = asked.map(|(name, given)| {
        let place = Destination::new(given?);
        match place.check() {
            Ok(_) => Some(place),
            Err(problem) => {
                errors.push(format!("{name}: {} {problem}", place.shown()));
                None
            }
        }
    });
    if let ([first, second], [Some(one), Some(other)]) = (names, &places)
        && one.is(other)
    {
        errors.push(format!("{second}: is the place of {first}, too: choose another place"));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_descriptors_are_read_as_descriptors() {
        for (path, number) in [
            ("/dev/stdout", Some(1)),
            ("/dev/fd/63", Some(63)),
            ("/proc/self/fd/2", Some(2)),
            ("/dev/fd/", None),
            ("/dev/fd/-1", None),
            ("/dev/fd/1/x", None),
            ("stdout", None),
        ] {
            assert_eq!(descriptor(Path::new(path)), number, "{path}");
        }
    }
}
