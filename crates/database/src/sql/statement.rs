//! Statements as data. The file of a transaction declares its statements with `statements!`.
//! `transactions/mod.rs` makes one table of them.
//!
//! Parameters are written `$1`, `$2` …, their first uses in ascending order, and get the dialect's form.

use crate::sql::dialect::{Batches, Dialect};
use crate::target::TxMode;
use SqlText::{Each, Made, Sql};
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

/// The text of a statement, or of several that differ by a number.
pub(crate) enum SqlText {
    /// A text whose parts in braces come from the dialect ([`Dialect::fill`]).
    Sql(&'static str),
    /// A function that makes the text.
    Made(fn(&Dialect) -> String),
    /// `count` statements, numbered from 1, and functions that make the name and the text of one.
    Each { count: usize, name: fn(usize) -> String, text: fn(&Dialect, usize) -> String },
}

/// A statement as data, or several that differ by a number.
pub(crate) struct Definition {
    /// Name, on the wire and in errors.
    pub(crate) name: &'static str,
    /// Ways of sending that prepare the statement.
    pub(crate) ways: &'static [Way],
    pub(crate) text: SqlText,
}

impl Definition {
    /// Returns the number of statements.
    const fn count(&self) -> usize {
        match self.text {
            Sql(_) | Made(_) => 1,
            Each { count, .. } => count,
        }
    }
}

/// Returns the number of statements of the first `first` definitions.
pub(crate) const fn count_of(definitions: &[Definition], first: usize) -> usize {
    let (mut count, mut position) = (0, 0);
    while position < first {
        count += definitions[position].count();
        position += 1;
    }
    count
}

/// A statement of the transactions. The file of each transaction declares its statements as constants, such as
/// `Statement::InsertOrder`.
#[derive(Clone, Copy)]
pub struct Statement {
    /// Type of the transaction that declares it; none if all transactions use it.
    pub(crate) of: Option<TransactionKind>,
    /// Place among the statements of that type.
    pub(crate) place: usize,
    definition: &'static Definition,
    /// Number within its definition, from 1.
    number: usize,
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        (self.of, self.place) == (other.of, other.place)
    }
}

impl Eq for Statement {}

/// Declares statements of a type of transaction: a name, the [`Way`]s that prepare it, and its [`SqlText`].
macro_rules! statements {
    (
        of $of:expr;
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

        /// Positions of the definitions in `STATEMENTS`.
        enum Position {
            $($name),+
        }

        #[allow(non_upper_case_globals, reason = "named as the variants of an enum, which this is in parts")]
        impl $crate::sql::statement::Statement {
            $(
                $(#[$about])*
                pub(crate) const $name: Self = Self::declared($of, STATEMENTS, Position::$name as usize);
            )+
        }
    };
}
pub(crate) use statements;

statements! {
    of None;

    /// Begins a transaction that writes.
    BeginWrite [Statements Batched MultiRow Procedures] Sql("{begin_write}");

    /// Begins a transaction that only reads.
    BeginRead [Statements Batched MultiRow Procedures] Sql("{begin_read}");

    /// Commits.
    Commit [Statements Batched MultiRow Procedures] Sql("COMMIT");
}

impl Statement {
    /// Makes a statement, the first one of a definition. Only [`statements!`] and [`Statement::all_of`] call it.
    pub(crate) const fn declared(
        of: Option<TransactionKind>,
        definitions: &'static [Definition],
        position: usize,
    ) -> Self {
        let place = count_of(definitions, position);
        Self { of, place, definition: &definitions[position], number: 1 }
    }

    /// Returns the statement with this number, from 1, of the same definition.
    pub(crate) fn nth(self, number: usize) -> Self {
        debug_assert!((1..=self.definition.count()).contains(&number), "{self:?} has no number {number}");
        Self { place: self.place + number - self.number, number, ..self }
    }

    /// Returns the statements of a transaction type.
    pub(crate) fn all_of(
        of: Option<TransactionKind>,
        definitions: &'static [Definition],
    ) -> impl Iterator<Item = Self> {
        let first = (0..definitions.len()).map(move |position| Self::declared(of, definitions, position));
        first.flat_map(|first| (1..=first.definition.count()).map(move |number| first.nth(number)))
    }

    /// True if a session that sends in this way prepares the statement.
    pub(crate) fn is_of(self, way: Way) -> bool {
        self.definition.ways.contains(&way)
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
        let text = match self.definition.text {
            Sql(text) => dialect.fill(text),
            Made(make) => make(dialect),
            Each { text, .. } => text(dialect, self.number),
        };
        dialect.placeholders(&text)
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.definition.text {
            Sql(_) | Made(_) => f.write_str(self.definition.name),
            Each { name, .. } => f.write_str(&name(self.number)),
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
