//! The command line of Lydite. It turns arguments into a plan, calls the crates that do the work, and turns their answers
//! into output and an exit code.

mod balances;
mod check;
mod cli;
mod compare;
mod controls;
mod curve;
mod data;
mod destination;
mod driver;
mod exit;
mod gates;
mod host;
mod interrupt;
mod lab;
mod loading;
mod memory;
mod micro;
mod node_sizes;
mod output;
mod phases;
mod plan;
mod raw;
mod report;
mod result;
mod run;
mod source;
mod sweep;
mod targets;
mod values;
mod verify;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

/// Runs the command that the arguments of the process name, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    // Without it everything works but the message about such a limit.
    let _as_before = interrupt::survive_file_limits();
    let outcome = match Cli::parse().command {
        Command::Run(args) => run::run(*args),
        Command::Load(args) => loading::command(args),
        Command::Check(args) => check::command(args),
        Command::Verify(args) => verify::command(&args),
        Command::Sweep(args) => sweep::command(args),
        Command::Report(args) => report::command(&args),
        Command::Compare(args) => compare::command(&args),
        Command::Targets => targets::list(),
        Command::Lab(args) => lab::command(args),
        Command::Driver(command) => driver::command(command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
