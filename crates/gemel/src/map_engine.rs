//! An engine of a few lines, for tests: a map under a mutex. It shows how little Skeena needs of an engine, serves as
//! the third engine, and is the plain model for the real ones.

use crate::draw::{EachDrawn, Random};
use crate::engine::{Clash, Each, Engine, Found, Handle, Refusal, Write};
use crate::error::{Conflict, Result};
use crate::ids::{Direction, KeyspaceId, Owner};
use crate::key::{Key, KeyRange};
use crate::mvcc::Draft;
use crate::order::clock::{Clock, Timestamp};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::OnceLock;

#[derive(Default)]
struct Cell {
    owner: u64,
    /// Versions by ascending timestamp.
    versions: Vec<(Timestamp, Option<Draft>)>,
}

impl Cell {
    fn newest(&self) -> Timestamp {
        self.versions.last().map_or(Timestamp::ZERO, |(at, _)| *at)
    }

    fn at(&self, at: Timestamp) -> Option<(&[u8], Timestamp)> {
        let index = self.versions.partition_point(|(written, _)| *written <= at).checked_sub(1)?;
        let (written, value) = &self.versions[index];
        value.as_deref().map(|value| (value, *written))
    }
}

/// A plain engine for tests. The module's comment describes it.
pub(crate) struct MapEngine {
    name: &'static str,
    clock: Clock,
    cells: Mutex<BTreeMap<(KeyspaceId, Key), Cell>>,
    /// Called at the begin of each install, for tests that stop a commit there.
    pub(crate) before_install: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl MapEngine {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            clock: Clock::new(Timestamp::ZERO),
            cells: Mutex::default(),
            before_install: OnceLock::new(),
        }
    }

    pub(crate) fn versions(&self) -> usize {
        self.cells.lock().values().map(|cell| cell.versions.len()).sum()
    }
}

impl Engine for MapEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn open_keyspace(&self, _: KeyspaceId) -> Result<()> {
        Ok(())
    }

    fn drop_keyspace(&self, keyspace: KeyspaceId) -> Result<()> {
        let is_locked = || self.cells.lock().iter().any(|((of, _), cell)| *of == keyspace && cell.owner != 0);
        while is_locked() {
            std::thread::yield_now();
        }
        self.cells.lock().retain(|(of, _), _| *of != keyspace);
        Ok(())
    }

    fn get(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        at: Timestamp,
        _: Option<&mut Handle>,
        found: &mut Found<'_>,
    ) -> Result<bool> {
        let cells = self.cells.lock();
        let Some((value, written)) = cells.get(&(keyspace, key.clone())).and_then(|cell| cell.at(at)) else {
            return Ok(false);
        };
        found(value, written);
        Ok(true)
    }

    fn draw(
        &self,
        keyspace: KeyspaceId,
        draws: u64,
        at: Timestamp,
        random: &mut Random,
        each: &mut EachDrawn<'_>,
    ) -> Result<()> {
        let cells = self.cells.lock();
        let cells: Vec<_> = cells.iter().filter(|((of, _), _)| *of == keyspace).collect();
        for _ in 0..draws {
            if cells.is_empty() {
                break;
            }
            let ((_, key), cell) = cells[random.below(cells.len() as u64) as usize];
            if let Some((value, _)) = cell.at(at) {
                key.with(|key| each(key, value, cells.len() as f64));
            }
        }
        Ok(())
    }

    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        direction: Direction,
        at: Timestamp,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let cells = self.cells.lock();
        let mut rows: Vec<_> = cells
            .iter()
            .filter(|((of, key), _)| *of == keyspace && range.contains(key))
            .filter_map(|((_, key), cell)| {
                cell.at(at).map(|(value, written)| (key.to_vec(), value.to_vec(), written))
            })
            .collect();
        drop(cells);
        if direction == Direction::Backward {
            rows.reverse();
        }
        for (key, value, written) in rows {
            if each(&key, &value, written).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn lock(&self, owner: Owner, writes: &mut [Write]) -> Result<(), Refusal> {
        let mut cells = self.cells.lock();
        for (number, write) in writes.iter().enumerate() {
            let cell = cells.entry((write.keyspace, write.key.clone())).or_default();
            let kind = match (cell.owner != 0, cell.newest() > write.since) {
                (true, _) => Conflict::Locked,
                (_, true) => Conflict::Write,
                _ => continue,
            };
            return Err(Refusal::Clash(Clash { kind, keyspace: write.keyspace, number }));
        }
        for write in writes {
            cells.entry((write.keyspace, write.key.clone())).or_default().owner = owner.number;
        }
        Ok(())
    }

    fn find_conflict(
        &self,
        owner: Owner,
        keyspace: KeyspaceId,
        key: &Key,
        since: Timestamp,
    ) -> Result<Option<Conflict>> {
        let cells = self.cells.lock();
        let cell = cells.get(&(keyspace, key.clone()));
        Ok(cell.and_then(|cell| match cell.owner {
            other if other != 0 && other != owner.number => Some(Conflict::Locked),
            _ => (cell.newest() > since).then_some(Conflict::Write),
        }))
    }

    fn validate_range(
        &self,
        owner: Owner,
        keyspace: KeyspaceId,
        range: &KeyRange,
        since: Timestamp,
    ) -> Result<bool> {
        let cells = self.cells.lock();
        let mut inside = cells.iter().filter(|((of, key), _)| *of == keyspace && range.contains(key));
        Ok(inside.all(|(_, cell)| (cell.owner == 0 || cell.owner == owner.number) && cell.newest() <= since))
    }

    fn install(&self, writes: &mut [Write], at: Timestamp) {
        if let Some(before) = self.before_install.get() {
            before();
        }
        let mut cells = self.cells.lock();
        for write in writes {
            let cell = cells.entry((write.keyspace, write.key.clone())).or_default();
            cell.versions.push((at, write.value.take()));
            cell.owner = 0;
        }
    }

    fn give_up(&self, writes: &mut [Write]) {
        let mut cells = self.cells.lock();
        for write in writes {
            cells.entry((write.keyspace, write.key.clone())).or_default().owner = 0;
        }
    }

    fn collect(&self, watermark: Timestamp) {
        for cell in self.cells.lock().values_mut() {
            let newest_needed = cell.versions.partition_point(|(at, _)| *at <= watermark);
            cell.versions.drain(..newest_needed.saturating_sub(1));
        }
    }
}
