//! Statements as data. The module of a transaction declares its statements with `statements!`. This module numbers them
//! and makes one table of them.
//!
//! Parameters are written `$1`, `$2` …, their first uses in ascending order, and get the dialect's form.

use crate::sql::dialect::{Batches, Dialect};
use crate::sql::prepared::{Prepared, StatementRole};
use crate::sql::{
    delivery, new_order, order_status, payment, select_balance, stock_level, update_balance, update_item,
    update_stock,
};
use crate::target::TxMode;
use SqlText::{Made, Sql};
use lydite_tpcc::TransactionKind;
use std::fmt;

/// A way of sending transactions: a mode, and the dialect's form of several rows in one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `--tx statements`: a round trip for each step.
    Statements,
    /// `--tx batched` with arrays: statements that need no earlier answer are sent together, and all lines of an order
    /// are one statement.
    Batched,
    /// `--tx batched` with several rows in the text of a statement, for databases without arrays: statements that need
    /// no earlier answer are sent together. Such a database continues with the statements after a failed one, so the
    /// commit is sent only after all changes are answered.
    MultiRow,
    /// `--tx procedures`: a call of a stored procedure for each transaction, in one round trip. Begin and commit are in
    /// one packet with the call, so that every transaction sets its isolation level, or they are in the procedure.
    Procedures,
}

impl Way {
    /// Returns the way in which a mode sends to databases of this dialect.
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
    /// A text whose parts in braces come from the dialect ([`Dialect::fill`]).
    Sql(&'static str),
    /// A function that makes the text.
    Made(fn(&Dialect) -> String),
}

/// A statement as data.
pub(crate) struct Definition {
    /// Name, on the wire and in errors.
    pub(crate) name: &'static str,
    /// Ways of sending that prepare the statement.
    pub(crate) ways: &'static [Way],
    pub(crate) text: SqlText,
}

/// A statement of the transactions, as its number in the table of all statements. The module of each transaction
/// declares its statements as constants, such as `Statement::InsertOrder`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Statement(usize);

/// Declares statements with numbers from the given one on: a name, the [`Way`]s that prepare it, and its [`SqlText`].
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

        /// Positions of the statements among them.
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

/// Returns the statements of a transaction type.
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

/// Returns the number of the first statement of a transaction type.
pub(crate) const fn first(kind: TransactionKind) -> usize {
    behind(kind.index())
}

/// Returns the number after the statements of the first `kinds` transaction types.
const fn behind(kinds: usize) -> usize {
    let mut number = STATEMENTS.len();
    let mut kind = 0;
    while kind < kinds {
        number += of_kind(TransactionKind::ALL[kind]).len();
        kind += 1;
    }
    number
}

/// All statements by number.
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
    /// Makes a statement. Only [`statements!`] calls it, because its constants are all statements.
    pub(crate) const fn numbered(number: usize) -> Self {
        Self(number)
    }

    fn definition(self) -> &'static Definition {
        ALL[self.0]
    }

    /// Returns the statements that a session in this mode prepares.
    pub fn of_mode(mode: TxMode, dialect: &Dialect) -> Vec<Self> {
        let way = Way::of(mode, dialect);
        (0..ALL.len()).map(Self).filter(|statement| statement.definition().ways.contains(&way)).collect()
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

    /// Returns the name with what the statement does to which table, for messages: `PayWarehouse (UPDATE warehouse)`.
    pub(crate) fn in_words(self, dialect: &Dialect) -> String {
        let text = self.text(dialect);
        let words: Vec<&str> = text.split_whitespace().collect();
        let verbs = ["UPDATE", "INSERT INTO", "DELETE FROM"];
        let known = verbs.iter().find(|verb| text.starts_with(*verb));
        let words = known.map(|verb| words[..=verb.split(' ').count()].join(" "));
        words.map_or_else(|| format!("{self:?}"), |words| format!("{self:?} ({words})"))
    }

    /// Returns the text in this dialect.
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

    fn role(self) -> StatementRole {
        match self {
            Self::BeginWrite => StatementRole::BeginWrite,
            Self::BeginRead => StatementRole::BeginRead,
            Self::Commit => StatementRole::Commit,
            _ => StatementRole::Other,
        }
    }
}

/// Returns `(a = $1 AND b = $2) OR (a = $3 AND b = $4) …` for `rows` rows, from parameter `first` on.
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
