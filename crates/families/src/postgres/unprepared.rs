//! Connections without a session of the server: the URL option `statements=unprepared`.
//!
//! A pooler in transaction mode gives each transaction any of its connections. So statements go to the server with their
//! text, and each transaction sets what it needs by `SET LOCAL`, or takes the locks that it must hold. The settings that
//! differ from the wanted ones are read when a connection begins. Usually none does, and nothing more is sent.

use bytes::BytesMut;
use lydite_database::target_url::OptionSpec;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend::{self, BindError};
use std::borrow::Cow;
use std::io;
use std::iter;

/// The option.
pub(super) const STATEMENTS: OptionSpec = OptionSpec {
    name: "statements",
    values: "prepared, unprepared",
    default: "prepared",
    about: "form of the statements; unprepared needs no session of the server and works behind poolers in transaction mode",
};

/// Values of the option.
pub(super) const VALUES: [&str; 2] = ["prepared", UNPREPARED];
/// Value for connections without a session of the server.
pub(super) const UNPREPARED: &str = "unprepared";

/// Reason why tables over shards need a session of the server.
pub(super) const NO_SHARDS: &str =
    "is not possible over shards, whose plans need settings of a session: connect to the server itself";

/// Beginning of statements that no transaction may contain.
const ALONE: &str = "VACUUM";

/// Kind of what is between Lydite and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// Nothing, or a pooler that keeps a session of the server for each connection.
    Nothing,
    /// A pooler in transaction mode.
    Pooler,
}

/// Rejects other options of the URL that need a session of the server.
pub(super) fn check(has_options: bool, has_shards: bool, errors: &mut Vec<String>) {
    if has_options {
        errors.push(
            "target option statements=unprepared is not possible with options (or PGOPTIONS), which a pooler rejects: leave \
             them out, and use ALTER ROLE … SET"
                .into(),
        );
    }
    if has_shards {
        errors.push(format!("target option statements=unprepared {NO_SHARDS}"));
    }
}

/// Settings with the default of a transaction, and those of the transaction itself: it has begun before it sets anything.
const DEFAULTS: [(&str, &str); 3] = [
    ("default_transaction_isolation", "transaction_isolation"),
    ("default_transaction_read_only", "transaction_read_only"),
    ("default_transaction_deferrable", "transaction_deferrable"),
];
/// Settings among them that the BEGIN of each measured transaction names.
const NAMED_BY_BEGIN: [&str; 2] = [DEFAULTS[0].0, DEFAULTS[1].0];

/// Beginning of each transaction of a connection.
#[derive(Debug)]
pub(super) struct Leading {
    /// True if the session of the server may change with each transaction.
    unprepared: bool,
    /// Statements of transactions whose BEGIN names nothing.
    all: Vec<String>,
    /// Statements behind a BEGIN that names the level and the mode.
    behind_begin: Vec<String>,
}

impl Leading {
    pub(super) fn new(unprepared: bool) -> Self {
        Self { unprepared, all: Vec::new(), behind_begin: Vec::new() }
    }

    /// True if the session of the server may change with each transaction.
    pub(super) fn is_unprepared(&self) -> bool {
        self.unprepared
    }

    /// Returns the number of statements behind a BEGIN that names the level and the mode.
    pub(super) fn behind_begin(&self) -> usize {
        self.behind_begin.len()
    }

    /// Adds a statement.
    pub(super) fn add(&mut self, sql: String) {
        self.behind_begin.push(sql.clone());
        self.all.push(sql);
    }

    /// Takes settings, by names and values in SQL. Returns the SQL that sets them for the session, or tries them if each
    /// transaction sets them: a setting that the user may not change is an error at once then.
    pub(super) fn keep(&mut self, settings: &[(&str, String)]) -> String {
        if !self.unprepared {
            let sets = settings.iter().map(|(name, value)| format!("SET {name} TO {value}"));
            return sets.collect::<Vec<_>>().join("; ");
        }
        let begin = self.all.len();
        for (name, value) in settings {
            let own = DEFAULTS.iter().find(|(default, _)| default == name).map_or(*name, |(_, own)| own);
            let set = format!("SET LOCAL {own} TO {value}");
            if !NAMED_BY_BEGIN.contains(name) {
                self.behind_begin.push(set.clone());
            }
            self.all.push(set);
        }
        format!("BEGIN; {}; ROLLBACK", self.all[begin..].join("; "))
    }

    /// Returns SQL behind the statements, and their number, if it may be in a transaction. All that travels in one message
    /// is one transaction, and a BEGIN within goes on with it.
    pub(super) fn before<'a>(&self, sql: &'a str) -> (Cow<'a, str>, usize) {
        if self.all.is_empty() || sql.starts_with(ALONE) {
            return (Cow::Borrowed(sql), 0);
        }
        (Cow::Owned(format!("{}; {sql}", self.all.join("; "))), self.all.len())
    }

    /// Adds the statements behind a BEGIN to the messages of a transaction.
    pub(super) fn write(&self, out: &mut BytesMut) -> io::Result<()> {
        for sql in &self.behind_begin {
            frontend::parse("", sql, [], out)?;
            let none = iter::empty::<i16>;
            let bound =
                frontend::bind("", "", none(), iter::empty::<()>(), |(), _| Ok(IsNull::Yes), none(), out);
            bound.map_err(|error| match error {
                BindError::Conversion(error) => io::Error::other(error),
                BindError::Serialization(error) => error,
            })?;
            frontend::execute("", 0, out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Leading;

    #[test]
    fn settings_are_made_once_for_a_session_and_in_each_transaction_without_one() {
        let settings = [("lock_timeout", "5".to_owned()), ("search_path", "\"s\"".to_owned())];
        let mut kept = Leading::new(false);
        assert_eq!(kept.keep(&settings), "SET lock_timeout TO 5; SET search_path TO \"s\"");
        assert_eq!(kept.before("BEGIN"), ("BEGIN".into(), 0));
        let mut unprepared = Leading::new(true);
        assert_eq!(unprepared.before("BEGIN"), ("BEGIN".into(), 0));
        let sets = "SET LOCAL lock_timeout TO 5; SET LOCAL search_path TO \"s\"";
        assert_eq!(unprepared.keep(&settings), format!("BEGIN; {sets}; ROLLBACK"));
        assert_eq!(unprepared.before("BEGIN"), (format!("{sets}; BEGIN").into(), 2));
        assert_eq!(unprepared.before("VACUUM t"), ("VACUUM t".into(), 0));
    }

    #[test]
    fn the_level_and_the_mode_of_a_transaction_are_set_where_its_begin_names_none() {
        let mut leading = Leading::new(true);
        let settings = [
            ("default_transaction_isolation", "'read committed'"),
            ("default_transaction_read_only", "off"),
            ("default_transaction_deferrable", "off"),
            ("jit", "off"),
        ];
        leading.keep(&settings.map(|(name, value)| (name, value.to_owned())));
        let all = "SET LOCAL transaction_isolation TO 'read committed'; SET LOCAL transaction_read_only TO off; \
                   SET LOCAL transaction_deferrable TO off; SET LOCAL jit TO off; BEGIN";
        assert_eq!(leading.before("BEGIN"), (all.into(), 4));
        assert_eq!(leading.behind_begin, ["SET LOCAL transaction_deferrable TO off", "SET LOCAL jit TO off"]);
    }
}
