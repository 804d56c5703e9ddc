//! Is the database right? The consistency conditions of clause 3.3.2, and a check of isolation
//! that knows only what clients did and saw.

pub mod conditions;
pub mod history;
