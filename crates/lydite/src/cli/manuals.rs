//! Arguments of the commands that write completions of shells and pages of the manual.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that reads them
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory to write them to; made if missing
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
