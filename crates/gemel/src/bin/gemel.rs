//! The command `gemel` checks and backs up a database from a shell.

use gemel::{BackupProgress, Error};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
gemel check PATH       opens the database in the directory PATH, reads all of it, and lists its parts and their faults
gemel backup PATH TO   copies the database in the directory PATH to the directory TO, which is empty, missing, or an
                       earlier backup of the same database; then only files that it lacks are copied

A database to check must not be open elsewhere. Opening runs the usual recovery; nothing else is changed.
A database to back up may be open in another process, which then makes the backup. A backup is a database itself.

Exit codes: 0 good, 1 damaged, 2 wrong usage, 3 cannot be opened or copied
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
    match &arguments[..] {
        [command, path] if command == "check" => check(path),
        [command, path, to] if command == "backup" => backup(path, to),
        _ => {
            eprint!("{HELP}");
            ExitCode::from(USAGE)
        }
    }
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
