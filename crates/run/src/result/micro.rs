//! The result document of a run of the microbenchmark.

use super::common::{common, completed_of, direct, first_ms, open, plan_common, seconds_common};
use super::load::of_tables;
use crate::loading::LoadDone;
use lydite_bench::{Measurement, MicroMode, MicroPlan, Second};
use lydite_console::exit::Failure;
use lydite_database::{Description, Micro};
use lydite_micro::{Engines, Inputs};
use lydite_plan::Plan;
use lydite_plan::controls::rate::{queue, rate};
use lydite_plan::values::ratio;
use lydite_report::RunResult;
use lydite_report::controls::Controls;
use lydite_report::controls::accesses::{Accesses, Actual, Asked};
use lydite_report::model::{CheckResult, Series};
use lydite_report::plan::{self as report, PlanInfo};

/// The parts of a result of the microbenchmark.
pub(crate) struct Parts<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a MicroPlan,
    pub(crate) description: &'a Description,
    pub(crate) stored: bool,
    pub(crate) load: Option<&'a LoadDone>,
    pub(crate) measurement: &'a Measurement<Micro>,
}

impl Parts<'_> {
    /// Returns the result document, see [`super::tpcc::Parts::result`].
    pub(crate) fn result(&self, checks: Vec<CheckResult>, checked: bool) -> Result<RunResult, Failure> {
        let measured = self.measurement;
        let result = common(measured, self.description, self.stored, checks, checked)?;
        let queued = matches!(self.run.mode, MicroMode::Open { .. });
        Ok(RunResult {
            plan: self.plan_info(),
            load: self.load.map(of_tables).transpose()?,
            series: micro_series(&measured.series, 0),
            warmup_series: micro_series(&measured.warmup_series, -(measured.warmup_series.len() as i64)),
            controls: Controls {
                accesses: Some(self.accesses()),
                queue: queued.then(|| queue(measured)),
                rate: rate(measured),
                ..Controls::default()
            },
            ..result
        })
    }

    /// Returns the configured and the measured accesses.
    fn accesses(&self) -> Accesses {
        let (facts, Inputs { shape, engines, .. }) = (&self.measurement.facts, self.run.inputs);
        let percent = |part: u64, whole: u64| 100.0 * ratio(part as f64, whole as f64);
        let two = engines == Engines::Two;
        Accesses {
            asked: Asked {
                per_transaction: shape.accesses,
                updates_percent: percent(u64::from(shape.updates), u64::from(shape.accesses)),
                disk_percent: two.then_some(shape.disk_percent),
            },
            actual: Actual {
                per_transaction: ratio(facts.accesses as f64, facts.transactions as f64),
                updates_percent: percent(facts.updates, facts.accesses),
                disk_percent: two.then(|| percent(facts.on_disk, facts.accesses)),
            },
        }
    }

    fn plan_info(&self) -> PlanInfo {
        let MicroPlan { inputs, meta, mode, .. } = self.run;
        let Inputs { data, shape, engines, .. } = *inputs;
        let mut info = PlanInfo {
            workload: Some("micro".into()),
            micro: Some(report::MicroPlan {
                tables: Some(data.tables.into()),
                records: Some(data.records.into()),
                record_bytes: Some(data.record_bytes.into()),
                accesses: Some(shape.accesses.into()),
                updates: Some(shape.updates.into()),
                disk_percent: (engines == Engines::Two).then(|| shape.disk_percent.into()),
            }),
            seed: Some(inputs.seed),
            load_seed: Some(meta.seed),
            ..plan_common(self.plan, self.description)
        };
        match *mode {
            MicroMode::Direct { terminals } => direct(terminals, &mut info),
            MicroMode::Open { rate, arrival, sessions } => open(rate, arrival, sessions, &mut info),
        }
        info
    }
}

/// Returns the series of the microbenchmark.
fn micro_series(seconds: &[Second], first: i64) -> Series {
    let [micro_p50_ms, micro_p99_ms] = first_ms(seconds);
    Series { micro: completed_of(seconds, 0), micro_p50_ms, micro_p99_ms, ..seconds_common(seconds, first) }
}
