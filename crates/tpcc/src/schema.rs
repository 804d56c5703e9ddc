//! The nine tables as data (clauses 1.3 and 1.4). The DDL, loader and check of every dialect come from them.

use crate::ids::MAX_DISTRICTS;
use crate::named_enum;

named_enum! {
    /// A table of TPC-C. A table stands before those that refer to it. Databases use these names; `ORDER` is spelled
    /// `orders`, since the word is reserved in SQL.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Table {
        /// ITEM: 100 000 rows at any scale.
        Item = "item",
        /// WAREHOUSE: one row for each warehouse.
        Warehouse = "warehouse",
        /// DISTRICT: 10 per warehouse, unless data is skewed.
        District = "district",
        /// CUSTOMER: 3 000 per district.
        Customer = "customer",
        /// HISTORY: one per customer at first, one more with each payment.
        History = "history",
        /// ORDER: 3 000 per district at first.
        Orders = "orders",
        /// NEW-ORDER: the undelivered orders, 900 per district at first.
        NewOrder = "new_order",
        /// ORDER-LINE: 5 to 15 per order.
        OrderLine = "order_line",
        /// STOCK: 100 000 per warehouse.
        Stock = "stock",
    }
}

/// Native type of a column (clause 1.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A whole number whose absolute value stays below this bound, such as an identifier or a counter.
    Integer {
        /// Exclusive bound of the absolute value.
        below: u64,
    },
    /// An exact decimal with two fractional digits and this many digits in all.
    Money {
        /// Total number of digits.
        digits: u8,
    },
    /// An exact decimal with four fractional digits and none before the point.
    Rate,
    /// Variable text of at most this many characters.
    VarText(u16),
    /// Fixed text of this many characters.
    FixedText(u16),
    /// Date and time.
    Time,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in the database, as in the standard in lower case.
    pub name: &'static str,
    /// Type.
    pub kind: ColumnType,
    /// True if the column may be null.
    pub nullable: bool,
}

/// A foreign key (clause 1.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Columns of the referring table.
    pub columns: &'static [&'static str],
    /// Table that the columns refer to.
    pub references: Table,
    /// Columns of that table's primary key.
    pub referenced: &'static [&'static str],
}

/// An index beside the primary key, for the access path of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondaryIndex {
    /// Name in the database.
    pub name: &'static str,
    /// Indexed columns, in order.
    pub columns: &'static [&'static str],
}

/// Columns, keys and indexes of one table.
#[derive(Clone, Copy, Debug)]
pub struct TableSchema {
    /// The table.
    pub table: Table,
    /// Columns in the order of the rows.
    pub columns: &'static [Column],
    /// Primary key; empty for HISTORY.
    pub primary_key: &'static [&'static str],
    /// Foreign keys.
    pub foreign_keys: &'static [ForeignKey],
    /// Indexes beside the primary key.
    pub indexes: &'static [SecondaryIndex],
}

impl Table {
    /// The tables that have rows for each warehouse: all but ITEM.
    pub const OF_WAREHOUSE: [Self; 8] = [
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrder,
        Self::OrderLine,
        Self::Stock,
    ];

    /// Returns the column with the number of the warehouse that a row belongs to; none for ITEM. A row of HISTORY
    /// belongs to the warehouse that took the payment.
    #[must_use]
    pub fn warehouse_column(self) -> Option<&'static str> {
        Some(match self {
            Self::Item => return None,
            Self::Warehouse => "w_id",
            Self::District => "d_w_id",
            Self::Customer => "c_w_id",
            Self::History => "h_w_id",
            Self::Orders => "o_w_id",
            Self::NewOrder => "no_w_id",
            Self::OrderLine => "ol_w_id",
            Self::Stock => "s_w_id",
        })
    }

    /// Returns the table's columns, keys and indexes.
    #[must_use]
    pub fn schema(self) -> &'static TableSchema {
        match self {
            Self::Item => &ITEM,
            Self::Warehouse => &WAREHOUSE,
            Self::District => &DISTRICT,
            Self::Customer => &CUSTOMER,
            Self::History => &HISTORY,
            Self::Orders => &ORDERS,
            Self::NewOrder => &NEW_ORDER,
            Self::OrderLine => &ORDER_LINE,
            Self::Stock => &STOCK,
        }
    }
}

/// Bound of warehouse numbers: more than twice any scale that Lydite can drive (clause 1.4.11).
const W: ColumnType = ColumnType::Integer { below: 1 << 31 };
/// Bound of district numbers. The standard's 20 are not enough for skewed data.
const D: ColumnType = ColumnType::Integer { below: MAX_DISTRICTS as u64 + 1 };
const C: ColumnType = ColumnType::Integer { below: 96_000 };
const I: ColumnType = ColumnType::Integer { below: 200_000 };
const MONEY: ColumnType = ColumnType::Money { digits: 12 };

/// Number of an order. Like [`COUNT`] and [`TOTAL`] it has more digits than clause 1.3.1 asks for at least: enough for a
/// year at [`PER_MINUTE`] (the tests have the arithmetic).
const O: ColumnType = digits(12);
/// Counter that only grows.
const COUNT: ColumnType = digits(12);
/// Sum of payments, or a balance, that grows in one direction for as long as the database is in use.
const TOTAL: ColumnType = ColumnType::Money { digits: 18 };

/// New-Orders a minute, and Payments, for which the columns that only grow are wide enough for a year, even if they all
/// go to one warehouse or to one district.
pub const PER_MINUTE: u64 = 1_000_000;

const fn digits(count: u32) -> ColumnType {
    ColumnType::Integer { below: 10_u64.pow(count) }
}

const fn column(name: &'static str, kind: ColumnType) -> Column {
    Column { name, kind, nullable: false }
}

const fn nullable(name: &'static str, kind: ColumnType) -> Column {
    Column { name, kind, nullable: true }
}

static ITEM: TableSchema = TableSchema {
    table: Table::Item,
    columns: &[
        column("i_id", I),
        column("i_im_id", I),
        column("i_name", ColumnType::VarText(24)),
        column("i_price", ColumnType::Money { digits: 5 }),
        column("i_data", ColumnType::VarText(50)),
    ],
    primary_key: &["i_id"],
    foreign_keys: &[],
    indexes: &[],
};

static WAREHOUSE: TableSchema = TableSchema {
    table: Table::Warehouse,
    columns: &[
        column("w_id", W),
        column("w_name", ColumnType::VarText(10)),
        column("w_street_1", ColumnType::VarText(20)),
        column("w_street_2", ColumnType::VarText(20)),
        column("w_city", ColumnType::VarText(20)),
        column("w_state", ColumnType::FixedText(2)),
        column("w_zip", ColumnType::FixedText(9)),
        column("w_tax", ColumnType::Rate),
        column("w_ytd", TOTAL),
    ],
    primary_key: &["w_id"],
    foreign_keys: &[],
    indexes: &[],
};

static DISTRICT: TableSchema = TableSchema {
    table: Table::District,
    columns: &[
        column("d_id", D),
        column("d_w_id", W),
        column("d_name", ColumnType::VarText(10)),
        column("d_street_1", ColumnType::VarText(20)),
        column("d_street_2", ColumnType::VarText(20)),
        column("d_city", ColumnType::VarText(20)),
        column("d_state", ColumnType::FixedText(2)),
        column("d_zip", ColumnType::FixedText(9)),
        column("d_tax", ColumnType::Rate),
        column("d_ytd", TOTAL),
        column("d_next_o_id", O),
    ],
    primary_key: &["d_w_id", "d_id"],
    foreign_keys: &[ForeignKey { columns: &["d_w_id"], references: Table::Warehouse, referenced: &["w_id"] }],
    indexes: &[],
};

static CUSTOMER: TableSchema = TableSchema {
    table: Table::Customer,
    columns: &[
        column("c_id", C),
        column("c_d_id", D),
        column("c_w_id", W),
        column("c_first", ColumnType::VarText(16)),
        column("c_middle", ColumnType::FixedText(2)),
        column("c_last", ColumnType::VarText(16)),
        column("c_street_1", ColumnType::VarText(20)),
        column("c_street_2", ColumnType::VarText(20)),
        column("c_city", ColumnType::VarText(20)),
        column("c_state", ColumnType::FixedText(2)),
        column("c_zip", ColumnType::FixedText(9)),
        column("c_phone", ColumnType::FixedText(16)),
        column("c_since", ColumnType::Time),
        column("c_credit", ColumnType::FixedText(2)),
        column("c_credit_lim", MONEY),
        column("c_discount", ColumnType::Rate),
        column("c_balance", TOTAL),
        column("c_ytd_payment", TOTAL),
        column("c_payment_cnt", COUNT),
        column("c_delivery_cnt", COUNT),
        column("c_data", ColumnType::VarText(500)),
    ],
    primary_key: &["c_w_id", "c_d_id", "c_id"],
    foreign_keys: &[ForeignKey {
        columns: &["c_w_id", "c_d_id"],
        references: Table::District,
        referenced: &["d_w_id", "d_id"],
    }],
    indexes: &[SecondaryIndex {
        name: "customer_by_name",
        columns: &["c_w_id", "c_d_id", "c_last", "c_first"],
    }],
};

static HISTORY: TableSchema = TableSchema {
    table: Table::History,
    columns: &[
        column("h_c_id", C),
        column("h_c_d_id", D),
        column("h_c_w_id", W),
        column("h_d_id", D),
        column("h_w_id", W),
        column("h_date", ColumnType::Time),
        column("h_amount", ColumnType::Money { digits: 6 }),
        column("h_data", ColumnType::VarText(24)),
    ],
    primary_key: &[],
    foreign_keys: &[
        ForeignKey {
            columns: &["h_c_w_id", "h_c_d_id", "h_c_id"],
            references: Table::Customer,
            referenced: &["c_w_id", "c_d_id", "c_id"],
        },
        ForeignKey {
            columns: &["h_w_id", "h_d_id"],
            references: Table::District,
            referenced: &["d_w_id", "d_id"],
        },
    ],
    indexes: &[],
};

static ORDERS: TableSchema = TableSchema {
    table: Table::Orders,
    columns: &[
        column("o_id", O),
        column("o_d_id", D),
        column("o_w_id", W),
        column("o_c_id", C),
        column("o_entry_d", ColumnType::Time),
        nullable("o_carrier_id", ColumnType::Integer { below: 11 }),
        column("o_ol_cnt", digits(2)),
        column("o_all_local", digits(1)),
    ],
    primary_key: &["o_w_id", "o_d_id", "o_id"],
    foreign_keys: &[ForeignKey {
        columns: &["o_w_id", "o_d_id", "o_c_id"],
        references: Table::Customer,
        referenced: &["c_w_id", "c_d_id", "c_id"],
    }],
    indexes: &[SecondaryIndex {
        name: "orders_by_customer",
        columns: &["o_w_id", "o_d_id", "o_c_id", "o_id"],
    }],
};

static NEW_ORDER: TableSchema = TableSchema {
    table: Table::NewOrder,
    columns: &[column("no_o_id", O), column("no_d_id", D), column("no_w_id", W)],
    primary_key: &["no_w_id", "no_d_id", "no_o_id"],
    foreign_keys: &[ForeignKey {
        columns: &["no_w_id", "no_d_id", "no_o_id"],
        references: Table::Orders,
        referenced: &["o_w_id", "o_d_id", "o_id"],
    }],
    indexes: &[],
};

static ORDER_LINE: TableSchema = TableSchema {
    table: Table::OrderLine,
    columns: &[
        column("ol_o_id", O),
        column("ol_d_id", D),
        column("ol_w_id", W),
        column("ol_number", ColumnType::Integer { below: 16 }),
        column("ol_i_id", I),
        column("ol_supply_w_id", W),
        nullable("ol_delivery_d", ColumnType::Time),
        column("ol_quantity", digits(2)),
        column("ol_amount", ColumnType::Money { digits: 6 }),
        column("ol_dist_info", ColumnType::FixedText(24)),
    ],
    primary_key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
    foreign_keys: &[
        ForeignKey {
            columns: &["ol_w_id", "ol_d_id", "ol_o_id"],
            references: Table::Orders,
            referenced: &["o_w_id", "o_d_id", "o_id"],
        },
        ForeignKey {
            columns: &["ol_supply_w_id", "ol_i_id"],
            references: Table::Stock,
            referenced: &["s_w_id", "s_i_id"],
        },
    ],
    indexes: &[],
};

static STOCK: TableSchema = TableSchema {
    table: Table::Stock,
    columns: &[
        column("s_i_id", I),
        column("s_w_id", W),
        column("s_quantity", digits(4)),
        column("s_dist_01", ColumnType::FixedText(24)),
        column("s_dist_02", ColumnType::FixedText(24)),
        column("s_dist_03", ColumnType::FixedText(24)),
        column("s_dist_04", ColumnType::FixedText(24)),
        column("s_dist_05", ColumnType::FixedText(24)),
        column("s_dist_06", ColumnType::FixedText(24)),
        column("s_dist_07", ColumnType::FixedText(24)),
        column("s_dist_08", ColumnType::FixedText(24)),
        column("s_dist_09", ColumnType::FixedText(24)),
        column("s_dist_10", ColumnType::FixedText(24)),
        column("s_ytd", COUNT),
        column("s_order_cnt", COUNT),
        column("s_remote_cnt", COUNT),
        column("s_data", ColumnType::VarText(50)),
    ],
    primary_key: &["s_w_id", "s_i_id"],
    foreign_keys: &[
        ForeignKey { columns: &["s_w_id"], references: Table::Warehouse, referenced: &["w_id"] },
        ForeignKey { columns: &["s_i_id"], references: Table::Item, referenced: &["i_id"] },
    ],
    indexes: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_a_warehouse_are_all_but_item() {
        assert_eq!(Table::ALL[0], Table::Item);
        assert_eq!(Table::ALL[1..], Table::OF_WAREHOUSE);
    }

    /// Returns the type of a column.
    fn kind(name: &str) -> ColumnType {
        let all = Table::ALL.iter().flat_map(|table| table.schema().columns);
        all.clone().find(|column| column.name == name).expect("a column").kind
    }

    #[test]
    fn columns_that_only_grow_are_wide_enough_for_a_year_at_a_million_a_minute() {
        const YEAR: u64 = PER_MINUTE * 60 * 24 * 365;
        // 525 600 000 000 transactions. A district may get them all, and so may a customer.
        assert_eq!(YEAR, 525_600_000_000);
        for name in ["d_next_o_id", "o_id", "no_o_id", "ol_o_id", "c_payment_cnt", "c_delivery_cnt"] {
            assert!(matches!(kind(name), ColumnType::Integer { below } if below > YEAR), "{name}");
        }
        // A Payment pays 5 000.00 at most, a Delivery credits 15 lines of 9 999.99 at most, and the mean of ten lines
        // with 5 pieces for 50.50 is far below: W_YTD gets 2 628 000 000 000 000.00 at most. The other direction of
        // C_BALANCE is the mean, since no customer has only the dearest orders.
        let paid = u128::from(YEAR) * 500_000;
        let credited = u128::from(YEAR) * 10 * 5 * 5_050;
        for name in ["w_ytd", "d_ytd", "c_ytd_payment", "c_balance"] {
            let ColumnType::Money { digits } = kind(name) else { panic!("money in {name}") };
            assert!(paid.max(credited) < 10_u128.pow(digits.into()), "{name}");
        }
        // NURand (clause 2.1.6) takes the hottest item for 194 of 100 000 lines: each of 13 bits is set three times in
        // four, (3/4)^13 * 2^13 times as often as another item. Ten lines of five pieces each.
        let hottest = u128::from(YEAR) * 10 * 5 * 195 / 100_000;
        assert_eq!(hottest, 51_246_000_000);
        for name in ["s_ytd", "s_order_cnt", "s_remote_cnt"] {
            assert!(
                matches!(kind(name), ColumnType::Integer { below } if u128::from(below) > hottest),
                "{name}"
            );
        }
    }

    #[test]
    fn every_key_names_columns_of_its_table() {
        for table in Table::ALL {
            let schema = table.schema();
            let has = |name: &str| schema.columns.iter().any(|column| column.name == name);
            assert!(schema.primary_key.iter().all(|name| has(name)), "{table:?}");
            let in_key = |column| schema.primary_key.is_empty() || schema.primary_key.contains(&column);
            assert!(table.warehouse_column().is_none_or(|column| has(column) && in_key(column)), "{table:?}");
            assert!(
                schema.indexes.iter().all(|index| index.columns.iter().all(|name| has(name))),
                "{table:?}"
            );
            for key in schema.foreign_keys {
                assert!(key.columns.iter().all(|name| has(name)), "{table:?}");
                assert_eq!(key.referenced, key.references.schema().primary_key, "{table:?}");
            }
        }
    }
}
