//! The isolation levels that a URL can choose.

use crate::error::TargetError;
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
    /// All levels, the default of most families first.
    pub const ALL: [Self; 3] = [Self::RepeatableRead, Self::Serializable, Self::ReadCommitted];

    /// Reads the option `isolation`. The default is repeatable read.
    pub fn of(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Self {
        Self::among(&Self::ALL, parsed, errors)
    }

    /// Reads the option `isolation` where the database lacks serializable. Only the error of an unknown level leaves it
    /// out: a caller rejects it in words of its own.
    pub fn without_serializable(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Self {
        match parsed.options.get("isolation") {
            Some(given) if given == Self::Serializable.option() => Self::Serializable,
            _ => Self::among(&[Self::RepeatableRead, Self::ReadCommitted], parsed, errors),
        }
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

    /// Rejects a server that gives transactions a weaker level than this one. `found` is the level that the server
    /// reports within a transaction, in its words; a word that is not known proves nothing. `offered` are the levels that
    /// a URL of the family can choose.
    ///
    /// # Errors
    /// The level is weaker.
    pub fn check_effective(self, found: &str, offered: &[Self], place: &str) -> Result<(), TargetError> {
        let words = found.to_lowercase().replace('-', " ");
        let known = match words.trim() {
            "read uncommitted" => Some(0),
            "read committed" => Some(1),
            "repeatable read" | "snapshot" => Some(2),
            "serializable" => Some(3),
            _ => None,
        };
        let wanted = match self {
            Self::ReadCommitted => 1,
            Self::RepeatableRead => 2,
            Self::Serializable => 3,
        };
        if known.is_none_or(|known| known >= wanted) {
            return Ok(());
        }
        let advice = match known {
            Some(1) if offered.contains(&Self::ReadCommitted) => {
                "or ask for it with ?isolation=read-committed"
            }
            Some(2) if offered.contains(&Self::RepeatableRead) => {
                "or ask for it with ?isolation=repeatable-read"
            }
            _ => "or see which setting of the server lowers it",
        };
        Err(TargetError::usage(format!(
            "{place}: transactions that ask for {} get {}: a proxy or the server lowers the level: connect to the server \
             itself, {advice}",
            self.sql().to_lowercase(),
            words.trim()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::Isolation;

    #[test]
    fn a_weaker_level_is_rejected_and_a_stronger_or_unknown_one_is_not() {
        for (asked, found, weaker) in [
            (Isolation::RepeatableRead, "read committed", true),
            (Isolation::RepeatableRead, "READ-COMMITTED", true),
            (Isolation::RepeatableRead, "REPEATABLE-READ", false),
            (Isolation::RepeatableRead, "serializable", false),
            (Isolation::Serializable, "snapshot", true),
            (Isolation::Serializable, "repeatable read", true),
            (Isolation::ReadCommitted, "READ UNCOMMITTED", true),
            (Isolation::ReadCommitted, "read committed", false),
            (Isolation::Serializable, "linearizable", false),
        ] {
            assert_eq!(
                asked.check_effective(found, &Isolation::ALL, "here").is_err(),
                weaker,
                "{asked:?} {found}"
            );
        }
        let advice = |offered: &[Isolation]| {
            Isolation::Serializable.check_effective("snapshot", offered, "here").expect_err("weaker").message
        };
        assert!(advice(&Isolation::ALL).ends_with("or ask for it with ?isolation=repeatable-read"));
        let cockroach = advice(&[Isolation::Serializable, Isolation::ReadCommitted]);
        assert!(cockroach.ends_with("or see which setting of the server lowers it"), "{cockroach}");
    }
}
