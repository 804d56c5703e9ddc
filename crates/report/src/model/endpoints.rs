//! Sessions and transactions of each endpoint of a database.

use serde::{Deserialize, Serialize};

/// One endpoint in a run, with the warm-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EndpointResult {
    /// Host and port, or the path of the socket.
    pub endpoint: String,
    /// Most sessions at one time.
    pub sessions: u32,
    /// Connections that were opened.
    pub opened: u64,
    /// Seconds spent in opening them, of all sessions together.
    pub connecting_s: f64,
    /// Sessions that were lost.
    pub lost: u64,
    /// Attempts to connect that failed.
    pub refused: u64,
    /// Sessions that came from another endpoint.
    pub moved: u64,
    /// Connections that were closed at the end of their life time.
    pub refreshed: u64,
    /// Attempts at transactions.
    pub transactions: u64,
    /// Those whose home warehouse another endpoint leads.
    pub away: u64,
}

impl EndpointResult {
    /// Returns the connections that were opened per second of a run of this length, warm-up included.
    #[must_use]
    pub fn opened_per_s(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { self.opened as f64 / seconds } else { 0.0 }
    }

    /// Returns the share of its sessions' time in a run of this length, warm-up included, that opening connections took.
    #[must_use]
    pub fn connecting_percent(&self, seconds: f64) -> f64 {
        let all = f64::from(self.sessions) * seconds;
        if all > 0.0 { 100.0 * self.connecting_s / all } else { 0.0 }
    }

    /// Returns the share of its transactions whose home warehouse another endpoint leads.
    #[must_use]
    pub fn away_percent(&self) -> f64 {
        if self.transactions == 0 { 0.0 } else { 100.0 * self.away as f64 / self.transactions as f64 }
    }
}
