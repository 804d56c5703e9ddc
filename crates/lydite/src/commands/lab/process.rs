//! The processes of servers that the lab starts itself, found by their command lines: a file with a number would be wrong
//! after a crash at a bad moment.

use super::note::Server;
use crate::exit::{Failure, Outcome};
use lydite_faults::process::{ProcessId, Processes};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time for a killed server to end, and for its parent to notice.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);

/// Returns the process with all of these arguments on its command line; `None` if none runs.
pub(super) fn find(arguments: &[&str]) -> Option<ProcessId> {
    let has_all = |process: &ProcessId| {
        let command = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        let has = |argument: &&str| command.split(|byte| *byte == 0).any(|part| part == argument.as_bytes());
        arguments.iter().all(has)
    };
    Processes::now().all().find(has_all)
}

/// Waits at most for `patience` until a server that runs listens: it may still recover. Returns false if none runs. Its
/// command line has these arguments, and no other process has all of them.
///
/// # Errors
/// The server runs and does not listen.
pub(super) fn is_running(server: &Server, arguments: &[&str], patience: Duration) -> Result<bool, String> {
    let begun = Instant::now();
    while let Some(process) = find(arguments) {
        if server.answers() {
            return Ok(true);
        }
        if begun.elapsed() > patience {
            return Err(format!("process {} runs and does not listen on port {}", process.pid, server.port));
        }
        thread::sleep(LOOK);
    }
    Ok(false)
}

/// Waits until the parent of a process that has ended has noticed its end. Returns at once if the process runs.
pub(super) fn wait_until_noticed(id: i32) {
    let begun = Instant::now();
    let ended = || {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name stands in parentheses and may contain some itself.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
    };
    while ended() && begun.elapsed() < PATIENCE {
        thread::sleep(LOOK);
    }
}

/// Kills a server if it runs. Its data is deleted afterwards, so there is no need for a clean shutdown. Its command line
/// has these arguments, and no other process has all of them.
pub(super) fn kill(server: &Server, arguments: &[&str]) -> Outcome {
    let failed = |process: ProcessId, problem: &str| {
        Failure::Target(format!("the {} (process {}) {problem}", server.shown(), process.pid))
    };
    let begun = Instant::now();
    while let Some(process) = find(arguments) {
        process
            .signal(libc::SIGKILL)
            .map_err(|error| failed(process, &format!("can't be ended: {error}")))?;
        if begun.elapsed() > PATIENCE {
            return Err(failed(process, "did not end"));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
