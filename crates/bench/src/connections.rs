//! Number of connected sessions, and outages by lost connections.

use crate::clock::Nanos;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Connections of a run. Sessions use it only when a connection is lost or comes back.
#[derive(Debug)]
pub(crate) struct Connections {
    connected: AtomicU32,
    lowest: AtomicU32,
    log: Mutex<OutageLog>,
}

#[derive(Debug)]
struct OutageLog {
    /// Sessions that were lost and have had no answer since.
    down: u32,
    sessions: u32,
    /// Latest time at which a lost request was sent.
    sent: Nanos,
    since: Option<Nanos>,
    outages: Vec<(Nanos, Nanos)>,
    last_loss: Option<String>,
}

impl Connections {
    pub(crate) fn new(sessions: u32) -> Self {
        Self {
            connected: AtomicU32::new(sessions),
            lowest: AtomicU32::new(sessions),
            log: Mutex::new(OutageLog {
                down: 0,
                sessions,
                sent: 0,
                since: None,
                outages: Vec::new(),
                last_loss: None,
            }),
        }
    }

    /// Records the loss of a session with a request that was sent at `sent`. `first` is true if the session had an
    /// answer since its previous loss.
    ///
    /// An outage begins once all sessions are without an answer. Its start is the time at which the last of them sent
    /// its unanswered request; a session notices a silent server much later.
    pub(crate) fn lost(&self, sent: Nanos, first: bool, detail: &str) {
        let left = self.connected.fetch_sub(1, Ordering::Relaxed) - 1;
        self.lowest.fetch_min(left, Ordering::Relaxed);
        let mut log = self.log.lock();
        log.last_loss = Some(detail.to_owned());
        if first {
            log.down += 1;
            log.sent = log.sent.max(sent);
            if log.down == log.sessions {
                log.since = Some(log.sent);
            }
        }
    }

    /// Records that a lost session is connected again. Only its next answer proves that the connection works.
    pub(crate) fn reconnected(&self) {
        self.connected.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the first answer of a session after its loss.
    pub(crate) fn answered(&self, at: Nanos) {
        let mut log = self.log.lock();
        log.down -= 1;
        if let Some(since) = log.since.take() {
            log.outages.push((since, at));
        }
    }

    pub(crate) fn connected(&self) -> u32 {
        self.connected.load(Ordering::Relaxed)
    }

    /// Returns the least number of connected sessions since the last call.
    pub(crate) fn take_lowest(&self) -> u32 {
        self.lowest.swap(self.connected(), Ordering::Relaxed)
    }

    /// Returns the database's message for the last lost session.
    pub(crate) fn last_loss(&self) -> Option<String> {
        self.log.lock().last_loss.clone()
    }

    /// Returns all outages. One that still lasts ends at `end`.
    pub(crate) fn outages(&self, end: Nanos) -> Vec<(Nanos, Nanos)> {
        let log = self.log.lock();
        let lasting = log.since.map(|since| (since, end.max(since)));
        log.outages.iter().copied().chain(lasting).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_lasts_from_the_last_request_before_all_sessions_were_lost_to_the_next_answer() {
        let connections = Connections::new(2);
        connections.lost(20, true, "gone");
        assert_eq!((connections.connected(), connections.outages(99)), (1, vec![]));
        // Sent before, and waited for longer.
        connections.lost(10, true, "gone too");
        assert_eq!(connections.outages(99), [(20, 99)]);
        connections.reconnected();
        // A proxy accepts the connection, but the database behind it is still away: the outage continues.
        connections.lost(30, false, "gone again");
        connections.reconnected();
        connections.answered(40);
        assert_eq!(connections.outages(99), [(20, 40)]);
        assert_eq!((connections.take_lowest(), connections.take_lowest()), (0, 1));
        assert_eq!(connections.last_loss().as_deref(), Some("gone again"));
    }
}
