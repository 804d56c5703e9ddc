//! A log for each engine, where one log gets ahead of the other before the process ends. What recovery finds is a
//! prefix of the commits: a commit is there only with all that were committed before it.
//!
//! This program defines `write` and `fdatasync`, so the logs' calls come here before they go to the system. A child
//! process stops the writes of one log, commits, waits until the other log is synced, and aborts.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod wait;

use gemel::{Database, Durability, Engine, Isolation, Keyspace, LogMode, Options, Ticket};
use std::os::fd::RawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use wait::wait_until;

/// Names of the logs, as their files begin, in the order of [`ENGINES`].
const LOGS: [&str; 2] = ["memory-", "disk-"];
const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
/// Number of the log whose writes are stopped; the number of logs if none is.
static STOPPED: AtomicUsize = AtomicUsize::new(LOGS.len());
/// Syncs of the other log since then.
static SYNCS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of the log that a file descriptor belongs to, once a log is stopped.
fn log_of(fd: RawFd) -> Option<usize> {
    if STOPPED.load(Ordering::SeqCst) == LOGS.len() {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    let name = path.file_name()?.to_str()?;
    LOGS.iter().position(|log| name.starts_with(log) && name.ends_with(".log"))
}

// SAFETY: it has the signature of the function in the C library, and does the same, or never returns.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: libc::c_int, bytes: *const libc::c_void, len: libc::size_t) -> libc::ssize_t {
    while log_of(fd).is_some_and(|log| log == STOPPED.load(Ordering::SeqCst)) {
        std::thread::sleep(Duration::from_secs(1));
    }
    // SAFETY: the caller guarantees that the bytes are valid.
    unsafe { libc::syscall(libc::SYS_write, fd, bytes, len) as libc::ssize_t }
}

// SAFETY: it has the signature of the function in the C library, and does the same.
#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: libc::c_int) -> libc::c_int {
    // SAFETY: the call has this argument.
    let done = unsafe { libc::syscall(libc::SYS_fdatasync, fd) } as libc::c_int;
    if log_of(fd).is_some_and(|log| log != STOPPED.load(Ordering::SeqCst)) {
        SYNCS.fetch_add(1, Ordering::SeqCst);
    }
    done
}

struct Pair {
    db: Database,
    /// A keyspace in each engine.
    spaces: [Keyspace; 2],
}

fn open(path: &Path, durability: Durability) -> Pair {
    let options = Options { log: LogMode::PerEngine, durability, ..Options::default() };
    let db = Database::open(path, options).unwrap();
    let spaces = ENGINES.map(|engine| db.keyspace(engine.name(), engine).unwrap());
    Pair { db, spaces }
}

impl Pair {
    /// Commits `value` as the row `key` of some engines. The transaction reads the row in both engines before, if it
    /// `reads`.
    fn commit(&self, key: &str, value: &str, engines: &[usize], reads: Option<Isolation>) -> Ticket {
        let mut transaction = self.db.begin(reads.unwrap_or(Isolation::Snapshot)).unwrap();
        if reads.is_some() {
            self.spaces.iter().for_each(|space| drop(transaction.get(space, key.as_bytes()).unwrap()));
        }
        for engine in engines {
            transaction.put(&self.spaces[*engine], key.as_bytes(), value.as_bytes()).unwrap();
        }
        transaction.commit().unwrap()
    }

    /// Returns the row `key` in both engines, `-` for none.
    fn rows(&self, key: &str) -> [String; 2] {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        self.spaces.each_ref().map(|space| {
            let value = transaction.get(space, key.as_bytes()).unwrap();
            value.map_or("-".into(), |value| String::from_utf8(value).unwrap())
        })
    }
}

fn stop(log: usize) {
    STOPPED.store(log, Ordering::SeqCst);
}

/// Waits until the log that is not stopped was synced.
fn wait_for_the_other_log() {
    let problem = |_: &u64| "the log that is not stopped is never synced".to_owned();
    wait_until(|| SYNCS.load(Ordering::SeqCst), |syncs| *syncs > 0, problem);
}

/// The ways in which a commit can come after another one.
const READS: [(&str, Option<Isolation>); 3] = [
    ("nothing", None),
    ("snapshot", Some(Isolation::Snapshot)),
    ("serializable", Some(Isolation::Serializable)),
];
const DURABILITIES: [(&str, Durability); 2] =
    [("full", Durability::Full), ("relaxed", Durability::Relaxed(Duration::from_millis(1)))];

/// Commits to one engine, whose log is stopped, and then to the other one.
fn commit_one_after_the_other(path: &Path, stopped: usize, reads: Option<Isolation>, durability: Durability) {
    let pair = open(path, durability);
    drop(pair.commit("key", "first", &[0, 1], None));
    pair.db.sync().unwrap();
    stop(stopped);
    let _first = pair.commit("key", "second", &[stopped], None);
    let _second = pair.commit("key", "third", &[1 - stopped], reads);
    wait_for_the_other_log();
    std::process::abort();
}

/// Commits to both engines after the memory engine's log was closed, while the disk engine's log is stopped.
fn lose_a_half_behind_the_mark_of_closing(path: &Path) {
    let pair = open(path, Durability::Full);
    pair.commit("key", "first", &[0], None).wait().unwrap();
    pair.db.close().unwrap();
    let pair = open(path, Durability::Full);
    pair.commit("key", "second", &[1], None).wait().unwrap();
    stop(1);
    let _both = pair.commit("key", "third", &[0, 1], None);
    wait_for_the_other_log();
    std::process::abort();
}

/// Names of the cases of prepared transactions, and the engines that each one writes.
const PREPARED: [(&str, &[usize]); 5] =
    [("lost", &[1]), ("depends", &[1]), ("half", &[0, 1]), ("rollback", &[1]), ("read", &[0])];

/// Prepares a transaction and decides it while one log is stopped. The other log gets what depends on that.
fn decide_one_after_the_other(path: &Path, case: &str, engines: &[usize]) {
    let pair = open(path, Durability::Full);
    drop(pair.commit("key", "first", &[0, 1], None));
    pair.db.sync().unwrap();
    if case == "lost" {
        // Records without timestamps are in the first log, whatever engines they are about.
        stop(0);
    }
    if case == "depends" {
        stop(1);
        let _before = pair.commit("key", "lost", &[1], None);
    }
    let mut transaction = pair.db.begin(Isolation::Serializable).unwrap();
    for engine in engines {
        transaction.put(&pair.spaces[*engine], b"key", b"second").unwrap();
    }
    let _prepared = transaction.prepare("p").unwrap();
    if case == "lost" {
        let _after = pair.commit("other", "third", &[1], None);
    }
    if ["lost", "depends"].contains(&case) {
        wait_for_the_other_log();
        std::process::abort();
    }
    pair.db.sync().unwrap();
    stop(usize::from(case == "half"));
    let _decided = match case {
        "rollback" => pair.db.roll_back_prepared("p").unwrap(),
        _ => pair.db.commit_prepared("p").unwrap(),
    };
    if case != "half" {
        // It could not have been committed before the decision, or has read what that wrote.
        let _after = pair.commit("key", "third", &[1], Some(Isolation::Snapshot));
    }
    wait_for_the_other_log();
    std::process::abort();
}

const CHILD: &str = "GEMEL_TWO_LOGS_CHILD";

/// Not a test: the work of a child process.
#[test]
fn work_until_the_abort() {
    let Ok(setting) = std::env::var(CHILD) else { return };
    // A panic ends the process at once: unwinding would close the database, which waits for the stopped log.
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::exit(101);
    }));
    let words: Vec<&str> = setting.splitn(5, ' ').collect();
    let path = Path::new(words[4]);
    if words[0] == "mark" {
        return lose_a_half_behind_the_mark_of_closing(path);
    }
    if let Some((case, engines)) = PREPARED.iter().find(|(name, _)| *name == words[1]) {
        return decide_one_after_the_other(path, case, engines);
    }
    let stopped = words[1].parse().unwrap();
    let reads = READS.iter().find(|(name, _)| *name == words[2]).unwrap().1;
    let durability = DURABILITIES.iter().find(|(name, _)| *name == words[3]).unwrap().1;
    commit_one_after_the_other(path, stopped, reads, durability);
}

/// Runs a child process until it aborts.
fn run(work: &str, path: &Path) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "work_until_the_abort", "--nocapture"]);
    child.env(CHILD, format!("{work} {}", path.display()));
    let output = child.output().unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{work}: {output:?}");
}

#[test]
fn a_commit_is_recovered_only_with_those_before_it_in_the_other_log() {
    for stopped in [0, 1] {
        for (reads, _) in READS {
            for (name, durability) in DURABILITIES {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("db");
                let work = format!("commits {stopped} {reads} {name}");
                run(&work, &path);
                let pair = open(&path, durability);
                assert_eq!(pair.rows("key"), ["first", "first"], "{work}");
                assert_eq!(pair.db.state().recovered.cut_records, 1, "{work}");
                // The logs go on behind the cut.
                pair.commit("key", "fourth", &[1 - stopped], None).wait().unwrap();
                pair.db.close().unwrap();
                let report = gemel::check(&path).unwrap();
                assert!(report.is_good() && report.recovered.cut_records == 0, "{work}: {report}");
                assert_eq!(open(&path, durability).rows("key")[1 - stopped], "fourth", "{work}");
            }
        }
    }
}

/// The memory engine's log ends with the mark of closing, and a record of the other log depends on this end. Recovery
/// cuts what follows the mark. If it cut the mark too, the next recovery would miss what the record depends on.
#[test]
fn a_cut_keeps_what_acknowledged_commits_depend_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    run("mark - - -", &path);
    for cut_records in [1, 0, 0] {
        let pair = open(&path, Durability::Full);
        assert_eq!(pair.rows("key"), ["first", "second"]);
        assert_eq!(pair.db.state().recovered.cut_records, cut_records);
    }
}

#[test]
fn a_decision_is_recovered_only_with_what_comes_before_it_in_the_other_log() {
    for (case, engines) in PREPARED {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        run(&format!("prepared {case} - -"), &path);
        for (opening, cut_records) in [1, 0, 0].into_iter().enumerate() {
            let pair = open(&path, Durability::Full);
            assert_eq!(pair.rows("key"), ["first", "first"], "{case}");
            assert_eq!(pair.rows("other"), ["-", "-"], "{case}");
            assert_eq!(pair.db.state().recovered.cut_records, cut_records, "{case}");
            let names: Vec<_> = pair.db.prepared().into_iter().map(|prepared| prepared.name).collect();
            let is_lost = ["lost", "depends"].contains(&case);
            assert_eq!(names, if is_lost { vec![] } else { vec!["p"] }, "{case}");
            if opening < 2 || is_lost {
                continue;
            }
            pair.db.commit_prepared("p").unwrap().wait().unwrap();
            let rows = [0, 1].map(|engine| if engines.contains(&engine) { "second" } else { "first" });
            assert_eq!(pair.rows("key"), rows, "{case}");
        }
    }
}
