//! The probes of a search, as a function of its runs: which runs belong together, which don't count, and what comes
//! next.

use crate::experiment::Searched;
use crate::judge::{Doubt, Judged, MOST_RUNS, Verdict, judge, limit};
use crate::played::Played;
use lydite_decide::{Crossing, Limit, MOST_IN_ALL, Probe, Step, Tried, Zone};

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

/// The probes of a search so far.
#[derive(Debug)]
pub(crate) struct Probes {
    /// All of them, in the order of their first runs.
    pub(crate) all: Vec<Probed>,
}

/// All runs of a level together.
struct Pooled {
    level: f64,
    runs: usize,
    judged: Judged,
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
        Self { all }
    }

    /// Returns the next step.
    pub(crate) fn next(&self, asked: &Searched<'_>, runs: &[Played]) -> Next {
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
        let votes = self.votes(asked);
        let zone = asked.range.zone(&votes);
        let line = zone.and_then(|zone| Some((zone, self.line(asked, runs, zone)?)));
        let made = self.counting(runs).len();
        let step =
            line.and_then(|(zone, line)| asked.range.close_in(&line, made, &self.tried(asked, runs), zone));
        // Runs that contradict each other without end leave what is known.
        let is_enough = made >= MOST_IN_ALL;
        let given_up =
            zone.filter(|_| is_enough).map(|Zone { holds, fails }| Limit::Between { holds, fails });
        let step = step.or(given_up.map(Step::Done)).unwrap_or_else(|| {
            // Where no line fits, the majority of whole probes decides.
            match self.all.last().filter(|last| !last.is_closed()) {
                Some(last) if zone.is_some() => Step::Probe(last.level),
                _ => asked.range.next(&votes),
            }
        });
        match step {
            Step::Probe(level) => Next::Run(level),
            Step::Done(limit) => Next::Done(limit),
        }
    }

    /// Returns the verdicts of the probes within the range: a search may go on with a narrower one.
    fn votes(&self, asked: &Searched<'_>) -> Vec<Probe> {
        let within = |probe: &&Probed| (asked.range.lowest..=asked.range.highest).contains(&probe.level);
        let vote =
            |probe: &Probed| Probe { level: probe.level, held: probe.judged.verdict == Verdict::Holds };
        self.all.iter().filter(within).map(vote).collect()
    }

    /// Returns the limit by the shares of all runs near it; none if they do not say where it is.
    pub(crate) fn limit(&self, asked: &Searched<'_>, runs: &[Played]) -> Option<Crossing> {
        let zone = asked.range.zone(&self.votes(asked))?;
        self.line(asked, runs, zone)
    }

    /// Returns the line through the shares near a zone, if it fits the zone.
    fn line(&self, asked: &Searched<'_>, runs: &[Played], zone: Zone) -> Option<Crossing> {
        let line = limit(&self.counting(runs), asked.objectives.len(), zone.holds, zone.fails)?;
        // What fails without a share over a limit, as a queue that grows, has no part in the line.
        let fails_otherwise =
            |of: &Pooled| matches!(of.judged.verdict, Verdict::Fails { by_share: false, .. });
        let levels = self.levels(asked, runs);
        let is_beyond = levels.iter().any(|of| fails_otherwise(of) && of.level <= line.at);
        // Between two levels that are certain the middle tells more than a line, which a steep system does not follow.
        let is_certain =
            |level: f64| levels.iter().any(|of| of.level == level && of.judged.doubt == Doubt::No);
        let is_open = |of: &Pooled| zone.holds < of.level && of.level < zone.fails;
        let needs_none = is_certain(zone.holds) && is_certain(zone.fails) && !levels.iter().any(is_open);
        (zone.admits(&line) && !is_beyond && !needs_none).then_some(line)
    }

    /// Returns the levels that were tried, as the last part of a search knows them.
    fn tried(&self, asked: &Searched<'_>, runs: &[Played]) -> Vec<Tried> {
        let tried = |of: &Pooled| Tried {
            level: of.level,
            held: of.judged.verdict == Verdict::Holds,
            is_settled: of.judged.doubt == Doubt::No || of.runs >= MOST_RUNS,
        };
        self.levels(asked, runs).iter().map(tried).collect()
    }

    /// Returns the levels, each judged by all its runs together.
    fn levels(&self, asked: &Searched<'_>, runs: &[Played]) -> Vec<Pooled> {
        let mut places: Vec<(f64, usize)> =
            self.all.iter().flat_map(|probe| probe.runs.iter().map(|run| (probe.level, *run))).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        let of_level = |places: &[(f64, usize)]| {
            let (level, _) = places.first()?;
            let places: Vec<usize> = places.iter().map(|(_, run)| *run).collect();
            let judged = judge(&played(runs, &places), asked.objectives, asked.quantity);
            Some(Pooled { level: *level, runs: places.len(), judged })
        };
        places.chunk_by(|a, b| a.0 == b.0).filter_map(of_level).collect()
    }

    /// Returns the runs that count.
    pub(crate) fn counting<'r>(&self, runs: &'r [Played]) -> Vec<&'r Played> {
        self.all.iter().flat_map(|probe| played(runs, &probe.runs)).collect()
    }

    /// Returns the number of a run's probe, from 1; none if the run does not count.
    pub(crate) fn number_of(&self, run: usize) -> Option<usize> {
        self.all.iter().position(|probe| probe.runs.contains(&run)).map(|place| place + 1)
    }
}

fn played<'r>(runs: &'r [Played], places: &[usize]) -> Vec<&'r Played> {
    places.iter().filter_map(|place| runs.get(*place)).collect()
}
