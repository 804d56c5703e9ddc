//! The load of the consistency and durability tests: terminals with the standard's mix, each on a session and a thread of
//! its own, in a closed loop. A success file names each New-Order with its outcome.

use lydite_database::{Session, Target, TargetError, TxError};
use lydite_tpcc::input::{InputPlan, Terminal};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::transaction::NewOrder;
use lydite_tpcc::{CustomerId, DistrictId, Mix, OrderId, Outcome, Transaction, WarehouseId};
use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Length of the loads that the clauses ask for (3.3.3.2, 3.5.4).
pub const LENGTH: Duration = Duration::from_secs(5 * 60);
/// Time between two attempts of a transaction.
const AGAIN: Duration = Duration::from_millis(1);

/// A district and the customer of an order.
pub(crate) type Orderer = (WarehouseId, DistrictId, CustomerId);
/// An order: its district, its customer and its number.
pub(crate) type Order = (Orderer, OrderId);

/// A success file that is written. An entry counts once it is on the disk.
struct Writer {
    file: File,
    /// Keeps lines whole.
    turn: Mutex<()>,
}

impl Writer {
    fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(
            b"# success file of lydite audit (clause 3.5.4)\n# try W_ID D_ID C_ID, before the first attempt; not synced\n\
              # committed W_ID D_ID C_ID O_ID\n# rolled_back W_ID D_ID C_ID O_ID\n",
        )?;
        file.sync_all()?;
        Ok(Self { file, turn: Mutex::new(()) })
    }

    fn line(&self, word: &str, order: &NewOrder, o_id: Option<OrderId>) -> io::Result<()> {
        let number = o_id.map_or_else(String::new, |o_id| format!(" {o_id}"));
        let line = format!("{word} {} {} {}{number}\n", order.w_id, order.d_id, order.c_id);
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        (&self.file).write_all(line.as_bytes())?;
        drop(turn);
        if o_id.is_some() { self.file.sync_data() } else { Ok(()) }
    }
}

/// The entries of a success file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuccessFile {
    /// Committed New-Orders.
    pub(crate) committed: Vec<Order>,
    /// New-Orders that were rolled back because of their unused item.
    pub(crate) rolled_back: Vec<Order>,
    /// New-Orders that have no other entry.
    pub(crate) open: HashMap<Orderer, u64>,
}

impl SuccessFile {
    /// Reads a file. A last line without an end was cut off by the failure, and never counted.
    ///
    /// # Errors
    /// The file can't be read, or a line is none of a success file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        let mut file = Self::default();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n') && !line.starts_with('#')) {
            file.add(line).ok_or_else(|| failed(&format!("{line:?} is no line of a success file")))?;
        }
        Ok(file)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let (word, numbers) = line.trim_end().split_once(' ')?;
        let numbers: Vec<u32> =
            numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let [w_id, d_id, c_id, rest @ ..] = &numbers[..] else { return None };
        let orderer = (WarehouseId(*w_id), DistrictId(u16::try_from(*d_id).ok()?), CustomerId(*c_id));
        match (word, rest) {
            ("try", []) => *self.open.entry(orderer).or_default() += 1,
            ("committed", [o_id]) => {
                let o_id = self.close(orderer, *o_id)?;
                self.committed.push((orderer, o_id));
            }
            ("rolled_back", [o_id]) => {
                let o_id = self.close(orderer, *o_id)?;
                self.rolled_back.push((orderer, o_id));
            }
            _ => return None,
        }
        Some(())
    }

    /// Ends an attempt.
    fn close(&mut self, orderer: Orderer, o_id: u32) -> Option<OrderId> {
        let open = self.open.get_mut(&orderer)?;
        *open = open.checked_sub(1)?;
        Some(OrderId(o_id))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.committed.len() + self.rolled_back.len()
    }
}

/// A load on a database.
#[derive(Clone)]
pub struct Load {
    /// The database.
    pub target: Arc<dyn Target>,
    /// Description of the database.
    pub meta: DatabaseMeta,
    /// Number of terminals.
    pub terminals: u32,
    /// Seed of the inputs.
    pub seed: u64,
    /// Success file, if there is one.
    pub file: Option<PathBuf>,
}

/// Returns the number of terminals: two for each warehouse, but at least 8 and at most 64.
#[must_use]
pub fn terminals(meta: &DatabaseMeta) -> u32 {
    meta.warehouses.saturating_mul(2).clamp(8, 64)
}

/// Returns the words for a load that is shorter than [`LENGTH`]; empty for any other.
#[must_use]
pub fn shortness(duration: Duration) -> &'static str {
    if duration < LENGTH { ", shorter than the 5 min of the clause" } else { "" }
}

/// Result of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// New-Orders that were committed or rolled back.
    pub new_orders: u64,
    /// Losses of the database, one line each.
    pub lost: Vec<String>,
}

impl Load {
    /// Connects all terminals, calls `ready`, and plays transactions until `stop` is set or the database is lost.
    ///
    /// # Errors
    /// A terminal can't connect, the success file can't be written, or a transaction fails in a way that no failure of
    /// the database explains.
    pub fn play(&self, ready: impl FnOnce(), stop: &AtomicBool) -> Result<Loaded, TargetError> {
        let connect = |_| self.target.connect();
        let sessions: Vec<Box<dyn Session>> = (0..self.terminals).map(connect).collect::<Result<_, _>>()?;
        let writer =
            self.file.as_deref().map(Writer::create).transpose().map_err(|error| unwritable(&error))?;
        let plan = InputPlan::on(&self.meta, self.seed, Mix::Deck);
        let counted = AtomicU64::new(0);
        ready();
        let ends: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(sessions)
                .map(|(number, session)| {
                    let terminal = plan.terminal_of(number, self.terminals);
                    let (plan, writer, counted) = (&plan, writer.as_ref(), &counted);
                    scope.spawn(move || play(session, terminal, plan, writer, counted, stop))
                })
                .collect();
            threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        let mut loaded = Loaded { new_orders: counted.load(Ordering::Relaxed), lost: Vec::new() };
        for end in ends {
            match end {
                Ok(Ok(lost)) => loaded.lost.extend(lost),
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(TargetError::database("a terminal panicked: please report this")),
            }
        }
        Ok(loaded)
    }
}

fn unwritable(error: &io::Error) -> TargetError {
    TargetError::usage(format!("the success file can't be written: {error}: set TMPDIR to another disk"))
}

/// Plays the transactions of one terminal. Returns the loss of the database.
fn play(
    mut session: Box<dyn Session>,
    mut terminal: Terminal,
    plan: &InputPlan,
    writer: Option<&Writer>,
    counted: &AtomicU64,
    stop: &AtomicBool,
) -> Result<Option<String>, TargetError> {
    while !stop.load(Ordering::Relaxed) {
        let transaction = terminal.next(plan);
        let order = if let Transaction::NewOrder(order) = &transaction { Some(order) } else { None };
        let note = |word: &str, o_id: Option<OrderId>| match (writer, order) {
            (Some(writer), Some(order)) => writer.line(word, order, o_id).map_err(|error| unwritable(&error)),
            _ => Ok(()),
        };
        note("try", None)?;
        let ended = loop {
            match session.execute(&transaction) {
                Err(TxError::Aborted { .. }) if !stop.load(Ordering::Relaxed) => thread::sleep(AGAIN),
                ended => break ended,
            }
        };
        match ended {
            Ok(Outcome::NewOrder(outcome)) => note("committed", Some(outcome.o_id))?,
            Ok(_) => {}
            Err(TxError::Aborted { .. }) => return Ok(None),
            Err(TxError::RolledBack(outcome)) => note("rolled_back", Some(outcome.o_id))?,
            Err(error @ (TxError::Unavailable { .. } | TxError::Broken(_))) => {
                return Ok(Some(error.to_string()));
            }
            Err(TxError::Fatal(problem)) => return Err(TargetError::database(problem)),
        }
        counted.fetch_add(u64::from(order.is_some()), Ordering::Relaxed);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SuccessFile, String> {
        let directory = std::env::temp_dir().join(format!("lydite-audit-test-{}", std::process::id()));
        std::fs::write(&directory, text).expect("a file");
        let read = SuccessFile::read(&directory);
        std::fs::remove_file(&directory).expect("the file");
        read
    }

    #[test]
    fn an_entry_that_the_failure_cut_off_does_not_count() {
        let file = read(
            "# success\ntry 1 2 3\ncommitted 1 2 3 301\ntry 1 2 4\nrolled_back 1 2 4 302\ntry 1 2 5\ncommitt",
        )
        .expect("a file");
        let orderer = |c_id| (WarehouseId(1), DistrictId(2), CustomerId(c_id));
        assert_eq!(file.committed, [(orderer(3), OrderId(301))]);
        assert_eq!(file.rolled_back, [(orderer(4), OrderId(302))]);
        assert_eq!(file.open[&orderer(5)], 1);
        assert_eq!((file.open[&orderer(3)], file.entries()), (0, 2));
        assert!(read("hello\n").is_err());
        assert!(read("committed 1 2 3 301\n").is_err(), "an order that was never tried");
    }
}
