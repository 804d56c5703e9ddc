//! Files as text: whatever byte order mark, line ends or character set an editor left.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use thiserror::Error;

/// The most bytes of a configuration file.
const MOST_BYTES: u64 = 1 << 20;
/// The beginning of a database file of the library that HammerDB keeps its settings with.
const DATABASE_FILE: &[u8] = b"SQLite format 3\0";

/// A file that can't be read as a configuration. The messages continue "FILE: …", and repeat nothing of the file.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The file can't be read.
    #[error("{0}: name a file that can be read")]
    Io(#[from] io::Error),
    /// The file is too large.
    #[error("is larger than 1 MiB, which no configuration is: name another file")]
    Large,
    /// The file is empty.
    #[error("is empty: name another file")]
    Empty,
    /// The file is not text.
    #[error("is not text: name a configuration file")]
    Binary,
    /// The file is a database, as HammerDB keeps its settings.
    #[error(
        "is a database file: if HammerDB keeps its settings there, write them as text with its commands `print dict` and \
         `print vuconf`, and import that"
    )]
    Database,
    /// The file declares a document type or entities.
    #[error("line {0}: declares a document type (DTD), whose entities are never resolved: take it out")]
    Dtd(u32),
    /// The file is no well-formed XML.
    #[error("line {0}: is not well-formed XML: mend that line; & is &amp; and < is &lt; in values")]
    Xml(u32),
    /// The file ends within an element.
    #[error("ends before its elements do: is the file whole?")]
    Cut,
    /// The elements of the file are nested too deep.
    #[error("has elements nested more than {0} deep, which no configuration has: name another file")]
    Deep(usize),
    /// The file is for another workload of its program.
    #[error("is for {0}, and Lydite plays TPC-C: name a file for that")]
    OtherWorkload(&'static str),
    /// The file has no settings of its program.
    #[error("has no setting: name another file")]
    NoSettings,
}

/// A file as text.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name in messages.
    pub name: String,
    pub(crate) text: String,
    /// True if the bytes were no UTF-8 and were read as Latin-1.
    pub(crate) is_latin_1: bool,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// It can't be read, is too large, or is no text.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Self::read(path.display().to_string(), File::open(path)?)
    }

    /// Reads text from anywhere. `name` stands for it in messages.
    ///
    /// # Errors
    /// See [`Source::open`].
    pub fn read(name: impl Into<String>, from: impl Read) -> Result<Self, SourceError> {
        let mut bytes = Vec::new();
        from.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(SourceError::Large);
        }
        Self::from_bytes(name, &bytes)
    }

    /// Reads bytes as text.
    ///
    /// # Errors
    /// They are empty, or no text.
    pub fn from_bytes(name: impl Into<String>, bytes: &[u8]) -> Result<Self, SourceError> {
        if bytes.starts_with(DATABASE_FILE) {
            return Err(SourceError::Database);
        }
        let (text, is_latin_1) = decoded(bytes).ok_or(SourceError::Binary)?;
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t' | '\u{c}');
        if text.contains(is_control) {
            return Err(SourceError::Binary);
        }
        if text.trim().is_empty() {
            return Err(SourceError::Empty);
        }
        Ok(Self { name: name.into(), text, is_latin_1 })
    }
}

/// Returns bytes as text, and true if they were read as Latin-1; none for UTF-16 with a half pair.
fn decoded(bytes: &[u8]) -> Option<(String, bool)> {
    let utf_16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, []) = bytes.as_chunks::<2>() else { return None };
        let units = pairs.iter().map(|pair| unit(*pair));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.ok().map(|text| (text, false))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => Some((text.to_owned(), false)),
                // 0x80 to 0x9f are letters in Windows' set and controls in Latin-1: neither is worth a rejection.
                Err(_) => Some((bytes.iter().map(|&byte| latin_1(byte)).collect(), true)),
            }
        }
    }
}

fn latin_1(byte: u8) -> char {
    if (0x80..0xa0).contains(&byte) { char::REPLACEMENT_CHARACTER } else { char::from(byte) }
}
