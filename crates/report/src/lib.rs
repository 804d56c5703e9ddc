//! The result model and its renderings.
