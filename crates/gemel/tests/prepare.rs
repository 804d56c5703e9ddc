//! Prepared transactions, through the public interface: they survive every end of the process, nobody sees them or gets
//! in their way, and each is decided once.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, IndexDef, Schema, Value};
use gemel::{
    Conflict, Database, Direction, Engine, Error, Isolation, Keyspace, LogMode, Options, Transaction,
};
use std::ops::{Bound, ControlFlow};
use std::path::Path;

const MODES: [LogMode; 2] = [LogMode::Shared, LogMode::PerEngine];

/// Returns a directory, in memory where possible: otherwise syncs take most of the time.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

struct Shop {
    db: Database,
    /// A keyspace in memory and one on disk.
    spaces: [Keyspace; 2],
}

fn options(log: LogMode) -> Options {
    Options { log, ..Options::default() }
}

fn open_with(path: &Path, options: Options) -> Shop {
    let db = Database::open(path, options).unwrap();
    let spaces = [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
    Shop { db, spaces }
}

fn open(path: &Path, log: LogMode) -> Shop {
    open_with(path, options(log))
}

/// Copies the files of a database that is at rest, as a killed process would leave them.
fn kill(shop: Shop, from: &Path, to: &Path) {
    shop.db.sync().unwrap();
    copy(from, to);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn locked<T: std::fmt::Debug>(outcome: gemel::Result<T>) {
    match outcome {
        Err(Error::Conflict { kind: Conflict::Locked, .. }) => {}
        other => panic!("{other:?} is not a conflict with a prepared transaction"),
    }
}

fn usage<T: std::fmt::Debug>(outcome: gemel::Result<T>, says: &str) {
    match outcome {
        Err(Error::Usage(text)) if text.contains(says) => {}
        other => panic!("{other:?} does not say {says:?}"),
    }
}

impl Shop {
    fn get(&self, space: usize, key: &str) -> Option<String> {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        let value = transaction.get(&self.spaces[space], key.as_bytes()).unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    }

    /// Writes rows: keyspace, key, and value; no value deletes.
    fn written(&self, isolation: Isolation, rows: &[(usize, &str, Option<&str>)]) -> Transaction {
        let mut transaction = self.db.begin(isolation).unwrap();
        for (space, key, value) in rows {
            let (space, key) = (&self.spaces[*space], key.as_bytes());
            match value {
                Some(value) => transaction.put(space, key, value.as_bytes()).unwrap(),
                None => transaction.delete(space, key).unwrap(),
            }
        }
        transaction
    }

    fn put(&self, space: usize, key: &str, value: &str) -> gemel::Result<()> {
        self.written(Isolation::Snapshot, &[(space, key, Some(value))]).commit()?.wait()
    }

    fn names(&self) -> Vec<String> {
        self.db.prepared().into_iter().map(|prepared| prepared.name).collect()
    }
}

/// The engines that a transaction writes.
const PARTS: [&[usize]; 3] = [&[0], &[1], &[0, 1]];

/// Prepares a transaction in some engines: it changes a row, adds several, and deletes one.
fn prepare(shop: &Shop, parts: &[usize], name: &str) {
    let mut transaction = shop.db.begin(Isolation::Serializable).unwrap();
    for part in parts {
        let space = &shop.spaces[*part];
        transaction.put(space, b"changed", b"new").unwrap();
        transaction.delete(space, b"deleted").unwrap();
        for row in 0..9 {
            // Some records are large, others not.
            transaction.put(space, format!("added/{row}").as_bytes(), &vec![b'x'; row * 50]).unwrap();
        }
    }
    transaction.prepare(name).unwrap().wait().unwrap();
}

fn begin(shop: &Shop) {
    for space in 0..2 {
        shop.put(space, "changed", "old").unwrap();
        shop.put(space, "deleted", "old").unwrap();
    }
}

/// Checks that the rows of a transaction of [`prepare`] are there, or that it changed nothing.
fn check(shop: &Shop, parts: &[usize], is_there: bool, what: &str) {
    for space in 0..2 {
        let is_there = is_there && parts.contains(&space);
        let (changed, deleted) = (shop.get(space, "changed"), shop.get(space, "deleted"));
        assert_eq!(changed.as_deref(), Some(if is_there { "new" } else { "old" }), "{what}");
        assert_eq!(deleted.is_none(), is_there, "{what}");
        for row in 0..9 {
            let found = shop.get(space, &format!("added/{row}")).map(|value| value.len());
            assert_eq!(found, is_there.then_some(row * 50), "{what}: row {row}");
        }
    }
}

/// The places at which a process ends, a checkpoint is written, or neither.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    Nothing,
    Checkpoint,
    Close,
    Kill,
    /// A checkpoint before the process is killed, so the log before it is gone.
    CheckpointAndKill,
}

#[test]
fn a_prepared_transaction_survives_until_it_is_decided_and_so_does_its_decision() {
    use Between::*;
    for log in MODES {
        for parts in PARTS {
            for commits in [true, false] {
                for before in [Nothing, Checkpoint, Close, Kill, CheckpointAndKill] {
                    for after in [Nothing, Kill, CheckpointAndKill] {
                        let what = format!("{log:?} {parts:?} commits {commits}, {before:?}, then {after:?}");
                        let directory = directory();
                        let mut paths = (0..).map(|number: u32| directory.path().join(number.to_string()));
                        let mut path = paths.next().unwrap();
                        let mut shop = open(&path, log);
                        begin(&shop);
                        prepare(&shop, parts, "one");
                        let mut pass = |shop: Shop, between: Between| {
                            if matches!(between, Checkpoint | CheckpointAndKill) {
                                shop.db.checkpoint().unwrap();
                            }
                            match between {
                                Nothing | Checkpoint => return shop,
                                Close => shop.db.close().unwrap(),
                                Kill | CheckpointAndKill => {
                                    let to = paths.next().unwrap();
                                    kill(shop, &path, &to);
                                    path = to;
                                }
                            }
                            open(&path, log)
                        };
                        shop = pass(shop, before);
                        check(&shop, parts, false, &what);
                        let [undecided] = &shop.db.prepared()[..] else { panic!("{what}") };
                        assert_eq!(
                            (&*undecided.name, undecided.rows),
                            ("one", 11 * parts.len() as u64),
                            "{what}"
                        );
                        assert!(
                            undecided.prepared_at.elapsed().is_ok_and(|age| age.as_secs() < 600),
                            "{what}"
                        );
                        for part in parts {
                            locked(shop.put(*part, "changed", "mine"));
                            locked(shop.put(*part, "added/3", "mine"));
                            locked(shop.put(*part, "deleted", "mine"));
                            shop.put(*part, "other", "mine").unwrap();
                        }
                        let decided = if commits {
                            shop.db.commit_prepared("one")
                        } else {
                            shop.db.roll_back_prepared("one")
                        };
                        decided.unwrap().wait().unwrap();
                        shop = pass(shop, after);
                        check(&shop, parts, commits, &what);
                        assert_eq!(shop.names(), [""; 0], "{what}");
                        usage(shop.db.commit_prepared("one"), "no prepared transaction \"one\"");
                        for part in parts {
                            shop.put(*part, "changed", "mine").unwrap();
                            shop.put(*part, "added/3", "mine").unwrap();
                        }
                        // The name is free again.
                        shop.written(Isolation::Snapshot, &[(0, "k", Some("v"))])
                            .prepare("one")
                            .unwrap()
                            .wait()
                            .unwrap();
                        assert_eq!(shop.names(), ["one"]);
                    }
                }
            }
        }
    }
}

#[test]
fn many_openings_and_checkpoints_keep_an_undecided_transaction() {
    for log in MODES {
        let directory = directory();
        let mut shop = open(directory.path(), log);
        begin(&shop);
        prepare(&shop, &[0, 1], "one");
        for turn in 0..4 {
            for _ in 0..turn {
                shop.db.checkpoint().unwrap();
                shop.put(0, "other", "row").unwrap();
                shop.put(1, "other", "row").unwrap();
            }
            drop(shop);
            let report = gemel::check(directory.path()).unwrap();
            assert!(report.is_good(), "{report}");
            assert!(report.to_string().contains("\"one\" is undecided: 22 rows"), "{report}");
            shop = open(directory.path(), log);
            check(&shop, &[0, 1], false, "undecided");
        }
        shop.db.commit_prepared("one").unwrap().wait().unwrap();
        check(&shop, &[0, 1], true, "committed");
    }
}

/// Reads a key of a keyspace, or a range from a key on.
#[derive(Clone, Copy, Debug)]
enum Read {
    Key,
    /// A key that is missing.
    Missing,
    Range,
    ForUpdate,
}

#[test]
fn nobody_changes_what_a_prepared_transaction_has_read() {
    for log in MODES {
        for space in 0..2 {
            for read in [Read::Key, Read::Missing, Read::Range, Read::ForUpdate] {
                for writes in [true, false] {
                    let what = format!("{log:?} {space} {read:?} {writes}");
                    let directory = directory();
                    let mut shop = open(directory.path(), log);
                    shop.put(space, "b", "1").unwrap();
                    shop.put(space, "d", "1").unwrap();
                    let level = match read {
                        Read::ForUpdate => Isolation::Snapshot,
                        _ => Isolation::Serializable,
                    };
                    let mut transaction = shop.db.begin(level).unwrap();
                    let keys = &shop.spaces[space];
                    // Keys that nobody may write now.
                    let kept: &[&str] = match read {
                        Read::Key => {
                            transaction.get(keys, b"b").unwrap();
                            &["b"]
                        }
                        Read::Missing => {
                            transaction.get(keys, b"c").unwrap();
                            &["c"]
                        }
                        Read::ForUpdate => {
                            transaction.get_for_update(keys, b"b").unwrap();
                            &["b"]
                        }
                        Read::Range => {
                            let (lower, upper) = (Bound::Included(&b"a"[..]), Bound::Excluded(&b"d"[..]));
                            let each = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
                            transaction.scan(keys, lower, upper, Direction::Forward, each).unwrap();
                            &["a", "b", "c", "cc"]
                        }
                    };
                    // The write is in the other engine.
                    if writes {
                        transaction.put(&shop.spaces[1 - space], b"w", b"1").unwrap();
                    }
                    transaction.prepare("reader").unwrap().wait().unwrap();
                    for turn in 0..3 {
                        for key in kept {
                            locked(shop.put(space, key, "2"));
                            let other = shop.written(Isolation::Snapshot, &[(space, key, None)]);
                            locked(other.prepare("other"));
                        }
                        // Reads, and writes elsewhere, go on.
                        assert_eq!(shop.get(space, "b").as_deref(), Some("1"), "{what}");
                        shop.put(space, "e", "2").unwrap();
                        if turn == 1 {
                            shop.db.checkpoint().unwrap();
                        }
                        drop(shop);
                        shop = open(directory.path(), log);
                        assert_eq!(shop.names(), ["reader"], "{what}");
                    }
                    let decide = |name: &str| match writes {
                        true => shop.db.commit_prepared(name),
                        false => shop.db.roll_back_prepared(name),
                    };
                    decide("reader").unwrap().wait().unwrap();
                    for key in kept {
                        shop.put(space, key, "2").unwrap();
                    }
                    assert_eq!(shop.get(1 - space, "w").is_some(), writes, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_transaction_that_lost_can_not_be_prepared() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    let refused = |outcome: gemel::Result<gemel::Ticket>, expected: Conflict| match outcome {
        Err(Error::Conflict { kind, .. }) => assert_eq!(kind, expected),
        other => panic!("{other:?}"),
    };
    for space in 0..2 {
        shop.put(space, "k", "0").unwrap();
        let writer =
            shop.written(Isolation::Snapshot, &[(space, "k", Some("1")), (1 - space, "l", Some("1"))]);
        let mut reader = shop.written(Isolation::Serializable, &[(space, "m", Some("1"))]);
        reader.get(&shop.spaces[space], b"k").unwrap();
        let mut only_reader = shop.db.begin(Isolation::Serializable).unwrap();
        only_reader.get(&shop.spaces[space], b"k").unwrap();
        shop.put(space, "k", "2").unwrap();
        refused(writer.prepare("w"), Conflict::Write);
        refused(reader.prepare("r"), Conflict::Read);
        // What it read here may be the reason of what it wrote in another database.
        refused(only_reader.prepare("o"), Conflict::Read);
        assert_eq!(shop.names(), [""; 0]);
        // Nothing is locked.
        for key in ["k", "m"] {
            shop.put(space, key, "3").unwrap();
        }
        shop.put(1 - space, "l", "3").unwrap();
    }
    let state = shop.db.state();
    assert_eq!((state.aborted.write_conflict, state.aborted.read_conflict), (2, 4));
    assert_eq!((state.prepared.undecided, state.prepared.bytes, state.prepared.prepared), (0, 0, 0));
}

/// Two doctors are on call, and each may leave if the other one stays.
#[test]
fn of_two_prepared_transactions_with_write_skew_one_is_rejected() {
    for space in 0..2 {
        let directory = directory();
        let shop = open(directory.path(), LogMode::PerEngine);
        let leave = |own: &[u8], other: &[u8]| {
            let mut transaction = shop.db.begin(Isolation::Serializable).unwrap();
            transaction.get(&shop.spaces[space], other).unwrap();
            transaction.put(&shop.spaces[space], own, b"off").unwrap();
            transaction
        };
        let (ann, bob, carl) = (leave(b"ann", b"bob"), leave(b"bob", b"ann"), leave(b"bob", b"ann"));
        ann.prepare("ann").unwrap().wait().unwrap();
        assert!(bob.prepare("bob").is_err_and(|error| error.is_retryable()));
        assert!(carl.commit().is_err_and(|error| error.is_retryable()));
        shop.db.commit_prepared("ann").unwrap().wait().unwrap();
    }
}

#[test]
fn a_snapshot_from_before_the_decision_stays_as_it_is() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    begin(&shop);
    let mut before = shop.db.begin(Isolation::Snapshot).unwrap();
    prepare(&shop, &[0, 1], "one");
    let mut between = shop.db.begin(Isolation::Snapshot).unwrap();
    let late = shop.written(Isolation::Snapshot, &[(0, "changed", Some("mine"))]);
    assert_eq!(between.get(&shop.spaces[0], b"changed").unwrap().unwrap(), b"old");
    shop.db.commit_prepared("one").unwrap().wait().unwrap();
    for reader in [&mut before, &mut between] {
        for space in &shop.spaces {
            assert_eq!(reader.get(space, b"changed").unwrap().unwrap(), b"old");
            assert_eq!(reader.get(space, b"deleted").unwrap().unwrap(), b"old");
            assert_eq!(reader.get(space, b"added/1").unwrap(), None);
        }
    }
    // The first committer has won.
    let error = late.commit().unwrap_err();
    assert!(matches!(error, Error::Conflict { kind: Conflict::Write, .. }), "{error}");
    check(&shop, &[0, 1], true, "committed");
}

#[test]
fn names_are_checked() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    let one = |key: &str| shop.written(Isolation::Snapshot, &[(0, key, Some("1"))]);
    usage(one("a").prepare(""), "has 0 bytes: give it 1 to 200");
    usage(one("a").prepare(&"x".repeat(201)), "has 201 bytes");
    let longest = "ü".repeat(100);
    one("a").prepare(&longest).unwrap().wait().unwrap();
    usage(one("b").prepare(&longest), "is undecided: commit it or roll it back");
    // The rejected one has locked nothing.
    shop.put(0, "b", "2").unwrap();
    for unknown in ["", "x", "ü"] {
        usage(shop.db.commit_prepared(unknown), "no prepared transaction");
        usage(shop.db.roll_back_prepared(unknown), "Database::prepared lists");
    }
    drop(shop);
    let shop = open(directory.path(), LogMode::Shared);
    shop.db.roll_back_prepared(&longest).unwrap().wait().unwrap();
    usage(shop.db.roll_back_prepared(&longest), "no prepared transaction");
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
                let decide = if commits { Database::commit_prepared } else { Database::roll_back_prepared };
                decide(&shop.db, &name).unwrap().wait().unwrap();
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
    usage(Database::open(directory.path().join("other"), wrong), "prepared_limit_bytes must be at most");
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

fn schema() -> Schema {
    Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text).primary_key(["id"])
}

#[test]
fn a_table_that_a_prepared_transaction_used_is_not_changed() {
    for engine in [Engine::Memory, Engine::Disk] {
        for reads in [false, true] {
            let directory = directory();
            let open = || Database::open(directory.path(), Options::default()).unwrap();
            let mut db = open();
            let table = db.create_table("t", engine, schema().index("by_name", ["name"])).unwrap();
            let space = db.keyspace("s", engine).unwrap();
            let mut transaction = db.begin(Isolation::Serializable).unwrap();
            if reads {
                table.get(&mut transaction, &[Value::Int(1)]).unwrap();
                transaction.get(&space, b"k").unwrap();
            } else {
                table.insert(&mut transaction, &[Value::Int(1), "Ann".into()]).unwrap();
                transaction.put(&space, b"k", b"v").unwrap();
            }
            transaction.prepare("p").unwrap().wait().unwrap();
            let other = if engine == Engine::Memory { Engine::Disk } else { Engine::Memory };
            for _ in 0..2 {
                let says = "can't be changed while the prepared transaction \"p\"";
                let index = IndexDef::new("more", ["name"]);
                usage(db.drop_table("t"), says);
                usage(db.truncate_table("t"), says);
                usage(db.add_index("t", index), says);
                usage(db.move_table("t", other), says);
                usage(db.drop_keyspace("s"), says);
                usage(db.move_keyspace("s", other), says);
                // Opening shows that nothing of that has begun.
                drop((table.clone(), space.clone()));
                db.close().unwrap();
                db = open();
            }
            db.create_table("u", engine, schema()).unwrap();
            db.truncate_table("u").unwrap();
            db.commit_prepared("p").unwrap().wait().unwrap();
            assert_eq!(
                db.exact_sizes().unwrap().iter().map(|part| part.rows).sum::<u64>(),
                if reads { 0 } else { 3 }
            );
            db.move_table("t", other).unwrap();
            db.truncate_table("t").unwrap();
            db.drop_keyspace("s").unwrap();
            drop(db);
            assert!(gemel::check(directory.path()).unwrap().is_good());
        }
    }
}

#[test]
fn a_backup_has_the_undecided_transactions() {
    for log in MODES {
        for checkpoints in [false, true] {
            let directory = directory();
            let shop = open(&directory.path().join("db"), log);
            begin(&shop);
            prepare(&shop, &[0, 1], "one");
            if checkpoints {
                shop.db.checkpoint().unwrap();
            }
            shop.put(1, "other", "1").unwrap();
            let to = directory.path().join("backup");
            shop.db.backup(&to).unwrap();
            shop.db.roll_back_prepared("one").unwrap().wait().unwrap();
            let copy = open(&to, log);
            assert_eq!(copy.names(), ["one"]);
            locked(copy.put(0, "changed", "mine"));
            copy.db.commit_prepared("one").unwrap().wait().unwrap();
            check(&copy, &[0, 1], true, "in the backup");
            check(&shop, &[0, 1], false, "in the original");
        }
    }
}

/// Each opening of a backup to which nobody has written makes another copy of it.
#[test]
fn copies_of_a_backup_keep_the_undecided_transactions_and_decide_them_by_themselves() {
    for log in MODES {
        for checkpoints in [false, true] {
            let directory = directory();
            let shop = open(&directory.path().join("db"), log);
            begin(&shop);
            prepare(&shop, &[0, 1], "one");
            let first = directory.path().join("first");
            shop.db.backup(&first).unwrap();
            for _ in 0..2 {
                let read_only = open(&first, log);
                assert_eq!(read_only.names(), ["one"], "nobody has written to it");
                locked(read_only.put(0, "changed", "mine"));
            }
            let second = directory.path().join("second");
            copy(&first, &second);
            for (path, commits) in [(&first, true), (&second, false)] {
                let copy = open(path, log);
                copy.put(0, "other", "written").unwrap();
                if checkpoints {
                    // It drops the log that the copy has inherited.
                    copy.db.checkpoint().unwrap();
                }
                copy.put(1, "other", "written").unwrap();
                let again = path.with_extension("again");
                copy.db.backup(&again).unwrap();
                drop(copy);
                for path in [path, &again] {
                    let report = gemel::check(path).unwrap();
                    assert!(report.is_good() && report.prepared.len() == 1, "{report}");
                    let copy = open(path, log);
                    assert_eq!(copy.names(), ["one"]);
                    check(&copy, &[0, 1], false, "undecided in a copy");
                    locked(copy.put(1, "deleted", "mine"));
                    match commits {
                        true => copy.db.commit_prepared("one").unwrap().wait().unwrap(),
                        false => copy.db.roll_back_prepared("one").unwrap().wait().unwrap(),
                    }
                    drop(copy);
                    let copy = open(path, log);
                    assert_eq!(copy.names(), [""; 0]);
                    check(&copy, &[0, 1], commits, "decided in a copy");
                    assert_eq!(copy.get(1, "other").as_deref(), Some("written"));
                }
            }
            assert_eq!(shop.names(), ["one"]);
            check(&shop, &[0, 1], false, "in the original");
        }
    }
}

#[test]
fn only_one_thread_decides() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    for turn in 0..50 {
        let name = turn.to_string();
        shop.written(Isolation::Snapshot, &[(0, &name, Some("v")), (1, &name, Some("v"))])
            .prepare(&name)
            .unwrap()
            .wait()
            .unwrap();
        let outcomes = std::thread::scope(|scope| {
            let decide = |commits| {
                let (db, name) = (&shop.db, &name);
                scope.spawn(move || match commits {
                    true => db.commit_prepared(name),
                    false => db.roll_back_prepared(name),
                })
            };
            [true, false, true, false].map(decide).map(|thread| thread.join().unwrap().is_ok())
        });
        assert_eq!(outcomes.iter().filter(|decided| **decided).count(), 1);
        let commits = outcomes[0] || outcomes[2];
        for space in 0..2 {
            assert_eq!(shop.get(space, &name).is_some(), commits);
            shop.put(space, &name, "w").unwrap();
        }
    }
    let state = shop.db.state();
    assert_eq!(state.prepared.prepared, 50);
    assert!(state.rolled_back + state.committed.cross >= 50);
}
