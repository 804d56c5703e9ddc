//! Head and lines of a New-Order, shared by several ways of sending it.

use crate::error::RUN_CHECK;
use crate::profile::OrderHead;
use crate::sql::session::one;
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::text::Text;
use lydite_tpcc::transactions::{MAX_ORDER_LINES, NewOrder, OrderLineInput};
use lydite_tpcc::{Cents, OrderId, RolledBackOrder, WarehouseId};

/// Returns the error of an order with a missing item: the rollback that the standard prescribes if the terminal entered
/// an unused item (clause 2.4.1.4).
pub(super) fn item_is_missing(input: &NewOrder, order: RolledBackOrder) -> SqlTxError {
    if input.has_unused_item() {
        SqlTxError::UnusedItem(order)
    } else {
        SqlTxError::WrongRows(format!("an item of order {} is missing: {RUN_CHECK}", order.o_id))
    }
}

/// Returns the parameters of [`Statement::UpdateStock`] for an order line. `left` is the new quantity, `home` the
/// warehouse of the order.
pub(crate) fn taken_from_stock(left: i32, line: &OrderLineInput, home: WarehouseId) -> [Value<'static>; 5] {
    [
        Value::Int(i64::from(left)),
        Value::Int(i64::from(line.quantity)),
        Value::Int(i64::from(line.supply_w_id != home)),
        Value::Int(line.supply_w_id.get()),
        Value::Int(line.i_id.get()),
    ]
}

/// Columns of an item: I_PRICE, I_NAME, I_DATA; `None` if it does not exist.
pub(super) type FoundItem = Option<(Cents, Text<24>, Text<50>)>;

/// Reads the order without its lines, from the answers of [`Statement::OrderWarehouse`], [`Statement::OrderCustomer`],
/// and a statement that returns D_TAX and the number of the order.
pub(super) fn read_head(
    input: &NewOrder,
    warehouse: &Rows,
    customer: &Rows,
    district: &Rows,
) -> Result<OrderHead, SqlTxError> {
    one(warehouse, || format!("warehouse {}", input.w_id))?;
    let (w_tax, entry_d) = (warehouse.rate(0, 0)?, warehouse.time(0, 1)?);
    one(customer, || format!("customer {}/{}/{}", input.w_id, input.d_id, input.c_id))?;
    let (c_discount, c_last, c_credit) = (customer.rate(0, 0)?, customer.fixed(0, 1)?, customer.fixed(0, 2)?);
    one(district, || format!("district {}/{}", input.w_id, input.d_id))?;
    let (d_tax, o_id) = (district.rate(0, 0)?, OrderId(district.int(0, 1)?));
    Ok(OrderHead { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax })
}

/// Returns the round of each line, from 1. One statement changes a row only once, so the second line of the same stock
/// goes into a second statement.
pub(super) fn rounds(input: &NewOrder) -> ArrayVec<i32, MAX_ORDER_LINES> {
    let same = |a: usize, b: usize| {
        let (a, b) = (&input.lines[a], &input.lines[b]);
        (a.i_id, a.supply_w_id) == (b.i_id, b.supply_w_id)
    };
    (0..input.lines.len())
        .map(|line| (0..line).filter(|&before| same(before, line)).count() as i32 + 1)
        .collect()
}
