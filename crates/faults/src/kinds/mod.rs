//! The kinds of faults. Each is a module with a type that implements `Kind`, and a line in the table below.

mod clock_jump;
mod command;
mod cpu_burn;
mod cpu_limit;
mod disk_full;
mod disk_load;
mod disk_slow;
mod kill;
mod net;
mod net_delay;
mod net_loss;
mod net_partition;
mod net_rate;
mod restart;
mod shutdown;
mod stop;

pub(crate) use cpu_burn::burn;
pub(crate) use disk_load::load as disk_load;

use crate::fault::Fault;
use crate::spec::FaultSpec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kinds, in the order of their list.
static KINDS: &[&dyn AnyKind] = &[
    &stop::Stop,
    &kill::Kill,
    &restart::Restart,
    &shutdown::Shutdown,
    &cpu_burn::CpuBurn,
    &cpu_limit::CpuLimit,
    &net_delay::NetDelay,
    &net_loss::NetLoss,
    &net_partition::NetPartition,
    &net_rate::NetRate,
    &disk_load::DiskLoad::<false>,
    &disk_load::DiskLoad::<true>,
    &disk_slow::DiskSlow,
    &disk_full::DiskFull,
    &clock_jump::ClockJump,
    &command::Command,
];

/// The places where a kind acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// On the machine.
    Locally,
    /// On the database's processes.
    OnProcesses,
    /// On servers that Lydite can start again.
    OnLabs,
}

/// A kind of fault. Its state is data: it is noted on disk before the fault begins, and is all that another process needs
/// to undo the fault.
pub(crate) trait Kind: Sync {
    /// Everything that the end of the fault needs.
    type State: Serialize + DeserializeOwned;
    /// Name, as users write it.
    const NAME: &'static str;
    /// The places where it acts.
    const ACTS: Acts;
    /// True if a fault without an end is never undone. Others end with the window at the latest.
    const STAYS: bool = false;
    /// True if the fault may still be there after the machine has started anew.
    const OUTLIVES_BOOT: bool = false;

    /// Reads the arguments, without looking at the machine.
    ///
    /// # Errors
    /// The problem; it continues the fault's name.
    fn read(&self, fault: &FaultSpec) -> Result<(), String>;

    /// Rehearses the fault without harm, and returns the state for its end.
    ///
    /// # Errors
    /// All reasons why the fault can't begin.
    fn check(&self, fault: &Fault) -> Result<Self::State, Vec<String>>;

    /// Returns the mechanism of the injection, in words.
    fn how(&self, state: &Self::State) -> String;

    /// Begins the fault, adds to its state, and returns the proof that it bites.
    ///
    /// # Errors
    /// The fault could not begin, or only in part.
    fn begin(&self, state: &mut Self::State) -> Result<String, String>;

    /// Ends the fault, however far it has begun, also a second time. Returns further proof; may be empty.
    ///
    /// # Errors
    /// Something is not as before.
    fn end(&self, state: &Self::State) -> Result<String, String>;
}

/// A kind of any state.
pub trait AnyKind: Sync {
    /// Returns its name.
    fn name(&self) -> &'static str;
    /// Returns the places where it acts.
    fn acts(&self) -> Acts;
    /// Returns true if a fault without an end is never undone.
    fn stays_without_end(&self) -> bool;
    /// Returns true if the fault may still be there after the machine has started anew.
    fn outlives_boot(&self) -> bool;
    /// Reads the arguments of a fault, without looking at the machine.
    ///
    /// # Errors
    /// The problem; it continues the fault's name.
    fn read(&self, fault: &FaultSpec) -> Result<(), String>;
    /// Rehearses a fault without harm, and returns the state for its end.
    ///
    /// # Errors
    /// All reasons why the fault can't begin.
    fn check(&self, fault: &Fault) -> Result<Value, Vec<String>>;
    /// Returns the mechanism of the injection, in words.
    fn how(&self, state: &Value) -> String;
    /// Begins a fault, and returns the proof that it bites.
    ///
    /// # Errors
    /// The fault could not begin, or only in part.
    fn begin(&self, state: &mut Value) -> Result<String, String>;
    /// Ends a fault.
    ///
    /// # Errors
    /// Something is not as before.
    fn end(&self, state: &Value) -> Result<String, String>;
}

impl<K: Kind> AnyKind for K {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn acts(&self) -> Acts {
        K::ACTS
    }

    fn stays_without_end(&self) -> bool {
        K::STAYS
    }

    fn outlives_boot(&self) -> bool {
        K::OUTLIVES_BOOT
    }

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        Kind::read(self, fault)
    }

    fn check(&self, fault: &Fault) -> Result<Value, Vec<String>> {
        let state = Kind::check(self, fault)?;
        serde_json::to_value(state).map_err(|error| vec![error.to_string()])
    }

    fn how(&self, state: &Value) -> String {
        read_state::<K>(state).map_or_else(|problem| problem, |state| Kind::how(self, &state))
    }

    fn begin(&self, state: &mut Value) -> Result<String, String> {
        let mut own = read_state::<K>(state)?;
        let begun = Kind::begin(self, &mut own);
        // The state is kept also after a failure: the end needs it.
        *state = serde_json::to_value(own).map_err(|error| error.to_string())?;
        begun
    }

    fn end(&self, state: &Value) -> Result<String, String> {
        Kind::end(self, &read_state::<K>(state)?)
    }
}

/// Reads the state of a fault.
fn read_state<K: Kind>(state: &Value) -> Result<K::State, String> {
    K::State::deserialize(state).map_err(|error| format!("the state of {} can't be read: {error}", K::NAME))
}

/// Returns the kind of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn AnyKind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}

/// Returns the names of all kinds.
#[must_use]
pub fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name()).collect()
}

/// Rejects arguments of a kind without any.
fn no_arguments(fault: &FaultSpec) -> Result<(), String> {
    match &fault.arguments {
        None => Ok(()),
        Some(arguments) => Err(format!("takes no arguments, and has {arguments:?}: leave them out")),
    }
}

/// Returns the number of processors that this process may use.
///
/// # Errors
/// The system does not say.
fn cores() -> Result<usize, String> {
    std::thread::available_parallelism()
        .map(usize::from)
        .map_err(|error| format!("the number of processors can't be read: {error}"))
}

/// Returns a count with its noun.
fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {several}") }
}
