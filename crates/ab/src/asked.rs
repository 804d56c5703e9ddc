//! The experiment as the user wrote it, and its validation: all errors at once, before anything is touched.

use crate::experiment::{Experiment, Looking};
use crate::variant::{self, SideAsked, Variant};
use lydite_console::exit::Failure;
use lydite_decide::{LEAST_PAIRS, Looks, Side};
use lydite_plan::values::{flag, longer_than_nothing, number, whole};
use lydite_plan::{Plan, Problem};
use lydite_report::metric::Metric;
use lydite_sweep::{COMMAND_LIMIT, Common, Copies, Origin};
use std::time::Duration;

/// Pairs that count at most, unless the user says another number.
const PAIRS: u32 = 12;
/// Largest number of pairs. A larger one is a mistake.
const MAX_PAIRS: u32 = 1_000;
/// The metric that decides, unless the user says another one: the throughput.
const METRIC: &str = "tps";

/// A key that says how a side is measured. With different values the sides are different samples, not variants.
struct OfSample {
    key: &'static str,
    /// Returns the value of a plan.
    value: fn(&Plan) -> String,
    /// Reason why the values must be equal.
    why: &'static str,
}

/// All such keys.
static OF_SAMPLES: [OfSample; 4] = [
    OfSample {
        key: "seed",
        value: |plan| plan.seed.to_string(),
        why: "other inputs are another sample, and pairs would differ by them",
    },
    OfSample { key: "duration", value: |plan| seconds(plan.duration), why: WINDOW },
    OfSample { key: "warmup", value: |plan| seconds(plan.warmup), why: WINDOW },
    OfSample {
        key: "steady",
        value: |plan| plan.steady.map_or_else(|| "off".to_owned(), seconds),
        why: WINDOW,
    },
];
const WINDOW: &str = "the sides would be measured at different times of their runs";

impl OfSample {
    /// Returns the problem of two sides that have different values.
    fn problem(&self, a: &Variant, b: &Variant) -> Option<String> {
        let [of_a, of_b] = [a, b].map(|variant| (self.value)(&variant.subject.plan));
        let Self { key, why, .. } = self;
        (of_a != of_b).then(|| {
            format!(
                "{key}: is {of_a} of A and {of_b} of B, and is no variant: {why}: leave it out, or give both the same"
            )
        })
    }
}

fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}

/// Settings of the user.
#[derive(Default)]
pub struct Asked {
    /// Settings that all experiments have.
    pub common: Common,
    /// URLs of the targets: none, one for both sides, or one for each.
    pub targets: Vec<String>,
    /// The sides A and B.
    pub sides: [SideAsked; 2],
    /// Longest time of a command before a run.
    pub before_timeout: Option<String>,
    /// Name of the metric that decides.
    pub metric: Option<String>,
    /// Most pairs that count.
    pub pairs: Option<String>,
    /// Most time of all runs.
    pub time: Option<String>,
    /// Seed of the order of the runs.
    pub order_seed: Option<String>,
}

impl Asked {
    /// Validates the whole experiment. Touches no database.
    ///
    /// # Errors
    /// Everything that is wrong, one line each.
    pub fn read(self) -> Result<Experiment, Failure> {
        let mut errors = Vec::new();
        let most = flag(&mut errors, "--pairs", self.pairs.as_deref(), |text| {
            whole(text, LEAST_PAIRS as u32, MAX_PAIRS)
        });
        let looks = Looks::new(most.unwrap_or(PAIRS) as usize);
        let most_time = flag(&mut errors, "--time", self.time.as_deref(), longer_than_nothing);
        let before_timeout =
            flag(&mut errors, "--before-timeout", self.before_timeout.as_deref(), longer_than_nothing);
        let order_seed = flag(&mut errors, "--order-seed", self.order_seed.as_deref(), |text| {
            number(text, "must be a whole number from 0")
        });
        let reload = flag(&mut errors, "--reload", self.common.reload.as_deref(), Origin::read);
        let name = self.metric.as_deref().unwrap_or(METRIC);
        let metric = metric(name).map_err(|problem| errors.push(format!("--metric {problem}"))).ok();
        let out = self.common.out;
        let copies = Copies::read(self.common.json, self.common.report, &out, &mut errors);
        let [a, b] = self.sides;
        let (target_a, target_b) = match self.targets.as_slice() {
            [] => (None, None),
            [both] => (Some(both.clone()), Some(both.clone())),
            [a, b, ..] => (Some(a.clone()), Some(b.clone())),
        };
        let mut read = |side, target, asked| match variant::read(side, &self.common.entries, target, asked) {
            Ok(variant) => Some(variant),
            Err(problems) => {
                for line in problems.lines() {
                    // Both sides have the keys that they share.
                    if !errors.iter().any(|known| known == line) {
                        errors.push(line.to_owned());
                    }
                }
                None
            }
        };
        let a = read(Side::A, target_a, a);
        let b = read(Side::B, target_b, b);
        if let (Some(a), Some(b)) = (&a, &b) {
            errors.extend(together(a, b, reload, metric.as_ref()));
        }
        match (a, b, metric, looks) {
            (Some(a), Some(b), Some(metric), Some(looks)) if errors.is_empty() => Ok(Experiment {
                reload: [&a, &b].map(|variant| Origin::of(&variant.subject, reload)),
                sides: [a, b],
                looking: Looking { looks, most_time, metric, order_seed: order_seed.unwrap_or(1) },
                before_timeout: before_timeout.unwrap_or(COMMAND_LIMIT),
                label: self.common.label,
                out,
                copies,
                fresh: self.common.fresh,
            }),
            _ => Err(Failure::Usage(errors)),
        }
    }
}

/// Returns the problems of two sides that are good each by itself.
fn together(a: &Variant, b: &Variant, reload: Option<Origin>, metric: Option<&Metric>) -> Vec<String> {
    let mut problems = Vec::new();
    if a.subject.plan.micro.is_some() != b.subject.plan.micro.is_some() {
        problems.push("the sides have different workloads: their numbers can't be compared".to_owned());
    }
    if a.subject.plan.micro.is_some() && metric.is_some_and(Metric::is_of_tpcc) {
        problems.push("--metric: is for workload tpcc only: use for example tps".to_owned());
    }
    let bound = [a, b].map(|variant| variant.subject.plan.bounds_throughput());
    if let (Some(metric), true) = (metric.filter(|metric| metric.is_throughput()), bound[0] != bound[1]) {
        problems.push(format!(
            "--metric: {} of one side is bound by a rate or by think times: use a latency, for example new_order.p99",
            metric.name()
        ));
    }
    let has_fault = |variant: &Variant| variant.subject.plan.controls.faults.specs().next().is_some();
    if let Some(metric) = metric.filter(|metric| metric.is_of_faults())
        && !(has_fault(a) && has_fault(b))
    {
        problems.push(format!(
            "--metric: {} is of a fault, which the plan of a side lacks: add --fault, or name another metric",
            metric.name()
        ));
    }
    problems.extend(OF_SAMPLES.iter().filter_map(|of| of.problem(a, b)));
    let sizes = [a, b].map(|variant| variant.subject.plan.data.size);
    if sizes[0] != sizes[1] {
        problems
            .push("the sides have warehouses of different sizes: their speeds can't be compared".to_owned());
    }
    for variant in [a, b] {
        if let Some(problem) = Origin::problem(&variant.subject, reload)
            && !problems.contains(&problem)
        {
            problems.push(problem);
        }
    }
    problems
}

/// Reads the metric that decides. It needs a better direction.
fn metric(name: &str) -> Result<Metric, Problem> {
    let metric = Metric::parse(name).map_err(|problem| format!("{name} {problem}"))?;
    match metric.better() {
        Some(_) => Ok(metric),
        None => Err(format!(
            "{name} has no better direction: use a throughput, a latency or a cost, for example tps, new_order.p99 or \
             cpu_per_transaction"
        )
        .into()),
    }
}
