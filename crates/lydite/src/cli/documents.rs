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

/// Choice of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Paired {
    /// Pairs if the runs of both groups were taken in turns
    Auto,
    /// Pairs in the order of the starts
    On,
    /// No pairs
    Off,
}

/// End of a condition that is not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Undecided {
    /// Exit 4, as for one that fails
    Fail,
    /// Exit 0, as for one that passes
    Pass,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Results to compare with the first, or patterns such as 'runs/*.json'; those with the same label and plan are one
    /// group
    #[arg(value_name = "RESULT.json", required_unless_present_any = ["a", "b"], conflicts_with_all = ["a", "b"])]
    pub(crate) results: Vec<PathBuf>,
    /// Results of the group to compare with: files or patterns
    #[arg(long, value_name = "FILES", num_args = 1.., requires = "b")]
    pub(crate) a: Vec<PathBuf>,
    /// Results of the other group: files or patterns
    #[arg(long, value_name = "FILES", num_args = 1.., requires = "a")]
    pub(crate) b: Vec<PathBuf>,
    /// Compare the runs of two groups in pairs
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) paired: Paired,
    /// Change from A that fails the comparison with exit 4, as 'nopm < -5%', 'new_order.p99 > +10%' or
    /// 'new_order.p99 > +5ms'; without a sign, a limit of the value itself; of several runs, the interval decides. Repeat
    /// it for more
    #[arg(long, value_name = "METRIC < CHANGE")]
    pub(crate) fail_if: Vec<String>,
    /// Let a condition that these runs can't decide fail or pass [default: exit 5]
    #[arg(long, value_enum)]
    pub(crate) undecided: Option<Undecided>,
    /// Write the comparison as JSON; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the conditions as tests in JUnit's XML; - is the standard output
    #[arg(long, value_name = "FILE.xml")]
    pub(crate) junit: Option<PathBuf>,
    /// Print annotations of a GitHub workflow, and append the summary to the file that GITHUB_STEP_SUMMARY names
    #[arg(long)]
    pub(crate) github: bool,
    /// Write a badge (SVG) with the change and the end of the conditions; - is the standard output
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) badge: Option<PathBuf>,
    /// Write a summary in Markdown, for a pull request; - is the standard output
    #[arg(long, value_name = "FILE.md")]
    pub(crate) summary: Option<PathBuf>,
}
