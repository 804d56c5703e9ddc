//! The transactions, one statement per step (`statements`), and the session that all three modes share.

use crate::error::{AbortReason, TxError};
use crate::profile::{
    OrderHead, asks_for_an_unused_item, bad_credit_data, history_data, is_brand, left_in_stock, middle,
};
use crate::replication::Positions;
use crate::session::Session;
use crate::sql::connection::{Connection, SqlError};
use crate::sql::dialect::{Batches, Dialect};
use crate::sql::prepared::Prepared;
use crate::sql::statement::Statement;
use crate::sql::value::{Rows, Value};
use crate::sql::{batched, multi_row, procedures};
use crate::target::TxMode;
use arrayvec::ArrayVec;
use lydite_tpcc::input::Contended;
use lydite_tpcc::outcome::{
    Address, DeliveryOutcome, NewOrderLine, OrderStatusLine, OrderStatusOutcome, PaymentOutcome,
    SelectBalanceOutcome, StockLevelOutcome, UpdateItemOutcome, UpdateStockOutcome,
};
use lydite_tpcc::text::{Text, truncated};
use lydite_tpcc::transaction::{
    BALANCE_UPDATE, CustomerSelector, Delivery, MAX_ORDER_LINES, NewOrder, OrderLineInput, OrderStatus,
    Payment, StockLevel, UpdateItem, UpdateStock, WarehouseBalances,
};
use lydite_tpcc::{
    CarrierId, Cents, CustomerId, DistrictId, ItemId, OrderId, Outcome, RolledBackOrder, Timestamp,
    Transaction, WarehouseId,
};
use std::sync::Arc;

/// How a step ended the transaction before its commit.
pub enum Stop {
    /// A statement failed.
    Failed(SqlError),
    /// The commit was sent and failed.
    CommitFailed(SqlError),
    /// The order has an unused item.
    UnusedItem(RolledBackOrder),
    /// Another transaction took what this one had found (possible below repeatable read).
    Overtaken(&'static str),
    /// A row that must be there is missing (clause 2.3.6).
    Missing(String),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Self {
        Self::Failed(error)
    }
}

/// What a transaction in one mode gives.
pub(crate) type Played = Result<Outcome, Stop>;

/// A session of an SQL database in any mode.
pub struct SqlSession<C> {
    pub(crate) connection: C,
    pub(crate) mode: TxMode,
    pub(crate) dialect: &'static Dialect,
    /// Told before the stock of an order is asked for.
    watching: Option<(Contended, Arc<dyn Fn() + Send + Sync>)>,
    /// One buffer for each answer of the longest pipeline.
    pub(crate) rows: [Rows; LONGEST_PIPELINE],
}

/// Statements that are sent together at most: an order, its entry among the new ones, its lines, and their stock.
pub const LONGEST_PIPELINE: usize = 3 + MAX_ORDER_LINES;

impl<C: Connection> SqlSession<C> {
    /// Plays TPC-C over `connection` in one way of sending.
    pub fn new(connection: C, mode: TxMode, dialect: &'static Dialect) -> Self {
        Self { connection, mode, dialect, watching: None, rows: Default::default() }
    }
}

impl<C: Connection> Session for SqlSession<C> {
    fn watch(&mut self, row: Contended, asked: Arc<dyn Fn() + Send + Sync>) -> bool {
        self.watching = Some((row, asked));
        self.mode == TxMode::Statements
    }

    fn positions(&mut self) -> Option<&mut dyn Positions> {
        self.connection.positions()
    }

    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        let played = match self.mode {
            TxMode::Statements => match transaction {
                Transaction::NewOrder(input) => self.new_order(input),
                Transaction::Payment(input) => self.payment(input),
                Transaction::OrderStatus(input) => self.order_status(input),
                Transaction::Delivery(input) => self.delivery(input),
                Transaction::StockLevel(input) => self.stock_level(input),
                Transaction::UpdateStock(input) => self.update_stock(input),
                Transaction::UpdateItem(input) => self.update_item(input),
                Transaction::UpdateBalance(input) => self.update_balance(input),
                Transaction::SelectBalance(input) => self.select_balance(input),
            },
            TxMode::Batched => match self.dialect.batches {
                Batches::Arrays => batched::play(self, transaction),
                Batches::Rows => multi_row::play(self, transaction),
            },
            TxMode::Procedures => procedures::play(self, transaction),
        };
        let stop = match played {
            Ok(outcome) => return Ok(outcome),
            Err(stop) => stop,
        };
        let (error, alive) = match stop {
            Stop::Failed(error) => {
                let alive = !matches!(error, SqlError::Lost(_));
                (error.in_transaction(false), alive)
            }
            Stop::CommitFailed(error) => {
                let alive = !matches!(error, SqlError::Lost(_));
                (error.in_transaction(true), alive)
            }
            Stop::UnusedItem(order) if asks_for_an_unused_item(transaction) => {
                (TxError::RolledBack(Box::new(order)), true)
            }
            Stop::UnusedItem(order) => (
                TxError::Fatal(format!("an item of order {} is missing: run lydite check", order.o_id)),
                true,
            ),
            Stop::Overtaken(what) => {
                (TxError::Aborted { reason: AbortReason::Other, detail: what.to_string() }, true)
            }
            Stop::Missing(what) => (TxError::Fatal(what), true),
        };
        Err(if alive { roll_back(&mut self.connection, error) } else { error })
    }
}

/// Rolls back the transaction that ended with `error`, so that the session can begin the next one; the answer is the
/// error to tell.
pub fn roll_back<S: Prepared, C: Connection<S>>(connection: &mut C, error: TxError) -> TxError {
    if !matches!(error, TxError::Unavailable { .. })
        && let Err(failed) = connection.roll_back()
        // The order that TPC-C wants rolled back is rolled back by a lost connection too.
        && !matches!(error, TxError::RolledBack(_))
    {
        return failed.in_transaction(false);
    }
    error
}

/// Reads an address from five columns.
pub fn address(rows: &Rows, column: usize) -> Result<Address, SqlError> {
    Ok(Address {
        street_1: rows.fixed(0, column)?,
        street_2: rows.fixed(0, column + 1)?,
        city: rows.fixed(0, column + 2)?,
        state: rows.fixed(0, column + 3)?,
        zip: rows.fixed(0, column + 4)?,
    })
}

/// Reads an order line from five columns.
pub fn status_line(rows: &Rows, row: usize, column: usize) -> Result<OrderStatusLine, SqlError> {
    Ok(OrderStatusLine {
        i_id: ItemId(rows.int(row, column)?),
        supply_w_id: WarehouseId(rows.int(row, column + 1)?),
        quantity: rows.int(row, column + 2)?,
        amount: rows.money(row, column + 3)?,
        delivery_d: rows.optional_time(row, column + 4)?,
    })
}

/// Clause 2.3.6: a row that the profile names must be there.
pub fn present(rows: &Rows, what: impl FnOnce() -> String) -> Result<(), Stop> {
    if rows.is_empty() {
        Err(Stop::Missing(format!("{} is missing: run lydite check", what())))
    } else {
        Ok(())
    }
}

/// The statement of each of these answers must have changed this many rows.
pub fn changed(rows: &[Rows], wanted: u64, what: impl Fn() -> String) -> Result<(), Stop> {
    match rows.iter().find(|rows| rows.affected() != wanted) {
        None => Ok(()),
        Some(rows) => Err(Stop::Missing(format!(
            "{} changed {} rows instead of {wanted}: run lydite check",
            what(),
            rows.affected()
        ))),
    }
}

impl<C: Connection> SqlSession<C> {
    /// Runs a statement; its rows are in `self.rows[0]`.
    fn step(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<&Rows, Stop> {
        self.connection.run(statement, params, &mut self.rows[0])?;
        Ok(&self.rows[0])
    }

    /// Runs a statement that must change exactly one row.
    fn change(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<(), Stop> {
        match self.step(statement, params)?.affected() {
            1 => Ok(()),
            rows => Err(Stop::Missing(format!(
                "{statement:?} changed {rows} rows instead of 1: run lydite check"
            ))),
        }
    }

    pub(crate) fn commit(&mut self) -> Result<(), Stop> {
        self.connection.run(Statement::Commit, &[], &mut self.rows[0]).map_err(Stop::CommitFailed)
    }

    /// Tells who watches for it that a New-Order asks for a row that others may want to change as well.
    fn asks_for(&self, row: Contended) {
        if let Some((watched, asked)) = &self.watching
            && *watched == row
        {
            asked();
        }
    }

    fn new_order(&mut self, input: &NewOrder) -> Played {
        let w = Value::Int(input.w_id.get());
        let d = Value::Int(input.d_id.get());
        let c = Value::Int(input.c_id.get());
        self.step(Statement::BeginWrite, &[])?;
        let rows = self.step(Statement::OrderWarehouse, &[w])?;
        present(rows, || format!("warehouse {}", input.w_id))?;
        let (w_tax, entry_d) = (rows.rate(0, 0)?, rows.time(0, 1)?);
        let rows = self.step(Statement::OrderCustomer, &[w, d, c])?;
        present(rows, || format!("customer {}/{}/{}", input.w_id, input.d_id, input.c_id))?;
        let (c_discount, c_last, c_credit) = (rows.rate(0, 0)?, rows.fixed(0, 1)?, rows.fixed(0, 2)?);
        self.asks_for(Contended::District);
        let rows = self.step(Statement::OrderDistrict, &[w, d])?;
        present(rows, || format!("district {}/{}", input.w_id, input.d_id))?;
        let (d_tax, o_id) = (rows.rate(0, 0)?, OrderId(rows.int(0, 1)?));
        let head = OrderHead { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax };
        let o = Value::Int(o_id.get());
        self.change(Statement::TakeOrderId, &[w, d])?;
        let count = Value::Int(input.lines.len() as i64);
        let all_local = Value::Int(i64::from(input.all_local()));
        self.change(Statement::InsertOrder, &[o, d, w, c, Value::Time(entry_d), count, all_local])?;
        self.change(Statement::InsertNewOrder, &[o, d, w])?;

        let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
            input.lines.iter().map(|_| None).collect();
        for (place, index) in input.access_order().into_iter().enumerate() {
            let line = &input.lines[index];
            let item = Value::Int(line.i_id.get());
            let supply = Value::Int(line.supply_w_id.get());
            let rows = self.step(Statement::Item, &[item])?;
            if rows.is_empty() {
                // The unused item: all valid lines are done, so the profile ends here (clause 2.4.2.3).
                return Err(Stop::UnusedItem(head.rolled_back()));
            }
            let i_price = rows.money(0, 0)?;
            let i_name = rows.fixed(0, 1)?;
            let i_data: Text<50> = rows.fixed(0, 2)?;
            if place == 0 {
                self.asks_for(Contended::Stock);
            }
            let rows = self.step(Statement::stock(input.d_id), &[supply, item])?;
            present(rows, || format!("stock {}/{}", line.supply_w_id, line.i_id))?;
            let quantity = i32::from(line.quantity);
            let in_stock: i32 = rows.int(0, 0)?;
            let brand = is_brand(&i_data, rows.text(0, 1)?);
            let dist_info: Text<24> = rows.fixed(0, 2)?;
            let s_quantity = left_in_stock(in_stock, quantity);
            let ordered = Value::Int(i64::from(quantity));
            self.change(Statement::UpdateStock, &taken_from_stock(s_quantity, line, input.w_id))?;
            let amount = i_price.times(u32::from(line.quantity));
            let number = Value::Int(index as i64 + 1);
            self.change(
                Statement::InsertOrderLine,
                &[o, d, w, number, item, supply, ordered, Value::Money(amount), Value::Text(&dist_info)],
            )?;
            lines[index] = Some(NewOrderLine { i_name, s_quantity, brand, i_price, amount });
        }
        self.commit()?;
        Ok(head.complete(lines.into_iter().flatten()))
    }

    /// The customer that the terminal means; among those of a last name the middle one.
    fn find_customer(
        &mut self,
        w_id: WarehouseId,
        d_id: DistrictId,
        customer: &CustomerSelector,
    ) -> Result<CustomerId, Stop> {
        match customer {
            CustomerSelector::Id(c_id) => Ok(*c_id),
            CustomerSelector::LastName(name) => {
                let params = [Value::Int(w_id.get()), Value::Int(d_id.get()), Value::Text(name)];
                let rows = self.step(Statement::CustomersByName, &params)?;
                present(rows, || format!("a customer named {name} of district {w_id}/{d_id}"))?;
                Ok(CustomerId(rows.int(middle(rows.len()), 0)?))
            }
        }
    }

    fn payment(&mut self, input: &Payment) -> Played {
        let w = Value::Int(input.w_id.get());
        let d = Value::Int(input.d_id.get());
        let c_w = Value::Int(input.c_w_id.get());
        let c_d = Value::Int(input.c_d_id.get());
        let amount = Value::Money(input.amount);
        self.step(Statement::BeginWrite, &[])?;
        // Customer, district, warehouse: the most wanted row is locked last and for the shortest time.
        let c_id = self.find_customer(input.c_w_id, input.c_d_id, &input.customer)?;
        let c = Value::Int(c_id.get());
        let rows = self.step(Statement::PaymentCustomer, &[c_w, c_d, c])?;
        present(rows, || format!("customer {}/{}/{c_id}", input.c_w_id, input.c_d_id))?;
        let mut outcome = paid_customer(rows, c_id)?;
        outcome.c_balance -= input.amount;
        if outcome.c_credit.as_str() == "BC" {
            let rows = self.step(Statement::CustomerData, &[c_w, c_d, c])?;
            present(rows, || format!("customer {}/{}/{c_id}", input.c_w_id, input.c_d_id))?;
            let data = bad_credit_data(input, c_id, rows.text(0, 0)?);
            self.change(Statement::PayBadCredit, &[amount, amount, Value::Text(&data), c_w, c_d, c])?;
            outcome.c_data = Some(truncated(&data));
        } else {
            self.change(Statement::PayGoodCredit, &[amount, amount, c_w, c_d, c])?;
        }
        self.change(Statement::PayDistrict, &[amount, w, d])?;
        let rows = self.step(Statement::PaymentDistrict, &[w, d])?;
        present(rows, || format!("district {}/{}", input.w_id, input.d_id))?;
        outcome.district = address(rows, 0)?;
        let d_name: Text<10> = rows.fixed(0, 5)?;
        self.change(Statement::PayWarehouse, &[amount, w])?;
        let rows = self.step(Statement::PaymentWarehouse, &[w])?;
        present(rows, || format!("warehouse {}", input.w_id))?;
        outcome.warehouse = address(rows, 0)?;
        let data = history_data(rows.text(0, 5)?, &d_name);
        outcome.h_date = rows.time(0, 6)?;
        let date = Value::Time(outcome.h_date);
        self.change(Statement::InsertHistory, &[c, c_d, c_w, d, w, date, amount, Value::Text(&data)])?;
        self.commit()?;
        Ok(Outcome::Payment(Box::new(outcome)))
    }

    fn order_status(&mut self, input: &OrderStatus) -> Played {
        let w = Value::Int(input.w_id.get());
        let d = Value::Int(input.d_id.get());
        self.step(Statement::BeginRead, &[])?;
        let c_id = self.find_customer(input.w_id, input.d_id, &input.customer)?;
        let c = Value::Int(c_id.get());
        let rows = self.step(Statement::StatusCustomer, &[w, d, c])?;
        present(rows, || format!("customer {}/{}/{c_id}", input.w_id, input.d_id))?;
        let mut outcome = status_customer(rows)?;
        let rows = self.step(Statement::LastOrder, &[w, d, c])?;
        present(rows, || format!("an order of customer {}/{}/{c_id}", input.w_id, input.d_id))?;
        last_order(&mut outcome, rows, 0)?;
        let rows = self.step(Statement::OrderLines, &[w, d, Value::Int(outcome.o_id.get())])?;
        outcome.lines = (0..rows.len()).map(|row| status_line(rows, row, 0)).collect::<Result<_, _>>()?;
        self.commit()?;
        Ok(Outcome::OrderStatus(outcome))
    }

    fn delivery(&mut self, input: &Delivery) -> Played {
        let w = Value::Int(input.w_id.get());
        self.step(Statement::BeginWrite, &[])?;
        let mut outcome = DeliveryOutcome::default();
        for d_id in input.district_ids() {
            let d = Value::Int(d_id.get());
            let Some(o_id) = self.oldest_new_order(w, d)? else { continue };
            let o = Value::Int(o_id.get());
            if self.step(Statement::DeleteNewOrder, &[w, d, o])?.affected() != 1 {
                return Err(Stop::Overtaken("another delivery took the oldest order"));
            }
            // Changed first: a snapshot that is older than the order shows it from then on.
            self.change(Statement::SetCarrier, &[Value::Int(input.carrier_id.get()), w, d, o])?;
            let rows = self.step(Statement::DeliveredOrder, &[w, d, o])?;
            present(rows, || format!("order {}/{d_id}/{o_id}", input.w_id))?;
            let c = Value::Int(rows.int(0, 0)?);
            self.step(Statement::SetDeliveryDate, &[w, d, o])?;
            let rows = self.step(Statement::SumOfLines, &[w, d, o])?;
            present(rows, || format!("lines of order {}/{d_id}/{o_id}", input.w_id))?;
            let amount = rows.money(0, 0)?;
            self.change(Statement::CreditCustomer, &[Value::Money(amount), w, d, c])?;
            outcome.delivered.push((d_id, o_id));
        }
        self.commit()?;
        Ok(Outcome::Delivery(outcome))
    }

    /// The oldest undelivered order of a district. Below repeatable read the row that a locking read waited for may
    /// be gone when it is free, and the read then finds nothing although there are more: look again.
    fn oldest_new_order(&mut self, w: Value<'_>, d: Value<'_>) -> Result<Option<OrderId>, Stop> {
        loop {
            let rows = self.step(Statement::OldestNewOrder, &[w, d])?;
            if !rows.is_empty() {
                return Ok(Some(OrderId(rows.int(0, 0)?)));
            }
            let rows = self.step(Statement::LeastNewOrder, &[w, d])?;
            if rows.is_null(0, 0) {
                return Ok(None);
            }
        }
    }

    fn stock_level(&mut self, input: &StockLevel) -> Played {
        self.step(Statement::BeginRead, &[])?;
        let mut low_stock = 0;
        for (w_id, d_id) in input.districts() {
            let (w, d) = (Value::Int(w_id.get()), Value::Int(d_id.get()));
            let rows = self.step(Statement::NextOrderId, &[w, d])?;
            present(rows, || format!("district {w_id}/{d_id}"))?;
            let next: i64 = rows.int(0, 0)?;
            let threshold = Value::Int(i64::from(input.threshold));
            let params = [w, d, Value::Int(next - 20), Value::Int(next), threshold];
            low_stock += self.step(Statement::CountLowStock, &params)?.int::<u32>(0, 0)?;
        }
        self.commit()?;
        Ok(Outcome::StockLevel(StockLevelOutcome { low_stock }))
    }

    fn update_stock(&mut self, input: &UpdateStock) -> Played {
        self.step(Statement::BeginWrite, &[])?;
        let mut quantities = Vec::with_capacity(input.rounds.len());
        for round in &input.rounds {
            let (supply, item) = (Value::Int(round.supply_w_id.get()), Value::Int(round.i_id.get()));
            let rows = self.step(Statement::StockQuantity, &[supply, item])?;
            present(rows, || format!("stock {}/{}", round.supply_w_id, round.i_id))?;
            let left = left_in_stock(rows.int(0, 0)?, i32::from(round.quantity));
            self.change(Statement::UpdateStock, &taken_from_stock(left, round, input.w_id))?;
            quantities.push(left);
        }
        self.commit()?;
        Ok(Outcome::UpdateStock(UpdateStockOutcome { quantities }))
    }

    fn update_item(&mut self, input: &UpdateItem) -> Played {
        let [one, other] = input.items.map(|item| Value::Int(item.get()));
        self.step(Statement::BeginWrite, &[])?;
        let price_of_one = item_price(self.step(Statement::ItemPrice, &[one])?, input.items[0])?;
        let price_of_other = item_price(self.step(Statement::ItemPrice, &[other])?, input.items[1])?;
        self.change(Statement::SetPrice, &[Value::Money(price_of_other), one])?;
        self.change(Statement::SetPrice, &[Value::Money(price_of_one), other])?;
        self.commit()?;
        Ok(Outcome::UpdateItem(UpdateItemOutcome { prices: [price_of_other, price_of_one] }))
    }

    fn update_balance(&mut self, input: &WarehouseBalances) -> Played {
        self.step(Statement::BeginWrite, &[])?;
        for w_id in &input.warehouses {
            self.step(Statement::PayWarehouse, &[Value::Money(BALANCE_UPDATE), Value::Int(w_id.get())])?;
            changed(&self.rows[..1], 1, || format!("warehouse {w_id}"))?;
        }
        self.commit()?;
        Ok(Outcome::UpdateBalance)
    }

    fn select_balance(&mut self, input: &WarehouseBalances) -> Played {
        self.step(Statement::BeginRead, &[])?;
        let mut balances = Vec::with_capacity(input.warehouses.len());
        for &w_id in &input.warehouses {
            let rows = self.step(Statement::WarehouseBalance, &[Value::Int(w_id.get())])?;
            balances.push(balance(rows, w_id)?);
        }
        self.commit()?;
        Ok(Outcome::SelectBalance(SelectBalanceOutcome { balances }))
    }
}

/// Reads the answer of [`Statement::WarehouseBalance`].
pub fn balance(rows: &Rows, w_id: WarehouseId) -> Result<Cents, Stop> {
    present(rows, || format!("warehouse {w_id}"))?;
    Ok(rows.money(0, 0)?)
}

/// Reads the answer of [`Statement::ItemPrice`].
pub fn item_price(rows: &Rows, item: ItemId) -> Result<Cents, Stop> {
    present(rows, || format!("item {item}"))?;
    Ok(rows.money(0, 0)?)
}

/// The parameters of [`Statement::UpdateStock`] for a line of an order of `home` that leaves so much.
pub fn taken_from_stock(left: i32, line: &OrderLineInput, home: WarehouseId) -> [Value<'static>; 5] {
    [
        Value::Int(i64::from(left)),
        Value::Int(i64::from(line.quantity)),
        Value::Int(i64::from(line.supply_w_id != home)),
        Value::Int(line.supply_w_id.get()),
        Value::Int(line.i_id.get()),
    ]
}

/// The part of Payment's answer that comes from the customer's row, in the columns of
/// [`Statement::PaymentCustomer`]; addresses and date of the receiver are filled in later.
pub fn paid_customer(rows: &Rows, c_id: CustomerId) -> Result<PaymentOutcome, SqlError> {
    let nowhere = Address {
        street_1: Text::new(),
        street_2: Text::new(),
        city: Text::new(),
        state: Text::new(),
        zip: Text::new(),
    };
    Ok(PaymentOutcome {
        h_date: Timestamp(0),
        warehouse: nowhere.clone(),
        district: nowhere,
        c_id,
        c_first: rows.fixed(0, 0)?,
        c_middle: rows.fixed(0, 1)?,
        c_last: rows.fixed(0, 2)?,
        address: address(rows, 3)?,
        c_phone: rows.fixed(0, 8)?,
        c_since: rows.time(0, 9)?,
        c_credit: rows.fixed(0, 10)?,
        c_credit_lim: rows.money(0, 11)?,
        c_discount: rows.rate(0, 12)?,
        c_balance: rows.money(0, 13)?,
        c_data: None,
    })
}

/// The part of Order-Status' answer that comes from the customer's row, in the columns of
/// [`Statement::StatusCustomer`]; the order is filled in later.
pub fn status_customer(rows: &Rows) -> Result<OrderStatusOutcome, SqlError> {
    Ok(OrderStatusOutcome {
        c_id: CustomerId(rows.int(0, 0)?),
        c_first: rows.fixed(0, 1)?,
        c_middle: rows.fixed(0, 2)?,
        c_last: rows.fixed(0, 3)?,
        c_balance: rows.money(0, 4)?,
        o_id: OrderId(0),
        entry_d: Timestamp(0),
        carrier_id: None,
        lines: Vec::new(),
    })
}

/// Fills in the order itself, from three columns as in [`Statement::LastOrder`].
pub fn last_order(outcome: &mut OrderStatusOutcome, rows: &Rows, column: usize) -> Result<(), SqlError> {
    outcome.o_id = OrderId(rows.int(0, column)?);
    outcome.entry_d = rows.time(0, column + 1)?;
    outcome.carrier_id = rows.optional_int(0, column + 2)?.map(CarrierId);
    Ok(())
}
