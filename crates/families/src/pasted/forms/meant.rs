//! What a connection string means.

use crate::pasted::draft::Draft;

/// Meaning of a connection string of another program.
pub(crate) enum Meant {
    /// The text with a scheme of Lydite's.
    Url(String),
    Place(Box<Draft>),
}

impl Meant {
    pub(super) fn place(draft: Draft) -> Self {
        Self::Place(Box::new(draft))
    }
}
