//! Work on a database that another thread may stop: conditions, keys and indexes.

use lydite_database::TargetError;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Display;

/// The work of one target. `C` names a connection to the one that has its statement given up.
pub(crate) struct Stoppable<C>(Mutex<State<C>>);

struct State<C> {
    stopped: bool,
    entered: u64,
    /// Connections at work, by the order in which they came.
    connections: BTreeMap<u64, C>,
}

impl<C> Default for Stoppable<C> {
    fn default() -> Self {
        Self(Mutex::new(State { stopped: false, entered: 0, connections: BTreeMap::new() }))
    }
}

impl<C> Stoppable<C> {
    /// Notes a connection that is at work until the result is dropped.
    pub(crate) fn enter(&self, connection: C) -> AtWork<'_, C> {
        let mut state = self.0.lock();
        let number = state.entered;
        state.entered += 1;
        state.connections.insert(number, connection);
        AtWork { work: self, number }
    }

    /// Refuses to begin what the user wants no more. To be asked after [`Stoppable::enter`], so that a stop is either seen here
    /// or reaches the connection.
    pub(crate) fn unless_stopped(&self, place: impl Display) -> Result<(), TargetError> {
        if self.0.lock().stopped {
            return Err(TargetError::interrupted(format!("{place}: the work was stopped")));
        }
        Ok(())
    }

    /// Stops the work, and returns the connections whose statements are to be given up.
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
