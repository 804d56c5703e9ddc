//! The times of faults in a window: the end of each, the occurrences of those that repeat, and faults that overlap.

use crate::kinds::{self, AnyKind};
use crate::spec::FaultSpec;
use std::time::Duration;

/// Most occurrences of a fault in a run. Each has entries in the result, and cuts the window for its latencies.
pub const MOST_OCCURRENCES: usize = 1000;

impl FaultSpec {
    /// Returns the number of occurrences in a window of this length: those that end within it, but at least the first.
    #[must_use]
    pub fn repeats(&self, window: Duration) -> u128 {
        let (Some(every), Some(to)) = (self.every.filter(|every| !every.is_zero()), self.to) else {
            return 1;
        };
        1 + window.saturating_sub(to).as_nanos() / every.as_nanos()
    }

    /// Returns the occurrences of a fault in a window of this length, in their order and at most [`MOST_OCCURRENCES`], each
    /// as a fault that does not repeat.
    #[must_use]
    pub fn occurrences(&self, window: Duration) -> Vec<Self> {
        let count = u32::try_from(self.repeats(window)).unwrap_or(u32::MAX);
        let every = self.every.unwrap_or_default();
        let occurrence = |number: u32| {
            let later = every.checked_mul(number)?;
            let to = match self.to {
                Some(to) => Some(to.checked_add(later)?),
                None => None,
            };
            Some(Self { from: self.from.checked_add(later)?, to, every: None, ..self.clone() })
        };
        (0..count).map_while(occurrence).take(MOST_OCCURRENCES).collect()
    }

    /// Returns the moment when the fault is undone in a window of this length; none if it stays.
    #[must_use]
    pub fn undone_at(&self, window: Duration) -> Option<Duration> {
        let stays = kinds::named(&self.kind).is_some_and(AnyKind::stays_without_end);
        self.to.or((!stays).then_some(window))
    }

    /// Returns true if both are of one kind, or both end servers, and act on one host at the same time, in a window of this
    /// length. Faults that repeat coincide if two of their occurrences do.
    #[must_use]
    pub fn coincides(&self, other: &Self, window: Duration) -> bool {
        // Only kinds that end servers stay without an end.
        let ends_servers =
            |fault: &Self| kinds::named(&fault.kind).is_some_and(|kind| kind.stays_without_end());
        (self.kind == other.kind || ends_servers(self) && ends_servers(other))
            && self.host == other.host
            && self.meets_in_time(other, window)
    }

    /// Returns true if an occurrence of one is within an occurrence of the other.
    fn meets_in_time(&self, other: &Self, window: Duration) -> bool {
        let span = |fault: &Self| (fault.from, fault.to.unwrap_or(window));
        let others: Vec<_> = other.occurrences(window).iter().map(span).collect();
        self.occurrences(window).iter().map(span).any(|(from, to)| {
            others.iter().any(|(other_from, other_to)| from < *other_to && *other_from < to)
        })
    }

    /// Returns true if both coincide and name a common place.
    #[must_use]
    pub fn overlaps(&self, other: &Self, window: Duration) -> bool {
        self.coincides(other, window)
            && self.places.iter().any(|place| other.places.iter().any(|there| place.meets(there)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Reader;

    fn parse(text: &str) -> FaultSpec {
        let time = |text: &str| {
            let seconds = text.strip_suffix('s').and_then(|text| text.parse().ok());
            seconds.map(Duration::from_secs_f64).ok_or_else(String::new)
        };
        let unknown_kind = |_: &str, _: &[&str]| String::new();
        FaultSpec::parse(text, &Reader { time: &time, unknown_kind: &unknown_kind, places: None }).unwrap()
    }

    #[test]
    fn faults_of_one_kind_overlap_only_at_one_place_and_time() {
        let window = Duration::from_secs(30);
        let overlap = |one: &str, other: &str| {
            let (one, other) = (parse(one), parse(other));
            assert_eq!(one.overlaps(&other, window), other.overlaps(&one, window));
            one.overlaps(&other, window)
        };
        assert!(overlap("stop@1s..5s/lab:pg", "stop@4s..6s/lab:pg"));
        assert!(overlap("stop@1s/lab:pg", "stop@20s..21s/lab:pg/0"));
        assert!(!overlap("stop@1s..5s/lab:pg", "stop@5s..6s/lab:pg"));
        assert!(!overlap("stop@1s..5s/lab:pg/0", "stop@1s..5s/lab:pg/1"));
        assert!(!overlap("stop@1s..5s/lab:pg", "kill@1s..5s/lab:pg"));
        assert!(overlap("stop@1s..5s/lab:pg/0", "stop@1s..5s/nodes=1"));
        assert!(!overlap("stop@1s..5s/pid:7", "stop@1s..5s/ssh://db1/pid:7"));
    }

    #[test]
    fn a_fault_repeats_as_long_as_its_occurrences_end_in_the_window() {
        let of = |text: &str, window: u64| -> Vec<String> {
            let found = parse(text).occurrences(Duration::from_secs(window));
            found.iter().map(ToString::to_string).collect()
        };
        let each = ["stop@5s..7s/lab:pg", "stop@15s..17s/lab:pg", "stop@25s..27s/lab:pg"];
        assert_eq!(of("stop@5s..7s,every=10s/lab:pg", 36), each);
        assert_eq!(of("stop@5s..7s,every=10s/lab:pg", 27), each);
        assert_eq!(of("stop@5s..7s,every=10s/lab:pg", 26), each[..2]);
        assert_eq!(of("stop@5s..7s,every=10s/lab:pg", 6), each[..1], "the plan rejects it by that one");
        assert_eq!(of("stop@5s..7s/lab:pg", 36), each[..1]);
        let often = parse("stop@0s..0.5s,every=1s/lab:pg");
        assert_eq!(often.repeats(Duration::from_secs(7200)), 7200);
        assert_eq!(often.occurrences(Duration::from_secs(7200)).len(), MOST_OCCURRENCES);
    }

    #[test]
    fn faults_that_repeat_overlap_if_two_of_their_occurrences_do() {
        let overlap = |one: &str, other: &str| parse(one).overlaps(&parse(other), Duration::from_secs(60));
        let every = "stop@5s..7s,every=10s/lab:pg";
        assert!(overlap(every, "stop@36s..38s/lab:pg"));
        assert!(!overlap(every, "stop@37s..45s/lab:pg"));
        assert!(overlap(every, "stop@8s..9s,every=7s/lab:pg"), "16 s to 17 s: 15..17 and 15..16");
        assert!(!overlap(every, "stop@8s..9s,every=20s/lab:pg"));
        assert!(overlap("stop@58s/lab:pg", "stop@1s..2s,every=57s/lab:pg"));
    }

    #[test]
    fn a_fault_without_an_end_is_undone_with_the_window_unless_it_stays() {
        let window = Duration::from_secs(30);
        assert_eq!(parse("stop@1s/lab:pg").undone_at(window), Some(window));
        assert_eq!(parse("kill@1s/lab:pg").undone_at(window), None);
        assert_eq!(parse("kill@1s..9s/lab:pg").undone_at(window), Some(Duration::from_secs(9)));
    }
}
