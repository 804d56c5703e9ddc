//! The microbenchmark on the command line: its part of the plan, its loading, its checks, its runs and its results.

use crate::cli::{CheckArgs, LoadArgs};
use crate::controls::rate::{queue, rate};
use crate::exit::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::loading::{self, watch};
use crate::output::print;
use crate::plan::Plan;
use crate::raw::Raw;
use crate::result::{common, direct, loaded, micro_series, open, plan_common, ratio};
use crate::run::{Conditions, Live, Measured, before, measure};
use crate::targets::typed;
use crate::values::{number, whole};
use lydite_bench::{LoadReport, Measurement, MicroMode, MicroPlan, RunPlan};
use lydite_database::{DatabaseState, Demand, Description, Micro, Target, TargetErrorKind, Workload};
use lydite_families::{TargetSpec, families};
use lydite_micro::check::whole as whole_records;
use lydite_micro::{Bounds, Data, Engines, Inputs, Meta, RECORDS_VERSION, Shape, Totals};
use lydite_report::RunResult;
use lydite_report::controls::Controls;
use lydite_report::controls::accesses::{Accesses, Actual, Asked};
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen, LoadInfo};
use lydite_report::plan::{self as report, PlanInfo};
use std::sync::Arc;
use std::time::Instant;

/// The keys of the plan that belong to it.
pub(crate) const KEYS: &[&str] = &[
    "micro.tables",
    "micro.records",
    "micro.record_bytes",
    "micro.accesses",
    "micro.updates",
    "micro.disk_percent",
];

/// What the plan says of it. What is not given is as the database was loaded, or the default.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MicroWanted {
    tables: Option<u32>,
    records: Option<u32>,
    record_bytes: Option<u32>,
    /// Of the records, if the plan says it.
    seed: Option<u64>,
    shape: Shape,
}

/// Reads its keys.
pub(crate) fn wanted(raw: &mut Raw, target: Option<&TargetSpec>) -> Option<MicroWanted> {
    let usual = Shape::default();
    let (tables, records, record_bytes) = data(raw);
    let accesses = raw.read("micro.accesses", |text| whole(text, 1, Shape::MAX_ACCESSES));
    let accesses = accesses.unwrap_or(usual.accesses);
    let updates = raw.read("micro.updates", |text| whole(text, 0, Shape::MAX_ACCESSES));
    let updates = updates.unwrap_or(usual.updates);
    if updates > accesses {
        let problem = format!("{updates} updates are more than the accesses ({accesses}): ask for fewer");
        raw.wrong("micro.updates", &format!("micro.updates: {problem}"));
    }
    let disk_percent = raw.read("micro.disk_percent", |text| whole(text, 0, 100));
    let engines = target.map_or(Engines::Two, TargetSpec::engines);
    if engines == Engines::One && raw.text("micro.disk_percent").is_some() {
        raw.wrong(
            "micro.disk_percent",
            "is for databases with two engines (gemel:): this one has one, leave it out",
        );
    }
    let disk_percent = match engines {
        Engines::One => 0,
        Engines::Two => disk_percent.unwrap_or(usual.disk_percent),
    };
    let seed = raw.text("seed").and_then(|text| text.trim().parse().ok());
    let shape = Shape { accesses, updates, disk_percent };
    Some(MicroWanted { tables, records, record_bytes, seed, shape })
}

/// Reads the keys that say what is loaded.
fn data(raw: &mut Raw) -> (Option<u32>, Option<u32>, Option<u32>) {
    (
        raw.read("micro.tables", |text| whole(text, 1, Data::MAX_TABLES)),
        raw.read("micro.records", |text| whole(text, 1, Data::MAX_RECORDS)),
        raw.read("micro.record_bytes", |text| whole(text, Data::MIN_RECORD_BYTES, Data::MAX_RECORD_BYTES)),
    )
}

impl MicroWanted {
    /// What to load where `usual` is what is not asked for.
    fn data(&self, usual: Data) -> Data {
        Data {
            tables: self.tables.unwrap_or(usual.tables),
            records: self.records.unwrap_or(usual.records),
            record_bytes: self.record_bytes.unwrap_or(usual.record_bytes),
        }
    }

    /// Whether a database that was loaded with `meta` is what is asked for; else what it has and what is wanted.
    fn fits(&self, meta: &Meta) -> Result<(), String> {
        let data = meta.data;
        let asked = [
            ("micro.tables", self.tables.map(u64::from), u64::from(data.tables)),
            ("micro.records", self.records.map(u64::from), u64::from(data.records)),
            ("micro.record_bytes", self.record_bytes.map(u64::from), u64::from(data.record_bytes)),
            ("seed", self.seed, meta.seed),
        ];
        let differ: Vec<String> = asked
            .into_iter()
            .filter_map(|(key, wanted, held)| {
                wanted
                    .filter(|wanted| *wanted != held)
                    .map(|wanted| format!("{key} = {wanted} and not {held}"))
            })
            .collect();
        if differ.is_empty() { Ok(()) } else { Err(differ.join(", ")) }
    }
}

/// `lydite load --workload micro`.
pub(crate) fn load_command(args: &LoadArgs, mut raw: Raw) -> Outcome {
    let (tables, records, record_bytes) = data(&mut raw);
    let mut errors = std::mem::take(&mut raw.errors);
    let mut keep = |flag: &str, result: Result<u64, String>| {
        result.unwrap_or_else(|problem| {
            errors.push(format!("--{flag}: {problem}"));
            0
        })
    };
    let jobs = keep("jobs", whole(args.jobs.as_deref().unwrap_or("2"), 1, 1_000).map(u64::from)) as usize;
    let seed = keep("seed", number(args.seed.as_deref().unwrap_or("1"), "must be a whole number from 0"));
    if args.warehouses.is_some() {
        errors.push("--warehouses: is for --workload tpcc only: leave it out".into());
    }
    if args.resume {
        errors.push("--resume: is for --workload tpcc only: load again with --fresh".into());
    }
    let spec = TargetSpec::parse_micro(&args.target).map_err(|more| errors.extend(more));
    let (Ok(spec), true) = (spec, errors.is_empty()) else { return Err(Failure::Usage(errors)) };
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = loading::watched(spec, style)?;
    let target = spec.open()?;
    let url = target.describe()?.url;
    let wanted = MicroWanted { tables, records, record_bytes, seed: Some(seed), shape: Shape::default() };
    match target.state()? {
        DatabaseState::AnyScale => return Err(Failure::usage(format!("{url} stores nothing to load"))),
        DatabaseState::Empty => {}
        _ if args.fresh => target.reset()?,
        DatabaseState::Micro { meta, ready: true } => {
            return Err(Failure::usage(format!(
                "{url} is loaded already, with {} from seed {}: use it as it is, or load again with --fresh",
                meta.data, meta.seed
            )));
        }
        state => return Err(unusable(&state, &url)),
    }
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    let meta = Meta::new(wanted.data(Data::default()), seed, env!("CARGO_PKG_VERSION"));
    let report = load(&*target, &meta, jobs, style, &interrupt)?;
    if report.interrupted {
        return Err(Failure::Interrupted(
            "interrupted: start again with the same command and --fresh".into(),
        ));
    }
    Ok(())
}

/// Loads, showing how it gets on.
fn load(
    target: &dyn Target,
    meta: &Meta,
    jobs: usize,
    style: Style,
    interrupt: &Interrupt,
) -> Result<LoadReport, Failure> {
    loading::tell_notes(&target.admit(&Demand::Load)?);
    let engines = target.capabilities().micro()?.engines();
    let tables = meta.data.all_tables(engines).count() as u64;
    let title = format!("Loading {tables} tables of {} records", meta.data.records);
    let expected = (meta.data.all_records(engines), tables);
    loading::show(style, &title, expected, interrupt, |control, observer| {
        lydite_bench::load_micro(target, meta, jobs, control, observer)
    })
}

/// Why the microbenchmark can't use what the database holds, and what to do.
fn unusable(state: &DatabaseState, url: &str) -> Failure {
    let fresh = "name another database, or replace what it holds with --fresh";
    Failure::usage(match state {
        DatabaseState::Ready { meta } => {
            format!("{url} holds TPC-C's tables ({}): {fresh}", meta.warehouses_in_words())
        }
        DatabaseState::Loading { meta, .. } => {
            format!(
                "{url} holds a load of TPC-C that is running or was interrupted ({}): {fresh}",
                meta.warehouses_in_words()
            )
        }
        DatabaseState::Foreign { tables } => {
            format!(
                "{url} has tables that Lydite did not make ({}): name another database; if nobody needs these tables, \
                 --fresh drops them with all their rows",
                tables.join(", ")
            )
        }
        DatabaseState::Micro { meta, .. } => format!(
            "{url} holds a load of the microbenchmark that is running or was interrupted ({}): wait for it, or load again \
             with --fresh",
            meta.data
        ),
        DatabaseState::Empty | DatabaseState::AnyScale => {
            format!("{url} is empty: load it first with `lydite load {} --workload micro`", typed(url))
        }
    })
}

/// Brings the database into the state that the plan wants, or says why not.
fn make_ready(
    target: &dyn Target,
    plan: &Plan,
    wanted: &MicroWanted,
    style: Style,
    interrupt: &Interrupt,
) -> Result<(Meta, Option<LoadReport>), Failure> {
    let mut state = target.state()?;
    let mut usual = Data::default();
    if plan.fresh && state != DatabaseState::AnyScale {
        if let DatabaseState::Micro { meta, .. } = &state {
            // The same size again, unless another is asked for.
            usual = meta.data;
        }
        target.reset()?;
        state = DatabaseState::Empty;
    }
    let meta = || Meta::new(wanted.data(usual), plan.seed, env!("CARGO_PKG_VERSION"));
    let url = target.describe()?.url;
    match state {
        DatabaseState::AnyScale => Ok((meta(), None)),
        DatabaseState::Micro { meta, ready: true } => {
            if meta.version != RECORDS_VERSION {
                return Err(Failure::usage(format!(
                    "{url} was loaded by Lydite {}, with other records: load again with --fresh",
                    meta.lydite
                )));
            }
            match wanted.fits(&meta) {
                Ok(()) => Ok((meta, None)),
                Err(differ) => Err(Failure::usage(format!(
                    "{url} holds {} from seed {}, but the plan wants {differ}: leave that out, or load again with \
                     --fresh",
                    meta.data, meta.seed
                ))),
            }
        }
        DatabaseState::Empty => {
            let meta = meta();
            let report = load(target, &meta, plan.jobs, style, interrupt)?;
            if report.interrupted {
                // What is temporary is gone.
                let next = if plan.target.is_temporary() { "" } else { ": load again with --fresh" };
                return Err(Failure::Interrupted(format!("interrupted while loading{next}")));
            }
            Ok((meta, Some(report)))
        }
        state => Err(unusable(&state, &url)),
    }
}

/// What all tables come to, and how long that took in seconds; none if the user interrupted it.
fn sum(target: &dyn Target, meta: &Meta, interrupt: &Interrupt) -> Result<Option<(Totals, f64)>, Failure> {
    let begun = Instant::now();
    let mut sum = Totals::default();
    let micro = target.capabilities().micro()?;
    for table in meta.data.all_tables(micro.engines()) {
        if interrupt.asked() {
            return Ok(None);
        }
        match micro.totals(meta, table) {
            Ok(totals) => sum.add(totals),
            Err(error) if error.kind == TargetErrorKind::Interrupted => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some((sum, begun.elapsed().as_secs_f64())))
}

/// The check of the records themselves.
fn records_check(
    totals: &Totals,
    meta: &Meta,
    engines: Engines,
    when: CheckedWhen,
    seconds: f64,
) -> CheckResult {
    let (ok, detail) = match whole_records(totals, &meta.data, engines) {
        Ok(()) => (true, "all records are there, with texts of their length".to_string()),
        Err(problem) => (false, problem),
    };
    CheckResult { id: "records".into(), ok, detail, when, seconds }
}

/// The check of the updates: what the counters were, what they are, and what the run may have added.
fn counters_check(totals: &Totals, before: i128, bounds: &Bounds, seconds: f64) -> CheckResult {
    let (after, Bounds { acknowledged, unknown }) = (totals.counters, bounds);
    let unknown = match unknown {
        0 => String::new(),
        unknown => format!(", and up to {unknown} whose outcome is unknown"),
    };
    CheckResult {
        id: "counters".into(),
        ok: bounds.allow(before, after),
        detail: format!(
            "the counters rose by {} from {before} to {after}, and {acknowledged} updates were acknowledged{unknown}",
            after - before
        ),
        when: CheckedWhen::After,
        seconds,
    }
}

/// `lydite check` on a database of the microbenchmark.
pub(crate) fn check_command(
    args: &CheckArgs,
    target: &dyn Target,
    meta: &Meta,
    url: &str,
    interrupt: &Interrupt,
) -> Outcome {
    if args.checksums {
        return Err(Failure::usage("--checksums is for TPC-C's tables: leave it out"));
    }
    if !args.quiet {
        print(&format!("{url}: microbenchmark, {}, loaded by Lydite {}\n", meta.data, meta.lydite))?;
    }
    let Some((totals, seconds)) = sum(target, meta, interrupt)? else {
        return Err(Failure::Interrupted("interrupted: the records were not all looked at".into()));
    };
    let check =
        records_check(&totals, meta, target.capabilities().micro()?.engines(), CheckedWhen::Check, seconds);
    let verdict = if check.ok { "ok    " } else { "FAILED" };
    if !args.quiet || !check.ok {
        print(&format!("{verdict} {}: {} ({seconds:.1} s)\n", check.id, check.detail))?;
    }
    if !args.quiet {
        print(&format!("{} records, {} updates so far\n", totals.records, totals.counters))?;
    }
    if check.ok { Ok(()) } else { Err(Failure::CheckFailed) }
}

/// `lydite run --workload micro`.
pub(crate) fn run(plan: &Plan, wanted: &MicroWanted, style: Style, interrupt: &Interrupt) -> Outcome {
    let mode = plan.micro_mode()?;
    let target: Arc<dyn Target> = plan.target.open()?;
    // Before anything is loaded for a run that can't be made.
    target.admit(&Demand::Sessions(plan.sessions()))?;
    let (meta, load) = make_ready(&*target, plan, wanted, style, interrupt)?;
    let stored = !matches!(target.state()?, DatabaseState::AnyScale);
    let mut description = target.describe()?;
    // What is about TPC-C's tables says nothing here.
    let family = families().iter().find(|family| family.schemes.contains(&description.kind.as_str()));
    let tpcc_options = family.map_or(&[][..], |family| family.tpcc_options);
    description.settings.retain(|name, _| !tpcc_options.contains(&name.as_str()));
    let engines = target.capabilities().micro()?.engines();
    let mut checks = Vec::new();
    let mut counters = 0;
    if plan.check && stored {
        let (results, stopped) = match sum(&*target, &meta, interrupt)? {
            None => (Vec::new(), true),
            Some((totals, seconds)) => {
                counters = totals.counters;
                (vec![records_check(&totals, &meta, engines, CheckedWhen::Before, seconds)], false)
            }
        };
        checks = before(Conditions { results, stopped })?;
    }
    let inputs = Inputs { seed: plan.seed, data: meta.data, shape: wanted.shape, engines };
    let run_plan = MicroPlan {
        inputs,
        meta: meta.clone(),
        mode,
        warmup: plan.warmup,
        duration: plan.duration,
        retry: plan.retry,
        drain: RunPlan::DRAIN,
    };
    let title = format!("{}  microbenchmark, {}", description.url, wanted.shape);
    let queue = matches!(mode, MicroMode::Open { .. });
    let measurement = measure(
        plan,
        Live { title: &title, style, queue },
        run_plan.sessions(),
        &[(0, Micro::KINDS[0])],
        interrupt,
        |control, observer| lydite_bench::run_micro(&target, &run_plan, control, observer),
    )?;
    let parts = Parts {
        plan,
        run: &run_plan,
        description: &description,
        stored,
        load: load.as_ref(),
        measurement: &measurement,
    };
    let run = Measured {
        plan,
        url: &description.url,
        stored,
        check: "counters",
        result: &|checks, checked| parts.result(checks, checked),
        after: &|| {
            let Some((totals, seconds)) = sum(&*target, &meta, interrupt)? else {
                return Ok(Conditions { results: Vec::new(), stopped: true });
            };
            let updates = u64::from(wanted.shape.updates);
            let bounds = Bounds {
                acknowledged: measurement.whole.committed.iter().sum::<u64>() * updates,
                unknown: measurement.whole.unknown * updates,
            };
            let records = records_check(&totals, &meta, engines, CheckedWhen::After, seconds);
            let updates = counters_check(&totals, counters, &bounds, 0.0);
            Ok(Conditions { results: vec![records, updates], stopped: false })
        },
    };
    run.conclude(&measurement, checks, None, interrupt)
}

/// Everything that a result is made of.
struct Parts<'a> {
    plan: &'a Plan,
    run: &'a MicroPlan,
    description: &'a Description,
    stored: bool,
    load: Option<&'a LoadReport>,
    measurement: &'a Measurement<Micro>,
}

impl Parts<'_> {
    /// The result document, see [`crate::result::Parts::result`].
    fn result(&self, checks: Vec<CheckResult>, checked: bool) -> Result<RunResult, Failure> {
        let measured = self.measurement;
        let result = common(measured, self.description, self.stored, checks, checked)?;
        let queued = matches!(self.run.mode, MicroMode::Open { .. });
        Ok(RunResult {
            plan: self.plan_info(),
            load: self.load.map(|load| LoadInfo { tables: Some(u64::from(load.units)), ..loaded(load) }),
            series: micro_series(&measured.series, 0),
            warmup_series: micro_series(&measured.warmup_series, -(measured.warmup_series.len() as i64)),
            controls: Controls {
                accesses: Some(self.accesses()),
                queue: queued.then(|| queue(measured)),
                rate: rate(measured),
                ..Controls::default()
            },
            ..result
        })
    }

    /// The accesses that were asked for, and those that were sent.
    fn accesses(&self) -> Accesses {
        let (facts, Inputs { shape, engines, .. }) = (&self.measurement.facts, self.run.inputs);
        let percent = |part: u64, whole: u64| 100.0 * ratio(part as f64, whole as f64);
        let two = engines == Engines::Two;
        Accesses {
            asked: Asked {
                per_transaction: shape.accesses,
                updates_percent: percent(u64::from(shape.updates), u64::from(shape.accesses)),
                disk_percent: two.then_some(shape.disk_percent),
            },
            actual: Actual {
                per_transaction: ratio(facts.accesses as f64, facts.transactions as f64),
                updates_percent: percent(facts.updates, facts.accesses),
                disk_percent: two.then(|| percent(facts.on_disk, facts.accesses)),
            },
        }
    }

    fn plan_info(&self) -> PlanInfo {
        let MicroPlan { inputs, meta, mode, .. } = self.run;
        let Inputs { data, shape, engines, .. } = *inputs;
        let mut info = PlanInfo {
            workload: Some("micro".into()),
            micro: Some(report::MicroPlan {
                tables: Some(data.tables.into()),
                records: Some(data.records.into()),
                record_bytes: Some(data.record_bytes.into()),
                accesses: Some(shape.accesses.into()),
                updates: Some(shape.updates.into()),
                disk_percent: (engines == Engines::Two).then(|| shape.disk_percent.into()),
            }),
            seed: Some(inputs.seed),
            load_seed: Some(meta.seed),
            ..plan_common(self.plan, self.description)
        };
        match *mode {
            MicroMode::Direct { terminals } => direct(terminals, &mut info),
            MicroMode::Open { rate, arrival, sessions } => open(rate, arrival, sessions, &mut info),
        }
        info
    }
}
