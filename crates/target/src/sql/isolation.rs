//! The isolation levels that can be asked for.

use crate::registry::ParsedUrl;

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// A snapshot per transaction.
    RepeatableRead,
    /// As if one after the other.
    Serializable,
    /// A snapshot per statement.
    ReadCommitted,
}

impl Isolation {
    /// The option `isolation`; repeatable read when it is not given.
    pub(crate) fn of(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Self {
        let levels = ["repeatable-read", "serializable", "read-committed"];
        match parsed.choice("isolation", &levels, errors) {
            "serializable" => Self::Serializable,
            "read-committed" => Self::ReadCommitted,
            _ => Self::RepeatableRead,
        }
    }

    /// As SQL writes it.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
            Self::ReadCommitted => "READ COMMITTED",
        }
    }
}
