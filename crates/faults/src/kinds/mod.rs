//! The kinds of faults. Each is a module with a type that implements `Kind`, and a line in the table below. Kinds that
//! are alike implement the trait of their family instead: `NetKind`, `EndKind` or `LimitKind`.

mod clock_jump;
mod command;
mod cpu_burn;
mod cpu_limit;
mod disk_full;
mod disk_load;
mod disk_loss;
mod disk_slow;
mod ends;
mod kill;
mod limit;
mod mem_burn;
mod mem_limit;
mod moves;
mod net;
mod net_delay;
mod net_loss;
mod net_partition;
mod net_rate;
mod power_cut;
mod restart;
mod shutdown;
mod stop;

pub(crate) use cpu_burn::burn;
pub(crate) use disk_load::load as disk_load;
pub(crate) use mem_burn::burn as burn_memory;

use crate::error::FaultError;
use crate::fault::Fault;
use crate::spec::FaultSpec;
use crate::units::bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kinds, in the order of their list.
static KINDS: &[&dyn AnyKind] = &[
    &stop::Stop,
    &ends::Ends(kill::Kill),
    &ends::Ends(restart::Restart),
    &ends::Ends(shutdown::Shutdown),
    &ends::Ends(disk_loss::DiskLoss),
    &ends::Ends(power_cut::PowerCut),
    &cpu_burn::CpuBurn,
    &limit::Limit(cpu_limit::CpuLimit),
    &mem_burn::MemBurn,
    &limit::Limit(mem_limit::MemLimit),
    &net::Net(net_delay::NetDelay),
    &net::Net(net_loss::NetLoss),
    &net::Net(net_partition::NetPartition),
    &net::Net(net_rate::NetRate),
    &disk_load::DiskLoad::<false>,
    &disk_load::DiskLoad::<true>,
    &limit::Limit(disk_slow::DiskSlow),
    &disk_full::DiskFull,
    &clock_jump::ClockJump,
    &moves::Move,
    &command::Command,
];

/// Least size of memory that a fault takes or leaves.
const LEAST_MEMORY: u64 = 1 << 20;

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
    /// Arguments, as help shows them after the name and a colon; empty if it has none.
    const ARGUMENTS: &'static str = "";
    /// The places where it acts.
    const ACTS: Acts;
    /// True if a fault without an end is never undone. Others end with the window at the latest.
    const STAYS: bool = false;
    /// True if the fault may still be there after the machine has started anew.
    const OUTLIVES_BOOT: bool = false;
    /// True if the fault is in force from the first moment of its begin, and not only once that is done.
    const AT_ONCE: bool = false;
    /// True if a part of the begin can come earlier, see [`Kind::approach`]. The end undoes that part alone, too.
    const APPROACHES: bool = false;

    /// Reads the arguments, without looking at the machine.
    ///
    /// # Errors
    /// The problem; it continues the fault's name.
    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError>;

    /// Rehearses the fault without harm, and returns the state for its end.
    ///
    /// # Errors
    /// All reasons why the fault can't begin.
    fn check(&self, fault: &Fault) -> Result<Self::State, Vec<FaultError>>;

    /// Prepares before the run what would disturb it, and returns the state for the begin. It is then not checked again.
    /// All that runs since then ends with this process. Returns `None` if there is nothing to prepare.
    ///
    /// # Errors
    /// All reasons why the fault can't begin.
    fn prepare(&self, _fault: &Fault) -> Result<Option<Self::State>, Vec<FaultError>> {
        Ok(None)
    }

    /// Returns the mechanism of the injection, in words.
    fn how(&self, state: &Self::State) -> String;

    /// Does the part of the begin that the database does not notice, and adds to the state. It comes a moment before the
    /// begin, which is short then.
    ///
    /// # Errors
    /// The fault can't begin.
    fn approach(&self, _state: &mut Self::State) -> Result<(), FaultError> {
        Ok(())
    }

    /// Begins the fault, adds to its state, and returns the proof that it bites.
    ///
    /// # Errors
    /// The fault could not begin, or only in part.
    fn begin(&self, state: &mut Self::State) -> Result<String, FaultError>;

    /// Ends the effect of the fault, if that is possible before everything is as it was. Returns false if only the end of
    /// the fault ends it.
    fn lift(&self, _state: &Self::State) -> bool {
        false
    }

    /// Ends the fault, however far it has begun, also a second time. Returns further proof; may be empty.
    ///
    /// # Errors
    /// Something is not as before.
    fn end(&self, state: &Self::State) -> Result<String, FaultError>;

    /// Returns the damage that the end of the fault has left, and that nobody but the user can repair.
    fn damage(&self, _state: &Self::State) -> Option<String> {
        None
    }
}

/// A kind of any state.
pub trait AnyKind: Sync {
    /// Returns its name.
    fn name(&self) -> &'static str;

    /// Returns its arguments, as help shows them after the name and a colon; empty if it has none.
    fn arguments(&self) -> &'static str;
    /// Returns the places where it acts.
    fn acts(&self) -> Acts;
    /// Returns true if a fault without an end is never undone.
    fn stays_without_end(&self) -> bool;
    /// Returns true if the fault may still be there after the machine has started anew.
    fn outlives_boot(&self) -> bool;
    /// Returns true if the fault is in force from the first moment of its begin, and not only once that is done.
    fn is_in_force_at_once(&self) -> bool;
    /// Returns true if a part of the begin can come earlier.
    fn approaches(&self) -> bool;
    /// Reads the arguments of a fault, without looking at the machine.
    ///
    /// # Errors
    /// The problem; it continues the fault's name.
    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError>;
    /// Rehearses a fault without harm, and returns the state for its end.
    ///
    /// # Errors
    /// All reasons why the fault can't begin.
    fn check(&self, fault: &Fault) -> Result<Value, Vec<FaultError>>;
    /// Prepares a fault before the run. Returns the state for its begin, or `None` if there is nothing to prepare.
    ///
    /// # Errors
    /// All reasons why the fault can't begin.
    fn prepare(&self, fault: &Fault) -> Result<Option<Value>, Vec<FaultError>>;
    /// Returns the mechanism of the injection, in words.
    fn how(&self, state: &Value) -> String;
    /// Does the part of the begin that the database does not notice.
    ///
    /// # Errors
    /// The fault can't begin.
    fn approach(&self, state: &mut Value) -> Result<(), FaultError>;
    /// Begins a fault, and returns the proof that it bites.
    ///
    /// # Errors
    /// The fault could not begin, or only in part.
    fn begin(&self, state: &mut Value) -> Result<String, FaultError>;
    /// Ends the effect of a fault, if that is possible before everything is as it was.
    fn lift(&self, state: &Value) -> bool;
    /// Ends a fault.
    ///
    /// # Errors
    /// Something is not as before.
    fn end(&self, state: &Value) -> Result<String, FaultError>;
    /// Returns the damage that the end of a fault has left.
    fn damage(&self, state: &Value) -> Option<String>;
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

    fn is_in_force_at_once(&self) -> bool {
        K::AT_ONCE
    }

    fn arguments(&self) -> &'static str {
        K::ARGUMENTS
    }

    fn approaches(&self) -> bool {
        K::APPROACHES
    }

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        Kind::read(self, fault)
    }

    fn check(&self, fault: &Fault) -> Result<Value, Vec<FaultError>> {
        written_state(&Kind::check(self, fault)?)
    }

    fn prepare(&self, fault: &Fault) -> Result<Option<Value>, Vec<FaultError>> {
        Kind::prepare(self, fault)?.as_ref().map(written_state).transpose()
    }

    fn how(&self, state: &Value) -> String {
        read_state::<K>(state).map_or_else(|problem| problem.to_string(), |state| Kind::how(self, &state))
    }

    fn approach(&self, state: &mut Value) -> Result<(), FaultError> {
        changed::<K, _>(state, |own| Kind::approach(self, own))
    }

    fn begin(&self, state: &mut Value) -> Result<String, FaultError> {
        changed::<K, _>(state, |own| Kind::begin(self, own))
    }

    fn lift(&self, state: &Value) -> bool {
        read_state::<K>(state).is_ok_and(|state| Kind::lift(self, &state))
    }

    fn end(&self, state: &Value) -> Result<String, FaultError> {
        Kind::end(self, &read_state::<K>(state)?)
    }

    fn damage(&self, state: &Value) -> Option<String> {
        read_state::<K>(state)
            .map_or_else(|problem| Some(problem.to_string()), |state| Kind::damage(self, &state))
    }
}

/// Writes the state of a fault.
fn written_state(state: &impl Serialize) -> Result<Value, Vec<FaultError>> {
    serde_json::to_value(state).map_err(|error| vec![FaultError::Failed(error.to_string())])
}

/// Reads the state of a fault.
fn read_state<K: Kind>(state: &Value) -> Result<K::State, FaultError> {
    K::State::deserialize(state)
        .map_err(|error| FaultError::Failed(format!("the state of {} can't be read: {error}", K::NAME)))
}

/// Does `work` on the state of a fault. The state is kept also after a failure: the end needs it.
fn changed<K: Kind, T>(
    state: &mut Value,
    work: impl FnOnce(&mut K::State) -> Result<T, FaultError>,
) -> Result<T, FaultError> {
    let mut own = read_state::<K>(state)?;
    let done = work(&mut own);
    *state = serde_json::to_value(own).map_err(|error| FaultError::Failed(error.to_string()))?;
    done
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

/// Returns all kinds as users write them, such as `cpu-burn:N`.
#[must_use]
pub fn forms() -> Vec<String> {
    let form = |kind: &&dyn AnyKind| match kind.arguments() {
        "" => kind.name().to_owned(),
        arguments => format!("{}:{arguments}", kind.name()),
    };
    KINDS.iter().map(form).collect()
}

/// Rejects arguments of a kind without any.
fn no_arguments(fault: &FaultSpec) -> Result<(), FaultError> {
    match &fault.arguments {
        None => Ok(()),
        Some(arguments) => {
            Err(FaultError::Wrong(format!("takes no arguments, and has {arguments:?}: leave them out")))
        }
    }
}

/// Reads the size of memory that a fault has as its argument. `example` is a fault of its kind.
fn size_of_memory(fault: &FaultSpec, example: &str) -> Result<u64, FaultError> {
    let size = fault.arguments.as_deref().and_then(bytes).filter(|bytes| *bytes >= LEAST_MEMORY);
    size.ok_or_else(|| FaultError::Wrong(format!("needs a size from 1 MiB, as {example}")))
}

/// Returns the number of processors that this process may use.
///
/// # Errors
/// The system does not say.
fn cores() -> Result<usize, FaultError> {
    std::thread::available_parallelism()
        .map(usize::from)
        .map_err(|error| FaultError::system("the number of processors can't be read", error))
}

/// Returns a count with its noun.
fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {several}") }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_book_has_a_row_of_each_kind() {
        let book = include_str!("../../../../docs/src/faults.md");
        for form in super::forms() {
            assert!(book.contains(&format!("| `{form}")), "docs/src/faults.md lacks a row of {form}");
        }
    }
}
