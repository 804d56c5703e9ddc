//! The measured part of a run, with its live view.

use crate::companion::Now;
use lydite_bench::{KindSnapshot, RunControl, Snapshot};
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_database::Kind;
use lydite_observe::Series;
use lydite_plan::{Plan, Span};
use lydite_report::figures::milliseconds;
use lydite_report::live::{ObservedNow, Phase, RunSnapshot, RunView, Style, Times, TypeRow};
use lydite_report::phases::asked_in_words;
use lydite_tpcc::StandardKind;

/// The live view of a run.
pub(crate) struct Live<'a> {
    pub(crate) title: &'a str,
    pub(crate) style: Style,
    /// True if the mode has a queue.
    pub(crate) queue: bool,
    /// Returns the contents of the view beside the counts at this moment.
    pub(crate) now: &'a dyn Fn() -> Now,
}

/// Measures with `work`, and shows its progress. `kinds` are the transaction types to show, with their numbers.
///
/// # Errors
/// The error of `work`; [`Failure::Interrupted`] if it ended before the first transaction.
pub(crate) fn measure<T, E: Into<Failure>>(
    plan: &Plan,
    live: Live<'_>,
    sessions: u32,
    kinds: &[(usize, Kind)],
    interrupt: &Interrupt,
    work: impl FnOnce(&RunControl, &mut dyn FnMut(&Snapshot)) -> Result<T, E>,
) -> Result<T, Failure> {
    let times = Times { warmup: plan.warmup, window: plan.duration };
    let mut view = RunView::new(live.style, live.title, times);
    let control = RunControl::default();
    let total = u64::from(sessions);
    let measuring =
        || work(&control, &mut |now| show(&mut view, now, kinds, total, &live, &plan.schedule.phases));
    let measured = interrupt.while_measuring(|| interrupt.during(&control, measuring));
    view.finish();
    measured.map_err(Into::into)
}

/// Updates the view.
fn show(
    view: &mut RunView,
    now: &Snapshot,
    kinds: &[(usize, Kind)],
    sessions_total: u64,
    live: &Live<'_>,
    phases: &[Span],
) {
    let beside = (live.now)();
    beside.lines.iter().for_each(|line| view.note(line));
    let changes = phases.iter().any(|phase| !phase.asked.is_empty());
    let message = phases.get(now.in_phase).filter(|_| changes).map(|phase| {
        let asked = match asked_in_words(&phase.asked) {
            words if words.is_empty() => "as the plan".to_owned(),
            words => words,
        };
        let name = phase.name.iter().map(|name| format!(" {name}")).collect::<String>();
        // The only phase needs no number.
        if phases.len() == 1 && name.is_empty() {
            return asked;
        }
        format!("phase {} of {}{name}: {asked}", now.in_phase + 1, phases.len())
    });
    let message = match (message, beside.message) {
        (Some(message), Some(in_force)) => Some(format!("{message}; {in_force}")),
        (message, in_force) => message.or(in_force),
    };
    let row = |kind: &Kind, of: &KindSnapshot| TypeRow {
        name: kind.name,
        per_s: of.last_second as f64,
        p50_ms: of.p50.map(milliseconds),
        p95_ms: of.p95.map(milliseconds),
        p99_ms: of.p99.map(milliseconds),
    };
    let rows: Vec<TypeRow<'_>> = kinds.iter().map(|(number, kind)| row(kind, &now.kinds[*number])).collect();
    let newest = |series: &'_ Series| series.values.first().copied().flatten();
    let observed: Vec<ObservedNow<'_>> = beside
        .observed
        .iter()
        .map(|series| ObservedNow { name: &series.name, unit: series.unit, value: newest(series) })
        .collect();
    view.warms_up(now.warmup);
    let new_orders = rows.iter().find(|row| row.name == StandardKind::NewOrder.name());
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
        queue_length: live.queue.then_some(now.queued),
        observed: &observed,
        message: message.as_deref(),
    });
}
