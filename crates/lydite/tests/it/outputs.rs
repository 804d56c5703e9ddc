//! Places that documents go to: files, the standard output, and what must stay what it is.

use crate::program::{Program, json, lydite, scratch, terminal, text};
use serde_json::Value;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A run that takes no time to speak of.
const RUN: [&str; 6] = ["run", "null:", "-d", "200ms", "--warmup", "0"];
/// A run on a database, which is checked afterwards.
const STORED: [&str; 12] = [
    "run",
    "gemel:",
    "--workload",
    "micro",
    "--set",
    "micro.records=50",
    "--set",
    "micro.tables=1",
    "-d",
    "200ms",
    "--warmup",
    "0",
];
/// Longer than any wait of these tests takes.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

fn arguments<'a>(run: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [run, more].concat()
}

#[track_caller]
fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn fifo(path: &Path) {
    let name = CString::new(text(path)).unwrap();
    // SAFETY: the name is a terminated string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

fn is_fifo(path: &Path) -> bool {
    fs::symlink_metadata(path).unwrap().file_type().is_fifo()
}

/// The program with its errors in a file, where they can be read while it runs.
struct Watched {
    child: std::process::Child,
    errors: PathBuf,
}

impl Watched {
    fn start(arguments: &[&str], directory: &Path) -> Self {
        let errors = directory.join("errors");
        let mut command = Command::new(env!("CARGO_BIN_EXE_lydite"));
        command.args(arguments).env("TMPDIR", directory).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(File::create(&errors).unwrap());
        Self { child: command.spawn().unwrap(), errors }
    }

    fn errors(&self) -> String {
        fs::read_to_string(&self.errors).unwrap()
    }

    fn wait_for(&mut self, words: &str) {
        let begun = Instant::now();
        while !self.errors().contains(words) {
            assert!(begun.elapsed() < PATIENCE, "{words}: {}", self.errors());
            assert!(self.child.try_wait().unwrap().is_none(), "it ended: {}", self.errors());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn interrupt(&self) {
        // SAFETY: kill has no memory preconditions; the child has not been waited for, so the id is its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) }, 0);
    }

    /// Its exit code and its standard output.
    fn end(mut self) -> (Option<i32>, String, String) {
        let begun = Instant::now();
        let mut stdout = self.child.stdout.take().unwrap();
        let output = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        while self.child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "it hangs: {}", self.errors());
            thread::sleep(Duration::from_millis(10));
        }
        let code = self.child.wait().unwrap().code();
        assert!(!self.errors().contains("panicked"), "{}", self.errors());
        (code, output.join().unwrap(), self.errors())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn a_document_on_the_standard_output_is_alone_there() {
    let directory = scratch();
    // The device itself is left alone: a program that replaced it would harm the machine.
    let link = directory.path().join("stdout");
    symlink("/proc/self/fd/1", &link).unwrap();
    for place in ["-", "/dev/fd/1", "/proc/self/fd/1", text(&link)] {
        let ended = lydite(&arguments(&STORED, &["--json", place])).code(0);
        assert_eq!(document(&ended.stdout)["status"], "complete", "{place}");
        assert!(ended.stderr.contains("result: standard output"), "{place}: {}", ended.stderr);
    }
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("/proc/self/fd/1"));

    let result = directory.path().join("result.json");
    let ended = lydite(&arguments(&RUN, &["--report", "-", "--json", text(&result)])).code(0);
    assert!(ended.stdout.starts_with("<!doctype html>") || ended.stdout.starts_with("<!DOCTYPE html>"));
    assert!(ended.stdout.trim_end().ends_with("</html>"));
    assert!(ended.stderr.contains("NOPM") && ended.stderr.contains(text(&result)), "{}", ended.stderr);
    let ended = lydite(&["report", text(&result), "-o", "-"]).code(0);
    assert!(ended.stdout.trim_end().ends_with("</html>"));

    let both = lydite(&arguments(&RUN, &["--json", "-", "--report", "-"])).code(2);
    assert!(both.only_error().contains("--report: standard output is where json goes"), "{both:?}");
    assert_eq!(both.stdout, "");
}

#[test]
fn an_interrupted_run_still_writes_its_partial_document_to_the_standard_output() {
    let directory = scratch();
    let mut running =
        Watched::start(&["run", "null:", "-d", "1h", "--warmup", "0", "--json", "-"], directory.path());
    running.wait_for("measuring");
    running.interrupt();
    let (code, output, errors) = running.end();
    assert_eq!(code, Some(130), "{errors}");
    assert_eq!(document(&output)["status"], "partial");
}

#[test]
fn a_plan_comes_from_the_standard_input() {
    let run = |plan: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lydite"));
        command.args(["run", "-c", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(plan.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let ended = run("target = \"null:\"\nduration = \"100ms\"\nwarmup = \"0s\"\njson = \"-\"\n");
    assert_eq!(document(&String::from_utf8(ended.stdout).unwrap())["status"], "complete");
    let ended = run("target = \"null:\"\ncolour = \"red\"\n");
    assert_eq!(ended.status.code(), Some(2));
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(errors.contains("standard input, line 2: colour is not known"), "{errors}");
}

#[test]
fn a_fifo_stays_one_and_its_reader_gets_one_whole_document() {
    let directory = scratch();
    let path = directory.path().join("fifo");
    fifo(&path);
    let reader = thread::spawn({
        let path = path.clone();
        move || fs::read_to_string(path).unwrap()
    });
    let ended = lydite(&arguments(&STORED, &["--json", text(&path)])).code(0);
    // Ended by the end of the file, which must come after the document and not before.
    assert_eq!(document(&reader.join().unwrap())["status"], "complete");
    assert!(ended.stdout.contains(&format!("result: {}", text(&path))), "{ended:?}");
    assert!(is_fifo(&path));
}

#[test]
fn a_fifo_without_a_reader_is_waited_for_until_one_comes_or_the_user_interrupts() {
    let directory = scratch();
    let path = directory.path().join("fifo");
    fifo(&path);
    let plan = arguments(&RUN, &["--json", text(&path)]);
    let waiting = format!("waiting for a reader of {}: Ctrl-C gives up", text(&path));

    let mut running = Watched::start(&plan, directory.path());
    running.wait_for(&waiting);
    let found = fs::read_to_string(&path).unwrap();
    assert_eq!(document(&found)["status"], "complete");
    assert_eq!(running.end().0, Some(0));

    let mut running = Watched::start(&plan, directory.path());
    running.wait_for(&waiting);
    running.interrupt();
    let (code, _, errors) = running.end();
    assert_eq!(code, Some(130), "{errors}");
    let (_, kept) = errors.split_once("it was written to ").expect("another place");
    let kept = Path::new(kept.trim_end().strip_suffix(" instead").expect("a path"));
    assert_eq!(json(kept)["status"], "complete");
    assert_eq!(fs::metadata(kept.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);

    // A run that was interrupted waits for nobody.
    let mut running = Watched::start(
        &["run", "null:", "-d", "1h", "--warmup", "0", "--json", text(&path)],
        directory.path(),
    );
    running.wait_for("measuring");
    running.interrupt();
    let (code, _, errors) = running.end();
    assert!(errors.contains("nobody reads it") && errors.contains("it was written to"), "{errors}");
    assert_eq!(code, Some(2), "a result that is not where it should be weighs more");
    assert!(is_fifo(&path));
}

/// A pipe that was there from the start blocks: a write to it would go on over Ctrl-C.
#[test]
fn a_reader_that_stalls_is_waited_for_until_the_user_interrupts() {
    let directory = scratch();
    // A page is larger than a pipe holds, and nobody reads this one before the program has ended.
    let mut running = Watched::start(&arguments(&RUN, &["--quiet", "--report", "-"]), directory.path());
    running.wait_for("waiting for a reader of standard output: Ctrl-C gives up");
    running.interrupt();
    let begun = Instant::now();
    while running.child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < PATIENCE, "it hangs: {}", running.errors());
        thread::sleep(Duration::from_millis(10));
    }
    let (code, _, errors) = running.end();
    assert_eq!(code, Some(130), "{errors}");
    let (_, kept) = errors.split_once("it was written to ").expect("another place");
    let kept = Path::new(kept.trim_end().strip_suffix(" instead").expect("a path"));
    assert!(fs::read_to_string(kept).unwrap().ends_with("</html>\n"), "a whole page");
}

#[test]
fn a_reader_of_a_fifo_that_goes_away_is_an_error_and_the_document_goes_elsewhere() {
    let directory = scratch();
    let path = directory.path().join("fifo");
    fifo(&path);
    let reader = thread::spawn({
        let path = path.clone();
        move || File::open(path).unwrap().read_exact(&mut [0; 10]).unwrap()
    });
    // A page is larger than a FIFO holds.
    let plan = arguments(&RUN, &["--quiet", "--report", text(&path)]);
    let ended = Program::new(&plan).env("TMPDIR", directory.path()).run().code(2);
    reader.join().unwrap();
    let error = ended.only_error();
    assert!(error.contains("Broken pipe") && error.contains("it was written to"), "{error}");
    assert!(is_fifo(&path));
}

#[test]
fn devices_are_written_into_and_links_stay_links() {
    let directory = scratch();
    let (mut ours, path, its) = terminal(80);
    let reader = thread::spawn(move || {
        let mut shown = Vec::new();
        // Reading ends with an error when the other side is closed.
        let _end = ours.read_to_end(&mut shown);
        String::from_utf8(shown).unwrap()
    });
    let null = directory.path().join("null");
    symlink("/dev/null", &null).unwrap();
    lydite(&arguments(&RUN, &["--json", text(&path), "--report", text(&null)])).code(0);
    drop(its);
    assert_eq!(document(&reader.join().unwrap())["status"], "complete");
    assert_eq!(fs::read_link(&null).unwrap(), Path::new("/dev/null"));
    assert!(fs::metadata(&null).unwrap().file_type().is_char_device());

    let [file, link, there, dangling] =
        ["file.json", "link.json", "there.html", "dangling.html"].map(|name| directory.path().join(name));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("file.json", &link).unwrap();
    symlink(&there, &dangling).unwrap();
    lydite(&arguments(&RUN, &["--json", text(&link), "--report", text(&dangling)])).code(0);
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("file.json"));
    assert_eq!(json(&file)["status"], "complete");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_link(&dangling).unwrap(), there);
    assert!(fs::read_to_string(&there).unwrap().contains("</html>"));
}

#[test]
fn files_that_are_something_else_are_refused_before_anything_is_done_and_stay_as_they_are() {
    let directory = scratch();
    let [socket, fifo_path, plan, database, result, circle] =
        ["socket", "fifo", "plan.toml", "shop.sqlite", "a.json", "circle"]
            .map(|name| directory.path().join(name));
    let _listener = UnixListener::bind(&socket).unwrap();
    fifo(&fifo_path);
    symlink("circle", &circle).unwrap();
    fs::write(&plan, "target = \"null:\"\n").unwrap();
    fs::write(&database, "").unwrap();
    let url = format!("sqlite:{}", text(&database));
    let log_of_database = format!("{}-wal", text(&database));
    let log = format!("rte.delivery_log={}", text(&fifo_path));
    for (more, words) in [
        (vec!["null:", "--json", text(&socket)], "is a socket: name a file"),
        (vec!["null:", "--json", text(directory.path())], "is a directory: name a file"),
        (vec!["null:", "--json", text(&circle)], "symbolic links"),
        (vec!["null:", "--json", "/dev/fd/77"], "descriptor 77 is not open"),
        (vec!["null:", "--json", "/dev/stdin"], "is open for reading only"),
        (vec!["null:", "-c", text(&plan), "--report", text(&plan)], "is the plan file"),
        (vec![&url, "--json", text(&database)], "belongs to the database"),
        (vec![&url, "--json", &log_of_database], "belongs to the database"),
        (vec!["null:", "--mode", "rte", "--set", &log], "is no file"),
    ] {
        let ended = lydite(&arguments(&["run"], &more)).code(2);
        assert!(ended.only_error().contains(words), "{words}: {ended:?}");
    }
    let refused = lydite(&["verify", &url, "--json", text(&database)]).code(2);
    assert!(refused.only_error().contains("belongs to the database"), "{refused:?}");
    assert_eq!(fs::read_to_string(&database).unwrap(), "");
    assert_eq!(fs::read_to_string(&plan).unwrap(), "target = \"null:\"\n");
    assert!(is_fifo(&fifo_path) && fs::symlink_metadata(&socket).unwrap().file_type().is_socket());

    lydite(&arguments(&RUN, &["--json", text(&result)])).code(0);
    let refused = lydite(&["report", text(&result), "-o", text(&result)]).code(2);
    assert!(refused.only_error().contains("is one of the results"), "{refused:?}");
    assert_eq!(json(&result)["status"], "complete");
}
