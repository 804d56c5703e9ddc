//! Rules of the measurement interval: its length, its steady state, its checkpoints, and the terminals' waits in it.

use super::{Compliance, MeasuredWaits, RunFacts, rule};
use crate::kind::StandardKind;
use crate::limits::{
    MAX_CHECKPOINT_MINUTES, MAX_DRIFT_PERCENT, MIN_CHECKPOINTS, MIN_MEASURED_MINUTES, SUSTAINED_HOURS,
};
use crate::steady::{RunningMean, TREND_SECONDS, Trend};

pub(super) fn length(facts: &RunFacts) -> Compliance {
    let minutes = facts.measured_minutes;
    let note = format!("{minutes:.1} min, at least {MIN_MEASURED_MINUTES} wanted");
    rule("measurement interval", "5.5.2.1", Some(minutes >= MIN_MEASURED_MINUTES), note)
}

/// Judges the trend of the throughput. A short interval is open: chance may explain its drift, or hide one.
pub(super) fn steady(facts: &RunFacts) -> Compliance {
    let (met, note) = match Trend::of(&facts.new_orders) {
        None => (None, format!("fewer than {TREND_SECONDS} s with New-Orders")),
        Some(trend) => {
            let met = trend.within(MAX_DRIFT_PERCENT);
            let open = if met.is_none() { "; measure longer to know" } else { "" };
            let note = format!(
                "throughput moved by {:+.1} ± {:.1} % over the interval, at most {MAX_DRIFT_PERCENT} % wanted{open}",
                trend.drift_percent, trend.margin_percent
            );
            (met, note)
        }
    };
    rule("steady state", "5.5.1", met, note)
}

/// Judges the distance of the running mean from the reported throughput.
pub(super) fn running_mean(facts: &RunFacts) -> Compliance {
    let (met, note) = match RunningMean::of(&facts.new_orders) {
        None => (None, format!("fewer than {TREND_SECONDS} s with New-Orders")),
        Some(mean) => {
            let met = mean.within(MAX_DRIFT_PERCENT);
            let chance = if met.is_none() {
                format!("; chance explains {:.1} % more", mean.chance_percent)
            } else {
                String::new()
            };
            let note = format!(
                "in the second half of the interval it is up to {:.1} % away from the result, {MAX_DRIFT_PERCENT} % \
                 allowed{chance}",
                mean.off_percent
            );
            (met, note)
        }
    };
    rule("running mean of the throughput", "5.5.1", met, note)
}

/// Judges the number of checkpoints, and the longest time without the start of one.
pub(super) fn checkpoints(facts: &RunFacts) -> Compliance {
    let (met, note) = match &facts.checkpoints_s {
        None => (None, "not observed".to_owned()),
        Some(starts) => {
            let end_s = facts.measured_minutes * 60.0;
            let bounds = || starts.iter().copied();
            let gaps = std::iter::once(0.0).chain(bounds()).zip(bounds().chain([end_s]));
            let longest = gaps.map(|(from, to)| (to - from) / 60.0).fold(0.0, f64::max);
            let note = format!(
                "{} in the interval, at least {MIN_CHECKPOINTS} wanted; {longest:.1} min at most without one, \
                 {MAX_CHECKPOINT_MINUTES} allowed",
                starts.len()
            );
            (Some(starts.len() >= MIN_CHECKPOINTS && longest <= MAX_CHECKPOINT_MINUTES), note)
        }
    };
    rule("checkpoints", "5.5.2", met, note)
}

/// Judges eight hours at the reported rate. The standard wants a system that can run so long, not a run of this length,
/// so a shorter run leaves it open.
pub(super) fn sustained(facts: &RunFacts) -> Compliance {
    let hours = facts.measured_minutes / 60.0;
    let steady = Trend::of(&facts.new_orders).and_then(|trend| trend.within(MAX_DRIFT_PERCENT));
    let (met, note) = if hours < SUSTAINED_HOURS {
        (None, format!("the interval has {hours:.2} h: measure {SUSTAINED_HOURS} h to show it"))
    } else {
        (steady, format!("{hours:.2} h measured; see the rule on the steady state"))
    };
    rule("eight hours at this rate", "5.5.1", met, note)
}

/// Judges the measured waits. The mean of a few think times may lie below the least mean by chance.
pub(super) fn waits(facts: &RunFacts) -> Compliance {
    const NAME: &str = "keying and think times, measured";
    const CLAUSE: &str = "9.2.6.13";
    if facts.waits.iter().all(Option::is_none) {
        return rule(NAME, CLAUSE, None, "not measured");
    }
    let (mut short, mut open) = (Vec::new(), Vec::new());
    for (kind, waits) in StandardKind::ALL.into_iter().zip(&facts.waits) {
        let Some(MeasuredWaits { keying_min_s, think_mean_s, samples }) = *waits else {
            open.push(format!("{} not measured", kind.name()));
            continue;
        };
        let limits = kind.limits();
        if keying_min_s < limits.keying_s {
            short.push(format!("{} keying {keying_min_s:.3} s, {} wanted", kind.name(), limits.keying_s));
        }
        let wanted = limits.mean_think_s;
        if think_mean_s < wanted {
            // The standard deviation of exponential times is their mean.
            let by_chance = 3.0 * wanted / (samples as f64).sqrt();
            let note = format!("{} think {think_mean_s:.3} s on average, {wanted} wanted", kind.name());
            if wanted - think_mean_s <= by_chance { open.push(note) } else { short.push(note) }
        }
    }
    if !short.is_empty() {
        rule(NAME, CLAUSE, Some(false), short.join("; "))
    } else if open.is_empty() {
        rule(NAME, CLAUSE, Some(true), "none too short")
    } else {
        rule(NAME, CLAUSE, None, open.join("; "))
    }
}
