//! Workloads with histories that can be checked. Equal seeds give equal transactions, and every value is new.

use super::model::{Key, KeyId};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::RangeInclusive;

/// Use of the keys of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// Lists: values are appended, and a read returns the whole list. Proves the most.
    ListAppend,
    /// Registers: values overwrite each other, and a read returns the last one.
    Register,
}

/// Settings of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Lists or registers.
    pub kind: WorkloadKind,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Keys in use at any time. Few keys make many conflicts.
    pub keys: u32,
    /// Writes after which a key is retired and a new one takes its place, so that lists stay short.
    pub writes_per_key: u32,
    /// Skew of the keys: 0 is uniform; at 1 the first of n keys is used n times as often as the last.
    pub skew: f64,
    /// Operations per transaction.
    pub operations: RangeInclusive<u32>,
    /// Share of operations that read, 0 to 1.
    pub reads: f64,
    /// Share of transactions that the client rolls back at the end, 0 to 1.
    pub rollbacks: f64,
    /// Engines that get the keys in turn; empty if that does not matter.
    pub engines: Vec<String>,
    /// One in this many keys of an engine is a range of rows, whatever the kind; 0 for no ranges. Rows are inserted, and
    /// a read returns those of the whole range: a predicate.
    pub range_every: u32,
}

impl Workload {
    /// Returns a workload with many conflicts: ten keys, one to six operations, half of them reads.
    #[must_use]
    pub fn new(kind: WorkloadKind, seed: u64) -> Self {
        Self {
            kind,
            seed,
            keys: 10,
            writes_per_key: 64,
            skew: 0.0,
            operations: 1..=6,
            reads: 0.5,
            rollbacks: 0.0,
            engines: Vec::new(),
            range_every: 0,
        }
    }
}

/// Error of a workload that cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("history workload: {what} is {value}: choose {choose}")]
pub struct WorkloadError {
    what: &'static str,
    value: String,
    choose: &'static str,
}

/// An operation to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Append the value to the list; a key that does not exist is the empty list.
    Append(KeyId, u64),
    /// Write the value to the register.
    Write(KeyId, u64),
    /// Insert a row with the value into the range.
    Insert(KeyId, u64),
    /// Read the whole list.
    ReadList(KeyId),
    /// Read the register; one never written is nil.
    ReadRegister(KeyId),
    /// Read the values of all rows in the range.
    ReadRange(KeyId),
}

impl Request {
    /// Returns the key of the operation.
    #[must_use]
    pub fn key(self) -> KeyId {
        match self {
            Self::Append(key, _)
            | Self::Write(key, _)
            | Self::Insert(key, _)
            | Self::ReadList(key)
            | Self::ReadRegister(key)
            | Self::ReadRange(key) => key,
        }
    }
}

/// A transaction to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Operations in their order.
    pub requests: Vec<Request>,
    /// True to roll back instead of committing.
    pub rolls_back: bool,
}

/// Generator of transactions.
#[derive(Clone, Debug)]
pub struct Generator {
    workload: Workload,
    random: Xoshiro256PlusPlus,
    keys: Vec<Key>,
    /// True for each key that is a range.
    ranges: Vec<bool>,
    /// Keys in use, with their numbers of writes.
    slots: Vec<(KeyId, u32)>,
    /// Cumulative share of the uses, by slot.
    shares: Vec<f64>,
}

impl Generator {
    /// Returns a new generator.
    ///
    /// # Errors
    /// Fails at the first value that is out of range.
    pub fn new(workload: Workload) -> Result<Self, WorkloadError> {
        let bad = |what, value: String, choose| Err(WorkloadError { what, value, choose });
        let share = 0.0..=1.0;
        if workload.keys == 0 {
            return bad("keys", "0".into(), "one or more");
        }
        if workload.writes_per_key == 0 {
            return bad("writes_per_key", "0".into(), "one or more");
        }
        if !(0.0..=10.0).contains(&workload.skew) {
            return bad("skew", workload.skew.to_string(), "0 to 10");
        }
        if workload.operations.is_empty() || *workload.operations.start() == 0 {
            return bad(
                "operations",
                format!("{:?}", workload.operations),
                "a range that begins at 1 or more",
            );
        }
        if !share.contains(&workload.reads) {
            return bad("reads", workload.reads.to_string(), "0 to 1");
        }
        if !share.contains(&workload.rollbacks) {
            return bad("rollbacks", workload.rollbacks.to_string(), "0 to 1");
        }
        if let Some(engine) = workload.engines.iter().find(|name| name.is_empty() || name.contains('@')) {
            return bad("an engine's name", format!("`{engine}`"), "a name without an @");
        }
        let weights: Vec<f64> =
            (1..=workload.keys).map(|rank| f64::from(rank).powf(-workload.skew)).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let shares = weights
            .iter()
            .map(|weight| {
                sum += weight / total;
                sum
            })
            .collect();
        let random = Xoshiro256PlusPlus::seed_from_u64(workload.seed);
        let slots = Vec::with_capacity(workload.keys as usize);
        let mut generator = Self { workload, random, keys: Vec::new(), ranges: Vec::new(), slots, shares };
        for slot in 0..generator.workload.keys as usize {
            let key = generator.new_key(slot);
            generator.slots.push((key, 0));
        }
        Ok(generator)
    }

    /// Returns all keys so far; the number of a key is its place.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Draws the next transaction.
    pub fn transaction(&mut self) -> Generated {
        let (low, high) = (*self.workload.operations.start(), *self.workload.operations.end());
        let count = low + (self.fraction() * f64::from(high - low + 1)) as u32;
        let requests = (0..count.min(high)).map(|_| self.request()).collect();
        let rolls_back = self.fraction() < self.workload.rollbacks;
        Generated { requests, rolls_back }
    }

    /// Returns transactions that read every key so far, one key each. At the end of a run they show lost writes.
    #[must_use]
    pub fn final_reads(&self) -> Vec<Generated> {
        (0..self.keys.len() as u32).map(|at| self.final_read(KeyId(at))).collect()
    }

    /// Returns the transaction that reads one key at the end.
    #[must_use]
    pub fn final_read(&self, key: KeyId) -> Generated {
        Generated { requests: vec![self.read(key)], rolls_back: false }
    }

    fn read(&self, key: KeyId) -> Request {
        match self.workload.kind {
            _ if self.ranges[key.0 as usize] => Request::ReadRange(key),
            WorkloadKind::ListAppend => Request::ReadList(key),
            WorkloadKind::Register => Request::ReadRegister(key),
        }
    }

    fn request(&mut self) -> Request {
        let at = self.fraction();
        let slot = self.shares.partition_point(|share| *share <= at).min(self.slots.len() - 1);
        let (key, writes) = self.slots[slot];
        if self.fraction() < self.workload.reads {
            return self.read(key);
        }
        // The values of a key count from 1, which keeps explanations readable.
        let value = u64::from(writes) + 1;
        self.slots[slot].1 += 1;
        if writes + 1 >= self.workload.writes_per_key {
            self.slots[slot] = (self.new_key(slot), 0);
        }
        match self.workload.kind {
            _ if self.ranges[key.0 as usize] => Request::Insert(key, value),
            WorkloadKind::ListAppend => Request::Append(key, value),
            WorkloadKind::Register => Request::Write(key, value),
        }
    }

    /// Adds a new key for a slot. The engine of a slot stays the same, and with it the balance of the engines; and so
    /// does its use as a range.
    fn new_key(&mut self, slot: usize) -> KeyId {
        let number = self.keys.len();
        let engines = &self.workload.engines;
        let engine = engines.get(slot.checked_rem(engines.len()).unwrap_or(0)).cloned();
        let in_engine = slot / engines.len().max(1) + 1;
        let is_range =
            self.workload.range_every > 0 && in_engine.is_multiple_of(self.workload.range_every as usize);
        let name = if is_range { format!("range{number}") } else { format!("k{number}") };
        self.keys.push(Key { name, engine });
        self.ranges.push(is_range);
        KeyId(number as u32)
    }

    /// Draws a number from 0 up to but not 1.
    fn fraction(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws a number from 0 up to but not `bound`, for the choice of the next client.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((self.fraction() * bound as f64) as usize).min(bound.saturating_sub(1))
    }
}
