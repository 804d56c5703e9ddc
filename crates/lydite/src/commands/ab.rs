//! `lydite ab`: compares two variants by runs in turns.

use crate::cli::{AbArgs, PlanFlags};
use crate::signals::watch;
use lydite_ab::{Asked, SideAsked};
use lydite_console::exit::Outcome;
use lydite_console::output::reserve_stdout;
use lydite_plan::entries::Entries;
use lydite_plan::keys;
use lydite_report::live::Style;
use std::path::Path;

/// Keys of a plan whose flags an experiment has itself: its name, its document and its page.
const OWN: [&str; 3] = ["label", "json", "report"];

/// Runs `lydite ab`.
pub(crate) fn command(args: AbArgs) -> Outcome {
    let (entries, [label, json, report]) = entries(args.config.as_deref(), &args.set, &args.plan);
    let asked = Asked {
        entries,
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
    lydite_ab::run(&experiment, style, &watch(style)?)
}

/// Collects the plan file, `--set` and the flags of an experiment. Returns the values of [`OWN`] beside them.
pub(super) fn entries(
    config: Option<&Path>,
    set: &[String],
    plan: &PlanFlags,
) -> (Entries, [Option<String>; OWN.len()]) {
    let mut entries = Entries::default();
    if let Some(path) = config {
        entries.file(path, keys());
    }
    for setting in set {
        entries.set(setting, keys().plan);
    }
    for (key, values) in plan.0.iter().filter(|(key, _)| !OWN.contains(&key.name)) {
        let between = key.flag.and_then(|flag| flag.repeated).unwrap_or_default();
        entries.flag(key.name, Some(values.join(between)));
    }
    (entries, OWN.map(|key| plan.values(key).first().cloned()))
}
