//! Choice of the balances that the function tests use.

use lydite_database::{Balance, Placement};
use lydite_tpcc::{DistrictId, WarehouseId};

/// Least number of warehouses, if the database has so many.
const WAREHOUSES: usize = 10;
/// District whose D_YTD is a balance. Each warehouse has it.
const FIRST: DistrictId = DistrictId(1);

/// The balances that the tests read and change: W_YTD of all warehouses, or of the first ten, at least one on each
/// node. If WAREHOUSE and DISTRICT are in two engines, also D_YTD of the first district of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Warehouses. Neighbours are on different nodes as far as possible.
    pub warehouses: Vec<WarehouseId>,
    /// Number of nodes of the warehouses, if the database reports its placement.
    pub nodes: Option<u32>,
    /// Engines of WAREHOUSE and DISTRICT, if they differ.
    pub engines: Option<[String; 2]>,
}

impl Group {
    /// Chooses the group in a database with `warehouses`.
    pub(super) fn new(warehouses: u32, placement: Option<&Placement>, engines: Option<[String; 2]>) -> Self {
        let all = (1..=warehouses).map(WarehouseId);
        let Some(placement) = placement else {
            return Self { warehouses: all.take(WAREHOUSES).collect(), nodes: None, engines };
        };
        let count = placement.nodes.len() as u32;
        let mut of_nodes: Vec<Vec<WarehouseId>> =
            (0..count).map(|node| placement.warehouses_of(node).collect()).collect();
        of_nodes.retain(|of_node| !of_node.is_empty());
        let nodes = of_nodes.len();
        // The first warehouse of each node, then the second of each, and so on.
        let most = of_nodes.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn = (0..most).flat_map(|turn| of_nodes.iter().filter_map(move |of_node| of_node.get(turn)));
        let members = in_turn.take(WAREHOUSES.max(nodes)).copied().collect();
        Self { warehouses: members, nodes: Some(nodes as u32), engines }
    }

    /// Returns the noun for a member.
    pub(super) fn word(&self) -> &'static str {
        if self.engines.is_some() { "balance" } else { "warehouse" }
    }

    /// Returns the members. Neighbours are on different nodes, or in different engines, as far as possible.
    #[must_use]
    pub fn members(&self) -> Vec<Balance> {
        let of = |&id: &WarehouseId| {
            let district = self.engines.is_some().then_some(Balance::District(id, FIRST));
            std::iter::once(Balance::Warehouse(id)).chain(district)
        };
        self.warehouses.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(group: &Group) -> Vec<u32> {
        group.warehouses.iter().map(|id| id.0).collect()
    }

    #[test]
    fn without_a_placement_the_group_is_all_warehouses_or_the_first_ten() {
        assert_eq!(numbers(&Group::new(3, None, None)), [1, 2, 3]);
        assert_eq!(numbers(&Group::new(50, None, None)), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn every_node_has_a_member_and_neighbours_are_on_different_nodes() {
        let names = |count: u32| (0..count).map(|node| node.to_string()).collect();
        let three = Placement::ranges(names(3), 6);
        let group = Group::new(6, Some(&three), None);
        assert_eq!((numbers(&group), group.nodes), (vec![1, 3, 5, 2, 4, 6], Some(3)));
        let many = Placement::ranges(names(12), 24);
        assert_eq!(Group::new(24, Some(&many), None).warehouses.len(), 12);
    }

    #[test]
    fn two_engines_take_turns() {
        let engines = Some(["InnoDB", "ROCKSDB"].map(String::from));
        let [one, two] = [1, 2].map(WarehouseId);
        let wanted = [
            Balance::Warehouse(one),
            Balance::District(one, FIRST),
            Balance::Warehouse(two),
            Balance::District(two, FIRST),
        ];
        assert_eq!(Group::new(2, None, engines).members(), wanted);
        assert_eq!(Group::new(2, None, None).members(), [wanted[0], wanted[2]]);
    }
}
