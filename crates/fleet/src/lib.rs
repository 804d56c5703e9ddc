//! A fleet: agents on many hosts play the shares of one run, and a coordinator merges their counts. They talk over a
//! NATS server and need no other connection to each other.
//!
//! `bus.rs` is the connection to NATS, `messages.rs` everything that is sent. `agent.rs` waits for runs and plays its
//! shares, `coordinator.rs` finds the agents, `clocks.rs` compares their clocks, `running.rs` watches a run, and
//! `loading.rs` a load. `parts.rs` packs counts into messages. The crate knows neither plans nor databases: the work of
//! an agent is bytes to it, and a function plays it.

mod agent;
mod bus;
mod clocks;
mod coordinator;
mod error;
mod loading;
mod messages;
mod parts;
mod running;

pub use agent::{Identity, Play, Report, serve};
pub use bus::{Bus, Login, shown, with_placeholders};
pub use coordinator::{Fleet, Member, Terms};
pub use error::FleetError;
pub use messages::{decode, encode};

use std::time::Duration;

/// Environment variable with the URL of the NATS server, for commands that are not given one.
pub const JOIN: &str = "LYDITE_JOIN";

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Longest silence of an agent or a coordinator before it counts as lost.
const SILENCE: Duration = Duration::from_secs(4);
