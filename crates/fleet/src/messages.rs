//! Everything that coordinators and agents send to each other.

use crate::error::FleetError;
use lydite_bench::{Loaded, Share};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of Lydite. Agents and their coordinator have the same, since they share the format of the counts.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Subject of calls for agents.
pub(crate) const CALLS: &str = "lydite.agents";

/// Returns the subject of the messages to one agent that plays no run.
pub(crate) fn to_agent(id: &str) -> String {
    format!("lydite.agent.{id}")
}

/// Returns the subject of the messages to the coordinator of a run.
pub(crate) fn to_coordinator(run: &str) -> String {
    format!("lydite.run.{run}")
}

/// Returns the subject of the messages to one agent of a run, by its number.
pub(crate) fn to_member(run: &str, agent: usize) -> String {
    format!("lydite.run.{run}.{agent}")
}

/// Returns the subject of the messages to all agents of a run.
pub(crate) fn to_all(run: &str) -> String {
    format!("lydite.run.{run}.all")
}

/// An agent's answer to a call.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Hello {
    /// Random, so that agents of one name differ.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) version: String,
    /// True if it plays a share of another run.
    pub(crate) busy: bool,
}

impl Hello {
    /// True if a run of this version can have the agent.
    pub(crate) fn is_free(&self) -> bool {
        !self.busy && self.version == VERSION
    }
}

/// A message to an agent.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum ToAgent {
    /// Say that you are there, to the coordinator of a run.
    Call { run: String },
    /// Play a share of a run.
    Play {
        run: String,
        /// Number of the agent in the run.
        agent: u32,
        share: Share,
        #[serde(with = "serde_bytes")]
        work: Vec<u8>,
    },
    /// Answer with the time.
    Ping { sent: u64 },
    /// Begin at this time of the agent's clock.
    Start { at: u64 },
    /// The coordinator is alive.
    Alive,
    /// End the run and report.
    Stop,
    /// The run is over: wait for the next one.
    Release,
}

/// A message of an agent to its coordinator.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum FromAgent {
    Hello(Hello),
    /// A message about the run, of the agent with this number.
    Run(u32, Event),
}

/// An event of an agent in a run. Times are nanoseconds.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Event {
    /// All sessions are connected.
    Ready,
    /// The share can't be played, with the reason.
    Failed(String),
    /// Answer to a ping, with the agent's clock and its time of day since 1970.
    Pong { sent: u64, clock: u64, day: u64 },
    /// The start of the sessions, by the agent's clock.
    Begun { at: u64 },
    /// The agent is alive.
    Alive,
    /// The agent ends its share before its time, with the reason. Its counts follow.
    Ending(String),
    /// Counts of a load so far. `ended` is `Some` once the share has ended, true if it is loaded whole.
    Load { loaded: Loaded, ended: Option<bool> },
    /// A piece of packed counts.
    Piece {
        part: u64,
        piece: u32,
        pieces: u32,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
}

/// Encodes a message.
///
/// # Errors
/// It holds what can't be sent.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FleetError> {
    rmp_serde::to_vec(message).map_err(not_encoded)
}

/// Encodes a message with the names of its fields, so that another version of Lydite can read those that it knows.
pub(crate) fn encode_named<T: Serialize>(message: &T) -> Result<Vec<u8>, FleetError> {
    rmp_serde::to_vec_named(message).map_err(not_encoded)
}

fn not_encoded(error: rmp_serde::encode::Error) -> FleetError {
    FleetError::Lost(format!("a message can't be encoded: {error}"))
}

/// Decodes a message; `None` if another version of Lydite sent it.
#[must_use]
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    rmp_serde::from_slice(bytes).ok()
}
