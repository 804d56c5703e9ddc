//! The last part of a search whose runs have shares over a limit. A line through the shares of all runs says where the
//! limit is, and how well that is known. Runs near that place make it better known; then a level at each end of the
//! interval is tried, so that the answer is two levels that held and failed, with the limit between them.

use crate::crossing::{Crossing, INTERVAL_ERROR};
use crate::search::{Limit, Range, Step, Zone};

/// A level of the answer lies at least so far from the limit that the limit is beyond it with 90 %.
const END_ERROR: f64 = 0.2;
/// Fewest runs of a line that ends a search.
const LEAST_OF_LINE: usize = 6;
/// Most runs of a search before it turns to the ends, whatever is known then.
const MOST_BEFORE_ENDS: usize = 40;
/// Most runs of a search that has neighbours of the limit.
pub const MOST_IN_ALL: usize = 52;
/// Distances of the runs from the limit, in resolutions. Levels on both sides make the line known, and those above the
/// limit have more requests that count.
const AROUND: [f64; 4] = [-1.0, 1.0, 0.0, 2.0];
/// Levels that are tried for an end, each a quarter of the resolution farther from the limit.
const PLACES: u32 = 4;

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

/// One of the two levels of the answer.
enum End {
    /// The runs say that it is one.
    Found(f64),
    /// This level may be one: it is tried next.
    Try(f64),
    /// All places for it were tried in vain.
    None,
}

impl Range {
    /// Returns the next step of a search of `made` runs so far whose limit is at a crossing within the zone that they
    /// leave, by the levels that were tried. `None` if whole levels are too coarse for it: then [`Range::next`] goes
    /// on.
    #[must_use]
    pub fn close_in(&self, crossing: &Crossing, made: usize, tried: &[Tried], zone: Zone) -> Option<Step> {
        let width = self.resolution * crossing.at;
        if self.whole && width < 1.0 {
            return None;
        }
        let reach = crossing.reach(INTERVAL_ERROR);
        let is_known = crossing.runs >= LEAST_OF_LINE && reach <= width;
        if !is_known && made < MOST_BEFORE_ENDS {
            let around = AROUND.get(made % AROUND.len()).copied().unwrap_or_default();
            let level =
                (crossing.at + around * width).clamp(zone.holds - 2.0 * width, zone.fails + 2.0 * width);
            return Some(Step::Probe(self.level(level)));
        }
        let step = match [true, false].map(|holds| self.end(crossing, tried, holds)) {
            [End::Found(holds), End::Found(fails)] => Step::Done(Limit::Between { holds, fails }),
            [End::Try(level), _] | [_, End::Try(level)] if made < MOST_IN_ALL => Step::Probe(level),
            // The runs contradict each other: what is left is what the search knew before.
            _ => Step::Done(Limit::Between { holds: zone.holds, fails: zone.fails }),
        };
        Some(step)
    }

    /// Returns the level of the answer on one side of the limit.
    fn end(&self, crossing: &Crossing, tried: &[Tried], holds: bool) -> End {
        let side = if holds { -1.0 } else { 1.0 };
        let width = self.resolution * crossing.at;
        let (least, wanted) = (crossing.reach(END_ERROR), crossing.reach(INTERVAL_ERROR));
        let beyond = |level: f64| side * (level - crossing.at);
        let mut near: Vec<&Tried> =
            tried.iter().filter(|of| (least..=wanted + width).contains(&beyond(of.level))).collect();
        near.sort_by(|a, b| beyond(a.level).total_cmp(&beyond(b.level)));
        if let Some(found) = near.iter().find(|of| of.is_settled && of.held == holds) {
            return End::Found(found.level);
        }
        if let Some(open) = near.iter().find(|of| !of.is_settled) {
            return End::Try(open.level);
        }
        let place = |place: u32| wanted + f64::from(place) * width / f64::from(PLACES);
        let places = (0..PLACES).map(|at| self.level(crossing.at + side * place(at)));
        let untried = |level: &f64| tried.iter().all(|of| of.level != *level) && beyond(*level) > 0.0;
        places.into_iter().find(untried).map_or(End::None, End::Try)
    }
}
