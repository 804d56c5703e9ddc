//! Watches: what others write while a transaction with a large read set is being validated.
//!
//! A commit delays all later commits of an engine from drawing its timestamp to publishing it. So a transaction that has
//! read much validates its reads before it draws. From then on a watch notes the keys that other commits lock. After
//! drawing, only those keys are compared with the reads (`DESIGN.md`, "Commit").

use crate::engine::Write;
use crate::ids::KeyspaceId;
use crate::key::Key;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// A key that another commit has locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) engine: usize,
    pub(crate) keyspace: KeyspaceId,
    pub(crate) key: Key,
}

/// All watches of a database.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    /// Number of open watches, so a commit that nobody watches takes no lock.
    open: AtomicUsize,
    notes: Mutex<Vec<(u64, Vec<Noted>)>>,
}

impl Watches {
    /// Opens a watch for transaction number `owner`. A commit that locks a key and is not noted by this watch had locked
    /// the key before this returned, so a validation that begins now finds the lock or what became of it.
    pub(crate) fn open(&self, owner: u64) -> Watch<'_> {
        self.notes.lock().push((owner, Vec::new()));
        self.open.fetch_add(1, Ordering::SeqCst);
        // Pairs with the fence in `note`.
        fence(Ordering::SeqCst);
        Watch { watches: self, owner }
    }

    /// Notes the writes of a commit in all watches of others. The commit has locked the keys and has not drawn a
    /// timestamp.
    pub(crate) fn note<'a>(&self, owner: u64, parts: impl Iterator<Item = (usize, &'a [Write])>) {
        // Pairs with the fence in `open`: either this finds the watch, or the watch's validation finds the locks.
        fence(Ordering::SeqCst);
        if self.open.load(Ordering::SeqCst) == 0 {
            return;
        }
        let noted: Vec<Noted> = parts
            .flat_map(|(engine, writes)| {
                writes.iter().map(move |write| Noted {
                    engine,
                    keyspace: write.keyspace,
                    key: write.key.clone(),
                })
            })
            .collect();
        for (_, notes) in self.notes.lock().iter_mut().filter(|(watcher, _)| *watcher != owner) {
            notes.extend_from_slice(&noted);
        }
    }
}

/// An open watch. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    watches: &'a Watches,
    owner: u64,
}

impl Watch<'_> {
    /// Returns the keys that others have locked since the watch was opened or this was last called.
    pub(crate) fn take(&self) -> Vec<Noted> {
        let mut all = self.watches.notes.lock();
        let mine = all.iter_mut().find(|(owner, _)| *owner == self.owner);
        mine.map(|(_, notes)| std::mem::take(notes)).unwrap_or_default()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.watches.open.fetch_sub(1, Ordering::SeqCst);
        self.watches.notes.lock().retain(|(owner, _)| *owner != self.owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Handle;
    use crate::order::clock::Timestamp;

    #[test]
    fn a_watch_notes_what_others_lock_while_it_is_open() {
        let watches = Watches::default();
        let write = |name: &str| Write {
            keyspace: KeyspaceId(3),
            key: Key::new(name.as_bytes()),
            value: None,
            since: Timestamp::ZERO,
            handle: Handle::None,
        };
        let note = |owner, name| watches.note(owner, [(1, &[write(name)][..])].into_iter());
        let names =
            |watch: &Watch<'_>| watch.take().iter().map(|noted| noted.key.to_vec()).collect::<Vec<_>>();
        note(1, "before");
        let (first, second) = (watches.open(1), watches.open(2));
        note(1, "by the first");
        note(3, "by a third");
        assert_eq!(names(&first), [b"by a third".to_vec()]);
        assert_eq!(names(&second), [b"by the first".to_vec(), b"by a third".to_vec()]);
        assert!(names(&second).is_empty(), "each note is returned only once");
        drop((first, second));
        note(3, "after");
        assert!(watches.notes.lock().is_empty());
    }
}
