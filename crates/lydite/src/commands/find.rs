//! `lydite find`: searches the highest rate, number of warehouses or of sessions that holds objectives.

use super::ab::entries;
use crate::cli::FindArgs;
use crate::signals::watch;
use lydite_console::exit::Outcome;
use lydite_console::output::reserve_stdout;
use lydite_find::Asked;
use lydite_report::live::Style;

/// Runs `lydite find`.
pub(crate) fn command(args: FindArgs) -> Outcome {
    let (entries, [label, json, report]) = entries(args.config.as_deref(), &args.set, &args.plan);
    let asked = Asked {
        entries,
        target: args.target,
        slo: args.slo,
        lowest: args.lowest,
        highest: args.highest,
        start: args.start,
        resolution: args.resolution,
        time: args.time,
        reload: args.reload,
        label,
        out: Some(args.out),
        json,
        report,
        fresh: args.fresh,
    };
    let experiment = asked.read()?;
    if experiment.writes_stdout() {
        reserve_stdout();
    }
    let style = Style::detect(args.quiet);
    lydite_find::run(&experiment, style, &watch(style)?)
}
