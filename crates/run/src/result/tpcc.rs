//! The result document of a run of TPC-C.

use super::common::{
    by_reason, common, completed_of, direct, encoded, first_ms, open, plan_common, seconds_common,
};
use super::load::of_warehouses;
use crate::loading::LoadDone;
use lydite_bench::{Histogram, Measurement, Mode, PhaseFacts, Second};
use lydite_console::exit::Failure;
use lydite_database::Description;
use lydite_plan::controls::{PhaseOf, Ran};
use lydite_plan::own_schema;
use lydite_plan::values::ratio;
use lydite_plan::{Plan, Span};
use lydite_report::RunResult;
use lydite_report::model::{
    CheckResult, CheckedWhen, ComplianceLine, DeliveryReport, InputFinding, Latency, NodeFigures, Pacing,
    PhaseResult, Series, TerminalsReport, WasReport, WindowVerdict,
};
use lydite_report::observed::checkpoints;
use lydite_report::plan::{PlanInfo, PlanPhase};
use lydite_tpcc::compliance::{
    self, Compliance, Declared, InputVerdict, Isolation, MeasuredWaits, ResponseTimes, RunFacts,
};
use lydite_tpcc::consistency::CONDITION_COUNT;
use lydite_tpcc::limits::{INPUT_WINDOWS_CLAUSE, MAX_NOPM_PER_WAREHOUSE};
use lydite_tpcc::{DikeKind, StandardKind};
use lydite_was::client::LineCounts;
use std::collections::BTreeMap;

const NANOS_PER_S: f64 = 1e9;

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
    pub(crate) load: Option<&'a LoadDone>,
    /// The lines of the terminals at the end of the run, if they have.
    pub(crate) lines: Option<LineCounts>,
}

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
            load: self.load.map(of_warehouses).transpose()?,
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

    /// Adds the rules of the standard. They judge also the checks and the observations of the result, so these are in it.
    pub(crate) fn judge(&self, result: &mut RunResult) {
        let line = |line: Compliance| ComplianceLine {
            rule: line.rule.to_string(),
            clause: line.clause.to_string(),
            met: line.met,
            note: line.note,
        };
        result.compliance = compliance::judge(&self.facts(result)).into_iter().map(line).collect();
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
        [info.schema, info.after_load] = own_schema::infos(plan.target.scripts(), self.ran.meta);
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
            let seconds = to_s - from_s;
            let of = PhaseOf { number, span, seconds, steps: first..last, facts };
            let measured = self.ran.measurement.phase(number);
            phases.push(PhaseResult {
                name: span.name.clone(),
                from_s,
                to_s,
                asked: span.asked.clone(),
                transactions: self.by_type(|kind| facts.completed[kind]),
                tps: ratio(completed as f64, seconds),
                latency_ms: self.by_type(|kind| Latency::from_histogram(&measured.kinds[kind].latency)),
                queue_ms: self.by_type(|kind| Latency::from_histogram(&measured.kinds[kind].queue)),
                retries: self.by_type(|kind| measured.kinds[kind].retries),
                failed: self.by_type(|kind| measured.kinds[kind].failed),
                unknown: self.by_type(|kind| measured.kinds[kind].unknown),
                aborts: by_reason(&measured.aborts),
                controls: self.plan.controls.written_of_phase(&self.ran, &of),
            });
        }
        phases
    }

    /// Returns the values of the types that belong to the run, by name. `of` gets the index of a type.
    fn by_type<T>(&self, of: impl Fn(usize) -> T) -> BTreeMap<String, T> {
        let kinds = self.plan.schedule.kinds().into_iter();
        kinds.map(|kind| (kind.name().to_owned(), of(kind.index()))).collect()
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
            conditions_violated: conditions_violated(result),
        }
    }
}

/// Returns the numbers of the conditions that the run violated; `None` if not all were evaluated and none is violated.
fn conditions_violated(result: &RunResult) -> Option<Vec<u8>> {
    let condition = |check: &CheckResult| check.id.strip_prefix("3.3.2.")?.parse().ok();
    // Checks before the run do not judge the run.
    let after = result.checks.iter().filter(|check| check.when == CheckedWhen::After);
    let found: Vec<(u8, bool)> = after.filter_map(|check| Some((condition(check)?, check.ok))).collect();
    let violated: Vec<u8> = found.iter().filter(|(_, ok)| !ok).map(|(number, _)| *number).collect();
    // An interrupted check can show that a condition is violated, but not that all hold.
    (found.len() == CONDITION_COUNT || !violated.is_empty()).then_some(violated)
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
