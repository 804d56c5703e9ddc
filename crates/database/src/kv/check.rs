//! The twelve consistency conditions (clause 3.3.2) and Lydite's own, by one pass over the rows of a snapshot.

use crate::facts::ConditionFinding;
use crate::kv::codec::KvRow;
use crate::kv::columns::FromColumns;
use crate::kv::meta::initial_rows;
use crate::kv::scan::RowSource;
use crate::kv::store_error::StoreError;
use lydite_tpcc::consistency::{
    CONDITION_COUNT, Condition, Evaluator, Finding, OFFENDERS_SHOWN, OwnEvaluator, not_compared,
};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::rows::{AnyRow, Row};
use lydite_tpcc::schema::Table;
use lydite_tpcc::{DistrictId, WarehouseId, rows};
use std::collections::BTreeMap;
use std::time::Instant;

/// Evaluates `conditions` on a database that was loaded with `meta`.
///
/// One pass evaluates all of them, so each of their findings has an equal share of its time.
pub fn check(
    source: &mut impl RowSource,
    meta: &DatabaseMeta,
    conditions: &[Condition],
) -> Result<Vec<ConditionFinding>, StoreError> {
    let begin = Instant::now();
    let is_read = |table: &Table| conditions.iter().any(|condition| condition.reads.contains(table));
    let tables: Vec<Table> = Table::OF_WAREHOUSE.iter().copied().filter(is_read).collect();
    let mut judges = Judges::of(meta, conditions)?;
    if is_read(&Table::Item) {
        read::<rows::Item>(source, None, &mut judges)?;
    }
    let mut last = None;
    while let Some(w_id) = source.next_warehouse(&tables, last)? {
        judges.open(w_id);
        for &table in &tables {
            read_table(source, table, w_id, &mut judges)?;
        }
        judges.close(w_id);
        last = Some(w_id);
    }
    let mut found: BTreeMap<u8, Finding> = judges
        .finish(meta.warehouses)
        .into_iter()
        .map(|finding| (finding.condition.number, finding))
        .collect();
    let seconds = begin.elapsed().as_secs_f64() / conditions.len().max(1) as f64;
    conditions
        .iter()
        .map(|&condition| {
            let number = condition.number;
            let missing = || StoreError::Failed(format!("there is no condition {number}"));
            let finding = found.remove(&number).ok_or_else(missing)?;
            let mut examples = finding.offenders;
            examples.truncate(OFFENDERS_SHOWN);
            let not_compared = not_compared(&condition, meta.played);
            Ok(ConditionFinding { condition, offenders: finding.total, examples, seconds, not_compared })
        })
        .collect()
}

/// The evaluators of the conditions that are asked for.
struct Judges<'a> {
    standard: Option<(Evaluator, Missing<'a>)>,
    own: Option<OwnEvaluator>,
}

impl<'a> Judges<'a> {
    fn of(meta: &'a DatabaseMeta, conditions: &[Condition]) -> Result<Self, StoreError> {
        let is_standard = |condition: &Condition| usize::from(condition.number) <= CONDITION_COUNT;
        let standard = conditions
            .iter()
            .any(is_standard)
            .then(|| (Evaluator::of(meta.districts.clone(), meta.size), Missing::of(meta)));
        let own = if conditions.iter().all(is_standard) {
            None
        } else {
            let population = initial_rows(meta).map_err(|error| StoreError::Failed(error.to_string()))?;
            Some(OwnEvaluator::new(population, meta.played))
        };
        Ok(Self { standard, own })
    }

    fn open(&mut self, w_id: WarehouseId) {
        if let Some((_, missing)) = &mut self.standard {
            missing.open(w_id);
        }
    }

    fn add<R: Row>(&mut self, row: &R) {
        if let Some((evaluator, missing)) = &mut self.standard {
            evaluator.add(row);
            missing.add(row);
        }
        if let Some(own) = &mut self.own {
            own.add(row);
        }
    }

    fn close(&mut self, w_id: WarehouseId) {
        if let Some((evaluator, missing)) = &mut self.standard {
            evaluator.close(w_id);
            missing.close(w_id);
        }
        if let Some(own) = &mut self.own {
            own.close(w_id);
        }
    }

    fn finish(self, warehouses: u32) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some((evaluator, missing)) = self.standard {
            findings = evaluator.finish(warehouses);
            findings[0].total += missing.too_many.len() as u64;
            findings[0].offenders.extend(missing.too_many);
            findings[11].total += missing.customers.len() as u64;
            findings[11].offenders.extend(missing.customers);
            for finding in [0, 11] {
                findings[finding].ok = findings[finding].total == 0;
            }
        }
        findings.extend(self.own.into_iter().flat_map(OwnEvaluator::finish));
        findings
    }
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

    fn open(&mut self, w_id: WarehouseId) {
        self.counts = self.meta.districts.ids(w_id).map(|d_id| (d_id, 0)).collect();
    }

    fn add<R: Row>(&mut self, row: &R) {
        match row.as_any() {
            AnyRow::Warehouse(row) if !(1..=self.meta.warehouses).contains(&row.id.0) => {
                self.too_many.push(format!("w={}: {} warehouses were loaded", row.id, self.meta.warehouses));
            }
            AnyRow::Customer(row) => *self.counts.entry(row.d_id).or_default() += 1,
            _ => {}
        }
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
fn read_table(
    source: &mut impl RowSource,
    table: Table,
    w_id: WarehouseId,
    judges: &mut Judges<'_>,
) -> Result<(), StoreError> {
    let of = Some(w_id);
    match table {
        Table::Item => Ok(()),
        Table::Warehouse => read::<rows::Warehouse>(source, of, judges),
        Table::District => read::<rows::District>(source, of, judges),
        Table::Customer => read::<rows::Customer>(source, of, judges),
        Table::History => read::<rows::History>(source, of, judges),
        Table::Orders => read::<rows::Order>(source, of, judges),
        Table::NewOrder => read::<rows::NewOrder>(source, of, judges),
        Table::OrderLine => read::<rows::OrderLine>(source, of, judges),
        Table::Stock => match &mut judges.own {
            Some(own) => source.stock_counts(w_id, |row| own.stock(row)),
            None => Ok(()),
        },
    }
}

fn read<R: KvRow + FromColumns>(
    source: &mut impl RowSource,
    of: Option<WarehouseId>,
    judges: &mut Judges<'_>,
) -> Result<(), StoreError> {
    source.rows(of, |row: &R| judges.add(row))
}
