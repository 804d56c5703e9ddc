//! Backups with prepared transactions.

use super::copy::copy_directory;
use super::scratch::directory;
use super::shop::{MODES, begin, check, locked, open, prepare};

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
            copy_directory(&first, &second);
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
                    copy.decide("one", commits).unwrap().wait().unwrap();
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
