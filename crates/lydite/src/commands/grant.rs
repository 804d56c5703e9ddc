//! `lydite grant`: prints the SQL for an account. It connects to nothing and executes nothing.

use crate::cli::GrantArgs;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::print;
use lydite_database::TxMode;
use lydite_families::{Extra, GrantRequest, TargetSpec};

/// Runs `lydite grant`.
pub(crate) fn command(args: &GrantArgs) -> Outcome {
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(Failure::Usage)?;
    let grants = spec.grants(&GrantRequest { role: &args.to, work: args.work.into() })?;
    let with: Vec<Extra> = args.with.iter().map(|&extra| extra.into()).collect();
    print(&grants.sql(&with)?)
}
