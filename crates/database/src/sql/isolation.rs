//! The isolation levels that a URL can choose.

use crate::target_url::ParsedUrl;

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// A snapshot per transaction.
    RepeatableRead,
    /// Transactions behave as if they ran one after the other.
    Serializable,
    /// A snapshot per statement.
    ReadCommitted,
}

impl Isolation {
    /// Reads the option `isolation`. The default is repeatable read.
    pub fn of(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Self {
        Self::among(&[Self::RepeatableRead, Self::Serializable, Self::ReadCommitted], parsed, errors)
    }

    /// Reads the option `isolation`, one of `levels`. The default is the first of them.
    pub fn among(levels: &'static [Self], parsed: &ParsedUrl, errors: &mut Vec<String>) -> Self {
        let names: Vec<&str> = levels.iter().map(|level| level.option()).collect();
        let chosen = parsed.choice("isolation", &names, errors);
        levels.iter().copied().find(|level| level.option() == chosen).unwrap_or(levels[0])
    }

    /// Returns the name in a URL.
    fn option(self) -> &'static str {
        match self {
            Self::RepeatableRead => "repeatable-read",
            Self::Serializable => "serializable",
            Self::ReadCommitted => "read-committed",
        }
    }

    /// Returns the name in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
            Self::ReadCommitted => "READ COMMITTED",
        }
    }
}
