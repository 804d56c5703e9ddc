//! The part of a result that the search keeps in memory.

use crate::store::Run;
use lydite_decide::{Growth, growth};
use lydite_report::figures::P99;
use lydite_report::findings::findings;
use lydite_report::metric::Metric;
use lydite_report::model::RequirementResult;
use lydite_report::noise::is_noise;
use lydite_report::{Requirement, RunResult};

/// Probability with which a stable queue seems to grow.
const GROWTH_ERROR: f64 = 0.01;

/// A run with a result.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    /// Number of the run.
    pub(crate) number: u32,
    /// The level of the run.
    pub(crate) level: f64,
    /// Checks that do not hold.
    pub(crate) checks_failed: u32,
    /// True if others used the machine, so that a repeat may tell more.
    pub(crate) is_busy: bool,
    /// Completed transactions per second.
    pub(crate) tps: f64,
    /// Median and 99th percentile of the objectives' type, in ms, and true if the latter rests on a handful of samples.
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) is_thin: bool,
    /// The objectives with their verdicts, in their order.
    pub(crate) objectives: Vec<RequirementResult>,
    /// Growth of the latency.
    pub(crate) growth: Option<Growth>,
    /// Transactions that were completed.
    pub(crate) completed: u64,
    /// Transactions that failed, and those whose outcome is unknown.
    pub(crate) failed: u64,
    pub(crate) unknown: u64,
    /// Requests that no session had taken at the end, and those due per second.
    pub(crate) backlog: u64,
    pub(crate) due_per_s: Option<f64>,
    /// Reason why the client itself was probably the limit.
    pub(crate) bottleneck: Option<String>,
    /// Findings, without those about the machine.
    pub(crate) findings: Vec<String>,
}

impl Played {
    /// Takes what is needed from the result of a run.
    pub(crate) fn of(number: u32, run: &Run, result: &RunResult, objectives: &[Requirement]) -> Self {
        let shown = Shown::of(objectives);
        let series = &result.series;
        let medians =
            if series.micro_p50_ms.is_empty() { &series.new_order_p50_ms } else { &series.micro_p50_ms };
        let seconds: Vec<Option<f64>> = medians.iter().map(|ms| ms.map(|ms| ms / 1e3)).collect();
        // The results of the child are those of its own plan; another program may have replaced the file.
        let judged = objectives.iter().map(|objective| {
            let known = result.requirements.iter().find(|of| of.text == objective.text());
            known.cloned().unwrap_or_else(|| objective.judge(result))
        });
        let objectives: Vec<RequirementResult> = judged.collect();
        let completed = result.completed();
        let is_noisy = result.warnings.iter().any(|warning| is_noise(warning));
        Self {
            number,
            level: run.level,
            checks_failed: result.checks.iter().filter(|check| !check.ok).count() as u32,
            // One that was too short to be judged is so on a quiet machine, too.
            is_busy: is_noisy && objectives.iter().all(|objective| objective.value.is_some()),
            tps: result.tps,
            p50_ms: shown.p50.as_ref().and_then(|metric| metric.of(result)),
            p99_ms: shown.p99.as_ref().and_then(|metric| metric.of(result)),
            is_thin: P99.is_thin(match &shown.of {
                Some(of) => result.transactions.get(of).map_or(0, |of| of.completed()),
                None => completed,
            }),
            objectives,
            growth: growth(&seconds, GROWTH_ERROR),
            completed,
            failed: result.transactions.values().map(|of| of.failed).sum(),
            unknown: result.transactions.values().map(|of| of.unknown).sum(),
            backlog: result.controls.queue.as_ref().map_or(0, |queue| queue.actual.backlog),
            due_per_s: result.controls.rate.as_ref().map(|rate| rate.actual.due_per_s),
            bottleneck: result.client.bottleneck.clone(),
            findings: findings(result).into_iter().map(|of| of.text).filter(|text| !is_noise(text)).collect(),
        }
    }
}

/// The latencies that stand for a level: those of the type that the first objective on a latency limits, else of all.
struct Shown {
    of: Option<String>,
    p50: Option<Metric>,
    p99: Option<Metric>,
}

impl Shown {
    fn of(objectives: &[Requirement]) -> Self {
        let of = objectives.iter().find_map(Requirement::latency_limit).and_then(|limit| limit.of);
        let metric = |number: &str| Metric::parse(&format!("{}.{number}", of.unwrap_or("latency"))).ok();
        Self { of: of.map(str::to_owned), p50: metric("p50"), p99: metric("p99") }
    }
}
