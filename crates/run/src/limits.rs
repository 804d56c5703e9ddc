//! Requirements on percentiles of latency: what the measurement counts for them, and how sure their verdicts are.

use lydite_bench::{LatencyLimit, Measurement, Runnable};
use lydite_database::Kind;
use lydite_decide::{ERROR, Second, share_over};
use lydite_report::Requirement;
use lydite_report::model::{OverLimit, RequirementResult};
use std::time::Duration;

/// Returns the limits of latency that the measurement counts second by second, in the order of the requirements that are such
/// limits.
pub(crate) fn of_requirements(requirements: &[Requirement], kinds: &[Kind]) -> Vec<LatencyLimit> {
    requirements.iter().filter_map(|requirement| of_requirement(requirement, kinds)).collect()
}

fn of_requirement(requirement: &Requirement, kinds: &[Kind]) -> Option<LatencyLimit> {
    let limit = requirement.latency_limit()?;
    let kind = match limit.of {
        Some(name) => Some(kinds.iter().position(|kind| kind.name == name)?),
        None => None,
    };
    // A limit beyond every duration is never exceeded.
    let latency = Duration::try_from_secs_f64(limit.limit_ms / 1_000.0).unwrap_or(Duration::MAX);
    Some(LatencyLimit { kind, latency })
}

/// Adds to the verdicts how sure they are.
pub(crate) fn add_shares<W: Runnable>(
    requirements: &[Requirement],
    measurement: &Measurement<W>,
    verdicts: &mut [RequirementResult],
) {
    let limits = requirements.iter().zip(verdicts).filter_map(|(requirement, verdict)| {
        Some((of_requirement(requirement, W::KINDS)?, requirement.latency_limit()?.allowed, verdict))
    });
    for (place, (limit, allowed, verdict)) in limits.enumerate() {
        let seconds: Vec<Second> = measurement
            .series
            .iter()
            .map(|second| Second {
                all: match limit.kind {
                    Some(kind) => second.completed.get(kind).copied().unwrap_or_default(),
                    None => second.completed.iter().sum(),
                },
                over: second.over.get(place).copied().unwrap_or_default(),
            })
            .collect();
        verdict.over = share_over(&seconds, ERROR).map(|share| OverLimit {
            allowed,
            share: share.share,
            low: share.low,
            high: share.high,
        });
    }
}
