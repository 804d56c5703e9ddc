//! `lydite ab`: compares two variants by runs in turns.

use super::experiment::common;
use crate::cli::AbArgs;
use crate::signals::watch;
use lydite_ab::{Asked, SideAsked};
use lydite_console::exit::Outcome;
use lydite_console::output::reserve_stdout;
use lydite_report::live::Style;

/// Runs `lydite ab`.
pub(crate) fn command(args: AbArgs) -> Outcome {
    let style = Style::detect(args.experiment.quiet);
    let asked = Asked {
        common: common(args.experiment, args.out),
        targets: args.targets,
        sides: [
            SideAsked { set: args.a_set, server: args.a_server, before: args.a_before },
            SideAsked { set: args.b_set, server: args.b_server, before: args.b_before },
        ],
        before_timeout: args.before_timeout,
        metric: args.metric,
        pairs: args.pairs,
        time: args.time,
        order_seed: args.order_seed,
    };
    let experiment = asked.read()?;
    if experiment.writes_stdout() {
        reserve_stdout();
    }
    lydite_ab::run(&experiment, style, &watch(style)?)
}
