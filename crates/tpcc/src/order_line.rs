//! Lines of an order. dUpdateStock uses them too.

use crate::ids::{ItemId, WarehouseId};

/// Fewest lines of an order (clause 2.4.1.3).
pub(crate) const MIN_ORDER_LINES: usize = 5;
/// Most lines of an order (clause 2.4.1.3).
pub const MAX_ORDER_LINES: usize = 15;

/// One line of an order as it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLineInput {
    /// OL_I_ID.
    pub i_id: ItemId,
    /// OL_SUPPLY_W_ID.
    pub supply_w_id: WarehouseId,
    /// OL_QUANTITY, 1 to 10.
    pub quantity: u8,
}
