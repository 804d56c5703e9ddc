//! Records of the log: one per commit, or one for each half of it.

use crate::engine::Write;
use crate::ids::KeyspaceId;
use crate::log::Lsn;
use crate::order::clock::Timestamp;

/// The timestamp of a commit in one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) engine: u8,
    pub(crate) at: Timestamp,
    /// True if the commit wrote in this engine.
    pub(crate) writes: bool,
}

/// The writes of a commit in one engine.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) engine: u8,
    pub(crate) writes: &'a [Write],
}

/// Kind of a record without a need: those of a shared log, and those that earlier versions wrote to a log for each
/// engine.
const COMMIT: u8 = 1;
/// Kind of a record with a need: the position that the other log must reach.
const DEPENDENT: u8 = 2;
/// Bytes of a record before its first stamp.
const HEAD_BYTES: usize = 2;
/// Bytes of the head of a group.
const GROUP_BYTES: usize = 5;
/// Number of writes above which a record's length is computed before it is written.
const MANY_WRITES: usize = if cfg!(test) { 1 } else { 1000 };
/// Bytes of a write without its key and its value.
pub(crate) const WRITE_BYTES: usize = 10;
/// Bytes of a stamp.
const STAMP_BYTES: usize = 10;
/// Bytes of a position.
const LSN_BYTES: usize = 8;

/// Appends a record to `out`: all stamps, the need if there is another log, and the writes of `groups`. A commit that
/// does not have its timestamps and the need yet fills them in later ([`fill_in`]).
///
/// Layout, with little-endian integers: kind u8, 2 with a need and 1 without; number of stamps u8; for each stamp
/// engine u8, writes u8, timestamp u64. Then the need u64, if there is one. Then for each group that has writes:
/// engine u8, number of writes u32; for each write keyspace u32, key length u16, key, value length + 1 as u32 (zero
/// deletes), value.
pub(crate) fn encode<'a>(
    out: &mut Vec<u8>,
    stamps: &[Stamp],
    need: Option<Lsn>,
    groups: impl Iterator<Item = Group<'a>> + Clone,
) {
    let writes = groups.clone().map(|group| group.writes.len()).sum::<usize>();
    if writes > MANY_WRITES {
        // Otherwise the buffer would grow by doubling, and take up to twice the memory.
        let of_write = |write: &Write| {
            WRITE_BYTES + write.key.len() + write.value.as_ref().map_or(0, |value| value.len())
        };
        let bytes = groups.clone().flat_map(|group| group.writes).map(of_write).sum::<usize>();
        out.reserve_exact(bytes + bytes_of_head(stamps.len(), need.is_some()) + stamps.len() * GROUP_BYTES);
    }
    out.push(if need.is_some() { DEPENDENT } else { COMMIT });
    out.push(stamps.len() as u8);
    for stamp in stamps {
        out.extend([stamp.engine, u8::from(stamp.writes)]);
        out.extend(stamp.at.0.to_le_bytes());
    }
    if let Some(need) = need {
        out.extend(need.0.to_le_bytes());
    }
    for group in groups.filter(|group| !group.writes.is_empty()) {
        out.push(group.engine);
        out.extend((group.writes.len() as u32).to_le_bytes());
        for write in group.writes {
            out.extend(write.keyspace.0.to_le_bytes());
            out.extend((write.key.len() as u16).to_le_bytes());
            write.key.with(|key| out.extend_from_slice(key));
            match &write.value {
                Some(value) => {
                    out.extend((value.len() as u32 + 1).to_le_bytes());
                    out.extend_from_slice(value);
                }
                None => out.extend(0_u32.to_le_bytes()),
            }
        }
    }
}

/// Returns the number of bytes of a record that [`fill_in`] may change: those before the writes.
pub(crate) fn bytes_of_head(stamps: usize, has_need: bool) -> usize {
    HEAD_BYTES + stamps * STAMP_BYTES + if has_need { LSN_BYTES } else { 0 }
}

/// Fills in the timestamps and the need of an encoded record. `stamps` are those of [`encode`], in the same order, and
/// there is a need if there was one.
pub(crate) fn fill_in(record: &mut [u8], stamps: &[Stamp], need: Option<Lsn>) {
    let after = record.get_mut(HEAD_BYTES..).unwrap_or_default();
    let (places, after) = after.split_at_mut_checked(stamps.len() * STAMP_BYTES).unwrap_or_default();
    for (place, stamp) in places.chunks_exact_mut(STAMP_BYTES).zip(stamps) {
        place[2..].copy_from_slice(&stamp.at.0.to_le_bytes());
    }
    if let (Some(need), Some(place)) = (need, after.first_chunk_mut()) {
        *place = need.0.to_le_bytes();
    }
}

/// A decoded record.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) stamps: Vec<Stamp>,
    /// Position that the other log must reach. Zero if the record does not say.
    pub(crate) need: Lsn,
    rest: &'a [u8],
}

/// A decoded write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replay<'a> {
    pub(crate) engine: u8,
    pub(crate) at: Timestamp,
    pub(crate) keyspace: KeyspaceId,
    pub(crate) key: &'a [u8],
    pub(crate) value: Option<&'a [u8]>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }
    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
}

impl<'a> Record<'a> {
    /// Decodes the head of a record. Returns none if the bytes are not a record.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let depends = match reader.u8()? {
            COMMIT => false,
            DEPENDENT => true,
            _ => return None,
        };
        let count = reader.u8()?;
        let mut stamps = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let [engine, writes] = reader.array()?;
            stamps.push(Stamp {
                engine,
                writes: writes != 0,
                at: Timestamp(u64::from_le_bytes(reader.array()?)),
            });
        }
        let need = if depends { u64::from_le_bytes(reader.array()?) } else { 0 };
        Some(Self { stamps, need: Lsn(need), rest: reader.0 })
    }

    /// Passes all writes to `each`. Returns none if the rest of the bytes is not a record.
    pub(crate) fn replay<E>(
        &self,
        mut each: impl FnMut(Replay<'a>) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        let mut reader = Reader(self.rest);
        while !reader.0.is_empty() {
            let engine = reader.u8()?;
            let at = self.stamps.iter().find(|stamp| stamp.engine == engine)?.at;
            for _ in 0..reader.u32()? {
                let keyspace = KeyspaceId(reader.u32()?);
                let length = u16::from_le_bytes(reader.array()?);
                let key = reader.bytes(usize::from(length))?;
                let value = match reader.u32()? {
                    0 => None,
                    length => Some(reader.bytes(length as usize - 1)?),
                };
                if let Err(error) = each(Replay { engine, at, keyspace, key, value }) {
                    return Some(Err(error));
                }
            }
        }
        Some(Ok(()))
    }
}

/// Decodes arbitrary bytes as a record.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(data: &[u8]) {
    let Some(record) = Record::decode(data) else { return };
    let mut bytes = 0;
    let outcome = record.replay(|write| {
        bytes += write.key.len() + write.value.map_or(0, <[u8]>::len);
        Ok::<(), ()>(())
    });
    assert!(outcome.is_none_or(|outcome| outcome.is_ok()) && bytes <= data.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Handle;
    use crate::key::Key;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn write(keyspace: u32, key: &[u8], value: Option<&[u8]>) -> Write {
        let value = value.map(Into::into);
        Write {
            keyspace: KeyspaceId(keyspace),
            key: Key::new(key),
            value,
            since: Timestamp::ZERO,
            handle: Handle::None,
        }
    }

    #[test]
    fn a_record_is_decoded_as_it_was_encoded() {
        let stamp = |engine, at| Stamp { engine, at: Timestamp(at), writes: true };
        let stamps = [stamp(0, 7), stamp(1, 9)];
        let memory = [write(1, b"a", Some(b"1")), write(2, b"b", None)];
        let disk = [write(3, b"a key longer than sixteen bytes", Some(b""))];
        let replay = |engine, at, keyspace, key, value| Replay {
            engine,
            at: Timestamp(at),
            keyspace: KeyspaceId(keyspace),
            key,
            value,
        };
        let writes = [
            replay(0, 7, 1, b"a", Some(b"1".as_slice())),
            replay(0, 7, 2, b"b", None),
            replay(1, 9, 3, b"a key longer than sixteen bytes", Some(b"".as_slice())),
        ];
        for need in [None, Some(Lsn(1 << 40))] {
            let groups =
                || [Group { engine: 0, writes: &memory }, Group { engine: 1, writes: &disk }].into_iter();
            let mut bytes = Vec::new();
            encode(&mut bytes, &stamps, need, groups());
            assert!(bytes.capacity() <= bytes.len() + 16, "the length is known before");
            let record = Record::decode(&bytes).unwrap();
            assert_eq!((&*record.stamps, record.need), (&stamps[..], need.unwrap_or_default()));
            let mut all = Vec::new();
            record
                .replay(|replay| {
                    all.push(replay);
                    Ok::<_, Infallible>(())
                })
                .unwrap()
                .unwrap();
            assert_eq!(all, writes);
            // The same bytes, with the timestamps and the need filled in later.
            let mut later = Vec::new();
            encode(&mut later, &[stamp(0, 0), stamp(1, 0)], need.map(|_| Lsn(0)), groups());
            let head = bytes_of_head(2, need.is_some());
            assert_eq!(later[head..], bytes[head..]);
            fill_in(&mut later[..head], &stamps, need);
            assert_eq!(later, bytes);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_decoded_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(record) = Record::decode(&bytes) {
                let _ = record.replay(|_| Ok::<_, Infallible>(()));
            }
        }
    }
}
