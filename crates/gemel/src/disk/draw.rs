//! Random versions in a file of a tree, each with its probability.
//!
//! The crate finds a version by its key only, and random keys would find those behind large gaps more often. So this walks
//! from the index of the file's blocks to a block and to an entry, and chooses each step at random.

use crate::draw::Random;
use lsm_tree::table::{Block, BlockHandle, DataBlock, IndexBlock};
use lsm_tree::{Result, SeqNo, Table};
use std::fs::File;

/// Draws versions from a file, which must be part of a tree meanwhile. Passes the key of each, its sequence number and
/// its weight to `each`.
pub(super) fn draw_from(
    table: &Table,
    draws: u64,
    random: &mut Random,
    mut each: impl FnMut(&[u8], SeqNo, f64),
) -> Result<()> {
    let file = File::open(&*table.path)?;
    let metadata = &table.metadata;
    let handles = |handle| -> Result<Vec<BlockHandle>> {
        let block = IndexBlock::new(Block::from_file(&file, handle, metadata.index_block_compression)?);
        Ok(block.iter().map(|entry| BlockHandle::new(entry.offset, entry.size)).collect())
    };
    let top = handles(table.regions.tli)?;
    let mut key = Vec::new();
    for _ in 0..draws {
        let Some((mut handle, mut weight)) = choose(&top, random) else { continue };
        // The index of a file in a deep level is in parts, and the top leads to them.
        if table.regions.index.is_some() {
            let Some((in_part, entries)) = choose(&handles(handle)?, random) else { continue };
            (handle, weight) = (in_part, weight * entries);
        }
        let block = DataBlock::new(Block::from_file(&file, handle, metadata.data_block_compression)?);
        let entries = block.len();
        let Some(entry) = block.iter().nth(random.below(entries as u64) as usize) else { continue };
        let bytes = &block.inner.data;
        key.clear();
        if let Some(prefix) = &entry.prefix {
            key.extend_from_slice(&bytes[prefix.0..prefix.1]);
        }
        key.extend_from_slice(&bytes[entry.key.0..entry.key.1]);
        each(&key, entry.seqno, weight * entries as f64);
    }
    Ok(())
}

/// Returns one of the handles of a block, and their number.
fn choose(handles: &[BlockHandle], random: &mut Random) -> Option<(BlockHandle, f64)> {
    let handle = handles.get(random.below(handles.len() as u64) as usize)?;
    Some((*handle, handles.len() as f64))
}
