//! The thread that writes a log.

use super::pipeline::{Pipeline, Work};
use super::segments::{Newest, Segments};
use super::{Failure, frame};
use crate::error::{Error, Result};
use crate::files::{BLOCK_BYTES, Blocks, File, fail_point};
use crate::options::FullDisk;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes of zeros written ahead in one write.
const AHEAD: usize = 256 << 10;
/// Maximum length in bytes of a batch that makes writing ahead worthwhile.
const SMALL: usize = 64 << 10;

/// The offset up to which a file has blocks: because an earlier segment wrote them, or because it was filled ahead with
/// zeros.
///
/// Overwriting existing blocks saves the file system from recording a new length and new blocks at each sync, a third
/// of its time for batches of 4 to 48 KiB (`the_time_of_a_sync_in_new_and_in_old_blocks`). Allocating without writing,
/// as `fallocate` does, gained nothing: the first write of such a block must be recorded too.
#[derive(Clone, Copy, Debug)]
pub(super) enum Prepared {
    Upto(u64),
    /// Never fill ahead: the disk is nearly full.
    Never,
}

impl Prepared {
    /// Returns the state of a file that was just opened or begun: it has blocks up to its end.
    pub(super) fn of(file: &mut dyn File) -> Result<Self> {
        Ok(Self::Upto(file.len()?))
    }
}

pub(super) struct Writer {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) segments: Arc<Segments>,
    /// The newest segment.
    pub(super) file: Box<dyn File>,
    pub(super) header: frame::Segment,
    /// The unfinished last block of the newest segment.
    pub(super) blocks: Blocks,
    pub(super) prepared: Prepared,
    pub(super) full_disk: FullDisk,
}

impl Writer {
    /// Writes batches until the log is closed or fails.
    pub(super) fn run(mut self) {
        let pipeline = self.pipeline.clone();
        let ended = catch_unwind(AssertUnwindSafe(|| self.work()));
        let cause = match ended {
            Ok(Ok(())) => return,
            Ok(Err(error)) => cause(&error),
            Err(_) => "the thread of the log panicked".to_owned(),
        };
        pipeline.fail(&Arc::from(cause));
    }

    fn work(&mut self) -> Result<()> {
        let mut spare = Vec::new();
        while let Some(mut work) = self.pipeline.next(spare) {
            if !work.batch.is_empty() {
                self.write_when_possible(&mut work)?;
            }
            if work.sync {
                fail_point("log.before_sync");
                self.file.sync()?;
                fail_point("log.after_sync");
            }
            self.pipeline.finished(&work);
            spare = work.batch;
        }
        Ok(())
    }

    /// Writes a batch. While the disk has no space, waits and writes the same bytes again. Others have read the batch's
    /// commits already, so it can't be given up.
    fn write_when_possible(&mut self, work: &mut Work) -> Result<()> {
        loop {
            let error = match self.write(work) {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::NoSpace(_)) if self.segments.drop_spares() => continue,
                Err(Failure::NoSpace(error)) => error,
            };
            let waits = self.full_disk == FullDisk::Wait;
            if !(waits && self.pipeline.wait_for_space(&Arc::from(cause(&error)))) {
                return Err(error);
            }
        }
    }

    fn write(&mut self, work: &mut Work) -> Result<(), Failure> {
        let first = self.header.first;
        let is_full = work.start > first && work.end - first > self.segments.limits.segment;
        // An earlier version could not read the records that follow, and finds that from the segment's format. Or another
        // incarnation wrote the segment. Only the first batch after an opening meets such a segment: reading a database
        // leaves it as it was.
        if is_full || !self.segments.go_on_in(self.header) {
            self.rotate(work.start)?;
        }
        debug_assert_eq!(self.blocks.end(), frame::SEGMENT_HEADER as u64 + (work.start - self.header.first));
        frame::seal(&mut work.batch, self.header.seed(), work.start, work.durable);
        fail_point("log.before_write");
        self.blocks.append(&mut *self.file, &work.batch).map_err(Failure::of_write)?;
        fail_point("log.after_write");
        self.prepare(work.batch.len() <= SMALL).map_err(Failure::Final)
    }

    /// Fills the file ahead with zeros.
    fn prepare(&mut self, small: bool) -> Result<()> {
        let Prepared::Upto(prepared) = self.prepared else { return Ok(()) };
        let end = self.blocks.end().next_multiple_of(BLOCK_BYTES as u64);
        if end < prepared {
            return Ok(());
        }
        self.prepared = Prepared::Upto(end);
        if !small || end + AHEAD as u64 > self.segments.limits.segment {
            return Ok(());
        }
        for done in (0..AHEAD).step_by(ZEROS.0.len()) {
            match self.file.write_at(end + done as u64, &ZEROS.0) {
                Ok(()) => {}
                // The zeros hold no record, and there may still be space for records.
                Err(error) if error.is_for_lack_of_space() => {
                    self.prepared = Prepared::Never;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.prepared = Prepared::Upto(end + AHEAD as u64);
        Ok(())
    }

    /// Begins a new segment at `first`, instead of the newest one if that is empty. Syncs the old one first, whatever
    /// the durability option. So an existing segment proves that everything before it had been durable.
    fn rotate(&mut self, first: u64) -> Result<(), Failure> {
        self.file.sync().map_err(Failure::Final)?;
        fail_point("log.before_segment");
        let Newest { mut file, header } = self.segments.begin(first)?;
        fail_point("log.after_segment");
        self.blocks.restart(&mut *file, frame::SEGMENT_HEADER as u64).map_err(Failure::Final)?;
        self.prepared = Prepared::of(&mut *file).map_err(Failure::Final)?;
        self.file = file;
        self.header = header;
        Ok(())
    }
}

/// Zeros to write. They are a part of the program's file, so there are few.
#[repr(align(4096))]
struct Zeros([u8; 32 << 10]);
static ZEROS: Zeros = Zeros([0; 32 << 10]);
const _: () = assert!(align_of::<Zeros>() == BLOCK_BYTES && AHEAD.is_multiple_of(size_of::<Zeros>()));

/// Returns the reason of the log's failure, for later errors.
fn cause(error: &Error) -> String {
    if error.is_for_lack_of_space() {
        format!("the disk is full ({error})")
    } else {
        format!("the log could not be written ({error})")
    }
}
