//! Output and ends of Lydite's commands: lines for people, documents for their places, failures with exit codes, and the
//! user's request to stop. Nothing here handles a signal: the command line does, and sets the flag of an
//! [`interrupt::Interrupt`].

pub mod exit;
pub mod interrupt;
pub mod memory;
pub mod output;
pub mod program;
pub mod shell;
pub mod target;
pub mod write;

/// Environment variable with the password of a database.
pub const PASSWORD: &str = "LYDITE_PASSWORD";
