//! Availability of a database in events (Dike 4.4, equation 4): R_e and T_e from the throughput of each second.

use serde::Serialize;

use super::mean_of;
use crate::model::Settling;
use crate::reasons::Unjudged;

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

    /// Returns the last stretch in which throughput is stable: its level.
    fn last_stable(&self, seconds: &[f64]) -> Option<f64> {
        seconds.windows(self.hold_s.max(1)).rev().find_map(|stretch| self.level(stretch))
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
    /// The paper's TPS_n: the mean of all measured seconds before the first event of the run; for a later event that of
    /// the nearest steady seconds before it, or of all seconds between it and the event before if none are steady.
    pub normal_tps: f64,
    /// True if throughput was stable over all of these seconds.
    pub normal_is_stable: bool,
    /// The time between this event and the one before; none for the first.
    pub between: Option<Between>,
    /// Throughput after its beginning, whose stable level is the paper's TPS_e.
    pub began: Aftermath,
    /// Throughput after its end, if it has one.
    pub ended: Option<Aftermath>,
}

/// The time between an event and the one before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Between {
    /// Name of the event before.
    pub after: String,
    /// Whole seconds from its end, or from its beginning if it has none, to this event.
    pub watched_s: usize,
    /// Time from there until throughput was steady; none if it was not before this event.
    pub steady_after_s: Option<f64>,
    /// Time for which throughput must be stable to be steady.
    pub hold_s: usize,
}

impl Availability {
    /// Returns true if throughput before the event can be compared with that after it. It can't if the event began before
    /// throughput was steady after another one: the way back from that one would count for this one, too.
    #[must_use]
    pub fn has_normal(&self) -> bool {
        self.between.as_ref().is_none_or(|between| between.steady_after_s.is_some())
    }

    /// Returns the reason why the event has no R_e and no T_e; none if it has them.
    #[must_use]
    pub fn missing(&self) -> Option<Unjudged> {
        let between = self.between.as_ref().filter(|_| !self.has_normal());
        let words = match between {
            Some(Between { after, watched_s, hold_s, .. }) if watched_s < hold_s => format!(
                "only {watched_s} s lie between {after} and it, and steady throughput takes at least {hold_s} s: leave \
                 more time between them"
            ),
            Some(Between { after, watched_s, .. }) => {
                format!("throughput was not steady in the {watched_s} s between {after} and it")
            }
            None if self.began.stable.is_none() => "throughput did not become stable again".to_owned(),
            None => return None,
        };
        Some(Unjudged(words))
    }

    /// Returns R_e = 1 − |TPS_e − TPS_n| / TPS_n: 1 if throughput is restored. None if it never became stable, or was not
    /// before the event.
    #[must_use]
    pub fn r_e(&self) -> Option<f64> {
        self.kept(&self.began)
    }

    /// Returns T_e = 1 / (t + 1), t in seconds: 1 if throughput stayed stable. None if it never became stable, or was not
    /// before the event.
    #[must_use]
    pub fn t_e(&self) -> Option<f64> {
        self.stable(&self.began).map(|stable| 1.0 / (stable.after_s + 1.0))
    }

    /// Returns the stable throughput after the beginning or after the end, if it can be compared with that before.
    #[must_use]
    pub fn stable(&self, aftermath: &Aftermath) -> Option<Stable> {
        aftermath.stable.filter(|_| self.has_normal())
    }

    /// Returns R_e for the level after the beginning or after the end.
    #[must_use]
    pub fn kept(&self, aftermath: &Aftermath) -> Option<f64> {
        self.stable(aftermath).map(|stable| 1.0 - (stable.tps - self.normal_tps).abs() / self.normal_tps)
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
/// An event is outside the measured window or overlaps another, or too few seconds lie before the first event, after it,
/// or between it and the next.
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
    let each = |(index, event)| of_event(seconds, events, (index, event), settling);
    events.iter().enumerate().map(each).collect()
}

/// Returns the event before another one, with the moment when it was over; none for the first. An event without an end is
/// over when it has begun: what it changed stays.
fn before<'a>(events: &'a [Event], event: &Event) -> Option<(&'a Event, f64)> {
    let earlier = events.iter().filter(|other| other.from_s < event.from_s);
    let over = earlier.map(|other| (other, other.to_s.unwrap_or(other.from_s)));
    over.max_by(|(_, one_s), (_, other_s)| one_s.total_cmp(other_s))
}

/// Returns the whole seconds between an event and the one before it; none for the first event.
pub(super) fn seconds_between(events: &[Event], event: &Event) -> Option<std::ops::Range<usize>> {
    let (_, over_s) = before(events, event)?;
    let from = over_s.max(0.0).ceil() as usize;
    Some(from..(event.from_s as usize).max(from))
}

/// The throughput before an event.
struct Normal {
    tps: f64,
    is_stable: bool,
    between: Option<Between>,
}

impl Normal {
    /// Reads the throughput before the first event.
    fn of_first(seconds: &[f64], event: &Event, settling: &Settling) -> Result<Self, Unjudged> {
        let (before, hold) = (seconds.get(..event.from_s as usize).unwrap_or_default(), settling.hold_s);
        if before.len() < hold {
            return Err(Unjudged(format!(
                "only {} s lie before the first event, and the normal throughput takes at least {hold} s: \
                 let it begin later",
                before.len()
            )));
        }
        let tps = mean_of(before).unwrap_or_default();
        if tps <= 0.0 {
            return Err(Unjudged(
                "no transaction completed before the first event, so there is no normal throughput"
                    .to_owned(),
            ));
        }
        Ok(Self { tps, is_stable: settling.level(before).is_some(), between: None })
    }

    /// Reads the throughput before an event after another one; none if there is no other one.
    fn of_later(seconds: &[f64], events: &[Event], event: &Event, settling: &Settling) -> Option<Self> {
        let ((other, over_s), span) = (before(events, event)?, seconds_between(events, event)?);
        let first = span.start as f64;
        let between = seconds.get(span).unwrap_or_default();
        let level = settling.last_stable(between);
        // The event before may have ended within a second.
        let steady = settling.first_stable(between).map(|(second, _)| first + second as f64 - over_s);
        Some(Self {
            tps: level.or(mean_of(between)).unwrap_or_default(),
            is_stable: level.is_some(),
            between: Some(Between {
                after: other.name.clone(),
                watched_s: between.len(),
                steady_after_s: steady,
                hold_s: settling.hold_s,
            }),
        })
    }
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
    settling: &Settling,
) -> Result<Availability, Unjudged> {
    let (measured, hold) = (seconds.len(), settling.hold_s);
    let from_s = event.from_s;
    check_times(events, (index, event), measured)?;
    let normal = match Normal::of_later(seconds, events, event, settling) {
        Some(normal) => normal,
        None => Normal::of_first(seconds, event, settling)?,
    };
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
        normal_tps: normal.tps,
        normal_is_stable: normal.is_stable,
        between: normal.between,
        began: follow(from_s, "beginning")?,
        ended: event.to_s.map(|to_s| follow(to_s, "end")).transpose()?,
    })
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
    fn each_event_is_compared_with_the_nearest_steady_seconds_before_it() {
        // The first event costs a quarter for good. The second one is over when it stands still for 3 s.
        let seconds =
            pieces(&[(100.0, 20), (0.0, 5), (30.0, 2), (60.0, 3), (80.0, 12), (0.0, 3), (80.0, 15)]);
        let events = [event(42.0, Some(45.0)), event(20.0, Some(22.5))];
        let found = availability(&seconds, &events, &Settling::default()).unwrap();
        let (second, first) = (&found[0], &found[1]);
        assert_eq!((first.normal_tps, first.between.as_ref()), (100.0, None));
        assert!((first.r_e().unwrap() - 0.74).abs() < 1e-12, "{:?}", first.r_e());
        assert_eq!((second.normal_tps, second.normal_is_stable), (80.0, true));
        let between = second.between.as_ref().unwrap();
        assert_eq!(
            (between.watched_s, between.steady_after_s),
            (19, Some(4.5)),
            "from 23 s, steady from 27 s"
        );
        assert_eq!((second.r_e(), second.t_e()), (Some(1.0), Some(0.25)));
        assert_eq!((first.missing(), second.missing()), (None, None));
    }

    #[test]
    fn an_event_that_begins_before_throughput_is_steady_again_says_so_and_the_one_before_does_not() {
        let seconds = pieces(&[(100.0, 20), (0.0, 15), (50.0, 25)]);
        let events = [event(35.0, None), event(20.0, None)];
        let found = availability(&seconds, &events, &Settling::default()).unwrap();
        let (second, first) = (&found[0], &found[1]);
        assert_eq!(first.normal_tps, 100.0);
        assert_eq!(second.began.stable, Some(Stable { after_s: 0.0, tps: 50.0 }));
        assert_eq!((second.r_e(), second.t_e(), second.kept(&second.began)), (None, None, None));
        let why = |of: &Availability| of.missing().map(String::from);
        let words = "throughput was not steady in the 15 s between shutdown and it";
        assert_eq!(why(second).as_deref(), Some(words));
        assert_eq!((first.began.watched_s, first.began.stable), (15, None));
        assert_eq!(why(first).as_deref(), Some("throughput did not become stable again"));
        // A fault too soon after the one before, which can't be judged itself: none of its seconds is after its end.
        let events = [event(20.0, Some(31.0)), event(36.0, None)];
        let each = availability_each(&[50.0; 60], &events, &Settling::default());
        assert!(each[0].as_ref().unwrap_err().to_string().contains("only 5 s lie after its end"));
        let why = each[1].as_ref().unwrap().missing().unwrap().to_string();
        assert!(why.contains("only 5 s lie between shutdown and it"), "{why}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_second_of_two_like_outages_has_the_numbers_of_the_first_alone(
            normal in 50.0_f64..1e6, level in 0.5_f64..1.0, length in 1_usize..8,
        ) {
            // Each outage leaves the same share of the throughput before it.
            let of = |tps: f64| [(tps, 20), (0.0, length), (tps * level, 20)];
            let alone = one(&pieces(&of(normal)), event(20.0, Some(20.0 + length as f64))).unwrap();
            let seconds = pieces(&[&of(normal)[..], &of(normal * level)[1..]].concat());
            let (from_s, lasts) = (40.0 + length as f64, length as f64);
            let events = [event(20.0, Some(20.0 + lasts)), event(from_s, Some(from_s + lasts))];
            let both = availability(&seconds, &events, &Settling::default()).unwrap();
            for found in &both {
                prop_assert!((found.r_e().unwrap() - alone.r_e().unwrap()).abs() < 1e-9);
                prop_assert_eq!(found.t_e(), alone.t_e());
            }
            prop_assert_eq!(both[1].between.as_ref().unwrap().steady_after_s, Some(0.0));
        }
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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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
    }
}
