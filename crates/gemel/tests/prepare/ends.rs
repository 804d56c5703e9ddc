//! Ends of the process, checkpoints and openings between a prepare and its decision.

use super::outcome::rejected;
use super::scratch::directory;
use super::shop::{MODES, PARTS, Shop, begin, check, kill, locked, open, prepare};
use gemel::Isolation;

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
                        shop.decide("one", commits).unwrap().wait().unwrap();
                        shop = pass(shop, after);
                        check(&shop, parts, commits, &what);
                        assert_eq!(shop.names(), [""; 0], "{what}");
                        rejected(shop.db.commit_prepared("one"), "no prepared transaction \"one\"");
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
