//! The contract between the engine and the tree below it, point by point.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The tree counts its flushes and compactions as sequence numbers of its own. They must not affect the engine's order.
#[test]
fn a_flushes_and_compactions_change_neither_the_clock_nor_snapshots() {
    let (_directory, engine) = engine();
    let first = put(&engine, "k", "one");
    for round in 0..20 {
        put(&engine, &format!("other {round}"), "x");
        engine.flush_all().unwrap();
        compact(&engine);
    }
    assert_eq!(engine.clock().horizon(), Timestamp(first.0 + 20));
    assert_eq!(engine.clock().drawn(), engine.clock().horizon());
    assert_eq!(get(&engine, "k", first).as_deref(), Some("one"));
    assert_eq!(get(&engine, "k", Timestamp(first.0 - 1)), None);
    assert_eq!(scan(&engine, &all(), Direction::Forward, first, 100).len(), 1);
}

/// A memtable is sealed only between commits, and every reader gets the newest state of the tree.
#[test]
fn b_no_insert_is_lost_when_rotations_race_with_commits() {
    const WRITERS: u64 = 3;
    let (_directory, engine) = engine();
    let done = AtomicBool::new(false);
    let commits = AtomicU64::new(0);
    let stamps = parking_lot::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let (engine, commits, stamps) = (&engine, &commits, &stamps);
            writers.push(scope.spawn(move || {
                let until = std::time::Instant::now() + std::time::Duration::from_millis(1500);
                let mut number = 0;
                while std::time::Instant::now() < until {
                    let names = [format!("{writer} {number}"), format!("{writer} {number} twin")];
                    let since = engine.clock().horizon();
                    let mut writes: Vec<_> = names.iter().map(|name| write(name, Some("v"), since)).collect();
                    writes.push(write(format!("last of {writer}"), Some(&number.to_string()), since));
                    engine.enter(true).unwrap();
                    engine.lock(Owner::from(writer as u32 + 1), &mut writes).unwrap();
                    let at = engine.clock().draw();
                    if number % 7 == 0 {
                        engine.give_up(&mut writes);
                        engine.leave();
                        engine.clock().publish(at);
                    } else {
                        std::thread::yield_now();
                        engine.install(&mut writes, at);
                        engine.leave();
                        engine.clock().publish(at);
                        // The commit is visible at once, and through flushes and compactions.
                        for name in &names {
                            assert_eq!(get(engine, name, at).as_deref(), Some("v"), "{name}");
                            assert_eq!(get(engine, name, Timestamp(at.0 - 1)), None, "{name}");
                        }
                        stamps.lock().push((names, at, writer, number));
                        commits.fetch_add(1, Ordering::Relaxed);
                    }
                    number += 1;
                }
            }));
        }
        let flusher = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                engine.flush_all().unwrap();
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        flusher.join().unwrap();
    });
    assert!(engine.state().flushes > 2, "{:?}", engine.state());
    let stamps = stamps.into_inner();
    assert_eq!(stamps.len() as u64, commits.load(Ordering::Relaxed));
    for (names, at, writer, number) in stamps {
        for name in &names {
            assert_eq!(get(&engine, name, at).as_deref(), Some("v"), "{name}");
            assert_eq!(get(&engine, name, Timestamp(at.0 - 1)), None, "{name}");
        }
        assert_eq!(get(&engine, format!("last of {writer}"), at), Some(number.to_string()));
    }
}

/// The crate's own collector would drop "old" here: it has a newer version and is below the watermark plus one.
#[test]
fn c_a_held_snapshot_reads_its_versions_after_flushes_and_compactions() {
    let (_directory, engine) = engine();
    put(&engine, "k", "oldest");
    put(&engine, "gone", "still here");
    let held = put(&engine, "k", "old");
    engine.collect(held);
    for round in 0..12 {
        put(&engine, "k", &format!("new {round}"));
        commit(&engine, &[("gone", None)]);
        put(&engine, &format!("noise {round}"), "x");
        engine.flush_all().unwrap();
        compact(&engine);
        assert_eq!(get(&engine, "k", held).as_deref(), Some("old"), "after round {round}");
        assert_eq!(get(&engine, "gone", held).as_deref(), Some("still here"));
        assert_eq!(scan(&engine, &all(), Direction::Forward, held, 10).len(), 2);
        assert_eq!(scan(&engine, &all(), Direction::Backward, held, 10).len(), 2);
    }
    assert!(engine.state().compactions > 0, "{:?}", engine.state());
    assert_eq!(get(&engine, "gone", engine.clock().horizon()), None);
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A compaction that found everything below the watermark must not merge files that were flushed meanwhile.
#[test]
fn c_a_held_snapshot_never_changes_while_flushes_race_with_compactions() {
    let (_directory, engine) = engine();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || {
                for round in 0_u64.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    for row in 0..20 {
                        let value = round.to_string();
                        let deleted = round % 3 == 2 && row % 2 == 0;
                        commit(engine, &[(format!("{writer} {row}"), (!deleted).then_some(value.as_str()))]);
                    }
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                engine.flush_all().unwrap();
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                compact(&engine);
            }
        });
        // The threads also end if an assertion fails.
        let _end = SetOnDrop(&done);
        let raced = || {
            let state = engine.state();
            state.flushes > 10 && state.compactions > 5
        };
        let mut rounds = 0;
        while rounds < 10 || !raced() {
            rounds += 1;
            let held = engine.clock().horizon();
            engine.collect(held);
            let state = scan(&engine, &all(), Direction::Forward, held, 100);
            for _ in 0..5 {
                std::thread::sleep(std::time::Duration::from_millis(2));
                assert_eq!(scan(&engine, &all(), Direction::Forward, held, 100), state);
                for (name, value) in &state {
                    assert_eq!(get(&engine, name, held).as_ref(), Some(value));
                }
            }
        }
    });
}

#[test]
fn c_versions_that_no_snapshot_reads_are_dropped() {
    let (_directory, engine) = engine();
    let filler = "x".repeat(1000);
    let grow = |rounds: usize| {
        for _ in 0..rounds {
            for row in 0..100 {
                put(&engine, &format!("row {row}"), &filler);
            }
            engine.collect(engine.clock().horizon());
            engine.flush_all().unwrap();
            compact(&engine);
        }
    };
    grow(2);
    let bytes = engine.state().file_bytes;
    grow(20);
    let grown = engine.state().file_bytes;
    assert!(grown < 6 * bytes, "{bytes} bytes became {grown}");
    for row in 0..100 {
        commit(&engine, &[(format!("row {row}"), None)]);
    }
    assert!(scan(&engine, &all(), Direction::Forward, engine.clock().horizon(), 1).is_empty());
}

/// Conflict checks do not use the tree, which need not know the timestamp of a version.
#[test]
fn d_conflict_checks_do_not_depend_on_the_files() {
    let (_directory, engine) = engine();
    let before = engine.clock().horizon();
    let after = put(&engine, "k", "one");
    engine.flush_all().unwrap();
    compact(&engine);
    assert!(matches!(
        engine.lock(Owner::from(2), &mut [write("k", Some("two"), before)]),
        Err(Refusal::Clash(clash)) if clash.kind == crate::Conflict::Write
    ));
    engine.collect(after);
    engine.flush_all().unwrap();
    compact(&engine);
    assert_eq!(engine.state().recent_keys, 0);
    let mut writes = [write("k", Some("two"), after)];
    engine.lock(Owner::from(2), &mut writes).unwrap();
    engine.give_up(&mut writes);
    assert!(engine.validate_key(Owner::from(3), KS, &key("k"), after).unwrap());
}

/// The sizes of rows, cache and memtables make most reads go to files.
#[test]
fn e_data_may_be_larger_than_the_cache_and_the_write_buffer() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { cache_bytes: 256 << 10, write_buffer_bytes: 256 << 10, ..Options::default() };
    let engine = open_with(directory.path(), &options, no_log());
    let filler = "x".repeat(400);
    let rows = 10_000;
    for row in 0..rows {
        put(&engine, &format!("{:05}", row * 7919 % rows), &format!("{row} {filler}"));
        if row % 100 == 0 {
            engine.collect(engine.clock().horizon());
        }
    }
    let at = engine.clock().horizon();
    for row in 0..rows {
        let name = format!("{:05}", row * 7919 % rows);
        assert_eq!(get(&engine, &name, at), Some(format!("{row} {filler}")));
    }
    assert_eq!(scan(&engine, &all(), Direction::Forward, at, usize::MAX).len(), rows);
    let state = engine.state();
    assert!(state.flushes > 4 && state.file_bytes > 2 << 20, "{state:?}");
    assert!(state.memtable_bytes + state.sealed_bytes < 4 * options.write_buffer_bytes, "{state:?}");
    assert!(state.blocks_cached > 0 && state.blocks_from_files > 0, "{state:?}");
    assert!(state.cached_bytes <= 2 * options.cache_bytes, "{state:?}");
}

/// The engine, not the tree, controls threads, stalls and the log's part.
#[test]
fn f_nothing_is_flushed_before_the_log_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let durable = Arc::new(AtomicBool::new(true));
    let hook: BeforeFlush = {
        let durable = Arc::clone(&durable);
        Arc::new(move || {
            if durable.load(Ordering::SeqCst) {
                Ok(())
            } else {
                Err(crate::Error::Poisoned("the log could not be written".into()))
            }
        })
    };
    let options = Options { write_buffer_bytes: 10_000, ..Options::default() };
    let engine = open_with(directory.path(), &options, hook);
    put(&engine, "a", "flushed");
    engine.flush_all().unwrap();
    let persisted = engine.persisted(KS).unwrap();

    durable.store(false, Ordering::SeqCst);
    let filler = "x".repeat(4000);
    let mut refused = None;
    for row in 0..1000 {
        let mut writes = [write(format!("{row}"), Some(&filler), engine.clock().horizon())];
        if let Err(error) = engine.enter(true) {
            refused = Some(error);
            break;
        }
        engine.lock(Owner::from(1), &mut writes).unwrap();
        let at = engine.clock().draw();
        engine.install(&mut writes, at);
        engine.leave();
        engine.clock().publish(at);
    }
    // Writers stalled until the failure was known, and are rejected since.
    assert!(matches!(refused, Some(crate::Error::Poisoned(_))), "{refused:?}");
    durable.store(true, Ordering::SeqCst);
    assert!(engine.flush_all().is_err(), "a failure is for good");
    assert!(engine.open_keyspace(KeyspaceId(2)).is_err());
    assert_eq!(engine.persisted(KS).unwrap(), persisted);
    assert_eq!(get(&engine, "0", engine.clock().horizon()), Some(filler), "reads go on");
}

#[test]
fn f_writers_wait_while_too_much_is_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let slow: BeforeFlush = Arc::new(|| {
        std::thread::sleep(std::time::Duration::from_millis(30));
        Ok(())
    });
    let options = Options { write_buffer_bytes: 20_000, ..Options::default() };
    let engine = open_with(directory.path(), &options, slow);
    let filler = "x".repeat(4000);
    for row in 0..100 {
        put(&engine, &format!("{row}"), &filler);
        let state = engine.state();
        assert!(state.memtable_bytes + state.sealed_bytes < 70_000, "{state:?}");
    }
    assert!(engine.state().stalls > 0, "{:?}", engine.state());
}

/// Both hold off flushes and compactions, so they must do it in one order.
#[test]
fn a_keyspace_can_be_dropped_while_something_keeps_the_files_as_they_are() {
    let (_directory, engine) = engine();
    let engine = Arc::new(engine);
    let (dropped, all) = std::sync::mpsc::channel();
    let done = Arc::new(AtomicBool::new(false));
    // Threads that hang are left behind: the test fails without them.
    std::thread::spawn({
        let engine = Arc::clone(&engine);
        move || {
            for number in 10..200 {
                engine.open_keyspace(KeyspaceId(number)).unwrap();
                engine.drop_keyspace(KeyspaceId(number)).unwrap();
            }
            dropped.send(()).unwrap();
        }
    });
    let keeper = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            while !done.load(Ordering::Relaxed) {
                engine.while_files_stay(|_| Ok(())).unwrap();
            }
        }
    });
    all.recv_timeout(std::time::Duration::from_secs(120)).expect("the two do not wait for each other");
    done.store(true, Ordering::Relaxed);
    keeper.join().unwrap();
}
