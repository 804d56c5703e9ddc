//! Cursors: scans that stop after each key and turn back.

use super::Transaction;
use super::own::Own;
use crate::error::{Error, Result};
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::keyspace::Keyspace;
use crate::options::Isolation;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};

/// Maximum number of rows that a cursor reads ahead. The first batch is one row, because many cursors want one row, and
/// the commit of a serializable transaction validates everything that was read.
const BATCH_ROWS: usize = 256;
const BATCH_GROWTH: usize = 4;
/// A batch ends once it has this many bytes, so large values are not read ahead.
const BATCH_BYTES: usize = 1 << 16;

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
/// returned. At [`Isolation::ReadCommitted`] each call reads anew and sees the newest commits, so a scan is cheaper.
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
    /// The row that was returned last.
    row: Row,
}

/// A key and its value.
type Row = (Vec<u8>, Vec<u8>);

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
    /// The rows from the cursor's place on, in this direction.
    rows: VecDeque<Row>,
    /// The place up to which rows were read; none if that is the end of the range.
    read_to: Option<Place>,
    /// Number of rows of the next batch.
    batch: usize,
}

impl Ahead {
    fn new(direction: Direction, from: Place) -> Self {
        Self { direction, rows: VecDeque::new(), read_to: Some(from), batch: 1 }
    }
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
    /// Returns a cursor over the keys between the bounds. It begins before the first key.
    ///
    /// # Errors
    /// [`Error::Usage`] if the bounds are crossed, or a bound is too long.
    pub fn cursor(&self, keyspace: &Keyspace, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor> {
        let keyspace = self.readable(keyspace)?;
        Ok(Cursor {
            keyspace: keyspace.clone(),
            transaction: self.seat.number,
            range: super::checked_range(keyspace, lower, upper)?,
            place: Place::Start,
            ahead: Ahead::new(Direction::Forward, Place::Start),
            row: Row::default(),
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
        let key = super::checked_length(key)?;
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
        self.ahead = Ahead::new(self.ahead.direction, place.clone());
        self.place = place;
    }

    fn step(&mut self, transaction: &mut Transaction, direction: Direction) -> Result<Option<Pair<'_>>> {
        // If the keyspace was moved since the cursor was made, the transaction began before that.
        transaction.readable(&self.keyspace)?;
        if self.transaction != transaction.seat.number {
            return Err(Error::Usage(format!(
                "the cursor over {} belongs to another transaction: make one for this transaction",
                self.keyspace.name()
            )));
        }
        // At read committed, a row that was read ahead would be older than its call. A write of it would rest on the
        // snapshot of a newer read of the same key, and a commit in between would be lost.
        if self.ahead.direction != direction || transaction.isolation == Isolation::ReadCommitted {
            self.ahead = Ahead::new(direction, self.place.clone());
        }
        let (mut place, mut skipped) = (self.place.clone(), false);
        loop {
            if self.ahead.rows.is_empty() {
                self.read_ahead(transaction)?;
            }
            let writes = &mut transaction.writes;
            let rest = if writes.is_empty() { None } else { place.rest(&self.range, direction) };
            if rest.is_some() {
                writes.order();
            }
            let own =
                rest.as_ref().and_then(|rest| Own::new(writes, self.keyspace.id, rest, direction).first());
            let order = match (own, self.ahead.rows.front()) {
                (None, None) => break,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some((own, _)), Some((key, _))) => {
                    let order = own.with(|own| own.cmp(key));
                    if direction == Direction::Forward { order } else { order.reverse() }
                }
            };
            let committed = if order.is_ge() { self.ahead.rows.pop_front() } else { None };
            self.row = match (own.filter(|_| order.is_le()), committed) {
                (Some((own, Some(value))), _) => (own.to_vec(), value.to_vec()),
                (Some((own, None)), committed) => {
                    skipped |= committed.is_some();
                    place = Place::beyond(own.clone(), direction);
                    continue;
                }
                (None, Some(row)) => row,
                (None, None) => break,
            };
            self.place = Place::beyond(Key::new(&self.row.0), direction);
            return Ok(Some((&self.row.0, &self.row.1)));
        }
        if skipped {
            // The place stays before these rows, and a rollback to a savepoint may undo the deletion.
            self.ahead = Ahead::new(direction, self.place.clone());
        }
        Ok(None)
    }

    /// Reads the next batch of committed rows.
    fn read_ahead(&mut self, transaction: &mut Transaction) -> Result<()> {
        let Some(from) = &self.ahead.read_to else { return Ok(()) };
        let direction = self.ahead.direction;
        let Some(range) = from.rest(&self.range, direction) else {
            self.ahead.read_to = None;
            return Ok(());
        };
        let (mut rows, mut bytes, mut full) = (VecDeque::new(), 0, false);
        transaction.scan_range(&self.keyspace, range, direction, false, |key, value| {
            bytes += key.len() + value.len();
            rows.push_back((key.to_vec(), value.to_vec()));
            full = rows.len() == self.ahead.batch || bytes >= BATCH_BYTES;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let last = rows.back().filter(|_| full);
        self.ahead.read_to = last.map(|(key, _)| Place::beyond(Key::new(key), direction));
        self.ahead.batch = (self.ahead.batch * BATCH_GROWTH).min(BATCH_ROWS);
        self.ahead.rows = rows;
        Ok(())
    }
}
