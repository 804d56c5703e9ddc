//! The twelve consistency conditions (clause 3.3.2) and Lydite's own, by one pass over the rows of a snapshot.

use crate::kv::meta::initial_rows;
use crate::kv::scan::RowSource;
use crate::kv::store_error::StoreError;
use crate::target::ConditionFinding;
use lydite_tpcc::consistency::{
    CONDITION_COUNT, Condition, Evaluator, ITEMS_CONDITION, OFFENDERS_SHOWN, STOCK_CONDITION, price_sum,
    stock_residue,
};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Cents, DistrictId, WarehouseId, rows};
use std::collections::BTreeMap;
use std::time::Instant;

/// Evaluates `conditions` on a database that was loaded with `meta`.
///
/// One pass evaluates all of the standard's conditions, so each of their findings has an equal share of its time.
pub fn check(
    source: &mut impl RowSource,
    meta: &DatabaseMeta,
    conditions: &[Condition],
) -> Result<Vec<ConditionFinding>, StoreError> {
    let rows_of = |meta| initial_rows(meta).map_err(StoreError::Failed);
    let (standard, extra): (Vec<Condition>, Vec<Condition>) =
        conditions.iter().partition(|condition| usize::from(condition.number) <= CONDITION_COUNT);
    let mut findings =
        if standard.is_empty() { Vec::new() } else { check_standard(source, meta, &standard)? };
    for condition in extra {
        let begin = Instant::now();
        let (offenders, examples) = match condition.number {
            ITEMS_CONDITION => check_items(source, &rows_of(meta)?)?,
            STOCK_CONDITION => check_stock(source, &rows_of(meta)?)?,
            number => return Err(StoreError::Failed(format!("there is no condition {number}"))),
        };
        let seconds = begin.elapsed().as_secs_f64();
        findings.push(ConditionFinding { condition, offenders, examples, seconds });
    }
    Ok(findings)
}

/// Number of keys that break a condition, and the first of them.
type Offenders = (u64, Vec<String>);

/// Checks that ITEM has the loaded number of items and sum of prices. Updates may only exchange prices between items.
fn check_items(source: &mut impl RowSource, population: &Population) -> Result<Offenders, StoreError> {
    let (mut found, mut sum) = (0_u32, Cents(0));
    source.rows(None, |row: &rows::Item| {
        found += 1;
        sum += row.price;
    })?;
    let wanted = price_sum(population);
    let items = population.size.items();
    if (found, sum) == (items, wanted) {
        return Ok((0, Vec::new()));
    }
    let example = format!("all: {found} items, sum of I_PRICE {sum}; {items} and {wanted} were loaded");
    Ok((1, vec![example]))
}

/// Checks that each row of STOCK can result from the loaded row by the updates of clause 2.4.2.2.
fn check_stock(source: &mut impl RowSource, population: &Population) -> Result<Offenders, StoreError> {
    let (mut total, mut examples) = (0_u64, Vec::new());
    let mut offend = |example: String| {
        total += 1;
        if examples.len() < OFFENDERS_SHOWN {
            examples.push(example);
        }
    };
    for w_id in population.warehouse_ids() {
        let wanted: Vec<u32> =
            population.stock(w_id).map(|row| stock_residue(row.quantity, row.ytd)).collect();
        let mut found = 0_usize;
        source.rows(Some(w_id), |row: &rows::Stock| {
            found += 1;
            let counts = u64::from(row.order_cnt)..=10 * u64::from(row.order_cnt);
            let possible = (10..=100).contains(&row.quantity)
                && counts.contains(&row.ytd.into())
                && row.remote_cnt <= row.order_cnt;
            let residue = stock_residue(row.quantity, row.ytd);
            if !possible || wanted.get((row.i_id.0 as usize).wrapping_sub(1)) != Some(&residue) {
                offend(format!(
                    "w={w_id} i={}: S_QUANTITY {}, S_YTD {}, S_ORDER_CNT {}, S_REMOTE_CNT {}",
                    row.i_id, row.quantity, row.ytd, row.order_cnt, row.remote_cnt
                ));
            }
        })?;
        if found != wanted.len() {
            offend(format!("w={w_id}: {found} rows of STOCK instead of {}", wanted.len()));
        }
    }
    Ok((total, examples))
}

/// Evaluates the conditions of the standard.
fn check_standard(
    source: &mut impl RowSource,
    meta: &DatabaseMeta,
    conditions: &[Condition],
) -> Result<Vec<ConditionFinding>, StoreError> {
    let begin = Instant::now();
    let tables: Vec<Table> = Table::ALL
        .into_iter()
        .filter(|table| conditions.iter().any(|condition| condition.reads.contains(table)))
        .collect();
    let mut evaluator = Evaluator::of(meta.districts.clone(), meta.size);
    let mut missing = Missing::of(meta);
    let mut last = None;
    while let Some(w_id) = source.next_warehouse(&tables, last)? {
        for &table in &tables {
            read(source, table, w_id, &mut evaluator, &mut missing)?;
        }
        evaluator.close(w_id);
        missing.close(w_id);
        last = Some(w_id);
    }
    let mut findings = evaluator.finish(meta.warehouses);
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

/// Checks that the rows that are never deleted (clause 1.4.11) exist, and no more of them. The evaluator of the
/// conditions can't see that.
struct Missing<'a> {
    meta: &'a DatabaseMeta,
    /// Warehouses that were not loaded.
    too_many: Vec<String>,
    /// Number of customers in each district of the current warehouse.
    counts: BTreeMap<DistrictId, u32>,
    customers: Vec<String>,
}

impl<'a> Missing<'a> {
    fn of(meta: &'a DatabaseMeta) -> Self {
        Self { meta, too_many: Vec::new(), counts: BTreeMap::new(), customers: Vec::new() }
    }

    fn close(&mut self, w_id: WarehouseId) {
        for (d_id, count) in std::mem::take(&mut self.counts) {
            let loaded = self.meta.size.customers();
            if count != loaded {
                self.customers.push(format!("w={w_id} d={d_id}: {count} customers instead of {loaded}"));
            }
        }
    }
}

/// Reads the rows of `table` in one warehouse.
fn read(
    source: &mut impl RowSource,
    table: Table,
    w_id: WarehouseId,
    evaluator: &mut Evaluator,
    missing: &mut Missing<'_>,
) -> Result<(), StoreError> {
    let of = Some(w_id);
    match table {
        // No condition uses these tables.
        Table::Item | Table::Stock => Ok(()),
        Table::Warehouse => source.rows(of, |row: &rows::Warehouse| {
            evaluator.add(row);
            if !(1..=missing.meta.warehouses).contains(&w_id.0) {
                missing
                    .too_many
                    .push(format!("w={w_id}: {} warehouses were loaded", missing.meta.warehouses));
            }
        }),
        Table::District => source.rows(of, |row: &rows::District| evaluator.add(row)),
        Table::Customer => {
            for d_id in missing.meta.districts.ids(w_id) {
                missing.counts.insert(d_id, 0);
            }
            source.rows(of, |row: &rows::Customer| {
                *missing.counts.entry(row.d_id).or_default() += 1;
                evaluator.add(row);
            })
        }
        Table::History => source.rows(of, |row: &rows::History| evaluator.add(row)),
        Table::Orders => source.rows(of, |row: &rows::Order| evaluator.add(row)),
        Table::NewOrder => source.rows(of, |row: &rows::NewOrder| evaluator.add(row)),
        Table::OrderLine => source.rows(of, |row: &rows::OrderLine| evaluator.add(row)),
    }
}
