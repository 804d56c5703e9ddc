//! The terminals' side of a run with emulated users.

use super::Latency;
use serde::{Deserialize, Serialize};

/// Terminals with a display delay, or with lines of their own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TerminalsReport {
    /// Time that each terminal takes to display an answer (TPC-C 6.6.3.7). The latencies of the document are without
    /// it; the rules of the standard judge response times with it.
    pub display_delay_ms: f64,
    /// Lines of the terminals to a tier between them and the database, if they have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<WasReport>,
}

/// Lines of terminals to a WAS.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WasReport {
    /// Address of the WAS.
    pub address: String,
    /// Terminals, each with a line.
    pub lines: u64,
    /// Lines that were lost (TPC-C 6.6.2), over the whole run.
    pub lost: u64,
    /// Terminals that came back to their context.
    pub reconnected: u64,
    /// Terminals that came back too late, and found no context.
    pub contexts_lost: u64,
    /// Time from the choice of a transaction until its input screen, in the window.
    pub menu_ms: Latency,
}
