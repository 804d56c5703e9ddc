//! Payment (clause 2.5): its statements, and a function for each way of sending them. All ways lock
//! customer, district and warehouse in this order, so that the row with the most contention is locked last and for the
//! shortest time.

use crate::profile::{bad_credit_data, history_data, middle};
use crate::sql::connection::Step;
use crate::sql::session::{Played, SqlSession, changed, committed_one_each, one, present, returned_one};
use crate::sql::sql_error::SqlError;
use crate::sql::statement::SqlText::{Made, Sql};
use crate::sql::statement::{Statement, Way, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::rows::Address;
use lydite_tpcc::text::{Text, truncated};
use lydite_tpcc::transactions::{CustomerSelector, Payment, PaymentOutcome};
use lydite_tpcc::{CustomerId, DistrictId, StandardKind, Timestamp, TransactionKind, WarehouseId};

statements! {
    of Some(TransactionKind::Standard(StandardKind::Payment));

    CustomersByName [Statements MultiRow]
        Sql("SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id");

    PaymentCustomer [Statements]
        Sql("SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
             c_credit, c_credit_lim, c_discount, c_balance FROM customer \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3{for_update}");

    CustomerData [Statements]
        Sql("SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3{newest}");

    PayGoodCredit [Statements]
        Sql("UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
             c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5");

    PayBadCredit [Statements]
        Sql("UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
             c_payment_cnt = c_payment_cnt + 1, c_data = $3 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6");

    PayDistrict [Statements MultiRow] Sql("UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3");

    PaymentDistrict [Statements MultiRow]
        Sql("SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district \
             WHERE d_w_id = $1 AND d_id = $2");

    /// In batches only for dUpdateBalance.
    PayWarehouse [Statements Batched MultiRow] Sql("UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2");

    PaymentWarehouse [Statements MultiRow]
        Sql("SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name, {now} FROM warehouse WHERE w_id = $1");

    InsertHistory [Statements Batched MultiRow]
        Sql("INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)");

    BatchPayCustomer [Batched] Made(|_| batch_pay_customer_text("$3"));

    BatchPayCustomerByName [Batched] Made(|_| {
        batch_pay_customer_text(
            "(SELECT c_id FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, \
             count(*) OVER () AS found FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named \
             WHERE place = (found + 1) / 2)",
        )
    });

    BatchPayDistrict [Batched]
        Sql("UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3 \
             RETURNING d_street_1, d_street_2, d_city, d_state, d_zip, d_name");

    BatchPayWarehouse [Batched]
        Sql("UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2 \
             RETURNING w_street_1, w_street_2, w_city, w_state, w_zip, w_name, {now}");

    /// $3 is the text that the payment puts before C_DATA of a customer with bad credit (clause 2.5.2.2).
    PayCustomer [MultiRow]
        Sql("UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
             c_payment_cnt = c_payment_cnt + 1, c_data = CASE c_credit WHEN 'BC' \
             THEN left(concat($3, c_data), 500) ELSE c_data END \
             WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6");

    PaidCustomer [MultiRow]
        Sql("SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
             c_credit, c_credit_lim, c_discount, c_balance, c_id, \
             CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END FROM customer \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3");

    CallPayment [Procedures] Sql("{call} lydite_payment($1, $2, $3, $4, $5, $6, $7)");
}

/// Returns the statement that pays for the customer `c_id` and returns the columns of [`Statement::PaidCustomer`]. $5
/// and $6 are the warehouse and the district of the payment.
fn batch_pay_customer_text(c_id: &str) -> String {
    // C_DATA after a payment by a customer with bad credit (clause 2.5.2.2): the payment's data before the old text,
    // cut at 500 characters. [`crate::profile::bad_credit_data`] is the same in Rust.
    let bad_credit_data = "left(format('%s %s %s %s %s %s|', c_id, c_d_id, c_w_id, $6::int, $5::int, \
                           $4::numeric(6,2)) || c_data, 500)";
    format!(
        "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
         c_payment_cnt = c_payment_cnt + 1, \
         c_data = CASE WHEN c_credit = 'BC' THEN {bad_credit_data} ELSE c_data END \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = {c_id} \
         RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
         c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_id, \
         CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END"
    )
}

/// Runs one Payment.
pub(crate) fn play(session: &mut SqlSession, input: &Payment) -> Played<Box<PaymentOutcome>> {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Batched => batched(session, input),
        Way::MultiRow => multi_row(session, input),
        Way::Procedures => procedures(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &Payment) -> Played<Box<PaymentOutcome>> {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c_w = Value::Int(input.c_w_id.get());
    let c_d = Value::Int(input.c_d_id.get());
    let amount = Value::Money(input.amount);
    session.step(Statement::BeginWrite, &[])?;
    let c_id = find_customer(session, input.c_w_id, input.c_d_id, &input.customer)?;
    let c = Value::Int(c_id.get());
    let rows = session.step(Statement::PaymentCustomer, &[c_w, c_d, c])?;
    one(rows, || format!("customer {}/{}/{c_id}", input.c_w_id, input.c_d_id))?;
    let mut outcome = paid_customer(rows, c_id)?;
    outcome.c_balance -= input.amount;
    if outcome.c_credit.as_str() == "BC" {
        let rows = session.step(Statement::CustomerData, &[c_w, c_d, c])?;
        one(rows, || format!("customer {}/{}/{c_id}", input.c_w_id, input.c_d_id))?;
        let data = bad_credit_data(input, c_id, rows.text(0, 0)?);
        session.change(Statement::PayBadCredit, &[amount, amount, Value::Text(&data), c_w, c_d, c])?;
        outcome.c_data = Some(truncated(&data));
    } else {
        session.change(Statement::PayGoodCredit, &[amount, amount, c_w, c_d, c])?;
    }
    session.change(Statement::PayDistrict, &[amount, w, d])?;
    let rows = session.step(Statement::PaymentDistrict, &[w, d])?;
    one(rows, || format!("district {}/{}", input.w_id, input.d_id))?;
    outcome.district = address(rows, 0)?;
    let d_name: Text<10> = rows.fixed(0, 5)?;
    session.change(Statement::PayWarehouse, &[amount, w])?;
    let rows = session.step(Statement::PaymentWarehouse, &[w])?;
    one(rows, || format!("warehouse {}", input.w_id))?;
    outcome.warehouse = address(rows, 0)?;
    let data = history_data(rows.text(0, 5)?, &d_name);
    outcome.h_date = rows.time(0, 6)?;
    let date = Value::Time(outcome.h_date);
    session.change(Statement::InsertHistory, &[c, c_d, c_w, d, w, date, amount, Value::Text(&data)])?;
    session.commit()?;
    Ok(Box::new(outcome))
}

/// Returns the number of the customer that the terminal selects; by last name, the middle customer of that name.
pub(crate) fn find_customer(
    session: &mut SqlSession,
    w_id: WarehouseId,
    d_id: DistrictId,
    customer: &CustomerSelector,
) -> Result<CustomerId, SqlTxError> {
    match customer {
        CustomerSelector::Id(c_id) => Ok(*c_id),
        CustomerSelector::LastName(name) => {
            let params = [Value::Int(w_id.get()), Value::Int(d_id.get()), Value::Text(name)];
            let rows = session.step(Statement::CustomersByName, &params)?;
            present(rows, || customer.in_words(w_id, d_id))?;
            Ok(CustomerId(rows.int(middle(rows.len()), 0)?))
        }
    }
}

/// Reads an address from five columns.
fn address(rows: &Rows, column: usize) -> Result<Address, SqlError> {
    Ok(Address {
        street_1: rows.fixed(0, column)?,
        street_2: rows.fixed(0, column + 1)?,
        city: rows.fixed(0, column + 2)?,
        state: rows.fixed(0, column + 3)?,
        zip: rows.fixed(0, column + 4)?,
    })
}

/// Reads the customer's part of the answer from the columns of [`Statement::PaymentCustomer`]. The caller adds the
/// addresses of warehouse and district, and the date.
fn paid_customer(rows: &Rows, c_id: CustomerId) -> Result<PaymentOutcome, SqlError> {
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

/// Reads the same part with C_DATA, from the columns of [`Statement::PaidCustomer`].
fn paid_customer_with_data(rows: &Rows, c_id: CustomerId) -> Result<PaymentOutcome, SqlError> {
    let mut outcome = paid_customer(rows, c_id)?;
    outcome.c_data = if rows.is_null(0, 15) { None } else { Some(rows.fixed(0, 15)?) };
    Ok(outcome)
}

fn batched(session: &mut SqlSession, input: &Payment) -> Played<Box<PaymentOutcome>> {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c_w = Value::Int(input.c_w_id.get());
    let c_d = Value::Int(input.c_d_id.get());
    let amount = Value::Money(input.amount);
    let (pay_customer, who) = match &input.customer {
        CustomerSelector::Id(c_id) => (Statement::BatchPayCustomer, Value::Int(c_id.get())),
        CustomerSelector::LastName(name) => (Statement::BatchPayCustomerByName, Value::Text(name)),
    };
    session.send(&[
        (Statement::BeginWrite, &[]),
        (pay_customer, &[c_w, c_d, who, amount, w, d]),
        (Statement::BatchPayDistrict, &[amount, w, d]),
        (Statement::BatchPayWarehouse, &[amount, w]),
    ])?;
    let [_, customer, district, warehouse, ..] = &session.rows;
    returned_one(customer, || {
        format!("UPDATE customer of {}", input.customer.in_words(input.c_w_id, input.c_d_id))
    })?;
    returned_one(district, || format!("UPDATE district {}/{}", input.w_id, input.d_id))?;
    returned_one(warehouse, || format!("UPDATE warehouse {}", input.w_id))?;
    let mut outcome = paid_customer_with_data(customer, CustomerId(customer.int(0, 14)?))?;
    outcome.district = address(district, 0)?;
    outcome.warehouse = address(warehouse, 0)?;
    outcome.h_date = warehouse.time(0, 6)?;
    let data = history_data(warehouse.text(0, 5)?, district.text(0, 5)?);
    let c = Value::Int(outcome.c_id.get());
    let date = Value::Time(outcome.h_date);
    let history = [c, c_d, c_w, d, w, date, amount, Value::Text(&data)];
    session.send_with_commit(&[(Statement::InsertHistory, &history), (Statement::Commit, &[])])?;
    committed_one_each([(Statement::InsertHistory, &session.rows[0])], session.dialect)?;
    Ok(Box::new(outcome))
}

fn multi_row(session: &mut SqlSession, input: &Payment) -> Played<Box<PaymentOutcome>> {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c_w = Value::Int(input.c_w_id.get());
    let c_d = Value::Int(input.c_d_id.get());
    let amount = Value::Money(input.amount);
    let begin: Step<'_> = (Statement::BeginWrite, &[]);
    let (c_id, begin) = match &input.customer {
        CustomerSelector::Id(c_id) => (*c_id, Some(begin)),
        CustomerSelector::LastName(name) => {
            session.send(&[begin, (Statement::CustomersByName, &[c_w, c_d, Value::Text(name)])])?;
            let rows = &session.rows[1];
            present(rows, || input.customer.in_words(input.c_w_id, input.c_d_id))?;
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
    session.send(&steps)?;
    let rows = &session.rows[first..];
    let paid = |rows: &Rows, what: &dyn Fn() -> String| changed(std::slice::from_ref(rows), 1, what);
    paid(&rows[0], &|| format!("customer {}/{}/{c_id}", input.c_w_id, input.c_d_id))?;
    paid(&rows[2], &|| format!("district {}/{}", input.w_id, input.d_id))?;
    paid(&rows[4], &|| format!("warehouse {}", input.w_id))?;
    one(&rows[1], || format!("customer {}/{}/{c_id}", input.c_w_id, input.c_d_id))?;
    one(&rows[3], || format!("district {}/{}", input.w_id, input.d_id))?;
    one(&rows[5], || format!("warehouse {}", input.w_id))?;
    let mut outcome = paid_customer_with_data(&rows[1], c_id)?;
    outcome.district = address(&rows[3], 0)?;
    outcome.warehouse = address(&rows[5], 0)?;
    outcome.h_date = rows[5].time(0, 6)?;
    let data = history_data(rows[5].text(0, 5)?, rows[3].text(0, 5)?);
    let date = Value::Time(outcome.h_date);
    let history = [c, c_d, c_w, d, w, date, amount, Value::Text(&data)];
    session.change(Statement::InsertHistory, &history)?;
    session.commit()?;
    Ok(Box::new(outcome))
}

fn procedures(session: &mut SqlSession, input: &Payment) -> Played<Box<PaymentOutcome>> {
    let (c_id, c_last) = number_or_name(&input.customer);
    let params = [
        Value::Int(input.w_id.get()),
        Value::Int(input.d_id.get()),
        Value::Int(input.c_w_id.get()),
        Value::Int(input.c_d_id.get()),
        c_id,
        c_last,
        Value::Money(input.amount),
    ];
    session.call(Statement::BeginWrite, Statement::CallPayment, &params, |rows| {
        let mut outcome = paid_customer_with_data(rows, CustomerId(rows.int(0, 14)?))?;
        outcome.h_date = rows.time(0, 16)?;
        outcome.warehouse = address(rows, 17)?;
        outcome.district = address(rows, 22)?;
        Ok(Box::new(outcome))
    })
}

/// Returns the customer as two parameters, number and last name. One of them is null.
pub(crate) fn number_or_name(customer: &CustomerSelector) -> (Value<'_>, Value<'_>) {
    match customer {
        CustomerSelector::Id(c_id) => (Value::OptionalInt(Some(c_id.get())), Value::OptionalText(None)),
        CustomerSelector::LastName(name) => (Value::OptionalInt(None), Value::OptionalText(Some(name))),
    }
}
