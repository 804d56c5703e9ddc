//! Selection of the customer by Payment and Order-Status.

use super::steps::{KvTxError, missing, scan_prefix};
use crate::kv::layout::customer_by_name;
use crate::kv::store::{Direction, StoreTx};
use crate::profile::middle;
use lydite_tpcc::transactions::CustomerSelector;
use lydite_tpcc::{CustomerId, DistrictId, WarehouseId};
use std::ops::ControlFlow;

/// Finds the customer that the terminal selected; by last name, the one in the middle.
pub(super) fn find_customer(
    tx: &mut impl StoreTx,
    w_id: WarehouseId,
    d_id: DistrictId,
    customer: &CustomerSelector,
) -> Result<CustomerId, KvTxError> {
    match customer {
        CustomerSelector::Id(c_id) => Ok(*c_id),
        CustomerSelector::LastName(name) => {
            let prefix = customer_by_name::prefix(w_id, d_id, name);
            let mut named = Vec::with_capacity(8);
            // The keys come in the order of C_FIRST.
            scan_prefix(tx, customer_by_name::TABLE, &prefix, Direction::Forward, |key, _| {
                named.push(customer_by_name::c_id(key));
                ControlFlow::Continue(())
            })?;
            if named.is_empty() {
                return Err(missing(format_args!("{}", customer.in_words(w_id, d_id))));
            }
            Ok(named.swap_remove(middle(named.len()))?)
        }
    }
}
