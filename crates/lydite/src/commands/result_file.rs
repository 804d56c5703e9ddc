//! Reading of result files, for several commands.

use lydite_console::exit::Failure;
use lydite_report::RunResult;
use std::path::Path;

/// Reads a result file.
pub(super) fn load(path: &Path) -> Result<RunResult, Failure> {
    RunResult::load(path).map_err(|error| Failure::usage(error.to_string()))
}
