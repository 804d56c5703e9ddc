//! The work of the processes that are killed.

use super::bank::{
    ACCOUNTS, Bank, CHAIN, COPIED, COPIES, KEPT, MONEY, WORKERS, bank, copied, last_link, next, number, place,
};
use super::promise::Promise;
use gemel::row::{RowRange, Value};
use gemel::{Database, Engine, Isolation, Options};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Threads that extend the chain.
const CHAINERS: u64 = 2;
/// Threads that prepare transactions.
const PREPARERS: u64 = 2;
/// Prepared transactions that a thread leaves undecided while it prepares more.
const UNDECIDED: u64 = 3;
/// Commits of a thread of the chain for each one whose ticket it waits for.
const LINKS_PER_WAIT: u64 = 8;

/// Prints a line in one piece.
fn print(line: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

/// Starts flushes, compactions and checkpoints again and again. The pauses leave the others time to write what is then
/// flushed.
fn keep_house(db: &Database) {
    loop {
        std::thread::sleep(Duration::from_millis(15));
        db.checkpoint().unwrap();
    }
}

/// Moves a keyspace between the engines again and again. The pauses leave the others time for commits after a move.
fn keep_moving(db: &Database) {
    loop {
        for engine in [Engine::Disk, Engine::Memory] {
            std::thread::sleep(Duration::from_millis(3));
            db.move_keyspace("moving", engine).unwrap();
        }
    }
}

/// Copies a table into a new one again and again, adds a row, drops the old one, and gives the new one its name. Counts
/// that in both engines. Every third copy truncates the old one instead, and fills it again.
fn keep_copying(bank: &Bank) {
    let Bank { db, hot, cold, .. } = bank;
    loop {
        let done = db.run(Isolation::Snapshot, |transaction| {
            let done = transaction.get(hot, COPIED.as_bytes())?.map_or(0, |bytes| number(&bytes)) + 1;
            let mut ids = Vec::new();
            if done > 1 {
                let old = db.table_in(transaction, COPIED)?;
                let mut rows = old.cursor(transaction, &RowRange::all())?;
                while let Some(row) = rows.next(transaction)? {
                    ids.push(row.int(0)?);
                }
            }
            ids.push(i64::try_from(done).unwrap());
            let new = if done % 3 == 0 {
                db.truncate_table_in(transaction, COPIED)?
            } else {
                let home = if done % 2 == 0 { Engine::Memory } else { Engine::Disk };
                db.create_table_in(transaction, "copy", home, copied())?
            };
            for id in ids.iter().rev().take(KEPT as usize) {
                new.insert(transaction, &[Value::Int(*id)])?;
            }
            if done % 3 != 0 {
                if done > 1 {
                    db.drop_table_in(transaction, COPIED)?;
                }
                db.rename_table_in(transaction, "copy", COPIED)?;
            }
            for space in [hot, cold] {
                transaction.put(space, COPIED.as_bytes(), &done.to_be_bytes())?;
            }
            Ok(done)
        });
        print(format_args!("ack {COPIES} {}", done.unwrap()));
    }
}

/// Adds links to the chain until the process is killed. Waits for few of them to be durable, and prints these.
fn extend_chain(bank: &Bank) {
    for turn in 1.. {
        let extended = (|| {
            let mut transaction = bank.db.begin(Isolation::Serializable)?;
            let link = last_link(bank, &mut transaction)? + 1;
            let (space, key) = place(bank, link);
            transaction.put(space, b"head", &link.to_be_bytes())?;
            transaction.put(space, key.as_bytes(), &link.to_be_bytes())?;
            let ticket = transaction.commit()?;
            if turn % LINKS_PER_WAIT == 0 {
                ticket.wait()?;
                print(format_args!("ack {CHAIN} {link}"));
            }
            Ok::<_, gemel::Error>(())
        })();
        match extended {
            Err(error) if !error.is_retryable() => panic!("{error}"),
            _ => {}
        }
    }
}

/// Prepares transactions and decides them, each some time after it was prepared, until the process is killed.
fn keep_promises(bank: &Bank, crash: u64, thread: u64) {
    for number in 0.. {
        let promise = Promise { crash, thread, number };
        while let Err(error) = promise.prepare(bank) {
            // The registry may have no snapshot for it.
            assert!(error.is_retryable(), "{error}");
        }
        print(format_args!("prepared {} .", promise.name()));
        if let Some(number) = number.checked_sub(UNDECIDED) {
            let earlier = Promise { number, ..promise };
            earlier.decide(bank).unwrap();
            print(format_args!("decided {} .", earlier.name()));
        }
    }
}

/// Works until it is killed. Each transaction moves money from an account in one engine to one in any engine, counts
/// itself in both engines and in the keyspace that moves, and inserts a row with its number on disk. Prints `ack
/// worker number` once the commit is durable.
pub(crate) fn work(path: &Path, options: Options, seed: u64, fat: bool) {
    let bank = bank(path, options).unwrap();
    let mut setup = bank.db.begin(Isolation::Serializable).unwrap();
    if setup.get(&bank.hot, b"account/0").unwrap().is_none() {
        for account in 0..ACCOUNTS {
            setup
                .put(bank.home(account), format!("account/{account}").as_bytes(), &MONEY.to_be_bytes())
                .unwrap();
        }
        setup.commit().unwrap().wait().unwrap();
    }
    std::thread::scope(|scope| {
        if !fat {
            scope.spawn(|| keep_house(&bank.db));
            scope.spawn(|| keep_moving(&bank.db));
            scope.spawn(|| keep_copying(&bank));
        }
        for _ in 0..CHAINERS {
            scope.spawn(|| extend_chain(&bank));
        }
        for thread in 0..PREPARERS {
            let bank = &bank;
            scope.spawn(move || keep_promises(bank, seed, thread));
        }
        for worker in 0..WORKERS {
            let bank = &bank;
            scope.spawn(move || {
                let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(worker + 1) | 1;
                let counter = format!("count/{worker}");
                loop {
                    let outcome = (|| {
                        let mut transaction = bank.db.begin(Isolation::Snapshot)?;
                        let done =
                            transaction.get(&bank.hot, counter.as_bytes())?.map_or(0, |bytes| number(&bytes));
                        for step in [u64::MAX, 1] {
                            let account = next(&mut random) % ACCOUNTS;
                            let key = format!("account/{account}");
                            transaction.update(bank.home(account), key.as_bytes(), |value| {
                                let money = number(value).wrapping_add(step);
                                value.copy_from_slice(&money.to_be_bytes());
                            })?;
                        }
                        transaction.put(&bank.hot, counter.as_bytes(), &(done + 1).to_be_bytes())?;
                        transaction.put(&bank.cold, counter.as_bytes(), &(done + 1).to_be_bytes())?;
                        transaction.put(&bank.moving, counter.as_bytes(), &(done + 1).to_be_bytes())?;
                        let row = |number: u64| format!("row/{worker}/{number:010}");
                        transaction.put(&bank.moving, row(done + 1).as_bytes(), &[7; 100])?;
                        if let Some(old) = (done + 1).checked_sub(KEPT) {
                            transaction.delete(&bank.moving, row(old).as_bytes())?;
                        }
                        transaction.put(&bank.cold, row(done + 1).as_bytes(), &[7; 100])?;
                        if fat {
                            // Long values bring the log to the end of its segment soon.
                            let blob = format!("blob/{worker}");
                            transaction.put(&bank.hot, blob.as_bytes(), &vec![worker as u8; 1 << 20])?;
                        }
                        transaction.commit()?.wait()?;
                        Ok::<_, gemel::Error>(done + 1)
                    })();
                    match outcome {
                        Ok(done) => print(format_args!("ack {worker} {done}")),
                        Err(error) if error.is_retryable() => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
}
