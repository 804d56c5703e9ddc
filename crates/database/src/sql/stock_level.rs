//! Stock-Level (clause 2.8): its statements, and a function for each way of sending them.

use crate::sql::connection::{Connection, Step};
use crate::sql::session::{LONGEST_PIPELINE, Played, SqlSession, present};
use crate::sql::statement::SqlText::Sql;
use crate::sql::statement::{Statement, Way, first, statements};
use crate::sql::value::Value;
use arrayvec::ArrayVec;
use lydite_tpcc::outcome::StockLevelOutcome;
use lydite_tpcc::transaction::{MAX_ORDER_LINES, StockLevel};
use lydite_tpcc::{Outcome, TransactionKind};

statements! {
    from first(TransactionKind::StockLevel);

    NextOrderId [Statements] Sql("SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2");

    CountLowStock [Statements]
        Sql("SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
             WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5");

    /// Also for procedures: a procedure may be a transaction of its own, but several districts must be one transaction.
    BatchStockLevel [Batched MultiRow Procedures]
        Sql("SELECT count(DISTINCT s_i_id) FROM district JOIN order_line \
             ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id \
             JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
             WHERE d_w_id = $1 AND d_id = $2 AND s_quantity < $3");

    CallStockLevel [Procedures] Sql("{call} lydite_stock_level($1, $2, $3)");
}

/// [`Statement::CountLowStock`] for PostgreSQL over shards.
pub(crate) const COUNT_LOW_STOCK_OVER_SHARDS: &str = "\
     SELECT count(*) FROM stock WHERE s_w_id = $1 AND s_i_id = ANY (ARRAY(SELECT ol_i_id FROM order_line \
     WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4)) AND s_quantity < $5";

/// Runs one Stock-Level.
pub(crate) fn play<C: Connection>(session: &mut SqlSession<C>, input: &StockLevel) -> Played {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Procedures if input.others.is_empty() => procedures(session, input),
        Way::Batched | Way::MultiRow | Way::Procedures => batched(session, input),
    }
}

fn statements<C: Connection>(session: &mut SqlSession<C>, input: &StockLevel) -> Played {
    session.step(Statement::BeginRead, &[])?;
    let mut low_stock = 0;
    for (w_id, d_id) in input.districts() {
        let (w, d) = (Value::Int(w_id.get()), Value::Int(d_id.get()));
        let rows = session.step(Statement::NextOrderId, &[w, d])?;
        present(rows, || format!("district {w_id}/{d_id}"))?;
        let next: i64 = rows.int(0, 0)?;
        let threshold = Value::Int(i64::from(input.threshold));
        let params = [w, d, Value::Int(next - 20), Value::Int(next), threshold];
        low_stock += session.step(Statement::CountLowStock, &params)?.int::<u32>(0, 0)?;
    }
    session.commit()?;
    Ok(Outcome::StockLevel(StockLevelOutcome { low_stock }))
}

/// Sends the commit together with the reads, in [`Way::MultiRow`] too, because the transaction changes nothing.
fn batched<C: Connection>(session: &mut SqlSession<C>, input: &StockLevel) -> Played {
    let threshold = Value::Int(i64::from(input.threshold));
    let params: ArrayVec<[Value<'_>; 3], { MAX_ORDER_LINES + 1 }> = input
        .districts()
        .map(|(w_id, d_id)| [Value::Int(w_id.get()), Value::Int(d_id.get()), threshold])
        .collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginRead, &[]));
    steps.extend(params.iter().map(|params| (Statement::BatchStockLevel, &params[..])));
    steps.push((Statement::Commit, &[]));
    session.send_with_commit(&steps)?;
    let mut low_stock = 0;
    for rows in &session.rows[1..=params.len()] {
        low_stock += rows.int::<u32>(0, 0)?;
    }
    Ok(Outcome::StockLevel(StockLevelOutcome { low_stock }))
}

fn procedures<C: Connection>(session: &mut SqlSession<C>, input: &StockLevel) -> Played {
    let params =
        [Value::Int(input.w_id.get()), Value::Int(input.d_id.get()), Value::Int(i64::from(input.threshold))];
    session.call(Statement::BeginRead, Statement::CallStockLevel, &params, |rows| {
        Ok(Outcome::StockLevel(StockLevelOutcome { low_stock: rows.int(0, 0)? }))
    })
}
