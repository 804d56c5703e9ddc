//! Computations in the profiles of the transactions (clauses 2.4.2 to 2.6.2), for all databases.

use lydite_tpcc::money::order_total;
use lydite_tpcc::text::{Credit, LastName, Text, truncated};
use lydite_tpcc::transactions::{NewOrderLine, NewOrderOutcome, Payment};
use lydite_tpcc::{CustomerId, OrderId, Rate, RolledBackOrder, Standard, Timestamp, Transaction};

/// True if the transaction is an order with an item that does not exist (clause 2.4.1.4).
pub fn asks_for_an_unused_item(transaction: &Transaction) -> bool {
    matches!(transaction, Transaction::Standard(Standard::NewOrder(order)) if order.has_unused_item())
}

/// Values that New-Order reads before the lines. The terminal shows all of them.
pub struct OrderHead {
    /// O_ID of the new order.
    pub o_id: OrderId,
    /// O_ENTRY_D.
    pub entry_d: Timestamp,
    /// C_LAST.
    pub c_last: LastName,
    /// C_CREDIT.
    pub c_credit: Credit,
    /// C_DISCOUNT.
    pub c_discount: Rate,
    /// W_TAX.
    pub w_tax: Rate,
    /// D_TAX.
    pub d_tax: Rate,
}

impl OrderHead {
    /// Returns the answer to an order with an unused item (clause 2.4.3.4).
    pub fn rolled_back(self) -> RolledBackOrder {
        let Self { o_id, c_last, c_credit, .. } = self;
        RolledBackOrder { o_id, c_last, c_credit }
    }

    /// Returns the answer, with the total of the lines (clause 2.4.3.3).
    pub fn complete(self, lines: impl IntoIterator<Item = NewOrderLine>) -> NewOrderOutcome {
        let Self { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax } = self;
        let lines: Vec<NewOrderLine> = lines.into_iter().collect();
        let sum = lines.iter().map(|line| line.amount).sum();
        let total = order_total(sum, c_discount, w_tax, d_tax);
        NewOrderOutcome { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax, total, lines }
    }
}

/// Returns S_QUANTITY after an order (clause 2.4.2.2).
pub fn left_in_stock(in_stock: i32, ordered: i32) -> i32 {
    if in_stock >= ordered + 10 { in_stock - ordered } else { in_stock - ordered + 91 }
}

/// True if a description marks its item as an original. If both I_DATA and S_DATA do, the line is brand, otherwise
/// generic (clause 2.4.2.2).
pub fn is_original(data: &str) -> bool {
    data.contains("ORIGINAL")
}

/// True if both descriptions mark the item as an original (brand-generic, clause 2.4.2.2).
pub fn is_brand(i_data: &str, s_data: &str) -> bool {
    is_original(i_data) && is_original(s_data)
}

/// Returns the position of the customer that stands for a last name among `found` ones: ⌈n/2⌉, here counted from 0
/// (clauses 2.5.2.2 and 2.6.2.2).
pub fn middle(found: usize) -> usize {
    found.div_ceil(2) - 1
}

/// Returns C_DATA after a payment by a customer with bad credit (clause 2.5.2.2).
pub fn bad_credit_data(input: &Payment, c_id: CustomerId, old: &str) -> Text<500> {
    truncated(&format!(
        "{c_id} {} {} {} {} {}|{old}",
        input.c_d_id, input.c_w_id, input.d_id, input.w_id, input.amount
    ))
}

/// Returns H_DATA: W_NAME and D_NAME with four blanks between (clause 2.5.2.2).
pub fn history_data(w_name: &str, d_name: &str) -> Text<24> {
    truncated(&format!("{w_name}    {d_name}"))
}
