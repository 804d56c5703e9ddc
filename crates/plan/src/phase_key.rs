//! Keys that a phase may set.

/// A key that a phase may set.
#[derive(Clone, Copy, Debug)]
pub struct PhaseKey {
    /// Its name in a plan.
    pub name: &'static str,
    /// True if its numbers are whole.
    pub(crate) whole: bool,
    /// True if its values contain commas; then semicolons separate the values of a list.
    commas: bool,
    /// True if the value for the whole run is the greatest one of all phases, and not the first.
    pub(crate) greatest: bool,
    /// True if it can't change with `--mode rte`.
    pub(crate) not_of_users: bool,
}

impl PhaseKey {
    /// Creates a key whose values may have fractions and contain no commas.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, whole: false, commas: false, greatest: false, not_of_users: false }
    }

    /// Marks the key as one of whole numbers.
    pub(crate) const fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Marks the key as one with commas in its values.
    pub(crate) const fn with_commas(self) -> Self {
        Self { commas: true, ..self }
    }

    /// Marks the key as one whose greatest value stands for the whole run.
    pub(crate) const fn greatest(self) -> Self {
        Self { greatest: true, ..self }
    }

    /// Marks the key as one that can't change with `--mode rte`.
    pub(crate) const fn not_of_users(self) -> Self {
        Self { not_of_users: true, ..self }
    }

    /// Returns the character between the values of a list.
    pub(crate) fn separator(&self) -> char {
        if self.commas { ';' } else { ',' }
    }
}
