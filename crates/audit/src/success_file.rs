//! The success file of the durability test: each New-Order with its outcome.

use lydite_tpcc::transactions::NewOrder;
use lydite_tpcc::{CustomerId, DistrictId, OrderId, WarehouseId};
use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A district and the customer of an order.
pub(crate) type Orderer = (WarehouseId, DistrictId, CustomerId);
/// An order: its district, its customer and its number.
pub(crate) type Order = (Orderer, OrderId);

/// Bytes that are written ahead of the lines, each time that they reach the end of these.
const AHEAD: usize = 1 << 20;

/// A success file that is written. An entry counts once it is on the disk.
///
/// One thread waits for the disk, for all terminals together. A terminal goes on meanwhile, and waits for its entry only
/// before its next New-Order. So of each terminal at most one order is acknowledged, or under way, whose entry is not on
/// the disk. The clause allows one for each terminal.
///
/// Zeros are written ahead of the entries. Without them each sync would also write the file's new length, and disturb the
/// database on the same disk.
pub(crate) struct Writer {
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
pub(crate) struct Entry(u64);

impl Writer {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
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
            self.file.write_all_at(&vec![0; AHEAD], state.prepared)?;
            state.prepared += AHEAD as u64;
        }
        self.file.write_all_at(lines.as_bytes(), state.length)?;
        state.length = end;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an attempt. The line gets to the disk with the next entry.
    pub(crate) fn attempt(&self, order: &NewOrder) -> io::Result<()> {
        let line = format!("try {} {} {}\n", order.w_id, order.d_id, order.c_id);
        self.append(&mut self.lock(), &line)
    }

    /// Appends an entry.
    pub(crate) fn entry(&self, word: &str, order: &NewOrder, o_id: OrderId) -> io::Result<Entry> {
        let line = format!("{word} {} {} {} {o_id}\n", order.w_id, order.d_id, order.c_id);
        let mut state = self.lock();
        self.append(&mut state, &line)?;
        state.appended += 1;
        self.appended.notify_one();
        Ok(Entry(state.appended))
    }

    /// Waits until an entry is on the disk.
    pub(crate) fn wait_for(&self, entry: Entry) -> io::Result<()> {
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

    /// Brings entries to the disk until the end.
    pub(crate) fn sync(&self) {
        self.sync_by(|| self.file.sync_data());
    }

    /// Returns the reason why entries are not on the disk, if there is one.
    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failed.clone()
    }

    /// Announces that there will be no further entry.
    fn end(&self) {
        self.lock().ended = true;
        self.appended.notify_one();
    }
}

/// Ends a success file when it is dropped, also by a panic: its thread would wait for further entries.
pub(crate) struct Ending<'a>(pub(crate) &'a Writer);

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
        let numbers: Vec<u64> =
            numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let [w_id, d_id, c_id, rest @ ..] = &numbers[..] else { return None };
        let number = |id: &u64| u32::try_from(*id).ok();
        let orderer =
            (WarehouseId(number(w_id)?), DistrictId(u16::try_from(*d_id).ok()?), CustomerId(number(c_id)?));
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
    fn close(&mut self, orderer: Orderer, o_id: u64) -> Option<OrderId> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::input::InputPlan;
    use lydite_tpcc::meta::DatabaseMeta;
    use lydite_tpcc::{Mix, Standard, Transaction};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

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
            if let Transaction::Standard(Standard::NewOrder(order)) = terminal.next(&plan) {
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
