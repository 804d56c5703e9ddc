//! The command line of Lydite. From top to bottom: [`commands`] turn arguments into calls, [`run`] makes a run from its plan
//! (`lydite_plan`), and below them are arguments, exit codes, output and interrupts. Nothing names anything above it.

mod cli;
mod commands;
mod exit;
mod host;
mod interrupt;
mod memory;
mod output;
mod run;
mod shell;
mod source;
mod write;

use clap::Parser;
use cli::Cli;
use std::process::ExitCode;

/// Runs the command that the arguments of the process name, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    // Without it everything works but the message about such a limit.
    let _as_before = interrupt::survive_file_limits();
    match commands::run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.lines().into_iter().for_each(output::complain);
            ExitCode::from(failure.code())
        }
    }
}
