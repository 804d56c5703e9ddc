//! Words about the faults of a run, for the terminal and the page.

use crate::figures::plural;
use crate::metrics::text::{gained_words, share};
use crate::model::{FaultAvailability, FaultResult, PeriodicFault, RunResult, Spread};
use std::fmt::Write as _;

/// Most occurrences of a fault that the terminal lists one by one. The result and the page have all of them.
const LISTED: usize = 6;
/// Most faults with an R_e below 0 that a sentence names.
const GAINS: usize = 3;

/// Returns the lines about the faults of a run, each with false if it tells a failure.
pub(crate) fn lines(r: &RunResult) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for (index, fault) in r.faults.iter().enumerate() {
        let series = series_of(r, index);
        if !fault.ok || series.is_none_or(|of| of.faults.len() <= LISTED) {
            let judged = r.availability.iter().find(|of| of.fault == index);
            all.push((line(fault, judged), fault.ok));
        }
        if let Some(of) = series.filter(|of| of.faults.last() == Some(&index)) {
            all.push((summary(of), of.ok == of.faults.len() as u64));
        }
    }
    all
}

/// Returns the repeating fault that a fault is an occurrence of; none if the fault does not repeat.
fn series_of(result: &RunResult, fault: usize) -> Option<&PeriodicFault> {
    result.periodic_faults.iter().find(|of| of.faults.contains(&fault))
}

/// Returns the words about one fault.
fn line(fault: &FaultResult, judged: Option<&FaultAvailability>) -> String {
    let mut text = fault.name();
    match (fault.begun_s, fault.undone_s) {
        (None, _) => text += " did not begin",
        (Some(begun_s), None) => _ = write!(text, " from {begun_s:.2} s on"),
        (Some(begun_s), Some(undone_s)) => _ = write!(text, " from {begun_s:.2} to {undone_s:.2} s"),
    }
    if !fault.detail.is_empty() {
        let _ = write!(text, ": {}", fault.detail);
    }
    if let Some(of) = judged {
        let _ = write!(
            text,
            "; R_e {}, T_e {}, {} without a commit",
            share(of.r_e),
            share(of.t_e),
            plural(of.seconds_without_commit, "whole second")
        );
        if let Some(steady_after_s) = of.steady_after_s {
            let _ = write!(text, ", steady {steady_after_s:.1} s after the fault before");
        }
        if !of.note.is_empty() {
            let _ = write!(text, " ({})", of.note);
        }
    }
    text
}

/// Returns the words about a fault that repeats.
fn summary(of: &PeriodicFault) -> String {
    let mut text = format!(
        "{}: {} of {} began, {} ok",
        of.name(),
        of.occurred,
        plural(of.faults.len() as u64, "occurrence"),
        of.ok
    );
    let rows = [
        ("R_e", of.r_e, 3, ""),
        ("T_e", of.t_e, 3, ""),
        ("stable after", of.recovery_s, 1, " s"),
        ("during", of.tps_during, 0, " tx/s"),
    ];
    let mut known = rows.into_iter().filter_map(|(name, spread, digits, unit)| {
        let Spread { of: count, min, median, max } = spread?;
        let known = if count == of.occurred { String::new() } else { format!("; known {count} times") };
        Some(format!("{name} {median:.digits$}{unit} ({min:.digits$} to {max:.digits$}{known})"))
    });
    if let Some(first) = known.next() {
        let _ = write!(text, "; median (least to greatest): {first}");
        known.for_each(|row| text += &format!(", {row}"));
    }
    text
}

/// Returns the times of the faults that began, in words; a fault that repeats has those of its first and last occurrence.
pub(crate) fn times(result: &RunResult) -> Vec<String> {
    let span = |fault: &FaultResult| {
        let begun_s = fault.begun_s?;
        let end =
            fault.undone_s.map_or_else(|| " s on".to_owned(), |undone_s| format!(" to {undone_s:.2} s"));
        Some(format!("from {begun_s:.2}{end}"))
    };
    let of_series = |of: &PeriodicFault| {
        let mut spans = of.faults.iter().filter_map(|fault| span(result.faults.get(*fault)?));
        let first = spans.next()?;
        Some(match spans.next_back() {
            Some(last) => format!("{}: {} times, {first}, the last {last}", of.name(), of.occurred),
            None => format!("{} {first}", of.name()),
        })
    };
    let mut all = Vec::new();
    for (index, fault) in result.faults.iter().enumerate() {
        match series_of(result, index) {
            Some(of) => all.extend(of_series(of).filter(|_| of.faults.first() == Some(&index))),
            None => all.extend(span(fault).map(|span| format!("{} {span}", fault.name()))),
        }
    }
    all
}

/// Returns the sentences about faults after which throughput was so much higher that R_e is below 0.
pub(crate) fn gains(result: &RunResult) -> Vec<String> {
    let gained = |of: &FaultAvailability| {
        let r_e = of.r_e.filter(|r_e| *r_e < 0.0)?;
        let before_tps = of.tps_normal.or(of.tps_before)?;
        let fault = result.faults.get(of.fault)?;
        // R_e = 1 − (TPS_e − TPS_n) / TPS_n.
        let words = gained_words(r_e, before_tps, before_tps * (2.0 - r_e));
        Some(format!("{} at {} s: {words}", fault.name(), fault.begin_s))
    };
    let mut all: Vec<String> = result.availability.iter().filter_map(gained).collect();
    if all.len() > GAINS {
        let more = plural((all.len() - GAINS) as u64, "more fault");
        all.truncate(GAINS);
        all.push(format!("R_e is below 0 after {more} too."));
    }
    all
}

/// Returns the row of a fault that repeats: its name, how many occurrences began and are ok, and the spreads.
pub(crate) fn cells(of: &PeriodicFault) -> [String; 7] {
    let spread = |spread: Option<Spread>, digits: usize| {
        spread.map_or("–".to_owned(), |Spread { min, median, max, .. }| {
            format!("{median:.digits$} ({min:.digits$} to {max:.digits$})")
        })
    };
    [
        of.name(),
        format!("{} of {}", of.occurred, of.faults.len()),
        of.ok.to_string(),
        spread(of.r_e, 3),
        spread(of.t_e, 3),
        spread(of.recovery_s, 1),
        spread(of.tps_during, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::faults::periodic;

    /// A run of a fault that occurs so many times, the last of them not undone as planned, with this R_e of each.
    fn run(occurrences: u64, r_e: f64) -> RunResult {
        let fault = |number: u64| {
            let from_s = number as f64 * 10.0 - 5.0;
            FaultResult {
                kind: "stop".into(),
                place: "lab:pg".into(),
                begin_s: from_s,
                every_s: Some(10.0),
                occurrence: Some(number),
                begun_s: Some(from_s),
                undone_s: (number < occurrences).then_some(from_s + 2.0),
                ok: number < occurrences,
                ..FaultResult::default()
            }
        };
        let judged = |fault: usize| FaultAvailability {
            fault,
            r_e: Some(r_e),
            tps_normal: Some(100.0),
            tps_during: Some(20.0 + fault as f64),
            steady_after_s: (fault > 0).then_some(1.5),
            ..FaultAvailability::default()
        };
        let mut run = RunResult {
            faults: (1..=occurrences).map(fault).collect(),
            availability: (0..occurrences as usize).map(judged).collect(),
            ..RunResult::default()
        };
        run.availability[0].r_e = None;
        run.periodic_faults = periodic(&run);
        run
    }

    #[test]
    fn few_occurrences_are_listed_and_of_many_those_that_failed() {
        let few = lines(&run(3, 0.9));
        assert_eq!(few.len(), 4, "{few:?}");
        assert!(few[1].0.ends_with("without a commit, steady 1.5 s after the fault before"), "{few:?}");
        let summary = "stop on lab:pg every 10 s: 3 of 3 occurrences began, 2 ok; median (least to greatest): R_e 0.900 \
                       (0.900 to 0.900; known 2 times), during 21 tx/s (20 to 22)";
        assert_eq!(few[3], (summary.to_owned(), false));
        let many = lines(&run(20, 0.9));
        assert_eq!(many.len(), 2, "{many:?}");
        assert!(many[0].0.starts_with("stop on lab:pg from 195.00 s on") && !many[0].1, "{many:?}");
    }

    #[test]
    fn the_times_of_a_fault_that_repeats_are_those_of_its_first_and_last_occurrence() {
        let all = times(&run(3, 0.9));
        assert_eq!(
            all,
            ["stop on lab:pg every 10 s: 3 times, from 5.00 to 7.00 s, the last from 25.00 s on"]
        );
    }

    #[test]
    fn an_r_e_below_0_is_explained_by_the_higher_throughput_after_the_fault() {
        assert_eq!(gains(&run(3, 0.9)), Vec::<String>::new());
        let [first, _] = &gains(&run(3, -0.5))[..] else { panic!("two are known") };
        let words = "stop on lab:pg at 15 s: R_e is -0.500, below 0, because throughput is higher after it than before: \
                     250 and 100 transactions per second.";
        assert_eq!(first, words);
        let many = gains(&run(20, -0.5));
        assert_eq!((many.len(), &many[3][..]), (4, "R_e is below 0 after 16 more faults too."));
    }
}
