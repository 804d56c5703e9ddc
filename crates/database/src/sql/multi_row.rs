//! The transactions with several rows in the text of a statement (`batched` without arrays): whatever needs no
//! earlier answer travels together, and rows are read, inserted and deleted in lists.
//!
//! Such a database goes on with the statements behind one that failed, so nothing is committed in the same round trip
//! as a change: the commit is sent when all changes have been answered.

use crate::profile::{OrderHead, bad_credit_data, history_data, is_brand, left_in_stock, middle};
use crate::sql::batched;
use crate::sql::connection::{Connection, SqlError, Step};
use crate::sql::session::{
    LONGEST_PIPELINE, Played, SqlSession, Stop, address, changed, paid_customer, present, taken_from_stock,
};
use crate::sql::statement::{DISTRICTS, Statement};
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::outcome::{DeliveryOutcome, NewOrderLine, UpdateStockOutcome};
use lydite_tpcc::text::Text;
use lydite_tpcc::transaction::{CustomerSelector, Delivery, MAX_ORDER_LINES, NewOrder, Payment, UpdateStock};
use lydite_tpcc::{Cents, CustomerId, DistrictId, OrderId, Outcome, Transaction, WarehouseId};

/// Parameters of an order line.
const OF_LINE: usize = 9;

/// Runs one transaction.
pub(crate) fn play<C: Connection>(session: &mut SqlSession<C>, transaction: &Transaction) -> Played {
    match transaction {
        Transaction::NewOrder(input) => new_order(session, input),
        Transaction::Payment(input) => payment(session, input),
        Transaction::OrderStatus(input) => batched::order_status(session, input),
        Transaction::Delivery(input) => delivery(session, input),
        Transaction::StockLevel(input) => batched::stock_level(session, input),
        Transaction::UpdateStock(input) => update_stock(session, input),
        Transaction::UpdateItem(input) => batched::update_item(session, input),
        Transaction::UpdateBalance(input) => batched::update_balance(session, input),
        Transaction::SelectBalance(input) => batched::select_balance(session, input),
    }
}

/// Sends the steps together.
fn send<C: Connection>(session: &mut SqlSession<C>, steps: &[Step<'_>]) -> Result<(), Stop> {
    Ok(session.connection.pipeline(steps, &mut session.rows[..steps.len()])?)
}

/// What was found of an item: I_PRICE, I_NAME, I_DATA.
type FoundItem = Option<(Cents, Text<24>, Text<50>)>;
/// What was found of a line's stock: S_QUANTITY, S_DATA, S_DIST_xx.
type FoundStock = Option<(i32, Text<50>, Text<24>)>;

fn new_order<C: Connection>(session: &mut SqlSession<C>, input: &NewOrder) -> Played {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c = Value::Int(input.c_id.get());
    let order = input.access_order();
    let mut items = [Value::Int(0); MAX_ORDER_LINES];
    let mut stocks = [Value::Int(i64::from(input.d_id.stock_column())); 1 + 2 * MAX_ORDER_LINES];
    for place in 0..MAX_ORDER_LINES {
        let line = &input.lines[order[place.min(order.len() - 1)]];
        items[place] = Value::Int(line.i_id.get());
        stocks[1 + 2 * place] = Value::Int(line.supply_w_id.get());
        stocks[2 + 2 * place] = items[place];
    }
    send(
        session,
        &[
            (Statement::BeginWrite, &[]),
            (Statement::OrderWarehouse, &[w]),
            (Statement::OrderCustomer, &[w, d, c]),
            (Statement::OrderDistrict, &[w, d]),
            (Statement::TakeOrderId, &[w, d]),
            (Statement::ManyItems, &items),
            (Statement::ManyStocks, &stocks),
        ],
    )?;
    let [_, warehouse, customer, district, taken, item_rows, stock_rows, ..] = &session.rows;
    present(warehouse, || format!("warehouse {}", input.w_id))?;
    let (w_tax, entry_d) = (warehouse.rate(0, 0)?, warehouse.time(0, 1)?);
    present(customer, || format!("customer {}/{}/{}", input.w_id, input.d_id, input.c_id))?;
    let (c_discount, c_last, c_credit) = (customer.rate(0, 0)?, customer.fixed(0, 1)?, customer.fixed(0, 2)?);
    present(district, || format!("district {}/{}", input.w_id, input.d_id))?;
    let (d_tax, o_id) = (district.rate(0, 0)?, OrderId(district.int(0, 1)?));
    changed(std::slice::from_ref(taken), 1, || format!("district {}/{}", input.w_id, input.d_id))?;
    let head = OrderHead { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax };

    let (items, mut stocks) = found(input, item_rows, stock_rows)?;
    let o = Value::Int(o_id.get());
    let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
        input.lines.iter().map(|_| None).collect();
    let mut texts: ArrayVec<Text<24>, MAX_ORDER_LINES> = ArrayVec::new();
    let mut booked: ArrayVec<(usize, Cents), MAX_ORDER_LINES> = ArrayVec::new();
    let mut updates: ArrayVec<[Value<'_>; 5], MAX_ORDER_LINES> = ArrayVec::new();
    for &index in &order {
        let line = &input.lines[index];
        let Some((i_price, i_name, i_data)) = &items[index] else { continue };
        let Some((in_stock, s_data, dist_info)) = stocks[index] else {
            return Err(Stop::Missing(format!(
                "stock {}/{} is missing: run lydite check",
                line.supply_w_id, line.i_id
            )));
        };
        let s_quantity = left_in_stock(in_stock, i32::from(line.quantity));
        // What later lines of the same stock find.
        for (other, stock) in input.lines.iter().zip(&mut stocks) {
            if (other.i_id, other.supply_w_id) == (line.i_id, line.supply_w_id)
                && let Some((quantity, ..)) = stock
            {
                *quantity = s_quantity;
            }
        }
        let amount = i_price.times(u32::from(line.quantity));
        let brand = is_brand(i_data, &s_data);
        lines[index] = Some(NewOrderLine { i_name: *i_name, s_quantity, brand, i_price: *i_price, amount });
        texts.push(dist_info);
        booked.push((index, amount));
        updates.push(taken_from_stock(s_quantity, line, input.w_id));
    }
    let mut values: ArrayVec<Value<'_>, { OF_LINE * MAX_ORDER_LINES }> = ArrayVec::new();
    for (&(index, amount), dist_info) in booked.iter().zip(&texts) {
        let line = &input.lines[index];
        values.extend([
            o,
            d,
            w,
            Value::Int(index as i64 + 1),
            Value::Int(line.i_id.get()),
            Value::Int(line.supply_w_id.get()),
            Value::Int(i64::from(line.quantity)),
            Value::Money(amount),
            Value::Text(dist_info),
        ]);
    }
    let count = Value::Int(input.lines.len() as i64);
    let all_local = Value::Int(i64::from(input.all_local()));
    let order_params = [o, d, w, c, Value::Time(entry_d), count, all_local];
    let new_order_params = [o, d, w];
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::InsertOrder, &order_params));
    steps.push((Statement::InsertNewOrder, &new_order_params));
    steps.extend(updates.iter().map(|update| -> Step<'_> { (Statement::UpdateStock, update) }));
    if !booked.is_empty() {
        steps.push((Statement::insert_lines(booked.len()), &values));
    }
    send(session, &steps)?;
    changed(&session.rows[2..2 + updates.len()], 1, || format!("a stock of order {o_id}"))?;
    if booked.len() < input.lines.len() {
        return Err(Stop::UnusedItem(head.rolled_back()));
    }
    session.commit()?;
    Ok(head.complete(lines.into_iter().flatten()))
}

/// Items and stocks by line.
fn found(
    input: &NewOrder,
    item_rows: &Rows,
    stock_rows: &Rows,
) -> Result<(ArrayVec<FoundItem, MAX_ORDER_LINES>, ArrayVec<FoundStock, MAX_ORDER_LINES>), SqlError> {
    let mut items: ArrayVec<FoundItem, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..item_rows.len() {
        let i_id: i64 = item_rows.int(row, 0)?;
        let item = (item_rows.money(row, 1)?, item_rows.fixed(row, 2)?, item_rows.fixed(row, 3)?);
        for (line, slot) in input.lines.iter().zip(&mut items) {
            if line.i_id.get() == i_id {
                *slot = Some(item);
            }
        }
    }
    let mut stocks: ArrayVec<FoundStock, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..stock_rows.len() {
        let (supply_w_id, i_id): (i64, i64) = (stock_rows.int(row, 0)?, stock_rows.int(row, 1)?);
        let stock = (stock_rows.int(row, 2)?, stock_rows.fixed(row, 3)?, stock_rows.fixed(row, 4)?);
        for (line, slot) in input.lines.iter().zip(&mut stocks) {
            if (line.supply_w_id.get(), line.i_id.get()) == (supply_w_id, i_id) {
                *slot = Some(stock);
            }
        }
    }
    Ok((items, stocks))
}

fn payment<C: Connection>(session: &mut SqlSession<C>, input: &Payment) -> Played {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c_w = Value::Int(input.c_w_id.get());
    let c_d = Value::Int(input.c_d_id.get());
    let amount = Value::Money(input.amount);
    let begin: Step<'_> = (Statement::BeginWrite, &[]);
    let (c_id, begin) = match &input.customer {
        CustomerSelector::Id(c_id) => (*c_id, Some(begin)),
        CustomerSelector::LastName(name) => {
            send(session, &[begin, (Statement::CustomersByName, &[c_w, c_d, Value::Text(name)])])?;
            let rows = &session.rows[1];
            present(rows, || {
                format!("a customer named {name} of district {}/{}", input.c_w_id, input.c_d_id)
            })?;
            (CustomerId(rows.int(middle(rows.len()), 0)?), None)
        }
    };
    let c = Value::Int(c_id.get());
    let entry = bad_credit_data(input, c_id, "");
    let pay_customer = [amount, amount, Value::Text(&entry), c_w, c_d, c];
    let who = [c_w, c_d, c];
    let pay_district = [amount, w, d];
    let district = [w, d];
    let pay_warehouse = [amount, w];
    let warehouse = [w];
    // Customer, district, warehouse: the most wanted row is locked last and for the shortest time.
    let mut steps: ArrayVec<Step<'_>, 7> = begin.into_iter().collect();
    let first = steps.len();
    steps.extend([
        (Statement::PayCustomer, &pay_customer[..]),
        (Statement::PaidCustomer, &who[..]),
        (Statement::PayDistrict, &pay_district[..]),
        (Statement::PaymentDistrict, &district[..]),
        (Statement::PayWarehouse, &pay_warehouse[..]),
        (Statement::PaymentWarehouse, &warehouse[..]),
    ]);
    send(session, &steps)?;
    let rows = &session.rows[first..];
    let one = |rows: &Rows, what: &dyn Fn() -> String| changed(std::slice::from_ref(rows), 1, what);
    one(&rows[0], &|| format!("customer {}/{}/{c_id}", input.c_w_id, input.c_d_id))?;
    one(&rows[2], &|| format!("district {}/{}", input.w_id, input.d_id))?;
    one(&rows[4], &|| format!("warehouse {}", input.w_id))?;
    let mut outcome = paid_customer(&rows[1], c_id)?;
    outcome.c_data = if rows[1].is_null(0, 15) { None } else { Some(rows[1].fixed(0, 15)?) };
    outcome.district = address(&rows[3], 0)?;
    outcome.warehouse = address(&rows[5], 0)?;
    outcome.h_date = rows[5].time(0, 6)?;
    let data = history_data(rows[5].text(0, 5)?, rows[3].text(0, 5)?);
    let date = Value::Time(outcome.h_date);
    let history = [c, c_d, c_w, d, w, date, amount, Value::Text(&data)];
    send(session, &[(Statement::InsertHistory, &history)])?;
    session.commit()?;
    Ok(Outcome::Payment(Box::new(outcome)))
}

fn delivery<C: Connection>(session: &mut SqlSession<C>, input: &Delivery) -> Played {
    let all: Vec<DistrictId> = input.district_ids().collect();
    let mut outcome = DeliveryOutcome::default();
    // As many at a time as the statements have places for; the first ones begin the transaction.
    for (part, districts) in all.chunks(DISTRICTS).enumerate() {
        deliver(session, input, districts, part == 0, &mut outcome)?;
    }
    session.commit()?;
    Ok(Outcome::Delivery(outcome))
}

/// Delivers the oldest orders of at most [`DISTRICTS`] districts. `first`: of the transaction.
fn deliver<C: Connection>(
    session: &mut SqlSession<C>,
    input: &Delivery,
    districts: &[DistrictId],
    first: bool,
    outcome: &mut DeliveryOutcome,
) -> Result<(), Stop> {
    let w = Value::Int(input.w_id.get());
    let params: ArrayVec<[Value<'_>; 2], DISTRICTS> =
        districts.iter().map(|d_id| [w, Value::Int(d_id.get())]).collect();
    let mut steps: ArrayVec<Step<'_>, { 1 + DISTRICTS }> = ArrayVec::new();
    if first {
        steps.push((Statement::BeginWrite, &[]));
    }
    let begin = steps.len();
    steps.extend(params.iter().map(|district| -> Step<'_> { (Statement::OldestNewOrder, district) }));
    send(session, &steps)?;
    let mut delivered: ArrayVec<(DistrictId, OrderId), DISTRICTS> = ArrayVec::new();
    for (&d_id, rows) in districts.iter().zip(&session.rows[begin..]) {
        if !rows.is_empty() {
            delivered.push((d_id, OrderId(rows.int(0, 0)?)));
        }
    }
    if delivered.is_empty() {
        return Ok(());
    }
    // The carrier, the warehouse, and pairs of district and order.
    let mut params = [Value::Int(input.carrier_id.get()); 2 + 2 * DISTRICTS];
    params[1] = w;
    for place in 0..DISTRICTS {
        let (d_id, o_id) = delivered[place.min(delivered.len() - 1)];
        params[2 + 2 * place] = Value::Int(d_id.get());
        params[3 + 2 * place] = Value::Int(o_id.get());
    }
    send(
        session,
        &[
            (Statement::DeleteNewOrders, &params[1..]),
            (Statement::SetCarriers, &params),
            (Statement::SetDeliveryDates, &params[1..]),
            (Statement::DeliveredOrders, &params[1..]),
        ],
    )?;
    let count = delivered.len() as u64;
    changed(&session.rows[..2], count, || format!("the delivery of {count} orders"))?;
    let credits = credits(input.w_id, &session.rows[3], &delivered)?;
    let steps: ArrayVec<Step<'_>, DISTRICTS> =
        credits.iter().map(|credit| -> Step<'_> { (Statement::CreditCustomer, credit) }).collect();
    send(session, &steps)?;
    changed(&session.rows[..credits.len()], 1, || format!("a customer of warehouse {}", input.w_id))?;
    outcome.delivered.extend(delivered);
    Ok(())
}

fn update_stock<C: Connection>(session: &mut SqlSession<C>, input: &UpdateStock) -> Played {
    let rows_of: ArrayVec<[Value<'_>; 2], MAX_ORDER_LINES> = input
        .rounds
        .iter()
        .map(|round| [Value::Int(round.supply_w_id.get()), Value::Int(round.i_id.get())])
        .collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginWrite, &[]));
    steps.extend(rows_of.iter().map(|row| -> Step<'_> { (Statement::StockQuantity, row) }));
    send(session, &steps)?;
    let mut quantities = Vec::with_capacity(input.rounds.len());
    for (round, rows) in input.rounds.iter().zip(&session.rows[1..]) {
        present(rows, || format!("stock {}/{}", round.supply_w_id, round.i_id))?;
        quantities.push(left_in_stock(rows.int(0, 0)?, i32::from(round.quantity)));
    }
    let updates: ArrayVec<[Value<'_>; 5], MAX_ORDER_LINES> = input
        .rounds
        .iter()
        .zip(&quantities)
        .map(|(round, &left)| taken_from_stock(left, round, input.w_id))
        .collect();
    let steps: ArrayVec<Step<'_>, MAX_ORDER_LINES> =
        updates.iter().map(|update| -> Step<'_> { (Statement::UpdateStock, update) }).collect();
    send(session, &steps)?;
    changed(&session.rows[..updates.len()], 1, || format!("a stock of warehouse {}", input.w_id))?;
    session.commit()?;
    Ok(Outcome::UpdateStock(UpdateStockOutcome { quantities }))
}

/// What is credited to whom: the parameters of [`Statement::CreditCustomer`] for each delivered order, from the answer of
/// [`Statement::DeliveredOrders`].
fn credits(
    w_id: WarehouseId,
    rows: &Rows,
    delivered: &[(DistrictId, OrderId)],
) -> Result<ArrayVec<[Value<'static>; 4], DISTRICTS>, Stop> {
    let mut found: ArrayVec<(i64, [Value<'static>; 4]), DISTRICTS> = ArrayVec::new();
    for row in 0..rows.len().min(DISTRICTS) {
        let d_id: i64 = rows.int(row, 0)?;
        let (c, amount) = (Value::Int(rows.int(row, 1)?), Value::Money(rows.money(row, 2)?));
        found.push((d_id, [amount, Value::Int(w_id.get()), Value::Int(d_id), c]));
    }
    // In the order of the districts, as every other way does it: else two deliveries could wait for each other.
    delivered
        .iter()
        .map(|(d_id, o_id)| {
            let credit = found.iter().find(|(found, _)| *found == d_id.get());
            credit.map(|(_, credit)| *credit).ok_or_else(|| {
                Stop::Missing(format!(
                    "order {w_id}/{d_id}/{o_id} or its lines are missing: run lydite check"
                ))
            })
        })
        .collect()
}
