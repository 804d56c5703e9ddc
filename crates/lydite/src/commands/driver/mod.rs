//! `lydite driver`: `new` makes a working driver to start from, `test` runs the kit against a target, `serve` serves an
//! embedded database.

mod serve;
mod test;

use crate::cli::{DriverCommand, DriverNewArgs};
use lydite_console::exit::Outcome;
use lydite_driver_kit::{Language, NewDriver, make};

/// Runs `lydite driver`.
pub(crate) fn command(command: DriverCommand) -> Outcome {
    match command {
        DriverCommand::New(DriverNewArgs { name, lang, kv, spec }) => {
            make(&NewDriver { path: name, language: lang.map(Language::from), kv, spec })
        }
        DriverCommand::Test(args) => test::command(&args),
        DriverCommand::Serve(args) => serve::command(&args),
    }
}
