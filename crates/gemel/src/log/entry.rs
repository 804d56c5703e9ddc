//! A record on its way into a log.
//!
//! The buffer of a log is filled under a lock, between drawing and publishing timestamps, so all commits wait for it. A
//! large record is not copied there: its memory becomes a batch of its own. Its checksum is computed before, except for
//! the first bytes, which have the timestamps.

use super::frame::{BATCH_HEADER, MAX_PAYLOAD, RECORD_HEADER};
use crate::error::{Error, Result};
use crc32fast::Hasher;

/// Bytes for the headers of a batch and of a record.
pub(crate) const ROOM: usize = BATCH_HEADER + RECORD_HEADER;
/// Bytes from which a record is large. Few in tests, so they have both kinds.
const LARGE: usize = if cfg!(any(test, feature = "fail-points")) { 300 } else { 256 << 10 };

/// A record to append.
pub(crate) enum Entry<'a> {
    /// The payload of a record, which is copied.
    Copied(&'a [u8]),
    /// A large record, whose memory the log takes.
    Moved(Large),
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Entry<'a> {
    fn from(payload: &'a T) -> Self {
        Self::Copied(payload.as_ref())
    }
}

impl Entry<'_> {
    /// Returns the header of the record.
    ///
    /// # Errors
    /// The payload is too large.
    pub(super) fn header(&self) -> Result<[u8; RECORD_HEADER]> {
        let len = match self {
            Self::Copied(payload) => payload.len(),
            Self::Moved(large) => large.bytes.len() - ROOM,
        };
        if len > MAX_PAYLOAD {
            return Err(Error::Capacity(format!(
                "a transaction of {len} bytes is too large for the log, which takes up to {MAX_PAYLOAD}: split it"
            )));
        }
        let len = (len as u32).to_le_bytes();
        let mut sum = Hasher::new();
        sum.update(&len);
        match self {
            Self::Copied(payload) => sum.update(payload),
            Self::Moved(large) => {
                sum.update(&large.bytes[ROOM..large.fixed_from]);
                sum.combine(&large.fixed);
            }
        }
        let mut header = [0; RECORD_HEADER];
        header[..4].copy_from_slice(&len);
        header[4..].copy_from_slice(&sum.finalize().to_le_bytes());
        Ok(header)
    }
}

/// A large record: [`ROOM`] bytes, then the payload.
pub(crate) struct Large {
    bytes: Vec<u8>,
    /// From here on the bytes do not change any more.
    fixed_from: usize,
    /// Checksum of these bytes.
    fixed: Hasher,
}

impl Large {
    /// Takes a payload with [`ROOM`] bytes before it, if it is large. Its bytes from `varying` on must not change any
    /// more.
    pub(crate) fn take(buffer: &mut Vec<u8>, varying: usize) -> Option<Self> {
        if buffer.len() < ROOM + LARGE {
            return None;
        }
        let bytes = std::mem::take(buffer);
        let fixed_from = ROOM + varying;
        let mut fixed = Hasher::new();
        fixed.update(&bytes[fixed_from..]);
        Some(Self { bytes, fixed_from, fixed })
    }

    /// Returns the bytes that may still change.
    pub(crate) fn varying(&mut self) -> &mut [u8] {
        &mut self.bytes[ROOM..self.fixed_from]
    }

    /// Returns the bytes of a batch with this record alone. The batch's header is still empty.
    pub(super) fn into_batch(self, header: [u8; RECORD_HEADER]) -> Vec<u8> {
        let mut batch = self.bytes;
        batch[BATCH_HEADER..ROOM].copy_from_slice(&header);
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::frame;

    #[test]
    fn a_large_record_has_the_header_of_its_final_bytes() {
        let payload: Vec<u8> = (0..LARGE + 1000).map(|byte| byte as u8).collect();
        let mut buffer = [&[0; ROOM][..], &payload].concat();
        let mut large = Large::take(&mut buffer, 20).unwrap();
        assert_eq!((buffer.len(), large.varying().len()), (0, 20));
        large.varying().fill(9);
        let payload = [&[9; 20][..], &payload[20..]].concat();
        let header = Entry::from(&payload).header().unwrap();
        let moved = Entry::Moved(large);
        assert_eq!(moved.header().unwrap(), header);
        let Entry::Moved(large) = moved else { unreachable!() };
        let mut batch = large.into_batch(header);
        frame::seal(&mut batch, 3, 77, 5);
        let read = frame::batch(&batch, 3, 77).unwrap();
        assert_eq!(frame::record(read.records), Some((&payload[..], &[][..])));
        assert!(Large::take(&mut vec![0; ROOM + LARGE - 1], 20).is_none());
    }
}
