//! Helper processes of faults: this program with another command. They never outlive the guard that started them.

use crate::process::{ProcessId, wait_while};
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest wait until a helper has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts `faults ARGUMENTS` of this program, with this standard output.
///
/// # Errors
/// The process can't be started.
pub(crate) fn start<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    output: Stdio,
) -> Result<(Child, ProcessId), String> {
    let failed = |error: io::Error| format!("the helper could not start: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("faults").args(arguments);
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).process_group(0);
    let parent = i32::try_from(std::process::id()).map_err(|error| failed(io::Error::other(error)))?;
    // SAFETY: prctl and getppid are async-signal-safe, and nothing else is done between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // A parent that ended before sends no signal.
            if libc::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
        });
    }
    let child = command.spawn().map_err(failed)?;
    let process = ProcessId::of(child.id()).ok_or("the helper ended at once")?;
    Ok((child, process))
}

/// Ends a helper, also one that has ended already.
///
/// # Errors
/// The process does not end.
pub(crate) fn end(helper: ProcessId) -> Result<(), String> {
    helper.signal(libc::SIGKILL).map_err(|error| format!("end process {}: {error}", helper.pid))?;
    match wait_while(&[helper], PATIENCE, ProcessId::lives).first() {
        Some(process) => Err(format!("process {} did not end", process.pid)),
        None => Ok(()),
    }
}
