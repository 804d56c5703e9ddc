//! What the dUpdateBalances of a run added to W_YTD is held against their number, and taken back: the standard's conditions
//! know of payments alone.

use crate::check;
use crate::exit::Failure;
use crate::extra::Extra;
use crate::output::complain;
use lydite_bench::Whole;
use lydite_report::model::{BALANCES_CHECK, CheckResult, CheckedWhen};
use lydite_target::{Balance, BalanceTransaction, Balances, Between, Session, Target, TargetError, TxError};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::transaction::BALANCE_UPDATE;
use lydite_tpcc::{Cents, DistrictId, Districts, TransactionKind, WarehouseId};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long one transaction may wait for a lock: one that a run left behind may have to end first.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long one that is given up, or whose connection is lost, is sent again, and how long all of them may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long values that were committed may take to be seen on every server of a cluster.
const SETTLING: Duration = Duration::from_secs(3);
/// Between two attempts at these.
const AGAIN: Duration = Duration::from_millis(50);

/// The balances of a run whose mix has dUpdateBalances.
pub(crate) struct Watch {
    target: Arc<dyn Target>,
    districts: Districts,
    warehouses: Vec<WarehouseId>,
    /// Of each dUpdateBalance.
    together: u32,
    /// By how much W_YTD of each warehouse was more than D_YTD of its districts before the run, which condition 1 forbids.
    before: Vec<Cents>,
}

impl Watch {
    /// Looks at the balances of the active warehouses, whose first is given with their number.
    pub(crate) fn new(
        target: &Arc<dyn Target>,
        meta: &DatabaseMeta,
        (first, count): (u32, u32),
        extra: &Extra,
    ) -> Result<Self, Failure> {
        let mut watch = Self {
            target: Arc::clone(target),
            districts: meta.districts.clone(),
            warehouses: (first..first + count).map(WarehouseId).collect(),
            together: extra.balances.unwrap_or_default().warehouses,
            before: Vec::new(),
        };
        let mut connection = Connection::new(&watch.target);
        watch.before = watch.look(&mut connection)?.iter().map(Balanced::excess).collect();
        Ok(watch)
    }

    /// Holds what was added against what was committed, and takes it back.
    pub(crate) fn finish(self, whole: &Whole) -> CheckResult {
        let begun = Instant::now();
        let bounds = Bounds {
            together: self.together,
            committed: whole.committed[TransactionKind::UpdateBalance.index()],
            unknown: whole.unknown,
        };
        // Aside, since a server that does not answer must not keep what was measured from being written.
        let (send, receive) = mpsc::channel();
        thread::spawn(move || drop(send.send(self.judge_and_take_back(&bounds))));
        let judged = receive.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            Err(Failure::Target(format!("balances: no answer within {} s", PATIENCE.as_secs())))
        });
        let (ok, detail) = match judged {
            Ok(Ok(words)) => (true, words),
            Ok(Err(words)) => (false, words),
            Err(failure) => {
                complain(&format!(
                    "W_YTD keeps what dUpdateBalances added to it, and conditions 3.3.2.1 and 3.3.2.8 will not hold: load again with \
                     --fresh: {}",
                    failure.line()
                ));
                return check::failed(BALANCES_CHECK, &failure);
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        CheckResult { id: BALANCES_CHECK.into(), ok, detail, when: CheckedWhen::After, seconds }
    }

    fn judge_and_take_back(&self, bounds: &Bounds) -> Result<Result<String, String>, Failure> {
        let mut connection = Connection::new(&self.target);
        let settled = Instant::now() + SETTLING;
        let (found, verdict) = loop {
            let found = self.look(&mut connection)?;
            let excesses = found.iter().zip(&self.before).map(|(now, before)| now.excess() - *before);
            let added: Vec<(WarehouseId, Cents)> = self.warehouses.iter().copied().zip(excesses).collect();
            let verdict = bounds.judge(&added);
            if verdict.is_ok() || Instant::now() >= settled {
                break (found.into_iter().zip(added), verdict);
            }
            thread::sleep(AGAIN);
        };
        for (balanced, (w_id, added)) in found {
            let updates = (added.0 / BALANCE_UPDATE.0).max(0);
            if updates > 0 {
                // What no dUpdateBalance can have added stays, for the conditions to find.
                let w_ytd = balanced.w_ytd - Cents(updates * BALANCE_UPDATE.0);
                connection.insist(&BalanceTransaction::Set(vec![(Balance::Warehouse(w_id), w_ytd)]))?;
            }
        }
        Ok(verdict)
    }

    fn look(&self, connection: &mut Connection<'_>) -> Result<Vec<Balanced>, Failure> {
        let mut found = Vec::with_capacity(self.warehouses.len());
        for &w_id in &self.warehouses {
            let districts = DistrictId::up_to(self.districts.of(w_id));
            let balances = std::iter::once(Balance::Warehouse(w_id))
                .chain(districts.map(|d_id| Balance::District(w_id, d_id)))
                .collect();
            let read = BalanceTransaction::Select { balances, between: Between::NOTHING };
            let values = connection.insist(&read)?;
            let (w_ytd, d_ytds) = values.split_first().map_or((Cents(0), &[][..]), |(w, ds)| (*w, ds));
            found.push(Balanced { w_ytd, d_ytds: d_ytds.iter().copied().sum() });
        }
        Ok(found)
    }
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
        let odd = added.iter().find(|(_, cents)| cents.0 < 0 || cents.0 % BALANCE_UPDATE.0 != 0);
        if let Some((w_id, cents)) = odd {
            return Err(format!(
                "W_YTD of warehouse {w_id} grew by {cents} more than D_YTD of its districts, and dUpdateBalances add \
                 {BALANCE_UPDATE} each: an update was lost"
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
        let or_more = if self.unknown == 0 { String::new() } else { format!(" to {most}") };
        Err(format!(
            "W_YTD of all warehouses together grew by {sum} more than D_YTD, and {}{or_more} dUpdateBalances of {BALANCE_UPDATE} to \
             each of {} warehouses were committed: an update was lost, or is half done",
            self.committed, self.together
        ))
    }
}

/// A session, connected when it is needed.
struct Connection<'a> {
    target: &'a dyn Target,
    session: Option<Box<dyn Session<Balances>>>,
}

impl<'a> Connection<'a> {
    fn new(target: &'a Arc<dyn Target>) -> Self {
        Self { target: &**target, session: None }
    }

    /// Plays a transaction until it is committed, on a new connection where the old one is lost: it does the same when it is
    /// done twice.
    fn insist(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let session = match &mut self.session {
                Some(session) => session,
                none => none.insert(self.target.connect_balances(LONGEST_WAIT)?),
            };
            let error = match session.execute(transaction) {
                Ok(values) => return Ok(values),
                Err(error) => error,
            };
            let again = match &error {
                TxError::Aborted { .. } => true,
                TxError::Unavailable { .. } => {
                    self.session = None;
                    true
                }
                TxError::Fatal(_) | TxError::RolledBack(_) => false,
            };
            if !again || Instant::now() >= deadline {
                return Err(TargetError::database(format!("balances: {error}")).into());
            }
            thread::sleep(AGAIN);
        }
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
            ((1, 0), &[2_000, 2_000], "and 1 dUpdateBalances"),
            ((1, 1), &[2_000, 1_000], "and 1 to 2 dUpdateBalances"),
            ((1, 0), &[1_700, 300], "W_YTD of warehouse 1 grew by 17.00 more"),
            ((0, 0), &[0, -1_000], "W_YTD of warehouse 2 grew by -10.00 more"),
        ] {
            let told = judge(commits, added).expect_err(said);
            assert!(told.contains(said), "{told}");
        }
    }
}
