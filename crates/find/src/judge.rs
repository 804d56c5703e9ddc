//! The verdict on the runs of a probe: whether all objectives hold, and how sure that is.

use crate::levels::Quantity;
use crate::played::Played;
use lydite_decide::{ERROR, Share, crossing, pooled};
use lydite_report::Requirement;
use lydite_report::figures::{number, plural};
use lydite_report::find::Over;
use lydite_report::model::OverLimit;

/// A queue that grows by less is within the resolution of a search: 5 ms longer for each second.
const GROWS: f64 = 0.005;
/// Share of transactions that may fail, or wait without a session at the end, if no objective allows less: those that would
/// be over a limit count in no latency.
const LOST: f64 = 0.01;
/// Runs count for the certainty up to this factor from the two levels. Farther away the share may follow another line.
const NEAR: f64 = 1.25;
/// Metrics of failures.
const FAILURES: [&str; 3] = ["failed", "failed_rate", "unknown"];
/// Latency above which a request that still waits at the end is lost, without an objective that says another, in s.
const PATIENCE_S: f64 = 1.0;

/// The verdict on some runs of a level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// All objectives hold.
    Holds,
    /// One does not, with the reason.
    Fails(String),
    /// The level can't last, whatever the objectives say, with the reason.
    Overloaded(String),
    /// One can't be judged, with the reason.
    Unjudged(String),
}

/// A verdict, and whether further runs would probably say the same.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) is_certain: bool,
}

/// Returns the verdict on runs of one level, at least one.
pub(crate) fn judge(runs: &[&Played], objectives: &[Requirement], quantity: &Quantity) -> Judged {
    let overloaded = |why| Judged { verdict: Verdict::Overloaded(why), is_certain: true };
    if let Some(why) = runs.iter().find_map(|run| broken(run, objectives, quantity)) {
        return overloaded(why);
    }
    // The queue of a busy server that is not overloaded seems to grow now and then: one run does not decide.
    let growing: Vec<f64> = runs.iter().filter_map(|run| grows(run, quantity)).collect();
    if let [first, _, ..] = growing.as_slice() {
        let per_s = number(1e3 * first);
        return overloaded(format!("the queue grows: each second requests wait {per_s} ms longer"));
    }
    let each: Vec<OfObjective> =
        objectives.iter().enumerate().map(|(place, of)| of_objective(runs, place, of)).collect();
    let fails = |certain: bool| {
        each.iter().find_map(|of| match of {
            OfObjective::Fails { why, is_certain } if *is_certain || !certain => Some(why.clone()),
            _ => None,
        })
    };
    if let Some(why) = fails(true) {
        return Judged { verdict: Verdict::Fails(why), is_certain: true };
    }
    let unjudged = each.iter().find_map(|of| match of {
        OfObjective::Unjudged(why) => Some(why.clone()),
        _ => None,
    });
    if let Some(why) = unjudged {
        return Judged { verdict: Verdict::Unjudged(why), is_certain: true };
    }
    if let Some(why) = fails(false) {
        return Judged { verdict: Verdict::Fails(why), is_certain: false };
    }
    let holds = |of: &OfObjective| matches!(of, OfObjective::Holds { is_certain: true });
    Judged { verdict: Verdict::Holds, is_certain: growing.is_empty() && each.iter().all(holds) }
}

/// The verdict on one objective.
enum OfObjective {
    Holds { is_certain: bool },
    Fails { why: String, is_certain: bool },
    Unjudged(String),
}

fn of_objective(runs: &[&Played], place: usize, objective: &Requirement) -> OfObjective {
    let of: Vec<_> = runs.iter().filter_map(|run| run.objectives.get(place)).collect();
    if let Some(unjudged) = of.iter().find(|of| of.value.is_none()) {
        return OfObjective::Unjudged(unjudged.note.clone());
    }
    let (holds, is_certain) = match share(runs, place) {
        Some((share, allowed)) => (share.share < allowed, share.high < allowed || share.low > allowed),
        // Without seconds that tell its sampling error, a percentile needs the majority of several runs.
        None => {
            let met = of.iter().filter(|of| of.met).count();
            (2 * met > of.len(), objective.latency_limit().is_none())
        }
    };
    if holds {
        return OfObjective::Holds { is_certain };
    }
    let worst = of.iter().find(|of| !of.met).or(of.first());
    let why = worst.map_or_else(String::new, |of| format!("{} {}", of.metric, of.measured_value()));
    OfObjective::Fails { why, is_certain }
}

/// Returns the slope of a run's latency, if it says that the queue grows.
fn grows(run: &Played, quantity: &Quantity) -> Option<f64> {
    let growth = run.growth.filter(|growth| growth.low > 0.0 && growth.slope > GROWS)?;
    quantity.queues.then_some(growth.slope)
}

/// Returns the reason why a run shows a level that can't last, whatever its objectives say.
fn broken(run: &Played, objectives: &[Requirement], quantity: &Quantity) -> Option<String> {
    let limits = || objectives.iter().filter_map(Requirement::latency_limit);
    let allowed = limits().map(|limit| limit.allowed).reduce(f64::min).unwrap_or(LOST);
    let all = (run.completed + run.failed) as f64;
    // An objective on failures says itself how many may fail.
    let is_said = objectives.iter().any(|objective| FAILURES.contains(&objective.metric().name()));
    if !is_said && run.failed as f64 > allowed * all.max(1.0) {
        return Some(format!("{} failed or have an unknown outcome", plural(run.failed, "transaction")));
    }
    if !quantity.queues {
        return None;
    }
    // What waits longer than the limit at the end will be over it, and no latency has it.
    let patience = limits().map(|limit| limit.limit_ms / 1e3).fold(PATIENCE_S, f64::min);
    let per_s = run.due_per_s.unwrap_or(run.tps);
    let late = run.backlog as f64 - per_s * patience;
    (late > allowed * all).then(|| format!("{} had no session at the end", plural(run.backlog, "request")))
}

/// Returns the share over the limit of an objective, pooled over the runs, and the allowed one; none if the objective is no
/// limit of a percentile, or if a run is too short to tell.
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

/// Returns the probability that the level at which an objective crosses its limit is between two levels, by all runs near them; none
/// if no objective has shares that grow with the level. Of several objectives the one that crosses first counts.
pub(crate) fn certainty(runs: &[&Played], objectives: &[Requirement], holds: f64, fails: f64) -> Option<f64> {
    let near = |run: &&&Played| (holds / NEAR..=fails * NEAR).contains(&run.level);
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
    let first = (0..objectives.len()).filter_map(of).min_by(|a, b| a.at.total_cmp(&b.at))?;
    Some(first.between(holds, fails))
}
