//! The plan as a document for agents on other hosts: the values that the user wrote, and nothing of this host.

use crate::entries::Entries;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Keys that concern the coordinator of a fleet alone: documents, what it watches and injects, and paths of its host.
const COORDINATORS: &[&str] = &[
    "json",
    "report",
    "summary",
    "label",
    "require",
    "observe",
    "fault",
    "success_log",
    "rte.delivery_log",
    "schema",
    "after_load",
];

/// The values of a plan as texts. Agents read the same plan from it, without faults, commands and files.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Document {
    values: BTreeMap<String, String>,
    /// Tables `[[phase]]`.
    phases: Vec<BTreeMap<String, String>>,
}

impl Document {
    /// Writes the entries of a plan.
    #[must_use]
    pub fn new(entries: &Entries) -> Self {
        Self { values: of_agents(entries.texts()), phases: entries.phase_texts() }
    }

    /// Returns the entries again. Their errors name this document.
    #[must_use]
    pub fn entries(&self) -> Entries {
        // A document may come from anybody who may use NATS.
        let values = of_agents(self.values.clone());
        Entries::from_texts("the plan of the coordinator", &values, &self.phases)
    }
}

/// Leaves out what concerns the coordinator alone.
fn of_agents(mut values: BTreeMap<String, String>) -> BTreeMap<String, String> {
    values.retain(|key, _| !COORDINATORS.contains(&key.as_str()));
    values
}
