//! The placement of the warehouses and the sizes of the nodes, from the catalogs of databases over several nodes. Each
//! product has a file. A reading takes at most three queries, however many warehouses there are.
//!
//! The queries and their recorded answers in `families/tests/it/recorded.rs` follow the documentation that each file names.

mod citus;
mod cockroach;
mod oceanbase;
mod shapes;
mod tidb;
mod yugabyte;

pub(crate) use citus::CITUS;
pub(crate) use cockroach::COCKROACH;
pub(crate) use oceanbase::OCEANBASE;
pub(crate) use shapes::{SHAPES_OF_COCKROACH, SHAPES_OF_MYSQL, SHAPES_OF_POSTGRES, shapes};
pub(crate) use tidb::TIDB;
pub(crate) use yugabyte::YUGABYTE;

use lydite_database::sql::meta::{Admin, in_words};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{NodeSize, TargetError};
use lydite_tpcc::Placement;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Reader of a product's catalogs.
#[derive(Debug)]
pub(crate) struct Catalog {
    /// Reads the node of each warehouse, from warehouse 1 on.
    nodes: fn(&mut dyn Admin, u32) -> Result<Placement, Trouble>,
    /// Reads the bytes on each node; `None` if the server does not report them.
    sizes: fn(&mut dyn Admin) -> Sizes,
}

/// Bytes on each node; `None` if the server does not report them.
type Sizes = Result<Option<Vec<NodeSize>>, Trouble>;

/// Reason why a catalog has no answer.
enum Trouble {
    Sql(SqlError),
    /// The answer is not understood, or has no node for a warehouse.
    Answer(String),
}

impl From<SqlError> for Trouble {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl Catalog {
    /// Returns the nodes of the warehouses from 1 to `warehouses`. `failed` makes the error of a statement.
    pub(crate) fn placement(
        &self,
        wire: &mut dyn Admin,
        warehouses: u32,
        (place, failed): (&str, impl Fn(SqlError) -> TargetError),
    ) -> Result<Placement, TargetError> {
        (self.nodes)(wire, warehouses).map_err(|trouble| trouble.on_target(place, failed))
    }

    /// Returns the bytes on each node; `None` if the server does not report them.
    pub(crate) fn sizes(
        &self,
        wire: &mut dyn Admin,
        (place, failed): (&str, impl Fn(SqlError) -> TargetError),
    ) -> Result<Option<Vec<NodeSize>>, TargetError> {
        (self.sizes)(wire).map_err(|trouble| trouble.on_target(place, failed))
    }
}

impl Trouble {
    fn on_target(self, place: &str, failed: impl Fn(SqlError) -> TargetError) -> TargetError {
        match self {
            Self::Sql(error) => failed(error),
            Self::Answer(problem) => TargetError::database(format!("{place}: {problem}")),
        }
    }
}

/// Nodes, numbered as they appear.
#[derive(Default)]
struct Numbered {
    nodes: Vec<String>,
    numbers: HashMap<String, u32>,
    node_of: Vec<u32>,
}

impl Numbered {
    /// Puts the next warehouse on a node.
    fn push(&mut self, node: &str) {
        let number = self.numbers.get(node).copied().unwrap_or_else(|| {
            let number = self.nodes.len() as u32;
            self.numbers.insert(node.to_owned(), number);
            self.nodes.push(node.to_owned());
            number
        });
        self.node_of.push(number);
    }

    fn placement(self) -> Placement {
        Placement { nodes: self.nodes, node_of: self.node_of }
    }
}

/// Parts of the table WAREHOUSE: ranges of positions, and the node of each.
#[derive(Default)]
struct Spans(Vec<(Range<u64>, String)>);

impl Spans {
    /// Sorts the parts. Rejects parts that overlap.
    fn sorted(mut self) -> Result<Self, Trouble> {
        self.0.sort_by_key(|(span, _)| span.start);
        match self.0.windows(2).find(|pair| pair[0].0.end > pair[1].0.start) {
            None => Ok(self),
            Some(pair) => Err(Trouble::Answer(format!(
                "two parts of the table warehouse overlap, on {} and on {}: they may have moved, so try again",
                pair[0].1, pair[1].1
            ))),
        }
    }

    /// Returns the node of a position. The parts are sorted.
    fn node(&self, position: u64) -> Option<&str> {
        let after = self.0.partition_point(|(span, _)| span.start <= position);
        let (span, node) = self.0.get(after.checked_sub(1)?)?;
        span.contains(&position).then_some(node)
    }
}

/// Returns the error for a warehouse without a node.
fn nowhere(warehouse: u32) -> Trouble {
    Trouble::Answer(format!(
        "the server names no node for warehouse {warehouse}: it may be moving, so try again, or load again with --fresh"
    ))
}

/// Places warehouses on partitions by hash: the partition's number is the warehouse's modulo the number of partitions.
/// `node` returns the node of a warehouse in its partition.
fn by_partition<P>(
    partitions: &BTreeMap<u64, P>,
    warehouses: u32,
    node: impl Fn(&P, u32) -> Option<&str>,
) -> Result<Placement, Trouble> {
    let mut numbered = Numbered::default();
    for warehouse in 1..=warehouses {
        let of = u64::from(warehouse) % partitions.len().max(1) as u64;
        let node = partitions.get(&of).and_then(|partition| node(partition, warehouse));
        numbered.push(node.ok_or_else(|| nowhere(warehouse))?);
    }
    Ok(numbered.placement())
}

/// Returns the number of a partition by hash from its name, `p0` and so on; 0 for a table without partitions.
fn partition(name: &str) -> Result<u64, Trouble> {
    if name.is_empty() {
        return Ok(0);
    }
    name.strip_prefix('p').and_then(|number| number.parse().ok()).ok_or_else(|| {
        Trouble::Answer(format!(
            "the table warehouse has the partition {name}, which Lydite did not make: load again with --fresh"
        ))
    })
}

/// Reads rows of a node's name and its bytes.
fn sizes(wire: &mut dyn Admin, query: &str) -> Sizes {
    let mut sizes = Vec::new();
    let mut strange = None;
    wire.query_each(query, &mut |row| match row {
        [Some(node), Some(bytes)] if bytes.parse::<u64>().is_ok() => {
            let bytes = bytes.parse().unwrap_or_default();
            sizes.push(NodeSize { node: (*node).to_owned(), bytes });
        }
        _ => strange = Some(format!("the server reports the size of a node as {}", in_words(row))),
    })?;
    match strange {
        None => Ok(Some(sizes)),
        Some(problem) => Err(Trouble::Answer(problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_overlap_and_gaps_are_not_guessed_over() {
        let spans = |parts: &[(Range<u64>, &str)]| {
            Spans(parts.iter().map(|(span, node)| (span.clone(), (*node).to_owned())).collect()).sorted()
        };
        let Ok(apart) = spans(&[(5..9, "b"), (0..3, "a")]) else { panic!("no overlap") };
        assert_eq!([2, 3, 5, 9].map(|at| apart.node(at)), [Some("a"), None, Some("b"), None]);
        assert!(matches!(spans(&[(0..3, "a"), (2..9, "b")]), Err(Trouble::Answer(_))));
    }

    #[test]
    fn partitions_take_warehouses_by_remainder() {
        let nodes = BTreeMap::from([(0, "a"), (1, "b"), (2, "a")]);
        let Ok(found) = by_partition(&nodes, 4, |node, _| Some(node)) else { panic!("a placement") };
        assert_eq!((found.nodes, found.node_of), (vec!["b".to_owned(), "a".to_owned()], vec![0, 1, 1, 0]));
        let lost = BTreeMap::from([(0, "a"), (7, "b")]);
        assert!(matches!(by_partition(&lost, 1, |node, _| Some(node)), Err(Trouble::Answer(_))));
    }
}
