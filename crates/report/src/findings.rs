//! What a reader must know beside the numbers: interrupted runs, failed checks, a client that was the limit.
//!
//! The terminal table and the page show the same findings in the same words.

use crate::figures::{count, duration, kind_of, number, plural};
use crate::model::{OutageCause, RunResult, WindowVerdict};
use lydite_tpcc::{Mix, TransactionKind};

/// Why results of this program are not results of TPC-C; every rendering of them says it.
pub const DISCLAIMER: &str = "TPC-C-derived workload, not an audited TPC result: NOPM is not tpmC and must not be \
                              compared with published TPC-C results.";

/// More outages are told together.
const OUTAGES_TOLD: usize = 3;

/// What a result of the microbenchmark is not.
const MICRO_DISCLAIMER: &str = "Microbenchmark, no workload of any standard: its throughput says something beside that \
                                of another run with the same tables, records and accesses only.";

/// What every rendering of this result says.
#[must_use]
pub fn disclaimer(result: &RunResult) -> &'static str {
    if result.is_tpcc() { DISCLAIMER } else { MICRO_DISCLAIMER }
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The numbers must be read with this in mind.
    Warning,
    /// The database did something wrong.
    Failure,
}

/// One thing that a reader must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it weighs.
    pub weight: Weight,
    /// A sentence.
    pub text: String,
}

/// All findings of a result, failures first.
#[must_use]
pub fn findings(result: &RunResult) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |weight, text| found.push(Finding { weight, text });

    let failed: Vec<&str> = result.checks.iter().filter(|c| !c.ok).map(|c| c.id.as_str()).collect();
    if !failed.is_empty() {
        let verb = if failed.len() == 1 { "check fails" } else { "checks fail" };
        add(Weight::Failure, format!("{} {verb}: {}.", failed.len(), failed.join(", ")));
    }
    for warning in &result.warnings {
        add(Weight::Warning, format!("{warning}."));
    }
    let totals = |of: fn(&crate::model::TransactionResult) -> u64| {
        result.transactions.values().map(of).fold(0_u64, u64::saturating_add)
    };
    if result.has_small_warehouses() {
        add(
            Weight::Warning,
            "The warehouses are small (size small): the run shows that the database works. Its speed is no TPC-C result, \
             since a standard warehouse has ten times the rows."
                .to_owned(),
        );
    }
    let unmeasured: Vec<&str> = asked_types(result)
        .filter(|&(_, of)| of.completed() == 0 && of.failed == 0 && of.unknown == 0)
        .map(|(name, _)| crate::figures::type_name(name))
        .collect();
    if !unmeasured.is_empty() {
        add(
            Weight::Warning,
            format!(
                "Nothing was measured of {}: none ended in the window. {} them.",
                unmeasured.join(", "),
                if result.controls.contention.is_some() {
                    "Most sessions went for the hot row: more of them, or a lower --ci, show"
                } else {
                    "A longer --duration shows"
                }
            ),
        );
    }
    let aborted: u64 = result.aborts.values().sum();
    let attempts = aborted.saturating_add(totals(crate::model::TransactionResult::completed));
    // Who asks for contention gets it.
    if aborted.saturating_mul(10) > attempts && result.controls.contention.is_none() {
        add(
            Weight::Warning,
            format!(
                "The database gave up {} % of all attempts: the sessions fight for the same rows. More {}, fewer sessions \
                 or a lower isolation level show what it does without that.",
                number(100.0 * aborted as f64 / attempts as f64),
                if result.is_tpcc() { "warehouses" } else { "records" }
            ),
        );
    }
    found_stalls(result, &mut add);
    let unknown = totals(|t| t.unknown);
    let failed_transactions = totals(|t| t.failed);
    if failed_transactions > 0 {
        add(
            Weight::Failure,
            format!("{} failed and count in no throughput.", plural(failed_transactions, "transaction")),
        );
    }
    if unknown > 0 {
        add(
            Weight::Failure,
            format!(
                "{} ended without an answer whether they committed; they are counted neither as committed nor as \
                 failed.",
                plural(unknown, "transaction")
            ),
        );
    }
    let away_s: f64 = result.outages.iter().map(|outage| outage.to_s - outage.from_s).sum();
    if result.outages.len() > OUTAGES_TOLD {
        let longest = result.outages.iter().map(|outage| outage.to_s - outage.from_s).fold(0.0, f64::max);
        add(
            Weight::Warning,
            format!(
                "The database answered nothing {} times, for {} in all and {} at most.",
                result.outages.len(),
                duration(away_s),
                duration(longest)
            ),
        );
    }
    for outage in result.outages.iter().filter(|_| result.outages.len() <= OUTAGES_TOLD) {
        add(
            Weight::Warning,
            format!(
                "The database answered nothing for {}, from {} s to {} s of the window{}.",
                duration(outage.to_s - outage.from_s),
                number(outage.from_s),
                number(outage.to_s),
                match outage.cause {
                    OutageCause::Lost => "",
                    OutageCause::Silent => ", though connections stayed: the server was frozen or cut off",
                }
            ),
        );
    }
    if away_s > 0.0 && !result.is_paced() {
        add(
            Weight::Warning,
            format!(
                "The percentiles hardly show these {}: a closed loop sends nothing while it waits, so an outage is in no \
                 more latencies than there are sessions. What users would have felt is measured with --mode rte or open.",
                duration(away_s)
            ),
        );
    }
    if result.status == crate::model::Status::Partial {
        add(
            Weight::Warning,
            format!(
                "The result is partial: the numbers are what was measured in {}.",
                duration(result.window.measured_s)
            ),
        );
    }
    if let Some(sentence) = &result.client.bottleneck {
        add(Weight::Warning, sentence.clone());
    }
    if let Some(sentence) = queue_warning(result) {
        add(Weight::Warning, sentence);
    }
    if let Some(d) = &result.delivery
        && d.queued > d.completed
    {
        add(
            Weight::Warning,
            format!("{} of {} queued Deliveries were completed.", count(d.completed), count(d.queued)),
        );
    }
    // Where warehouses are chosen by a control, remote lines and payments are what was asked for.
    let asked = result.controls.contention.is_some()
        || result.plan.distribution.dis_ratio.is_some()
        || result.phases.iter().any(|phase| phase.asked.contains_key("dis_ratio"));
    let outside: Vec<&str> = result
        .inputs
        .iter()
        .filter(|i| i.verdict == WindowVerdict::Outside && !(asked && i.quantity.starts_with("remote")))
        .map(|i| i.quantity.as_str())
        .collect();
    if !outside.is_empty() {
        add(Weight::Warning, format!("Inputs outside the standard's window: {}.", outside.join(", ")));
    }
    let phases = result.controls.contention.iter().flat_map(|contention| &contention.phases);
    // A short phase may be over before anything can be seen.
    let unsettled = phases.filter(|phase| phase.settling_s.is_none() && phase.to_s - phase.from_s >= 2.0);
    if unsettled.count() > 0 {
        add(
            Weight::Warning,
            "The row was not as contended as was asked for: more sessions, or ones that wait for their commits (commit=wait of \
             gemel:), or longer phases can bring it there."
                .into(),
        );
    }
    found.sort_by_key(|f| std::cmp::Reverse(f.weight));
    found
}

/// Tells of seconds of the window in which nothing was completed though the database was there: an outage is told by itself.
fn found_stalls(result: &RunResult, add: &mut impl FnMut(Weight, String)) {
    let types = result.series.types();
    let completed = |at: usize| types.iter().filter_map(|(_, counts)| counts.get(at)).sum::<u64>();
    let whole = result.window.measured_s.floor() as i64;
    let gone = |second: i64| {
        let (from, to) = (second as f64, second as f64 + 1.0);
        result.outages.iter().any(|outage| outage.from_s < to && outage.to_s > from)
    };
    let of_window =
        result.series.second.iter().enumerate().filter(|&(_, &second)| second >= 0 && second < whole);
    let (still, busy): (Vec<_>, Vec<_>) = of_window.partition(|&(at, _)| completed(at) == 0);
    // A run that is slower than a transaction each second has such seconds all the time; and where nobody is to play for a while,
    // nothing takes long.
    let slowest = result.transactions.values().filter_map(|of| of.latency_ms.max).fold(0.0, f64::max);
    if still.len() >= busy.len() || slowest < 1_000.0 {
        return;
    }
    let still: Vec<i64> =
        still.into_iter().map(|(_, &second)| second).filter(|&second| !gone(second)).collect();
    if let Some(first) = still.first() {
        add(
            Weight::Warning,
            format!(
                "In {} of the window nothing was completed, the first of them second {first}, and no connection was lost: the \
                 greatest latencies show it, percentiles may not.",
                plural(still.len() as u64, "second")
            ),
        );
    }
}

/// The types of transactions that the mix has a share for.
fn asked_types(result: &RunResult) -> impl Iterator<Item = (&str, &crate::model::TransactionResult)> {
    let mix: Option<Mix> = result.plan.mix.as_deref().unwrap_or_default().parse().ok();
    let asked = move |name: &str| match (mix, kind_of(name)) {
        (Some(mix), Some(kind)) => mix.has(kind),
        _ => true,
    };
    result.types_in_order().into_iter().filter(move |(name, _)| asked(name))
}

/// The types of transactions to show: those that the mix has a share for, and those of which anything came.
pub(crate) fn shown_types(result: &RunResult) -> Vec<(&str, &crate::model::TransactionResult)> {
    let asked: Vec<&str> = asked_types(result).map(|(name, _)| name).collect();
    let shown = |(name, of): &(&str, &crate::model::TransactionResult)| {
        asked.contains(name) || of.completed() + of.failed + of.unknown > 0
    };
    result.types_in_order().into_iter().filter(shown).collect()
}

/// Whether new orders per minute say anything of a run.
pub(crate) fn has_new_orders(result: &RunResult) -> bool {
    let new_order = TransactionKind::NewOrder.name();
    result.is_tpcc() && shown_types(result).iter().any(|(name, _)| *name == new_order)
}

/// Mean time that a completed transaction of any type spent waiting for a session, and being served, in ms.
#[must_use]
pub fn mean_queue_and_service_ms(result: &RunResult) -> Option<(f64, f64)> {
    let completed: u64 = result.transactions.values().map(|t| t.completed()).sum();
    if completed == 0 {
        return None;
    }
    // Means weighted by their counts are the mean of all; percentiles could not be put together so.
    let mean = |of: fn(&crate::model::TransactionResult) -> Option<f64>| {
        let weighted = |t: &crate::model::TransactionResult| of(t).unwrap_or(0.0) * t.completed() as f64;
        result.transactions.values().map(weighted).sum::<f64>() / completed as f64
    };
    Some((mean(|t| t.queue_ms.mean), mean(|t| t.service_ms.mean)))
}

/// Says so when transactions waited longer for a session than the database took to answer.
#[must_use]
pub fn queue_warning(result: &RunResult) -> Option<String> {
    let (queue, service) = mean_queue_and_service_ms(result)?;
    (queue > service).then(|| {
        format!(
            "Transactions waited longer for a session (mean {} ms) than the database took to answer (mean {} ms): \
             more was asked than is answered with these sessions. If more sessions do not raise the throughput, the \
             database is the limit.",
            number(queue),
            number(service)
        )
    })
}
