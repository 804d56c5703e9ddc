//! What the dUpdateBalances of a run added to W_YTD is held against their number, and taken back: the standard's conditions
//! know of payments alone.

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::complain;
use lydite_bench::Whole;
use lydite_database::{
    Balance, BalanceTransaction, Balances, Between, Committed, Session, Target, TargetError, TxError, Waiter,
};
use lydite_report::model::{BALANCES_CHECK, CheckResult, CheckedWhen};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::transaction::BALANCE_UPDATE;
use lydite_tpcc::{Cents, DistrictId, Districts, TransactionKind, WarehouseId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long one transaction may wait for a lock: one that a run left behind may have to end first.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long one that is given up, or whose connection is lost, is sent again.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long nothing may come of all of them.
const HANGS: Duration = Duration::from_secs(30);
/// How long values that were committed may take to be seen on every server of a cluster.
const SETTLING: Duration = Duration::from_secs(3);
/// How long W_YTD must be the same before what is too much of it is that of a run that was killed.
const QUIET: Duration = Duration::from_secs(1);
/// Between two attempts at these.
const AGAIN: Duration = Duration::from_millis(50);
/// After how long the user is told what is done.
const TOLD_AFTER: Duration = Duration::from_secs(2);

/// The balances of a run whose mix has dUpdateBalances.
pub(crate) struct BalanceWatch {
    target: Arc<dyn Target>,
    districts: Districts,
    warehouses: Vec<WarehouseId>,
    /// Of each dUpdateBalance.
    together: u32,
    /// By how much W_YTD of each warehouse was more than D_YTD of its districts before the run, which condition 1 forbids.
    before: Vec<Cents>,
}

impl BalanceWatch {
    /// Looks at the balances of the active warehouses, whose first is given with their number; `together`: warehouses of each
    /// dUpdateBalance. What a run has left that was
    /// killed is taken back first, and told.
    ///
    /// # Errors
    /// The balances can't be read or set, or another run plays dUpdateBalances: it would miss what is taken back.
    pub(crate) fn new(
        target: &Arc<dyn Target>,
        meta: &DatabaseMeta,
        (first, count): (u32, u32),
        together: u32,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let watch = Self {
            target: Arc::clone(target),
            districts: meta.districts.clone(),
            warehouses: (first..first + count).map(WarehouseId).collect(),
            together,
            before: Vec::new(),
        };
        let stop = || interrupt.asked();
        let tell = |doing: &str| interrupt.tell(doing, true);
        aside(("reading W_YTD and D_YTD", &tell), &stop, |progress| watch.with_before(progress))
    }

    /// Notes the balances before the run.
    fn with_before(mut self, progress: &Progress) -> Result<Self, Failure> {
        let target = Arc::clone(&self.target);
        let mut connection = Connection::new(&target, progress);
        let excesses = self.excesses(&mut connection)?;
        let left: i64 = excesses.iter().map(|&excess| updates(excess)).sum();
        if left == 0 || excesses.iter().any(|excess| excess.0 != updates(*excess) * BALANCE_UPDATE.0) {
            // As it should be, or nothing that dUpdateBalances do.
            self.before = excesses;
            return Ok(self);
        }
        self.before = vec![Cents(0); excesses.len()];
        thread::sleep(QUIET);
        let later = self.excesses(&mut connection)?;
        if let Some(place) = (0..later.len()).find(|&place| later[place] != excesses[place]) {
            return Err(grows(self.warehouses[place]));
        }
        complain(&format!(
            "W_YTD is {} above D_YTD, as dUpdateBalances leave it whose run is killed: it is taken back",
            Cents(left * BALANCE_UPDATE.0)
        ));
        for place in (0..excesses.len()).filter(|&place| updates(excesses[place]) > 0) {
            self.take_back(&mut connection, place)?;
        }
        Ok(self)
    }

    /// Holds what was added against what was committed, and takes it back.
    ///
    /// # Errors
    /// It could not be done: W_YTD is as it was found, or partly.
    pub(crate) fn finish(self, whole: &Whole) -> Result<CheckResult, Failure> {
        let begun = Instant::now();
        let bounds = Bounds {
            together: self.together,
            committed: whole.committed[TransactionKind::UpdateBalance.index()],
            unknown: whole.unknown,
        };
        let doing = "taking back what dUpdateBalances added to W_YTD";
        // What was measured is put in order even if the user has interrupted it.
        let judged =
            aside((doing, &complain), &|| false, move |progress| self.judge_and_take_back(&bounds, progress));
        let (ok, detail) = match judged {
            Ok(Ok(words)) => (true, words),
            Ok(Err(words)) => (false, words),
            Err(failure) => {
                complain(
                    "W_YTD keeps what dUpdateBalances added to it, and conditions 3.3.2.1 and 3.3.2.8 will not hold until another run \
                     with update_balance takes it back",
                );
                return Err(failure);
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        Ok(CheckResult { id: BALANCES_CHECK.into(), ok, detail, when: CheckedWhen::After, seconds })
    }

    fn judge_and_take_back(&self, bounds: &Bounds, progress: &Progress) -> Judged {
        let mut connection = Connection::new(&self.target, progress);
        let settled = Instant::now() + SETTLING;
        let (added, verdict) = loop {
            let added = self.added(&mut connection)?;
            let verdict = bounds.judge(&added);
            if verdict.is_ok() || Instant::now() >= settled {
                break (added, verdict);
            }
            thread::sleep(AGAIN);
        };
        for (place, &(_, added)) in added.iter().enumerate() {
            if updates(added) > 0 {
                self.take_back(&mut connection, place)?;
            }
        }
        // Whatever was on its way when the run ended may have come behind the first look.
        let left = self.added(&mut connection)?.into_iter().find(|(_, cents)| updates(*cents) > 0);
        Ok(match (verdict, left) {
            (verdict, None) => verdict,
            (_, Some((w_id, cents))) => Err(format!(
                "W_YTD of warehouse {w_id} grew by {cents} when the run was over: conditions 3.3.2.1 and 3.3.2.8 will not hold until \
                 another run with update_balance takes it back"
            )),
        })
    }

    /// Takes back what was added to a warehouse, by its place among them. What no dUpdateBalance can have added stays, for the
    /// conditions to find.
    fn take_back(&self, connection: &mut Connection<'_>, place: usize) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let added = self.look_at(connection, self.warehouses[place])?.excess() - self.before[place];
            let updates = updates(added);
            if updates == 0 {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(grows(self.warehouses[place]));
            }
            // Relative to what is there: a payment that the run left behind may come in between. And once: whether one that was
            // lost was committed, the next look tells.
            let take = BalanceTransaction::Add {
                amount: Cents(-updates * BALANCE_UPDATE.0),
                balances: vec![Balance::Warehouse(self.warehouses[place])],
                between: Between::NOTHING,
            };
            connection.once(&take, deadline)?;
        }
    }

    /// What every warehouse has more than before the run.
    fn added(&self, connection: &mut Connection<'_>) -> Result<Vec<(WarehouseId, Cents)>, Failure> {
        let found = self.excesses(connection)?;
        let added = found.iter().zip(&self.before).map(|(now, before)| *now - *before);
        Ok(self.warehouses.iter().copied().zip(added).collect())
    }

    /// Returns W_YTD − Σ D_YTD of every warehouse.
    fn excesses(&self, connection: &mut Connection<'_>) -> Result<Vec<Cents>, Failure> {
        self.warehouses.iter().map(|&w_id| Ok(self.look_at(connection, w_id)?.excess())).collect()
    }

    fn look_at(&self, connection: &mut Connection<'_>, w_id: WarehouseId) -> Result<Balanced, Failure> {
        let districts = DistrictId::up_to(self.districts.of(w_id));
        let balances = std::iter::once(Balance::Warehouse(w_id))
            .chain(districts.map(|d_id| Balance::District(w_id, d_id)))
            .collect();
        let read = BalanceTransaction::Select { balances, between: Between::NOTHING };
        let deadline = Instant::now() + PATIENCE;
        let values = loop {
            if let Some(values) = connection.once(&read, deadline)? {
                break values;
            }
        };
        let (w_ytd, d_ytds) = values.split_first().map_or((Cents(0), &[][..]), |(w, ds)| (*w, ds));
        Ok(Balanced { w_ytd, d_ytds: d_ytds.iter().copied().sum() })
    }
}

/// Runs `work` on another thread, and gives it up when it makes no progress or `stop` returns true: a server that does not
/// answer must not keep the measured result from being written. Reports `doing` if it takes a while.
fn aside<T: Send + 'static>(
    (doing, tell): (&str, &dyn Fn(&str)),
    stop: &dyn Fn() -> bool,
    work: impl FnOnce(&Progress) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let begun = Instant::now();
    let progress = Arc::new(Progress::default());
    let (send, receive) = mpsc::channel();
    let of_thread = Arc::clone(&progress);
    thread::spawn(move || drop(send.send(work(&of_thread))));
    let (mut done, mut since, mut told) = (0, Instant::now(), false);
    loop {
        if let Ok(result) = receive.recv_timeout(AGAIN) {
            return result;
        }
        let now = progress.done.load(Ordering::Relaxed);
        if now != done {
            (done, since) = (now, Instant::now());
        }
        if stop() {
            progress.stop.store(true, Ordering::Relaxed);
            return Err(Failure::Interrupted(format!("interrupted while {doing}: nothing was measured")));
        }
        if since.elapsed() > HANGS {
            progress.stop.store(true, Ordering::Relaxed);
            let seconds = HANGS.as_secs();
            return Err(Failure::Target(format!("balances: no answer for {seconds} s while {doing}")));
        }
        if !told && begun.elapsed() > TOLD_AFTER {
            tell(doing);
            told = true;
        }
    }
}

/// Somebody adds to W_YTD while it is to be still.
fn grows(w_id: WarehouseId) -> Failure {
    Failure::Target(format!(
        "balances: W_YTD of warehouse {w_id} goes on growing: another run plays update_balance on this database; run this one \
         when that has ended"
    ))
}

/// The verdict in words; an error if there is none.
type Judged = Result<Result<String, String>, Failure>;

/// How many dUpdateBalances can have added so much.
fn updates(added: Cents) -> i64 {
    (added.0 / BALANCE_UPDATE.0).max(0)
}

/// How far the thread is that takes back.
#[derive(Default)]
struct Progress {
    /// Transactions that were answered.
    done: AtomicU64,
    /// Whether nobody waits for it any more.
    stop: AtomicBool,
}

/// A warehouse as it is found.
struct Balanced {
    w_ytd: Cents,
    /// The sum of its districts' D_YTD.
    d_ytds: Cents,
}

impl Balanced {
    fn excess(&self) -> Cents {
        self.w_ytd - self.d_ytds
    }
}

/// What a run may have added.
struct Bounds {
    /// Warehouses of each dUpdateBalance.
    together: u32,
    /// How many were committed.
    committed: u64,
    /// Transactions of any type that may have been.
    unknown: u64,
}

impl Bounds {
    /// Whether so much more can be there of each warehouse, in words.
    fn judge(&self, added: &[(WarehouseId, Cents)]) -> Result<String, String> {
        let somebody = "somebody else writes to it, or another run plays update_balance";
        let odd = added.iter().find(|(_, cents)| cents.0 < 0 || cents.0 % BALANCE_UPDATE.0 != 0);
        if let Some((w_id, cents)) = odd {
            return Err(format!(
                "W_YTD of warehouse {w_id} grew by {cents} more than D_YTD of its districts, and dUpdateBalances add \
                 {BALANCE_UPDATE} each: an update was lost, or {somebody}"
            ));
        }
        let sum: Cents = added.iter().map(|(_, cents)| *cents).sum();
        let of_one = i128::from(BALANCE_UPDATE.0) * i128::from(self.together);
        let wanted = |updates: u64| of_one * i128::from(updates);
        let found = i128::from(sum.0);
        let most = self.committed + self.unknown;
        if found % of_one == 0 && (wanted(self.committed)..=wanted(most)).contains(&found) {
            return Ok(format!(
                "{} dUpdateBalances added {BALANCE_UPDATE} to each of {} W_YTD: taken back",
                found / of_one,
                self.together
            ));
        }
        let why = if found > wanted(most) {
            somebody
        } else {
            "an update was lost, or is half done, or another run took it back"
        };
        let or_more = if self.unknown == 0 { String::new() } else { format!(" to {most}") };
        Err(format!(
            "W_YTD of all warehouses together grew by {sum} more than D_YTD, and {}{or_more} dUpdateBalances of {BALANCE_UPDATE} to \
             each of {} warehouses were committed: {why}",
            self.committed, self.together
        ))
    }
}

/// A session, connected when it is needed.
struct Connection<'a> {
    target: &'a dyn Target,
    progress: &'a Progress,
    session: Option<Box<dyn Session<Balances>>>,
}

impl<'a> Connection<'a> {
    fn new(target: &'a Arc<dyn Target>, progress: &'a Progress) -> Self {
        Self { target: &**target, progress, session: None }
    }

    /// Plays a transaction, connected anew if need be. No values: it was given up or lost, and may be tried again, if that was
    /// before the deadline.
    fn once(
        &mut self,
        transaction: &BalanceTransaction,
        deadline: Instant,
    ) -> Result<Option<Vec<Cents>>, Failure> {
        let error = match self.try_once(transaction) {
            Ok(values) => {
                self.progress.done.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(values));
            }
            Err(error) => error,
        };
        if matches!(error, TxError::Unavailable { .. }) {
            self.session = None;
        }
        let again = matches!(error, TxError::Aborted { .. } | TxError::Unavailable { .. });
        if !again || Instant::now() >= deadline || self.progress.stop.load(Ordering::Relaxed) {
            return Err(TargetError::database(format!("balances: {error}")).into());
        }
        thread::sleep(AGAIN);
        Ok(None)
    }

    fn try_once(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, TxError> {
        if self.progress.stop.load(Ordering::Relaxed) {
            return Err(TxError::Fatal("given up".into()));
        }
        let session = match &mut self.session {
            Some(session) => session,
            none => {
                let balances = self.target.capabilities().balances();
                let opened = balances.and_then(|balances| balances.connect_balances(LONGEST_WAIT));
                none.insert(opened.map_err(|error| {
                    // A server that was away for a moment comes back.
                    TxError::Unavailable { committed: Committed::No, detail: error.message }
                })?)
            }
        };
        session.execute(transaction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge((committed, unknown): (u64, u64), added: &[i64]) -> Result<String, String> {
        let added: Vec<(WarehouseId, Cents)> =
            (1..).map(WarehouseId).zip(added.iter().map(|&cents| Cents(cents))).collect();
        Bounds { together: 2, committed, unknown }.judge(&added)
    }

    #[test]
    fn the_sum_is_what_the_commits_make_it() {
        let words = judge((3, 0), &[3_000, 2_000, 1_000]).expect("as it should be");
        assert_eq!(words, "3 dUpdateBalances added 10.00 to each of 2 W_YTD: taken back");
        judge((0, 0), &[0, 0]).expect("nothing");
        // One of two unknown ones was committed.
        assert!(judge((2, 2), &[3_000, 3_000]).expect("in the bounds").starts_with("3 dUpdateBalances"));
    }

    #[test]
    fn what_is_lost_half_done_or_of_nobody_is_told() {
        for (commits, added, said) in [
            ((3, 0), &[3_000, 1_000][..], "grew by 40.00 more than D_YTD, and 3 dUpdateBalances"),
            ((1, 0), &[2_000, 2_000], "were committed: somebody else writes to it"),
            ((1, 1), &[2_000, 1_000], "and 1 to 2 dUpdateBalances"),
            ((1, 0), &[1_700, 300], "W_YTD of warehouse 1 grew by 17.00 more"),
            ((0, 0), &[0, -1_000], "W_YTD of warehouse 2 grew by -10.00 more"),
        ] {
            let told = judge(commits, added).expect_err(said);
            assert!(told.contains(said), "{told}");
        }
    }
}
