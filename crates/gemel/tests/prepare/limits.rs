//! Names, limits and memory of prepared transactions.

use super::outcome::rejected;
use super::scratch::directory;
use super::shop::{MODES, Shop, begin, open, open_with, prepare};
use gemel::{Database, Error, Isolation, LogMode, Options};

#[test]
fn names_are_checked() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    let one = |key: &str| shop.written(Isolation::Snapshot, &[(0, key, Some("1"))]);
    rejected(one("a").prepare(""), "has 0 bytes: give it 1 to 200");
    rejected(one("a").prepare(&"x".repeat(201)), "has 201 bytes");
    let longest = "ü".repeat(100);
    one("a").prepare(&longest).unwrap().wait().unwrap();
    rejected(one("b").prepare(&longest), "is undecided: commit it or roll it back");
    // The rejected one has locked nothing.
    shop.put(0, "b", "2").unwrap();
    for unknown in ["", "x", "ü"] {
        rejected(shop.db.commit_prepared(unknown), "no prepared transaction");
        rejected(shop.db.roll_back_prepared(unknown), "Database::prepared lists");
    }
    drop(shop);
    let shop = open(directory.path(), LogMode::Shared);
    shop.db.roll_back_prepared(&longest).unwrap().wait().unwrap();
    rejected(shop.db.roll_back_prepared(&longest), "no prepared transaction");
}

#[test]
fn a_transaction_without_a_write_can_be_prepared_and_decided() {
    for log in MODES {
        for commits in [true, false] {
            let directory = directory();
            let shop = open(directory.path(), log);
            shop.db.begin(Isolation::Snapshot).unwrap().prepare("nothing").unwrap().wait().unwrap();
            shop.db.begin_read_only().unwrap().prepare("read only").unwrap().wait().unwrap();
            drop(shop);
            let shop = open(directory.path(), log);
            assert_eq!(shop.names(), ["nothing", "read only"]);
            for name in shop.names() {
                shop.decide(&name, commits).unwrap().wait().unwrap();
            }
            let state = shop.db.state();
            let counted = if commits { state.committed.read_only } else { state.rolled_back };
            assert_eq!(counted, 2);
            drop(shop);
            assert_eq!(open(directory.path(), log).names(), [""; 0]);
        }
    }
}

#[test]
fn undecided_transactions_are_limited() {
    let directory = directory();
    let limited = |prepared_limit, prepared_limit_bytes| {
        open_with(directory.path(), Options { prepared_limit, prepared_limit_bytes, ..Options::default() })
    };
    let full = |outcome: gemel::Result<gemel::Ticket>, option: &str| match outcome {
        Err(Error::Capacity(text)) => assert!(text.contains(option), "{text}"),
        other => panic!("{other:?}"),
    };
    let shop = limited(2, 1000);
    let one = |shop: &Shop, key: &str, bytes: usize| {
        shop.written(Isolation::Snapshot, &[(0, key, Some(&"x".repeat(bytes)))])
    };
    full(one(&shop, "a", 1000).prepare("a"), "prepared_limit_bytes");
    shop.put(0, "a", "not locked").unwrap();
    one(&shop, "b", 800).prepare("b").unwrap().wait().unwrap();
    full(one(&shop, "c", 200).prepare("c"), "prepared_limit_bytes");
    one(&shop, "d", 20).prepare("d").unwrap().wait().unwrap();
    full(one(&shop, "e", 1).prepare("e"), "(prepared_limit)");
    let state = shop.db.state();
    assert_eq!((state.prepared.undecided, state.prepared.prepared), (2, 2));
    let sum: u64 = shop.db.prepared().iter().map(|prepared| prepared.bytes).sum();
    assert_eq!(state.prepared.bytes, sum);
    assert!((820..1000).contains(&sum), "{sum}");
    let metrics = state.metrics();
    let metric = |name| metrics.iter().find(|metric| metric.name == name).unwrap().value;
    assert_eq!(metric("gemel_prepared_undecided"), 2.0);
    assert_eq!(metric("gemel_prepared_bytes"), sum as f64);
    drop(shop);
    // What was prepared stays so, whatever the limits.
    let shop = limited(0, 0);
    assert_eq!((shop.names(), shop.db.state().prepared.bytes), (vec!["b".to_owned(), "d".to_owned()], sum));
    full(one(&shop, "e", 1).prepare("e"), "(prepared_limit)");
    shop.db.commit_prepared("b").unwrap().wait().unwrap();
    shop.db.roll_back_prepared("d").unwrap().wait().unwrap();
    assert_eq!(shop.db.state().prepared.bytes, 0);
    let wrong = Options { prepared_limit_bytes: 1 << 30, ..Options::default() };
    rejected(Database::open(directory.path().join("other"), wrong), "prepared_limit_bytes must be at most");
}

#[test]
fn a_lower_memory_limit_does_not_keep_a_prepared_transaction_from_committing() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    let rows: Vec<String> = (0..40).map(|row| format!("row/{row}")).collect();
    let value = "x".repeat(100_000);
    let rows: Vec<_> = rows.iter().map(|row| (0, row.as_str(), Some(value.as_str()))).collect();
    shop.written(Isolation::Snapshot, &rows).prepare("large").unwrap().wait().unwrap();
    drop(shop);
    let shop = open_with(directory.path(), Options { memory_limit_bytes: 1 << 20, ..Options::default() });
    assert!(shop.db.state().memory.bytes > 4_000_000, "its rows count");
    let small = shop.written(Isolation::Snapshot, &[(0, "other", Some("1"))]);
    let error = small.commit().unwrap_err();
    assert!(matches!(error, Error::Capacity(_)), "{error}");
    shop.db.commit_prepared("large").unwrap().wait().unwrap();
    assert_eq!(shop.get(0, "row/39").map(|row| row.len()), Some(100_000));
}

#[test]
fn a_rollback_gives_everything_back() {
    for reopens in [false, true] {
        let directory = directory();
        let mut shop = open(directory.path(), LogMode::Shared);
        begin(&shop);
        let counted = |shop: &Shop| {
            let state = shop.db.state();
            (state.memory.bytes - state.memory.unfreed_bytes, state.memory.records, state.disk.recent_keys)
        };
        if reopens {
            drop(shop);
            shop = open(directory.path(), LogMode::Shared);
        }
        let before = counted(&shop);
        prepare(&shop, &[0, 1], "one");
        assert!(counted(&shop) > before);
        if reopens {
            drop(shop);
            shop = open(directory.path(), LogMode::Shared);
            assert!(counted(&shop) > before);
        }
        shop.db.roll_back_prepared("one").unwrap().wait().unwrap();
        // Garbage of the commits before may be collected meanwhile.
        let after = counted(&shop);
        assert_eq!(after.1, before.1);
        assert!(after.0 <= before.0 && after.2 <= before.2, "{after:?} after {before:?}");
        let state = shop.db.state();
        assert_eq!((state.rolled_back, state.pending_bytes, state.running.len()), (1, 0, 0));
    }
}
