//! The inputs of terminals: the rules of clauses 2.4.1 to 2.8.1 and 5.2.4, over a million transactions.

use crate::chi_squared::{excess_deviations, uniform};
use lydite_tpcc::compliance::{WindowVerdict, judge_inputs, judge_mix};
use lydite_tpcc::input::{Contended, HotRow, TERMINALS_PER_WAREHOUSE, UNUSED_ITEM};
use lydite_tpcc::nurand::{CLoad, last_name};
use lydite_tpcc::scale::Size;
use lydite_tpcc::text::LastName;
use lydite_tpcc::transactions::{CustomerSelector, NewOrder, OrderLineInput};
use lydite_tpcc::{
    DistrictId, ITEMS, InputPlan, InputStatistics, ItemId, Mix, Standard, StandardKind, Terminal,
    Transaction, WarehouseId,
};
use proptest::prelude::*;
use std::collections::HashMap;

fn plan(warehouses: u32) -> InputPlan {
    InputPlan::new(2026, warehouses, CLoad::from_seed(1), Mix::Deck)
}

/// Makes `each` transactions of every terminal.
fn run(plan: &InputPlan, each: u32, mut see: impl FnMut(&Terminal, &Transaction)) {
    for index in 0..plan.terminals() {
        let mut terminal = plan.terminal(index);
        for _ in 0..each {
            let transaction = terminal.next(plan);
            see(&terminal, &transaction);
        }
    }
}

#[test]
fn only_active_warehouses_have_terminals_and_are_chosen_as_remote_ones() {
    let plan = InputPlan { first_warehouse: WarehouseId(7), ..plan(3) };
    let mut used: HashMap<WarehouseId, u32> = HashMap::new();
    let mut remote = 0;
    run(&plan, 1_000, |terminal, transaction| {
        let home = terminal.warehouse();
        let others: Vec<WarehouseId> = match transaction {
            Transaction::Standard(Standard::NewOrder(order)) => {
                order.lines.iter().map(|line| line.supply_w_id).collect()
            }
            Transaction::Standard(Standard::Payment(payment)) => vec![payment.c_w_id],
            _ => Vec::new(),
        };
        remote += others.iter().filter(|other| **other != home).count();
        for warehouse in others.into_iter().chain([home]) {
            *used.entry(warehouse).or_default() += 1;
        }
    });
    let mut used: Vec<u32> = used.into_keys().map(|warehouse| warehouse.0).collect();
    used.sort_unstable();
    assert_eq!(used, [7, 8, 9]);
    assert!(remote > 1_000, "{remote}");
}

#[test]
fn over_a_million_transactions_all_windows_of_clause_5_5_1_5_hold() {
    let plan = plan(10);
    let mut statistics = InputStatistics::default();
    run(&plan, 10_005, |_, transaction| statistics.record(transaction));
    for verdict in judge_inputs(&statistics, 10).into_iter().chain(judge_mix(&statistics, &plan.mix)) {
        assert_eq!(verdict.verdict, WindowVerdict::Inside, "{verdict:?}");
    }
    // For each terminal 10 005 transactions are 435 whole decks, so the mix is exact.
    assert_eq!(statistics.transactions[..5], [435_000, 435_000, 43_500, 43_500, 43_500]);
    assert_eq!(statistics.total(), 1_000_500, "and nothing else");
    // By clause 9.2.2.9 about one order in ten is not all local.
    let remote = statistics.remote_orders as f64 / 435_000.0;
    assert!((0.09..=0.10).contains(&remote), "{remote}");
    assert!(excess_deviations(&statistics.orders_by_lines[5..], &uniform(11)) < 4.0);
}

#[test]
fn every_value_is_as_its_clause_says() {
    let plan = plan(3);
    run(&plan, 5_000, |terminal, transaction| {
        assert_eq!(transaction.home(), terminal.warehouse());
        match transaction {
            Transaction::Standard(Standard::NewOrder(order)) => order_is_valid(order, &plan),
            Transaction::Standard(Standard::Payment(payment)) => {
                assert!((100..=500_000).contains(&payment.amount.0));
                assert!((1..=10).contains(&payment.d_id.0) && (1..=10).contains(&payment.c_d_id.0));
                assert!((1..=plan.warehouses).contains(&payment.c_w_id.0));
                assert!(payment.c_w_id != payment.w_id || payment.c_d_id == payment.d_id);
                customer_is_valid(&payment.customer);
            }
            Transaction::Standard(Standard::OrderStatus(status)) => {
                assert!((1..=10).contains(&status.d_id.0));
                customer_is_valid(&status.customer);
            }
            Transaction::Standard(Standard::Delivery(delivery)) => {
                assert!((1..=10).contains(&delivery.carrier_id.0))
            }
            Transaction::Standard(Standard::StockLevel(level)) => {
                assert_eq!(level.d_id, terminal.district());
                assert!((10..=20).contains(&level.threshold));
            }
            _ => panic!("no card of the deck"),
        }
    });
}

fn order_is_valid(order: &NewOrder, plan: &InputPlan) {
    assert!((5..=15).contains(&order.lines.len()));
    assert!((1..=10).contains(&order.d_id.0) && (1..=3_000).contains(&order.c_id.0));
    for (line, left) in order.lines.iter().zip((0..order.lines.len()).rev()) {
        assert!((1..=ITEMS).contains(&line.i_id.0) || (left == 0 && line.i_id == UNUSED_ITEM));
        assert!((1..=plan.warehouses).contains(&line.supply_w_id.0));
        assert!((1..=10).contains(&line.quantity));
    }
}

fn customer_is_valid(customer: &CustomerSelector) {
    match customer {
        CustomerSelector::Id(id) => assert!((1..=3_000).contains(&id.0)),
        CustomerSelector::LastName(name) => assert!(!name.is_empty()),
    }
}

#[test]
fn uniform_values_are_uniform() {
    let plan = plan(7);
    let mut counts: HashMap<&str, Vec<u64>> = HashMap::new();
    let mut count = |what, cells: usize, value: u32| {
        counts.entry(what).or_insert_with(|| vec![0; cells])[value as usize] += 1;
    };
    run(&plan, 4_600, |_, transaction| match transaction {
        Transaction::Standard(Standard::NewOrder(order)) => {
            count("d_id", 10, u32::from(order.d_id.0) - 1);
            for line in &order.lines {
                count("quantity", 10, u32::from(line.quantity) - 1);
                if line.supply_w_id != order.w_id {
                    // Distance from the home: 1 to 6 warehouses further.
                    count("remote supply", 6, (line.supply_w_id.0 + 7 - order.w_id.0) % 7 - 1);
                }
            }
        }
        Transaction::Standard(Standard::Payment(payment)) => {
            count("amount", 1_000, (payment.amount.0 as u32 - 100) * 1_000 / 499_901);
            if payment.c_w_id != payment.w_id {
                count("remote customer", 6, (payment.c_w_id.0 + 7 - payment.w_id.0) % 7 - 1);
                count("remote district", 10, u32::from(payment.c_d_id.0) - 1);
            }
        }
        Transaction::Standard(Standard::OrderStatus(status)) => {
            count("status district", 10, u32::from(status.d_id.0) - 1)
        }
        Transaction::Standard(Standard::Delivery(delivery)) => {
            count("carrier", 10, u32::from(delivery.carrier_id.0) - 1)
        }
        Transaction::Standard(Standard::StockLevel(level)) => {
            count("threshold", 11, u32::from(level.threshold) - 10)
        }
        _ => panic!("no card of the deck"),
    });
    assert_eq!(counts.len(), 9);
    for (what, counts) in counts {
        let excess = excess_deviations(&counts, &uniform(counts.len()));
        assert!(excess < 4.0, "{what}: {excess}");
    }
}

#[test]
fn nurand_values_have_exactly_the_probabilities_of_clause_2_1_6() {
    let plan = plan(5);
    let numbers: HashMap<LastName, usize> = (0..1_000).map(|n| (last_name(n), n as usize)).collect();
    let (mut names, mut customers, mut items) = (vec![0; 1_000], vec![0; 3_000], vec![0; ITEMS as usize]);
    let mut select = |customer: &CustomerSelector| match customer {
        CustomerSelector::LastName(name) => names[numbers[name]] += 1,
        CustomerSelector::Id(id) => customers[id.0 as usize - 1] += 1,
    };
    run(&plan, 11_500, |_, transaction| match transaction {
        Transaction::Standard(Standard::NewOrder(order)) => {
            select(&CustomerSelector::Id(order.c_id));
            for line in order.lines.iter().filter(|line| line.i_id != UNUSED_ITEM) {
                items[line.i_id.0 as usize - 1] += 1;
            }
        }
        Transaction::Standard(Standard::Payment(payment)) => select(&payment.customer),
        Transaction::Standard(Standard::OrderStatus(status)) => select(&status.customer),
        _ => {}
    });
    for (what, counts, probabilities) in [
        ("C_LAST", &names, plan.constants.last_name_probabilities(plan.size)),
        ("C_ID", &customers, plan.constants.customer_probabilities(plan.size)),
        ("OL_I_ID", &items, plan.constants.item_probabilities(plan.size)),
    ] {
        let excess = excess_deviations(counts, &probabilities);
        assert!(excess < 4.0, "{what}: {excess}");
        // Uniform numbers fail this test, so it can fail.
        assert!(excess_deviations(counts, &uniform(counts.len())) > 50.0, "{what}");
    }
}

#[test]
fn each_pass_of_a_terminals_deck_deals_exactly_its_23_cards() {
    let plan = plan(2);
    let mut orders = Vec::new();
    for index in 0..plan.terminals() {
        let mut terminal = plan.terminal(index);
        for _pass in 0..100 {
            let dealt: Vec<_> = (0..23).map(|_| terminal.next_kind(&plan)).collect();
            let counts = StandardKind::ALL.map(|kind| dealt.iter().filter(|&&k| k == kind).count());
            assert_eq!(counts, [10, 10, 1, 1, 1]);
            orders.push(dealt);
        }
    }
    // Each pass and each terminal has its own shuffle.
    orders.sort_unstable();
    orders.dedup();
    assert!(orders.len() > 1_990, "{} different passes of 2 000", orders.len());
    // The one Delivery card may be at every place of the deck: 2 000 passes, 23 places.
    let mut places = [0; 23];
    for index in 0..plan.terminals() {
        let mut terminal = plan.terminal(index);
        for draw in 0..2_300 {
            places[draw % 23] += u64::from(terminal.next_kind(&plan) == StandardKind::Delivery);
        }
    }
    assert!(excess_deviations(&places, &uniform(23)) < 4.0, "{places:?}");
}

#[test]
fn inputs_do_not_depend_on_which_thread_runs_a_terminal_nor_on_the_others() {
    let plan = plan(2);
    let alone: Vec<Vec<Transaction>> = (0..plan.terminals())
        .map(|index| {
            let mut terminal = plan.terminal(index);
            (0..50).map(|_| terminal.next(&plan)).collect()
        })
        .collect();
    // Another thread runs the terminals in turn, in the opposite order.
    let interleaved = std::thread::scope(|scope| {
        let task = scope.spawn(|| {
            let mut terminals: Vec<_> = (0..plan.terminals()).map(|index| plan.terminal(index)).collect();
            let mut inputs = vec![Vec::new(); terminals.len()];
            for _ in 0..50 {
                for (terminal, inputs) in terminals.iter_mut().zip(&mut inputs).rev() {
                    inputs.push(terminal.next(&plan));
                }
            }
            inputs
        });
        task.join().unwrap()
    });
    assert_eq!(alone, interleaved);
    assert_ne!(alone[0], alone[10]);
    assert_ne!(InputPlan { seed: 1, ..plan.clone() }.terminal(0).next(&plan), alone[0][0]);
}

#[test]
fn with_one_warehouse_everything_is_local_and_15_percent_of_payments_still_choose_a_district() {
    let plan = plan(1);
    let mut elsewhere = 0_u32;
    run(&plan, 2_300, |_, transaction| match transaction {
        Transaction::Standard(Standard::NewOrder(order)) => assert!(order.all_local()),
        Transaction::Standard(Standard::Payment(payment)) => {
            assert_eq!(payment.c_w_id, payment.w_id);
            elsewhere += u32::from(payment.c_d_id != payment.d_id);
        }
        _ => {}
    });
    // Of 10 000 payments 15 % choose a district, nine in ten of these another one: 1 350.
    assert!((1_200..1_500).contains(&elsewhere), "{elsewhere}");
}

#[test]
fn a_million_terminals_take_less_than_a_hundred_megabytes() {
    assert!(size_of::<Terminal>() <= 96, "{}", size_of::<Terminal>());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn terminals_number_warehouses_and_districts_in_order(warehouses in 1_u32..100_000, part in 0.0..1.0_f64) {
        let plan = plan(warehouses);
        let index = (f64::from(plan.terminals()) * part) as u32;
        let terminal = plan.terminal(index);
        prop_assert_eq!(terminal.warehouse(), WarehouseId(index / TERMINALS_PER_WAREHOUSE + 1));
        prop_assert_eq!(terminal.district(), DistrictId((index % TERMINALS_PER_WAREHOUSE) as u16 + 1));
    }

    #[test]
    fn same_seed_and_terminal_give_the_same_inputs(seed: u64, index in 0_u32..1_000, weights: bool) {
        let mix = if weights { "45,43,4,4,4" } else { "deck" };
        let plan = InputPlan::new(seed, 100, CLoad::from_seed(seed), mix.parse().unwrap());
        let (mut one, mut other) = (plan.terminal(index), plan.terminal(index));
        for _ in 0..30 {
            prop_assert_eq!(one.next(&plan), other.next(&plan));
        }
    }

    #[test]
    fn merged_statistics_are_those_of_one_recorder(split in 0_usize..500) {
        let plan = plan(4);
        let mut terminal = plan.terminal(7);
        let (mut whole, mut left, mut right) = <(InputStatistics, InputStatistics, InputStatistics)>::default();
        for number in 0..500 {
            let transaction = terminal.next(&plan);
            whole.record(&transaction);
            if number < split { left.record(&transaction) } else { right.record(&transaction) }
        }
        left.merge(&right);
        prop_assert_eq!(whole, left);
    }
}

/// The Dike paper, section 4.2.2: contending orders use the hot district, and no other transaction changes it.
#[test]
fn a_hot_district_is_changed_by_those_alone_who_contend_for_it() {
    let first = WarehouseId(1);
    let hot: Vec<HotRow> = (0..2).map(|row| HotRow::nth(Contended::District, row, first, 3)).collect();
    let places = [(first, DistrictId(10)), (WarehouseId(2), DistrictId(10))];
    assert_eq!(hot, places.map(|(w_id, d_id)| HotRow::District(w_id, d_id)));
    let plan = InputPlan { hot, ..plan(3) };
    for index in 0..plan.terminals() {
        let mut terminal = plan.terminal(index);
        let own = (terminal.warehouse(), terminal.district());
        if places.contains(&own) {
            continue;
        }
        for turn in 0..400 {
            match terminal.next(&plan) {
                Transaction::Standard(Standard::NewOrder(order)) => assert_eq!((order.w_id, order.d_id), own),
                Transaction::Standard(Standard::Payment(payment)) => {
                    assert!(!places.contains(&(payment.w_id, payment.d_id)))
                }
                _ => {}
            }
            let Transaction::Standard(Standard::NewOrder(order)) = terminal.contending(&plan, turn % 2)
            else {
                panic!("an order")
            };
            assert_eq!((order.w_id, order.d_id), places[turn % 2]);
        }
        assert_eq!((terminal.warehouse(), terminal.district()), own);
    }
}

/// The Dike paper, section 4.2.2: orders that contend meet at the hot row and nowhere else.
#[test]
fn orders_of_different_terminals_meet_at_the_hot_row_alone() {
    let first = WarehouseId(1);
    let hot: Vec<HotRow> = (0..30).map(|row| HotRow::nth(Contended::Stock, row, first, 3)).collect();
    for size in [Size::Standard, Size::Small, Size::Tiny] {
        let plan = InputPlan { hot: hot.clone(), size, ..plan(3) };
        let mut users: HashMap<(WarehouseId, ItemId), u32> = HashMap::new();
        let mut use_rows = |terminal: u32, w_id: WarehouseId, lines: &[OrderLineInput]| {
            for line in lines.iter().filter(|line| line.i_id != UNUSED_ITEM) {
                assert!((1..=size.items()).contains(&line.i_id.0), "{line:?}");
                assert!(!hot.contains(&HotRow::Stock(line.supply_w_id, line.i_id)), "{line:?} is hot");
                // Clause 2.4.1.5: another warehouse supplies 1 % of the lines.
                if line.supply_w_id == w_id {
                    assert_eq!(*users.entry((w_id, line.i_id)).or_insert(terminal), terminal, "{line:?}");
                }
            }
        };
        for index in 0..plan.terminals() {
            let mut terminal = plan.terminal(index);
            let home = terminal.warehouse();
            for turn in 0..200 {
                let Transaction::Standard(Standard::NewOrder(order)) =
                    terminal.input(&plan, StandardKind::NewOrder)
                else {
                    panic!("an order")
                };
                use_rows(index, home, &order.lines);
                let Transaction::Standard(Standard::NewOrder(order)) =
                    terminal.contending(&plan, turn % hot.len())
                else {
                    panic!("an order")
                };
                let (row, others) = order.lines.split_first().unwrap();
                assert_eq!(HotRow::Stock(row.supply_w_id, row.i_id), hot[turn % hot.len()]);
                use_rows(index, home, others);
            }
        }
        let used = users.len() as u32;
        assert!(used > 3 * size.items() / 10, "only {used} rows are used");
    }
}
