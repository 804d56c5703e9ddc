//! Phases: what changes over the window of a run, from the plan to its steps.
//!
//! A phase sets keys of the plan for a while; what it does not set is as in the plan. Phases come as `[[phase]]` tables of
//! the plan file, or as lists in the values of keys, one for each phase. Within a phase a value may follow a curve: then
//! the phase is cut into steps.

use crate::controls;
use crate::curve::Template;
use crate::raw::{Given, Raw};
use crate::values::time;
use lydite_tpcc::Mix;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

/// A key that a phase may set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseKey {
    pub(crate) name: &'static str,
    /// True if its numbers are whole.
    whole: bool,
    /// True if its values have commas in them, so that a list of them has semicolons.
    commas: bool,
    /// True if the plan as a whole has the most of all phases.
    most: bool,
    /// True if it can't change where users are emulated.
    not_of_users: bool,
}

impl PhaseKey {
    /// A key whose values may have fractions, and have no commas.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, whole: false, commas: false, most: false, not_of_users: false }
    }

    /// With whole numbers.
    pub(crate) const fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// With commas in its values.
    pub(crate) const fn with_commas(self) -> Self {
        Self { commas: true, ..self }
    }

    /// With the most of all phases in the plan.
    const fn most(self) -> Self {
        Self { most: true, ..self }
    }

    /// That can't change where users are emulated.
    pub(crate) const fn not_of_users(self) -> Self {
        Self { not_of_users: true, ..self }
    }

    /// The character between the values of a list.
    fn separator(&self) -> char {
        if self.commas { ';' } else { ',' }
    }
}

/// The keys of no control.
const OWN_KEYS: &[PhaseKey] = &[
    PhaseKey::new("mix").with_commas(),
    PhaseKey::new("rate").most(),
    PhaseKey::new("terminals").whole().most().not_of_users(),
    PhaseKey::new("sessions").whole().most().not_of_users(),
];

/// The keys that a phase may set.
pub(crate) fn keys() -> impl Iterator<Item = &'static PhaseKey> {
    OWN_KEYS.iter().chain(controls::phase_keys())
}

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
pub(crate) struct Span {
    pub(crate) name: Option<String>,
    /// Since the window began.
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    /// What it sets, as it was written.
    pub(crate) asked: BTreeMap<String, String>,
}

impl Span {
    /// A value that it sets, as it was written.
    pub(crate) fn asked(&self, key: &str) -> Option<&str> {
        self.asked.get(key).map(String::as_str)
    }
}

/// What is controlled from a moment on until the next step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WantedStep {
    /// Since the window began.
    pub(crate) from: Duration,
    pub(crate) phase: usize,
    pub(crate) mix: Mix,
    /// Requests per second; none where the phases do not say.
    pub(crate) rate: Option<f64>,
    /// Sessions that play; none where the phases do not say.
    pub(crate) sessions: Option<u32>,
    pub(crate) controls: controls::OfStep,
}

/// What a step sets, before it is read.
type Values = BTreeMap<String, Given>;

/// The phases of a plan.
#[derive(Debug)]
pub(crate) struct Phases {
    /// At least one.
    pub(crate) spans: Vec<Span>,
    pub(crate) duration: Duration,
    steps: Vec<(Duration, usize, Values)>,
}

impl Phases {
    /// Takes the phases out of what was given, and leaves one value of each key. `given`: the window that the user wants;
    /// `usual`: that of a user who says nothing.
    pub(crate) fn take(raw: &mut Raw, given: Option<Duration>, usual: Duration) -> Self {
        let (spans, duration) = if raw.phases.is_empty() {
            Self::of_lists(raw, given, usual)
        } else {
            Self::of_tables(raw, given, usual)
        };
        let mut phases = Self { spans: Vec::new(), duration, steps: Vec::new() };
        let long: Duration = spans.iter().map(|(span, _)| span.to - span.from).sum();
        let step = STEP.max(long / MAX_STEPS);
        for (number, (mut span, values)) in spans.into_iter().enumerate() {
            span.asked = values.iter().map(|(key, given)| (key.clone(), given.text().to_owned())).collect();
            phases.cut(raw, number, &span, &values, step);
            phases.spans.push(span);
        }
        phases.settle(raw);
        phases
    }

    /// Phases of equal length, one for each value of the lists.
    fn of_lists(raw: &mut Raw, given: Option<Duration>, usual: Duration) -> (Vec<(Span, Values)>, Duration) {
        let lasts = raw.read("phase", lasting);
        let lists: Vec<(&str, Vec<Given>)> =
            keys().filter_map(|key| Some((key.name, raw.given(key.name)?.split(key.separator())))).collect();
        let count = lists.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
        if count > MAX_PHASES {
            for (key, _) in lists.iter().filter(|(_, values)| values.len() == count) {
                raw.wrong(key, &format!("has {count} phases, and there can be {MAX_PHASES}"));
            }
            return (Vec::new(), given.unwrap_or(usual));
        }
        for (key, values) in &lists {
            if values.len() != 1 && values.len() != count {
                raw.wrong(key, &format!("has values for {} phases, and there are {count}", values.len()));
                lists.iter().for_each(|(key, _)| raw.let_be(key));
                return (Vec::new(), given.unwrap_or(usual));
            }
        }
        if count == 1 && raw.text("phase").is_some() && raw.text("ci").is_none() {
            raw.wrong("phase", "needs a list of values that change from phase to phase, as --ci 10,40,50");
        }
        let phases = count as u32;
        let lasts = match (lasts, given) {
            (Some(lasts), None) => lasts,
            (Some(lasts), Some(given)) => {
                if lasts * phases != given {
                    let all = (lasts * phases).as_secs_f64();
                    let given = given.as_secs_f64();
                    let problem = format!(
                        "{phases} phases last {all} s together, and the window {given} s: leave one out"
                    );
                    raw.wrong("phase", &problem);
                }
                lasts
            }
            (None, given) => given.unwrap_or(usual) / phases,
        };
        // The window as it was asked for, whether or not its length can be divided.
        let duration = if raw.text("phase").is_some() { lasts * phases } else { given.unwrap_or(usual) };
        if phases > 1 && lasts < SHORTEST {
            raw.errors.push(format!(
                "{phases} phases in {} s are shorter than a millisecond each",
                duration.as_secs_f64()
            ));
            return (Vec::new(), duration);
        }
        let at = |number: u32| if number == phases { duration } else { duration / phases * number };
        let span = |number: u32| Span { from: at(number), to: at(number + 1), ..Span::default() };
        let values = |number: u32| {
            let value = |(key, values): &(&str, Vec<Given>)| {
                let own = if values.len() == 1 { 0 } else { number as usize };
                // What is the same in all phases is the plan's.
                (values.len() > 1 || !is_steady(&values[own]))
                    .then(|| ((*key).to_owned(), values[own].clone()))
            };
            lists.iter().filter_map(value).collect()
        };
        ((0..phases).map(|number| (span(number), values(number))).collect(), duration)
    }

    /// The phases of a file, and what lies between them.
    fn of_tables(raw: &mut Raw, given: Option<Duration>, usual: Duration) -> (Vec<(Span, Values)>, Duration) {
        if raw.text("phase").is_some() {
            raw.wrong("phase", "is given by the tables [[phase]] of the plan file too: leave one out");
        }
        let tables = std::mem::take(&mut raw.phases);
        for phase_key in keys() {
            let key = phase_key.name;
            let Some(given) = raw.given(key) else { continue };
            let list = given.split(phase_key.separator()).len() > 1;
            let where_set = tables.iter().position(|values| values.contains_key(key));
            if list || !is_steady(&given) {
                raw.wrong(key, "is a list or a curve, and the plan file has tables [[phase]]: put it there");
                raw.let_be(key);
            } else if let Some(phase) = where_set.filter(|_| given.is_flag()) {
                let phase = phase + 1;
                raw.wrong(key, &format!("would not hold in phase {phase} of the plan file, which sets it itself: leave one out"));
            }
        }
        if tables.len() > MAX_PHASES {
            raw.errors.push(format!(
                "the plan has {} tables [[phase]], and there can be {MAX_PHASES}",
                tables.len()
            ));
            return (Vec::new(), given.unwrap_or(usual));
        }
        let count = tables.len();
        let mut spans: Vec<(Span, Values)> = Vec::new();
        let mut end = Duration::ZERO;
        let mut broken = false;
        for (number, mut values) in tables.into_iter().enumerate() {
            let name = values.remove("name").map(|given| given.text().to_owned());
            let (from, lasts) = (values.remove("from"), values.remove("lasts"));
            let begins = from.as_ref().and_then(|from| raw.read_given(from, time));
            let from_at = begins.unwrap_or(end);
            if let Some(from) = &from
                && from_at < end
            {
                raw.wrong_given(
                    from,
                    &format!(
                        "phase {} begins before the one before it has ended, at {} s",
                        number + 1,
                        end.as_secs_f64()
                    ),
                );
            }
            let lasts = match &lasts {
                Some(lasts) => raw.read_given(lasts, lasting).unwrap_or(Duration::from_secs(1)),
                None => match given.filter(|given| number + 1 == count && *given > from_at) {
                    Some(given) => given - from_at,
                    None => {
                        let problem = format!(
                            "phase {} does not say how long it lasts: add lasts = \"20s\" (the last one may last until the \
                             end of the window, if that is after its beginning)",
                            number + 1
                        );
                        match from.as_ref().or(values.values().next()) {
                            Some(near) => raw.wrong_given(near, &problem),
                            None => raw.errors.push(problem),
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
            raw.wrong(
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

    /// The steps of a phase: one, or many if a value follows a curve.
    fn cut(&mut self, raw: &mut Raw, number: usize, span: &Span, values: &Values, step: Duration) {
        let (mut templates, mut unread) = (Vec::new(), Values::new());
        for (key, given) in values {
            match raw.read_given(given, Template::read) {
                Some(template) => templates.push((key, given, template)),
                // The phase sets the key all the same, however wrongly.
                None => drop(unread.insert(key.clone(), given.clone())),
            }
        }
        let lasts = span.to - span.from;
        for (_, given, template) in &templates {
            if let Some(problem) = template.too_fine(step) {
                raw.wrong_given(given, &problem);
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
            let value = |(key, given, template): &(&String, &Given, Template)| {
                let whole = keys().any(|known| known.name == key.as_str() && known.whole);
                let text = template.at(middle, lasts.as_secs_f64(), whole);
                ((*key).clone(), given.at_a_moment(text))
            };
            let set = templates.iter().map(value).chain(unread.clone()).collect();
            self.steps.push((span.from + from, number, set));
        }
    }

    /// Leaves the plan with one value of each key that only phases set, or that they set in its place: the most of all, or
    /// the first.
    fn settle(&self, raw: &mut Raw) {
        for phase_key in keys() {
            let key = phase_key.name;
            let of_phases = || self.steps.iter().filter_map(|(_, _, values)| values.get(key));
            let Some(first) = of_phases().next() else { continue };
            let number = |given: &&Given| given.text().trim().parse::<f64>().unwrap_or(f64::NAN);
            let most = of_phases().max_by(|one, other| number(one).total_cmp(&number(other)));
            let plan =
                raw.given(key).filter(|_| self.steps.iter().any(|(_, _, values)| !values.contains_key(key)));
            let value = match (phase_key.most, plan) {
                (false, Some(_)) => continue,
                (false, None) => first,
                (true, Some(plan)) if most.is_none_or(|most| number(&most) <= number(&&plan)) => continue,
                (true, _) => most.unwrap_or(first),
            };
            raw.take_given(key, value.clone());
        }
    }

    /// Reads the steps, each by what it sets and what the plan says besides; errors are told once. `open`: the mode is open;
    /// `rte`: users are emulated.
    pub(crate) fn steps(&self, raw: &mut Raw, base: &Raw, (open, rte): (bool, bool)) -> Vec<WantedStep> {
        let mut steps: Vec<WantedStep> = Vec::new();
        let mut last: Option<&Values> = None;
        let set: BTreeSet<&str> =
            self.steps.iter().flat_map(|(_, _, values)| values.keys().map(String::as_str)).collect();
        let mut told = BTreeSet::new();
        for (from, phase, values) in &self.steps {
            let step = match steps.last() {
                Some(step) if last == Some(values) => step.clone(),
                _ => {
                    let mut own = raw.but(base, values);
                    let step = read(&mut own, values, &set, (open, rte));
                    for error in own.errors {
                        // Each step of a curve would say the same of another number.
                        let place = error.split('"').next().unwrap_or_default().to_owned();
                        if !raw.errors.contains(&error) && told.insert((*phase, place)) {
                            raw.errors.push(error);
                        }
                    }
                    step
                }
            };
            last = Some(values);
            steps.push(WantedStep { from: *from, phase: *phase, ..step });
        }
        steps
    }
}

/// How long a phase lasts.
fn lasting(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("must be more than zero".into()),
        time => Ok(time),
    }
}

/// Whether a value is the same all the time: it has no curve in it, nor what was meant for one.
fn is_steady(given: &Given) -> bool {
    Template::read(given.text()).is_ok_and(|template| !template.moves())
}

/// Reads what is controlled. `values`: what the phase itself sets; `set`: the keys that any phase sets.
fn read(raw: &mut Raw, values: &Values, set: &BTreeSet<&str>, (open, rte): (bool, bool)) -> WantedStep {
    if rte {
        for key in keys().filter(|key| key.not_of_users) {
            if let Some(given) = values.get(key.name) {
                raw.wrong_given(given, "can't change where users are emulated: use --mode direct or open");
            }
        }
    }
    let sessions_key = if set.contains("sessions") { "sessions" } else { "terminals" };
    for key in ["rate", sessions_key] {
        if set.contains(key) && !rte && raw.text(key).is_none() {
            raw.errors.push(format!(
                "{key} changes in a phase, and there is none for the other phases: give the plan a {key}, or each phase"
            ));
        }
    }
    let mix = raw.read("mix", read_mix).unwrap_or_default();
    let rate = if set.contains("rate") && open { raw.read("rate", crate::values::step_rate) } else { None };
    let sessions = if set.contains(sessions_key) && !rte {
        raw.read(sessions_key, |text| crate::values::whole(text, 0, crate::values::MAX_SESSIONS))
    } else {
        None
    };
    WantedStep { mix, rate, sessions, controls: controls::OfStep::read(raw), ..WantedStep::default() }
}

/// Reads a mix. Shares that follow curves may miss 100 by their rounding: the greatest makes up for it.
pub(crate) fn read_mix(text: &str) -> Result<Mix, String> {
    let exact = Mix::from_str(text).map_err(|error| error.to_string());
    // Each with what stands before it: nothing, or its name and `=`.
    let share = |part: &str| -> Option<(String, f64)> {
        let (name, share) = part.split_at(part.rfind('=').map_or(0, |at| at + 1));
        Some((name.to_owned(), share.trim().parse().ok()?))
    };
    let shares: Option<Vec<(String, f64)>> = text.split(',').map(share).collect();
    let (Err(_), Some(mut shares)) = (&exact, shares) else { return exact };
    if (100.0 - shares.iter().map(|(_, share)| share).sum::<f64>()).abs() > 0.01 {
        return exact;
    }
    let thousandths = |share: f64| (share * 1e3).round() / 1e3;
    shares.iter_mut().for_each(|(_, share)| *share = thousandths(*share));
    let missing = 100.0 - shares.iter().map(|(_, share)| share).sum::<f64>();
    if let Some((_, greatest)) = shares.iter_mut().max_by(|(_, one), (_, other)| one.total_cmp(other)) {
        *greatest = thousandths(*greatest + missing);
    }
    let text: Vec<String> = shares.iter().map(|(name, share)| format!("{name}{share}")).collect();
    Mix::from_str(&text.join(",")).map_err(|error| error.to_string())
}
