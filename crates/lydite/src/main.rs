//! The command line of Lydite: thin. It turns arguments into a plan, calls the crates that do the work, and turns
//! what comes back into output and an exit code.

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
mod verify;

use clap::Parser;
use cli::{Cli, Command};
use exit::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
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

/// Embedded targets are measured within this process, and multi-version engines live by their allocator: TPC-C in Gemel's
/// memory engine takes a tenth less processor time than with glibc's. Clients of servers do without its huge pages
/// (`memory.rs`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a command ends with.
type Outcome = Result<(), Failure>;
