//! Layout of a segment: a header, then batches of records, each with a checksum.
//!
//! All integers are little-endian. A position (LSN) counts the bytes of batches, with the headers of batches but not
//! those of segments. So a batch's offset in its file follows from its position and the segment's first position.
//!
//! The checksums of a segment's batches begin with a seed of the segment, the checksum of its header. So no batch counts
//! in another segment, and nobody who does not know the database's number can make a value that looks like a batch.

/// Bytes of a segment's header. Its layout never changes, so a newer format can be distinguished from damage: magic
/// (8), format (4), zeros (4), database (8), first position (8), incarnation (8), zeros (20), checksum (4).
pub(super) const SEGMENT_HEADER: usize = 64;
/// The format that is written, and the newest that can be read. In format 1 the seed of all segments was 0. Before
/// format 3 the records of a log for each engine did not say how far the other log must be. Before format 4 the header had
/// zeros in the place of the incarnation. Before format 5 there were no records of prepared transactions.
pub(super) const FORMAT: u32 = 5;
/// Bytes of a batch's header: magic (4), checksum of everything after it, with the segment's seed (4), bytes of records
/// (8), position of this header (8), durable LSN when the batch was written (8).
pub(super) const BATCH_HEADER: usize = 32;
/// Bytes of a record's header: length (4), checksum of length and payload (4).
pub(super) const RECORD_HEADER: usize = 8;
/// Maximum length of a payload in bytes.
pub(super) const MAX_PAYLOAD: usize = 1 << 30;

const SEGMENT_MAGIC: [u8; 8] = *b"GEMELLOG";
/// Not all ASCII letters, so text in records is seldom mistaken for it.
pub(super) const BATCH_MAGIC: [u8; 4] = [0xB7, 0x47, 0x6C, 0x01];

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) format: u32,
    pub(super) database: u64,
    /// The copy of the database that wrote the segment. Zero before format 4.
    pub(super) incarnation: u64,
    pub(super) first: u64,
}

impl Segment {
    pub(super) fn encode(self) -> [u8; SEGMENT_HEADER] {
        let mut header = [0; SEGMENT_HEADER];
        header[..8].copy_from_slice(&SEGMENT_MAGIC);
        header[8..12].copy_from_slice(&self.format.to_le_bytes());
        header[16..24].copy_from_slice(&self.database.to_le_bytes());
        header[24..32].copy_from_slice(&self.first.to_le_bytes());
        header[32..40].copy_from_slice(&self.incarnation.to_le_bytes());
        let sum = crc32fast::hash(&header[..SEGMENT_HEADER - 4]);
        header[SEGMENT_HEADER - 4..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    /// Decodes a header. Returns none if it is not intact.
    pub(super) fn decode(content: &[u8]) -> Option<Self> {
        let header: &[u8; SEGMENT_HEADER] = content.first_chunk()?;
        if header[..8] != SEGMENT_MAGIC
            || u32_at(header, SEGMENT_HEADER - 4)? != crc32fast::hash(&header[..SEGMENT_HEADER - 4])
        {
            return None;
        }
        Some(Self {
            format: u32_at(header, 8)?,
            database: u64_at(header, 16)?,
            incarnation: u64_at(header, 32)?,
            first: u64_at(header, 24)?,
        })
    }

    /// Returns the seed of the checksums of the segment's batches.
    pub(super) fn seed(self) -> u32 {
        if self.format == 1 {
            return 0;
        }
        let [.., a, b, c, d] = self.encode();
        u32::from_le_bytes([a, b, c, d])
    }
}

fn batch_sum(seed: u32, batch: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new_with_initial(seed);
    sum.update(&batch[8..]);
    sum.finalize()
}

fn record_sum(len: [u8; 4], payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&len);
    sum.update(payload);
    sum.finalize()
}

/// Fills in the header of a batch of the segment with this seed. The first bytes are reserved for it.
pub(super) fn seal(batch: &mut [u8], seed: u32, start: u64, durable: u64) {
    let len = (batch.len() - BATCH_HEADER) as u64;
    batch[..4].copy_from_slice(&BATCH_MAGIC);
    batch[8..16].copy_from_slice(&len.to_le_bytes());
    batch[16..24].copy_from_slice(&start.to_le_bytes());
    batch[24..32].copy_from_slice(&durable.to_le_bytes());
    let sum = batch_sum(seed, batch);
    batch[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// An intact batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch<'a> {
    pub(super) durable: u64,
    pub(super) records: &'a [u8],
}

impl Batch<'_> {
    /// Returns the length in bytes, header included.
    pub(super) fn len(&self) -> usize {
        BATCH_HEADER + self.records.len()
    }
}

/// Returns the batch at the beginning of `content`, if there is an intact one of the segment with this seed whose position
/// is `start`.
pub(super) fn batch(content: &[u8], seed: u32, start: u64) -> Option<Batch<'_>> {
    if content.get(..4)? != BATCH_MAGIC || u64_at(content, 16)? != start {
        return None;
    }
    let len = usize::try_from(u64_at(content, 8)?).ok()?.checked_add(BATCH_HEADER)?;
    let whole = content.get(..len)?;
    (u32_at(whole, 4)? == batch_sum(seed, whole))
        .then_some(Batch { durable: u64_at(whole, 24)?, records: &whole[BATCH_HEADER..] })
}

/// Returns the payload of the first of `records` and the bytes after it, or none if the record is not intact.
pub(super) fn record(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = u32_at(records, 0)?;
    let sum = u32_at(records, 4)?;
    let (payload, rest) = records.get(RECORD_HEADER..)?.split_at_checked(len as usize)?;
    (sum == record_sum(len.to_le_bytes(), payload)).then_some((payload, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::entry::Entry;
    use proptest::prelude::*;

    const SEED: u32 = 0x5EED;

    fn sealed(payloads: &[Vec<u8>], start: u64, durable: u64) -> Vec<u8> {
        let mut bytes = vec![0; BATCH_HEADER];
        for payload in payloads {
            bytes.extend_from_slice(&Entry::from(payload).header().unwrap());
            bytes.extend_from_slice(payload);
        }
        seal(&mut bytes, SEED, start, durable);
        bytes
    }

    fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
        proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..10)
    }

    proptest! {
        #[test]
        fn a_batch_is_read_as_it_was_sealed(payloads in payloads(), start: u64, durable: u64, more: Vec<u8>) {
            let mut bytes = sealed(&payloads, start, durable);
            let len = bytes.len();
            bytes.extend(more);
            let found = batch(&bytes, SEED, start).unwrap();
            prop_assert_eq!((found.durable, found.len()), (durable, len));
            let mut rest = found.records;
            for payload in &payloads {
                let (read, behind) = record(rest).unwrap();
                prop_assert_eq!(read, payload.as_slice());
                rest = behind;
            }
            prop_assert!(rest.is_empty());
            prop_assert!(batch(&bytes, SEED, start ^ 1).is_none());
            prop_assert!(batch(&bytes, SEED ^ 1, start).is_none());
        }

        #[test]
        fn a_batch_with_a_flipped_bit_is_not_intact(payloads in payloads(), start: u64, place: prop::sample::Index, bit in 0_u8..8) {
            let mut bytes = sealed(&payloads, start, 7);
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert!(batch(&bytes, SEED, start).is_none());
        }

        #[test]
        fn a_shortened_batch_is_not_intact(payloads in payloads(), start: u64, place: prop::sample::Index) {
            let bytes = sealed(&payloads, start, 7);
            prop_assert!(batch(&bytes[..place.index(bytes.len())], SEED, start).is_none());
        }

        #[test]
        fn a_segment_header_with_a_flipped_bit_is_not_intact(
            database: u64, incarnation: u64, first: u64, place in 0..SEGMENT_HEADER, bit in 0_u8..8,
        ) {
            let header = Segment { format: FORMAT, database, incarnation, first };
            let mut bytes = header.encode();
            prop_assert_eq!(Segment::decode(&bytes), Some(header));
            bytes[place] ^= 1 << bit;
            prop_assert_eq!(Segment::decode(&bytes), None);
        }
    }
}
