//! Phases as lists: phases of equal length, one for each value.

use super::{MAX_PHASES, SHORTEST, Span, Uncut, Values, WindowLength, is_steady, phase_length};
use crate::entries::{Entries, Entry};
use crate::phase_key::PhaseKey;

/// A key with the values of its list; one value holds in all phases.
type List = (&'static str, Vec<Entry>);

/// Reads the phases from the values of `keys`.
pub(super) fn read(entries: &mut Entries, keys: &[&'static PhaseKey], window: WindowLength) -> Uncut {
    let lasts = entries.read("phase", phase_length);
    let lists: Vec<List> = keys
        .iter()
        .filter_map(|key| Some((key.name, entries.entry(key.name)?.split(key.separator()))))
        .collect();
    let Some(count) = count(entries, &lists) else {
        return Uncut { phases: Vec::new(), duration: window.or_default() };
    };
    if count == 1 && entries.text("phase").is_some() && entries.text("ci").is_none() {
        entries.wrong("phase", "needs a list of values that change from phase to phase, as --ci 10,40,50");
    }
    let duration = lasts.map_or(window.or_default(), |lasts| lasts * count);
    if let (Some(_), Some(configured)) = (lasts, window.configured)
        && duration != configured
    {
        let (all, window) = (duration.as_secs_f64(), configured.as_secs_f64());
        let problem =
            format!("{count} phases last {all} s together, and the window {window} s: leave one out");
        entries.wrong("phase", &problem);
    }
    if count > 1 && duration / count < SHORTEST {
        entries.errors.push(format!(
            "{count} phases in {} s are shorter than a millisecond each",
            duration.as_secs_f64()
        ));
        return Uncut { phases: Vec::new(), duration };
    }
    // The last phase takes the remainder of the division.
    let begin = |number: u32| if number == count { duration } else { duration / count * number };
    let span = |number: u32| Span { from: begin(number), to: begin(number + 1), ..Span::default() };
    let phases = (0..count).map(|number| (span(number), values(&lists, number as usize))).collect();
    Uncut { phases, duration }
}

/// Returns the number of phases; none, with an error, if there are too many or the lists differ in length.
fn count(entries: &mut Entries, lists: &[List]) -> Option<u32> {
    let count = lists.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    if count > MAX_PHASES {
        for (key, _) in lists.iter().filter(|(_, values)| values.len() == count) {
            entries.wrong(key, &format!("has {count} phases, and there can be {MAX_PHASES}"));
        }
        return None;
    }
    if let Some((key, values)) = lists.iter().find(|(_, values)| values.len() != 1 && values.len() != count) {
        entries.wrong(key, &format!("has values for {} phases, and there are {count}", values.len()));
        lists.iter().for_each(|(key, _)| entries.silence(key));
        return None;
    }
    Some(count as u32)
}

/// Returns the values that a phase sets. A single value without a curve is the plan's and not set by the phase.
fn values(lists: &[List], number: usize) -> Values {
    let value = |(key, values): &List| match &values[..] {
        [only] => (!is_steady(only)).then(|| ((*key).to_owned(), only.clone())),
        many => Some(((*key).to_owned(), many[number].clone())),
    };
    lists.iter().filter_map(value).collect()
}
