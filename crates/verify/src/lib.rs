//! Is the database right? The consistency conditions of clause 3.3.2, and a check of isolation
//! that knows only what clients did and saw; tests of snapshots and deadlocks over several warehouses; and a kit that proves
//! that a target is driven right.

pub mod conditions;
pub mod functions;
pub mod history;
pub mod kit;
