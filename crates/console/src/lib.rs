//! How Lydite's commands speak and end: lines for people, documents for their places, failures with exit codes, and the
//! wish of the user to stop. Nothing here handles a signal: who does sets the flag of an [`interrupt::Interrupt`].

pub mod exit;
pub mod interrupt;
pub mod memory;
pub mod output;
pub mod program;
pub mod shell;
pub mod write;

/// Environment variable with the password of a database.
pub const PASSWORD: &str = "LYDITE_PASSWORD";
