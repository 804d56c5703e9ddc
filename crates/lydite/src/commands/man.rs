//! `lydite man`: writes the pages of the manual, one for each command, from the arguments.

use crate::cli::{Cli, ManArgs};
use clap::CommandFactory;
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
    clap_mangen::generate_to(Cli::command(), directory).map_err(failed)?;
    print(&format!("the manual is in {0}: man -l {0}/lydite.1\n", directory.display()))
}
