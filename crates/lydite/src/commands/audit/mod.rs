//! `lydite audit`: the ACID tests of TPC-C, as a table.

mod document;

use crate::cli::{AuditArgs, AuditLoadArgs};
use crate::scratch::Scratch;
use crate::signals::{watch, watched};
use document::Document;
use lydite_audit::consistency::not_made;
use lydite_audit::load::LENGTH;
use lydite_audit::{Audit, Engines, Finding, Part, Property, Report, Verdict};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_console::shell::typed;
use lydite_database::secret::shown;
use lydite_database::{
    DatabaseState, Demand, Description, Target, TargetError, TargetErrorKind, TxMode, or_unknown,
};
use lydite_durability::{Crash, Test, lab_of};
use lydite_families::TargetSpec;
use lydite_plan::Problem;
use lydite_plan::controls::replicas::Reading;
use lydite_plan::data::Data;
use lydite_plan::destination::{Destination, apart};
use lydite_plan::entries::Entries;
use lydite_plan::values::{number, time, whole};
use lydite_report::live::Style;
use lydite_report::observed::counts_checkpoints;
use lydite_run::alone::begin_test;
use lydite_run::loading::TpccLoad;
use lydite_run::readiness::unusable;
use lydite_run::replicas::catch_up;
use lydite_run::spread::few_sessions;
use lydite_tpcc::limits::MAX_WAREHOUSES;
use lydite_tpcc::meta::DatabaseMeta;
use std::sync::Arc;
use std::time::Duration;

/// Connections that load.
const JOBS: usize = 2;
/// Default number of warehouses: one for each shard of a lab.
const DEFAULT_WAREHOUSES: u32 = 3;
/// Time after which a transaction without an answer counts as one that waits.
const WAIT: Duration = Duration::from_secs(2);
/// This time with `--quick`.
const QUICK_WAIT: Duration = Duration::from_millis(500);
/// Most terminals of a load. A larger number is a mistake.
const TERMINALS_MAX: u32 = 10_000;
/// Reason for tests that can't be made after the database was lost.
const AWAY: &str = "the database is away";
/// Message after a first Ctrl-C.
const ROLLED_BACK: &str = "interrupted: open transactions are rolled back; once more ends at once";
/// Length of a load with `--quick`.
const QUICK_DURATION: Duration = Duration::from_secs(5);

/// Everything that the user typed.
struct Plan {
    spec: TargetSpec,
    /// URL with its password.
    url: String,
    replicas: Reading,
    only: Vec<Property>,
    data: Data,
    /// True if the user named the size of the warehouses.
    sized: bool,
    warehouses: Option<u32>,
    duration: Duration,
    seed: u64,
    /// Failure by the user's commands.
    commands: Option<Crash>,
    terminals: Option<u32>,
    json: Option<Destination>,
    report: Option<Destination>,
    /// Directory of a temporary database and of the success file.
    scratch: Scratch,
}

/// Runs `lydite audit`.
pub(crate) fn command(args: &AuditArgs) -> Outcome {
    let mut plan = plan(args)?;
    if [&plan.json, &plan.report].into_iter().flatten().any(Destination::is_stdout) {
        reserve_stdout();
    }
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(plan.spec.clone(), style)?;
    let advised = |error: TargetError| with_lab(error, &plan.url);
    let target: Arc<dyn Target> = spec.open().map_err(advised)?;
    let description = target.describe().map_err(advised)?;
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    plan.replicas.waited_for_by(&interrupt.waiter());
    let replicas = plan.replicas.open(1, &target)?;
    if let Some(replicas) = &replicas {
        replicas.check_positions(
            "the audit",
            "nobody can say when it has what the primary has, so leave it out of --replicas",
        )?;
    }
    if plan.only != [Property::Data] {
        target.admit(&Demand::Writes)?;
    }
    let (meta, loaded) = ready(&*target, &description, &plan, style, &interrupt)?;
    let _alone = if plan.only == [Property::Data] { None } else { Some(begin_test(&*target, &meta)?) };
    // An empty database had no tables yet whose foreign keys and engines it could tell, and the effective level of
    // isolation is known only now.
    let description = target.describe()?;
    if let Some(replicas) = &replicas {
        catch_up(replicas, &meta, loaded, &interrupt)?;
    }
    let mut warnings = description.unread.clone();
    let placement = lydite_audit::placement(&*target, &meta);
    let what = "the nodes of the warehouses, so no test has rows on several nodes";
    let placement = or_unknown(what, placement, &mut warnings)?;
    let what = "the engines of the tables, so no test spans them";
    let engines = or_unknown(what, Engines::of(&*target), &mut warnings)?;
    let crashes = if plan.only.contains(&Property::Durability) {
        Crash::all(&plan.url, &spec, description.embedded, plan.commands.take())
    } else {
        Vec::new()
    };
    // consistency-2 and durability-1 share one load of 5 minutes. With replicas they can't: consistency-3 comes before the
    // failure, and must find the replicas after a load.
    let shares_load = crashes.first().is_some_and(|crash| crash.obstacle().is_none())
        && plan.only.contains(&Property::Consistency)
        && replicas.is_none();
    let endpoints = spec.endpoints() as u32;
    let usual = || lydite_audit::load::terminals(&meta).max(endpoints);
    let terminals = plan.terminals.unwrap_or_else(usual);
    let spread = target.capabilities().endpoints;
    warnings.extend(spread.and_then(|endpoints| few_sessions(endpoints, terminals, "--terminals")));
    warnings.iter().for_each(|warning| complain(warning));
    if plan.only.iter().any(|property| matches!(property, Property::Consistency | Property::Durability)) {
        target.admit(&Demand::Sessions(terminals))?;
    }
    let document = Document {
        description: &description,
        meta: &meta,
        nodes: placement.as_ref().map(|placement| placement.nodes.len()),
        replicas: replicas.iter().flat_map(|replicas| replicas.servers()).map(|(url, _)| url).collect(),
        warnings: &warnings,
        only: &plan.only,
        quick: args.quick,
        duration: plan.duration,
        wait: if args.quick { QUICK_WAIT } else { WAIT },
        terminals,
        seed: plan.seed,
        start: jiff::Timestamp::now(),
    };
    let places = [(&plan.json, true), (&plan.report, false)];
    // Written as each finding comes, so that a command that is killed leaves what it found.
    let keep = |findings: &[Finding]| {
        places.into_iter().try_for_each(|(place, is_json)| match place {
            Some(place) if place.is_replaced() => {
                document.save(place, is_json, findings, "partial", &interrupt)
            }
            _ => Ok(()),
        })
    };
    // A file that can't be written must fail before the tests change any row.
    keep(&[])?;
    if !args.quiet {
        print(&document.header())?;
    }
    let (mut unprinted, mut so_far) = (Ok(()), Vec::new());
    let mut show = |finding: &Finding| {
        so_far.push(finding.clone());
        // The end writes them again, and says what is wrong.
        let _kept = keep(&so_far);
        if !args.quiet || finding.verdict != Verdict::Passed {
            let shown = print(&line(finding));
            if unprinted.is_ok() {
                unprinted = shown;
            }
        }
    };
    let audit = Audit {
        meta: &meta,
        placement: placement.as_ref(),
        engines: &engines,
        replicas: replicas.as_deref(),
        say: &complain,
        only: &plan.only,
        wait: document.wait,
        duration: plan.duration,
        terminals: document.terminals,
        embedded: description.embedded,
        is_checkpoint: counts_checkpoints,
        seed: plan.seed,
    };
    let stop = || interrupt.asked();
    let part = if shares_load { Part::BeforeLoad } else { Part::All };
    let mut report = interrupt.saying(ROLLED_BACK, || audit.run(&target, part, &stop, &mut show));
    let scope = audit.widest();
    let (mut handle, mut judged, mut excused) = (Some(target), !shares_load, None);
    for (number, crash) in crashes.iter().enumerate() {
        let test = Test {
            spec: &spec,
            url: &plan.url,
            meta: &meta,
            scope,
            crash,
            durable: description.durable,
            duration: plan.duration,
            terminals: document.terminals,
            seed: plan.seed,
            scratch: plan.scratch.path(),
            interrupt: &interrupt,
            judges_conditions: shares_load && number == 0,
        };
        // A database within this process has one handle, which the first test closes.
        let tested = if report.stopped {
            test.skipped()
        } else if report.lost.is_some() {
            test.impossible(AWAY)
        } else if let Some(why) = crash.obstacle() {
            test.impossible(why)
        } else {
            match handle.take().map_or_else(|| spec.open(), Ok) {
                Ok(target) => test.run(target),
                Err(error) => test.impossible(error.message),
            }
        };
        judged |= tested.conditions.is_some();
        if crash.is_excused() {
            excused = Some(tested.durability.id);
        }
        for finding in tested.conditions.into_iter().chain([tested.durability]) {
            report.stopped |= finding.verdict == Verdict::Skipped;
            show(&finding);
            report.findings.push(finding);
        }
    }
    if !judged {
        let away = report.lost.is_some().then(|| AWAY.to_owned());
        let made = match away.map_or_else(|| spec.open().map_err(|error| error.message), Err) {
            Ok(target) => {
                interrupt.saying(ROLLED_BACK, || audit.run(&target, Part::AfterLoad, &stop, &mut show))
            }
            Err(why) => {
                let finding = not_made(scope, (!report.stopped).then_some(why));
                show(&finding);
                Report { findings: vec![finding], ..Report::default() }
            }
        };
        report.extend(made);
    }
    conclude(args, &report, excused, &document, places, unprinted, &interrupt)
}

/// Runs `lydite audit-load`, the process of a load.
pub(crate) fn load(args: &AuditLoadArgs) -> Outcome {
    let turns = args.turns.as_deref().map(time).transpose();
    let turns = turns.map_err(|problem| Failure::usage(problem.to_string()))?;
    if turns == Some(Duration::ZERO) {
        return Err(Failure::usage("--turns: must be longer than 0"));
    }
    let (terminals, seed, file) = (args.terminals, args.seed, args.file.clone());
    let reconnects = args.reconnect;
    lydite_durability::play(lydite_durability::Part { terminals, seed, file, turns, reconnects })
}

/// Prints the counts, writes the documents, and returns the outcome.
fn conclude(
    args: &AuditArgs,
    report: &Report,
    excused: Option<&str>,
    document: &Document<'_>,
    places: [(&Option<Destination>, bool); 2],
    unprinted: Outcome,
    interrupt: &Interrupt,
) -> Outcome {
    let whole = !report.stopped && report.lost.is_none();
    let count = |verdict| report.findings.iter().filter(|finding| finding.verdict == verdict).count();
    let mut failures = vec![];
    if count(Verdict::Failed) > 0 {
        let failed = report.findings.iter().filter(|finding| finding.verdict == Verdict::Failed);
        failures.push(Failure::checks("ACID tests", failed.map(|finding| finding.id)));
    }
    let untested = untested(document.only, &report.findings, excused);
    if whole && !untested.is_empty() {
        failures
            .push(Failure::Target(format!("not tested: {} (the lines above say why)", untested.join(", "))));
    }
    failures.extend(unprinted.err());
    if !args.quiet {
        let text: Vec<String> =
            Verdict::ALL.iter().map(|&verdict| format!("{} {}", count(verdict), words(verdict))).collect();
        failures.extend(print(&format!("{}\n", text.join(", "))).err());
    }
    let status = if whole { "complete" } else { "partial" };
    for (place, is_json) in places {
        if let Some(place) = place {
            failures.extend(document.save(place, is_json, &report.findings, status, interrupt).err());
        }
    }
    failures.extend(report.lost.clone().map(Failure::Target));
    if report.stopped {
        failures.push(Failure::Interrupted("interrupted: not all tests have run".into()));
    }
    Failure::all(failures)
}

/// Returns the tests of clause 3 that did not run, and `data` if none of its tests did: not each database has what they
/// are about. Tests beyond the standard may be missing, and so may the `excused` one.
fn untested(only: &[Property], findings: &[Finding], excused: Option<&str>) -> Vec<String> {
    let mut untested = Vec::new();
    for property in only {
        let of = || findings.iter().filter(|finding| finding.id.starts_with(property.name()));
        let not_run = || of().filter(|finding| finding.verdict == Verdict::NotRun);
        if not_run().count() == of().count() {
            untested.push(property.name().to_string());
        } else if *property != Property::Data {
            let missed = not_run().filter(|finding| Some(finding.id) != excused);
            untested.extend(missed.map(|finding| format!("{} {}", finding.id, finding.scope.name())));
        }
    }
    untested
}

/// Reads all arguments.
///
/// # Errors
/// Everything that is wrong, one line each.
fn plan(args: &AuditArgs) -> Result<Plan, Failure> {
    let mut entries = Entries::default();
    let size = args.size.clone().or_else(|| args.quick.then(|| "small".into()));
    entries.flag("size", size);
    let data = Data::read(&mut entries, None);
    let spec = TargetSpec::parse(&args.target, TxMode::Statements);
    entries.flag("replicas", args.replicas.clone());
    let replicas = Reading::without_plan(&mut entries, spec.as_ref().ok());
    let mut errors = entries.errors;
    let only =
        args.only.as_deref().map_or_else(|| Property::ALL.to_vec(), |text| properties(text, &mut errors));
    let mut keep = |flag: &str, result: Result<u64, Problem>| {
        result.unwrap_or_else(|problem| {
            errors.push(format!("--{flag}: {problem}"));
            0
        })
    };
    let warehouses = args
        .warehouses
        .as_deref()
        .map(|text| keep("warehouses", whole(text, 1, MAX_WAREHOUSES).map(u64::from)) as u32);
    let terminals = args
        .terminals
        .as_deref()
        .map(|text| keep("terminals", whole(text, 1, TERMINALS_MAX).map(u64::from)) as u32);
    let seed = keep("seed", number(args.seed.as_deref().unwrap_or("1"), "must be a whole number from 0"));
    let default = if args.quick { QUICK_DURATION } else { LENGTH };
    let duration = match args.duration.as_deref().map_or(Ok(default), time) {
        Ok(Duration::ZERO) => Err("must be longer than 0".into()),
        duration => duration,
    };
    let duration = duration.unwrap_or_else(|problem| {
        errors.push(format!("--duration: {problem}"));
        default
    });
    let spec = spec.map_err(|more| errors.extend(more)).ok();
    if spec.as_ref().is_some_and(|spec| !spec.stores()) {
        errors.push(format!("{} stores nothing that could be tested", args.target));
    }
    let commands = match (&args.kill, &args.restart) {
        (Some(kill), Some(restart)) => Crash::of_commands(kill, restart)
            .map_err(|more| errors.extend(more.iter().map(|problem| format!("--kill, --restart: {problem}"))))
            .ok(),
        (None, None) => None,
        (Some(_), None) => {
            errors.push("--kill: needs --restart COMMAND, which starts the database again".into());
            None
        }
        (None, Some(_)) => {
            errors.push("--restart: needs --kill COMMAND, which makes the database fail".into());
            None
        }
    };
    // The tests of durability need no replicas, and take what `lydite lab up pg-replicas` prints.
    let uses_replicas = [Property::Consistency, Property::Durability].iter().any(|used| only.contains(used));
    if replicas.is_asked() && !uses_replicas {
        errors.push("--replicas: needs the tests of consistency: add consistency to --only".into());
    }
    if commands.is_some() && !only.contains(&Property::Durability) {
        errors.push("--kill: is for the durability test, which --only leaves out".into());
    }
    if commands.is_some() && spec.as_ref().is_some_and(|spec| !spec.has_server()) {
        errors.push("--kill: this database has no server: its process is killed without a command".into());
    }
    let [json, report] = [&args.json, &args.report].map(|path| path.as_ref().map(Destination::new));
    for (flag, place) in [("json", &json), ("report", &report)] {
        if let Some(place) = place
            && let Err(problem) = place.check().and_then(|()| apart(place, spec.as_ref(), None))
        {
            errors.push(format!("--{flag}: {} {problem}", place.shown()));
        }
    }
    if let (Some(json), Some(report)) = (&json, &report)
        && json.is(report)
    {
        errors.push("--report: is the same place as --json: name another one".into());
    }
    let (Some(spec), true) = (spec, errors.is_empty()) else { return Err(Failure::Usage(errors)) };
    let scratch = Scratch::make("audit")?;
    let (spec, url) = if spec.is_temporary() {
        // The durability test opens the database again, so it must have a place that outlives its handle.
        let url = placed(&args.target, &scratch);
        (TargetSpec::parse(&url, TxMode::Statements).map_err(Failure::Usage)?, url)
    } else {
        (spec, args.target.clone())
    };
    let sized = args.size.is_some();
    Ok(Plan {
        spec,
        url,
        replicas,
        only,
        data,
        sized,
        warehouses,
        duration,
        seed,
        commands,
        terminals,
        json,
        report,
        scratch,
    })
}

/// Returns the URL of a temporary database with a path in the audit's directory.
fn placed(url: &str, scratch: &Scratch) -> String {
    let (base, query) = url.split_once('?').map_or((url, None), |(base, query)| (base, Some(query)));
    let path = scratch.path().join("database");
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{base}{}{query}", path.display())
}

/// Reads the list of `--only`.
fn properties(text: &str, errors: &mut Vec<String>) -> Vec<Property> {
    let mut chosen = Vec::new();
    for name in text.split(',').map(str::trim) {
        match Property::ALL.iter().find(|property| property.name() == name) {
            Some(property) => chosen.push(*property),
            None => {
                let known: Vec<&str> = Property::ALL.iter().map(|property| property.name()).collect();
                errors.push(format!(
                    "--only: {:?} is not known: use some of {}",
                    shown(name),
                    known.join(", ")
                ));
            }
        }
    }
    chosen
}

/// Adds how to start the servers of a lab to the error of one that can't be reached.
fn with_lab(mut error: TargetError, url: &str) -> TargetError {
    if error.kind == TargetErrorKind::Unreachable
        && let Some(name) = lab_of(url)
    {
        error.message +=
            &format!("; it is of the lab {name}: lydite lab restart {name} starts servers that have ended");
    }
    error
}

/// Returns the description of the loaded database, and whether this command has loaded it because it was empty.
fn ready(
    target: &dyn Target,
    description: &Description,
    plan: &Plan,
    style: Style,
    interrupt: &Interrupt,
) -> Result<(DatabaseMeta, bool), Failure> {
    let url = &description.url;
    let Plan { data, warehouses, seed, .. } = plan;
    match target.state().map_err(|error| with_lab(error, &plan.url))? {
        DatabaseState::Ready { meta } => {
            if let Some(asked) = warehouses.filter(|asked| *asked != meta.warehouses) {
                return Err(Failure::usage(format!(
                    "{url} holds {}, and --warehouses says {asked}: leave it out; it is for databases that are empty",
                    meta.warehouses_in_words()
                )));
            }
            if let Some(size) = data.size.filter(|size| plan.sized && *size != meta.size) {
                return Err(Failure::usage(format!(
                    "{url} holds {}, and --size says {}: leave it out; it is for databases that are empty",
                    meta.warehouses_in_words(),
                    size.name()
                )));
            }
            Ok((meta, false))
        }
        // These tests only read.
        DatabaseState::Empty if plan.only == [Property::Data] => Err(Failure::usage(format!(
            "{url} is not loaded, and --only data only reads: load it first with `lydite load {} --warehouses 2`",
            typed(url)
        ))),
        DatabaseState::Empty => {
            let warehouses = warehouses.unwrap_or(DEFAULT_WAREHOUSES);
            let meta = data.describe(warehouses, *seed)?;
            target.admit(&Demand::Districts(meta.districts.clone()))?;
            // A temporary database has a directory by now.
            let load = TpccLoad::new((target, false), &meta, style, interrupt)?;
            if load.alone(JOBS, false)?.report.interrupted {
                let next = load.go_on().unwrap_or_default();
                return Err(Failure::Interrupted(format!("interrupted while loading{next}")));
            }
            Ok((meta, true))
        }
        state => Err(unusable(&state, url)
            .unwrap_or_else(|| Failure::usage(format!("{url} stores nothing that could be tested")))),
    }
}

/// Returns a verdict in words.
fn words(verdict: Verdict) -> String {
    verdict.name().replace('_', " ")
}

/// Formats the line of a finding.
fn line(finding: &Finding) -> String {
    let Finding { id, clause, title, scope, seen, case, verdict, seconds, .. } = finding;
    let verdict = match verdict {
        Verdict::Failed => "FAILED".into(),
        verdict => words(*verdict),
    };
    let case = case.map_or_else(String::new, |case| format!("case {case}: "));
    format!("{verdict:<8} {id:<13} {clause:<8} {:<5} {seconds:>6.1} s  {title}: {case}{seen}\n", scope.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_audit::Scope;

    #[test]
    fn tests_of_clause_3_that_did_not_run_are_named_and_those_of_the_data_need_not_all_run() {
        let finding = |id, verdict| Finding {
            id,
            clause: "3",
            title: "",
            scope: Scope::Local,
            steps: Vec::new(),
            seen: String::new(),
            case: None,
            load: None,
            verdict,
            seconds: 0.0,
        };
        let of = |verdicts: &[(&'static str, Verdict)]| {
            let findings: Vec<Finding> = verdicts.iter().map(|(id, verdict)| finding(id, *verdict)).collect();
            untested(&[Property::Data, Property::Isolation], &findings, Some("isolation-4"))
        };
        let (passed, not_run) = (Verdict::Passed, Verdict::NotRun);
        let data = [("data-1", passed), ("data-7", not_run)];
        let isolation = |third| [("isolation-2", passed), ("isolation-3", third), ("snapshot", not_run)];
        assert_eq!(of(&[&data[..], &isolation(Verdict::Failed)].concat()), Vec::<String>::new());
        assert_eq!(of(&[&data[..], &isolation(not_run)].concat()), ["isolation-3 local"]);
        assert_eq!(of(&[&data[1..], &isolation(not_run)[1..]].concat()), ["data", "isolation"]);
        let excused = [("isolation-4", not_run)];
        assert_eq!(of(&[&data[..], &isolation(passed), &excused].concat()), Vec::<String>::new());
        assert_eq!(of(&excused), ["data", "isolation"]);
    }
}
