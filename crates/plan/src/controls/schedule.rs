//! The schedule of a run: its phases, and the values that hold in each step of them.

use super::StepControls;
use crate::controls;
use crate::entries::Entries;
use crate::phase_key::PhaseKey;
use crate::phases::{Phases, Span, Values};
use crate::values::{MAX_SESSIONS, read_mix, step_rate, whole};
use lydite_tpcc::{DikeKind, Mix, TransactionKind};
use std::collections::BTreeSet;
use std::time::Duration;

/// Keys of a phase that belong to no control.
const OWN_KEYS: &[PhaseKey] = &[
    PhaseKey::new("mix").with_commas(),
    PhaseKey::new("rate").greatest(),
    PhaseKey::new("terminals").whole().greatest().not_of_users(),
    PhaseKey::new("sessions").whole().greatest().not_of_users(),
];

/// Returns the keys that a phase may set.
pub(crate) fn phase_keys() -> impl Iterator<Item = &'static PhaseKey> {
    OWN_KEYS.iter().chain(controls::phase_keys_of_controls())
}

/// The phases and the steps of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Phases in the order of time, at least one.
    pub phases: Vec<Span>,
    /// Steps in the order of time, at least one for each phase.
    pub steps: Vec<PlanStep>,
}

/// Values that hold from a moment on until the next step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanStep {
    /// Beginning, since the window began.
    pub from: Duration,
    /// Number of its phase.
    pub phase: usize,
    /// Mix of transactions.
    pub mix: Mix,
    /// Requests per second; none if no phase sets them.
    pub rate: Option<f64>,
    /// Number of sessions that send transactions; none if no phase sets it.
    pub sessions: Option<u32>,
    /// Values of the controls.
    pub controls: StepControls,
}

/// The parts of the mode that steps depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loop {
    /// True if requests come at a rate.
    pub(crate) open: bool,
    /// True if users are emulated.
    pub(crate) rte: bool,
}

impl Schedule {
    /// Reads the steps of `phases`. `base` holds the plan's entries from before [`Phases::take`].
    pub(crate) fn read(entries: &mut Entries, phases: Phases, base: &Entries, mode: Loop) -> Self {
        let set = phases.set_keys();
        let steps = phases.read_steps(entries, base, |own, values| step(own, values, &set, mode));
        let steps = steps.into_iter().map(|(from, phase, step)| PlanStep { from, phase, ..step }).collect();
        Self { phases: phases.spans, steps }
    }

    /// Returns true if something changes during the run.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.phases.len() > 1 || self.phases.iter().any(|phase| !phase.asked.is_empty())
    }

    /// Returns true if distribution control applies to a step.
    #[must_use]
    pub fn distributes(&self) -> bool {
        self.steps.iter().any(|step| step.controls.distribution.is_some())
    }

    /// Returns true if contention control applies to a step.
    pub(crate) fn contends(&self) -> bool {
        self.steps.iter().any(|step| !step.controls.contention.is_empty())
    }

    /// Returns the text of a key that the only phase of the window sets, such as a curve; none if there are several.
    #[must_use]
    pub fn whole_curve(&self, key: &str) -> Option<String> {
        let [only] = &self.phases[..] else { return None };
        only.asked(key).map(str::to_owned)
    }

    /// Returns the transaction types in the mixes that are not the standard's.
    pub(crate) fn extra_kinds(&self) -> impl Iterator<Item = DikeKind> {
        extra_kinds(&self.steps)
    }

    /// Returns true if a transaction type belongs to the run: the standard's always do, others if a mix has them.
    #[must_use]
    pub fn plays(&self, kind: impl Into<TransactionKind>) -> bool {
        match kind.into() {
            TransactionKind::Standard(_) => true,
            TransactionKind::Dike(kind) => self.extra_kinds().any(|extra| extra == kind),
        }
    }

    /// Returns the transaction types that belong to the run.
    #[must_use]
    pub fn kinds(&self) -> Vec<TransactionKind> {
        TransactionKind::ALL.into_iter().filter(|kind| self.plays(*kind)).collect()
    }
}

/// Returns the transaction types in the mixes of `steps` that are not the standard's.
pub(crate) fn extra_kinds(steps: &[PlanStep]) -> impl Iterator<Item = DikeKind> {
    let has = |kind: &DikeKind| steps.iter().any(|step| step.mix.has(*kind));
    DikeKind::ALL.into_iter().filter(has)
}

/// Reads a step. `values` are the values that its phase sets, `set` the keys that any phase sets.
fn step(entries: &mut Entries, values: &Values, set: &BTreeSet<String>, mode: Loop) -> PlanStep {
    if mode.rte {
        for key in phase_keys().filter(|key| key.not_of_users) {
            if let Some(entry) = values.get(key.name) {
                entries
                    .wrong_entry(entry, "can't change where users are emulated: use --mode direct or open");
            }
        }
    }
    let sessions_key = if set.contains("sessions") { "sessions" } else { "terminals" };
    for key in ["rate", sessions_key] {
        if set.contains(key) && !mode.rte && entries.text(key).is_none() {
            entries
                .errors
                .push(format!("{key} is set in some phases only: give the plan a {key}, or each phase"));
        }
    }
    let mix = entries.read("mix", read_mix).unwrap_or_default();
    let rate = if set.contains("rate") && mode.open { entries.read("rate", step_rate) } else { None };
    let sessions = if set.contains(sessions_key) && !mode.rte {
        entries.read(sessions_key, |text| whole(text, 0, MAX_SESSIONS))
    } else {
        None
    };
    PlanStep { mix, rate, sessions, controls: StepControls::read(entries), ..PlanStep::default() }
}
