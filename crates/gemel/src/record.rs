//! Records of the log: one per commit, or one for each half of it.

use crate::engine::Write;
use crate::ids::KeyspaceId;
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
pub(crate) struct Group<'a> {
    pub(crate) engine: u8,
    pub(crate) writes: &'a [Write],
}

const COMMIT: u8 = 1;
/// Bytes of a record before its first stamp.
const HEAD_BYTES: usize = 2;
/// Bytes of a stamp.
const STAMP_BYTES: usize = 10;

/// Appends a record to `out`: all stamps, and the writes of `groups`. A commit that does not have its timestamps yet
/// fills them in later ([`set_timestamps`]).
///
/// Layout, with little-endian integers: kind u8 = 1; number of stamps u8; for each stamp engine u8, writes u8,
/// timestamp u64. Then for each group that has writes: engine u8, number of writes u32; for each write keyspace u32,
/// key length u16, key, value length + 1 as u32 (zero deletes), value.
pub(crate) fn encode<'a>(out: &mut Vec<u8>, stamps: &[Stamp], groups: impl Iterator<Item = Group<'a>>) {
    out.push(COMMIT);
    out.push(stamps.len() as u8);
    for stamp in stamps {
        out.extend([stamp.engine, u8::from(stamp.writes)]);
        out.extend(stamp.at.0.to_le_bytes());
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

/// Returns the number of bytes of a record up to the end of its stamps. Those after it do not depend on timestamps.
pub(crate) fn bytes_of_stamps(stamps: usize) -> usize {
    HEAD_BYTES + stamps * STAMP_BYTES
}

/// Fills in the timestamps of an encoded record. `stamps` are those of [`encode`], in the same order.
pub(crate) fn set_timestamps(record: &mut [u8], stamps: &[Stamp]) {
    let places = record.get_mut(HEAD_BYTES..).unwrap_or_default().chunks_exact_mut(STAMP_BYTES);
    for (place, stamp) in places.zip(stamps) {
        place[2..].copy_from_slice(&stamp.at.0.to_le_bytes());
    }
}

/// A decoded record.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) stamps: Vec<Stamp>,
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
        if reader.u8()? != COMMIT {
            return None;
        }
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
        Some(Self { stamps, rest: reader.0 })
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
        let stamps = [
            Stamp { engine: 0, at: Timestamp(7), writes: true },
            Stamp { engine: 1, at: Timestamp(9), writes: true },
        ];
        let memory = [write(1, b"a", Some(b"1")), write(2, b"b", None)];
        let disk = [write(3, b"a key longer than sixteen bytes", Some(b""))];
        let mut bytes = Vec::new();
        encode(
            &mut bytes,
            &stamps,
            [Group { engine: 0, writes: &memory }, Group { engine: 1, writes: &disk }].into_iter(),
        );
        let record = Record::decode(&bytes).unwrap();
        assert_eq!(record.stamps, stamps);
        let mut all = Vec::new();
        record
            .replay(|replay| {
                all.push(replay);
                Ok::<_, Infallible>(())
            })
            .unwrap()
            .unwrap();
        let replay = |engine, at, keyspace, key, value| Replay {
            engine,
            at: Timestamp(at),
            keyspace: KeyspaceId(keyspace),
            key,
            value,
        };
        assert_eq!(
            all,
            [
                replay(0, 7, 1, b"a", Some(b"1".as_slice())),
                replay(0, 7, 2, b"b", None),
                replay(1, 9, 3, b"a key longer than sixteen bytes", Some(b"".as_slice())),
            ]
        );
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
