//! Which warehouses the function tests use.

use lydite_target::Placement;
use lydite_tpcc::WarehouseId;

/// Members at least, if there are so many warehouses.
const MEMBERS: usize = 10;

/// The warehouses that the tests use: all, or the first ten; one on each node at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The members. Neighbours are on different nodes as far as that can be.
    pub warehouses: Vec<WarehouseId>,
    /// Over how many nodes they are, where the database tells.
    pub nodes: Option<u32>,
}

impl Group {
    /// Of a database with so many warehouses.
    pub(super) fn new(warehouses: u32, placement: Option<&Placement>) -> Self {
        let all = (1..=warehouses).map(WarehouseId);
        let Some(placement) = placement else {
            return Self { warehouses: all.take(MEMBERS).collect(), nodes: None };
        };
        let count = placement.nodes.len() as u32;
        let mut of_nodes: Vec<Vec<WarehouseId>> =
            (0..count).map(|node| placement.warehouses_of(node).collect()).collect();
        of_nodes.retain(|of_node| !of_node.is_empty());
        let nodes = of_nodes.len();
        // The first of each node, then the second of each, and so on.
        let most = of_nodes.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn = (0..most).flat_map(|turn| of_nodes.iter().filter_map(move |of_node| of_node.get(turn)));
        let members = in_turn.take(MEMBERS.max(nodes)).copied().collect();
        Self { warehouses: members, nodes: Some(nodes as u32) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(group: &Group) -> Vec<u32> {
        group.warehouses.iter().map(|id| id.0).collect()
    }

    #[test]
    fn without_a_placement_it_is_all_or_the_first_ten() {
        assert_eq!(numbers(&Group::new(3, None)), [1, 2, 3]);
        assert_eq!(numbers(&Group::new(50, None)), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn every_node_has_a_member_and_neighbours_are_on_different_nodes() {
        let names = |count: u32| (0..count).map(|node| node.to_string()).collect();
        let three = Placement::ranges(names(3), 6);
        let group = Group::new(6, Some(&three));
        assert_eq!((numbers(&group), group.nodes), (vec![1, 3, 5, 2, 4, 6], Some(3)));
        let many = Placement::ranges(names(12), 24);
        assert_eq!(Group::new(24, Some(&many)).warehouses.len(), 12);
    }
}
