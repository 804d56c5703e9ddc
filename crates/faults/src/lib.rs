//! Faults on purpose: a server that stands still, dies or stops, processors and disks that are busy or slow, and a network
//! that delays or loses packets.
//!
//! [`FaultSpec`] is a fault as the user writes it, [`Fault`] the same with its places on this machine. The kinds of
//! faults are the modules of [`kinds`]. An [`Injector`] starts a guard process ([`guard()`]), which begins the fault and
//! undoes it, also if the program that started it is killed. Each active fault is noted on disk ([`note`]).
//!
//! On another host, ssh starts the guard ([`remote`]). It holds the guard's input open like a pipe does.
//!
//! Nothing here knows Lydite, except that this program runs `faults guard`, `faults burn`, `faults memory`, `faults disk`
//! and `faults hold` as it should. No code depends on a database or the inside of a lab, but for a lab's name in texts and
//! in the kind `move`: a [`Server`] brings its peculiarities as data, such as the new start of its cluster's nodes
//! ([`cluster`]).

pub mod cluster;
mod data;
mod error;
mod fault;
mod group;
mod guard;
mod helper;
mod hold;
mod injector;
pub mod kinds;
mod last_words;
mod memory;
mod netfilter;
mod nfqueue;
pub mod note;
pub mod process;
mod programs;
mod reading;
pub mod remote;
mod schedule;
mod server;
pub mod sockets;
mod spec;
mod times;
mod units;
mod volume;

use std::io;
use std::path::Path;

pub use error::FaultError;
pub use fault::{Cluster, Disk, Fault, Mover, Server, Site};
pub use guard::guard;
pub use hold::hold;
pub use injector::{Begun, Injector, Undone};
pub use last_words::reason as reason_in_log;
pub use programs::find_program;
pub use reading::{Parts, Reader};
pub use spec::{Commands, FaultSpec, Where};
pub use times::MOST_OCCURRENCES;
pub use volume::Volume;

/// Keeps so many threads busy until this process is killed: the helper of the kind `cpu-burn`.
pub fn burn(threads: usize) {
    kinds::burn(threads);
}

/// Takes so many bytes of memory and keeps touching them until this process is killed: the helper of the kind `mem-burn`.
///
/// # Errors
/// The system does not give the memory.
pub fn burn_memory(bytes: usize) -> io::Result<()> {
    kinds::burn_memory(bytes)
}

/// Reads or writes with so many threads on the device of a directory until this process is killed: the helper of the kinds
/// `disk-read` and `disk-write`.
///
/// # Errors
/// The scratch file can't be made, or a thread can't be started.
pub fn disk_load(writes: bool, threads: usize, directory: &Path) -> io::Result<()> {
    kinds::disk_load(writes, threads, directory)
}
