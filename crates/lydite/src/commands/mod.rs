//! The commands of the program: one module for each.

mod ab;
mod agent;
mod audit;
mod check;
mod compare;
mod completions;
mod disclose;
mod driver;
mod drop;
mod experiment;
mod export;
mod faults;
mod find;
mod findings;
mod foreign;
mod grant;
mod import;
mod joining;
mod lab;
mod load;
mod man;
mod plan;
mod price_file;
mod report;
mod result_file;
mod run;
mod sweep;
mod targets;
mod verify;
mod was;

use crate::cli::Command;
use lydite_console::exit::{Failure, Outcome};
use std::io;

/// Runs a command and returns its outcome.
pub(crate) fn run(command: Command) -> Outcome {
    match command {
        Command::Run(args) => run::command(*args),
        Command::Agent(args) => agent::command(args),
        Command::Load(args) => load::command(args),
        Command::Was(args) => was::command(&args),
        Command::Check(args) => check::command(args),
        Command::Plan(args) => plan::command(&args),
        Command::Verify(args) => verify::command(&args),
        Command::Audit(args) => audit::command(&args),
        Command::AuditLoad(args) => audit::load(&args),
        Command::ObserveHost { port } => observe_host(port),
        Command::Sweep(args) => sweep::command(args),
        Command::Ab(args) => ab::command(*args),
        Command::Find(args) => find::command(*args),
        Command::Report(args) => report::command(&args),
        Command::Compare(args) => compare::command(&args),
        Command::Disclose(args) => disclose::command(&args),
        Command::Import(args) => import::command(&args),
        Command::Drop(args) => drop::command(&args),
        Command::Grant(args) => grant::command(&args),
        Command::Export(args) => export::command(&args),
        Command::Targets => targets::command(),
        Command::Lab(args) => lab::command(args),
        Command::Faults(args) => faults::command(args),
        Command::Driver(command) => driver::command(command),
        Command::Completions(args) => completions::command(&args),
        Command::Man(args) => man::command(&args),
    }
}

/// Runs `lydite observe-host`: answers the samples that a run on another machine asks for.
fn observe_host(port: Option<u16>) -> Outcome {
    lydite_observe::remote::serve(port, &mut io::stdin().lock(), &mut io::stdout().lock())
        .map_err(|problem| Failure::usage(problem.to_string()))
}
