//! Distribution control, from the plan to the result: where the warehouses are, what is asked for, and what came of it.

use crate::exit::Failure;
use crate::phases::WantedStep;
use crate::plan::Plan;
use crate::raw::Raw;
use lydite_bench::Measurement;
use lydite_database::{DatabaseState, Placement, Target};
use lydite_tpcc::{Distribution, DistributionAsked, NodesTouched, Strategy, WarehouseId};
use serde_json::{Value, json};
use std::sync::Arc;

/// The keys of a plan that it reads.
pub(crate) const KEYS: &[&str] =
    &["nodes", "dis_ratio", "dis_degree", "dis_strategy", "dis_payment", "dis_stock_level"];

/// The most nodes that can be pretended.
const MAX_NODES: u32 = 10_000;

/// What the user says of the nodes of a database that does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeMap {
    nodes: u32,
    /// By the warehouse's number modulo the nodes; else ranges of equal size.
    modulo: bool,
}

impl NodeMap {
    /// Reads `9` or `modulo:9`.
    fn read(text: &str) -> Result<Self, String> {
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
            )),
        }
    }

    fn placement(self, warehouses: u32) -> Result<Placement, String> {
        if self.nodes > warehouses {
            return Err(format!(
                "{} nodes need at least as many warehouses, and there are {warehouses}",
                self.nodes
            ));
        }
        let names = (1..=self.nodes).map(|node| format!("node {node}")).collect();
        let make = if self.modulo { Placement::modulo } else { Placement::ranges };
        Ok(make(names, warehouses))
    }

    fn words(self) -> String {
        format!("--nodes: {} by {}", self.nodes, if self.modulo { "modulo" } else { "ranges" })
    }
}

/// Reads what is asked of the distribution.
pub(crate) fn asked(raw: &mut Raw) -> Option<DistributionAsked> {
    let ratio = raw.read("dis_ratio", percent);
    let payment = raw.read("dis_payment", percent);
    let stock_level = raw.read("dis_stock_level", percent);
    let degree = raw.read("dis_degree", |text| crate::plan::whole(text, 2, MAX_NODES));
    let strategy = raw.read("dis_strategy", |text| {
        Strategy::from_name(text).ok_or_else(|| "is not known: use paper, expected or placed".into())
    });
    if raw.text("dis_ratio").is_none() {
        for key in ["dis_degree", "dis_strategy", "dis_payment", "dis_stock_level"] {
            if raw.text(key).is_some() {
                raw.wrong(key, "needs --dis-ratio: the share of New-Orders over several nodes, in percent");
            }
        }
    }
    ratio.map(|ratio_percent| DistributionAsked {
        ratio_percent,
        degree: degree.unwrap_or(2),
        strategy: strategy.unwrap_or_default(),
        payment_percent: payment,
        stock_level_percent: stock_level,
    })
}

/// Reads where the user says that the warehouses are. What of the steps can be seen to be impossible without the database is
/// told at once.
pub(crate) fn nodes(
    raw: &mut Raw,
    warehouses: Option<u32>,
    active: Option<(u32, u32)>,
    steps: &[WantedStep],
) -> Option<NodeMap> {
    let nodes = raw.read("nodes", NodeMap::read);
    let (Some(map), Some(warehouses)) = (nodes, warehouses) else { return nodes };
    let (first, last) = active.unwrap_or((1, warehouses));
    match map.placement(warehouses) {
        Err(problem) => raw.wrong("nodes", &problem),
        Ok(placement) if last <= warehouses => {
            if let Err(problem) = distributions(steps, &placement, WarehouseId(first), last - first + 1) {
                let key = if raw.text("dis_degree").is_some() { "dis_degree" } else { "dis_ratio" };
                raw.wrong(key, &problem);
            }
        }
        Ok(_) => {}
    }
    nodes
}

/// What the steps ask for, on a placement.
fn distributions(
    steps: &[WantedStep],
    placement: &Placement,
    first: WarehouseId,
    warehouses: u32,
) -> Result<Vec<Option<Arc<Distribution>>>, String> {
    let mut all: Vec<Option<Arc<Distribution>>> = Vec::with_capacity(steps.len());
    for step in steps {
        let known = all.last().and_then(Option::as_ref);
        let distribution = match step.distribution {
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

pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let percent: f64 = crate::plan::number(text, "must be a number of percent")?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err("must be from 0 to 100".into()) }
}

/// The source of a placement that the user did not make up.
const THE_DATABASE: &str = "the database";

/// What a run knows of the nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settled {
    pub(crate) placement: Option<Arc<Placement>>,
    /// Of each step.
    pub(crate) distributions: Vec<Option<Arc<Distribution>>>,
    /// Where the placement comes from.
    source: String,
}

fn does_not_tell(url: &str) -> Failure {
    Failure::usage(format!(
        "--dis-ratio: {url} does not tell on which node a warehouse is: say it by --nodes N (N ranges of warehouses) \
         or --nodes modulo:N"
    ))
}

/// Refuses, before anything is loaded, a distribution over the nodes of a database that has none.
pub(crate) fn can_be_known(plan: &Plan, target: &dyn Target) -> Result<(), Failure> {
    if !plan.distributes() || plan.nodes.is_some() {
        return Ok(());
    }
    let description = target.describe()?;
    let of_one_node = match target.state()? {
        DatabaseState::AnyScale => false,
        // Tables that are there may be over several nodes though the URL does not say so.
        DatabaseState::Empty => description.embedded || plan.target.loads_one_node(),
        _ => description.embedded,
    };
    if of_one_node { Err(does_not_tell(&description.url)) } else { Ok(()) }
}

/// Asks the database where its warehouses are, and holds against it what is wanted.
pub(crate) fn settle(plan: &Plan, target: &dyn Target, url: &str, loaded: u32) -> Result<Settled, Failure> {
    let (placement, source) = match (target.capabilities().placement(loaded)?, plan.nodes) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage(format!(
                "--nodes: {url} tells itself which node has which warehouse: leave it out"
            )));
        }
        (Some(placement), None) => (placement, THE_DATABASE.to_string()),
        (None, Some(nodes)) => {
            let placement =
                nodes.placement(loaded).map_err(|problem| Failure::usage(format!("--nodes: {problem}")))?;
            (placement, nodes.words())
        }
        (None, None) if plan.distributes() => return Err(does_not_tell(url)),
        (None, None) => {
            return Ok(Settled { distributions: vec![None; plan.steps.len()], ..Settled::default() });
        }
    };
    let (first, warehouses) = plan.active(loaded)?;
    let distributions = distributions(&plan.steps, &placement, WarehouseId(first), warehouses)
        .map_err(|problem| Failure::usage(format!("--dis-degree: {problem}")))?;
    Ok(Settled { placement: Some(Arc::new(placement)), distributions, source })
}

fn asked_json(asked: DistributionAsked) -> Value {
    let DistributionAsked { ratio_percent, degree, strategy, payment_percent, stock_level_percent } = asked;
    json!({
        "ratio_percent": ratio_percent,
        "degree": degree,
        "strategy": strategy.name(),
        "payment_percent": payment_percent,
        "stock_level_percent": stock_level_percent,
    })
}

/// What is known of the nodes that transactions touched.
pub(crate) fn actual_json(touched: &NodesTouched) -> Value {
    let ratio = |part: u64, all: u64| (all > 0).then(|| 100.0 * part as f64 / all as f64);
    let (orders, levels) = (&touched.new_orders, &touched.stock_levels);
    let degree = orders.degree();
    let payments = touched.local_payments + touched.distributed_payments;
    let mut json = json!({
        "ratio_percent": orders.ratio_percent(),
        "degree": degree.map(|(mean, _)| mean),
        "degree_stddev": degree.map(|(_, deviation)| deviation),
        "payment_percent": ratio(touched.distributed_payments, payments),
        "orders": orders.count(),
        "stock_level_percent": levels.ratio_percent(),
        "stock_level_degree": levels.degree().map(|(mean, _)| mean),
    });
    for (name, of) in [("update_stock", &touched.update_stocks), ("balance", &touched.balances)] {
        if of.count() > 0 {
            json[format!("{name}_percent")] = json!(of.ratio_percent());
            json[format!("{name}_degree")] = json!(of.degree().map(|(mean, _)| mean));
        }
    }
    json
}

impl Settled {
    /// Whether it was asked that transactions go over several nodes of a database that has them.
    pub(crate) fn over_real_nodes(&self) -> bool {
        self.told_by_database().is_some() && self.distributions.iter().any(Option::is_some)
    }

    /// What all steps ask for; none if they ask for different things, or for nothing.
    fn steady(&self) -> Option<&Arc<Distribution>> {
        let first = self.distributions.first()?.as_ref()?;
        let same = |other: &Option<Arc<Distribution>>| {
            other.as_ref().is_some_and(|other| other.asked() == first.asked())
        };
        self.distributions.iter().all(same).then_some(first)
    }

    /// The placement, if it is the database's own word and not the user's.
    pub(crate) fn told_by_database(&self) -> Option<&Placement> {
        self.placement.as_deref().filter(|_| self.source == THE_DATABASE)
    }

    /// What the plan says of it.
    pub(crate) fn plan_json(&self) -> Value {
        let Some(distribution) = self.steady() else { return json!({}) };
        let DistributionAsked { ratio_percent, degree, strategy, payment_percent, stock_level_percent } =
            distribution.asked();
        json!({
            "dis_ratio": ratio_percent,
            "dis_degree": degree,
            "dis_strategy": strategy.name(),
            "dis_payment": payment_percent,
            "dis_stock_level": stock_level_percent,
        })
    }

    /// What was asked and what came of it, for the result; nothing if it is not known where the warehouses are.
    pub(crate) fn json(&self, measured: &Measurement) -> Value {
        let Some(placement) = measured.placement.as_ref().or(self.placement.as_ref()) else {
            return json!({});
        };
        let touched = &measured.facts.all_phases().touched;
        let warehouses = |(number, name): (u32, &String)| json!({ "node": name, "warehouses": placement.warehouses_of(number).count() });
        let degree = touched.new_orders.degree();
        let seconds = |of: &dyn Fn(&NodesTouched) -> Option<f64>| -> Vec<Option<f64>> {
            measured.series.iter().map(|second| of(&second.touched)).collect()
        };
        let mut json = json!({
            "actual": actual_json(touched),
            "placement": self.source,
            "nodes": (0..).zip(&placement.nodes).map(warehouses).collect::<Vec<_>>(),
            "moves": measured
                .moves
                .iter()
                .map(|moved| json!({ "at_s": moved.at_s, "warehouses": moved.warehouses }))
                .collect::<Vec<_>>(),
            "per_second": {
                "ratio_percent": seconds(&|touched| touched.new_orders.ratio_percent()),
                "degree": seconds(&|touched| touched.new_orders.degree().map(|(mean, _)| mean)),
            },
        });
        if let Some(distribution) = self.steady() {
            let asked = distribution.asked();
            json["asked"] = asked_json(asked);
            json["keys"] = json!(distribution.mean_keys());
            if asked.strategy == Strategy::Paper {
                json["degree_short_by"] = json!(degree.map(|(mean, _)| f64::from(asked.degree) - mean));
                json["theorem_4_1_short_by"] = json!(distribution.theorem_4_1());
            }
        }
        json!({ "distribution": json })
    }

    /// What a phase asked for, of the steps that it has; none if they ask for different things, or for nothing.
    pub(crate) fn asked_in(&self, steps: std::ops::Range<usize>) -> Option<Value> {
        let of_phase = self.distributions.get(steps)?;
        let first = of_phase.first()?.as_ref()?.asked();
        let same = of_phase.iter().all(|of| of.as_ref().is_some_and(|of| of.asked() == first));
        same.then(|| asked_json(first))
    }
}
