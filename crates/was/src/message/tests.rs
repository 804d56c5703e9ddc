//! Every field of every screen arrives as it was sent, and no bytes make the reader panic.

use super::*;
use crate::frame::{self, ANSWER_MAX, REQUEST_MAX};
use arrayvec::ArrayVec;
use lydite_tpcc::rows::Address;
use lydite_tpcc::text::truncated as text;
use lydite_tpcc::transactions::{
    CustomerSelector, MAX_ORDER_LINES, NewOrder, NewOrderLine, NewOrderOutcome, OrderLineInput, OrderStatus,
    OrderStatusLine, OrderStatusOutcome, Payment, PaymentOutcome, StockLevel, StockLevelOutcome,
};
use lydite_tpcc::{CarrierId, Cents, CustomerId, Dike, ItemId, OrderId, Rate, Timestamp};
use proptest::prelude::*;

fn address(of: &str) -> Address {
    Address {
        street_1: text(&format!("{of} street 1")),
        street_2: text(&format!("{of} street 2")),
        city: text(&format!("{of} city")),
        state: text("ST"),
        zip: text("123411111"),
    }
}

/// Inputs of all types, no two fields of which are equal.
fn inputs() -> Vec<Standard> {
    let line = |number: u32| OrderLineInput {
        i_id: ItemId(99_000 + number),
        supply_w_id: WarehouseId(70_000 + number),
        quantity: number as u8 + 1,
    };
    vec![
        Standard::NewOrder(NewOrder {
            w_id: WarehouseId(1),
            d_id: DistrictId(2),
            c_id: CustomerId(3),
            lines: (0..MAX_ORDER_LINES as u32).map(line).collect(),
        }),
        Standard::Payment(Payment {
            w_id: WarehouseId(4),
            d_id: DistrictId(5),
            c_w_id: WarehouseId(6),
            c_d_id: DistrictId(7),
            customer: CustomerSelector::LastName(text("BARPRESBAR")),
            amount: Cents(123_456),
        }),
        Standard::OrderStatus(OrderStatus {
            w_id: WarehouseId(8),
            d_id: DistrictId(9),
            customer: CustomerSelector::Id(CustomerId(10)),
        }),
        Standard::Delivery(Delivery { w_id: WarehouseId(11), districts: 12, carrier_id: CarrierId(13) }),
        Standard::StockLevel(StockLevel {
            w_id: WarehouseId(14),
            d_id: DistrictId(15),
            threshold: 16,
            others: ArrayVec::from_iter([(WarehouseId(17), DistrictId(18))]),
        }),
    ]
}

/// Output fields of all types, no two of which are equal.
fn outcomes() -> Vec<StandardOutcome> {
    let order_line = |number: u32| NewOrderLine {
        i_name: text(&format!("item {number}")),
        s_quantity: -7 - number as i32,
        brand: number.is_multiple_of(2),
        i_price: Cents(100 + i64::from(number)),
        amount: Cents(999_000 + i64::from(number)),
    };
    let status_line = |number: u32| OrderStatusLine {
        i_id: ItemId(1_000 + number),
        supply_w_id: WarehouseId(2_000 + number),
        quantity: number as u8,
        amount: Cents(3_000 + i64::from(number)),
        delivery_d: number.is_multiple_of(2).then_some(Timestamp(4_000 + i64::from(number))),
    };
    vec![
        StandardOutcome::NewOrder(NewOrderOutcome {
            o_id: OrderId(3_001),
            entry_d: Timestamp(-1),
            c_last: text("OUGHTABLEPRI"),
            c_credit: text("BC"),
            c_discount: Rate(4_999),
            w_tax: Rate(1_999),
            d_tax: Rate(1_998),
            total: Cents(i64::MAX),
            lines: (0..MAX_ORDER_LINES as u32).map(order_line).collect(),
        }),
        StandardOutcome::Payment(Box::new(PaymentOutcome {
            h_date: Timestamp(1),
            warehouse: address("w"),
            district: address("d"),
            c_id: CustomerId(2_999),
            c_first: text("first"),
            c_middle: text("OE"),
            c_last: text("ESEANTICALLY"),
            address: address("c"),
            c_phone: text("0123456789012345"),
            c_since: Timestamp(2),
            c_credit: text("GC"),
            c_credit_lim: Cents(5_000_000),
            c_discount: Rate(1),
            c_balance: Cents(-1_000),
            c_data: Some(text(&"x".repeat(200))),
        })),
        StandardOutcome::OrderStatus(OrderStatusOutcome {
            c_id: CustomerId(1),
            c_first: text("other first"),
            c_middle: text("EO"),
            c_last: text("EINGEINGEING"),
            c_balance: Cents(i64::MIN),
            o_id: OrderId(u64::MAX),
            entry_d: Timestamp(i64::MAX),
            carrier_id: Some(CarrierId(10)),
            lines: (0..MAX_ORDER_LINES as u32).map(status_line).collect(),
        }),
        StandardOutcome::StockLevel(StockLevelOutcome { low_stock: 77 }),
    ]
}

fn answers() -> Vec<Answer> {
    let url = "postgres://host/tpcc".to_owned();
    let order = RolledBackOrder { o_id: OrderId(5), c_last: text("BARBARBAR"), c_credit: text("GC") };
    let delivered =
        DeliveryOutcome { delivered: vec![(DistrictId(1), OrderId(2)), (DistrictId(3), OrderId(4))] };
    let detail = "a reason".to_owned();
    let errors = [
        TxError::Aborted { reason: AbortReason::Deadlock, detail: detail.clone() },
        TxError::Unavailable { committed: Committed::No, detail: detail.clone() },
        TxError::Unavailable { committed: Committed::Unknown, detail: detail.clone() },
        TxError::Broken(detail.clone()),
        TxError::Fatal(detail.clone()),
        TxError::wrong_rows(detail.clone()),
        TxError::WrongRows { committed: Committed::Unknown, detail: detail.clone() },
    ];
    let mut answers = vec![
        Answer::Operator { number: 1, served: Served { url, warehouses: 2, seed: 3 } },
        Answer::Terminal { known: true, number: 4 },
        Answer::Menu { number: 5, kind: StandardKind::StockLevel },
        Answer::RolledBack { number: 6, order },
        Answer::Queued { number: 7 },
        Answer::Delivered(Ok(delivered)),
        Answer::Rejected { why: detail },
    ];
    answers.extend(errors.iter().map(|error| Answer::Failed { number: 8, error: error.clone() }));
    answers.extend(errors.into_iter().map(|error| Answer::Delivered(Err(error))));
    answers.extend(outcomes().into_iter().map(|outcome| Answer::Output { number: 9, outcome }));
    answers
}

fn requests() -> Vec<Request> {
    let id = TerminalId { run: 1, terminal: 2 };
    let mut requests = vec![
        Request::Hello(Hello::Terminal { id, w_id: WarehouseId(3), d_id: DistrictId(4), pending: 5 }),
        Request::Hello(Hello::Operator),
        Request::Menu { number: 6, kind: StandardKind::Payment },
        Request::Repeat(Delivery { w_id: WarehouseId(7), districts: 10, carrier_id: CarrierId(8) }),
        Request::Bye,
    ];
    requests.extend(inputs().into_iter().map(|transaction| Request::Enter {
        number: 9,
        operator: 10,
        transaction,
    }));
    requests
}

/// Returns the contents of a single frame.
fn body(frame: &[u8], most: usize) -> Vec<u8> {
    let (body, rest) = frame::cut(frame, most).unwrap().unwrap();
    assert!(rest.is_empty());
    body.to_vec()
}

/// Clauses 2.4.3 to 2.8.3: the fields that a terminal enters, and those that it must show.
#[test]
fn every_field_of_every_screen_arrives_as_it_was_sent() {
    for request in requests() {
        assert_eq!(Request::read(&body(&request.frame(), REQUEST_MAX)), Ok(request));
    }
    for answer in answers() {
        assert_eq!(Answer::read(&body(&answer.frame(), ANSWER_MAX)), Ok(answer));
    }
}

#[test]
fn a_frame_that_is_too_short_or_too_long_is_rejected() {
    for bytes in requests().iter().map(|request| body(&request.frame(), REQUEST_MAX)) {
        assert!((0..bytes.len()).all(|end| Request::read(&bytes[..end]).is_err()), "{bytes:?}");
        assert!(Request::read(&[&bytes[..], &[0]].concat()).is_err(), "{bytes:?}");
    }
    for bytes in answers().iter().map(|answer| body(&answer.frame(), ANSWER_MAX)) {
        assert!((0..bytes.len()).all(|end| Answer::read(&bytes[..end]).is_err()), "{bytes:?}");
        assert!(Answer::read(&[&bytes[..], &[0]].concat()).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_transaction_without_a_screen_is_rejected() {
    let balances =
        lydite_tpcc::transactions::WarehouseBalances { w_id: WarehouseId(1), warehouses: ArrayVec::new() };
    let transaction = Transaction::Dike(Dike::SelectBalance(balances));
    let error = on_screen(&transaction).unwrap_err();
    assert_eq!(error.to_string(), "terminals have no screen for dSelectBalance");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), tag: u8) {
        let bytes = [&[tag % 0x10][..], &bytes].concat();
        let _ = Request::read(&bytes);
        let _ = frame::cut(&bytes, REQUEST_MAX);
        let answer = [&[0x80 | (tag % 0x10)][..], &bytes[1..]].concat();
        let _ = Answer::read(&answer);
    }

    #[test]
    fn changed_bytes_of_a_request_are_read_or_rejected(which in 0_usize..10, at: usize, to: u8) {
        let requests = requests();
        let mut bytes = body(&requests[which % requests.len()].frame(), REQUEST_MAX);
        let length = bytes.len();
        bytes[at % length] = to;
        if let Ok(request) = Request::read(&bytes) {
            prop_assert_eq!(body(&request.frame(), REQUEST_MAX), bytes);
        }
    }
}
