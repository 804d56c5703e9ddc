//! Faults on purpose: a server that stands still, dies or stops, processors that are busy with something else, and a
//! network that delays or loses packets.
//!
//! [`FaultSpec`] is a fault as the user writes it, [`Fault`] the same with its places on this machine. The kinds of
//! faults are the modules of [`kinds`]. An [`Injector`] starts a guard process ([`guard()`]), which begins the fault and
//! undoes it, also if the program that started it is killed. Each active fault is noted on disk ([`note`]).
//!
//! Nothing here knows databases or Lydite, except that this program runs `faults guard`, `faults burn` and `faults
//! hold` as it should.

mod fault;
mod guard;
mod hold;
mod injector;
pub mod kinds;
mod netfilter;
mod nfqueue;
pub mod note;
pub mod process;
mod server;
pub mod sockets;
mod spec;

pub use fault::{Fault, Server, Site};
pub use guard::guard;
pub use hold::hold;
pub use injector::{Begun, Injector};
pub use spec::{Commands, FaultSpec, Parts, Reader, Where};

/// Keeps so many threads busy until this process is killed: the helper of the kind `cpu-burn`.
pub fn burn(threads: usize) {
    kinds::burn(threads);
}
