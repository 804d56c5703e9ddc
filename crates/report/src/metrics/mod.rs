//! The metrics of the Dike paper (4.4) as numbers: scalability, availability, schedulability. They are pure functions
//! of throughputs and sizes; the modules below read these from results and render the metrics.

pub mod faults;
mod of_results;
pub(crate) mod text;

pub use crate::model::Settling;
pub use of_results::{Asked, ByNodes, Metrics, MetricsError, OfEvents, OfNodes};
pub use text::render_metrics;

use serde::Serialize;

use crate::interval::mean;
use crate::reasons::Unjudged;

/// Least, quartiles and greatest of some numbers. A quartile between two of them is interpolated linearly (definition 7
/// of Hyndman and Fan, the default of R, NumPy and spreadsheets).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FiveNumbers {
    /// Least.
    pub min: f64,
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// Greatest.
    pub max: f64,
}

impl FiveNumbers {
    /// Their short names, from the least to the greatest.
    pub const NAMES: [&str; 5] = ["min", "q1", "median", "q3", "max"];

    /// Returns the summary of these numbers; none without numbers, or if one of them is not finite.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let at = |share: f64| {
            let place = share * (sorted.len() - 1) as f64;
            let below = sorted.get(place as usize).copied().unwrap_or(max);
            let above = sorted.get(place as usize + 1).copied().unwrap_or(max);
            // Clamped, so that equal neighbours give exactly their value.
            (below + (above - below) * place.fract()).clamp(min, max)
        };
        Some(Self { min, q1: at(0.25), median: at(0.5), q3: at(0.75), max })
    }

    /// Returns the five numbers, from the least to the greatest.
    #[must_use]
    pub fn numbers(&self) -> [f64; 5] {
        [self.min, self.q1, self.median, self.q3, self.max]
    }
}

impl Settling {
    /// Returns the mean throughput of these seconds, if throughput is stable over all of them. With a second of nothing
    /// it is not: in an outage with a few commits all means may be alike.
    fn level(&self, stretch: &[f64]) -> Option<f64> {
        let level = mean_of(stretch).filter(|_| stretch.iter().all(|second| *second > 0.0))?;
        let near = |window: &[f64]| {
            mean_of(window).is_some_and(|mean| (mean - level).abs() <= level * self.within_percent / 100.0)
        };
        (stretch.len() >= self.window_s && stretch.windows(self.window_s.max(1)).all(near)).then_some(level)
    }

    /// Returns the first second from which throughput is stable, and its level there.
    fn first_stable(&self, seconds: &[f64]) -> Option<(usize, f64)> {
        let mut stretches = seconds.windows(self.hold_s.max(1)).enumerate();
        stretches.find_map(|(from, stretch)| Some((from, self.level(stretch)?)))
    }
}

/// An event that happened to the database during a run, reported by the user.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Name.
    pub name: String,
    /// Begin, in seconds from the window's start.
    pub from_s: f64,
    /// End, if it ended.
    pub to_s: Option<f64>,
}

/// Throughput that is stable again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stable {
    /// Time until it was stable, in seconds: the paper's t.
    pub after_s: f64,
    /// Level, in transactions per second.
    pub tps: f64,
}

/// Throughput after the beginning or the end of an event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Aftermath {
    /// Whole seconds watched.
    pub watched_s: usize,
    /// Completed transactions in the worst of these seconds.
    pub lowest_tps: f64,
    /// Throughput once it was stable again; none if it was not in the watched seconds.
    pub stable: Option<Stable>,
}

/// Availability of the database in an event (Dike 4.4, equation 4).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Availability {
    /// The event.
    pub event: Event,
    /// The paper's TPS_n: the mean of all measured seconds before the first event of the run.
    pub normal_tps: f64,
    /// True if throughput was stable over all of these seconds.
    pub normal_is_stable: bool,
    /// Throughput after its beginning, whose stable level is the paper's TPS_e.
    pub began: Aftermath,
    /// Throughput after its end, if it has one.
    pub ended: Option<Aftermath>,
}

impl Availability {
    /// Returns R_e = 1 − |TPS_e − TPS_n| / TPS_n: 1 if throughput is restored. None if it never became stable.
    #[must_use]
    pub fn r_e(&self) -> Option<f64> {
        self.kept(&self.began)
    }

    /// Returns T_e = 1 / (t + 1), t in seconds: 1 if throughput stayed stable. None if it never became stable.
    #[must_use]
    pub fn t_e(&self) -> Option<f64> {
        self.began.stable.map(|stable| 1.0 / (stable.after_s + 1.0))
    }

    /// Returns R_e for the level after the beginning or after the end.
    #[must_use]
    pub fn kept(&self, aftermath: &Aftermath) -> Option<f64> {
        aftermath.stable.map(|stable| 1.0 - (stable.tps - self.normal_tps).abs() / self.normal_tps)
    }
}

/// An event whose availability can't be computed from the measured seconds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct EventRejected {
    /// Index of the event.
    pub event: usize,
    /// The reason, and what to do.
    pub problem: String,
}

/// Returns the availability in each event, in the order of the events. `seconds` is the throughput in each whole second
/// of the measured window.
///
/// # Errors
/// An event is outside the measured window or overlaps another, or too few seconds lie before it, after it, or between
/// it and the next.
pub fn availability(
    seconds: &[f64],
    events: &[Event],
    settling: &Settling,
) -> Result<Vec<Availability>, EventRejected> {
    let each = availability_each(seconds, events, settling).into_iter().enumerate();
    each.map(|(event, found)| found.map_err(|problem| EventRejected { event, problem: problem.into() }))
        .collect()
}

/// Returns the availability in each event as [`availability`] does, or the reason why this one can't be judged.
#[must_use]
pub fn availability_each(
    seconds: &[f64],
    events: &[Event],
    settling: &Settling,
) -> Vec<Result<Availability, Unjudged>> {
    let first_s = events.iter().map(|event| event.from_s).fold(f64::INFINITY, f64::min);
    let each = |(index, event)| of_event(seconds, events, (index, event), first_s, settling);
    events.iter().enumerate().map(each).collect()
}

/// Rejects an event that is outside of a window of so many whole seconds, or beside another one.
fn check_times(events: &[Event], (index, event): (usize, &Event), measured: usize) -> Result<(), Unjudged> {
    let (from_s, to_s) = (event.from_s, event.to_s.unwrap_or(event.from_s));
    if from_s < 0.0 || from_s.max(to_s) > measured as f64 {
        return Err(Unjudged(format!(
            "it is outside the measured window, which has {measured} whole seconds: times count from its start, after \
             the warm-up"
        )));
    }
    if event.to_s.is_some_and(|to_s| to_s <= from_s) {
        return Err(Unjudged("it ends before it begins: write FROM..TO".to_owned()));
    }
    let overlaps = |(other_index, other): (usize, &Event)| {
        let other_to_s = other.to_s.unwrap_or(other.from_s);
        let apart = other_to_s < from_s || to_s < other.from_s;
        other_index != index && !apart
    };
    if let Some((_, other)) = events.iter().enumerate().find(|other| overlaps(*other)) {
        return Err(Unjudged(format!(
            "it overlaps the event {}: their effects can't be told apart",
            other.name
        )));
    }
    Ok(())
}

fn of_event(
    seconds: &[f64],
    events: &[Event],
    (index, event): (usize, &Event),
    first_s: f64,
    settling: &Settling,
) -> Result<Availability, Unjudged> {
    let (measured, hold) = (seconds.len(), settling.hold_s);
    let from_s = event.from_s;
    check_times(events, (index, event), measured)?;
    let before = seconds.get(..first_s as usize).unwrap_or_default();
    if before.len() < hold {
        return Err(Unjudged(format!(
            "only {} s lie before the first event, and the normal throughput takes at least {hold} s: \
             let it begin later",
            before.len()
        )));
    }
    let normal_tps = mean_of(before).unwrap_or_default();
    if normal_tps <= 0.0 {
        return Err(Unjudged(
            "no transaction completed before the first event, so there is no normal throughput".to_owned(),
        ));
    }
    // Throughput after the beginning of the next event belongs to that event.
    let next_s = events.iter().map(|other| other.from_s).filter(|other_s| *other_s > from_s).reduce(f64::min);
    let limit = next_s.map_or(measured, |next_s| next_s as usize);
    let follow = |from_s: f64, word: &str| {
        let watched = seconds.get(from_s as usize..limit).unwrap_or_default();
        if watched.len() < hold {
            let (until, advice) = match next_s {
                Some(_) => ("before the next event", "leave more time between them"),
                None => ("in all", "measure longer"),
            };
            return Err(Unjudged(format!(
                "only {} s lie after its {word} {until}, and stable throughput takes at least {hold} s: \
                 {advice}",
                watched.len()
            )));
        }
        let stable = settling.first_stable(watched).map(|(second, tps)| Stable {
            // The event may begin within a second.
            after_s: (second as f64 - from_s.fract()).max(0.0),
            tps,
        });
        let lowest_tps = watched.iter().copied().reduce(f64::min).unwrap_or_default();
        Ok(Aftermath { watched_s: watched.len(), lowest_tps, stable })
    };
    Ok(Availability {
        event: event.clone(),
        normal_tps,
        normal_is_stable: settling.level(before).is_some(),
        began: follow(from_s, "beginning")?,
        ended: event.to_s.map(|to_s| follow(to_s, "end")).transpose()?,
    })
}

/// The runs with one number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Size {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of runs.
    pub runs: usize,
    /// Median of their transactions per second.
    pub tps: f64,
    /// `tps` divided by the number of nodes.
    pub tps_per_node: f64,
    /// Scalability from the least number of nodes to this one; none for the least itself, or if that completed nothing.
    pub from_least: Option<f64>,
    /// Scalability from the next smaller number of nodes to this one.
    pub from_previous: Option<f64>,
}

/// Returns Scalability(N1→N2) = 1 − |TPS2/N2 − TPS1/N1| / (TPS1/N1) (Dike 4.4, equation 3) by number of nodes, the
/// least first. Each run is given by its number of nodes (at least 1) and its transactions per second.
#[must_use]
pub fn scalability(runs: &[(u32, f64)]) -> Vec<Size> {
    let mut nodes: Vec<u32> = runs.iter().map(|(nodes, _)| *nodes).filter(|nodes| *nodes > 0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut sizes: Vec<Size> = Vec::with_capacity(nodes.len());
    for nodes in nodes {
        let all: Vec<f64> = runs.iter().filter(|(of, _)| *of == nodes).map(|(_, tps)| *tps).collect();
        let Some(FiveNumbers { median: tps, .. }) = FiveNumbers::of(&all) else { continue };
        let tps_per_node = tps / f64::from(nodes);
        let from = |base: &Size| {
            let change = (tps_per_node - base.tps_per_node).abs() / base.tps_per_node;
            change.is_finite().then_some(1.0 - change)
        };
        let (from_least, from_previous) = (sizes.first().and_then(from), sizes.last().and_then(from));
        sizes.push(Size { nodes, runs: all.len(), tps, tps_per_node, from_least, from_previous });
    }
    sizes
}

/// Returns the mean; none without numbers.
pub(crate) fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| mean(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(from_s: f64, to_s: Option<f64>) -> Event {
        Event { name: "shutdown".to_owned(), from_s, to_s }
    }

    fn one(seconds: &[f64], event: Event) -> Result<Availability, EventRejected> {
        availability(seconds, &[event], &Settling::default()).map(|mut all| all.remove(0))
    }

    fn pieces(of: &[(f64, usize)]) -> Vec<f64> {
        of.iter().flat_map(|(tps, seconds)| vec![*tps; *seconds]).collect()
    }

    #[test]
    fn quartiles_between_two_numbers_are_interpolated() {
        let five = FiveNumbers::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(five.numbers(), [1.0, 1.75, 2.5, 3.25, 4.0]);
        assert_eq!(FiveNumbers::of(&[7.0]).unwrap().numbers(), [7.0; 5]);
        assert_eq!(FiveNumbers::of(&[]), None);
        assert_eq!(FiveNumbers::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn an_outage_with_a_known_recovery_has_the_papers_numbers() {
        let seconds = pieces(&[(1000.0, 30), (0.0, 9), (800.0, 30)]);
        let found = one(&seconds, event(30.0, None)).unwrap();
        assert_eq!((found.normal_tps, found.normal_is_stable), (1000.0, true));
        assert_eq!(found.began.stable, Some(Stable { after_s: 9.0, tps: 800.0 }));
        assert_eq!((found.began.watched_s, found.began.lowest_tps), (39, 0.0));
        assert!((found.r_e().unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(found.t_e(), Some(0.1));
    }

    #[test]
    fn an_event_without_consequences_keeps_all() {
        let found = one(&[50.0; 60], event(20.0, Some(40.0))).unwrap();
        assert_eq!((found.r_e(), found.t_e()), (Some(1.0), Some(1.0)));
        assert_eq!(found.ended.unwrap().stable, Some(Stable { after_s: 0.0, tps: 50.0 }));
    }

    #[test]
    fn a_lower_level_during_the_event_is_the_papers_tps_e_and_its_end_is_separate() {
        let seconds = pieces(&[(100.0, 20), (40.0, 20), (100.0, 20)]);
        let found = one(&seconds, event(20.0, Some(40.0))).unwrap();
        assert!((found.r_e().unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(found.t_e(), Some(1.0));
        let ended = found.ended.unwrap();
        assert_eq!(found.kept(&ended), Some(1.0));
        assert_eq!(ended.stable.unwrap().after_s, 0.0);
    }

    #[test]
    fn a_throughput_of_nothing_is_steady_but_not_stable() {
        let found = one(&pieces(&[(100.0, 20), (0.0, 30)]), event(20.0, None)).unwrap();
        assert_eq!((found.began.stable, found.r_e(), found.t_e()), (None, None, None));
    }

    #[test]
    fn an_outage_with_a_few_commits_is_not_stable() {
        // Any five of its seconds have two transactions.
        let few = [pieces(&[(2.0, 1), (0.0, 4)])].concat().repeat(6);
        let seconds = [pieces(&[(100.0, 20)]), few, pieces(&[(100.0, 20)])].concat();
        let stable = one(&seconds, event(20.0, None)).unwrap().began.stable.unwrap();
        assert_eq!((stable.after_s, stable.tps), (30.0, 100.0));
    }

    #[test]
    fn a_throughput_that_swings_never_becomes_stable() {
        let swing = [pieces(&[(100.0, 20)]), [pieces(&[(20.0, 6), (180.0, 6)])].concat().repeat(5)].concat();
        assert_eq!(one(&swing, event(20.0, None)).unwrap().began.stable, None);
    }

    #[test]
    fn an_unsteady_throughput_before_the_event_is_noticed() {
        let seconds = pieces(&[(100.0, 10), (300.0, 10), (200.0, 20)]);
        let found = one(&seconds, event(20.0, None)).unwrap();
        assert_eq!((found.normal_tps, found.normal_is_stable), (200.0, false));
    }

    #[test]
    fn an_event_within_a_second_is_counted_from_there() {
        let seconds = pieces(&[(100.0, 20), (0.0, 5), (100.0, 20)]);
        assert_eq!(one(&seconds, event(20.5, None)).unwrap().began.stable.unwrap().after_s, 4.5);
    }

    #[test]
    fn normal_throughput_ends_at_the_first_event_and_each_event_at_the_next() {
        let seconds = pieces(&[(100.0, 20), (0.0, 15), (50.0, 25)]);
        let events = [event(35.0, None), event(20.0, None)];
        let found = availability(&seconds, &events, &Settling::default()).unwrap();
        assert_eq!((found[0].normal_tps, found[1].normal_tps), (100.0, 100.0));
        assert_eq!(found[0].began.stable, Some(Stable { after_s: 0.0, tps: 50.0 }));
        assert_eq!((found[1].began.watched_s, found[1].began.stable), (15, None));
    }

    #[test]
    fn events_that_can_not_be_judged_are_rejected_with_the_reason() {
        let rejected = |seconds: &[f64], events: &[Event], words: &str| {
            let error = availability(seconds, events, &Settling::default()).unwrap_err();
            assert!(error.problem.contains(words), "{error}");
        };
        rejected(&[9.0; 30], &[event(31.0, None)], "outside the measured window, which has 30");
        rejected(&[9.0; 30], &[event(-1.0, None)], "outside the measured window");
        rejected(&[9.0; 30], &[event(12.0, Some(31.0))], "outside the measured window");
        rejected(&[9.0; 30], &[event(15.0, Some(12.0))], "ends before it begins");
        rejected(&[9.0; 30], &[event(9.9, None)], "only 9 s lie before the first event");
        rejected(&[9.0; 30], &[event(21.0, None)], "only 9 s lie after its beginning in all");
        rejected(&[9.0; 30], &[event(12.0, Some(25.0))], "only 5 s lie after its end");
        rejected(&[0.0; 30], &[event(15.0, None)], "no transaction completed before");
        let both = [event(12.0, Some(20.0)), event(20.0, None)];
        rejected(&[9.0; 60], &both, "overlaps the event shutdown");
        rejected(
            &[9.0; 60],
            &[event(12.0, None), event(20.0, None)],
            "only 8 s lie after its beginning before",
        );
    }

    #[test]
    fn scalability_compares_the_median_of_each_size_with_the_least_and_the_one_before() {
        let runs = [(9, 810.0), (3, 300.0), (3, 330.0), (3, 240.0), (6, 480.0)];
        let sizes = scalability(&runs);
        let found: Vec<_> = sizes.iter().map(|size| (size.nodes, size.runs, size.tps_per_node)).collect();
        assert_eq!(found, [(3, 3, 100.0), (6, 1, 80.0), (9, 1, 90.0)]);
        assert_eq!((sizes[0].from_least, sizes[0].from_previous), (None, None));
        assert!((sizes[1].from_least.unwrap() - 0.8).abs() < 1e-12);
        assert!((sizes[2].from_least.unwrap() - 0.9).abs() < 1e-12);
        assert!((sizes[2].from_previous.unwrap() - 0.875).abs() < 1e-12);
        assert_eq!(scalability(&[(1, 0.0), (2, 10.0)])[1].from_least, None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn five_numbers_of_a_constant_are_that_constant(value in -1e12_f64..1e12, count in 1_usize..50) {
            prop_assert_eq!(FiveNumbers::of(&vec![value; count]).unwrap().numbers(), [value; 5]);
        }

        #[test]
        fn five_numbers_are_in_order_whatever_the_order_of_the_values(
            mut values in prop::collection::vec(-1e9_f64..1e9, 1..60),
        ) {
            let five = FiveNumbers::of(&values).unwrap();
            prop_assert!(five.numbers().is_sorted());
            values.reverse();
            prop_assert_eq!(FiveNumbers::of(&values), Some(five));
            prop_assert!(values.contains(&five.min) && values.contains(&five.max));
        }

        #[test]
        fn an_outage_of_any_length_and_depth_is_found_to_the_second(
            normal in 50.0_f64..1e6, level in 0.2_f64..2.0, length in 1_usize..60, rest in 10_usize..60,
        ) {
            let seconds = pieces(&[(normal, 15), (0.0, length), (normal * level, rest)]);
            let found = one(&seconds, event(15.0, None)).unwrap();
            let stable = found.began.stable.unwrap();
            prop_assert_eq!(stable.after_s, length as f64);
            prop_assert!((found.r_e().unwrap() - (1.0 - (level - 1.0).abs())).abs() < 1e-9);
            prop_assert_eq!(found.t_e().unwrap(), 1.0 / (length as f64 + 1.0));
        }

        #[test]
        fn throughput_that_never_comes_back_or_keeps_changing_is_never_stable(
            normal in 50.0_f64..1e6, rest in 10_usize..80, growth in 1.1_f64..2.0,
        ) {
            let gone = pieces(&[(normal, 15), (0.0, rest)]);
            prop_assert_eq!(one(&gone, event(15.0, None)).unwrap().t_e(), None);
            let growing = (0..rest).map(|second| growth.powi(second as i32));
            let growing: Vec<f64> = pieces(&[(normal, 15)]).into_iter().chain(growing).collect();
            prop_assert_eq!(one(&growing, event(15.0, None)).unwrap().began.stable, None);
        }

        #[test]
        fn the_same_throughput_per_node_scales_perfectly(each in 1.0_f64..1e6, least in 1_u32..50, more in 1_u32..50) {
            let all = least + more;
            let sizes = scalability(&[(least, each * f64::from(least)), (all, each * f64::from(all))]);
            prop_assert!((sizes[1].from_least.unwrap() - 1.0).abs() < 1e-9);
        }
    }
}
