//! Helper processes of faults: this program with another command. They never outlive the guard that started them.

use crate::error::FaultError;
use crate::process::{ProcessId, wait_while};
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest wait until a helper has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts `faults ARGUMENTS` of this program. It gets the signal `farewell` when its guard ends.
///
/// # Errors
/// The process can't be started.
pub(crate) fn start<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    farewell: i32,
) -> Result<(Child, ProcessId), FaultError> {
    let failed = |error| FaultError::system("the helper could not start", error);
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("faults").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let parent = i32::try_from(std::process::id()).map_err(|error| failed(io::Error::other(error)))?;
    // SAFETY: prctl and getppid are async-signal-safe, and nothing else is done between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, farewell);
            // A parent that ended before sends no signal.
            if libc::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
        });
    }
    let child = command.spawn().map_err(failed)?;
    let process = ProcessId::of(child.id()).ok_or_else(ended_at_once)?;
    Ok((child, process))
}

/// Waits until a helper writes the line `ready`.
///
/// # Errors
/// The helper wrote another line, which is the reason, or ended without one.
pub(crate) fn wait_until_ready(helper: Child, ready: &str) -> Result<(), FaultError> {
    let output = helper.stdout.ok_or_else(|| FaultError::Failed("the helper has no output".into()))?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).map_err(|error| FaultError::Failed(error.to_string()))?;
    match line.trim() {
        line if line == ready => Ok(()),
        "" => Err(ended_at_once()),
        problem => Err(FaultError::Failed(problem.into())),
    }
}

/// Returns the problem of a helper that does not run.
fn ended_at_once() -> FaultError {
    FaultError::Failed("the helper ended at once".into())
}

/// Ends a helper by the first of these signals that it obeys. One that has ended already is no error.
///
/// # Errors
/// The process does not end.
pub(crate) fn end(helper: ProcessId, signals: &[i32]) -> Result<(), FaultError> {
    for signal in signals {
        let sent = helper.signal(*signal);
        sent.map_err(|error| FaultError::system(format!("end process {}", helper.pid), error))?;
        if wait_while(&[helper], PATIENCE, ProcessId::lives).is_empty() {
            return Ok(());
        }
    }
    Err(FaultError::Failed(format!("process {} did not end", helper.pid)))
}
