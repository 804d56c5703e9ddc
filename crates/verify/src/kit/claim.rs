//! The isolation that a target declares, and the anomalies that this excludes.

use crate::history::{AnomalyKind, Level, Order};
use lydite_database::Description;

/// Declared isolation of a target.
pub(super) struct Claim {
    /// The isolation in the target's words.
    pub(super) words: String,
    /// The level that it promises; none if it promises no level.
    pub(super) level: Option<Level>,
    /// True if a transaction must read a row twice with one result, whatever the level is.
    repeatable: bool,
}

impl Claim {
    /// Reads the declaration. A driver may declare a level twice, by `guarantee` and by `isolation`: the stronger one
    /// counts.
    pub(super) fn of(description: &Description) -> Self {
        let (named, repeatable) = of_words(&description.isolation);
        let level = match description.declared_guarantee() {
            Some("optimistic") => named.max(Some(Level::SnapshotIsolation)),
            Some("serializable") => named.max(Some(Level::Serializable)),
            Some(_) => named,
            // Several servers may have no common snapshot, whatever the level of each is.
            None if !description.isolation_is_level_3 => named.min(Some(Level::ReadCommitted)),
            None => named,
        };
        Self { words: description.isolation.clone(), level, repeatable }
    }

    /// True if it promises at least a level.
    pub(super) fn reaches(&self, level: Level) -> bool {
        self.level >= Some(level)
    }

    /// True if it promises that a transaction reads a row twice with one result.
    pub(super) fn repeats_reads(&self) -> bool {
        self.repeatable || self.reaches(Level::SnapshotIsolation)
    }

    /// True if it excludes an anomaly.
    pub(super) fn forbids(&self, kind: AnomalyKind, order: Order) -> bool {
        let repeated = self.repeatable && kind == AnomalyKind::UnrepeatableRead && order == Order::Data;
        repeated || self.level.is_some_and(|level| level.forbids(kind, order))
    }
}

/// Returns the level that the name of a level promises in every database that has it, and true if reads are repeatable
/// beyond that: repeatable read is a snapshot in some databases and locks in others, so only its name is promised.
fn of_words(isolation: &str) -> (Option<Level>, bool) {
    // What follows the name is an explanation.
    let name = isolation.split([':', ',', ';', '(']).next().unwrap_or_default();
    match name.trim().to_lowercase().replace(['-', '_'], " ").as_str() {
        "read committed" => (Some(Level::ReadCommitted), false),
        "repeatable read" => (Some(Level::ReadCommitted), true),
        "snapshot" | "snapshot isolation" => (Some(Level::SnapshotIsolation), true),
        "serializable" => (Some(Level::Serializable), true),
        "strict serializable" | "strictly serializable" => (Some(Level::StrictSerializable), true),
        _ => (None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(isolation: &str, guarantee: Option<&str>) -> Claim {
        Claim::of(&Description {
            kind: "driver".into(),
            version: String::new(),
            url: String::new(),
            settings: guarantee.map(|of| ("guarantee".to_string(), of.to_string())).into_iter().collect(),
            isolation: isolation.into(),
            isolation_is_level_3: false,
            embedded: false,
            durable: false,
            in_memory: None,
            unread: Vec::new(),
        })
    }

    #[test]
    fn the_stronger_one_of_two_declarations_counts() {
        for (isolation, guarantee, level) in [
            ("atomic", "atomic", None),
            ("READ-COMMITTED", "atomic", Some(Level::ReadCommitted)),
            ("repeatable read", "atomic", Some(Level::ReadCommitted)),
            ("repeatable read", "optimistic", Some(Level::SnapshotIsolation)),
            ("optimistic", "optimistic", Some(Level::SnapshotIsolation)),
            ("snapshot isolation", "serializable", Some(Level::Serializable)),
            ("serializable, by locks", "optimistic", Some(Level::Serializable)),
            ("Strict_Serializable", "serializable", Some(Level::StrictSerializable)),
        ] {
            assert_eq!(claim(isolation, Some(guarantee)).level, level, "{isolation}, {guarantee}");
        }
    }

    #[test]
    fn repeatable_read_without_a_guarantee_excludes_unrepeatable_reads_and_no_lost_updates() {
        let claim = claim("repeatable read", Some("atomic"));
        assert!(claim.forbids(AnomalyKind::UnrepeatableRead, Order::Data));
        assert!(claim.forbids(AnomalyKind::AbortedRead, Order::Data));
        assert!(!claim.forbids(AnomalyKind::LostUpdate, Order::Data));
    }
}
