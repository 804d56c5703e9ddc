//! The right to load: a store grants it to one load at a time, and the load checks it before each commit.

use crate::kv::store::StoreError;
use std::sync::{Arc, Weak};

/// The right to load, held until this is dropped.
pub trait LoadRight: Send + Sync {
    /// Checks that the right is still held. Called before each commit of a load.
    ///
    /// # Errors
    /// The right was lost, and another load may have it.
    fn check(&self) -> Result<(), StoreError>;
}

/// A right that can't be lost.
impl LoadRight for () {
    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The right under which a load works, if one was taken. It does not keep the right alive.
#[derive(Clone, Default)]
pub(crate) struct Under(Option<Weak<dyn LoadRight>>);

impl Under {
    pub(crate) fn new(right: &Arc<dyn LoadRight>) -> Self {
        Self(Some(Arc::downgrade(right)))
    }

    /// Checks the right, see [`LoadRight::check`]. A right that was released needs no check.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.0.as_ref().and_then(Weak::upgrade).map_or(Ok(()), |right| right.check())
    }
}
