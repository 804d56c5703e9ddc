//! The transactions (clauses 2.4.2 to 2.8.2, and those of the Dike paper) over any key-value store.

use crate::error::RUN_CHECK;
use crate::kv::codec::{Key, KvRow, Malformed, behind};
use crate::kv::layout::{
    HistoryNumber, customer, customer_by_name, district, district_prefix, history, item, new_order, order,
    order_by_customer, order_line, stock, warehouse,
};
use crate::kv::store::{Direction, KeyRange, KvTable, StoreTx};
use crate::kv::store_error::StoreError;
use crate::profile::{OrderHead, bad_credit_data, history_data, is_original, left_in_stock, middle};
use arrayvec::ArrayVec;
use lydite_tpcc::outcome::{
    DeliveryOutcome, NewOrderLine, OrderStatusLine, OrderStatusOutcome, PaymentOutcome, SelectBalanceOutcome,
    StockLevelOutcome, UpdateItemOutcome, UpdateStockOutcome,
};
use lydite_tpcc::text::{Text, truncated};
use lydite_tpcc::transaction::{
    BALANCE_UPDATE, CustomerSelector, Delivery, MAX_ORDER_LINES, NewOrder, OrderLineInput, OrderStatus,
    Payment, StockLevel, UpdateItem, UpdateStock, WarehouseBalances,
};
use lydite_tpcc::{
    Cents, CustomerId, DistrictId, ItemId, OrderId, Outcome, RolledBackOrder, Timestamp, WarehouseId, rows,
};
use std::fmt;
use std::ops::ControlFlow;

/// End of a transaction before its commit.
pub(crate) enum KvTxError {
    /// The store returned an error.
    Store(StoreError),
    /// The order has an unused item.
    UnusedItem(RolledBackOrder),
    /// A row that must exist is missing (clause 2.3.6). Has the message.
    Missing(String),
}

impl From<StoreError> for KvTxError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Malformed> for KvTxError {
    fn from(malformed: Malformed) -> Self {
        Self::Store(malformed.into())
    }
}

/// Result of a transaction.
pub(crate) type Played = Result<Outcome, KvTxError>;

/// Orders that Stock-Level examines (clause 2.8.2.2).
const RECENT_ORDERS: u64 = 20;

/// Returns the error for a missing row: rows that the profile names must exist (clause 2.3.6).
fn missing(what: fmt::Arguments<'_>) -> KvTxError {
    KvTxError::Missing(format!("{what} is missing: {RUN_CHECK}"))
}

/// Reads a row that must exist.
fn get<R>(
    tx: &mut impl StoreTx,
    table: KvTable,
    key: &[u8],
    what: fmt::Arguments<'_>,
    found: impl FnOnce(&[u8]) -> Result<R, Malformed>,
) -> Result<R, KvTxError> {
    Ok(tx.read(table, key, found)?.ok_or_else(|| missing(what))??)
}

/// Changes a row that must exist, and keeps its length.
fn change<R>(
    tx: &mut impl StoreTx,
    table: KvTable,
    key: &[u8],
    what: fmt::Arguments<'_>,
    change: impl FnOnce(&mut [u8]) -> Result<R, Malformed>,
) -> Result<R, KvTxError> {
    Ok(tx.modify_in_place(table, key, change)?.ok_or_else(|| missing(what))??)
}

/// Stores a new row; `value` is a buffer.
fn insert<R: KvRow>(tx: &mut impl StoreTx, row: &R, value: &mut Vec<u8>) -> Result<(), KvTxError> {
    row.encode(value)?;
    Ok(tx.put(R::KV_TABLE, &row.key(), value)?)
}

/// Passes the entries whose keys begin with `prefix` to `each`, until it breaks.
fn scan_prefix(
    tx: &mut impl StoreTx,
    table: KvTable,
    prefix: &Key,
    direction: Direction,
    mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let behind = behind(prefix);
    tx.scan(table, KeyRange { from: prefix, below: behind.as_deref() }, direction, &mut each)
}

/// Runs New-Order, clause 2.4.2.
pub(crate) fn new_order(tx: &mut impl StoreTx, input: &NewOrder, now: Timestamp) -> Played {
    let NewOrder { w_id, d_id, c_id, ref lines } = *input;
    let mut value = Vec::with_capacity(order_line::WIDTH);
    let mut items: ArrayVec<_, MAX_ORDER_LINES> = lines.iter().map(|_| None).collect();
    tx.read_each(item::TABLE, lines.iter().map(|line| item::key(line.i_id)), |index, row| {
        items[index] = Some(OrderedItem::read(row));
    })?;
    let w_tax = get(tx, warehouse::TABLE, &warehouse::key(w_id), format_args!("warehouse {w_id}"), |row| {
        warehouse::TAX.get(row)
    })?;
    let (c_discount, c_last, c_credit) = get(
        tx,
        customer::TABLE,
        &customer::key(w_id, d_id, c_id),
        format_args!("customer {w_id}/{d_id}/{c_id}"),
        |row| Ok((customer::DISCOUNT.get(row)?, customer::LAST.get(row)?, customer::CREDIT.get(row)?)),
    )?;
    let (d_tax, o_id) = change(
        tx,
        district::TABLE,
        &district::key(w_id, d_id),
        format_args!("district {w_id}/{d_id}"),
        |row| {
            let o_id = district::NEXT_O_ID.get(row)?;
            district::NEXT_O_ID.add(row, OrderId(1))?;
            Ok((district::TAX.get(row)?, o_id))
        },
    )?;
    let head = OrderHead { o_id, entry_d: now, c_last, c_credit, c_discount, w_tax, d_tax };
    let row = rows::Order {
        id: o_id,
        d_id,
        w_id,
        c_id,
        entry_d: now,
        carrier_id: None,
        ol_cnt: lines.len() as u8,
        all_local: input.all_local(),
    };
    insert(tx, &row, &mut value)?;
    tx.put(order_by_customer::TABLE, &order_by_customer::key(w_id, d_id, c_id, o_id), &[])?;
    insert(tx, &rows::NewOrder { o_id, d_id, w_id }, &mut value)?;

    let order = input.access_order();
    // An unused item is the last. All lines before it are done (clause 2.4.2.3).
    let used = order.iter().position(|&index| items[index].is_none()).unwrap_or(order.len());
    let mut stocks: ArrayVec<_, MAX_ORDER_LINES> = lines.iter().map(|_| None).collect();
    let keys = order[..used].iter().map(|&index| stock::key(lines[index].supply_w_id, lines[index].i_id));
    tx.modify_each(stock::TABLE, keys, |number, row| {
        let index = order[number];
        let original = matches!(&items[index], Some(Ok(item)) if item.original);
        stocks[index] = Some(take_for_order(row, &lines[index], w_id, d_id, original));
    })?;
    let mut shown: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> = lines.iter().map(|_| None).collect();
    for &index in &order {
        let OrderLineInput { i_id, supply_w_id, quantity } = lines[index];
        let Some(item) = items[index].take() else {
            return Err(KvTxError::UnusedItem(head.rolled_back()));
        };
        let OrderedItem { price: i_price, name: i_name, .. } = item?;
        let stock = stocks[index].take();
        let stock = stock.ok_or_else(|| missing(format_args!("stock {supply_w_id}/{i_id}")))?;
        let OrderedStock { quantity: s_quantity, brand, dist_info } = stock?;
        let amount = i_price.times(u32::from(quantity));
        let number = index as u8 + 1;
        let row = rows::OrderLine {
            o_id,
            d_id,
            w_id,
            number,
            i_id,
            supply_w_id,
            delivery_d: None,
            quantity,
            amount,
            dist_info,
        };
        insert(tx, &row, &mut value)?;
        shown[index] = Some(NewOrderLine { i_name, s_quantity, brand, i_price, amount });
    }
    Ok(head.complete(shown.into_iter().flatten()))
}

/// The columns of an item that New-Order reads.
struct OrderedItem {
    price: Cents,
    name: Text<24>,
    original: bool,
}

impl OrderedItem {
    fn read(row: &[u8]) -> Result<Self, Malformed> {
        let original = is_original(item::data(row)?);
        Ok(Self { price: item::PRICE.get(row)?, name: item::NAME.get(row)?, original })
    }
}

/// The columns of a stock that New-Order returns or copies.
struct OrderedStock {
    quantity: i32,
    brand: bool,
    dist_info: Text<24>,
}

/// Applies an order line of a district to its row of stock. `original` is that of the item.
fn take_for_order(
    row: &mut [u8],
    line: &OrderLineInput,
    w_id: WarehouseId,
    d_id: DistrictId,
    original: bool,
) -> Result<OrderedStock, Malformed> {
    let quantity = take_from_stock(row, line, w_id)?;
    let dist_info = stock::DIST.nth(row, usize::from(d_id.stock_column()) - 1)?;
    let brand = original && is_original(stock::data(row)?);
    Ok(OrderedStock { quantity, brand, dist_info })
}

/// Applies an order line of `home` to its row of stock (clause 2.4.2.2). Returns the remaining quantity.
fn take_from_stock(row: &mut [u8], line: &OrderLineInput, home: WarehouseId) -> Result<i32, Malformed> {
    let left = left_in_stock(stock::QUANTITY.get(row)?, i32::from(line.quantity));
    stock::QUANTITY.set(row, &left)?;
    stock::YTD.add(row, u32::from(line.quantity))?;
    stock::ORDER_CNT.add(row, 1)?;
    if line.supply_w_id != home {
        stock::REMOTE_CNT.add(row, 1)?;
    }
    Ok(left)
}

/// Runs dUpdateStock of the Dike paper.
pub(crate) fn update_stock(tx: &mut impl StoreTx, input: &UpdateStock) -> Played {
    let mut quantities = Vec::with_capacity(input.rounds.len());
    for round in &input.rounds {
        let OrderLineInput { i_id, supply_w_id, .. } = *round;
        let (key, what) = (stock::key(supply_w_id, i_id), format_args!("stock {supply_w_id}/{i_id}"));
        quantities.push(change(tx, stock::TABLE, &key, what, |row| take_from_stock(row, round, input.w_id))?);
    }
    Ok(Outcome::UpdateStock(UpdateStockOutcome { quantities }))
}

/// Runs dUpdateItem of the Dike paper.
pub(crate) fn update_item(tx: &mut impl StoreTx, input: &UpdateItem) -> Played {
    // The first item is changed twice: the first change locks it, or marks it as changed, before the second item is
    // read.
    let [one, other] = input.items;
    let mut price = |i_id: ItemId, set: Option<Cents>| {
        change(tx, item::TABLE, &item::key(i_id), format_args!("item {i_id}"), |row| {
            let old = item::PRICE.get(row)?;
            item::PRICE.set(row, &set.unwrap_or(old))?;
            Ok(old)
        })
    };
    let price_of_one = price(one, None)?;
    let price_of_other = price(other, Some(price_of_one))?;
    price(one, Some(price_of_other))?;
    Ok(Outcome::UpdateItem(UpdateItemOutcome { prices: [price_of_other, price_of_one] }))
}

/// Runs dUpdateBalance of the Dike paper.
pub(crate) fn update_balance(tx: &mut impl StoreTx, input: &WarehouseBalances) -> Played {
    for &w_id in &input.warehouses {
        change(tx, warehouse::TABLE, &warehouse::key(w_id), format_args!("warehouse {w_id}"), |row| {
            warehouse::YTD.add(row, BALANCE_UPDATE)
        })?;
    }
    Ok(Outcome::UpdateBalance)
}

/// Runs dSelectBalance of the Dike paper.
pub(crate) fn select_balance(tx: &mut impl StoreTx, input: &WarehouseBalances) -> Played {
    let mut balances = Vec::with_capacity(input.warehouses.len());
    for &w_id in &input.warehouses {
        let key = warehouse::key(w_id);
        let what = format_args!("warehouse {w_id}");
        balances.push(get(tx, warehouse::TABLE, &key, what, |row| warehouse::YTD.get(row))?);
    }
    Ok(Outcome::SelectBalance(SelectBalanceOutcome { balances }))
}

/// Finds the customer that the terminal selected; by last name, the one in the middle.
fn find_customer(
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

/// Runs Payment, clause 2.5.2.
pub(crate) fn payment(
    tx: &mut impl StoreTx,
    input: &Payment,
    now: Timestamp,
    number: HistoryNumber,
) -> Played {
    let Payment { w_id, d_id, c_w_id, c_d_id, amount, .. } = *input;
    let c_id = find_customer(tx, c_w_id, c_d_id, &input.customer)?;
    // Warehouse and district come last, as in SQL.
    // C_DATA of a customer with bad credit may change its length.
    let paid = tx.modify(customer::TABLE, &customer::key(c_w_id, c_d_id, c_id), |row| {
        pay_customer(row, input, c_id)
    })?;
    let mut outcome = paid.ok_or_else(|| missing(format_args!("customer {c_w_id}/{c_d_id}/{c_id}")))??;
    let (address, d_name) = change(
        tx,
        district::TABLE,
        &district::key(w_id, d_id),
        format_args!("district {w_id}/{d_id}"),
        |row| {
            district::YTD.add(row, amount)?;
            Ok((district::ADDRESS.get(row)?, district::NAME.get(row)?))
        },
    )?;
    outcome.district = address;
    let (address, w_name) =
        change(tx, warehouse::TABLE, &warehouse::key(w_id), format_args!("warehouse {w_id}"), |row| {
            warehouse::YTD.add(row, amount)?;
            Ok((warehouse::ADDRESS.get(row)?, warehouse::NAME.get(row)?))
        })?;
    outcome.warehouse = address;
    outcome.h_date = now;
    let data = history_data(&w_name, &d_name);
    let row = rows::History { c_id, c_d_id, c_w_id, d_id, w_id, date: now, amount, data };
    let mut value = Vec::with_capacity(64);
    row.encode(&mut value)?;
    tx.put(history::TABLE, &number.key(w_id, d_id), &value)?;
    Ok(Outcome::Payment(Box::new(outcome)))
}

/// Applies a payment to the customer's row. Returns the values that the terminal shows.
fn pay_customer(row: &mut Vec<u8>, input: &Payment, c_id: CustomerId) -> Result<PaymentOutcome, Malformed> {
    customer::BALANCE.add(row, -input.amount)?;
    customer::YTD_PAYMENT.add(row, input.amount)?;
    customer::PAYMENT_CNT.add(row, 1)?;
    let c_credit = customer::CREDIT.get(row)?;
    let mut c_data = None;
    if c_credit.as_str() == "BC" {
        let data = bad_credit_data(input, c_id, customer::data(row)?);
        row.truncate(customer::WIDTH);
        row.extend_from_slice(data.as_bytes());
        c_data = Some(truncated(&data));
    }
    let address = customer::ADDRESS.get(row)?;
    Ok(PaymentOutcome {
        // These three are filled in later.
        h_date: Timestamp(0),
        warehouse: address.clone(),
        district: address.clone(),
        c_id,
        c_first: customer::FIRST.get(row)?,
        c_middle: customer::MIDDLE.get(row)?,
        c_last: customer::LAST.get(row)?,
        address,
        c_phone: customer::PHONE.get(row)?,
        c_since: customer::SINCE.get(row)?,
        c_credit,
        c_credit_lim: customer::CREDIT_LIM.get(row)?,
        c_discount: customer::DISCOUNT.get(row)?,
        c_balance: customer::BALANCE.get(row)?,
        c_data,
    })
}

/// Runs Order-Status, clause 2.6.2.
pub(crate) fn order_status(tx: &mut impl StoreTx, input: &OrderStatus) -> Played {
    let OrderStatus { w_id, d_id, .. } = *input;
    let c_id = find_customer(tx, w_id, d_id, &input.customer)?;
    let (c_first, c_middle, c_last, c_balance) = get(
        tx,
        customer::TABLE,
        &customer::key(w_id, d_id, c_id),
        format_args!("customer {w_id}/{d_id}/{c_id}"),
        |row| {
            Ok((
                customer::FIRST.get(row)?,
                customer::MIDDLE.get(row)?,
                customer::LAST.get(row)?,
                customer::BALANCE.get(row)?,
            ))
        },
    )?;
    let mut last = None;
    let orders = order_by_customer::prefix(w_id, d_id, c_id);
    scan_prefix(tx, order_by_customer::TABLE, &orders, Direction::Backward, |key, _| {
        last = Some(order_by_customer::o_id(key));
        ControlFlow::Break(())
    })?;
    let o_id = last.ok_or_else(|| missing(format_args!("an order of customer {w_id}/{d_id}/{c_id}")))??;
    let key = order::key(w_id, d_id, o_id);
    let (entry_d, carrier_id) =
        get(tx, order::TABLE, &key, format_args!("order {w_id}/{d_id}/{o_id}"), |row| {
            Ok((order::ENTRY_D.get(row)?, order::CARRIER_ID.get(row)?))
        })?;
    let mut lines = Vec::with_capacity(MAX_ORDER_LINES);
    // The keys come in the order of OL_NUMBER.
    scan_prefix(tx, order_line::TABLE, &key, Direction::Forward, |_, row| {
        lines.push(status_line(row));
        ControlFlow::Continue(())
    })?;
    if lines.is_empty() {
        return Err(missing(format_args!("a line of order {w_id}/{d_id}/{o_id}")));
    }
    let lines = lines.into_iter().collect::<Result<_, _>>()?;
    Ok(Outcome::OrderStatus(OrderStatusOutcome {
        c_id,
        c_first,
        c_middle,
        c_last,
        c_balance,
        o_id,
        entry_d,
        carrier_id,
        lines,
    }))
}

fn status_line(row: &[u8]) -> Result<OrderStatusLine, Malformed> {
    Ok(OrderStatusLine {
        i_id: order_line::I_ID.get(row)?,
        supply_w_id: order_line::SUPPLY_W_ID.get(row)?,
        quantity: order_line::QUANTITY.get(row)?,
        amount: order_line::AMOUNT.get(row)?,
        delivery_d: order_line::DELIVERY_D.get(row)?,
    })
}

/// Runs the deferred part of Delivery, clause 2.7.4: all districts of the warehouse in one transaction.
pub(crate) fn delivery(tx: &mut impl StoreTx, input: &Delivery, now: Timestamp) -> Played {
    let mut delivered = Vec::with_capacity(usize::from(input.districts));
    for d_id in input.district_ids() {
        // A district without an undelivered order is skipped (clause 2.7.4.2).
        let Some(o_id) = oldest_new_order(tx, input.w_id, d_id)? else { continue };
        deliver(tx, input, d_id, o_id, now)?;
        delivered.push((d_id, o_id));
    }
    Ok(Outcome::Delivery(DeliveryOutcome { delivered }))
}

fn oldest_new_order(
    tx: &mut impl StoreTx,
    w_id: WarehouseId,
    d_id: DistrictId,
) -> Result<Option<OrderId>, KvTxError> {
    let mut oldest = None;
    let district = district_prefix(w_id, d_id);
    scan_prefix(tx, new_order::TABLE, &district, Direction::Forward, |key, value| {
        oldest = Some(rows::NewOrder::decode(key, value));
        ControlFlow::Break(())
    })?;
    Ok(oldest.transpose()?.map(|row| row.o_id))
}

fn deliver(
    tx: &mut impl StoreTx,
    input: &Delivery,
    d_id: DistrictId,
    o_id: OrderId,
    now: Timestamp,
) -> Result<(), KvTxError> {
    let Delivery { w_id, carrier_id, .. } = *input;
    tx.delete(new_order::TABLE, &new_order::key(w_id, d_id, o_id))?;
    let key = order::key(w_id, d_id, o_id);
    let c_id = change(tx, order::TABLE, &key, format_args!("order {w_id}/{d_id}/{o_id}"), |row| {
        order::CARRIER_ID.set(row, &Some(carrier_id))?;
        order::C_ID.get(row)
    })?;
    // The scan borrows the transaction, so it can't change the rows that it reads.
    let mut numbers = Vec::with_capacity(MAX_ORDER_LINES);
    scan_prefix(tx, order_line::TABLE, &key, Direction::Forward, |key, _| {
        numbers.extend(key.last());
        ControlFlow::Continue(())
    })?;
    if numbers.is_empty() {
        return Err(missing(format_args!("the lines of order {w_id}/{d_id}/{o_id}")));
    }
    let mut sum = Cents(0);
    for number in numbers {
        let line = order_line::key(w_id, d_id, o_id, number);
        let what = format_args!("line {number} of order {w_id}/{d_id}/{o_id}");
        sum += change(tx, order_line::TABLE, &line, what, |row| {
            order_line::DELIVERY_D.set(row, &Some(now))?;
            order_line::AMOUNT.get(row)
        })?;
    }
    change(
        tx,
        customer::TABLE,
        &customer::key(w_id, d_id, c_id),
        format_args!("customer {w_id}/{d_id}/{c_id}"),
        |row| {
            customer::BALANCE.add(row, sum)?;
            customer::DELIVERY_CNT.add(row, 1)
        },
    )
}

/// Runs Stock-Level, clause 2.8.2.
pub(crate) fn stock_level(tx: &mut impl StoreTx, input: &StockLevel) -> Played {
    let mut low_stock = 0;
    for (w_id, d_id) in input.districts() {
        low_stock += low_stock_of(tx, w_id, d_id, input.threshold)?;
    }
    Ok(Outcome::StockLevel(StockLevelOutcome { low_stock }))
}

/// Returns the items of a district's last orders whose stock is below the threshold.
fn low_stock_of(
    tx: &mut impl StoreTx,
    w_id: WarehouseId,
    d_id: DistrictId,
    threshold: u8,
) -> Result<u32, KvTxError> {
    let next = get(
        tx,
        district::TABLE,
        &district::key(w_id, d_id),
        format_args!("district {w_id}/{d_id}"),
        |row| district::NEXT_O_ID.get(row),
    )?;
    let from = order::key(w_id, d_id, OrderId(next.0.saturating_sub(RECENT_ORDERS)));
    let below = order::key(w_id, d_id, next);
    let mut items = Vec::with_capacity(RECENT_ORDERS as usize * MAX_ORDER_LINES);
    let mut bad = Ok(());
    let range = KeyRange { from: &from, below: Some(&below) };
    // With skewed data a warehouse stocks a part of the items, and others supply the rest.
    let item = |row: &[u8]| {
        let item = order_line::I_ID.get(row)?;
        order_line::SUPPLY_W_ID.get(row).map(|supply_w_id| (item, supply_w_id != w_id))
    };
    tx.scan(order_line::TABLE, range, Direction::Forward, &mut |_, row| match item(row) {
        Ok(item) => {
            items.push(item);
            ControlFlow::Continue(())
        }
        Err(malformed) => {
            bad = Err(malformed);
            ControlFlow::Break(())
        }
    })?;
    bad?;
    // One that the warehouse has supplied itself, at least once, comes first and stays.
    items.sort_unstable();
    items.dedup_by_key(|(i_id, _)| *i_id);
    let mut quantities = vec![None; items.len()];
    tx.read_each(stock::TABLE, items.iter().map(|&(i_id, _)| stock::key(w_id, i_id)), |number, row| {
        quantities[number] = Some(stock::QUANTITY.get(row));
    })?;
    let mut low_stock = 0;
    for ((i_id, from_elsewhere), quantity) in items.into_iter().zip(quantities) {
        match quantity {
            Some(quantity) => low_stock += u32::from(quantity? < i32::from(threshold)),
            None if from_elsewhere => {}
            None => return Err(missing(format_args!("stock {w_id}/{i_id}"))),
        }
    }
    Ok(low_stock)
}
