//! Detects frozen servers and networks that lose every packet: connections stay open, requests are in flight, and no
//! session gets an answer. One session cannot distinguish that from a slow transaction; all sessions together can.

use crate::clock::{Nanos, SECOND};
use crate::in_flight::InFlight;
use crate::measurement::KindMeasurement;

/// The shortest silence that can be an outage. Checkpoints, elections and garbage collection cause shorter ones.
const SHORTEST: Nanos = 2 * SECOND;
/// An outage lasts at least this many times the median of the slowest transaction type. A shorter silence may be that
/// of slow transactions.
const TIMES_THE_USUAL: u64 = 10;
/// A gap this long between two looks means that this process itself was stopped: the gap proves no outage.
const OWN_PAUSE: Nanos = SECOND;

/// Finds silences during a run.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    looked: Nanos,
    /// Start of the time that was observed without a gap.
    observed_since: Nanos,
    /// Start of the current silence.
    since: Option<Nanos>,
    found: Vec<(Nanos, Nanos)>,
}

impl Silence {
    /// Looks at all sessions. The run calls it several times a second.
    pub(crate) fn look(&mut self, in_flight: &[InFlight], now: Nanos) {
        let own_pause = now.saturating_sub(self.looked) > OWN_PAUSE;
        self.looked = now;
        if own_pause {
            self.observed_since = now;
            self.since = None;
        }
        let heard = in_flight.iter().map(InFlight::last_answer_at).max().unwrap_or(0);
        let sent = in_flight.iter().filter_map(InFlight::request_sent_at).min();
        match (self.since, sent) {
            (Some(since), _) if heard > since => {
                let first =
                    in_flight.iter().map(InFlight::last_answer_at).filter(|&heard| heard > since).min();
                self.found.push((since, first.unwrap_or(heard)));
                self.since = None;
            }
            // The requests were lost with their connections, which is an outage of its own.
            (Some(since), None) => {
                self.found.push((since, now));
                self.since = None;
            }
            (None, Some(sent)) => {
                let since = sent.max(heard).max(self.observed_since);
                self.since = (now.saturating_sub(since) >= SHORTEST).then_some(since);
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    /// Returns the silences that were outages. One that still lasts ends at `end`.
    pub(crate) fn outages(&self, kinds: &[KindMeasurement], end: Nanos) -> Vec<(Nanos, Nanos)> {
        let usual = kinds.iter().filter(|kind| !kind.service.is_empty());
        let slowest = usual.map(|kind| kind.service.value_at_quantile(0.5)).max().unwrap_or(0);
        let shortest = SHORTEST.max(slowest.saturating_mul(TIMES_THE_USUAL));
        let lasting = self.since.map(|since| (since, end));
        let all = self.found.iter().copied().chain(lasting);
        all.map(|(from, to)| (from, to.min(end)))
            .filter(|(from, to)| to.saturating_sub(*from) >= shortest)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks every 20 ms from the last look on.
    fn look_until(silence: &mut Silence, sessions: &[InFlight], until: Nanos) {
        while silence.looked < until {
            let now = (silence.looked + SECOND / 50).min(until);
            silence.look(sessions, now);
        }
    }

    fn of_service(median: Nanos) -> KindMeasurement {
        let mut kind = KindMeasurement::new();
        kind.service.record(median).expect("a time that fits");
        kind
    }

    #[test]
    fn a_silence_lasts_from_the_last_answer_to_the_first_one_after_it() {
        let sessions = [InFlight::default(), InFlight::default()];
        let mut silence = Silence::default();
        sessions[0].note_request(SECOND);
        sessions[1].note_request(SECOND);
        look_until(&mut silence, &sessions, 2 * SECOND);
        sessions[1].note_answer(2 * SECOND);
        sessions[1].note_request(2 * SECOND + 1);
        look_until(&mut silence, &sessions, 6 * SECOND);
        assert_eq!(silence.outages(&[], 7 * SECOND), [(2 * SECOND, 7 * SECOND)], "it lasts");
        sessions[0].note_answer(6 * SECOND);
        sessions[1].note_answer(6 * SECOND + 5);
        look_until(&mut silence, &sessions, 7 * SECOND);
        let outages = silence.outages(&[of_service(SECOND / 10)], 9 * SECOND);
        assert_eq!(outages, [(2 * SECOND, 6 * SECOND)]);
        assert_eq!(silence.outages(&[of_service(SECOND)], 9 * SECOND), [], "transactions take long there");
    }

    #[test]
    fn nothing_is_silent_when_nothing_is_under_way_or_this_process_stood_still() {
        let sessions = [InFlight::default()];
        let mut silence = Silence::default();
        look_until(&mut silence, &sessions, 10 * SECOND);
        sessions[0].note_request(10 * SECOND);
        look_until(&mut silence, &sessions, 11 * SECOND);
        // The process was stopped, for example by Ctrl-Z.
        silence.look(&sessions, 60 * SECOND);
        look_until(&mut silence, &sessions, 61 * SECOND);
        sessions[0].note_answer(61 * SECOND);
        look_until(&mut silence, &sessions, 70 * SECOND);
        assert_eq!(silence.outages(&[], 70 * SECOND), []);
    }

    #[test]
    fn a_silence_ends_where_its_requests_are_lost() {
        let sessions = [InFlight::default()];
        let mut silence = Silence::default();
        sessions[0].note_request(0);
        look_until(&mut silence, &sessions, 5 * SECOND);
        sessions[0].forget_request();
        look_until(&mut silence, &sessions, 9 * SECOND);
        let [(0, to)] = silence.outages(&[], 9 * SECOND)[..] else { panic!("{silence:?}") };
        assert!((5 * SECOND..6 * SECOND).contains(&to), "{to}");
    }
}
