//! Tests of the disk engine, used as the coordinator uses it.

mod commits;
mod contract;
mod limit;
mod measures;
mod model;
mod recovery;
mod space;

use super::{BeforeFlush, DiskEngine};
use crate::Options;
use crate::engine::{Engine, Handle, Refusal, Write};
use crate::error::Error;
use crate::ids::{Direction, KeyspaceId, Owner};
use crate::key::{Key, KeyRange};
use crate::order::clock::Timestamp;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;

const KS: KeyspaceId = KeyspaceId(1);

fn no_log() -> BeforeFlush {
    Arc::new(|| Ok(()))
}

fn open_with(path: &Path, options: &Options, before_flush: BeforeFlush) -> DiskEngine {
    let engine = DiskEngine::open(path, 1, options, before_flush).unwrap();
    engine.open_keyspace(KS).unwrap();
    engine
}

fn open(path: &Path) -> DiskEngine {
    open_with(path, &Options::default(), no_log())
}

/// Opens an engine in a directory of its own.
fn engine() -> (tempfile::TempDir, DiskEngine) {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path());
    (directory, engine)
}

fn key(name: impl AsRef<[u8]>) -> Key {
    Key::new(name.as_ref())
}

fn write(name: impl AsRef<[u8]>, value: Option<&str>, since: Timestamp) -> Write {
    let value = value.map(|value| value.as_bytes().into());
    Write { keyspace: KS, key: key(name), value, since, handle: Handle::None }
}

/// Commits rows on a snapshot taken now.
fn commit<K: AsRef<[u8]>>(engine: &DiskEngine, rows: &[(K, Option<&str>)]) -> Timestamp {
    let mut writes: Vec<_>;
    loop {
        let since = engine.clock().horizon();
        writes = rows.iter().map(|(name, value)| write(name, *value, since)).collect();
        engine.enter(true).unwrap();
        match engine.lock(Owner::from(1), &mut writes) {
            Ok(()) => break,
            // Nobody counts this snapshot, so a test may collect above it just now.
            Err(Refusal::Error(Error::TooOld(_))) => engine.leave(),
            Err(refusal) => panic!("{refusal:?}"),
        }
    }
    let at = engine.clock().draw();
    engine.install(&mut writes, at);
    engine.leave();
    engine.clock().publish(at);
    at
}

fn put(engine: &DiskEngine, name: &str, value: &str) -> Timestamp {
    commit(engine, &[(name, Some(value))])
}

fn get(engine: &DiskEngine, name: impl AsRef<[u8]>, at: Timestamp) -> Option<String> {
    let mut value = None;
    let found = engine
        .get(KS, &key(name), at, None, &mut |bytes, _| {
            value = Some(String::from_utf8_lossy(bytes).into_owned())
        })
        .unwrap();
    assert_eq!(found, value.is_some());
    value
}

fn all() -> KeyRange {
    KeyRange::ALL
}

/// Returns up to `most` rows of a scan.
fn scan(
    engine: &DiskEngine,
    range: &KeyRange,
    direction: Direction,
    at: Timestamp,
    most: usize,
) -> Vec<(Vec<u8>, String)> {
    let mut rows = Vec::new();
    engine
        .scan(KS, range, direction, at, &mut |key, value, _| {
            rows.push((key.to_vec(), String::from_utf8_lossy(value).into_owned()));
            if rows.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    rows
}

/// Compacts until nothing is left to do with the current watermark.
fn compact(engine: &DiskEngine) {
    let keyspace = engine.shared.keyspaces.find(KS).unwrap();
    while engine.shared.compact_once(keyspace).unwrap() == super::store::Compaction::Done {}
}
