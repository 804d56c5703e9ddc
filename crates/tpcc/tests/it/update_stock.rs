//! dUpdateStock and its groups of warehouses (the Dike paper, section 4.3.2).

use lydite_tpcc::coaccess::CoAccess;
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::transactions::UpdateStock;
use lydite_tpcc::{Dike, DikeKind, InputPlan, Mix, Placement, Transaction, WarehouseId};
use std::collections::{BTreeMap, BTreeSet};

fn plan(warehouses: u32, rounds: u32, coaccess: Option<CoAccess>) -> InputPlan {
    let mix = Mix::shares([(DikeKind::UpdateStock, 100.0)]).unwrap();
    InputPlan {
        first_warehouse: WarehouseId(4),
        update_stock_rounds: rounds,
        coaccess,
        ..InputPlan::new(7, warehouses, CLoad::from_seed(1), mix)
    }
}

fn each_of(plan: &InputPlan, count: u32, mut each: impl FnMut(&UpdateStock)) {
    let mut terminals: Vec<_> = (0..plan.terminals()).map(|index| plan.terminal(index)).collect();
    for number in 0..count {
        let terminal = (number % plan.terminals()) as usize;
        match terminals[terminal].next(plan) {
            Transaction::Dike(Dike::UpdateStock(update)) => each(&update),
            other => panic!("{other:?}"),
        }
    }
}

fn nodes(count: u32) -> Vec<String> {
    (1..=count).map(|number| format!("node {number}")).collect()
}

#[test]
fn rounds_use_the_home_and_evenly_other_warehouses_in_the_order_of_locks() {
    for rounds in [1, 2, 5] {
        let mut others: BTreeMap<u32, u32> = BTreeMap::new();
        each_of(&plan(5, rounds, None), 40_000, |update| {
            assert_eq!(update.rounds.len(), rounds as usize);
            assert!(update.rounds.is_sorted_by(|a, b| a.supply_w_id < b.supply_w_id), "{update:?}");
            assert!(update.rounds.iter().any(|round| round.supply_w_id == update.w_id));
            for round in &update.rounds {
                assert!((4..=8).contains(&round.supply_w_id.0) && (1..=10).contains(&round.quantity));
                assert!((1..=100_000).contains(&round.i_id.0));
                if round.supply_w_id != update.w_id {
                    *others.entry((round.supply_w_id.0 + 5 - update.w_id.0) % 5).or_default() += 1;
                }
            }
        });
        assert_eq!(others.len(), if rounds == 1 { 0 } else { 4 });
        let expected = 10_000.0 * f64::from(rounds - 1);
        assert!(others.values().all(|&count| (f64::from(count) / expected - 1.0).abs() < 0.05), "{others:?}");
    }
}

#[test]
fn groups_split_the_warehouses_and_are_used_at_the_configured_rate() {
    for percent in [0.0, 37.5, 80.0, 100.0] {
        let placement = Placement::ranges(nodes(4), 15);
        let coaccess = CoAccess::new(percent, 3, WarehouseId(4), 12, Some(&placement)).unwrap();
        assert_eq!(coaccess.groups(), 4);
        let all: BTreeSet<Vec<WarehouseId>> =
            (4..16).map(|id| coaccess.group(WarehouseId(id)).to_vec()).collect();
        let mut members: Vec<u32> = all.iter().flatten().map(|id| id.0).collect();
        members.sort_unstable();
        assert!(members.into_iter().eq(4..16), "{all:?}");
        for group in &all {
            let nodes: BTreeSet<u32> = group.iter().map(|&id| placement.node(id)).collect();
            assert_eq!(nodes.len(), 3, "members of {group:?} are on different nodes");
        }
        let (mut whole, mut of_home) = (0, 0);
        each_of(&plan(12, 3, Some(coaccess.clone())), 100_000, |update| {
            let group = coaccess.group(update.w_id);
            assert!(group.contains(&update.w_id));
            let inside = update.rounds.iter().filter(|round| group.contains(&round.supply_w_id)).count();
            // All of the group, or none of it but the home.
            assert!(inside == 3 || inside == 1, "{update:?}");
            assert_eq!(update.is_of_a_group(&coaccess), inside == 3);
            whole += u32::from(inside == 3);
            of_home += update.rounds.iter().filter(|round| round.supply_w_id == update.w_id).count();
        });
        assert!((f64::from(whole) / 1_000.0 - percent).abs() < 0.7, "{whole} for {percent} %");
        assert_eq!(of_home, 100_000);
    }
}

#[test]
fn without_nodes_a_group_has_warehouses_with_equal_numbers_modulo_the_number_of_groups() {
    let coaccess = CoAccess::new(100.0, 2, WarehouseId(1), 6, None).unwrap();
    for id in 1..=6 {
        let of: Vec<u32> = coaccess.group(WarehouseId(id)).iter().map(|id| id.0 % 3).collect();
        assert_eq!(of, [id % 3, id % 3]);
    }
    // One large node and two small ones: no group meets a node more often than it must.
    let placement = Placement { nodes: nodes(3), node_of: vec![0, 0, 0, 1, 1, 2] };
    let coaccess = CoAccess::new(100.0, 2, WarehouseId(1), 6, Some(&placement)).unwrap();
    for id in 1..=6 {
        let group = coaccess.group(WarehouseId(id));
        assert_ne!(placement.node(group[0]), placement.node(group[1]), "{group:?}");
    }
}

#[test]
fn impossible_groups_are_rejected() {
    let new = |percent, rounds, warehouses| CoAccess::new(percent, rounds, WarehouseId(1), warehouses, None);
    let refused = |percent, rounds, warehouses| new(percent, rounds, warehouses).unwrap_err().to_string();
    assert!(refused(80.0, 3, 10).contains("can't be split into groups of 3: use a multiple of 3"));
    assert!(refused(80.0, 3, 3).contains("no warehouse is outside of it: use at least 6"));
    assert!(new(100.0, 3, 3).is_ok());
    assert!(refused(80.0, 1, 10).contains("a group has 2 to 15 warehouses"));
}
