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

/// A session for transactions that stop.
pub struct HeldSession<C>(SqlSession<HeldConnection<C>>);

impl<C: Connection> HeldSession<C> {
    /// Makes a session over a connection that has prepared the statements of [`TxMode::Statements`].
    pub fn new(connection: C, dialect: &'static Dialect) -> Self {
        let connection = HeldConnection { inner: connection, script: None, items: 0, failed: false };
        Self(SqlSession::new(connection, TxMode::Statements, dialect))
    }
}

impl<C: Connection> Session<Held> for HeldSession<C> {
    fn execute(&mut self, held: &HeldTransaction) -> Result<Outcome, TxError> {
        let connection = &mut self.0.connection;
        (connection.script, connection.items, connection.failed) = (Some(held.script.clone()), 0, false);
        self.0.execute(&held.transaction)
    }
}

/// A connection that calls the script of its transaction.
struct HeldConnection<C> {
    inner: C,
    script: Option<Script>,
    /// Items that the transaction has read.
    items: usize,
    /// True if the last statement failed. The rollback after it is no point.
    failed: bool,
}

impl<C: Connection> HeldConnection<C> {
    fn reach(&self, point: Point) -> Then {
        self.script.as_ref().map_or(Then::Continue, |script| script.reach(point))
    }

    /// Returns the point behind a statement with its answer.
    fn behind(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        rows: &Rows,
    ) -> Result<Option<Point>, SqlError> {
        let order = || if rows.is_empty() { Ok(None) } else { rows.int(0, 0).map(|id| Some(OrderId(id))) };
        Ok(match (statement, params) {
            (Statement::Item, _) => {
                self.items += 1;
                Some(Point::Item(self.items))
            }
            (Statement::OldestNewOrder, [_, Value::Int(district), ..]) => u16::try_from(*district)
                .ok()
                .map(|id| Ok::<_, SqlError>(Point::Oldest(DistrictId(id), order()?)))
                .transpose()?,
            (Statement::LastOrder, _) => Some(Point::LastOrder(order()?)),
            _ => None,
        })
    }
}

impl<C: Connection> Connection for HeldConnection<C> {
    fn run(&mut self, statement: Statement, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError> {
        if statement == Statement::Commit && self.reach(Point::End) == Then::RollBack {
            return self.inner.roll_back();
        }
        loop {
            let ran = self.inner.run(statement, params, rows);
            self.failed = ran.is_err();
            ran?;
            match self.behind(statement, params, rows)? {
                Some(point) if self.reach(point) == Then::Repeat => {}
                _ => return Ok(()),
            }
        }
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        if !self.failed {
            self.reach(Point::End);
        }
        self.inner.roll_back()
    }
}
