//! The probes of a search, as a function of its runs: which runs belong together, which don't count, and what comes
//! next.

use crate::experiment::Searched;
use crate::judge::{Doubt, Judged, MOST_RUNS, Verdict, judge, limit};
use crate::played::Played;
use lydite_decide::{Crossing, Limit, MOST_IN_ALL, Probe, Range, Step, Tried, Zone};

/// Runs that are repeated at most because the machine was busy. On a machine that always is, repeating does not help.
const MOST_REPEATS: usize = 4;

/// One to three runs of a level.
#[derive(Debug)]
pub(crate) struct Probed {
    /// The level.
    pub(crate) level: f64,
    /// Places of its runs.
    pub(crate) runs: Vec<usize>,
    /// The verdict on them.
    pub(crate) judged: Judged,
}

impl Probed {
    /// True if no further run belongs to it.
    fn is_closed(&self) -> bool {
        self.judged.doubt == Doubt::No || self.runs.len() >= MOST_RUNS
    }
}

/// All runs of a level together.
#[derive(Debug)]
pub(crate) struct Pooled {
    /// The level.
    pub(crate) level: f64,
    /// Number of its runs.
    runs: usize,
    /// The verdict on all of them.
    pub(crate) judged: Judged,
}

/// The probes of a search so far, and what they say together.
#[derive(Debug)]
pub(crate) struct Probes {
    /// All of them, in the order of their first runs.
    pub(crate) all: Vec<Probed>,
    /// The levels in ascending order.
    pub(crate) levels: Vec<Pooled>,
    /// The limit by the shares of all runs near it; none if they do not say where it is.
    pub(crate) limit: Option<Crossing>,
    /// The verdicts of the probes within the range: a search may go on with a narrower one.
    votes: Vec<Probe>,
    /// The levels between which the limit is, if they are near each other.
    zone: Option<Zone>,
}

/// The next step.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// A run of this level.
    Run(f64),
    /// The answer.
    Done(Limit),
    /// A level can't be judged.
    Unjudged(f64, String),
}

impl Probes {
    /// Finds the probes of these runs.
    pub(crate) fn of(asked: &Searched<'_>, runs: &[Played]) -> Self {
        let mut all: Vec<Probed> = Vec::new();
        let mut repeats = MOST_REPEATS;
        for (place, run) in runs.iter().enumerate() {
            if run.is_busy && repeats > 0 {
                repeats -= 1;
                continue;
            }
            let open = all.iter().position(|probe| !probe.is_closed() && probe.level == run.level);
            let mut places =
                open.and_then(|open| all.get(open)).map_or_else(Vec::new, |open| open.runs.clone());
            places.push(place);
            let judged = judge(&played(runs, &places), asked.objectives, asked.quantity);
            let probed = Probed { level: run.level, runs: places, judged };
            match open.and_then(|open| all.get_mut(open)) {
                Some(open) => *open = probed,
                None => all.push(probed),
            }
        }
        let votes = votes(asked, &all);
        let zone = asked.range.zone(&votes);
        let levels = levels(asked, runs, &all);
        let line = zone.and_then(|zone| {
            limit(&counting(runs, &all), asked.objectives.len(), zone.holds, zone.fails)
                .filter(|line| fits(line, zone, &levels))
        });
        Self { all, levels, limit: line, votes, zone }
    }

    /// Returns the next step.
    pub(crate) fn next(&self, range: &Range) -> Next {
        let unjudged = self.all.iter().find_map(|probe| match &probe.judged.verdict {
            Verdict::Unjudged(why) => Some(Next::Unjudged(probe.level, why.clone())),
            _ => None,
        });
        if let Some(unjudged) = unjudged {
            return unjudged;
        }
        let unknown = |probe: &&Probed| !probe.is_closed() && probe.judged.doubt == Doubt::Unknown;
        if let Some(open) = self.all.iter().find(unknown) {
            return Next::Run(open.level);
        }
        match self.near_the_limit(range).unwrap_or_else(|| range.next(&self.votes)) {
            Step::Probe(level) => Next::Run(level),
            Step::Done(limit) => Next::Done(limit),
        }
    }

    /// Returns the next step of a search that has neighbours of the limit; none if it goes on as one that has none.
    fn near_the_limit(&self, range: &Range) -> Option<Step> {
        let zone = self.zone?;
        let made = self.all.iter().map(|probe| probe.runs.len()).sum();
        let closer = self.limit.as_ref().and_then(|line| {
            let tried: Vec<Tried> = self.levels.iter().map(Pooled::tried).collect();
            range.close_in(line, made, &tried, zone)
        });
        // Runs that contradict each other without end leave what is known.
        let given_up = || {
            let Zone { holds, fails } = zone;
            (made >= MOST_IN_ALL).then_some(Step::Done(Limit::Between { holds, fails }))
        };
        // Where no line fits, the majority of whole probes decides.
        let open = || self.all.last().filter(|last| !last.is_closed()).map(|last| Step::Probe(last.level));
        closer.or_else(given_up).or_else(open)
    }

    /// Returns the number of a run's probe, from 1; none if the run does not count.
    pub(crate) fn number_of(&self, run: usize) -> Option<usize> {
        self.all.iter().position(|probe| probe.runs.contains(&run)).map(|place| place + 1)
    }
}

impl Pooled {
    /// Returns the level as the last part of a search knows it.
    fn tried(&self) -> Tried {
        Tried {
            level: self.level,
            held: self.judged.verdict == Verdict::Holds,
            is_settled: self.judged.doubt == Doubt::No || self.runs >= MOST_RUNS,
        }
    }
}

fn votes(asked: &Searched<'_>, probes: &[Probed]) -> Vec<Probe> {
    let within = |probe: &&Probed| (asked.range.lowest..=asked.range.highest).contains(&probe.level);
    let vote = |probe: &Probed| Probe { level: probe.level, held: probe.judged.verdict == Verdict::Holds };
    probes.iter().filter(within).map(vote).collect()
}

fn levels(asked: &Searched<'_>, runs: &[Played], probes: &[Probed]) -> Vec<Pooled> {
    let mut places: Vec<(f64, usize)> =
        probes.iter().flat_map(|probe| probe.runs.iter().map(|run| (probe.level, *run))).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of_level = |places: &[(f64, usize)]| {
        let (level, _) = places.first()?;
        let places: Vec<usize> = places.iter().map(|(_, run)| *run).collect();
        let judged = judge(&played(runs, &places), asked.objectives, asked.quantity);
        Some(Pooled { level: *level, runs: places.len(), judged })
    };
    places.chunk_by(|a, b| a.0 == b.0).filter_map(of_level).collect()
}

/// True if a line through the shares fits what the levels say.
fn fits(line: &Crossing, zone: Zone, levels: &[Pooled]) -> bool {
    // What fails without a share over a limit, as a queue that grows, has no part in the line.
    let fails_otherwise = |of: &Pooled| matches!(of.judged.verdict, Verdict::Fails { by_share: false, .. });
    let is_beyond = levels.iter().any(|of| fails_otherwise(of) && of.level <= line.at);
    // Between two levels that are certain the middle tells more than a line, which a steep system does not follow.
    let is_certain = |level: f64| levels.iter().any(|of| of.level == level && of.judged.doubt == Doubt::No);
    let is_open = |of: &Pooled| zone.holds < of.level && of.level < zone.fails;
    let needs_none = is_certain(zone.holds) && is_certain(zone.fails) && !levels.iter().any(is_open);
    zone.admits(line) && !is_beyond && !needs_none
}

/// Returns the runs that count.
fn counting<'r>(runs: &'r [Played], probes: &[Probed]) -> Vec<&'r Played> {
    probes.iter().flat_map(|probe| played(runs, &probe.runs)).collect()
}

fn played<'r>(runs: &'r [Played], places: &[usize]) -> Vec<&'r Played> {
    places.iter().filter_map(|place| runs.get(*place)).collect()
}
