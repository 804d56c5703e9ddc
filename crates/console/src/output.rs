//! Text to the standard streams. A reader may close them early (`lydite run … | head`); that is no error. If a document
//! goes to the standard output, text goes to the standard error.

use crate::PASSWORD;
use crate::exit::{Failure, Outcome};
use lydite_database::secret::shown_fault;
use lydite_families::leaves_out_password;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if a document goes to the standard output.
static RESERVED: AtomicBool = AtomicBool::new(false);

/// Keeps the standard output for a document: text goes to the standard error from now on.
pub fn reserve_stdout() {
    RESERVED.store(true, Ordering::Relaxed);
}

/// Returns true if text goes to a terminal.
pub fn is_terminal() -> bool {
    if RESERVED.load(Ordering::Relaxed) { io::stderr().is_terminal() } else { io::stdout().is_terminal() }
}

/// Writes to the standard output, or to the standard error if the standard output is kept for a document.
pub fn print(text: &str) -> Outcome {
    if RESERVED.load(Ordering::Relaxed) {
        eprint(text);
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::usage(format!("standard output: {error}: write it to another place")))
        }
        _ => Ok(()),
    }
}

/// Writes to the standard error. A failure is ignored, since there is no other stream to report it.
pub fn eprint(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Returns the end of a line that prints a command for a target whose password it leaves out. The first line gets it.
fn password_hint(line: &str) -> &'static str {
    static GIVEN: AtomicBool = AtomicBool::new(false);
    let needed = line.contains("`lydite ")
        && std::env::var_os(PASSWORD).is_none()
        && leaves_out_password(line)
        && !GIVEN.swap(true, Ordering::Relaxed);
    if needed { "; set LYDITE_PASSWORD to the password before" } else { "" }
}

/// Returns a line without the passwords of the arguments that it repeats. A URL may stand where a file was expected, and
/// messages name files as they were given.
fn masked(line: &str) -> String {
    let mut masked = line.to_owned();
    for argument in std::env::args_os().skip(1) {
        let argument = argument.to_string_lossy();
        // `--config=URL` is one argument.
        let value = argument.strip_prefix("--").and_then(|flag| flag.split_once('='));
        for text in [Some(&*argument), value.map(|(_, value)| value)].into_iter().flatten() {
            if !text.is_empty() && masked.contains(text) {
                masked = masked.replace(text, &shown_fault(text));
            }
        }
    }
    masked
}

/// Reports one line to the user, on the standard error.
pub fn complain(line: &str) {
    let line = masked(line);
    eprint(&format!("lydite: {line}{}\n", password_hint(&line)));
}
