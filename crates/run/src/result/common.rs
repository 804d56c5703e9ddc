//! The result document of a measurement.

use crate::host;
use lydite_bench::{Arrival, Histogram, KindMeasurement, Measurement, Runnable, Second};
use lydite_console::exit::Failure;
use lydite_database::{AbortReason, Description};
use lydite_plan::Plan;
use lydite_plan::values::ratio;
use lydite_report::figures::milliseconds;
use lydite_report::model::{
    CheckResult, ClientCost, ErrorCount, FORMAT, Latency, Outage, OutageCause, Series, Status, TargetInfo,
    TransactionResult, Window,
};
use lydite_report::plan::{PlanInfo, RetryPlan};
use lydite_report::{RunResult, hdr};
use std::collections::BTreeMap;

/// The share of this machine's processors above which the client is likely the limit.
const BUSY_CLIENT: f64 = 0.9;

/// Writes a closed loop into the plan of a result.
pub(crate) fn direct(terminals: u32, info: &mut PlanInfo) {
    info.mode = Some("direct".into());
    (info.terminals, info.sessions) = (Some(terminals.into()), Some(terminals.into()));
}

/// Writes an open loop into the plan of a result.
pub(crate) fn open(rate: f64, arrival: Arrival, sessions: u32, info: &mut PlanInfo) {
    let arrival = match arrival {
        Arrival::Poisson => "poisson",
        Arrival::Constant => "constant",
    };
    info.mode = Some("open".into());
    (info.rate, info.arrival) = (Some(rate), Some(arrival.into()));
    (info.terminals, info.sessions) = (Some(sessions.into()), Some(sessions.into()));
}

/// Returns the part of the plan that does not depend on the workload.
pub(crate) fn plan_common(plan: &Plan, description: &Description) -> PlanInfo {
    PlanInfo {
        tx: Some(plan.tx.name().into()),
        duration_s: Some(plan.duration.as_secs_f64()),
        warmup_s: Some(plan.warmup.as_secs_f64()),
        steady_s: plan.steady.map(|limit| limit.as_secs_f64()),
        retry: Some(RetryPlan {
            attempts: plan.retry.attempts,
            backoff_min_s: plan.retry.backoff_min.as_secs_f64(),
            backoff_max_s: plan.retry.backoff_max.as_secs_f64(),
        }),
        check: Some(plan.check),
        observe: plan.observe.written(),
        isolation: Some(description.isolation.clone()),
        ..PlanInfo::default()
    }
}

/// Returns the part of a result that does not depend on the workload. The result is partial if `checked` is false:
/// checks of the run are missing.
///
/// # Errors
/// A histogram can't be encoded.
pub(crate) fn common<W: Runnable>(
    measured: &Measurement<W>,
    description: &Description,
    stored: bool,
    checks: Vec<CheckResult>,
    checked: bool,
) -> Result<RunResult, Failure> {
    let complete = measured.status == lydite_bench::Status::Complete && measured.lost.is_none() && checked;
    let completed = measured.completed();
    let transactions = W::KINDS
        .iter()
        .zip(&measured.kinds)
        .map(|(kind, of)| Ok((kind.name.to_string(), transaction(of, completed)?)))
        .collect::<Result<BTreeMap<_, _>, Failure>>()?;
    let host = host::info();
    Ok(RunResult {
        lydite: env!("CARGO_PKG_VERSION").into(),
        format: FORMAT,
        status: if complete { Status::Complete } else { Status::Partial },
        target: TargetInfo {
            kind: description.kind.clone(),
            version: description.version.clone(),
            url: description.url.clone(),
            settings: description.settings.clone(),
            changed_settings: BTreeMap::new(),
            encrypted: None,
            embedded: description.embedded,
            tables: Vec::new(),
        },
        window: Window {
            start: jiff::Timestamp::try_from(measured.window.start).unwrap_or_default().to_string(),
            warmup_s: measured.window.warmup.as_secs_f64(),
            measured_s: measured.window.measured.as_secs_f64(),
        },
        tps: measured.tps(),
        transactions,
        aborts: by_reason(&measured.aborts),
        errors: measured
            .errors
            .iter()
            .map(|error| ErrorCount { message: error.message.clone(), count: error.count })
            .collect(),
        client: client(measured, description, stored, completed, f64::from(host.cores)),
        host,
        checks,
        warnings: warnings(measured, description),
        outages: measured
            .outages
            .iter()
            .map(|outage| Outage {
                cause: match outage.cause {
                    lydite_bench::OutageCause::Lost => OutageCause::Lost,
                    lydite_bench::OutageCause::Silent => OutageCause::Silent,
                },
                from_s: outage.from_s,
                to_s: outage.to_s,
            })
            .collect(),
        ..RunResult::default()
    })
}

/// Returns the warnings that every workload has.
fn warnings<W: Runnable>(measured: &Measurement<W>, description: &Description) -> Vec<String> {
    match &measured.status {
        lydite_bench::Status::Failing(why) => vec![sentence(why)],
        _ => Vec::new(),
    }
    .into_iter()
    .chain(measured.warnings.iter().cloned())
    .chain(weak_guarantee(description))
    .chain(description.in_memory.map(|kind| {
        format!(
            "The database's files are on a file system in memory ({kind}): a commit waits for no disk and does \
             not survive a loss of power; a path (or TMPDIR) on a disk shows what durable commits cost"
        )
    }))
    .collect()
}

/// Returns aborted attempts by the name of their reason.
pub(super) fn by_reason(aborts: &[u64; AbortReason::COUNT]) -> BTreeMap<String, u64> {
    AbortReason::ALL.into_iter().map(|reason| (reason.name().to_string(), aborts[reason.index()])).collect()
}

fn transaction(measured: &KindMeasurement, completed: u64) -> Result<TransactionResult, Failure> {
    Ok(TransactionResult {
        committed: measured.committed,
        rolled_back: measured.rolled_back,
        retries: measured.retries,
        failed: measured.failed,
        unknown: measured.unknown,
        share_percent: 100.0 * ratio(measured.completed() as f64, completed as f64),
        latency_ms: Latency::from_histogram(&measured.latency),
        queue_ms: Latency::from_histogram(&measured.queue),
        service_ms: Latency::from_histogram(&measured.service),
        interactive_ms: None,
        hdr: encoded(&measured.latency)?,
    })
}

/// Returns the costs of the client.
fn client<W: Runnable>(
    measured: &Measurement<W>,
    description: &Description,
    stored: bool,
    completed: u64,
    cores: f64,
) -> ClientCost {
    let apart = stored && !description.embedded;
    let cpu_s = measured.client.cpu.as_secs_f64();
    // Other children of this process are the guards of faults.
    let driver_cpu_s =
        measured.client.driver_cpu.filter(|_| description.kind == "driver").map(|cpu| cpu.as_secs_f64());
    let busy = ratio(cpu_s + driver_cpu_s.unwrap_or_default(), measured.window.measured.as_secs_f64());
    let (who, was) = match driver_cpu_s {
        Some(_) => ("Lydite and the driver", "they, not a server behind it, were"),
        None => ("Lydite itself", "it, not the database, was"),
    };
    let bottleneck = (apart && busy > BUSY_CLIENT * cores).then(|| {
        format!(
            "{who} used {busy:.1} of this machine's {cores} processors: {was} likely \
             the limit; run it on a machine of its own or with fewer sessions"
        )
    });
    ClientCost {
        cpu_s,
        peak_rss_bytes: measured.client.peak_rss_bytes,
        cpu_us_per_transaction: ratio(cpu_s * 1e6, completed as f64),
        driver_cpu_s,
        driver_cpu_us_per_transaction: driver_cpu_s.map(|cpu| ratio(cpu * 1e6, completed as f64)),
        bottleneck,
        lateness_ms: (!measured.lateness.is_empty()).then(|| Latency::from_histogram(&measured.lateness)),
    }
}

/// Returns a message with a capital letter at its beginning.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns the series that every workload has, from the second `first`.
pub(super) fn seconds_common(seconds: &[Second], first: i64) -> Series {
    Series {
        second: (first..).take(seconds.len()).collect(),
        aborts: seconds.iter().map(|second| second.aborts).collect(),
        errors: seconds.iter().map(|second| second.errors).collect(),
        unknown: seconds.iter().map(|second| second.unknown).collect(),
        sessions_connected: seconds.iter().map(|second| second.connected).collect(),
        ..Series::default()
    }
}

/// Returns the completed transactions of a type, by its number, in each second.
pub(super) fn completed_of(seconds: &[Second], kind: usize) -> Vec<u64> {
    seconds.iter().map(|second| second.completed[kind]).collect()
}

/// Returns the median and the 99th percentile of the first type in each second, in ms.
pub(super) fn first_ms(seconds: &[Second]) -> [Vec<Option<f64>>; 2] {
    [
        seconds.iter().map(|second| second.first_p50.map(milliseconds)).collect(),
        seconds.iter().map(|second| second.first_p99.map(milliseconds)).collect(),
    ]
}

/// Returns the warning about a driver with a weaker guarantee than the standard requires.
fn weak_guarantee(description: &Description) -> Option<String> {
    let guarantee = description.settings.get("guarantee").filter(|_| description.kind == "driver")?;
    let weak = !description.isolation_is_level_3;
    weak.then(|| {
        format!(
            "The driver guarantees \"{guarantee}\" for its transactions, less than the standard requires: concurrent \
             transactions may break the data, and the checks show where"
        )
    })
}

/// Encodes a histogram for the document.
pub(super) fn encoded(histogram: &Histogram<u64>) -> Result<String, Failure> {
    hdr::encode(histogram).map_err(|error| Failure::usage(error.to_string()))
}
