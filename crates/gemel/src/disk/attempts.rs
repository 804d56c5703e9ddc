//! Files that failed attempts to write leave behind.
//!
//! The tree's crate leaves the files of a flush or a merge that failed, and only opening removes them. If the disk was
//! full, they would keep it full. An attempt's files have the numbers that were given out while it ran. Another attempt
//! may have run beside it and have succeeded. So each attempt notes which of its files became part of the tree: readers may
//! still use such a file, even after the tree has dropped it.

use lsm_tree::TableId;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ops::Range;

/// The attempts to write files of one tree.
#[derive(Default)]
pub(super) struct Attempts(Mutex<Numbers>);

#[derive(Default)]
struct Numbers {
    /// The first number of each attempt that is running.
    running: Vec<TableId>,
    /// The numbers that were given out during attempts that failed.
    failed: Vec<Range<TableId>>,
    /// Files that became part of the tree, from the first number on that may belong to an attempt that failed.
    listed: BTreeSet<TableId>,
}

impl Attempts {
    /// Notes the beginning of an attempt; `next` is the next number that the tree gives out.
    pub(super) fn begin(&self, next: TableId) {
        self.0.lock().running.push(next);
    }

    /// Notes files that are part of the tree, or are about to be.
    pub(super) fn list(&self, files: impl IntoIterator<Item = TableId>) {
        self.0.lock().listed.extend(files);
    }

    /// Notes that files did not become part of the tree.
    pub(super) fn unlist(&self, files: impl IntoIterator<Item = TableId>) {
        let mut numbers = self.0.lock();
        for file in files {
            numbers.listed.remove(&file);
        }
    }

    /// Notes the end of the attempt that began with the number `first`.
    pub(super) fn end(&self, first: TableId, next: TableId, is_done: bool) {
        let Numbers { running, failed, listed } = &mut *self.0.lock();
        if let Some(place) = running.iter().position(|other| *other == first) {
            running.swap_remove(place);
        }
        if !is_done && first < next {
            failed.push(first..next);
        }
        // No attempt that fails later has a number below these.
        let oldest = running.iter().copied().chain(failed.iter().map(|numbers| numbers.start)).min();
        *listed = listed.split_off(&oldest.unwrap_or(next));
    }

    /// Returns true if an attempt has failed since the last call of [`Attempts::take_strays`].
    pub(super) fn have_failed(&self) -> bool {
        !self.0.lock().failed.is_empty()
    }

    /// Returns the files that failed attempts may have left. Only while no attempt runs.
    pub(super) fn take_strays(&self) -> Vec<TableId> {
        let Numbers { failed, listed, .. } = &mut *self.0.lock();
        let listed = std::mem::take(listed);
        failed.drain(..).flatten().filter(|file| !listed.contains(file)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strays_are_the_files_of_failed_attempts_that_no_other_attempt_made() {
        let attempts = Attempts::default();
        attempts.begin(5);
        attempts.list([5]);
        attempts.end(5, 6, true);
        // A merge makes the files 6 and 9 and fails; beside it a flush makes 7, and another one makes 8 and fails.
        attempts.begin(6);
        attempts.begin(7);
        attempts.list([7]);
        attempts.end(7, 8, true);
        attempts.begin(8);
        attempts.list([8]);
        attempts.unlist([8]);
        attempts.end(8, 9, false);
        assert!(attempts.have_failed());
        attempts.end(6, 10, false);
        let mut strays = attempts.take_strays();
        strays.sort_unstable();
        strays.dedup();
        assert_eq!(strays, [6, 8, 9]);
        assert!(!attempts.have_failed() && attempts.take_strays().is_empty());
        assert!(attempts.0.lock().listed.is_empty());
    }

    #[test]
    fn files_are_forgotten_once_no_running_attempt_is_older() {
        let attempts = Attempts::default();
        for number in 0..100 {
            attempts.begin(number);
            attempts.list([number]);
            attempts.end(number, number + 1, true);
        }
        assert!(attempts.0.lock().listed.is_empty());
    }
}
