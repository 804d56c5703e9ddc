//! The command line of Lydite. From top to bottom: `commands` turn arguments into calls, `run` runs a plan of
//! `lydite_plan`, and below them are arguments, exit codes, output and interrupts. No module uses one above it.

mod cli;
mod commands;
mod scratch;
mod signals;
mod version;

use clap::Parser;
use clap::error::ErrorKind;
use cli::{Cli, one_line};
use lydite_console::exit::Failure;
use lydite_console::output;
use std::process::ExitCode;

/// Runs the command that the arguments of the process name, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    // A failure costs only the message about such a limit.
    let _ = signals::survive_file_limits();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and the version go to the standard output; without a command, the help goes to the standard error.
        Err(error)
            if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            error.exit()
        }
        Err(error) => {
            let arguments: Vec<String> =
                std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
            let failure = Failure::usage(one_line(&error, &arguments));
            failure.lines().into_iter().for_each(output::complain);
            return ExitCode::from(failure.code());
        }
    };
    match commands::run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.lines().into_iter().for_each(output::complain);
            ExitCode::from(failure.code())
        }
    }
}
