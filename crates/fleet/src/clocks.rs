//! The clocks of agents, compared with the coordinator's.
//!
//! An agent answers a ping with its clock. The answer was made between the ping and its arrival, so half of the round
//! trip bounds the error of the middle. The shortest of several round trips gives the best estimate.

use std::time::{Instant, SystemTime};

/// Round trips for each agent.
pub(crate) const ROUND_TRIPS: u32 = 20;

/// A clock that only rises, in nanoseconds since it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> u64 {
        self.at(Instant::now())
    }

    /// Returns the clock's time at an instant; zero before its start.
    pub(crate) fn at(self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.0).as_nanos() as u64
    }

    /// Returns the instant at a time of the clock.
    pub(crate) fn instant(self, at: u64) -> Instant {
        self.0 + std::time::Duration::from_nanos(at)
    }
}

/// Returns the time of day in nanoseconds since 1970.
pub(crate) fn day() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// A clock of an agent, compared with the coordinator's. All numbers are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Agent's clock minus the coordinator's.
    pub(crate) offset: i64,
    /// Agent's time of day minus the coordinator's.
    pub(crate) day_offset: i64,
    /// Greatest error of both.
    pub(crate) bound: u64,
}

/// Round trip of a ping: the coordinator's clock when it was sent and when the answer came, and the agent's clock and
/// time of day, and the coordinator's time of day when the answer came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    pub(crate) sent: u64,
    pub(crate) came: u64,
    pub(crate) clock: u64,
    pub(crate) day: u64,
    pub(crate) came_day: u64,
}

/// Compares clocks by the shortest round trip; `None` without one.
pub(crate) fn compare(trips: &[RoundTrip]) -> Option<Compared> {
    let best = trips.iter().min_by_key(|trip| trip.came.saturating_sub(trip.sent))?;
    let half = best.came.saturating_sub(best.sent).div_ceil(2);
    let middle = best.came - half;
    Some(Compared {
        offset: best.clock as i64 - middle as i64,
        day_offset: best.day as i64 - (best.came_day - half) as i64,
        bound: half,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_bounds_the_offset() {
        // The agent's clock is 1000 ahead; the way there takes longer than the way back.
        let trip = |sent: u64, there: u64, back: u64| RoundTrip {
            sent,
            came: sent + there + back,
            clock: sent + there + 1_000,
            day: sent + there + 70_000,
            came_day: sent + there + back + 50_000,
        };
        let found = compare(&[trip(0, 500, 100), trip(10_000, 30, 10), trip(20_000, 10, 300)]).unwrap();
        assert_eq!(found.bound, 20);
        assert!((found.offset - 1_000).unsigned_abs() <= found.bound, "{found:?}");
        assert!((found.day_offset - 20_000).unsigned_abs() <= found.bound, "{found:?}");
        assert_eq!(compare(&[]), None);
    }
}
