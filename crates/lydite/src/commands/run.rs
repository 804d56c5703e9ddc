//! `lydite run`: measures a database.

use super::faults::warn_of_left;
use super::joining::joining;
use crate::cli::RunArgs;
use crate::run::faults::warn_of_untold;
use crate::run::fleet::{self, Asked};
use crate::run::{Request, micro, tpcc};
use crate::signals::watch;
use lydite_console::exit::Outcome;
use lydite_console::memory;
use lydite_console::output::reserve_stdout;
use lydite_database::TxMode;
use lydite_families::TargetSpec;
use lydite_lab::places::{rehearse, resolve_all};
use lydite_observe::SourceSpec;
use lydite_plan::entries::Entries;
use lydite_plan::{Document, Plan, keys};
use lydite_report::live::Style;

/// Runs `lydite run`.
pub(crate) fn command(args: RunArgs) -> Outcome {
    let mut entries = entries(&args);
    let fleet = fleet(&args, &mut entries);
    let mut plan = Plan::read_rehearsed(entries, &rehearse, &SourceSpec::reach)?;
    let faults = resolve_all(&plan.controls.faults)?;
    warn_of_left();
    warn_of_untold(&plan);
    plan.check &= !args.no_check;
    if plan.writes_stdout() {
        reserve_stdout();
    }
    let style = Style::detect(args.quiet);
    let interrupt = watch(style)?;
    plan.waited_for_by(&interrupt.waiter());
    memory::suit(&plan.target);
    let RunArgs { fresh, template, verbose, .. } = args;
    let request = Request { plan, faults, fresh, template, verbose, style, interrupt, fleet };
    match &request.plan.micro {
        Some(configured) => micro::run(&request, configured),
        None => tpcc::run(&request),
    }
}

/// Reads the fleet that plays the run, if there is one. Its errors are among those of the plan.
fn fleet(args: &RunArgs, entries: &mut Entries) -> Option<Asked> {
    let joining = joining(&args.fleet, &mut entries.errors)?;
    if args.template.is_some() {
        entries.errors.push("--template: is not for --agents: leave one of them out".into());
    }
    fleet::check(entries);
    // A URL that can't be read is an error of the plan.
    let target =
        TargetSpec::parse(&entries.text("target").unwrap_or_else(|| "gemel:".into()), TxMode::Statements);
    if let Ok(Err(problem)) = target.map(|target| fleet::check_shared(&target)) {
        entries.wrong("target", &problem);
    }
    let document = Document::new(entries);
    Some(Asked { joining, document })
}

/// Collects the plan file, `--set` and the flags.
fn entries(args: &RunArgs) -> Entries {
    let mut entries = Entries::default();
    if args.resume {
        entries.errors.push("--resume: is for `lydite load`: finish the load with it, then run".into());
    }
    if args.fault.iter().any(|fault| fault.trim().is_empty()) {
        entries.errors.push("--fault: is empty: name a fault, for example kill@8s..11s/lab:pg".into());
    }
    if let Some(path) = &args.config {
        entries.file(path, keys());
    }
    for setting in &args.set {
        entries.set(setting, keys().plan);
    }
    for (key, value) in [
        ("target", &args.target),
        ("warehouses", &args.warehouses),
        ("size", &args.size),
        ("data_skew", &args.data_skew),
        ("terminals", &args.terminals),
        ("sessions", &args.sessions),
        ("duration", &args.duration),
        ("warmup", &args.warmup),
        ("steady", &args.steady),
        ("mode", &args.mode),
        ("rate", &args.rate),
        ("arrival", &args.arrival),
        ("was", &args.was),
        ("display_delay", &args.display_delay),
        ("mix", &args.mix),
        ("tx", &args.tx),
        ("seed", &args.seed),
        ("jobs", &args.jobs),
        ("json", &args.json),
        ("report", &args.report),
        ("summary", &args.summary),
        ("success_log", &args.success_log),
        ("label", &args.label),
        ("require", &(!args.require.is_empty()).then(|| args.require.join(","))),
        ("workload", &args.workload),
        ("dis_ratio", &args.dis_ratio),
        ("dis_degree", &args.dis_degree),
        ("dis_strategy", &args.dis_strategy),
        ("nodes", &args.nodes),
        ("replicas", &args.replicas),
        ("staleness", &args.staleness),
        ("ci", &args.ci),
        ("phase", &args.phase),
        ("fault", &(!args.fault.is_empty()).then(|| args.fault.join(";"))),
        ("observe", &(!args.observe.is_empty()).then(|| args.observe.join(";"))),
    ] {
        entries.flag(key, value.clone());
    }
    entries.flag("affinity", args.affinity.then(|| "true".into()));
    entries
}
