//! A run of the microbenchmark: load an empty database, check, measure, check again, and conclude.

use super::Request;
use super::checks::{Conditions, before};
use super::conclusion::Measured;
use super::idle::{few_sessions, idle_in_window};
use super::loading;
use super::measuring::{Live, measure};
use super::observing::{self, Observing};
use super::result::{common, direct, endpoints, loaded, micro_series, open, plan_common};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_console::shell::typed;
use lydite_bench::{LoadReport, Measurement, MicroMode, MicroPlan, RunPlan};
use lydite_database::{DatabaseState, Demand, Description, Micro, Target, TargetErrorKind, Workload};
use lydite_families::family_of;
use lydite_micro::check::whole as whole_records;
use lydite_micro::{Bounds, Data, Engines, Inputs, Meta, RECORDS_VERSION, Totals};
use lydite_plan::Plan;
use lydite_plan::controls::rate::{queue, rate};
use lydite_plan::micro::MicroAsked;
use lydite_plan::values::ratio;
use lydite_report::RunResult;
use lydite_report::controls::Controls;
use lydite_report::controls::accesses::{Accesses, Actual, Asked};
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen, LoadInfo};
use lydite_report::plan::{self as report, PlanInfo};
use std::sync::Arc;
use std::time::Instant;

/// Loads the tables of the microbenchmark.
pub(crate) fn load(
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
    Ok(loading::show(style, &title, expected, interrupt, |control, observer| {
        lydite_bench::load_micro(target, meta, jobs, control, observer)
    })?)
}

/// Returns the error of a database whose state the microbenchmark can't use.
pub(crate) fn unusable(state: &DatabaseState, url: &str) -> Failure {
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
        DatabaseState::Partial { tables, problem, .. } => format!(
            "{url} holds tables of Lydite's that can't be used ({}): {problem}: {fresh}",
            tables.join(", ")
        ),
        DatabaseState::Micro { meta, .. } => format!(
            "{url} holds a load of the microbenchmark that is running or was interrupted ({}): wait for it, or load \
             again with --fresh",
            meta.data
        ),
        DatabaseState::Empty | DatabaseState::AnyScale => {
            format!("{url} is empty: load it first with `lydite load {} --workload micro`", typed(url))
        }
    })
}

/// Loads the database if it is empty or `--fresh` is set, and checks that its data fits the plan. Returns its
/// description, and the load if there was one.
fn make_ready(
    target: &dyn Target,
    request: &Request,
    asked: &MicroAsked,
) -> Result<(Meta, Option<LoadReport>), Failure> {
    let plan = &request.plan;
    let mut state = target.state()?;
    let mut usual = Data::default();
    if request.fresh && state != DatabaseState::AnyScale {
        if let DatabaseState::Micro { meta, .. } = &state {
            // Unset keys keep the values of the dropped data.
            usual = meta.data;
        }
        target.admit(&Demand::Load)?;
        target.reset()?;
        state = DatabaseState::Empty;
    }
    let meta = || Meta::new(asked.data.or(usual), plan.seed, env!("CARGO_PKG_VERSION"));
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
            match asked.data.check_loaded(&meta) {
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
            let report = load(target, &meta, plan.jobs, request.style, &request.interrupt)?;
            if report.interrupted {
                // A temporary database is gone.
                let next = if plan.target.is_temporary() { "" } else { ": load again with --fresh" };
                return Err(Failure::Interrupted(format!("interrupted while loading{next}")));
            }
            Ok((meta, Some(report)))
        }
        state => Err(unusable(&state, &url)),
    }
}

/// Reads all tables. Returns their totals and the time in seconds; none if the user interrupted it.
pub(crate) fn sum(
    target: &dyn Target,
    meta: &Meta,
    interrupt: &Interrupt,
) -> Result<Option<(Totals, f64)>, Failure> {
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

/// Returns the check that all records are there.
pub(crate) fn records_check(
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

/// Returns the check of the updates: the rise of the counters against the updates that the run may have added.
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

/// Runs the microbenchmark.
pub(crate) fn run(request: &Request, asked: &MicroAsked) -> Outcome {
    let Request { plan, interrupt, style, .. } = request;
    let mode = plan.micro_mode()?;
    let target: Arc<dyn Target> = plan.target.open()?;
    // A run that can't be made is rejected before anything is loaded.
    target.admit(&Demand::Sessions(plan.sessions()))?;
    target.admit(&Demand::Writes)?;
    observing::check(plan, &*target)?;
    let (meta, load) = make_ready(&*target, request, asked)?;
    let stored = !matches!(target.state()?, DatabaseState::AnyScale);
    let mut description = target.describe()?;
    // Settings about TPC-C's tables do not affect this workload.
    let tpcc_options = family_of(&description.kind).map_or(&[][..], |family| family.tpcc_options);
    let mut warnings = std::mem::take(&mut description.unread);
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
    let inputs = Inputs { seed: plan.seed, data: meta.data, shape: asked.shape, engines };
    let run_plan = MicroPlan {
        inputs,
        meta: meta.clone(),
        mode,
        warmup: plan.warmup,
        steady: plan.steady,
        duration: plan.duration,
        retry: plan.retry,
        drain: RunPlan::DRAIN,
    };
    let flag = if matches!(mode, MicroMode::Direct { .. }) { "--terminals" } else { "--sessions" };
    if let Some(endpoints) = target.capabilities().endpoints {
        // The counts of the run begin.
        let _no_placement = endpoints.begin(Vec::new(), None, 1);
        warnings.extend(few_sessions(endpoints, run_plan.sessions(), flag));
    }
    warnings.iter().for_each(|warning| complain(warning));
    let title = format!("{}  microbenchmark, {}", description.url, asked.shape);
    let queue = matches!(mode, MicroMode::Open { .. });
    let observing = Observing::new(plan, &target, None)?;
    let measurement = measure(
        plan,
        Live { title: &title, style: *style, queue, faults: None, observing: &observing, fleet: None },
        run_plan.sessions(),
        &[(0, Micro::KINDS[0])],
        interrupt,
        |control, observer| {
            observing.during(control, || lydite_bench::run_micro(&target, &run_plan, control, observer))
        },
    )?;
    let idle = idle_in_window(&*target, None, (run_plan.sessions(), measurement.window.start));
    idle.iter().for_each(|warning| complain(warning));
    warnings.extend(idle);
    let endpoints = endpoints(&*target);
    let observed = observing.finish();
    let parts = Parts {
        plan,
        run: &run_plan,
        description: &description,
        stored,
        load: load.as_ref(),
        measurement: &measurement,
    };
    let run = Measured {
        request,
        url: &description.url,
        stored,
        check: "counters",
        result: &|checks, checked| {
            let mut result = parts.result(checks, checked)?;
            result.warnings.extend(warnings.iter().cloned());
            Ok(observed.add_to(RunResult { endpoints: endpoints.clone(), ..result }))
        },
        acknowledged: Vec::new(),
        after: &|| {
            let Some((totals, seconds)) = sum(&*target, &meta, interrupt)? else {
                return Ok(Conditions { results: Vec::new(), stopped: true });
            };
            let updates = u64::from(asked.shape.updates);
            let bounds = Bounds {
                acknowledged: measurement.whole.committed.iter().sum::<u64>() * updates,
                unknown: measurement.whole.unknown() * updates,
            };
            let records = records_check(&totals, &meta, engines, CheckedWhen::After, seconds);
            let updates = counters_check(&totals, counters, &bounds, 0.0);
            Ok(Conditions { results: vec![records, updates], stopped: false })
        },
    };
    run.conclude(&measurement, checks, None)
}

/// The parts of a result of the microbenchmark.
struct Parts<'a> {
    plan: &'a Plan,
    run: &'a MicroPlan,
    description: &'a Description,
    stored: bool,
    load: Option<&'a LoadReport>,
    measurement: &'a Measurement<Micro>,
}

impl Parts<'_> {
    /// Returns the result document, see [`super::result::Parts::result`].
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

    /// Returns the configured and the measured accesses.
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
