//! The session of an SQL database whose transactions stop at points of their own. It plays the usual text, statement by
//! statement, over a connection that knows which statements are points.

use crate::error::TxError;
use crate::held::{Held, HeldTransaction, Point, Script, Then};
use crate::session::Session;
use crate::sql::connection::Connection;
use crate::sql::dialect::Dialect;
use crate::sql::session::SqlSession;
use crate::sql::sql_error::SqlError;
use crate::sql::statement::Statement;
use crate::sql::value::{Rows, Value};
use crate::target::TxMode;
use lydite_tpcc::{DistrictId, OrderId, Outcome};
use parking_lot::Mutex;
use std::sync::Arc;

/// A session for transactions that stop.
pub struct HeldSession {
    session: SqlSession,
    /// Shared with the session's connection.
    turn: Arc<Mutex<Turn>>,
}

impl HeldSession {
    /// Makes a session over a connection that has prepared the statements of [`TxMode::Statements`].
    pub fn new(connection: impl Connection + 'static, dialect: &'static Dialect) -> Self {
        let turn = Arc::default();
        let connection = HeldConnection { inner: Box::new(connection), turn: Arc::clone(&turn) };
        Self { session: SqlSession::new(connection, TxMode::Statements, dialect), turn }
    }
}

impl Session<Held> for HeldSession {
    fn execute(&mut self, held: &HeldTransaction) -> Result<Outcome, TxError> {
        *self.turn.lock() = Turn { script: Some(held.script.clone()), ..Turn::default() };
        self.session.execute(&held.transaction)
    }
}

/// State of the transaction that runs.
#[derive(Default)]
struct Turn {
    script: Option<Script>,
    /// Items that the transaction has read.
    items: usize,
    /// True if the last statement failed. The rollback after it is no point.
    failed: bool,
}

/// A connection that calls the script of its transaction.
struct HeldConnection {
    inner: Box<dyn Connection>,
    turn: Arc<Mutex<Turn>>,
}

impl HeldConnection {
    fn reach(&self, point: Point) -> Then {
        // Not called under the lock, because it may block.
        let script = self.turn.lock().script.clone();
        script.map_or(Then::Continue, |script| script.reach(point))
    }

    /// Returns the point behind a statement with its answer.
    fn behind(
        &self,
        statement: Statement,
        params: &[Value<'_>],
        rows: &Rows,
    ) -> Result<Option<Point>, SqlError> {
        let order = || if rows.is_empty() { Ok(None) } else { rows.int(0, 0).map(|id| Some(OrderId(id))) };
        if statement == Statement::Item {
            let mut turn = self.turn.lock();
            turn.items += 1;
            return Ok(Some(Point::Item(turn.items)));
        }
        if statement == Statement::LastOrder {
            return Ok(Some(Point::LastOrder(order()?)));
        }
        match params {
            [_, Value::Int(district), ..] if statement == Statement::OldestNewOrder => {
                let district = u16::try_from(*district).ok().map(DistrictId);
                district.map(|id| Ok(Point::Oldest(id, order()?))).transpose()
            }
            _ => Ok(None),
        }
    }
}

impl Connection for HeldConnection {
    fn run(&mut self, statement: Statement, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError> {
        if statement == Statement::Commit && self.reach(Point::End) == Then::RollBack {
            return self.inner.roll_back();
        }
        loop {
            let ran = self.inner.run(statement, params, rows);
            self.turn.lock().failed = ran.is_err();
            ran?;
            match self.behind(statement, params, rows)? {
                Some(point) if self.reach(point) == Then::Repeat => {}
                _ => return Ok(()),
            }
        }
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        if !self.turn.lock().failed {
            self.reach(Point::End);
        }
        self.inner.roll_back()
    }
}
