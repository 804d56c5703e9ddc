//! One row for each result: its plan, its target, its machine and its totals.

use crate::cell::Cell;
use crate::column::{Column, Kind};
use crate::error::ExportError;
use crate::run::Run;
use crate::table::Rows;
use lydite_report::RunResult;
use lydite_report::model::{PhaseResult, Status, TransactionResult};

pub(super) const COLUMNS: [Column; 45] = [
    Column::fact("status", "`complete` or `partial`"),
    Column::fact("lydite", "version of the program that measured"),
    Column::fact("workload", "`tpcc` or `micro`"),
    Column::fact("mode", "`direct`, `rte` or `open`"),
    Column::fact("tx", "way in which transactions are sent"),
    Column::fact("isolation", "isolation of the transactions, as the database states it"),
    Column::fact("target", "kind of the database"),
    Column::fact("target_version", "version that the database states"),
    Column::fact("target_url", "its URL, without password"),
    Column::fact("hostname", "the client's machine"),
    Column::fact("os", "its operating system"),
    Column::fact("kernel", "its kernel"),
    Column::fact("cpu", "its processor"),
    Column::document("mix", "mix of the transactions"),
    Column::document("plan", "all keys of the plan, as a JSON object"),
    Column::place("warmup_s", Kind::Real, "length of the warm-up"),
    Column::place("measured_s", Kind::Real, "length of the window"),
    Column::whole("cores", "logical processors of the client's machine"),
    Column::whole("memory_bytes", "its main memory"),
    Column::whole("warehouses", "warehouses; null for other workloads"),
    Column::whole("terminals", "terminals"),
    Column::whole("sessions", "sessions"),
    Column::real("rate_per_s", "requests per second that the plan wants (open)"),
    Column::whole("seed", "seed of the inputs"),
    Column::truth("encrypted", "true if connections were; null if this is not known"),
    Column::real("nopm", "completed New-Orders per minute; null for other workloads"),
    Column::real("completed_per_s", "completed transactions of all types per second"),
    Column::real("efficiency_percent", "`nopm` in percent of 12.86 per warehouse (rte)"),
    Column::count("completed", "completed transactions of all types"),
    Column::count("retries", "attempts after the first"),
    Column::count("failed", "transactions that ended with an error or an abort"),
    Column::count("unknown", "transactions of unknown outcome"),
    Column::count("aborts", "attempts that the database aborted"),
    Column::count("aborts_serialization", "those for serialization"),
    Column::count("aborts_deadlock", "those for a deadlock"),
    Column::count("aborts_lock_timeout", "those for a lock that was not free in time"),
    Column::count("aborts_csr", "those by a registry of snapshots over two engines"),
    Column::count("aborts_statement_timeout", "those by the limit of statements"),
    Column::count("aborts_other", "those for another reason"),
    Column::real("client_cpu_s", "processor time of Lydite in the window, with an embedded database"),
    Column::whole("client_peak_rss_bytes", "its most resident memory"),
    Column::whole("checks", "checks that were made"),
    Column::whole("checks_failed", "those that do not hold"),
    Column::whole("outages", "times without an answer"),
    Column::whole("warnings", "warnings of the result"),
];

pub(super) fn fill<'a>(run: &'a Run<'a>, rows: &mut Rows<'_, 'a>) -> Result<(), ExportError> {
    let plan = serde_json::to_string(&run.result.plan).map_err(|error| rows.unwritten("the plan", error))?;
    rows.push(run.window(), row(run.result, plan))
}

fn row(result: &RunResult, plan: String) -> [Cell<'_>; COLUMNS.len()] {
    let [status, lydite, workload, mode, tx, isolation, target, version, url, hostname, os, kernel, cpu, mix] =
        words(result);
    let total = |of: fn(&TransactionResult) -> u64| total(result, of);
    let aborts = |reason: &str| Cell::from(result.aborts.get(reason).copied());
    let is_rte = result.plan.mode.as_deref() == Some("rte");
    [
        status,
        lydite,
        workload,
        mode,
        tx,
        isolation,
        target,
        version,
        url,
        hostname,
        os,
        kernel,
        cpu,
        mix,
        plan.into(),
        result.window.warmup_s.into(),
        result.window.measured_s.into(),
        known(result.host.cores.into()),
        known(result.host.memory_bytes),
        result.warehouses().into(),
        result.plan.terminals.into(),
        result.plan.sessions.into(),
        result.plan.rate.into(),
        result.plan.seed.into(),
        result.target.encrypted.into(),
        result.is_tpcc().then_some(result.nopm).into(),
        result.tps.into(),
        is_rte.then_some(result.efficiency_percent).into(),
        total(TransactionResult::completed),
        total(|of| of.retries),
        total(|of| of.failed),
        total(|of| of.unknown),
        PhaseResult::sum(&result.aborts).into(),
        aborts("serialization"),
        aborts("deadlock"),
        aborts("lock_timeout"),
        aborts("csr"),
        aborts("statement_timeout"),
        aborts("other"),
        result.client.cpu_s.into(),
        known(result.client.peak_rss_bytes),
        result.checks.len().into(),
        result.checks.iter().filter(|check| !check.ok).count().into(),
        result.outages.len().into(),
        result.warnings.len().into(),
    ]
}

/// Returns the facts in words, in the order of their columns.
fn words(result: &RunResult) -> [Cell<'_>; 14] {
    let (plan, target, host) = (&result.plan, &result.target, &result.host);
    let status = match result.status {
        Status::Complete => "complete",
        Status::Partial => "partial",
    };
    [
        status.into(),
        stated(&result.lydite),
        result.workload().into(),
        plan.mode.as_deref().into(),
        plan.tx.as_deref().into(),
        plan.isolation.as_deref().into(),
        stated(&target.kind),
        stated(&target.version),
        stated(&target.url),
        stated(&host.hostname),
        stated(&host.os),
        stated(&host.kernel),
        stated(&host.cpu),
        plan.mix.as_deref().into(),
    ]
}

/// Returns a text; null if the result does not state it.
fn stated(text: &str) -> Cell<'_> {
    (!text.is_empty()).then_some(text).into()
}

/// Returns a size that is never zero; null if the result does not state it.
fn known<'a>(size: u64) -> Cell<'a> {
    (size > 0).then_some(size).into()
}

/// Returns a count over all types of transactions; null without any type.
fn total<'a>(result: &RunResult, of: fn(&TransactionResult) -> u64) -> Cell<'a> {
    (!result.transactions.is_empty()).then(|| result.total(of)).into()
}
