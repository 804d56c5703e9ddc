//! Work on a database that another thread may stop: conditions, keys and indexes.

use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Display;

/// Work of one target. `C` identifies a connection to the one that cancels its statement.
pub(crate) struct Stoppable<C>(Mutex<State<C>>);

struct State<C> {
    stopped: bool,
    entered: u64,
    /// Connections at work, numbered in the order in which they came.
    connections: BTreeMap<u64, C>,
}

impl<C> Default for Stoppable<C> {
    fn default() -> Self {
        Self(Mutex::new(State { stopped: false, entered: 0, connections: BTreeMap::new() }))
    }
}

impl<C> Stoppable<C> {
    /// Registers a connection as at work until the result is dropped.
    pub(crate) fn enter(&self, connection: C) -> AtWork<'_, C> {
        let mut state = self.0.lock();
        let number = state.entered;
        state.entered += 1;
        state.connections.insert(number, connection);
        AtWork { work: self, number }
    }

    /// Rejects new work after a stop. Call it after [`Stoppable::enter`]: a stop is then either seen here or reaches
    /// the connection.
    ///
    /// # Errors
    /// The work was stopped.
    pub(crate) fn unless_stopped(&self, place: impl Display) -> Result<(), TargetError> {
        if self.0.lock().stopped {
            return Err(TargetError::interrupted(format!("{place}: the work was stopped")));
        }
        Ok(())
    }

    /// Stops the work. Returns the connections whose statements must be cancelled.
    pub(crate) fn stop(&self) -> Vec<C> {
        let mut state = self.0.lock();
        state.stopped = true;
        std::mem::take(&mut state.connections).into_values().collect()
    }
}

/// A connection at work.
pub(crate) struct AtWork<'a, C> {
    work: &'a Stoppable<C>,
    number: u64,
}

impl<C> Drop for AtWork<'_, C> {
    fn drop(&mut self) {
        self.work.0.lock().connections.remove(&self.number);
    }
}

/// A connection that can be stopped as long as it lives.
pub(crate) struct StoppableAdmin<'a, A, C> {
    admin: A,
    _at_work: Option<AtWork<'a, C>>,
}

impl<'a, A, C> StoppableAdmin<'a, A, C> {
    /// Returns the connection; `at_work` is its registration, unless it can't be stopped.
    pub(crate) fn new(admin: A, at_work: Option<AtWork<'a, C>>) -> Self {
        Self { admin, _at_work: at_work }
    }
}

impl<A: Admin, C> Admin for StoppableAdmin<'_, A, C> {
    fn query_each(&mut self, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError> {
        self.admin.query_each(sql, row)
    }
}
