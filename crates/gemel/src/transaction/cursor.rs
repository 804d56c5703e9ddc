//! Cursors: scans that stop after each key and turn back.

use super::Transaction;
use super::given::{checked_length, checked_range};
use super::scanned::Walk;
use super::writes::Writes;
use crate::error::{Error, Result};
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::keyspace::Keyspace;
use crate::options::Isolation;
use crate::order::clock::Timestamp;
use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow, Range};

/// Maximum number of rows that a cursor reads ahead. The first batch is one row, because many cursors want one row, and
/// the commit of a serializable transaction validates everything that was read.
const BATCH_ROWS: usize = 256;
const BATCH_GROWTH: usize = 4;
/// A batch ends once it has this many bytes, so large values are not read ahead.
const BATCH_BYTES: usize = 1 << 16;
/// Maximum number of own writes whose keys a cursor looks up at once. The first look is for one key: a transaction that
/// writes a new key at each step looks at each step.
const OWN_KEYS: usize = 64;

/// A key and its value.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// A place between two keys of a range. A transaction can walk from it forward and back.
///
/// [`Cursor::next`] passes the key after the place and returns it, [`Cursor::prev`] passes and returns the key before
/// it. So `prev` after `next` returns the same key again. The key and its value can be used until the next call. A
/// cursor does not hold the transaction: there may be several cursors, and reads and writes in between.
///
/// Each call sees the transaction's own writes up to then. Committed rows are read in batches that grow. At
/// [`Isolation::Serializable`] the commit validates what was read in batches: at most 255 rows beyond the last one
/// returned. At [`Isolation::ReadCommitted`] each call sees the newest commits, so it reads anew if there is a new one.
///
/// ```
/// # fn main() -> gemel::Result<()> {
/// # use gemel::{Database, Engine, Isolation, Options};
/// # use std::ops::Bound;
/// # let directory = tempfile::tempdir().unwrap();
/// # let db = Database::open(directory.path().join("db"), Options::default())?;
/// # let jobs = db.keyspace("jobs", Engine::Memory)?;
/// let mut transaction = db.begin(Isolation::Snapshot)?;
/// for (key, job) in [("1", "wash"), ("2", "dry"), ("3", "fold")] {
///     transaction.put(&jobs, key.as_bytes(), job.as_bytes())?;
/// }
/// let mut cursor = transaction.cursor(&jobs, Bound::Unbounded, Bound::Excluded(b"3"))?;
/// while let Some((key, _)) = cursor.next(&mut transaction)? {
///     transaction.put(&jobs, key, b"done")?;
/// }
/// assert_eq!(cursor.prev(&mut transaction)?, Some((&b"2"[..], &b"done"[..])));
/// cursor.seek(b"1")?;
/// assert_eq!(cursor.next(&mut transaction)?, Some((&b"1"[..], &b"done"[..])));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Cursor {
    keyspace: Keyspace,
    /// Number of the transaction.
    transaction: u64,
    range: KeyRange,
    place: Place,
    ahead: Ahead,
    own: OwnKeys,
    /// The own write that was returned last: its key and its value.
    row: (Vec<u8>, Vec<u8>),
    /// Number of the transaction's note of what the cursor has read, from 1 on; see [`Walk`].
    walk: u64,
}

/// A place between two keys.
#[derive(Clone, Debug)]
enum Place {
    /// Before all keys.
    Start,
    Before(Key),
    After(Key),
    /// After all keys.
    End,
}

/// Committed rows that were read ahead. Own writes are not among them: they may change until their turn.
#[derive(Debug)]
struct Ahead {
    direction: Direction,
    /// Keys and values, one after the other.
    bytes: Vec<u8>,
    /// The ends of the key and of the value of each row.
    ends: Vec<(usize, usize)>,
    /// Number of the next row, in this direction.
    next: usize,
    /// True if the row before the next one was returned last, so the cursor's place is right beyond it.
    is_at_row: bool,
    /// The place up to which rows were read; none if that is the end of the range.
    read_to: Option<Place>,
    /// The place from which the first batch was read.
    begun_at: Place,
    /// Number of rows of the next batch.
    batch: usize,
    /// The clocks before the batch was read, and its snapshot.
    read_at: Option<(Clocks, Timestamp)>,
}

/// The horizons of the anchor and of the keyspace's engine.
type Clocks = [Timestamp; 2];

impl Ahead {
    fn new(direction: Direction, from: Place) -> Self {
        Self {
            direction,
            bytes: Vec::new(),
            ends: Vec::new(),
            next: 0,
            is_at_row: false,
            read_to: Some(from.clone()),
            begun_at: from,
            batch: 1,
            read_at: None,
        }
    }

    /// Begins anew from a place, and keeps the memory.
    fn restart(&mut self, direction: Direction, from: Place) {
        self.bytes.clear();
        self.ends.clear();
        *self = Self {
            bytes: std::mem::take(&mut self.bytes),
            ends: std::mem::take(&mut self.ends),
            ..Self::new(direction, from)
        };
    }

    /// Returns the bytes of a row's key and value.
    fn span(&self, row: usize) -> Option<(Range<usize>, Range<usize>)> {
        let (key, value) = *self.ends.get(row)?;
        let begin = row.checked_sub(1).map_or(0, |before| self.ends[before].1);
        Some((begin..key, key..value))
    }

    fn key(&self, row: usize) -> Option<&[u8]> {
        self.span(row).map(|(key, _)| &self.bytes[key])
    }
}

/// The keys of the own writes that come next. Looking for each of them alone would cost more than the rest of a step.
#[derive(Debug, Default)]
struct OwnKeys {
    /// State of the writes' keys when these were looked up; none if they must be looked up.
    state: Option<u64>,
    keys: Vec<Key>,
    next: usize,
    /// True if the range has more keys after these.
    are_more: bool,
    /// Number of keys that were looked up last.
    batch: usize,
}

impl OwnKeys {
    fn forget(&mut self) {
        self.state = None;
    }

    /// Looks up the keys that come next, if that is not done: from `place` on, or after the last of those that have
    /// passed.
    fn look_up(
        &mut self,
        writes: &mut Writes,
        keyspace: &Keyspace,
        range: &KeyRange,
        direction: Direction,
        place: impl FnOnce() -> Place,
    ) {
        let from = if self.state != Some(writes.state()) {
            self.batch = 1;
            place()
        } else if self.next == self.keys.len() && self.are_more {
            self.batch = (self.batch * BATCH_GROWTH).min(OWN_KEYS);
            self.keys.last().map_or_else(place, |last| Place::beyond(last.clone(), direction))
        } else {
            return;
        };
        writes.order();
        self.keys.clear();
        if let Some(rest) = from.rest(range, direction) {
            let keys = writes.range(keyspace.id, &rest, direction).map(|(key, _)| key.clone());
            self.keys.extend(keys.take(self.batch));
        }
        (self.state, self.next) = (Some(writes.state()), 0);
        self.are_more = self.keys.len() == self.batch;
    }

    fn first(&self) -> Option<&Key> {
        self.keys.get(self.next)
    }
}

/// The row that a step returns.
enum Returned {
    /// The row of the batch before its next one.
    Committed,
    /// A copy of an own write.
    Own,
}

impl Place {
    /// Returns the place right after `key`, in this direction.
    fn beyond(key: Key, direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::After(key),
            Direction::Backward => Self::Before(key),
        }
    }

    /// Returns the part of a range that comes after this place, in this direction. Returns none if it is empty.
    fn rest(&self, range: &KeyRange, direction: Direction) -> Option<KeyRange> {
        let mut rest = range.clone();
        match (self, direction) {
            (Self::Start, Direction::Forward) | (Self::End, Direction::Backward) => {}
            (Self::End, Direction::Forward) | (Self::Start, Direction::Backward) => return None,
            (Self::Before(key) | Self::After(key), Direction::Forward) => {
                let is_tighter = match &range.lower {
                    Bound::Unbounded => true,
                    Bound::Included(lower) => key >= lower,
                    Bound::Excluded(lower) => key > lower,
                };
                if is_tighter {
                    let is_before = matches!(self, Self::Before(_));
                    rest.lower =
                        if is_before { Bound::Included(key.clone()) } else { Bound::Excluded(key.clone()) };
                }
            }
            (Self::Before(key) | Self::After(key), Direction::Backward) => {
                let is_tighter = match &range.upper {
                    Bound::Unbounded => true,
                    Bound::Included(upper) => key <= upper,
                    Bound::Excluded(upper) => key < upper,
                };
                if is_tighter {
                    let is_before = matches!(self, Self::Before(_));
                    rest.upper =
                        if is_before { Bound::Excluded(key.clone()) } else { Bound::Included(key.clone()) };
                }
            }
        }
        (!rest.is_empty()).then_some(rest)
    }
}

impl Transaction {
    /// Returns a cursor over the keys between the bounds. It begins before the first key. If the lower bound is above
    /// the upper one, the range is empty.
    ///
    /// # Errors
    /// [`Error::Capacity`] if a bound is too long; [`Error::Outdated`] if the handle is; [`Error::Usage`] if the
    /// keyspace belongs to another database; and retryable errors.
    pub fn cursor(&self, keyspace: &Keyspace, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor> {
        let keyspace = self.readable(keyspace)?;
        Ok(Cursor {
            keyspace: keyspace.clone(),
            transaction: self.seat.number,
            range: checked_range(lower, upper)?,
            place: Place::Start,
            ahead: Ahead::new(Direction::Forward, Place::Start),
            own: OwnKeys::default(),
            row: Default::default(),
            walk: 0,
        })
    }
}

impl Cursor {
    /// Moves past the next key of the range, and returns it and its value. Returns none, and does not move, if no key
    /// is left.
    ///
    /// # Errors
    /// Same as [`Transaction::scan`], and [`Error::Usage`] if another transaction made the cursor.
    pub fn next(&mut self, transaction: &mut Transaction) -> Result<Option<(&[u8], &[u8])>> {
        self.step(transaction, Direction::Forward)
    }

    /// Moves back past the previous key of the range, and returns it and its value. Returns none, and does not move, if
    /// no key is left.
    ///
    /// # Errors
    /// Same as [`Cursor::next`].
    pub fn prev(&mut self, transaction: &mut Transaction) -> Result<Option<(&[u8], &[u8])>> {
        self.step(transaction, Direction::Backward)
    }

    /// Moves to the place before `key`, whether the key exists or not. So [`Cursor::next`] returns the first key of the
    /// range that is not below `key`, and [`Cursor::prev`] the last one below it.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the key is too long.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        let key = checked_length(key)?;
        self.move_to(Place::Before(key));
        Ok(())
    }

    /// Moves to the place before the first key.
    pub fn seek_to_start(&mut self) {
        self.move_to(Place::Start);
    }

    /// Moves to the place after the last key, so [`Cursor::prev`] returns the last key.
    pub fn seek_to_end(&mut self) {
        self.move_to(Place::End);
    }

    fn move_to(&mut self, place: Place) {
        self.ahead.restart(self.ahead.direction, place.clone());
        self.own.forget();
        self.place = place;
        // What is read from here on does not continue what was read before.
        self.walk = 0;
    }

    /// Notes the place, if it is beyond a row of the batch.
    fn settle(&mut self) {
        if std::mem::take(&mut self.ahead.is_at_row)
            && let Some(key) = self.ahead.next.checked_sub(1).and_then(|row| self.ahead.key(row))
        {
            self.place = Place::beyond(Key::new(key), self.ahead.direction);
        }
    }

    fn step(&mut self, transaction: &mut Transaction, direction: Direction) -> Result<Option<Pair<'_>>> {
        // If the keyspace was moved since the cursor was made, the transaction began before that.
        transaction.readable(&self.keyspace)?;
        if self.transaction != transaction.seat.number {
            return Err(Error::Usage(format!(
                "the cursor over {} belongs to transaction {}, and this is transaction {}: make a cursor for this one",
                self.keyspace.name(),
                self.transaction,
                transaction.seat.number
            )));
        }
        transaction.make_room_for_step()?;
        // At read committed, a row that was read before the newest commit would be older than its call. A write of it
        // would rest on the snapshot of a newer read of the same key, and a commit in between would be lost.
        let is_stale = transaction.isolation == Isolation::ReadCommitted
            && self.ahead.read_at.is_none_or(|(clocks, _)| clocks != self.clocks(transaction));
        if self.ahead.direction != direction || is_stale {
            self.settle();
            if self.ahead.direction != direction {
                self.own.forget();
            }
            self.ahead.restart(direction, self.place.clone());
        }
        // After an error the place is as before, and own writes that were passed come again.
        let returned = self.find(transaction, direction).inspect_err(|_| self.own.forget())?;
        self.note_walk(transaction, returned.is_some());
        Ok(match returned {
            None => None,
            Some(Returned::Own) => Some((&self.row.0, &self.row.1)),
            Some(Returned::Committed) => {
                let span = self.ahead.next.checked_sub(1).and_then(|row| self.ahead.span(row));
                span.map(|(key, value)| (&self.ahead.bytes[key], &self.ahead.bytes[value]))
            }
        })
    }

    /// Notes what a transaction at read committed has read: up to the row that was returned, or to the range's end.
    fn note_walk(&mut self, transaction: &mut Transaction, has_row: bool) {
        let Some((_, at)) = self.ahead.read_at else { return };
        if transaction.isolation != Isolation::ReadCommitted {
            return;
        }
        let row = self.ahead.next.checked_sub(1).filter(|_| self.ahead.is_at_row);
        let key = row.and_then(|row| self.ahead.key(row)).unwrap_or(&self.row.0);
        let to = has_row.then_some(key);
        let direction = self.ahead.direction;
        if !transaction.walk.as_mut().is_some_and(|walk| walk.go_on(self.walk, direction, at, to)) {
            transaction.end_walk();
            transaction.walks += 1;
            self.walk = transaction.walks;
            let range = self.ahead.begun_at.rest(&self.range, direction);
            transaction.walk =
                range.map(|range| Walk::new(self.walk, self.keyspace.id, range, direction, at, to));
        }
    }

    /// Passes the next row. Does not move if no row is left.
    fn find(&mut self, transaction: &mut Transaction, direction: Direction) -> Result<Option<Returned>> {
        let mut skipped = false;
        loop {
            if self.ahead.next == self.ahead.ends.len() && self.ahead.read_to.is_some() {
                self.settle();
                self.read_ahead(transaction)?;
            }
            let writes = &mut transaction.writes;
            if writes.is_empty() {
                self.own.forget();
                self.own.keys.clear();
            } else {
                let (ahead, place) = (&self.ahead, &self.place);
                let here = || match ahead.next.checked_sub(1).and_then(|row| ahead.key(row)) {
                    Some(key) if ahead.is_at_row => Place::beyond(Key::new(key), direction),
                    _ => place.clone(),
                };
                self.own.look_up(writes, &self.keyspace, &self.range, direction, here);
            }
            let order = match (self.own.first(), self.ahead.key(self.ahead.next)) {
                (None, None) => break,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(own), Some(key)) => {
                    let order = own.with(|own| own.cmp(key));
                    if direction == Direction::Forward { order } else { order.reverse() }
                }
            };
            if order.is_gt() {
                self.ahead.next += 1;
                self.ahead.is_at_row = true;
                return Ok(Some(Returned::Committed));
            }
            let Some(own) = self.own.first().cloned() else { break };
            let at = (self.keyspace.id, own);
            let value = writes.get(&at).and_then(|pending| pending.value.as_deref());
            let found = value.is_some();
            if let Some(value) = value {
                self.row.0.clear();
                at.1.with(|key| self.row.0.extend_from_slice(key));
                self.row.1.clear();
                self.row.1.extend_from_slice(value);
                self.place = Place::beyond(at.1, direction);
            } else if order.is_eq() {
                // The place must not follow the batch over this row.
                self.settle();
            }
            self.own.next += 1;
            if order.is_eq() {
                self.ahead.next += 1;
            }
            if found {
                self.ahead.is_at_row = false;
                return Ok(Some(Returned::Own));
            }
            skipped = true;
        }
        if skipped {
            // The place stays before these rows, and a rollback to a savepoint may undo the deletion.
            self.settle();
            self.ahead.restart(direction, self.place.clone());
            self.own.forget();
        }
        Ok(None)
    }

    /// Reads the next batch of committed rows.
    fn read_ahead(&mut self, transaction: &mut Transaction) -> Result<()> {
        let clocks = self.clocks(transaction);
        let Ahead { direction, bytes, ends, next, read_to, batch, .. } = &mut self.ahead;
        let Some(from) = read_to.clone() else { return Ok(()) };
        let Some(range) = from.rest(&self.range, *direction) else {
            *read_to = None;
            return Ok(());
        };
        bytes.clear();
        ends.clear();
        *next = 0;
        let mut full = false;
        let scanned = transaction.scan_range(&self.keyspace, range, *direction, false, |key, value| {
            bytes.extend_from_slice(key);
            let end = bytes.len();
            bytes.extend_from_slice(value);
            ends.push((end, bytes.len()));
            full = ends.len() == *batch || bytes.len() >= BATCH_BYTES;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        // After an error the next step reads the same batch again.
        let at = scanned.inspect_err(|_| ends.clear())?;
        *batch = (*batch * BATCH_GROWTH).min(BATCH_ROWS);
        if self.ahead.read_at.is_some_and(|(_, before)| before != at) {
            // The batches before were read at another snapshot.
            self.ahead.begun_at = from;
        }
        self.ahead.read_at = Some((clocks, at));
        let last = self.ahead.ends.len().checked_sub(1).filter(|_| full);
        let last = last.and_then(|row| self.ahead.key(row)).map(Key::new);
        self.ahead.read_to = last.map(|key| Place::beyond(key, self.ahead.direction));
        Ok(())
    }

    /// Returns the horizons that decide on a snapshot at read committed. If both are as before, so is the snapshot.
    fn clocks(&self, transaction: &Transaction) -> Clocks {
        let engines = &transaction.core.engines;
        [0, self.keyspace.engine_index()].map(|engine| engines[engine].clock().horizon())
    }
}
