//! The rate of an open loop, and the queue of requests that wait for a session.

use crate::controls::{About, Control, Ground, PhaseOf, Ran, Schedule};
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::values::ratio;
use lydite_bench::{Measurement, Mode, Runnable};
use lydite_report::controls::rate::{self as report, Actual, Asked, Backlog, PhaseQueue, PhaseRate, Queue};
use lydite_report::controls::{Controls, PhaseControls};

/// The rate of an open loop. It has no keys of its own: the mode reads them.
#[derive(Clone, Copy, Debug)]
pub struct Rate;

impl Control for Rate {
    const KEYS: &'static [Key] = &[];
    type Step = ();
    type Settled = ();

    fn read(_: &mut Entries, _: &About<'_>) -> Self {
        Self
    }

    fn read_step(_: &mut Entries) {}

    fn settle(&self, _: &Schedule, _: &Ground) -> Result<(), PlanError> {
        Ok(())
    }

    fn write(&self, ran: &Ran<'_>, controls: &mut Controls) {
        let queued = !matches!(ran.mode, Mode::Direct { .. });
        (controls.queue, controls.rate) = (queued.then(|| queue(ran.measurement)), rate(ran.measurement));
    }

    fn write_phase(&self, ran: &Ran<'_>, phase: &PhaseOf<'_>, controls: &mut PhaseControls) {
        let Mode::Open { rate, .. } = ran.mode else { return };
        let (steps, span) = (&ran.schedule.steps[phase.steps.clone()], phase.span);
        let ends = steps.iter().skip(1).map(|step| step.from).chain([span.to]);
        let due = steps
            .iter()
            .zip(ends)
            .map(|(step, end)| step.rate.unwrap_or(*rate) * (end - step.from).as_secs_f64());
        let asked_per_s = ratio(due.sum(), (span.to - span.from).as_secs_f64());
        let open = ran.measurement.open_phases.get(phase.number);
        let actual = open.map(|open| Actual {
            due_per_s: ratio(open.due as f64, phase.seconds),
            completed_per_s: ratio(phase.facts.completed.iter().sum::<u64>() as f64, phase.seconds),
            due: open.due,
        });
        controls.rate = Some(PhaseRate { asked_per_s, actual });
        controls.queue = open.map(|open| PhaseQueue {
            backlog: open.backlog,
            grew_by: open.backlog.cast_signed().saturating_sub_unsigned(open.backlog_before),
        });
    }
}

/// Returns the queue at the end of a run.
pub fn queue<W: Runnable>(measured: &Measurement<W>) -> Queue {
    Queue { actual: Backlog { backlog: measured.backlog } }
}

/// Returns the configured and the measured rate; none if the run is no open loop.
pub fn rate<W: Runnable>(measured: &Measurement<W>) -> Option<report::Rate> {
    let open = measured.open.as_ref()?;
    Some(report::Rate {
        asked: Asked { per_s: open.asked_per_s },
        actual: Actual { due_per_s: open.due_per_s, completed_per_s: open.completed_per_s, due: open.due },
    })
}
