//! Phases as tables `[[phase]]` of the plan file, and the gaps between them.

use super::{MAX_PHASES, Span, Uncut, Values, WindowLength, is_steady, phase_length};
use crate::entries::{Entries, Entry};
use crate::phase_key::PhaseKey;
use crate::values::time;
use std::time::Duration;

/// The length of a phase whose configured length is missing or wrong, so that errors of the others are found.
const PLACEHOLDER: Duration = Duration::from_secs(1);

/// Takes the phases out of the tables, which may set `keys`.
pub(super) fn take(entries: &mut Entries, keys: &[&'static PhaseKey], window: WindowLength) -> Uncut {
    if entries.text("phase").is_some() {
        entries.wrong("phase", "is given by the tables [[phase]] of the plan file too: leave one out");
    }
    let tables = std::mem::take(&mut entries.phases);
    reject_conflicts(entries, keys, &tables);
    let count = tables.len();
    if count > MAX_PHASES {
        let problem = format!("the plan has {count} tables [[phase]], and there can be {MAX_PHASES}");
        entries.errors.push(problem);
        return Uncut { phases: Vec::new(), duration: window.or_default() };
    }
    let mut timeline = Timeline::default();
    for (number, table) in (1..).zip(tables) {
        let until = window.configured.filter(|_| number == count);
        timeline.add(entries, number, table, until);
    }
    timeline.fill(entries, window.configured)
}

/// Rejects values of the plan that contradict its tables: lists, curves, and flags for keys that a phase sets.
fn reject_conflicts(entries: &mut Entries, keys: &[&'static PhaseKey], tables: &[Values]) {
    for phase_key in keys {
        let key = phase_key.name;
        let Some(entry) = entries.entry(key) else { continue };
        let is_list = entry.split(phase_key.separator()).len() > 1;
        if is_list || !is_steady(&entry) {
            entries.wrong(key, "is a list or a curve, and the plan file has tables [[phase]]: put it there");
            entries.silence(key);
        } else if entry.is_flag()
            && let Some(table) = tables.iter().position(|values| values.contains_key(key))
        {
            let phase = table + 1;
            let problem = format!(
                "would not hold in phase {phase} of the plan file, which sets it itself: leave one out"
            );
            entries.wrong(key, &problem);
        }
    }
}

/// The phases up to a moment of the window.
#[derive(Default)]
struct Timeline {
    phases: Vec<(Span, Values)>,
    /// The end of the last phase.
    end: Duration,
    /// True if the length of a phase is missing.
    incomplete: bool,
}

impl Timeline {
    /// Adds a table, the `number`th from 1. If it has no length, it lasts until `until`.
    fn add(&mut self, entries: &mut Entries, number: usize, mut table: Values, until: Option<Duration>) {
        let name = table.remove("name").map(|entry| entry.text().to_owned());
        let (from, lasts) = (table.remove("from"), table.remove("lasts"));
        let begin = from.as_ref().and_then(|from| entries.read_entry(from, time)).unwrap_or(self.end);
        if let Some(from) = &from
            && begin < self.end
        {
            let end = self.end.as_secs_f64();
            let problem = format!("phase {number} begins before the one before it has ended, at {end} s");
            entries.wrong_entry(from, &problem);
        }
        let lasts = match (&lasts, until.filter(|until| *until > begin)) {
            (Some(lasts), _) => entries.read_entry(lasts, phase_length).unwrap_or(PLACEHOLDER),
            (None, Some(until)) => until - begin,
            (None, None) => {
                reject_unknown_length(entries, number, from.as_ref().or(table.values().next()));
                self.incomplete = true;
                PLACEHOLDER
            }
        };
        self.fill_gap(begin);
        let to = begin + lasts;
        self.phases.push((Span { name, from: begin, to, ..Span::default() }, table));
        self.end = self.end.max(to);
    }

    /// Adds a phase with the values of the plan until `to`, if the last phase has ended before.
    fn fill_gap(&mut self, to: Duration) {
        if self.end < to {
            self.phases.push((Span { from: self.end, to, ..Span::default() }, Values::new()));
            self.end = to;
        }
    }

    /// Fills the window, and rejects one that is too short for the phases.
    fn fill(mut self, entries: &mut Entries, window: Option<Duration>) -> Uncut {
        let (end, duration) = (self.end, window.unwrap_or(self.end));
        if end > duration && !self.incomplete {
            let problem = format!(
                "is {} s, and the phases last until {} s: make it longer, or leave it out",
                duration.as_secs_f64(),
                end.as_secs_f64()
            );
            entries.wrong("duration", &problem);
        }
        self.fill_gap(duration);
        Uncut { phases: self.phases, duration }
    }
}

/// Rejects a phase of unknown length, at the place of `near`, an entry of its table.
fn reject_unknown_length(entries: &mut Entries, number: usize, near: Option<&Entry>) {
    let problem = format!(
        "phase {number} does not say how long it lasts: add lasts = \"20s\" (the last one may last until the end of \
         the window, if that is after its beginning)"
    );
    match near {
        Some(near) => entries.wrong_entry(near, &problem),
        None => entries.errors.push(problem),
    }
}
