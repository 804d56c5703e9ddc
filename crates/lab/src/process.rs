//! Starts and ends of servers that the lab starts itself.

use crate::error::LabError;
use crate::find::find;
use crate::server::Server;
use lydite_console::exit::{Failure, Outcome};
use lydite_faults::process::{ProcessId, Processes};
use lydite_faults::reason_in_log;
use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time for a killed server to end, and for its parent to notice.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);

/// Waits at most for `patience` until a server that runs answers: it may still recover. Returns false if none runs. Its
/// command line has these arguments, and no other process has all of them.
///
/// # Errors
/// The server runs and does not answer.
pub(crate) fn is_running(
    server: &Server,
    arguments: &[String],
    patience: Duration,
) -> Result<bool, LabError> {
    let begun = Instant::now();
    while let Some(process) = find(arguments) {
        if server.answers() {
            return Ok(true);
        }
        if begun.elapsed() > patience {
            let words = format!("process {} runs, and the {} does not answer", process.pid, server.shown());
            return Err(LabError::Failed(words));
        }
        thread::sleep(LOOK);
    }
    Ok(false)
}

/// Starts a server that outlives this process, and waits at most for `patience` until `is_up` is true for what it has
/// written to its log.
pub(crate) fn start(
    mut command: Command,
    server: &Server,
    patience: Duration,
    is_up: impl Fn(&str) -> bool,
) -> Result<(), LabError> {
    let log = server.path.join("log");
    let failed = |error| LabError::system(log.display(), error);
    let file = OpenOptions::new().create(true).append(true).open(&log).map_err(failed)?;
    let before = file.metadata().map_err(failed)?.len() as usize;
    let said = || {
        fs::read(&log)
            .map(|text| String::from_utf8_lossy(text.get(before..).unwrap_or_default()).into_owned())
    };
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(file));
    // A Ctrl-C in the terminal must not reach it.
    command.process_group(0);
    let mut child =
        command.spawn().map_err(|error| LabError::system(command.get_program().display(), error))?;
    let begun = Instant::now();
    while !is_up(&said().map_err(failed)?) {
        let ended = child.try_wait();
        let ended =
            ended.map_err(|error| LabError::system(format!("the {}", server.shown()), error))?.is_some();
        if ended || begun.elapsed() > patience {
            let words = said().unwrap_or_default();
            let reason = reason_in_log(&words).unwrap_or("its log is empty");
            return Err(LabError::Failed(format!("the {} did not start: {reason}", server.shown())));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Waits until a process that was killed has ended and its parent has noticed. Returns at once if the process runs.
pub(crate) fn wait_until_noticed(id: i32) {
    let begun = Instant::now();
    // A process has no command line any more while it ends, but its number is still taken.
    let is_leaving = || u32::try_from(id).is_ok_and(ProcessId::is_leaving);
    while is_leaving() && begun.elapsed() < PATIENCE {
        thread::sleep(LOOK);
    }
}

/// Kills a server with all its processes if it runs: those of a killed one may stand still. Its command line has these
/// arguments, and no other process has all of them.
pub(crate) fn kill_all(server: &Server, arguments: &[String]) -> Outcome {
    for process in find(arguments).map_or_else(Vec::new, |root| Processes::now().tree(root)) {
        // One that has ended gets no signal, and the first one is looked for below.
        let _ended = process.signal(libc::SIGKILL);
    }
    kill(server, arguments)
}

/// Kills a server if it runs. Its data is deleted afterwards, so there is no need for a clean shutdown. Its command line
/// has these arguments, and no other process has all of them.
pub(crate) fn kill(server: &Server, arguments: &[String]) -> Outcome {
    end(server, arguments, libc::SIGKILL)
}

/// Ends a server if it runs, with this signal.
pub(crate) fn end(server: &Server, arguments: &[String], signal: i32) -> Outcome {
    let failed = |process: ProcessId, problem: &str| {
        Failure::Target(format!("the {} (process {}) {problem}", server.shown(), process.pid))
    };
    let begun = Instant::now();
    while let Some(process) = find(arguments) {
        process.signal(signal).map_err(|error| failed(process, &format!("can't be ended: {error}")))?;
        if begun.elapsed() > PATIENCE {
            return Err(failed(process, "did not end"));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
