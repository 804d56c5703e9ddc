//! The availability of the database in each fault of a run.

use super::availability::seconds_between;
use super::{Availability, Event, availability_each, mean_of};
use crate::model::{RunResult, Settling};
use crate::reasons::Unjudged;

pub use super::periodic::periodic;
pub use crate::model::{Around, FaultAvailability, FaultResult, PeriodicFault, Spread};

/// Least time for which throughput must be stable, in seconds.
const LEAST_HOLD_S: usize = 5;
/// Time after its configured end at which a fault may be over, in seconds; far less than it usually takes.
const LATE_S: f64 = 0.001;

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
fn settling(seconds: usize, events: &[Event]) -> Settling {
    let usual = Settling::default();
    let edges = || events.iter().flat_map(|event| [Some(event.from_s), event.to_s]).flatten();
    let next = |after_s: f64| {
        let begins = events.iter().map(|event| event.from_s).filter(|from_s| *from_s > after_s);
        begins.fold(seconds as f64, f64::min) as usize
    };
    let before = events.iter().map(|event| event.from_s).fold(f64::INFINITY, f64::min) as usize;
    let after = edges().map(|edge_s| next(edge_s).saturating_sub(edge_s as usize));
    let between = events.iter().filter_map(|event| seconds_between(events, event).map(|span| span.len()));
    let room = after.chain(between).fold(before, usize::min);
    let hold_s = room.max(LEAST_HOLD_S).min(usual.hold_s);
    // A mean over the whole time to hold would be stable whatever happened in it.
    Settling { window_s: usual.window_s * hold_s / usual.hold_s, hold_s, ..usual }
}

/// The faults of a result that began, judged by the metrics of the Dike paper.
pub(crate) struct Judged {
    /// Completed transactions in each whole second of the window.
    seconds: Vec<f64>,
    /// The faults as events, each with its index.
    events: Vec<(usize, Event)>,
    /// Definition of stable throughput in this run.
    pub(crate) settling: Settling,
    /// The verdict on each event, in their order.
    pub(crate) verdicts: Vec<Result<Availability, Unjudged>>,
}

impl Judged {
    /// Judges the faults of a result by a definition of stable throughput; by the usual one if none.
    #[must_use]
    pub(crate) fn of(result: &RunResult, asked: Option<Settling>) -> Self {
        let mut seconds: Vec<f64> = result.series.total().into_iter().map(|done| done as f64).collect();
        seconds.truncate(result.whole_seconds());
        let events = events(result);
        let alone: Vec<Event> = events.iter().map(|(_, event)| event.clone()).collect();
        let settling = asked.unwrap_or_else(|| settling(seconds.len(), &alone));
        let verdicts = availability_each(&seconds, &alone, &settling);
        Self { seconds, events, settling, verdicts }
    }

    /// Returns the whole seconds from a time to another.
    fn whole(&self, from_s: f64, to_s: f64) -> &[f64] {
        self.seconds.get(from_s.ceil() as usize..to_s as usize).unwrap_or_default()
    }
}

/// Returns the availability of the database in each fault of a result that began.
#[must_use]
pub fn availability(result: &RunResult) -> Vec<FaultAvailability> {
    let judged = Judged::of(result, None);
    let events = judged.events.iter().zip(&judged.verdicts);
    events.map(|((fault, event), verdict)| of_fault(result, &judged, *fault, event, verdict)).collect()
}

/// Returns the faults of a plan for which R_e and T_e can't be computed, whatever the throughput: the name, and the
/// reason with what to do. `window_s` is the length of the window.
#[must_use]
pub fn untold(window_s: f64, faults: &[FaultResult]) -> Vec<(String, String)> {
    let seconds = vec![1.0; window_s as usize];
    let event = |fault: &FaultResult| Event {
        name: fault.name(),
        from_s: fault.begin_s,
        // No throughput follows one that ends with the window. Others end a little late, so that the second of the end is
        // none between it and the next one.
        to_s: fault.end_s.filter(|end_s| *end_s < window_s).map(|end_s| (end_s + LATE_S).min(window_s)),
    };
    let events: Vec<Event> = faults.iter().map(event).collect();
    let judged = availability_each(&seconds, &events, &settling(seconds.len(), &events));
    let why = |judged: Result<Availability, Unjudged>| judged.map_or_else(Some, |found| found.missing());
    let untold = |(event, judged): (Event, _)| Some((event.name, why(judged)?.into()));
    events.into_iter().zip(judged).filter_map(untold).collect()
}

fn of_fault(
    result: &RunResult,
    judged: &Judged,
    fault: usize,
    event: &Event,
    verdict: &Result<Availability, Unjudged>,
) -> FaultAvailability {
    let (seconds, found) = (&judged.seconds, verdict.as_ref().ok());
    let begins = judged.events.iter().map(|(_, event)| event.from_s);
    let first_s = begins.clone().fold(seconds.len() as f64, f64::min);
    let limit_s = begins.filter(|from_s| *from_s > event.from_s).fold(seconds.len() as f64, f64::min);
    let limit = limit_s as usize;
    let first = (event.from_s as usize).min(limit);
    let until_s = event.to_s.unwrap_or(limit_s);
    let whole = judged.whole(event.from_s, until_s);
    let touched = seconds.get(first..(until_s.ceil() as usize).min(seconds.len())).unwrap_or_default();
    let during = if whole.is_empty() { touched } else { whole };
    let tps_during = mean_of(during);
    let normal_tps = found.filter(|found| found.has_normal()).map(|found| found.normal_tps);
    let unknown = result.series.unknown.get(first..limit.min(result.series.unknown.len()));
    FaultAvailability {
        fault,
        r_e: found.and_then(Availability::r_e),
        r_e_during: normal_tps.zip(tps_during).map(|(normal, during)| 1.0 - (during - normal).abs() / normal),
        t_e: found.and_then(Availability::t_e),
        recovery_s: found.and_then(|found| found.stable(&found.began)).map(|stable| stable.after_s),
        tps_normal: normal_tps,
        steady_after_s: found.and_then(|found| found.between.as_ref()?.steady_after_s),
        tps_before: mean_of(judged.whole(0.0, first_s)),
        tps_during,
        tps_after: event.to_s.and_then(|to_s| mean_of(judged.whole(to_s, limit_s))),
        lowest_tps: during.iter().copied().reduce(f64::min),
        seconds_without_commit: seconds[first..limit].iter().filter(|done| **done <= 0.0).count() as u64,
        first_commit_s: first_commit(result, seconds, event.from_s),
        unknown: unknown.unwrap_or_default().iter().sum(),
        stable: found.map(|_| judged.settling),
        // Filled by the run, which has the latencies.
        p99_ms: Around::default(),
        aborts: Around::default(),
        note: match verdict {
            Err(problem) => problem.to_string(),
            Ok(found) => found.missing().map(String::from).unwrap_or_default(),
        },
    }
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
        assert_eq!(
            (found.tps_before, found.tps_during, found.tps_after),
            (Some(100.0), Some(0.0), Some(100.0))
        );
        assert_eq!((found.recovery_s, found.lowest_tps), (Some(3.0), Some(0.0)));
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
        assert_eq!((found.tps_before, found.r_e_during, found.recovery_s), (Some(100.0), None, None));
        assert!(found.note.contains("only 2 s lie before the first event"), "{}", found.note);
    }

    #[test]
    fn a_fault_that_stays_is_counted_to_the_end_of_the_window() {
        let [found] = &availability(&run(pieces(&[(100, 10), (0, 10)]), 10.0, None))[..] else {
            panic!("one")
        };
        assert_eq!((found.t_e, found.first_commit_s, found.seconds_without_commit), (None, None, 10));
        assert_eq!((found.recovery_s, found.tps_after), (None, None));
        assert_eq!(found.note, "throughput did not become stable again");
    }

    #[test]
    fn the_mean_after_a_fault_ends_with_the_next_one_and_the_mean_before_is_that_of_the_first() {
        let mut result =
            run(pieces(&[(100, 10), (0, 2), (80, 9), (40, 1), (60, 5), (90, 10)]), 10.5, Some(12.0));
        result.faults.push(FaultResult {
            begun_s: Some(21.25),
            undone_s: Some(26.5),
            ..result.faults[0].clone()
        });
        let [first, second] = &availability(&result)[..] else { panic!("two") };
        assert_eq!(
            (first.tps_before, first.tps_during, first.tps_after),
            (Some(100.0), Some(0.0), Some(80.0))
        );
        // The seconds that a fault only touches belong to neither.
        assert_eq!(
            (second.tps_before, second.tps_during, second.tps_after),
            (Some(100.0), Some(60.0), Some(90.0))
        );
    }

    #[test]
    fn the_second_fault_is_compared_with_the_steady_seconds_after_the_first_one() {
        let mut result =
            run(pieces(&[(100, 8), (0, 2), (10, 3), (60, 9), (0, 1), (60, 12)]), 8.0, Some(10.0));
        let second = FaultResult { begun_s: Some(22.0), undone_s: Some(23.0), ..result.faults[0].clone() };
        result.faults.push(second);
        let [first, second] = &availability(&result)[..] else { panic!("two") };
        assert_eq!((first.tps_normal, first.steady_after_s), (Some(100.0), None));
        assert!((first.r_e.unwrap() - 0.6).abs() < 1e-12, "{first:?}");
        assert_eq!((second.tps_normal, second.steady_after_s), (Some(60.0), Some(3.0)));
        assert_eq!((second.r_e, second.recovery_s), (Some(1.0), Some(1.0)));
        assert_eq!((second.tps_before, second.r_e_during), (Some(100.0), Some(0.0)));
        // Without steady seconds between them, only the second one has nothing to be compared with.
        let swings = [(100, 8), (0, 2), (9, 3), (60, 3), (10, 3), (70, 3), (0, 1), (60, 12)];
        let mut swings = run(pieces(&swings), 8.0, Some(10.0));
        swings.faults = result.faults;
        let [first, second] = &availability(&swings)[..] else { panic!("two") };
        assert_eq!((second.r_e, second.t_e, second.tps_normal, second.r_e_during), (None, None, None, None));
        assert_eq!(second.note, "throughput was not steady in the 12 s between stop on lab:pg and it");
        assert!(first.tps_normal == Some(100.0) && !first.note.contains("between"), "{first:?}");
    }

    #[test]
    fn a_plan_knows_the_faults_that_it_leaves_too_little_time() {
        let fault = |kind: &str, begin_s, end_s| FaultResult {
            kind: kind.into(),
            place: "lab:pg".into(),
            begin_s,
            end_s,
            ..FaultResult::default()
        };
        assert_eq!(untold(30.0, &[fault("kill", 8.0, Some(11.0)), fault("stop", 20.0, Some(30.0))]), []);
        let [(late, why)] = &untold(30.0, &[fault("kill", 8.0, Some(11.0)), fault("stop", 26.0, None)])[..]
        else {
            panic!("one")
        };
        assert!(late == "stop on lab:pg" && why.contains("only 4 s lie after its beginning in all"), "{why}");
        let both = untold(30.0, &[fault("kill", 8.0, Some(21.0)), fault("stop", 15.0, Some(16.0))]);
        assert_eq!(both.len(), 2, "their effects can't be told apart: {both:?}");
        let soon = untold(40.0, &[fault("kill", 8.0, None), fault("stop", 12.0, Some(14.0))]);
        assert_eq!(soon.len(), 2, "{soon:?}");
        assert!(soon[1].1.contains("only 4 s lie between kill on lab:pg and it"), "{soon:?}");
        let every = [5.0, 15.0, 25.0, 35.0].map(|from_s| fault("net-delay", from_s, Some(from_s + 2.0)));
        assert_eq!(untold(45.0, &every), []);
        assert!(
            untold(30.0, &[fault("kill", 2.5, Some(9.0))])[0].1.contains("only 2 s lie before the first")
        );
    }

    #[test]
    fn a_fault_that_did_not_begin_is_not_judged() {
        let mut result = run(vec![100; 30], 8.0, None);
        result.faults[0].begun_s = None;
        assert!(availability(&result).is_empty());
    }
}
