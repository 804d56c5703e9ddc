//! The balances of a run with dUpdateBalances. After the run their additions to W_YTD are compared with the number of
//! commits, and taken back, since the standard's conditions expect payments alone.

use crate::companion::{Begun, Companion, Made, Over};
use crate::reading::settled;
use crate::ready::tpcc::Ready;
use lydite_bench::Whole;
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_database::{
    Balance, BalanceTransaction, Balances, Between, Committed, Session, Target, TargetError, Tpcc, TxError,
    Waiter,
};
use lydite_report::model::{BALANCES_CHECK, CheckResult, CheckedWhen};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::transactions::BALANCE_UPDATE;
use lydite_tpcc::{Cents, DikeKind, DistrictId, Districts, WarehouseId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait of a transaction for a lock: a transaction that the run left behind may have to end first.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Time of the retries of a transaction after an abort or a lost connection.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest time without an answer to any transaction.
const HANGS: Duration = Duration::from_secs(30);
/// Time without a change of W_YTD after which its excess counts as the leftover of a killed run.
const QUIET: Duration = Duration::from_secs(1);
/// Time between two attempts, and between two looks at the thread.
const AGAIN: Duration = Duration::from_millis(50);
/// The time after which the user learns about the work.
const REPORTED_AFTER: Duration = Duration::from_secs(2);

/// The balances of a run whose mix has dUpdateBalances.
struct BalanceWatch {
    target: Arc<dyn Target>,
    districts: Districts,
    warehouses: Vec<WarehouseId>,
    /// Warehouses of each dUpdateBalance.
    together: u32,
    /// W_YTD − Σ D_YTD of each warehouse before the run; condition 1 requires 0.
    before: Vec<Cents>,
}

/// Begins to watch the balances, if the mix has dUpdateBalances.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    let (plan, interrupt) = (&ready.request.plan, &ready.request.interrupt);
    let balances = plan.controls.coaccess.balances(&plan.schedule);
    let balances = balances.filter(|_| ready.stored && plan.schedule.plays(DikeKind::UpdateBalance));
    let Some(balances) = balances else { return Ok(None) };
    let watch = BalanceWatch::new(&ready.target, &ready.meta, ready.active, balances.warehouses, interrupt)?;
    Ok(Some(Box::new(Watching(Some(watch)))))
}

/// The watch until the end of the run.
struct Watching(Option<BalanceWatch>);

impl Companion<Tpcc> for Watching {
    fn finish(&mut self, over: &Over<'_, Tpcc>) -> Option<Made> {
        let watch = self.0.take().filter(|_| over.agents.all_reported())?;
        Some(Made { id: BALANCES_CHECK, check: watch.judged(&over.measurement.whole) })
    }
}

impl BalanceWatch {
    /// Reads the balances of the active warehouses. The pair is the first of these and their number; `together` is the
    /// number of warehouses of each dUpdateBalance. Takes back the additions of a killed run first, and reports it.
    ///
    /// # Errors
    /// The balances can't be read or set. Another run plays dUpdateBalances: it would miss additions that are taken
    /// back.
    fn new(
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
        let report = |doing: &str| interrupt.tell(doing, true);
        aside(("reading W_YTD and D_YTD", &report), &stop, |progress| watch.with_before(progress))
    }

    /// Reads the balances before the run.
    fn with_before(mut self, progress: &Progress) -> Result<Self, Failure> {
        let target = Arc::clone(&self.target);
        let mut connection = Connection::new(&target, progress);
        let excesses = self.excesses(&mut connection)?;
        let left: i64 = excesses.iter().map(|&excess| updates(excess)).sum();
        if left == 0 || excesses.iter().any(|excess| excess.0 != updates(*excess) * BALANCE_UPDATE.0) {
            // No excess, or one that dUpdateBalances can't have left.
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
            "W_YTD is {} above D_YTD: a killed run with update_balance left this, and it is taken back now",
            Cents(left * BALANCE_UPDATE.0)
        ));
        for place in (0..excesses.len()).filter(|&place| updates(excesses[place]) > 0) {
            self.take_back(&mut connection, place)?;
        }
        Ok(self)
    }

    /// Compares the additions with the commits, and takes them back.
    ///
    /// # Errors
    /// The balances can't be read or set: W_YTD keeps all or some of the additions.
    fn judged(self, whole: &Whole) -> Result<CheckResult, Failure> {
        let begun = Instant::now();
        let bounds = Bounds {
            together: self.together,
            committed: whole.committed[DikeKind::UpdateBalance.index()],
            unknown: whole.unknown_of(DikeKind::UpdateBalance.index()),
        };
        let doing = "taking back what dUpdateBalances added to W_YTD";
        // The balances are put in order even if the user has interrupted the run.
        let judged =
            aside((doing, &complain), &|| false, move |progress| self.judge_and_take_back(&bounds, progress));
        let (ok, detail) = match judged {
            Ok(Ok(words)) => (true, words),
            Ok(Err(words)) => (false, words),
            Err(failure) => {
                complain(
                    "W_YTD keeps what dUpdateBalances added to it, and conditions 3.3.2.1 and 3.3.2.8 will not hold \
                     until another run with update_balance takes it back",
                );
                return Err(failure);
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        Ok(CheckResult { id: BALANCES_CHECK.into(), ok, detail, when: CheckedWhen::After, seconds })
    }

    /// Judges the additions and takes them back.
    fn judge_and_take_back(&self, bounds: &Bounds, progress: &Progress) -> Judged {
        let mut connection = Connection::new(&self.target, progress);
        let (added, verdict) = settled(
            |(_, verdict): &(_, Result<String, String>)| verdict.is_ok(),
            || {
                let added = self.added(&mut connection)?;
                let verdict = bounds.judge(&added);
                Ok((added, verdict))
            },
        )?;
        for (place, &(_, added)) in added.iter().enumerate() {
            if updates(added) > 0 {
                self.take_back(&mut connection, place)?;
            }
        }
        // Transactions that were still running at the end of the run may have committed after the first look.
        let left = self.added(&mut connection)?.into_iter().find(|(_, cents)| updates(*cents) > 0);
        Ok(match (verdict, left) {
            (verdict, None) => verdict,
            (_, Some((w_id, cents))) => Err(format!(
                "W_YTD of warehouse {w_id} grew by {cents} when the run was over: conditions 3.3.2.1 and 3.3.2.8 will \
                 not hold until another run with update_balance takes it back"
            )),
        })
    }

    /// Takes back the additions to a warehouse, by its place among the active ones. An amount that no dUpdateBalance
    /// can have added stays, for the conditions to find.
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
            // It adds to the balance instead of setting it, since a late payment of the run may come in between. It is
            // sent once: the next look shows whether a lost one was committed.
            let subtract = BalanceTransaction::Add {
                amount: Cents(-updates * BALANCE_UPDATE.0),
                balances: vec![Balance::Warehouse(self.warehouses[place])],
                between: Between::NOTHING,
            };
            connection.once(&subtract, deadline)?;
        }
    }

    /// Returns the growth of W_YTD − Σ D_YTD of every warehouse since before the run.
    fn added(&self, connection: &mut Connection<'_>) -> Result<Vec<(WarehouseId, Cents)>, Failure> {
        let found = self.excesses(connection)?;
        let added = found.iter().zip(&self.before).map(|(now, before)| *now - *before);
        Ok(self.warehouses.iter().copied().zip(added).collect())
    }

    /// Returns W_YTD − Σ D_YTD of every warehouse.
    fn excesses(&self, connection: &mut Connection<'_>) -> Result<Vec<Cents>, Failure> {
        self.warehouses.iter().map(|&w_id| Ok(self.look_at(connection, w_id)?.excess())).collect()
    }

    /// Reads the balances of a warehouse and its districts.
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

/// Runs `work` on another thread, and gives it up if it makes no progress or `stop` returns true: a silent server must
/// not keep the result from being written. Calls `report` with `doing` if the work takes a while.
fn aside<T: Send + 'static>(
    (doing, report): (&str, &dyn Fn(&str)),
    stop: &dyn Fn() -> bool,
    work: impl FnOnce(&Progress) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let begun = Instant::now();
    let progress = Arc::new(Progress::default());
    let (send, receive) = mpsc::channel();
    let progress_of_thread = Arc::clone(&progress);
    thread::Builder::new()
        .spawn(move || drop(send.send(work(&progress_of_thread))))
        .map_err(|error| Failure::usage(format!("the system gives no thread for {doing}: {error}")))?;
    let (mut done, mut since, mut reported) = (0, Instant::now(), false);
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
        if !reported && begun.elapsed() > REPORTED_AFTER {
            report(doing);
            reported = true;
        }
    }
}

/// Returns the error of a W_YTD that grows although no transaction of this run adds to it.
fn grows(w_id: WarehouseId) -> Failure {
    Failure::Target(format!(
        "balances: W_YTD of warehouse {w_id} goes on growing: another run plays update_balance on this database; run \
         this one when that has ended"
    ))
}

/// The verdict: a description of right or of wrong additions; a failure if there is no verdict.
type Judged = Result<Result<String, String>, Failure>;

/// Returns the number of dUpdateBalances that can have added this amount to a warehouse.
fn updates(added: Cents) -> i64 {
    (added.0 / BALANCE_UPDATE.0).max(0)
}

/// The progress of the thread of [`aside`].
#[derive(Default)]
struct Progress {
    /// Transactions that were answered.
    done: AtomicU64,
    /// True if nobody waits for the thread any more.
    stop: AtomicBool,
}

/// The balances of a warehouse.
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

/// The bounds of a run's additions.
struct Bounds {
    /// Warehouses of each dUpdateBalance.
    together: u32,
    /// Number of committed dUpdateBalances.
    committed: u64,
    /// Number of dUpdateBalances with an unknown outcome.
    unknown: u64,
}

impl Bounds {
    /// Judges the additions to each warehouse, and describes them.
    ///
    /// # Errors
    /// The additions do not match the commits.
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
        let sum_of = |updates: u64| of_one * i128::from(updates);
        let found = i128::from(sum.0);
        let most = self.committed + self.unknown;
        if found % of_one == 0 && (sum_of(self.committed)..=sum_of(most)).contains(&found) {
            return Ok(format!(
                "{} dUpdateBalances added {BALANCE_UPDATE} to each of {} W_YTD: taken back",
                found / of_one,
                self.together
            ));
        }
        let why = if found > sum_of(most) {
            somebody
        } else {
            "an update was lost, or is half done, or another run took it back"
        };
        let or_more = if self.unknown == 0 { String::new() } else { format!(" to {most}") };
        Err(format!(
            "W_YTD of all warehouses together grew by {sum} more than D_YTD, and {}{or_more} dUpdateBalances of \
             {BALANCE_UPDATE} to each of {} warehouses were committed: {why}",
            self.committed, self.together
        ))
    }
}

/// A session that connects when it is needed.
struct Connection<'a> {
    target: &'a dyn Target,
    progress: &'a Progress,
    session: Option<Box<dyn Session<Balances>>>,
}

impl<'a> Connection<'a> {
    fn new(target: &'a Arc<dyn Target>, progress: &'a Progress) -> Self {
        Self { target: &**target, progress, session: None }
    }

    /// Plays a transaction, and connects first if there is no session. Returns none if the transaction was aborted or
    /// lost before the deadline, so that the caller may retry it.
    ///
    /// # Errors
    /// Any other error, and every error after the deadline.
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
                    // The caller retries: the server may come back.
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
    fn additions_that_match_the_commits_are_right() {
        let words = judge((3, 0), &[3_000, 2_000, 1_000]).expect("as it should be");
        assert_eq!(words, "3 dUpdateBalances added 10.00 to each of 2 W_YTD: taken back");
        judge((0, 0), &[0, 0]).expect("nothing");
        // One of two unknown ones was committed.
        assert!(judge((2, 2), &[3_000, 3_000]).expect("in the bounds").starts_with("3 dUpdateBalances"));
    }

    #[test]
    fn lost_halved_and_foreign_additions_are_reported() {
        for (commits, added, said) in [
            ((3, 0), &[3_000, 1_000][..], "grew by 40.00 more than D_YTD, and 3 dUpdateBalances"),
            ((1, 0), &[2_000, 2_000], "were committed: somebody else writes to it"),
            ((1, 1), &[2_000, 1_000], "and 1 to 2 dUpdateBalances"),
            ((1, 0), &[1_700, 300], "W_YTD of warehouse 1 grew by 17.00 more"),
            ((0, 0), &[0, -1_000], "W_YTD of warehouse 2 grew by -10.00 more"),
        ] {
            let problem = judge(commits, added).expect_err(said);
            assert!(problem.contains(said), "{problem}");
        }
    }
}
