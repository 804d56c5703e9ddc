//! The numbers of the runs, beside the metric, that changed most: they tell where the difference is.

use crate::played::{Measure, Played};
use crate::progress::Slot;
use lydite_decide::of_pairs;
use lydite_report::ab::Change;
use std::collections::BTreeMap;

/// Fewest pairs that show that a number is one side's alone. One that half of all runs have by chance would be listed in 2 of
/// 256 experiments of four pairs, and in 2 of 16 of two.
const LEAST_OF_ONE_SIDE: usize = 4;

/// Error of an interval that calls a number changed. There are many numbers, and some change by chance.
const ERROR: f64 = 0.01;
/// Fewest pairs that show a change.
const PAIRS: usize = 2;
/// Most numbers of each group.
const MOST: usize = 25;

/// The values of a number in the pairs, 0 where a run has none.
type Values = Vec<(f64, f64)>;

/// Returns the numbers that changed between the sides of these pairs, those that changed most first within each group.
pub(crate) fn changes(pairs: &[&Slot]) -> Vec<Change> {
    let both: Vec<(&Played, &Played)> = pairs.iter().filter_map(|slot| slot.both()).collect();
    if both.len() < PAIRS {
        return Vec::new();
    }
    let mut values: BTreeMap<(&'static str, &str, &str), Values> = BTreeMap::new();
    for (place, (a, b)) in both.iter().enumerate() {
        for (is_b, run) in [(false, a), (true, b)] {
            for Measure { group, name, unit, value } in &run.numbers {
                let all = values
                    .entry((*group, name.as_str(), unit.as_str()))
                    .or_insert_with(|| vec![(0.0, 0.0); both.len()]);
                if let Some(pair) = all.get_mut(place) {
                    *(if is_b { &mut pair.1 } else { &mut pair.0 }) += value;
                }
            }
        }
    }
    let mut found: Vec<(f64, Change)> = values
        .into_iter()
        .filter_map(|((group, name, unit), values)| change(group, name, unit, &values))
        .collect();
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    found.retain(|(_, change)| {
        let count = kept.entry(change.group).or_default();
        *count += 1;
        *count <= MOST
    });
    found.into_iter().map(|(_, change)| change).collect()
}

/// Returns a number with the size of its change, if it changed.
fn change(group: &'static str, name: &str, unit: &str, values: &[(f64, f64)]) -> Option<(f64, Change)> {
    let count = values.len() as f64;
    let a = values.iter().map(|pair| pair.0).sum::<f64>() / count;
    let b = values.iter().map(|pair| pair.1).sum::<f64>() / count;
    let whole = |ratio: Option<f64>, low: Option<f64>, high: Option<f64>| Change {
        group,
        name: name.to_owned(),
        unit: unit.to_owned(),
        a,
        b,
        ratio,
        low,
        high,
    };
    // The time of a statement matters by its length, other numbers by their ratio.
    let size = |ratio: f64| if group == "statement" { (b - a).abs() } else { ratio.ln().abs() };
    let appeared = values.iter().all(|(a, b)| *a == 0.0 && *b > 0.0);
    let vanished = values.iter().all(|(a, b)| *a > 0.0 && *b == 0.0);
    if values.len() >= LEAST_OF_ONE_SIDE && (appeared || vanished) {
        // As great a change as ten times as much.
        return Some((size(10.0), whole(None, None, None)));
    }
    let ratio = of_pairs(values, ERROR).ok().filter(|ratio| ratio.above(1.0) || ratio.below(1.0))?;
    Some((size(ratio.ratio), whole(Some(ratio.ratio), Some(ratio.low), Some(ratio.high))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(numbers: &[(&'static str, &str, f64, f64)]) -> Slot {
        let run = |side: fn(&(&'static str, &str, f64, f64)) -> f64| {
            let numbers = numbers.iter().filter(|of| side(of) > 0.0).map(|of| Measure {
                group: of.0,
                name: of.1.to_owned(),
                unit: String::new(),
                value: side(of),
            });
            Some(Played {
                value: Some(1.0),
                is_complete: true,
                checks_failed: 0,
                is_busy: false,
                start: String::new(),
                findings: Vec::new(),
                settings: BTreeMap::new(),
                numbers: numbers.collect(),
            })
        };
        Slot { number: 1, a: run(|of| of.2), b: run(|of| of.3) }
    }

    #[test]
    fn numbers_that_changed_are_named_the_greatest_change_first_and_others_are_not() {
        let of = |shift: f64| {
            slot(&[
                ("latency", "halved", 10.0 + shift, 5.0 + shift / 2.0),
                ("latency", "same", 10.0 + shift, 10.0 - shift),
                ("observed", "new wait", 0.0, 3.0 + shift),
                ("observed", "now and then", 0.0, if shift > 0.2 { 1.0 } else { 0.0 }),
                ("latency", "twentieth", 10.0 + shift, 0.5 + shift / 20.0),
            ])
        };
        let slots = [of(0.1), of(0.2), of(0.3), of(-0.1)];
        let found = changes(&slots.iter().collect::<Vec<_>>());
        let names: Vec<&str> = found.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["twentieth", "new wait", "halved"]);
        assert_eq!((found[1].a, found[1].ratio), (0.0, None));
        assert!(found[2].ratio.is_some_and(|ratio| (ratio - 0.5).abs() < 1e-9), "{found:?}");
        assert!(changes(&[&slots[0]]).is_empty(), "one pair shows nothing");
    }
}
