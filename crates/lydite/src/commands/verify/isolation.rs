//! `lydite verify --isolation`: records a history of transactions on lists or registers, and on ranges, and judges it.

use super::judgement::{About, Judgement};
use super::{duration, level, of_functions, place, read, reject, whole_seconds};
use crate::cli::VerifyArgs;
use crate::signals::{watch, watched};
use lydite_bench::RunControl;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_console::shell::typed;
use lydite_console::write::write;
use lydite_database::secret::shown;
use lydite_database::{Description, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_lab::places::{rehearse, resolve_all};
use lydite_plan::Problem;
use lydite_plan::controls::faults::Faults as Planned;
use lydite_plan::destination::Destination;
use lydite_plan::values::{number, whole};
use lydite_report::faults::FaultResult;
use lydite_report::live::Style;
use lydite_run::Faults;
use lydite_run::alone::begin_alone;
use lydite_run::spread::{few_sessions, usual_sessions};
use lydite_verify::history::{History, Level, WorkloadKind};
use lydite_verify::isolation::{Played, Recording, Settings, clear, prepare, promised};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// Transactions without `--workload`.
const LISTS: Played = Played::Own(WorkloadKind::ListAppend);
/// Last line about the mix of TPC-C.
const TPCC_NOTE: &str = "terminals see few rows, so a level that the mix does not refute may be broken: --workload list-append finds out\n";
/// Default number of sessions.
const SESSIONS: u32 = 8;
/// Maximum number of sessions.
const SESSIONS_MAX: u32 = 1_000;
/// Maximum of `--transactions`: a history is checked in memory.
const TRANSACTIONS_MAX: u32 = 10_000_000;

/// A plan of a check.
struct Plan {
    spec: TargetSpec,
    settings: Settings,
    level: Option<Level>,
    faults: Planned,
    json: Option<Destination>,
    history: Option<Destination>,
}

/// Runs `lydite verify --isolation`.
pub(super) fn command(target: &str, args: &VerifyArgs) -> Outcome {
    let Plan { spec, settings, level, faults, json, history } = plan(target, args).map_err(Failure::Usage)?;
    if [&json, &history].into_iter().flatten().any(Destination::is_stdout) {
        reserve_stdout();
    }
    if !spec.stores() {
        return Err(Failure::usage(format!("{target} stores nothing that could be checked")));
    }
    faults.too_rare().for_each(|line| complain(&line));
    let faults = resolve_all(&faults)?;
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let target: Arc<dyn Target> = spec.open()?;
    if settings.played != Played::Tpcc {
        target.capabilities().lists()?;
    }
    if args.fresh {
        clear(&target)?;
    }
    let description = target.describe()?;
    let asked = level
        .or_else(|| promised(&description.isolation, description.isolation_is_level_3))
        .ok_or_else(|| {
            let isolation = &description.isolation;
            Failure::usage(format!(
                "the target promises no isolation level ({isolation}): name one with --level"
            ))
        })?;
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    let _alone = match settings.played {
        Played::Tpcc => begin_alone(&*target)?,
        _ => None,
    };
    let (faults, control) = (Faults::start(&faults, settings.duration)?, RunControl::default());
    let prepared = prepare(&target, settings)?;
    if let Some(endpoints) = target.capabilities().endpoints {
        let few = few_sessions(endpoints, settings.sessions, "--sessions");
        few.iter().for_each(|warning| complain(warning));
    }
    let (places, ranges) = (prepared.places().to_vec(), prepared.has_ranges());
    let told = Cell::new(false);
    let stop = || {
        if interrupt.asked() && !told.replace(true) {
            complain(if settings.played == Played::Tpcc {
                "interrupted: the sessions finish their transactions; once more ends at once"
            } else {
                "interrupted: the tables are being dropped; once more ends at once, and leaves them behind"
            });
        }
        interrupt.asked()
    };
    // A fault that came while the sessions connect would end the check before it began.
    let begins = |begun| control.begins(begun);
    let recording = faults.during(&control, || prepared.record(&begins, &stop));
    let seconds = control.window_start().map_or(0.0, |begun| begun.elapsed().as_secs_f64());

    let Recording { history: recorded, aborts, stopped, unread, lost, undropped } = recording;
    let mut failures = vec![];
    if let Some(place) = &history {
        failures.extend(save(&recorded, place, &interrupt).err());
    }
    let judgement = Judgement::new(&recorded, asked)
        .map_err(|error| Failure::Target(format!("the recorded history is not usable: {error}")))?;
    failures.extend(judgement.failure());
    if !args.quiet || judgement.is_refuted() {
        let header = header(&description, &settings, (&places, ranges), seconds);
        let faults: String = faults.results().iter().map(fault_line).collect();
        let note = if settings.played == Played::Tpcc { TPCC_NOTE } else { "" };
        failures.extend(print(&(header + &faults + &judgement.text(Some(&aborts)) + note)).err());
    }
    let whole = !stopped && lost.is_none() && unread.is_none();
    if let Some(place) = &json {
        let about = About {
            status: if whole { "complete" } else { "partial" },
            description: Some(&description),
            places: Some(&places),
            ranges: Some(ranges),
            aborts: Some(&aborts),
            faults: &faults.results(),
        };
        failures.extend(judgement.save(place, &about, Some(&interrupt)).err());
    }
    let unbegun = faults.results().into_iter().find(|fault| fault.begun_s.is_none() && !stopped);
    failures.extend(faults.failure().or_else(|| {
        unbegun.map(|fault| {
            Failure::Target(format!(
                "fault {}: the recording ended before it began: raise --transactions",
                fault.name()
            ))
        })
    }));
    let is_lost = lost.is_some();
    failures.extend(lost.map(Failure::from));
    let url = typed(&description.url);
    if let Some(why) = undropped {
        failures.push(Failure::Target(format!(
            "the tables of the check could not be dropped ({why}): the next `lydite verify {url} --isolation --fresh` \
             drops them"
        )));
    }
    if stopped {
        failures.push(Failure::Interrupted("interrupted: the history is shorter than it should be".into()));
    } else if let Some(why) = unread.filter(|_| !is_lost) {
        failures.push(Failure::Target(format!("the keys could not be read at the end: {why}")));
    } else if !is_lost && !judgement.proves() {
        failures.push(Failure::Target(format!(
            "no transaction of {url} saw another one's writes, so nothing is proved: use a longer --duration"
        )));
    }
    Failure::all(failures)
}

/// Reads all arguments.
///
/// # Errors
/// Everything that is wrong, one line each.
fn plan(target: &str, args: &VerifyArgs) -> Result<Plan, Vec<String>> {
    let mut errors = Vec::new();
    let why = "belongs to the function tests, and --isolation runs alone: leave it out";
    reject(&mut errors, &of_functions(args), why);
    let played = |text: &str| match text {
        "list-append" => Ok(LISTS),
        "register" => Ok(Played::Own(WorkloadKind::Register)),
        "tpcc" => Ok(Played::Tpcc),
        _ => {
            let known = "use list-append, register or tpcc";
            Err(Problem::from(format!("{:?} is not known: {known}", shown(text))))
        }
    };
    let errors_of = &mut errors;
    let mut settings = Settings {
        played: read(errors_of, ("workload", args.workload.as_deref()), LISTS, played),
        duration: read(errors_of, ("duration", args.duration.as_deref()), Duration::from_secs(20), duration),
        transactions: read(errors_of, ("transactions", args.transactions.as_deref()), 100_000, |text| {
            whole(text, 1, TRANSACTIONS_MAX).map(u64::from)
        }),
        sessions: read(errors_of, ("sessions", args.sessions.as_deref()), SESSIONS, |text| {
            whole(text, 2, SESSIONS_MAX)
        }),
        // Short: an abort costs nothing here, and a session that waits sees nothing.
        limit: read(errors_of, ("limit", args.limit.as_deref()), Duration::from_secs(1), whole_seconds),
        seed: read(errors_of, ("seed", args.seed.as_deref()), 1, |text| {
            number(text, "must be a whole number from 0")
        }),
    };
    if settings.played == Played::Tpcc && args.fresh {
        errors_of
            .push("--fresh: drops the check's own tables, and --workload tpcc has none: leave it out".into());
    }
    let level = read(errors_of, ("level", args.level.as_deref()), None, level);
    let spec = TargetSpec::parse(target, TxMode::Statements).map_err(|more| errors.extend(more)).ok();
    if let (None, Some(spec)) = (&args.sessions, &spec) {
        settings.sessions = usual_sessions(SESSIONS, spec.endpoints());
    }
    let faults = Planned::of_flags(target, &args.fault, settings.duration, &rehearse);
    let faults = faults.map_err(|more| errors.extend(more.lines().into_iter().map(str::to_owned)));
    let faults = faults.unwrap_or_default();
    let json = place(&mut errors, "json", args.json.as_deref(), spec.as_ref());
    let history = place(&mut errors, "history", args.history.as_deref(), spec.as_ref());
    if let (Some(json), Some(history)) = (&json, &history)
        && json.is(history)
    {
        errors.push(format!("--history: {} is the place of --json: name another one", history.shown()));
    }
    match spec {
        Some(spec) if errors.is_empty() => Ok(Plan { spec, settings, level, faults, json, history }),
        _ => Err(errors),
    }
}

/// Writes the history, in the form that the name of the file asks for.
fn save(history: &History, place: &Destination, interrupt: &Interrupt) -> Outcome {
    let mut bytes = Vec::new();
    let edn = place.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(b".edn"));
    let written = if edn { history.to_edn(&mut bytes) } else { history.to_json_lines(&mut bytes) };
    written.map_err(|error| Failure::usage(format!("{}: {error}", place.shown())))?;
    write(place, &bytes, Some(interrupt))
}

/// Formats the line about a fault.
fn fault_line(fault: &FaultResult) -> String {
    let at = |moment: Option<f64>| moment.map_or("never".to_string(), |moment| format!("at {moment:.1} s"));
    format!(
        "fault {}: begun {}, undone {}: {}\n",
        fault.name(),
        at(fault.begun_s),
        at(fault.undone_s),
        fault.detail
    )
}

/// Formats the line about the database and the workload.
fn header(
    description: &Description,
    settings: &Settings,
    (places, ranges): (&[String], bool),
    seconds: f64,
) -> String {
    let places = if places.is_empty() { String::new() } else { format!(" over {}", places.join(", ")) };
    let objects = match settings.played {
        Played::Own(WorkloadKind::ListAppend) => "lists",
        Played::Own(WorkloadKind::Register) => "registers",
        Played::Tpcc => "the tables of TPC-C",
    };
    let and_ranges = if ranges { " and ranges" } else { "" };
    format!(
        "{}: {} {}, isolation {}, {} sessions on {objects}{and_ranges}{places} for {seconds:.1} s\n",
        description.url, description.kind, description.version, description.isolation, settings.sessions
    )
}
