//! The probes of a search, as a function of its runs: which runs belong together, which don't count, and what comes next.

use crate::judge::{Judged, Verdict, judge};
use crate::levels::Quantity;
use crate::played::Played;
use lydite_decide::{Limit, Probe, Range, Step};
use lydite_report::Requirement;

/// Most runs of a probe. If they leave it open, their majority or their mean decides.
const MOST_RUNS: usize = 3;
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
        self.judged.is_certain || self.runs.len() >= MOST_RUNS
    }
}

/// The probes of a search so far.
#[derive(Debug)]
pub(crate) struct Probes {
    /// All of them, in their order. Only the last one may be open.
    pub(crate) all: Vec<Probed>,
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
    pub(crate) fn of(runs: &[Played], objectives: &[Requirement], quantity: &Quantity) -> Self {
        let mut all: Vec<Probed> = Vec::new();
        let mut repeats = MOST_REPEATS;
        for (place, run) in runs.iter().enumerate() {
            if run.is_busy && repeats > 0 {
                repeats -= 1;
                continue;
            }
            let mut places = match all.pop_if(|last| !last.is_closed() && last.level == run.level) {
                Some(open) => open.runs,
                None => Vec::new(),
            };
            places.push(place);
            let of: Vec<&Played> = places.iter().filter_map(|place| runs.get(*place)).collect();
            let judged = judge(&of, objectives, quantity);
            all.push(Probed { level: run.level, runs: places, judged });
        }
        Self { all }
    }

    /// Returns the probes that are closed, as the search knows them.
    pub(crate) fn closed(&self) -> Vec<Probe> {
        let closed = self.all.iter().filter(|probe| probe.is_closed());
        closed
            .map(|probe| Probe { level: probe.level, held: probe.judged.verdict == Verdict::Holds })
            .collect()
    }

    /// Returns the next step.
    pub(crate) fn next(&self, range: &Range) -> Next {
        if let Some(last) = self.all.last() {
            if let Verdict::Unjudged(why) = &last.judged.verdict {
                return Next::Unjudged(last.level, why.clone());
            }
            if !last.is_closed() {
                return Next::Run(last.level);
            }
        }
        match range.next(&self.closed()) {
            Step::Probe(level) => Next::Run(level),
            Step::Done(limit) => Next::Done(limit),
        }
    }

    /// Returns the number of a run's probe, from 1; none if the run does not count.
    pub(crate) fn number_of(&self, run: usize) -> Option<usize> {
        self.all.iter().position(|probe| probe.runs.contains(&run)).map(|place| place + 1)
    }
}
