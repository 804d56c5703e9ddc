//! Arguments of `lydite ab`.

use super::ExperimentArgs;
use clap::Args;
use std::path::PathBuf;

// Negative numbers are values, not flags: the plan rejects them together with all other errors.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct AbArgs {
    /// URL of the database of both sides, or those of A and of B (see `lydite targets`)
    /// [default: gemel: in a temporary directory]
    #[arg(value_name = "URL", num_args = 0..=2)]
    pub(crate) targets: Vec<String>,
    /// Set a key of A's plan, as tx=statements, or an option of its URL, as target.isolation=serializable; repeat it for
    /// more
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) a_set: Vec<String>,
    /// Set a key of B's plan, likewise
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) b_set: Vec<String>,
    /// Setting of the lab's servers for A, as shared_buffers=1GB: they are started again before each run; repeat it for
    /// more
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) a_server: Vec<String>,
    /// Setting of the lab's servers for B, likewise
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) b_server: Vec<String>,
    /// Shell command before each run of A
    #[arg(long, value_name = "COMMAND")]
    pub(crate) a_before: Option<String>,
    /// Shell command before each run of B
    #[arg(long, value_name = "COMMAND")]
    pub(crate) b_before: Option<String>,
    /// Longest time of such a command [default: 10m]
    #[arg(long, value_name = "TIME")]
    pub(crate) before_timeout: Option<String>,
    /// Metric that decides: a throughput, a latency or a cost, as new_order.p99 [default: tps]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// Most pairs that count, at least 3 [default: 12]
    #[arg(long, value_name = "N")]
    pub(crate) pairs: Option<String>,
    /// Most time of all runs; no pair begins after it
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Seed of the order of the runs [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) order_seed: Option<String>,
    /// Directory of results, document and page
    #[arg(short, long, value_name = "DIR", default_value = "ab")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
}
