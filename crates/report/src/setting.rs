//! A value of a plan that may change over the run.

use serde::{Deserialize, Serialize};

/// A value of a plan, or its curve over the whole window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting<T> {
    /// The value.
    Value(T),
    /// The curve, as it was written.
    Curve(String),
}
