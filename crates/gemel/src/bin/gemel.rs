//! The command `gemel` checks a database from a shell.

use gemel::Error;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

const HELP: &str = "\
gemel check PATH   opens the database in the directory PATH, reads all of it, and lists its parts and their faults

The database must not be open elsewhere. Opening runs the usual recovery; nothing else is changed.

Exit codes: 0 good, 1 damaged, 2 wrong usage, 3 cannot be opened
";

/// Exit codes, as listed in the help.
const DAMAGED: u8 = 1;
const USAGE: u8 = 2;
const CLOSED: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        say(HELP);
        return ExitCode::SUCCESS;
    }
    match &arguments[..] {
        [command, path] if command == "check" => check(path),
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
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if matches!(error, Error::Corruption { .. }) { DAMAGED } else { CLOSED })
        }
    }
}

/// Prints text. Ignores errors, such as a pipe whose reader has gone: the exit code has the result.
fn say(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
