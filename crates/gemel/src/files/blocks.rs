//! Writing a file from its beginning to its end in whole, aligned blocks, so the bytes can bypass the operating
//! system's cache.
//!
//! A log or a checkpoint is read again only after a crash. Copying its bytes into the cache costs more than all the
//! rest of writing them, and evicts pages that are worth keeping.

use super::File;
use crate::error::Result;

/// Alignment in bytes of the offset, length and address of direct writes. It is no smaller than a disk's sectors and
/// the blocks of common file systems.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Maximum length of one write in bytes.
const ROOM_BYTES: usize = 1 << 20;

/// Collects appended bytes into blocks. The last block is padded with zeros and written too. When more is appended, it
/// is written again, with its earlier bytes unchanged.
pub(crate) struct Blocks {
    /// Memory for [`ROOM_BYTES`] bytes, the room, from an aligned address on.
    memory: Vec<u8>,
    aligned: usize,
    /// Offset in the file at which the room begins; a multiple of [`BLOCK_BYTES`].
    offset: u64,
    /// Bytes in the room.
    len: usize,
}

impl Blocks {
    /// Continues a file at `end`, keeping the bytes between the last multiple of [`BLOCK_BYTES`] and `end`.
    pub(crate) fn new(file: &mut dyn File, end: u64) -> Result<Self> {
        let memory = vec![0; ROOM_BYTES + BLOCK_BYTES];
        let aligned = memory.as_ptr().align_offset(BLOCK_BYTES);
        let mut blocks = Self { memory, aligned, offset: 0, len: 0 };
        blocks.restart(file, end)?;
        Ok(blocks)
    }

    /// Continues another file at `end`.
    pub(crate) fn restart(&mut self, file: &mut dyn File, end: u64) -> Result<()> {
        self.len = (end % BLOCK_BYTES as u64) as usize;
        self.offset = end - self.len as u64;
        let head = &mut self.memory[self.aligned..][..self.len];
        // Bytes after the end of the file count as zeros.
        let got = file.read_at(self.offset, head)?;
        head[got..].fill(0);
        Ok(())
    }

    /// Returns the offset after the appended bytes.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len as u64
    }

    /// Appends `bytes`, and pads the last block with zeros. After an error nothing counts as appended, whatever the file
    /// contains after [`Blocks::end`], and the call can be repeated.
    pub(crate) fn append(&mut self, file: &mut dyn File, bytes: &[u8]) -> Result<()> {
        let (offset, len) = (self.offset, self.len);
        // The first write leaves the bytes before it in the room, and a later one overwrites them.
        let is_long = bytes.len() > ROOM_BYTES - len;
        let head = if is_long { self.memory[self.aligned..][..len].to_vec() } else { Vec::new() };
        let appended = self.append_pieces(file, bytes);
        if appended.is_err() {
            (self.offset, self.len) = (offset, len);
            self.memory[self.aligned..][..head.len()].copy_from_slice(&head);
        }
        appended
    }

    fn append_pieces(&mut self, file: &mut dyn File, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let room = &mut self.memory[self.aligned..][..ROOM_BYTES];
            let (now, rest) = bytes.split_at(bytes.len().min(room.len() - self.len));
            room[self.len..][..now.len()].copy_from_slice(now);
            self.len += now.len();
            let whole = self.len.next_multiple_of(BLOCK_BYTES);
            room[self.len..whole].fill(0);
            file.write_at(self.offset, &room[..whole])?;
            let done = self.len - self.len % BLOCK_BYTES;
            room.copy_within(done..self.len, 0);
            self.offset += done as u64;
            self.len -= done;
            bytes = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::faulty::{FaultyFiles, Operation};
    use super::super::{Files, RealFiles, read_all};
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    fn written(files: &dyn Files, path: &Path, pieces: &[Vec<u8>]) {
        let mut file = files.create(path).unwrap();
        file.write_at(0, b"head").unwrap();
        let mut blocks = Blocks::new(&mut *file, 4).unwrap();
        let mut expected = b"head".to_vec();
        for (number, piece) in pieces.iter().enumerate() {
            if number % 3 == 2 {
                // Closes the file and opens it again.
                file = files.open(path).unwrap();
                blocks.restart(&mut *file, expected.len() as u64).unwrap();
            }
            blocks.append(&mut *file, piece).unwrap();
            expected.extend(piece);
            assert_eq!(blocks.end(), expected.len() as u64);
        }
        file.sync().unwrap();
        let content = read_all(files, path).unwrap();
        assert_eq!(content[..expected.len()], expected);
        assert!(content[expected.len()..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn bytes_whose_append_failed_are_appended_again_at_the_same_place() {
        for (length, nth) in [(10, 1), (3 * ROOM_BYTES, 1), (3 * ROOM_BYTES, 2), (3 * ROOM_BYTES, 4)] {
            let files = FaultyFiles::default();
            files.create_dir(Path::new("/d")).unwrap();
            let path = Path::new("/d/file");
            let mut file = files.create(path).unwrap();
            let mut blocks = Blocks::new(&mut *file, 0).unwrap();
            let pieces = [vec![1; BLOCK_BYTES + 100], vec![2; length], vec![3; 10]];
            blocks.append(&mut *file, &pieces[0]).unwrap();
            files.fail(Operation::Write, nth, 28, BLOCK_BYTES);
            assert!(blocks.append(&mut *file, &pieces[1]).is_err());
            assert_eq!(blocks.end(), pieces[0].len() as u64);
            blocks.append(&mut *file, &pieces[1]).unwrap();
            blocks.append(&mut *file, &pieces[2]).unwrap();
            let content = read_all(&files, path).unwrap();
            assert!(content.starts_with(&pieces.concat()), "{length} bytes, write {nth}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn pieces_are_appended_in_order_and_padded_with_zeros(
            lengths in proptest::collection::vec((0_usize..3 * BLOCK_BYTES, 0_usize..10), 1..20),
        ) {
            let piece = |(number, (length, blocks)): (usize, &(usize, usize))| {
                // One piece in ten is about as long as the room.
                let length = if *blocks == 0 { ROOM_BYTES - BLOCK_BYTES + length } else { *length };
                vec![number as u8 + 1; length]
            };
            let pieces: Vec<_> = lengths.iter().enumerate().map(piece).collect();
            let directory = tempfile::tempdir().unwrap();
            written(&RealFiles, &directory.path().join("file"), &pieces);
            let files = FaultyFiles::default();
            files.create_dir(Path::new("/d")).unwrap();
            written(&files, Path::new("/d/file"), &pieces);
        }
    }
}
