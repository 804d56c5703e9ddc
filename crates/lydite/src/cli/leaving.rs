//! Arguments of the commands that come before and after all work on a database: accounts for it, and its removal.

use clap::{Args, ValueEnum};
use lydite_families::{Extra, Work};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Lydite knows its own tables by the notes in lydite_meta and by their columns. What has the name of one and \
                  neither stays, and is named. What others have made on top of them, as a view, is named too, and nothing is \
                  dropped before that is gone. Without --yes and without a terminal nothing is dropped."
)]
pub(crate) struct DropArgs {
    /// URL of the database (see `lydite targets`), with the options it was loaded with
    #[arg(value_name = "URL")]
    pub(crate) target: String,
    /// Drop what is listed, without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only list, and ask nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Write the list as JSON; - is the standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,
}

/// Work of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkArg {
    /// Load, run, check and drop
    Load,
    /// Run on what another account has loaded, and check it
    Run,
}

impl From<WorkArg> for Work {
    fn from(work: WorkArg) -> Self {
        match work {
            WorkArg::Load => Self::Load,
            WorkArg::Run => Self::Run,
        }
    }
}

/// Further work of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExtraArg {
    /// Statistics of the database: --observe db
    Observe,
    /// Audits and isolation checks
    Audit,
    /// Transactions of the Dike paper
    Dike,
    /// --tx procedures
    Procedures,
    /// Templates of sweep, ab and find
    Templates,
    /// Faults
    Faults,
}

impl From<ExtraArg> for Extra {
    fn from(extra: ExtraArg) -> Self {
        match extra {
            ExtraArg::Observe => Self::Observe,
            ExtraArg::Audit => Self::Audit,
            ExtraArg::Dike => Self::Dike,
            ExtraArg::Procedures => Self::Procedures,
            ExtraArg::Templates => Self::Templates,
            ExtraArg::Faults => Self::Faults,
        }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Send it to the database's own client, as an owner: `lydite grant URL --to bench | psql URL`. Rights for \
                  further work are comments unless --with names that work."
)]
pub(crate) struct GrantArgs {
    /// URL of the database (see `lydite targets`); nothing connects to it
    #[arg(value_name = "URL")]
    pub(crate) target: String,
    /// Role that gets the rights; for MySQL's family as user@host, or user for any host
    #[arg(long, value_name = "ROLE")]
    pub(crate) to: String,
    /// Work of the role
    #[arg(long = "for", value_name = "WORK", default_value = "load")]
    pub(crate) work: WorkArg,
    /// Further work of the role; repeat it, or write commas
    #[arg(long, value_name = "WORK", value_delimiter = ',')]
    pub(crate) with: Vec<ExtraArg>,
}
