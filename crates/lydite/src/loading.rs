//! `lydite load`, and the loading that `lydite run` does first on an empty database.

use crate::cli::LoadArgs;
use crate::data::{self, Data};
use crate::exit::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::memory;
use crate::micro;
use crate::output::complain;
use crate::plan::{Name, workload};
use crate::raw::Raw;
use crate::targets::typed;
use crate::values::{number, whole};
use lydite_bench::{LoadReport, LoadSnapshot, RunControl};
use lydite_database::{DatabaseState, Demand, Target, TargetError, TxMode};
use lydite_families::TargetSpec;
use lydite_report::figures::plural;
use lydite_report::live::{LoadProgress, LoadView, Style};
use lydite_tpcc::limits::MAX_WAREHOUSES;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, Timestamp};

/// The keys that `--set` may name here.
const KEYS: &[&str] =
    &["workload", "data_skew", "size", "micro.tables", "micro.records", "micro.record_bytes"];

/// `lydite load`.
pub(crate) fn command(args: LoadArgs) -> Outcome {
    let mut raw = Raw::default();
    for setting in &args.set {
        raw.set(setting, KEYS);
    }
    raw.flag("workload", args.workload.clone());
    raw.flag("data_skew", args.data_skew.clone());
    raw.flag("size", args.size.clone());
    let workload = workload(&mut raw);
    if workload == Some(Name::Micro) {
        raw.only_for("tpcc", data::KEYS);
        return micro::load_command(&args, raw);
    }
    if workload == Some(Name::Tpcc) {
        raw.only_for("micro", micro::KEYS);
    }
    let data = Data::read(&mut raw, None);
    let mut errors = raw.errors;
    let mut keep = |flag: &str, result: Result<u64, String>| match result {
        Ok(value) => value,
        Err(problem) => {
            errors.push(format!("--{flag}: {problem}"));
            0
        }
    };
    let warehouses = match &args.warehouses {
        Some(text) => whole(text, 1, MAX_WAREHOUSES),
        None => Err("is missing: say how many to load, for example --warehouses 2".into()),
    };
    let warehouses = keep("warehouses", warehouses.map(u64::from)) as u32;
    let jobs = keep("jobs", whole(args.jobs.as_deref().unwrap_or("2"), 1, 1_000).map(u64::from)) as usize;
    let seed = keep("seed", number(args.seed.as_deref().unwrap_or("1"), "must be a whole number from 0"));
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(|more| errors.extend(more));
    let (Ok(spec), true) = (spec, errors.is_empty()) else { return Err(Failure::Usage(errors)) };
    let meta = data.describe(warehouses, seed)?;
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let target = spec.open()?;
    // Before anything is dropped for a load that can't be made.
    target.admit(&Demand::Districts(meta.districts.clone()))?;
    if args.fresh {
        target.reset()?;
    }
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    let report = load(&*target, &meta, jobs, args.resume, style, &interrupt)?;
    if report.interrupted {
        let words =
            "interrupted: the load is unfinished: go on with the same command and --resume, without --fresh";
        return Err(Failure::Interrupted(words.into()));
    }
    Ok(())
}

/// Begins to watch for Ctrl-C if the target has a server: it is waited for with words and a limit. A database within this
/// process simply ends with it.
pub(crate) fn watched(spec: TargetSpec, style: Style) -> Result<(TargetSpec, Option<Interrupt>), Failure> {
    if !spec.has_server() {
        return Ok((spec, None));
    }
    memory::suit(&spec);
    let interrupt = watch(style)?;
    Ok((spec.waited_for_by(interrupt.waiter()), Some(interrupt)))
}

/// Begins to watch for Ctrl-C.
pub(crate) fn watch(style: Style) -> Result<Interrupt, Failure> {
    Interrupt::watch(style).map_err(|error| Failure::usage(format!("signals can't be watched: {error}")))
}

/// Loads, showing how it gets on.
pub(crate) fn load(
    target: &dyn Target,
    meta: &DatabaseMeta,
    jobs: usize,
    resume: bool,
    style: Style,
    interrupt: &Interrupt,
) -> Result<LoadReport, Failure> {
    tell_notes(&target.admit(&Demand::Load)?);
    let population = Population::from_meta(meta, now());
    let title = format!("Loading {}", meta.warehouses_in_words());
    let expected = (expected_rows(meta), u64::from(meta.warehouses));
    show(style, &title, expected, interrupt, |control, observer| {
        lydite_bench::load(target, &population, jobs, resume, control, observer)
    })
}

/// Tells what the database does not let be done in the usual way.
pub(crate) fn tell_notes(notes: &[String]) {
    for note in notes {
        complain(&format!("note: {note}"));
    }
}

/// Loads with `work`, showing how it gets on: rows and units in all are `expected`.
pub(crate) fn show(
    style: Style,
    title: &str,
    (rows, units): (u64, u64),
    interrupt: &Interrupt,
    work: impl FnOnce(&RunControl, &mut dyn FnMut(&LoadSnapshot)) -> Result<LoadReport, TargetError>,
) -> Result<LoadReport, Failure> {
    let mut view = LoadView::new(style, title, rows, units);
    let control = RunControl::default();
    let loading = || {
        work(&control, &mut |now| {
            interrupt.take_lines().iter().for_each(|line| view.note(line));
            view.update(&LoadProgress {
                rows: now.rows,
                bytes: now.bytes,
                elapsed: now.elapsed,
                units_done: u64::from(now.units_done),
                total_units: u64::from(now.total_units),
                building: now.building,
                stage: &now.stage,
            });
        })
    };
    let loaded = interrupt.while_loading(|| interrupt.during(&control, loading));
    let report = loaded?;
    let end = LoadProgress {
        rows: report.rows,
        bytes: report.bytes,
        elapsed: std::time::Duration::from_secs_f64(report.seconds),
        units_done: u64::from(report.complete),
        total_units: units,
        building: None,
        stage: if report.interrupted { "interrupted" } else { "done" },
    };
    if report.interrupted {
        view.interrupt(&end)
    } else {
        view.finish(&end)
    }
    Ok(report)
}

/// Rows of a database, order lines by their mean: ten districts for each warehouse in all, however they are spread.
fn expected_rows(meta: &DatabaseMeta) -> u64 {
    let districts = DISTRICTS_PER_WAREHOUSE.into();
    let lines = 10 * u64::from(districts) * u64::from(meta.size.orders());
    let each: u64 =
        Table::OF_WAREHOUSE.map(|table| meta.size.rows(table, districts).unwrap_or(lines)).into_iter().sum();
    u64::from(meta.warehouses) * each + u64::from(meta.size.items())
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_microsecond())
}

/// Why a run can't use what the database holds, and what to do.
pub(crate) fn unusable(state: &DatabaseState, url: &str) -> Option<Failure> {
    let url = typed(url);
    match state {
        DatabaseState::Loading { meta, warehouses, .. } => Some(Failure::usage(format!(
            "the database holds a load that is running or was interrupted ({} of {}): wait for it, or go on with \
             `lydite load {url} --warehouses {}{} --seed {} --resume`, or start again with --fresh instead of --resume",
            warehouses.len(),
            plural(meta.warehouses.into(), "warehouse"),
            meta.warehouses,
            data::flags(meta),
            meta.seed
        ))),
        DatabaseState::Foreign { tables } => Some(Failure::usage(format!(
            "the database has tables that Lydite did not make ({}), or was dropping when it was stopped: name another \
             database or schema; if nobody needs these tables, `lydite load {url} --warehouses N --fresh` drops them with \
             all their rows",
            tables.join(", ")
        ))),
        DatabaseState::Micro { meta, .. } => Some(Failure::usage(format!(
            "the database holds the microbenchmark's tables ({}): run it with --workload micro, name another database, \
             or replace them with `lydite load {url} --warehouses N --fresh`",
            meta.data
        ))),
        DatabaseState::Empty | DatabaseState::Ready { .. } | DatabaseState::AnyScale => None,
    }
}
