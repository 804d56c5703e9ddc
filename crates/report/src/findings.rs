//! Warnings and failures that a reader needs beside the numbers: interrupted runs, failed checks, a client that was
//! the limit. The terminal table and the page show the same findings in the same words.

use crate::fault_words;
use crate::figures::{count, duration, kind_of, number, plural, type_name};
use crate::model::{
    CheckResult, LEDGER_CHECK, Outage, OutageCause, RunResult, SUCCESS_LOG_CHECK, Status, TransactionResult,
    WindowVerdict, lost_agents,
};
use lydite_tpcc::{Mix, StandardKind};

/// Disclaimer of every TPC-C result: it is not an audited result.
pub const DISCLAIMER: &str = "TPC-C-derived workload, not an audited TPC result: NOPM is not tpmC and must not be \
                              compared with published TPC-C results.";

/// Disclaimer of results of the microbenchmark.
const MICRO_DISCLAIMER: &str = "Microbenchmark, no workload of any standard: compare its throughput only with that of \
                                runs with the same tables, records and accesses.";

/// Most outages that are listed one by one; more are summed up.
const OUTAGES_LISTED: usize = 3;

/// Shortest phase, in seconds, in which contention can settle and be seen.
const SHORTEST_SETTLING_S: f64 = 2.0;

/// Reason of aborts by the client's limit of statements, and the setting of a result that has the limit.
const STATEMENT_TIMEOUT: &str = "statement_timeout";
const STATEMENT_TIMEOUT_OF_CLIENT: &str = "statement_timeout of the client";

/// Returns the disclaimer that every rendering of this result shows.
#[must_use]
pub fn disclaimer(result: &RunResult) -> &'static str {
    if result.is_tpcc() { DISCLAIMER } else { MICRO_DISCLAIMER }
}

/// Weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The numbers must be read with this in mind.
    Warning,
    /// The database did something wrong.
    Failure,
}

/// Something about a run that a reader must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Weight.
    pub weight: Weight,
    /// A sentence.
    pub text: String,
}

impl Finding {
    fn warning(text: impl Into<String>) -> Self {
        Self { weight: Weight::Warning, text: text.into() }
    }

    fn failure(text: impl Into<String>) -> Self {
        Self { weight: Weight::Failure, text: text.into() }
    }
}

/// Returns all findings of a result, failures first.
#[must_use]
pub fn findings(result: &RunResult) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(failed_checks(result));
    found.extend(injected_faults(result));
    found.extend(fault_words::gains(result).into_iter().map(Finding::warning));
    found.extend(result.warnings.iter().map(|warning| Finding::warning(format!("{warning}."))));
    found.extend(small_warehouses(result));
    found.extend(types_without_samples(result));
    found.extend(many_aborts(result));
    found.extend(stalls(result));
    found.extend(failed_transactions(result));
    found.extend(unknown_outcomes(result));
    found.extend(outages(result));
    found.extend(outages_in_closed_loop(result));
    found.extend(partial_result(result));
    found.extend(result.client.bottleneck.clone().map(Finding::warning));
    found.extend(queue_warning(result).map(Finding::warning));
    found.extend(unfinished_deliveries(result));
    found.extend(inputs_outside_window(result));
    found.extend(unsettled_contention(result));
    found.sort_by_key(|f| std::cmp::Reverse(f.weight));
    found
}

/// Returns all findings for a text that has no words of failed checks beside them: these say what the database lost.
pub(crate) fn findings_with_losses(result: &RunResult) -> impl Iterator<Item = Finding> {
    lost_commits(result).chain(findings(result))
}

fn failed_checks(result: &RunResult) -> Option<Finding> {
    let failed: Vec<&str> = result.checks.iter().filter(|c| !c.ok).map(|c| c.id.as_str()).collect();
    let verb = if failed.len() == 1 { "check fails" } else { "checks fail" };
    let text = format!("{} {verb}: {}.", failed.len(), failed.join(", "));
    (!failed.is_empty()).then(|| Finding::failure(text))
}

/// Returns the words of the checks of acknowledged transactions that fail.
fn lost_commits(result: &RunResult) -> impl Iterator<Item = Finding> {
    let of_commits = |check: &&CheckResult| [LEDGER_CHECK, SUCCESS_LOG_CHECK].contains(&check.id.as_str());
    let failed = result.checks.iter().filter(of_commits).filter(|check| !check.ok);
    failed.map(|check| Finding::failure(format!("{}: {}.", check.id, check.detail)))
}

/// Says that Lydite itself disturbed the database.
fn injected_faults(result: &RunResult) -> Option<Finding> {
    let all = fault_words::times(result);
    let text =
        format!("Lydite injected faults, and the numbers of the window include them: {}.", all.join("; "));
    (!all.is_empty()).then(|| Finding::warning(text))
}

fn small_warehouses(result: &RunResult) -> Option<Finding> {
    let size = result.warehouse_size();
    let text = format!(
        "The warehouses are {size} (size {size}): the run shows that the database works. Its speed is no TPC-C result, \
         since a standard warehouse has more rows."
    );
    result.has_small_warehouses().then(|| Finding::warning(text))
}

fn types_without_samples(result: &RunResult) -> Option<Finding> {
    let types: Vec<&str> = types_in_mix(result)
        .filter(|&(_, of)| of.completed() == 0 && of.failed == 0 && of.unknown == 0)
        .map(|(name, _)| type_name(name))
        .collect();
    let advice = if result.controls.contention.is_some() {
        "Most sessions competed for the hot row: use more sessions or a lower --ci."
    } else {
        "Use a longer --duration."
    };
    let text = format!("No samples of {}: none ended in the window. {advice}", types.join(", "));
    (!types.is_empty()).then(|| Finding::warning(text))
}

/// Warns if more than a tenth of all attempts were aborted, unless the plan asks for contention.
fn many_aborts(result: &RunResult) -> Option<Finding> {
    let aborted = result.aborted();
    let attempts = aborted.saturating_add(result.completed());
    if aborted.saturating_mul(10) <= attempts || result.controls.contention.is_some() {
        return None;
    }
    let share = number(100.0 * aborted as f64 / attempts as f64);
    let late = result.aborts.get(STATEMENT_TIMEOUT).copied().unwrap_or_default();
    if late.saturating_mul(2) > aborted {
        let limit = result.target.settings.get(STATEMENT_TIMEOUT_OF_CLIENT);
        let limit = limit.map_or_else(String::new, |limit| format!("={limit}"));
        return Some(Finding::warning(format!(
            "{share} % of all attempts were aborted, {} of {} since an answer took longer than {STATEMENT_TIMEOUT}{limit}: \
             raise this limit of the URL, or use fewer sessions.",
            count(late),
            count(aborted)
        )));
    }
    Some(Finding::warning(format!(
        "The database aborted {share} % of all attempts: the sessions compete for the same rows. Use more {}, fewer \
         sessions or a lower isolation level to measure it without that.",
        if result.is_tpcc() { "warehouses" } else { "records" }
    )))
}

/// Warns about seconds of the window in which no transaction completed though no outage explains it.
fn stalls(result: &RunResult) -> Option<Finding> {
    let types = result.series.types();
    let completed = |at: usize| types.iter().filter_map(|(_, counts)| counts.get(at)).sum::<u64>();
    let whole = result.window.measured_s.floor() as i64;
    let in_outage = |second: i64| {
        let (from, to) = (second as f64, second as f64 + 1.0);
        result.outages.iter().any(|outage| outage.from_s < to && outage.to_s > from)
    };
    let of_window =
        result.series.second.iter().enumerate().filter(|&(_, &second)| second >= 0 && second < whole);
    let (idle, busy): (Vec<_>, Vec<_>) = of_window.partition(|&(at, _)| completed(at) == 0);
    // A run with less than a transaction per second has such seconds all the time. If no latency is long, no request
    // was due in them.
    let slowest_ms = result.transactions.values().filter_map(|of| of.latency_ms.max).fold(0.0, f64::max);
    if idle.len() >= busy.len() || slowest_ms < 1_000.0 {
        return None;
    }
    let stalled: Vec<i64> =
        idle.into_iter().map(|(_, &second)| second).filter(|&second| !in_outage(second)).collect();
    let first = stalled.first()?;
    Some(Finding::warning(format!(
        "No transaction completed in {} of the window, the first of them second {first}, though no connection was lost: \
         the greatest latencies show it, percentiles may not.",
        plural(stalled.len() as u64, "second")
    )))
}

fn failed_transactions(result: &RunResult) -> Option<Finding> {
    let failed = result.total(|t| t.failed);
    let text = format!("{} failed; no throughput counts them.", plural(failed, "transaction"));
    (failed > 0).then(|| Finding::failure(text))
}

fn unknown_outcomes(result: &RunResult) -> Option<Finding> {
    let unknown = result.total(|t| t.unknown);
    let text = format!(
        "{} ended with an unknown outcome (no answer to the commit): counted neither as completed nor as failed.",
        plural(unknown, "transaction")
    );
    // Whoever loses a connection cannot know better: nothing shows that the database did something wrong.
    (unknown > 0).then(|| Finding::warning(text))
}

/// Warns about outages: one by one if they are few, else all together.
fn outages(result: &RunResult) -> Vec<Finding> {
    if result.outages.len() <= OUTAGES_LISTED {
        return result.outages.iter().map(outage).collect();
    }
    let longest = result.outages.iter().map(|outage| outage.to_s - outage.from_s).fold(0.0, f64::max);
    vec![Finding::warning(format!(
        "The database answered nothing in {} outages, {} in all; the longest took {}.",
        result.outages.len(),
        duration(seconds_of_outages(result)),
        duration(longest)
    ))]
}

fn outage(outage: &Outage) -> Finding {
    Finding::warning(format!(
        "The database answered nothing for {}, from {} s to {} s of the window{}.",
        duration(outage.to_s - outage.from_s),
        number(outage.from_s),
        number(outage.to_s),
        match outage.cause {
            OutageCause::Lost => "",
            OutageCause::Silent => "; connections stayed open, and no answer came over them",
        }
    ))
}

fn outages_in_closed_loop(result: &RunResult) -> Option<Finding> {
    let outages_s = seconds_of_outages(result);
    let text = format!(
        "The percentiles hardly show these {}: a closed loop sends nothing while it waits, so an outage is in no more \
         latencies than there are sessions. Use --mode rte or open to measure what users would have felt.",
        duration(outages_s)
    );
    (outages_s > 0.0 && !result.is_paced()).then(|| Finding::warning(text))
}

fn seconds_of_outages(result: &RunResult) -> f64 {
    result.outages.iter().map(|outage| outage.to_s - outage.from_s).sum()
}

fn partial_result(result: &RunResult) -> Option<Finding> {
    let measured = duration(result.window.measured_s);
    let lost = match lost_agents(&result.agents) {
        0 => String::new(),
        lost => {
            let were = if lost == 1 { "was" } else { "were" };
            format!("; {lost} of {} {were} lost", plural(result.agents.len() as u64, "agent"))
        }
    };
    let text = format!("The result is partial: its numbers cover the {measured} that were measured{lost}.");
    (result.status == Status::Partial).then(|| Finding::warning(text))
}

fn unfinished_deliveries(result: &RunResult) -> Option<Finding> {
    let delivery = result.delivery.as_ref().filter(|delivery| delivery.queued > delivery.completed)?;
    let (completed, queued) = (count(delivery.completed), count(delivery.queued));
    Some(Finding::warning(format!("{completed} of {queued} queued Deliveries were completed.")))
}

fn inputs_outside_window(result: &RunResult) -> Option<Finding> {
    // Where a control chooses the warehouses, the plan sets the shares of remote lines and payments.
    let chosen = result.controls.contention.is_some()
        || result.plan.distribution.dis_ratio.is_some()
        || result.plan.distribution.dis_payment.as_ref().is_some_and(Option::is_some)
        || result
            .phases
            .iter()
            .any(|phase| phase.asked.contains_key("dis_ratio") || phase.asked.contains_key("dis_payment"));
    let outside: Vec<&str> = result
        .inputs
        .iter()
        .filter(|i| i.verdict == WindowVerdict::Outside && !(chosen && i.quantity.starts_with("remote")))
        .map(|i| i.quantity.as_str())
        .collect();
    let text = format!("Inputs outside the standard's window: {}.", outside.join(", "));
    (!outside.is_empty()).then(|| Finding::warning(text))
}

fn unsettled_contention(result: &RunResult) -> Option<Finding> {
    let mut phases = result.controls.contention.iter().flat_map(|contention| &contention.phases);
    let unsettled =
        phases.any(|phase| phase.settling_s.is_none() && phase.to_s - phase.from_s >= SHORTEST_SETTLING_S);
    let text = "The contention for the hot row did not settle at the configured intensity: use more sessions, sessions \
                that wait for their commits (commit=wait of gemel:), or longer phases.";
    unsettled.then(|| Finding::warning(text))
}

/// Types of transactions that have a share of the mix.
fn types_in_mix(result: &RunResult) -> impl Iterator<Item = (&str, &TransactionResult)> {
    let mix: Option<Mix> = result.plan.mix.as_deref().unwrap_or_default().parse().ok();
    let has_share = move |name: &str| match (mix, kind_of(name)) {
        (Some(mix), Some(kind)) => mix.has(kind),
        _ => true,
    };
    result.types_in_order().into_iter().filter(move |(name, _)| has_share(name))
}

/// Types of transactions to show: those that have a share of the mix, and those that ended in the window.
pub(crate) fn shown_types(result: &RunResult) -> Vec<(&str, &TransactionResult)> {
    let in_mix: Vec<&str> = types_in_mix(result).map(|(name, _)| name).collect();
    let shown = |(name, of): &(&str, &TransactionResult)| {
        in_mix.contains(name) || of.completed() + of.failed + of.unknown > 0
    };
    result.types_in_order().into_iter().filter(shown).collect()
}

/// True if the run has new orders per minute: a TPC-C run that shows New-Orders.
pub(crate) fn has_new_orders(result: &RunResult) -> bool {
    let new_order = StandardKind::NewOrder.name();
    result.is_tpcc() && shown_types(result).iter().any(|(name, _)| *name == new_order)
}

/// Mean queue and mean service of the completed transactions of all types, in ms; none if none completed.
#[must_use]
pub fn mean_queue_and_service_ms(result: &RunResult) -> Option<(f64, f64)> {
    let completed = result.completed();
    if completed == 0 {
        return None;
    }
    // The mean of all is the mean of the types' means, weighted by their counts; percentiles can't be combined so.
    let mean = |of: fn(&TransactionResult) -> Option<f64>| {
        let weighted = |t: &TransactionResult| of(t).unwrap_or(0.0) * t.completed() as f64;
        result.transactions.values().map(weighted).sum::<f64>() / completed as f64
    };
    Some((mean(|t| t.queue_ms.mean), mean(|t| t.service_ms.mean)))
}

/// Warns if transactions waited longer for a session than the database took to answer.
#[must_use]
pub fn queue_warning(result: &RunResult) -> Option<String> {
    let (queue, service) = mean_queue_and_service_ms(result)?;
    (queue > service).then(|| {
        format!(
            "Transactions waited longer for a session (mean {} ms) than the database took to answer (mean {} ms): \
             requests come faster than these sessions answer them. If more sessions do not raise the throughput, the \
             database is the limit.",
            number(queue),
            number(service)
        )
    })
}
