//! Distribution control: the inputs touch the configured numbers of nodes.

use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::{
    Distribution, DistributionAsked, DistributionError, InputPlan, Mix, NodesTouched, Placement, Standard,
    StandardKind, Strategy, Transaction, WarehouseId,
};
use std::sync::Arc;

const NODES: u32 = 9;
const WAREHOUSES: u32 = 180;
const TRANSACTIONS: u32 = 100_000;

fn names(nodes: u32) -> Vec<String> {
    (1..=nodes).map(|node| node.to_string()).collect()
}

fn uniform() -> Placement {
    Placement::ranges(names(NODES), WAREHOUSES)
}

/// Gives node k a share of the warehouses proportional to k^-0.99.
fn zipf() -> Placement {
    let shares: Vec<f64> = (1..=NODES).map(|rank| f64::from(rank).powf(-0.99)).collect();
    let total: f64 = shares.iter().sum();
    let mut node_of: Vec<u32> = (0..)
        .zip(&shares)
        .flat_map(|(node, share)| (0..(share / total * f64::from(WAREHOUSES)) as u32).map(move |_| node))
        .collect();
    node_of.resize(WAREHOUSES as usize, 0);
    Placement { nodes: names(NODES), node_of }
}

fn asked(ratio_percent: f64, degree: u32, strategy: Strategy) -> DistributionAsked {
    DistributionAsked {
        ratio_percent: Some(ratio_percent),
        degree,
        strategy,
        payment_percent: None,
        stock_level_percent: None,
        stock_level_degree: None,
    }
}

fn over(placement: &Placement, asked: DistributionAsked) -> InputPlan {
    let distribution = Distribution::new(asked, placement, WarehouseId(1), WAREHOUSES)
        .unwrap_or_else(|problem| panic!("{problem}"));
    InputPlan {
        distribution: Some(Arc::new(distribution)),
        ..InputPlan::new(42, WAREHOUSES, CLoad(100), Mix::Deck)
    }
}

/// Counts the nodes that orders of all terminals in turn touch.
fn touched(plan: &InputPlan, placement: &Placement, kind: StandardKind) -> NodesTouched {
    let mut terminals: Vec<_> = (0..plan.terminals()).map(|index| plan.terminal(index)).collect();
    let mut touched = NodesTouched::default();
    let mut left = TRANSACTIONS;
    while left > 0 {
        for terminal in &mut terminals {
            let transaction = terminal.input(plan, kind);
            touched.record(kind, &placement.touched(&transaction));
            left = left.saturating_sub(1);
        }
    }
    touched
}

#[test]
fn ratio_and_degree_are_the_configured_ones() {
    for (place, placement) in [("uniform", uniform()), ("zipf", zipf())] {
        for strategy in [Strategy::Expected, Strategy::Placed] {
            for ratio in [1.0, 10.0, 20.0, 40.0, 80.0, 100.0] {
                for degree in [2, 3, 5] {
                    let at = format!("{place} {strategy} {ratio} % over {degree}");
                    let plan = over(&placement, asked(ratio, degree, strategy));
                    let touched = touched(&plan, &placement, StandardKind::NewOrder);
                    let actual =
                        100.0 * touched.new_orders.distributed() as f64 / touched.new_orders.count() as f64;
                    assert!((actual - ratio).abs() <= 1.0, "{at}: {actual} %");
                    let (mean, deviation) = touched.new_orders.degree().unwrap();
                    // The mean of a thousand orders has an error of its own.
                    let chance = 4.0 * deviation / (touched.new_orders.distributed() as f64).sqrt();
                    let wanted = f64::from(degree);
                    assert!((mean - wanted).abs() <= (0.01 * wanted).max(chance), "{at}: degree {mean}");
                    if strategy == Strategy::Placed {
                        assert!((mean, deviation) == (wanted, 0.0), "{at}: {mean} +- {deviation}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_papers_strategy_falls_short_and_the_measured_degree_shows_it() {
    let placement = uniform();
    for degree in [2, 3, 5] {
        let plan = over(&placement, asked(100.0, degree, Strategy::Paper));
        let touched = touched(&plan, &placement, StandardKind::NewOrder);
        let orders = touched.new_orders.count() as f64;
        let mean =
            (0..).zip(touched.new_orders.0).map(|(nodes, count)| nodes as f64 * count as f64).sum::<f64>()
                / orders;
        // Equation 2 draws with replacement and rounds up: more than the configured degree, but less than one node per
        // key.
        assert!(mean > f64::from(degree) - 0.2 && mean < f64::from(degree) + 1.0, "{degree}: {mean}");
        assert!(touched.new_orders.0[1] > 0 || degree > 2, "some orders stay on their node");
    }
}

#[test]
fn theorem_4_1_is_seen_in_orders_with_as_many_keys_as_the_degree() {
    // Keys are drawn with replacement, so many warehouses are needed for the theorem's formula to hold.
    let mut before = f64::INFINITY;
    for nodes in [3, 5, 9, 30] {
        let warehouses = nodes * 200;
        let placement = Placement::ranges(names(nodes), warehouses);
        let ask = asked(100.0, 2, Strategy::Expected);
        let distribution = Distribution::new(ask, &placement, WarehouseId(1), warehouses).unwrap();
        let predicted = distribution.theorem_4_1();
        assert!(predicted < before, "a smaller cluster deviates more");
        before = predicted;
        // Two keys, one of them the home's, share a node in one case of N.
        assert!((predicted - 1.0 / f64::from(nodes)).abs() < 1e-12, "{nodes}: {predicted}");
        let mut stream = lydite_tpcc::random::Stream::new(1, lydite_tpcc::random::Purpose::Terminal, 0);
        let same = (0..TRANSACTIONS)
            .filter(|_| {
                let mut key = || placement.node(WarehouseId(stream.uniform(1, warehouses)));
                key() == key()
            })
            .count();
        let seen = same as f64 / f64::from(TRANSACTIONS);
        assert!((seen - predicted).abs() < 0.01, "{nodes} nodes: {seen} against {predicted}");
    }
}

#[test]
fn payments_go_to_other_nodes_at_the_configured_rate() {
    let placement = uniform();
    let ask = DistributionAsked { payment_percent: Some(40.0), ..asked(20.0, 2, Strategy::Placed) };
    let touched = touched(&over(&placement, ask), &placement, StandardKind::Payment);
    let actual = 100.0 * touched.distributed_payments as f64 / f64::from(TRANSACTIONS);
    assert!((actual - 40.0).abs() < 1.0, "{actual} %");
}

#[test]
fn stock_levels_use_several_nodes_at_the_configured_rate() {
    let placement = uniform();
    for strategy in [Strategy::Placed, Strategy::Expected] {
        let ask = DistributionAsked { stock_level_percent: Some(30.0), ..asked(20.0, 3, strategy) };
        let levels = touched(&over(&placement, ask), &placement, StandardKind::StockLevel).stock_levels;
        assert!(levels.ratio_percent().is_some_and(|percent| (percent - 30.0).abs() < 1.0), "{levels:?}");
        assert!(levels.degree().is_some_and(|(mean, _)| (mean - 3.0).abs() < 0.05), "{levels:?}");
    }
    let plan = over(&placement, asked(100.0, 3, Strategy::Placed));
    let levels = touched(&plan, &placement, StandardKind::StockLevel).stock_levels;
    assert_eq!(levels.distributed(), 0, "the standard's, unless configured");
    let both = DistributionAsked { stock_level_percent: Some(100.0), ..asked(100.0, 2, Strategy::Placed) };
    let ask = DistributionAsked { stock_level_degree: Some(5), ..both };
    let plan = over(&placement, ask);
    let levels = touched(&plan, &placement, StandardKind::StockLevel).stock_levels;
    assert_eq!(levels.degree().map(|(mean, _)| mean), Some(5.0), "a degree of their own");
    let orders = touched(&plan, &placement, StandardKind::NewOrder).new_orders;
    assert_eq!(orders.degree().map(|(mean, _)| mean), Some(2.0), "New-Orders keep theirs");
    let most = placement.nodes.len();
    let beyond = DistributionAsked { stock_level_degree: Some(most as u32 + 1), ..both };
    let error =
        Distribution::new(beyond, &placement, WarehouseId(1), WAREHOUSES).expect_err("more than the nodes");
    assert_eq!(error, DistributionError::Nodes { degree: most as u32 + 1, nodes: most });
}

#[test]
fn distributed_orders_keep_all_other_rules() {
    let placement = uniform();
    let plan = over(&placement, asked(100.0, 9, Strategy::Placed));
    let mut terminal = plan.terminal(13);
    let mut rolled_back = 0;
    for _ in 0..5_000 {
        let Transaction::Standard(Standard::NewOrder(order)) = terminal.input(&plan, StandardKind::NewOrder)
        else {
            panic!("another transaction")
        };
        assert!((9..=15).contains(&order.lines.len()), "a line for each node and one for the home");
        let mut remote: Vec<WarehouseId> = order.lines.iter().map(|line| line.supply_w_id).collect();
        assert_eq!(remote.pop(), Some(order.w_id), "the last line may be the unused item's");
        remote.retain(|&id| id != order.w_id);
        assert_eq!(remote.len(), 8);
        let unused: Vec<usize> =
            (0..).zip(&order.lines).filter(|(_, line)| line.i_id.0 > 100_000).map(|(at, _)| at).collect();
        assert!(unused.is_empty() || unused == [order.lines.len() - 1], "{unused:?}");
        rolled_back += unused.len();
    }
    assert!((20..100).contains(&rolled_back), "{rolled_back} of 5000 roll back");
}

#[test]
fn inputs_are_the_same_for_the_same_seed() {
    let placement = uniform();
    for strategy in Strategy::ALL {
        let plan = over(&placement, asked(50.0, 3, strategy));
        let draw = || {
            let mut terminal = plan.terminal(5);
            (0..200).map(|_| terminal.next(&plan)).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
    }
}

#[test]
fn an_impossible_distribution_is_rejected_with_the_reason() {
    let refused = |placement: &Placement, first, warehouses, ask| {
        Distribution::new(ask, placement, WarehouseId(first), warehouses).unwrap_err().to_string()
    };
    let placement = uniform();
    let ask = |degree, strategy| asked(20.0, degree, strategy);
    for strategy in Strategy::ALL {
        let more = refused(&placement, 1, WAREHOUSES, ask(10, strategy));
        assert!(more.contains("degree 10 is more than the 9 nodes with active warehouses"), "{more}");
    }
    // All ten active warehouses are on the first node.
    let one = refused(&placement, 1, 10, ask(2, Strategy::Placed));
    assert!(one.contains("more than the 1 nodes"), "{one}");
    let asymptote = refused(&placement, 1, WAREHOUSES, ask(9, Strategy::Paper));
    assert!(asymptote.contains("Equation 2 has no solution"), "{asymptote}");
    let lines = refused(&placement, 1, WAREHOUSES, ask(8, Strategy::Paper));
    assert!(lines.contains("15 lines"), "{lines}");
    let lines = refused(&placement, 1, WAREHOUSES, ask(9, Strategy::Expected));
    assert!(lines.contains("a mean degree of 9 takes more than 15"), "{lines}");
    let many = Placement::ranges(names(20), 40);
    let lines = refused(&many, 1, 40, ask(16, Strategy::Placed));
    assert!(lines.contains("16 different warehouses"), "{lines}");
    let few = Placement::ranges(names(3), 3);
    let keys = Distribution::new(ask(2, Strategy::Paper), &few, WarehouseId(1), 3);
    assert!(keys.is_ok(), "{keys:?}");
}

#[test]
fn with_a_warehouse_on_each_node_the_expected_degree_is_exact() {
    // Without replacement each further key is a further node. Equation 2 would want more keys.
    let placement = Placement::ranges(names(5), 5);
    let distribution =
        Distribution::new(asked(100.0, 5, Strategy::Expected), &placement, WarehouseId(1), 5).unwrap();
    assert!((distribution.mean_keys() - 5.0).abs() < 1e-9, "{}", distribution.mean_keys());
}

#[test]
fn two_warehouses_suffice_for_two_nodes_and_orders_get_exactly_one_other() {
    let placement = Placement::ranges(names(2), 8);
    let distribution =
        Distribution::new(asked(100.0, 2, Strategy::Expected), &placement, WarehouseId(1), 8).unwrap();
    assert!((distribution.mean_keys() - 2.0).abs() < 1e-9, "{}", distribution.mean_keys());
}
