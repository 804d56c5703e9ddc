//! The agents of a run that a fleet played.

use serde::{Deserialize, Serialize};

/// End of an agent's part in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// It reported its end.
    #[default]
    Complete,
    /// It was lost: its terminals are missing from then on.
    Lost,
}

/// An agent of a fleet, and its part in the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentResult {
    /// Name of the agent.
    pub name: String,
    /// Host name.
    pub host: String,
    /// End of its part in the run.
    pub status: AgentStatus,
    /// Number of home warehouses of its transactions. A warehouse can be home for several agents.
    pub warehouses: u32,
    /// Terminals that it played: sessions (direct, open) or emulated users (rte).
    pub terminals: u64,
    /// Transactions that it reported as completed in the window.
    pub completed: u64,
    /// Processor time in the window until its last report, in seconds.
    pub cpu_s: f64,
    /// The agent's time of day minus the coordinator's, in milliseconds: positive if the agent's clock is ahead.
    pub clock_offset_ms: f64,
    /// Greatest error of `clock_offset_ms` when the clocks were compared, before the start.
    pub clock_bound_ms: f64,
    /// Time from the common start, at which the warm-up begins, to that of its first session, in seconds; `None`
    /// (null) if it reported none.
    pub start_s: Option<f64>,
    /// End of the agent's counts, since the window began, if it was lost; negative in the warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_at_s: Option<f64>,
    /// Part of the window without the agent's terminals.
    pub missing_s: f64,
    /// Reason why it was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Messages that it sent to the coordinator.
    pub messages: u64,
    /// Bytes of these messages, without those of NATS.
    pub message_bytes: u64,
}

impl AgentResult {
    /// Returns the loss of the agent in one line; `None` if it played to the end.
    #[must_use]
    pub fn loss(&self) -> Option<String> {
        let (lost, at) = (self.lost.as_ref()?, self.lost_at_s?);
        let terminals = match self.terminals {
            1 => "its terminal is".to_owned(),
            several => format!("its {several} terminals are"),
        };
        Some(format!(
            "agent {} on {} was lost {:.1} s {} the window began ({lost}): {terminals} missing for {:.1} s, and the \
             results are not scaled up",
            self.name,
            self.host,
            at.abs(),
            if at < 0.0 { "before" } else { "after" },
            self.missing_s
        ))
    }
}

/// Returns the number of lost agents.
pub(crate) fn lost_agents(agents: &[AgentResult]) -> usize {
    agents.iter().filter(|agent| agent.lost.is_some()).count()
}

/// Returns the number of agents, the spread of their starts and the greatest error of their clocks in words; none for a
/// run in one process.
#[must_use]
pub(crate) fn agents_in_words(agents: &[AgentResult]) -> Option<String> {
    let starts = || agents.iter().filter_map(|agent| agent.start_s);
    let lost = lost_agents(agents);
    let mut words = match agents.len() {
        0 => return None,
        1 => "1 agent".to_owned(),
        count => format!("{count} agents"),
    };
    if lost > 0 {
        words.push_str(&format!(", {lost} of them lost"));
    }
    if let (Some(first), Some(last)) = (starts().reduce(f64::min), starts().reduce(f64::max)) {
        words.push_str(&format!(", started within {:.2} ms", 1e3 * (last - first)));
    }
    let bound = agents.iter().map(|agent| agent.clock_bound_ms).fold(0.0, f64::max);
    words.push_str(&format!(" (clocks known to {bound:.2} ms)"));
    Some(words)
}
