//! Rows that New-Orders and Payments write, for the comparison of a database with the log of what it acknowledged.

use lydite_tpcc::{Cents, CustomerId, DistrictId, OrderId, WarehouseId};
use std::collections::{BTreeMap, HashMap};

/// Rows that New-Orders and Payments wrote in some warehouses. See [`crate::Target::written`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// D_NEXT_O_ID of each district.
    pub next_orders: BTreeMap<(WarehouseId, DistrictId), OrderId>,
    /// Orders, in any order.
    pub orders: Vec<WrittenOrder>,
    /// Rows of HISTORY. They have no key, so equal ones are counted.
    pub payments: HashMap<PaymentKey, Payments>,
}

/// An order: its key and its customer, in the order's own district.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WrittenOrder {
    /// O_W_ID.
    pub w_id: WarehouseId,
    /// O_D_ID.
    pub d_id: DistrictId,
    /// O_ID.
    pub o_id: OrderId,
    /// O_C_ID.
    pub c_id: CustomerId,
}

/// Columns that tell payments apart in [`Written`]. The customer is left out: all loaded rows have the same amount, so
/// they become one entry for each district. Payments of a run seldom have equal amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentKey {
    /// H_W_ID.
    pub w_id: WarehouseId,
    /// H_D_ID.
    pub d_id: DistrictId,
    /// H_C_W_ID.
    pub c_w_id: WarehouseId,
    /// H_C_D_ID.
    pub c_d_id: DistrictId,
    /// H_AMOUNT.
    pub amount: Cents,
}

/// Payments with the same [`PaymentKey`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payments {
    /// Number of rows.
    pub rows: u64,
    /// Sum of H_C_ID.
    pub customers: u64,
}

impl Payments {
    /// Adds a payment by a customer.
    pub fn add(&mut self, c_id: CustomerId) {
        self.rows += 1;
        self.customers += u64::from(c_id.0);
    }
}
