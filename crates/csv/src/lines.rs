//! The lines of a file, with its checksum.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;

/// Bytes that are read at once.
const CHUNK: usize = 256 * 1024;

/// A reader of lines. The last line may lack its end.
pub(crate) struct LineReader {
    inner: BufReader<Take<File>>,
    line: Vec<u8>,
    crc: crc32fast::Hasher,
    bytes: u64,
    lines: u64,
    /// True if the line that was read last has no end.
    open: bool,
}

impl LineReader {
    /// Opens a part of a file.
    pub(crate) fn open(path: &Path, from: u64, length: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if from > 0 {
            file.seek(SeekFrom::Start(from))?;
        }
        let inner = BufReader::with_capacity(CHUNK, file.take(length));
        Ok(Self { inner, line: Vec::new(), crc: crc32fast::Hasher::new(), bytes: 0, lines: 0, open: false })
    }

    /// Reads the next line, and returns it without its end; `None` at the end of the file.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        if self.inner.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.crc.update(&self.line);
        self.bytes += self.line.len() as u64;
        self.lines += 1;
        let whole = self.line.strip_suffix(b"\n");
        self.open = whole.is_none();
        let line = whole.unwrap_or(&self.line);
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Returns the line that was read last, with its end.
    pub(crate) fn last(&self) -> &[u8] {
        &self.line
    }

    /// Returns the length of the whole file now.
    pub(crate) fn file_length(&self) -> io::Result<u64> {
        Ok(self.inner.get_ref().get_ref().metadata()?.len())
    }

    /// Returns true if the last line so far has no end.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns the lines so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the checksum (CRC-32) of the bytes so far.
    pub(crate) fn crc(&self) -> u32 {
        self.crc.clone().finalize()
    }
}
