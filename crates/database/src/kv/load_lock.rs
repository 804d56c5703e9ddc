//! The load lock: a store grants it to one load at a time, and the load checks it before each commit.

use crate::kv::store_error::StoreError;
use std::sync::{Arc, Weak};

/// The right to load, held until this is dropped.
pub trait LoadLock: Send + Sync {
    /// Checks that the lock is still held. Called before each commit of a load.
    ///
    /// # Errors
    /// The lock was lost, and another load may hold it.
    fn check(&self) -> Result<(), StoreError>;
}

/// A lock that can't be lost.
impl LoadLock for () {
    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Reference to the lock of the current load, if one was taken. It does not keep the lock.
#[derive(Clone, Default)]
pub(crate) struct LoadLockRef(Option<Weak<dyn LoadLock>>);

impl LoadLockRef {
    pub(crate) fn new(lock: &Arc<dyn LoadLock>) -> Self {
        Self(Some(Arc::downgrade(lock)))
    }

    /// Checks the lock, see [`LoadLock::check`]. A released lock needs no check.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.0.as_ref().and_then(Weak::upgrade).map_or(Ok(()), |lock| lock.check())
    }
}
