//! Stock-Level (clause 2.8): its statements, and a function for each way of sending them.
//!
//! A Stock-Level of several warehouses (dStockLevel of the Dike paper) counts all of them in one statement, so that a
//! distributed database can work on them side by side.

use crate::error::RUN_CHECK;
use crate::sql::connection::Step;
use crate::sql::session::{Played, SqlSession, one};
use crate::sql::statement::SqlText::{Made, Sql};
use crate::sql::statement::{Statement, Way, any_of, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use lydite_tpcc::transactions::{MAX_ORDER_LINES, StockLevel, StockLevelOutcome};
use lydite_tpcc::{DistrictId, StandardKind, TransactionKind, WarehouseId};

/// Most districts of one Stock-Level. Lists of fixed length repeat the last one.
const MAX_DISTRICTS: usize = MAX_ORDER_LINES + 1;
/// Number of parameters of a district in [`Statement::CountLowStocks`].
const OF_DISTRICT: usize = 4;

statements! {
    of Some(TransactionKind::Standard(StandardKind::StockLevel));

    NextOrderId [Statements] Sql("SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2");

    CountLowStock [Statements]
        Sql("SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
             WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5");

    BatchStockLevel [Batched MultiRow]
        Sql("SELECT count(DISTINCT s_i_id) FROM district JOIN order_line \
             ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id \
             JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
             WHERE d_w_id = $1 AND d_id = $2 AND s_quantity < $3");

    CallStockLevel [Procedures] Sql("{call} lydite_stock_level($1, $2, $3)");

    /// Pairs of warehouse and district.
    NextOrderIds [Statements Batched MultiRow Procedures] Made(|_| {
        let districts = any_of(1, MAX_DISTRICTS, &["d_w_id", "d_id"]);
        format!("SELECT d_w_id, d_id, d_next_o_id FROM district WHERE {districts}")
    });

    /// Warehouse, district, first order and the one after the last order of each district; then the threshold. The
    /// numbers of orders are parameters, because not every database finds order lines by a range whose bounds are in
    /// another table.
    CountLowStocks [Statements Batched MultiRow Procedures] Made(|_| {
        format!(
            "SELECT count(*) FROM (SELECT DISTINCT ol_w_id, ol_d_id, ol_i_id FROM order_line \
             JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ({}) AND s_quantity < ${}) AS low",
            newest_lines(),
            OF_DISTRICT * MAX_DISTRICTS + 1
        )
    });
}

/// [`Statement::CountLowStock`] for PostgreSQL over shards.
const COUNT_LOW_STOCK_OVER_SHARDS: &str = "\
     SELECT count(*) FROM stock WHERE s_w_id = $1 AND s_i_id = ANY (ARRAY(SELECT ol_i_id FROM order_line \
     WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4)) AND s_quantity < $5";

/// Returns the texts of statements that differ for PostgreSQL over shards.
pub(crate) fn over_shards(statement: Statement) -> Option<String> {
    if statement == Statement::CountLowStock {
        return Some(COUNT_LOW_STOCK_OVER_SHARDS.to_string());
    }
    (statement == Statement::CountLowStocks).then(|| {
        let warehouses: Vec<String> =
            (0..MAX_DISTRICTS).map(|place| format!("${}", 1 + OF_DISTRICT * place)).collect();
        format!(
            "WITH line AS MATERIALIZED (SELECT DISTINCT ol_w_id, ol_d_id, ol_i_id FROM order_line WHERE {}), \
             low AS MATERIALIZED (SELECT s_w_id, s_i_id FROM stock WHERE s_w_id IN ({}) \
             AND s_i_id = ANY (ARRAY(SELECT ol_i_id FROM line)) AND s_quantity < ${}) \
             SELECT count(*) FROM line JOIN low ON s_w_id = ol_w_id AND s_i_id = ol_i_id",
            newest_lines(),
            warehouses.join(", "),
            OF_DISTRICT * MAX_DISTRICTS + 1
        )
    })
}

/// Returns the condition for the newest order lines of all districts.
fn newest_lines() -> String {
    let of_district = |place: usize| {
        let first = 1 + OF_DISTRICT * place;
        format!(
            "(ol_w_id = ${first} AND ol_d_id = ${} AND ol_o_id >= ${} AND ol_o_id < ${})",
            first + 1,
            first + 2,
            first + 3
        )
    };
    (0..MAX_DISTRICTS).map(of_district).collect::<Vec<_>>().join(" OR ")
}

/// Runs one Stock-Level.
pub(crate) fn play(session: &mut SqlSession, input: &StockLevel) -> Played<StockLevelOutcome> {
    let low_stock = match session.way {
        way if !input.others.is_empty() => of_many(session, input, way == Way::Statements),
        Way::Statements => statements(session, input),
        Way::Batched | Way::MultiRow => batched(session, input),
        Way::Procedures => procedures(session, input),
    }?;
    Ok(StockLevelOutcome { low_stock })
}

fn statements(session: &mut SqlSession, input: &StockLevel) -> Result<u32, SqlTxError> {
    session.step(Statement::BeginRead, &[])?;
    let (w, d) = (Value::Int(input.w_id.get()), Value::Int(input.d_id.get()));
    let rows = session.step(Statement::NextOrderId, &[w, d])?;
    one(rows, || format!("district {}/{}", input.w_id, input.d_id))?;
    let next: i64 = rows.int(0, 0)?;
    let threshold = Value::Int(i64::from(input.threshold));
    let params = [w, d, Value::Int(next - 20), Value::Int(next), threshold];
    let low_stock = session.step(Statement::CountLowStock, &params)?.int(0, 0)?;
    session.commit()?;
    Ok(low_stock)
}

/// Sends the commit together with the reads, in [`Way::MultiRow`] too, because the transaction changes nothing.
fn batched(session: &mut SqlSession, input: &StockLevel) -> Result<u32, SqlTxError> {
    let params =
        [Value::Int(input.w_id.get()), Value::Int(input.d_id.get()), Value::Int(i64::from(input.threshold))];
    session.send_with_commit(&[
        (Statement::BeginRead, &[]),
        (Statement::BatchStockLevel, &params),
        (Statement::Commit, &[]),
    ])?;
    Ok(session.rows[1].int(0, 0)?)
}

fn procedures(session: &mut SqlSession, input: &StockLevel) -> Result<u32, SqlTxError> {
    let params =
        [Value::Int(input.w_id.get()), Value::Int(input.d_id.get()), Value::Int(i64::from(input.threshold))];
    session.call(Statement::BeginRead, Statement::CallStockLevel, &params, |rows| rows.int(0, 0))
}

/// Counts the low stock of several districts: one statement reads their next orders, and one counts. Begin and commit
/// go with these unless each step is `alone`.
fn of_many(session: &mut SqlSession, input: &StockLevel, alone: bool) -> Result<u32, SqlTxError> {
    let mut keys = [Value::Int(0); 2 * MAX_DISTRICTS];
    for (pair, (w_id, d_id)) in keys.chunks_exact_mut(2).zip(repeated(input)) {
        pair.copy_from_slice(&[Value::Int(w_id.get()), Value::Int(d_id.get())]);
    }
    let read: [Step<'_>; 2] = [(Statement::BeginRead, &[]), (Statement::NextOrderIds, &keys)];
    let place = if alone {
        session.step(read[0].0, read[0].1)?;
        session.step(read[1].0, read[1].1)?;
        0
    } else {
        session.send(&read)?;
        1
    };
    let mut params = [Value::Int(i64::from(input.threshold)); OF_DISTRICT * MAX_DISTRICTS + 1];
    for (of_district, (w_id, d_id)) in params.chunks_exact_mut(OF_DISTRICT).zip(repeated(input)) {
        let next = next_order(&session.rows[place], w_id, d_id)?;
        of_district.copy_from_slice(&[
            Value::Int(w_id.get()),
            Value::Int(d_id.get()),
            Value::Int(next - 20),
            Value::Int(next),
        ]);
    }
    if alone {
        let low_stock = session.step(Statement::CountLowStocks, &params)?.int(0, 0)?;
        session.commit()?;
        return Ok(low_stock);
    }
    session.send_with_commit(&[(Statement::CountLowStocks, &params), (Statement::Commit, &[])])?;
    Ok(session.rows[0].int(0, 0)?)
}

/// Returns the districts of a Stock-Level, and the last one without end.
fn repeated(input: &StockLevel) -> impl Iterator<Item = (WarehouseId, DistrictId)> + '_ {
    let last = input.others.last().copied().unwrap_or((input.w_id, input.d_id));
    input.districts().chain(std::iter::repeat(last))
}

/// Returns the next order of a district, from the answer of [`Statement::NextOrderIds`].
fn next_order(rows: &Rows, w_id: WarehouseId, d_id: DistrictId) -> Result<i64, SqlTxError> {
    for row in 0..rows.len() {
        if (rows.int::<i64>(row, 0)?, rows.int::<i64>(row, 1)?) == (w_id.get(), d_id.get()) {
            return Ok(rows.int(row, 2)?);
        }
    }
    Err(SqlTxError::WrongRows(format!("district {w_id}/{d_id} is missing: {RUN_CHECK}")))
}
