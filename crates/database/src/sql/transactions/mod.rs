//! The transactions as SQL: a file for each, the dispatch to them, and the table of all statements. Dispatch and table are
//! made from the table of [`lydite_tpcc::transactions!`].

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod select_balance;
mod stock_level;
mod update_balance;
mod update_item;
mod update_stock;

pub use new_order::UNUSED_ITEM;

use crate::error::TxError;
use crate::replication::Positions;
use crate::session::Session;
use crate::sql::dialect::Dialect;
use crate::sql::prepared::{Prepared, StatementRole};
use crate::sql::session::SqlSession;
use crate::sql::statement::{Definition, STATEMENTS, Statement, Way, count_of};
use crate::sql::tx_error::SqlTxError;
use crate::target::TxMode;
use lydite_tpcc::input::Contended;
use lydite_tpcc::{Dike, Outcome, Standard, Transaction, TransactionKind};
use std::sync::Arc;

macro_rules! of_all {
    (
        Standard {
            $($(#[$about:meta])* $Name:ident = $name:literal: $module:ident($Input:ty) -> $Outcome:ty;)+
        }
        Dike {
            $($(#[$about_of_dike:meta])* $OfDike:ident = $name_of_dike:literal:
                $module_of_dike:ident($InputOfDike:ty) -> $OutcomeOfDike:ty;)+
        }
    ) => {
        /// The statements of each type of transaction, in the order of [`TransactionKind::ALL`].
        static OF_TYPES: [&[Definition]; TransactionKind::COUNT] =
            [$($module::STATEMENTS,)+ $($module_of_dike::STATEMENTS,)+];

        /// Gives a transaction to its file.
        fn play(session: &mut SqlSession, transaction: &Transaction) -> Result<Outcome, SqlTxError> {
            match transaction {
                $(Transaction::Standard(Standard::$Name(input)) => {
                    $module::play(session, input).map(Outcome::from)
                })+
                $(Transaction::Dike(Dike::$OfDike(input)) => {
                    $module_of_dike::play(session, input).map(Outcome::from)
                })+
            }
        }
    };
}

lydite_tpcc::transactions!(of_all);

impl Session for SqlSession {
    fn watch(&mut self, row: Contended, asked: Arc<dyn Fn() + Send + Sync>) -> bool {
        self.watching = Some((row, asked));
        self.way == Way::Statements
    }

    fn positions(&mut self) -> Option<&mut dyn Positions> {
        self.connection.positions()
    }

    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        let takes_number = matches!(transaction, Transaction::Standard(Standard::NewOrder(_)));
        play(self, transaction)
            .map_err(|error| error.of_keys(self.judges_keys, takes_number).roll_back(&mut *self.connection))
    }
}

/// Number of the first statement of each type of transaction. Statements that all transactions share come first.
static FIRST: [usize; TransactionKind::COUNT] = {
    let mut first = [0; TransactionKind::COUNT];
    let mut number = count_of(STATEMENTS, STATEMENTS.len());
    let mut kind = 0;
    while kind < TransactionKind::COUNT {
        first[kind] = number;
        number += count_of(OF_TYPES[kind], OF_TYPES[kind].len());
        kind += 1;
    }
    first
};

impl Prepared for Statement {
    fn index(self) -> usize {
        self.of.map_or(0, |kind| FIRST[kind.index()]) + self.place
    }

    fn role(self) -> StatementRole {
        match self {
            _ if self == Self::BeginWrite => StatementRole::BeginWrite,
            _ if self == Self::BeginRead => StatementRole::BeginRead,
            _ if self == Self::Commit => StatementRole::Commit,
            _ => StatementRole::Other,
        }
    }
}

impl Statement {
    /// Returns the statements that a session in this mode prepares.
    pub fn of_mode(mode: TxMode, dialect: &Dialect) -> Vec<Self> {
        let way = Way::of(mode, dialect);
        let of_types = TransactionKind::ALL.into_iter().zip(OF_TYPES);
        let of_types = of_types.flat_map(|(kind, definitions)| Self::all_of(Some(kind), definitions));
        Self::all_of(None, STATEMENTS).chain(of_types).filter(|statement| statement.is_of(way)).collect()
    }

    /// Returns the text in PostgreSQL's dialect over shards. The newest orders are beyond the planner's histogram, so
    /// it may take them for one row, and then a join reads a whole foreign table again for every row of another. This
    /// text finds the items first instead.
    pub fn text_over_shards(self, dialect: &Dialect) -> String {
        stock_level::over_shards(self).unwrap_or_else(|| self.text(dialect))
    }

    /// Returns the text in this dialect for a server whose New-Order has a procedure that works on all lines at once.
    pub fn text_for_arrays(self, dialect: &Dialect) -> String {
        let text = self.text(dialect);
        if self == Self::CallNewOrder {
            text.replace("lydite_new_order", "lydite_new_order_arrays")
        } else {
            text
        }
    }
}
