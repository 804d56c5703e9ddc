//! A session whose transactions go over the lines of terminals.

use super::line::{receive, send, unexpected};
use super::lines::Lines;
use crate::message::{Answer, Request, on_screen};
use lydite_database::{Committed, Session, TerminalLines, TxError};
use lydite_tpcc::transactions::Delivery;
use lydite_tpcc::{Outcome, Standard, StandardKind, Transaction};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

pub(super) struct WasSession {
    lines: Arc<Lines>,
    /// Line to which the results of Deliveries go.
    operator: TcpStream,
    number: u32,
    /// Terminal of the next transaction.
    terminal: u32,
    /// Result of queuing a Delivery, which its execution waits for or returns.
    queued: Option<Result<(), TxError>>,
}

impl WasSession {
    pub(super) fn new(lines: Arc<Lines>, (operator, number): (TcpStream, u32)) -> Self {
        Self { lines, operator, number, terminal: 0, queued: None }
    }

    /// Returns the result of a Delivery that was queued, or else repeats it.
    fn deliver(&mut self, delivery: Delivery) -> Result<Outcome, TxError> {
        let lost = |error: io::Error| TxError::Unavailable {
            committed: Committed::Unknown,
            detail: format!("the line for results of Deliveries was lost: {error}"),
        };
        match self.queued.take() {
            Some(queued) => queued?,
            None => send(&mut self.operator, &Request::Repeat(delivery)).map_err(lost)?,
        }
        match receive(&mut self.operator).map_err(lost)? {
            Answer::Delivered(result) => result.map(Outcome::from),
            answer => Err(lost(unexpected(&answer))),
        }
    }
}

impl Session for WasSession {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        let transaction = on_screen(transaction)
            .map_err(|bad| TxError::Broken(format!("the WAS {}: {bad}", self.lines.address())))?;
        if let Standard::Delivery(delivery) = transaction {
            return self.deliver(*delivery);
        }
        let enter = |number| Request::Enter { number, operator: 0, transaction: transaction.clone() };
        match self.lines.ask(self.terminal, enter)? {
            Answer::Output { outcome, .. } => Ok(outcome.into()),
            Answer::RolledBack { order, .. } => Err(TxError::RolledBack(Box::new(order))),
            Answer::Failed { error, .. } => Err(error),
            answer => Err(TxError::Broken(unexpected(&answer).to_string())),
        }
    }

    fn lines(&mut self) -> Option<&mut dyn TerminalLines> {
        Some(self)
    }
}

impl TerminalLines for WasSession {
    fn sit_at(&mut self, terminal: u32) {
        self.terminal = terminal;
    }

    fn choose(&mut self, kind: StandardKind) -> Result<(), TxError> {
        match self.lines.ask(self.terminal, |number| Request::Menu { number, kind })? {
            Answer::Menu { kind: shown, .. } if shown == kind => Ok(()),
            answer => Err(TxError::Broken(unexpected(&answer).to_string())),
        }
    }

    fn queue(&mut self, delivery: Delivery) {
        let operator = self.number;
        let enter = |number| Request::Enter { number, operator, transaction: Standard::Delivery(delivery) };
        self.queued = Some(match self.lines.ask(self.terminal, enter) {
            Ok(Answer::Queued { .. }) => Ok(()),
            Ok(answer) => Err(TxError::Broken(unexpected(&answer).to_string())),
            Err(error) => Err(error),
        });
    }
}

/// A session on a tier that is gone: its first transaction ends the run.
pub(super) struct GoneSession(pub(super) Arc<Lines>);

impl Session for GoneSession {
    fn execute(&mut self, _transaction: &Transaction) -> Result<Outcome, TxError> {
        Err(self.0.is_gone())
    }

    fn lines(&mut self) -> Option<&mut dyn TerminalLines> {
        Some(self)
    }
}

impl TerminalLines for GoneSession {
    fn sit_at(&mut self, _terminal: u32) {}

    fn choose(&mut self, _kind: StandardKind) -> Result<(), TxError> {
        Err(self.0.is_gone())
    }

    fn queue(&mut self, _delivery: Delivery) {}
}
