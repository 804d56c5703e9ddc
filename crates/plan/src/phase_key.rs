//! Keys that a phase may set.

/// A key that a phase may set.
#[derive(Clone, Copy, Debug)]
pub struct PhaseKey {
    /// Its name in a plan.
    pub name: &'static str,
    /// True if its numbers are whole.
    pub(crate) whole: bool,
    /// True if its values contain commas, so that semicolons separate the values of a list.
    commas: bool,
    /// True if the plan as a whole has the greatest value of all phases.
    pub(crate) greatest: bool,
    /// True if it can't change while users are emulated.
    pub(crate) not_of_users: bool,
}

impl PhaseKey {
    /// Creates a key whose values may have fractions and contain no commas.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, whole: false, commas: false, greatest: false, not_of_users: false }
    }

    /// Returns the key with whole numbers.
    pub(crate) const fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Returns the key with commas in its values.
    pub(crate) const fn with_commas(self) -> Self {
        Self { commas: true, ..self }
    }

    /// Returns the key with the greatest value of all phases in the plan.
    pub(crate) const fn greatest(self) -> Self {
        Self { greatest: true, ..self }
    }

    /// Returns the key as one that can't change while users are emulated.
    pub(crate) const fn not_of_users(self) -> Self {
        Self { not_of_users: true, ..self }
    }

    /// Returns the character between the values of a list.
    pub(crate) fn separator(&self) -> char {
        if self.commas { ';' } else { ',' }
    }
}
