//! The rows that New-Orders and Payments write, as three queries. The caller puts them on one snapshot, if the database
//! has snapshots.

use crate::sql::dialect::Dialect;
use crate::sql::meta::{Admin, in_words};
use crate::sql::sql_error::SqlError;
use crate::written::{PaymentKey, Payments, Written, WrittenOrder};
use lydite_tpcc::{Cents, CustomerId, DistrictId, OrderId, WarehouseId};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Reads the rows of these warehouses. See [`crate::Target::written`].
pub fn written(
    admin: &mut impl Admin,
    dialect: &Dialect,
    warehouses: &RangeInclusive<u32>,
    orders_from: Option<OrderId>,
) -> Result<Written, SqlError> {
    let of = |column: &str| format!("{column} BETWEEN {} AND {}", warehouses.start(), warehouses.end());
    let mut written = Written::default();
    let districts = format!("SELECT d_w_id, d_id, d_next_o_id FROM district WHERE {}", of("d_w_id"));
    read(admin, &districts, |[w_id, d_id, next]| {
        let district = (WarehouseId(number(w_id)?), DistrictId(number(d_id)?));
        written.next_orders.insert(district, OrderId(number(next)?));
        Some(())
    })?;
    if let Some(from) = orders_from {
        let orders = format!(
            "SELECT o_w_id, o_d_id, o_id, o_c_id FROM orders WHERE {} AND o_id >= {from}",
            of("o_w_id")
        );
        read(admin, &orders, |[w_id, d_id, o_id, c_id]| {
            written.orders.push(WrittenOrder {
                w_id: WarehouseId(number(w_id)?),
                d_id: DistrictId(number(d_id)?),
                o_id: OrderId(number(o_id)?),
                c_id: CustomerId(number(c_id)?),
            });
            Some(())
        })?;
    }
    let payments = format!(
        "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, {}, count(*), sum(h_c_id) FROM history WHERE {} \
         GROUP BY h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_amount",
        (dialect.money_text)("h_amount"),
        of("h_w_id")
    );
    read(admin, &payments, |[w_id, d_id, c_w_id, c_d_id, amount, rows, customers]| {
        let key = PaymentKey {
            w_id: WarehouseId(number(w_id)?),
            d_id: DistrictId(number(d_id)?),
            c_w_id: WarehouseId(number(c_w_id)?),
            c_d_id: DistrictId(number(c_d_id)?),
            amount: cents(amount?)?,
        };
        written.payments.insert(key, Payments { rows: number(rows)?, customers: number(customers)? });
        Some(())
    })?;
    Ok(written)
}

/// Passes the rows of a query to `each`, which returns `None` for a row that it can't read.
pub(super) fn read<const COLUMNS: usize>(
    admin: &mut impl Admin,
    query: &str,
    mut each: impl FnMut([Option<&str>; COLUMNS]) -> Option<()>,
) -> Result<(), SqlError> {
    let mut unread = None;
    admin.query_each(query, &mut |row| {
        let columns: Option<[Option<&str>; COLUMNS]> = row.try_into().ok();
        if columns.and_then(&mut each).is_none() {
            unread.get_or_insert_with(|| in_words(row));
        }
    })?;
    match unread {
        None => Ok(()),
        Some(row) => Err(SqlError::Decode(format!("{query}: the row {row} has other values than numbers"))),
    }
}

pub(super) fn number<T: FromStr>(text: Option<&str>) -> Option<T> {
    text?.parse().ok()
}

/// Reads an amount with two decimals.
pub(super) fn cents(text: &str) -> Option<Cents> {
    let (whole, part) = text.trim().split_once('.')?;
    (part.len() == 2).then(|| format!("{whole}{part}").parse().ok().map(Cents)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_two_decimals() {
        assert_eq!(cents("4337.05"), Some(Cents(433_705)));
        assert_eq!(cents("-0.10"), Some(Cents(-10)));
        for wrong in ["4337", "4337.5", "4337.055", "", "a.bc"] {
            assert_eq!(cents(wrong), None, "{wrong}");
        }
    }
}
