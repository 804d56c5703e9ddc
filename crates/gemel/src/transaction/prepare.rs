//! Preparing a transaction.

use super::{Transaction, already_failed};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::order::active::Count;
use crate::ticket::Ticket;
use std::sync::Arc;

impl Transaction {
    /// Prepares the transaction for a decision that comes later, under a name. This is the first phase of a commit over
    /// several databases, and `PREPARE TRANSACTION` of an SQL layer. Once the ticket has resolved, the transaction
    /// survives a crash. [`Database::prepared`](crate::Database::prepared) lists it until
    /// [`Database::commit_prepared`](crate::Database::commit_prepared) or
    /// [`Database::roll_back_prepared`](crate::Database::roll_back_prepared) decides it, in this process or after
    /// another opening.
    ///
    /// Whatever could keep the transaction from committing is found here. Until the decision nobody else sees its
    /// writes. Others can read its rows as they were, but not commit a write of a row that it wrote, or that it has
    /// read and a commit would check (at [`Isolation::Serializable`](crate::Isolation::Serializable), or for an
    /// update): they get a retryable [`Error::Conflict`]. So does a serializable transaction that has read what it wrote.
    /// The reads are checked and protected also if it wrote nothing here, since it may have written elsewhere. A table that
    /// it used can't be dropped, truncated or moved, and gets no index. So decide soon, and list what is undecided after
    /// each opening.
    ///
    /// A name has 1 to 200 bytes, and no two undecided transactions have the same. Closing the database leaves them
    /// undecided. [`Options::prepared_limit`](crate::Options::prepared_limit) and
    /// [`Options::prepared_limit_bytes`](crate::Options::prepared_limit_bytes) limit them.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// let banks = ["a", "b"].map(|name| Database::open(directory.path().join(name), Options::default()));
    /// let [from, to] = banks.map(|bank| bank.and_then(|bank| Ok((bank.keyspace("accounts", Engine::Disk)?, bank))));
    /// let ((from, a), (to, b)) = (from?, to?);
    /// let (mut debit, mut credit) = (a.begin(Isolation::Serializable)?, b.begin(Isolation::Serializable)?);
    /// debit.put(&from, b"ann", b"0")?;
    /// credit.put(&to, b"bob", b"9")?;
    /// // Both are prepared, or none is committed.
    /// debit.prepare("transfer 17")?.wait()?;
    /// if credit.prepare("transfer 17").and_then(|ticket| ticket.wait()).is_ok() {
    ///     // Here a coordinator writes down that it commits, so it can go on after a crash.
    ///     a.commit_prepared("transfer 17")?.wait()?;
    ///     b.commit_prepared("transfer 17")?.wait()?;
    /// } else {
    ///     a.roll_back_prepared("transfer 17")?.wait()?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Transaction::commit`]. [`Error::Usage`] also if the name is empty, too long, or that of an undecided
    /// transaction, or the transaction has changed the catalog; [`Error::Capacity`] if a limit of prepared transactions
    /// is reached; [`Error::Outdated`] or [`Error::Moved`] if a table that it used is being changed. After an error
    /// nothing is prepared.
    pub fn prepare(mut self, name: &str) -> Result<Ticket> {
        if self.failed.is_some() {
            return Err(already_failed("prepared"));
        }
        self.ddl.check_none("prepare")?;
        let core = Arc::clone(&self.core);
        let outcome = core.prepare(&mut self, name);
        // The prepared transaction protects the locked keys from here on.
        self.drop_locks();
        self.ended = true;
        match outcome {
            Ok(ticket) => {
                core.active.end(self.seat, Count::Prepared);
                core.collect(0);
                Ok(ticket)
            }
            Err((count, error)) => Err(self.end_failed(count, error)),
        }
    }
}
