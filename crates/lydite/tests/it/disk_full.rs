//! A disk that is full in the midst of a load or a run: one line that says so, exit code 3, and once there is room
//! the load is resumed.
//!
//! The small disks are file systems in memory, mounted where no other process sees them: the tests' threads have a
//! view of the file systems of their own, so that the mounts go with the tests however these end. That takes root;
//! without it the tests that need it say so and do nothing.

use crate::program;
use crate::program::{Program, assert_consistent, assert_no_panic, lydite, scratch, text, windows_from};
use lydite_testkit::Directory;
use lydite_testkit::postgres::Server;
use serde_json::Value;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// A file system of a given size.
struct SmallDisk {
    directory: Directory,
}

impl SmallDisk {
    /// Mounts it, for this thread and what it starts.
    fn new(megabytes: u32) -> io::Result<Self> {
        enter_own_view()?;
        let disk = Self { directory: scratch() };
        disk.mount(megabytes, 0)?;
        Ok(disk)
    }

    /// Makes room on it.
    fn grow(&self, megabytes: u32) {
        self.mount(megabytes, libc::MS_REMOUNT).expect("a larger disk");
    }

    fn mount(&self, megabytes: u32, flags: libc::c_ulong) -> io::Result<()> {
        mount("tmpfs", self.path(), Some("tmpfs"), flags, &format!("size={megabytes}m,mode=755"))
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = CString::new(text(self.path())).expect("no zero byte");
        // SAFETY: the path is a terminated string that outlives the call.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

/// Gives this thread the view of the file systems that all threads with small disks share, and nobody else. One for
/// all, since servers are started by a thread for each view.
fn enter_own_view() -> io::Result<()> {
    static VIEW: OnceLock<Result<File, String>> = OnceLock::new();
    let made = VIEW.get_or_init(|| {
        // SAFETY: unshare changes this thread's own view and has no memory preconditions.
        let made = succeeded(unsafe { libc::unshare(libc::CLONE_NEWNS) })
            .and_then(|()| mount("none", Path::new("/"), None, libc::MS_REC | libc::MS_PRIVATE, ""))
            .and_then(|()| File::open("/proc/thread-self/ns/mnt"));
        made.map_err(|error| error.to_string())
    });
    let view = made.as_ref().map_err(|error| io::Error::other(error.clone()))?;
    // SAFETY: both calls change this thread's own view; the descriptor is open.
    succeeded(unsafe { libc::unshare(libc::CLONE_FS) })
        .and_then(|()| succeeded(unsafe { libc::setns(view.as_raw_fd(), libc::CLONE_NEWNS) }))
}

fn succeeded(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn mount(source: &str, at: &Path, kind: Option<&str>, flags: libc::c_ulong, options: &str) -> io::Result<()> {
    let terminated = |text: &str| CString::new(text).expect("no zero byte");
    let (source, at, options) = (terminated(source), terminated(text(at)), terminated(options));
    let kind = kind.map(terminated);
    let kind = kind.as_ref().map_or(std::ptr::null(), |kind| kind.as_ptr());
    // SAFETY: all pointers are to terminated strings that outlive the call, or null where the kernel allows it.
    succeeded(unsafe { libc::mount(source.as_ptr(), at.as_ptr(), kind, flags, options.as_ptr().cast()) })
}

/// A small disk, or none and the reason on standard error.
fn small_disk(megabytes: u32) -> Option<SmallDisk> {
    SmallDisk::new(megabytes)
        .inspect_err(|error| {
            eprintln!("skipped: a small disk can't be mounted here: {error} (it takes root)")
        })
        .ok()
}

/// What is said of an unfinished load.
fn assert_refused(url: &str) {
    for arguments in [vec!["check", url], vec!["run", url, "--quiet"]] {
        let ended = lydite(&arguments).code(2);
        let error = ended.only_error();
        assert!(error.contains("a load that is running or was interrupted (0 of 1 warehouse)"), "{error}");
        assert!(error.contains("--resume") && error.contains("--fresh"), "{error}");
    }
}

fn load(url: &str) -> Vec<&str> {
    vec!["load", url, "--warehouses", "1", "--jobs", "1", "--quiet"]
}

/// Makes the database `tpcc` in a directory of its own on a disk.
fn database_on(server: &Server, disk: &Path) {
    let space = disk.join("space");
    fs::create_dir(&space).expect("a directory");
    // The server's user is the owner of its data.
    let owner = server.owner();
    chown(&space, Some(owner.0), Some(owner.1)).expect("a change of owner");
    fs::set_permissions(&space, fs::Permissions::from_mode(0o700)).expect("permissions");
    server.psql("postgres", &format!("CREATE TABLESPACE small LOCATION '{}'", text(&space)));
    server.psql("postgres", "CREATE DATABASE tpcc TABLESPACE small");
}

#[test]
fn a_full_disk_of_a_postgres_server_is_told_and_the_load_is_resumed_when_there_is_room() {
    let Some(disk) = small_disk(60) else { return };
    let server = Server::start(&["fsync=off"]);
    database_on(&server, disk.path());
    let url = server.url("tpcc");
    let ended = lydite(&load(&url)).code(3);
    let error = ended.only_error();
    assert!(error.contains(&format!("127.0.0.1:{}", server.port())), "{error}");
    assert!(
        error.contains("No space left on device") && error.contains("make room on the server's disk"),
        "{error}"
    );
    assert!(error.contains("--resume"), "{error}");
    assert_refused(&url);
    disk.grow(1_000);
    lydite(&[load(&url), vec!["--resume"]].concat()).code(0);
    assert_consistent(&url);
}

#[test]
fn a_server_that_dies_of_a_full_disk_log_and_all_is_told_and_the_load_is_resumed_when_there_is_room() {
    let Some(disk) = small_disk(120) else { return };
    let server = Server::start_in(disk.path(), &["fsync=off", "shared_buffers=16MB"]);
    let url = server.create_database("tpcc");
    let ended = lydite(&load(&url)).code(3);
    // Without room for its log the server ends itself, and may or may not say why.
    let error = ended.only_error();
    assert!(error.contains(&format!("127.0.0.1:{}", server.port())) && error.contains("--resume"), "{error}");
    server.kill();
    disk.grow(1_000);
    server.restart();
    assert_refused(&url);
    lydite(&[load(&url), vec!["--resume"]].concat()).code(0);
    assert_consistent(&url);
    server.kill();
}

#[test]
fn a_full_disk_under_sqlite_is_told_and_the_load_is_resumed_when_there_is_room() {
    let Some(disk) = small_disk(60) else { return };
    let url = format!("sqlite:{}", text(&disk.path().join("tpcc.sqlite")));
    let ended = lydite(&load(&url)).code(3);
    let error = ended.only_error();
    assert!(error.contains("tpcc.sqlite") && error.contains("disk is full"), "{error}");
    assert!(error.contains("make room on the disk") && error.contains("--resume"), "{error}");
    assert_refused(&url);
    disk.grow(1_000);
    lydite(&[load(&url), vec!["--resume"]].concat()).code(0);
    assert_consistent(&url);
}

/// Writes fail all the time while reads go on: not a result to be proud of.
fn assert_writes_failed(ended: &program::Ended, result: &Path, words: &str) -> Value {
    assert_no_panic(ended);
    let error = ended.only_error();
    assert!(error.contains("keeps failing") && error.contains(words), "{error}");
    assert!(ended.took < Duration::from_secs(5 * 60), "the run ends early: {ended:?}");
    assert!(ended.stdout.contains("PARTIAL") && ended.stdout.contains("NOPM"), "{ended:?}");
    let result = program::json(result);
    assert_eq!(result["status"], "partial");
    assert!(program::total(&result, "failed") > 0, "{}", result["transactions"]);
    let told = |list: &str, field: Option<&str>| {
        result[list].as_array().expect("a list").iter().any(|entry| {
            let text = field.map_or(entry, |field| &entry[field]);
            text.as_str().is_some_and(|text| text.contains(words))
        })
    };
    assert!(told("errors", Some("message")), "{}", result["errors"]);
    assert!(told("warnings", None), "{}", result["warnings"]);
    result
}

#[test]
fn a_disk_that_fills_up_during_a_run_ends_it_with_a_partial_result_and_a_consistent_database() {
    let Some(disk) = small_disk(1_000) else { return };
    let database = disk.path().join("tpcc.sqlite");
    let url = format!("sqlite:{}", text(&database));
    lydite(&[load(&url), vec!["--size", "tiny"]].concat()).code(0);
    // What the database takes now, and no more.
    let used: u64 = fs::read_dir(disk.path())
        .expect("the disk")
        .map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len())
        .sum();
    disk.grow((used >> 20) as u32 + 2);
    let directory = scratch();
    let result = directory.path().join("result.json");
    let plan = ["--terminals", "2", "--duration", "5m", "--warmup", "0", "--quiet", "--json", text(&result)];
    let ended = lydite(&[["run", url.as_str()].as_slice(), &plan].concat()).code(3);
    let result = assert_writes_failed(&ended, &result, "disk is full");
    program::assert_checks_hold(&result, &["before", "after"]);
    disk.grow(1_000);
    assert_consistent(&url);
}

#[test]
fn a_full_disk_of_a_postgres_server_ends_a_run_with_a_partial_result_and_a_consistent_database() {
    let Some(disk) = small_disk(1_000) else { return };
    let server = Server::start(&["fsync=off"]);
    database_on(&server, disk.path());
    let url = server.url("tpcc");
    lydite(&[load(&url), vec!["--size", "tiny"]].concat()).code(0);
    fs::write(disk.path().join("ballast"), vec![0; 1_000 << 20]).expect_err("a full disk");
    let directory = scratch();
    let result = directory.path().join("result.json");
    let plan = ["--terminals", "2", "--duration", "5m", "--warmup", "0", "--quiet", "--json", text(&result)];
    let ended = lydite(&[["run", url.as_str()].as_slice(), &plan].concat()).code(3);
    assert_writes_failed(&ended, &result, "No space left on device");
    assert!(ended.only_error().contains("make room on the server's disk"), "{ended:?}");
    fs::remove_file(disk.path().join("ballast")).expect("room");
    assert_consistent(&url);
}

/// A file of SQLite's that may not grow, as by `ulimit -f`; takes no rights.
#[test]
fn a_limit_on_the_size_of_files_is_told_and_the_load_is_resumed_without_it() {
    let directory = scratch();
    let path: PathBuf = directory.path().join("tpcc.sqlite");
    let url = format!("sqlite:{}", text(&path));
    let ended = Program::new(&load(&url)).file_size_at_most(40 << 20).run().code(3);
    let error = ended.only_error();
    assert!(error.contains("tpcc.sqlite") && error.contains("--resume"), "{error}");
    assert_refused(&url);
    lydite(&[load(&url), vec!["--resume"]].concat()).code(0);
    assert_consistent(&url);
}

/// Gemel takes no more transactions after an error of its log, so waiting would not help.
#[test]
fn a_run_on_gemel_ends_at_once_when_its_log_can_not_grow_and_the_database_opens_again() {
    let directory = scratch();
    let (database, result) = (directory.path().join("gemel"), directory.path().join("result.json"));
    let url = format!("gemel:{}", text(&database));
    lydite(&[load(&url), vec!["--size", "tiny"]].concat()).code(0);
    // The newest file of the log may grow a little, and no file may be larger than it is then.
    let files = fs::read_dir(&database).expect("the database").map(|entry| entry.expect("an entry"));
    let newest = files.filter(|entry| entry.file_name().to_string_lossy().ends_with(".log"));
    let newest = newest.max_by_key(fs::DirEntry::file_name).expect("a log").metadata().expect("a file").len();
    let plan = ["--terminals", "2", "--duration", "5m", "--warmup", "0", "--quiet", "--json", text(&result)];
    let run = [["run", url.as_str()].as_slice(), &plan].concat();
    let ended = Program::new(&run).file_size_at_most(newest + (2 << 20)).run().code(3);
    assert_no_panic(&ended);
    let error = ended.only_error();
    assert!(error.contains("the run ended early") && error.contains("open the database again"), "{error}");
    assert!(ended.took < Duration::from_secs(5 * 60), "the run ends early: {ended:?}");
    assert!(ended.stdout.contains("PARTIAL") && ended.stdout.contains("NOPM"), "{ended:?}");
    let result = program::json(&result);
    assert_eq!(result["status"], "partial");
    assert!(program::total(&result, "committed") > 0, "{}", result["transactions"]);
    // Each session fails once, and may have had a commit in flight.
    assert!(program::total(&result, "failed") <= 2, "{}", result["transactions"]);
    program::assert_checks_hold(&result, &["before", "after"]);
    assert_consistent(&url);
}

#[test]
fn a_result_that_can_not_be_written_after_all_is_told_and_its_numbers_are_shown() {
    let Some(disk) = small_disk(1) else { return };
    let result = disk.path().join("result.json");
    fs::write(disk.path().join("ballast"), vec![0; 1 << 20]).expect("a full disk");
    let plan = ["--duration", "200ms", "--warmup", "0", "--quiet", "--json", text(&result)];
    windows_from("200ms", |window| {
        let ended = lydite(&[["run", "null:", "--duration", window].as_slice(), &plan[2..]].concat()).code(2);
        let error = ended.only_error();
        assert!(error.contains("result.json") && error.contains("No space left on device"), "{error}");
        assert!(ended.stdout.contains("NOPM"), "{ended:?}");
        let (_, kept) = error.split_once("it was written to ").expect("another place");
        let kept = Path::new(kept.strip_suffix(" instead").expect("a path"));
        let nopm = program::json(kept)["nopm"].as_f64();
        fs::remove_dir_all(kept.parent().expect("its directory")).expect("the directory");
        (nopm > Some(0.0)).then_some(())
    });
    let names: Vec<_> =
        fs::read_dir(disk.path()).expect("the disk").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["ballast"], "nothing half-written is left");
    // With a database there is a check after the run, and the result is written once before it already.
    let tiny = ["run", "sqlite:", "--warehouses", "1", "--size", "tiny"];
    let ended = lydite(&[&tiny[..], &plan].concat()).code(2);
    assert!(ended.only_error().contains("No space left on device"), "{ended:?}");
    let (_, kept) = ended.only_error().split_once("it was written to ").expect("another place");
    let kept = Path::new(kept.strip_suffix(" instead").expect("a path"));
    fs::remove_dir_all(kept.parent().expect("its directory")).expect("the directory");
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("12/12 after the run"), "{ended:?}");
}
