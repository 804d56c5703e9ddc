//! The model: the rows of each engine after each of its timestamps. From these follow the result of a read, the outcome
//! of a commit, and the states that a power cut may leave.

use super::{Answer, Own, Place, Read, Row, Rows, Write};
use crate::ids::Direction;
use crate::options::Isolation;
use crate::transaction::Savepoint;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the result of a read over these rows.
pub(super) fn answer(read: &Read, rows: &Rows) -> Answer {
    match read {
        Read::Get(place) | Read::GetForUpdate(place) | Read::GetLocked(place) => {
            rows.get(place).map(|row| (place.1, *row)).into_iter().collect()
        }
        Read::Scan { table, by_group, direction, limit, .. } => {
            let mut all: Vec<_> = rows
                .range((*table, i64::MIN)..(*table + 1, i64::MIN))
                .map(|((_, id), row)| (*id, *row))
                .collect();
            if *by_group {
                all.sort_by_key(|(id, row)| (row.0, *id));
            }
            if *direction == Direction::Backward {
                all.reverse();
            }
            all.truncate(*limit);
            all
        }
    }
}

/// Returns the effect of a write on the rows: none if it must be rejected, otherwise the change, if there is one.
pub(super) fn effect(write: &Write, rows: &Rows) -> Option<Option<(Place, Option<Row>)>> {
    let taken = |place: Place, row: Row| {
        row.1.is_some()
            && rows.iter().any(|(other, (_, code))| other.0 == place.0 && *other != place && *code == row.1)
    };
    match write {
        Write::Insert(place, row) => {
            (!rows.contains_key(place) && !taken(*place, *row)).then_some(Some((*place, Some(*row))))
        }
        Write::Upsert(place, row) => (!taken(*place, *row)).then_some(Some((*place, Some(*row)))),
        Write::Change(place) => Some(rows.get(place).map(|row| (*place, Some((row.0 + 1, row.1))))),
        Write::Delete(place) => Some(rows.get(place).map(|_| (*place, None))),
    }
}

/// An engine's history since the database was opened.
#[derive(Debug)]
pub(super) struct Side {
    /// The engine's rows after each timestamp. The first state is the one after opening.
    pub(super) states: Vec<Rows>,
    /// Places written at each timestamp.
    pub(super) writes: Vec<BTreeSet<Place>>,
    /// Codes that appeared or disappeared at each timestamp, by table.
    pub(super) codes: Vec<BTreeSet<(usize, i64)>>,
}

impl Side {
    pub(super) fn new(rows: Rows) -> Self {
        Self { states: vec![rows], writes: vec![BTreeSet::new()], codes: vec![BTreeSet::new()] }
    }

    pub(super) fn now(&self) -> usize {
        self.states.len() - 1
    }

    pub(super) fn newest(&self) -> &Rows {
        &self.states[self.now()]
    }

    pub(super) fn written_since(&self, since: usize) -> impl Iterator<Item = &Place> {
        self.writes[since + 1..].iter().flatten()
    }
}

/// The model's knowledge of an open transaction.
pub(super) struct Open {
    pub(super) isolation: Isolation,
    pub(super) anchor: usize,
    /// Snapshot of the disk engine, once selected.
    pub(super) disk: Option<usize>,
    /// Own writes, and the number of the engine's state on which each rests.
    pub(super) own: BTreeMap<Place, (Option<Row>, usize)>,
    /// Codes that appeared or disappeared with these, by table: entries of the unique index are written too.
    pub(super) own_codes: BTreeMap<(usize, i64), usize>,
    /// Reads, the own writes at that time, and the results.
    pub(super) reads: Vec<(Read, Own, Answer)>,
    /// State of each table that was used, as of the first use.
    pub(super) used: BTreeMap<usize, usize>,
    /// True if the reads are validated before the commit draws its timestamps.
    pub(super) has_many_reads: bool,
    /// Savepoints, and `own`, `own_codes` and the number of locks at that time.
    pub(super) saved: Vec<Saved>,
    /// Rows that the transaction has locked, oldest first.
    pub(super) locks: Vec<Place>,
}

type Saved = (Savepoint, BTreeMap<Place, (Option<Row>, usize)>, BTreeMap<(usize, i64), usize>, usize);

impl Open {
    /// Returns the reads that must still be current at the commit.
    pub(super) fn validated(&self) -> impl Iterator<Item = &(Read, Own, Answer)> {
        let all = self.isolation == Isolation::Serializable;
        let is_validated = |read: &Read| matches!(read, Read::GetForUpdate(_) | Read::GetLocked(_));
        self.reads.iter().filter(move |(read, ..)| all || is_validated(read))
    }
}

pub(super) fn engine(table: usize) -> usize {
    table % 2
}

pub(super) fn over(rows: &Rows, own: impl IntoIterator<Item = (Place, Option<Row>)>) -> Rows {
    let mut rows = rows.clone();
    for (place, row) in own {
        match row {
            Some(row) => rows.insert(place, row),
            None => rows.remove(&place),
        };
    }
    rows
}

pub(super) struct World {
    pub(super) sides: [Side; 2],
    /// Entries: anchor timestamp, the largest disk timestamp for older snapshots, the smallest for the others.
    pub(super) pairs: Vec<(usize, usize, usize)>,
    /// Timestamps of both engines after each commit.
    pub(super) history: Vec<(usize, usize)>,
    /// Timestamps of the last commit that is certainly durable.
    pub(super) acknowledged: (usize, usize),
}

impl World {
    pub(super) fn new([hot, cold]: [Rows; 2]) -> Self {
        let sides = [Side::new(hot), Side::new(cold)];
        Self { sides, pairs: Vec::new(), history: vec![(0, 0)], acknowledged: (0, 0) }
    }

    /// Returns the state of an engine that a transaction sees.
    pub(super) fn view(&mut self, open: &mut Open, engine: usize) -> usize {
        if open.isolation == Isolation::ReadCommitted {
            return self.sides[engine].now();
        }
        if engine == 0 {
            return open.anchor;
        }
        *open.disk.get_or_insert_with(|| {
            let at = open.anchor;
            let low = self.pairs.iter().filter(|pair| pair.0 <= at).map(|pair| pair.2).max().unwrap_or(0);
            let high = self.pairs.iter().filter(|pair| pair.0 > at).map(|pair| pair.1).min();
            let horizon = self.sides[1].now();
            let choice = high.map_or(horizon, |high| high.min(horizon)).max(low);
            self.pairs.push((at, choice, choice));
            choice
        })
    }

    /// Locks a row that nobody has locked. Returns true if it was committed since what the transaction has seen of it.
    /// Unless the snapshot is fixed, the transaction takes a new one.
    pub(super) fn lock(&mut self, open: &mut Open, place: Place, fixed: bool) -> bool {
        let since = match open.own.get(&place) {
            Some((_, since)) => *since,
            None => {
                if !fixed {
                    (open.anchor, open.disk) = (self.sides[0].now(), None);
                }
                self.view(open, engine(place.0))
            }
        };
        open.locks.push(place);
        self.sides[engine(place.0)].written_since(since).any(|written| *written == place)
    }

    /// Returns true if one of the transaction's writes is of a row that was committed since the state on which it
    /// rests.
    pub(super) fn is_overtaken(&self, open: &Open) -> bool {
        let rows = open.own.iter().any(|(place, (_, since))| {
            self.sides[engine(place.0)].written_since(*since).any(|written| written == place)
        });
        rows || open.own_codes.iter().any(|(code, since)| {
            self.sides[engine(code.0)].codes[since + 1..].iter().flatten().any(|written| written == code)
        })
    }

    /// Returns true if anything changed in a table that the transaction used.
    pub(super) fn may_conflict(&self, open: &Open) -> bool {
        open.used.iter().any(|(table, since)| {
            self.sides[engine(*table)].written_since(*since).any(|written| written.0 == *table)
        })
    }

    /// Returns true if one of the transaction's validated reads would have another result now.
    pub(super) fn is_stale(&self, open: &Open) -> bool {
        open.validated().any(|(read, own, result)| {
            let rows = over(self.sides[engine(read.table())].newest(), own.clone());
            answer(read, &rows) != *result
        })
    }

    /// Draws the timestamps of a commit. If `commits`, applies the transaction's writes; an aborted commit changes
    /// nothing.
    pub(super) fn stamp(&mut self, open: &Open, commits: bool) {
        let mut touched = [false; 2];
        open.own.keys().for_each(|place| touched[engine(place.0)] = true);
        if open.isolation == Isolation::Serializable {
            open.used.keys().for_each(|table| touched[engine(*table)] = true);
        }
        open.validated().for_each(|(read, ..)| touched[engine(read.table())] = true);
        for (number, side) in self.sides.iter_mut().enumerate().filter(|(number, _)| touched[*number]) {
            let own = open.own.iter().filter(|(place, _)| commits && engine(place.0) == number);
            let rows = over(side.newest(), own.clone().map(|(place, (row, _))| (*place, *row)));
            side.states.push(rows);
            side.writes.push(own.map(|(place, _)| *place).collect());
            let codes = open.own_codes.keys().filter(|code| commits && engine(code.0) == number);
            side.codes.push(codes.copied().collect());
        }
        let now = (self.sides[0].now(), self.sides[1].now());
        if touched == [true; 2] {
            self.pairs.push((now.0, now.1 - 1, now.1));
        }
        if commits {
            self.history.push(now);
        }
    }

    /// Notes that all commits are durable.
    pub(super) fn acknowledge(&mut self) {
        self.acknowledged = self.history.last().copied().unwrap_or_default();
    }

    /// Returns true if a power cut may leave these rows.
    pub(super) fn may_leave(&self, rows: &[Rows; 2]) -> bool {
        let fits = |a: usize, d: usize| {
            a >= self.acknowledged.0
                && d >= self.acknowledged.1
                && self.sides[0].states[a] == rows[0]
                && self.sides[1].states[d] == rows[1]
        };
        self.history.iter().any(|(a, d)| fits(*a, *d))
    }
}
