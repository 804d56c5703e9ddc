//! The forms of configuration files: each file reads one of them into names and values.

pub(crate) mod ini;
pub(crate) mod properties;
pub(crate) mod shell;
pub(crate) mod tcl;
pub(crate) mod xml;
