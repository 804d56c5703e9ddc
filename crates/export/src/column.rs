//! Columns of tables: their names, their types, and their meaning for the formats.

/// Type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A point in time.
    Time,
    /// Whole numbers.
    Whole,
    /// Any numbers.
    Real,
    /// True or false.
    Truth,
}

/// Meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A part of what the row is about. All keys and the time make a row unique.
    Key,
    /// The begin of the time that the row covers.
    Time,
    /// A place in time or in the plan, for people and joins; no measurement.
    Place,
    /// A fact in words about what the row is about.
    Fact,
    /// A text for tables alone: too long or too free for a label.
    Document,
    /// A number of events in the time that the row covers.
    Count,
    /// A number that is no count: a latency, a rate, a size.
    Level,
}

/// A column. The unit of a number is the last part of its name: `_ms`, `_s`, `_per_s`, `_bytes`, `_percent` (0 to 100).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name; a contract.
    pub name: &'static str,
    /// Meaning.
    pub role: Role,
    /// Type.
    pub kind: Kind,
    /// Description of one line.
    pub about: &'static str,
}

impl Column {
    /// Returns a text that is a part of the key.
    pub(crate) const fn key(name: &'static str, about: &'static str) -> Self {
        Self { name, role: Role::Key, kind: Kind::Text, about }
    }

    /// Returns a number that is a part of the key.
    pub(crate) const fn number(name: &'static str, about: &'static str) -> Self {
        Self { name, role: Role::Key, kind: Kind::Whole, about }
    }

    /// Returns a place of this type.
    pub(crate) const fn place(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, role: Role::Place, kind, about }
    }

    /// Returns a fact in words.
    pub(crate) const fn fact(name: &'static str, about: &'static str) -> Self {
        Self { name, role: Role::Fact, kind: Kind::Text, about }
    }

    /// Returns a text for tables alone.
    pub(crate) const fn document(name: &'static str, about: &'static str) -> Self {
        Self { name, role: Role::Document, kind: Kind::Text, about }
    }

    /// Returns a count.
    pub(crate) const fn count(name: &'static str, about: &'static str) -> Self {
        Self { name, role: Role::Count, kind: Kind::Whole, about }
    }

    /// Returns a number that may have a fraction.
    pub(crate) const fn real(name: &'static str, about: &'static str) -> Self {
        Self { name, role: Role::Level, kind: Kind::Real, about }
    }

    /// Returns a whole number that is no count of events.
    pub(crate) const fn whole(name: &'static str, about: &'static str) -> Self {
        Self { name, role: Role::Level, kind: Kind::Whole, about }
    }

    /// Returns a truth.
    pub(crate) const fn truth(name: &'static str, about: &'static str) -> Self {
        Self { name, role: Role::Level, kind: Kind::Truth, about }
    }
}
