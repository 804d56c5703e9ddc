//! The isolation levels that can be asked for.

use crate::target_url::ParsedUrl;

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// A snapshot per transaction.
    RepeatableRead,
    /// As if one after the other.
    Serializable,
    /// A snapshot per statement.
    ReadCommitted,
}

impl Isolation {
    /// The option `isolation`; repeatable read when it is not given.
    pub fn of(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Self {
        Self::among(&[Self::RepeatableRead, Self::Serializable, Self::ReadCommitted], parsed, errors)
    }

    /// The option `isolation`, one of `levels`; the first when it is not given.
    pub fn among(levels: &'static [Self], parsed: &ParsedUrl, errors: &mut Vec<String>) -> Self {
        let names: Vec<&str> = levels.iter().map(|level| level.option()).collect();
        let chosen = parsed.choice("isolation", &names, errors);
        levels.iter().copied().find(|level| level.option() == chosen).unwrap_or(levels[0])
    }

    /// As a URL writes it.
    fn option(self) -> &'static str {
        match self {
            Self::RepeatableRead => "repeatable-read",
            Self::Serializable => "serializable",
            Self::ReadCommitted => "read-committed",
        }
    }

    /// As SQL writes it.
    pub fn sql(self) -> &'static str {
        match self {
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
            Self::ReadCommitted => "READ COMMITTED",
        }
    }
}
