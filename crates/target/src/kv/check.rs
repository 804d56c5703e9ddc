//! The twelve consistency conditions (clause 3.3.2), by reading the rows of one snapshot once.

use crate::kv::codec::{Key, KeyPart, behind};
use crate::kv::layout::warehouse;
use crate::kv::scan::rows_of;
use crate::kv::store::{Direction, KeyRange, KvTable, StoreError, StoreTx};
use crate::target::ConditionFinding;
use lydite_tpcc::consistency::{Condition, Evaluator, OFFENDERS_SHOWN};
use lydite_tpcc::schema::Table;
use lydite_tpcc::{CUSTOMERS_PER_DISTRICT, DistrictId, WarehouseId, rows};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

/// Evaluates `conditions` on a database of `warehouses`.
///
/// All are evaluated on the same pass, so each finding bears an equal share of its time.
pub(crate) fn check(
    tx: &mut impl StoreTx,
    warehouses: u32,
    conditions: &[Condition],
) -> Result<Vec<ConditionFinding>, StoreError> {
    let begin = Instant::now();
    let tables: Vec<Table> = Table::ALL
        .into_iter()
        .filter(|table| conditions.iter().any(|condition| condition.reads.contains(table)))
        .collect();
    let mut evaluator = Evaluator::new();
    let mut missing = Missing { warehouses, ..Missing::default() };
    let mut last = None;
    while let Some(w_id) = next_warehouse(tx, &tables, last)? {
        for &table in &tables {
            read(tx, table, w_id, &mut evaluator, &mut missing)?;
        }
        evaluator.close(w_id);
        missing.close(w_id);
        last = Some(w_id);
    }
    let mut findings = evaluator.finish(warehouses);
    findings[0].total += missing.too_many.len() as u64;
    findings[0].offenders.extend(missing.too_many);
    findings[11].total += missing.customers.len() as u64;
    findings[11].offenders.extend(missing.customers);
    let seconds = begin.elapsed().as_secs_f64() / conditions.len().max(1) as f64;
    Ok(findings
        .into_iter()
        .filter_map(|finding| {
            let condition = *conditions.iter().find(|asked| asked.number == finding.condition.number)?;
            let mut examples = finding.offenders;
            examples.truncate(OFFENDERS_SHOWN);
            Some(ConditionFinding { condition, offenders: finding.total, examples, seconds })
        })
        .collect())
}

/// Rows that the conditions speak of and that are never deleted (clause 1.4.11) must be there, and no more of them:
/// what the evaluator, which knows no scale, can't tell.
#[derive(Default)]
struct Missing {
    warehouses: u32,
    /// Warehouses that were not loaded.
    too_many: Vec<String>,
    /// Customers of the open warehouse's districts.
    counts: BTreeMap<DistrictId, u32>,
    customers: Vec<String>,
}

impl Missing {
    fn close(&mut self, w_id: WarehouseId) {
        for (d_id, count) in std::mem::take(&mut self.counts) {
            if count != CUSTOMERS_PER_DISTRICT {
                self.customers.push(format!(
                    "w={w_id} d={d_id}: {count} customers instead of {CUSTOMERS_PER_DISTRICT}"
                ));
            }
        }
    }
}

/// The first warehouse behind `last` of which any of the tables has a row.
fn next_warehouse(
    tx: &mut impl StoreTx,
    tables: &[Table],
    last: Option<WarehouseId>,
) -> Result<Option<WarehouseId>, StoreError> {
    let from = match last {
        None => Key::new(),
        Some(last) => match behind(&warehouse::key(last)) {
            Some(key) => key,
            None => return Ok(None),
        },
    };
    let mut next: Option<WarehouseId> = None;
    for &table in tables {
        let range = KeyRange { from: &from, below: None };
        tx.scan(KvTable::from(table), range, Direction::Forward, |mut key, _| {
            let found = WarehouseId::take(&mut key);
            next = next.into_iter().chain(found).min();
            ControlFlow::Break(())
        })?;
    }
    Ok(next)
}

/// Reads the rows that `table` has of one warehouse.
fn read(
    tx: &mut impl StoreTx,
    table: Table,
    w_id: WarehouseId,
    evaluator: &mut Evaluator,
    missing: &mut Missing,
) -> Result<(), StoreError> {
    let from = warehouse::key(w_id);
    let below = behind(&from);
    let range = KeyRange { from: &from, below: below.as_deref() };
    match table {
        // They play no part in the conditions.
        Table::Item | Table::Stock => Ok(()),
        Table::Warehouse => rows_of::<rows::Warehouse>(tx, range, |row| {
            evaluator.add(row);
            if !(1..=missing.warehouses).contains(&w_id.0) {
                missing.too_many.push(format!("w={w_id}: {} warehouses were loaded", missing.warehouses));
            }
        }),
        Table::District => rows_of(tx, range, |row: &rows::District| evaluator.add(row)),
        Table::Customer => {
            for d_id in DistrictId::all() {
                missing.counts.insert(d_id, 0);
            }
            rows_of(tx, range, |row: &rows::Customer| {
                *missing.counts.entry(row.d_id).or_default() += 1;
                evaluator.add(row);
            })
        }
        Table::History => rows_of(tx, range, |row: &rows::History| evaluator.add(row)),
        Table::Orders => rows_of(tx, range, |row: &rows::Order| evaluator.add(row)),
        Table::NewOrder => rows_of(tx, range, |row: &rows::NewOrder| evaluator.add(row)),
        Table::OrderLine => rows_of(tx, range, |row: &rows::OrderLine| evaluator.add(row)),
    }
}
