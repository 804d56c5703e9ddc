//! The log: a stream of bytes in segments, which one thread writes and syncs.
//!
//! Appending only copies into a buffer. The thread takes the whole buffer as one batch, writes it, syncs it and
//! releases the waiters, while the next batch collects. A failed sync is never retried, because the operating system may
//! have dropped the data that it could not write. It poisons the log instead, and the waiters get the answer that the
//! outcome is unknown. So does any other error, but one: if a write finds no space on the disk, the thread keeps the
//! batch, and writes it again at the same position once there is space.

pub(crate) mod entry;
mod frame;
#[cfg(test)]
mod full_tests;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
#[cfg(test)]
mod model;
mod pipeline;
pub(crate) mod reader;
pub(crate) mod segments;
#[cfg(test)]
mod spare_tests;
mod sync;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod ticket_tests;
pub(crate) mod waiter;
mod writer;

use crate::error::{Error, Result};
use crate::files::{Blocks, Files};
use crate::incarnation::Owner;
use crate::options::{Durability, FullDisk};
use entry::Entry;
use pipeline::{Meanwhile, Pipeline};
use segments::{Limits, Newest, Segments, list_segments, segment_path};
use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use waiter::Waiter;
use writer::Writer;

/// The work of writing a log since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogCounts {
    /// Bytes written.
    pub bytes: u64,
    /// Groups of commits that were written together.
    pub batches: u64,
    /// Times that the written bytes were made durable.
    pub syncs: u64,
}

/// A position in a log (LSN): an offset in its stream of bytes, over all segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lsn(pub(crate) u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

thread_local! {
    /// True on a thread that writes a log of any database.
    static WRITES_A_LOG: Cell<bool> = const { Cell::new(false) };
}

/// Returns an error on a thread that writes a log, where the callbacks of tickets run. Call it before waiting for anything
/// that may need a log: the thread can't wait for itself, and two threads of logs could wait for each other.
pub(crate) fn may_wait() -> Result<()> {
    if WRITES_A_LOG.get() {
        return Err(Error::Usage(
            "a ticket's callback can't wait for the log, which waits for the callback: do this on another thread"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The options of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) durability: Durability,
    /// See [`Options::gather`](crate::Options::gather).
    pub(crate) gather: Option<Duration>,
    pub(crate) full_disk: FullDisk,
    /// Maximum number of bytes in dropped segments that are kept, to be overwritten.
    pub(crate) spare_bytes: u64,
    /// See [`Options::log_segment_bytes`](crate::Options::log_segment_bytes).
    pub(crate) segment_bytes: u64,
}

impl From<Durability> for Policy {
    fn from(durability: Durability) -> Self {
        let segment_bytes = crate::Options::default().log_segment_bytes;
        Self { durability, gather: None, full_disk: FullDisk::default(), spare_bytes: 0, segment_bytes }
    }
}

/// An open log.
pub(crate) struct Log {
    pipeline: Arc<Pipeline>,
    segments: Arc<Segments>,
    name: &'static str,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// A position in an open log, to wait for. It does not keep the log open.
#[derive(Debug)]
pub(crate) struct Place {
    pipeline: Arc<Pipeline>,
    lsn: Lsn,
}

impl Place {
    pub(crate) fn is_durable(&self) -> bool {
        self.pipeline.durable() >= self.lsn
    }

    /// Returns the reason why the log rejects records, if it failed.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        self.pipeline.failure()
    }

    /// Returns true if the log gathers commits.
    pub(crate) fn gathers(&self) -> bool {
        self.pipeline.gathers()
    }

    /// Notifies `waiter` when the log is durable up to here, however long it waits for space on the disk. `blocks` is
    /// true if a thread or task can't go on until then.
    pub(crate) fn enqueue(&self, waiter: &Arc<Waiter>, blocks: bool) {
        let meanwhile = if blocks { Meanwhile::Nothing } else { Meanwhile::Work };
        self.pipeline.enqueue(self.lsn, waiter, meanwhile);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while holding one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error, by what can be done about it.
#[derive(Debug)]
enum Failure {
    /// Nothing of the batch can count as durable, and the same bytes can be written again to the same place: a write, or
    /// making a file, found no space on the disk.
    NoSpace(Error),
    /// The content of a file is unknown. A sync that failed is one such case: the operating system may have dropped the
    /// data, and report success next time.
    Final(Error),
}

impl Failure {
    /// Sorts an error of a write, or of making a file.
    fn of_write(error: Error) -> Self {
        if error.is_for_lack_of_space() { Self::NoSpace(error) } else { Self::Final(error) }
    }

    fn error(self) -> Error {
        match self {
            Self::NoSpace(error) | Self::Final(error) => error,
        }
    }
}

impl Log {
    /// Opens the log for appending at `end`, the position that [`reader::read`] returned, and cuts off the bytes after
    /// it. In an empty directory `end` is zero. New segments get the owner's numbers in their headers.
    pub(crate) fn open(
        files: Arc<dyn Files>,
        directory: &Path,
        name: &'static str,
        owner: impl Into<Owner>,
        end: Lsn,
        policy: impl Into<Policy>,
    ) -> Result<Arc<Self>> {
        let policy = policy.into();
        files.create_dir(directory)?;
        reader::truncate(&*files, directory, name, end)?;
        let limits = Limits { segment: policy.segment_bytes, spares: policy.spare_bytes };
        let segments = Arc::new(Segments::find(Arc::clone(&files), directory, name, owner.into(), limits)?);
        let Newest { mut file, header } = match segments.newest()? {
            Some(newest) => newest,
            None if end == Lsn(0) => segments.begin(0).map_err(Failure::error)?,
            None => return Err(reader::nothing_there(directory, name, end)),
        };
        let blocks = Blocks::new(&mut *file, frame::SEGMENT_HEADER as u64 + (end.0 - header.first))?;
        let pipeline = Arc::new(Pipeline::new(end, policy.durability, policy.gather));
        let writer = Writer {
            pipeline: pipeline.clone(),
            segments: segments.clone(),
            prepared: writer::Prepared::of(&mut *file)?,
            file,
            header,
            blocks,
            full_disk: policy.full_disk,
        };
        let thread = std::thread::Builder::new().name(format!("gemel-{name}-log"));
        let run = move || {
            WRITES_A_LOG.set(true);
            writer.run();
        };
        let handle = thread.spawn(run).map_err(|source| Error::Io {
            what: "can't start the thread of the log in",
            path: directory.to_path_buf(),
            source,
        })?;
        let writer = Mutex::new(Some(handle));
        Ok(Arc::new(Self { pipeline, segments, name, writer }))
    }

    /// Appends a record to the buffer, without waiting for a disk. Returns the position after the record.
    pub(crate) fn append<'a>(&self, entry: impl Into<Entry<'a>>) -> Result<Lsn> {
        self.pipeline.append(entry)
    }

    /// Appends a record to each of two different logs. A later record in either log is after both records.
    pub(crate) fn append_both(first: (&Self, Entry<'_>), second: (&Self, Entry<'_>)) -> Result<(Lsn, Lsn)> {
        if std::ptr::eq(first.0, second.0) {
            return Err(Error::Usage(
                "one record can't be appended to the same log twice: name two different logs".to_owned(),
            ));
        }
        Pipeline::append_both((&first.0.pipeline, first.1), (&second.0.pipeline, second.1))
    }

    /// Returns the ends of two logs at one moment: no pair of records from [`Log::append_both`] has one before them and
    /// one behind.
    pub(crate) fn ends_of_both(first: &Self, second: &Self) -> (Lsn, Lsn) {
        Pipeline::ends_of_both(&first.pipeline, &second.pipeline)
    }

    /// Waits while hundreds of megabytes are appended but not written, which only happens when commits don't wait to be
    /// durable. Returns an error if the disk is full, which one more attempt to write has shown, or if this thread can't
    /// wait. Call it at the beginning of a commit, before any lock is taken.
    pub(crate) fn wait_for_room(&self) -> Result<()> {
        self.pipeline.wait_for_room(may_wait)
    }

    /// Returns the position after the last appended record.
    pub(crate) fn end(&self) -> Lsn {
        self.pipeline.end()
    }

    /// Returns the durable LSN: the position up to which the log is on stable storage.
    pub(crate) fn durable(&self) -> Lsn {
        self.pipeline.durable()
    }

    /// Blocks until the log is durable up to `to`, whatever the durability option. Does not wait for space on the disk.
    pub(crate) fn sync(&self, to: Lsn) -> Result<()> {
        if self.durable() >= to {
            return Ok(());
        }
        may_wait()?;
        let waiter = Arc::new(Waiter::new(1));
        self.pipeline.enqueue(to, &waiter, Meanwhile::NothingForLong);
        waiter.wait().map_err(|cause| match self.failure() {
            Some(_) => Error::Poisoned(cause.to_string()),
            None => Error::DiskFull(cause.to_string()),
        })
    }

    /// Returns true if commits wait until they are durable.
    pub(crate) fn is_awaited(&self) -> bool {
        self.pipeline.is_awaited()
    }

    /// Returns the reason why the log rejects records, if it failed.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        self.pipeline.failure()
    }

    /// Poisons the log: nothing more is appended, and commits that wait have an unknown outcome.
    pub(crate) fn fail(&self, cause: &Arc<str>) {
        self.pipeline.fail(cause);
    }

    /// Returns the reason why the log waits for space on the disk, if it does.
    pub(crate) fn full(&self) -> Option<Arc<str>> {
        self.pipeline.full()
    }

    /// Returns a position as something to wait for.
    pub(crate) fn place(&self, lsn: Lsn) -> Place {
        Place { pipeline: Arc::clone(&self.pipeline), lsn }
    }

    /// Asks a log that gathers commits to write them now. Does not wait.
    pub(crate) fn hurry(&self) {
        self.pipeline.hurry();
    }

    /// Drops the segments that lie wholly below `lsn`, but never the newest one. Some are kept as spares.
    pub(crate) fn drop_before(&self, lsn: Lsn) -> Result<()> {
        self.segments.drop_before(lsn)
    }

    /// Removes the spares, so others can have their space. Returns true if it removed any.
    pub(crate) fn drop_spares(&self) -> bool {
        self.segments.drop_spares()
    }

    /// Returns the segments that hold the bytes between two positions, with the lengths of their durable contents, which
    /// are whole batches. There is at least one segment. `to` must be durable, and nobody may drop segments.
    pub(crate) fn segments_between(&self, from: Lsn, to: Lsn) -> Vec<(PathBuf, u64)> {
        // The position is read before the segments, so each segment that begins below it is among them.
        let durable = self.durable().0;
        self.segments.between(from, to, durable)
    }

    /// Returns the work of the thread that writes this log since it was opened.
    pub(crate) fn counts(&self) -> LogCounts {
        self.pipeline.counts()
    }

    /// Returns the number of bytes from the beginning of the oldest segment to the end.
    pub(crate) fn bytes(&self) -> u64 {
        self.end().0 - self.segments.oldest().unwrap_or_default()
    }

    /// Returns the number of bytes in spares.
    pub(crate) fn spare_bytes(&self) -> u64 {
        self.segments.spare_bytes()
    }

    /// Returns true on the thread that writes this log.
    pub(crate) fn is_own_thread(&self) -> bool {
        lock(&self.writer).as_ref().is_some_and(|writer| writer.thread().id() == std::thread::current().id())
    }

    /// Writes and syncs the remaining bytes, and ends the thread. Later appends are rejected.
    pub(crate) fn close(&self) -> Result<()> {
        self.pipeline.close();
        let handle = lock(&self.writer).take();
        if let Some(handle) = handle
            // A callback on the writer's own thread may drop the last reference. The thread can't join itself; it ends
            // by itself.
            && handle.thread().id() != std::thread::current().id()
        {
            // The thread catches its panics, so `join` has no error worth reporting.
            drop(handle.join());
        }
        self.drop_spares();
        self.failure().map_or(Ok(()), |cause| Err(Error::Poisoned(cause.to_string())))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Callers that need the error call `close` before.
        drop(self.close());
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("name", &self.name)
            .field("end", &self.end())
            .field("durable", &self.durable())
            .finish_non_exhaustive()
    }
}
