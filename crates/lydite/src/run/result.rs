//! The result document of a measurement.

use crate::exit::Failure;
use crate::host;
use lydite_bench::{
    Arrival, Histogram, KindMeasurement, LoadReport, Measurement, Mode, PhaseFacts, Runnable, Second,
};
use lydite_database::{AbortReason, Description, EndpointReport, Target};
use lydite_plan::controls::{PhaseOf, Ran};
use lydite_plan::values::ratio;
use lydite_plan::{Plan, Span};
use lydite_report::model::{
    CheckResult, CheckedWhen, ClientCost, ComplianceLine, DeliveryReport, EndpointResult, ErrorCount, FORMAT,
    InputFinding, Latency, LoadInfo, NodeFigures, Outage, OutageCause, Pacing, PhaseResult, Series, Status,
    TargetInfo, TerminalsReport, TransactionResult, WasReport, Window, WindowVerdict,
};
use lydite_report::observed::checkpoints;
use lydite_report::plan::{PlanInfo, PlanPhase, RetryPlan};
use lydite_report::{RunResult, hdr};
use lydite_tpcc::compliance::{
    self, Compliance, Declared, InputVerdict, Isolation, MeasuredWaits, ResponseTimes, RunFacts,
};
use lydite_tpcc::consistency::CONDITION_COUNT;
use lydite_tpcc::limits::{INPUT_WINDOWS_CLAUSE, MAX_NOPM_PER_WAREHOUSE};
use lydite_tpcc::{DikeKind, StandardKind};
use lydite_was::client::LineCounts;
use std::collections::BTreeMap;

/// The parts of a result of TPC-C.
pub(crate) struct Parts<'a> {
    pub(crate) plan: &'a Plan,
    /// The run, as controls see it.
    pub(crate) ran: Ran<'a>,
    pub(crate) description: &'a Description,
    /// True if the target stores anything.
    pub(crate) stored: bool,
    /// Standing of a driver's declarations; none for other targets.
    pub(crate) declared: Option<Declared>,
    /// The load before the run, if there was one.
    pub(crate) load: Option<&'a LoadReport>,
    /// The lines of the terminals at the end of the run, if they have.
    pub(crate) lines: Option<LineCounts>,
}

const NANOS_PER_S: f64 = 1e9;

/// The share of this machine's processors above which the client is likely the limit.
const BUSY_CLIENT: f64 = 0.9;

impl Parts<'_> {
    /// Returns the result document with the checks. It is partial if `checked` is false: checks of the run are missing.
    ///
    /// # Errors
    /// A histogram can't be encoded.
    pub(crate) fn result(&self, checks: Vec<CheckResult>, checked: bool) -> Result<RunResult, Failure> {
        let measured = self.ran.measurement;
        let warehouses = f64::from(self.warehouses());
        let mut result = common(measured, self.description, self.stored, checks, checked)?;
        result
            .transactions
            .retain(|name, _| self.plan.schedule.kinds().iter().any(|kind| kind.name() == name));
        if let (Some(delivery), Mode::Rte { .. }) = (result.transactions.get_mut("delivery"), self.ran.mode) {
            // The user waits only until the delivery is queued.
            delivery.interactive_ms = Some(Latency::from_histogram(&measured.facts.delivery.interactive));
        }
        // With a WAS the database works in the process of the WAS.
        result.target.embedded &= self.lines.is_none();
        Ok(RunResult {
            plan: self.plan_info(),
            load: self.load.map(|load| LoadInfo { warehouses: u64::from(load.units), ..loaded(load) }),
            nopm: measured.nopm(),
            efficiency_percent: 100.0 * ratio(measured.nopm(), MAX_NOPM_PER_WAREHOUSE * warehouses),
            series: self.series(&measured.series, 0),
            warmup_series: self.series(&measured.warmup_series, -(measured.warmup_series.len() as i64)),
            inputs: self.inputs().iter().map(|verdict| finding(verdict, INPUT_WINDOWS_CLAUSE)).collect(),
            controls: self.plan.controls.written(&self.ran),
            nodes: self.node_figures(),
            phases: if self.plan.schedule.changes() { self.phases() } else { Vec::new() },
            delivery: delivery(self.ran.mode, measured),
            pacing: pacing(measured)?,
            terminals: self.terminals(),
            ..result
        })
    }

    /// Returns the verdicts on the randomness of the inputs.
    fn inputs(&self) -> Vec<InputVerdict> {
        compliance::judge_inputs(&self.ran.measurement.facts.inputs, self.warehouses())
    }

    /// Returns the result with the rules of the standard. They judge also its checks and observations, so these are in it.
    pub(crate) fn judged(&self, mut result: RunResult) -> RunResult {
        let line = |line: Compliance| ComplianceLine {
            rule: line.rule.to_string(),
            clause: line.clause.to_string(),
            met: line.met,
            note: line.note,
        };
        result.compliance = compliance::judge(&self.facts(&result)).into_iter().map(line).collect();
        result
    }

    /// Returns the terminals' side, if they have lines or a display delay.
    fn terminals(&self) -> Option<TerminalsReport> {
        let was = self.lines.zip(self.plan.was()).map(|(lines, address)| WasReport {
            address: address.to_owned(),
            lines: lines.lines,
            lost: lines.lost,
            reconnected: lines.reconnected,
            contexts_lost: lines.contexts_lost,
            menu_ms: self
                .ran
                .measurement
                .facts
                .menu
                .as_ref()
                .map(Latency::from_histogram)
                .unwrap_or_default(),
        });
        let delay = self.display_delay_s();
        (was.is_some() || delay > 0.0).then_some(TerminalsReport { display_delay_ms: 1e3 * delay, was })
    }

    /// Returns the time that terminals take to display an answer, in seconds.
    fn display_delay_s(&self) -> f64 {
        match self.ran.mode {
            Mode::Rte { display_delay, .. } => display_delay.as_secs_f64(),
            Mode::Direct { .. } | Mode::Open { .. } => 0.0,
        }
    }

    fn series(&self, seconds: &[Second], first: i64) -> Series {
        let of = |kind: StandardKind| completed_of(seconds, kind.index());
        let played = DikeKind::ALL.into_iter().filter(|kind| self.plan.schedule.plays(*kind));
        let [new_order_p50_ms, new_order_p99_ms] = first_ms(seconds);
        Series {
            new_order: of(StandardKind::NewOrder),
            payment: of(StandardKind::Payment),
            order_status: of(StandardKind::OrderStatus),
            delivery: of(StandardKind::Delivery),
            stock_level: of(StandardKind::StockLevel),
            dike: played.map(|kind| (kind, completed_of(seconds, kind.index()))).collect(),
            new_order_p50_ms,
            new_order_p99_ms,
            ..seconds_common(seconds, first)
        }
    }

    fn plan_info(&self) -> PlanInfo {
        let plan = self.plan;
        let mut info = PlanInfo {
            workload: Some("tpcc".into()),
            warehouses: Some(self.ran.meta.warehouses.into()),
            active_warehouses: plan.active.map(|(first, last)| format!("{first}-{last}")),
            mix: Some(plan.schedule.whole_curve("mix").unwrap_or_else(|| plan.mix.to_string())),
            seed: Some(plan.seed),
            load_seed: Some(self.ran.meta.seed),
            c_load: Some(self.ran.meta.c_load.0.into()),
            phases: if plan.schedule.changes() {
                plan.schedule.phases.iter().map(plan_phase).collect()
            } else {
                Vec::new()
            },
            ..plan_common(plan, self.description)
        };
        match self.ran.mode {
            Mode::Direct { terminals } => direct(*terminals, &mut info),
            Mode::Rte { terminals, sessions, wait_factor, .. } => {
                info.mode = Some("rte".into());
                (info.terminals, info.sessions) = (Some((*terminals).into()), Some((*sessions).into()));
                info.wait_factor = Some(*wait_factor);
                info.was = plan.was().map(str::to_owned);
                info.display_delay_s = Some(self.display_delay_s()).filter(|delay| *delay > 0.0);
            }
            Mode::Open { rate, arrival, sessions } => {
                // A rate that changes is written as its mean.
                let changing = self.ran.measurement.open.filter(|_| plan.schedule.steps.len() > 1);
                let mean = changing.map(|open| (open.asked_per_s * 1e3).round() / 1e3);
                open(mean.unwrap_or(*rate), *arrival, *sessions, &mut info);
            }
        }
        plan.data.write_plan(self.ran.meta, &mut info);
        plan.controls.write_plan(&self.ran, &mut info);
        info
    }

    /// Returns the transactions that touched each node in each second; none if the placement is unknown.
    fn node_figures(&self) -> Option<NodeFigures> {
        let names = self.ran.placement()?.nodes.clone();
        let seconds = &self.ran.measurement.series;
        let of_node = |node: usize| {
            seconds
                .iter()
                .map(|second| second.touched.of_node.get(node).copied().unwrap_or_default())
                .collect()
        };
        Some(NodeFigures {
            ops: (0..names.len()).map(of_node).collect(),
            second: (0..).take(seconds.len()).collect(),
            names,
            bytes: None,
        })
    }

    /// Returns the phases that the run reached.
    fn phases(&self) -> Vec<PhaseResult> {
        let measured_s = self.ran.measurement.window.measured.as_secs_f64();
        let none = PhaseFacts::default();
        let mut phases = Vec::new();
        for (number, span) in self.plan.schedule.phases.iter().enumerate() {
            let (from_s, to_s) = (span.from.as_secs_f64(), span.to.as_secs_f64().min(measured_s));
            if from_s >= to_s {
                break;
            }
            let steps = &self.plan.schedule.steps;
            let first = steps.partition_point(|step| step.phase < number);
            let last = steps.partition_point(|step| step.phase <= number);
            let facts = self.ran.measurement.facts.phases.get(number).unwrap_or(&none);
            let completed = facts.completed.iter().sum::<u64>();
            let of = PhaseOf { number, span, steps: first..last, facts };
            phases.push(PhaseResult {
                name: span.name.clone(),
                from_s,
                to_s,
                asked: span.asked.clone(),
                transactions: self
                    .plan
                    .schedule
                    .kinds()
                    .into_iter()
                    .map(|kind| (kind.name().to_owned(), facts.completed[kind.index()]))
                    .collect(),
                tps: ratio(completed as f64, to_s - from_s),
                controls: self.plan.controls.written_of_phase(&self.ran, &of),
            });
        }
        phases
    }

    /// Returns the number of active warehouses.
    fn warehouses(&self) -> u32 {
        self.plan.active.map_or(self.ran.meta.warehouses, |(first, last)| last - first + 1)
    }

    fn facts(&self, result: &RunResult) -> RunFacts {
        let measured = self.ran.measurement;
        let warehouses = f64::from(self.warehouses());
        let (wait_factor, terminals) = match self.ran.mode {
            Mode::Rte { terminals, wait_factor, .. } => (Some(*wait_factor), *terminals),
            Mode::Direct { terminals } => (None, *terminals),
            Mode::Open { sessions, .. } => (None, *sessions),
        };
        let deferred = wait_factor.is_some();
        let times = |histogram: &Histogram<u64>| {
            (!histogram.is_empty()).then(|| ResponseTimes {
                p90_s: histogram.value_at_quantile(0.9) as f64 / NANOS_PER_S,
                mean_s: histogram.mean() / NANOS_PER_S,
            })
        };
        // The display delay is part of the response time of a terminal (clause 6.6.3.7).
        let delay = self.display_delay_s();
        let shown = |histogram: &Histogram<u64>| {
            times(histogram).map(|ResponseTimes { p90_s, mean_s }| ResponseTimes {
                p90_s: p90_s + delay,
                mean_s: mean_s + delay,
            })
        };
        RunFacts {
            data_skew: self.ran.meta.districts.skew(),
            size: self.ran.meta.size,
            wait_factor,
            terminals_per_warehouse: f64::from(terminals) / warehouses,
            // Other modes have no terminals that stay in their warehouse.
            fixed_warehouses: deferred,
            mix: compliance::judge_mix(&measured.facts.inputs, &self.plan.mix),
            inputs: self.inputs(),
            response: StandardKind::ALL.map(|kind| {
                if deferred && kind == StandardKind::Delivery {
                    shown(&measured.facts.delivery.interactive)
                } else {
                    shown(&measured.kind(kind).latency)
                }
            }),
            menu_p90_s: measured.facts.menu.as_ref().and_then(times).map(|times| times.p90_s),
            deferred_delivery_p90_s: deferred
                .then(|| times(&measured.kind(StandardKind::Delivery).latency).map(|times| times.p90_s))
                .flatten(),
            deliveries: measured.facts.delivery.completed,
            skipped_deliveries: measured.facts.delivery.with_skips,
            waits: StandardKind::ALL.map(|kind| {
                let waits = &measured.facts.waits.as_ref()?[kind.index()];
                Some(MeasuredWaits {
                    keying_min_s: waits.keying.min.as_secs_f64(),
                    think_mean_s: waits.think.mean_s()?,
                    samples: waits.think.count,
                })
            }),
            new_orders: result.series.new_order.iter().take(result.whole_seconds()).copied().collect(),
            checkpoints_s: checkpoints(result)
                .map(|seconds| seconds.into_iter().map(|second| second as f64).collect()),
            measured_minutes: measured.window.measured.as_secs_f64() / 60.0,
            nopm_per_warehouse: measured.nopm() / warehouses,
            durable_commits: Some(self.description.durable),
            storage_in_memory: self.description.in_memory.is_some(),
            isolation: Some(Isolation {
                name: self.description.isolation.clone(),
                level_3: Some(self.description.isolation_is_level_3),
            }),
            declared: self.declared,
            reads_replicas: self.ran.replicas.is_some(),
            // Checks before the run do not judge the run.
            conditions_violated: {
                let condition = |check: &CheckResult| check.id.strip_prefix("3.3.2.")?.parse().ok();
                let after = result.checks.iter().filter(|check| check.when == CheckedWhen::After);
                let found: Vec<(u8, bool)> =
                    after.filter_map(|check| Some((condition(check)?, check.ok))).collect();
                let violated: Vec<u8> =
                    found.iter().filter(|(_, ok)| !ok).map(|(number, _)| *number).collect();
                // An interrupted check can show that a condition is violated, but not that all hold.
                (found.len() == CONDITION_COUNT || !violated.is_empty()).then_some(violated)
            },
        }
    }
}

/// Returns a phase of the plan in the result.
fn plan_phase(span: &Span) -> PlanPhase {
    PlanPhase {
        name: span.name.clone(),
        from_s: span.from.as_secs_f64(),
        to_s: span.to.as_secs_f64(),
        asked: span.asked.clone(),
    }
}

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

/// Returns the part of a load that does not depend on the workload.
pub(crate) fn loaded(load: &LoadReport) -> LoadInfo {
    LoadInfo {
        seconds: load.seconds,
        rows: load.rows,
        bytes: load.bytes,
        warehouses: 0,
        tables: None,
        jobs: load.jobs as u32,
        rows_per_s: ratio(load.rows as f64, load.seconds),
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
        },
        window: Window {
            start: jiff::Timestamp::try_from(measured.window.start).unwrap_or_default().to_string(),
            warmup_s: measured.window.warmup.as_secs_f64(),
            measured_s: measured.window.measured.as_secs_f64(),
        },
        tps: measured.tps(),
        transactions,
        aborts: AbortReason::ALL
            .into_iter()
            .map(|reason| (reason.name().to_string(), measured.aborts[reason.index()]))
            .collect(),
        errors: measured
            .errors
            .iter()
            .map(|error| ErrorCount { message: error.message.clone(), count: error.count })
            .collect(),
        client: client(measured, description, stored, completed, f64::from(host.cores)),
        host,
        checks,
        warnings: match &measured.status {
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
        .collect(),
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
fn seconds_common(seconds: &[Second], first: i64) -> Series {
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
fn completed_of(seconds: &[Second], kind: usize) -> Vec<u64> {
    seconds.iter().map(|second| second.completed[kind]).collect()
}

/// Returns the median and the 99th percentile of the first type in each second, in ms.
fn first_ms(seconds: &[Second]) -> [Vec<Option<f64>>; 2] {
    let ms = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64() * 1e3);
    [
        seconds.iter().map(|second| ms(second.first_p50)).collect(),
        seconds.iter().map(|second| ms(second.first_p99)).collect(),
    ]
}

/// Returns the series of the microbenchmark.
pub(crate) fn micro_series(seconds: &[Second], first: i64) -> Series {
    let [micro_p50_ms, micro_p99_ms] = first_ms(seconds);
    Series { micro: completed_of(seconds, 0), micro_p50_ms, micro_p99_ms, ..seconds_common(seconds, first) }
}

fn finding(verdict: &InputVerdict, clause: &str) -> InputFinding {
    // Titles end with their unit: "rollbacks, % of New-Orders".
    let (quantity, unit) = match verdict.title.strip_suffix(", %") {
        Some(quantity) => (quantity, "%"),
        None => (verdict.title.as_str(), if verdict.title.contains('%') { "%" } else { "" }),
    };
    InputFinding {
        quantity: quantity.to_string(),
        clause: clause.to_string(),
        low: verdict.low,
        high: verdict.high,
        actual: verdict.value.unwrap_or(0.0),
        samples: verdict.samples,
        unit: unit.to_string(),
        verdict: match verdict.verdict {
            compliance::WindowVerdict::Inside => WindowVerdict::Inside,
            compliance::WindowVerdict::Outside => WindowVerdict::Outside,
            compliance::WindowVerdict::TooFewSamples => WindowVerdict::TooFewSamples,
        },
        note: String::new(),
    }
}

fn delivery(mode: &Mode, measured: &Measurement) -> Option<DeliveryReport> {
    let Mode::Rte { delivery_log, .. } = mode else { return None };
    let facts = &measured.facts.delivery;
    Some(DeliveryReport {
        queued: facts.queued,
        completed: facts.completed,
        skipped_districts: facts.skipped_districts,
        within_80s_percent: 100.0 * ratio(facts.within_80_s as f64, facts.completed as f64),
        log: delivery_log.as_ref().map(|path| path.display().to_string()),
    })
}

/// Encodes a histogram for the document.
fn encoded(histogram: &Histogram<u64>) -> Result<String, Failure> {
    hdr::encode(histogram).map_err(|error| Failure::usage(error.to_string()))
}

/// Returns the measured waits of each type, if terminals wait.
///
/// # Errors
/// A histogram can't be encoded.
fn pacing(measured: &Measurement) -> Result<Option<BTreeMap<String, Pacing>>, Failure> {
    let Some(waits) = &measured.facts.waits else { return Ok(None) };
    let mut pacing = BTreeMap::new();
    for kind in StandardKind::ALL {
        let waits = &waits[kind.index()];
        let (Some(keying_mean_s), Some(think_mean_s)) = (waits.keying.mean_s(), waits.think.mean_s()) else {
            continue;
        };
        let think = measured.facts.think.as_ref().filter(|_| kind == StandardKind::NewOrder);
        let of_kind = Pacing {
            keying_mean_s,
            think_mean_s,
            keying_min_s: waits.keying.min.as_secs_f64(),
            think_max_s: waits.think.max.as_secs_f64(),
            think_hdr: think.map(encoded).transpose()?.unwrap_or_default(),
        };
        pacing.insert(kind.name().to_string(), of_kind);
    }
    Ok(Some(pacing))
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

/// Returns the sessions and transactions of each endpoint; none unless sessions are spread, or renewed.
pub(crate) fn endpoints(target: &dyn Target) -> Vec<EndpointResult> {
    let of = |found: EndpointReport| {
        let EndpointReport {
            endpoint,
            sessions,
            opened,
            lost,
            refused,
            moved,
            refreshed,
            transactions,
            away,
            last: _,
        } = found;
        EndpointResult { endpoint, sessions, opened, lost, refused, moved, refreshed, transactions, away }
    };
    let endpoints = target.capabilities().endpoints.filter(|endpoints| endpoints.is_spread());
    endpoints.map(|endpoints| endpoints.report()).unwrap_or_default().into_iter().map(of).collect()
}
