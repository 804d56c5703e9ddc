//! Records of prepared transactions (`DESIGN.md`, "Prepared transactions").

use super::{
    COMMIT, Group, HEAD_BYTES, Kind, LSN_BYTES, NUMBER_BYTES, PREPARED, ROLL_BACK_PREPARED, Reader, Record,
    Replay, decode_groups, encode_groups, reserve_for_many,
};
use crate::ids::{KeyspaceId, MAX_ENGINES};
use crate::key::{Key, KeyRange, MAX_KEY_BYTES};
use crate::order::clock::Timestamp;
use crate::prepared::Reads;
use std::convert::Infallible;
use std::ops::Bound;

/// Bytes of a record before its name.
const BEFORE_NAME: usize = HEAD_BYTES + LSN_BYTES + 2 * NUMBER_BYTES + 2;
/// Form of a read of a key.
const KEY: u8 = 0;
/// Form of a read of a range.
const RANGE: u8 = 1;
const UNBOUNDED: u8 = 0;
const INCLUDED: u8 = 1;
const EXCLUDED: u8 = 2;

/// A decoded prepared transaction.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    pub(crate) name: &'a str,
    /// Time at which it was prepared, in microseconds since 1970.
    pub(crate) at_us: u64,
    pub(crate) reads: Reads,
    /// The writes, without timestamps.
    pub(crate) writes: Vec<Replay<'a>>,
}

/// Appends the record of a prepared transaction to `out`.
///
/// Layout, with little-endian integers: kind u8, 3; zero u8; the need u64; number of the transaction u64; time u64, in
/// microseconds since 1970; length of the name u16; name. Then the number of reads u32; for each read engine u8,
/// keyspace u32, form u8, and a key (form 0) or two bounds (form 1). A bound is a byte, 0 for none, 1 if its key
/// belongs to the range, 2 if not, and the key. A key is its length u16 and its bytes. Then the groups of writes, as in
/// a commit.
pub(crate) fn encode_prepared<'a>(
    out: &mut Vec<u8>,
    number: u64,
    at_us: u64,
    name: &str,
    reads: &Reads,
    groups: impl Iterator<Item = Group<'a>> + Clone,
) {
    reserve_for_many(out, BEFORE_NAME + name.len() + reads.bytes(), groups.clone());
    out.extend([PREPARED, 0]);
    out.extend([0; LSN_BYTES]);
    out.extend(number.to_le_bytes());
    out.extend(at_us.to_le_bytes());
    out.extend((name.len() as u16).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
    out.extend((reads.len() as u32).to_le_bytes());
    for (engine, keyspace, key) in reads.keys() {
        encode_head(out, engine, keyspace, KEY);
        encode_key(out, key);
    }
    for (engine, keyspace, range) in reads.ranges() {
        encode_head(out, engine, keyspace, RANGE);
        encode_bound(out, &range.lower);
        encode_bound(out, &range.upper);
    }
    encode_groups(out, groups);
}

/// Appends the record that ends a prepared transaction without a change. Layout: kind u8, 5; zero u8; the need u64;
/// number of the transaction u64.
pub(crate) fn encode_roll_back(out: &mut Vec<u8>, number: u64) {
    out.extend([ROLL_BACK_PREPARED, 0]);
    out.extend([0; LSN_BYTES]);
    out.extend(number.to_le_bytes());
}

fn encode_head(out: &mut Vec<u8>, engine: usize, keyspace: KeyspaceId, form: u8) {
    out.push(engine as u8);
    out.extend(keyspace.0.to_le_bytes());
    out.push(form);
}

fn encode_key(out: &mut Vec<u8>, key: &Key) {
    out.extend((key.len() as u16).to_le_bytes());
    key.with(|key| out.extend_from_slice(key));
}

fn encode_bound(out: &mut Vec<u8>, bound: &Bound<Key>) {
    match bound {
        Bound::Unbounded => out.push(UNBOUNDED),
        Bound::Included(key) => {
            out.push(INCLUDED);
            encode_key(out, key);
        }
        Bound::Excluded(key) => {
            out.push(EXCLUDED);
            encode_key(out, key);
        }
    }
}

impl<'a> Reader<'a> {
    fn key(&mut self) -> Option<Key> {
        let bytes = self.with_length()?;
        (bytes.len() <= MAX_KEY_BYTES).then(|| Key::new(bytes))
    }

    fn bound(&mut self) -> Option<Bound<Key>> {
        Some(match self.u8()? {
            UNBOUNDED => Bound::Unbounded,
            INCLUDED => Bound::Included(self.key()?),
            EXCLUDED => Bound::Excluded(self.key()?),
            _ => return None,
        })
    }

    fn reads(&mut self) -> Option<Reads> {
        let mut reads = Reads::default();
        for _ in 0..self.u32()? {
            let engine = usize::from(self.u8()?);
            let keyspace = KeyspaceId(self.u32()?);
            if engine >= MAX_ENGINES {
                return None;
            }
            match self.u8()? {
                KEY => reads.add_key(engine, keyspace, self.key()?),
                RANGE => {
                    let range = KeyRange { lower: self.bound()?, upper: self.bound()? };
                    reads.add_range(engine, keyspace, range);
                }
                _ => return None,
            }
        }
        Some(reads)
    }
}

impl<'a> Prepared<'a> {
    /// Decodes the rest of a record. Returns none if it is not a prepared transaction.
    pub(crate) fn decode(record: &Record<'a>) -> Option<Self> {
        let Kind::Prepared(_) = record.kind else { return None };
        let mut reader = Reader(record.rest);
        let at_us = reader.u64()?;
        let name = std::str::from_utf8(reader.with_length()?).ok()?;
        let reads = reader.reads()?;
        let mut writes = Vec::new();
        let each = |write: Replay<'a>| {
            writes.push(write);
            Ok::<_, Infallible>(())
        };
        let Ok(()) = decode_groups(reader.0, |_| Some(Timestamp::ZERO), each)?;
        let fits =
            |write: &Replay<'_>| usize::from(write.engine) < MAX_ENGINES && write.key.len() <= MAX_KEY_BYTES;
        writes.iter().all(fits).then_some(Self { name, at_us, reads, writes })
    }
}

/// The kinds of records before prepared transactions are those of earlier formats.
const _: () = assert!(COMMIT == 1 && PREPARED == 3);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Handle, Write};
    use crate::log::Lsn;
    use crate::record::{Stamp, bytes_of_head, encode, fill_in};
    use proptest::prelude::*;

    fn key(name: &str) -> Key {
        Key::new(name.as_bytes())
    }

    fn write(keyspace: u32, name: &str, value: Option<&str>) -> Write {
        let value = value.map(Into::into);
        Write {
            keyspace: KeyspaceId(keyspace),
            key: key(name),
            value,
            since: Timestamp::ZERO,
            handle: Handle::None,
        }
    }

    fn record() -> Vec<u8> {
        let mut reads = Reads::default();
        reads.add_key(0, KeyspaceId(1), key("k"));
        reads.add_key(0, KeyspaceId(1), key("k"));
        let range = KeyRange { lower: Bound::Excluded(key("a")), upper: Bound::Unbounded };
        reads.add_range(1, KeyspaceId(2), range);
        let writes = [[write(1, "a", Some("1"))], [write(2, "b", None)]];
        let groups = [0, 1].map(|engine| Group { engine, writes: &writes[usize::from(engine)] });
        let mut bytes = Vec::new();
        encode_prepared(&mut bytes, 7, 9, "two", &reads, groups.into_iter());
        bytes
    }

    #[test]
    fn a_prepared_transaction_is_decoded_as_it_was_encoded() {
        let mut bytes = record();
        fill_in(&mut bytes, &[], Some(Lsn(5)));
        let record = Record::decode(&bytes).unwrap();
        assert_eq!((record.kind, record.need, record.stamps.len()), (Kind::Prepared(7), Lsn(5), 0));
        let prepared = Prepared::decode(&record).unwrap();
        assert_eq!((prepared.name, prepared.at_us, prepared.writes.len()), ("two", 9, 2));
        assert_eq!(prepared.reads.len(), 2, "each read once");
        let values: Vec<_> =
            prepared.writes.iter().map(|write| (write.engine, write.key, write.value)).collect();
        assert_eq!(values, [(0, &b"a"[..], Some(&b"1"[..])), (1, b"b", None)]);
        let of = |engine, keyspace, name| prepared.reads.contain(engine, KeyspaceId(keyspace), &key(name));
        assert!(of(0, 1, "k") && of(1, 2, "b") && !of(1, 2, "a") && !of(0, 2, "b") && !of(0, 1, "l"));
    }

    /// The bytes are fixed: a database in which a transaction is undecided must open with every later version.
    #[test]
    fn records_of_prepared_transactions_have_the_bytes_of_format_5() {
        let bytes = [
            &[3, 0][..],
            &[0; 8],
            &7_u64.to_le_bytes(),
            &9_u64.to_le_bytes(),
            &[3, 0],
            b"two",
            &[2, 0, 0, 0],
            &[0, 1, 0, 0, 0, 0, 1, 0, b'k'],
            &[1, 2, 0, 0, 0, 1, 2, 1, 0, b'a', 0],
            &[0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, b'a', 2, 0, 0, 0, b'1'],
            &[1, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, b'b', 0, 0, 0, 0],
        ];
        assert_eq!(record(), bytes.concat());
        let mut end = Vec::new();
        encode_roll_back(&mut end, 258);
        assert_eq!(end, [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Record::decode(&end).unwrap().kind, Kind::RollBackPrepared(258));
    }

    #[test]
    fn the_commit_of_a_prepared_transaction_names_it() {
        let writes = [write(1, "a", Some("1"))];
        let group = || std::iter::once(Group { engine: 0, writes: &writes });
        for need in [None, Some(Lsn(0))] {
            let stamp = Stamp { engine: 0, at: Timestamp(4), writes: true };
            let mut bytes = Vec::new();
            encode(&mut bytes, &[stamp], need, Some(7), group());
            fill_in(&mut bytes[..bytes_of_head(1, true)], &[stamp], need.map(|_| Lsn(6)));
            let head = [4, 1, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0];
            let need = Lsn(if need.is_some() { 6 } else { 0 });
            let rest = [1, 0, 0, 0, 1, 0, b'a', 2, 0, 0, 0, b'1'];
            let all = [&head[..], &need.0.to_le_bytes(), &7_u64.to_le_bytes(), &[0, 1, 0, 0, 0], &rest];
            assert_eq!(bytes, all.concat());
            let record = Record::decode(&bytes).unwrap();
            assert_eq!(
                (record.kind, record.need, &*record.stamps),
                (Kind::CommitPrepared(7), need, &[stamp][..])
            );
            let mut keys = Vec::new();
            let each = |write: Replay<'_>| {
                keys.push((write.at, write.key.to_vec()));
                Ok::<_, Infallible>(())
            };
            assert!(record.replay(each).is_some_and(|outcome| outcome.is_ok()));
            assert_eq!(keys, [(Timestamp(4), b"a".to_vec())]);
        }
    }

    proptest! {
        #[test]
        fn a_damaged_record_is_decoded_without_a_panic(place: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
            let mut bytes = record();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            crate::record::fuzz(&bytes);
            crate::record::fuzz(&bytes[..cut.index(bytes.len())]);
        }
    }
}
