//! The experiment as the user wrote it, and its validation: all errors at once, before anything is touched.

use crate::experiment::{Experiment, Looking};
use crate::variant::{self, SideAsked, Variant};
use lydite_console::exit::Failure;
use lydite_decide::{LEAST_PAIRS, Looks, Side};
use lydite_plan::Problem;
use lydite_plan::values::{flag, longer_than_nothing, number, whole};
use lydite_report::compare::Better;
use lydite_report::metric::Metric;
use lydite_sweep::{COMMAND_LIMIT, Common, Copies, Origin};

/// Pairs that count at most, unless the user says another number.
const PAIRS: u32 = 12;
/// Largest number of pairs. A larger one is a mistake.
const MAX_PAIRS: u32 = 1_000;
/// The metric that decides, unless the user says another one: the throughput.
const METRIC: &str = "tps";

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
    let is_throughput =
        |metric: &&Metric| matches!(metric.better(), Some(Better::Higher)) && metric.name() != "efficiency";
    let bound = [a, b].map(|variant| variant.subject.plan.bounds_throughput());
    if let (Some(metric), true) = (metric.filter(is_throughput), bound[0] != bound[1]) {
        problems.push(format!(
            "--metric: {} of one side is bound by a rate or by think times: use a latency, for example new_order.p99",
            metric.name()
        ));
    }
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
