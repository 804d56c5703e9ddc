//! Inputs of dUpdateBalance and dSelectBalance (the Dike paper, section 5).

use lydite_tpcc::input::{BalanceOrder, BalancePlan};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::{Dike, DikeKind, InputPlan, Mix, NodesTouched, Placement, Transaction, WarehouseId};
use std::collections::BTreeMap;

const WAREHOUSES: u32 = 5;
const FIRST: u32 = 4;

fn plan(warehouses: u32, order: BalanceOrder) -> InputPlan {
    let kinds = [DikeKind::UpdateBalance, DikeKind::SelectBalance];
    let mix = Mix::shares(kinds.map(|kind| (kind, 50.0))).unwrap();
    InputPlan {
        first_warehouse: WarehouseId(FIRST),
        balances: BalancePlan { warehouses, order },
        ..InputPlan::new(7, WAREHOUSES, CLoad::from_seed(1), mix)
    }
}

#[test]
fn the_home_comes_first_and_others_follow_as_they_are_drawn_all_alike() {
    for together in [1, 2, 4, 5] {
        let plan = plan(together, BalanceOrder::Drawn);
        let mut terminals: Vec<_> = (0..plan.terminals()).map(|index| plan.terminal(index)).collect();
        let mut others: BTreeMap<u32, u32> = BTreeMap::new();
        let (mut updates, mut rising) = (0, 0);
        for number in 0..40_000 {
            let terminal = number % terminals.len();
            let balances = match terminals[terminal].next(&plan) {
                Transaction::Dike(Dike::UpdateBalance(of)) => {
                    updates += 1;
                    of
                }
                Transaction::Dike(Dike::SelectBalance(of)) => of,
                other => panic!("{other:?}"),
            };
            let of = &balances.warehouses;
            assert_eq!((of.len(), of[0]), (together as usize, balances.w_id));
            assert_eq!(balances.w_id, terminals[terminal].warehouse());
            rising += u32::from(of[1..].is_sorted());
            let mut different = of.clone();
            different.sort_unstable();
            assert!(different.is_sorted_by(|a, b| a < b), "{balances:?}");
            for other in &of[1..] {
                assert!((FIRST..FIRST + WAREHOUSES).contains(&other.0));
                *others.entry((other.0 + WAREHOUSES - balances.w_id.0) % WAREHOUSES).or_default() += 1;
            }
        }
        assert!((19_000..21_000).contains(&updates), "{updates}");
        assert_eq!(others.len(), if together == 1 { 0 } else { 4 });
        let expected = 10_000.0 * f64::from(together - 1);
        assert!(others.values().all(|&count| (f64::from(count) / expected - 1.0).abs() < 0.05), "{others:?}");
        // One order in n! rises.
        let orders: u32 = (1..together).product();
        assert!((f64::from(rising * orders) / 40_000.0 - 1.0).abs() < 0.2, "{rising} of {together}");
    }
}

#[test]
fn in_ascending_order_too_the_nodes_of_all_its_warehouses_are_touched() {
    let plan = plan(3, BalanceOrder::Ascending);
    let placement = Placement::ranges((1..=8).map(|node| node.to_string()).collect(), 8);
    let mut terminal = plan.terminal(0);
    let mut touched = NodesTouched::default();
    for _ in 0..1_000 {
        let transaction = terminal.next(&plan);
        let Transaction::Dike(Dike::UpdateBalance(of) | Dike::SelectBalance(of)) = &transaction else {
            panic!("{transaction:?}");
        };
        assert!(of.warehouses.is_sorted() && of.warehouses.contains(&of.w_id), "{of:?}");
        let nodes = placement.touched(&transaction);
        assert_eq!(nodes.len(), 3, "{transaction:?}");
        touched.record(transaction.kind(), &nodes);
    }
    assert_eq!(touched.balances.count(), 1_000);
    assert_eq!(touched.balances.degree(), Some((3.0, 0.0)));
}
