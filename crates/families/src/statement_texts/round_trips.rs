//! The round trips of every transaction in every mode, recorded by a connection that answers without a database.

use super::assert_as_before;
use crate::mysql::product;
use crate::postgres::session;
use lydite_database::sql::connection::{Connection, Step};
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::session::SqlSession;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::statement::Statement;
use lydite_database::sql::value::{Field, Rows, Value};
use lydite_database::{Session, TxMode};
use lydite_tpcc::text::Text;
use lydite_tpcc::transactions::{
    CustomerSelector, Delivery, NewOrder, OrderLineInput, OrderStatus, Payment, StockLevel, UpdateItem,
    UpdateStock, WarehouseBalances,
};
use lydite_tpcc::{
    CarrierId, Cents, CustomerId, Dike, DistrictId, ItemId, Outcome, Standard, Transaction, WarehouseId,
};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

/// A connection that records each round trip in a line.
struct Recorder(Arc<Mutex<String>>);

impl Recorder {
    fn round_trip(&self, steps: &[Step<'_>], rows: &mut [Rows]) -> Result<(), SqlError> {
        let sent: Vec<String> =
            steps.iter().map(|(statement, params)| format!("{statement:?} {params:?}")).collect();
        writeln!(self.0.lock(), "  {}", sent.join("; ")).expect("a text takes all");
        for ((statement, params), rows) in steps.iter().zip(rows) {
            answer(&format!("{statement:?}"), params, rows)?;
        }
        Ok(())
    }
}

impl Connection for Recorder {
    fn run(&mut self, statement: Statement, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError> {
        self.round_trip(&[(statement, params)], std::slice::from_mut(rows))
    }

    fn pipeline(&mut self, steps: &[Step<'_>], rows: &mut [Rows]) -> Result<(), SqlError> {
        self.round_trip(steps, rows)
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        writeln!(self.0.lock(), "  roll back").expect("a text takes all");
        Ok(())
    }
}

/// A value of an answer.
#[derive(Clone)]
enum Cell {
    Null,
    Int(i64),
    Text(&'static str),
    Time,
    Ints(Vec<i64>),
    Texts(usize),
    Bools(usize),
    Times(usize),
}

use Cell::{Bools, Int, Ints, Null, Texts, Time, Times};

/// Fills in an answer with this number of changed rows.
fn fill(rows: &mut Rows, affected: u64, answered: &[Vec<Cell>]) {
    rows.reset(answered.first().map_or(1, Vec::len));
    for cell in answered.iter().flatten() {
        let field = match cell {
            Null => Field::Null,
            Int(value) => Field::Int(*value),
            Cell::Text(text) => rows.text_field(text),
            Time => Field::Time(1_700_000_000_000_000),
            Ints(values) => rows.array_field(values.iter().map(|&value| Field::Int(value))),
            Bools(count) => rows.array_field((0..*count).map(|place| Field::Bool(place % 2 == 0))),
            Times(count) => rows.array_field((0..*count).map(|_| Field::Time(1_700_000_000_000_000))),
            Texts(count) => {
                let texts: Vec<Field> = (0..*count).map(|_| rows.text_field("element")).collect();
                rows.array_field(texts.into_iter())
            }
        };
        rows.push(field);
    }
    rows.set_affected(affected);
}

fn int(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(value) => *value,
        other => panic!("{other:?} is no number"),
    }
}

fn ints(value: &Value<'_>) -> Vec<i64> {
    match value {
        Value::Ints(values) => values.iter().map(|&value| i64::from(value)).collect(),
        other => panic!("{other:?} is no array"),
    }
}

/// Returns the distinct pairs of numbers among these parameters.
fn pairs(params: &[Value<'_>]) -> BTreeSet<(i64, i64)> {
    params.chunks(2).map(|pair| (int(&pair[0]), int(&pair[1]))).collect()
}

/// Returns the columns of a customer who pays.
fn customer(c_id: i64) -> Vec<Cell> {
    let credit = if c_id % 2 == 0 { "BC" } else { "GC" };
    let mut cells = vec![Cell::Text("x"); 9];
    cells.extend([Time, Cell::Text(credit), Int(5_000_000), Int(1_234), Int(-1_000), Int(c_id)]);
    cells.push(if credit == "BC" { Cell::Text("bad") } else { Null });
    cells
}

/// Lines of each order that a Delivery delivers.
const DELIVERED_LINES: i64 = 2;
/// Parameters of a line of ORDER-LINE.
const LINE_COLUMNS: usize = 9;

/// Answers as a database that has every requested row, except for items above the last one.
fn answer(statement: &str, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError> {
    let there = |item: &i64| *item <= 100_000;
    let address = || vec![Cell::Text("x"); 6];
    let word = Cell::Text("word");
    let mut affected = 1;
    let answered: Vec<Vec<Cell>> = match statement {
        "OrderWarehouse" => vec![vec![Int(1_000), Time]],
        "OrderCustomer" => vec![vec![Int(500), Cell::Text("LAST"), Cell::Text("GC")]],
        "OrderDistrict" | "BatchTakeOrderId" => vec![vec![Int(900), Int(3_001)]],
        "Item" if there(&int(&params[0])) => vec![vec![Int(100), word.clone(), word]],
        "Item" => vec![],
        "BatchItems" => (1..)
            .zip(ints(&params[0]))
            .filter(|(_, item)| there(item))
            .map(|(number, _)| vec![Int(number), Int(100), word.clone(), word.clone()])
            .collect(),
        "BatchLines" => {
            let numbers = ints(&params[3]);
            let count = numbers.len();
            vec![if count == 0 {
                vec![Null; 3]
            } else {
                vec![Ints(numbers), Ints(vec![40; count]), Texts(count)]
            }]
        }
        "ManyItems" => params
            .iter()
            .map(int)
            .filter(there)
            .collect::<BTreeSet<i64>>()
            .into_iter()
            .map(|item| vec![Int(item), Int(100), word.clone(), word.clone()])
            .collect(),
        "ManyStocks" => pairs(&params[1..])
            .into_iter()
            .map(|(w_id, item)| vec![Int(w_id), Int(item), Int(50), word.clone(), word.clone()])
            .collect(),
        "CallNewOrder" => {
            let items = ints(&params[4]);
            if !items.iter().all(there) {
                return Err(SqlError::Database {
                    retry: None,
                    unavailable: false,
                    doubtful: false,
                    code: "LY001".into(),
                    message: "Item number is not valid".into(),
                    detail: Some("3001|GC|LAST".into()),
                });
            }
            let count = items.len();
            let mut cells = vec![Int(3_001), Time, Cell::Text("LAST"), Cell::Text("GC")];
            cells.extend([Int(500), Int(1_000), Int(900), Int(12_345)]);
            cells.extend([Texts(count), Ints(vec![40; count]), Bools(count), Ints(vec![100; count])]);
            vec![cells]
        }
        "CustomersByName" => [11, 12, 13].map(|c_id| vec![Int(c_id)]).into(),
        "PaymentCustomer" | "PaidCustomer" => vec![customer(int(&params[2]))],
        "BatchPayCustomer" => vec![customer(7)],
        "BatchPayCustomerByName" => vec![customer(12)],
        "CustomerData" => vec![vec![Cell::Text("old")]],
        "PaymentDistrict" | "BatchPayDistrict" => vec![address()],
        "PaymentWarehouse" | "BatchPayWarehouse" => vec![[address(), vec![Time]].concat()],
        "CallPayment" => vec![[customer(12), vec![Time], address(), address()].concat()],
        "StatusCustomer" | "BatchStatusByName" => {
            vec![vec![Int(12), word.clone(), Cell::Text("OE"), word, Int(-1_000)]]
        }
        "LastOrder" => vec![vec![Int(2_000), Time, Null]],
        "OrderLines" => vec![vec![Int(5), Int(1), Int(5), Int(700), Null]; 2],
        "BatchLastOrderLines" => {
            vec![vec![Int(2_000), Time, Int(4), Int(5), Int(1), Int(5), Int(700), Time]; 2]
        }
        "CallOrderStatus" => {
            let mut cells = vec![Int(12), word.clone(), Cell::Text("OE"), word, Int(-1_000)];
            cells.extend([Int(2_000), Time, Int(4)]);
            cells.extend([[5, 6], [1, 1], [5, 5], [700, 800]].map(|column| Ints(column.into())));
            cells.push(Times(2));
            vec![cells]
        }
        // The third district has no order.
        "OldestNewOrder" if int(&params[1]) == 3 => vec![],
        "OldestNewOrder" => vec![vec![Int(2_100 + int(&params[1]))]],
        "LeastNewOrder" => vec![vec![Null]],
        "DeliveredOrder" => vec![vec![Int(7), Int(DELIVERED_LINES)]],
        "SetDeliveryDate" => {
            affected = DELIVERED_LINES as u64;
            vec![]
        }
        "SumOfLines" => vec![vec![Int(1_400)]],
        // Another Delivery takes the order of the second district first.
        "BatchDeliver" if ints(&params[1]).contains(&1) => {
            vec![vec![Int(1), Int(2_101), Int(1), Int(2_101)], vec![Int(2), Null, Int(1), Int(2_102)]]
        }
        "BatchDeliver" => vec![vec![Int(2), Int(2_103), Int(1), Int(2_103)]],
        "DeleteNewOrders" => {
            affected = pairs(&params[1..]).len() as u64;
            vec![]
        }
        "SetCarriers" => {
            affected = pairs(&params[2..]).len() as u64;
            vec![]
        }
        "SetDeliveryDates" => {
            affected = pairs(&params[1..]).len() as u64 * DELIVERED_LINES as u64;
            vec![]
        }
        "DeliveredOrders" => pairs(&params[1..])
            .into_iter()
            .rev()
            .map(|(d_id, _)| vec![Int(d_id), Int(7), Int(1_400), Int(DELIVERED_LINES)])
            .collect(),
        lines if lines.starts_with("Insert") && lines.ends_with("Lines") => {
            affected = (params.len() / LINE_COLUMNS) as u64;
            vec![]
        }
        "CallDelivery" => vec![vec![Ints(vec![2_101, 2_102, 0])]],
        "NextOrderId" => vec![vec![Int(3_001)]],
        "CountLowStock" | "CountLowStocks" | "BatchStockLevel" | "CallStockLevel" => vec![vec![Int(17)]],
        "NextOrderIds" => {
            let districts = pairs(params).into_iter();
            districts.map(|(w_id, d_id)| vec![Int(w_id), Int(d_id), Int(3_000 + w_id)]).collect()
        }
        "StockQuantity" => vec![vec![Int(50)]],
        "BatchUpdateStock" => {
            let numbers = ints(&params[0]);
            let left = vec![40; numbers.len()];
            vec![vec![Ints(numbers), Ints(left)]]
        }
        "CallUpdateStock" => vec![vec![Ints(vec![40; ints(&params[1]).len()])]],
        "ItemPrice" => vec![vec![Int(100 + int(&params[0]))]],
        "CallUpdateItem" => vec![vec![Ints(vec![102, 101])]],
        "WarehouseBalance" => vec![vec![Int(300_000)]],
        "CallSelectBalance" => vec![vec![Ints(vec![300_000; ints(&params[0]).len()])]],
        stock if stock.starts_with("Stock") => vec![vec![Int(50), word.clone(), word]],
        _ => vec![],
    };
    fill(rows, affected, &answered);
    Ok(())
}

/// Returns an input of each transaction type, and several of types whose round trips depend on the input.
fn transactions() -> Vec<(&'static str, Transaction)> {
    let (w_id, d_id) = (WarehouseId(1), DistrictId(2));
    let lines = [(9, 1), (5, 2), (9, 1), (3, 1)].map(|(i_id, supply)| OrderLineInput {
        i_id: ItemId(i_id),
        supply_w_id: WarehouseId(supply),
        quantity: 5,
    });
    let order = NewOrder { w_id, d_id, c_id: CustomerId(7), lines: lines.into_iter().collect() };
    let rounds = [1, 3].map(|line| order.lines[line]).into_iter().collect();
    let mut unused = order.clone();
    unused.lines[3].i_id = ItemId(100_001);
    let by_name = CustomerSelector::LastName(Text::from("BARBARBAR").expect("a short name"));
    let by_number = CustomerSelector::Id(CustomerId(7));
    let payment = |customer| {
        let (c_w_id, c_d_id, amount) = (WarehouseId(2), DistrictId(5), Cents(4_250));
        Transaction::Standard(Standard::Payment(Payment { w_id, d_id, c_w_id, c_d_id, customer, amount }))
    };
    let status =
        |customer| Transaction::Standard(Standard::OrderStatus(OrderStatus { w_id, d_id, customer }));
    let level = |others: &[(WarehouseId, DistrictId)]| {
        let others = others.iter().copied().collect();
        Transaction::Standard(Standard::StockLevel(StockLevel { w_id, d_id, threshold: 15, others }))
    };
    let balances = || WarehouseBalances { w_id, warehouses: [1, 2].map(WarehouseId).into_iter().collect() };
    let items = [1, 2].map(ItemId);
    vec![
        ("New-Order", Transaction::Standard(Standard::NewOrder(order))),
        ("New-Order with an unused item", Transaction::Standard(Standard::NewOrder(unused))),
        ("Payment by number", payment(by_number)),
        ("Payment by name", payment(by_name)),
        ("Order-Status by number", status(by_number)),
        ("Order-Status by name", status(by_name)),
        (
            "Delivery",
            Transaction::Standard(Standard::Delivery(Delivery {
                w_id,
                districts: 3,
                carrier_id: CarrierId(4),
            })),
        ),
        ("Stock-Level", level(&[])),
        ("Stock-Level of two districts", level(&[(WarehouseId(2), d_id)])),
        ("dUpdateStock", Transaction::Dike(Dike::UpdateStock(UpdateStock { w_id, rounds }))),
        ("dUpdateItem", Transaction::Dike(Dike::UpdateItem(UpdateItem::once(w_id, items)))),
        ("dUpdateBalance", Transaction::Dike(Dike::UpdateBalance(balances()))),
        ("dSelectBalance", Transaction::Dike(Dike::SelectBalance(balances()))),
    ]
}

#[test]
fn every_transaction_takes_the_same_round_trips_as_before() {
    let postgres = session::dialect(Isolation::RepeatableRead);
    let mysql = product::of("8.4.3", "Source distribution").dialect;
    let log = Arc::new(Mutex::new(String::new()));
    for (database, dialect, mode) in [
        ("PostgreSQL", postgres, TxMode::Statements),
        ("PostgreSQL", postgres, TxMode::Batched),
        ("MySQL", mysql, TxMode::Batched),
        ("PostgreSQL", postgres, TxMode::Procedures),
        ("MySQL", mysql, TxMode::Procedures),
    ] {
        let mut session = SqlSession::new(Recorder(Arc::clone(&log)), mode, dialect);
        for (name, transaction) in transactions() {
            writeln!(log.lock(), "{name}, {mode} on {database}:").expect("a text takes all");
            let outcome = session.execute(&transaction);
            let outcome = match &outcome {
                Ok(Outcome::Standard(outcome)) => format!("Ok({outcome:?})"),
                Ok(Outcome::Dike(outcome)) => format!("Ok({outcome:?})"),
                Err(error) => format!("Err({error:?})"),
            };
            writeln!(log.lock(), "  -> {outcome}\n").expect("a text takes all");
        }
    }
    assert_as_before("round_trips.txt", &log.lock());
}
