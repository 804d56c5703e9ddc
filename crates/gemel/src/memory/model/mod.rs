//! A model check of versions, records, garbage and hidden commits. It compiles the same files with a model checker's
//! locks and atomics, and with a reclamation that frees as early as possible. Threads read at snapshots, commit or give
//! up, and collect garbage. The checker runs them in many orders of their steps.
//!
//! The check verifies in every order: each reader gets the newest version at or before its snapshot; nobody reaches a
//! freed version, and none is freed twice or never; a writer that gets a lock has missed no commit; a validated read is
//! still current; each record is removed once; and at the end the index has the right keys, with one version each.
//!
//! Timestamps are drawn and published, and watermarks are computed, in one step each: `order/model` is about those. The
//! checker knows one order of all steps only.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "the model uses a part of the files, with other locks"
)]

#[path = "../../mvcc/garbage.rs"]
mod garbage;
#[path = "../../mvcc/hidden.rs"]
mod hidden;
#[path = "../index.rs"]
mod index;
#[path = "../../mvcc/record.rs"]
mod record;
#[path = "../../mvcc/stamp.rs"]
mod stamp;
mod sync;
mod tree;
#[path = "../../mvcc/version.rs"]
mod version;

use crate::ids::KeyspaceId;
use crate::key::Key;
use crate::model_checker;
use crate::order::clock::Timestamp;
use garbage::{Batch, Deleted, Garbage};
use hidden::Hidden;
use index::Index;
use record::RecordRef;
use shuttle::thread;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sync::Pin;
use version::{Draft, Retired};

const KEYSPACE: KeyspaceId = KeyspaceId(1);

/// Bytes that wait to be freed.
#[derive(Default)]
struct Counters(Mutex<u64>);

impl Counters {
    fn add(&self, _: u64) {}

    fn note_retired(&self, bytes: u64) {
        *self.0.lock().unwrap() += bytes;
    }

    fn note_freed(&self, bytes: u64) {
        *self.0.lock().unwrap() -= bytes;
    }
}

/// A commit of a key.
#[derive(Clone, Copy, Debug)]
struct Commit {
    at: u64,
    key: u8,
    /// Second byte of the value that the commit writes; none if it deletes the key.
    value: Option<u8>,
}

/// The order of commits, and who reads. Nobody is interrupted while using it.
#[derive(Default)]
struct Order {
    commits: Vec<Commit>,
    drawn: u64,
    published: BTreeSet<u64>,
    horizon: u64,
    /// Snapshots of the running transactions, with their number.
    snapshots: BTreeMap<u64, usize>,
}

impl Order {
    /// Returns the newest commit of a key at or before a snapshot.
    fn newest(&self, key: u8, at: u64) -> Option<Commit> {
        self.commits.iter().rev().find(|commit| commit.key == key && commit.at <= at).copied()
    }

    /// Draws a timestamp for a commit of some keys. `value` gets the timestamp.
    fn draw(&mut self, keys: &[u8], value: impl Fn(u64) -> Option<u8>) -> u64 {
        self.drawn += 1;
        let at = self.drawn;
        self.commits.extend(keys.iter().map(|key| Commit { at, key: *key, value: value(at) }));
        at
    }

    fn publish(&mut self, at: u64) {
        self.published.insert(at);
        while self.published.remove(&(self.horizon + 1)) {
            self.horizon += 1;
        }
    }
}

struct World {
    index: Index,
    garbage: Garbage,
    counters: Arc<Counters>,
    order: Mutex<Order>,
    /// Records inserted, minus records removed.
    records: Mutex<usize>,
}

/// Returns the value that a commit writes.
fn value(commit: Commit) -> Option<[u8; 2]> {
    commit.value.map(|value| [commit.key, value])
}

/// Makes a value in one of the two forms.
fn draft(owner: u32, value: &[u8]) -> Draft {
    if owner.is_multiple_of(2) { Draft::first(value) } else { Draft::from(value) }
}

impl World {
    fn new() -> Arc<Self> {
        sync::begin();
        Arc::new(Self {
            index: Index::new(),
            garbage: Garbage::default(),
            counters: Arc::default(),
            order: Mutex::default(),
            records: Mutex::default(),
        })
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a transaction. Returns its snapshot.
    fn begin(&self) -> u64 {
        let mut order = self.order();
        let snapshot = order.horizon;
        *order.snapshots.entry(snapshot).or_default() += 1;
        snapshot
    }

    fn end(&self, snapshot: u64) {
        let mut order = self.order();
        let count = order.snapshots.get_mut(&snapshot).unwrap();
        *count -= 1;
        if *count == 0 {
            order.snapshots.remove(&snapshot);
        }
    }

    fn watermark(&self) -> Timestamp {
        let order = self.order();
        Timestamp(order.snapshots.keys().next().copied().unwrap_or(order.horizon))
    }

    /// Reads a key at a snapshot, and holds the value for a while. Returns the record.
    fn read(&self, key: u8, snapshot: u64) -> Option<RecordRef> {
        let expected = self.order().newest(key, snapshot);
        let read = |record: &RecordRef| {
            let pin = Pin::new();
            let seen = record.versions.at(Timestamp(snapshot), &pin);
            thread::yield_now();
            (seen.and_then(|seen| seen.value.map(<[u8]>::to_vec)), record.clone())
        };
        let found = self.index.get(&Key::new(&[key]), read);
        let (found, record) = found.unzip();
        let bytes = expected.and_then(value).map(Vec::from);
        assert_eq!(found.flatten(), bytes, "key {key} at snapshot {snapshot}");
        record
    }

    /// Runs a transaction that reads a key and another one, and writes the first: a value, a deletion, or none to give
    /// up. Then it validates the read of the other.
    fn write(&self, owner: u32, [key, other]: [u8; 2], written: Option<bool>) {
        let snapshot = self.begin();
        // A transaction may keep the handle of a read, or look for the key again.
        let known = self.read(key, snapshot).filter(|_| owner.is_multiple_of(2));
        self.read(other, snapshot);
        let name = Key::new(&[key]);
        let since = Timestamp(snapshot);
        let locked = index::lock(&self.index, &name, known, owner, since, &Pin::new());
        if let Ok((record, new)) = locked {
            *self.records.lock().unwrap() += usize::from(new);
            let newest = self.order().newest(key, u64::MAX);
            assert!(newest.is_none_or(|newest| newest.at <= snapshot), "{newest:?} was missed at {snapshot}");
            match written {
                Some(value) => self.install(owner, key, record, value, (other, since)),
                None => self.give_up(&name, &record),
            }
        }
        self.end(snapshot);
    }

    fn give_up(&self, name: &Key, record: &RecordRef) {
        let removed = index::give_up(&self.index, name, record);
        *self.records.lock().unwrap() -= usize::from(removed);
    }

    fn install(&self, owner: u32, key: u8, record: RecordRef, wrote: bool, read: (u8, Timestamp)) {
        let at = self.order().draw(&[key], |at| wrote.then_some(at as u8));
        let (other, since) = read;
        let is_unchanged = |record: &RecordRef| record.is_unchanged(owner, since, &Pin::new());
        if self.index.get(&Key::new(&[other]), is_unchanged).unwrap_or(true) && other != key {
            let newest = self.order().newest(other, at);
            assert!(newest.is_none_or(|newest| newest.at <= since.0), "{newest:?} was missed by validation");
        }
        let commit = Commit { at, key, value: wrote.then_some(at as u8) };
        let draft = value(commit).map(|value| draft(owner, &value));
        let first = index::install(&record, Timestamp(at), draft);
        let mut batch = Batch::new(Timestamp(at));
        if !wrote {
            batch.deleted.push(Deleted { keyspace: KEYSPACE, key: Key::new(&[key]), record });
        } else if !first {
            batch.updated.push(record);
        }
        if batch.len() > 0 {
            self.garbage.push(batch);
        }
        self.order().publish(at);
    }

    /// Runs a large transaction that writes keys, and draws its timestamp only after it has installed them; or deletes
    /// them, or none to give up.
    fn write_hidden(&self, owner: u32, keys: &[u8], written: Option<bool>) {
        let snapshot = self.begin();
        let since = Timestamp(snapshot);
        let mut locked = Vec::new();
        for key in keys {
            match index::lock(&self.index, &Key::new(&[*key]), None, owner, since, &Pin::new()) {
                Ok((record, new)) => {
                    *self.records.lock().unwrap() += usize::from(new);
                    locked.push((*key, record));
                }
                Err(_) => break,
            }
        }
        if locked.len() == keys.len() {
            self.install_hidden(owner, &mut locked, written, since);
        }
        for (key, record) in locked {
            self.give_up(&Key::new(&[key]), &record);
        }
        self.end(snapshot);
    }

    /// Leaves those records that are still locked.
    fn install_hidden(
        &self,
        owner: u32,
        locked: &mut Vec<(u8, RecordRef)>,
        written: Option<bool>,
        since: Timestamp,
    ) {
        let mut hidden = Hidden::new();
        let tag = written.unwrap_or(true).then_some(100 + owner as u8);
        for (key, record) in &*locked {
            let first = record.versions.is_empty();
            let bytes = tag.map(|tag| [*key, tag]);
            record.versions.push_hidden(hidden.mark, bytes.map(|value| draft(owner, &value)));
            // The owner's own reads are still current.
            assert!(record.is_unchanged(owner, since, &Pin::new()), "key {key}");
            if tag.is_none() {
                let (keyspace, key, record) = (KEYSPACE, Key::new(&[*key]), record.clone());
                hidden.garbage.deleted.push(Deleted { keyspace, key, record });
            } else if !first {
                hidden.garbage.updated.push(record.clone());
            }
        }
        if written.is_none() {
            let mut retired = Retired::new(&self.counters);
            for (key, record) in &*locked {
                let value = record.versions.take_back(&Pin::new(), &mut retired);
                assert_eq!(value.as_deref(), tag.map(|tag| [*key, tag]).as_ref().map(|value| &value[..]));
            }
            // SAFETY: no version is left.
            drop(unsafe { hidden.free() });
            return;
        }
        let keys: Vec<_> = locked.iter().map(|(key, _)| *key).collect();
        let at = self.order().draw(&keys, |_| tag);
        hidden.reveal(Timestamp(at));
        self.order().publish(at);
        for (_, record) in locked.drain(..) {
            index::settle(&record, Timestamp(at));
        }
        // SAFETY: each version has its timestamp now.
        let mut garbage = unsafe { hidden.free() };
        garbage.timestamp = Timestamp(at);
        self.garbage.push(garbage);
    }

    fn collect(&self) {
        let watermark = self.watermark();
        let mut again = Vec::new();
        let mut retired = Retired::new(&self.counters);
        self.garbage.pop(watermark, 4, |batch| {
            let index_of = |_| Some(&self.index);
            let removed = |_: &Key| *self.records.lock().unwrap() -= 1;
            let collected = index::collect(batch, watermark, index_of, removed, &mut retired);
            if collected.waiting.len() > 0 {
                again.push(collected.waiting);
            }
        });
        again.into_iter().for_each(|batch| self.garbage.push(batch));
    }

    /// Collects the rest, and checks what is left.
    fn finish(self: Arc<Self>, keys: u8) {
        while !self.garbage.is_empty() {
            self.collect();
        }
        let mut left = 0;
        for key in 0..keys {
            let newest = self.order().newest(key, u64::MAX).filter(|newest| newest.value.is_some());
            // The record frees its version with its last handle.
            let count = |record: &RecordRef| {
                let versions = record.versions.versions(&Pin::new()).count();
                assert_eq!(versions, 1, "versions of key {key}");
            };
            let horizon = self.order().horizon;
            self.read(key, horizon);
            let found = self.index.get(&Key::new(&[key]), count);
            assert_eq!(found.is_some(), newest.is_some(), "key {key}");
            left += usize::from(newest.is_some());
        }
        assert_eq!((self.index.len(), *self.records.lock().unwrap()), (left, left), "records");
        let world = Arc::into_inner(self).unwrap();
        let counters = Arc::clone(&world.counters);
        drop(world);
        assert_eq!(*counters.0.lock().unwrap(), 0, "bytes that were not freed");
        sync::end();
    }
}

/// The work of a thread.
type Work = Box<dyn FnOnce(&World) + Send>;

/// Writes a key, then runs threads until all have ended, and checks what is left of the keys.
fn run(keys: u8, before: &[Option<bool>], work: Vec<Work>) {
    let world = World::new();
    for written in before {
        world.write(1, [0, 1], *written);
    }
    let threads: Vec<_> = work
        .into_iter()
        .map(|work| {
            let world = Arc::clone(&world);
            thread::spawn(move || work(&world))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    world.finish(keys);
}

fn work(work: impl FnOnce(&World) + Send + 'static) -> Work {
    Box::new(work)
}

fn writes(owner: u32, writes: &'static [([u8; 2], Option<bool>)]) -> Work {
    work(move |world| {
        for (keys, written) in writes {
            world.write(owner, *keys, *written);
        }
    })
}

fn reads(keys: &'static [u8]) -> Work {
    work(move |world| {
        let snapshot = world.begin();
        for key in keys {
            world.read(*key, snapshot);
        }
        world.end(snapshot);
    })
}

fn collects(times: u32) -> Work {
    work(move |world| (0..times).for_each(|_| world.collect()))
}

const PUT: Option<bool> = Some(true);
const DELETE: Option<bool> = Some(false);
const GIVE_UP: Option<bool> = None;

/// A key is deleted and written again, while two threads collect and one reads.
fn deletions() {
    run(
        2,
        &[PUT, PUT],
        vec![
            writes(3, &[([0, 1], DELETE), ([0, 1], PUT)]),
            writes(4, &[([0, 1], PUT), ([0, 1], DELETE)]),
            reads(&[0, 0]),
            collects(2),
            collects(2),
        ],
    );
}

/// A key is deleted already. It is collected while others read it, write it, or lock it and give up.
fn tombstone() {
    run(
        1,
        &[PUT, DELETE],
        vec![
            reads(&[0, 0]),
            writes(3, &[([0, 0], GIVE_UP), ([0, 0], GIVE_UP)]),
            writes(4, &[([0, 0], PUT)]),
            collects(1),
            collects(1),
        ],
    );
}

/// Keys that were not there are written, deleted and given up by several threads.
fn insertions() {
    run(
        3,
        &[PUT],
        vec![
            writes(3, &[([1, 2], PUT), ([1, 2], DELETE), ([2, 1], GIVE_UP)]),
            writes(4, &[([1, 2], GIVE_UP), ([2, 1], PUT)]),
            writes(6, &[([2, 1], PUT), ([1, 2], PUT)]),
            reads(&[1, 2, 1]),
            collects(3),
        ],
    );
}

/// A key gets many versions, while transactions at several snapshots read it.
fn updates() {
    run(
        1,
        &[PUT, PUT],
        vec![
            writes(3, &[([0, 0], PUT), ([0, 0], PUT), ([0, 0], PUT)]),
            reads(&[0, 0]),
            reads(&[0, 0]),
            collects(2),
            collects(2),
        ],
    );
}

/// Large commits write, delete and give up keys, while others read, write and collect them.
fn large_commits() {
    run(
        2,
        &[PUT, PUT],
        vec![
            work(|world| world.write_hidden(3, &[0, 1], PUT)),
            work(|world| {
                world.write_hidden(4, &[1, 0], GIVE_UP);
                world.write_hidden(5, &[1, 0], DELETE);
            }),
            writes(6, &[([0, 1], PUT), ([1, 0], DELETE)]),
            reads(&[0, 1, 0]),
            reads(&[1, 0]),
            collects(2),
        ],
    );
}

fn check(scene: impl Fn() + Copy + Send + Sync + 'static) {
    model_checker::check(50_000, scene);
}

#[test]
fn a_key_that_is_deleted_and_written_again_is_removed_once_and_never_lost() {
    check(deletions);
}

#[test]
fn a_deleted_key_is_collected_once_whoever_reads_or_locks_it_meanwhile() {
    check(tombstone);
}

#[test]
fn a_key_that_several_transactions_insert_or_give_up_is_locked_by_one() {
    check(insertions);
}

#[test]
fn the_versions_of_a_large_commit_are_seen_all_at_once_or_not_at_all() {
    check(large_commits);
}

#[test]
fn readers_find_their_versions_while_others_are_cut() {
    check(updates);
}
