//! Restoring rows on several threads. One thread reads the rows; the others put them into the memory engine, which
//! takes the versions of a key in any order.

use crate::error::Result;
use crate::ids::KeyspaceId;
use crate::key::Key;
use crate::memory::MemoryEngine;
use crate::order::clock::Timestamp;
use crate::record::Replay;
use parking_lot::Mutex;
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Maximum number of threads beside the reading one, which could not keep more of them busy.
const MOST_THREADS: usize = 16;
/// Approximate size in bytes of a chunk of rows.
const CHUNK_BYTES: usize = 1 << 20;

/// Runs `read`, which hands over chunks; other threads pass them to `work`, in any order. In exchange for a chunk,
/// `read` gets one that `work` is done with, or a new one; its old content must be discarded. Returns the result of
/// `read`, or the first error.
///
/// The calling thread works on the first chunk itself, and the threads start at the second: most databases are small.
pub(crate) fn on_threads<C: Default + Send, E: Send, R>(
    work: impl Fn(&C) -> Result<(), E> + Sync,
    read: impl FnOnce(&mut dyn FnMut(&mut C) -> Result<(), E>) -> Result<R, E>,
) -> Result<R, E> {
    let spare = Mutex::new(Vec::new());
    let failed = Mutex::new(None);
    let (work, spare, failed) = (&work, &spare, &failed);
    let outcome = thread::scope(|scope| {
        let start = || -> Option<SyncSender<C>> {
            let threads =
                thread::available_parallelism().map_or(1, |threads| threads.get().min(MOST_THREADS));
            let (sender, receiver) = sync_channel::<C>(threads);
            let receiver = Arc::new(Mutex::new(receiver));
            let mut started = 0;
            for _ in 0..threads {
                let receiver = Arc::clone(&receiver);
                let restore = move || {
                    loop {
                        let Ok(chunk) = receiver.lock().recv() else { return };
                        // After an error the threads take the remaining chunks without working on them. Otherwise the
                        // reader would wait forever.
                        if failed.lock().is_none()
                            && let Err(error) = work(&chunk)
                        {
                            failed.lock().get_or_insert(error);
                        }
                        spare.lock().push(chunk);
                    }
                };
                let thread = thread::Builder::new().name("gemel-restore".into());
                started += usize::from(thread.spawn_scoped(scope, restore).is_ok());
            }
            (started > 0).then_some(sender)
        };
        let mut chunks = 0_u64;
        let mut sender = None;
        read(&mut |chunk| {
            chunks += 1;
            if chunks == 2 {
                sender = start();
            }
            let Some(sender) = &sender else { return work(chunk) };
            if let Some(error) = failed.lock().take() {
                return Err(error);
            }
            let empty = spare.lock().pop().unwrap_or_default();
            // Sending fails only if all threads have panicked; the scope then panics too.
            let _ = sender.send(mem::replace(chunk, empty));
            Ok(())
        })
    });
    match failed.lock().take() {
        Some(error) => Err(error),
        None => outcome,
    }
}

/// A version of a row.
struct Head {
    keyspace: KeyspaceId,
    at: Timestamp,
    key_len: usize,
    /// Length of the value; none deletes the row.
    value_len: Option<usize>,
}

/// Versions of rows of the memory engine.
#[derive(Default)]
pub(crate) struct Rows {
    heads: Vec<Head>,
    /// Keys and values, one after the other.
    bytes: Vec<u8>,
}

impl Rows {
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.bytes.clear();
    }

    pub(crate) fn push(&mut self, write: &Replay<'_>) {
        self.heads.push(Head {
            keyspace: write.keyspace,
            at: write.at,
            key_len: write.key.len(),
            value_len: write.value.map(<[u8]>::len),
        });
        self.bytes.extend_from_slice(write.key);
        self.bytes.extend_from_slice(write.value.unwrap_or_default());
    }

    /// Returns true if there are enough rows to hand over.
    pub(crate) fn are_a_chunk(&self) -> bool {
        self.bytes.len() + self.heads.len() * size_of::<Head>() >= CHUNK_BYTES
    }

    pub(crate) fn restore(&self, memory: &MemoryEngine) -> Result<()> {
        let mut rest = self.bytes.as_slice();
        let mut retired = memory.retired();
        for head in &self.heads {
            let (key, behind) = rest.split_at(head.key_len);
            let (value, behind) = behind.split_at(head.value_len.unwrap_or(0));
            rest = behind;
            let value = head.value_len.is_some().then_some(value);
            memory.restore(head.keyspace, &Key::new(key), value, head.at, &mut retired)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn every_chunk_is_worked_on_once() {
        let (sum, worked) = (AtomicU64::new(0), AtomicU64::new(0));
        let read = on_threads::<Vec<u64>, (), _>(
            |chunk| {
                sum.fetch_add(chunk.iter().sum(), Ordering::Relaxed);
                worked.fetch_add(1, Ordering::Relaxed);
                Ok(())
            },
            |hand| {
                let mut chunk = Vec::new();
                for number in 0..1000 {
                    chunk.clear();
                    chunk.extend([number, 1_000_000]);
                    hand(&mut chunk)?;
                }
                Ok("read")
            },
        );
        assert_eq!(read, Ok("read"));
        assert_eq!((sum.into_inner(), worked.into_inner()), (999 * 500 + 1_000_000_000, 1000));
    }

    #[test]
    fn an_error_of_any_chunk_ends_the_reading_and_is_returned() {
        for bad in [0, 1, 500, 9_999] {
            let mut handed = 0;
            let read = on_threads::<u64, u64, ()>(
                |number| if *number == bad { Err(*number) } else { Ok(()) },
                |hand| {
                    for number in 0..10_000 {
                        handed = number;
                        hand(&mut { number })?;
                    }
                    Ok(())
                },
            );
            assert_eq!(read, Err(bad));
            assert!(handed >= bad);
        }
    }

    #[test]
    fn an_error_of_the_reader_is_returned() {
        let read = on_threads::<u64, &str, ()>(
            |_| Ok(()),
            |hand| {
                (0..10).try_for_each(|number| hand(&mut { number }))?;
                Err("unreadable")
            },
        );
        assert_eq!(read, Err("unreadable"));
    }
}
