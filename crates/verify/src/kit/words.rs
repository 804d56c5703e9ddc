//! Answers, inputs and states in the words of the driver protocol, for the reasons of failures.

use lydite_database::DatabaseState;
use lydite_tpcc::rows::Address;
use lydite_tpcc::transactions::{
    CustomerSelector, NewOrderOutcome, OrderLineInput, OrderStatusOutcome, PaymentOutcome, RolledBackOrder,
};
use lydite_tpcc::{Outcome, Standard, StandardOutcome, Timestamp, Transaction};
use std::fmt::Display;

/// Lines of an order that an input shows.
const LINES: usize = 3;

/// Fields of an answer in the order of the protocol, with their values.
type Fields = Vec<(String, String)>;

/// Returns the state of a database, as the second half of a sentence.
pub(super) fn state(state: &DatabaseState) -> String {
    match state {
        DatabaseState::Empty => "is empty".into(),
        DatabaseState::Foreign { tables } => {
            format!("has tables that Lydite did not make ({})", tables.join(", "))
        }
        DatabaseState::Partial { tables, problem, .. } => {
            format!("has tables that make up no database ({}): {problem}", tables.join(", "))
        }
        DatabaseState::Loading { items, warehouses, meta } => {
            let items = if *items { "complete" } else { "missing" };
            let (complete, all) = (warehouses.len(), meta.warehouses);
            format!("is half loaded: the items are {items}, {complete} of {all} warehouses complete")
        }
        DatabaseState::Ready { meta } => format!(
            "is loaded with {} warehouses of size {}, seed {}",
            meta.warehouses,
            meta.size.name(),
            meta.seed
        ),
        DatabaseState::Micro { .. } => "holds the records of the microbenchmark".into(),
        DatabaseState::AnyScale => "is loaded at any scale".into(),
    }
}

/// Returns the first field that differs in two answers.
pub(super) fn difference(seen: &Outcome, wanted: &Outcome) -> String {
    match (seen, wanted) {
        (Outcome::Standard(seen), Outcome::Standard(wanted)) if seen.kind() == wanted.kind() => {
            first(&fields(seen), &fields(wanted))
        }
        _ => format!("it is an answer to {} instead of {}", seen.kind().name(), wanted.kind().name()),
    }
}

/// Returns the first field that differs in two rolled-back orders.
pub(super) fn difference_of_rolled_back(seen: &RolledBackOrder, wanted: &RolledBackOrder) -> String {
    first(&rolled_back(seen), &rolled_back(wanted))
}

fn first(seen: &Fields, wanted: &Fields) -> String {
    let differs = seen.iter().zip(wanted).find(|(seen, wanted)| seen != wanted);
    match differs {
        Some(((name, seen), (of_wanted, wanted))) if name == of_wanted => {
            format!("{name} is {seen} instead of {wanted}")
        }
        _ => format!("it has {} fields instead of {}", seen.len(), wanted.len()),
    }
}

/// Returns the input of a transaction.
pub(super) fn input(transaction: &Transaction) -> String {
    let Transaction::Standard(transaction) = transaction else {
        return transaction.kind().title().to_owned();
    };
    let by = |customer: &CustomerSelector| match customer {
        CustomerSelector::Id(c_id) => format!("c_id {c_id}"),
        CustomerSelector::LastName(name) => format!("c_last {}", name.as_str()),
    };
    let line = |line: &OrderLineInput| {
        format!("i_id {} from supply_w_id {} quantity {}", line.i_id, line.supply_w_id, line.quantity)
    };
    match transaction {
        Standard::NewOrder(order) => {
            let mut lines: Vec<String> = order.lines.iter().take(LINES).map(line).collect();
            if order.lines.len() > LINES {
                lines.push("…".into());
            }
            format!(
                "w_id {}, d_id {}, c_id {}, {} lines: {}",
                order.w_id,
                order.d_id,
                order.c_id,
                order.lines.len(),
                lines.join("; ")
            )
        }
        Standard::Payment(payment) => format!(
            "w_id {}, d_id {}, c_w_id {}, c_d_id {}, {}, h_amount {}",
            payment.w_id,
            payment.d_id,
            payment.c_w_id,
            payment.c_d_id,
            by(&payment.customer),
            payment.amount.0
        ),
        Standard::OrderStatus(status) => {
            format!("w_id {}, d_id {}, {}", status.w_id, status.d_id, by(&status.customer))
        }
        Standard::Delivery(delivery) => {
            format!("w_id {}, o_carrier_id {}", delivery.w_id, delivery.carrier_id)
        }
        Standard::StockLevel(level) => {
            format!("w_id {}, d_id {}, threshold {}", level.w_id, level.d_id, level.threshold)
        }
    }
}

fn fields(outcome: &StandardOutcome) -> Fields {
    match outcome {
        StandardOutcome::NewOrder(order) => new_order(order),
        StandardOutcome::Payment(payment) => of_payment(payment),
        StandardOutcome::OrderStatus(status) => order_status(status),
        StandardOutcome::Delivery(delivery) => {
            let orders: Vec<String> = delivery
                .delivered
                .iter()
                .map(|(d_id, o_id)| format!("order {o_id} of district {d_id}"))
                .collect();
            let orders = if orders.is_empty() { "nothing".into() } else { orders.join(", ") };
            vec![("delivered".into(), orders)]
        }
        StandardOutcome::StockLevel(level) => vec![("low_stock".into(), level.low_stock.to_string())],
    }
}

/// Makes a field.
fn of(name: impl Into<String>, value: impl Display) -> (String, String) {
    (name.into(), value.to_string())
}

/// Makes a field with a value that may be missing.
fn perhaps(name: impl Into<String>, value: Option<impl Display>) -> (String, String) {
    (name.into(), value.map_or_else(|| "nil".to_owned(), |value| value.to_string()))
}

/// Makes the field of a point in time: answers are compared without the time itself.
fn time(name: impl Into<String>, at: Option<Timestamp>) -> (String, String) {
    (name.into(), if at.is_some() { "a point in time" } else { "nil" }.to_owned())
}

fn new_order(order: &NewOrderOutcome) -> Fields {
    let mut fields = vec![
        of("o_id", order.o_id),
        of("c_last", order.c_last.as_str()),
        of("c_credit", order.c_credit.as_str()),
        of("c_discount", order.c_discount.0),
        of("w_tax", order.w_tax.0),
        of("d_tax", order.d_tax.0),
        of("total", order.total.0),
    ];
    for (number, line) in order.lines.iter().enumerate() {
        let name = |field: &str| format!("lines[{number}].{field}");
        fields.extend([
            of(name("i_name"), line.i_name.as_str()),
            of(name("s_quantity"), line.s_quantity),
            of(name("brand"), line.brand),
            of(name("i_price"), line.i_price.0),
            of(name("amount"), line.amount.0),
        ]);
    }
    fields
}

fn address(of_whom: &str, address: &Address) -> Fields {
    let Address { street_1, street_2, city, state, zip } = address;
    let name = |field: &str| format!("{of_whom}.{field}");
    vec![
        of(name("street_1"), street_1.as_str()),
        of(name("street_2"), street_2.as_str()),
        of(name("city"), city.as_str()),
        of(name("state"), state.as_str()),
        of(name("zip"), zip.as_str()),
    ]
}

fn of_payment(payment: &PaymentOutcome) -> Fields {
    let mut fields = address("warehouse", &payment.warehouse);
    fields.extend(address("district", &payment.district));
    fields.extend([
        of("c_id", payment.c_id),
        of("c_first", payment.c_first.as_str()),
        of("c_middle", payment.c_middle.as_str()),
        of("c_last", payment.c_last.as_str()),
    ]);
    fields.extend(address("address", &payment.address));
    fields.extend([
        of("c_phone", payment.c_phone.as_str()),
        of("c_credit", payment.c_credit.as_str()),
        of("c_credit_lim", payment.c_credit_lim.0),
        of("c_discount", payment.c_discount.0),
        of("c_balance", payment.c_balance.0),
        perhaps("c_data", payment.c_data.as_ref().map(|data| data.as_str())),
    ]);
    fields
}

fn order_status(status: &OrderStatusOutcome) -> Fields {
    let mut fields = vec![
        of("c_id", status.c_id),
        of("c_first", status.c_first.as_str()),
        of("c_middle", status.c_middle.as_str()),
        of("c_last", status.c_last.as_str()),
        of("c_balance", status.c_balance.0),
        of("o_id", status.o_id),
        perhaps("carrier_id", status.carrier_id),
        of("number of lines", status.lines.len()),
    ];
    for (number, line) in status.lines.iter().enumerate() {
        let name = |field: &str| format!("lines[{number}].{field}");
        fields.extend([
            of(name("i_id"), line.i_id),
            of(name("supply_w_id"), line.supply_w_id),
            of(name("quantity"), line.quantity),
            of(name("amount"), line.amount.0),
            time(name("delivery_d"), line.delivery_d),
        ]);
    }
    fields
}

fn rolled_back(order: &RolledBackOrder) -> Fields {
    vec![of("o_id", order.o_id), of("c_last", order.c_last.as_str()), of("c_credit", order.c_credit.as_str())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::transactions::DeliveryOutcome;
    use lydite_tpcc::{DistrictId, OrderId};

    #[test]
    fn a_delivery_of_fewer_districts_names_the_orders() {
        let delivery = |orders: &[u64]| {
            let delivered = orders.iter().map(|&order| (DistrictId(1), OrderId(order))).collect();
            Outcome::from(DeliveryOutcome { delivered })
        };
        assert_eq!(
            difference(&delivery(&[]), &delivery(&[7, 8])),
            "delivered is nothing instead of order 7 of district 1, order 8 of district 1"
        );
    }
}
