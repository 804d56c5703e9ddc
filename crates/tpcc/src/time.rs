//! Points in time as databases store them.

use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01T00:00:00 UTC. The crate has no clock; its callers provide the times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);
