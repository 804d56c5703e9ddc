//! The file of a dump. It is read more than once, so an input that can be read only once is copied to a file.

use crate::failure::{Failure, Outcome};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::time::{SystemTime, UNIX_EPOCH};

/// Maximum length of a line: a row of 16 MiB, each byte escaped.
const LINE_BYTES: u64 = 256 << 20;

/// The file of a dump.
pub(super) struct Source {
    name: String,
    file: File,
}

impl Source {
    /// Opens a file, or reads the standard input to its end if the name is `-`.
    pub(super) fn open(file: &OsStr) -> Outcome<Self> {
        if file == "-" {
            let name = "the standard input".to_owned();
            return Ok(Self { file: copied(&name, &mut io::stdin().lock())?, name });
        }
        let name = file.display().to_string();
        let cant = |error| Failure::Other(format!("can't open {name}: {error}"));
        let mut file = File::open(file).map_err(cant)?;
        // A pipe can be read only once.
        let kind = file.metadata().map_err(cant)?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            file = copied(&name, &mut file)?;
        }
        Ok(Self { name, file })
    }

    /// Returns the lines from the first one on. Lines that were returned before can't be read any more.
    pub(super) fn lines(&self) -> Outcome<Lines<'_>> {
        let mut file = &self.file;
        file.rewind().map_err(|error| Failure::Other(format!("can't read {}: {error}", self.name)))?;
        let reader = BufReader::with_capacity(1 << 16, file);
        Ok(Lines { name: &self.name, reader, number: 0, line: String::new() })
    }
}

/// Copies an input to a file that has no name, so it is gone when this process ends.
fn copied(name: &str, input: &mut dyn Read) -> Outcome<File> {
    let directory = std::env::temp_dir();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let path = directory.join(format!("gemel-load-{}-{now}", std::process::id()));
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    // Nobody else may read the rows.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let copied = options.open(&path).and_then(|mut file| {
        fs::remove_file(&path)?;
        io::copy(input, &mut file)?;
        Ok(file)
    });
    copied.map_err(|error| {
        Failure::Other(format!(
            "can't copy {name} to a file in {}: {error}; name a directory with space in the variable TMPDIR",
            directory.display()
        ))
    })
}

/// The lines of a dump.
pub(super) struct Lines<'a> {
    name: &'a str,
    reader: BufReader<&'a File>,
    /// Number of the last line read.
    number: u64,
    line: String,
}

impl Lines<'_> {
    /// Reads the next line. Returns false at the end of the file.
    pub(super) fn next(&mut self) -> Outcome<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.by_ref().take(LINE_BYTES).read_line(&mut self.line);
        match read {
            Ok(0) => Ok(false),
            Ok(_) if self.line.ends_with('\n') => {
                self.line.truncate(self.line.trim_end().len());
                Ok(true)
            }
            Ok(bytes) if bytes as u64 == LINE_BYTES => Err(self.damaged("it is longer than a row can be")),
            Ok(_) => Err(self.damaged("the file ends within it: make the dump again")),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(self.damaged("it is not UTF-8")),
            Err(error) => Err(Failure::Other(format!("can't read {}: {error}", self.name))),
        }
    }

    /// Returns the last line read, without its end.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// Returns the number of the last line read, from 1 on.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the failure of a dump whose last line read is damaged.
    pub(super) fn damaged(&self, why: &str) -> Failure {
        self.damaged_at(self.number, why)
    }

    /// Returns the failure of a dump that is damaged in a line.
    pub(super) fn damaged_at(&self, number: u64, why: &str) -> Failure {
        Failure::Damaged(format!("{}, line {number}: {why}", self.name))
    }

    /// Returns the failure of a dump that is intact, and whose last line read does not fit this program.
    pub(super) fn rejected(&self, why: &str) -> Failure {
        self.rejected_at(self.number, why)
    }

    /// Returns the failure of a dump that is intact, and has a line that does not fit the database.
    pub(super) fn rejected_at(&self, number: u64, why: &str) -> Failure {
        Failure::Other(format!("{}, line {number}: {why}", self.name))
    }
}
