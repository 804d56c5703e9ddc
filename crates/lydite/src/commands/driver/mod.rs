//! `lydite driver`: `new` makes a working driver to start from, `test` runs the kit against a target, `serve` serves an
//! embedded database.

mod scaffold;
mod serve;
mod spec;
mod test;


use crate::cli::DriverCommand;
use lydite_console::exit::Outcome;

/// Runs `lydite driver`.
pub(crate) fn command(command: DriverCommand) -> Outcome {
    match command {
        DriverCommand::New(args) => scaffold::command(&args),
        DriverCommand::Test(args) => test::command(&args),
        DriverCommand::Serve(args) => serve::command(&args),
    }
}
