//! Rows of some transactions, read again after a run to hold them against the answers, and counts that show half a
//! commit.

use lydite_tpcc::text::Text;
use lydite_tpcc::{Cents, CustomerId, DistrictId, ItemId, OrderId, WarehouseId};
use std::collections::{BTreeMap, BTreeSet};

/// O_W_ID, O_D_ID, O_ID.
pub type OrderKey = (WarehouseId, DistrictId, OrderId);
/// C_W_ID, C_D_ID, C_ID.
pub type CustomerKey = (WarehouseId, DistrictId, CustomerId);
/// S_W_ID, S_I_ID.
pub type StockKey = (WarehouseId, ItemId);

/// Keys of the rows that [`crate::Target::reread`] reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowKeys {
    /// Orders, with their lines and their rows of NEW-ORDER.
    pub orders: BTreeSet<OrderKey>,
    /// Customers, with their payments.
    pub customers: BTreeSet<CustomerKey>,
    /// Stock.
    pub stocks: BTreeSet<StockKey>,
}

/// Rows of [`RowKeys`], in any order. A row that does not exist is missing here, one that exists twice is here twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundRows {
    /// Rows of ORDER.
    pub orders: Vec<(OrderKey, FoundOrder)>,
    /// Rows of ORDER-LINE.
    pub lines: Vec<(OrderKey, FoundLine)>,
    /// Rows of NEW-ORDER.
    pub new_orders: Vec<OrderKey>,
    /// Rows of HISTORY.
    pub payments: Vec<(CustomerKey, FoundPayment)>,
    /// Rows of CUSTOMER.
    pub customers: Vec<(CustomerKey, FoundCustomer)>,
    /// Rows of STOCK.
    pub stocks: Vec<(StockKey, FoundStock)>,
    /// W_NAME of all warehouses.
    pub warehouses: BTreeMap<WarehouseId, String>,
    /// D_NAME of all districts.
    pub districts: BTreeMap<(WarehouseId, DistrictId), String>,
}

/// Columns of a row of ORDER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundOrder {
    /// O_C_ID.
    pub c_id: CustomerId,
    /// True if O_ENTRY_D is not null.
    pub is_dated: bool,
    /// O_CARRIER_ID.
    pub carrier_id: Option<i64>,
    /// O_OL_CNT.
    pub ol_cnt: i64,
    /// O_ALL_LOCAL.
    pub all_local: bool,
}

/// Columns of a row of ORDER-LINE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// OL_NUMBER.
    pub number: i64,
    /// OL_I_ID.
    pub i_id: ItemId,
    /// OL_SUPPLY_W_ID.
    pub supply_w_id: WarehouseId,
    /// OL_QUANTITY.
    pub quantity: i64,
    /// OL_AMOUNT.
    pub amount: Cents,
    /// True if OL_DELIVERY_D is not null.
    pub is_delivered: bool,
    /// OL_DIST_INFO.
    pub dist_info: String,
}

/// Columns of a row of HISTORY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPayment {
    /// H_W_ID.
    pub w_id: WarehouseId,
    /// H_D_ID.
    pub d_id: DistrictId,
    /// H_AMOUNT.
    pub amount: Cents,
    /// H_DATE as a text. Later ones are greater.
    pub date: String,
    /// H_DATA.
    pub data: String,
}

/// Columns of a row of CUSTOMER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCustomer {
    /// C_CREDIT.
    pub credit: String,
    /// C_DATA.
    pub data: String,
}

/// Columns of a row of STOCK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundStock {
    /// S_QUANTITY.
    pub quantity: i64,
    /// S_YTD.
    pub ytd: i64,
    /// S_DIST_01 to S_DIST_10.
    pub dist: [Text<24>; 10],
}

/// Counts of both sides of transactions that may span servers. The sides of each pair are equal in a database whose
/// commits are whole, as in one that was just loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HalfCounts {
    /// Σ (D_NEXT_O_ID − 1).
    pub order_ids: i64,
    /// Rows of ORDER.
    pub orders: i64,
    /// Σ O_OL_CNT.
    pub announced_lines: i64,
    /// Rows of ORDER-LINE.
    pub lines: i64,
    /// Rows of ORDER-LINE that were not loaded, by OL_SUPPLY_W_ID.
    pub supplied_lines: i64,
    /// Σ S_ORDER_CNT.
    pub stock_orders: i64,
    /// Rows of HISTORY by H_C_W_ID.
    pub payments: i64,
    /// Σ C_PAYMENT_CNT.
    pub paid: i64,
    /// Σ H_AMOUNT by H_W_ID.
    pub amounts: Cents,
    /// Σ D_YTD.
    pub districts_ytd: Cents,
}

impl HalfCounts {
    /// Describes the sides that differ: half a commit. `None` if all commits are whole. `plays_update_stock` is true if
    /// dUpdateStocks change S_ORDER_CNT, too.
    #[must_use]
    pub fn half_a_commit(&self, plays_update_stock: bool) -> Option<String> {
        let Self { order_ids, orders, announced_lines, lines, supplied_lines, stock_orders, .. } = *self;
        let sides = [
            ("New-Order", ("ORDERS", orders, "rows"), ("Σ (D_NEXT_O_ID − 1)", order_ids)),
            ("New-Order", ("ORDER_LINE", lines, "rows"), ("Σ O_OL_CNT", announced_lines)),
            (
                "New-Order",
                ("ORDER_LINE", supplied_lines, "rows since the load"),
                ("Σ S_ORDER_CNT", stock_orders),
            ),
            ("Payment", ("HISTORY", self.payments, "rows"), ("Σ C_PAYMENT_CNT", self.paid)),
        ];
        let mut found: Vec<String> = sides
            .into_iter()
            .filter(|(_, (_, one, _), (sum, other))| {
                // A dUpdateStock takes from stock without an order.
                one != other && !(plays_update_stock && *sum == "Σ S_ORDER_CNT" && other > one)
            })
            .map(|(kind, (table, one, unit), (sum, other))| {
                format!("of a {kind}: {table} has {one} {unit}, and {sum} is {other}")
            })
            .collect();
        if self.amounts != self.districts_ytd {
            found.push(format!(
                "of a Payment: Σ H_AMOUNT is {}, and Σ D_YTD is {}",
                self.amounts, self.districts_ytd
            ));
        }
        (!found.is_empty()).then(|| format!("half a commit {}", found.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: HalfCounts = HalfCounts {
        order_ids: 6_000,
        orders: 6_000,
        announced_lines: 60_000,
        lines: 60_000,
        supplied_lines: 1_000,
        stock_orders: 1_000,
        payments: 6_100,
        paid: 6_100,
        amounts: Cents(60_000),
        districts_ytd: Cents(60_000),
    };

    #[test]
    fn each_side_of_a_transaction_is_named_with_its_numbers() {
        assert_eq!(WHOLE.half_a_commit(false), None);
        let said = |counts: HalfCounts| counts.half_a_commit(false).expect("a half");
        assert_eq!(
            said(HalfCounts { paid: 6_099, ..WHOLE }),
            "half a commit of a Payment: HISTORY has 6100 rows, and Σ C_PAYMENT_CNT is 6099"
        );
        assert_eq!(
            said(HalfCounts { stock_orders: 997, ..WHOLE }),
            "half a commit of a New-Order: ORDER_LINE has 1000 rows since the load, and Σ S_ORDER_CNT is 997"
        );
        assert_eq!(
            said(HalfCounts { order_ids: 6_001, lines: 59_990, districts_ytd: Cents(59_000), ..WHOLE }),
            "half a commit of a New-Order: ORDERS has 6000 rows, and Σ (D_NEXT_O_ID − 1) is 6001, of a New-Order: \
             ORDER_LINE has 59990 rows, and Σ O_OL_CNT is 60000, of a Payment: Σ H_AMOUNT is 600.00, and Σ D_YTD is \
             590.00"
        );
    }

    #[test]
    fn a_dupdatestock_is_no_half_of_an_order() {
        let more = HalfCounts { stock_orders: 1_400, ..WHOLE };
        assert_eq!(more.half_a_commit(true), None);
        assert!(more.half_a_commit(false).is_some());
        assert!(HalfCounts { stock_orders: 900, ..WHOLE }.half_a_commit(true).is_some());
    }
}
