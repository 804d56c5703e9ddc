//! Processes that are killed while they work, again and again on one directory. After each death, everything
//! acknowledged is there, nothing is there in part, and both engines agree. A chain of commits, each in one engine and
//! after a read of the last one, has no gap. A prepared transaction is undecided, committed or rolled back, each as a
//! whole, and as it was acknowledged. Each fail point kills a process at least once.
//!
//! `GEMEL_CRASHES=500 cargo test --release -p gemel --test crash` is the long suite. This test has a `main` of its own,
//! so its last line is shown.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod alone;

use gemel::{
    CommitStamps, Compression, Conflict, Database, Direction, Durability, Engine, Isolation, Keyspace,
    LogMode, Options, Transaction,
};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const WORKERS: u64 = 4;
const ACCOUNTS: u64 = 50;
const MONEY: u64 = 1000;
/// Rows of each worker that stay in the keyspace that moves.
const KEPT: u64 = 10;
/// Threads that extend the chain.
const CHAINERS: u64 = 2;
/// Number under which links of the chain are acknowledged, behind those of the workers.
const CHAIN: u64 = WORKERS;
/// Threads that prepare transactions.
const PREPARERS: u64 = 2;
/// Prepared transactions that a thread leaves undecided while it prepares more.
const UNDECIDED: u64 = 3;
/// Number of crashes of a database after which the test decides what they left undecided.
const DECIDED_AFTER: u64 = 3;
/// Links of the chain that stay.
const LINKS: u64 = 64;
/// Commits of a thread of the chain for each one whose ticket it waits for.
const LINKS_PER_WAIT: u64 = 8;

fn options(log: LogMode, commit_stamps: CommitStamps) -> Options {
    Options {
        log,
        commit_stamps,
        durability: Durability::Full,
        // Half of the combinations have compressed files, a limit of background writing, and small files of the log, which
        // are overwritten many times.
        compression: match commit_stamps {
            CommitStamps::Latched => Compression::None,
            CommitStamps::Independent => Compression::Lz4,
        },
        background_bytes_per_second: (commit_stamps == CommitStamps::Independent).then_some(4 << 20),
        log_segment_bytes: if commit_stamps == CommitStamps::Independent { 64 << 10 } else { 64 << 20 },
        // Small, so checkpoints, flushes and compactions happen within a second.
        checkpoint_log_bytes: 1 << 20,
        write_buffer_bytes: 1 << 18,
        csr_capacity: 50,
        csr_recycle: 20,
        ..Options::default()
    }
}

struct Bank {
    db: Database,
    hot: Keyspace,
    cold: Keyspace,
    /// It moves between the engines.
    moving: Keyspace,
}

fn bank(path: &Path, options: Options) -> gemel::Result<Bank> {
    let db = Database::open(path, options)?;
    let (hot, cold) = (db.keyspace("hot", Engine::Memory)?, db.keyspace("cold", Engine::Disk)?);
    let there = db.keyspaces().into_iter().find(|(name, _)| name == "moving");
    let moving = db.keyspace("moving", there.map_or(Engine::Memory, |(_, engine)| engine))?;
    Ok(Bank { db, hot, cold, moving })
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// A cheap generator: the test needs variety, not quality.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Starts flushes, compactions and checkpoints as often as possible, so some are always in progress.
fn keep_house(db: &Database) {
    loop {
        std::thread::sleep(Duration::from_millis(15));
        db.checkpoint().unwrap();
    }
}

/// Moves a keyspace between the engines as often as possible.
fn keep_moving(db: &Database) {
    loop {
        for engine in [Engine::Disk, Engine::Memory] {
            std::thread::sleep(Duration::from_millis(3));
            db.move_keyspace("moving", engine).unwrap();
        }
    }
}

/// Returns the keyspace and the key of a link. A link is often in another engine than the one before.
fn place(bank: &Bank, link: u64) -> (&Keyspace, String) {
    let slot = link % LINKS;
    let is_hot = 0x9E37_79B9_7F4A_7C15_u64 >> slot & 1 == 1;
    (if is_hot { &bank.hot } else { &bank.cold }, format!("link/{slot}"))
}

/// Returns the number of the last link.
fn last_link(bank: &Bank, transaction: &mut Transaction) -> gemel::Result<u64> {
    let hot = transaction.get(&bank.hot, b"head")?.map_or(0, |bytes| number(&bytes));
    let cold = transaction.get(&bank.cold, b"head")?.map_or(0, |bytes| number(&bytes));
    Ok(hot.max(cold))
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
                let mut out = std::io::stdout().lock();
                writeln!(out, "ack {CHAIN} {link}").and_then(|()| out.flush()).unwrap();
            }
            Ok::<_, gemel::Error>(())
        })();
        match extended {
            Err(error) if !error.is_retryable() => panic!("{error}"),
            _ => {}
        }
    }
}

/// A prepared transaction: the number of the crash that ended its process, its thread, and its number there. It writes
/// a row in each engine, and has read a key that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    crash: u64,
    thread: u64,
    number: u64,
}

impl Promise {
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('/').map(str::parse::<u64>);
        let (crash, thread, number) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
        Some(Self { crash, thread, number })
    }

    fn name(self) -> String {
        format!("{}/{}/{}", self.crash, self.thread, self.number)
    }

    /// Returns true if the decision is to commit.
    fn commits(self) -> bool {
        !self.number.is_multiple_of(3)
    }

    fn row(self) -> String {
        format!("promise/{}", self.name())
    }

    /// Returns the key that it has read.
    fn guard(self) -> String {
        format!("guard/{}", self.name())
    }

    fn guard_space(self, bank: &Bank) -> &Keyspace {
        if self.number.is_multiple_of(2) { &bank.hot } else { &bank.cold }
    }

    fn prepare(self, bank: &Bank) -> gemel::Result<()> {
        let mut transaction = bank.db.begin(Isolation::Serializable)?;
        transaction.get(self.guard_space(bank), self.guard().as_bytes())?;
        for space in [&bank.hot, &bank.cold] {
            // Some of the records are large.
            transaction.put(space, self.row().as_bytes(), &vec![1; self.number as usize % 7 * 60])?;
        }
        transaction.prepare(&self.name())?.wait()
    }

    fn decide(self, bank: &Bank) -> gemel::Result<()> {
        let name = self.name();
        let decided =
            if self.commits() { bank.db.commit_prepared(&name) } else { bank.db.roll_back_prepared(&name) };
        decided?.wait()
    }

    /// Returns the number of its rows that are there.
    fn rows(self, bank: &Bank, reader: &mut Transaction) -> usize {
        let spaces = [&bank.hot, &bank.cold].into_iter();
        spaces.filter(|space| reader.get(space, self.row().as_bytes()).unwrap().is_some()).count()
    }

    /// Returns true if nobody else can write its rows, nor what it has read.
    fn is_protected(self, bank: &Bank) -> bool {
        let (row, guard) = (self.row(), self.guard());
        let mut places =
            [(&bank.hot, &row), (&bank.cold, &row), (self.guard_space(bank), &guard)].into_iter();
        places.all(|(space, key)| {
            let mut other = bank.db.begin(Isolation::Snapshot).unwrap();
            other.put(space, key.as_bytes(), b"").unwrap();
            matches!(other.commit(), Err(gemel::Error::Conflict { kind: Conflict::Locked, .. }))
        })
    }
}

fn print(line: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
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
/// itself in both engines and in the keyspace that moves, and inserts a row with its number on disk. Prints `worker
/// number` once the commit is durable.
fn work(path: &Path, options: Options, seed: u64, fat: bool) {
    let bank = bank(path, options).unwrap();
    let mut setup = bank.db.begin(Isolation::Serializable).unwrap();
    if setup.get(&bank.hot, b"account/0").unwrap().is_none() {
        for account in 0..ACCOUNTS {
            let space = if account.is_multiple_of(2) { &bank.hot } else { &bank.cold };
            setup.put(space, format!("account/{account}").as_bytes(), &MONEY.to_be_bytes()).unwrap();
        }
        setup.commit().unwrap().wait().unwrap();
    }
    std::thread::scope(|scope| {
        if !fat {
            scope.spawn(|| keep_house(&bank.db));
            scope.spawn(|| keep_moving(&bank.db));
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
                            let space = if account.is_multiple_of(2) { &bank.hot } else { &bank.cold };
                            transaction.update(space, format!("account/{account}").as_bytes(), |value| {
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
                        Ok(done) => {
                            let mut out = std::io::stdout().lock();
                            writeln!(out, "ack {worker} {done}").and_then(|()| out.flush()).unwrap();
                        }
                        Err(error) if error.is_retryable() => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
}

/// The state that a killed process left.
#[derive(Default)]
struct Found {
    /// Number of transactions that are there.
    there: u64,
    /// Acknowledged commits that are lost, one line each.
    lost: Vec<String>,
    partial: Vec<String>,
    /// Number of prepared transactions that are undecided.
    undecided: u64,
}

/// Prepared transactions, and those whose decision must be there.
#[derive(Default)]
struct Promised {
    prepared: HashSet<Promise>,
    decided: HashSet<Promise>,
}

/// Checks that the chain has no gap, up to its last link.
fn check_chain(bank: &Bank, reader: &mut Transaction, promised: u64, found: &mut Found) {
    let last = last_link(bank, reader).unwrap();
    if last < promised {
        found.lost.push(format!("link {promised} acknowledged, {last} is the last"));
    }
    for link in (last.saturating_sub(LINKS) + 1)..=last {
        let (space, key) = place(bank, link);
        let there = reader.get(space, key.as_bytes()).unwrap().map(|bytes| number(&bytes));
        if there != Some(link) {
            found.partial.push(format!("link {link} of {last}: its place has {there:?}"));
        }
    }
    found.there += last;
}

/// Checks what became of prepared transactions. Those that are undecided for long are decided here.
fn check_promises(
    bank: &Bank,
    reader: &mut Transaction,
    crash: u64,
    promised: &mut Promised,
    found: &mut Found,
) {
    let undecided: HashSet<Promise> =
        bank.db.prepared().iter().map(|prepared| Promise::parse(&prepared.name).unwrap()).collect();
    // A ticket may have resolved with nobody left to print that.
    let known: HashSet<Promise> = promised.prepared.union(&undecided).copied().collect();
    for promise in known {
        let (rows, name) = (promise.rows(bank, reader), promise.name());
        if undecided.contains(&promise) {
            if promised.decided.contains(&promise) {
                found.lost.push(format!("{name}: its decision was acknowledged, and it is undecided"));
            }
            if rows > 0 || !promise.is_protected(bank) {
                found.partial.push(format!("{name}: undecided, with {rows} rows, or not protected"));
            }
        } else {
            // Decided, also if that was not acknowledged. Nothing else ends it.
            promised.decided.insert(promise);
            let expected = if promise.commits() { 2 } else { 0 };
            match rows {
                _ if rows == expected => {}
                1 => found.partial.push(format!("{name}: one of two rows")),
                _ => found.lost.push(format!("{name}: {rows} rows instead of {expected}")),
            }
        }
    }
    promised.prepared.extend(&undecided);
    found.undecided = undecided.len() as u64;
    for promise in undecided.iter().filter(|promise| promise.crash + 4 * DECIDED_AFTER <= crash) {
        promise.decide(bank).unwrap();
        promised.decided.insert(*promise);
    }
}

/// Opens the directory that a killed process left, and compares it with the acknowledged commits.
fn check(
    path: &Path,
    options: Options,
    crash: u64,
    acknowledged: &HashMap<u64, u64>,
    promised: &mut Promised,
) -> Found {
    let bank = bank(path, options).unwrap();
    let mut reader = bank.db.begin(Isolation::Snapshot).unwrap();
    let mut found = Found::default();
    check_promises(&bank, &mut reader, crash, promised, &mut found);
    for worker in 0..WORKERS {
        let counter = format!("count/{worker}");
        let hot = reader.get(&bank.hot, counter.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes));
        let cold = reader.get(&bank.cold, counter.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes));
        let promised = acknowledged.get(&worker).copied().unwrap_or(0);
        if hot < promised {
            found.lost.push(format!("worker {worker}: {promised} acknowledged, {hot} there"));
        }
        let moving = reader.get(&bank.moving, counter.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes));
        let (prefix, end) = (format!("row/{worker}/"), format!("row/{worker}0"));
        let mut rows = |space| {
            let (lower, upper) = (Bound::Included(prefix.as_bytes()), Bound::Excluded(end.as_bytes()));
            let mut rows = 0;
            let count = |_: &[u8], _: &[u8]| {
                rows += 1;
                ControlFlow::Continue(())
            };
            reader.scan(space, lower, upper, Direction::Forward, count).unwrap();
            rows
        };
        let (rows, moving_rows) = (rows(&bank.cold), rows(&bank.moving));
        if (cold, rows) != (hot, hot) {
            let what = format!("{hot} in the memory engine, {cold} and {rows} rows in the disk engine");
            found.partial.push(format!("worker {worker}: {what}"));
        }
        if (moving, moving_rows) != (hot, hot.min(KEPT)) {
            let what = format!("{hot} in the memory engine, {moving} and {moving_rows} rows where it moves");
            found.partial.push(format!("worker {worker}: {what}"));
        }
        found.there += hot;
    }
    let promised = acknowledged.get(&CHAIN).copied().unwrap_or(0);
    check_chain(&bank, &mut reader, promised, &mut found);
    let mut money = Some(0_u64);
    for account in 0..ACCOUNTS {
        let space = if account.is_multiple_of(2) { &bank.hot } else { &bank.cold };
        let value = reader.get(space, format!("account/{account}").as_bytes()).unwrap();
        money = money.zip(value).map(|(money, value)| money.wrapping_add(number(&value)));
    }
    // The very first transaction may not have been durable.
    if money.is_some_and(|money| money != ACCOUNTS * MONEY) || (money.is_none() && found.there > 0) {
        found.partial.push(format!("the accounts have {money:?} and not {}", ACCOUNTS * MONEY));
    }
    found
}

const CHILD: &str = "GEMEL_CRASH_CHILD";

fn mode(index: usize) -> Options {
    let log = [LogMode::Shared, LogMode::PerEngine][index % 2];
    let stamps = [CommitStamps::Latched, CommitStamps::Independent][index / 2 % 2];
    options(log, stamps)
}

/// Fail points at which a process is killed, and the number of the last pass at which that may happen.
const FAIL_POINTS: &[(&str, u64)] = &[
    ("log.before_write", 100),
    ("log.after_write", 100),
    ("log.before_sync", 100),
    ("log.after_sync", 100),
    ("log.before_segment", 1),
    ("log.after_segment", 1),
    ("commit.after_append", 200),
    ("commit.after_install", 200),
    ("commit.between_publications", 300),
    ("checkpoint.after_piece", 100),
    ("checkpoint.before_sync", 4),
    ("checkpoint.before_rename", 4),
    ("checkpoint.after_rename", 4),
    ("checkpoint.prepared_again", 4),
    ("checkpoint.before_manifest", 4),
    ("checkpoint.after_manifest", 4),
    ("files.before_rename", 6),
    ("disk.before_flush", 4),
    ("disk.after_flush", 4),
    ("disk.before_compact", 6),
    ("disk.after_compact", 3),
    ("move.begun", 6),
    ("move.settled", 6),
    ("move.read", 20),
    ("move.copying", 20),
    ("move.copied", 6),
    ("move.before_manifest", 6),
    ("move.after_manifest", 6),
    ("move.switching", 6),
    ("move.switched", 6),
    ("prepare.locked", 20),
    ("prepare.after_append", 20),
    ("prepare.commit_appended", 12),
    ("prepare.rolled_back", 6),
];

/// Lets a process work on a directory until it dies, at a fail point or by a signal after some time. Returns the last
/// transaction of each worker that was acknowledged as durable, the prepared transactions, and true if it died at the
/// fail point.
fn crash(
    setting: &str,
    point: Option<(&str, u64)>,
    patience: Duration,
) -> (HashMap<u64, u64>, Promised, bool) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env(CHILD, setting);
    if let Some((name, visit)) = point {
        child.env("GEMEL_FAIL_POINT", format!("{name}:{visit}"));
    }
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let acks = std::thread::spawn(move || {
        let mut acks: HashMap<u64, u64> = HashMap::new();
        let mut promised = Promised::default();
        for line in lines.map_while(Result::ok) {
            let mut words = line.split(' ');
            if let [kind @ ("prepared" | "decided"), name, "."] = words.clone().collect::<Vec<_>>()[..] {
                let promise = Promise::parse(name).unwrap();
                let set = if kind == "prepared" { &mut promised.prepared } else { &mut promised.decided };
                set.insert(promise);
                continue;
            }
            if let (Some("ack"), Some(worker), Some(done)) = (words.next(), words.next(), words.next()) {
                // The last line may be cut short, because its writer was killed.
                if let (Ok(worker), Ok(done)) = (worker.parse::<u64>(), done.parse::<u64>()) {
                    // Two threads extend the chain, and the later link may be printed first.
                    let last = acks.entry(worker).or_default();
                    *last = done.max(*last);
                }
            }
        }
        (acks, promised)
    });
    let until = Instant::now() + patience;
    let mut died = None;
    while died.is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
        died = child.try_wait().unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The process ends by the abort of the fail point, not by a panic.
    #[cfg(unix)]
    if let Some(died) = died {
        use std::os::unix::process::ExitStatusExt;
        assert!(died.signal().is_some(), "the process ended by itself ({died}): {setting}");
    }
    let (acks, promised) = acks.join().unwrap();
    (acks, promised, died.is_some())
}

const NAME: &str = "nothing_acknowledged_is_lost_and_nothing_is_there_in_part";

fn main() -> ExitCode {
    if let Ok(child) = std::env::var(CHILD) {
        // A panic in one thread ends the whole process, with an exit code that differs from a crash.
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            tell(panic);
            std::process::exit(101);
        }));
        let mut parts = child.splitn(4, ' ');
        let mode_index: usize = parts.next().unwrap().parse().unwrap();
        let seed = parts.next().unwrap().parse().unwrap();
        let fat = parts.next() == Some("fat");
        work(Path::new(parts.next().unwrap()), mode(mode_index), seed, fat);
        return ExitCode::SUCCESS;
    }
    alone::run(NAME, suite)
}

fn suite() -> ExitCode {
    let crashes: u64 = std::env::var("GEMEL_CRASHES").map_or(54, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut random = 0x2545_F491_4F6C_DD1D;
    let mut acknowledged: Vec<HashMap<u64, u64>> = vec![HashMap::new(); 4];
    let mut promised: [Promised; 4] = Default::default();
    let (mut undecided, mut left_undecided) = (0, 0);
    let (mut hit, mut by_point, mut there) = (HashSet::new(), 0, [0; 4]);
    let (mut lost, mut partial, mut crash_number) = (0, 0, 0);
    loop {
        // At the end, fail points that were not reached in time get as much time as they need, a few times.
        let missed = FAIL_POINTS.iter().find(|(name, _)| !hit.contains(name));
        let extra = crash_number >= crashes;
        if extra && (missed.is_none() || crash_number >= crashes + 2 * FAIL_POINTS.len() as u64) {
            break;
        }
        let mode_index = (crash_number % 4) as usize;
        let path = directory.path().join(format!("db{mode_index}"));
        let point = match missed {
            Some((name, _)) if extra => Some((*name, 1)),
            // Two of three processes die at a fail point, the others by a signal.
            _ if crash_number % 3 == 2 => None,
            _ => {
                let turn = crash_number - crash_number / 3;
                let (name, visits) = FAIL_POINTS[turn as usize % FAIL_POINTS.len()];
                Some((name, 1 + next(&mut random) % visits))
            }
        };
        let fat = if point.is_some_and(|(name, _)| name.ends_with("_segment")) { "fat" } else { "-" };
        let patience = match point {
            Some(_) if extra || fat == "fat" => Duration::from_secs(20),
            Some(_) => Duration::from_millis(1500),
            None => Duration::from_millis(20 + next(&mut random) % 300),
        };
        let setting = format!("{mode_index} {crash_number} {fat} {}", path.display());
        let (acks, promises, died) = crash(&setting, point, patience);
        if let Some((name, _)) = point.filter(|_| died) {
            by_point += 1;
            hit.insert(name);
        }
        acknowledged[mode_index].extend(acks);
        promised[mode_index].prepared.extend(promises.prepared);
        promised[mode_index].decided.extend(promises.decided);
        let promises = &mut promised[mode_index];
        let found = check(&path, mode(mode_index), crash_number, &acknowledged[mode_index], promises);
        undecided += found.undecided;
        left_undecided += u64::from(found.undecided > 0);
        for (kind, what) in found
            .lost
            .iter()
            .map(|what| ("lost", what))
            .chain(found.partial.iter().map(|what| ("partial", what)))
        {
            eprintln!("crash {crash_number} at {point:?}, database {mode_index}: {kind}: {what}");
        }
        lost += found.lost.len();
        partial += found.partial.len();
        there[mode_index] = found.there;
        crash_number += 1;
    }
    for mode_index in 0..4 {
        let report = gemel::check(directory.path().join(format!("db{mode_index}"))).unwrap();
        assert!(report.is_good(), "{report}");
    }
    let acknowledged: u64 = acknowledged.iter().flat_map(HashMap::values).sum();
    println!(
        "{crash_number} crashes ({by_point} at named places, {} of {} places), {crash_number} recoveries, {acknowledged} \
         transactions acknowledged, {} there; {} prepared transactions, {} decided, undecided after {left_undecided} crashes; \
         lost {lost}, partial {partial}",
        hit.len(),
        FAIL_POINTS.len(),
        there.iter().sum::<u64>(),
        promised.iter().map(|promised| promised.prepared.len()).sum::<usize>(),
        promised.iter().map(|promised| promised.decided.len()).sum::<usize>(),
    );
    let all = hit.len() == FAIL_POINTS.len() || crashes < 3 * FAIL_POINTS.len() as u64 / 2;
    let good = lost == 0 && partial == 0 && acknowledged > 0 && undecided > 0 && all;
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
