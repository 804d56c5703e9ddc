//! Finds the processes of servers by their command lines: a file with a number would be wrong after a crash at a bad
//! moment.

use lydite_faults::process::{ProcessId, Processes};
use std::fs;

/// Returns the process with all of these arguments on its command line; `None` if none runs.
pub(crate) fn find(arguments: &[String]) -> Option<ProcessId> {
    let has_all = |process: &ProcessId| {
        let command = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        let has =
            |argument: &String| command.split(|byte| *byte == 0).any(|part| part == argument.as_bytes());
        arguments.iter().all(has)
    };
    Processes::now().all().find(has_all)
}
