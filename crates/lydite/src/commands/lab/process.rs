//! The processes of servers that write no file with their number themselves, or only after they started: the lab does.

use super::note::Server;
use crate::exit::{Failure, Outcome};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time for a killed server to end, and for its parent to notice.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the file with a server's process number.
pub(super) fn file(server: &Server) -> PathBuf {
    server.path.join("process")
}

/// Writes the number of a new server's process.
pub(super) fn note(server: &Server, id: u32) -> Result<(), String> {
    let file = file(server);
    fs::write(&file, id.to_string()).map_err(|error| format!("{}: {error}", file.display()))
}

/// Returns the process number of a server, or `None` if it does not run. `argument` is part of its command line and of
/// no other server's.
pub(super) fn find(server: &Server, argument: &str) -> Option<u32> {
    let id: u32 = fs::read_to_string(file(server)).ok()?.trim().parse().ok()?;
    // Another process may have the number by now. A zombie has no command line.
    let command = fs::read(format!("/proc/{id}/cmdline")).ok()?;
    command.split(|&byte| byte == 0).any(|part| part == argument.as_bytes()).then_some(id)
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
        thread::sleep(Duration::from_millis(20));
    }
}

/// Kills a server if it runs. Its data is deleted afterwards, so there is no need for a clean shutdown.
pub(super) fn kill(server: &Server, argument: &str) -> Outcome {
    let Some(id) = find(server, argument) else { return Ok(()) };
    // SAFETY: kill has no memory preconditions; the process is the server of this directory.
    unsafe {
        libc::kill(id.cast_signed(), libc::SIGKILL);
    }
    let begun = Instant::now();
    while find(server, argument) == Some(id) {
        if begun.elapsed() > PATIENCE {
            return Err(Failure::Target(format!("the {} (process {id}) did not end", server.shown())));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
