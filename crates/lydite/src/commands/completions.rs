//! `lydite completions`: prints what a shell needs to complete the command line.

use crate::cli::{Cli, CompletionsArgs};
use clap::CommandFactory;
use lydite_console::exit::Outcome;
use lydite_console::output::print;

/// Runs `lydite completions`.
pub(crate) fn command(args: &CompletionsArgs) -> Outcome {
    let mut written = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lydite", &mut written);
    print(&String::from_utf8_lossy(&written))
}
