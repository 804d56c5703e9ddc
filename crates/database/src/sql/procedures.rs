//! The transactions as calls of stored procedures (`procedures`): one round trip each. The begin and the commit are in
//! one packet with the call, so that the isolation level is set for every transaction, or in the procedure.

use crate::sql::batched::{self, rounds};
use crate::sql::connection::{Connection, SqlError, Step};
use crate::sql::session::{Played, SqlSession, Stop, address, last_order, paid_customer, status_customer};
use crate::sql::statement::Statement;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::outcome::{
    DeliveryOutcome, NewOrderLine, NewOrderOutcome, OrderStatusLine, OrderStatusOutcome,
    SelectBalanceOutcome, StockLevelOutcome, UpdateItemOutcome, UpdateStockOutcome,
};
use lydite_tpcc::text::Text;
use lydite_tpcc::transaction::{
    BALANCE_UPDATE, CustomerSelector, MAX_ORDER_LINES, NewOrder, WarehouseBalances,
};
use lydite_tpcc::{CustomerId, ItemId, OrderId, Outcome, RolledBackOrder, Transaction, WarehouseId};

/// What `lydite_new_order` raises for an unused item; the detail is `O_ID|C_CREDIT|C_LAST`.
pub const UNUSED_ITEM: &str = "LY001";

/// Runs one transaction.
pub(crate) fn play<C: Connection>(session: &mut SqlSession<C>, transaction: &Transaction) -> Played {
    if let Transaction::StockLevel(input) = transaction
        && !input.others.is_empty()
    {
        // A procedure may be a transaction of its own, and this is to be one.
        return batched::stock_level(session, input);
    }
    let rows = send(session, transaction)?;
    // The commit came with the call: an answer that can't be read does not undo it.
    read(rows, transaction).map_err(Stop::CommitFailed)
}

fn send<'s, C: Connection>(
    session: &'s mut SqlSession<C>,
    transaction: &Transaction,
) -> Result<&'s Rows, Stop> {
    match transaction {
        Transaction::NewOrder(input) => {
            let order = input.access_order();
            let rounds = rounds(input);
            type Column = ArrayVec<i32, MAX_ORDER_LINES>;
            let numbers: Column = order.iter().map(|&index| index as i32 + 1).collect();
            let items: Column = order.iter().map(|&index| input.lines[index].i_id.0 as i32).collect();
            let supplies: Column =
                order.iter().map(|&index| input.lines[index].supply_w_id.0 as i32).collect();
            let quantities: Column =
                order.iter().map(|&index| i32::from(input.lines[index].quantity)).collect();
            let rounds: Column = order.iter().map(|&index| rounds[index]).collect();
            let params = [
                Value::Int(input.w_id.get()),
                Value::Int(input.d_id.get()),
                Value::Int(input.c_id.get()),
                Value::Ints(&numbers),
                Value::Ints(&items),
                Value::Ints(&supplies),
                Value::Ints(&quantities),
                Value::Ints(&rounds),
            ];
            call(session, Statement::BeginWrite, Statement::CallNewOrder, &params)
        }
        Transaction::Payment(input) => {
            let (c_id, c_last) = selector(&input.customer);
            let params = [
                Value::Int(input.w_id.get()),
                Value::Int(input.d_id.get()),
                Value::Int(input.c_w_id.get()),
                Value::Int(input.c_d_id.get()),
                c_id,
                c_last,
                Value::Money(input.amount),
            ];
            call(session, Statement::BeginWrite, Statement::CallPayment, &params)
        }
        Transaction::OrderStatus(input) => {
            let (c_id, c_last) = selector(&input.customer);
            let params = [Value::Int(input.w_id.get()), Value::Int(input.d_id.get()), c_id, c_last];
            call(session, Statement::BeginRead, Statement::CallOrderStatus, &params)
        }
        Transaction::Delivery(input) => {
            let params = [
                Value::Int(input.w_id.get()),
                Value::Int(input.carrier_id.get()),
                Value::Int(i64::from(input.districts)),
            ];
            call(session, Statement::BeginWrite, Statement::CallDelivery, &params)
        }
        Transaction::StockLevel(input) => {
            let params = [
                Value::Int(input.w_id.get()),
                Value::Int(input.d_id.get()),
                Value::Int(i64::from(input.threshold)),
            ];
            call(session, Statement::BeginRead, Statement::CallStockLevel, &params)
        }
        Transaction::UpdateStock(input) => {
            let [items, supplies, quantities] = batched::columns(input);
            let params = [
                Value::Int(input.w_id.get()),
                Value::Ints(&items),
                Value::Ints(&supplies),
                Value::Ints(&quantities),
            ];
            call(session, Statement::BeginWrite, Statement::CallUpdateStock, &params)
        }
        Transaction::UpdateItem(input) => {
            let params = input.items.map(|item| Value::Int(item.get()));
            call(session, Statement::BeginWrite, Statement::CallUpdateItem, &params)
        }
        Transaction::UpdateBalance(input) => {
            let warehouses = numbers(input);
            let params = [Value::Ints(&warehouses), Value::Money(BALANCE_UPDATE)];
            call(session, Statement::BeginWrite, Statement::CallUpdateBalance, &params)
        }
        Transaction::SelectBalance(input) => {
            let warehouses = numbers(input);
            call(session, Statement::BeginRead, Statement::CallSelectBalance, &[Value::Ints(&warehouses)])
        }
    }
}

fn read(rows: &Rows, transaction: &Transaction) -> Result<Outcome, SqlError> {
    Ok(match transaction {
        Transaction::NewOrder(input) => Outcome::NewOrder(new_order(rows, input)?),
        Transaction::Payment(_) => {
            let mut outcome = paid_customer(rows, CustomerId(rows.int(0, 14)?))?;
            outcome.c_data = if rows.is_null(0, 15) { None } else { Some(rows.fixed(0, 15)?) };
            outcome.h_date = rows.time(0, 16)?;
            outcome.warehouse = address(rows, 17)?;
            outcome.district = address(rows, 22)?;
            Outcome::Payment(Box::new(outcome))
        }
        Transaction::OrderStatus(_) => Outcome::OrderStatus(order_status(rows)?),
        Transaction::Delivery(input) => {
            let orders = rows.array(0, 0)?;
            let mut outcome = DeliveryOutcome::default();
            for (index, district) in input.district_ids().enumerate() {
                // 0 stands for a skipped district.
                let order: u32 = orders.int(index)?;
                if order > 0 {
                    outcome.delivered.push((district, OrderId(order)));
                }
            }
            Outcome::Delivery(outcome)
        }
        Transaction::StockLevel(_) => Outcome::StockLevel(StockLevelOutcome { low_stock: rows.int(0, 0)? }),
        Transaction::UpdateStock(input) => {
            let left = rows.array(0, 0)?;
            let quantities = (0..input.rounds.len()).map(|round| left.int(round));
            Outcome::UpdateStock(UpdateStockOutcome { quantities: quantities.collect::<Result<_, _>>()? })
        }
        Transaction::UpdateItem(_) => {
            let prices = rows.array(0, 0)?;
            Outcome::UpdateItem(UpdateItemOutcome { prices: [prices.money(0)?, prices.money(1)?] })
        }
        Transaction::UpdateBalance(_) => Outcome::UpdateBalance,
        Transaction::SelectBalance(input) => {
            let found = rows.array(0, 0)?;
            let balances = (0..input.warehouses.len()).map(|place| found.money(place));
            Outcome::SelectBalance(SelectBalanceOutcome { balances: balances.collect::<Result<_, _>>()? })
        }
    })
}

/// The warehouses as a column.
fn numbers(input: &WarehouseBalances) -> ArrayVec<i32, MAX_ORDER_LINES> {
    input.warehouses.iter().map(|w_id| w_id.0 as i32).collect()
}

fn selector(customer: &CustomerSelector) -> (Value<'_>, Value<'_>) {
    match customer {
        CustomerSelector::Id(c_id) => (Value::OptionalInt(Some(c_id.get())), Value::OptionalText(None)),
        CustomerSelector::LastName(name) => (Value::OptionalInt(None), Value::OptionalText(Some(name))),
    }
}

fn call<'s, C: Connection>(
    session: &'s mut SqlSession<C>,
    begin: Statement,
    procedure: Statement,
    params: &[Value<'_>],
) -> Result<&'s Rows, Stop> {
    let steps: [Step<'_>; 3] = [(begin, &[]), (procedure, params), (Statement::Commit, &[])];
    let steps = if session.dialect.procedures_commit { &steps[1..2] } else { &steps[..] };
    match session.connection.pipeline(steps, &mut session.rows[..steps.len()]) {
        Ok(()) => Ok(&session.rows[steps.len() / 2]),
        Err(SqlError::Database { code, detail: Some(detail), .. }) if code == UNUSED_ITEM => {
            Err(Stop::UnusedItem(rolled_back(&detail)?))
        }
        Err(error) => Err(Stop::CommitFailed(error)),
    }
}

fn rolled_back(detail: &str) -> Result<RolledBackOrder, SqlError> {
    let parse = || {
        let mut parts = detail.splitn(3, '|');
        let o_id = OrderId(parts.next()?.parse().ok()?);
        let c_credit = Text::from(parts.next()?).ok()?;
        let c_last = Text::from(parts.next()?).ok()?;
        Some(RolledBackOrder { o_id, c_last, c_credit })
    };
    parse().ok_or_else(|| {
        SqlError::Decode(format!("lydite_new_order reported {detail:?}: load the database again"))
    })
}

fn new_order(rows: &Rows, input: &NewOrder) -> Result<NewOrderOutcome, SqlError> {
    let names = rows.array(0, 8)?;
    let quantities = rows.array(0, 9)?;
    let brands = rows.array(0, 10)?;
    let prices = rows.array(0, 11)?;
    let mut lines = Vec::with_capacity(input.lines.len());
    for (index, line) in input.lines.iter().enumerate() {
        let i_price = prices.money(index)?;
        lines.push(NewOrderLine {
            i_name: names.fixed(index)?,
            s_quantity: quantities.int(index)?,
            brand: brands.bool(index)?,
            i_price,
            amount: i_price.times(u32::from(line.quantity)),
        });
    }
    Ok(NewOrderOutcome {
        o_id: OrderId(rows.int(0, 0)?),
        entry_d: rows.time(0, 1)?,
        c_last: rows.fixed(0, 2)?,
        c_credit: rows.fixed(0, 3)?,
        c_discount: rows.rate(0, 4)?,
        w_tax: rows.rate(0, 5)?,
        d_tax: rows.rate(0, 6)?,
        total: rows.money(0, 7)?,
        lines,
    })
}

fn order_status(rows: &Rows) -> Result<OrderStatusOutcome, SqlError> {
    let items = rows.array(0, 8)?;
    let supplies = rows.array(0, 9)?;
    let quantities = rows.array(0, 10)?;
    let amounts = rows.array(0, 11)?;
    let dates = rows.array(0, 12)?;
    let mut lines = Vec::with_capacity(items.len());
    for index in 0..items.len() {
        lines.push(OrderStatusLine {
            i_id: ItemId(items.int(index)?),
            supply_w_id: WarehouseId(supplies.int(index)?),
            quantity: quantities.int(index)?,
            amount: amounts.money(index)?,
            delivery_d: dates.optional_time(index)?,
        });
    }
    let mut outcome = status_customer(rows)?;
    last_order(&mut outcome, rows, 5)?;
    outcome.lines = lines;
    Ok(outcome)
}
