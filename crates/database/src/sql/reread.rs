//! The rows of some transactions, and counts that show half a commit, as plain queries.

use crate::reread::{
    FoundCustomer, FoundLine, FoundOrder, FoundPayment, FoundRows, FoundStock, HalfCounts, RowKeys,
};
use crate::sql::dialect::Dialect;
use crate::sql::meta::Admin;
use crate::sql::sql_error::SqlError;
use crate::sql::written::{cents, number, read};
use lydite_tpcc::text::Text;
use lydite_tpcc::{Cents, CustomerId, DistrictId, ItemId, OrderId, WarehouseId};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Most keys of one query.
const KEYS: usize = 50;

/// Reads the rows of these keys. See [`crate::Target::reread`].
pub fn reread(admin: &mut impl Admin, dialect: &Dialect, keys: &RowKeys) -> Result<FoundRows, SqlError> {
    let mut found = FoundRows::default();
    let orders: Vec<[i64; 3]> = keys.orders.iter().map(|(w, d, o)| [w.get(), d.get(), o.get()]).collect();
    for part in orders.chunks(KEYS) {
        let query = format!(
            "SELECT o_w_id, o_d_id, o_id, o_c_id, CASE WHEN o_entry_d IS NULL THEN 0 ELSE 1 END, o_carrier_id, \
             o_ol_cnt, o_all_local FROM orders WHERE {}",
            any_of(["o_w_id", "o_d_id", "o_id"], part)
        );
        read(admin, &query, |[w, d, o, c, dated, carrier, ol_cnt, all_local]| {
            let order = FoundOrder {
                c_id: CustomerId(number(c)?),
                is_dated: flag(dated)?,
                carrier_id: carrier
                    .map(|carrier| carrier.parse().ok())
                    .map_or(Some(None), |id| id.map(Some))?,
                ol_cnt: number(ol_cnt)?,
                all_local: flag(all_local)?,
            };
            found
                .orders
                .push(((WarehouseId(number(w)?), DistrictId(number(d)?), OrderId(number(o)?)), order));
            Some(())
        })?;
        let query = format!(
            "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, {}, \
             CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE 1 END, ol_dist_info FROM order_line WHERE {}",
            (dialect.money_text)("ol_amount"),
            any_of(["ol_w_id", "ol_d_id", "ol_o_id"], part)
        );
        read(admin, &query, |[w, d, o, line, item, supply, quantity, amount, delivered, dist]| {
            let line = FoundLine {
                number: number(line)?,
                i_id: ItemId(number(item)?),
                supply_w_id: WarehouseId(number(supply)?),
                quantity: number(quantity)?,
                amount: cents(amount?)?,
                is_delivered: flag(delivered)?,
                dist_info: dist?.to_string(),
            };
            found.lines.push(((WarehouseId(number(w)?), DistrictId(number(d)?), OrderId(number(o)?)), line));
            Some(())
        })?;
        let query = format!(
            "SELECT no_w_id, no_d_id, no_o_id FROM new_order WHERE {}",
            any_of(["no_w_id", "no_d_id", "no_o_id"], part)
        );
        read(admin, &query, |[w, d, o]| {
            found.new_orders.push((WarehouseId(number(w)?), DistrictId(number(d)?), OrderId(number(o)?)));
            Some(())
        })?;
    }
    customers(admin, dialect, keys, &mut found)?;
    let stocks: Vec<[i64; 2]> = keys.stocks.iter().map(|(w, i)| [w.get(), i.get()]).collect();
    for part in stocks.chunks(KEYS) {
        let query = format!(
            "SELECT s_w_id, s_i_id, s_quantity, s_ytd, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, \
             s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock WHERE {}",
            any_of(["s_w_id", "s_i_id"], part)
        );
        read(admin, &query, |[w, item, quantity, ytd, dist @ ..]: [Option<&str>; 14]| {
            let mut texts = [Text::new(); 10];
            for (text, dist) in texts.iter_mut().zip(dist) {
                *text = Text::from(dist?).ok()?;
            }
            let stock = FoundStock { quantity: number(quantity)?, ytd: number(ytd)?, dist: texts };
            found.stocks.push(((WarehouseId(number(w)?), ItemId(number(item)?)), stock));
            Some(())
        })?;
    }
    Ok(found)
}

/// Reads the customers with their payments, and the names that payments repeat.
fn customers(
    admin: &mut impl Admin,
    dialect: &Dialect,
    keys: &RowKeys,
    found: &mut FoundRows,
) -> Result<(), SqlError> {
    let customers: Vec<[i64; 3]> =
        keys.customers.iter().map(|(w, d, c)| [w.get(), d.get(), c.get()]).collect();
    if customers.is_empty() {
        return Ok(());
    }
    for part in customers.chunks(KEYS) {
        let query = format!(
            "SELECT c_w_id, c_d_id, c_id, c_credit, c_data FROM customer WHERE {}",
            any_of(["c_w_id", "c_d_id", "c_id"], part)
        );
        read(admin, &query, |[w, d, c, credit, data]| {
            let customer = FoundCustomer { credit: credit?.to_string(), data: data?.to_string() };
            let key = (WarehouseId(number(w)?), DistrictId(number(d)?), CustomerId(number(c)?));
            found.customers.push((key, customer));
            Some(())
        })?;
    }
    // HISTORY has no index, so it is read once. The list sorts out most rows before they are compared with each key.
    let ids: BTreeSet<i64> = customers.iter().map(|[_, _, c]| *c).collect();
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    let query = format!(
        "SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, {}, h_date, h_data FROM history WHERE h_c_id IN ({}) \
         AND ({})",
        (dialect.money_text)("h_amount"),
        ids.join(", "),
        any_of(["h_c_w_id", "h_c_d_id", "h_c_id"], &customers)
    );
    read(admin, &query, |[c_w, c_d, c, w, d, amount, date, data]| {
        let key = (WarehouseId(number(c_w)?), DistrictId(number(c_d)?), CustomerId(number(c)?));
        if keys.customers.contains(&key) {
            let payment = FoundPayment {
                w_id: WarehouseId(number(w)?),
                d_id: DistrictId(number(d)?),
                amount: cents(amount?)?,
                date: date.unwrap_or_default().to_string(),
                data: data.unwrap_or_default().to_string(),
            };
            found.payments.push((key, payment));
        }
        Some(())
    })?;
    read(admin, "SELECT w_id, w_name FROM warehouse", |[w, name]| {
        found.warehouses.insert(WarehouseId(number(w)?), name?.to_string());
        Some(())
    })?;
    read(admin, "SELECT d_w_id, d_id, d_name FROM district", |[w, d, name]| {
        found.districts.insert((WarehouseId(number(w)?), DistrictId(number(d)?)), name?.to_string());
        Some(())
    })
}

/// Counts both sides of transactions in these warehouses. See [`crate::Target::halves`].
pub fn halves(
    admin: &mut impl Admin,
    dialect: &Dialect,
    warehouses: &RangeInclusive<u32>,
    loaded_orders: OrderId,
) -> Result<HalfCounts, SqlError> {
    let of = |column: &str| format!("{column} BETWEEN {} AND {}", warehouses.start(), warehouses.end());
    let money = |sum: &str| (dialect.money_text)(&format!("coalesce({sum}, 0)"));
    let mut found = HalfCounts::default();
    let query = format!(
        "SELECT coalesce(sum(d_next_o_id - 1), 0), {} FROM district WHERE {}",
        money("sum(d_ytd)"),
        of("d_w_id")
    );
    read(admin, &query, |[ids, ytd]| {
        (found.order_ids, found.districts_ytd) = (number(ids)?, amount(ytd)?);
        Some(())
    })?;
    let query = format!("SELECT count(*), coalesce(sum(o_ol_cnt), 0) FROM orders WHERE {}", of("o_w_id"));
    read(admin, &query, |[orders, lines]| {
        (found.orders, found.announced_lines) = (number(orders)?, number(lines)?);
        Some(())
    })?;
    let query = format!("SELECT count(*) FROM order_line WHERE {}", of("ol_w_id"));
    read(admin, &query, |[lines]| {
        found.lines = number(lines)?;
        Some(())
    })?;
    let query = format!(
        "SELECT count(*) FROM order_line WHERE {} AND ol_o_id > {loaded_orders}",
        of("ol_supply_w_id")
    );
    read(admin, &query, |[lines]| {
        found.supplied_lines = number(lines)?;
        Some(())
    })?;
    let query = format!("SELECT coalesce(sum(s_order_cnt), 0) FROM stock WHERE {}", of("s_w_id"));
    read(admin, &query, |[orders]| {
        found.stock_orders = number(orders)?;
        Some(())
    })?;
    let query = format!("SELECT count(*) FROM history WHERE {}", of("h_c_w_id"));
    read(admin, &query, |[payments]| {
        found.payments = number(payments)?;
        Some(())
    })?;
    let query = format!("SELECT {} FROM history WHERE {}", money("sum(h_amount)"), of("h_w_id"));
    read(admin, &query, |[amounts]| {
        found.amounts = amount(amounts)?;
        Some(())
    })?;
    let query = format!("SELECT coalesce(sum(c_payment_cnt), 0) FROM customer WHERE {}", of("c_w_id"));
    read(admin, &query, |[paid]| {
        found.paid = number(paid)?;
        Some(())
    })?;
    Ok(found)
}

/// Returns a condition that holds for the rows of these keys.
fn any_of<const COLUMNS: usize>(columns: [&str; COLUMNS], keys: &[[i64; COLUMNS]]) -> String {
    let row = |key: &[i64; COLUMNS]| {
        let equal: Vec<String> =
            columns.iter().zip(key).map(|(name, value)| format!("{name} = {value}")).collect();
        format!("({})", equal.join(" AND "))
    };
    keys.iter().map(row).collect::<Vec<_>>().join(" OR ")
}

fn flag(text: Option<&str>) -> Option<bool> {
    text.map(|text| text != "0")
}

/// Reads a sum of amounts, which has no decimals if it is zero.
fn amount(text: Option<&str>) -> Option<Cents> {
    let text = text?.trim();
    cents(text).or_else(|| (text == "0").then_some(Cents(0)))
}
