//! Statements as data. The module of a transaction declares its own with `statements!`; here they become one table,
//! in which every statement has a number.
//!
//! Parameters are written `$1`, `$2` …, each first used in ascending order, and get the dialect's form.

use crate::sql::dialect::{Batches, Dialect};
use crate::sql::prepared::{Prepared, Role};
use crate::sql::{
    delivery, new_order, order_status, payment, select_balance, stock_level, update_balance, update_item,
    update_stock,
};
use crate::target::TxMode;
use SqlText::{Made, Sql};
use lydite_tpcc::TransactionKind;
use std::fmt;

/// A way of sending transactions: a mode, and how the dialect takes several rows at once in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `--tx statements`: a round trip for each step.
    Statements,
    /// `--tx batched` with arrays: whatever needs no earlier answer travels together, and all lines of an order are one
    /// statement.
    Batched,
    /// `--tx batched` with several rows in the text of a statement, for databases without arrays: whatever needs no
    /// earlier answer travels together. Such a database goes on with the statements behind one that failed, so nothing
    /// is committed in the same round trip as a change: the commit is sent when all changes have been answered.
    MultiRow,
    /// `--tx procedures`: a call of a stored procedure for each transaction, in one round trip. The begin and the
    /// commit are in one packet with the call, so that the isolation level is set for every transaction, or in the
    /// procedure.
    Procedures,
}

impl Way {
    /// The way in which a mode sends to databases of this dialect.
    pub(crate) fn of(mode: TxMode, dialect: &Dialect) -> Self {
        match (mode, dialect.batches) {
            (TxMode::Statements, _) => Self::Statements,
            (TxMode::Batched, Batches::Arrays) => Self::Batched,
            (TxMode::Batched, Batches::Rows) => Self::MultiRow,
            (TxMode::Procedures, _) => Self::Procedures,
        }
    }
}

/// The text of a statement.
pub(crate) enum SqlText {
    /// A text with what differs from one dialect to the next in braces ([`Dialect::fill`]).
    Sql(&'static str),
    /// A text that is put together.
    Made(fn(&Dialect) -> String),
}

/// A statement as data.
pub(crate) struct Definition {
    /// Its name, on the wire and in errors.
    pub(crate) name: &'static str,
    /// The ways that prepare it.
    pub(crate) ways: &'static [Way],
    pub(crate) text: SqlText,
}

/// A statement of the transactions: its number in the table of all. Each is a constant here, `Statement::InsertOrder`,
/// which the module of its transaction declares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Statement(usize);

/// Declares statements, numbered on from the given one: a name, the [`Way`]s that prepare it, and its [`SqlText`].
macro_rules! statements {
    (
        from $first:expr;
        $($(#[$about:meta])* $name:ident [$($way:ident)+] $text:expr;)+
    ) => {
        /// The statements declared here.
        pub(crate) const STATEMENTS: &[$crate::sql::statement::Definition] = &[
            $($crate::sql::statement::Definition {
                name: stringify!($name),
                ways: &[$($crate::sql::statement::Way::$way),+],
                text: $text,
            }),+
        ];

        /// Their places among them.
        enum Place {
            $($name),+
        }

        #[allow(non_upper_case_globals, reason = "named as the variants of an enum, which this is in parts")]
        impl $crate::sql::statement::Statement {
            $(
                $(#[$about])*
                pub(crate) const $name: Self = Self::numbered($first + Place::$name as usize);
            )+
        }
    };
}
pub(crate) use statements;

statements! {
    from 0;

    /// Begins a transaction that writes.
    BeginWrite [Statements Batched MultiRow Procedures] Sql("{begin_write}");

    /// Begins a transaction that only reads.
    BeginRead [Statements Batched MultiRow Procedures] Sql("{begin_read}");

    /// Commits.
    Commit [Statements Batched MultiRow Procedures] Sql("COMMIT");
}

/// The statements of a transaction.
const fn of_kind(kind: TransactionKind) -> &'static [Definition] {
    match kind {
        TransactionKind::NewOrder => new_order::STATEMENTS,
        TransactionKind::Payment => payment::STATEMENTS,
        TransactionKind::OrderStatus => order_status::STATEMENTS,
        TransactionKind::Delivery => delivery::STATEMENTS,
        TransactionKind::StockLevel => stock_level::STATEMENTS,
        TransactionKind::UpdateStock => update_stock::STATEMENTS,
        TransactionKind::UpdateItem => update_item::STATEMENTS,
        TransactionKind::UpdateBalance => update_balance::STATEMENTS,
        TransactionKind::SelectBalance => select_balance::STATEMENTS,
    }
}

/// The number of a transaction's first statement.
pub(crate) const fn first(kind: TransactionKind) -> usize {
    behind(kind.index())
}

/// The number behind the statements of the first transactions, so many.
const fn behind(kinds: usize) -> usize {
    let mut number = STATEMENTS.len();
    let mut kind = 0;
    while kind < kinds {
        number += of_kind(TransactionKind::ALL[kind]).len();
        kind += 1;
    }
    number
}

/// All statements by their numbers.
static ALL: [&Definition; behind(TransactionKind::COUNT)] = {
    let mut all = [&STATEMENTS[0]; behind(TransactionKind::COUNT)];
    let mut number = 0;
    while number < STATEMENTS.len() {
        all[number] = &STATEMENTS[number];
        number += 1;
    }
    let mut kind = 0;
    while kind < TransactionKind::COUNT {
        let statements = of_kind(TransactionKind::ALL[kind]);
        let mut place = 0;
        while place < statements.len() {
            all[number] = &statements[place];
            number += 1;
            place += 1;
        }
        kind += 1;
    }
    all
};

impl Statement {
    /// For [`statements!`] alone: its constants are the statements that there are.
    pub(crate) const fn numbered(number: usize) -> Self {
        Self(number)
    }

    fn definition(self) -> &'static Definition {
        ALL[self.0]
    }

    /// The statements that a session in this mode prepares.
    pub fn of_mode(mode: TxMode, dialect: &Dialect) -> Vec<Self> {
        let way = Way::of(mode, dialect);
        (0..ALL.len()).map(Self).filter(|statement| statement.definition().ways.contains(&way)).collect()
    }

    /// The text in PostgreSQL's dialect over shards. A join there may ask for all of a foreign table again for every
    /// row of another, once the planner takes the newest orders, which are behind its histogram, for one row: what is
    /// looked for is found first.
    pub fn text_over_shards(self, dialect: &Dialect) -> String {
        if self == Self::CountLowStock {
            stock_level::COUNT_LOW_STOCK_OVER_SHARDS.to_string()
        } else {
            self.text(dialect)
        }
    }

    /// The text in this dialect.
    pub fn text(self, dialect: &Dialect) -> String {
        let text = match self.definition().text {
            Sql(text) => dialect.fill(text),
            Made(make) => make(dialect),
        };
        dialect.placeholders(&text)
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.definition().name)
    }
}

impl Prepared for Statement {
    fn index(self) -> usize {
        self.0
    }

    fn role(self) -> Role {
        match self {
            Self::BeginWrite => Role::BeginWrite,
            Self::BeginRead => Role::BeginRead,
            Self::Commit => Role::Commit,
            _ => Role::Other,
        }
    }
}

/// `(a = $1 AND b = $2) OR (a = $3 AND b = $4) …`, from parameter `first` on.
pub(crate) fn any_of(first: usize, rows: usize, columns: &[&str]) -> String {
    let row = |row: usize| {
        let equal: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(column, name)| format!("{name} = ${}", first + row * columns.len() + column))
            .collect();
        format!("({})", equal.join(" AND "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(" OR ")
}
