//! `lydite run`: measures a database.

use super::faults::warn_of_left;
use crate::cli::RunArgs;
use crate::signals::watch;
use lydite_console::exit::Outcome;
use lydite_console::output::{print, reserve_stdout};
use lydite_console::target::{announce, announce_as};
use lydite_database::TxMode;
use lydite_families::{NOT_INTERLEAVED, TargetSpec};
use lydite_lab::places::{rehearse, resolve_all};
use lydite_observe::SourceSpec;
use lydite_plan::entries::Entries;
use lydite_plan::{Document, Plan, keys};
use lydite_report::live::Style;
use lydite_run::fleet::joining::{self, Asked};
use lydite_run::warn_of_untold;
use lydite_run::{Request, run};
use std::time::Duration;

/// Runs `lydite run`.
pub(crate) fn command(args: RunArgs) -> Outcome {
    let mut entries = entries(&args);
    let fleet = fleet(&args, &mut entries);
    let given = args.dry_run.then(|| entries.clone());
    let mut plan = Plan::read_rehearsed(entries, &rehearse, &SourceSpec::reach)?;
    if let Some(given) = given {
        if !args.quiet {
            announce(&plan.target);
        }
        return print(&dry_run(&args, &plan, given));
    }
    let faults = resolve_all(&plan.controls.faults)?;
    warn_of_left();
    warn_of_untold(&plan);
    plan.check &= !args.no_check;
    if plan.writes_stdout() {
        reserve_stdout();
    }
    let style = Style::detect(args.quiet);
    if style != Style::Quiet {
        announce(&plan.target);
        plan.controls.replicas.targets().for_each(|replica| announce_as("replica", replica));
    }
    let interrupt = watch(style)?;
    let RunArgs { fresh, template, verbose, .. } = args;
    let request = Request { faults, fresh, template, verbose, fleet, ..Request::new(plan, style, interrupt) };
    run(&request)?.publish(&request)
}

/// Returns the plan as a plan file, with the values that it takes by default.
fn dry_run(args: &RunArgs, plan: &Plan, mut given: Entries) -> String {
    if args.no_check {
        given.set("check=false", keys().plan);
    }
    // No key of a plan says this.
    let fresh = if args.fresh { "# With --fresh it first drops the tables and loads.\n" } else { "" };
    let (url, remark) = match given.text("target") {
        Some(url) => (plan.target.without_password(&url), ""),
        None => ("gemel:".to_owned(), "  # by default: in a temporary directory"),
    };
    let seconds = |time: Duration| format!("\"{}s\"", time.as_secs_f64());
    let defaults = [
        ("mode", "\"direct\"".to_owned()),
        ("warmup", seconds(plan.warmup)),
        ("duration", seconds(plan.duration)),
        ("seed", plan.seed.to_string()),
    ];
    let defaults = defaults.iter().filter(|(key, _)| given.text(key).is_none());
    format!(
        "# A plan that lydite run takes; no database was connected to.\n{fresh}target = {}{remark}\n{}{}",
        toml::Value::from(url),
        defaults.map(|(key, value)| format!("{key} = {value}  # by default\n")).collect::<String>(),
        given.shown_values()
    )
}

/// Reads the fleet that plays the run, if there is one. Its errors are among those of the plan.
fn fleet(args: &RunArgs, entries: &mut Entries) -> Option<Asked> {
    let joining = super::joining::joining(&args.fleet, &mut entries.errors)?;
    if args.template.is_some() {
        entries.errors.push("--template: is not for --agents: leave one of them out".into());
    }
    joining::check(entries);
    // A URL that can't be read is an error of the plan.
    let target =
        TargetSpec::parse(&entries.text("target").unwrap_or_else(|| "gemel:".into()), TxMode::Statements);
    if let Ok(Err(problem)) = target.map(|target| joining::check_shared(&target)) {
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
    entries.errors.extend(args.interleaved.then(|| NOT_INTERLEAVED.to_owned()));
    if args.plan.values("fault").iter().any(|fault| fault.trim().is_empty()) {
        entries.errors.push("--fault: is empty: name a fault, for example kill@8s..11s/lab:pg".into());
    }
    if let Some(path) = &args.config {
        entries.file(path, keys());
    }
    for setting in &args.set {
        entries.set(setting, keys().plan);
    }
    entries.flag("target", args.target.clone());
    for (key, values) in &args.plan.0 {
        let between = key.flag.and_then(|flag| flag.repeated).unwrap_or_default();
        entries.flag(key.name, Some(values.join(between)));
    }
    entries
}
