//! Files that failed attempts to write leave behind.
//!
//! The tree's crate leaves the files of a flush or a merge that failed, and only opening removes them. Some fail for
//! lack of space, and their files would keep the disk full; others are interrupted. An attempt's files have the numbers
//! that were given out while it ran. Another attempt may have run beside it and have succeeded. So each attempt notes
//! which of its files became part of the tree: readers may still use such a file, even after the tree has dropped it.

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
    /// True once an attempt has ended and nobody knows which files the tree needs.
    is_unknown: bool,
}

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The tree has the attempt's files.
    Done,
    /// The tree is as before.
    Failed,
    /// Nobody knows which of the attempt's files the tree needs.
    Unknown,
}

impl Attempts {
    /// Notes the beginning of an attempt, and returns its first number: the next one that the tree gives out, which
    /// `next` returns.
    pub(super) fn begin(&self, next: impl FnOnce() -> TableId) -> TableId {
        let mut numbers = self.0.lock();
        // Under the lock. Otherwise another attempt could get this number and end before this one is noted. Its file
        // would be forgotten, and count as a stray of this one.
        let first = next();
        numbers.running.push(first);
        first
    }

    /// Notes files that are part of the tree, or that are about to be.
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
    pub(super) fn end(&self, first: TableId, next: TableId, outcome: Outcome) {
        let Numbers { running, failed, listed, is_unknown } = &mut *self.0.lock();
        if let Some(place) = running.iter().position(|other| *other == first) {
            running.swap_remove(place);
        }
        *is_unknown |= outcome == Outcome::Unknown;
        if outcome == Outcome::Failed && first < next {
            failed.push(first..next);
        }
        if *is_unknown {
            failed.clear();
        }
        // No attempt that fails later has a number below these.
        let oldest = running.iter().copied().chain(failed.iter().map(|numbers| numbers.start)).min();
        *listed = listed.split_off(&oldest.unwrap_or(next));
    }

    /// Returns true if an attempt has failed since the last call of [`Attempts::take_strays`].
    pub(super) fn have_failed(&self) -> bool {
        !self.0.lock().failed.is_empty()
    }

    /// Returns the files that failed attempts may have left. Only while no attempt runs. Returns none any more once an
    /// attempt has ended as [`Outcome::Unknown`].
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
        assert_eq!(attempts.begin(|| 5), 5);
        attempts.list([5]);
        attempts.end(5, 6, Outcome::Done);
        // A merge makes the files 6 and 9 and fails; beside it a flush makes 7, and another one makes 8 and fails.
        attempts.begin(|| 6);
        attempts.begin(|| 7);
        attempts.list([7]);
        attempts.end(7, 8, Outcome::Done);
        attempts.begin(|| 8);
        attempts.list([8]);
        attempts.unlist([8]);
        attempts.end(8, 9, Outcome::Failed);
        assert!(attempts.have_failed());
        attempts.end(6, 10, Outcome::Failed);
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
            attempts.begin(|| number);
            attempts.list([number]);
            attempts.end(number, number + 1, Outcome::Done);
        }
        assert!(attempts.0.lock().listed.is_empty());
    }

    #[test]
    fn an_attempt_knows_the_files_of_another_one_that_ends_just_before_it_is_noted() {
        let attempts = Attempts::default();
        attempts.begin(|| 6);
        std::thread::scope(|scope| {
            attempts.begin(|| {
                // The other attempt makes the file 6. Its thread waits for the lock until this one is noted.
                let (ended, ending) = std::sync::mpsc::channel();
                let attempts = &attempts;
                scope.spawn(move || {
                    attempts.list([6]);
                    attempts.end(6, 7, Outcome::Done);
                    // Nobody may wait for it any more.
                    let _ = ended.send(());
                });
                assert!(
                    ending.recv_timeout(std::time::Duration::from_millis(200)).is_err(),
                    "no lock was held"
                );
                6
            });
        });
        attempts.end(6, 9, Outcome::Failed);
        assert_eq!(attempts.take_strays(), [7, 8]);
    }

    #[test]
    fn nothing_is_a_stray_once_nobody_knows_which_files_the_tree_needs() {
        let attempts = Attempts::default();
        attempts.begin(|| 5);
        attempts.begin(|| 6);
        attempts.end(5, 7, Outcome::Failed);
        attempts.end(6, 8, Outcome::Unknown);
        assert!(!attempts.have_failed() && attempts.take_strays().is_empty());
        attempts.begin(|| 8);
        attempts.end(8, 9, Outcome::Failed);
        assert!(!attempts.have_failed() && attempts.take_strays().is_empty());
    }
}
