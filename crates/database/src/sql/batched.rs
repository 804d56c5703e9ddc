//! The transactions with array binding and pipelining (`batched`): whatever needs no earlier answer travels
//! together, and all lines of an order are one statement.

use crate::profile::{OrderHead, history_data, is_brand};
use crate::sql::connection::{Connection, SqlError, Step};
use crate::sql::dialect::Batches;
use crate::sql::session::{
    LONGEST_PIPELINE, Played, SqlSession, Stop, address, balance, changed, item_price, last_order,
    paid_customer, present, status_customer, status_line,
};
use crate::sql::statement::Statement;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::outcome::{
    DeliveryOutcome, NewOrderLine, SelectBalanceOutcome, StockLevelOutcome, UpdateItemOutcome,
    UpdateStockOutcome,
};
use lydite_tpcc::text::Text;
use lydite_tpcc::transaction::{
    BALANCE_UPDATE, CustomerSelector, Delivery, MAX_ORDER_LINES, NewOrder, OrderStatus, Payment, StockLevel,
    UpdateItem, UpdateStock, WarehouseBalances,
};
use lydite_tpcc::{Cents, CustomerId, DistrictId, OrderId, Outcome, Transaction};

/// Runs one transaction.
pub(crate) fn play<C: Connection>(session: &mut SqlSession<C>, transaction: &Transaction) -> Played {
    match transaction {
        Transaction::NewOrder(input) => new_order(session, input),
        Transaction::Payment(input) => payment(session, input),
        Transaction::OrderStatus(input) => order_status(session, input),
        Transaction::Delivery(input) => delivery(session, input),
        Transaction::StockLevel(input) => stock_level(session, input),
        Transaction::UpdateStock(input) => update_stock(session, input),
        Transaction::UpdateItem(input) => update_item(session, input),
        Transaction::UpdateBalance(input) => update_balance(session, input),
        Transaction::SelectBalance(input) => select_balance(session, input),
    }
}

/// Lines of an order by how often the same stock was ordered before in it: one statement changes a row once only,
/// so the second line of the same stock goes into a second statement.
pub(crate) fn rounds(input: &NewOrder) -> ArrayVec<i32, MAX_ORDER_LINES> {
    let same = |a: usize, b: usize| {
        let (a, b) = (&input.lines[a], &input.lines[b]);
        (a.i_id, a.supply_w_id) == (b.i_id, b.supply_w_id)
    };
    (0..input.lines.len())
        .map(|line| (0..line).filter(|&before| same(before, line)).count() as i32 + 1)
        .collect()
}

/// Sends the steps together; the last one is the commit. An error of the connection leaves the commit unknown.
pub(crate) fn commit_with<C: Connection>(
    session: &mut SqlSession<C>,
    steps: &[Step<'_>],
) -> Result<(), Stop> {
    session.connection.pipeline(steps, &mut session.rows[..steps.len()]).map_err(Stop::CommitFailed)
}

fn new_order<C: Connection>(session: &mut SqlSession<C>, input: &NewOrder) -> Played {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c = Value::Int(input.c_id.get());
    let items: ArrayVec<i32, MAX_ORDER_LINES> = input.lines.iter().map(|line| line.i_id.0 as i32).collect();
    let steps: [Step<'_>; 5] = [
        (Statement::BeginWrite, &[]),
        (Statement::OrderWarehouse, &[w]),
        (Statement::OrderCustomer, &[w, d, c]),
        (Statement::BatchItems, &[Value::Ints(&items)]),
        (Statement::BatchTakeOrderId, &[w, d]),
    ];
    session.connection.pipeline(&steps, &mut session.rows[..5])?;
    let [_, warehouse, customer, item_rows, district, ..] = &session.rows;
    present(warehouse, || format!("warehouse {}", input.w_id))?;
    let (w_tax, entry_d) = (warehouse.rate(0, 0)?, warehouse.time(0, 1)?);
    present(customer, || format!("customer {}/{}/{}", input.w_id, input.d_id, input.c_id))?;
    let (c_discount, c_last, c_credit) = (customer.rate(0, 0)?, customer.fixed(0, 1)?, customer.fixed(0, 2)?);
    present(district, || format!("district {}/{}", input.w_id, input.d_id))?;
    let (d_tax, o_id) = (district.rate(0, 0)?, OrderId(district.int(0, 1)?));
    let head = OrderHead { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax };

    let mut found: ArrayVec<FoundItem, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..item_rows.len() {
        let number: usize = item_rows.int(row, 0)?;
        let slot = found
            .get_mut(number.wrapping_sub(1))
            .ok_or_else(|| SqlError::Decode(format!("no line {number}")))?;
        *slot = Some((item_rows.money(row, 1)?, item_rows.fixed(row, 2)?, item_rows.fixed(row, 3)?));
    }
    let unused_item = found.iter().any(Option::is_none);

    let rounds = rounds(input);
    let last_round = rounds.iter().copied().max().unwrap_or(1);
    let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
        input.lines.iter().map(|_| None).collect();
    let o = Value::Int(o_id.get());
    let count = Value::Int(input.lines.len() as i64);
    let all_local = Value::Int(i64::from(input.all_local()));
    for round in 1..=last_round {
        let mut numbers = ArrayVec::<i32, MAX_ORDER_LINES>::new();
        let mut items = ArrayVec::<i32, MAX_ORDER_LINES>::new();
        let mut supplies = ArrayVec::<i32, MAX_ORDER_LINES>::new();
        let mut quantities = ArrayVec::<i32, MAX_ORDER_LINES>::new();
        let mut amounts = ArrayVec::<Cents, MAX_ORDER_LINES>::new();
        for index in input.access_order() {
            let line = &input.lines[index];
            let Some((i_price, _, _)) = &found[index] else { continue };
            if rounds[index] == round {
                numbers.push(index as i32 + 1);
                items.push(line.i_id.0 as i32);
                supplies.push(line.supply_w_id.0 as i32);
                quantities.push(i32::from(line.quantity));
                amounts.push(i_price.times(u32::from(line.quantity)));
            }
        }
        let line_params = [
            o,
            d,
            w,
            Value::Ints(&numbers),
            Value::Ints(&items),
            Value::Ints(&supplies),
            Value::Ints(&quantities),
            Value::Monies(&amounts),
        ];
        let order_params = [o, d, w, c, Value::Time(entry_d), count, all_local];
        let new_order_params = [o, d, w];
        let mut steps: ArrayVec<Step<'_>, 4> = ArrayVec::new();
        steps.push((Statement::BatchLines, &line_params));
        if round == 1 {
            // Before the lines, which refer to it.
            steps.insert(0, (Statement::InsertNewOrder, &new_order_params));
            steps.insert(0, (Statement::InsertOrder, &order_params));
        }
        let lines_step = steps.len() - 1;
        if round == last_round && !unused_item {
            steps.push((Statement::Commit, &[]));
            commit_with(session, &steps)?;
        } else {
            session.connection.pipeline(&steps, &mut session.rows[..steps.len()])?;
        }
        let committed = round == last_round && !unused_item;
        taken(&session.rows[lines_step], input, &found, &mut lines)
            .map_err(|error| if committed { Stop::CommitFailed(error) } else { Stop::Failed(error) })?;
    }
    if unused_item {
        return Err(Stop::UnusedItem(head.rolled_back()));
    }
    Ok(head.complete(lines.into_iter().flatten()))
}

/// What was found of an item: I_PRICE, I_NAME, I_DATA.
type FoundItem = Option<(Cents, Text<24>, Text<50>)>;

/// Reads the answer of [`Statement::BatchLines`] into the lines that it was about.
fn taken(
    rows: &Rows,
    input: &NewOrder,
    found: &[FoundItem],
    lines: &mut [Option<NewOrderLine>],
) -> Result<(), SqlError> {
    if rows.is_null(0, 0) {
        // No line had an item that exists.
        return Ok(());
    }
    let (numbers, stocks, data) = (rows.array(0, 0)?, rows.array(0, 1)?, rows.array(0, 2)?);
    for row in 0..numbers.len() {
        let index = numbers.int::<usize>(row)?.wrapping_sub(1);
        let (Some(line), Some(Some((i_price, i_name, i_data))), Some(slot)) =
            (input.lines.get(index), found.get(index), lines.get_mut(index))
        else {
            return Err(SqlError::Decode(format!(
                "an order line number {} came back",
                index.wrapping_add(1)
            )));
        };
        *slot = Some(NewOrderLine {
            i_name: *i_name,
            s_quantity: stocks.int(row)?,
            brand: is_brand(i_data, &data.fixed::<50>(row)?),
            i_price: *i_price,
            amount: i_price.times(u32::from(line.quantity)),
        });
    }
    Ok(())
}

fn payment<C: Connection>(session: &mut SqlSession<C>, input: &Payment) -> Played {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c_w = Value::Int(input.c_w_id.get());
    let c_d = Value::Int(input.c_d_id.get());
    let amount = Value::Money(input.amount);
    let (pay_customer, who) = match &input.customer {
        CustomerSelector::Id(c_id) => (Statement::BatchPayCustomer, Value::Int(c_id.get())),
        CustomerSelector::LastName(name) => (Statement::BatchPayCustomerByName, Value::Text(name)),
    };
    let steps: [Step<'_>; 4] = [
        (Statement::BeginWrite, &[]),
        (pay_customer, &[c_w, c_d, who, amount, w, d]),
        (Statement::BatchPayDistrict, &[amount, w, d]),
        (Statement::BatchPayWarehouse, &[amount, w]),
    ];
    session.connection.pipeline(&steps, &mut session.rows[..4])?;
    let [_, customer, district, warehouse, ..] = &session.rows;
    present(customer, || {
        format!("customer {:?} of district {}/{}", input.customer, input.c_w_id, input.c_d_id)
    })?;
    present(district, || format!("district {}/{}", input.w_id, input.d_id))?;
    present(warehouse, || format!("warehouse {}", input.w_id))?;
    let mut outcome = paid_customer(customer, CustomerId(customer.int(0, 14)?))?;
    outcome.c_data = if customer.is_null(0, 15) { None } else { Some(customer.fixed(0, 15)?) };
    outcome.district = address(district, 0)?;
    outcome.warehouse = address(warehouse, 0)?;
    outcome.h_date = warehouse.time(0, 6)?;
    let data = history_data(warehouse.text(0, 5)?, district.text(0, 5)?);
    let c = Value::Int(outcome.c_id.get());
    let date = Value::Time(outcome.h_date);
    let history = [c, c_d, c_w, d, w, date, amount, Value::Text(&data)];
    commit_with(session, &[(Statement::InsertHistory, &history), (Statement::Commit, &[])])?;
    Ok(Outcome::Payment(Box::new(outcome)))
}

pub(crate) fn order_status<C: Connection>(session: &mut SqlSession<C>, input: &OrderStatus) -> Played {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let (mut outcome, order) = match &input.customer {
        CustomerSelector::Id(c_id) => {
            let customer = [w, d, Value::Int(c_id.get())];
            commit_with(
                session,
                &[
                    (Statement::BeginRead, &[]),
                    (Statement::StatusCustomer, &customer),
                    (Statement::BatchLastOrderLines, &customer),
                    (Statement::Commit, &[]),
                ],
            )?;
            present(&session.rows[1], || format!("customer {}/{}/{c_id}", input.w_id, input.d_id))?;
            (status_customer(&session.rows[1])?, 2)
        }
        CustomerSelector::LastName(name) => {
            let steps: [Step<'_>; 2] =
                [(Statement::BeginRead, &[]), (Statement::BatchStatusByName, &[w, d, Value::Text(name)])];
            session.connection.pipeline(&steps, &mut session.rows[..2])?;
            present(&session.rows[1], || {
                format!("a customer named {name} of district {}/{}", input.w_id, input.d_id)
            })?;
            let outcome = status_customer(&session.rows[1])?;
            let customer = [w, d, Value::Int(outcome.c_id.get())];
            commit_with(session, &[(Statement::BatchLastOrderLines, &customer), (Statement::Commit, &[])])?;
            (outcome, 0)
        }
    };
    let rows = &session.rows[order];
    present(rows, || format!("an order of customer {}/{}/{}", input.w_id, input.d_id, outcome.c_id))?;
    last_order(&mut outcome, rows, 0)?;
    outcome.lines = (0..rows.len()).map(|row| status_line(rows, row, 3)).collect::<Result<_, _>>()?;
    Ok(Outcome::OrderStatus(outcome))
}

fn delivery<C: Connection>(session: &mut SqlSession<C>, input: &Delivery) -> Played {
    let w = Value::Int(input.w_id.get());
    let carrier = Value::Int(input.carrier_id.get());
    let mut missing: Vec<i32> = input.district_ids().map(|district| i32::from(district.0)).collect();
    let mut outcome = DeliveryOutcome::default();
    let mut begun = false;
    // Once, unless another delivery took an order that this one had found (below repeatable read).
    while !missing.is_empty() {
        let params = [w, Value::Ints(&missing), carrier];
        let steps: [Step<'_>; 2] = [(Statement::BeginWrite, &[]), (Statement::BatchDeliver, &params)];
        let steps = if begun { &steps[1..] } else { &steps[..] };
        session.connection.pipeline(steps, &mut session.rows[..steps.len()])?;
        let rows = &session.rows[steps.len() - 1];
        begun = true;
        let mut overtaken = Vec::new();
        for row in 0..rows.len() {
            let district: u16 = rows.int(row, 0)?;
            match rows.optional_int(row, 1)? {
                Some(order) => outcome.delivered.push((DistrictId(district), OrderId(order))),
                None => overtaken.push(i32::from(district)),
            }
        }
        missing = overtaken;
    }
    outcome.delivered.sort_unstable();
    commit_with(session, &[(Statement::Commit, &[])])?;
    Ok(Outcome::Delivery(outcome))
}

pub(crate) fn stock_level<C: Connection>(session: &mut SqlSession<C>, input: &StockLevel) -> Played {
    let threshold = Value::Int(i64::from(input.threshold));
    let params: ArrayVec<[Value<'_>; 3], { MAX_ORDER_LINES + 1 }> = input
        .districts()
        .map(|(w_id, d_id)| [Value::Int(w_id.get()), Value::Int(d_id.get()), threshold])
        .collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginRead, &[]));
    steps.extend(params.iter().map(|params| (Statement::BatchStockLevel, &params[..])));
    steps.push((Statement::Commit, &[]));
    commit_with(session, &steps)?;
    let mut low_stock = 0;
    for rows in &session.rows[1..=params.len()] {
        low_stock += rows.int::<u32>(0, 0)?;
    }
    Ok(Outcome::StockLevel(StockLevelOutcome { low_stock }))
}

/// The rounds of a dUpdateStock as columns: items, supplying warehouses, quantities.
pub(crate) fn columns(input: &UpdateStock) -> [ArrayVec<i32, MAX_ORDER_LINES>; 3] {
    [
        input.rounds.iter().map(|round| round.i_id.0 as i32).collect(),
        input.rounds.iter().map(|round| round.supply_w_id.0 as i32).collect(),
        input.rounds.iter().map(|round| i32::from(round.quantity)).collect(),
    ]
}

fn update_stock<C: Connection>(session: &mut SqlSession<C>, input: &UpdateStock) -> Played {
    let numbers: ArrayVec<i32, MAX_ORDER_LINES> = (0..).take(input.rounds.len()).collect();
    let [items, supplies, quantities] = columns(input);
    let params = [
        Value::Ints(&numbers),
        Value::Ints(&items),
        Value::Ints(&supplies),
        Value::Ints(&quantities),
        Value::Int(input.w_id.get()),
    ];
    let steps: [Step<'_>; 3] =
        [(Statement::BeginWrite, &[]), (Statement::BatchUpdateStock, &params), (Statement::Commit, &[])];
    commit_with(session, &steps)?;
    // The commit came with it: an answer that can't be read does not undo it.
    left_in_rounds(&session.rows[1], input).map_err(Stop::CommitFailed)
}

/// Reads the answer of [`Statement::BatchUpdateStock`].
fn left_in_rounds(rows: &Rows, input: &UpdateStock) -> Result<Outcome, SqlError> {
    let (numbers, left) = (rows.array(0, 0)?, rows.array(0, 1)?);
    let mut quantities = vec![0; input.rounds.len()];
    for row in 0..numbers.len() {
        let number: usize = numbers.int(row)?;
        let slot =
            quantities.get_mut(number).ok_or_else(|| SqlError::Decode(format!("no round {number}")))?;
        *slot = left.int(row)?;
    }
    Ok(Outcome::UpdateStock(UpdateStockOutcome { quantities }))
}

pub(crate) fn update_item<C: Connection>(session: &mut SqlSession<C>, input: &UpdateItem) -> Played {
    let [one, other] = input.items.map(|item| Value::Int(item.get()));
    let steps: [Step<'_>; 3] =
        [(Statement::BeginWrite, &[]), (Statement::ItemPrice, &[one]), (Statement::ItemPrice, &[other])];
    session.connection.pipeline(&steps, &mut session.rows[..3])?;
    let price_of_one = item_price(&session.rows[1], input.items[0])?;
    let price_of_other = item_price(&session.rows[2], input.items[1])?;
    let (new_one, new_other) = ([Value::Money(price_of_other), one], [Value::Money(price_of_one), other]);
    let steps: [Step<'_>; 3] =
        [(Statement::SetPrice, &new_one), (Statement::SetPrice, &new_other), (Statement::Commit, &[])];
    // Both rows are locked, so both are there.
    match session.dialect.batches {
        Batches::Arrays => commit_with(session, &steps)?,
        Batches::Rows => {
            session.connection.pipeline(&steps[..2], &mut session.rows[..2])?;
            session.commit()?;
        }
    }
    Ok(Outcome::UpdateItem(UpdateItemOutcome { prices: [price_of_other, price_of_one] }))
}

pub(crate) fn update_balance<C: Connection>(
    session: &mut SqlSession<C>,
    input: &WarehouseBalances,
) -> Played {
    let params = input.warehouses.iter().map(|w_id| [Value::Money(BALANCE_UPDATE), Value::Int(w_id.get())]);
    let params: ArrayVec<[Value<'_>; 2], MAX_ORDER_LINES> = params.collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginWrite, &[]));
    steps.extend(params.iter().map(|params| -> Step<'_> { (Statement::PayWarehouse, params) }));
    session.connection.pipeline(&steps, &mut session.rows[..steps.len()])?;
    // Not with the updates: one that finds no row is no error, and must not be committed.
    for (w_id, rows) in input.warehouses.iter().zip(session.rows[1..].chunks(1)) {
        changed(rows, 1, || format!("warehouse {w_id}"))?;
    }
    session.commit()?;
    Ok(Outcome::UpdateBalance)
}

pub(crate) fn select_balance<C: Connection>(
    session: &mut SqlSession<C>,
    input: &WarehouseBalances,
) -> Played {
    let params: ArrayVec<[Value<'_>; 1], MAX_ORDER_LINES> =
        input.warehouses.iter().map(|w_id| [Value::Int(w_id.get())]).collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginRead, &[]));
    steps.extend(params.iter().map(|params| -> Step<'_> { (Statement::WarehouseBalance, params) }));
    steps.push((Statement::Commit, &[]));
    commit_with(session, &steps)?;
    let answers = input.warehouses.iter().zip(&session.rows[1..]);
    let balances = answers.map(|(&w_id, rows)| balance(rows, w_id)).collect::<Result<_, _>>()?;
    Ok(Outcome::SelectBalance(SelectBalanceOutcome { balances }))
}
