//! Counts that New-Orders, Payments and Deliveries change, as one query.

use crate::facts::LedgerCounts;
use crate::sql::meta::Admin;
use crate::sql::sql_error::SqlError;
use std::ops::RangeInclusive;

/// Counts in these warehouses. See [`crate::Target::counts`].
pub fn counts(admin: &mut impl Admin, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, SqlError> {
    let mut found = None;
    admin.query_each(&select(warehouses), &mut |row| found = parse(row))?;
    found.ok_or_else(|| {
        SqlError::Decode("the counts of DISTRICT, HISTORY and NEW-ORDER are no three numbers".into())
    })
}

/// Returns the query for one row of three counts. One statement, because most databases give each statement a snapshot.
fn select(warehouses: &RangeInclusive<u32>) -> String {
    let of = |column: &str| format!("{column} BETWEEN {} AND {}", warehouses.start(), warehouses.end());
    format!(
        "SELECT next_order_ids, payments, new_orders FROM \
         (SELECT coalesce(sum(d_next_o_id), 0) AS next_order_ids FROM district WHERE {}) AS d, \
         (SELECT count(*) AS payments FROM history WHERE {}) AS h, \
         (SELECT count(*) AS new_orders FROM new_order WHERE {}) AS n",
        of("d_w_id"),
        of("h_w_id"),
        of("no_w_id")
    )
}

fn parse(row: &[Option<&str>]) -> Option<LedgerCounts> {
    let [next_order_ids, payments, new_orders] = row else { return None };
    let number = |text: &Option<&str>| text.and_then(|text| text.parse().ok());
    Some(LedgerCounts {
        next_order_ids: number(next_order_ids)?,
        payments: number(payments)?,
        new_orders: number(new_orders)?,
    })
}
