//! A server of a lab.

use crate::clock::Clock;
use crate::find::find;
use lydite_faults::sockets::accepts;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A server of a lab.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Server {
    /// Directory of its data, log and configuration.
    pub(crate) path: PathBuf,
    /// Port on 127.0.0.1; 0 for an agent.
    pub(crate) port: u16,
    /// Name of the agent of a fleet, if it is one.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// Clock of the server, if faults can move it.
    #[serde(default)]
    pub(crate) clock: Option<Clock>,
    /// True if commits wait for a replica, once the server is a primary.
    #[serde(default)]
    pub(crate) sync: bool,
    /// Settings of the user's, each as `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) settings: Vec<String>,
    /// The settings that it has usually, while it has others for an experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usual: Option<Vec<String>>,
}

impl Server {
    /// Returns the directory of its data.
    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Returns true if a process listens on the port, or if the agent runs.
    pub(crate) fn answers(&self) -> bool {
        match &self.agent {
            None => accepts(self.port),
            Some(name) => find(&agent_arguments(name)).is_some(),
        }
    }

    /// Returns a name of the server for messages.
    pub(crate) fn shown(&self) -> String {
        match &self.agent {
            None => format!("server on port {}", self.port),
            Some(name) => format!("agent {name}"),
        }
    }
}

/// Returns the arguments of the process of an agent; no other process has both.
pub(crate) fn agent_arguments(name: &str) -> [String; 2] {
    ["agent".to_owned(), name.to_owned()]
}
