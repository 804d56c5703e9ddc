//! The verdict on the runs of a probe: whether all objectives hold, and how sure that is.

use crate::levels::Quantity;
use crate::played::Played;
use lydite_decide::{Crossing, ERROR, Share, crossing, pooled};
use lydite_report::Requirement;
use lydite_report::figures::{number, plural};
use lydite_report::find::Over;
use lydite_report::model::OverLimit;

/// A queue that grows by less is within the resolution of a search: 5 ms longer for each second.
const GROWS: f64 = 0.005;
/// Share of transactions that may fail or wait without a session at the end, together, if no objective allows less:
/// they count in no latency.
const LOST: f64 = 0.01;
/// Runs of a level whose majority decides if they are still close to the limit.
pub(crate) const MOST_RUNS: usize = 3;
/// Runs count for the limit up to this factor from the two levels. Farther away the share may follow another line.
const AROUND_LIMIT: f64 = 1.25;
/// Metrics of failures, and of unknown outcomes.
const FAILED: [&str; 2] = ["failed", "failed_rate"];
const UNKNOWN: [&str; 1] = ["unknown"];
/// Latency above which a request that still waits at the end is lost, without an objective that says another, in s.
const PATIENCE_S: f64 = 1.0;

/// The verdict on some runs of a level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// All objectives hold.
    Holds,
    /// One does not, or the level can't last whatever they say.
    Fails {
        /// The reason.
        why: String,
        /// True if a share over a limit says so.
        by_share: bool,
    },
    /// One can't be judged, with the reason.
    Unjudged(String),
}

/// A verdict, and whether further runs would probably say the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) doubt: Doubt,
}

/// Reason for a doubt about a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Nothing: it is certain.
    No,
    /// The sampling error of a share, which is known.
    Sampling,
    /// Something that only a further run can tell.
    Unknown,
}

/// Returns the verdict on runs of one level, at least one.
pub(crate) fn judge(runs: &[&Played], objectives: &[Requirement], quantity: &Quantity) -> Judged {
    let overloaded = |why| Judged { verdict: Verdict::Fails { why, by_share: false }, doubt: Doubt::No };
    let mut broken: Vec<String> = runs.iter().filter_map(|run| broken(run, objectives, quantity)).collect();
    if 2 * broken.len() > runs.len()
        && let Some(why) = broken.pop()
    {
        return overloaded(why);
    }
    // The queue of a busy server that is not overloaded seems to grow now and then: one run does not decide, nor do a
    // few of many.
    let growing = growing(runs, quantity);
    if let [first, _, ..] = growing.as_slice()
        && 3 * growing.len() > runs.len()
    {
        let per_s = number(1e3 * first);
        return overloaded(format!("the queue grows: each second requests wait {per_s} ms longer"));
    }
    let each: Vec<OfObjective> =
        objectives.iter().enumerate().map(|(place, of)| of_objective(runs, place, of)).collect();
    let fails = |certain: bool| {
        each.iter().find_map(|of| match of {
            OfObjective::Fails { why, by_share, doubt } if *doubt == Doubt::No || !certain => Some(Judged {
                verdict: Verdict::Fails { why: why.clone(), by_share: *by_share },
                doubt: *doubt,
            }),
            _ => None,
        })
    };
    let unjudged = || {
        each.iter().find_map(|of| match of {
            OfObjective::Unjudged(why) => {
                Some(Judged { verdict: Verdict::Unjudged(why.clone()), doubt: Doubt::No })
            }
            _ => None,
        })
    };
    let holds = || {
        let doubts =
            || each.iter().map(OfObjective::doubt).chain((!growing.is_empty()).then_some(Doubt::Unknown));
        let doubt =
            [Doubt::Unknown, Doubt::Sampling].into_iter().find(|doubt| doubts().any(|of| of == *doubt));
        Judged { verdict: Verdict::Holds, doubt: doubt.unwrap_or(Doubt::No) }
    };
    fails(true).or_else(unjudged).or_else(|| fails(false)).unwrap_or_else(holds)
}

/// The verdict on one objective.
enum OfObjective {
    Holds { doubt: Doubt },
    Fails { why: String, by_share: bool, doubt: Doubt },
    Unjudged(String),
}

impl OfObjective {
    fn doubt(&self) -> Doubt {
        match self {
            Self::Holds { doubt } | Self::Fails { doubt, .. } => *doubt,
            Self::Unjudged(_) => Doubt::No,
        }
    }
}

fn of_objective(runs: &[&Played], place: usize, objective: &Requirement) -> OfObjective {
    let of: Vec<_> = runs.iter().filter_map(|run| run.objectives.get(place)).collect();
    if let Some(unjudged) = of.iter().find(|of| of.value.is_none()) {
        return OfObjective::Unjudged(unjudged.note.clone());
    }
    let share = share(runs, place);
    let doubt = doubt_of(share, objective);
    let holds = match share {
        // Enough runs, and still close: their majority, which one stalled run does not move as it moves their mean.
        Some((_, allowed)) if doubt == Doubt::Sampling && runs.len() >= MOST_RUNS => {
            let held = of.iter().filter(|of| of.over.is_some_and(|over| over.share < allowed)).count();
            2 * held > of.len()
        }
        Some((share, allowed)) => share.share < allowed,
        None => {
            let met = of.iter().filter(|of| of.met).count();
            2 * met > of.len()
        }
    };
    if holds {
        return OfObjective::Holds { doubt };
    }
    let worst = of.iter().find(|of| !of.met).or(of.first());
    let why = worst.map_or_else(String::new, |of| format!("{} {}", of.metric, of.measured_value()));
    OfObjective::Fails { why, by_share: share.is_some(), doubt }
}

/// Returns the doubt about an objective on runs that have this [`share`].
fn doubt_of(share: Option<(Share, f64)>, objective: &Requirement) -> Doubt {
    match share {
        Some((share, allowed)) if share.high < allowed || share.low > allowed => Doubt::No,
        Some(_) => Doubt::Sampling,
        // Without seconds that tell its sampling error, a percentile needs the majority of several runs.
        None if objective.latency_limit().is_some() => Doubt::Unknown,
        None => Doubt::No,
    }
}

/// Returns the reasons of the doubt about runs of one level, in one line; empty if nothing is in doubt.
pub(crate) fn doubts(runs: &[&Played], objectives: &[Requirement], quantity: &Quantity) -> String {
    let mut all = Vec::new();
    for (place, objective) in objectives.iter().enumerate() {
        let share = share(runs, place);
        let text = objective.text();
        match (doubt_of(share, objective), share) {
            (Doubt::Sampling, Some((share, allowed))) => {
                let [share, low, high, allowed] =
                    [share.share, share.low, share.high, allowed].map(|of| number(100.0 * of));
                all.push(format!("{text}: {share} % took longer ({low} to {high}), {allowed} % may"));
            }
            (Doubt::Unknown, _) => {
                all.push(format!("{text}: runs below 24 s are too short to rule chance out"));
            }
            _ => {}
        }
    }
    let growing = growing(runs, quantity);
    if let Some(first) = growing.first() {
        all.push(format!(
            "the queue seems to grow in {} of {}: each second requests wait {} ms longer",
            growing.len(),
            plural(runs.len() as u64, "run"),
            number(1e3 * first)
        ));
    }
    all.join("; ")
}

/// Returns the slopes of the latencies of those runs that say that the queue grows.
fn growing(runs: &[&Played], quantity: &Quantity) -> Vec<f64> {
    let growths = runs.iter().filter_map(|run| run.growth).filter(|_| quantity.queues);
    growths.filter(|growth| growth.low > 0.0 && growth.slope > GROWS).map(|growth| growth.slope).collect()
}

/// Returns the reason why a run shows a level that can't last, whatever its objectives say.
fn broken(run: &Played, objectives: &[Requirement], quantity: &Quantity) -> Option<String> {
    let limits = || objectives.iter().filter_map(Requirement::latency_limit);
    let allowed = limits().map(|limit| limit.allowed).fold(LOST, f64::min);
    let all = (run.completed + run.failed + run.unknown) as f64;
    // An objective on failures says itself how many may fail.
    let unless_said = |of: u64, metrics: &[&str]| {
        let is_said = objectives.iter().any(|objective| metrics.contains(&objective.metric().name()));
        if is_said { 0 } else { of }
    };
    let failed = unless_said(run.failed, &FAILED) + unless_said(run.unknown, &UNKNOWN);
    // What waits longer than the limit at the end will be over it, and no latency has it.
    let patience = limits().map(|limit| limit.limit_ms / 1e3).fold(PATIENCE_S, f64::min);
    let per_s = run.due_per_s.unwrap_or(run.tps);
    let late = if quantity.queues { (run.backlog as f64 - per_s * patience).max(0.0) } else { 0.0 };
    if failed as f64 + late <= allowed * all.max(1.0) {
        return None;
    }
    Some(if failed as f64 >= late {
        format!("{} failed or have an unknown outcome", plural(failed, "transaction"))
    } else {
        format!("{} had no session at the end", plural(run.backlog, "request"))
    })
}

/// Returns the share over the limit of an objective, pooled over the runs, and the allowed one; none if the objective
/// is no limit of a percentile, or if a run is too short to tell.
fn share(runs: &[&Played], objective: usize) -> Option<(Share, f64)> {
    let of = |run: &&Played| run.objectives.get(objective)?.over;
    let all: Vec<OverLimit> = runs.iter().map(of).collect::<Option<_>>()?;
    let shares: Vec<Share> =
        all.iter().map(|of| Share { share: of.share, low: of.low, high: of.high }).collect();
    Some((pooled(&shares)?, all.first()?.allowed))
}

/// Returns the shares over all limits, pooled over the runs of a level.
pub(crate) fn shares(runs: &[&Played], objectives: &[Requirement]) -> Vec<Over> {
    let of = |(place, objective): (usize, &Requirement)| {
        let limit = objective.latency_limit()?;
        let (share, allowed) = share(runs, place)?;
        let Share { share, low, high } = share;
        Some(Over {
            objective: objective.text().to_owned(),
            limit_ms: limit.limit_ms,
            allowed,
            share,
            low,
            high,
        })
    };
    objectives.iter().enumerate().filter_map(of).collect()
}

/// Returns the level at which an objective crosses its limit, by all runs near two levels; none if no objective has
/// shares that grow with the level. Of several objectives the one that crosses first counts.
pub(crate) fn limit(runs: &[&Played], objectives: usize, holds: f64, fails: f64) -> Option<Crossing> {
    let near = |run: &&&Played| (holds / AROUND_LIMIT..=fails * AROUND_LIMIT).contains(&run.level);
    let of = |place: usize| {
        let of_run = |run: &&Played| {
            let over = run.objectives.get(place)?.over?;
            Some(((run.level, Share { share: over.share, low: over.low, high: over.high }), over.allowed))
        };
        let known: Vec<((f64, Share), f64)> = runs.iter().filter(near).filter_map(of_run).collect();
        let (_, allowed) = known.first()?;
        let shares: Vec<(f64, Share)> = known.iter().map(|(run, _)| *run).collect();
        crossing(&shares, *allowed, ERROR)
    };
    (0..objectives).filter_map(of).min_by(|a, b| a.at.total_cmp(&b.at))
}
