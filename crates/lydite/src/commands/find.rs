//! `lydite find`: searches the highest rate, number of warehouses or of sessions that holds objectives.

use super::experiment::common;
use crate::cli::FindArgs;
use crate::signals::watch;
use lydite_console::exit::Outcome;
use lydite_console::output::reserve_stdout;
use lydite_find::Asked;
use lydite_report::live::Style;

/// Runs `lydite find`.
pub(crate) fn command(args: FindArgs) -> Outcome {
    let style = Style::detect(args.experiment.quiet);
    let asked = Asked {
        common: common(args.experiment, args.out),
        target: args.target,
        slo: args.slo,
        lowest: args.lowest,
        highest: args.highest,
        start: args.start,
        resolution: args.resolution,
        time: args.time,
    };
    let search = asked.read()?;
    if search.writes_stdout() {
        reserve_stdout();
    }
    lydite_find::run(&search, style, &watch(style)?)
}
