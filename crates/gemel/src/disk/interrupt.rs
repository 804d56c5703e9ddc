//! Merges that nobody waits for end early if somebody waits, and all merges keep to the limit of background writing.
//!
//! Nobody waits for a merge for the sake of dead versions, and it reads up to 4 GiB. While it runs, closing the
//! database, a backup and the removal of a table would have to wait. So would merges of other tables, and then writers
//! that wait for those. In each of these cases the merge ends without a result, and begins anew after a pause.
//!
//! The tree's crate asks a filter for each key of a merge, unless the key's newest version is a deletion. An error of
//! the filter ends the merge. So the merge does not end early while it reads deletions, or older versions of one key.

use crate::error::Error;
use crate::limit::{Limit, Pacer, Work};
use lsm_tree::compaction::filter::{CompactionFilter, Context, Factory, ItemAccessor, Verdict};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Length of a pause as a multiple of the merge that was in vain. It doubles each time in a row.
const PAUSE: u32 = 4;
/// Maximum number of times that a pause is doubled.
const DOUBLINGS: u32 = 8;

/// Reasons for which an engine's merges end early, if nobody waits for them.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    /// Number of those who wait for the end of a merge.
    waiting: AtomicUsize,
    /// True if writers must soon wait for merges.
    are_writers_near: AtomicBool,
    /// True if a flush waits for space on the disk.
    lacks_space: AtomicBool,
    /// Number of keys after which a merge ends early, in tests.
    #[cfg(test)]
    pub(super) after_keys: std::sync::Mutex<Option<usize>>,
}

impl Interrupts {
    /// Interrupts merges while `work` waits for the end of one.
    pub(super) fn while_waiting<T>(&self, work: impl FnOnce() -> T) -> T {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let done = work();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        done
    }

    /// Interrupts merges, also those that begin later.
    pub(super) fn interrupt_for_good(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes if writers must soon wait for merges.
    pub(super) fn note_writers(&self, are_near: bool) {
        self.are_writers_near.store(are_near, Ordering::SeqCst);
    }

    /// Notes if a flush waits for space.
    pub(super) fn note_space(&self, is_lacking: bool) {
        self.lacks_space.store(is_lacking, Ordering::SeqCst);
    }

    /// Returns true if merges that nobody waits for must end.
    pub(super) fn are_due(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
            || self.are_writers_near.load(Ordering::SeqCst)
            || self.lacks_space.load(Ordering::SeqCst)
    }
}

/// Makes the filters of one tree's merges.
#[derive(Clone)]
pub(super) struct Interruptible {
    pub(super) interrupts: Arc<Interrupts>,
    /// True while a merge runs that ends early if it must. Usual merges are short, and writers wait for them.
    is_on: Arc<AtomicBool>,
    limit: Arc<Limit>,
}

/// Lets merges be interrupted until it is dropped.
pub(super) struct On<'a>(&'a AtomicBool);

impl Drop for On<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Interruptible {
    pub(super) fn new(interrupts: Arc<Interrupts>, limit: Arc<Limit>) -> Self {
        Self { interrupts, is_on: Arc::default(), limit }
    }

    /// Lets the tree's next merge be interrupted. Only one merge of a tree runs at a time.
    pub(super) fn on(&self) -> On<'_> {
        self.is_on.store(true, Ordering::SeqCst);
        On(&self.is_on)
    }
}

impl Factory for Interruptible {
    fn name(&self) -> &str {
        "interrupt"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        let is_on = self.is_on.load(Ordering::SeqCst);
        let interrupts = is_on.then(|| Arc::clone(&self.interrupts));
        Box::new(Filter { interrupts, pacer: self.limit.pacer(Work::Merge) })
    }
}

struct Filter {
    /// None if the merge does not end early.
    interrupts: Option<Arc<Interrupts>>,
    pacer: Option<Pacer>,
}

impl CompactionFilter for Filter {
    fn filter_item(&mut self, item: ItemAccessor<'_>, _: &Context) -> lsm_tree::Result<Verdict> {
        if let Some(pacer) = &mut self.pacer {
            pacer.count(item.key().len() + item.value()?.len());
        }
        let Some(interrupts) = &self.interrupts else { return Ok(Verdict::Keep) };
        #[cfg(test)]
        if let Some(after) = &mut *interrupts.after_keys.lock().unwrap() {
            if *after == 0 {
                interrupts.note_writers(true);
            }
            *after = after.saturating_sub(1);
        }
        if interrupts.are_due() { Err(io::Error::other(Interrupted).into()) } else { Ok(Verdict::Keep) }
    }
}

/// The error of a merge that ended early.
#[derive(Debug)]
struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("others wait for the end of this merge")
    }
}

impl std::error::Error for Interrupted {}

/// Returns true if an error is that of a merge that ended early.
pub(super) fn is_interruption(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.get_ref().is_some_and(|inner| inner.is::<Interrupted>()))
}

/// A pause after merges in vain. Until it is over, no merge begins that nobody waits for.
#[derive(Default)]
pub(super) struct Pause {
    until: Option<Instant>,
    /// Number of merges in vain in a row.
    in_vain: u32,
}

impl Pause {
    pub(super) fn is_over(&self) -> bool {
        self.until.is_none_or(|until| until <= Instant::now())
    }

    /// Begins a pause after a merge in vain that took so long.
    pub(super) fn begin(&mut self, took: Duration) {
        let pause = took.saturating_mul(PAUSE << self.in_vain.min(DOUBLINGS));
        self.until = Instant::now().checked_add(pause);
        self.in_vain += 1;
    }

    /// Ends the row of merges in vain.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_longer_each_time_in_a_row() {
        let mut pause = Pause::default();
        assert!(pause.is_over());
        let hour = Duration::from_secs(3600);
        let mut lengths = Vec::new();
        for _ in 0..12 {
            pause.begin(hour);
            assert!(!pause.is_over());
            let length = pause.until.unwrap().duration_since(Instant::now());
            lengths.push((length.as_secs() + 1800) / 3600);
        }
        assert_eq!(lengths, [4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024, 1024]);
        pause.end();
        assert!(pause.is_over());
    }
}
