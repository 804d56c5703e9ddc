//! The commands of the program: one module for each.

mod agent;
mod audit;
mod check;
mod compare;
mod driver;
mod faults;
mod foreign;
mod lab;
mod load;
mod plan;
mod price_file;
mod report;
mod result_file;
mod run;
mod sweep;
mod targets;
mod verify;

use crate::cli::Command;
use crate::exit::Outcome;

/// Runs a command and returns its outcome.
pub(crate) fn run(command: Command) -> Outcome {
    match command {
        Command::Run(args) => run::command(*args),
        Command::Agent(args) => agent::command(args),
        Command::Load(args) => load::command(args),
        Command::Check(args) => check::command(args),
        Command::Plan(args) => plan::command(&args),
        Command::Verify(args) => verify::command(&args),
        Command::Audit(args) => audit::command(&args),
        Command::AuditLoad(args) => audit::load::command(&args),
        Command::Sweep(args) => sweep::command(args),
        Command::Report(args) => report::command(&args),
        Command::Compare(args) => compare::command(&args),
        Command::Targets => targets::command(),
        Command::Lab(args) => lab::command(args),
        Command::Faults(args) => faults::command(args),
        Command::Driver(command) => driver::command(command),
    }
}
