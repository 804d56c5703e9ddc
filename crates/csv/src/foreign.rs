//! Files of other programs: their names, and the order of their columns.
//!
//! go-tpc writes `DATABASE.TABLE.N.csv`, with the columns in the standard's order and the word NULL for nulls. Exports of
//! BenchBase's tables are `TABLE.csv` with the columns of its DDL, and `oorder.csv` for ORDER. A first line with the names
//! of the columns sets any order.

use crate::cells::Order;
use crate::error::Unfit;
use crate::rows_file::{RowsFile, first_line};
use lydite_tpcc::schema::Table;
use std::path::Path;

/// Name that BenchBase gives to ORDER.
const OORDER: &str = "oorder";

/// Columns of a table in the order of BenchBase's DDL.
fn benchbase(table: Table) -> Vec<&'static str> {
    let columns = match table {
        Table::Item => "i_id i_name i_price i_data i_im_id",
        Table::Warehouse => "w_id w_ytd w_tax w_name w_street_1 w_street_2 w_city w_state w_zip",
        Table::District => {
            "d_w_id d_id d_ytd d_tax d_next_o_id d_name d_street_1 d_street_2 d_city d_state d_zip"
        }
        Table::Customer => {
            "c_w_id c_d_id c_id c_discount c_credit c_last c_first c_credit_lim c_balance c_ytd_payment \
             c_payment_cnt c_delivery_cnt c_street_1 c_street_2 c_city c_state c_zip c_phone c_since c_middle c_data"
        }
        Table::History => "h_c_id h_c_d_id h_c_w_id h_d_id h_w_id h_date h_amount h_data",
        Table::Orders => "o_w_id o_d_id o_id o_c_id o_carrier_id o_ol_cnt o_all_local o_entry_d",
        Table::NewOrder => "no_w_id no_d_id no_o_id",
        Table::OrderLine => {
            "ol_w_id ol_d_id ol_o_id ol_number ol_i_id ol_delivery_d ol_amount ol_supply_w_id ol_quantity ol_dist_info"
        }
        Table::Stock => {
            "s_w_id s_i_id s_quantity s_ytd s_order_cnt s_remote_cnt s_data s_dist_01 s_dist_02 s_dist_03 s_dist_04 \
             s_dist_05 s_dist_06 s_dist_07 s_dist_08 s_dist_09 s_dist_10"
        }
    };
    columns.split_whitespace().collect()
}

/// Returns the table that a file is of by its name, and true if BenchBase's order of columns is meant. `all` are the
/// names of all files.
fn named(name: &str, all: &[String]) -> Option<(Table, bool)> {
    let stem = name.get(..name.len().checked_sub(4)?)?;
    if stem == OORDER {
        return Some((Table::Orders, true));
    }
    if let Some(table) = Table::from_name(stem) {
        return Some((table, all.iter().any(|other| other == "oorder.csv")));
    }
    let (before, number) = stem.rsplit_once('.')?;
    let (_, table) = before.rsplit_once('.')?;
    number.parse::<u32>().ok()?;
    Some((Table::from_name(table)?, false))
}

/// Returns the file of this name.
///
/// # Errors
/// Nobody knows which table it is of, or the order of its columns.
pub(crate) fn file_of(dir: &Path, name: &str, all: &[String]) -> Result<RowsFile, Unfit> {
    let (table, benchbase_order) = named(name, all).ok_or_else(|| {
        Unfit::from(
            "is of no table that Lydite knows: use TABLE.csv, or DATABASE.TABLE.N.csv as go-tpc writes, with the tables \
         item, warehouse, district, customer, history, orders (or oorder), new_order, order_line and stock",
        )
    })?;
    let path = dir.join(name);
    let first = first_line(&path)?;
    let is_header = first.iter().any(|field| table.schema().columns.iter().any(|of| of.name == field));
    let order = if is_header {
        let names = table.schema().columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ");
        Order::of_names(table, &first).ok_or_else(|| {
            Unfit(format!("has a first line with other columns than {}: {names}", table.name()))
        })?
    } else if benchbase_order {
        Order::of_names(table, &benchbase(table)).unwrap_or_else(|| Order::of_schema(table))
    } else {
        Order::of_schema(table)
    };
    Ok(RowsFile { name: name.to_owned(), path, table, order, header: is_header, entry: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_orders_of_benchbase_have_each_column_once() {
        for table in Table::ALL {
            assert!(Order::of_names(table, &benchbase(table)).is_some(), "{}", table.name());
        }
    }

    #[test]
    fn names_tell_the_table_and_the_program() {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(named("test.order_line.12.csv", &[]), Some((Table::OrderLine, false)));
        assert_eq!(named("my.db.stock.0.csv", &[]), Some((Table::Stock, false)));
        assert_eq!(named("stock.csv", &all(&["stock.csv"])), Some((Table::Stock, false)));
        assert_eq!(named("stock.csv", &all(&["oorder.csv", "stock.csv"])), Some((Table::Stock, true)));
        assert_eq!(named("oorder.csv", &[]), Some((Table::Orders, true)));
        for name in ["notes.csv", "stock.x.csv", "test.stocks.1.csv", "csv"] {
            assert_eq!(named(name, &[]), None, "{name}");
        }
    }
}
