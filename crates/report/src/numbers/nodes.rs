//! The numbers that each node has. Figures show them as boxes; requirements and gates name one of the five numbers over
//! the nodes.

use crate::metrics::{FiveNumbers, OfNodes};
use crate::model::RunResult;

/// A number that each node has.
#[derive(Debug)]
pub(crate) struct OfNode {
    /// Name of all five numbers over the nodes.
    pub(crate) name: &'static str,
    /// Title.
    pub(crate) title: &'static str,
    /// Unit.
    pub(crate) unit: &'static str,
    /// Returns the value of each node; none if the result does not have it.
    of: fn(&RunResult) -> Option<Vec<f64>>,
}

impl PartialEq for OfNode {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OfNode {}

/// The numbers.
pub(crate) static OF_NODE: [OfNode; 4] = [
    OfNode {
        name: "nodes.ops",
        title: "Operations of a node",
        unit: "per second",
        of: |r| Some(OfNodes::of(r)?.ops),
    },
    OfNode {
        name: "nodes.bytes",
        title: "Data of a node",
        unit: "bytes",
        of: |r| Some(OfNodes::of(r)?.bytes.iter().map(|(_, last)| *last as f64).collect()),
    },
    OfNode {
        name: "nodes.warehouses",
        title: "Warehouses of a node",
        unit: "warehouses",
        of: |r| {
            let nodes = &r.controls.distribution.as_ref()?.nodes;
            Some(nodes.iter().map(|node| node.warehouses as f64).collect())
        },
    },
    OfNode {
        name: "nodes.districts",
        title: "Districts of a node",
        unit: "districts",
        of: |r| {
            let nodes = &r.controls.imbalance.as_ref()?.data.as_ref()?.nodes;
            Some(nodes.iter().map(|node| node.districts as f64).collect())
        },
    },
];

/// Metrics of box plots: numbers over the nodes of a run.
pub const BOXED: [&str; OF_NODE.len()] = {
    let mut names = [""; OF_NODE.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = OF_NODE[index].name;
        index += 1;
    }
    names
};

impl OfNode {
    /// Returns the number with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        OF_NODE.iter().find(|number| number.name == name)
    }

    /// Returns its value on each node; none if the result does not have it.
    pub(crate) fn of_each(&self, result: &RunResult) -> Option<Vec<f64>> {
        (self.of)(result).filter(|all| !all.is_empty())
    }

    /// Returns the five numbers over the nodes.
    pub(crate) fn spread(&self, result: &RunResult) -> Option<FiveNumbers> {
        FiveNumbers::of(&self.of_each(result)?)
    }
}
