//! A fleet that plays runs and loads, from its coordinator's side.

pub mod joining;
pub mod loading;
pub(crate) mod running;
pub(crate) mod work;
