//! Tests that every key-value store must pass, as functions over the store.
//!
//! The tests of each store call them with the configuration of an empty store. They panic on failure.

use crate::registry::TargetSpec;
use lydite_database::kv::KvTarget;
use lydite_database::kv::codec::KvRow;
use lydite_database::kv::layout::{customer_by_name, order_by_customer};
use lydite_database::kv::scan::{RowSource, Scanned};
use lydite_database::kv::{Access, AnyStore, AnyTx, Direction, KeyRange, KvTable, Store, StoreTx};
use lydite_database::playing::{assert_conditions, fight, inputs, load, meta, play, population};
use lydite_database::{DatabaseState, LoadProgress, LoadUnit, Target, TxError, TxMode};
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Standard, Transaction, WarehouseId, rows};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The same inputs get the same answers as in SQLite and leave the same database.
pub fn the_answers_and_the_rows_are_those_of_sqlite<S: Store>(config: S::Config) {
    let warehouses = 2;
    let inputs = inputs(warehouses, 1_000);
    let sqlite = TargetSpec::parse("sqlite:", TxMode::Statements).expect("a good URL");
    let sqlite = sqlite.open().expect("a target");
    let target = KvTarget::<S>::new(config);
    load(&*sqlite, warehouses);
    load(&target, warehouses);
    let loaded = target.checksums().expect("checksums");
    assert_eq!(loaded, sqlite.checksums().expect("checksums"), "the loaded rows");
    assert_conditions(&target);

    let (ours, theirs) = (play(&target, &inputs), play(&*sqlite, &inputs));
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "input {number} is answered differently: {:?}", inputs[number]);
    }
    let rolled_back = ours.iter().filter(|answer| matches!(answer, Err(TxError::RolledBack(_)))).count();
    assert!(rolled_back > 0, "1000 transactions hold a rollback");
    assert!(ours.iter().all(|answer| matches!(answer, Ok(_) | Err(TxError::RolledBack(_)))), "{ours:?}");
    assert_conditions(&target);
    let sums = target.checksums().expect("checksums");
    assert_ne!(sums, loaded, "the transactions changed something");
    assert_eq!(sums, sqlite.checksums().expect("checksums"), "the rows that are left");
    the_indexes_name_every_row_once(&*target.store().expect("open"));

    target.reset().expect("reset");
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
    assert!(target.checksums().expect("checksums").iter().all(|sum| sum.rows == 0));
}

/// Secondary entries are written by hand, so one may be forgotten.
fn the_indexes_name_every_row_once(store: &dyn AnyStore) {
    let mut tx = store.begin_any(Access::Read).expect("begin");
    let mut customers = BTreeSet::new();
    Scanned(&mut tx)
        .rows(None, |row: &rows::Customer| {
            customers.insert(customer_by_name::key(row).to_vec());
        })
        .expect("customers");
    assert_eq!(keys(&mut tx, KvTable::CustomerByName), customers);
    let mut orders = BTreeSet::new();
    Scanned(&mut tx)
        .rows(None, |row: &rows::Order| {
            orders.insert(order_by_customer::key(row.w_id, row.d_id, row.c_id, row.id).to_vec());
        })
        .expect("orders");
    assert_eq!(keys(&mut tx, KvTable::OrderByCustomer), orders);
}

fn keys(tx: &mut AnyTx<'_>, table: KvTable) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    tx.scan(table, KeyRange::ALL, Direction::Forward, &mut |key, _| {
        assert!(keys.insert(key.to_vec()), "a key comes twice");
        ControlFlow::Continue(())
    })
    .expect("scan");
    keys
}

/// Sessions that compete for one warehouse keep the conditions (clause 3.4). Aborted transactions are retried.
pub fn sessions_that_fight_for_one_warehouse_keep_the_conditions<S: Store>(config: S::Config) {
    let target = KvTarget::<S>::new(config);
    load(&target, 1);
    let payments: u64 = std::thread::scope(|scope| {
        let fighters: Vec<_> = (0..4)
            .map(|fighter| {
                let target = &target;
                scope.spawn(move || {
                    let committed = fight(target, &meta(1), fighter, 300);
                    committed
                        .iter()
                        .filter(|input| matches!(input, Transaction::Standard(Standard::Payment(_))))
                        .count() as u64
                })
            })
            .collect();
        fighters.into_iter().map(|fighter| fighter.join().expect("no panic")).sum()
    });
    assert_conditions(&target);
    let sums = target.checksums().expect("checksums");
    assert_eq!(sums[4].table, Table::History);
    let loaded = population(1).table_rows(Table::History, WarehouseId(1));
    assert_eq!(sums[4].rows, loaded + payments, "a row of HISTORY for each payment");
}

/// An interrupted load is found as such and can be resumed.
pub fn an_interrupted_load_can_be_resumed<S: Store>(config: S::Config) {
    let target = KvTarget::<S>::new(config);
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
    target.create_schema(&meta(2)).expect("create_schema");
    let population = population(2);
    let mut loader = target.loader().expect("loader");
    loader
        .load(LoadUnit::Warehouse(WarehouseId(2)), &(&population).into(), &LoadProgress::default())
        .expect("load");
    let stopped = LoadProgress::default();
    stopped.stop();
    let error = loader
        .load(LoadUnit::Warehouse(WarehouseId(1)), &(&population).into(), &stopped)
        .expect_err("interrupted");
    assert!(error.message.contains("load warehouse 1: the load was interrupted"), "{error}");
    let loading = DatabaseState::Loading { meta: meta(2), items: false, warehouses: vec![WarehouseId(2)] };
    assert_eq!(target.state(), Ok(loading));
    assert!(target.connect().is_err(), "half a database is not to be measured");
    assert!(target.create_schema(&meta(2)).is_err(), "nor to be taken for an empty one");

    loader.load(LoadUnit::Items, &(&population).into(), &LoadProgress::default()).expect("load");
    loader
        .load(LoadUnit::Warehouse(WarehouseId(1)), &(&population).into(), &LoadProgress::default())
        .expect("load");
    target.finish_load(1, &|_| ()).expect("finish_load");
    assert_eq!(target.state(), Ok(DatabaseState::Ready { meta: meta(2) }));
    assert_conditions(&target);
    let whole = target.checksums().expect("checksums");
    for sum in whole {
        let rows: u64 = match sum.table {
            Table::Item => population.table_rows(Table::Item, WarehouseId(1)),
            table => population.warehouse_ids().map(|w| population.table_rows(table, w)).sum(),
        };
        assert_eq!(sum.rows, rows, "{:?}", sum.table);
    }
}

/// The conditions about a spoiled row find it and name it.
pub fn a_spoiled_row_is_found_and_named<S: Store>(config: S::Config) {
    /// The name of the spoiled row, the function that spoils it, and the conditions about it.
    type Case = (&'static str, fn(&mut AnyTx<'_>), &'static [u8]);
    let target = KvTarget::<S>::new(config);
    load(&target, 1);
    let cases: [Case; 5] = [
        (
            "w=1 d=4",
            |tx| {
                change::<rows::District>(tx, &[0, 0, 0, 1, 4], |row| row.next_o_id.0 += 1);
            },
            &[2],
        ),
        (
            "w=1 d=1 c=1",
            |tx| change::<rows::Customer>(tx, &[0, 0, 0, 1, 1, 0, 0, 0, 1], |row| row.balance.0 += 1),
            &[10, 12],
        ),
        (
            "w=1 d=2 o=7",
            |tx| change::<rows::Order>(tx, &[0, 0, 0, 1, 2, 0, 0, 0, 7], |row| row.carrier_id = None),
            &[5, 7],
        ),
        (
            "w=1 d=10",
            |tx| tx.delete(KvTable::Customer, &[0, 0, 0, 1, 10, 0, 0, 0, 1]).expect("delete"),
            &[10, 12],
        ),
        (
            "w=9",
            |tx| {
                let row = population(9).warehouse(WarehouseId(9));
                let mut value = Vec::new();
                row.encode(&mut value).expect("encode");
                tx.put(KvTable::Warehouse, &row.key(), &value).expect("put");
            },
            &[1, 2, 8, 9, 11, 12],
        ),
    ];
    let store = target.store().expect("open");
    for (place, spoil, broken) in cases {
        let mut tx = store.begin_any(Access::Write).expect("begin");
        spoil(&mut tx);
        let findings =
            lydite_database::kv::check::check(&mut Scanned(&mut tx), &meta(1), &CONDITIONS).expect("check");
        let named: Vec<u8> = findings
            .iter()
            .filter(|finding| !finding.holds())
            .map(|finding| finding.condition.number)
            .collect();
        assert_eq!(named, broken, "{place}: {findings:?}");
        for finding in findings.iter().filter(|finding| !finding.holds()) {
            assert!(finding.examples[0].starts_with(place), "{:?}", finding.examples);
        }
        // Dropped: the change is rolled back.
    }
    assert_conditions(&target);
    let only = target.check(&CONDITIONS[2..3], &|_| ()).expect("check");
    assert_eq!(only.len(), 1);
    assert!(only[0].holds());
}

fn change<R: KvRow>(tx: &mut AnyTx<'_>, key: &[u8], spoil: impl FnOnce(&mut R)) {
    tx.modify(R::KV_TABLE, key, |value| {
        let mut row = R::decode(key, value).expect("decode");
        spoil(&mut row);
        row.encode(value).expect("encode");
    })
    .expect("modify")
    .expect("a row");
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_database::kv::memory::{Memory, MemoryConfig};
    use std::sync::atomic::Ordering;

    #[test]
    fn the_answers_and_the_rows_in_memory_are_those_of_sqlite() {
        the_answers_and_the_rows_are_those_of_sqlite::<Memory>(MemoryConfig::default());
    }

    #[test]
    fn sessions_that_fight_for_one_warehouse_keep_the_conditions_in_memory() {
        let config = MemoryConfig::default();
        config.refuse_every.store(3, Ordering::Relaxed);
        sessions_that_fight_for_one_warehouse_keep_the_conditions::<Memory>(config);
    }

    #[test]
    fn an_interrupted_load_into_memory_can_be_resumed() {
        an_interrupted_load_can_be_resumed::<Memory>(MemoryConfig::default());
    }

    #[test]
    fn a_spoiled_row_in_memory_is_found_and_named() {
        a_spoiled_row_is_found_and_named::<Memory>(MemoryConfig::default());
    }
}
