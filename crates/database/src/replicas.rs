//! A primary and its replicas as one target: transactions that only read go to a replica, all others to the primary.
//!
//! How far a server's data have come is a *position*, a text that only its family understands. What of it there must be
//! to keep the promise of a [`Staleness`] is in [`Positions`]; everything else is the same for all families.

use crate::error::{Committed, TargetError, TargetErrorKind, TxError};
use crate::replication::{Positions, Role};
use crate::session::{Session, Submitted};
use crate::target::{DatabaseState, Demand, Target};
use lydite_tpcc::input::Contended;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{Outcome, Transaction};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How old what is read on a replica may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Staleness {
    /// Whatever the replica has.
    #[default]
    Any,
    /// A session sees what it has committed itself: it waits until the replica has that.
    Session,
    /// A replica that is known to have all that was committed so long ago is read, else the primary.
    Bounded(Duration),
}

impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Session => f.write_str("session"),
            Self::Bounded(longest) => write!(f, "{}s", longest.as_secs_f64()),
        }
    }
}

/// How long a session waits for a replica to have what it committed. Less than a run waits for its last answers.
pub const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// How long a replica may take to have what the primary had before the run began.
const CATCH_UP: Duration = Duration::from_secs(60);
/// The same, of what this run has loaded.
const CATCH_UP_WITH_LOAD: Duration = Duration::from_secs(30 * 60);
/// How often the lag of each replica is looked at, unless a bound is so short that it takes more.
const LOOK: Duration = Duration::from_millis(100);
/// A bound is looked at as often as this in its time at least.
const LOOKS_WITHIN_BOUND: u32 = 4;

/// A primary and its replicas.
pub struct Replicas {
    primary: Arc<dyn Target>,
    primary_url: String,
    replicas: Vec<Arc<Replica>>,
    shared: Arc<Shared>,
    /// How many sessions have been connected.
    sessions: AtomicUsize,
}

/// One replica, with what is counted of it.
struct Replica {
    target: Arc<dyn Target>,
    url: String,
    reads: AtomicU64,
    lag: Mutex<Lag>,
}

/// What sessions share.
#[derive(Debug)]
struct Shared {
    staleness: Staleness,
    to_primary: AtomicU64,
    waited: AtomicU64,
    waited_ns: AtomicU64,
}

/// What has been seen of a replica's lag.
#[derive(Clone, Copy, Debug, Default)]
struct Lag {
    /// When the primary had nothing that the replica is not known to have.
    in_step: Option<Instant>,
    samples: u64,
    sum_s: f64,
    max_s: f64,
}

/// What came of reading on replicas, the warm-up included.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicasReport {
    /// The replicas' URLs, without passwords.
    pub urls: Vec<String>,
    /// What was asked for.
    pub staleness: Staleness,
    /// Transactions that each replica has answered.
    pub reads_of: Vec<u64>,
    /// Transactions that only read, and that the primary has answered because the replica was too far behind.
    pub to_primary: u64,
    /// How often a session waited for its replica.
    pub waited: u64,
    /// For how long in all, in seconds.
    pub waited_s: f64,
    /// The mean and the greatest lag that was seen, in seconds; none if it can't be seen. As old is what a replica shows at
    /// most, by the clock of this machine alone.
    pub lag: Option<(f64, f64)>,
}

impl fmt::Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replicas").field("primary", &self.primary_url).finish_non_exhaustive()
    }
}

impl Replica {
    fn lag(&self) -> MutexGuard<'_, Lag> {
        self.lag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error with the replica's name.
    fn named(&self, error: TargetError) -> TargetError {
        TargetError { kind: error.kind, message: format!("replica {}: {}", self.url, error.message) }
    }
}

/// Opens a connection that tells how far a server's data have come; none if it does not tell.
fn positions(target: &dyn Target) -> Result<Option<Box<dyn Positions>>, TargetError> {
    target.capabilities().replication()?.positions()
}

/// An error on the way to what a target is asked, not in a transaction.
fn asked(error: TxError) -> TargetError {
    match error {
        TxError::Unavailable { detail, .. } => TargetError::unreachable(detail),
        other => TargetError::database(other.to_string()),
    }
}

impl Replicas {
    /// A primary with its URL, and its replicas with theirs, all without passwords. Connects to nothing yet.
    #[must_use]
    pub fn new(
        (primary, primary_url): (Arc<dyn Target>, String),
        replicas: Vec<(Arc<dyn Target>, String)>,
        staleness: Staleness,
    ) -> Self {
        let replica = |(target, url)| {
            Arc::new(Replica { target, url, reads: AtomicU64::new(0), lag: Mutex::default() })
        };
        Self {
            primary,
            primary_url,
            replicas: replicas.into_iter().map(replica).collect(),
            shared: Arc::new(Shared {
                staleness,
                to_primary: AtomicU64::new(0),
                waited: AtomicU64::new(0),
                waited_ns: AtomicU64::new(0),
            }),
            sessions: AtomicUsize::new(0),
        }
    }

    /// Refuses, before anything is loaded, what are no replicas of the primary, and what they can't promise.
    ///
    /// # Errors
    /// See above; or a server is not there, or does not take `sessions` connections.
    pub fn check(&self, sessions: u32) -> Result<(), TargetError> {
        let primary = self.primary.capabilities().replication()?.replication()?;
        if primary.role == Role::Replica {
            return Err(TargetError::usage(format!(
                "{}: this server is a replica itself, and takes no writes: name its primary as the target",
                self.primary_url
            )));
        }
        let share = sessions.div_ceil(self.replicas.len().max(1) as u32);
        for replica in &self.replicas {
            let server = replica.target.capabilities().replication().map_err(|error| replica.named(error))?;
            let found = server.replication().map_err(|error| replica.named(error))?;
            match (found.role, &found.database, &primary.database) {
                (Role::Replica | Role::Member, Some(own), Some(wanted)) if own != wanted => {
                    return Err(replica.named(TargetError::usage(format!(
                        "it has another database ({own}) than the primary ({wanted}): name a replica of the primary"
                    ))));
                }
                (Role::Primary, _, _) => {
                    return Err(replica.named(TargetError::usage(
                        "this server is no replica: it takes writes and follows no other, so it is the primary itself or \
                         has another database",
                    )));
                }
                (Role::Replica | Role::Member, _, _) => {}
            }
            replica.target.admit(&Demand::Sessions(share)).map_err(|error| replica.named(error))?;
            let tells = found.role == Role::Replica
                && server.positions().map_err(|error| replica.named(error))?.is_some();
            if !tells && self.shared.staleness != Staleness::Any {
                return Err(replica.named(TargetError::usage(format!(
                    "staleness {}: such a server does not tell how far its data have come: use staleness any",
                    self.shared.staleness
                ))));
            }
        }
        if self.shared.staleness != Staleness::Any {
            self.position()?;
        }
        Ok(())
    }

    /// How far the primary has come, if it tells.
    fn position(&self) -> Result<Option<String>, TargetError> {
        let positions = positions(&*self.primary)?;
        positions.map(|mut primary| primary.position().map_err(asked)).transpose()
    }

    /// Waits until every replica has the database of the primary. `loaded`: this run has loaded it, so that may take a while.
    /// `say` is told what is waited for; `stop` ends it. Whether all have it.
    ///
    /// # Errors
    /// A replica does not get it, or is lost.
    pub fn catch_up(
        &self,
        meta: &DatabaseMeta,
        loaded: bool,
        say: &dyn Fn(&str),
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, TargetError> {
        // A load may leave what looks as before, and another primary's replica may look like this one's: only a position tells.
        let position = self.position()?;
        let limit = if loaded { CATCH_UP_WITH_LOAD } else { CATCH_UP };
        let begun = Instant::now();
        for replica in &self.replicas {
            let mut positions = match &position {
                Some(_) => positions(&*replica.target).map_err(|error| replica.named(error))?,
                None => None,
            };
            let mut said = false;
            loop {
                let reached = match (&mut positions, &position) {
                    (Some(positions), Some(position)) => positions
                        .reach(position, Duration::from_millis(500))
                        .map_err(|error| replica.named(asked(error)))?,
                    _ => true,
                };
                let found = if reached {
                    match replica.target.state() {
                        Ok(DatabaseState::Ready { meta: found }) if found == *meta => break,
                        Ok(DatabaseState::Ready { meta: found }) => format!(
                            "it holds {} of seed {}, the primary {} of seed {}",
                            found.warehouses_in_words(),
                            found.seed,
                            meta.warehouses_in_words(),
                            meta.seed
                        ),
                        Ok(DatabaseState::Empty) => "it is empty".to_owned(),
                        Ok(_) => "its database is not loaded to the end".to_owned(),
                        Err(error) if error.kind == TargetErrorKind::Database => error.message,
                        Err(error) => return Err(replica.named(error)),
                    }
                } else {
                    "it has not come as far as the primary".to_owned()
                };
                if stop() {
                    return Ok(false);
                }
                if begun.elapsed() > limit {
                    return Err(replica.named(TargetError::usage(format!(
                        "it does not have what the primary has: {found} (waited {} s): is it a replica of this primary, \
                         and does it follow?",
                        limit.as_secs()
                    ))));
                }
                if !said && begun.elapsed() > Duration::from_secs(1) {
                    say(&format!("waiting until replica {} has what the primary has", replica.url));
                    said = true;
                }
                thread::sleep(Duration::from_millis(100));
            }
        }
        Ok(true)
    }

    /// Opens a session on the primary and one on the next replica in turn: they are spread evenly, and one that is lost is
    /// not asked again and again.
    ///
    /// # Errors
    /// As [`Target::connect`], of either server.
    pub fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        let primary = self.primary.connect()?;
        let turn = self.sessions.fetch_add(1, Ordering::Relaxed);
        let Some(replica) = self.replicas.get(turn % self.replicas.len().max(1)) else { return Ok(primary) };
        let server = replica.target.capabilities().replication().map_err(|error| replica.named(error))?;
        let reading = server.connect_to_read().map_err(|error| replica.named(error))?;
        Ok(Box::new(ReplicaSession {
            primary,
            primary_url: self.primary_url.clone(),
            reading,
            replica: Arc::clone(replica),
            shared: Arc::clone(&self.shared),
            // One that was lost may have committed before.
            wrote: true,
        }))
    }

    /// Looks at the replicas' lag until what it returns is dropped. Reads with a bound go to replicas only meanwhile.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn watch(self: &Arc<Self>) -> Result<LagWatch, TargetError> {
        let watch = LagWatch { stop: Arc::default() };
        let interval = match self.shared.staleness {
            Staleness::Bounded(longest) => (longest / LOOKS_WITHIN_BOUND).min(LOOK),
            Staleness::Any | Staleness::Session => LOOK,
        };
        for replica in &self.replicas {
            let (primary, replica, stop) =
                (Arc::clone(&self.primary), Arc::clone(replica), Arc::clone(&watch.stop));
            // Not waited for at the end: a server that hangs would hold up the run.
            thread::Builder::new()
                .name("replica lag".into())
                .spawn(move || look(&*primary, &replica, interval, &stop))
                .map_err(|error| {
                    TargetError::usage(format!("can't start a thread for each replica: {error}"))
                })?;
        }
        Ok(watch)
    }

    /// What came of it so far.
    #[must_use]
    pub fn report(&self) -> ReplicasReport {
        let lags: Vec<Lag> = self.replicas.iter().map(|replica| *replica.lag()).collect();
        let samples: u64 = lags.iter().map(|lag| lag.samples).sum();
        ReplicasReport {
            urls: self.replicas.iter().map(|replica| replica.url.clone()).collect(),
            staleness: self.shared.staleness,
            reads_of: self.replicas.iter().map(|replica| replica.reads.load(Ordering::Relaxed)).collect(),
            to_primary: self.shared.to_primary.load(Ordering::Relaxed),
            waited: self.shared.waited.load(Ordering::Relaxed),
            waited_s: self.shared.waited_ns.load(Ordering::Relaxed) as f64 / 1e9,
            lag: (samples > 0).then(|| {
                let sum: f64 = lags.iter().map(|lag| lag.sum_s).sum();
                (sum / samples as f64, lags.iter().map(|lag| lag.max_s).fold(0.0, f64::max))
            }),
        }
    }
}

/// See [`Replicas::watch`].
#[derive(Debug)]
pub struct LagWatch {
    stop: Arc<AtomicBool>,
}

impl Drop for LagWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The primary's positions that a replica is not known to have reached, each with when the primary was last there.
#[derive(Default)]
struct Behind {
    waiting: VecDeque<(Instant, String)>,
}

impl Behind {
    /// Asks both. The answer is when the primary had nothing that the replica does not have now; none if the replica has
    /// none of the positions that were seen. A position is asked for before it is looked for, and both by this machine's
    /// clock, so the replica is never further behind than that.
    ///
    /// # Errors
    /// One of them did not answer.
    fn ask(
        &mut self,
        primary: &mut dyn Positions,
        replica: &mut dyn Positions,
    ) -> Result<Option<Instant>, Silent> {
        let now = Instant::now();
        let position = primary.position().map_err(|_| Silent::Primary)?;
        let mut in_step = None;
        match self.waiting.back_mut() {
            Some((at, last)) if *last == position => *at = now,
            _ => self.waiting.push_back((now, position)),
        }
        while let Some((at, position)) = self.waiting.front() {
            if !replica.reach(position, Duration::ZERO).map_err(|_| Silent::Replica)? {
                break;
            }
            in_step = Some(*at);
            self.waiting.pop_front();
        }
        Ok(in_step)
    }
}

/// Who did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silent {
    Primary,
    Replica,
}

/// Looks at a replica's lag until it is told to stop.
fn look(primary: &dyn Target, replica: &Replica, interval: Duration, stop: &AtomicBool) {
    // When it was last known to be in step; one that never was lags at least since this began.
    let mut last = Instant::now();
    let mut looked = last;
    let mut behind = Behind::default();
    let mut connections: Option<(Box<dyn Positions>, Box<dyn Positions>)> = None;
    while !stop.load(Ordering::Relaxed) {
        // One that is lost may come back.
        let asked = match &mut connections {
            Some((primary, replica)) => behind.ask(&mut **primary, &mut **replica),
            none => match (positions(primary), positions(&*replica.target)) {
                (Ok(Some(mut primary)), Ok(Some(mut replica))) => {
                    let asked = behind.ask(&mut *primary, &mut *replica);
                    *none = Some((primary, replica));
                    asked
                }
                (Ok(_), Ok(_)) => return,
                (Err(_), _) => Err(Silent::Primary),
                (_, Err(_)) => Err(Silent::Replica),
            },
        };
        let since = looked.elapsed();
        looked += since;
        {
            let mut lag = replica.lag();
            match asked {
                Ok(in_step) => {
                    last = in_step.unwrap_or(last);
                    lag.in_step = in_step.or(lag.in_step);
                }
                // A server that comes back may have less than it had shown before.
                Err(_) => (connections, behind, lag.in_step) = (None, Behind::default(), None),
            }
            if asked == Err(Silent::Primary) {
                // It has nothing new that a replica could lack, as far as anybody knows.
                last += since;
            } else {
                let lags = last.elapsed().as_secs_f64();
                lag.samples += 1;
                lag.sum_s += lags;
                lag.max_s = lag.max_s.max(lags);
            }
        }
        thread::sleep(interval);
    }
}

/// A session on the primary and one on a replica.
struct ReplicaSession {
    primary: Box<dyn Session>,
    primary_url: String,
    reading: Box<dyn Session>,
    replica: Arc<Replica>,
    shared: Arc<Shared>,
    /// Whether it may have committed something since it last waited for the replica.
    wrote: bool,
}

/// An error with the name of the server that it came from.
fn at(server: &str, url: &str, error: TxError) -> TxError {
    let named = |detail: String| format!("{server} {url}: {detail}");
    match error {
        TxError::Aborted { reason, detail } => TxError::Aborted { reason, detail: named(detail) },
        TxError::Unavailable { committed, detail } => {
            TxError::Unavailable { committed, detail: named(detail) }
        }
        TxError::Broken(detail) => TxError::Broken(named(detail)),
        TxError::Fatal(detail) => TxError::Fatal(named(detail)),
        order @ TxError::RolledBack(_) => order,
    }
}

impl ReplicaSession {
    /// Whether the replica may be read now; waits for that if it is to have what this session committed.
    fn may_read(&mut self) -> Result<bool, TxError> {
        match self.shared.staleness {
            Staleness::Any => Ok(true),
            Staleness::Bounded(longest) => {
                Ok(self.replica.lag().in_step.is_some_and(|at| at.elapsed() <= longest))
            }
            Staleness::Session if !self.wrote => Ok(true),
            Staleness::Session => {
                let untold = |url: &str| TxError::Fatal(format!("{url}: the server tells no position"));
                // Asked for when it is needed: of many commits before a read the last one counts.
                let position = match self.primary.positions() {
                    Some(positions) => {
                        positions.position().map_err(|error| at("primary", &self.primary_url, error))?
                    }
                    None => return Err(untold(&self.primary_url)),
                };
                let Some(positions) = self.reading.positions() else {
                    return Err(untold(&self.replica.url));
                };
                let lost = |error| at("replica", &self.replica.url, error);
                if !positions.reach(&position, Duration::ZERO).map_err(lost)? {
                    let begun = Instant::now();
                    let reached = positions.reach(&position, LONGEST_WAIT).map_err(lost)?;
                    self.shared.waited.fetch_add(1, Ordering::Relaxed);
                    self.shared.waited_ns.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
                    if !reached {
                        return Ok(false);
                    }
                }
                self.wrote = false;
                Ok(true)
            }
        }
    }

    fn read(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        let here = self.may_read()?;
        let (session, count) = if here {
            (&mut self.reading, &self.replica.reads)
        } else {
            (&mut self.primary, &self.shared.to_primary)
        };
        match session.execute(transaction) {
            Ok(outcome) => {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(outcome)
            }
            Err(error) if here => Err(at("replica", &self.replica.url, error)),
            Err(error) => Err(at("primary", &self.primary_url, error)),
        }
    }

    /// After a transaction that was to change something.
    fn written<T>(&mut self, result: Result<T, TxError>) -> Result<T, TxError> {
        let nothing = matches!(
            result,
            Err(TxError::Aborted { .. }
                | TxError::RolledBack(_)
                | TxError::Broken(_)
                | TxError::Fatal(_)
                | TxError::Unavailable { committed: Committed::No, .. })
        );
        self.wrote |= !nothing;
        result.map_err(|error| at("primary", &self.primary_url, error))
    }
}

impl Session for ReplicaSession {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        if transaction.kind().only_reads() {
            return self.read(transaction);
        }
        let result = self.primary.execute(transaction);
        self.written(result)
    }

    fn watch(&mut self, row: Contended, asked: Arc<dyn Fn() + Send + Sync>) -> bool {
        self.primary.watch(row, asked)
    }

    fn submit(&mut self, transaction: &Transaction) -> Result<Submitted, TxError> {
        if transaction.kind().only_reads() {
            return self.read(transaction).map(Submitted::Done);
        }
        let result = self.primary.submit(transaction);
        self.written(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose positions are numbers.
    struct Server(u64);

    impl Positions for Server {
        fn position(&mut self) -> Result<String, TxError> {
            Ok(self.0.to_string())
        }

        fn reach(&mut self, position: &str, _longest: Duration) -> Result<bool, TxError> {
            Ok(position.parse().is_ok_and(|position: u64| self.0 >= position))
        }
    }

    #[test]
    fn a_replica_is_as_far_behind_as_the_first_position_that_it_lacks() {
        let (mut primary, mut replica) = (Server(1), Server(0));
        let mut behind = Behind::default();
        let mut ask = |primary: &mut Server, replica: &mut Server| behind.ask(primary, replica).unwrap();
        assert_eq!(ask(&mut primary, &mut replica), None, "it has nothing yet");
        let first = Instant::now();
        replica.0 = 1;
        assert!(ask(&mut primary, &mut replica).is_some_and(|at| at >= first), "nothing has come meanwhile");
        let second = Instant::now();
        assert!(ask(&mut primary, &mut replica).is_some_and(|at| at >= second), "an idle primary");
        primary.0 = 2;
        assert_eq!(ask(&mut primary, &mut replica), None);
        let third = Instant::now();
        primary.0 = 3;
        assert_eq!(ask(&mut primary, &mut replica), None);
        replica.0 = 2;
        let reached = ask(&mut primary, &mut replica).unwrap();
        assert!(second <= reached && reached <= third, "when the primary was at 2, not at 3");
    }
}
