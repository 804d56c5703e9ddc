//! Power cuts and errors in the files that the disk engine's crate writes by itself. Each commit that was acknowledged
//! is there afterwards, and nothing is there in part.
//!
//! This program defines `write`, `fsync` and `fdatasync`, so the crate's calls come here before they go to the system.
//! A child process works on a database until an operation below `disk/` fails, or until the power is cut before it. A
//! power cut leaves only what was synced: of each file its content at its last sync, and of each directory the names at
//! its last sync. The other files stay as they are: `fault_tests.rs` is about those.
//!
//! The usual suite takes some operations, and `GEMEL_DISK_FAULTS=1` each one.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod scratch;

use gemel::{Database, Direction, Engine, Error, Isolation, Keyspace, Options, Result};
use scratch::directory;
use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Commits of the child.
const COMMITS: u64 = 150;

/// Commits after which all files of the keyspace on disk are merged.
const MERGED_EVERY: u64 = 60;

/// What happens at an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// The power is cut before the operation.
    PowerCut,
    /// The operation fails with this error of the system.
    Once(i32),
    /// This operation and all later ones fail.
    From(i32),
    /// Writes among this operation and the next ones fail, [`A_WHILE`] operations in all. The child goes on.
    While(i32),
}

/// Number of operations during which the disk is full.
const A_WHILE: u64 = 8;
/// The fault of a disk that is full for a while.
const FULL_FOR_A_WHILE: &str = "full-for-a-while";
/// Maximum time until a disk with space is used again. It takes some tenths of a second.
const PATIENCE: Duration = Duration::from_secs(60);

const FAULTS: [(&str, Fault); 6] = [
    ("power-cut", Fault::PowerCut),
    ("eio", Fault::Once(libc::EIO)),
    ("eio-from", Fault::From(libc::EIO)),
    ("enospc", Fault::Once(libc::ENOSPC)),
    ("enospc-from", Fault::From(libc::ENOSPC)),
    (FULL_FOR_A_WHILE, Fault::While(libc::ENOSPC)),
];

/// The operations of this process below a directory.
struct Disk {
    below: PathBuf,
    fault: Fault,
    /// Number of the operation at which the fault strikes.
    at: u64,
    done: u64,
    /// Directory with what is durable: `f` and an inode's number for the content of a file, `d` and an inode's number
    /// for the names in a directory.
    durable: PathBuf,
}

static DISK: OnceLock<Mutex<Disk>> = OnceLock::new();

thread_local! {
    /// True while this thread keeps what a sync has made durable: it writes files meanwhile.
    static KEEPS: Cell<bool> = const { Cell::new(false) };
}

/// Returns the operations, if a file descriptor is one of a file below the directory, and its path.
fn disk(fd: RawFd) -> Option<(MutexGuard<'static, Disk>, PathBuf)> {
    if KEEPS.get() {
        return None;
    }
    let disk = DISK.get()?.lock().unwrap_or_else(PoisonError::into_inner);
    let path = fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    path.starts_with(&disk.below).then_some((disk, path))
}

impl Disk {
    /// Counts an operation. Returns the error with which it fails.
    fn begin(&mut self, is_write: bool) -> Option<i32> {
        self.done += 1;
        match self.fault {
            Fault::PowerCut if self.done == self.at => std::process::abort(),
            Fault::Once(error) if self.done == self.at => Some(error),
            Fault::From(error) if self.done >= self.at => Some(error),
            Fault::While(error) if is_write && (self.at..self.at + A_WHILE).contains(&self.done) => {
                Some(error)
            }
            _ => None,
        }
    }

    /// Keeps what a sync has made durable.
    fn keep(&self, fd: RawFd, path: &Path) {
        use std::os::unix::fs::MetadataExt;
        let name = |metadata: &fs::Metadata| format!("{}", metadata.ino());
        // The file may have another name by now, or none.
        let Ok(metadata) = fs::metadata(format!("/proc/self/fd/{fd}")) else { return };
        if metadata.is_dir() {
            let mut names = format!("{}\n", path.strip_prefix(&self.below).unwrap().display());
            for entry in fs::read_dir(path).unwrap() {
                let entry = entry.unwrap();
                let Ok(metadata) = entry.metadata() else { continue };
                let kind = if metadata.is_dir() { 'd' } else { 'f' };
                names += &format!("{kind}{} {}\n", name(&metadata), entry.file_name().display());
            }
            fs::write(self.durable.join(format!("d{}", name(&metadata))), names).unwrap();
        } else {
            let copy = self.durable.join(format!("f{}", name(&metadata)));
            if !copy.exists() {
                // As long as a descriptor is open, no other file gets the number.
                // SAFETY: this changes no other descriptor.
                unsafe { libc::dup(fd) };
            }
            fs::copy(format!("/proc/self/fd/{fd}"), copy).unwrap();
        }
    }
}

fn fail(error: i32) {
    // SAFETY: the pointer is valid for this thread.
    unsafe { *libc::__errno_location() = error };
}

fn sync(fd: RawFd, number: libc::c_long) -> libc::c_int {
    // SAFETY: the call has these arguments.
    let call = || unsafe { libc::syscall(number, fd) } as libc::c_int;
    let Some((mut disk, path)) = disk(fd) else { return call() };
    if let Some(error) = disk.begin(false) {
        fail(error);
        return -1;
    }
    let done = call();
    if done == 0 {
        KEEPS.set(true);
        disk.keep(fd, &path);
        KEEPS.set(false);
    }
    done
}

// SAFETY: it has the signature of the function in the C library, and does the same.
#[unsafe(no_mangle)]
extern "C" fn fsync(fd: libc::c_int) -> libc::c_int {
    sync(fd, libc::SYS_fsync)
}

// SAFETY: same as above.
#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: libc::c_int) -> libc::c_int {
    sync(fd, libc::SYS_fdatasync)
}

// SAFETY: same as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: libc::c_int, bytes: *const libc::c_void, len: libc::size_t) -> libc::ssize_t {
    if let Some((mut disk, _)) = disk(fd)
        && let Some(error) = disk.begin(true)
    {
        fail(error);
        return -1;
    }
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe { libc::syscall(libc::SYS_write, fd, bytes, len) as libc::ssize_t }
}

fn open(path: &Path) -> Result<Database> {
    Database::open(path, Options { cache_bytes: 1 << 20, write_buffer_bytes: 1 << 16, ..Options::default() })
}

/// Repeats some work while there is no space on the disk.
fn with_space<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    loop {
        match work() {
            Err(error) if lacks_space(&error) && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            outcome => return outcome,
        }
    }
}

fn lacks_space(error: &Error) -> bool {
    match error {
        Error::DiskFull(_) => true,
        Error::Io { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
        _ => false,
    }
}

/// Commits row `n` to the disk engine, and the number of rows to both engines.
fn commit(db: &Database, hot: &Keyspace, cold: &Keyspace, n: u64) -> Result<()> {
    let mut transaction = db.begin(Isolation::Snapshot)?;
    transaction.put(hot, b"count", &n.to_be_bytes())?;
    transaction.put(cold, b"count", &n.to_be_bytes())?;
    transaction.put(cold, format!("row {n:05}").as_bytes(), &[n as u8; 1500])?;
    transaction.commit()?.wait()
}

/// Does the same as [`work`] on a disk that is full for a while, and waits until the database has no other files than
/// those that it needs.
fn work_on(path: &Path) -> Result<()> {
    let db = open(path)?;
    let (hot, cold) =
        (db.keyspace("hot", Engine::Memory)?, with_space(|| db.keyspace("cold", Engine::Disk))?);
    for n in 1..=COMMITS {
        with_space(|| commit(&db, &hot, &cold, n))?;
        println!("\nack {n}");
        if n % 10 == 0 {
            with_space(|| db.checkpoint())?;
        }
        if n % MERGED_EVERY == 0 {
            with_space(|| db.compact("cold"))?;
        }
    }
    let begun = Instant::now();
    while db.state().disk_full.is_some() {
        assert!(
            begun.elapsed() < PATIENCE,
            "the state says that the disk is full: {:?}",
            db.state().disk_full
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    // A backup has the files that are needed, and no other.
    let tables = |database: &Path| -> Vec<String> {
        let trees = fs::read_dir(database.join("disk")).unwrap();
        let tables = trees.flat_map(|tree| fs::read_dir(tree.unwrap().path().join("tables")).unwrap());
        let mut names: Vec<String> = tables
            .map(|table| table.unwrap().path())
            .map(|path| path.strip_prefix(database).unwrap().display().to_string())
            .collect();
        names.sort_unstable();
        names
    };
    let copy = path.with_file_name("copy");
    loop {
        db.backup(&copy)?;
        let (there, needed) = (tables(path), tables(&copy));
        if there == needed {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "files stay that nobody needs: {there:?} instead of {needed:?}");
    }
    db.close()
}

/// Commits to both engines, and flushes, compacts and drops keyspaces. Prints each commit once it is durable.
fn work(path: &Path) -> Result<()> {
    let db = open(path)?;
    let (hot, cold) = (db.keyspace("hot", Engine::Memory)?, db.keyspace("cold", Engine::Disk)?);
    for n in 1..=COMMITS {
        commit(&db, &hot, &cold, n)?;
        println!("\nack {n}");
        if n % 40 == 5 {
            let other = db.keyspace("other", Engine::Disk)?;
            let mut transaction = db.begin(Isolation::Snapshot)?;
            transaction.put(&other, b"key", b"value")?;
            drop(transaction.commit()?);
            db.checkpoint()?;
            db.drop_keyspace("other")?;
        } else if n % 10 == 0 {
            db.checkpoint()?;
        }
        if n % MERGED_EVERY == 0 {
            db.compact("cold")?;
        }
    }
    db.close()
}

const CHILD: &str = "GEMEL_DISK_CHILD";

/// Not a test: the work of a child process.
#[test]
fn work_until_a_fault_strikes() {
    let Ok(setting) = std::env::var(CHILD) else { return };
    let mut parts = setting.splitn(3, ' ');
    let name = parts.next().unwrap();
    let at = parts.next().unwrap().parse().unwrap();
    let directory = Path::new(parts.next().unwrap());
    let fault = FAULTS.iter().find(|(other, _)| *other == name).unwrap().1;
    let (path, durable) = (directory.join("db"), directory.join("durable"));
    fs::create_dir(&durable).unwrap();
    let disk = Disk { below: path.join("disk"), fault, at, done: 0, durable };
    assert!(DISK.set(Mutex::new(disk)).is_ok());
    let work = if name == FULL_FOR_A_WHILE { work_on } else { work };
    if let Err(error) = work(&path) {
        println!("\nfailed {error}");
    }
    // Printing takes the lock too.
    let done = DISK.get().unwrap().lock().unwrap().done;
    println!("\ndone {done}");
}

/// What a child did.
#[derive(Default)]
struct Outcome {
    acknowledged: u64,
    failure: Option<String>,
    /// Number of operations; none if the child died.
    operations: Option<u64>,
}

fn run(directory: &Path, name: &str, at: u64) -> Outcome {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "work_until_a_fault_strikes", "--nocapture"])
        .env(CHILD, format!("{name} {at} {}", directory.display()))
        .output()
        .unwrap();
    let mut outcome = Outcome::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match line.split_once(' ') {
            Some(("ack", n)) => outcome.acknowledged = n.parse().unwrap(),
            Some(("failed", error)) => outcome.failure = Some(error.to_owned()),
            Some(("done", operations)) => outcome.operations = Some(operations.parse().unwrap()),
            _ => {}
        }
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{name} at {at}: {errors}");
    assert!(name == "power-cut" || outcome.operations.is_some(), "{name} at {at}: the child died: {errors}");
    outcome
}

/// Replaces the disk engine's directory by what is durable of it.
fn cut_power(directory: &Path) {
    let (disk, durable) = (directory.join("db/disk"), directory.join("durable"));
    let mut listings = HashMap::new();
    for entry in fs::read_dir(&durable).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with('d') {
            let names = fs::read_to_string(durable.join(&name)).unwrap();
            listings.insert(name, names);
        }
    }
    fn fill(to: &Path, listing: Option<&String>, listings: &HashMap<String, String>, durable: &Path) {
        fs::create_dir(to).unwrap();
        // The first line is the directory's path.
        for line in listing.map_or("", String::as_str).lines().skip(1) {
            let (number, name) = line.split_once(' ').unwrap();
            let target = to.join(name);
            if number.starts_with('d') {
                fill(&target, listings.get(number), listings, durable);
            } else if durable.join(number).exists() {
                fs::copy(durable.join(number), target).unwrap();
            } else {
                // The name is durable, and the content is not.
                fs::write(target, b"").unwrap();
            }
        }
    }
    if !disk.exists() {
        return;
    }
    fs::remove_dir_all(&disk).unwrap();
    let root = listings.values().find(|listing| listing.starts_with('\n'));
    fill(&disk, root, &listings, &durable);
}

/// Opens the database, and checks that everything acknowledged is there as a whole. Returns the number of commits.
fn check(path: &Path, acknowledged: u64) -> Result<u64> {
    let count = {
        let db = open(path)?;
        let (hot, cold) = (db.keyspace("hot", Engine::Memory)?, db.keyspace("cold", Engine::Disk)?);
        let mut transaction = db.begin(Isolation::Snapshot)?;
        let number = |bytes: Option<Vec<u8>>| bytes.map_or(0, |b| u64::from_be_bytes(b.try_into().unwrap()));
        let count = number(transaction.get(&hot, b"count")?);
        assert_eq!(number(transaction.get(&cold, b"count")?), count, "the engines differ");
        assert!(count >= acknowledged, "{acknowledged} were acknowledged, {count} are there");
        let mut rows = 0;
        transaction.scan(
            &cold,
            Bound::Included(b"row"),
            Bound::Unbounded,
            Direction::Forward,
            |key, value| {
                rows += 1;
                assert_eq!(key, format!("row {rows:05}").as_bytes());
                assert_eq!(value, [rows as u8; 1500]);
                ControlFlow::Continue(())
            },
        )?;
        assert_eq!(rows, count, "rows");
        // Work goes on.
        transaction.put(&cold, b"more", b"work")?;
        transaction.commit()?.wait()?;
        db.checkpoint()?;
        db.close()?;
        count
    };
    let report = gemel::check(path)?;
    assert!(report.is_good(), "{report}");
    Ok(count)
}

/// Returns the number of cases: `usual`, or as many as the environment asks for. There 1 stands for each operation.
fn cases(usual: u64, operations: u64) -> u64 {
    match std::env::var("GEMEL_DISK_FAULTS").ok().map(|cases| cases.parse().unwrap()) {
        None => usual,
        Some(1) => operations,
        Some(cases) => cases,
    }
}

fn strike(names: &[&str]) {
    let whole = directory();
    let whole = run(whole.path(), names[0], u64::MAX);
    assert_eq!((whole.acknowledged, whole.failure), (COMMITS, None));
    let operations = whole.operations.unwrap();
    assert!(operations > 200, "only {operations} operations");
    let cases = cases(80, operations);
    let mut struck = 0;
    for case in 0..cases {
        let at = 1 + case * operations / cases;
        let name = names[case as usize % names.len()];
        let directory = directory();
        let outcome = run(directory.path(), name, at);
        if name == "power-cut" {
            cut_power(directory.path());
        }
        struck += u64::from(outcome.operations.is_none() || outcome.failure.is_some());
        if let Err(error) = check(&directory.path().join("db"), outcome.acknowledged) {
            panic!("{name} at {at} of {operations}, after {:?}: {error}", outcome.failure);
        }
    }
    // The number of operations varies a little, and some errors are harmless.
    assert!(struck * 2 > cases, "{struck} of {cases} struck");
}

#[test]
fn nothing_is_lost_by_a_power_cut_while_the_disk_engine_writes_its_files() {
    strike(&["power-cut"]);
}

#[test]
fn nothing_is_lost_when_the_disk_engine_cannot_write_its_files() {
    strike(&["eio", "enospc", "eio-from", "enospc-from"]);
}

/// Another program fills the disk at any moment, also between the database's look at the free space and its write.
#[test]
fn a_disk_that_is_full_for_a_while_is_used_again_without_an_opening() {
    let whole = directory();
    let whole = run(whole.path(), FULL_FOR_A_WHILE, u64::MAX - A_WHILE);
    assert_eq!((whole.acknowledged, &whole.failure), (COMMITS, &None));
    let operations = whole.operations.unwrap();
    let cases = cases(16, operations);
    for case in 0..cases {
        let at = 1 + case * operations / cases;
        let directory = directory();
        let outcome = run(directory.path(), FULL_FOR_A_WHILE, at);
        assert_eq!((outcome.acknowledged, outcome.failure), (COMMITS, None), "full at {at} of {operations}");
        if let Err(error) = check(&directory.path().join("db"), outcome.acknowledged) {
            panic!("full at {at} of {operations}: {error}");
        }
    }
}
