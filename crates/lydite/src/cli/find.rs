//! Arguments of `lydite find`.

use super::ExperimentArgs;
use clap::{Arg, Args};
use std::path::PathBuf;

/// Returns a flag of a plan as a search understands it.
pub(super) fn fitting(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "phase" | "rate" => arg.hide(true),
        "mode" => arg.help(
            "open: the highest rate; rte: the highest number of warehouses with emulated users; direct: that of sessions \
             [default: open]",
        ),
        _ => arg,
    }
}

// Negative numbers are values, not flags: the plan rejects them together with all other errors.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct FindArgs {
    /// URL of the database, or a connection string of JDBC, libpq, .NET or Go (see `lydite targets`) [default: gemel: in a temporary directory]
    #[arg(value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Objective that must hold, as 'new_order.p99 < 50ms'; repeat it for more
    #[arg(long, value_name = "METRIC < VALUE")]
    pub(crate) slo: Vec<String>,
    /// Lowest rate (mode open), number of warehouses (rte) or of sessions (direct) [default: 10 per second, or 1]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) lowest: Option<String>,
    /// Highest one [default: a million per second, --warehouses, or 1024 sessions]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) highest: Option<String>,
    /// First one; it doubles until it fails [default: 100 per second, 10 warehouses, or 4 sessions]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) start: Option<String>,
    /// How closely the limit shall be known, to both sides [default: 2%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) resolution: Option<String>,
    /// Most time of all runs; no run begins after it
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Directory of results, document and page
    #[arg(short, long, value_name = "DIR", default_value = "find")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
}
