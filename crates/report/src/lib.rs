//! The result model and its renderings.

pub mod live;
