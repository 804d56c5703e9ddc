//! Endpoints: the servers through which sessions reach one database, and the spread of sessions over them.

use crate::error::{TargetError, TargetErrorKind};
use lydite_tpcc::{Placement, WarehouseId};
use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Waits before an endpoint that was lost is tried again: the first, and the longest. They double.
const TRY_AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// Longest single sleep, so that the thread notices the end of the target.
const NAP: Duration = Duration::from_millis(50);
/// The owner of a warehouse whose node is no endpoint.
const NOBODY: u32 = u32::MAX;

/// Life of the connections of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// One connection for the whole session.
    Session,
    /// One connection for at most this time. Then the session connects anew.
    AtMost(Duration),
    /// One connection for each transaction.
    Transaction,
}

impl From<Option<Duration>> for Life {
    fn from(lifetime: Option<Duration>) -> Self {
        lifetime.map_or(Self::Session, Self::AtMost)
    }
}

/// Function that tries to connect to an endpoint, by its number.
pub type Probe = Box<dyn Fn(usize) -> bool + Send + Sync>;

/// The endpoints of a database. New sessions go to the endpoint with the fewest. One that can't be reached is left out;
/// a thread tries it again with back-off. Once it is back, sessions return to it.
pub struct Endpoints {
    names: Vec<String>,
    life: Life,
    probe: Probe,
    states: Mutex<Vec<State>>,
    /// Number of times that an endpoint came back.
    joined: AtomicU64,
    /// Number of connections that were opened, or begun.
    turns: AtomicU64,
    /// Endpoint of the first session of a run.
    first: AtomicU64,
    played: Vec<Played>,
    leaders: RwLock<Leaders>,
}

/// Sessions and counts of an endpoint.
#[derive(Clone, Debug, Default)]
struct State {
    sessions: u32,
    /// Connections that are being opened.
    opening: u32,
    /// Sessions that left and are not connected again.
    homeless: u32,
    /// True while it is left out.
    out: bool,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sessions: u32,
    opened: u64,
    lost: u64,
    refused: u64,
    moved: u64,
    refreshed: u64,
    connecting: Duration,
}

/// Transactions of an endpoint.
#[derive(Debug, Default)]
struct Played {
    all: AtomicU64,
    away: AtomicU64,
    /// Time of the last one, in milliseconds since the Unix epoch; 0 without one.
    last_ms: AtomicU64,
}

/// The endpoint that leads each warehouse.
#[derive(Debug, Default)]
struct Leaders {
    /// Names of the endpoints as nodes of the placement; empty if unknown.
    nodes: Vec<String>,
    /// Number of the endpoint of each warehouse, or [`NOBODY`].
    of: Arc<[u32]>,
}

/// Sessions and transactions of an endpoint in a run, with the warm-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointReport {
    /// Host and port, or the path of the socket.
    pub endpoint: String,
    /// Most sessions at one time.
    pub sessions: u32,
    /// Connections that were opened.
    pub opened: u64,
    /// Time spent in opening them, of all sessions together.
    pub connecting: Duration,
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
    /// Time of the last attempt.
    pub last: Option<SystemTime>,
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Endpoints {
    /// Makes the endpoints of a database, at least one.
    #[must_use]
    pub fn new(names: Vec<String>, life: impl Into<Life>, probe: Probe) -> Arc<Self> {
        Arc::new(Self {
            life: life.into(),
            probe,
            states: Mutex::new(vec![State::default(); names.len()]),
            joined: AtomicU64::new(0),
            turns: AtomicU64::new(0),
            first: AtomicU64::new(0),
            played: names.iter().map(|_| Played::default()).collect(),
            leaders: RwLock::default(),
            names,
        })
    }

    /// Returns the names of the endpoints.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Lets the next session, and the first one of each run, go to the endpoint of this number if all have as many
    /// sessions. Processes that share a run begin where the sessions of those before them end, so that all together
    /// spread evenly.
    pub fn begin_at(&self, number: u32) {
        self.first.store(number.into(), Ordering::Relaxed);
        self.turns.store(number.into(), Ordering::Relaxed);
    }

    /// Begins the counts of a run, whose first session goes to the first endpoint. `nodes` has the names of the endpoints as nodes of the placement, if they are known.
    /// Without them, the first node is the first endpoint, and so on; without a placement of as many nodes, each
    /// endpoint leads a range of the warehouses. Returns the nodes of the placement that are no endpoint.
    #[must_use]
    pub fn begin(&self, nodes: Vec<String>, placement: Option<&Placement>, warehouses: u32) -> Vec<String> {
        for (state, played) in self.states.lock().iter_mut().zip(&self.played) {
            state.homeless = 0;
            state.counts = Counts { sessions: state.sessions, ..Counts::default() };
            played.all.store(0, Ordering::Relaxed);
            played.away.store(0, Ordering::Relaxed);
            played.last_ms.store(0, Ordering::Relaxed);
        }
        self.turns.store(self.first.load(Ordering::Relaxed), Ordering::Relaxed);
        let known = placement.filter(|_| !nodes.is_empty());
        let is_endpoint = |node: &&String| nodes.iter().any(|own| is_node(own, node));
        let missing = known.iter().flat_map(|known| &known.nodes).filter(|node| !is_endpoint(node));
        let missing = missing.cloned().collect();
        let of = leaders(&nodes, placement, warehouses, self.names.len());
        *self.leaders.write() = Leaders { nodes, of };
        missing
    }

    /// Follows warehouses that moved to other nodes.
    pub fn follow(&self, placement: &Placement) {
        let mut found = self.leaders.write();
        found.of = leaders(&found.nodes, Some(placement), placement.node_of.len() as u32, self.names.len());
    }

    /// True if the spread of sessions is worth a report: there are several endpoints, or connections end before their
    /// sessions.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        self.names.len() > 1 || self.life != Life::Session
    }

    /// Returns a function that says if a session of endpoint `at` should play transactions of a warehouse: the endpoint
    /// leads it, or the leader has no sessions.
    pub fn serves(&self, at: usize) -> impl Fn(WarehouseId) -> bool + use<> {
        let of = Arc::clone(&self.leaders.read().of);
        let vacant: Vec<bool> = self.states.lock().iter().map(|state| state.sessions == 0).collect();
        move |warehouse| {
            let leader = of.get(warehouse.0 as usize - 1).map_or(at, |&leader| leader as usize);
            leader == at || vacant.get(leader).copied().unwrap_or(true)
        }
    }

    /// True if the endpoint of this number is known to lead one of these warehouses, counted from 0. Without the names of
    /// the endpoints as nodes this is not known.
    #[must_use]
    pub fn leads(&self, at: usize, mut warehouses: std::ops::Range<usize>) -> bool {
        let leaders = self.leaders.read();
        let leader = |number: usize| leaders.of.get(number).map(|&leader| leader as usize);
        !leaders.nodes.is_empty() && warehouses.any(|number| leader(number) == Some(at))
    }

    /// Opens a connection to the endpoint with the fewest sessions; if that fails, to another one.
    ///
    /// # Errors
    /// The error of the last endpoint, if none can be reached; any other error at once.
    pub fn connect<T>(
        self: &Arc<Self>,
        mut open: impl FnMut(usize) -> Result<T, TargetError>,
    ) -> Result<(T, Seat), TargetError> {
        let mut tried = vec![false; self.names.len()];
        let mut last = TargetError::usage("the target has no endpoint");
        while let Some(at) = self.reserve(&tried) {
            let begun = Instant::now();
            let opened = open(at);
            let mut states = self.states.lock();
            states[at].opening -= 1;
            states[at].counts.connecting += begun.elapsed();
            match opened {
                Ok(connection) => {
                    settle(&mut states, at);
                    drop(states);
                    return Ok((connection, Seat::new(self, at)));
                }
                Err(error) if error.kind != TargetErrorKind::Unreachable => return Err(error),
                Err(error) => {
                    states[at].counts.refused += 1;
                    drop(states);
                    self.put_out(at);
                    tried[at] = true;
                    last = error;
                }
            }
        }
        Err(last)
    }

    /// Chooses an endpoint that was not tried. Those that are left out come last.
    fn reserve(&self, tried: &[bool]) -> Option<usize> {
        let count = self.names.len();
        let turn = self.turns.fetch_add(1, Ordering::Relaxed) as usize % count.max(1);
        let mut states = self.states.lock();
        let in_turn = (0..count).map(|step| (turn + step) % count).filter(|&at| !tried[at]);
        let at = in_turn.min_by_key(|&at| (states[at].out, states[at].sessions + states[at].opening))?;
        states[at].opening += 1;
        Some(at)
    }

    /// Leaves an endpoint out until it can be reached again.
    fn put_out(self: &Arc<Self>, at: usize) {
        if self.names.len() == 1 || std::mem::replace(&mut self.states.lock()[at].out, true) {
            return;
        }
        let endpoints = Arc::downgrade(self);
        let watch = thread::Builder::new().name("endpoint".into()).spawn(move || watch(&endpoints, at));
        if watch.is_err() {
            // Without a thread nobody would notice its return, so sessions keep trying it.
            self.states.lock()[at].out = false;
        }
    }

    fn take_in(&self, at: usize) {
        self.states.lock()[at].out = false;
        self.joined.fetch_add(1, Ordering::Release);
    }

    /// Returns the counts of each endpoint since [`Endpoints::begin`].
    #[must_use]
    pub fn report(&self) -> Vec<EndpointReport> {
        let states = self.states.lock();
        let of = |((name, state), played): ((&String, &State), &Played)| {
            let Counts { sessions, opened, lost, refused, moved, refreshed, connecting } = state.counts;
            let transactions = played.all.load(Ordering::Relaxed);
            let away = played.away.load(Ordering::Relaxed);
            let last_ms = played.last_ms.load(Ordering::Relaxed);
            let last = (last_ms > 0).then(|| UNIX_EPOCH + Duration::from_millis(last_ms));
            EndpointReport {
                endpoint: name.clone(),
                sessions,
                opened,
                connecting,
                lost,
                refused,
                moved,
                refreshed,
                transactions,
                away,
                last,
            }
        };
        self.names.iter().zip(states.iter()).zip(&self.played).map(of).collect()
    }
}

/// Counts a session that was connected to endpoint `at`.
fn settle(states: &mut [State], at: usize) {
    let came_back = states[at].homeless > 0;
    let from = if came_back { Some(at) } else { states.iter().position(|state| state.homeless > 0) };
    if let Some(from) = from {
        states[from].homeless -= 1;
    }
    let State { sessions, counts, .. } = &mut states[at];
    *sessions += 1;
    counts.opened += 1;
    counts.moved += u64::from(from.is_some() && !came_back);
    counts.sessions = counts.sessions.max(*sessions);
}

/// Tries an endpoint until it can be reached, or until the target is gone.
fn watch(endpoints: &Weak<Endpoints>, at: usize) {
    let [mut wait, longest] = TRY_AGAIN;
    loop {
        let until = Instant::now() + wait;
        while Instant::now() < until {
            if endpoints.strong_count() == 0 {
                return;
            }
            thread::sleep(NAP);
        }
        let Some(endpoints) = endpoints.upgrade() else { return };
        if (endpoints.probe)(at) {
            endpoints.take_in(at);
            return;
        }
        wait = (wait * 2).min(longest);
    }
}

/// Returns true if an endpoint is a node of the placement. Databases may add a node's locality to its name.
fn is_node(own: &str, node: &str) -> bool {
    node.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
}

/// Returns the endpoint of each warehouse.
fn leaders(nodes: &[String], placement: Option<&Placement>, warehouses: u32, endpoints: usize) -> Arc<[u32]> {
    match placement {
        Some(placement) if !nodes.is_empty() => {
            let endpoint = |node: &String| nodes.iter().position(|own| is_node(own, node));
            let numbers: Vec<u32> =
                placement.nodes.iter().map(|node| endpoint(node).map_or(NOBODY, |at| at as u32)).collect();
            placement.node_of.iter().map(|&node| numbers[node as usize]).collect()
        }
        Some(placement) if placement.nodes.len() == endpoints => placement.node_of.clone().into(),
        _ => {
            let (all, count) = (u64::from(warehouses.max(1)), endpoints as u64);
            (0..u64::from(warehouses)).map(|number| (number * count / all) as u32).collect()
        }
    }
}

/// The place of a session at an endpoint. Dropping it frees the place.
#[derive(Debug)]
pub struct Seat {
    endpoints: Arc<Endpoints>,
    at: usize,
    /// The number of returns of endpoints that it has seen.
    joined: AtomicU64,
    expires: Option<Instant>,
    /// True once the session has left.
    left: AtomicBool,
}

impl Seat {
    fn new(endpoints: &Arc<Endpoints>, at: usize) -> Self {
        // Connections that were opened together end one after the other, in the last tenth of their life time.
        let tenth = endpoints.turns.load(Ordering::Relaxed) as u32 % 10;
        let life = match endpoints.life {
            Life::AtMost(longest) => Some(longest - longest / 100 * tenth),
            Life::Session | Life::Transaction => None,
        };
        Self {
            endpoints: Arc::clone(endpoints),
            at,
            joined: AtomicU64::new(endpoints.joined.load(Ordering::Acquire)),
            expires: life.and_then(|life| Instant::now().checked_add(life)),
            left: AtomicBool::new(false),
        }
    }

    /// Returns the number of the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> usize {
        self.at
    }

    /// True if the session must connect anew: its life time is over, or another endpoint came back and this one has more
    /// than its share. The seat is free from then on.
    #[must_use]
    pub fn is_over(&self) -> bool {
        if self.expires.is_some_and(|expires| Instant::now() >= expires) {
            self.leave(|counts| counts.refreshed += 1);
            return true;
        }
        let joined = self.endpoints.joined.load(Ordering::Acquire);
        if self.joined.swap(joined, Ordering::Relaxed) == joined {
            return false;
        }
        let mut states = self.endpoints.states.lock();
        let all: u32 = states.iter().map(|state| state.sessions + state.opening + state.homeless).sum();
        let reachable = states.iter().filter(|state| !state.out).count().max(1) as u32;
        let crowded = states[self.at].sessions > all.div_ceil(reachable);
        if crowded {
            self.leave_in(&mut states, |_| {});
        }
        crowded
    }

    /// Records that the connection was lost.
    pub(crate) fn lose(&self) {
        self.leave(|counts| counts.lost += 1);
        self.endpoints.put_out(self.at);
    }

    /// True if the database has several endpoints, or if connections have a life time.
    pub(crate) fn is_spread(&self) -> bool {
        self.endpoints.is_spread()
    }

    /// Counts an attempt at a transaction of this home warehouse.
    pub(crate) fn count(&self, home: Option<WarehouseId>) {
        let played = &self.endpoints.played[self.at];
        played.all.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        played.last_ms.fetch_max(now.as_millis() as u64, Ordering::Relaxed);
        let Some(home) = home else { return };
        let leaders = self.endpoints.leaders.read();
        let leader = leaders.of.get((home.0 as usize).wrapping_sub(1));
        if leader.is_some_and(|&leader| leader as usize != self.at) {
            played.away.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn leave(&self, count: impl FnOnce(&mut Counts)) {
        self.leave_in(&mut self.endpoints.states.lock(), count);
    }

    fn leave_in(&self, states: &mut [State], count: impl FnOnce(&mut Counts)) {
        if !self.left.swap(true, Ordering::Relaxed) {
            states[self.at].sessions -= 1;
            states[self.at].homeless += 1;
            count(&mut states[self.at].counts);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !*self.left.get_mut() {
            self.endpoints.states.lock()[self.at].sessions -= 1;
        }
    }
}

#[cfg(test)]
#[path = "endpoints_tests.rs"]
mod tests;
