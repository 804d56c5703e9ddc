//! Arguments that experiments over several runs have alike.

use super::PlanFlags;
use clap::{Arg, Args};
use lydite_sweep::is_for_single_runs;
use std::path::PathBuf;

/// Keys of a plan whose flags an experiment has itself: its name, its document and its page.
pub(crate) const OWN: [&str; 3] = ["label", "json", "report"];

/// Hides the flag of a key that experiments refuse, so that their help does not offer it.
pub(super) fn hide_refused(arg: Arg) -> Arg {
    let key = arg.get_id().as_str();
    let is_refused = is_for_single_runs(key) && !OWN.contains(&key);
    if is_refused { arg.hide(true) } else { arg }
}

#[derive(Debug, Args)]
pub(crate) struct ExperimentArgs {
    /// Origin of each run's database: restore (a copy of what it holds now), each-run (drop its tables, whoever made them,
    /// and load again) or once [default: restore]
    #[arg(long, value_name = "HOW")]
    pub(crate) reload: Option<String>,
    /// First delete the results that the directory holds
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Plan file (TOML) of all runs, - for the standard input; flags win
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set any key of the plan of all runs, such as --set retry.attempts=5; repeat it for more
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Show nothing while it runs
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) plan: PlanFlags,
}
