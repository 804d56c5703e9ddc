//! Requests of terminals and answers to them: version 2 of the protocol.

use crate::field::{Field, Input};
use crate::frame::{BadFrame, frame};
use lydite_database::{AbortReason, Committed, TxError};
use lydite_tpcc::transactions::{Delivery, DeliveryOutcome};
use lydite_tpcc::{
    DistrictId, RolledBackOrder, Standard, StandardKind, StandardOutcome, Transaction, WarehouseId,
};

/// First bytes of every line.
const MAGIC: &[u8; 6] = b"LYDWAS";
/// Version of the protocol. The other side of a line must have the same.
pub const VERSION: u16 = 2;

/// A terminal among those of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TerminalId {
    /// Random number of the run.
    pub run: u64,
    /// Number of the terminal in its run.
    pub terminal: u32,
}

/// The first request of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hello {
    /// The line of a terminal.
    Terminal {
        /// The terminal.
        id: TerminalId,
        /// Home warehouse.
        w_id: WarehouseId,
        /// District of its Stock-Levels.
        d_id: DistrictId,
        /// Number of the request whose answer the terminal lacks; 0 if it lacks none.
        pending: u32,
    },
    /// The line of an operator, to which the results of deferred Deliveries go.
    Operator,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Begins the line.
    Hello(Hello),
    /// Chooses a transaction from the menu.
    Menu {
        /// Number of the request: one more than that of the terminal's last one.
        number: u32,
        /// The choice.
        kind: StandardKind,
    },
    /// Enters the fields of an input screen.
    Enter {
        /// Number of the request.
        number: u32,
        /// Operator who gets the result of a Delivery; 0 for other transactions.
        operator: u32,
        /// The fields.
        transaction: Standard,
    },
    /// An operator repeats a Delivery that the database aborted.
    Repeat(Delivery),
    /// Ends the terminal. Its context is dropped, and its line is not lost.
    Bye,
}

/// The database that the tier serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// URL without a password.
    pub url: String,
    /// Warehouses; 0 if it stores none.
    pub warehouses: u32,
    /// Seed of its rows; 0 if it stores none.
    pub seed: u64,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Greets an operator.
    Operator {
        /// Number of the operator, from 1.
        number: u32,
        /// The database.
        served: Served,
    },
    /// Greets a terminal.
    Terminal {
        /// True if the tier had a context of the terminal.
        known: bool,
        /// Number of the terminal's last request in that context; 0 in a new one.
        number: u32,
    },
    /// The input screen of the chosen transaction.
    Menu {
        /// Number of the request.
        number: u32,
        /// The choice.
        kind: StandardKind,
    },
    /// The output fields of a committed transaction.
    Output {
        /// Number of the request.
        number: u32,
        /// The fields.
        outcome: StandardOutcome,
    },
    /// The output fields of an order with an unused item.
    RolledBack {
        /// Number of the request.
        number: u32,
        /// The fields.
        order: RolledBackOrder,
    },
    /// "Delivery has been queued" (clause 2.7.3.2).
    Queued {
        /// Number of the request.
        number: u32,
    },
    /// The transaction did not commit, or it is unknown.
    Failed {
        /// Number of the request.
        number: u32,
        /// Error of the database; not [`TxError::RolledBack`].
        error: TxError,
    },
    /// Result of a deferred Delivery, for its operator.
    Delivered(Result<DeliveryOutcome, TxError>),
    /// The line broke the protocol and is closed.
    Rejected {
        /// Reason, one line.
        why: String,
    },
}

fn unknown(tag: u8) -> BadFrame {
    BadFrame::new(format!("a frame has the unknown tag {tag:#04x}"))
}

/// Returns a transaction as a terminal enters it.
///
/// # Errors
/// The transaction is not one of the standard's.
pub fn on_screen(transaction: &Transaction) -> Result<&Standard, BadFrame> {
    match transaction {
        Transaction::Standard(transaction) => Ok(transaction),
        Transaction::Dike(other) => {
            Err(BadFrame::new(format!("terminals have no screen for {}", other.kind().title())))
        }
    }
}

impl Request {
    /// Returns the request as a frame.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => frame(0x01, |out| {
                out.extend_from_slice(MAGIC);
                VERSION.put(out);
                match hello {
                    Hello::Terminal { id, w_id, d_id, pending } => {
                        out.push(0);
                        id.run.put(out);
                        id.terminal.put(out);
                        w_id.put(out);
                        d_id.put(out);
                        pending.put(out);
                    }
                    Hello::Operator => out.push(1),
                }
            }),
            Self::Menu { number, kind } => frame(0x02, |out| {
                number.put(out);
                kind.put(out);
            }),
            Self::Enter { number, operator, transaction } => frame(0x03, |out| {
                number.put(out);
                operator.put(out);
                transaction.kind().put(out);
                match transaction {
                    Standard::NewOrder(input) => input.put(out),
                    Standard::Payment(input) => input.put(out),
                    Standard::OrderStatus(input) => input.put(out),
                    Standard::Delivery(input) => input.put(out),
                    Standard::StockLevel(input) => input.put(out),
                }
            }),
            Self::Repeat(delivery) => frame(0x04, |out| delivery.put(out)),
            Self::Bye => frame(0x05, |_| {}),
        }
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// The frame breaks the protocol.
    pub fn read(bytes: &[u8]) -> Result<Self, BadFrame> {
        let mut input = Input::new(bytes);
        let request = match u8::take(&mut input)? {
            0x01 => Self::Hello(hello(&mut input)?),
            0x02 => Self::Menu { number: Field::take(&mut input)?, kind: Field::take(&mut input)? },
            0x03 => Self::Enter {
                number: Field::take(&mut input)?,
                operator: Field::take(&mut input)?,
                transaction: match StandardKind::take(&mut input)? {
                    StandardKind::NewOrder => Standard::NewOrder(Field::take(&mut input)?),
                    StandardKind::Payment => Standard::Payment(Field::take(&mut input)?),
                    StandardKind::OrderStatus => Standard::OrderStatus(Field::take(&mut input)?),
                    StandardKind::Delivery => Standard::Delivery(Field::take(&mut input)?),
                    StandardKind::StockLevel => Standard::StockLevel(Field::take(&mut input)?),
                },
            },
            0x04 => Self::Repeat(Field::take(&mut input)?),
            0x05 => Self::Bye,
            tag => return Err(unknown(tag)),
        };
        input.end()?;
        Ok(request)
    }
}

/// Reads the first request. Other versions may have other fields, so the version comes first.
fn hello(input: &mut Input<'_>) -> Result<Hello, BadFrame> {
    if input.bytes(MAGIC.len())? != MAGIC {
        return Err(BadFrame::new("the line does not begin as one of Lydite's terminals"));
    }
    let version = u16::take(input)?;
    if version != VERSION {
        return Err(BadFrame::new(format!(
            "the terminal speaks version {version} of the protocol, and this tier version {VERSION}: use the same \
             Lydite on both sides"
        )));
    }
    match u8::take(input)? {
        0 => Ok(Hello::Terminal {
            id: TerminalId { run: Field::take(input)?, terminal: Field::take(input)? },
            w_id: Field::take(input)?,
            d_id: Field::take(input)?,
            pending: Field::take(input)?,
        }),
        1 => Ok(Hello::Operator),
        other => Err(BadFrame::new(format!("a line has the unknown role {other}"))),
    }
}

impl Answer {
    /// Returns the answer as a frame.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        match self {
            Self::Operator { number, served } => frame(0x81, |out| {
                number.put(out);
                served.url.put(out);
                served.warehouses.put(out);
                served.seed.put(out);
            }),
            Self::Terminal { known, number } => frame(0x82, |out| {
                known.put(out);
                number.put(out);
            }),
            Self::Menu { number, kind } => frame(0x83, |out| {
                number.put(out);
                kind.put(out);
            }),
            Self::Output { number, outcome } => frame(0x84, |out| {
                number.put(out);
                output(outcome, out);
            }),
            Self::RolledBack { number, order } => frame(0x85, |out| {
                number.put(out);
                order.put(out);
            }),
            Self::Queued { number } => frame(0x86, |out| number.put(out)),
            Self::Failed { number, error } => frame(0x87, |out| {
                number.put(out);
                error.put(out);
            }),
            Self::Delivered(result) => frame(0x88, |out| match result {
                Ok(outcome) => {
                    true.put(out);
                    outcome.put(out);
                }
                Err(error) => {
                    false.put(out);
                    error.put(out);
                }
            }),
            Self::Rejected { why } => frame(0x8f, |out| why.put(out)),
        }
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// The frame breaks the protocol.
    pub fn read(bytes: &[u8]) -> Result<Self, BadFrame> {
        let mut input = Input::new(bytes);
        let answer = match u8::take(&mut input)? {
            0x81 => Self::Operator {
                number: Field::take(&mut input)?,
                served: Served {
                    url: Field::take(&mut input)?,
                    warehouses: Field::take(&mut input)?,
                    seed: Field::take(&mut input)?,
                },
            },
            0x82 => Self::Terminal { known: Field::take(&mut input)?, number: Field::take(&mut input)? },
            0x83 => Self::Menu { number: Field::take(&mut input)?, kind: Field::take(&mut input)? },
            0x84 => Self::Output { number: Field::take(&mut input)?, outcome: output_fields(&mut input)? },
            0x85 => Self::RolledBack { number: Field::take(&mut input)?, order: Field::take(&mut input)? },
            0x86 => Self::Queued { number: Field::take(&mut input)? },
            0x87 => Self::Failed { number: Field::take(&mut input)?, error: Field::take(&mut input)? },
            0x88 => Self::Delivered(if bool::take(&mut input)? {
                Ok(Field::take(&mut input)?)
            } else {
                Err(Field::take(&mut input)?)
            }),
            0x8f => Self::Rejected { why: Field::take(&mut input)? },
            tag => return Err(unknown(tag)),
        };
        input.end()?;
        Ok(answer)
    }

    /// Returns the number of the request that this answers; `None` for greetings and for answers to operators.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Menu { number, .. }
            | Self::Output { number, .. }
            | Self::RolledBack { number, .. }
            | Self::Queued { number }
            | Self::Failed { number, .. } => Some(*number),
            Self::Operator { .. } | Self::Terminal { .. } | Self::Delivered(_) | Self::Rejected { .. } => {
                None
            }
        }
    }
}

/// Appends the fields of an output screen.
fn output(outcome: &StandardOutcome, out: &mut Vec<u8>) {
    outcome.kind().put(out);
    match outcome {
        StandardOutcome::NewOrder(fields) => fields.put(out),
        StandardOutcome::Payment(fields) => fields.put(out),
        StandardOutcome::OrderStatus(fields) => fields.put(out),
        StandardOutcome::Delivery(fields) => fields.put(out),
        StandardOutcome::StockLevel(fields) => fields.put(out),
    }
}

/// Reads the fields of an output screen. A Delivery has no such screen: the terminal gets its answer once the Delivery is
/// queued.
fn output_fields(input: &mut Input<'_>) -> Result<StandardOutcome, BadFrame> {
    Ok(match StandardKind::take(input)? {
        StandardKind::NewOrder => StandardOutcome::NewOrder(Field::take(input)?),
        StandardKind::Payment => StandardOutcome::Payment(Box::new(Field::take(input)?)),
        StandardKind::OrderStatus => StandardOutcome::OrderStatus(Field::take(input)?),
        StandardKind::StockLevel => StandardOutcome::StockLevel(Field::take(input)?),
        kind @ StandardKind::Delivery => {
            return Err(BadFrame::new(format!("no output screen for {}", kind.title())));
        }
    })
}

impl Field for TxError {
    fn put(&self, out: &mut Vec<u8>) {
        let (tag, detail) = match self {
            Self::Aborted { reason, detail } => (reason.index() as u8, detail.clone()),
            Self::Unavailable { committed: Committed::No, detail } => (0x10, detail.clone()),
            Self::Unavailable { committed: Committed::Unknown, detail } => (0x11, detail.clone()),
            Self::Broken(detail) => (0x20, detail.clone()),
            Self::Fatal(detail) => (0x30, detail.clone()),
            Self::WrongRows { committed: Committed::No, detail } => (0x40, detail.clone()),
            Self::WrongRows { committed: Committed::Unknown, detail } => (0x41, detail.clone()),
            // A rolled-back order is a screen of its own. Only a database that rolls back something else comes here.
            Self::RolledBack(_) => (0x30, self.to_string()),
        };
        out.push(tag);
        detail.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        let (tag, detail) = (u8::take(input)?, String::take(input)?);
        Ok(match tag {
            0x10 => Self::Unavailable { committed: Committed::No, detail },
            0x11 => Self::Unavailable { committed: Committed::Unknown, detail },
            0x20 => Self::Broken(detail),
            0x30 => Self::Fatal(detail),
            0x40 => Self::WrongRows { committed: Committed::No, detail },
            0x41 => Self::WrongRows { committed: Committed::Unknown, detail },
            reason => Self::Aborted {
                reason: *AbortReason::ALL
                    .get(usize::from(reason))
                    .ok_or_else(|| BadFrame::new(format!("an error has the unknown tag {reason:#04x}")))?,
                detail,
            },
        })
    }
}

#[cfg(test)]
mod tests;
