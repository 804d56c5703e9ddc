//! The right to load: what a store gives so that two loads do not meet, and what a load asks before each commit.

use crate::kv::store::StoreError;
use std::sync::{Arc, Weak};

/// The right to load, until it is dropped.
pub trait LoadRight: Send + Sync {
    /// Whether it is still held. Asked before each commit of a load.
    ///
    /// # Errors
    /// It was lost, and another load may have it.
    fn check(&self) -> Result<(), StoreError>;
}

/// One that nobody can lose.
impl LoadRight for () {
    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The right under which something is done, if one was taken; does not keep it.
#[derive(Clone, Default)]
pub(crate) struct Under(Option<Weak<dyn LoadRight>>);

impl Under {
    pub(crate) fn new(right: &Arc<dyn LoadRight>) -> Self {
        Self(Some(Arc::downgrade(right)))
    }

    /// See [`LoadRight::check`]; one that was given back is nobody's concern.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.0.as_ref().and_then(Weak::upgrade).map_or(Ok(()), |right| right.check())
    }
}
