//! Which node of a database has the rows of which warehouse.

use crate::ids::WarehouseId;

/// Which node has the rows of which warehouse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The nodes, by the names that the database gives them.
    pub nodes: Vec<String>,
    /// For each warehouse, from number 1 on, the index of its node.
    pub node_of: Vec<u32>,
}

impl Placement {
    /// Contiguous ranges of warehouses of equal size, but for the remainder. There are at least as many warehouses as nodes.
    #[must_use]
    pub fn ranges(nodes: Vec<String>, warehouses: u32) -> Self {
        let (count, all) = (nodes.len() as u64, u64::from(warehouses));
        let first = |node: u64| node * all / count;
        let node_of =
            (0..count).flat_map(|node| (first(node)..first(node + 1)).map(move |_| node as u32)).collect();
        Self { nodes, node_of }
    }

    /// By the warehouse's number modulo the number of nodes, as partitions by hash have it. There is at least one node.
    #[must_use]
    pub fn modulo(nodes: Vec<String>, warehouses: u32) -> Self {
        let count = nodes.len() as u32;
        Self { nodes, node_of: (1..=warehouses).map(|number| number % count).collect() }
    }

    /// The node of a warehouse.
    ///
    /// # Panics
    /// If there is no such warehouse.
    #[must_use]
    pub fn node(&self, warehouse: WarehouseId) -> u32 {
        self.node_of[warehouse.0 as usize - 1]
    }

    /// The warehouses of a node.
    pub fn warehouses_of(&self, node: u32) -> impl Iterator<Item = WarehouseId> {
        let numbers = (1..).zip(&self.node_of);
        numbers.filter(move |&(_, &of)| of == node).map(|(number, _)| WarehouseId(number))
    }
}
