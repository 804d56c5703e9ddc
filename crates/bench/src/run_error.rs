//! Why a run never began.

use lydite_database::TargetError;
use std::io;
use std::path::PathBuf;

/// Reason why a run did not begin. A run that has begun always has a [`Measurement`](crate::Measurement).
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A session could not be connected.
    #[error("{0}")]
    Target(#[from] TargetError),
    /// The delivery log could not be created.
    #[error("delivery log {}: {error}: choose another path", .path.display())]
    DeliveryLog {
        /// Path of the log.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The success log could not be created.
    #[error("success log {}: {error}: choose another path", .path.display())]
    SuccessLog {
        /// Path of the log.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The system provided no thread.
    #[error("can't start a thread for each of {sessions} sessions: {error}: use fewer, or raise ulimit -u")]
    Threads {
        /// Configured number of sessions.
        sessions: u32,
        /// Error of the operating system.
        error: io::Error,
    },
    /// [`RunControl::stop`](crate::RunControl::stop) was called before the first transaction.
    #[error("interrupted before the first transaction")]
    Interrupted,
}
