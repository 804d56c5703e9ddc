//! The text of the transactions on the store in memory, and the bytes of rows and keys.

mod leaving;
mod own;

use crate::error::{AbortReason, Committed, TargetErrorKind, TxError};
use crate::facts::DatabaseState;
use crate::kv::codec::{KvRow, Malformed, behind};
use crate::kv::layout::{
    customer, customer_by_name, district, history, item, new_order, order_by_customer, order_line, stock,
};
use crate::kv::memory::{Memory, MemoryConfig};
use crate::kv::store::{Access, KvTable, Store, StoreTx};
use crate::kv::store_error::StoreError;
use crate::kv::target::KvTarget;
use crate::load::{LoadProgress, LoadUnit};
use crate::playing::{assert_conditions, inputs, load, meta, play, population};
use crate::target::Target;
use lydite_tpcc::consistency::OWN_CONDITIONS;
use lydite_tpcc::meta::Played;
use lydite_tpcc::text::truncated;
use lydite_tpcc::transactions::{
    CustomerSelector, Delivery, DeliveryOutcome, NewOrder, OrderLineInput, OrderStatus, Payment, StockLevel,
    UpdateItem, UpdateStock,
};
use lydite_tpcc::{
    CarrierId, Cents, CustomerId, Dike, DistrictId, ItemId, OrderId, Outcome, Rate, Standard,
    StandardOutcome, Timestamp, Transaction, WarehouseId, rows,
};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

#[test]
fn a_load_that_has_lost_its_right_commits_nothing_more() {
    let config = MemoryConfig::default();
    let target = KvTarget::<Memory>::new(config.clone());
    let right = target.begin_load().expect("the right to load");
    target.create_schema(&meta(1)).expect("create_schema");
    let mut loader = target.loader().expect("a loader");
    config.lost.store(true, Ordering::Relaxed);
    let mut load = || loader.load(LoadUnit::Items, &(&population(1)).into(), &LoadProgress::default());
    let refused = load().expect_err("it may not");
    assert!(refused.message.contains("the right to load is lost"), "{refused:?}");
    let refused = target.finish_load(1, &|_| ()).expect_err("it may not");
    assert!(refused.message.contains("the right to load is lost"), "{refused:?}");
    assert!(target.reset().is_err(), "what another load has made is not dropped");
    let nothing = DatabaseState::Loading { meta: meta(1), items: false, warehouses: Vec::new() };
    assert_eq!(target.state(), Ok(nothing));
    config.lost.store(false, Ordering::Relaxed);
    load().expect("it has its right");
    drop(right);
}

#[test]
fn an_aborted_transaction_leaves_nothing_and_its_session_goes_on() {
    let config = MemoryConfig::default();
    let target = KvTarget::<Memory>::new(config.clone());
    load(&target, 1);
    let before = target.checksums().expect("checksums");
    let inputs = inputs(1, 50);
    config.refuse_every.store(1, Ordering::Relaxed);
    let refused =
        TxError::Aborted { reason: AbortReason::Serialization, detail: "refused by the test".into() };
    let answers = play(&target, &inputs);
    assert!(answers.contains(&Err(refused)));
    assert_eq!(target.checksums(), Ok(before));
    config.refuse_every.store(0, Ordering::Relaxed);
    let answers = play(&target, &inputs);
    assert!(answers.iter().all(|answer| matches!(answer, Ok(_) | Err(TxError::RolledBack(_)))));
    assert_conditions(&target);
}

#[test]
fn a_missing_row_ends_the_transaction_and_leaves_nothing_of_it() {
    // Clause 2.3.6. One row of each table that the profiles name is removed, then put back.
    let config = MemoryConfig::default();
    let target = KvTarget::<Memory>::new(config.clone());
    load(&target, 1);
    let store = target.store().expect("open");
    let before = target.checksums().expect("checksums");
    let (w_id, d_id, c_id) = (WarehouseId(1), DistrictId(3), CustomerId(5));
    let line = |i_id| OrderLineInput { i_id, supply_w_id: w_id, quantity: 1 };
    let lines = (10..15).map(|id| line(ItemId(id))).collect();
    let order = Transaction::Standard(Standard::NewOrder(NewOrder { w_id, d_id, c_id, lines }));
    let payment = Transaction::Standard(Standard::Payment(Payment {
        w_id,
        d_id,
        c_w_id: w_id,
        c_d_id: d_id,
        customer: CustomerSelector::Id(c_id),
        amount: Cents(100),
    }));
    let nobody = CustomerSelector::LastName(truncated("NOBODY"));
    let status =
        |customer| Transaction::Standard(Standard::OrderStatus(OrderStatus { w_id, d_id, customer }));
    let delivery =
        Transaction::Standard(Standard::Delivery(Delivery { w_id, districts: 10, carrier_id: CarrierId(1) }));
    let level = Transaction::Standard(Standard::StockLevel(StockLevel {
        w_id,
        d_id,
        threshold: 10,
        others: std::iter::empty().collect(),
    }));
    let (d, c) = (district::key(w_id, d_id), customer::key(w_id, d_id, c_id));
    let stock_14 = stock::key(w_id, ItemId(14));
    let oldest = order_line::key(w_id, d_id, OrderId(211), 1);
    let first = order_by_customer::key(w_id, d_id, c_id, OrderId(0));
    let cases: [(KvTable, &[u8], &Transaction, &str); 11] = [
        (KvTable::Warehouse, &[0, 0, 0, 1], &order, "warehouse 1 is missing"),
        (KvTable::District, &d, &order, "district 1/3 is missing"),
        (KvTable::Customer, &c, &order, "customer 1/3/5 is missing"),
        (KvTable::Item, &[0, 0, 0, 14], &order, "an item of order 301 is missing"),
        (KvTable::Stock, &stock_14, &order, "stock 1/14 is missing"),
        (KvTable::Warehouse, &[0, 0, 0, 1], &payment, "warehouse 1 is missing"),
        (KvTable::Customer, &c, &payment, "customer 1/3/5 is missing"),
        (KvTable::Customer, &c, &status(CustomerSelector::Id(c_id)), "customer 1/3/5 is missing"),
        (KvTable::Order, &oldest[..9], &delivery, "order 1/3/211 is missing"),
        (KvTable::District, &d, &level, "district 1/3 is missing"),
        // No row is removed here; the customer does not exist.
        (
            KvTable::OrderByCustomer,
            &first,
            &status(nobody),
            "a customer named \"NOBODY\" of district 1/3 is missing",
        ),
    ];
    let mut session = target.connect().expect("connect");
    for (table, key, input, message) in cases {
        let mut tx = store.begin(Access::Write).expect("begin");
        let row = tx.read(table, key, <[u8]>::to_vec).expect("read");
        tx.delete(table, key).expect("delete");
        tx.commit().expect("commit");
        assert_eq!(session.execute(input), Err(TxError::wrong_rows(format!("{message}: run lydite check"))));
        let mut tx = store.begin(Access::Write).expect("begin");
        if let Some(row) = row {
            tx.put(table, key, &row).expect("put");
        }
        tx.commit().expect("commit");
    }
    assert_eq!(target.checksums(), Ok(before));
}

#[test]
fn delivery_skips_a_district_without_a_new_order() {
    // Clause 2.7.4.2.
    let target = KvTarget::<Memory>::new(MemoryConfig::default());
    load(&target, 1);
    let store = target.store().expect("open");
    let mut tx = store.begin(Access::Write).expect("begin");
    for o_id in 211..=300 {
        let key = new_order::key(WarehouseId(1), DistrictId(3), OrderId(o_id));
        tx.delete(KvTable::NewOrder, &key).expect("delete");
    }
    tx.commit().expect("commit");
    let delivery = Transaction::Standard(Standard::Delivery(Delivery {
        w_id: WarehouseId(1),
        districts: 10,
        carrier_id: CarrierId(1),
    }));
    let outcome = target.connect().expect("connect").execute(&delivery);
    let delivered = DistrictId::up_to(10).filter(|d| d.0 != 3).map(|d| (d, OrderId(211))).collect();
    assert_eq!(outcome, Ok(Outcome::Standard(StandardOutcome::Delivery(DeliveryOutcome { delivered }))));
}

#[test]
fn rows_without_notes_are_foreign_and_bad_notes_are_named() {
    let config = MemoryConfig::default();
    let target = KvTarget::<Memory>::new(config.clone());
    let store = Memory::open(&config).expect("open");
    let put = |table, key: &[u8], value: &[u8]| {
        let mut tx = store.begin(Access::Write).expect("begin");
        tx.put(table, key, value).expect("put");
        tx.commit().expect("commit");
    };
    put(KvTable::Stock, b"mine", b"too short");
    assert_eq!(target.state(), Ok(DatabaseState::Foreign { tables: vec!["stock".into()] }));
    let error = target.checksums().expect_err("not a row of ours");
    assert_eq!(
        error.message,
        "memory: read the tables: a row of stock: a value is damaged or does not fit: load with --fresh"
    );
    put(KvTable::Meta, b"state", b"ready");
    let tables = vec!["stock".into(), "lydite_meta".into()];
    let problem = "lydite_meta has no warehouses or a bad one".into();
    assert_eq!(
        target.state(),
        Ok(DatabaseState::Partial { tables, problem, meta: None }),
        "notes without warehouses"
    );
    target.reset().expect("reset");
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
}

#[test]
fn what_a_stopped_drop_leaves_is_no_empty_store() {
    let config = MemoryConfig::default();
    let target = KvTarget::<Memory>::new(config.clone());
    let store = Memory::open(&config).expect("open");
    let put = |table, key: &[u8]| {
        let mut tx = store.begin(Access::Write).expect("begin");
        tx.put(table, key, b"ready").expect("put");
        tx.commit().expect("commit");
    };
    // Stores that drop in other orders may leave any of these alone. A load on top of them would find customers by
    // names that they have no more, or skip warehouses that are not there.
    for (table, key, said) in [
        (KvTable::CustomerByName, &b"a"[..], "customer_by_name"),
        (KvTable::OrderByCustomer, b"a", "orders_by_customer"),
        (KvTable::Meta, b"loaded \0\0\0\x01", "lydite_meta"),
        (KvTable::Meta, b"state", "lydite_meta"),
        (KvTable::Meta, b"warehouses", "lydite_meta"),
    ] {
        put(table, key);
        let state = target.state().expect("a state");
        let (DatabaseState::Partial { tables, .. } | DatabaseState::Foreign { tables }) = &state else {
            panic!("{state:?}")
        };
        assert_eq!(tables, &[said]);
        target.reset().expect("reset");
        assert_eq!(target.state(), Ok(DatabaseState::Empty));
    }
}

#[test]
fn what_a_store_refuses_is_told_apart() {
    let lost = |committed| StoreError::Unavailable { committed, detail: "poisoned".into() };
    let unavailable = |committed| TxError::Unavailable { committed, detail: "poisoned".into() };
    assert_eq!(lost(Committed::No).in_transaction(), unavailable(Committed::No));
    assert_eq!(lost(Committed::No).in_wait(), unavailable(Committed::Unknown), "the commit was accepted");
    assert_eq!(StoreError::Failed("full".into()).in_transaction(), TxError::Fatal("full".into()));
    let broken = StoreError::Broken("poisoned".into());
    assert_eq!(broken.clone().in_transaction(), TxError::Broken("poisoned".into()));
    assert_eq!(broken.in_wait(), unavailable(Committed::Unknown), "the commit was accepted");
    let error = lost(Committed::No).on_target("load ITEM", "gemel x");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (TargetErrorKind::Unreachable, "gemel x: load ITEM: poisoned")
    );
}

#[test]
fn every_table_has_a_number_and_a_name_of_its_own() {
    let names: BTreeSet<&str> = KvTable::ALL.into_iter().map(KvTable::name).collect();
    assert_eq!(names.len(), KvTable::COUNT);
    assert!(!names.contains(""));
    assert!(KvTable::ALL.into_iter().map(KvTable::index).eq(0..KvTable::COUNT));
}

#[test]
fn keys_are_ordered_as_their_columns() {
    let key = |w, d, o, number| order_line::key(WarehouseId(w), DistrictId(d), OrderId(o), number);
    let sorted = [
        key(1, 1, 2, 15),
        key(1, 1, 255, 1),
        key(1, 1, 256, 1),
        key(1, 2, 1, 1),
        key(1, 254, 9, 1),
        key(1, 255, 1, 1),
        key(1, 256, 1, 1),
        key(1, 32_767, 1, 1),
        key(256, 1, 1, 1),
    ];
    assert!(sorted.is_sorted());
    // With at most 254 districts, keys have their old length.
    assert_eq!((key(1, 254, 1, 1).len(), key(1, 255, 1, 1).len()), (10, 12));

    // C_LAST is a prefix of another one, C_FIRST too.
    let named = |last: &str, first: &str, id| {
        let mut row = population(1).customers(WarehouseId(1)).next().expect("a customer");
        (row.last, row.first, row.id) = (truncated(last), truncated(first), CustomerId(id));
        customer_by_name::key(&row)
    };
    let sorted = [
        named("BAR", "A", 9),
        named("BAR", "A", 300),
        named("BAR", "AA", 1),
        named("BAR", "a", 1),
        named("BARBAR", "A", 1),
    ];
    assert!(sorted.is_sorted());
    let prefix = customer_by_name::prefix(WarehouseId(1), DistrictId(1), &truncated("BAR"));
    assert_eq!(sorted.iter().filter(|key| key.starts_with(&prefix)).count(), 4);
    assert_eq!(customer_by_name::c_id(&sorted[1]), Ok(CustomerId(300)));
    // Orders beyond four bytes.
    let orders = [1, u64::from(u32::MAX) - 1, u32::MAX.into(), 1 << 32, 500_000_000_000];
    let keys = orders.map(|order| key(1, 1, order, 3));
    assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
    for order in orders {
        let key = order_by_customer::key(WarehouseId(1), DistrictId(1), CustomerId(7), OrderId(order));
        assert_eq!(order_by_customer::o_id(&key), Ok(OrderId(order)));
    }
    let of = |c, o| order_by_customer::key(WarehouseId(1), DistrictId(1), CustomerId(c), OrderId(o));
    assert!(of(7, 4_000) < of(8, 1));
    assert_eq!(order_by_customer::o_id(&of(7, 4_000)), Ok(OrderId(4_000)));
    let of = order_by_customer::key(WarehouseId(1), DistrictId(700), CustomerId(7), OrderId(4_000));
    assert_eq!(order_by_customer::o_id(&of), Ok(OrderId(4_000)));
}

#[test]
fn the_key_behind_a_prefix_is_above_all_that_begin_with_it_and_no_other() {
    assert_eq!(behind(&[1, 2]).as_deref(), Some(&[1, 3][..]));
    assert_eq!(behind(&[1, 255, 255]).as_deref(), Some(&[2][..]));
    assert_eq!(behind(&[255, 255]), None);
    assert_eq!(behind(&[]), None);
}

/// Encodes and decodes a row. No prefix of the value may decode as a row or make the decoder panic.
fn there_and_back<R: KvRow + PartialEq + std::fmt::Debug>(row: &R, width: usize) {
    let mut value = vec![7; 3];
    row.encode(&mut value).expect("encode");
    assert_eq!(R::decode(&row.key(), &value).as_ref(), Ok(row));
    for end in 0..width {
        assert!(R::decode(&row.key(), &value[..end]).is_err(), "{end} bytes of {row:?}");
    }
    for end in 0..row.key().len() {
        assert!(R::decode(&row.key()[..end], &value).is_err(), "{end} bytes of the key of {row:?}");
    }
    for position in 0..value.len() {
        for byte in [0, 0x7f, 0x80, 0xff] {
            let mut spoiled = value.clone();
            spoiled[position] = byte;
            // It may decode as another row; it must only not panic.
            let _read = R::decode(&row.key(), &spoiled);
        }
    }
}

#[test]
fn a_payment_of_a_uniform_database_is_stored_as_ever() {
    let mut row = population(1).history(WarehouseId(1)).next().expect("a payment");
    (row.c_w_id, row.c_d_id, row.c_id) = (WarehouseId(0x0102), DistrictId(9), CustomerId(0x0304));
    let mut value = Vec::new();
    row.encode(&mut value).expect("encode");
    // C_W_ID in four bytes, C_D_ID in one and C_ID in four, all little-endian.
    assert_eq!(value[..9], [2, 1, 0, 0, 9, 4, 3, 0, 0]);
}

#[test]
fn every_row_comes_back_as_it_was_stored() {
    let population = population(2);
    let w = WarehouseId(2);
    let mut value = Vec::new();
    population.items().take(100).for_each(|row| there_and_back(&row, 36));
    there_and_back(&population.warehouse(w), 93);
    population.districts(w).for_each(|row| there_and_back(&row, 97));
    for row in population.customers(w).take(20) {
        there_and_back(&row, customer::WIDTH);
        row.encode(&mut value).expect("encode");
        assert!(value.len() <= 667, "{}", value.len());
    }
    for mut row in population.history(w).take(20) {
        there_and_back(&row, history::WIDTH);
        (row.d_id, row.c_d_id) = (DistrictId(255), DistrictId(32_767));
        there_and_back(&row, history::WIDTH);
    }
    population.orders(w).skip(2_090).take(20).for_each(|row| there_and_back(&row, 15));
    population.new_orders(w).take(1).for_each(|row| there_and_back(&row, 0));
    population.order_lines(w).take(20).for_each(|row| there_and_back(&row, order_line::WIDTH));
    for row in population.stock(w).take(20) {
        there_and_back(&row, stock::WIDTH);
        row.encode(&mut value).expect("encode");
        assert!(value.len() <= 304, "{}", value.len());
    }
}

#[test]
fn a_column_is_replaced_without_touching_the_others() {
    let mut row = population(1).stock(WarehouseId(1)).next().expect("a row of stock");
    let mut value = Vec::new();
    row.encode(&mut value).expect("encode");
    stock::QUANTITY.set(&mut value, &-7).expect("fits");
    stock::YTD.add(&mut value, 5).expect("fits");
    (row.quantity, row.ytd) = (-7, row.ytd + 5);
    assert_eq!(rows::Stock::decode(&row.key(), &value), Ok(row.clone()));
    assert_eq!(stock::DIST.nth(&value, 9), Ok(row.dist[9]));
    assert_eq!(stock::DIST.nth(&value, 10), Err(Malformed("stock.dist")));
    assert_eq!(stock::data(&value), Ok(row.data.as_str()));
}

#[test]
fn a_value_that_does_not_fit_its_column_is_an_error() {
    let mut row = population(1).customers(WarehouseId(1)).next().expect("a customer");
    let mut value = Vec::new();
    row.encode(&mut value).expect("encode");
    assert_eq!(
        customer::BALANCE.add(&mut value, Cents(999_999_999_999_999_999)),
        Ok(()),
        "-10.00 and the largest amount of eighteen digits"
    );
    assert_eq!(customer::BALANCE.add(&mut value, Cents(1_001)), Err(Malformed("customer.balance")));
    row.discount = Rate(10_000);
    assert_eq!(row.encode(&mut value), Err(Malformed("customer.discount")));
    row.discount = Rate(0);
    row.payment_cnt = u32::MAX;
    row.encode(&mut value).expect("encode");
    assert_eq!(customer::PAYMENT_CNT.add(&mut value, 1), Err(Malformed("customer.payment_cnt")));
    let mut line = population(1).order_lines(WarehouseId(1)).next().expect("a line");
    line.delivery_d = Some(Timestamp(i64::MIN));
    assert_eq!(line.encode(&mut value), Err(Malformed("order_line.delivery_d")), "the place of null");
    assert_eq!(stock::key(WarehouseId(1), ItemId(2)).as_slice(), [0, 0, 0, 1, 0, 0, 0, 2]);
}

#[test]
fn a_lost_update_of_a_price_or_of_stock_is_found() {
    let target = KvTarget::<Memory>::new(MemoryConfig::default());
    load(&target, 1);
    target.note_played(&Played::NOTED).expect("notes");
    let mut session = target.connect().expect("connect");
    let w_id = WarehouseId(1);
    let line = |id| OrderLineInput { i_id: ItemId(id), supply_w_id: w_id, quantity: 9 };
    for number in 0..40 {
        let rounds = [line(9), line(10)].into_iter().collect();
        session
            .execute(&Transaction::Dike(Dike::UpdateStock(UpdateStock { w_id, rounds })))
            .expect("an update");
        let items = [ItemId(7), ItemId(number % 5 + 20)];
        session.execute(&Transaction::Dike(Dike::UpdateItem(UpdateItem::once(w_id, items)))).expect("a swap");
    }
    let broken = || -> Vec<String> {
        let findings = target.check(&OWN_CONDITIONS, &|_| ()).expect("check");
        assert_eq!(findings.len(), OWN_CONDITIONS.len());
        findings.into_iter().flat_map(|finding| finding.examples).collect()
    };
    assert_eq!(broken(), Vec::<String>::new());
    let store = target.store().expect("open");
    let change = |table, key: &[u8], by: &dyn Fn(&mut Vec<u8>)| {
        let mut tx = store.begin(Access::Write).expect("begin");
        tx.modify(table, key, |row| by(row)).expect("modify").expect("the row");
        tx.commit().expect("commit");
    };
    let (item, taken) = (item::key(ItemId(7)), stock::key(w_id, ItemId(9)));
    change(KvTable::Item, &item, &|row| item::PRICE.add(row, Cents(1)).expect("a price"));
    let found = broken();
    assert!(found.len() == 1 && found[0].starts_with("all: 10000 items, sum of I_PRICE "), "{found:?}");
    change(KvTable::Item, &item, &|row| item::PRICE.add(row, Cents(-1)).expect("a price"));
    change(KvTable::Stock, &taken, &|row| stock::YTD.add(row, 1).expect("a number"));
    let found = broken();
    assert!(found.len() == 1 && found[0].starts_with("w=1 i=9: S_QUANTITY "), "{found:?}");
    let mut tx = store.begin(Access::Write).expect("begin");
    tx.delete(KvTable::Stock, &taken).expect("delete");
    tx.commit().expect("commit");
    assert_eq!(broken(), ["w=1: 9999 rows of STOCK instead of 10000"]);
}
