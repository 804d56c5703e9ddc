//! Delivery (clause 2.7): its statements, and a function for each way of sending them.

use crate::error::RUN_CHECK;
use crate::sql::connection::Step;
use crate::sql::session::{Played, SqlSession, changed, one};
use crate::sql::statement::SqlText::{Made, Sql};
use crate::sql::statement::{Statement, Way, any_of, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::transactions::{Delivery, DeliveryOutcome};
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, DistrictId, OrderId, StandardKind, TransactionKind, WarehouseId};

/// Most districts of one statement: the ten of a standard warehouse.
const DISTRICTS: usize = DISTRICTS_PER_WAREHOUSE as usize;

statements! {
    of Some(TransactionKind::Standard(StandardKind::Delivery));

    OldestNewOrder [Statements MultiRow]
        Sql("SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1{for_update}");

    LeastNewOrder [Statements]
        Sql("SELECT min(no_o_id) FROM new_order WHERE no_w_id = $1 AND no_d_id = $2{newest}");

    DeleteNewOrder [Statements] Sql("{delete_new_order} WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3");

    DeliveredOrder [Statements]
        Sql("SELECT o_c_id, o_ol_cnt FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3");

    SetCarrier [Statements]
        Sql("UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4");

    SetDeliveryDate [Statements]
        Sql("UPDATE order_line SET ol_delivery_d = {now} WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3");

    SumOfLines [Statements]
        Sql("SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3");

    CreditCustomer [Statements MultiRow]
        Sql("UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4");

    /// Returns one row for each district of $2 that has an undelivered order; the order is null when another
    /// transaction took it meanwhile (possible below repeatable read).
    BatchDeliver [Batched]
        Sql("WITH oldest AS MATERIALIZED (SELECT district, (SELECT no_o_id FROM new_order WHERE no_w_id = $1 \
             AND no_d_id = district ORDER BY no_o_id LIMIT 1) AS id FROM unnest($2::int[]) AS district), \
             taken AS (DELETE FROM new_order USING oldest \
             WHERE no_w_id = $1 AND no_d_id = district AND no_o_id = id RETURNING no_d_id, no_o_id), \
             delivered AS (UPDATE orders SET o_carrier_id = $3 FROM taken \
             WHERE o_w_id = $1 AND o_d_id = no_d_id AND o_id = no_o_id RETURNING o_d_id, o_id, o_c_id, o_ol_cnt), \
             dated AS (UPDATE order_line SET ol_delivery_d = {now} FROM taken \
             WHERE ol_w_id = $1 AND ol_d_id = no_d_id AND ol_o_id = no_o_id RETURNING ol_d_id, ol_amount), \
             owed AS (SELECT ol_d_id, sum(ol_amount) AS amount FROM dated GROUP BY ol_d_id), \
             credited AS (UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1 \
             FROM delivered JOIN owed ON ol_d_id = o_d_id \
             WHERE c_w_id = $1 AND c_d_id = o_d_id AND c_id = o_c_id RETURNING c_id) \
             SELECT district, o_id, CAST(CASE WHEN (SELECT count(*) FROM credited) <> (SELECT count(*) FROM taken) \
             OR (SELECT count(*) FROM dated) <> (SELECT coalesce(sum(o_ol_cnt), 0) FROM delivered) \
             THEN 'UPDATE orders, order_line or customer of a Delivery changed too few rows: run lydite check' \
             ELSE '1' END AS int), id \
             FROM oldest LEFT JOIN delivered ON o_d_id = district WHERE id IS NOT NULL ORDER BY district");

    /// Here and in the next three statements, pairs of district and order follow the warehouse. Lists of fixed length
    /// repeat their last pair.
    DeleteNewOrders [MultiRow] Made(|sql| {
        let orders = any_of(2, DISTRICTS, &["no_d_id", "no_o_id"]);
        format!("{} WHERE no_w_id = $1 AND ({orders})", sql.delete_new_order)
    });

    SetCarriers [MultiRow] Made(|_| {
        let orders = any_of(3, DISTRICTS, &["o_d_id", "o_id"]);
        format!("UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND ({orders})")
    });

    SetDeliveryDates [MultiRow] Made(|sql| {
        let orders = any_of(2, DISTRICTS, &["ol_d_id", "ol_o_id"]);
        format!("UPDATE order_line SET ol_delivery_d = {} WHERE ol_w_id = $1 AND ({orders})", sql.now)
    });

    DeliveredOrders [MultiRow] Made(|_| {
        let orders = any_of(2, DISTRICTS, &["o_d_id", "o_id"]);
        format!(
            "SELECT o_d_id, o_c_id, sum(ol_amount), min(o_ol_cnt) FROM orders JOIN order_line ON ol_w_id = o_w_id \
             AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = $1 AND ({orders}) GROUP BY o_d_id, o_c_id"
        )
    });

    CallDelivery [Procedures] Sql("{call} lydite_delivery($1, $2, $3)");
}

/// Runs one Delivery.
pub(crate) fn play(session: &mut SqlSession, input: &Delivery) -> Played<DeliveryOutcome> {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Batched => batched(session, input),
        Way::MultiRow => multi_row(session, input),
        Way::Procedures => procedures(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &Delivery) -> Played<DeliveryOutcome> {
    let w = Value::Int(input.w_id.get());
    session.step(Statement::BeginWrite, &[])?;
    let mut outcome = DeliveryOutcome::default();
    for d_id in input.district_ids() {
        let d = Value::Int(d_id.get());
        let Some(o_id) = oldest_new_order(session, w, d)? else { continue };
        let o = Value::Int(o_id.get());
        let deleted = session.step(Statement::DeleteNewOrder, &[w, d, o])?.affected();
        if deleted != 1 {
            let rows = session.step(Statement::OldestNewOrder, &[w, d])?;
            let is_there = !rows.is_empty() && rows.int::<u64>(0, 0)? == o_id.0;
            return Err(if deleted == 0 && !is_there {
                SqlTxError::Overtaken("another delivery took the oldest order")
            } else {
                not_taken(input, d_id, o_id, deleted)
            });
        }
        // The change comes first, because after it even a snapshot that is older than the order shows the order.
        session.change(Statement::SetCarrier, &[Value::Int(input.carrier_id.get()), w, d, o])?;
        let rows = session.step(Statement::DeliveredOrder, &[w, d, o])?;
        one(rows, || format!("order {}/{d_id}/{o_id}", input.w_id))?;
        let (c, lines) = (Value::Int(rows.int(0, 0)?), rows.int(0, 1)?);
        session.change_rows(Statement::SetDeliveryDate, &[w, d, o], lines)?;
        let rows = session.step(Statement::SumOfLines, &[w, d, o])?;
        one(rows, || format!("lines of order {}/{d_id}/{o_id}", input.w_id))?;
        let amount = rows.money(0, 0)?;
        session.change(Statement::CreditCustomer, &[Value::Money(amount), w, d, c])?;
        outcome.delivered.push((d_id, o_id));
    }
    session.commit()?;
    Ok(outcome)
}

/// Returns the error of a Delivery whose order stays in NEW-ORDER although no other one took it.
fn not_taken(input: &Delivery, d_id: DistrictId, o_id: OrderId, deleted: u64) -> SqlTxError {
    SqlTxError::WrongRows(format!(
        "DELETE FROM new_order of order {}/{d_id}/{o_id} changed {deleted} rows instead of 1: {RUN_CHECK}",
        input.w_id
    ))
}

/// Returns the oldest undelivered order of a district. Below repeatable read, a locking read may wait for a row that is
/// then deleted, and finds nothing although there are more orders. So it is repeated while there are orders.
fn oldest_new_order(
    session: &mut SqlSession,
    w: Value<'_>,
    d: Value<'_>,
) -> Result<Option<OrderId>, SqlTxError> {
    loop {
        let rows = session.step(Statement::OldestNewOrder, &[w, d])?;
        if !rows.is_empty() {
            return Ok(Some(OrderId(rows.int(0, 0)?)));
        }
        let rows = session.step(Statement::LeastNewOrder, &[w, d])?;
        if rows.is_null(0, 0) {
            return Ok(None);
        }
    }
}

fn batched(session: &mut SqlSession, input: &Delivery) -> Played<DeliveryOutcome> {
    let w = Value::Int(input.w_id.get());
    let carrier = Value::Int(input.carrier_id.get());
    let mut missing: Vec<i32> = input.district_ids().map(|district| i32::from(district.0)).collect();
    let mut outcome = DeliveryOutcome::default();
    let mut begun = false;
    // The orders that the last attempt found and did not get.
    let mut left: Vec<(DistrictId, OrderId)> = Vec::new();
    // Runs once, unless another delivery took an order that this one had found (below repeatable read).
    while !missing.is_empty() {
        let params = [w, Value::Ints(&missing), carrier];
        let steps: [Step<'_>; 2] = [(Statement::BeginWrite, &[]), (Statement::BatchDeliver, &params)];
        let steps = if begun { &steps[1..] } else { &steps[..] };
        session.send(steps).map_err(|error| {
            error.named("a Delivery", || format!("a Delivery of warehouse {}", input.w_id))
        })?;
        let rows = &session.rows[steps.len() - 1];
        begun = true;
        let mut overtaken = Vec::new();
        for row in 0..rows.len() {
            let found = (DistrictId(rows.int(row, 0)?), OrderId(rows.int(row, 3)?));
            // An order that another delivery took is not found again. This one was there all the time, so the database
            // dropped its DELETE, even if it did not do so again.
            if left.contains(&found) {
                return Err(not_taken(input, found.0, found.1, 0));
            }
            if rows.is_null(row, 1) {
                overtaken.push(found);
            } else {
                outcome.delivered.push(found);
            }
        }
        missing = overtaken.iter().map(|(district, _)| i32::from(district.0)).collect();
        left = overtaken;
    }
    outcome.delivered.sort_unstable();
    session.send_with_commit(&[(Statement::Commit, &[])])?;
    Ok(outcome)
}

fn multi_row(session: &mut SqlSession, input: &Delivery) -> Played<DeliveryOutcome> {
    let all: Vec<DistrictId> = input.district_ids().collect();
    let mut outcome = DeliveryOutcome::default();
    // A statement takes at most `DISTRICTS` districts. The first part begins the transaction.
    for (part, districts) in all.chunks(DISTRICTS).enumerate() {
        deliver(session, input, districts, part == 0, &mut outcome)?;
    }
    session.commit()?;
    Ok(outcome)
}

/// Delivers the oldest orders of at most [`DISTRICTS`] districts. Begins the transaction if `begins` is set.
fn deliver(
    session: &mut SqlSession,
    input: &Delivery,
    districts: &[DistrictId],
    begins: bool,
    outcome: &mut DeliveryOutcome,
) -> Result<(), SqlTxError> {
    let w = Value::Int(input.w_id.get());
    let params: ArrayVec<[Value<'_>; 2], DISTRICTS> =
        districts.iter().map(|d_id| [w, Value::Int(d_id.get())]).collect();
    let mut steps: ArrayVec<Step<'_>, { 1 + DISTRICTS }> = ArrayVec::new();
    if begins {
        steps.push((Statement::BeginWrite, &[]));
    }
    let begin = steps.len();
    steps.extend(params.iter().map(|district| -> Step<'_> { (Statement::OldestNewOrder, district) }));
    session.send(&steps)?;
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
    session.send(&[
        (Statement::DeleteNewOrders, &params[1..]),
        (Statement::SetCarriers, &params),
        (Statement::SetDeliveryDates, &params[1..]),
        (Statement::DeliveredOrders, &params[1..]),
    ])?;
    let count = delivered.len() as u64;
    changed(&session.rows[..2], count, || format!("the delivery of {count} orders"))?;
    let (credits, lines) = credits(input.w_id, &session.rows[3], &delivered)?;
    changed(&session.rows[2..3], lines, || format!("the lines of {count} delivered orders"))?;
    let steps: ArrayVec<Step<'_>, DISTRICTS> =
        credits.iter().map(|credit| -> Step<'_> { (Statement::CreditCustomer, credit) }).collect();
    session.send(&steps)?;
    changed(&session.rows[..credits.len()], 1, || format!("a customer of warehouse {}", input.w_id))?;
    outcome.delivered.extend(delivered);
    Ok(())
}

/// Returns the parameters of [`Statement::CreditCustomer`] for each delivered order, and the number of their lines, from
/// the answer of [`Statement::DeliveredOrders`].
fn credits(
    w_id: WarehouseId,
    rows: &Rows,
    delivered: &[(DistrictId, OrderId)],
) -> Result<(Credits, u64), SqlTxError> {
    let mut lines = 0;
    let mut found: ArrayVec<(i64, [Value<'static>; 4]), DISTRICTS> = ArrayVec::new();
    for row in 0..rows.len().min(DISTRICTS) {
        let d_id: i64 = rows.int(row, 0)?;
        let (c, amount) = (Value::Int(rows.int(row, 1)?), Value::Money(rows.money(row, 2)?));
        found.push((d_id, [amount, Value::Int(w_id.get()), Value::Int(d_id), c]));
        lines += rows.int::<u64>(row, 3)?;
    }
    // In the order of the districts, as in every other way. Otherwise two deliveries could deadlock.
    let credits = delivered
        .iter()
        .map(|(d_id, o_id)| {
            let credit = found.iter().find(|(found, _)| *found == d_id.get());
            credit.map(|(_, credit)| *credit).ok_or_else(|| {
                SqlTxError::WrongRows(format!(
                    "order {w_id}/{d_id}/{o_id} or its lines are missing: {RUN_CHECK}"
                ))
            })
        })
        .collect::<Result<Credits, _>>()?;
    Ok((credits, lines))
}

/// Parameters of [`Statement::CreditCustomer`], one set for each order.
type Credits = ArrayVec<[Value<'static>; 4], DISTRICTS>;

fn procedures(session: &mut SqlSession, input: &Delivery) -> Played<DeliveryOutcome> {
    let params = [
        Value::Int(input.w_id.get()),
        Value::Int(input.carrier_id.get()),
        Value::Int(i64::from(input.districts)),
    ];
    session.call(Statement::BeginWrite, Statement::CallDelivery, &params, |rows| {
        let orders = rows.array(0, 0)?;
        let mut outcome = DeliveryOutcome::default();
        for (index, district) in input.district_ids().enumerate() {
            // 0 stands for a skipped district.
            let order: u64 = orders.int(index)?;
            if order > 0 {
                outcome.delivered.push((district, OrderId(order)));
            }
        }
        Ok(outcome)
    })
}
