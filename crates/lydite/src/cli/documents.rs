//! Arguments of the commands that make and compare documents.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct SweepArgs {
    /// The experiment (TOML): a plan, axes or points, figures
    #[arg(value_name = "EXPERIMENT.toml")]
    pub(crate) experiment: PathBuf,
    /// Directory of results, summary and page [default: the experiment's name, in the current directory]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Set a key of all plans, except those that an axis varies; repeat it for more
    #[arg(long, value_name = "KEY=VALUE", action = clap::ArgAction::Append)]
    pub(crate) set: Vec<String>,
    /// Runs of each point [default: the experiment's value, else 1]
    #[arg(long, value_name = "N")]
    pub(crate) repetitions: Option<String>,
    /// Origin of each run's database: each-run (drop its tables, whoever made them, and load again), restore or once
    /// [default: the experiment's value]
    #[arg(long, value_name = "HOW")]
    pub(crate) reload: Option<String>,
    /// Only show the points and the time that they take
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// First delete the results that the directory holds
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Show nothing while it runs
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Results to show; several are laid over each other
    #[arg(required = true, value_name = "RESULT.json")]
    pub(crate) results: Vec<PathBuf>,
    /// The page to write; - is the standard output
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Event at the database, in time from the start of the window: 30s, 30s..60s, or shutdown=30s..60s; adds
    /// availability (R_e, T_e) to the report. Repeat it for more
    #[arg(long, value_name = "[NAME=]FROM[..TO]")]
    pub(crate) event: Vec<String>,
    /// Throughput is stable when means over WINDOW stay within PERCENT of their level for HOLD
    /// [default: 5s,10,10s]
    #[arg(long, value_name = "WINDOW,PERCENT,HOLD")]
    pub(crate) stable: Option<String>,
    /// Nodes of each result, in the order of the results; adds scalability [default: those that the results name]
    #[arg(long, value_name = "N,N,…")]
    pub(crate) nodes: Option<String>,
}

/// Paper of a disclosure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaperSize {
    /// 210 mm by 297 mm
    A4,
    /// 8.5 inches by 11 inches
    Letter,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct DiscloseArgs {
    /// The result to disclose, then results of the same plan on the same database, and summary.json of sweeps
    #[arg(required = true, value_name = "RESULT.json")]
    pub(crate) results: Vec<PathBuf>,
    /// Findings of `lydite audit --json` on the same database
    #[arg(long, value_name = "AUDIT.json")]
    pub(crate) audit: Option<PathBuf>,
    /// Price sheet, as for `lydite plan`
    #[arg(long, value_name = "PRICES.toml")]
    pub(crate) prices: Option<PathBuf>,
    /// Directory of the documents, new or empty
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Size of a warehouse after loading, as 70MB [default: as measured in the result, else typical of the database]
    #[arg(long, value_name = "SIZE")]
    pub(crate) bytes_per_warehouse: Option<String>,
    /// Copies of the data [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) copies: Option<String>,
    /// Size of all disks of the database, as 2TB
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<String>,
    /// Paper size
    #[arg(long, value_enum, default_value = "a4")]
    pub(crate) paper: PaperSize,
    /// Write HTML only; PDF needs a Chromium on the PATH
    #[arg(long)]
    pub(crate) no_pdf: bool,
    /// Write the names of the documents and everything missing as JSON; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The result to compare the others with
    #[arg(value_name = "A.json")]
    pub(crate) a: PathBuf,
    /// The results to compare
    #[arg(value_name = "B.json", required = true)]
    pub(crate) others: Vec<PathBuf>,
    /// Change from A that fails the comparison with exit 4, as 'nopm < -5%', 'new_order.p99 > +10%' or
    /// 'new_order.p99 > +5ms'; without a sign, a limit of the value itself; repeat it for more
    #[arg(long, value_name = "METRIC < CHANGE")]
    pub(crate) fail_if: Vec<String>,
    /// Write a summary in Markdown, for a pull request; - is the standard output
    #[arg(long, value_name = "FILE.md")]
    pub(crate) summary: Option<PathBuf>,
}
