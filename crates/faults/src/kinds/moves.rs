//! `move`: warehouses move to a shard of a lab while the run goes on, as in a database that balances its data. The lab
//! brings the command that moves them.

use super::command::{LIMIT, last_line, memory_file, run_to_end};
use super::{Acts, Kind};
use crate::error::FaultError;
use crate::fault::{Fault, Mover, Server, Site};
use crate::spec::{FaultSpec, Where};
use serde::{Deserialize, Serialize};
use std::process::Command;

/// Name of the lab whose warehouses can move. A plan is read without asking the lab, so texts need it.
const LAB: &str = "pg-sharded";

/// The kind.
pub(super) struct Move;

/// Warehouses, and the command that moves them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// Numbers of the warehouses, as the user wrote them.
    warehouses: String,
    mover: Mover,
}

impl Kind for Move {
    type State = State;
    const NAME: &'static str = "move";
    const ARGUMENTS: &'static str = "N,N,…";
    const ACTS: Acts = Acts::OnLabs;
    const STAYS: bool = true;
    const AT_ONCE: bool = true;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        if fault.to.is_some() {
            let words = "has an end, and warehouses do not move back by themselves: leave it out";
            return Err(FaultError::Wrong(words.into()));
        }
        warehouses(fault)?;
        match fault.places.as_slice() {
            // The nodes of a lab are counted from 0, and node 0 is the coordinator.
            [Where::Lab { name, node: Some(node) }] if name == LAB && *node > 0 => Ok(()),
            _ => Err(no_shard()),
        }
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        let warehouses = warehouses(&fault.spec)?;
        match fault.sites.as_slice() {
            [Site::Server(Server { mover: Some(mover), .. })] => {
                Ok(State { warehouses, mover: mover.clone() })
            }
            _ => Err(vec![no_shard()]),
        }
    }

    fn how(&self, state: &State) -> String {
        format!("lydite {}", state.mover.command.join(" "))
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        let own = std::env::current_exe().map_err(|error| FaultError::system("the path of lydite", error))?;
        let failed = |error: std::io::Error| FaultError::Failed(error.to_string());
        let mut said = memory_file().map_err(failed)?;
        let mut command = Command::new(own);
        command.args(&state.mover.command).args([&state.mover.place, &state.warehouses]);
        command.stdout(said.try_clone().map_err(failed)?);
        let took = run_to_end("the move", command, LIMIT)?;
        Ok(format!("{took}{}", last_line(&mut said)))
    }

    fn end(&self, _: &State) -> Result<String, FaultError> {
        Ok(String::new())
    }
}

/// Reads the warehouses of a move.
fn warehouses(fault: &FaultSpec) -> Result<String, FaultError> {
    let warehouses = fault.arguments.clone().unwrap_or_default();
    if warehouses.split(',').all(|number| number.parse().is_ok_and(|number: u32| number > 0)) {
        Ok(warehouses)
    } else {
        Err(FaultError::Wrong("needs the numbers of warehouses, as move:4,7".into()))
    }
}

/// Returns the problem of a place that takes no warehouses.
fn no_shard() -> FaultError {
    FaultError::Wrong(format!("needs one shard of the lab {LAB}, as lab:{LAB}/1"))
}
