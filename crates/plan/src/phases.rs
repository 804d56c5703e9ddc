//! Phases: what changes over the window of a run, from the plan to its steps.
//!
//! A phase sets keys of the plan for a while; what it does not set is as in the plan. Phases come as `[[phase]]` tables of
//! the plan file, or as lists in the values of keys, one for each phase. Within a phase a value may follow a curve: then
//! the phase is cut into steps.

use crate::curve::Template;
use crate::entries::{Entries, Entry};
use crate::phase_key::PhaseKey;
use crate::values::time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The shortest phase of a list.
const SHORTEST: Duration = Duration::from_millis(1);
/// How often a curve is looked at.
const STEP: Duration = Duration::from_millis(250);
/// The most phases: a figure of more shows nothing.
const MAX_PHASES: usize = 1_000;
/// The most steps of a run; the steps of long curves are longer.
const MAX_STEPS: u32 = 10_000;

/// A phase as it was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// Its name, if the user gave it one.
    pub name: Option<String>,
    /// Beginning, since the window began.
    pub from: Duration,
    /// End, since the window began.
    pub to: Duration,
    /// Values that it sets, as they were written, by key.
    pub asked: BTreeMap<String, String>,
}

impl Span {
    /// Returns a value that it sets, as it was written.
    #[must_use]
    pub fn asked(&self, key: &str) -> Option<&str> {
        self.asked.get(key).map(String::as_str)
    }
}

/// What a step sets, before it is read.
pub(crate) type Values = BTreeMap<String, Entry>;

/// The phases of a plan.
#[derive(Debug)]
pub(crate) struct Phases {
    /// Keys that a phase may set.
    keys: Vec<&'static PhaseKey>,
    /// Phases in the order of time, at least one.
    pub(crate) spans: Vec<Span>,
    /// Length of the window.
    pub(crate) duration: Duration,
    /// The beginning of each step, the number of its phase, and the values that the phase sets there.
    steps: Vec<(Duration, usize, Values)>,
}

impl Phases {
    /// Takes the phases out of what was given, and leaves one value of each key. `given`: the window that the user wants;
    /// `usual`: that of a user who says nothing.
    pub(crate) fn take(
        entries: &mut Entries,
        keys: Vec<&'static PhaseKey>,
        given: Option<Duration>,
        usual: Duration,
    ) -> Self {
        let (spans, duration) = if entries.phases.is_empty() {
            of_lists(entries, &keys, given, usual)
        } else {
            of_tables(entries, &keys, given, usual)
        };
        let mut phases = Self { keys, spans: Vec::new(), duration, steps: Vec::new() };
        let long: Duration = spans.iter().map(|(span, _)| span.to - span.from).sum();
        let step = STEP.max(long / MAX_STEPS);
        for (number, (mut span, values)) in spans.into_iter().enumerate() {
            span.asked = values.iter().map(|(key, given)| (key.clone(), given.text().to_owned())).collect();
            phases.cut(entries, number, &span, &values, step);
            phases.spans.push(span);
        }
        phases.settle(entries);
        phases
    }

    /// The steps of a phase: one, or many if a value follows a curve.
    fn cut(&mut self, entries: &mut Entries, number: usize, span: &Span, values: &Values, step: Duration) {
        let (mut templates, mut unread) = (Vec::new(), Values::new());
        for (key, given) in values {
            match entries.read_entry(given, Template::read) {
                Some(template) => templates.push((key, given, template)),
                // The phase sets the key all the same, however wrongly.
                None => drop(unread.insert(key.clone(), given.clone())),
            }
        }
        let lasts = span.to - span.from;
        for (_, given, template) in &templates {
            if let Some(problem) = template.too_fine(step) {
                entries.wrong_entry(given, &problem);
            }
        }
        let steps = if templates.iter().any(|(_, _, template)| template.flows()) {
            lasts.div_duration_f64(step).ceil().max(1.0) as u32
        } else {
            1
        };
        let jumps = templates.iter().flat_map(|(_, _, template)| template.jumps());
        let jumps = jumps.map(|part| lasts.mul_f64(part));
        let mut cuts: Vec<Duration> =
            (0..steps).map(|cut| lasts / steps * cut).chain(jumps).chain([lasts]).collect();
        cuts.sort_unstable();
        cuts.dedup_by(|one, other| one.abs_diff(*other) < SHORTEST);
        for cut in cuts.windows(2) {
            let &[from, to] = cut else { continue };
            // The middle stands for all of the step.
            let middle = (from.as_secs_f64() + to.as_secs_f64()) / 2.0;
            let value = |(key, given, template): &(&String, &Entry, Template)| {
                let whole = self.keys.iter().any(|known| known.name == key.as_str() && known.whole);
                let text = template.at(middle, lasts.as_secs_f64(), whole);
                ((*key).clone(), given.at_a_moment(text))
            };
            let set = templates.iter().map(value).chain(unread.clone()).collect();
            self.steps.push((span.from + from, number, set));
        }
    }

    /// Leaves the plan with one value of each key that only phases set, or that they set in its place: the most of all, or
    /// the first.
    fn settle(&self, entries: &mut Entries) {
        for phase_key in &self.keys {
            let key = phase_key.name;
            let of_phases = || self.steps.iter().filter_map(|(_, _, values)| values.get(key));
            let Some(first) = of_phases().next() else { continue };
            let number = |given: &&Entry| given.text().trim().parse::<f64>().unwrap_or(f64::NAN);
            let most = of_phases().max_by(|one, other| number(one).total_cmp(&number(other)));
            let plan = entries
                .entry(key)
                .filter(|_| self.steps.iter().any(|(_, _, values)| !values.contains_key(key)));
            let value = match (phase_key.greatest, plan) {
                (false, Some(_)) => continue,
                (false, None) => first,
                (true, Some(plan)) if most.is_none_or(|most| number(&most) <= number(&&plan)) => continue,
                (true, _) => most.unwrap_or(first),
            };
            entries.put_entry(key, value.clone());
        }
    }

    /// Returns the keys that any phase sets.
    pub(crate) fn set_keys(&self) -> BTreeSet<String> {
        self.steps.iter().flat_map(|(_, _, values)| values.keys().cloned()).collect()
    }

    /// Reads each step with `read`, which gets the plan's entries with those of the step in their place, and the values
    /// that the phase itself sets. Each error is reported once. Returns the beginning and the phase of each step with it.
    pub(crate) fn read_steps<S: Clone>(
        &self,
        entries: &mut Entries,
        base: &Entries,
        mut read: impl FnMut(&mut Entries, &Values) -> S,
    ) -> Vec<(Duration, usize, S)> {
        let mut steps: Vec<(Duration, usize, S)> = Vec::new();
        let mut last: Option<&Values> = None;
        let mut reported = BTreeSet::new();
        for (from, phase, values) in &self.steps {
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

/// Phases of equal length, one for each value of the lists.
fn of_lists(
    entries: &mut Entries,
    keys: &[&'static PhaseKey],
    given: Option<Duration>,
    usual: Duration,
) -> (Vec<(Span, Values)>, Duration) {
    let lasts = entries.read("phase", lasting);
    let lists: Vec<(&str, Vec<Entry>)> = keys
        .iter()
        .filter_map(|key| Some((key.name, entries.entry(key.name)?.split(key.separator()))))
        .collect();
    let count = lists.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    if count > MAX_PHASES {
        for (key, _) in lists.iter().filter(|(_, values)| values.len() == count) {
            entries.wrong(key, &format!("has {count} phases, and there can be {MAX_PHASES}"));
        }
        return (Vec::new(), given.unwrap_or(usual));
    }
    for (key, values) in &lists {
        if values.len() != 1 && values.len() != count {
            entries.wrong(key, &format!("has values for {} phases, and there are {count}", values.len()));
            lists.iter().for_each(|(key, _)| entries.silence(key));
            return (Vec::new(), given.unwrap_or(usual));
        }
    }
    if count == 1 && entries.text("phase").is_some() && entries.text("ci").is_none() {
        entries.wrong("phase", "needs a list of values that change from phase to phase, as --ci 10,40,50");
    }
    let phases = count as u32;
    let lasts = match (lasts, given) {
        (Some(lasts), None) => lasts,
        (Some(lasts), Some(given)) => {
            if lasts * phases != given {
                let all = (lasts * phases).as_secs_f64();
                let given = given.as_secs_f64();
                let problem =
                    format!("{phases} phases last {all} s together, and the window {given} s: leave one out");
                entries.wrong("phase", &problem);
            }
            lasts
        }
        (None, given) => given.unwrap_or(usual) / phases,
    };
    // The window as it was asked for, whether or not its length can be divided.
    let duration = if entries.text("phase").is_some() { lasts * phases } else { given.unwrap_or(usual) };
    if phases > 1 && lasts < SHORTEST {
        entries.errors.push(format!(
            "{phases} phases in {} s are shorter than a millisecond each",
            duration.as_secs_f64()
        ));
        return (Vec::new(), duration);
    }
    let at = |number: u32| if number == phases { duration } else { duration / phases * number };
    let span = |number: u32| Span { from: at(number), to: at(number + 1), ..Span::default() };
    let values = |number: u32| {
        let value = |(key, values): &(&str, Vec<Entry>)| {
            let own = if values.len() == 1 { 0 } else { number as usize };
            // What is the same in all phases is the plan's.
            (values.len() > 1 || !is_steady(&values[own])).then(|| ((*key).to_owned(), values[own].clone()))
        };
        lists.iter().filter_map(value).collect()
    };
    ((0..phases).map(|number| (span(number), values(number))).collect(), duration)
}

/// The phases of a file, and what lies between them.
fn of_tables(
    entries: &mut Entries,
    keys: &[&'static PhaseKey],
    given: Option<Duration>,
    usual: Duration,
) -> (Vec<(Span, Values)>, Duration) {
    if entries.text("phase").is_some() {
        entries.wrong("phase", "is given by the tables [[phase]] of the plan file too: leave one out");
    }
    let tables = std::mem::take(&mut entries.phases);
    for phase_key in keys {
        let key = phase_key.name;
        let Some(given) = entries.entry(key) else { continue };
        let list = given.split(phase_key.separator()).len() > 1;
        let where_set = tables.iter().position(|values| values.contains_key(key));
        if list || !is_steady(&given) {
            entries.wrong(key, "is a list or a curve, and the plan file has tables [[phase]]: put it there");
            entries.silence(key);
        } else if let Some(phase) = where_set.filter(|_| given.is_flag()) {
            let phase = phase + 1;
            entries.wrong(
                key,
                &format!(
                    "would not hold in phase {phase} of the plan file, which sets it itself: leave one out"
                ),
            );
        }
    }
    if tables.len() > MAX_PHASES {
        entries
            .errors
            .push(format!("the plan has {} tables [[phase]], and there can be {MAX_PHASES}", tables.len()));
        return (Vec::new(), given.unwrap_or(usual));
    }
    let count = tables.len();
    let mut spans: Vec<(Span, Values)> = Vec::new();
    let mut end = Duration::ZERO;
    let mut broken = false;
    for (number, mut values) in tables.into_iter().enumerate() {
        let name = values.remove("name").map(|given| given.text().to_owned());
        let (from, lasts) = (values.remove("from"), values.remove("lasts"));
        let begins = from.as_ref().and_then(|from| entries.read_entry(from, time));
        let from_at = begins.unwrap_or(end);
        if let Some(from) = &from
            && from_at < end
        {
            entries.wrong_entry(
                from,
                &format!(
                    "phase {} begins before the one before it has ended, at {} s",
                    number + 1,
                    end.as_secs_f64()
                ),
            );
        }
        let lasts = match &lasts {
            Some(lasts) => entries.read_entry(lasts, lasting).unwrap_or(Duration::from_secs(1)),
            None => match given.filter(|given| number + 1 == count && *given > from_at) {
                Some(given) => given - from_at,
                None => {
                    let problem = format!(
                        "phase {} does not say how long it lasts: add lasts = \"20s\" (the last one may last until the \
                         end of the window, if that is after its beginning)",
                        number + 1
                    );
                    match from.as_ref().or(values.values().next()) {
                        Some(near) => entries.wrong_entry(near, &problem),
                        None => entries.errors.push(problem),
                    }
                    broken = true;
                    Duration::from_secs(1)
                }
            },
        };
        if from_at > end {
            // As the plan has it.
            spans.push((Span { from: end, to: from_at, ..Span::default() }, Values::new()));
        }
        let to = from_at + lasts;
        spans.push((Span { name, from: from_at, to, ..Span::default() }, values));
        end = end.max(to);
    }
    let duration = given.unwrap_or(end);
    if end > duration && !broken {
        entries.wrong(
            "duration",
            &format!(
                "is {} s, and the phases last until {} s: make it longer, or leave it out",
                duration.as_secs_f64(),
                end.as_secs_f64()
            ),
        );
    } else if end < duration {
        spans.push((Span { from: end, to: duration, ..Span::default() }, Values::new()));
    }
    (spans, duration)
}

/// How long a phase lasts.
fn lasting(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("must be more than zero".into()),
        time => Ok(time),
    }
}

/// Whether a value is the same all the time: it has no curve in it, nor what was meant for one.
fn is_steady(given: &Entry) -> bool {
    Template::read(given.text()).is_ok_and(|template| !template.moves())
}
