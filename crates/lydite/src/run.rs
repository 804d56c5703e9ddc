//! `lydite run`: load if need be, check, measure, check, and tell.

use crate::Outcome;
use crate::check;
use crate::cli::RunArgs;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::loading;
use crate::output::{complain, print};
use crate::plan::Plan;
use crate::result::{Parts, write_page};
use lydite_bench::{LoadReport, Measurement, RunControl, RunError, RunPlan, Snapshot};
use lydite_report::live::{Phase, RunSnapshot, RunView, Style, TypeRow, columns};
use lydite_report::model::{CheckResult, CheckedWhen};
use lydite_report::{RunResult, render_table};
use lydite_target::{DatabaseState, Target};
use lydite_tpcc::TransactionKind;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::RunConstants;
use lydite_verify::conditions::Checked;
use std::io::IsTerminal;
use std::path::Path;
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
    let plan = Plan::new(&args)?;
    let interrupt = loading::watch()?;
    let target: Arc<dyn Target> = Arc::from(plan.target.open()?);
    // Before anything is loaded for a run that can't be made.
    target.check_sessions(plan.sessions())?;
    let style = Style::detect(args.quiet);
    let (meta, load) = make_ready(&*target, &plan, style, &interrupt)?;
    let mode = plan.mode(meta.warehouses)?;
    let stored = !matches!(target.state()?, DatabaseState::AnyScale);
    let description = target.describe()?;
    let conditions = |when| -> Result<Conditions, Failure> {
        Ok(match check::evaluate_until(&interrupt, &target, description.embedded, style)? {
            Checked::All(found) => Conditions { results: check::results(&found, when), stopped: false },
            Checked::Stopped(found) => Conditions { results: check::results(&found, when), stopped: true },
        })
    };
    let mut checks = Vec::new();
    if plan.check && stored {
        let before = conditions(CheckedWhen::Before)?;
        checks.extend(before.results);
        let mut failures = Vec::new();
        if let Some(broken) = checks.iter().find(|check| !check.ok) {
            complain(&format!(
                "condition {} does not hold before the run: {}: reload with --fresh, or measure it all the same with \
                 --no-check",
                broken.id, broken.detail
            ));
            failures.push(Failure::CheckFailed);
        }
        if before.stopped {
            let words = "interrupted during the check before the run: nothing was measured";
            failures.push(Failure::Interrupted(words.into()));
        }
        Failure::all(failures)?;
    }
    let run_plan = RunPlan {
        warehouses: meta.warehouses,
        mode: mode.clone(),
        warmup: plan.warmup,
        duration: plan.duration,
        mix: plan.mix,
        seed: plan.seed,
        constants: RunConstants::new(plan.seed, meta.c_load),
        retry: plan.retry,
        drain: RunPlan::DRAIN,
    };
    let measurement = measure(&target, &run_plan, &description.url, style, &interrupt)?;
    measurement.warnings.iter().for_each(|warning| complain(warning));
    let interrupted = measurement.status == lydite_bench::Status::Interrupted;
    let parts = Parts {
        plan: &plan,
        mode: &mode,
        meta: &meta,
        description: &description,
        stored,
        load: load.as_ref(),
        measurement: &measurement,
    };
    // All that went wrong is told, and nothing of it keeps the rest from being done.
    let mut failures = Vec::new();
    if interrupted {
        failures.push(Failure::Interrupted("interrupted: the result is partial".into()));
    }
    if let Some(lost) = &measurement.lost {
        failures.push(Failure::Target(format!("{}: lost: {lost}", description.url)));
    }
    if let lydite_bench::Status::Failing(error) = &measurement.status {
        failures.push(Failure::Target(format!("{}: {error}", description.url)));
    }
    let mut checked = true;
    if plan.check && stored && !interrupted && measurement.lost.is_none() {
        // Whatever becomes of the check, what was measured is safe. What can't be written now is told at the end, if it
        // still can't be.
        if let Some(path) = &plan.json {
            let _told_at_the_end = save(&parts.result(checks.clone(), false)?, path);
        }
        match conditions(CheckedWhen::After) {
            Ok(found) => {
                if found.results.iter().any(|check| !check.ok) {
                    failures.push(Failure::CheckFailed);
                }
                if found.stopped {
                    checked = false;
                    let words = "interrupted during the check after the run: the result is partial";
                    failures.push(Failure::Interrupted(words.into()));
                }
                checks.extend(found.results);
            }
            Err(failure) => {
                checked = false;
                checks.push(check::failed(&failure));
                failures.push(failure);
            }
        }
    }
    tell(&plan, &parts.result(checks, checked)?, &mut failures);
    Failure::all(failures)
}

/// Brings the database into the state that the plan wants, or says why not.
fn make_ready(
    target: &dyn Target,
    plan: &Plan,
    style: Style,
    interrupt: &Interrupt,
) -> Result<(DatabaseMeta, Option<LoadReport>), Failure> {
    let mut state = target.state()?;
    let mut warehouses = plan.warehouses;
    if plan.fresh && state != DatabaseState::AnyScale {
        if let DatabaseState::Ready { meta } | DatabaseState::Loading { meta, .. } = &state {
            // The same size again, unless another is asked for.
            warehouses = warehouses.or(Some(meta.warehouses));
        }
        // A plan that does not fit must not cost the data.
        plan.mode(warehouses.unwrap_or(DEFAULT_WAREHOUSES))?;
        target.reset()?;
        state = DatabaseState::Empty;
    }
    match state {
        DatabaseState::AnyScale => {
            Ok((loading::describe(warehouses.unwrap_or(DEFAULT_NULL_WAREHOUSES), plan.seed), None))
        }
        DatabaseState::Ready { meta } => match warehouses {
            Some(wanted) if wanted != meta.warehouses => Err(Failure::usage(format!(
                "{} holds {} warehouses, but the plan wants {wanted}: leave --warehouses out, or load again with \
                 --fresh",
                target.describe()?.url,
                meta.warehouses
            ))),
            _ => Ok((meta, None)),
        },
        DatabaseState::Empty => {
            let meta = loading::describe(warehouses.unwrap_or(DEFAULT_WAREHOUSES), plan.seed);
            plan.mode(meta.warehouses)?;
            let report = loading::load(target, &meta, plan.jobs, false, style, interrupt)?;
            if report.interrupted {
                // What is temporary is gone.
                let next = if plan.target.is_temporary() {
                    String::new()
                } else {
                    format!(
                        ": go on with `lydite load {} --warehouses {} --seed {} --resume`, or start again with --fresh",
                        target.describe()?.url,
                        meta.warehouses,
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
struct Conditions {
    results: Vec<CheckResult>,
    /// Whether the user interrupted them; then not all are there.
    stopped: bool,
}

/// Measures, showing how it gets on.
fn measure(
    target: &Arc<dyn Target>,
    plan: &RunPlan,
    url: &str,
    style: Style,
    interrupt: &Interrupt,
) -> Result<Measurement, Failure> {
    let title = format!("{url}  {} warehouses", plan.warehouses);
    let mut view = RunView::new(style, &title, plan.warmup + plan.duration);
    let control = RunControl::default();
    let total = u64::from(plan.sessions());
    let queue = !matches!(plan.mode, lydite_bench::Mode::Direct { .. });
    let measured = interrupt.during(&control, || {
        lydite_bench::run(target, plan, &control, &mut |now| show(&mut view, now, total, queue))
    });
    view.finish();
    measured.map_err(|error| match error {
        RunError::Target(error) => error.into(),
        RunError::Interrupted => Failure::Interrupted("interrupted before the first transaction".into()),
        other => Failure::usage(other.to_string()),
    })
}

fn show(view: &mut RunView, now: &Snapshot, sessions_total: u64, queue: bool) {
    let rows: Vec<TypeRow<'_>> = TransactionKind::ALL
        .into_iter()
        .map(|kind| {
            let of = &now.kinds[kind.index()];
            let ms = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64() * 1e3);
            TypeRow {
                name: kind.name(),
                per_s: of.last_second as f64,
                p50_ms: ms(of.p50),
                p95_ms: ms(of.p95),
                p99_ms: ms(of.p99),
            }
        })
        .collect();
    view.update(&RunSnapshot {
        elapsed: now.elapsed,
        phase: match now.phase {
            lydite_bench::Phase::Warmup => Phase::Warmup,
            lydite_bench::Phase::Measuring => Phase::Measuring,
            lydite_bench::Phase::Draining => Phase::Draining,
        },
        nopm: rows[TransactionKind::NewOrder.index()].per_s * 60.0,
        tps: rows.iter().map(|row| row.per_s).sum(),
        per_type: &rows,
        aborts: now.aborts,
        errors: now.errors,
        unknown: now.unknown,
        sessions_connected: u64::from(now.connected),
        sessions_total,
        queue_length: queue.then_some(now.queued),
        message: None,
    });
}

/// Writes the files, and then prints the table and where they are: who reads that may go away before its end.
fn tell(plan: &Plan, result: &RunResult, failures: &mut Vec<Failure>) {
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    let columns = columns().filter(|_| terminal);
    let width = columns.map_or(TABLE_WIDTH, |columns| columns.max(TABLE_WIDTH_MIN));
    let mut text = render_table(result, width, colour);
    let mut written = |name: &str, path: &Path, outcome: Outcome| match outcome {
        Ok(()) => text.push_str(&format!("{name}: {}\n", path.display())),
        Err(failure) => failures.push(failure),
    };
    if let Some(path) = &plan.json {
        written("result", path, or_elsewhere(path, |path| save(result, path)));
    }
    if let Some(path) = &plan.report {
        written("report", path, or_elsewhere(path, |path| write_page(std::slice::from_ref(result), path)));
    }
    failures.extend(print(&text).err());
}

/// Writes a file. Where that fails it goes to the temporary directory, and the failure says so: what was measured is
/// not measured again.
fn or_elsewhere(path: &Path, write: impl Fn(&Path) -> Outcome) -> Outcome {
    let Err(failure) = write(path) else { return Ok(()) };
    // A new directory for each file, so that nobody's file is in the way.
    let place = |number| std::env::temp_dir().join(format!("lydite-{}-{number}", std::process::id()));
    let kept = (0..100).map(place).find(|place| std::fs::create_dir(place).is_ok()).and_then(|directory| {
        let kept = directory.join(path.file_name()?);
        if write(&kept).is_ok() {
            return Some(kept);
        }
        // Nothing is in it.
        let _gone = std::fs::remove_dir(&directory);
        None
    });
    Err(match kept {
        Some(kept) => {
            Failure::usage(format!("{}; it was written to {} instead", failure.line(), kept.display()))
        }
        None => failure,
    })
}

fn save(result: &RunResult, path: &Path) -> Outcome {
    result.save(path).map_err(|error| Failure::usage(error.to_string()))
}
