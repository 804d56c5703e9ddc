//! Records of the log: one per commit, or one for each half of it; one for each prepared transaction, and one for its
//! decision.

mod prepared;

use crate::engine::Write;
use crate::ids::KeyspaceId;
use crate::log::Lsn;
use crate::order::clock::Timestamp;
pub(crate) use prepared::{Prepared, encode_prepared, encode_roll_back};

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
/// Kind of the record of a prepared transaction. This kind and the next two always have a need, zero in a shared log.
const PREPARED: u8 = 3;
/// Kind of the commit of a prepared transaction. It has all its writes again.
const COMMIT_PREPARED: u8 = 4;
/// Kind of the end of a prepared transaction that changes nothing: it was rolled back, or wrote nothing.
const ROLL_BACK_PREPARED: u8 = 5;
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
/// Bytes of the number of a prepared transaction.
const NUMBER_BYTES: usize = 8;

/// Appends the record of a commit to `out`: all stamps, the need if there is another log, and the writes of `groups`.
/// `decides` is the number of the prepared transaction that it commits. A commit that does not have its timestamps and
/// the need yet fills them in later ([`fill_in`]).
///
/// Layout, with little-endian integers: kind u8, 2 with a need, 1 without, and 4 for a prepared transaction; number of
/// stamps u8; for each stamp engine u8, writes u8, timestamp u64. Then the need u64, except for kind 1. Then the number
/// of the prepared transaction u64 for kind 4. Then for each group that has writes: engine u8, number of writes u32;
/// for each write keyspace u32, key length u16, key, value length + 1 as u32 (zero deletes), value.
pub(crate) fn encode<'a>(
    out: &mut Vec<u8>,
    stamps: &[Stamp],
    need: Option<Lsn>,
    decides: Option<u64>,
    groups: impl Iterator<Item = Group<'a>> + Clone,
) {
    let need = if decides.is_some() { need.or(Some(Lsn(0))) } else { need };
    let head = bytes_of_head(stamps.len(), need.is_some()) + decides.map_or(0, |_| NUMBER_BYTES);
    reserve_for_many(out, head + stamps.len() * GROUP_BYTES, groups.clone());
    out.push(match (decides, need) {
        (Some(_), _) => COMMIT_PREPARED,
        (None, Some(_)) => DEPENDENT,
        (None, None) => COMMIT,
    });
    out.push(stamps.len() as u8);
    for stamp in stamps {
        out.extend([stamp.engine, u8::from(stamp.writes)]);
        out.extend(stamp.at.0.to_le_bytes());
    }
    if let Some(need) = need {
        out.extend(need.0.to_le_bytes());
    }
    if let Some(number) = decides {
        out.extend(number.to_le_bytes());
    }
    encode_groups(out, groups);
}

/// Makes room for a head and the writes of many groups. Otherwise the buffer would grow by doubling, and take up to
/// twice the memory.
fn reserve_for_many<'a>(out: &mut Vec<u8>, head: usize, groups: impl Iterator<Item = Group<'a>> + Clone) {
    let writes = groups.clone().map(|group| group.writes.len()).sum::<usize>();
    if writes > MANY_WRITES {
        let of_write = |write: &Write| {
            WRITE_BYTES + write.key.len() + write.value.as_ref().map_or(0, |value| value.len())
        };
        out.reserve_exact(head + groups.flat_map(|group| group.writes).map(of_write).sum::<usize>());
    }
}

fn encode_groups<'a>(out: &mut Vec<u8>, groups: impl Iterator<Item = Group<'a>>) {
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

/// The kind of a decoded record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Commit,
    /// A prepared transaction with this number, which is undecided until a record of one of the next kinds.
    Prepared(u64),
    /// The commit of the prepared transaction with this number.
    CommitPrepared(u64),
    /// The end without a change of the prepared transaction with this number.
    RollBackPrepared(u64),
}

/// A decoded record.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) kind: Kind,
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
    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
    /// Reads bytes with their length before them.
    fn with_length(&mut self) -> Option<&'a [u8]> {
        let length = u16::from_le_bytes(self.array()?);
        self.bytes(usize::from(length))
    }
}

impl<'a> Record<'a> {
    /// Decodes the head of a record. Returns none if the bytes are not a record.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let kind = reader.u8()?;
        if !(COMMIT..=ROLL_BACK_PREPARED).contains(&kind) {
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
        if count != 0 && matches!(kind, PREPARED | ROLL_BACK_PREPARED) {
            return None;
        }
        let need = if kind == COMMIT { 0 } else { reader.u64()? };
        let kind = match kind {
            PREPARED => Kind::Prepared(reader.u64()?),
            COMMIT_PREPARED => Kind::CommitPrepared(reader.u64()?),
            ROLL_BACK_PREPARED => Kind::RollBackPrepared(reader.u64()?),
            _ => Kind::Commit,
        };
        Some(Self { kind, stamps, need: Lsn(need), rest: reader.0 })
    }

    /// Passes all writes of a commit to `each`. Returns none if the rest of the bytes is not a record.
    pub(crate) fn replay<E>(&self, each: impl FnMut(Replay<'a>) -> Result<(), E>) -> Option<Result<(), E>> {
        let at = |engine| self.stamps.iter().find(|stamp| stamp.engine == engine).map(|stamp| stamp.at);
        decode_groups(self.rest, at, each)
    }
}

/// Passes all writes of groups to `each`. `at` returns the timestamp of an engine. Returns none if the bytes are not
/// groups.
fn decode_groups<'a, E>(
    groups: &'a [u8],
    at: impl Fn(u8) -> Option<Timestamp>,
    mut each: impl FnMut(Replay<'a>) -> Result<(), E>,
) -> Option<Result<(), E>> {
    let mut reader = Reader(groups);
    while !reader.0.is_empty() {
        let engine = reader.u8()?;
        let at = at(engine)?;
        for _ in 0..reader.u32()? {
            let keyspace = KeyspaceId(reader.u32()?);
            let key = reader.with_length()?;
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

/// Decodes arbitrary bytes as a record.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(data: &[u8]) {
    let Some(record) = Record::decode(data) else { return };
    let prepared = Prepared::decode(&record);
    assert!(
        prepared
            .is_none_or(|prepared| prepared.writes.len() <= data.len() && prepared.name.len() <= data.len())
    );
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
            encode(&mut bytes, &stamps, need, None, groups());
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
            encode(&mut later, &[stamp(0, 0), stamp(1, 0)], need.map(|_| Lsn(0)), None, groups());
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
