//! The files of a log: its segments, and spares.
//!
//! A spare is a segment that was dropped. The next segment overwrites it, so the file system has no new length and no new
//! blocks to record at each sync (`DESIGN.md`, "Log and acknowledgement").
//!
//! The old batches in a spare do no harm: a batch counts only at its own position and in its own segment. A new segment
//! takes a spare before it makes a file, so the log never has more files than it had when it was longest.

use super::{Failure, Lsn, frame, lock, reader};
use crate::error::Result;
use crate::files::{File, Files};
use crate::incarnation::Owner;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const SEGMENT: &str = "log";
const SPARE: &str = "spare";
/// Bytes of a segment without a batch.
pub(crate) const EMPTY_BYTES: u64 = frame::SEGMENT_HEADER as u64;

fn path(directory: &Path, name: &str, first: u64, kind: &str) -> PathBuf {
    directory.join(format!("{name}-{first:016x}.{kind}"))
}

/// Returns the path of the segment that begins at `first`.
pub(super) fn segment_path(directory: &Path, name: &str, first: u64) -> PathBuf {
    path(directory, name, first, SEGMENT)
}

/// Returns the first positions of the segments in a directory, in order.
pub(super) fn list_segments(files: &dyn Files, directory: &Path, name: &str) -> Result<Vec<u64>> {
    list(files, directory, name, SEGMENT)
}

/// Returns the position at which a segment ends, by its file's name and length. Returns none if the file is not a segment
/// of the log `name`.
pub(crate) fn end_of(name: &str, file: &str, bytes: u64) -> Option<u64> {
    Some(first_of(name, file, SEGMENT)?.saturating_add(bytes.saturating_sub(EMPTY_BYTES)))
}

/// Returns the first position of a file of the log `name`, by the file's name.
fn first_of(name: &str, file: &str, kind: &str) -> Option<u64> {
    let digits = file.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(kind)?.strip_suffix('.')?;
    let first = u64::from_str_radix(digits, 16).ok()?;
    // Only the lower half of all positions is valid, so adding a length to a position can't overflow.
    (digits.len() == 16 && first < 1 << 63).then_some(first)
}

fn list(files: &dyn Files, directory: &Path, name: &str, kind: &str) -> Result<Vec<u64>> {
    let parse = |file: &String| first_of(name, file, kind);
    let mut firsts: Vec<u64> = files.list(directory)?.iter().filter_map(parse).collect();
    firsts.sort_unstable();
    Ok(firsts)
}

/// Removes the spares that a crash has left. Nobody may have the log open.
pub(crate) fn remove_spares(files: &dyn Files, directory: &Path, name: &str) -> Result<()> {
    for first in list(files, directory, name, SPARE)? {
        files.remove(&path(directory, name, first, SPARE))?;
    }
    Ok(())
}

/// The limits of a log's files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum bytes of batches in a segment, except that a longer batch gets a segment of its own.
    pub(super) segment: u64,
    /// Maximum bytes of spares. Each counts as a full segment.
    pub(super) spares: u64,
}

/// The files of an open log.
pub(super) struct Segments {
    files: Arc<dyn Files>,
    directory: PathBuf,
    name: &'static str,
    owner: Owner,
    pub(super) limits: Limits,
    known: Mutex<Known>,
}

/// The files by the positions at which they begin, or began as segments.
#[derive(Debug, Default)]
struct Known {
    /// Segments, oldest first.
    segments: VecDeque<u64>,
    /// Dropped segments whose new names may not be durable.
    dropped: Vec<u64>,
    spares: Vec<u64>,
}

impl Known {
    /// Returns the number of files that are no segments.
    fn kept(&self) -> usize {
        self.dropped.len() + self.spares.len()
    }
}

/// The newest segment.
pub(super) struct Newest {
    pub(super) file: Box<dyn File>,
    pub(super) header: frame::Segment,
}

impl Segments {
    /// Finds the segments in a directory.
    pub(super) fn find(
        files: Arc<dyn Files>,
        directory: &Path,
        name: &'static str,
        owner: Owner,
        limits: Limits,
    ) -> Result<Self> {
        let segments = VecDeque::from(list_segments(&*files, directory, name)?);
        let known = Mutex::new(Known { segments, ..Known::default() });
        Ok(Self { files, directory: directory.to_path_buf(), name, owner, limits, known })
    }

    fn path(&self, first: u64, kind: &str) -> PathBuf {
        path(&self.directory, self.name, first, kind)
    }

    /// Opens the newest segment, if there is one.
    pub(super) fn newest(&self) -> Result<Option<Newest>> {
        let Some(first) = lock(&self.known).segments.back().copied() else { return Ok(None) };
        let path = self.path(first, SEGMENT);
        let mut file = self.files.open(&path)?;
        let mut bytes = [0; frame::SEGMENT_HEADER];
        file.read_at(0, &mut bytes)?;
        let header = frame::Segment::decode(&bytes).ok_or_else(|| reader::damaged_header(&path))?;
        Ok(Some(Newest { file, header }))
    }

    /// Returns the header of a new segment.
    fn header(&self, first: u64) -> frame::Segment {
        let Owner { database, incarnation, .. } = self.owner;
        frame::Segment { format: frame::FORMAT, database, incarnation, first }
    }

    /// Returns true if new batches can be written to a segment with this header.
    pub(super) fn go_on_in(&self, header: frame::Segment) -> bool {
        header == self.header(header.first)
    }

    /// Begins a segment at `first`. Replaces an empty one that begins there. When this returns, its header and name are
    /// durable, and batches can be written.
    pub(super) fn begin(&self, first: u64) -> Result<Newest, Failure> {
        let path = self.path(first, SEGMENT);
        let replaces = lock(&self.known).segments.back() == Some(&first);
        let (mut file, at) = match self.take_spare() {
            Some(spare) => spare,
            None => {
                // The next opening removes a spare that stays after a crash.
                let at = if replaces { self.path(first, SPARE) } else { path.clone() };
                (self.files.create(&at).map_err(Failure::of_write)?, at)
            }
        };
        let header = self.header(first);
        let refused = |error| {
            // Otherwise the next attempt would find the file. If it can't be removed, that attempt fails for good.
            let _ = self.files.remove(&at);
            Failure::of_write(error)
        };
        file.write_at(0, &header.encode()).map_err(refused)?;
        file.sync().map_err(Failure::Final)?;
        if at != path {
            // Before the sync, a power cut could have left a segment with the header of another one.
            self.files.rename(&at, &path).map_err(refused)?;
            // Errors of the file should have its new name.
            if let Ok(renamed) = self.files.open(&path) {
                file = renamed;
            }
        }
        self.files.sync_dir(&self.directory).map_err(Failure::Final)?;
        if !replaces {
            lock(&self.known).segments.push_back(first);
        }
        Ok(Newest { file, header })
    }

    /// Takes a spare. Returns it opened, with its path.
    fn take_spare(&self) -> Option<(Box<dyn File>, PathBuf)> {
        loop {
            let first = lock(&self.known).spares.pop()?;
            let path = self.path(first, SPARE);
            match self.files.open(&path) {
                Ok(file) => return Some((file, path)),
                // Somebody removed it.
                Err(error) if error.is_missing_file() => {}
                Err(_) => {
                    lock(&self.known).spares.push(first);
                    return None;
                }
            }
        }
    }

    /// Drops the segments that lie wholly below `lsn`, but never the newest one. Those that are not too long become spares,
    /// up to the limit.
    pub(super) fn drop_before(&self, lsn: Lsn) -> Result<()> {
        let mut has_dropped = false;
        loop {
            let mut known = lock(&self.known);
            let (first, next) = match (known.segments.front(), known.segments.get(1)) {
                (Some(first), Some(next)) if *next <= lsn.0 => (*first, *next),
                _ => break,
            };
            let spares = known.kept() as u64 + 1;
            let fits =
                next - first <= self.limits.segment && spares * self.limits.segment <= self.limits.spares;
            // The oldest goes first, so a crash in between leaves no gap.
            if fits && self.files.rename(&self.path(first, SEGMENT), &self.path(first, SPARE)).is_ok() {
                known.dropped.push(first);
            } else {
                self.files.remove(&self.path(first, SEGMENT))?;
            }
            known.segments.pop_front();
            has_dropped = true;
        }
        if has_dropped {
            self.files.sync_dir(&self.directory)?;
            let mut known = lock(&self.known);
            let Known { dropped, spares, .. } = &mut *known;
            spares.append(dropped);
        }
        Ok(())
    }

    /// Removes the spares. Returns true if it removed any. One that can't be removed stays a spare.
    pub(super) fn drop_spares(&self) -> bool {
        let mut known = lock(&self.known);
        let before = known.kept();
        let is_kept = |first: &u64| {
            let removed = self.files.remove(&self.path(*first, SPARE));
            removed.is_err_and(|error| !error.is_missing_file())
        };
        known.spares.retain(is_kept);
        known.dropped.retain(is_kept);
        known.kept() < before
    }

    /// Returns the bytes of the spares. Each counts as a full segment.
    pub(super) fn spare_bytes(&self) -> u64 {
        lock(&self.known).kept() as u64 * self.limits.segment
    }

    /// Returns the first position of the oldest segment.
    pub(super) fn oldest(&self) -> Option<u64> {
        lock(&self.known).segments.front().copied()
    }

    /// Returns the segments that hold the bytes between two positions, with the lengths of their contents up to `end`.
    /// There is at least one segment. Nobody may drop segments.
    pub(super) fn between(&self, from: Lsn, to: Lsn, end: u64) -> Vec<(PathBuf, u64)> {
        let known = lock(&self.known);
        let skipped = known.segments.partition_point(|first| *first <= from.0).saturating_sub(1);
        let mut found = Vec::new();
        for (index, first) in known.segments.iter().enumerate().skip(skipped) {
            if *first >= to.0 && !found.is_empty() {
                break;
            }
            let end = known.segments.get(index + 1).copied().unwrap_or(u64::MAX).min(end);
            let bytes = frame::SEGMENT_HEADER as u64 + end.saturating_sub(*first);
            found.push((self.path(*first, SEGMENT), bytes));
        }
        found
    }
}
