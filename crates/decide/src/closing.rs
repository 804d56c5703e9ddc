//! The last part of a search whose runs have shares over a limit. A line through the shares of all runs says where the limit
//! is, and how well that is known. Runs near that place make it better known; then a level at each end of the interval is tried,
//! so that the answer is two levels that held and failed, with the limit between them.

use crate::crossing::Crossing;
use crate::search::{Limit, Range, Step, Zone};

/// Error of the interval of the limit.
const ERROR: f64 = 0.1;
/// A level of the answer lies at least so far from the limit that the limit is beyond it with 90 %.
const SURE: f64 = 0.2;
/// Fewest runs of a line that ends a search, and most runs that are made for it.
const LEAST_RUNS: usize = 6;
const MOST_RUNS: usize = 40;
/// Further runs at the two ends.
const MOST_AT_ENDS: usize = 12;
/// Distances of the runs from the limit, in resolutions. Levels on both sides make the line known, and those below the limit
/// count more: above it a queue follows another line.
const AROUND: [f64; 4] = [-1.0, 1.0, 0.0, 2.0];
/// The limit may be so far outside of the zone, as a share or in standard deviations: its ends may be wrong by chance.
const OUTSIDE: f64 = 0.05;
const OUTSIDE_DEVIATIONS: f64 = 2.0;

/// A level that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// The level.
    pub level: f64,
    /// True if all objectives held, by all its runs together.
    pub held: bool,
    /// True if further runs would probably say the same.
    pub is_settled: bool,
}

impl Range {
    /// Returns the next step of a search of `made` runs so far whose limit is at a crossing, by the levels that were tried and the
    /// zone that they leave.
    /// `None` if the line does not fit the zone, or if whole levels are too coarse for it: then [`Range::next`] goes on.
    #[must_use]
    pub fn close_in(&self, crossing: Crossing, made: usize, tried: &[Tried], zone: Zone) -> Option<Step> {
        let Crossing { at, deviation, .. } = crossing;
        let beside = (OUTSIDE * at).max(OUTSIDE_DEVIATIONS * deviation);
        let fits = zone.holds - beside <= at && at <= zone.fails + beside;
        let step = self.resolution * at;
        if !fits || (self.whole && step < 1.0) {
            return None;
        }
        let permitted =
            |level: f64| self.level(level.clamp(zone.holds / (1.0 + OUTSIDE), zone.fails * (1.0 + OUTSIDE)));
        let reach = crossing.reach(ERROR);
        let is_known = crossing.runs >= LEAST_RUNS && reach <= step;
        if !is_known && made < MOST_RUNS {
            let around = AROUND.get(made % AROUND.len()).copied().unwrap_or_default();
            return Some(Step::Probe(permitted(at + around * step)));
        }
        // An end is between the place that is wanted and the place from which the limit is beyond it.
        let end = |holds: bool| {
            let side = if holds { -1.0 } else { 1.0 };
            let (least, wanted) = (crossing.reach(SURE), reach);
            let most = wanted + step;
            let of = |tried: &&Tried| (least..=most).contains(&(side * (tried.level - at)));
            let mut near: Vec<&Tried> = tried.iter().filter(of).collect();
            near.sort_by(|a, b| (a.level - at).abs().total_cmp(&(b.level - at).abs()));
            if let Some(found) = near.iter().find(|of| of.is_settled && of.held == holds) {
                return Ok(found.level);
            }
            if let Some(open) = near.iter().find(|of| !of.is_settled) {
                return Err(open.level);
            }
            let places = (0..4).map(|place| permitted(at + side * (wanted + f64::from(place) * step / 4.0)));
            let mut untried = places.filter(|level| tried.iter().all(|of| of.level != *level));
            untried.next().map_or(Ok(if holds { zone.holds } else { zone.fails }), Err)
        };
        let step = match (end(true), end(false)) {
            (Ok(holds), Ok(fails)) => Step::Done(Limit::Between { holds, fails }),
            _ if made >= MOST_RUNS + MOST_AT_ENDS => {
                Step::Done(Limit::Between { holds: zone.holds, fails: zone.fails })
            }
            (Err(level), _) | (_, Err(level)) => Step::Probe(level),
        };
        Some(step)
    }
}
