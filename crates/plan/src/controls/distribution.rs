//! Distribution control: the placement of the warehouses, and transactions over several nodes.

use crate::controls::{About, Control, Ground, PhaseOf, PlanStep, Ran, Schedule};
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::phase_key::PhaseKey;
use crate::problem::Problem;
use crate::values::{percent, time};
use lydite_bench::{RunPlan, Step};
use lydite_database::{DatabaseState, Demand, Placement, Target, TargetError, TargetErrorKind};
use lydite_families::TargetSpec;
use lydite_report::controls::distribution::{Actual, Asked, Move, Node, PerSecond, PhaseDistribution};
use lydite_report::controls::{self as report, Controls, PhaseControls};
use lydite_report::plan::{PlanInfo, Setting};
use lydite_tpcc::{
    ByNodes, Distribution, DistributionAsked, DistributionError, NodesTouched, Strategy, WarehouseId,
};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The default time between two reads of the placement.
const DEFAULT_REFRESH: Duration = Duration::from_secs(5);

/// The most nodes of `--nodes`.
const MAX_NODES: u32 = 10_000;

/// The user's placement (`--nodes`), for a database that reports none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeMap {
    nodes: u32,
    /// True if the node is the warehouse's number modulo the nodes, false for ranges of equal size.
    modulo: bool,
}

impl NodeMap {
    /// Reads `9` or `modulo:9`.
    fn read(text: &str) -> Result<Self, Problem> {
        let (modulo, count) = match text.split_once(':') {
            Some(("modulo", count)) => (true, count),
            Some(("ranges", count)) => (false, count),
            None => (false, text),
            Some(_) => (false, ""),
        };
        match count.trim().parse() {
            Ok(nodes @ 1..=MAX_NODES) => Ok(Self { nodes, modulo }),
            _ => Err(format!(
                "must be a number of nodes from 1 to {MAX_NODES} that have ranges of warehouses, or modulo:N for the \
                 warehouse's number modulo N"
            )
            .into()),
        }
    }

    /// Returns the placement of this number of warehouses.
    fn placement(self, warehouses: u32) -> Result<Placement, Problem> {
        if self.nodes > warehouses {
            return Err(format!(
                "{} nodes need at least as many warehouses, and there are {warehouses}",
                self.nodes
            )
            .into());
        }
        let names = (1..=self.nodes).map(|node| format!("node {node}")).collect();
        let make = if self.modulo { Placement::modulo } else { Placement::ranges };
        Ok(make(names, warehouses))
    }

    /// Returns the source of the placement, for the result.
    fn words(self) -> String {
        format!("--nodes: {} by {}", self.nodes, if self.modulo { "modulo" } else { "ranges" })
    }
}

/// The nodes of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    /// The user's placement.
    map: Option<NodeMap>,
    /// Time between two reads of the database's placement; none reads it once.
    refresh: Option<Duration>,
}

impl Control for Nodes {
    const KEYS: &'static [Key] = &[
        Key::new("nodes")
            .flag("N", "Nodes of a database that does not report its placement: N ranges, or modulo:N"),
        Key::new("dis_ratio").flag(
            "PERCENT",
            "Share of New-Orders that touch more than one node, in percent [default: as TPC-C's remote \
             lines cause]",
        ),
        Key::new("dis_degree").flag("N", "Nodes that each of these touches [default: 2]"),
        Key::new("dis_strategy").flag(
            "NAME",
            "placed: a warehouse on each node; expected: the mean degree, from the nodes' sizes; paper: \
             as the Dike paper prints it [default: placed]",
        ),
        Key::new("dis_payment"),
        Key::new("dis_stock_level"),
        Key::new("dis_stock_level_degree"),
        Key::new("refresh"),
    ];
    const PHASE_KEYS: &'static [PhaseKey] = &[
        PhaseKey::new("dis_ratio"),
        PhaseKey::new("dis_degree").whole(),
        PhaseKey::new("dis_strategy"),
        PhaseKey::new("dis_payment"),
        PhaseKey::new("dis_stock_level"),
        PhaseKey::new("dis_stock_level_degree").whole(),
    ];
    type Step = Option<DistributionAsked>;
    type Settled = Settled;

    fn read(entries: &mut Entries, _: &About<'_>) -> Self {
        let refresh = entries.read("refresh", time).unwrap_or(DEFAULT_REFRESH);
        Self { map: entries.read("nodes", NodeMap::read), refresh: (!refresh.is_zero()).then_some(refresh) }
    }

    fn read_step(entries: &mut Entries) -> Option<DistributionAsked> {
        let ratio = entries.read("dis_ratio", percent);
        let payment = entries.read("dis_payment", percent);
        let stock_level = entries.read("dis_stock_level", percent);
        let nodes = |text: &str| crate::values::whole(text, 2, MAX_NODES);
        let degree = entries.read("dis_degree", nodes);
        let stock_level_degree = entries.read("dis_stock_level_degree", nodes);
        if stock_level_degree.is_some() && entries.text("dis_stock_level").is_none() {
            entries.wrong(
                "dis_stock_level_degree",
                "needs dis_stock_level: the share of Stock-Levels over several nodes, in percent",
            );
        }
        let strategy = entries.read("dis_strategy", |text| {
            let unknown = || Problem::from("is not known: use paper, expected or placed");
            Strategy::from_name(text).ok_or_else(unknown)
        });
        let shares = ["dis_ratio", "dis_payment", "dis_stock_level"];
        if shares.iter().all(|share| entries.text(share).is_none()) {
            for key in ["dis_degree", "dis_strategy"] {
                if entries.text(key).is_some() {
                    entries.wrong(
                        key,
                        "needs --dis-ratio, dis_payment or dis_stock_level: the share of New-Orders, Payments or \
                         Stock-Levels over several nodes, in percent",
                    );
                }
            }
        }
        let controlled = ratio.is_some() || payment.is_some() || stock_level.is_some();
        controlled.then(|| DistributionAsked {
            ratio_percent: ratio,
            degree: degree.unwrap_or(2),
            strategy: strategy.unwrap_or_default(),
            payment_percent: payment,
            stock_level_percent: stock_level,
            stock_level_degree,
        })
    }

    /// Rejects steps that are impossible on the user's placement.
    fn check_steps(&self, entries: &mut Entries, about: &About<'_>, steps: &[PlanStep]) {
        let (Some(map), Some(warehouses)) = (self.map, about.warehouses) else { return };
        let (first, last) = about.active.unwrap_or((1, warehouses));
        match map.placement(warehouses) {
            Err(problem) => entries.wrong("nodes", &problem.to_string()),
            Ok(placement) if last <= warehouses => {
                if let Err(problem) = distributions(steps, &placement, WarehouseId(first), last - first + 1) {
                    let key = key_of(&problem, entries, steps);
                    entries.wrong(key, &problem.to_string());
                }
            }
            Ok(_) => {}
        }
    }

    fn check_target(
        &self,
        schedule: &Schedule,
        spec: &TargetSpec,
        target: &dyn Target,
    ) -> Result<(), PlanError> {
        let mut asked = schedule.steps.iter().filter_map(|step| step.controls.distribution);
        if asked.any(|asked| asked.stock_level_percent.is_some()) {
            target.admit(&Demand::FarStockLevels)?;
        }
        if !schedule.distributes() || self.map.is_some() {
            return Ok(());
        }
        let description = target.describe()?;
        let of_one_node = match target.state()? {
            DatabaseState::AnyScale => false,
            // Loaded tables may be on several nodes even if the URL does not say so.
            DatabaseState::Empty => description.embedded || spec.loads_one_node(),
            _ => description.embedded,
        };
        if of_one_node { Err(unknown_placement(&description.url)) } else { Ok(()) }
    }

    fn settle(&self, schedule: &Schedule, ground: &Ground) -> Result<Settled, PlanError> {
        let Some(placement) = ground.placement() else {
            let distributions = vec![None; schedule.steps.len()];
            return Ok(Settled { place: ground.place.clone(), distributions });
        };
        let (first, warehouses) = ground.active;
        let distributions = distributions(&schedule.steps, placement, WarehouseId(first), warehouses)
            .map_err(|problem| PlanError::usage(format!("--dis-degree: {problem}")))?;
        Ok(Settled { place: ground.place.clone(), distributions })
    }

    fn shape(&self, settled: &Settled, run: &mut RunPlan) {
        run.placement.clone_from(&settled.place.placement);
        run.refresh = self.refresh.filter(|_| settled.reported().is_some());
    }

    fn shape_step(settled: &Settled, number: usize, _: &Option<DistributionAsked>, step: &mut Step) {
        step.distribution = settled.distributions.get(number).cloned().flatten();
    }

    fn write_plan(&self, ran: &Ran<'_>, info: &mut PlanInfo) {
        let curve = |key: &str| ran.schedule.whole_curve(key);
        let info = &mut info.distribution;
        info.dis_ratio = curve("dis_ratio").map(Setting::Curve);
        info.dis_degree = curve("dis_degree").map(Setting::Curve);
        info.dis_strategy = curve("dis_strategy");
        info.dis_payment = curve("dis_payment").map(|text| Some(Setting::Curve(text)));
        info.dis_stock_level = curve("dis_stock_level").map(|text| Some(Setting::Curve(text)));
        info.dis_stock_level_degree = curve("dis_stock_level_degree").map(Setting::Curve);
        if let Some(distribution) = ran.settled.distribution.steady() {
            let DistributionAsked {
                ratio_percent,
                degree,
                strategy,
                payment_percent,
                stock_level_percent,
                stock_level_degree,
            } = distribution.asked();
            info.dis_ratio = ratio_percent.map(Setting::Value);
            info.dis_degree = Some(Setting::Value(degree));
            info.dis_strategy = Some(strategy.name().into());
            info.dis_payment = Some(payment_percent.map(Setting::Value));
            info.dis_stock_level = Some(stock_level_percent.map(Setting::Value));
            info.dis_stock_level_degree = stock_level_degree.map(Setting::Value);
        }
    }

    fn write(&self, ran: &Ran<'_>, controls: &mut Controls) {
        let (measured, settled) = (ran.measurement, &ran.settled.distribution);
        let Some(placement) = ran.placement() else { return };
        let touched = &measured.facts.all_phases().touched;
        let node = |(number, name): (u32, &String)| Node {
            node: name.clone(),
            warehouses: placement.warehouses_of(number).count() as u64,
        };
        let seconds = |of: &dyn Fn(&NodesTouched) -> Option<f64>| -> Vec<Option<f64>> {
            measured.series.iter().map(|second| of(&second.touched)).collect()
        };
        let mut written = report::distribution::Distribution {
            actual: actual(touched),
            placement: settled.place.source.clone(),
            nodes: (0..).zip(&placement.nodes).map(node).collect(),
            moves: measured
                .moves
                .iter()
                .map(|moved| Move { at_s: moved.at_s, warehouses: moved.warehouses.into() })
                .collect(),
            per_second: PerSecond {
                ratio_percent: seconds(&|touched| touched.new_orders.ratio_percent()),
                degree: seconds(&|touched| mean_degree(&touched.new_orders)),
            },
            ..Default::default()
        };
        if let Some(distribution) = settled.steady() {
            let asked = distribution.asked();
            written.asked = Some(as_asked(asked));
            written.keys = Some(distribution.mean_keys());
            if asked.strategy == Strategy::Paper && asked.ratio_percent.is_some() {
                let short_by = |degree: f64| f64::from(asked.degree) - degree;
                written.degree_short_by = Some(written.actual.degree.map(short_by));
                written.theorem_4_1_short_by = Some(distribution.theorem_4_1());
            }
        }
        controls.distribution = Some(written);
    }

    fn write_phase(&self, ran: &Ran<'_>, phase: &PhaseOf<'_>, controls: &mut PhaseControls) {
        let settled = &ran.settled.distribution;
        controls.distribution = settled.place.placement.is_some().then(|| PhaseDistribution {
            asked: settled.asked_in(phase.steps.clone()),
            actual: actual(&phase.facts.touched),
        });
    }
}

/// Returns the distribution of each step on a placement; none for steps without one.
fn distributions(
    steps: &[PlanStep],
    placement: &Placement,
    first: WarehouseId,
    warehouses: u32,
) -> Result<Vec<Option<Arc<Distribution>>>, DistributionError> {
    let mut all: Vec<Option<Arc<Distribution>>> = Vec::with_capacity(steps.len());
    for step in steps {
        let known = all.last().and_then(Option::as_ref);
        let distribution = match step.controls.distribution {
            None => None,
            Some(asked) => Some(match known.filter(|known| known.asked() == asked) {
                Some(known) => Arc::clone(known),
                None => Arc::new(Distribution::new(asked, placement, first, warehouses)?),
            }),
        };
        all.push(distribution);
    }
    Ok(all)
}

/// The source of a placement that the database reports.
const THE_DATABASE: &str = "the database";

/// The nodes of the warehouses.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The placement, if it is known.
    pub placement: Option<Arc<Placement>>,
    /// Source of the placement.
    source: String,
    /// Error of the database that could not report its placement.
    unread: Option<String>,
}

impl Place {
    /// Returns the placement if the database reports it, and not the user.
    #[must_use]
    pub fn reported(&self) -> Option<&Placement> {
        self.placement.as_deref().filter(|_| self.source == THE_DATABASE)
    }

    /// Returns the error of a database that could not report its placement.
    pub(crate) fn unread(&self) -> Option<&str> {
        self.unread.as_deref()
    }

    /// Returns that error if the user gives no placement either.
    pub(crate) fn missing(&self) -> Option<&str> {
        self.unread.as_deref().filter(|_| self.placement.is_none())
    }

    /// Returns the warning about a placement that could not be read.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let why = self.unread.as_ref()?;
        let instead = match &self.placement {
            Some(_) => "those of --nodes were used, without function tests",
            None => "the result has no nodes, and no sizes of them",
        };
        Some(format!("The nodes of the warehouses could not be read, so {instead}: {why}"))
    }
}

impl Nodes {
    /// Returns the placement that the database reports, or the user's. A database that can't report it leaves a
    /// [`Place::warning`].
    ///
    /// # Errors
    /// Both exist, or the plan needs one and neither exists; the user ended the wait for the database.
    pub fn place(
        &self,
        schedule: &Schedule,
        target: &dyn Target,
        url: &str,
        loaded: u32,
    ) -> Result<Place, PlanError> {
        let (reported, unread) = match target.capabilities().placement(loaded) {
            Ok(reported) => (reported, None),
            Err(error) if error.kind != TargetErrorKind::Database => return Err(error.into()),
            Err(error) if self.map.is_none() && schedule.distributes() => {
                let message = format!("{}: --dis-ratio needs the nodes: {PLACE_THEM}", error.message);
                return Err(TargetError::database(message).into());
            }
            Err(error) => (None, Some(error.message)),
        };
        let (placement, source) = match (reported, self.map) {
            (Some(_), Some(_)) => {
                return Err(PlanError::usage(format!(
                    "--nodes: {url} reports the nodes of its warehouses itself: leave --nodes out"
                )));
            }
            (Some(placement), None) => (placement, THE_DATABASE.to_string()),
            (None, Some(nodes)) => {
                let placement = nodes
                    .placement(loaded)
                    .map_err(|problem| PlanError::usage(format!("--nodes: {problem}")))?;
                (placement, nodes.words())
            }
            (None, None) if schedule.distributes() => return Err(unknown_placement(url)),
            (None, None) => return Ok(Place { unread, ..Place::default() }),
        };
        Ok(Place { placement: Some(Arc::new(placement)), source, unread })
    }
}

/// Distribution control on a database.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The nodes of the warehouses.
    pub place: Place,
    /// The distribution of each step.
    distributions: Vec<Option<Arc<Distribution>>>,
}

/// Advice for a database that does not report its placement.
const PLACE_THEM: &str = "place them with --nodes N (N ranges of warehouses) or --nodes modulo:N";

fn unknown_placement(url: &str) -> PlanError {
    PlanError::usage(format!("--dis-ratio: {url} does not report the nodes of its warehouses: {PLACE_THEM}"))
}

/// Returns the key that a problem of the steps is about.
fn key_of(problem: &DistributionError, entries: &Entries, steps: &[PlanStep]) -> &'static str {
    let of_stock_levels = |asked: DistributionAsked| {
        matches!(problem, DistributionError::Nodes { degree, .. }
            if asked.stock_level_degree == Some(*degree) && asked.degree != *degree)
    };
    if steps.iter().filter_map(|step| step.controls.distribution).any(of_stock_levels) {
        "dis_stock_level_degree"
    } else if entries.text("dis_degree").is_some() {
        "dis_degree"
    } else {
        "dis_ratio"
    }
}

fn as_asked(asked: DistributionAsked) -> Asked {
    Asked {
        ratio_percent: asked.ratio_percent,
        degree: asked.degree,
        strategy: asked.strategy.name().into(),
        payment_percent: asked.payment_percent,
        stock_level_percent: asked.stock_level_percent,
        stock_level_degree: asked.stock_level_degree,
    }
}

fn mean_degree(of: &ByNodes) -> Option<f64> {
    of.degree().map(|(mean, _)| mean)
}

/// Returns the measured distribution.
fn actual(touched: &NodesTouched) -> Actual {
    let (orders, levels) = (&touched.new_orders, &touched.stock_levels);
    let (updates, balances) = (&touched.update_stocks, &touched.balances);
    let payments = touched.local_payments + touched.distributed_payments;
    Actual {
        ratio_percent: orders.ratio_percent(),
        degree: mean_degree(orders),
        degree_stddev: orders.degree().map(|(_, deviation)| deviation),
        percent_by_nodes: orders.percent_by_nodes(),
        orders: orders.count(),
        payment_percent: (payments > 0)
            .then(|| 100.0 * touched.distributed_payments as f64 / payments as f64),
        stock_level_percent: levels.ratio_percent(),
        stock_level_degree: mean_degree(levels),
        update_stock_percent: updates.ratio_percent(),
        update_stock_degree: (updates.count() > 0).then(|| mean_degree(updates)),
        balance_percent: balances.ratio_percent(),
        balance_degree: (balances.count() > 0).then(|| mean_degree(balances)),
    }
}

impl Settled {
    /// Returns true if distribution control applies to a step, on nodes that the database reports.
    pub fn over_real_nodes(&self) -> bool {
        self.reported().is_some() && self.distributions.iter().any(Option::is_some)
    }

    /// Returns the distribution of all steps; none if they differ or have none.
    fn steady(&self) -> Option<&Arc<Distribution>> {
        let first = self.distributions.first()?.as_ref()?;
        let same = |other: &Option<Arc<Distribution>>| {
            other.as_ref().is_some_and(|other| other.asked() == first.asked())
        };
        self.distributions.iter().all(same).then_some(first)
    }

    /// Returns the placement if the database reports it, and not the user.
    pub fn reported(&self) -> Option<&Placement> {
        self.place.reported()
    }

    /// Returns the configured distribution of these steps; none if they differ or have none.
    fn asked_in(&self, steps: Range<usize>) -> Option<Asked> {
        let of_phase = self.distributions.get(steps)?;
        let first = of_phase.first()?.as_ref()?.asked();
        let same = of_phase.iter().all(|of| of.as_ref().is_some_and(|of| of.asked() == first));
        same.then(|| as_asked(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::tests::{DIRECT, entries};

    #[test]
    fn a_share_alone_asks_for_two_nodes() {
        let mut plan = entries(&[("dis_ratio", "12.5"), ("dis_payment", "20")]);
        let asked = Nodes::read_step(&mut plan);
        let expected = DistributionAsked {
            ratio_percent: Some(12.5),
            degree: 2,
            strategy: Strategy::default(),
            payment_percent: Some(20.0),
            stock_level_percent: None,
            stock_level_degree: None,
        };
        assert_eq!(asked, Some(expected));
        assert_eq!(plan.errors, [""; 0]);
    }

    #[test]
    fn keys_of_distribution_need_a_share_of_transactions() {
        let mut plan = entries(&[("dis_degree", "3"), ("dis_strategy", "paper")]);
        assert_eq!(Nodes::read_step(&mut plan), None);
        assert_eq!(plan.errors.len(), 2, "{:?}", plan.errors);
        assert!(plan.errors.iter().all(|error| error.contains("needs --dis-ratio")), "{:?}", plan.errors);
        let mut alone = entries(&[("dis_stock_level", "60"), ("dis_degree", "3")]);
        let asked = Nodes::read_step(&mut alone).expect("a distribution");
        assert_eq!((asked.ratio_percent, asked.stock_level_percent, asked.degree), (None, Some(60.0), 3));
        assert_eq!(alone.errors, [""; 0]);
    }

    #[test]
    fn more_nodes_than_warehouses_are_refused_without_the_database() {
        let mut plan = entries(&[("nodes", "modulo:9"), ("refresh", "0")]);
        let nodes = Nodes::read(&mut plan, &DIRECT);
        assert_eq!((nodes.map, nodes.refresh), (Some(NodeMap { nodes: 9, modulo: true }), None));
        nodes.check_steps(&mut plan, &DIRECT, &[]);
        assert_eq!(plan.errors, [""; 0], "the number of warehouses is not known");
        nodes.check_steps(&mut plan, &About { warehouses: Some(8), ..DIRECT }, &[]);
        assert!(plan.errors[0].contains("9 nodes need at least as many warehouses"), "{:?}", plan.errors);
    }
}
