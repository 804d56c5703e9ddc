//! The highest level (a rate, a number of terminals or sessions) at which a system still holds its objectives, from
//! probes that may be wrong near that level. First the level grows until a probe fails, then the two neighbours close
//! in on a scale of ratios. Where the runs have shares over a limit, [`Range::close_in`] goes on as soon as the two
//! are near each other. Else a level counts by the majority of its probes, and the two that end the search need a lead
//! of [`CONFIRMED`] each. So one disturbed probe costs some more of them, and does not move the result.
//!
//! The next step is a function of the probes that were made: a search that was broken off goes on from them.

use crate::crossing::Crossing;

/// Lead of one kind of probes over the other at a level that the result rests on.
pub const CONFIRMED: i32 = 2;

/// Digits of a level that need not be a whole number.
const DIGITS: i32 = 5;

/// Factor by which the level grows until a probe fails.
const GROWTH: f64 = 2.0;

/// Two neighbours within this factor are near enough for a line through the shares of the runs around them.
const NEIGHBOURS: f64 = 1.3;

/// A crossing may be so far beside a zone, as a share or in standard deviations.
const BESIDE: f64 = 0.05;
const BESIDE_DEVIATIONS: f64 = 2.0;

/// The levels of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// Lowest level of interest, above 0.
    pub lowest: f64,
    /// Highest level that makes sense, as the client's limit; at least `lowest`.
    pub highest: f64,
    /// The first level, between the two.
    pub start: f64,
    /// True if only whole numbers are levels.
    pub whole: bool,
    /// Precision of the answer as a share of it, as 0.03. Above 0. A search without shares ends as soon as the failing
    /// level is at most so far above the holding one, and one with shares as soon as the interval of the limit reaches
    /// at most so far to both sides.
    pub resolution: f64,
}

/// A run at a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// The level.
    pub level: f64,
    /// True if all objectives held.
    pub held: bool,
}

/// The next step of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Probe this level, which may have been probed before.
    Probe(f64),
    /// The search is over.
    Done(Limit),
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Objectives fail at the lowest level already.
    FailsAtLowest,
    /// Objectives hold at the highest level.
    HoldsAtHighest,
    /// The highest level that held, and the lowest one above it that failed.
    Between {
        /// Held.
        holds: f64,
        /// Failed.
        fails: f64,
    },
}

/// Two levels with the limit between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zone {
    /// Held, as all levels below it.
    pub holds: f64,
    /// Failed, as all levels above it.
    pub fails: f64,
}

impl Zone {
    /// True if a line has its crossing in the zone, or beside it: the ends may be wrong by chance.
    #[must_use]
    pub fn admits(&self, crossing: &Crossing) -> bool {
        let beside = (BESIDE * crossing.at).max(BESIDE_DEVIATIONS * crossing.deviation);
        (self.holds - beside..=self.fails + beside).contains(&crossing.at)
    }
}

/// A level with its probes: how many more held than failed.
#[derive(Debug, Clone, Copy)]
struct Votes {
    level: f64,
    lead: i32,
}

impl Range {
    /// Returns the next step after these probes, in any order. Levels that were not asked for are welcome: neighbours
    /// of an earlier search save probes.
    #[must_use]
    pub fn next(&self, probes: &[Probe]) -> Step {
        let votes = votes(probes);
        if let Some(open) = votes.iter().find(|votes| votes.lead == 0) {
            return Step::Probe(open.level);
        }
        if let Some(doubtful) = contradiction(&votes) {
            return Step::Probe(doubtful);
        }
        let fails = votes.iter().find(|votes| votes.lead < 0);
        // What held above a level that fails was chance, or that level would have been asked again.
        let below = |votes: &&Votes| fails.is_none_or(|fails| votes.level < fails.level);
        let holds = votes.iter().rev().filter(below).find(|votes| votes.lead > 0);
        match (holds, fails) {
            (None, None) => Step::Probe(self.start),
            (Some(holds), None) if holds.level >= self.highest => {
                confirmed(holds).unwrap_or(Step::Done(Limit::HoldsAtHighest))
            }
            (Some(holds), None) => Step::Probe(self.level((holds.level * GROWTH).min(self.highest))),
            (None, Some(fails)) if fails.level <= self.lowest => {
                confirmed(fails).unwrap_or(Step::Done(Limit::FailsAtLowest))
            }
            (None, Some(fails)) => Step::Probe(self.level((fails.level / GROWTH).max(self.lowest))),
            (Some(holds), Some(fails)) => match self.between(holds.level, fails.level) {
                Some(level) => Step::Probe(level),
                None => confirmed(holds)
                    .or_else(|| confirmed(fails))
                    .unwrap_or(Step::Done(Limit::Between { holds: holds.level, fails: fails.level })),
            },
        }
    }

    /// Returns the highest level below all that failed and the lowest above all that held, if the two are near each
    /// other. The levels between them are in doubt.
    #[must_use]
    pub fn zone(&self, probes: &[Probe]) -> Option<Zone> {
        let votes = votes(probes);
        let first_fails = votes.iter().find(|votes| votes.lead < 0)?;
        let last_holds = votes.iter().rev().find(|votes| votes.lead > 0)?;
        let holds = votes.iter().rev().find(|votes| votes.lead > 0 && votes.level < first_fails.level)?;
        let fails = votes.iter().find(|votes| votes.lead < 0 && votes.level > last_holds.level)?;
        (fails.level <= holds.level * NEIGHBOURS).then_some(Zone { holds: holds.level, fails: fails.level })
    }

    /// Returns the level between two, none if they are close enough.
    fn between(&self, holds: f64, fails: f64) -> Option<f64> {
        let middle = self.level((holds * fails).sqrt());
        (fails > holds * (1.0 + self.resolution) && holds < middle && middle < fails).then_some(middle)
    }

    /// Returns the permitted level next to a number: a whole one, or one of five digits, which is easier to read.
    pub(crate) fn level(&self, level: f64) -> f64 {
        if self.whole {
            return level.round().clamp(self.lowest, self.highest);
        }
        let digits = 10_f64.powi(DIGITS - 1 - level.log10().floor() as i32);
        ((level * digits).round() / digits).clamp(self.lowest, self.highest)
    }
}

/// Returns the probe that a level still needs, none if its lead is large enough.
fn confirmed(votes: &Votes) -> Option<Step> {
    (votes.lead.abs() < CONFIRMED).then_some(Step::Probe(votes.level))
}

/// Returns the level with the weaker lead of a level that failed and a higher one that held. None if there is none, or
/// if both are confirmed: then the lower one counts.
fn contradiction(votes: &[Votes]) -> Option<f64> {
    votes.windows(2).find_map(|two| match two {
        [low, high] if low.lead < 0 && high.lead > 0 => {
            let weaker = if low.lead.abs() <= high.lead.abs() { low } else { high };
            (weaker.lead.abs() < CONFIRMED).then_some(weaker.level)
        }
        _ => None,
    })
}

/// Returns the levels of the probes with their leads, in ascending order.
fn votes(probes: &[Probe]) -> Vec<Votes> {
    let mut sorted = probes.to_vec();
    sorted.sort_by(|a, b| a.level.total_cmp(&b.level));
    let of_level = |probes: &[Probe]| {
        let lead = probes.iter().map(|probe| if probe.held { 1 } else { -1 }).sum();
        probes.first().map(|first| Votes { level: first.level, lead })
    };
    sorted.chunk_by(|a, b| a.level == b.level).filter_map(of_level).collect()
}
