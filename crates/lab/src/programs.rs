//! Programs of servers, and how they are run.

use crate::error::LabError;
use lydite_console::exit::{Failure, Outcome};
use lydite_faults::find_program;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the place of a program. `package` is Debian's.
///
/// # Errors
/// It is not installed.
pub(crate) fn program(name: &str, package: &str) -> Result<PathBuf, Failure> {
    find_program(name).ok_or_else(|| {
        Failure::usage(format!("{name} is not found: install it (Debian: apt-get install {package})"))
    })
}

/// Returns the path of this program.
pub(crate) fn own() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::usage(format!("lydite's own program: {error}")))
}

/// Runs a command to its end.
///
/// # Errors
/// The error that the command printed.
pub(crate) fn run_to_end(mut command: Command, name: &str) -> Result<(), LabError> {
    let output = command.output().map_err(|error| LabError::system(name, error))?;
    check_success(&output, name)
}

/// Returns the first error that a failed command printed, else its last line.
pub(crate) fn check_success(output: &Output, name: &str) -> Result<(), LabError> {
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    // PostgreSQL's programs print the files that they remove after the error.
    let error = stderr.lines().find(|line| line.contains("error:")).or_else(|| stderr.lines().last());
    Err(LabError::Failed(format!("{name}: {}", error.unwrap_or("it printed no error"))))
}

/// Calls `start` for all servers in parallel and collects the failures.
pub(crate) fn in_parallel<'a, Server: Sync + 'a>(
    directory: &Path,
    servers: impl IntoIterator<Item = &'a Server>,
    start: impl Fn(&Server) -> Result<(), LabError> + Sync,
) -> Outcome {
    let start = &start;
    std::thread::scope(|scope| {
        let starting: Vec<_> = servers.into_iter().map(|server| scope.spawn(move || start(server))).collect();
        let failures = starting.into_iter().filter_map(|thread| match thread.join() {
            Ok(Ok(())) => None,
            Ok(Err(problem)) => Some(Failure::Target(format!("{}: {problem}", directory.display()))),
            Err(_) => Some(Failure::Target("a thread of Lydite's own panicked: please report this".into())),
        });
        Failure::all(failures.collect())
    })
}
