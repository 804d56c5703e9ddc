//! A session with a seat at an endpoint. It reports its attempts and losses to the endpoints.

use crate::endpoints::Seat;
use crate::error::TxError;
use crate::replication::Positions;
use crate::session::{Session, Submitted};
use crate::workload::Workload;
use lydite_tpcc::input::Contended;
use std::sync::Arc;

/// A session with its seat.
struct Seated<W: Workload> {
    session: Box<dyn Session<W>>,
    seat: Seat,
}

/// Gives a session its seat. With one endpoint and without a life time the session stays as it is.
#[must_use]
pub fn seated<W: Workload>(session: Box<dyn Session<W>>, seat: Seat) -> Box<dyn Session<W>> {
    if seat.is_spread() { Box::new(Seated { session, seat }) } else { session }
}

impl<W: Workload> Seated<W> {
    fn seen<T>(&self, result: Result<T, TxError>) -> Result<T, TxError> {
        if let Err(TxError::Unavailable { .. }) = &result {
            self.seat.lose();
        }
        result
    }
}

impl<W: Workload> Session<W> for Seated<W> {
    fn execute(&mut self, transaction: &W::Transaction) -> Result<W::Outcome, TxError> {
        self.seat.count(W::home(transaction));
        let result = self.session.execute(transaction);
        self.seen(result)
    }

    fn watch(&mut self, row: Contended, asked: Arc<dyn Fn() + Send + Sync>) -> bool {
        self.session.watch(row, asked)
    }

    fn positions(&mut self) -> Option<&mut dyn Positions> {
        self.session.positions()
    }

    fn submit(&mut self, transaction: &W::Transaction) -> Result<Submitted<W>, TxError> {
        self.seat.count(W::home(transaction));
        let result = self.session.submit(transaction);
        self.seen(result)
    }

    fn hurry(&mut self) {
        self.session.hurry();
    }

    fn seat(&self) -> Option<&Seat> {
        Some(&self.seat)
    }
}
