//! `lydite driver`: makes the beginning of a driver, and proves a target.

mod scaffold;
mod spec;
mod test;

use crate::cli::DriverCommand;
use crate::exit::Outcome;

/// `lydite driver`.
pub(crate) fn command(command: DriverCommand) -> Outcome {
    match command {
        DriverCommand::New(args) => scaffold::command(&args),
        DriverCommand::Test(args) => test::command(&args),
    }
}
