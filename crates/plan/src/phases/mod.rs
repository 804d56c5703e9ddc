//! Phases of the window, and the steps that they are cut into.
//!
//! A phase sets keys of the plan for a part of the window; keys that it does not set keep the plan's values. The plan
//! has phases as `[[phase]]` tables of its file ([`tables`]), or as lists in the values of keys ([`lists`]). Within a
//! phase a value may follow a curve; then the phase is cut into steps.

mod lists;
mod tables;

use crate::curve::Template;
use crate::entries::{Entries, Entry};
use crate::phase_key::PhaseKey;
use crate::problem::Problem;
use crate::values::time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The shortest phase of a list.
const SHORTEST: Duration = Duration::from_millis(1);
/// The length of a step of a curve.
const STEP: Duration = Duration::from_millis(250);
/// The most phases: no figure can show more.
const MAX_PHASES: usize = 1_000;
/// The most steps of a run; long curves have longer steps.
const MAX_STEPS: u32 = 10_000;

/// A phase of the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// The user's name for it.
    pub name: Option<String>,
    /// Beginning, since the window began.
    pub from: Duration,
    /// End, since the window began.
    pub to: Duration,
    /// The values that it sets by key, as the user wrote them.
    pub asked: BTreeMap<String, String>,
}

impl Span {
    /// Returns the value that it sets for a key, as the user wrote it.
    #[must_use]
    pub fn asked(&self, key: &str) -> Option<&str> {
        self.asked.get(key).map(String::as_str)
    }
}

/// The values that a phase or a step sets, by key.
pub(crate) type Values = BTreeMap<String, Entry>;

/// The length of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowLength {
    /// The length in the plan.
    pub(crate) configured: Option<Duration>,
    /// The length of a plan that sets neither this nor phases.
    pub(crate) default: Duration,
}

impl WindowLength {
    fn or_default(self) -> Duration {
        self.configured.unwrap_or(self.default)
    }
}

/// Phases with the values that each sets, before they are cut into steps.
struct Uncut {
    /// Phases in the order of time; none if the plan has an error.
    phases: Vec<(Span, Values)>,
    /// Length of the window.
    duration: Duration,
}

/// A part of a phase without a change of any value.
#[derive(Debug)]
struct CutStep {
    /// Beginning, since the window began.
    from: Duration,
    /// Number of its phase.
    phase: usize,
    /// The values that the phase sets there.
    values: Values,
}

/// The phases of a plan.
#[derive(Debug)]
pub(crate) struct Phases {
    /// Keys that a phase may set.
    keys: Vec<&'static PhaseKey>,
    /// Phases in the order of time, at least one.
    pub(crate) spans: Vec<Span>,
    /// Length of the window.
    pub(crate) duration: Duration,
    steps: Vec<CutStep>,
}

impl Phases {
    /// Takes the phases out of the entries, and leaves one value of each key.
    pub(crate) fn take(entries: &mut Entries, keys: Vec<&'static PhaseKey>, window: WindowLength) -> Self {
        let uncut = if entries.phases.is_empty() {
            lists::read(entries, &keys, window)
        } else {
            tables::take(entries, &keys, window)
        };
        let mut phases = Self { keys, spans: Vec::new(), duration: uncut.duration, steps: Vec::new() };
        let all: Duration = uncut.phases.iter().map(|(span, _)| span.to - span.from).sum();
        let step = STEP.max(all / MAX_STEPS);
        for (number, (mut span, values)) in uncut.phases.into_iter().enumerate() {
            span.asked = values.iter().map(|(key, entry)| (key.clone(), entry.text().to_owned())).collect();
            phases.cut(entries, number, &span, &values, step);
            phases.spans.push(span);
        }
        phases.settle(entries);
        phases
    }

    /// Adds the steps of a phase: one, or several of the length `step` if a value follows a curve.
    fn cut(&mut self, entries: &mut Entries, number: usize, span: &Span, values: &Values, step: Duration) {
        let (mut templates, mut unread) = (Vec::new(), Values::new());
        for (key, entry) in values {
            match entries.read_entry(entry, Template::read) {
                Some(template) => templates.push((key, entry, template)),
                // The phase sets the key even if its value is wrong.
                None => drop(unread.insert(key.clone(), entry.clone())),
            }
        }
        let lasts = span.to - span.from;
        for (_, entry, template) in &templates {
            if let Some(problem) = template.too_fine(step) {
                entries.wrong_entry(entry, &problem);
            }
        }
        let steps = if templates.iter().any(|(_, _, template)| template.flows()) {
            lasts.div_duration_f64(step).ceil().max(1.0) as u32
        } else {
            1
        };
        let jumps = templates.iter().flat_map(|(_, _, template)| template.jumps());
        let jumps = jumps.map(|part| lasts.mul_f64(part));
        // Each phase has a step, however short it is: only cuts within it can be too close to others.
        let mut cuts: Vec<Duration> = (1..steps)
            .map(|cut| lasts / steps * cut)
            .chain(jumps)
            .filter(|cut| *cut >= SHORTEST && *cut + SHORTEST <= lasts)
            .collect();
        cuts.sort_unstable();
        cuts.dedup_by(|one, other| one.abs_diff(*other) < SHORTEST);
        cuts.insert(0, Duration::ZERO);
        cuts.push(lasts);
        for cut in cuts.windows(2) {
            let &[from, to] = cut else { continue };
            // The value in the middle holds for the whole step.
            let middle = (from.as_secs_f64() + to.as_secs_f64()) / 2.0;
            let value = |(key, entry, template): &(&String, &Entry, Template)| {
                let whole = self.keys.iter().any(|known| known.name == key.as_str() && known.whole);
                let text = template.at(middle, lasts.as_secs_f64(), whole);
                ((*key).clone(), entry.at_a_moment(text))
            };
            let values = templates.iter().map(value).chain(unread.clone()).collect();
            self.steps.push(CutStep { from: span.from + from, phase: number, values });
        }
    }

    /// Gives the plan one value for each key that phases set: the greatest of all if the key is such a one, else the
    /// first, unless the plan's own value holds in a step.
    fn settle(&self, entries: &mut Entries) {
        for phase_key in &self.keys {
            let key = phase_key.name;
            let of_steps = || self.steps.iter().filter_map(|step| step.values.get(key));
            let Some(first) = of_steps().next() else { continue };
            let number = |entry: &Entry| entry.text().trim().parse::<f64>().unwrap_or(f64::NAN);
            let greatest = of_steps().max_by(|one, other| number(one).total_cmp(&number(other)));
            let greatest = greatest.unwrap_or(first);
            let plan =
                entries.entry(key).filter(|_| self.steps.iter().any(|step| !step.values.contains_key(key)));
            let value = match (phase_key.greatest, plan) {
                (false, Some(_)) => continue,
                (false, None) => first,
                (true, Some(plan)) if number(greatest) <= number(&plan) => continue,
                (true, _) => greatest,
            };
            entries.put_entry(key, value.clone());
        }
    }

    /// Returns the keys that any phase sets.
    pub(crate) fn set_keys(&self) -> BTreeSet<String> {
        self.steps.iter().flat_map(|step| step.values.keys().cloned()).collect()
    }

    /// Reads each step with `read`, which gets the plan's entries overlaid with the step's values, and these values
    /// alone. Reports each error once. Returns the beginning and the phase of each step with it.
    pub(crate) fn read_steps<S: Clone>(
        &self,
        entries: &mut Entries,
        base: &Entries,
        mut read: impl FnMut(&mut Entries, &Values) -> S,
    ) -> Vec<(Duration, usize, S)> {
        let mut steps: Vec<(Duration, usize, S)> = Vec::new();
        let mut last: Option<&Values> = None;
        let mut reported = BTreeSet::new();
        for CutStep { from, phase, values } in &self.steps {
            let step = match steps.last() {
                Some((_, _, step)) if last == Some(values) => step.clone(),
                _ => {
                    let mut own = entries.for_step(base, values);
                    let step = read(&mut own, values);
                    for error in own.errors {
                        // Each step of a curve would give the same error with another number.
                        let place = error.split('"').next().unwrap_or_default().to_owned();
                        if !entries.errors.contains(&error) && reported.insert((*phase, place)) {
                            entries.errors.push(error);
                        }
                    }
                    step
                }
            };
            last = Some(values);
            steps.push((*from, *phase, step));
        }
        steps
    }
}

/// Reads the length of a phase.
fn phase_length(text: &str) -> Result<Duration, Problem> {
    match time(text)? {
        Duration::ZERO => Err("must be more than zero".into()),
        time => Ok(time),
    }
}

/// Returns true if a value never changes: it has no curve, not even a wrong one.
fn is_steady(entry: &Entry) -> bool {
    Template::read(entry.text()).is_ok_and(|template| !template.moves())
}
