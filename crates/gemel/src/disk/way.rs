//! Merges that nobody waits for give way to those that can't wait.
//!
//! A merge for the sake of dead versions can take half a minute. The end of the database, a backup or the removal of a
//! table would wait for it, and so would the files of other tables that writers have to wait for. Then it ends without a
//! result, and begins anew later. The tree's crate asks a filter for each row of a merge; an error there ends the merge.

use crate::error::Error;
use lsm_tree::compaction::filter::{CompactionFilter, Context, Factory, ItemAccessor, Verdict};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Who needs the way of an engine's merges.
#[derive(Debug, Default)]
pub(crate) struct Way {
    /// Number of those who wait for the end of a merge.
    waiting: AtomicUsize,
    /// True if writers must soon wait for merges.
    are_writers_near: AtomicBool,
}

impl Way {
    /// Asks merges to give way while `work` runs.
    pub(super) fn need_for<T>(&self, work: impl FnOnce() -> T) -> T {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let done = work();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        done
    }

    /// Asks merges to give way from now on.
    pub(super) fn need_for_good(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes if writers must soon wait for merges.
    pub(super) fn note_writers(&self, are_near: bool) {
        self.are_writers_near.store(are_near, Ordering::SeqCst);
    }

    fn is_needed(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0 || self.are_writers_near.load(Ordering::SeqCst)
    }
}

/// Makes the filters of one tree's merges.
#[derive(Clone)]
pub(super) struct WayFactory {
    way: Arc<Way>,
    /// True while the tree's merge gives way. The others are short, and others wait for them.
    gives: Arc<AtomicBool>,
}

/// Ends the time in which a tree's merge gives way.
pub(super) struct Giving<'a>(&'a AtomicBool);

impl Drop for Giving<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl WayFactory {
    pub(super) fn new(way: Arc<Way>) -> Self {
        Self { way, gives: Arc::default() }
    }

    /// Lets the tree's next merge give way, until the returned value is dropped. Only one merge runs at a time.
    pub(super) fn give(&self) -> Giving<'_> {
        self.gives.store(true, Ordering::SeqCst);
        Giving(&self.gives)
    }
}

impl Factory for WayFactory {
    fn name(&self) -> &str {
        "way"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        Box::new(WayFilter(self.gives.load(Ordering::SeqCst).then(|| Arc::clone(&self.way))))
    }
}

struct WayFilter(Option<Arc<Way>>);

impl CompactionFilter for WayFilter {
    fn filter_item(&mut self, _: ItemAccessor<'_>, _: &Context) -> lsm_tree::Result<Verdict> {
        match &self.0 {
            Some(way) if way.is_needed() => Err(io::Error::from(io::ErrorKind::Interrupted).into()),
            _ => Ok(Verdict::Keep),
        }
    }
}

/// Returns true if an error is that of a merge that gave way.
pub(super) fn is_interruption(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::Interrupted)
}
