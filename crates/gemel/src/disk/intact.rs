//! Verification of a tree's list of files, and of each listed file's table of contents.
//!
//! The crate `lsm-tree` verifies the blocks that it reads, but not the list, and it trusts the lengths in a table of
//! contents before it verifies them. So a changed byte there could silently lose a file, or end the process. Both have
//! checksums, which are verified here before a tree is opened. (Formats: lsm-tree 3.1, sfa 1.0.)

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

/// Name of the file that identifies the valid version of the list: its number, its checksum, the kind of checksum.
pub(super) const CURRENT: &str = "current";
const CURRENT_BYTES: usize = 8 + 16 + 1;
/// Bytes of a trailer: magic, version, kind of checksum; then checksum, position and length of the table of contents.
const TRAILER_BYTES: usize = TRAILER_MAGIC.len() + 16 + 8 + 8;
const TRAILER_MAGIC: &[u8] = b"SFA!\x01\x00";
/// Maximum length of a table of contents, which has only a few sections with short names.
const MOST_CONTENTS: u64 = 1 << 20;
/// Directory of the tables, in the tree's directory.
pub(crate) const TABLES: &str = "tables";
/// Bytes of a table that are read at once.
const PIECE: usize = 1 << 20;

fn damaged(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Returns the number and the checksum of the valid list in a tree's directory.
pub(super) fn state(tree: &Path) -> io::Result<(u64, u128)> {
    parse(&std::fs::read(tree.join(CURRENT))?)
}

/// Returns the number and the checksum in the content of [`CURRENT`].
fn parse(current: &[u8]) -> io::Result<(u64, u128)> {
    let wrong_length = || damaged(format!("{CURRENT} has a wrong length"));
    let current = <[u8; CURRENT_BYTES]>::try_from(current).map_err(|_| wrong_length())?;
    let checksum = u128_at(&current, 8).ok_or_else(wrong_length)?;
    // The last byte is the kind of checksum. The tree's crate knows only this one.
    if current.last() != Some(&0) {
        return Err(damaged(format!("{CURRENT} has an unknown kind of checksum")));
    }
    Ok((u64_at(&current, 0), checksum))
}

/// The files that make up a tree.
#[derive(Debug)]
pub(crate) struct TreeFiles {
    /// Content of the file [`CURRENT`].
    pub(crate) current: Vec<u8>,
    /// Name of the valid list.
    pub(crate) list_name: String,
    /// Content of the valid list.
    pub(crate) list: Vec<u8>,
    /// The listed tables.
    pub(crate) tables: Vec<ListedTable>,
}

/// A table in a tree's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListedTable {
    /// Name of the file in the tree's directory `tables`.
    pub(crate) id: u64,
    /// Checksum of the whole file.
    pub(crate) checksum: u128,
}

impl ListedTable {
    fn path(self, tree: &Path) -> PathBuf {
        tree.join(TABLES).join(self.id.to_string())
    }

    /// Adds the name of the file to an error.
    fn named(self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{TABLES}/{}: {error}", self.id))
    }

    /// Reads the file at a path, and returns true if it has the checksum.
    pub(crate) fn is_whole(self, path: &Path) -> io::Result<bool> {
        let (mut file, mut piece, mut sum) = (File::open(path)?, vec![0; PIECE], Xxh3Default::new());
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(sum.digest128() == self.checksum);
            }
            sum.update(&piece[..read]);
        }
    }
}

/// Returns the files of the tree in a directory. Verifies the list, but no table.
pub(crate) fn tree_files(tree: &Path) -> io::Result<TreeFiles> {
    let current = std::fs::read(tree.join(CURRENT))?;
    let (number, checksum) = parse(&current)?;
    let list_name = format!("v{number}");
    let path = tree.join(&list_name);
    let list = std::fs::read(&path)?;
    if xxh3_128(&list) != checksum {
        return Err(damaged(format!("{list_name} has a wrong checksum")));
    }
    Ok(TreeFiles { current, list_name, list, tables: listed(&path)? })
}

/// Verifies the tree in a directory, if there is one.
pub(super) fn verify(tree: &Path) -> io::Result<()> {
    if !tree.join(CURRENT).exists() {
        return Ok(());
    }
    for table in tree_files(tree)?.tables {
        verify_table(&table.path(tree)).map_err(|error| table.named(&error))?;
    }
    Ok(())
}

/// Reads all tables of the tree in a directory, and compares them with the checksums in the list. The crate verifies the
/// blocks that it reads, but a table with the content of another one has good blocks.
pub(super) fn verify_contents(tree: &Path) -> io::Result<()> {
    for table in tree_files(tree)?.tables {
        if !table.is_whole(&table.path(tree)).map_err(|error| table.named(&error))? {
            let wrong = damaged("it does not have the checksum that the list says".to_owned());
            return Err(table.named(&wrong));
        }
    }
    Ok(())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn u128_at(bytes: &[u8], at: usize) -> Option<u128> {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map(|bytes| u128::from_le_bytes(*bytes))
}

/// Returns the tables in a verified list.
fn listed(list: &Path) -> io::Result<Vec<ListedTable>> {
    let unknown = || damaged("the list of files has an unknown format".into());
    let reader = sfa::Reader::new(list).map_err(|_| unknown())?;
    let mut section = reader.toc().section(b"tables").ok_or_else(unknown)?.buf_reader(list)?;
    let mut byte = || {
        let mut byte = [0];
        section.read_exact(&mut byte).map(|()| byte[0])
    };
    let mut tables = Vec::new();
    for _ in 0..byte()? {
        for _ in 0..byte()? {
            let count = u32::from_le_bytes([byte()?, byte()?, byte()?, byte()?]);
            for _ in 0..count {
                let (mut id, mut checksum) = ([0; 8], [0; 16]);
                for place in &mut id {
                    *place = byte()?;
                }
                // Skips the kind of checksum.
                byte()?;
                for place in &mut checksum {
                    *place = byte()?;
                }
                // Skips the sequence number.
                for _ in 0..8 {
                    byte()?;
                }
                tables.push(ListedTable {
                    id: u64::from_le_bytes(id),
                    checksum: u128::from_le_bytes(checksum),
                });
            }
        }
    }
    Ok(tables)
}

/// Verifies the table of contents at the end of a table's file.
fn verify_table(path: &Path) -> io::Result<()> {
    let wrong = |what| damaged(format!("the file has a wrong {what}"));
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let end = length.checked_sub(TRAILER_BYTES as u64).ok_or_else(|| wrong("length"))?;
    let mut trailer = [0; TRAILER_BYTES];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut trailer)?;
    let Some(trailer) = trailer.strip_prefix(TRAILER_MAGIC) else { return Err(wrong("end")) };
    let (checksum, start) = (u128_at(trailer, 0), u64_at(trailer, 16));
    let contents = end.checked_sub(start).filter(|length| *length <= MOST_CONTENTS);
    let mut contents = vec![0; contents.ok_or_else(|| wrong("end"))? as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut contents)?;
    if Some(xxh3_128(&contents)) == checksum { Ok(()) } else { Err(wrong("table of contents")) }
}
