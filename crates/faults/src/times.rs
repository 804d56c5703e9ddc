//! The times of faults in a window: the end of each, and faults that overlap. Both depend on their kinds.

use crate::kinds::{self, AnyKind};
use crate::spec::FaultSpec;
use std::time::Duration;

impl FaultSpec {
    /// Returns the moment when the fault is undone in a window of this length; none if it stays.
    #[must_use]
    pub fn undone_at(&self, window: Duration) -> Option<Duration> {
        let stays = kinds::named(&self.kind).is_some_and(AnyKind::stays_without_end);
        self.to.or((!stays).then_some(window))
    }

    /// Returns true if both are of one kind, or both end servers, and act on one host at the same time, in a window of this
    /// length.
    #[must_use]
    pub fn coincides(&self, other: &Self, window: Duration) -> bool {
        let ends = |fault: &Self| fault.to.unwrap_or(window);
        // Only kinds that end servers stay without an end.
        let ends_servers =
            |fault: &Self| kinds::named(&fault.kind).is_some_and(|kind| kind.stays_without_end());
        (self.kind == other.kind || ends_servers(self) && ends_servers(other))
            && self.host == other.host
            && self.from < ends(other)
            && other.from < ends(self)
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
    fn a_fault_without_an_end_is_undone_with_the_window_unless_it_stays() {
        let window = Duration::from_secs(30);
        assert_eq!(parse("stop@1s/lab:pg").undone_at(window), Some(window));
        assert_eq!(parse("kill@1s/lab:pg").undone_at(window), None);
        assert_eq!(parse("kill@1s..9s/lab:pg").undone_at(window), Some(Duration::from_secs(9)));
    }
}
