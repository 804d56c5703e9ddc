//! The faults that limit a resource of the database's processes, by a control group.

use super::{Acts, Kind, counted};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::group::{Controller, Group};
use crate::spec::FaultSpec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A kind of limit, as [`Limit`] needs it.
pub(super) trait LimitKind: Sync {
    /// The limit.
    type Most: Serialize + DeserializeOwned;
    /// Name, as users write it.
    const NAME: &'static str;
    /// See [`Kind::ARGUMENTS`].
    const ARGUMENTS: &'static str;
    /// The controller of the resource.
    const CONTROLLER: Controller;
    /// Names of the control in versions 1 and 2, for messages.
    const CONTROLS: [&'static str; 2];

    /// Reads the arguments, without looking at the machine.
    ///
    /// # Errors
    /// The problem; it continues the fault's name.
    fn read(fault: &FaultSpec) -> Result<(), FaultError>;

    /// Returns the limit of a fault.
    ///
    /// # Errors
    /// All reasons why this machine can't have it.
    fn most(fault: &Fault) -> Result<Self::Most, Vec<FaultError>>;

    /// Returns the limit in words; they continue "limited N processes to".
    fn words(most: &Self::Most) -> String;

    /// Sets the limit of the group, or lifts it.
    ///
    /// # Errors
    /// The system rejects it.
    fn set(group: &Group, most: &Self::Most, lifted: bool) -> Result<(), FaultError>;

    /// Returns the effect of the limit so far, in words; may be empty.
    fn effect(group: &Group, most: &Self::Most) -> String;
}

/// The kind of a limit.
pub(super) struct Limit<L>(pub(super) L);

/// The group of the fault with its limit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State<M> {
    group: Group,
    most: M,
    /// Processes in the group when the fault begins.
    moved: usize,
}

#[cfg(test)]
impl<M> State<M> {
    /// Returns the group.
    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// Returns the limit.
    pub(super) fn most(&self) -> &M {
        &self.most
    }
}

impl<L: LimitKind> Kind for Limit<L> {
    type State = State<L::Most>;
    const NAME: &'static str = L::NAME;
    const ARGUMENTS: &'static str = L::ARGUMENTS;
    const ACTS: Acts = Acts::OnProcesses;
    const APPROACHES: bool = true;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        L::read(fault)
    }

    fn check(&self, fault: &Fault) -> Result<Self::State, Vec<FaultError>> {
        let roots = fault.roots();
        let group = roots.and_then(|roots| Ok(Group::plan(&L::CONTROLLER, &roots)?));
        match (group, L::most(fault)) {
            (Ok(group), Ok(most)) => Ok(State { group, most, moved: 0 }),
            (group, most) => {
                let mut problems =
                    [most.err(), group.err()].into_iter().flatten().flatten().collect::<Vec<_>>();
                // Both look for the processes.
                problems.dedup_by_key(|problem| problem.to_string());
                Err(problems)
            }
        }
    }

    fn how(&self, state: &Self::State) -> String {
        let [one, two] = L::CONTROLS;
        state.group.words(one, two)
    }

    /// A group without a limit changes nothing for its processes. To move some dozens takes the kernel tenths of a second.
    fn approach(&self, state: &mut Self::State) -> Result<(), FaultError> {
        state.group.make()?;
        state.moved = state.group.fill()?;
        Ok(())
    }

    fn begin(&self, state: &mut Self::State) -> Result<String, FaultError> {
        L::set(&state.group, &state.most, false)?;
        Ok(format!("limited {} to {}", counted(state.moved, "process", "processes"), L::words(&state.most)))
    }

    fn lift(&self, state: &Self::State) -> bool {
        L::set(&state.group, &state.most, true).is_ok()
    }

    fn end(&self, state: &Self::State) -> Result<String, FaultError> {
        if !state.group.exists() {
            return Ok(String::new());
        }
        let effect = L::effect(&state.group, &state.most);
        // Processes that can't be moved back and requests that the kernel holds back would keep the limit. It can't be
        // lifted from a device that is gone, which needs no lift.
        let _gone = self.lift(state);
        state.group.remove()?;
        Ok(effect)
    }
}
