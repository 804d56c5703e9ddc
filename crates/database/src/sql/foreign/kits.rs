//! The programs that load TPC-C databases, recognized by the names of their tables and columns.

use crate::sql::foreign::names::Names;
use lydite_tpcc::schema::Table;

/// A program that loads TPC-C databases.
#[derive(Debug)]
pub struct Kit {
    /// Name of the program.
    pub name: &'static str,
    /// Text before the names of its tables.
    prefix: &'static str,
    /// True if a number stands behind the names.
    numbered: bool,
    /// Name of ORDER.
    orders: &'static str,
    /// Name of NEW-ORDER.
    new_order: &'static str,
    /// Columns at certain places of their tables. Kits that share all other names differ in them.
    places: &'static [(Table, usize, &'static str)],
    /// True if it stores money as binary floats.
    floats: bool,
}

/// The column after the key of WAREHOUSE, in the order of the standard.
const NAME_FIRST: (Table, usize, &str) = (Table::Warehouse, 1, "w_name");
/// The same in kits that put the changing columns first.
const YTD_FIRST: (Table, usize, &str) = (Table::Warehouse, 1, "w_ytd");

/// A kit with the most frequent names.
const PLAIN: Kit = Kit {
    name: "",
    prefix: "",
    numbered: false,
    orders: "orders",
    new_order: "new_order",
    places: &[NAME_FIRST, (Table::History, 0, "h_c_id")],
    floats: false,
};

/// The known programs, some in several versions. The source of the names is their DDL.
static KITS: [Kit; 10] = [
    Kit { name: "go-tpc", ..PLAIN },
    Kit { name: "go-tpc", places: &[NAME_FIRST, (Table::History, 0, "row_id")], ..PLAIN },
    Kit { name: "py-tpcc", floats: true, ..PLAIN },
    Kit { name: "HammerDB", places: &[YTD_FIRST], ..PLAIN },
    Kit { name: "HammerDB", places: &[NAME_FIRST, (Table::History, 0, "h_date")], ..PLAIN },
    // C_YTD_PAYMENT is a float.
    Kit { name: "BenchBase", orders: "oorder", places: &[YTD_FIRST], floats: true, ..PLAIN },
    Kit { name: "BenchmarkSQL", prefix: "bmsql_", orders: "oorder", places: &[YTD_FIRST], ..PLAIN },
    Kit { name: "sysbench-tpcc", numbered: true, new_order: "new_orders", ..PLAIN },
    Kit { name: "tpcc-mysql", new_order: "new_orders", ..PLAIN },
    Kit { name: "CockroachDB's workload", orders: "order", places: &[NAME_FIRST], ..PLAIN },
];

/// Returns the program that makes such tables; `None` if no known one does.
pub(super) fn of(names: &Names) -> Option<&'static Kit> {
    let is = |kit: &&'static Kit| {
        names.prefix() == kit.prefix
            && names.is_numbered() == kit.numbered
            && names.alias(Table::Orders) == kit.orders
            && names.alias(Table::NewOrder) == kit.new_order
            && kit.places.iter().all(|&(table, place, name)| {
                names.columns(table).get(place).is_some_and(|column| column == name)
            })
            && names.has_float_money() == kit.floats
    };
    KITS.iter().find(is)
}
