//! The memory engine.

/// A handle of a record that stays good however long it is kept.
#[derive(Clone, Debug)]
pub(crate) struct RecordRef;
