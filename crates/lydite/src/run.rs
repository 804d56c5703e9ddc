//! `lydite run`: load if need be, check, measure, check, and tell.

use crate::balances;
use crate::check;
use crate::cli::RunArgs;
use crate::controls::distribution::Place;
use crate::controls::function_tests::{Before, FoundBefore};
use crate::controls::{Ground, Scale, replicas};
use crate::data;
use crate::destination::Destination;
use crate::exit::{Failure, Outcome};
use crate::gates;
use crate::interrupt::Interrupt;
use crate::loading;
use crate::memory;
use crate::micro;
use crate::node_sizes;
use crate::output::{complain, is_terminal, print, reserve_stdout};
use crate::phases::Span;
use crate::plan::Plan;
use crate::result::Parts;
use crate::targets::typed;
use lydite_bench::{
    KindSnapshot, LoadReport, Measurement, Mode, RunControl, RunError, RunPlan, Runnable, Snapshot, Step,
};
use lydite_database::{DatabaseState, Demand, Kind, Replicas, Target, Tpcc, Workload};
use lydite_report::live::{Phase, RunSnapshot, RunView, Style, Times, TypeRow, columns};
use lydite_report::model::{BALANCES_CHECK, CheckResult, CheckedWhen};
use lydite_report::phases::asked_in_words;
use lydite_report::{RunResult, render_html, render_run_summary, render_table, render_verbose_table};
use lydite_tpcc::TransactionKind;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::RunConstants;
use lydite_verify::conditions::Checked;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Warehouses of an empty database when none are asked for.
const DEFAULT_WAREHOUSES: u32 = 2;
/// Warehouses that `null:` pretends when none are asked for.
const DEFAULT_NULL_WAREHOUSES: u32 = 10;
/// Columns of the final table where it does not go to a terminal.
const TABLE_WIDTH: usize = 110;
/// The least columns of the final table, however narrow the terminal.
const TABLE_WIDTH_MIN: usize = 80;

/// `lydite run`.
pub(crate) fn run(args: RunArgs) -> Outcome {
    let mut plan = Plan::new(&args)?;
    if plan.writes_stdout() {
        reserve_stdout();
    }
    let style = Style::detect(args.quiet);
    let interrupt = loading::watch(style)?;
    plan.wait_for_servers(&interrupt);
    memory::suit(&plan.target);
    if let Some(wanted) = &plan.micro {
        return micro::run(&plan, wanted, style, &interrupt);
    }
    if let Some(name) = &args.template {
        begin_with_template(&plan, name, style, &interrupt)?;
    }
    let target: Arc<dyn Target> = plan.target.open()?;
    suits(&plan, &*target)?;
    let replicas = plan.controls.replicas.open(&plan, &target)?;
    let (meta, load) = make_ready(&*target, &plan, plan.fresh, style, &interrupt)?;
    if let Some(replicas) = &replicas {
        replicas::catch_up(replicas, &meta, load.is_some(), &interrupt)?;
    }
    let mode = fitting(&plan, &meta)?;
    let active = plan.active(meta.warehouses)?;
    let (first_warehouse, warehouses) = active;
    let stored = !matches!(target.state()?, DatabaseState::AnyScale);
    let description = target.describe()?;
    let place = Place::find(&plan, &*target, &description.url, meta.warehouses)?;
    let settled = plan.controls.settle(&plan, &Ground { active, place })?;
    let conditions = |when| -> Result<Conditions, Failure> {
        Ok(
            match check::evaluate_until(&interrupt, &target, description.embedded, style, &plan.conditions())?
            {
                Checked::All(found) => Conditions { results: check::results(&found, when), stopped: false },
                Checked::Stopped(found) => {
                    Conditions { results: check::results(&found, when), stopped: true }
                }
            },
        )
    };
    let together = plan.controls.coaccess.balances(&plan).map(|balances| balances.warehouses);
    let balances = together
        .filter(|_| stored && plan.plays(TransactionKind::UpdateBalance))
        .map(|together| balances::Watch::new(&target, &meta, active, together, &interrupt))
        .transpose()?;
    let mut checks = Vec::new();
    if plan.check && stored {
        checks = before(conditions(CheckedWhen::Before)?)?;
    }
    let before_run = plan.controls.function_tests;
    let functions = if stored && before_run != Before::Off && settled.distribution.over_real_nodes() {
        FoundBefore::make(&target, meta.warehouses, before_run == Before::Strict, style, &interrupt)?
    } else {
        FoundBefore::default()
    };
    let steps = plan.steps.iter().map(|step| Step {
        from: step.from,
        phase: step.phase,
        mix: step.mix,
        rate: step.rate,
        sessions: step.sessions,
        ..Step::default()
    });
    let mut run_plan = RunPlan {
        first_warehouse,
        districts: meta.districts.clone(),
        size: meta.size,
        warmup: plan.warmup,
        duration: plan.duration,
        steps: steps.collect(),
        retry: plan.retry,
        ..RunPlan::new(mode.clone(), warehouses, plan.seed, RunConstants::new(plan.seed, meta.c_load))
    };
    plan.controls.shape(&settled, &plan, &mut run_plan);
    let title = format!("{}  {}", description.url, meta.warehouses_in_words());
    let queue = !matches!(mode, lydite_bench::Mode::Direct { .. });
    let sizes = node_sizes::Watch::new(&target, settled.distribution.told_by_database());
    let lag = replicas.as_ref().map(Replicas::watch).transpose()?;
    let measurement = measure(
        &plan,
        Live { title: &title, style, queue },
        run_plan.sessions(),
        &plan.kinds().into_iter().map(|kind| (kind.index(), Tpcc::KINDS[kind.index()])).collect::<Vec<_>>(),
        &interrupt,
        |control, observer| match &replicas {
            None => lydite_bench::run(&target, &run_plan, control, observer),
            Some(replicas) => {
                let replicas = Arc::clone(replicas);
                let connect = Arc::new(move || replicas.connect());
                lydite_bench::run_through(&target, connect, &run_plan, control, observer)
            }
        },
    )?;
    drop(lag);
    let balances = balances.map(|balances| balances.finish(&measurement.whole));
    let replicas = replicas.map(|replicas| replicas.report());
    let sizes = sizes.finish(measurement.window.start);
    let parts = Parts {
        plan: &plan,
        mode: &mode,
        meta: &meta,
        description: &description,
        stored,
        load: load.as_ref(),
        settled: &settled,
        active,
        replicas: replicas.as_ref(),
        measurement: &measurement,
    };
    let run = Measured {
        plan: &plan,
        url: &description.url,
        stored,
        check: "3.3.2",
        result: &|checks, checked| {
            parts.result(checks, checked).map(|result| functions.told_in(sizes.told_in(result)))
        },
        after: &|| conditions(CheckedWhen::After),
    };
    run.conclude(&measurement, checks, balances, &interrupt)
}

/// What the checks before a run found, unless that ends it.
pub(crate) fn before(found: Conditions) -> Result<Vec<CheckResult>, Failure> {
    let mut failures = Vec::new();
    if let Some(broken) = found.results.iter().find(|check| !check.ok) {
        let balances = ["3.3.2.1", "3.3.2.8"].contains(&broken.id.as_str());
        let why = if balances {
            " (so it is where a run with update_balance was killed, or goes on: another one takes it back)"
        } else {
            ""
        };
        complain(&format!(
            "condition {} does not hold before the run: {}{why}: reload with --fresh, or measure it all the same with \
             --no-check",
            broken.id, broken.detail
        ));
        failures.push(Failure::CheckFailed);
    }
    if found.stopped {
        let words = "interrupted during the check before the run: nothing was measured";
        failures.push(Failure::Interrupted(words.into()));
    }
    Failure::all(failures)?;
    Ok(found.results)
}

/// A run that has been measured, of whatever workload.
pub(crate) struct Measured<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) url: &'a str,
    /// Whether there is a database, and not only the pretence of one.
    pub(crate) stored: bool,
    /// What a check that could not be made is called.
    pub(crate) check: &'a str,
    /// The result document, with what the checks found, and whether all that belong to the run were made.
    pub(crate) result: &'a dyn Fn(Vec<CheckResult>, bool) -> Result<RunResult, Failure>,
    /// The checks after the run.
    pub(crate) after: &'a dyn Fn() -> Result<Conditions, Failure>,
}

impl Measured<'_> {
    /// Checks what the run left, writes the result and tells it: with the checks that were made before it, and what was found of
    /// balances if they were watched. All that went wrong is told, and nothing of it keeps the
    /// rest from being done.
    pub(crate) fn conclude<W: Runnable>(
        &self,
        measurement: &Measurement<W>,
        mut checks: Vec<CheckResult>,
        balances: Option<Result<CheckResult, Failure>>,
        interrupt: &Interrupt,
    ) -> Outcome {
        measurement.warnings.iter().for_each(|warning| complain(warning));
        let interrupted = measurement.status == lydite_bench::Status::Interrupted;
        let document_of = |checks, checked| -> Result<RunResult, Failure> {
            let mut result = (self.result)(checks, checked)?;
            result.label.clone_from(&self.plan.label);
            result.requirements =
                self.plan.requirements.iter().map(|requirement| requirement.judge(&result)).collect();
            Ok(result)
        };
        let mut failures = Vec::new();
        let mut broken = false;
        match balances {
            Some(Ok(check)) => {
                broken = !check.ok;
                checks.push(check);
            }
            Some(Err(failure)) => {
                checks.push(check::failed(BALANCES_CHECK, &failure));
                failures.push(failure);
            }
            None => {}
        }
        if interrupted {
            failures.push(Failure::Interrupted("interrupted: the result is partial".into()));
        }
        if let Some(lost) = &measurement.lost {
            failures.push(Failure::Target(format!("{}: lost: {lost}", self.url)));
        }
        if let lydite_bench::Status::Failing(error) = &measurement.status {
            failures.push(Failure::Target(format!("{}: {error}", self.url)));
        }
        let mut checked = true;
        if self.plan.check && self.stored && !interrupted && measurement.lost.is_none() {
            // Whatever becomes of the check, what was measured is safe. What can't be written now is told at the end, if
            // it still can't be.
            if let Some(place) = self.plan.json.as_ref().filter(|place| place.is_replaced()) {
                let partial = document(&document_of(checks.clone(), false)?)?;
                let _told_at_the_end = place.write(partial.as_bytes(), Some(interrupt));
            }
            match (self.after)() {
                Ok(found) => {
                    broken |= found.results.iter().any(|check| !check.ok);
                    if found.stopped {
                        checked = false;
                        let words = "interrupted during the check after the run: the result is partial";
                        failures.push(Failure::Interrupted(words.into()));
                    }
                    checks.extend(found.results);
                }
                Err(failure) => {
                    checked = false;
                    checks.push(check::failed(self.check, &failure));
                    failures.push(failure);
                }
            }
        }
        if broken {
            failures.push(Failure::CheckFailed);
        }
        let result = document_of(checks, checked)?;
        tell(self.plan, &result, &mut failures, interrupt)?;
        let unmet = gates::unmet(&result.requirements);
        if !unmet.is_empty() {
            failures.push(Failure::Threshold(unmet));
        }
        Failure::all(failures)
    }
}

/// The mode on such a database, if the plan can be run there.
fn fitting(plan: &Plan, meta: &DatabaseMeta) -> Result<Mode, Failure> {
    let mode = plan.mode(meta.warehouses)?;
    let active = plan.active(meta.warehouses)?;
    plan.controls.fit(plan, &Scale { mode: &mode, active, districts: Some(&meta.districts) })?;
    Ok(mode)
}

/// Refuses, before anything is loaded, a run that can't be made on this target.
fn suits(plan: &Plan, target: &dyn Target) -> Outcome {
    target.admit(&Demand::Sessions(plan.sessions()))?;
    target.admit(&Demand::Transactions(plan.kinds()))?;
    plan.controls.check_target(plan, target)
}

/// Makes the database what the template of this name holds; if there is none, loads the database anew and makes that the
/// template.
fn begin_with_template(plan: &Plan, name: &str, style: Style, interrupt: &Interrupt) -> Outcome {
    let templates = plan
        .target
        .templates()
        .ok_or_else(|| Failure::usage("--template: this target has no templates: load it with --fresh"))?;
    if templates.database_is_there()? {
        templates.check()?;
        let target = plan.target.open()?;
        let state = target.state()?;
        if matches!(state, DatabaseState::Foreign { .. })
            && let Some(refused) = loading::unusable(&state, &target.describe()?.url)
        {
            return Err(refused);
        }
    }
    if templates.has(name)? {
        return Ok(templates.restore(name)?);
    }
    // Closed before it is copied.
    {
        let target = plan.target.open()?;
        suits(plan, &*target)?;
        make_ready(&*target, plan, true, style, interrupt)?;
    }
    Ok(templates.save(name)?)
}

/// Brings the database into the state that the plan wants, or says why not. `fresh`: loads it anew, whatever it holds.
fn make_ready(
    target: &dyn Target,
    plan: &Plan,
    fresh: bool,
    style: Style,
    interrupt: &Interrupt,
) -> Result<(DatabaseMeta, Option<LoadReport>), Failure> {
    let mut state = target.state()?;
    let (mut warehouses, mut data) = (plan.warehouses, plan.data);
    if fresh && state != DatabaseState::AnyScale {
        if let DatabaseState::Ready { meta } | DatabaseState::Loading { meta, .. } = &state {
            // The same again, unless something else is asked for.
            warehouses = warehouses.or(Some(meta.warehouses));
            data.size = data.size.or(Some(meta.size));
        }
        // A plan that does not fit must not cost the data.
        let meta = data.describe(warehouses.unwrap_or(DEFAULT_WAREHOUSES), plan.seed)?;
        fitting(plan, &meta)?;
        target.admit(&Demand::Districts(meta.districts.clone()))?;
        target.reset()?;
        state = DatabaseState::Empty;
    }
    match state {
        DatabaseState::AnyScale => {
            Ok((data.describe(warehouses.unwrap_or(DEFAULT_NULL_WAREHOUSES), plan.seed)?, None))
        }
        DatabaseState::Ready { meta } => match warehouses {
            Some(wanted) if wanted != meta.warehouses => Err(Failure::usage(format!(
                "{} holds {}, but the plan wants {wanted}: leave --warehouses out, or load again with --fresh",
                target.describe()?.url,
                meta.warehouses_in_words()
            ))),
            _ => {
                data.check_loaded(&meta, &target.describe()?.url)?;
                Ok((meta, None))
            }
        },
        DatabaseState::Empty => {
            let meta = data.describe(warehouses.unwrap_or(DEFAULT_WAREHOUSES), plan.seed)?;
            fitting(plan, &meta)?;
            target.admit(&Demand::Districts(meta.districts.clone()))?;
            let report = loading::load(target, &meta, plan.jobs, false, style, interrupt)?;
            if report.interrupted {
                // What is temporary is gone.
                let next = if plan.target.is_temporary() {
                    String::new()
                } else {
                    format!(
                        ": go on with `lydite load {} --warehouses {}{} --seed {} --resume`, or start again with --fresh",
                        typed(&target.describe()?.url),
                        meta.warehouses,
                        data::flags(&meta),
                        meta.seed
                    )
                };
                return Err(Failure::Interrupted(format!("interrupted while loading{next}")));
            }
            Ok((meta, Some(report)))
        }
        state => Err(loading::unusable(&state, &target.describe()?.url).unwrap_or_else(|| {
            Failure::usage("the database is in an unknown state: load it again with --fresh")
        })),
    }
}

/// What the conditions came to.
pub(crate) struct Conditions {
    pub(crate) results: Vec<CheckResult>,
    /// Whether the user interrupted them; then not all are there.
    pub(crate) stopped: bool,
}

/// What is shown while a run lasts.
pub(crate) struct Live<'a> {
    pub(crate) title: &'a str,
    pub(crate) style: Style,
    /// Whether the mode has a queue.
    pub(crate) queue: bool,
}

/// Measures with `work`, showing how it gets on. `kinds`: the types of transactions to show, with their numbers.
pub(crate) fn measure<T>(
    plan: &Plan,
    live: Live<'_>,
    sessions: u32,
    kinds: &[(usize, Kind)],
    interrupt: &Interrupt,
    work: impl FnOnce(&RunControl, &mut dyn FnMut(&Snapshot)) -> Result<T, RunError>,
) -> Result<T, Failure> {
    let times = Times { warmup: plan.warmup, window: plan.duration };
    let mut view = RunView::new(live.style, live.title, times);
    let control = RunControl::default();
    let total = u64::from(sessions);
    let measuring =
        || work(&control, &mut |now| show(&mut view, now, kinds, total, live.queue, &plan.phases));
    let measured = interrupt.while_measuring(|| interrupt.during(&control, measuring));
    view.finish();
    measured.map_err(|error| match error {
        RunError::Target(error) => error.into(),
        RunError::Interrupted => Failure::Interrupted("interrupted before the first transaction".into()),
        other => Failure::usage(other.to_string()),
    })
}

fn show(
    view: &mut RunView,
    now: &Snapshot,
    kinds: &[(usize, Kind)],
    sessions_total: u64,
    queue: bool,
    phases: &[Span],
) {
    let changes = phases.iter().any(|phase| !phase.asked.is_empty());
    let message = phases.get(now.in_phase).filter(|_| changes).map(|phase| {
        let asked = match asked_in_words(&phase.asked) {
            words if words.is_empty() => "as the plan".to_owned(),
            words => words,
        };
        let name = phase.name.iter().map(|name| format!(" {name}")).collect::<String>();
        // The only one needs no number.
        if phases.len() == 1 && name.is_empty() {
            return asked;
        }
        format!("phase {} of {}{name}: {asked}", now.in_phase + 1, phases.len())
    });
    let ms = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64() * 1e3);
    let row = |kind: &Kind, of: &KindSnapshot| TypeRow {
        name: kind.name,
        per_s: of.last_second as f64,
        p50_ms: ms(of.p50),
        p95_ms: ms(of.p95),
        p99_ms: ms(of.p99),
    };
    let rows: Vec<TypeRow<'_>> = kinds.iter().map(|(number, kind)| row(kind, &now.kinds[*number])).collect();
    let new_orders = rows.iter().find(|row| row.name == TransactionKind::NewOrder.name());
    view.update(&RunSnapshot {
        elapsed: now.elapsed,
        phase: match now.phase {
            lydite_bench::Phase::Warmup => Phase::Warmup,
            lydite_bench::Phase::Measuring => Phase::Measuring,
            lydite_bench::Phase::Draining => Phase::Draining,
        },
        nopm: new_orders.map(|row| row.per_s * 60.0),
        tps: rows.iter().map(|row| row.per_s).sum(),
        per_type: &rows,
        aborts: now.aborts,
        errors: now.errors,
        unknown: now.unknown,
        sessions_connected: u64::from(now.connected),
        sessions_total,
        queue_length: queue.then_some(now.queued),
        message: message.as_deref(),
    });
}

/// Writes the files, and then prints the table and where they are: who reads that may go away before its end.
fn tell(plan: &Plan, result: &RunResult, failures: &mut Vec<Failure>, interrupt: &Interrupt) -> Outcome {
    let terminal = is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    let columns = columns().filter(|_| terminal);
    let width = columns.map_or(TABLE_WIDTH, |columns| columns.max(TABLE_WIDTH_MIN));
    let table = if plan.verbose { render_verbose_table } else { render_table };
    let mut text = table(result, width, colour);
    let mut write = |name: &str, place: &Destination, usual: &str, document: &str| match or_elsewhere(
        place,
        usual,
        document.as_bytes(),
        interrupt,
    ) {
        Ok(()) => text.push_str(&format!("{name}: {}\n", place.shown())),
        Err(failure) => failures.push(failure),
    };
    if let Some(place) = &plan.json {
        write("result", place, "result.json", &document(result)?);
    }
    if let Some(place) = &plan.report {
        write("report", place, "report.html", &render_html(std::slice::from_ref(result)));
    }
    if let Some(place) = &plan.summary {
        write("summary", place, "summary.md", &render_run_summary(result));
    }
    failures.extend(print(&text).err());
    Ok(())
}

/// Writes a document. Where that fails it goes to the temporary directory, with its own name or the `usual` one, and the
/// failure says so: what was measured is not measured again.
fn or_elsewhere(place: &Destination, usual: &str, document: &[u8], interrupt: &Interrupt) -> Outcome {
    let Err(failure) = place.write(document, Some(interrupt)) else { return Ok(()) };
    // A new directory for each file, so that nobody's file is in the way.
    let directory = |number| std::env::temp_dir().join(format!("lydite-{}-{number}", std::process::id()));
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    let made = (0..100).map(directory).find(|directory| builder.create(directory).is_ok());
    let kept: Option<PathBuf> = made.and_then(|directory| {
        let kept = directory.join(place.file_name().unwrap_or(usual.as_ref()));
        if Destination::Path(kept.clone()).write(document, None).is_ok() {
            return Some(kept);
        }
        // Nothing is in it.
        let _gone = std::fs::remove_dir(&directory);
        None
    });
    let Some(kept) = kept else { return Err(failure) };
    let line = format!("{}; it was written to {} instead", failure.line(), kept.display());
    Err(if matches!(failure, Failure::Interrupted(_)) {
        Failure::Interrupted(line)
    } else {
        Failure::usage(line)
    })
}

fn document(result: &RunResult) -> Result<String, Failure> {
    result.to_json().map_err(|error| Failure::usage(format!("the result has no form in JSON: {error}")))
}
