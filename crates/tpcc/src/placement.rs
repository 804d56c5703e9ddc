//! Placement of warehouses on the nodes of a database.

use crate::ids::WarehouseId;
use crate::order_line::MAX_ORDER_LINES;
use arrayvec::ArrayVec;

/// Nodes that a transaction touches, each once.
pub type Nodes = ArrayVec<u32, { MAX_ORDER_LINES + 1 }>;

/// Placement: the node that has the rows of each warehouse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Nodes, by the names that the database gives them.
    pub nodes: Vec<String>,
    /// Index of the node of each warehouse, from warehouse 1 on.
    pub node_of: Vec<u32>,
}

impl Placement {
    /// Places contiguous ranges of warehouses on the nodes. The ranges have equal size, but for the remainder. There
    /// must be at least as many warehouses as nodes.
    #[must_use]
    pub fn ranges(nodes: Vec<String>, warehouses: u32) -> Self {
        let (count, all) = (nodes.len() as u64, u64::from(warehouses));
        let first = |node: u64| node * all / count;
        let node_of =
            (0..count).flat_map(|node| (first(node)..first(node + 1)).map(move |_| node as u32)).collect();
        Self { nodes, node_of }
    }

    /// Places each warehouse by its number modulo the number of nodes, like partitions by hash. There must be at least
    /// one node.
    #[must_use]
    pub fn modulo(nodes: Vec<String>, warehouses: u32) -> Self {
        let count = nodes.len() as u32;
        Self { nodes, node_of: (1..=warehouses).map(|number| number % count).collect() }
    }

    /// Returns the same placement with the node numbers of another one. Nodes that the other one lacks come after its
    /// own.
    #[must_use]
    pub fn with_nodes_of(&self, other: &Self) -> Self {
        let mut nodes = other.nodes.clone();
        let number_of = |name: &String| {
            nodes.iter().position(|node| node == name).unwrap_or_else(|| {
                nodes.push(name.clone());
                nodes.len() - 1
            }) as u32
        };
        let numbers: Vec<u32> = self.nodes.iter().map(number_of).collect();
        let node_of = self.node_of.iter().map(|&node| numbers[node as usize]).collect();
        Self { nodes, node_of }
    }

    /// Returns the node of a warehouse.
    ///
    /// # Panics
    /// Panics if there is no such warehouse.
    #[must_use]
    pub fn node(&self, warehouse: WarehouseId) -> u32 {
        self.node_of[warehouse.0 as usize - 1]
    }

    /// Returns the warehouses of a node.
    pub fn warehouses_of(&self, node: u32) -> impl Iterator<Item = WarehouseId> {
        let numbers = (1..).zip(&self.node_of);
        numbers.filter(move |&(_, &of)| of == node).map(|(number, _)| WarehouseId(number))
    }
}
