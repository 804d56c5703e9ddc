//! Arguments of `lydite export`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use lydite_export::{FORMATS, TABLES};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Results of runs, and directories of sweeps, `lydite ab` and `lydite find`, whose runs are exported
    #[arg(required = true, value_name = "RESULT.json|DIR")]
    pub(crate) results: Vec<PathBuf>,
    /// Format: CSV or Parquet (in builds with that feature), OpenMetrics text for Prometheus, or Influx's line protocol
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS.iter().map(|format| format.name)))]
    pub(crate) to: String,
    /// New file, or directory of a file for each table of CSV or Parquet; files that exist are left alone
    /// [default: the standard output]
    #[arg(short, long, value_name = "FILE|DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Tables [default: all]
    #[arg(long, value_name = "TABLE,…", value_delimiter = ',', value_parser = PossibleValuesParser::new(TABLES.iter().map(|table| table.name)))]
    pub(crate) what: Vec<String>,
}
