//! `lydite man`: writes the pages of the manual, one for each command, from the arguments.

use crate::cli::{Cli, ManArgs};
use clap::{Command, CommandFactory};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::print;
use std::fs;

/// Runs `lydite man`: writes `lydite.1`, `lydite-run.1` and so on into a directory.
pub(crate) fn command(args: &ManArgs) -> Outcome {
    let directory = &args.directory;
    let failed = |error: std::io::Error| {
        let directory = directory.display();
        Failure::usage(format!("{directory}: {error}: name a directory that can be written"))
    };
    fs::create_dir_all(directory).map_err(failed)?;
    let mut whole = Cli::command().disable_help_subcommand(true);
    // Commands get the names that their usage begins with.
    whole.build();
    clap_mangen::generate_to(with_usage(whole), directory).map_err(failed)?;
    print(&format!("the manual is in {0}: man -l {0}/lydite.1\n", directory.display()))
}

/// Sets the usage of a command and of its subcommands to that of the help, which pages have as their synopsis. The one
/// that `clap_mangen` makes by itself does not say which arguments may be repeated.
fn with_usage(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    command.override_usage(usage).mut_subcommands(with_usage)
}
