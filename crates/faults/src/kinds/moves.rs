//! `move`: warehouses move to a shard of a lab while the run goes on, as in a database that balances its data.

use super::command::{LIMIT, last_line, memory_file, run_to_end};
use super::{Acts, Kind};
use crate::fault::Fault;
use crate::spec::{FaultSpec, Where};
use serde::{Deserialize, Serialize};
use std::process::Command;

/// The lab whose warehouses can move.
const LAB: &str = "pg-sharded";

/// The kind.
pub(super) struct Move;

/// Warehouses, and the shard that they move to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// Numbers of the warehouses, as the user wrote them.
    warehouses: String,
    /// Kind and shard of the lab, as `pg-sharded/1`.
    place: String,
}

impl Kind for Move {
    type State = State;
    const NAME: &'static str = "move";
    const ARGUMENTS: &'static str = "N,N,…";
    const ACTS: Acts = Acts::OnLabs;
    const STAYS: bool = true;
    const AT_ONCE: bool = true;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        if fault.to.is_some() {
            return Err("has an end, and warehouses do not move back by themselves: leave it out".into());
        }
        state(fault).map(drop)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        state(&fault.spec).map_err(|problem| vec![problem])
    }

    fn how(&self, _: &State) -> String {
        "lydite lab move".into()
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        let own = std::env::current_exe().map_err(|error| format!("the path of lydite: {error}"))?;
        let mut said = memory_file().map_err(|error| error.to_string())?;
        let mut command = Command::new(own);
        command.args(["lab", "move", &state.place, &state.warehouses]);
        command.stdout(said.try_clone().map_err(|error| error.to_string())?);
        let took = run_to_end("the move", command, LIMIT)?;
        Ok(format!("{took}{}", last_line(&mut said)))
    }

    fn end(&self, _: &State) -> Result<String, String> {
        Ok(String::new())
    }
}

/// Reads the warehouses and the place of a move.
fn state(fault: &FaultSpec) -> Result<State, String> {
    let warehouses = fault.arguments.clone().unwrap_or_default();
    if !warehouses.split(',').all(|number| number.parse().is_ok_and(|number: u32| number > 0)) {
        return Err("needs the numbers of warehouses, as move:4,7".into());
    }
    match fault.places.as_slice() {
        // The nodes of a lab are counted from 0, and node 0 is the coordinator.
        [Where::Lab { name, node: Some(node) }] if name == LAB && *node > 0 => {
            Ok(State { warehouses, place: format!("{name}/{node}") })
        }
        _ => Err(format!("needs one shard of the lab {LAB}, as lab:{LAB}/1")),
    }
}
