//! A primary and its replicas as one target: read-only transactions go to a replica, all others to the primary.
//!
//! A *position* says how far a server's data has come. It is a text that only the server's family understands.
//! [`Positions`] compares positions to keep the promise of a [`Staleness`]; everything else is the same for all
//! families.

use crate::capabilities::or_unknown;
use crate::error::{Committed, TargetError, TargetErrorKind, TxError};
use crate::facts::DatabaseState;
use crate::replication::{Positions, Role};
use crate::session::{Session, Submitted};
use crate::target::{Demand, Target};
use lydite_tpcc::input::Contended;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{Outcome, Transaction};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Greatest permitted age of data that is read on a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Staleness {
    /// Any age.
    #[default]
    Any,
    /// A session sees its own commits: it waits until the replica has them.
    Session,
    /// The replica has everything that was committed so long ago, else the primary is read.
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

/// Longest wait of a session for a replica to have its commits. It is shorter than a run's wait for its last answers.
pub const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// Longest time for a replica to reach the primary's position if nobody has just loaded the database.
pub const CATCH_UP: Duration = Duration::from_secs(60);
/// Longest time for a replica to receive the rows of a load.
pub const CATCH_UP_WITH_LOAD: Duration = Duration::from_secs(30 * 60);
/// Time between two samples of a replica's lag, unless a short bound needs more samples.
const LOOK: Duration = Duration::from_millis(100);
/// Least number of samples in the time of a bound.
const LOOKS_WITHIN_BOUND: u32 = 4;

/// A primary and its replicas.
pub struct Replicas {
    primary: Arc<dyn Target>,
    primary_url: String,
    replicas: Vec<Arc<Replica>>,
    shared: Arc<ReplicaState>,
    /// Number of sessions that have been connected.
    sessions: AtomicUsize,
}

/// One replica, with its counts.
struct Replica {
    target: Arc<dyn Target>,
    url: String,
    reads: AtomicU64,
    lag: Mutex<Lag>,
}

/// State that all sessions share.
#[derive(Debug)]
struct ReplicaState {
    staleness: Staleness,
    to_primary: AtomicU64,
    waited: AtomicU64,
    waited_ns: AtomicU64,
}

/// Samples of a replica's lag.
#[derive(Clone, Debug, Default)]
struct Lag {
    /// Latest time at which the replica is known to have had everything that the primary had.
    in_step: Option<Instant>,
    samples: u64,
    sum_s: f64,
    max_s: f64,
    /// The first error of a server that rejects the question.
    problem: Option<String>,
}

/// Counts of the reads on replicas, including the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicasReport {
    /// URLs of the replicas, without passwords.
    pub urls: Vec<String>,
    /// Configured staleness.
    pub staleness: Staleness,
    /// Transactions that each replica has answered.
    pub reads_of: Vec<u64>,
    /// Read-only transactions that the primary has answered because the replica lagged too far.
    pub to_primary: u64,
    /// Number of times that a session waited for its replica.
    pub waited: u64,
    /// Total time of these waits, in seconds.
    pub waited_s: f64,
    /// Mean and greatest measured lag, in seconds; `None` if it can't be measured. It is an upper bound of the age of a
    /// replica's data, by the clock of this machine alone.
    pub lag: Option<(f64, f64)>,
    /// Warnings about replicas whose lag could not be measured, one line each.
    pub unmeasured: Vec<String>,
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

    /// Returns the error with the replica's name.
    fn named(&self, error: TargetError) -> TargetError {
        TargetError { kind: error.kind, message: format!("replica {}: {}", self.url, error.message) }
    }
}

/// Opens a connection that reports the position of a server's data; `None` if the server does not report it.
fn positions(target: &dyn Target) -> Result<Option<Box<dyn Positions>>, TargetError> {
    target.capabilities().replication()?.positions()
}

/// Converts an error that came outside of a transaction.
fn asked(error: TxError) -> TargetError {
    match error {
        TxError::Unavailable { detail, .. } => TargetError::unreachable(detail),
        other => TargetError::database(other.to_string()),
    }
}

impl Replicas {
    /// Makes a target from a primary and its replicas, with their URLs without passwords. Connects to nothing yet.
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
            shared: Arc::new(ReplicaState {
                staleness,
                to_primary: AtomicU64::new(0),
                waited: AtomicU64::new(0),
                waited_ns: AtomicU64::new(0),
            }),
            sessions: AtomicUsize::new(0),
        }
    }

    /// Checks, before anything is loaded, that the servers are replicas of the primary and can keep the configured
    /// staleness.
    ///
    /// # Errors
    /// They are not, or they can't; or a server is away, or does not accept `sessions` connections.
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
        }
        if self.shared.staleness != Staleness::Any {
            self.check_positions(&format!("staleness {}", self.shared.staleness), "use staleness any")?;
        }
        Ok(())
    }

    /// Checks that the primary and its replicas report their positions, which only `what` needs.
    ///
    /// # Errors
    /// They do not; the message ends with `advice`. Or a server is away.
    pub fn check_positions(&self, what: &str, advice: &str) -> Result<(), TargetError> {
        for replica in &self.replicas {
            let server = replica.target.capabilities().replication().map_err(|error| replica.named(error))?;
            let tells = server.replication().map_err(|error| replica.named(error))?.role == Role::Replica
                && server.positions().map_err(|error| replica.named(error))?.is_some();
            if !tells {
                return Err(replica.named(TargetError::usage(format!(
                    "{what}: this server does not report its position in the replication: {advice}"
                ))));
            }
        }
        self.position().map(drop)
    }

    /// Returns the position of the primary, if it reports one.
    fn position(&self) -> Result<Option<String>, TargetError> {
        let positions = positions(&*self.primary)?;
        positions.map(|mut primary| primary.position().map_err(asked)).transpose()
    }

    /// Waits until every replica has the database of the primary, for at most `limit`. `say` receives a text about the
    /// wait; `stop` ends it. Returns true if all replicas have the database.
    ///
    /// # Errors
    /// A replica does not get it, or is lost.
    pub fn catch_up(
        &self,
        meta: &DatabaseMeta,
        limit: Duration,
        say: &dyn Fn(&str),
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, TargetError> {
        // Only the position proves that a replica is up to date: the database may look the same before and after a
        // load, and so may a replica of another primary.
        let mut unknown = Vec::new();
        let position = or_unknown("the position of the primary", self.position(), &mut unknown)?;
        unknown.iter().for_each(|warning| say(warning));
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
                        Ok(DatabaseState::Ready { meta: found }) if found.is_of_same_rows(meta) => break,
                        Ok(DatabaseState::Ready { meta: found }) => format!(
                            "it holds {} of seed {}, the primary {} of seed {}",
                            found.warehouses_in_words(),
                            found.seed,
                            meta.warehouses_in_words(),
                            meta.seed
                        ),
                        Ok(DatabaseState::Empty) => "it is empty".to_owned(),
                        Ok(_) => "its database is not completely loaded".to_owned(),
                        Err(error) if error.kind == TargetErrorKind::Database => error.message,
                        Err(error) => return Err(replica.named(error)),
                    }
                } else {
                    "it lags behind the primary".to_owned()
                };
                if stop() {
                    return Ok(false);
                }
                if begun.elapsed() > limit {
                    return Err(replica.named(TargetError::usage(format!(
                        "it does not have the primary's data: {found} (waited {} s): is it a replica of this primary, \
                         and is its replication running?",
                        limit.as_secs()
                    ))));
                }
                if !said && begun.elapsed() > Duration::from_secs(1) {
                    say(&format!("waiting until replica {} has the primary's data", replica.url));
                    said = true;
                }
                thread::sleep(Duration::from_millis(100));
            }
        }
        Ok(true)
    }

    /// Opens a session on the primary and one on the next replica in turn. The sessions are spread evenly, and a lost
    /// replica is not tried again and again.
    ///
    /// # Errors
    /// See [`Target::connect`], of either server.
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
            // An earlier session that was lost may have committed.
            wrote: true,
        }))
    }

    /// Samples the lag of the replicas until the returned value is dropped. Reads with a bound go to replicas only in
    /// this time.
    ///
    /// # Errors
    /// The system provides no thread.
    pub fn watch(self: &Arc<Self>) -> Result<LagWatch, TargetError> {
        let watch = LagWatch { stop: Arc::default() };
        let interval = match self.shared.staleness {
            Staleness::Bounded(longest) => (longest / LOOKS_WITHIN_BOUND).min(LOOK),
            Staleness::Any | Staleness::Session => LOOK,
        };
        for replica in &self.replicas {
            let (primary, replica, stop) =
                (Arc::clone(&self.primary), Arc::clone(replica), Arc::clone(&watch.stop));
            // The run does not wait for this thread: a server that hangs would hold it up.
            thread::Builder::new()
                .name("replica lag".into())
                .spawn(move || look(&*primary, &replica, interval, &stop))
                .map_err(|error| {
                    TargetError::usage(format!("can't start a thread for each replica: {error}"))
                })?;
        }
        Ok(watch)
    }

    /// Returns the URLs of the replicas, without passwords, and the replicas as targets.
    pub fn servers(&self) -> impl Iterator<Item = (&str, &Arc<dyn Target>)> {
        self.replicas.iter().map(|replica| (replica.url.as_str(), &replica.target))
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn report(&self) -> ReplicasReport {
        let lags: Vec<Lag> = self.replicas.iter().map(|replica| replica.lag().clone()).collect();
        let samples: u64 = lags.iter().map(|lag| lag.samples).sum();
        let unmeasured = self.replicas.iter().zip(&lags).filter_map(|(replica, lag)| {
            let why = lag.problem.as_ref()?;
            Some(format!("The lag of the replica {} could not be measured all the time: {why}", replica.url))
        });
        ReplicasReport {
            unmeasured: unmeasured.collect(),
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

/// Samples the lag of the replicas until it is dropped. See [`Replicas::watch`].
#[derive(Debug)]
pub struct LagWatch {
    stop: Arc<AtomicBool>,
}

impl Drop for LagWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Positions of the primary that the replica is not known to have reached. Each has the time at which the primary was
/// last seen there.
#[derive(Default)]
struct Behind {
    waiting: VecDeque<(Instant, String)>,
}

impl Behind {
    /// Asks both servers. Returns the latest time at which the primary had nothing that the replica lacks now; `None`
    /// if the replica has reached none of the recorded positions.
    ///
    /// Each position is read before the replica is asked for it, and both times are by this machine's clock. So the
    /// replica never lags more than the result says.
    ///
    /// # Errors
    /// One of the servers did not answer, or rejects the question.
    fn ask(
        &mut self,
        primary: &mut dyn Positions,
        replica: &mut dyn Positions,
    ) -> Result<Option<Instant>, Silent> {
        let now = Instant::now();
        let position = primary.position().map_err(|error| Silent::of(Silent::Primary, error))?;
        let mut in_step = None;
        match self.waiting.back_mut() {
            Some((at, last)) if *last == position => *at = now,
            _ => self.waiting.push_back((now, position)),
        }
        while let Some((at, position)) = self.waiting.front() {
            let reached = replica.reach(position, Duration::ZERO);
            if !reached.map_err(|error| Silent::of(Silent::Replica, error))? {
                break;
            }
            in_step = Some(*at);
            self.waiting.pop_front();
        }
        Ok(in_step)
    }
}

/// Reason for the lack of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Silent {
    /// The primary is away.
    Primary,
    /// The replica is away.
    Replica,
    /// A server answered with an error: a missing privilege, or it is no replica any more.
    Rejected(String),
}

impl Silent {
    /// Returns the reason for an error of a server; `away` if it was lost.
    fn of(away: Self, error: TxError) -> Self {
        match error {
            TxError::Fatal(why) => Self::Rejected(why),
            _ => away,
        }
    }
}

/// Samples a replica's lag until `stop` is set.
fn look(primary: &dyn Target, replica: &Replica, interval: Duration, stop: &AtomicBool) {
    // Latest time at which the replica was known to be up to date. For a replica that never was, the lag counts from
    // here.
    let mut last = Instant::now();
    let mut looked = last;
    let mut behind = Behind::default();
    let mut connections: Option<(Box<dyn Positions>, Box<dyn Positions>)> = None;
    while !stop.load(Ordering::Relaxed) {
        // A lost server may come back.
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
                // A server that comes back may have less data than it showed before.
                Err(_) => (connections, behind, lag.in_step) = (None, Behind::default(), None),
            }
            if asked == Err(Silent::Primary) {
                // As far as anybody knows, an unreachable primary has nothing new that the replica could lack.
                last += since;
            } else if let Err(Silent::Rejected(why)) = asked {
                lag.problem.get_or_insert(why);
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
    shared: Arc<ReplicaState>,
    /// True if it may have committed since it last waited for the replica.
    wrote: bool,
}

/// Returns an error with the name of its server.
fn at(server: &str, url: &str, error: TxError) -> TxError {
    let named = |detail: String| format!("{server} {url}: {detail}");
    match error {
        TxError::Aborted { reason, detail } => TxError::Aborted { reason, detail: named(detail) },
        TxError::Unavailable { committed, detail } => {
            TxError::Unavailable { committed, detail: named(detail) }
        }
        TxError::Broken(detail) => TxError::Broken(named(detail)),
        TxError::WrongRows { committed, detail } => TxError::WrongRows { committed, detail: named(detail) },
        TxError::Fatal(detail) => TxError::Fatal(named(detail)),
        order @ TxError::RolledBack(_) => order,
    }
}

impl ReplicaSession {
    /// Returns true if the replica may be read now. Waits for the replica if it must have this session's commits.
    fn may_read(&mut self) -> Result<bool, TxError> {
        match self.shared.staleness {
            Staleness::Any => Ok(true),
            Staleness::Bounded(longest) => {
                Ok(self.replica.lag().in_step.is_some_and(|at| at.elapsed() <= longest))
            }
            Staleness::Session if !self.wrote => Ok(true),
            Staleness::Session => {
                let untold = |url: &str| TxError::Fatal(format!("{url}: the server reports no position"));
                // The position is read only when it is needed: of many commits before a read, the last one counts.
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

    /// Records that a writing transaction may have committed.
    fn written<T>(&mut self, result: Result<T, TxError>) -> Result<T, TxError> {
        let nothing = matches!(
            result,
            Err(TxError::Aborted { .. }
                | TxError::RolledBack(_)
                | TxError::Broken(_)
                | TxError::Fatal(_)
                | TxError::WrongRows { committed: Committed::No, .. }
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
