//! `lydite sweep`: runs a grid or a list of plans.

use crate::cli::SweepArgs;
use crate::signals::watch;
use lydite_console::exit::Outcome;
use lydite_report::live::Style;
use lydite_sweep::{Experiment, Options};

/// Runs `lydite sweep`.
pub(crate) fn command(args: SweepArgs) -> Outcome {
    let SweepArgs { experiment, out, set, repetitions, reload, dry_run, fresh, quiet } = args;
    let options = Options { experiment, out, set, repetitions, reload, fresh };
    let experiment = Experiment::read(&options)?;
    if dry_run {
        return lydite_sweep::show(&experiment, &options);
    }
    let style = Style::detect(quiet);
    lydite_sweep::run(&experiment, &options, style, &watch(style)?)
}
