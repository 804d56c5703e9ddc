//! The anomalies of two engines without common snapshots, named after Skeena's figures. The registry prevents them.
//! Without it they happen, which shows that these tests can fail.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::{Conflict, Database, Direction, Engine, Error, Isolation, Keyspace, Options, Transaction, Wait};
use std::ops::{Bound, ControlFlow};

const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];

struct Shop {
    db: Database,
    hot: Keyspace,
    cold: Keyspace,
    _directory: tempfile::TempDir,
}

fn shop(csr: bool) -> Shop {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db"), Options { csr, ..Options::default() }).unwrap();
    let hot = db.keyspace("hot", Engine::Memory).unwrap();
    let cold = db.keyspace("cold", Engine::Disk).unwrap();
    let shop = Shop { db, hot, cold, _directory: directory };
    shop.run(|transaction| {
        transaction.put(&shop.hot, b"x", b"0")?;
        transaction.put(&shop.cold, b"y", b"0")
    });
    shop
}

impl Shop {
    fn begin(&self, isolation: Isolation) -> Transaction {
        self.db.begin(isolation).unwrap()
    }

    fn run(&self, work: impl FnOnce(&mut Transaction) -> gemel::Result<()>) {
        let mut transaction = self.begin(Isolation::Serializable);
        work(&mut transaction).unwrap();
        transaction.commit().unwrap().wait().unwrap();
    }

    fn x(&self, transaction: &mut Transaction) -> u8 {
        transaction.get(&self.hot, b"x").unwrap().unwrap()[0] - b'0'
    }

    fn y(&self, transaction: &mut Transaction) -> u8 {
        transaction.get(&self.cold, b"y").unwrap().unwrap()[0] - b'0'
    }
}

/// Figure 2.1 (a): a reader takes its two snapshots on different sides of a commit over both engines.
fn skewed_snapshots(csr: bool) -> (u8, u8) {
    let shop = shop(csr);
    let mut reader = shop.begin(Isolation::Snapshot);
    let x = shop.x(&mut reader);
    shop.run(|writer| {
        writer.put(&shop.hot, b"x", b"1")?;
        writer.put(&shop.cold, b"y", b"1")
    });
    (x, shop.y(&mut reader))
}

#[test]
fn skewed_snapshots_are_prevented() {
    assert_eq!(skewed_snapshots(true), (0, 0));
}

#[test]
fn skewed_snapshots_happen_without_the_registry() {
    assert_eq!(skewed_snapshots(false), (0, 1));
}

/// A later reader gets an older snapshot of the disk engine than an earlier one: snapshots that are not monotone.
fn order_of_snapshots(csr: bool) -> ((u8, u8), (u8, u8)) {
    let shop = shop(csr);
    let mut early = shop.begin(Isolation::Snapshot);
    shop.run(|writer| writer.put(&shop.hot, b"x", b"1"));
    let mut late = shop.begin(Isolation::Snapshot);
    let late_sees = (shop.x(&mut late), shop.y(&mut late));
    shop.run(|writer| writer.put(&shop.cold, b"y", b"1"));
    let early_sees = (shop.x(&mut early), shop.y(&mut early));
    (early_sees, late_sees)
}

#[test]
fn snapshots_of_both_engines_keep_one_order() {
    assert_eq!(order_of_snapshots(true), ((0, 0), (1, 0)));
}

#[test]
fn snapshots_of_both_engines_cross_without_the_registry() {
    // One reader sees x before y, the other y before x: a long fork.
    assert_eq!(order_of_snapshots(false), ((0, 1), (1, 0)));
}

/// Figure 2.2: each of two transactions reads in one engine a key that the other writes there.
#[test]
fn write_skew_over_two_engines_is_prevented_by_serializable_and_allowed_by_snapshot() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let shop = shop(true);
        let (mut one, mut two) = (shop.begin(isolation), shop.begin(isolation));
        assert_eq!(shop.x(&mut one) + shop.y(&mut one), 0);
        assert_eq!(shop.x(&mut two) + shop.y(&mut two), 0);
        one.put(&shop.hot, b"x", b"1").unwrap();
        two.put(&shop.cold, b"y", b"1").unwrap();
        one.commit().unwrap().wait().unwrap();
        let second = two.commit();
        match isolation {
            Isolation::Serializable => assert!(matches!(second, Err(Error::Conflict { .. })), "{second:?}"),
            _ => assert!(second.is_ok()),
        }
    }
}

/// Two transactions decide on two keys, and each writes one of them. The keys are in two keyspaces, of one engine or of
/// both.
#[test]
fn reads_for_an_update_prevent_write_skew_below_serializable() {
    for isolation in [Isolation::ReadCommitted, Isolation::Snapshot] {
        let shop = shop(true);
        let [hot, cold] = [&shop.hot, &shop.cold];
        let places = [(hot, b"a"), (hot, b"b"), (cold, b"a"), (cold, b"b")];
        for (one, other) in [(0, 1), (2, 3), (0, 2), (2, 0)] {
            for reads_for_update in [true, false] {
                let mut both = [(one, other), (other, one)].map(|(written, read)| {
                    let mut transaction = shop.begin(isolation);
                    let ((space, key), (written, to)) = (places[read], places[written]);
                    if reads_for_update {
                        transaction.get_for_update(space, key).unwrap();
                    } else {
                        transaction.get(space, key).unwrap();
                    }
                    transaction.put(written, to, b"1").unwrap();
                    Some(transaction)
                });
                both[0].take().unwrap().commit().unwrap().wait().unwrap();
                let second = both[1].take().unwrap().commit();
                let prevented = matches!(&second, Err(Error::Conflict { kind: Conflict::Read, .. }));
                assert_eq!(prevented, reads_for_update, "{isolation:?} {one} {other}: {second:?}");
            }
        }
    }
}

/// Two transactions decide on two keys under locks, and each writes one of them, as above.
#[test]
fn locking_reads_prevent_write_skew_at_each_level() {
    for isolation in LEVELS {
        let shop = shop(true);
        let [hot, cold] = [&shop.hot, &shop.cold];
        let places = [(hot, b"a"), (hot, b"b"), (cold, b"a"), (cold, b"b")];
        for (one, other) in [(0, 1), (2, 3), (0, 2), (2, 0)] {
            for locks_both in [false, true] {
                let write_skew = |written: usize, read: usize| {
                    let mut transaction = shop.begin(isolation);
                    let ((space, key), (written, to)) = (places[read], places[written]);
                    transaction.get_locked(space, key, Wait::No)?;
                    if locks_both {
                        transaction.get_locked(written, to, Wait::No)?;
                    }
                    transaction.put(written, to, b"1")?;
                    Ok::<_, Error>(transaction)
                };
                let first = write_skew(one, other).unwrap();
                match write_skew(other, one) {
                    Ok(second) => {
                        // Each one writes what the other one has locked.
                        assert!(!locks_both);
                        let outcome = first.commit();
                        assert!(matches!(&outcome, Err(Error::Conflict { kind: Conflict::Locked, .. })));
                        second.commit().unwrap().wait().unwrap();
                    }
                    Err(error) => {
                        assert!(locks_both && matches!(error, Error::Locked { .. }), "{error}");
                        first.commit().unwrap().wait().unwrap();
                    }
                }
            }
        }
    }
}

/// Two transactions add to a number that they have read: one under a lock, the other one in each possible way.
#[test]
fn an_update_under_a_lock_is_not_lost_and_loses_no_other() {
    for isolation in LEVELS {
        // If both lock, only the holder commits, so there is one order.
        for (locks_too, holder_is_first) in [(true, true), (false, true), (false, false)] {
            let shop = shop(true);
            for space in [&shop.hot, &shop.cold] {
                shop.run(|writer| writer.put(space, b"n", &[0]));
                let mut other = shop.begin(isolation);
                if !locks_too {
                    other.update(space, b"n", |value| value[0] += 1).unwrap();
                }
                let mut holder = shop.begin(isolation);
                let value = holder.get_locked(space, b"n", Wait::No).unwrap().unwrap();
                holder.put(space, b"n", &[value[0] + 1]).unwrap();
                let mut ends: Vec<(bool, Transaction)> = vec![(true, holder)];
                if locks_too {
                    assert!(!other.try_lock(space, b"n").unwrap());
                } else {
                    ends.insert(usize::from(holder_is_first), (false, other));
                }
                for (holds, transaction) in ends {
                    let outcome = transaction.commit();
                    assert_eq!(outcome.is_ok(), holds, "{isolation:?}: {outcome:?}");
                }
                let value = shop.begin(isolation).get(space, b"n").unwrap().unwrap();
                assert_eq!(value, [1]);
            }
        }
    }
}

/// A lock protects a decision in one engine that a transaction writes down in the other one.
#[test]
fn a_decision_under_a_lock_comes_before_the_change_of_what_was_read_in_both_engines() {
    for isolation in LEVELS {
        let shop = shop(true);
        for (read, result) in [(&shop.hot, &shop.cold), (&shop.cold, &shop.hot)] {
            shop.run(|writer| writer.put(read, b"k", b"0").and_then(|()| writer.delete(result, b"result")));
            let mut holder = shop.begin(isolation);
            assert_eq!(holder.get_locked(read, b"k", Wait::No).unwrap().unwrap(), b"0");
            let mut early = shop.begin(Isolation::Snapshot);
            early.get(read, b"k").unwrap();
            holder.put(result, b"result", b"by 0").unwrap();
            holder.commit().unwrap().wait().unwrap();
            shop.run(|writer| writer.put(read, b"k", b"1"));
            // Whoever sees the new value sees what was decided on the old one.
            let mut late = shop.begin(Isolation::Snapshot);
            assert_eq!(late.get(read, b"k").unwrap().unwrap(), b"1");
            assert_eq!(late.get(result, b"result").unwrap().unwrap(), b"by 0");
            assert_eq!(early.get(read, b"k").unwrap().unwrap(), b"0");
        }
    }
}

/// A transaction at read committed decides on a key, and writes another one.
#[test]
fn a_decision_on_a_read_for_an_update_at_read_committed_is_not_lost_however_old_the_read_is() {
    let shop = shop(true);
    for (space, result) in [(&shop.hot, &shop.cold), (&shop.cold, &shop.cold), (&shop.hot, &shop.hot)] {
        shop.run(|writer| writer.put(space, b"k", b"0"));
        let mut late = shop.begin(Isolation::ReadCommitted);
        assert_eq!(late.get_for_update(space, b"k").unwrap().unwrap(), b"0");
        let mut absent = shop.begin(Isolation::ReadCommitted);
        assert_eq!(absent.get_for_update(space, b"absent").unwrap(), None);
        shop.run(|writer| writer.put(space, b"k", b"1").and_then(|()| writer.put(space, b"absent", b"1")));
        shop.run(|writer| writer.delete(space, b"absent"));
        // Enough commits that both engines collect garbage.
        for _ in 0..40 {
            shop.x(&mut late);
            shop.y(&mut absent);
            shop.run(|writer| writer.put(space, b"other", b"1"));
        }
        // The newest read does not hide that the decision rests on an older one.
        assert_eq!(late.get(space, b"k").unwrap().unwrap(), b"1");
        for mut transaction in [late, absent] {
            transaction.put(result, b"result", b"1").unwrap();
            let outcome = transaction.commit();
            let lost = matches!(&outcome, Err(Error::Conflict { kind: Conflict::Read, .. }));
            assert!(lost, "{}: {outcome:?}", space.name());
        }
    }
}

/// The write would make the commit check the key. Its rollback must not lose that.
#[test]
fn a_read_for_an_update_of_an_own_write_counts_after_the_write_was_rolled_back() {
    let shop = shop(true);
    for space in [&shop.hot, &shop.cold] {
        for isolation in LEVELS {
            let mut reader = shop.begin(isolation);
            let savepoint = reader.savepoint().unwrap();
            reader.put(space, b"k", b"own").unwrap();
            assert_eq!(reader.get_for_update(space, b"k").unwrap().unwrap(), b"own");
            reader.rollback_to(&savepoint).unwrap();
            shop.run(|writer| writer.put(space, b"k", b"theirs"));
            // Enough commits that both engines collect garbage.
            for _ in 0..40 {
                reader.get(space, b"other").unwrap();
                shop.run(|writer| writer.put(space, b"unrelated", b"1"));
            }
            reader.put(space, b"result", b"1").unwrap();
            let outcome = reader.commit();
            assert!(matches!(outcome, Err(Error::Conflict { .. })), "{isolation:?}: {outcome:?}");
        }
    }
}

#[test]
fn a_transaction_that_only_reads_for_an_update_validates_nothing() {
    let shop = shop(true);
    for isolation in LEVELS {
        let mut reader = shop.begin(isolation);
        reader.get_for_update(&shop.hot, b"x").unwrap();
        reader.get_for_update(&shop.cold, b"y").unwrap();
        shop.run(|writer| {
            writer.put(&shop.hot, b"x", b"1").and_then(|()| writer.put(&shop.cold, b"y", b"1"))
        });
        reader.commit().unwrap().wait().unwrap();
    }
}

/// A cursor reads rows ahead, and the commit validates these.
#[test]
fn a_serializable_commit_validates_what_a_cursor_read_and_the_gaps_between() {
    let shop = shop(true);
    for (space, result) in [(&shop.hot, &shop.cold), (&shop.cold, &shop.hot)] {
        for (changed, fails) in [(b"p", true), (b"o", true), (b"q", false), (b"z", false)] {
            shop.run(|writer| {
                [b"z", b"o"].iter().try_for_each(|key| writer.delete(space, *key))?;
                [b"p", b"q"].iter().try_for_each(|key| writer.put(space, *key, b"0"))
            });
            let mut reader = shop.begin(Isolation::Serializable);
            let mut cursor = reader.cursor(space, Bound::Included(b"n"), Bound::Unbounded).unwrap();
            // The first batch is one row.
            assert_eq!(cursor.next(&mut reader).unwrap(), Some((&b"p"[..], &b"0"[..])));
            shop.run(|writer| writer.put(space, changed, b"1"));
            reader.put(result, b"result", b"1").unwrap();
            let outcome = reader.commit();
            assert_eq!(outcome.is_err(), fails, "{}: {outcome:?}", changed.escape_ascii());
            // At the end, the whole range counts.
            let mut reader = shop.begin(Isolation::Serializable);
            let mut cursor = reader.cursor(space, Bound::Included(b"n"), Bound::Unbounded).unwrap();
            while cursor.next(&mut reader).unwrap().is_some() {}
            shop.run(|writer| writer.put(space, changed, b"1"));
            reader.put(result, b"result", b"1").unwrap();
            let outcome = reader.commit();
            assert!(outcome.is_err_and(|error| error.is_retryable()), "{}", changed.escape_ascii());
        }
    }
}

/// A row that a cursor had read ahead would be older than a read of the same row, and hide that the write rests on it.
#[test]
fn a_write_at_read_committed_rests_on_the_row_that_a_cursor_returned_at_that_moment() {
    let shop = shop(true);
    for space in [&shop.hot, &shop.cold] {
        shop.run(|writer| [b"p", b"q", b"r", b"s"].iter().try_for_each(|key| writer.put(space, *key, b"0")));
        let mut reader = shop.begin(Isolation::ReadCommitted);
        let mut cursor = reader.cursor(space, Bound::Included(b"p"), Bound::Unbounded).unwrap();
        for key in [b"p", b"q"] {
            assert_eq!(cursor.next(&mut reader).unwrap(), Some((&key[..], &b"0"[..])));
        }
        shop.run(|writer| [b"q", b"r", b"s"].iter().try_for_each(|key| writer.put(space, *key, b"1")));
        assert_eq!(reader.get(space, b"r").unwrap().unwrap(), b"1");
        assert_eq!(cursor.next(&mut reader).unwrap(), Some((&b"r"[..], &b"1"[..])));
        reader.put(space, b"r", b"2").unwrap();
        reader.commit().unwrap().wait().unwrap();
        let mut late = shop.begin(Isolation::ReadCommitted);
        cursor = late.cursor(space, Bound::Included(b"s"), Bound::Unbounded).unwrap();
        assert_eq!(cursor.next(&mut late).unwrap(), Some((&b"s"[..], &b"1"[..])));
        shop.run(|writer| writer.put(space, b"s", b"2"));
        late.put(space, b"s", b"late").unwrap();
        assert!(late.commit().is_err_and(|error| error.is_retryable()));
    }
}

/// A reader closes the cycle of Figure 2.2. The transaction that reads y and then writes x comes before the one that
/// writes y. A reader that sees only the second has no place in a serial order. No writer has written in both engines.
fn reader_of_a_dependency(csr: bool) -> (u8, u8) {
    let shop = shop(csr);
    let mut reader = shop.begin(Isolation::Serializable);
    let mut first = shop.begin(Isolation::Serializable);
    assert_eq!(shop.y(&mut first), 0);
    first.put(&shop.hot, b"x", b"1").unwrap();
    first.commit().unwrap().wait().unwrap();
    shop.run(|second| second.put(&shop.cold, b"y", b"1"));
    let sees = (shop.x(&mut reader), shop.y(&mut reader));
    reader.commit().unwrap().wait().unwrap();
    sees
}

#[test]
fn a_reader_never_sees_the_second_of_two_dependent_commits_alone() {
    assert_eq!(reader_of_a_dependency(true), (0, 0));
}

#[test]
fn a_reader_sees_the_second_of_two_dependent_commits_alone_without_the_registry() {
    assert_eq!(reader_of_a_dependency(false), (0, 1));
}

#[test]
fn phantoms_are_prevented_in_both_engines() {
    for keyspace in 0..2 {
        let shop = shop(true);
        let space = [&shop.hot, &shop.cold][keyspace];
        let mut counter = shop.begin(Isolation::Serializable);
        let mut rows = 0;
        counter
            .scan(
                space,
                std::ops::Bound::Unbounded,
                std::ops::Bound::Unbounded,
                gemel::Direction::Forward,
                |_, _| {
                    rows += 1;
                    std::ops::ControlFlow::Continue(())
                },
            )
            .unwrap();
        assert_eq!(rows, 1);
        shop.run(|other| other.insert(space, b"new", b"1"));
        counter.put([&shop.cold, &shop.hot][keyspace], b"count", b"1").unwrap();
        let outcome = counter.commit();
        assert!(matches!(outcome, Err(Error::Conflict { .. })), "{outcome:?}");
    }
}

#[test]
fn read_committed_sees_what_was_committed_meanwhile_in_both_engines() {
    let shop = shop(true);
    let mut reader = shop.begin(Isolation::ReadCommitted);
    assert_eq!((shop.x(&mut reader), shop.y(&mut reader)), (0, 0));
    shop.run(|writer| {
        writer.put(&shop.hot, b"x", b"1")?;
        writer.put(&shop.cold, b"y", b"1")
    });
    assert_eq!((shop.x(&mut reader), shop.y(&mut reader)), (1, 1));
}

#[test]
fn the_first_of_two_writers_of_a_key_wins_in_both_engines() {
    let shop = shop(true);
    for space in [&shop.hot, &shop.cold] {
        let (mut one, mut two) = (shop.begin(Isolation::Snapshot), shop.begin(Isolation::Snapshot));
        for transaction in [&mut one, &mut two] {
            transaction.put(space, b"k", b"v").unwrap();
        }
        one.commit().unwrap().wait().unwrap();
        let error = two.commit().unwrap_err();
        assert!(error.is_retryable(), "{error}");
    }
}

/// An update at read committed rests on the snapshot of its read, however much is read, committed and collected before
/// its commit.
#[test]
fn an_update_at_read_committed_is_not_lost_however_old_its_read_is() {
    let shop = shop(true);
    for space in [&shop.hot, &shop.cold] {
        shop.run(|writer| writer.put(space, b"k", b"0"));
        let mut late = shop.begin(Isolation::ReadCommitted);
        assert_eq!(late.get(space, b"k").unwrap().unwrap(), b"0");
        let mut written = shop.begin(Isolation::ReadCommitted);
        written.put(space, b"k", b"late").unwrap();
        shop.run(|writer| writer.put(space, b"k", b"1"));
        // Enough commits that both engines collect garbage.
        for _ in 0..100 {
            shop.x(&mut late);
            shop.y(&mut written);
            shop.run(|writer| writer.put(space, b"other", b"1"));
        }
        late.put(space, b"k", b"late").unwrap();
        for transaction in [late, written] {
            let outcome = transaction.commit();
            assert!(matches!(outcome, Err(Error::Conflict { .. })), "{}: {outcome:?}", space.name());
        }
    }
}

/// Passes the keys from `from` on to `each`, until it breaks.
fn scan(
    transaction: &mut Transaction,
    space: &Keyspace,
    from: &[u8],
    direction: Direction,
    mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
) {
    let bounds = match direction {
        Direction::Forward => (Bound::Included(from), Bound::Unbounded),
        Direction::Backward => (Bound::Unbounded, Bound::Included(from)),
    };
    transaction.scan(space, bounds.0, bounds.1, direction, |key, _| each(key)).unwrap();
}

/// Returns the first key from `from` on.
fn first(transaction: &mut Transaction, space: &Keyspace, from: &[u8], direction: Direction) -> Vec<u8> {
    let mut first = Vec::new();
    scan(transaction, space, from, direction, |key| {
        first = key.to_vec();
        ControlFlow::Break(())
    });
    first
}

/// Two transactions take the first entry of a queue at read committed, as TPC-C's Delivery takes the oldest order. One
/// gets it.
#[test]
fn a_row_that_a_scan_at_read_committed_returned_is_not_overwritten_after_another_changed_it() {
    let shop = shop(true);
    for space in [&shop.hot, &shop.cold] {
        for direction in [Direction::Forward, Direction::Backward] {
            shop.run(|writer| [b"p", b"q", b"r"].iter().try_for_each(|key| writer.put(space, *key, b"0")));
            let from = if direction == Direction::Forward { b"p" } else { b"r" };
            let (mut one, mut two) =
                (shop.begin(Isolation::ReadCommitted), shop.begin(Isolation::ReadCommitted));
            let mut third = shop.begin(Isolation::ReadCommitted);
            for transaction in [&mut one, &mut two, &mut third] {
                assert_eq!(first(transaction, space, from, direction), from);
            }
            one.delete(space, from).unwrap();
            one.commit().unwrap().wait().unwrap();
            // Enough commits that both engines collect garbage.
            for _ in 0..100 {
                shop.y(&mut two);
                shop.run(|writer| writer.put(space, b"other", b"1"));
            }
            two.delete(space, from).unwrap();
            third.put(space, from, b"third").unwrap();
            for transaction in [two, third] {
                let outcome = transaction.commit();
                assert!(
                    matches!(&outcome, Err(error) if error.is_retryable()),
                    "{} {direction:?}: {outcome:?}",
                    space.name()
                );
            }
        }
    }
}

#[test]
fn a_key_that_a_scan_at_read_committed_found_missing_is_not_overwritten_after_another_inserted_it() {
    let shop = shop(true);
    for space in [&shop.hot, &shop.cold] {
        let mut late = shop.begin(Isolation::ReadCommitted);
        scan(&mut late, space, b"a", Direction::Forward, |_| ControlFlow::Continue(()));
        shop.run(|writer| writer.put(space, b"new", b"1"));
        late.put(space, b"new", b"late").unwrap();
        let outcome = late.commit();
        assert!(matches!(&outcome, Err(error) if error.is_retryable()), "{}: {outcome:?}", space.name());
    }
}

/// The newest read of a row counts. A row that was not read has no earlier snapshot.
#[test]
fn a_row_that_was_read_again_or_lies_behind_the_end_of_a_scan_at_read_committed_can_be_written() {
    let shop = shop(true);
    for space in [&shop.hot, &shop.cold] {
        shop.run(|writer| [b"p", b"q", b"r", b"s"].iter().try_for_each(|key| writer.put(space, *key, b"0")));
        let mut reader = shop.begin(Isolation::ReadCommitted);
        let mut seen = 0;
        scan(&mut reader, space, b"p", Direction::Forward, |_| {
            seen += 1;
            if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        shop.run(|writer| [b"p", b"q", b"s"].iter().try_for_each(|key| writer.put(space, *key, b"1")));
        assert_eq!(reader.get(space, b"p").unwrap().unwrap(), b"1");
        assert_eq!(first(&mut reader, space, b"q", Direction::Forward), b"q");
        for key in [b"p", b"q", b"r", b"s"] {
            reader.put(space, key, b"2").unwrap();
        }
        reader.commit().unwrap().wait().unwrap();
    }
}
