//! The command line of Lydite. From top to bottom: `commands` turn arguments into calls, `run` runs a plan of
//! `lydite_plan`, and below them are arguments, exit codes, output and interrupts. No module uses one above it.

mod cli;
mod commands;
mod exit;
mod host;
mod interrupt;
mod memory;
mod output;
mod proven;
mod run;
mod scratch;
mod shell;
mod source;
mod write;

use clap::Parser;
use cli::Cli;
use std::process::ExitCode;

/// Runs the command that the arguments of the process name, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    // A failure costs only the message about such a limit.
    let _ = interrupt::survive_file_limits();
    match commands::run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.lines().into_iter().for_each(output::complain);
            ExitCode::from(failure.code())
        }
    }
}
