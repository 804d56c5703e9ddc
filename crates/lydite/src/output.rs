//! Text to the standard streams. Whoever reads them may go away (`lydite run … | head`): that is no error of ours, and
//! ends nothing.

use crate::Outcome;
use crate::exit::Failure;
use std::io::{self, ErrorKind, Write};

/// Writes to the standard output.
pub(crate) fn print(text: &str) -> Outcome {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::usage(format!("standard output: {error}: write it to another place")))
        }
        _ => Ok(()),
    }
}

/// Writes to the standard error. If that fails there is nobody left to tell.
pub(crate) fn eprint(text: &str) {
    let _told = io::stderr().lock().write_all(text.as_bytes());
}

/// Tells the user one line.
pub(crate) fn complain(line: &str) {
    eprint(&format!("lydite: {line}\n"));
}
