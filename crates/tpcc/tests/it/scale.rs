//! Skewed districts of warehouses (the Dike paper, section 4.3), and warehouses with fewer rows.

use lydite_tpcc::consistency::Evaluator;
use lydite_tpcc::input::{HotRow, UNUSED_ITEM};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::transactions::{CustomerSelector, OrderLineInput, TransactionKind};
use lydite_tpcc::{
    DataSkew, Dike, DistrictId, Districts, InputPlan, ItemId, Mix, Size, Standard, Timestamp, Transaction,
    WarehouseId,
};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

fn skew(text: &str) -> DataSkew {
    text.parse().unwrap()
}

fn spread(text: &str, warehouses: u32) -> Districts {
    Districts::spread(skew(text), warehouses).unwrap()
}

fn counts(districts: &Districts, warehouses: u32) -> Vec<u16> {
    (1..=warehouses).map(|w| districts.of(WarehouseId(w))).collect()
}

#[test]
fn districts_are_spread_by_the_formula_and_rounded_by_the_largest_remainder() {
    // By the formula 32.81, 11.60, 6.32, 4.10, 2.93 and 2.23: the floors leave three districts, for the first, the
    // second and the fifth warehouse.
    let found = counts(&spread("zipf(1.5)", 6), 6);
    assert_eq!(found, [33, 12, 6, 4, 3, 2]);
    let total: f64 = (1..=6).map(|k| f64::from(k).powf(-1.5)).sum();
    for (k, found) in (1..).zip(found) {
        let share = 60.0 * f64::from(k).powf(-1.5) / total;
        assert!((share - f64::from(found)).abs() < 1.0, "warehouse {k}: {share} and {found}");
    }
    assert_eq!(counts(&spread("zipf(1)", 2), 2), [13, 7]);
    // By the formula 37, 1.2, 0.2 and less. Warehouses with less than one get one, and the total is kept.
    assert_eq!(counts(&spread("zipf(5)", 4), 4), [37, 1, 1, 1]);
    assert_eq!(counts(&spread("zipf(900)", 4), 4), [37, 1, 1, 1]);
    assert_eq!(counts(&spread("zipf(2)", 1), 1), [10]);
}

#[test]
fn without_a_slope_each_warehouse_has_the_ten_districts_of_the_standard() {
    assert_eq!(spread("zipf(0)", 7), Districts::uniform());
    assert_eq!(spread("zipf(0)", 7).skew(), None);
    assert_eq!(counts(&Districts::uniform(), 3), [10, 10, 10]);
    assert_eq!(Districts::uniform().ranges(), []);
}

#[test]
fn an_unknown_distribution_of_data_is_rejected() {
    assert_eq!(skew("zipf( 1.50 )").to_string(), "zipf(1.5)");
    for (text, words) in [
        ("hotspot(0.2,0.8)", "data is spread by zipf(s) alone"),
        ("exponential(3)", "data is spread by zipf(s) alone"),
        ("zipf(-1)", "a number from 0"),
        ("zipf(inf)", "a number from 0"),
        ("1.5", "use zipf(s)"),
    ] {
        let problem = text.parse::<DataSkew>().unwrap_err().to_string();
        assert!(problem.contains(words), "{text}: {problem}");
    }
    let problem = Districts::spread(skew("zipf(5)"), 4_000).unwrap_err().to_string();
    assert!(problem.contains("at most 32767 are possible"), "{problem}");
}

proptest! {
    /// Checks the exact total, at least one district each, the order of ranks, and the formula's share but for
    /// rounding.
    #[test]
    fn the_total_is_kept_and_shares_are_those_of_the_formula(s in 0.001_f64..4.0, warehouses in 1_u32..3_000) {
        let districts = spread(&format!("zipf({s})"), warehouses);
        let found = counts(&districts, warehouses);
        let sum: u64 = found.iter().map(|&count| u64::from(count)).sum();
        prop_assert_eq!(sum, u64::from(warehouses) * 10);
        prop_assert!(found.iter().all(|&count| count >= 1));
        prop_assert!(found.is_sorted_by(|a, b| a >= b));
        prop_assert_eq!(districts.skew().is_none(), found.iter().all(|&count| count == 10));
        let weight = |k: u32| f64::from(k).powf(-s);
        let total: f64 = (1..=warehouses).map(weight).sum();
        let share = |k: u32| f64::from(warehouses * 10) * weight(k) / total;
        if share(warehouses) >= 1.0 {
            for (k, &count) in (1..).zip(&found) {
                prop_assert!((share(k) - f64::from(count)).abs() < 1.0, "warehouse {}: {} and {}", k, share(k), count);
            }
        } else {
            // The other warehouses pay for those that were raised to one: none has more than the formula's share.
            for (k, &count) in (1..).zip(&found) {
                prop_assert!(f64::from(count) < share(k).max(0.0) + 1.0, "warehouse {}: {} and {}", k, share(k), count);
            }
        }
        if districts.skew().is_none() {
            return Ok(());
        }
        prop_assert_eq!(districts.of(WarehouseId(warehouses + 1)), 0);
        let mut first = 1;
        for (last, each) in districts.ranges() {
            prop_assert!((first..=last.0).all(|w| districts.of(WarehouseId(w)) == each));
            first = last.0 + 1;
        }
        prop_assert_eq!(first, warehouses + 1);
    }
}

#[test]
fn all_conditions_hold_on_skewed_rows_and_a_district_too_many_or_too_few_breaks_them() {
    let districts = spread("zipf(1.5)", 3);
    let population = Population { districts: districts.clone(), ..Population::new(3, 5, Timestamp(1)) };
    let load = |check: &mut Evaluator, leave_out: Option<(u32, u16)>| {
        for w in population.warehouse_ids() {
            let of = districts.of(w);
            for table in Table::OF_WAREHOUSE.into_iter().filter(|&table| table != Table::Stock) {
                if table != Table::District {
                    let Ok(rows) = population.write_table(table, w, check);
                    assert_eq!(population.table_rows(table, w), rows);
                }
            }
            assert_eq!(population.table_rows(Table::Customer, w), u64::from(of) * 3_000);
            population
                .districts(w)
                .filter(|row| leave_out != Some((row.w_id.0, row.id.0)))
                .for_each(|row| check.add(&row));
        }
    };
    let broken = |check: Evaluator| -> Vec<u8> {
        check.finish(3).into_iter().filter(|f| !f.ok).map(|f| f.condition.number).collect()
    };
    let mut check = Evaluator::of(districts.clone(), Size::Standard);
    load(&mut check, None);
    assert_eq!(broken(check), []);
    let mut check = Evaluator::of(districts.clone(), Size::Standard);
    load(&mut check, Some((3, districts.of(WarehouseId(3)))));
    assert_eq!(broken(check), [1, 2, 9]);
    let mut check = Evaluator::new();
    load(&mut check, None);
    assert_eq!(broken(check), [1, 2, 9, 11], "20 and 7 and 3 instead of ten each");
}

#[test]
fn smaller_databases_have_a_share_of_the_rows_and_all_conditions_hold_on_them() {
    let standard = Population::new(2, 5, Timestamp(1));
    for (size, share) in [(Size::Small, 10), (Size::Tiny, 100)] {
        let population = Population { size, ..standard.clone() };
        let mut check = Evaluator::of(Districts::uniform(), size);
        for w in population.warehouse_ids() {
            for table in Table::ALL {
                let Ok(rows) = population.write_table(table, w, &mut check);
                assert_eq!(population.table_rows(table, w), rows);
                match table {
                    Table::Warehouse | Table::District => assert_eq!(rows, standard.table_rows(table, w)),
                    // Each order has 5 to 15 lines, drawn in the same order.
                    Table::OrderLine => assert!((270_000..330_000).contains(&(share * rows)), "{rows}"),
                    _ => assert_eq!(share * rows, standard.table_rows(table, w), "{table:?}"),
                }
            }
        }
        assert!(check.finish(2).iter().all(|finding| finding.ok));
        let mut check = Evaluator::of(Districts::uniform(), Size::Standard);
        for w in population.warehouse_ids() {
            Table::ALL.into_iter().for_each(|table| {
                let Ok(_) = population.write_table(table, w, &mut check);
            });
        }
        let broken = check.finish(2).into_iter().filter(|finding| !finding.ok);
        let broken: Vec<u8> = broken.map(|finding| finding.condition.number).collect();
        assert_eq!(broken, [11], "{size:?}: fewer are delivered");
    }
}

/// Clauses 2.4.1.3, 2.4.1.5, 2.5.1.2 and 2.6.1.2: every row that an input names exists, and every row may be named.
#[test]
fn terminals_of_smaller_databases_ask_for_their_rows_and_no_others() {
    for (size, customers, names) in [(Size::Small, 300, 100), (Size::Tiny, 30, 10)] {
        assert_all_rows_are_asked_for(size, customers, names);
    }
}

fn assert_all_rows_are_asked_for(size: Size, count_of_customers: u32, count_of_names: usize) {
    let meta = DatabaseMeta { size, ..DatabaseMeta::uniform(1, 5, "test") };
    let population = Population::from_meta(&meta, Timestamp(1));
    let of_first = population.customers(WarehouseId(1)).filter(|row| row.d_id == DistrictId(1));
    let names: Vec<String> = of_first.map(|row| row.last.to_string()).collect();
    let known: BTreeSet<&String> = names.iter().collect();
    assert_eq!((names.len(), known.len()), (count_of_customers as usize, count_of_names));
    let plan = InputPlan::on(&meta, 3, Mix::Deck);
    let (mut customers, mut items, mut asked) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut terminal = plan.terminal(0);
    for _ in 0..50_000 {
        let selector = match terminal.next(&plan) {
            Transaction::Standard(Standard::NewOrder(order)) => {
                customers.insert(order.c_id.0);
                items.extend(order.lines.iter().map(|line| line.i_id.0));
                continue;
            }
            Transaction::Standard(Standard::Payment(payment)) => payment.customer,
            Transaction::Standard(Standard::OrderStatus(status)) => status.customer,
            _ => continue,
        };
        match selector {
            CustomerSelector::Id(id) => _ = customers.insert(id.0),
            CustomerSelector::LastName(name) => _ = asked.insert(name.to_string()),
        }
    }
    assert!(asked.iter().eq(known), "each name is asked for, and no other");
    assert!(customers.into_iter().eq(1..=count_of_customers), "each customer");
    assert_eq!(items.pop_last(), Some(UNUSED_ITEM.0), "rolled back by the standard's unused item");
    assert!(
        items.len() > size.items() as usize / 2 && items.last() <= Some(&size.items()),
        "{} items, {:?}",
        items.len(),
        items.last()
    );
}

#[test]
fn rows_beyond_the_two_hundred_and_fifty_fifth_district_have_streams_of_their_own() {
    let districts = spread("zipf(3)", 40);
    assert!(districts.of(WarehouseId(1)) > 300);
    let population = Population { districts, ..Population::new(40, 5, Timestamp(1)) };
    let names: BTreeSet<String> = population
        .warehouse_ids()
        .flat_map(|w| population.districts(w).collect::<Vec<_>>())
        .map(|row| {
            format!("{} {} {}", row.name.as_str(), row.address.street_1.as_str(), row.address.city.as_str())
        })
        .collect();
    assert_eq!(names.len(), 400);
}

/// Clauses 2.4.1.2, 2.5.1.2, 2.6.1.2, 2.7.1 and 2.8.1 on the existing districts; with contention control too.
#[test]
fn terminals_draw_every_district_that_exists_and_no_other() {
    let plan = InputPlan {
        districts: spread("zipf(1.2)", 5),
        ..InputPlan::new(3, 5, CLoad::from_seed(1), Mix::Deck)
    };
    draw_every_district(&plan);
    draw_every_district(&InputPlan { hot: vec![HotRow::Stock(WarehouseId(1), ItemId(1))], ..plan });
}

fn draw_every_district(plan: &InputPlan) {
    let mut seen: HashMap<(TransactionKind, WarehouseId), BTreeSet<DistrictId>> = HashMap::new();
    let mut paid: HashMap<WarehouseId, BTreeSet<DistrictId>> = HashMap::new();
    for index in 0..plan.terminals() {
        let mut terminal = plan.terminal(index);
        assert!(terminal.district().0 <= plan.districts.of(terminal.warehouse()));
        for _ in 0..2_000 {
            let transaction = terminal.next(plan);
            let w = transaction.home();
            let d = match &transaction {
                Transaction::Standard(Standard::NewOrder(order)) => order.d_id,
                Transaction::Standard(Standard::Payment(payment)) => {
                    if payment.c_w_id != w {
                        paid.entry(payment.c_w_id).or_default().insert(payment.c_d_id);
                    }
                    payment.d_id
                }
                Transaction::Standard(Standard::OrderStatus(status)) => status.d_id,
                Transaction::Standard(Standard::StockLevel(level)) => level.d_id,
                Transaction::Standard(Standard::Delivery(delivery)) => {
                    assert!(delivery.district_ids().eq(plan.districts.ids(w)));
                    continue;
                }
                _ => panic!("no card of the deck"),
            };
            seen.entry((transaction.kind(), w)).or_default().insert(d);
        }
    }
    for ((kind, w), found) in seen {
        assert!(found.into_iter().eq(plan.districts.ids(w)), "{kind:?} of warehouse {w}");
    }
    assert_eq!(paid.len(), 5);
    for (w, found) in paid {
        assert!(found.into_iter().eq(plan.districts.ids(w)), "customers of warehouse {w}");
    }
}

#[test]
fn stock_follows_the_districts_and_no_line_asks_a_warehouse_for_what_it_does_not_stock() {
    let districts = spread("zipf(1.5)", 3);
    let stocked = |w: u32| districts.stock(WarehouseId(w), Size::Small);
    // 19, 7 and 4 districts.
    assert_eq!([stocked(1), stocked(2), stocked(3)], [10_000, 3_684, 2_105]);
    assert_eq!(Districts::uniform().stock(WarehouseId(2), Size::Small), 10_000);
    assert_eq!(spread("zipf(3)", 60).stock(WarehouseId(60), Size::Small), 100, "at least so many");
    let population =
        Population { districts: districts.clone(), size: Size::Small, ..Population::new(3, 5, Timestamp(1)) };
    for w in population.warehouse_ids() {
        let wanted = u64::from(stocked(w.0));
        assert_eq!(population.stock(w).count() as u64, wanted);
        assert_eq!(population.table_rows(Table::Stock, w), wanted);
        assert!(population.order_lines(w).all(|line| u64::from(line.i_id.0) <= wanted));
    }
    let mix = "new_order=50,update_stock=50".parse().unwrap();
    let mut plan = InputPlan::new(7, 3, CLoad::from_seed(7), mix);
    plan.update_stock_rounds = 2;
    (plan.districts, plan.size) = (districts.clone(), Size::Small);
    let mut greatest = [0; 3];
    let mut see = |line: &OrderLineInput| {
        let greatest = &mut greatest[line.supply_w_id.0 as usize - 1];
        *greatest = (*greatest).max(line.i_id.0);
    };
    for transaction in plan.in_turn(20_000) {
        match transaction {
            Transaction::Standard(Standard::NewOrder(order)) => {
                order.lines.iter().filter(|line| line.i_id != UNUSED_ITEM).for_each(&mut see);
            }
            Transaction::Dike(Dike::UpdateStock(update)) => update.rounds.iter().for_each(&mut see),
            _ => {}
        }
    }
    // Nearly all items were drawn, and none beyond.
    for (greatest, w) in greatest.into_iter().zip(1..) {
        assert!(greatest <= stocked(w) && greatest > stocked(w) / 100 * 98, "{w}: {greatest}");
    }
}
