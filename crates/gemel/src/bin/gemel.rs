//! The command `gemel` checks, backs up and changes a database from a shell.

use gemel::{BackupProgress, Database, Engine, Error, Options};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
gemel check PATH       opens the database in the directory PATH, reads all of it, and lists its parts and their faults
gemel backup PATH TO   copies the database in the directory PATH to the directory TO, which is empty, missing, or an
                       earlier backup of the same database; then only files that it lacks are copied
gemel move PATH TABLE memory|disk
                       moves a table with its indexes, or a keyspace, to an engine of the database in the directory PATH
gemel --version        prints the version

A database to check or to change must not be open elsewhere. Opening runs the usual recovery; a check changes nothing
else. The program that has a database open can move its tables meanwhile: Database::move_table.
A database to back up may be open in another process, which then makes the backup. A backup is a database itself.

Exit codes: 0 good, 1 the database or the backup is damaged, 2 wrong usage, 3 another reason why the database cannot be
opened, copied or moved
";

/// Exit codes, as listed in the help.
const DAMAGED: u8 = 1;
const USAGE: u8 = 2;
const CLOSED: u8 = 3;

/// Interval between lines about a backup's progress.
const REPORT_EVERY: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        say(HELP);
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|argument| argument == "--version" || argument == "-V") {
        say(concat!("gemel ", env!("CARGO_PKG_VERSION"), "\n"));
        return ExitCode::SUCCESS;
    }
    match &arguments[..] {
        [command, path] if command == "check" => check(path),
        [command, path, to] if command == "backup" => backup(path, to),
        [command, path, name, engine] if command == "move" => match (name.to_str(), engine.to_str()) {
            (Some(name), Some("memory")) => move_to(path, name, Engine::Memory),
            (Some(name), Some("disk")) => move_to(path, name, Engine::Disk),
            (None, _) => misused("the name of the table is not UTF-8"),
            _ => misused(&format!("{} is no engine: use memory or disk", engine.display())),
        },
        [] => misused("name a command"),
        [command, ..] if command == "check" => misused("check takes one PATH"),
        [command, ..] if command == "backup" => misused("backup takes PATH and TO"),
        [command, ..] if command == "move" => misused("move takes PATH, TABLE, and memory or disk"),
        [command, ..] => misused(&format!("{} is no command: use check, backup or move", command.display())),
    }
}

fn misused(why: &str) -> ExitCode {
    eprint!("{why}\n\n{HELP}");
    ExitCode::from(USAGE)
}

fn check(path: &OsString) -> ExitCode {
    match gemel::check(path) {
        Ok(report) => {
            say(&format!("{report}\n"));
            ExitCode::from(if report.is_good() { 0 } else { DAMAGED })
        }
        Err(error) => failed(&error),
    }
}

fn backup(path: &OsString, to: &OsString) -> ExitCode {
    let mut reported = Instant::now();
    let outcome = gemel::backup(path, to, |progress| match progress {
        BackupProgress::Asked => {
            tell("another process has the database open: waiting for its backup (Ctrl-C gives it up)");
        }
        BackupProgress::Copied(report) if reported.elapsed() >= REPORT_EVERY => {
            reported = Instant::now();
            tell(&format!("{} bytes copied, {} bytes kept", report.bytes_copied, report.bytes_kept));
        }
        _ => {}
    });
    match outcome {
        Ok(report) => {
            say(&format!("{report}\n"));
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error),
    }
}

fn move_to(path: &OsString, name: &str, engine: Engine) -> ExitCode {
    match moved(path, name, engine) {
        Ok(kind) => {
            say(&format!("{kind} {name} is in the {} engine now\n", engine.name()));
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error),
    }
}

/// Moves a table or keyspace, and returns which of them it is.
fn moved(path: &OsString, name: &str, engine: Engine) -> gemel::Result<&'static str> {
    let db = Database::open_existing(path, Options::default())?;
    let kind = if db.tables().iter().any(|(table, _)| table == name) {
        db.move_table(name, engine)?;
        "table"
    } else if db.keyspaces().iter().any(|(keyspace, _)| keyspace == name) {
        db.move_keyspace(name, engine)?;
        "keyspace"
    } else {
        return Err(Error::Usage(format!("there is no table or keyspace {name:?}")));
    };
    db.close()?;
    Ok(kind)
}

fn failed(error: &Error) -> ExitCode {
    tell(&error.to_string());
    ExitCode::from(if matches!(error, Error::Corruption { .. }) { DAMAGED } else { CLOSED })
}

/// Prints text. Ignores errors, such as a pipe whose reader has gone: the exit code has the result.
fn say(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints a line to the error output, like [`say`].
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
