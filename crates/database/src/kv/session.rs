//! A session that runs transactions on an open store.

use crate::error::{RUN_CHECK, TxError};
use crate::kv::layout::HistoryNumber;
use crate::kv::store::{Access, Pending, Store, StoreTx};
use crate::kv::store_error::StoreError;
use crate::kv::transactions::{self, KvTxError, Moment};
use crate::profile::asks_for_an_unused_item;
use crate::session::{Commit, Session, Submitted};
use crate::workload::Workload;
use lydite_tpcc::{Outcome, Timestamp, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Number of the next session in this process. Starts at 1.
static SESSIONS: AtomicU32 = AtomicU32::new(1);

/// A session of a store. See [`Session`].
pub struct KvSession<S: Store> {
    store: Arc<S>,
    number: HistoryNumber,
}

impl<S: Store> KvSession<S> {
    /// Makes a session. Opens nothing.
    pub fn new(store: Arc<S>) -> Self {
        Self { store, number: next_number() }
    }

    /// Runs one transaction up to its commit. The second part of the result is the pending commit: the transaction may
    /// be acknowledged once the caller has waited for it. Until then the session can run others.
    ///
    /// # Errors
    /// See [`Session::execute`].
    fn play(&mut self, transaction: &Transaction) -> Result<(Outcome, S::Pending), TxError> {
        let mut tx = self.store.begin(access(transaction)).map_err(StoreError::in_transaction)?;
        match play(&mut tx, transaction, &mut self.number) {
            Ok(outcome) => Ok((outcome, tx.commit().map_err(StoreError::in_transaction)?)),
            Err(error) => Err(failed(error, transaction)),
        }
    }
}

/// Returns the number of a new session's first payment.
pub(super) fn next_number() -> HistoryNumber {
    HistoryNumber { time: 0, session: SESSIONS.fetch_add(1, Ordering::Relaxed) }
}

/// Returns the purpose of the store's transaction.
pub(super) fn access(transaction: &Transaction) -> Access {
    if transaction.kind().only_reads() { Access::Read } else { Access::Write }
}

/// Runs one transaction up to its commit. `number` is that of the session's last payment.
pub(super) fn play(
    tx: &mut impl StoreTx,
    transaction: &Transaction,
    number: &mut HistoryNumber,
) -> Result<Outcome, KvTxError> {
    transactions::play(tx, transaction, &mut Moment { now: now(), number })
}

/// Returns the error of a transaction that ended before its commit.
pub(super) fn failed(error: KvTxError, transaction: &Transaction) -> TxError {
    match error {
        KvTxError::Store(error) => error.in_transaction(),
        KvTxError::Missing(detail) => TxError::wrong_rows(detail),
        KvTxError::UnusedItem(order) if asks_for_an_unused_item(transaction) => {
            TxError::RolledBack(Box::new(order))
        }
        KvTxError::UnusedItem(order) => {
            TxError::wrong_rows(format!("an item of order {} is missing: {RUN_CHECK}", order.o_id))
        }
    }
}

impl<S: Store> Session for KvSession<S> {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        let (outcome, pending) = self.play(transaction)?;
        pending.wait().map_err(StoreError::in_wait)?;
        Ok(outcome)
    }

    fn submit(&mut self, transaction: &Transaction) -> Result<Submitted, TxError> {
        let (outcome, pending) = self.play(transaction)?;
        OnItsWay::submitted(outcome, pending)
    }

    fn hurry(&mut self) {
        self.store.hurry();
    }
}

/// A commit that the session does not wait for.
pub struct OnItsWay<P>(P);

impl<P: Pending> OnItsWay<P> {
    /// Returns the result of a transaction whose commit is accepted. Waits for the commit unless commits are pipelined.
    pub fn submitted<W: Workload>(outcome: W::Outcome, pending: P) -> Result<Submitted<W>, TxError> {
        if pending.is_pipelined() {
            return Ok(Submitted::Committing(outcome, Box::new(Self(pending))));
        }
        pending.wait().map_err(StoreError::in_wait)?;
        Ok(Submitted::Done(outcome))
    }
}

impl<P: Pending> Commit for OnItsWay<P> {
    fn on_done(self: Box<Self>, done: Box<dyn FnOnce(Result<(), TxError>) + Send>) {
        self.0.on_done(move |outcome| done(outcome.map_err(StoreError::in_wait)));
    }
}

/// Returns the time of the system under test, which is this process.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
