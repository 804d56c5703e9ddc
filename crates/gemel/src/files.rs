//! All file operations of the database, behind a trait, so tests can make each of them fail.

mod blocks;
pub(crate) mod fail_point;
#[cfg(any(test, feature = "fuzzing"))]
#[cfg_attr(not(test), allow(dead_code, reason = "for unit tests; the fuzz targets use a part"))]
pub(crate) mod faulty;

use crate::error::{Error, Result, io};
use std::fmt::Debug;
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub(crate) use blocks::{BLOCK_BYTES, Blocks};
pub(crate) use fail_point::fail_point;

/// A file system. Only [`File::sync`] and [`Files::sync_dir`] make anything durable.
pub(crate) trait Files: Send + Sync + Debug {
    /// Makes a file that must not exist yet. Its name is durable after [`Files::sync_dir`].
    fn create(&self, path: &Path) -> Result<Box<dyn File>>;
    /// Opens a file that exists, to read and write.
    fn open(&self, path: &Path) -> Result<Box<dyn File>>;
    /// Renames, replacing `to`. Durable after [`Files::sync_dir`] of both directories; a power cut before that leaves it
    /// done or not done.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file. Durable after [`Files::sync_dir`].
    fn remove(&self, path: &Path) -> Result<()>;
    /// Names in a directory, sorted.
    fn list(&self, directory: &Path) -> Result<Vec<String>>;
    /// Makes all files created, renamed or removed in a directory durable.
    fn sync_dir(&self, directory: &Path) -> Result<()>;
    /// Makes a directory and its missing parents. They are durable when this returns.
    fn create_dir(&self, directory: &Path) -> Result<()>;
}

/// An open file.
pub(crate) trait File: Send + Debug {
    /// Writes all of `bytes` at `offset`. Bypasses the operating system's cache where possible, if offset, length and
    /// address are multiples of [`BLOCK_BYTES`].
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;
    /// Reads from `offset` until `buffer` is full or the file ends. Returns the number of bytes read.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize>;
    /// Makes the content durable, and the attributes that are needed to read it back.
    fn sync(&mut self) -> Result<()>;
    /// Returns the length in bytes.
    fn len(&mut self) -> Result<u64>;
    /// Cuts the file, or extends it with zeros.
    fn truncate(&mut self, len: u64) -> Result<()>;
}

/// Returns the whole content of a file.
pub(crate) fn read_all(files: &dyn Files, path: &Path) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    read_over(files, path, &mut content)?;
    Ok(content)
}

/// Reads the whole content of a file into a buffer. Reusing the buffer for several files saves the system from clearing
/// its memory each time.
pub(crate) fn read_over(files: &dyn Files, path: &Path, content: &mut Vec<u8>) -> Result<()> {
    let mut file = files.open(path)?;
    let len = usize::try_from(file.len()?).map_err(|_| {
        Error::Capacity(format!("{} does not fit into memory: open it on a 64-bit system", path.display()))
    })?;
    content.resize(len, 0);
    let got = file.read_at(0, content)?;
    content.truncate(got);
    Ok(())
}

/// Returns the length of a file, or none if it is missing.
pub(crate) fn length(files: &dyn Files, path: &Path) -> Result<Option<u64>> {
    match files.open(path) {
        Ok(mut file) => file.len().map(Some),
        Err(error) if error.is_missing_file() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a directory of the operating system with everything in it, if it exists.
pub(crate) fn remove_tree(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io("can't remove", path)(error)),
        _ => Ok(()),
    }
}

/// Replaces a file, or makes it. After a crash the file has the old content or the new, never a mixture. The new
/// content is durable when this returns.
pub(crate) fn replace(files: &dyn Files, path: &Path, content: &[u8]) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let new = path.with_file_name(name);
    let directory = path.parent().unwrap_or(Path::new("."));
    // A crash may have left this file.
    if files.list(directory)?.iter().any(|name| new.file_name().is_some_and(|new| new == name.as_str())) {
        files.remove(&new)?;
    }
    let mut file = files.create(&new)?;
    file.write_at(0, content)?;
    file.sync()?;
    fail_point("files.before_rename");
    files.rename(&new, path)?;
    files.sync_dir(directory)
}

/// The operating system's files.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RealFiles;

fn failed(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Io { what, path: path.to_path_buf(), source }
}

#[derive(Debug)]
struct RealFile {
    file: fs::File,
    path: PathBuf,
    direct: Direct,
}

/// A second descriptor of the same file, for writes past the cache.
#[derive(Debug)]
enum Direct {
    /// Not opened yet: most files are never written in whole blocks.
    Untried,
    Open(fs::File),
    /// The file system does not support such writes.
    Never,
}

/// Opens the same file again, for writes past the cache. Does not use the path, which may lead to another file by now.
/// Returns none if the system does not support such writes.
#[cfg(target_os = "linux")]
fn open_direct(file: &fs::File) -> std::io::Result<Option<fs::File>> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    let flag = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let itself = format!("/proc/self/fd/{}", file.as_raw_fd());
    match fs::OpenOptions::new().write(true).custom_flags(flag).open(itself) {
        Ok(direct) => Ok(Some(direct)),
        // The file system does not support it, or /proc is missing.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::NotFound
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &fs::File) -> std::io::Result<Option<fs::File>> {
    Ok(None)
}

impl RealFile {
    fn new(file: fs::File, path: &Path) -> Self {
        Self { file, path: path.to_path_buf(), direct: Direct::Untried }
    }

    /// Writes past the cache. Returns false if that is not possible.
    fn write_direct(&mut self, offset: u64, bytes: &[u8]) -> std::io::Result<bool> {
        let aligned = |number: u64| number.is_multiple_of(BLOCK_BYTES as u64);
        if bytes.is_empty()
            || !(aligned(offset) && aligned(bytes.len() as u64) && aligned(bytes.as_ptr().addr() as u64))
        {
            return Ok(false);
        }
        if let Direct::Untried = self.direct {
            self.direct = open_direct(&self.file)?.map_or(Direct::Never, Direct::Open);
        }
        let Direct::Open(file) = &mut self.direct else { return Ok(false) };
        let outcome = file.seek(SeekFrom::Start(offset)).and_then(|_| file.write_all(bytes));
        match outcome {
            // The file system's blocks are larger than `BLOCK_BYTES`. Nothing was written.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                self.direct = Direct::Never;
                Ok(false)
            }
            outcome => outcome.map(|()| true),
        }
    }
}

impl Files for RealFiles {
    fn create(&self, path: &Path) -> Result<Box<dyn File>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(failed("can't create", path))?;
        Ok(Box::new(RealFile::new(file, path)))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        let file =
            fs::OpenOptions::new().read(true).write(true).open(path).map_err(failed("can't open", path))?;
        Ok(Box::new(RealFile::new(file, path)))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).map_err(failed("can't rename to", to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(failed("can't remove", path))
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed("can't list", directory))? {
            let entry = entry.map_err(failed("can't list", directory))?;
            // All of Gemel's names are ASCII; other names are ignored.
            names.extend(entry.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_dir(&self, directory: &Path) -> Result<()> {
        // On other systems a directory can't be opened as a file and needs no sync.
        if cfg!(unix) {
            fs::File::open(directory)
                .and_then(|directory| directory.sync_all())
                .map_err(failed("can't sync", directory))?;
        }
        Ok(())
    }

    fn create_dir(&self, directory: &Path) -> Result<()> {
        if directory.is_dir() {
            return Ok(());
        }
        let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            self.create_dir(parent)?;
        }
        match fs::create_dir(directory) {
            Ok(()) => self.sync_dir(parent.unwrap_or(Path::new("."))),
            // Somebody else made it just now.
            Err(_) if directory.is_dir() => Ok(()),
            Err(error) => Err(failed("can't make the directory", directory)(error)),
        }
    }
}

impl File for RealFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if self.write_direct(offset, bytes).map_err(failed("can't write", &self.path))? {
            return Ok(());
        }
        self.file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.file.write_all(bytes))
            .map_err(failed("can't write", &self.path))
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.file.seek(SeekFrom::Start(offset)).map_err(failed("can't read", &self.path))?;
        let mut got = 0;
        while got < buffer.len() {
            match self.file.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("can't read", &self.path)(error)),
            }
        }
        Ok(got)
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(failed("can't sync", &self.path))
    }

    fn len(&mut self) -> Result<u64> {
        Ok(self.file.metadata().map_err(failed("can't look at", &self.path))?.len())
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        self.file.set_len(len).map_err(failed("can't set the length of", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_files_keep_the_contract_of_the_trait() {
        let directory = tempfile::tempdir().unwrap();
        let files = RealFiles;
        let inner = directory.path().join("a/b");
        files.create_dir(&inner).unwrap();
        files.create_dir(&inner).unwrap();
        let path = inner.join("one");
        let mut file = files.create(&path).unwrap();
        assert!(matches!(files.create(&path), Err(Error::Io { what: "can't create", .. })));
        file.write_at(3, b"xyz").unwrap();
        file.sync().unwrap();
        assert_eq!(file.len().unwrap(), 6);
        let mut buffer = [9; 8];
        assert_eq!(file.read_at(2, &mut buffer).unwrap(), 4);
        assert_eq!(&buffer[..4], b"\0xyz");
        file.truncate(4).unwrap();
        assert_eq!(read_all(&files, &path).unwrap(), b"\0\0\0x");
        replace(&files, &path, b"new").unwrap();
        assert_eq!(read_all(&files, &path).unwrap(), b"new");
        assert_eq!(files.list(&inner).unwrap(), ["one"]);
        let below = files.create_dir(&path.join("below")).unwrap_err();
        assert!(matches!(below, Error::Io { what: "can't make the directory", .. }), "{below}");
        files.remove(&path).unwrap();
        files.sync_dir(&inner).unwrap();
        assert!(files.list(&inner).unwrap().is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn whole_blocks_bypass_the_cache_and_reach_the_file_after_a_rename() {
        #[repr(align(4096))]
        struct Block([u8; BLOCK_BYTES]);
        let directory = tempfile::tempdir().unwrap();
        let (path, moved) = (directory.path().join("file"), directory.path().join("moved"));
        fs::write(&path, b"old").unwrap();
        let mut file = RealFile::new(fs::File::options().read(true).write(true).open(&path).unwrap(), &path);
        fs::rename(&path, &moved).unwrap();
        fs::write(&path, b"another").unwrap();
        let block = Block([7; BLOCK_BYTES]);
        assert!(!file.write_direct(1, &block.0).unwrap(), "not aligned");
        assert!(!file.write_direct(0, &block.0[..100]).unwrap(), "not whole");
        file.write_at(0, &block.0).unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read(&moved).unwrap(), block.0);
        assert_eq!(fs::read(&path).unwrap(), b"another");
        let possible = open_direct(&file.file).unwrap().is_some();
        assert_eq!(matches!(file.direct, Direct::Open(_)), possible);
    }

    #[test]
    fn a_replaced_file_is_old_or_new_after_a_power_cut() {
        let path = Path::new("/d/manifest");
        for seed in 0..200 {
            let files = faulty::FaultyFiles::default();
            replace(&files, path, b"old").unwrap();
            // The failure hits one step of the second replacement.
            files.fail(faulty::Operation::Any, seed % 6 + 1, 5, 1);
            let done = replace(&files, path, b"newer").is_ok();
            let content = read_all(&files.power_cut(seed), path).unwrap();
            assert!(content == b"newer" || (content == b"old" && !done), "{content:?}");
        }
    }
}
