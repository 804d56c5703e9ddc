//! Checkpoints of the memory engine: all its rows, in pieces, each piece at a snapshot of its own. The snapshots never
//! become older (`DESIGN.md`, "Checkpoints").
//!
//! Layout, with little-endian integers: `GMLCKPT1`, database u64, first snapshot u64. Then blocks: length u32, CRC-32
//! u32, and as many bytes of entries (keyspace u32, timestamp u64, key length u16, value length u32, key, value). At
//! the end a block of length zero, its CRC-32, and the number of entries u64, which the CRC-32 covers.

use crate::error::{Error, Result};
use crate::files::{Blocks, File};
use crate::ids::KeyspaceId;
use crate::order::clock::Timestamp;

const MAGIC: &[u8; 8] = b"GMLCKPT1";
const HEAD_BYTES: usize = 24;
const BLOCK_BYTES: usize = 1 << 20;

/// Writes entries in blocks.
pub(crate) struct Writer {
    file: Box<dyn File>,
    written: Blocks,
    block: Vec<u8>,
    entries: u64,
}

impl Writer {
    pub(crate) fn new(mut file: Box<dyn File>, database: u64, at: Timestamp) -> Result<Self> {
        let mut head = Vec::with_capacity(HEAD_BYTES);
        head.extend(MAGIC);
        head.extend(database.to_le_bytes());
        head.extend(at.0.to_le_bytes());
        let mut written = Blocks::new(&mut *file, 0)?;
        written.append(&mut *file, &head)?;
        let mut block = Vec::with_capacity(BLOCK_BYTES + 4096);
        block.extend([0; 8]);
        Ok(Self { file, written, block, entries: 0 })
    }

    /// Adds an entry to the current block, without writing to the file. Returns true if the block is full: then
    /// [`Writer::flush`] must come before the next entry.
    #[must_use]
    pub(crate) fn entry(&mut self, keyspace: KeyspaceId, key: &[u8], value: &[u8], at: Timestamp) -> bool {
        self.block.extend(keyspace.0.to_le_bytes());
        self.block.extend(at.0.to_le_bytes());
        self.block.extend((key.len() as u16).to_le_bytes());
        self.block.extend((value.len() as u32).to_le_bytes());
        self.block.extend_from_slice(key);
        self.block.extend_from_slice(value);
        self.entries += 1;
        self.is_full()
    }

    /// Returns true if the current block is full.
    pub(crate) fn is_full(&self) -> bool {
        self.block.len() >= BLOCK_BYTES
    }

    /// Writes the current block. Its first 8 bytes are reserved for its head. Returns the bytes of its entries.
    pub(crate) fn flush(&mut self) -> Result<u64> {
        let length = self.block.len() - 8;
        if length == 0 {
            return Ok(0);
        }
        let checksum = crc32fast::hash(&self.block[8..]);
        self.block[..4].copy_from_slice(&(length as u32).to_le_bytes());
        self.block[4..8].copy_from_slice(&checksum.to_le_bytes());
        self.written.append(&mut *self.file, &self.block)?;
        self.block.truncate(8);
        Ok(length as u64)
    }

    /// Ends the checkpoint and makes it durable. Returns its length in bytes.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.flush()?;
        let count = self.entries.to_le_bytes();
        let mut end = vec![0; 4];
        end.extend(crc32fast::hash(&count).to_le_bytes());
        end.extend(count);
        self.written.append(&mut *self.file, &end)?;
        self.file.truncate(self.written.end())?;
        self.file.sync()?;
        Ok(self.written.end())
    }
}

/// The reason why a checkpoint can't be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Error(Error),
    /// The damage and its byte position.
    Damaged(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Reads a file from its beginning to its end.
struct Reader {
    file: Box<dyn File>,
    offset: u64,
}

impl Reader {
    fn exact(&mut self, buffer: &mut [u8]) -> Result<(), Fault> {
        if self.file.read_at(self.offset, buffer)? < buffer.len() {
            return Err(Fault::Damaged("the checkpoint ends too early".into()));
        }
        self.offset += buffer.len() as u64;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// A decoded entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) keyspace: KeyspaceId,
    pub(crate) at: Timestamp,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// Reads a checkpoint and passes each block to `block` after checking it. `block` may replace the buffer by another one
/// for the next block. Returns the checkpoint's first snapshot and number of entries.
pub(crate) fn read(
    file: Box<dyn File>,
    database: u64,
    mut block: impl FnMut(&mut Vec<u8>) -> Result<(), Fault>,
) -> Result<(Timestamp, u64), Fault> {
    let mut reader = Reader { file, offset: 0 };
    if reader.array()? != *MAGIC {
        return Err(Fault::Damaged("this is not a checkpoint".into()));
    }
    if u64::from_le_bytes(reader.array()?) != database {
        return Err(Fault::Damaged("the checkpoint belongs to another database".into()));
    }
    let at = Timestamp(u64::from_le_bytes(reader.array()?));
    let mut bytes = Vec::new();
    loop {
        let position = reader.offset;
        let damaged = || Fault::Damaged(format!("the checksum of the block at byte {position} is wrong"));
        let length = u32::from_le_bytes(reader.array()?) as usize;
        let checksum = u32::from_le_bytes(reader.array()?);
        if length == 0 {
            let count = reader.array::<8>()?;
            if crc32fast::hash(&count) != checksum {
                return Err(damaged());
            }
            return Ok((at, u64::from_le_bytes(count)));
        }
        // A damaged length must not make the buffer take all memory.
        if length > BLOCK_BYTES + crate::MAX_KEY_BYTES + crate::MAX_VALUE_BYTES + 64 {
            return Err(Fault::Damaged(format!("the length of the block at byte {position} is impossible")));
        }
        bytes.resize(length, 0);
        reader.exact(&mut bytes)?;
        if crc32fast::hash(&bytes) != checksum {
            return Err(damaged());
        }
        block(&mut bytes)?;
    }
}

/// Decodes the entries of a block.
pub(crate) fn entries(mut block: &[u8]) -> impl Iterator<Item = Result<Entry<'_>, Fault>> {
    std::iter::from_fn(move || {
        if block.is_empty() {
            return None;
        }
        let entry = (|| {
            let (head, rest) = block.split_at_checked(18)?;
            let keyspace = KeyspaceId(u32::from_le_bytes(head[..4].try_into().ok()?));
            let at = Timestamp(u64::from_le_bytes(head[4..12].try_into().ok()?));
            let key_length = usize::from(u16::from_le_bytes(head[12..14].try_into().ok()?));
            let value_length = u32::from_le_bytes(head[14..18].try_into().ok()?) as usize;
            let (key, rest) = rest.split_at_checked(key_length)?;
            let (value, rest) = rest.split_at_checked(value_length)?;
            block = rest;
            Some(Entry { keyspace, at, key, value })
        })();
        if entry.is_none() {
            block = &[];
        }
        Some(entry.ok_or_else(|| Fault::Damaged("an entry runs over the end of its block".into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::files::{Files, RealFiles};

    fn written() -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoint");
        let mut writer = Writer::new(RealFiles.create(&path).unwrap(), 42, Timestamp(7)).unwrap();
        for index in 0..20_000_u32 {
            if writer.entry(
                KeyspaceId(index % 3),
                &index.to_be_bytes(),
                &[7; 100],
                Timestamp(u64::from(index)),
            ) {
                writer.flush().unwrap();
            }
        }
        let length = writer.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, length);
        bytes
    }

    fn count(bytes: &[u8], database: u64) -> Result<u64, Fault> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoint");
        std::fs::write(&path, bytes).unwrap();
        let mut seen = 0;
        let (at, entries_said) = read(RealFiles.open(&path).unwrap(), database, |block| {
            for entry in entries(block) {
                assert_eq!(entry?.value, [7; 100]);
                seen += 1;
            }
            Ok(())
        })?;
        assert_eq!((at, entries_said), (Timestamp(7), seen));
        Ok(seen)
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_written() {
        assert_eq!(count(&written(), 42).unwrap(), 20_000);
    }

    #[test]
    fn damage_at_any_byte_is_found() {
        let good = written();
        for place in (0..good.len()).step_by(4999).chain([0, 8, 24, 28, good.len() - 1]) {
            // No checksum covers the timestamp in the head; recovery compares it with the manifest.
            if (16..24).contains(&place) {
                continue;
            }
            let mut bad = good.clone();
            bad[place] ^= 0x10;
            assert!(count(&bad, 42).is_err(), "byte {place}");
        }
        for cut in [0, 10, 30, 1000, good.len() - 1] {
            assert!(count(&good[..cut], 42).is_err(), "cut at {cut}");
        }
        assert!(count(&good, 43).is_err(), "another database's");
    }
}
