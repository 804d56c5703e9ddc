//! Model checks of the synchronisation core. They compile the same files with a model checker's locks and atomics, and
//! the checker runs them in many orders.

mod sync {
    pub(super) use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use shuttle::thread::yield_now;
}

mod needs;
#[path = "pipeline.rs"]
#[allow(dead_code, clippy::duplicate_mod, reason = "the model uses a part of them, with other locks")]
mod pipeline;
#[path = "waiter.rs"]
#[allow(dead_code, clippy::duplicate_mod, reason = "the model uses a part of them, with other locks")]
mod waiter;

use super::entry::{self, Entry, Large};
use super::{Lsn, frame};
use crate::error::Error;
use crate::options::Durability;
use pipeline::{Meanwhile, Pipeline};
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use waiter::Waiter;

/// Acts as a writer without a file. It notes the position that it "synced" before it publishes it.
fn write(pipeline: Arc<Pipeline>, synced: Arc<AtomicU64>, fail_at: Option<u64>) {
    let mut spare = Vec::new();
    for round in 0.. {
        let Some(work) = pipeline.next(spare) else { break };
        assert_eq!(work.end - work.start, work.batch.len() as u64);
        if fail_at == Some(round) {
            pipeline.fail(&Arc::from("it failed"));
            break;
        }
        thread::yield_now();
        if work.sync {
            synced.store(work.end, Ordering::SeqCst);
        }
        pipeline.finished(&work);
        spare = work.batch;
    }
}

struct Logs {
    pipelines: [Arc<Pipeline>; 2],
    synced: [Arc<AtomicU64>; 2],
    writers: Vec<thread::JoinHandle<()>>,
}

fn logs(fail_at: Option<u64>) -> Arc<Logs> {
    let pipelines = [(); 2].map(|()| Arc::new(Pipeline::new(Lsn(0), Durability::Full, None)));
    let synced = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    let writers = (0..2)
        .map(|log| {
            let (pipeline, synced) = (pipelines[log].clone(), synced[log].clone());
            let fail_at = if log == 1 { fail_at } else { None };
            thread::spawn(move || write(pipeline, synced, fail_at))
        })
        .collect();
    Arc::new(Logs { pipelines, synced, writers })
}

/// Runs `work` on three threads, each with its number, and returns the results in this order.
fn on_three_threads<T: Send + 'static>(logs: &Arc<Logs>, work: fn(&Logs, usize) -> T) -> Vec<T> {
    let committers: Vec<_> = (0..3)
        .map(|committer| {
            let logs = logs.clone();
            thread::spawn(move || work(&logs, committer))
        })
        .collect();
    committers.into_iter().map(|committer| committer.join().unwrap()).collect()
}

/// A record that is large enough to be handed over.
fn large() -> Entry<'static> {
    Entry::Moved(Large::take(&mut vec![7; 1000], 10).unwrap())
}

impl Logs {
    fn commit(&self, both: bool) -> Option<(Lsn, Lsn, Arc<Waiter>)> {
        let [one, two] = &self.pipelines;
        let (first, second) = if both {
            Pipeline::append_both((one, b"a".into()), (two, large())).ok()?
        } else {
            (one.append(b"a").ok()?, two.end())
        };
        let waiter = Arc::new(Waiter::new(2));
        one.enqueue(first, &waiter, Meanwhile::Nothing);
        two.enqueue(second, &waiter, Meanwhile::Nothing);
        Some((first, second, waiter))
    }

    fn check(&self, first: Lsn, second: Lsn) {
        for (log, lsn) in [first, second].into_iter().enumerate() {
            assert!(self.pipelines[log].durable() >= lsn, "released before the position was published");
            assert!(self.synced[log].load(Ordering::SeqCst) >= lsn.0, "released before it was synced");
        }
    }

    fn close(self: Arc<Self>) {
        for pipeline in &self.pipelines {
            pipeline.close();
        }
        let logs = Arc::into_inner(self).unwrap();
        for writer in logs.writers {
            writer.join().unwrap();
        }
        for pipeline in &logs.pipelines {
            assert!(pipeline.durable() == pipeline.end() || pipeline.failure().is_some());
        }
    }
}

#[test]
fn every_thread_is_released_and_only_when_both_logs_are_durable() {
    shuttle::check_random(
        || {
            let logs = logs(None);
            on_three_threads(&logs, |logs, committer| {
                for round in 0..2 {
                    let both = (committer + round).is_multiple_of(2);
                    let (first, second, waiter) = logs.commit(both).unwrap();
                    waiter.wait().unwrap();
                    logs.check(first, second);
                }
            });
            logs.close();
        },
        1000,
    );
}

#[test]
fn every_task_and_callback_is_released_and_only_when_both_logs_are_durable() {
    shuttle::check_pct(
        || {
            let logs = logs(None);
            let called = Arc::new(AtomicU64::new(0));
            let tasks: Vec<_> = (0..2)
                .map(|task| {
                    let (logs, called) = (logs.clone(), called.clone());
                    thread::spawn(move || {
                        let (first, second, waiter) = logs.commit(task == 0).unwrap();
                        shuttle::future::block_on(std::future::poll_fn(|context| waiter.poll(context)))
                            .unwrap();
                        logs.check(first, second);
                        let (_, _, waiter) = logs.commit(true).unwrap();
                        waiter.on_done(Box::new(move |outcome| {
                            assert!(outcome.is_ok());
                            called.fetch_add(1, Ordering::SeqCst);
                        }));
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            logs.close();
            assert_eq!(called.load(Ordering::SeqCst), 2);
        },
        1000,
        3,
    );
}

#[test]
fn a_failing_log_releases_every_waiter_with_the_cause() {
    shuttle::check_random(
        || {
            let logs = logs(Some(1));
            on_three_threads(&logs, |logs, _| {
                for _ in 0..3 {
                    let Some((first, second, waiter)) = logs.commit(true) else { return };
                    match waiter.wait() {
                        Ok(()) => logs.check(first, second),
                        Err(cause) => assert_eq!(&*cause, "it failed"),
                    }
                }
            });
            logs.close();
        },
        1000,
    );
}

/// Acts as a writer that finds no space until `space` is set.
fn write_with_space(pipeline: &Pipeline, synced: &AtomicU64, space: &AtomicBool) {
    let mut spare = Vec::new();
    while let Some(work) = pipeline.next(spare) {
        loop {
            let found = space.load(Ordering::SeqCst);
            thread::yield_now();
            if found {
                break;
            }
            let cause = Arc::from("the disk is full");
            if !pipeline.wait_for_space(&cause) {
                return pipeline.fail(&cause);
            }
        }
        if work.sync {
            synced.store(work.end, Ordering::SeqCst);
        }
        pipeline.finished(&work);
        spare = work.batch;
    }
}

#[derive(Clone)]
struct SmallDisk {
    pipeline: Arc<Pipeline>,
    synced: Arc<AtomicU64>,
    space: Arc<AtomicBool>,
}

impl SmallDisk {
    fn new() -> (Self, thread::JoinHandle<()>) {
        let disk = Self {
            pipeline: Arc::new(Pipeline::new(Lsn(0), Durability::Full, None)),
            synced: Arc::default(),
            space: Arc::default(),
        };
        let of_writer = disk.clone();
        let writer = thread::spawn(move || {
            write_with_space(&of_writer.pipeline, &of_writer.synced, &of_writer.space);
        });
        (disk, writer)
    }

    /// Commits, unless the disk is full or the log closed. Returns the outcome of the ticket.
    fn commit(&self) -> Option<Result<(), Arc<str>>> {
        let had_space = self.space.load(Ordering::SeqCst);
        let lsn = match self.pipeline.wait_for_room(|| Ok(())).and_then(|()| self.pipeline.append(b"a")) {
            Ok(lsn) => lsn,
            Err(Error::DiskFull(_)) => {
                assert!(!had_space, "a commit is rejected although there was space before it began");
                return None;
            }
            Err(_) => return None,
        };
        let waiter = Arc::new(Waiter::new(1));
        self.pipeline.enqueue(lsn, &waiter, Meanwhile::Nothing);
        let outcome = waiter.wait();
        let is_synced = self.synced.load(Ordering::SeqCst) >= lsn.0;
        assert!(outcome.is_err() || is_synced, "released before it was synced");
        Some(outcome)
    }

    fn sync(&self) -> Result<(), Arc<str>> {
        let waiter = Arc::new(Waiter::new(1));
        self.pipeline.enqueue(self.pipeline.end(), &waiter, Meanwhile::NothingForLong);
        waiter.wait()
    }
}

#[test]
fn once_there_is_space_nobody_is_rejected_and_every_waiter_is_released() {
    let run = || {
        let (disk, writer) = SmallDisk::new();
        let committers: Vec<_> = (0..2)
            .map(|_| {
                let disk = disk.clone();
                thread::spawn(move || {
                    (0..3).filter_map(|_| disk.commit()).for_each(|outcome| outcome.unwrap())
                })
            })
            .collect();
        // A sync in between may fail, but ends.
        let _ = disk.sync();
        disk.space.store(true, Ordering::SeqCst);
        disk.sync().unwrap();
        committers.into_iter().for_each(|committer| committer.join().unwrap());
        disk.commit().unwrap().unwrap();
        disk.pipeline.close();
        writer.join().unwrap();
        assert_eq!(disk.pipeline.durable(), disk.pipeline.end());
    };
    shuttle::check_random(run, 2000);
    shuttle::check_pct(run, 2000, 3);
}

#[test]
fn closing_a_log_without_space_releases_every_waiter_with_the_cause() {
    let run = || {
        let (disk, writer) = SmallDisk::new();
        let committers: Vec<_> = (0..2)
            .map(|_| {
                let disk = disk.clone();
                thread::spawn(move || {
                    assert!((0..2).filter_map(|_| disk.commit()).all(|outcome| outcome.is_err()))
                })
            })
            .collect();
        disk.pipeline.close();
        writer.join().unwrap();
        committers.into_iter().for_each(|committer| committer.join().unwrap());
        assert!(disk.sync().is_err() || disk.pipeline.end() == Lsn(0));
    };
    shuttle::check_random(run, 2000);
    shuttle::check_pct(run, 2000, 3);
}

/// A time that no test waits for. The checker's condition variables never time out.
const LONG: std::time::Duration = std::time::Duration::from_secs(3_600);

/// A log that gathers commits, and the number of callbacks that it has called.
#[derive(Clone)]
struct GatheringLog {
    pipeline: Arc<Pipeline>,
    synced: Arc<AtomicU64>,
    called: Arc<AtomicU64>,
}

impl GatheringLog {
    fn new() -> (Self, thread::JoinHandle<()>) {
        let log = Self {
            pipeline: Arc::new(Pipeline::new(Lsn(0), Durability::Full, Some(LONG))),
            synced: Arc::default(),
            called: Arc::default(),
        };
        let of_writer = log.clone();
        let writer = thread::spawn(move || write(of_writer.pipeline, of_writer.synced, None));
        (log, writer)
    }

    /// Commits, and leaves the answer to a callback that also calls `then`.
    fn commit(&self, then: impl FnOnce() + Send + 'static) -> Lsn {
        let lsn = self.pipeline.append(b"a").unwrap();
        let log = self.clone();
        let waiter = Waiter::new(1);
        waiter.on_done(Box::new(move |outcome| {
            outcome.unwrap();
            assert!(log.synced.load(Ordering::SeqCst) >= lsn.0, "released before it was synced");
            log.called.fetch_add(1, Ordering::SeqCst);
            then();
        }));
        self.pipeline.enqueue(lsn, &Arc::new(waiter), Meanwhile::Work);
        lsn
    }

    fn commits(&self, count: u64) {
        (0..count).for_each(|_| {
            self.commit(|| ());
        });
    }

    /// Waits until this number of callbacks were called and the writer rests.
    fn rest(&self, called: u64) {
        while self.called.load(Ordering::SeqCst) < called || !self.pipeline.rests() {
            thread::yield_now();
        }
        assert_eq!(self.called.load(Ordering::SeqCst), called);
    }
}

/// Threads leave their commits to callbacks, and hurry the log when they have nothing else to do. A hurry that the log
/// misses hangs the model.
#[test]
fn a_log_that_gathers_commits_releases_every_callback_after_a_hurry() {
    let run = || {
        let (log, writer) = GatheringLog::new();
        let committers: Vec<_> = (0..2)
            .map(|_| {
                let log = log.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        let released = Arc::new((sync::Mutex::new(0), sync::Condvar::new()));
                        for _ in 0..3 {
                            let released = released.clone();
                            log.commit(move || {
                                *released.0.lock().unwrap() += 1;
                                released.1.notify_one();
                            });
                        }
                        log.pipeline.hurry();
                        let mut count = released.0.lock().unwrap();
                        while *count < 3 {
                            count = released.1.wait(count).unwrap();
                        }
                    }
                })
            })
            .collect();
        committers.into_iter().for_each(|committer| committer.join().unwrap());
        log.pipeline.close();
        writer.join().unwrap();
    };
    shuttle::check_random(run, 2000);
    shuttle::check_pct(run, 2000, 3);
}

#[test]
fn a_log_gathers_commits_with_callbacks_until_somebody_waits_or_enough_have_come() {
    shuttle::check_random(
        || {
            let (log, writer) = GatheringLog::new();
            log.commits(9);
            let last = log.commit(|| ());
            log.rest(0);
            // A thread that waits has all of them written, in one batch.
            let waiter = Arc::new(Waiter::new(1));
            log.pipeline.enqueue(last, &waiter, Meanwhile::Nothing);
            waiter.wait().unwrap();
            log.rest(10);
            assert_eq!(log.pipeline.counts().batches, 1);
            // Enough of them need nobody who waits.
            log.commits(64);
            log.rest(74);
            assert_eq!(log.pipeline.counts().batches, 2);
            // The rest is written when the log is closed.
            log.commits(3);
            log.pipeline.close();
            writer.join().unwrap();
            assert_eq!(log.called.load(Ordering::SeqCst), 77);
        },
        200,
    );
}

#[test]
fn a_log_learns_how_many_commits_are_enough() {
    shuttle::check_random(
        || {
            let (log, writer) = GatheringLog::new();
            // The caller has four commits under way at most, so two are enough.
            log.commits(4);
            log.rest(0);
            log.pipeline.hurry();
            log.rest(4);
            log.commits(1);
            log.rest(4);
            log.commits(1);
            log.rest(6);
            // After 64 writes with enough commits, these two among them, a third one can come.
            for write in 2..=63 {
                log.commits(2);
                log.rest(4 + 2 * write);
            }
            log.commits(2);
            log.rest(130);
            log.commits(1);
            log.rest(133);
            // A record without a waiter is written too.
            let end = log.pipeline.append(b"a").unwrap();
            log.pipeline.hurry();
            while log.pipeline.durable() < end {
                thread::yield_now();
            }
            log.pipeline.close();
            writer.join().unwrap();
        },
        50,
    );
}
