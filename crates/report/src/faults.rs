//! The faults of a run in its result, and the availability of the database in each of them.

use crate::metrics::{Availability, Event, Settling, availability_each};
use crate::model::RunResult;
use serde::{Deserialize, Serialize};

/// Least time for which throughput must be stable, in seconds.
const LEAST_HOLD_S: usize = 5;

/// A fault that the run injected. Times are seconds from the window's start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultResult {
    /// Name of its kind, with its arguments.
    pub kind: String,
    /// Places, as the plan names them.
    #[serde(rename = "where")]
    pub place: String,
    /// Configured begin.
    pub begin_s: f64,
    /// Configured end; null if the plan sets none.
    pub end_s: Option<f64>,
    /// Measured begin: the moment from which the fault was in force; null if it did not begin.
    pub begun_s: Option<f64>,
    /// Measured end: the moment at which it was undone; null if it was not.
    pub undone_s: Option<f64>,
    /// Way in which it was injected.
    pub how: String,
    /// True if it began, and was undone unless it stays.
    pub ok: bool,
    /// Proof that it bit, or the problem.
    pub detail: String,
}

impl FaultResult {
    /// Returns the name of the fault: its kind and its place.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} on {}", self.kind, self.place)
    }
}

/// Availability of the database in a fault. Rates are completed transactions per second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultAvailability {
    /// Index of the fault among the faults of the result.
    pub fault: usize,
    /// The Dike paper's T_e = 1 / (t + 1), t in seconds until throughput is stable; null if it never is, or if the
    /// run is too short to tell.
    pub t_e: Option<f64>,
    /// The Dike paper's R_e: the stable level after the begin, compared with the level before the first fault; null
    /// likewise.
    pub r_e: Option<f64>,
    /// R_e with the mean while the fault lasted in place of the stable level; null if the level before is unknown.
    pub r_e_during: Option<f64>,
    /// Mean rate before the first fault; null if the run is too short to tell.
    pub normal_tps: Option<f64>,
    /// Mean rate of the whole seconds in the fault; of those that it touches if there are none.
    pub mean_tps: Option<f64>,
    /// Rate of the worst of these seconds.
    pub lowest_tps: Option<f64>,
    /// Seconds without a completed transaction, from the begin until the next fault or the end of the window.
    pub seconds_without_commit: u64,
    /// Time from the begin to the first second after it with a completed transaction, or to the end of the outage within
    /// that second; null if there is none.
    pub first_commit_s: Option<f64>,
    /// Transactions with an unknown outcome in the same time as `seconds_without_commit`.
    pub unknown: u64,
    /// Definition of stable throughput; null if the run is too short to tell.
    pub stable: Option<Settling>,
    /// Reason why `t_e` and `r_e` are missing; empty if they are not.
    pub note: String,
}

/// Returns the faults of a result that began, as events, each with its index.
#[must_use]
pub fn events(result: &RunResult) -> Vec<(usize, Event)> {
    let end = result.whole_seconds() as f64;
    let event = |(index, fault): (usize, &FaultResult)| {
        let from_s = fault.begun_s?;
        // One that was undone with the window has no throughput after its end.
        let to_s = fault.undone_s.filter(|to_s| *to_s > from_s && *to_s <= end);
        Some((index, Event { name: fault.name(), from_s, to_s }))
    };
    result.faults.iter().enumerate().filter_map(event).collect()
}

/// Returns the definition of stable throughput for events of a run with so many whole seconds: the usual one, with a
/// shorter time to hold, and a mean over half of it, if the events leave less time around them.
#[must_use]
pub(crate) fn settling(seconds: usize, events: &[Event]) -> Settling {
    let usual = Settling::default();
    let edges = || events.iter().flat_map(|event| [Some(event.from_s), event.to_s]).flatten();
    let next = |after_s: f64| {
        let begins = events.iter().map(|event| event.from_s).filter(|from_s| *from_s > after_s);
        begins.fold(seconds as f64, f64::min) as usize
    };
    let before = events.iter().map(|event| event.from_s).fold(f64::INFINITY, f64::min) as usize;
    let after = edges().map(|edge_s| next(edge_s).saturating_sub(edge_s as usize));
    let room = after.fold(before, usize::min);
    let hold_s = room.max(LEAST_HOLD_S).min(usual.hold_s);
    // A mean over the whole time to hold would be stable whatever happened in it.
    Settling { window_s: usual.window_s * hold_s / usual.hold_s, hold_s, ..usual }
}

/// Returns the metrics of the Dike paper for the faults of a result that began, in their order.
#[must_use]
pub(crate) fn judged(result: &RunResult) -> (Settling, Vec<Result<Availability, String>>) {
    let events: Vec<Event> = events(result).into_iter().map(|(_, event)| event).collect();
    let seconds = seconds(result);
    let settling = settling(seconds.len(), &events);
    (settling, availability_each(&seconds, &events, &settling))
}

/// Returns the completed transactions in each whole second of the window.
fn seconds(result: &RunResult) -> Vec<f64> {
    let mut seconds: Vec<f64> = result.series.total().into_iter().map(|done| done as f64).collect();
    seconds.truncate(result.whole_seconds());
    seconds
}

/// Returns the availability of the database in each fault of a result that began.
#[must_use]
pub fn availability(result: &RunResult) -> Vec<FaultAvailability> {
    let (settling, judged) = judged(result);
    let (seconds, events) = (seconds(result), events(result));
    events
        .iter()
        .zip(judged)
        .map(|((fault, event), judged)| {
            let next_s =
                events.iter().map(|(_, other)| other.from_s).filter(|other_s| *other_s > event.from_s);
            let limit = next_s.fold(seconds.len() as f64, f64::min) as usize;
            let first = (event.from_s as usize).min(limit);
            let until_s = event.to_s.unwrap_or(limit as f64);
            let whole = seconds.get(event.from_s.ceil() as usize..until_s as usize).unwrap_or_default();
            let touched =
                seconds.get(first..(until_s.ceil() as usize).min(seconds.len())).unwrap_or_default();
            let during = if whole.is_empty() { touched } else { whole };
            let mean_tps = (!during.is_empty()).then(|| during.iter().sum::<f64>() / during.len() as f64);
            let normal_tps = judged.as_ref().ok().map(|judged| judged.normal_tps);
            let unknown = result.series.unknown.get(first..limit.min(result.series.unknown.len()));
            FaultAvailability {
                fault: *fault,
                t_e: judged.as_ref().ok().and_then(Availability::t_e),
                r_e: judged.as_ref().ok().and_then(Availability::r_e),
                r_e_during: normal_tps
                    .zip(mean_tps)
                    .map(|(normal, mean)| 1.0 - (mean - normal).abs() / normal),
                normal_tps,
                mean_tps,
                lowest_tps: during.iter().copied().reduce(f64::min),
                seconds_without_commit: seconds[first..limit].iter().filter(|done| **done <= 0.0).count()
                    as u64,
                first_commit_s: first_commit(result, &seconds, event.from_s),
                unknown: unknown.unwrap_or_default().iter().sum(),
                stable: judged.is_ok().then_some(settling),
                note: match judged {
                    Err(problem) => problem,
                    Ok(judged) if judged.began.stable.is_none() => {
                        "throughput did not become stable again".to_owned()
                    }
                    Ok(_) => String::new(),
                },
            }
        })
        .collect()
}

/// Returns the time from `from_s` to the first second that begins after it and has a completed transaction.
fn first_commit(result: &RunResult, seconds: &[f64], from_s: f64) -> Option<f64> {
    let first = from_s.ceil() as usize;
    let second = (first..seconds.len()).find(|second| seconds[*second] > 0.0)? as f64;
    let ends = result.outages.iter().map(|outage| outage.to_s);
    let within = ends.filter(|to_s| (second..second + 1.0).contains(to_s)).fold(second, f64::max);
    Some(within - from_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Outage, OutageCause, Series, Window};

    /// A run of one fault with this throughput in each second.
    fn run(new_order: Vec<u64>, begun_s: f64, undone_s: Option<f64>) -> RunResult {
        let seconds = new_order.len();
        let fault = FaultResult {
            kind: "stop".into(),
            place: "lab:pg".into(),
            begun_s: Some(begun_s),
            undone_s,
            ..FaultResult::default()
        };
        RunResult {
            window: Window { measured_s: seconds as f64, ..Window::default() },
            series: Series {
                second: (0..).take(seconds).collect(),
                unknown: vec![1; seconds],
                new_order,
                ..Series::default()
            },
            faults: vec![fault],
            ..RunResult::default()
        }
    }

    fn pieces(of: &[(u64, usize)]) -> Vec<u64> {
        of.iter().flat_map(|(done, seconds)| vec![*done; *seconds]).collect()
    }

    #[test]
    fn a_stop_is_judged_with_the_papers_numbers_and_the_seconds_without_a_commit() {
        let mut result = run(pieces(&[(100, 8), (0, 3), (100, 19)]), 8.0, Some(11.0));
        result.outages.push(Outage { cause: OutageCause::Silent, from_s: 8.0, to_s: 11.25 });
        let [found] = &availability(&result)[..] else { panic!("one") };
        assert_eq!((found.t_e, found.r_e), (Some(0.25), Some(1.0)));
        assert_eq!((found.normal_tps, found.mean_tps, found.lowest_tps), (Some(100.0), Some(0.0), Some(0.0)));
        assert_eq!((found.r_e_during, found.seconds_without_commit), (Some(0.0), 3));
        assert_eq!((found.first_commit_s, found.unknown), (Some(3.25), 22));
        assert_eq!(found.stable.map(|stable| stable.hold_s), Some(8), "8 s lie before it");
        assert_eq!(found.note, "");
    }

    #[test]
    fn a_run_that_is_too_short_says_so_and_keeps_its_counts() {
        let [found] = &availability(&run(pieces(&[(100, 2), (0, 1), (100, 2)]), 2.0, Some(3.0)))[..] else {
            panic!("one")
        };
        assert_eq!((found.t_e, found.stable, found.seconds_without_commit), (None, None, 1));
        assert!(found.note.contains("only 2 s were measured before the first event"), "{}", found.note);
    }

    #[test]
    fn a_fault_that_stays_is_counted_to_the_end_of_the_window() {
        let [found] = &availability(&run(pieces(&[(100, 10), (0, 10)]), 10.0, None))[..] else {
            panic!("one")
        };
        assert_eq!((found.t_e, found.first_commit_s, found.seconds_without_commit), (None, None, 10));
        assert_eq!(found.note, "throughput did not become stable again");
    }

    #[test]
    fn a_fault_that_did_not_begin_is_not_judged() {
        let mut result = run(vec![100; 30], 8.0, None);
        result.faults[0].begun_s = None;
        assert!(availability(&result).is_empty());
    }
}
