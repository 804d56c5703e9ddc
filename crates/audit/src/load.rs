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
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Length of the loads that the clauses ask for (3.3.3.2, 3.5.4).
pub const LENGTH: Duration = Duration::from_secs(5 * 60);
/// Time between two attempts of a transaction.
const AGAIN: Duration = Duration::from_millis(1);
/// Zeros that are written ahead of a success file's lines.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// A district and the customer of an order.
pub(crate) type Orderer = (WarehouseId, DistrictId, CustomerId);
/// An order: its district, its customer and its number.
pub(crate) type Order = (Orderer, OrderId);

/// A success file that is written. An entry counts once it is on the disk.
///
/// One thread waits for the disk, for all terminals together. A terminal goes on meanwhile, and waits for its entry only
/// before its next New-Order. So of each terminal at most one order is acknowledged, or under way, whose entry is not on
/// the disk. The clause allows one for each terminal.
///
/// Zeros are written ahead of the entries. Without them each sync would also write the file's new length, and disturb the
/// database on the same disk.
struct Writer {
    file: File,
    state: Mutex<State>,
    /// Wakes the thread that waits for the disk.
    appended: Condvar,
    /// Wakes the terminals.
    synced: Condvar,
}

/// The state of a success file.
#[derive(Default)]
struct State {
    /// Bytes of the lines.
    length: u64,
    /// Bytes of the file, with the zeros ahead.
    prepared: u64,
    /// Number of entries in the file.
    appended: u64,
    /// Number of entries that are on the disk.
    synced: u64,
    /// The reason why no further entry gets to the disk.
    failed: Option<String>,
    /// True once there will be no further entry.
    ended: bool,
}

/// An entry of a success file, by its number from 1.
#[derive(Clone, Copy, Debug)]
struct Entry(u64);

impl Writer {
    fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let writer = Self { file, state: Mutex::default(), appended: Condvar::new(), synced: Condvar::new() };
        writer.append(
            &mut writer.lock(),
            "# success file of lydite audit (clause 3.5.4)\n# try W_ID D_ID C_ID, before the first attempt; not synced\n\
              # committed W_ID D_ID C_ID O_ID\n# rolled_back W_ID D_ID C_ID O_ID\n",
        )?;
        writer.file.sync_all()?;
        Ok(writer)
    }

    /// Appends lines. The lock keeps them whole.
    fn append(&self, state: &mut State, lines: &str) -> io::Result<()> {
        let end = state.length + lines.len() as u64;
        while state.prepared < end {
            self.file.write_all_at(&ZEROS, state.prepared)?;
            state.prepared += ZEROS.len() as u64;
        }
        self.file.write_all_at(lines.as_bytes(), state.length)?;
        state.length = end;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an attempt. The line gets to the disk with the next entry.
    fn attempt(&self, order: &NewOrder) -> io::Result<()> {
        let line = format!("try {} {} {}\n", order.w_id, order.d_id, order.c_id);
        self.append(&mut self.lock(), &line)
    }

    /// Appends an entry.
    fn entry(&self, word: &str, order: &NewOrder, o_id: OrderId) -> io::Result<Entry> {
        let line = format!("{word} {} {} {} {o_id}\n", order.w_id, order.d_id, order.c_id);
        let mut state = self.lock();
        self.append(&mut state, &line)?;
        state.appended += 1;
        self.appended.notify_one();
        Ok(Entry(state.appended))
    }

    /// Waits until an entry is on the disk.
    fn wait_for(&self, entry: Entry) -> io::Result<()> {
        let mut state = self.lock();
        while state.synced < entry.0 {
            if let Some(problem) = &state.failed {
                return Err(io::Error::other(problem.clone()));
            }
            state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Brings entries to the disk until the end, each time by `sync`.
    fn sync_by(&self, sync: impl Fn() -> io::Result<()>) {
        let mut state = self.lock();
        while state.failed.is_none() {
            if state.appended == state.synced {
                if state.ended {
                    return;
                }
                state = self.appended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let upto = state.appended;
            drop(state);
            let synced = sync();
            state = self.lock();
            match synced {
                Ok(()) => state.synced = upto,
                Err(error) => state.failed = Some(error.to_string()),
            }
            self.synced.notify_all();
        }
    }

    /// Announces that there will be no further entry.
    fn end(&self) {
        self.lock().ended = true;
        self.appended.notify_one();
    }
}

/// Ends a success file when it is dropped, also by a panic: its thread would wait for further entries.
struct Ending<'a>(&'a Writer);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
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
    /// Reads a file, up to the zeros. A last line without an end was cut off by the failure, and never counted.
    ///
    /// # Errors
    /// The file can't be read, or a line is none of a success file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        let mut file = Self::default();
        let text = text.split('\0').next().unwrap_or_default();
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
    /// Length of turns of which only every second one uses the success file, to measure its cost; `None` to use it always.
    pub turns: Option<Duration>,
    /// Lets the terminals stand still.
    pub gate: Arc<Gate>,
}

/// A gate that each transaction of a load passes. While it is closed, the terminals stand still.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<Passing>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Passing {
    closed: bool,
    /// Number of transactions that have passed and not ended.
    under_way: usize,
}

/// A transaction that has passed a gate. Dropping it ends it.
struct Pass<'a>(&'a Gate);

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.changed.notify_all();
    }
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Passing> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the gate is open, and passes it.
    fn pass(&self) -> Pass<'_> {
        let mut passing = self
            .changed
            .wait_while(self.lock(), |passing| passing.closed)
            .unwrap_or_else(PoisonError::into_inner);
        passing.under_way += 1;
        Pass(self)
    }

    /// Closes the gate, and waits until no transaction is under way. Returns false if one still is after `patience`.
    #[must_use]
    pub fn close(&self, patience: Duration) -> bool {
        let mut passing = self.lock();
        passing.closed = true;
        let (passing, waited) = self
            .changed
            .wait_timeout_while(passing, patience, |passing| passing.under_way > 0)
            .unwrap_or_else(PoisonError::into_inner);
        drop(passing);
        !waited.timed_out()
    }

    /// Opens the gate.
    pub fn open(&self) {
        self.lock().closed = false;
        self.changed.notify_all();
    }
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
    /// New-Orders that were committed or rolled back, by turn; of one turn if there are none.
    pub new_orders: Vec<u64>,
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
        ready();
        let gate = Arc::clone(&self.gate);
        let play =
            Play { plan, writer, gate, turns: self.turns, begun: Instant::now(), counted: Mutex::default() };
        let ends: Vec<_> = thread::scope(|scope| {
            let _ending = play.writer.as_ref().map(Ending);
            if let Some(writer) = &play.writer {
                scope.spawn(|| writer.sync_by(|| writer.file.sync_data()));
            }
            let threads: Vec<_> = (0..)
                .zip(sessions)
                .map(|(number, session)| {
                    let terminal = play.plan.terminal_of(number, self.terminals);
                    let play = &play;
                    scope.spawn(move || play.terminal(session, terminal, stop))
                })
                .collect();
            threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        if let Some(problem) = play.writer.and_then(|writer| writer.lock().failed.take()) {
            return Err(unwritable(&problem));
        }
        let counted = play.counted.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut loaded = Loaded { new_orders: counted, lost: Vec::new() };
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

fn unwritable(error: &dyn Display) -> TargetError {
    TargetError::usage(format!("the success file can't be written: {error}: set TMPDIR to another disk"))
}

/// A load that is played.
struct Play {
    plan: InputPlan,
    writer: Option<Writer>,
    gate: Arc<Gate>,
    turns: Option<Duration>,
    begun: Instant,
    /// New-Orders by turn.
    counted: Mutex<Vec<u64>>,
}

impl Play {
    /// Returns the number of the current turn.
    fn turn(&self) -> usize {
        self.turns.map_or(0, |length| self.begun.elapsed().div_duration_f64(length) as usize)
    }

    /// Counts a New-Order.
    fn count(&self) {
        let turn = self.turn();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() <= turn {
            counted.resize(turn + 1, 0);
        }
        if let Some(of_turn) = counted.get_mut(turn) {
            *of_turn += 1;
        }
    }

    /// Returns the success file, if a New-Order that begins now is noted.
    fn writer(&self) -> Option<&Writer> {
        self.writer.as_ref().filter(|_| self.turns.is_none() || self.turn() % 2 == 1)
    }

    /// Plays the transactions of one terminal. Returns the loss of the database.
    fn terminal(
        &self,
        mut session: Box<dyn Session>,
        mut terminal: Terminal,
        stop: &AtomicBool,
    ) -> Result<Option<String>, TargetError> {
        let failed = |error: io::Error| unwritable(&error);
        let mut last: Option<Entry> = None;
        while !stop.load(Ordering::Relaxed) {
            let _pass = self.gate.pass();
            let transaction = terminal.next(&self.plan);
            let order = if let Transaction::NewOrder(order) = &transaction { Some(order) } else { None };
            let noted = order.and_then(|order| Some((self.writer()?, order)));
            if let Some((writer, order)) = noted {
                if let Some(entry) = last.take() {
                    writer.wait_for(entry).map_err(failed)?;
                }
                writer.attempt(order).map_err(failed)?;
            }
            let mut note = |word: &str, o_id: OrderId| -> Result<(), TargetError> {
                if let Some((writer, order)) = noted {
                    last = Some(writer.entry(word, order, o_id).map_err(failed)?);
                }
                Ok(())
            };
            let ended = loop {
                match session.execute(&transaction) {
                    Err(TxError::Aborted { .. }) if !stop.load(Ordering::Relaxed) => thread::sleep(AGAIN),
                    ended => break ended,
                }
            };
            match ended {
                Ok(Outcome::NewOrder(outcome)) => note("committed", outcome.o_id)?,
                Ok(_) => {}
                Err(TxError::Aborted { .. }) => return Ok(None),
                Err(TxError::RolledBack(outcome)) => note("rolled_back", outcome.o_id)?,
                Err(error @ (TxError::Unavailable { .. } | TxError::Broken(_))) => {
                    return Ok(Some(error.to_string()));
                }
                Err(TxError::Fatal(problem)) => return Err(TargetError::database(problem)),
            }
            if order.is_some() {
                self.count();
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn read(text: &str) -> Result<SuccessFile, String> {
        let directory = std::env::temp_dir().join(format!("lydite-audit-test-{}", std::process::id()));
        std::fs::write(&directory, text).expect("a file");
        let read = SuccessFile::read(&directory);
        std::fs::remove_file(&directory).expect("the file");
        read
    }

    fn new_order() -> NewOrder {
        let plan = InputPlan::on(&DatabaseMeta::uniform(1, 1, "0.1.0"), 1, Mix::Deck);
        let mut terminal = plan.terminal_of(0, 1);
        loop {
            if let Transaction::NewOrder(order) = terminal.next(&plan) {
                return order;
            }
        }
    }

    fn writer(file: File) -> Writer {
        Writer { file, state: Mutex::default(), appended: Condvar::new(), synced: Condvar::new() }
    }

    #[test]
    fn entries_are_waited_for_and_all_are_there_at_the_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("success");
        let (writer, order) = (Writer::create(&path).expect("a file"), new_order());
        thread::scope(|scope| {
            let _ending = Ending(&writer);
            scope.spawn(|| writer.sync_by(|| writer.file.sync_data()));
            let terminal = || {
                for number in 0..50 {
                    writer.attempt(&order).expect("a line");
                    let entry = writer.entry("committed", &order, OrderId(number)).expect("a line");
                    if number % 2 == 0 {
                        writer.wait_for(entry).expect("a disk");
                    }
                }
            };
            let terminals: Vec<_> = (0..4).map(|_| scope.spawn(terminal)).collect();
            terminals.into_iter().for_each(|terminal| terminal.join().expect("no panic"));
        });
        assert_eq!(writer.lock().synced, 200);
        assert_eq!(SuccessFile::read(&path).expect("a file").entries(), 200);
    }

    #[test]
    fn an_entry_that_comes_during_a_sync_counts_only_after_the_next_one() {
        let writer = writer(tempfile::tempfile().expect("a file"));
        let order = new_order();
        let syncs = AtomicU64::new(0);
        thread::scope(|scope| {
            let _ending = Ending(&writer);
            let first = writer.entry("committed", &order, OrderId(1)).expect("a line");
            scope.spawn(|| {
                writer.sync_by(|| {
                    let number = syncs.fetch_add(1, Ordering::SeqCst);
                    assert_eq!(writer.lock().synced, number, "what was appended before the sync before");
                    if number == 0 {
                        writer.entry("committed", &order, OrderId(2)).expect("a line");
                    }
                    Ok(())
                });
            });
            writer.wait_for(first).expect("a disk");
            writer.wait_for(Entry(2)).expect("a disk");
        });
        assert_eq!(syncs.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_disk_that_fails_ends_the_waits() {
        let writer = writer(tempfile::tempfile().expect("a file"));
        thread::scope(|scope| {
            let _ending = Ending(&writer);
            let entry = writer.entry("committed", &new_order(), OrderId(1)).expect("a line");
            scope.spawn(|| writer.sync_by(|| Err(io::Error::other("it is broken"))));
            assert!(writer.wait_for(entry).is_err());
            let later = writer.entry("committed", &new_order(), OrderId(2)).expect("a line");
            assert!(writer.wait_for(later).is_err());
        });
    }

    #[test]
    fn a_closed_gate_lets_nobody_pass_and_waits_for_those_who_have() {
        let gate = Gate::default();
        let pass = gate.pass();
        assert!(!gate.close(Duration::from_millis(10)), "one is under way");
        drop(pass);
        assert!(gate.close(Duration::from_secs(60)));
        thread::scope(|scope| {
            let waits = scope.spawn(|| drop(gate.pass()));
            gate.open();
            waits.join().expect("no panic");
        });
        assert!(gate.close(Duration::ZERO), "nobody is under way");
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
