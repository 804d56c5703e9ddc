//! Transactions that are retried until they commit.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::log::may_wait;
use crate::options::Isolation;
use crate::ticket::Ticket;
use crate::transaction::Transaction;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Maximum number of attempts of [`Database::run`].
pub const RUN_ATTEMPTS: u32 = 100;

/// Longest pause after the first attempt. It doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
/// Longest pause after any attempt.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

impl Database {
    /// Runs `work` in a transaction, commits it, and waits until the commit is durable, as [`Options::durability`] says.
    /// Returns the result of `work`.
    ///
    /// If `work` or the commit fails with a retryable error ([`Error::is_retryable`]), all of it starts again in a new
    /// transaction, after a short random pause that grows with each attempt. So `work` may run several times: it should
    /// do nothing outside the transaction that must not happen twice.
    ///
    /// `work` should pass on the errors of the transaction. If a call of the transaction has returned a retryable
    /// error, nothing is committed, even if `work` ignores the error and returns a result: all of it starts again.
    ///
    /// If `work` fails with another error or panics, the transaction is rolled back, and there is no further attempt.
    /// (There is one if a call of the transaction has returned a retryable error, which `work` has replaced.)
    ///
    /// [`Database::try_run`] is for work with an error type of its own.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let counters = db.keyspace("counters", Engine::Memory)?;
    /// let visits = db.run(Isolation::Snapshot, |transaction| {
    ///     let visits = transaction.get(&counters, b"visits")?.map_or(0, |value| value[0]) + 1;
    ///     transaction.put(&counters, b"visits", &[visits])?;
    ///     Ok(visits)
    /// })?;
    /// assert_eq!(visits, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `work` or of the commit. A retryable one is returned after [`RUN_ATTEMPTS`] attempts: then the
    /// transactions contend too much for the same keys. [`Error::Unknown`] if the log failed during the commit, which
    /// may have survived; it is never retried. [`Error::Usage`] in the callback of a ticket, before `work` runs.
    ///
    /// [`Options::durability`]: crate::Options::durability
    pub fn run<T>(&self, isolation: Isolation, work: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        self.run_to_end(isolation, work, Error::is_retryable)
    }

    /// Does the same as [`Database::run`] for work that has an error type of its own. The error of the last attempt is
    /// returned as it is. (`run` has only one error type so that the compiler can infer the type of its closure.)
    ///
    /// The transaction decides on a further attempt: there is one if a call of the transaction has returned a retryable
    /// error ([`Error::is_retryable`]), whatever error or result `work` has made of it, or if the commit has. Errors of
    /// other transactions do not count.
    ///
    /// ```
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// #[derive(Debug)]
    /// enum ShopError {
    ///     SoldOut,
    ///     Database(gemel::Error),
    /// }
    ///
    /// impl From<gemel::Error> for ShopError {
    ///     fn from(error: gemel::Error) -> Self {
    ///         Self::Database(error)
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), ShopError> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let stock = db.keyspace("stock", Engine::Memory)?;
    /// let sold = db.try_run(Isolation::Snapshot, |transaction| {
    ///     let left = transaction.get(&stock, b"ring")?.map_or(0, |value| value[0]);
    ///     let left = left.checked_sub(1).ok_or(ShopError::SoldOut)?; // Rolls back.
    ///     transaction.put(&stock, b"ring", &[left])?;
    ///     Ok(left)
    /// });
    /// assert!(matches!(sold, Err(ShopError::SoldOut)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `work`, or the one that `E` makes of an error of [`Database::run`], or of a retryable error that a
    /// call returned and that `work` ignored.
    pub fn try_run<T, E: From<Error>>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        self.run_to_end(isolation, work, |_| false)
    }

    fn run_to_end<T, E: From<Error>>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut Transaction) -> Result<T, E>,
        is_retryable: impl Fn(&E) -> bool,
    ) -> Result<T, E> {
        may_wait()?;
        let (result, ticket) = self.attempt(isolation, work, is_retryable, pause)?;
        ticket.wait()?;
        Ok(result)
    }

    /// Does the same as [`Database::run`], but does not wait until the commit is durable. Returns the ticket, so the
    /// thread can run other transactions meanwhile.
    ///
    /// # Errors
    /// Same as [`Database::run`], except that the ticket reports [`Error::Unknown`].
    pub fn run_pipelined<T>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<(T, Ticket)> {
        self.attempt(isolation, work, Error::is_retryable, pause)
    }

    /// Does the same as [`Database::try_run`], but does not wait until the commit is durable. Returns the ticket.
    ///
    /// # Errors
    /// Same as [`Database::try_run`], except that the ticket reports [`Error::Unknown`].
    pub fn try_run_pipelined<T, E: From<Error>>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<(T, Ticket), E> {
        self.attempt(isolation, work, |_| false, pause)
    }

    /// Attempts the transaction, and calls `pause` with the number of attempts so far before each further one. There is
    /// one if the transaction is lost, or if `is_retryable` returns true for the error of `work`.
    fn attempt<T, E: From<Error>>(
        &self,
        isolation: Isolation,
        mut work: impl FnMut(&mut Transaction) -> Result<T, E>,
        is_retryable: impl Fn(&E) -> bool,
        mut pause: impl FnMut(u32),
    ) -> Result<(T, Ticket), E> {
        let mut attempt = 1;
        loop {
            let mut transaction = self.begin(isolation)?;
            // A failed transaction ends here, before the pause: its snapshot and its slot are free meanwhile.
            let (error, is_lost) = match work(&mut transaction) {
                Ok(result) => match commit_unless_lost(transaction) {
                    Ok(ticket) => return Ok((result, ticket)),
                    Err(error) => {
                        let is_lost = error.is_retryable();
                        (error.into(), is_lost)
                    }
                },
                Err(error) => {
                    let is_lost = transaction.take_loss().is_some() || is_retryable(&error);
                    transaction.rollback();
                    (error, is_lost)
                }
            };
            if !is_lost || attempt == RUN_ATTEMPTS {
                return Err(error);
            }
            pause(attempt);
            attempt += 1;
        }
    }
}

/// Commits a transaction, unless a call has returned a retryable error, which is returned again. The work may have
/// taken that error for an answer, so its result and its writes are worth nothing.
fn commit_unless_lost(mut transaction: Transaction) -> Result<Ticket> {
    match transaction.take_loss() {
        None => transaction.commit(),
        Some(error) => {
            transaction.rollback();
            Err(error)
        }
    }
}

fn pause(attempt: u32) {
    std::thread::sleep(pause_after(attempt, random()));
}

/// Returns the pause after an attempt: a random part of a time that doubles with each attempt up to
/// [`LONGEST_PAUSE`]. Transactions that met once would meet again if they paused for the same time.
fn pause_after(attempt: u32, random: u32) -> Duration {
    let doublings = attempt.saturating_sub(1).min(31);
    let longest = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    longest.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// Returns a random number. The standard library's hasher has random keys, which suffices here.
fn random() -> u32 {
    RandomState::new().build_hasher().finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::faulty::{FaultyFiles, Operation};
    use crate::{Conflict, Engine, Keyspace, Options};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    struct Shop {
        db: Database,
        files: FaultyFiles,
        spaces: [Keyspace; 2],
        _directory: tempfile::TempDir,
    }

    fn shop() -> Shop {
        let (directory, files) = (tempfile::tempdir().unwrap(), FaultyFiles::default());
        let db =
            Database::open_with(Arc::new(files.clone()), &directory.path().join("db"), Options::default());
        let db = db.unwrap();
        let spaces =
            [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
        Shop { db, files, spaces, _directory: directory }
    }

    impl Shop {
        /// Commits a write of the key in both engines.
        fn interfere(&self, value: &[u8]) {
            let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
            self.put(&mut transaction, value).unwrap();
            drop(transaction.commit().unwrap());
        }

        fn put(&self, transaction: &mut Transaction, value: &[u8]) -> Result<()> {
            self.spaces.iter().try_for_each(|space| transaction.put(space, b"k", value))
        }

        fn value(&self, space: usize) -> Option<Vec<u8>> {
            self.db.begin(Isolation::Snapshot).unwrap().get(&self.spaces[space], b"k").unwrap()
        }
    }

    #[test]
    fn a_transaction_runs_again_until_nobody_interferes() {
        let shop = shop();
        let mut runs = 0;
        let result = shop.db.run(Isolation::Snapshot, |transaction| {
            runs += 1;
            shop.put(transaction, b"mine")?;
            if runs <= 3 {
                shop.interfere(b"theirs");
            }
            Ok(runs)
        });
        assert_eq!(result.unwrap(), 4);
        let state = shop.db.state();
        assert_eq!((state.aborted.write_conflict, state.rolled_back), (3, 0));
        assert_eq!((shop.value(0), shop.value(1)), (Some(b"mine".to_vec()), Some(b"mine".to_vec())));
    }

    #[test]
    fn a_retryable_error_of_the_closure_is_retried_in_a_new_transaction() {
        let shop = shop();
        let mut numbers = Vec::new();
        let (count, ticket) = shop
            .db
            .run_pipelined(Isolation::Serializable, |transaction| {
                numbers.push(transaction.number());
                shop.put(transaction, b"mine")?;
                if numbers.len() < 3 { Err(Error::Csr("the registry rejects it")) } else { Ok(numbers.len()) }
            })
            .unwrap();
        ticket.wait().unwrap();
        assert_eq!(count, 3);
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        assert_eq!(shop.db.state().rolled_back, 2);
    }

    #[test]
    fn the_last_error_is_returned_after_the_maximum_of_attempts() {
        let shop = shop();
        let (mut runs, mut pauses) = (0, Vec::new());
        let work = |transaction: &mut Transaction| {
            runs += 1;
            shop.put(transaction, b"mine")?;
            shop.interfere(b"theirs");
            Ok(())
        };
        // Without pauses, which would make the test slow.
        let outcome =
            shop.db.attempt(Isolation::Snapshot, work, Error::is_retryable, |attempt| pauses.push(attempt));
        assert!(matches!(outcome, Err(Error::Conflict { kind: Conflict::Write, .. })), "{outcome:?}");
        assert_eq!(runs, RUN_ATTEMPTS);
        assert!(pauses.into_iter().eq(1..RUN_ATTEMPTS));
        assert_eq!(shop.value(0).unwrap(), b"theirs");
    }

    #[test]
    fn another_error_or_a_panic_rolls_back_at_once() {
        let shop = shop();
        let mut runs = 0;
        let outcome = shop.db.run(Isolation::Snapshot, |transaction| {
            runs += 1;
            shop.put(transaction, b"mine")?;
            Err::<(), _>(Error::Constraint("no".into()))
        });
        assert!(matches!(outcome, Err(Error::Constraint(_))), "{outcome:?}");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            shop.db.run(Isolation::Snapshot, |transaction| -> Result<()> {
                runs += 1;
                shop.put(transaction, b"mine")?;
                panic!("for the test")
            })
        }));
        assert!(panicked.is_err());
        let state = shop.db.state();
        assert_eq!((state.rolled_back, state.running.len()), (2, 0));
        assert_eq!((runs, shop.value(0), shop.value(1)), (2, None, None));
    }

    #[test]
    fn a_lost_transaction_runs_again_whatever_error_the_closure_makes_of_it() {
        let shop = shop();
        let mut runs = 0;
        let outcome = shop.db.try_run(Isolation::Snapshot, |transaction| {
            runs += 1;
            shop.put(transaction, b"mine")?;
            if runs < 3 {
                // As if a call had returned it: the registry rejects a transaction only in a race.
                transaction.noted(Err::<(), _>(Error::Csr("for the test"))).map_err(|_| "lost")?;
            }
            Err::<(), Box<dyn std::error::Error>>("sold out".into())
        });
        assert_eq!((outcome.unwrap_err().to_string(), runs), ("sold out".to_owned(), 3));
        assert_eq!((shop.db.state().rolled_back, shop.value(0)), (3, None));
    }

    /// A closure may take a retryable error for an answer, and return a result that rests on it.
    #[test]
    fn a_lost_transaction_is_never_committed_although_the_closure_returns_a_result() {
        let shop = shop();
        let (mut runs, mut pauses) = (0, 0);
        let work = |transaction: &mut Transaction| {
            runs += 1;
            shop.put(transaction, b"mine")?;
            if runs < 3 {
                // As if a call had returned it: the registry rejects a transaction only in a race.
                let _ = transaction.noted(Err::<(), _>(Error::Csr("for the test")));
            }
            Ok::<_, Error>(runs)
        };
        let outcome = shop.db.attempt(Isolation::Snapshot, work, |_| false, |_| pauses += 1);
        assert_eq!((outcome.unwrap().0, pauses), (3, 2));
        assert_eq!((shop.db.state().rolled_back, shop.value(0)), (2, Some(b"mine".to_vec())));

        // The last attempt returns the error that the closure did not pass on.
        let work = |transaction: &mut Transaction| {
            shop.put(transaction, b"lost")?;
            let _ = transaction.noted(Err::<(), _>(Error::Moved("hot".into())));
            Ok::<_, Error>(())
        };
        let outcome = shop.db.attempt(Isolation::Snapshot, work, |_| false, |_| ());
        assert!(matches!(&outcome, Err(Error::Moved(name)) if name == "hot"), "{outcome:?}");
        assert_eq!(shop.value(0), Some(b"mine".to_vec()));
    }

    #[test]
    fn a_read_of_a_table_that_moved_meanwhile_is_repeated_although_the_closure_ignores_its_error() {
        let shop = shop();
        shop.interfere(b"value");
        let mut runs = 0;
        let seen = shop.db.try_run(Isolation::Snapshot, |transaction| {
            runs += 1;
            if runs == 1 {
                shop.db.move_keyspace("hot", Engine::Disk)?;
            }
            Ok::<_, Error>(transaction.get(&shop.spaces[0], b"k").ok().flatten())
        });
        assert_eq!((seen.unwrap(), runs), (Some(b"value".to_vec()), 2));
    }

    #[test]
    fn an_unknown_outcome_is_not_retried() {
        let shop = shop();
        let mut runs = 0;
        let outcome = shop.db.run(Isolation::Snapshot, |transaction| {
            runs += 1;
            shop.put(transaction, b"mine")?;
            shop.files.fail_from(Operation::Sync, 1, 5);
            Ok(())
        });
        assert!(matches!(outcome, Err(Error::Unknown(_))), "{outcome:?}");
        assert_eq!(runs, 1);
    }

    #[test]
    fn pauses_grow_up_to_the_longest_one_and_are_random() {
        let longest: Vec<_> = (1..20).map(|attempt| pause_after(attempt, u32::MAX)).collect();
        assert_eq!((longest[0], longest[1]), (FIRST_PAUSE, 2 * FIRST_PAUSE));
        assert!(longest.is_sorted());
        assert_eq!((longest[18], pause_after(u32::MAX, u32::MAX)), (LONGEST_PAUSE, LONGEST_PAUSE));
        assert_eq!(pause_after(20, 0), Duration::ZERO);
        assert!((0..10).any(|_| random() != random()));
    }
}
