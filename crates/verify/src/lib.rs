//! Checks of a database: the consistency conditions of clause 3.3.2; a check of isolation that knows only what clients
//! did and saw, and the recording of that on any target; tests of snapshots and deadlocks over several warehouses; and
//! a kit that proves that a target is driven correctly.

pub mod conditions;
pub mod functions;
pub mod history;
pub mod isolation;
pub mod kit;
