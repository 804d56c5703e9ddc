//! The success log: the New-Orders and Payments that the database acknowledged, one line each, in a file that reaches
//! the disk a moment later.
//!
//! A recorder takes the line under the lock that it has anyway. A thread of its own collects the lines, appends them to
//! the file, and waits for the disk, so no session does. If the disk stalls for so long that many lines wait, further ones
//! are dropped, and the log is not whole.

use crate::logged::{HEAD, Logged};
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two writes.
const INTERVAL: Duration = Duration::from_millis(100);

/// Most bytes of lines that wait for the disk.
const MOST_OF_ALL: usize = 256 << 20;

/// The lines of a recorder that are not written yet.
#[derive(Debug)]
pub(crate) struct Lines {
    text: Vec<u8>,
    /// Most bytes of them.
    most: usize,
    /// Transactions without an answer, each with its session, as the lines of their unknown outcome.
    open: VecDeque<(usize, Logged)>,
    /// Number of lines that found no room.
    dropped: u64,
}

impl Lines {
    /// Makes the lines of one of so many recorders.
    pub(crate) fn of_one(recorders: usize) -> Self {
        Self { text: Vec::new(), most: MOST_OF_ALL / recorders.max(1), open: VecDeque::new(), dropped: 0 }
    }

    /// Notes that a session begins a transaction.
    pub(crate) fn begin(&mut self, session: usize, unknown: Logged) {
        self.open.push_back((session, unknown));
    }

    /// Notes that a transaction of a session has ended, with its line if it has one.
    pub(crate) fn end(&mut self, session: usize, unknown: Logged, line: Option<Logged>) {
        // Commits are answered nearly in their order, so it is near the front.
        if let Some(at) = self.open.iter().position(|open| *open == (session, unknown)) {
            self.open.remove(at);
        }
        line.into_iter().for_each(|line| self.add(line));
    }

    /// Forgets the last transaction of a session: it has no answer, but can't have been committed.
    pub(crate) fn forget_last(&mut self, session: usize) {
        if let Some(at) = self.open.iter().rposition(|(of, _)| *of == session) {
            self.open.remove(at);
        }
    }

    /// Adds the lines of all transactions without an answer.
    pub(crate) fn close(&mut self) {
        while let Some((_, line)) = self.open.pop_front() {
            self.add(line);
        }
    }

    fn add(&mut self, line: Logged) {
        if self.text.len() < self.most {
            // Writing to memory can't fail.
            let _written = writeln!(self.text, "{line}");
        } else {
            self.dropped += 1;
        }
    }

    /// Moves the text to `lines`. Returns the number of lines that found no room.
    fn take(&mut self, lines: &mut Vec<u8>) -> u64 {
        lines.append(&mut self.text);
        std::mem::take(&mut self.dropped)
    }
}

/// Lines that were taken out of recorders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Taken {
    #[serde(with = "serde_bytes")]
    text: Vec<u8>,
    /// Number of lines that found no room.
    dropped: u64,
}

impl Taken {
    /// Takes the lines of a recorder.
    pub(crate) fn take(&mut self, lines: &mut Lines) {
        self.dropped += lines.take(&mut self.text);
    }

    /// Adds the lines of another process.
    fn add(&mut self, other: &Self) {
        self.dropped += other.dropped;
        if self.text.len() + other.text.len() <= MOST_OF_ALL {
            self.text.extend_from_slice(&other.text);
        } else {
            self.dropped += other.text.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.dropped = 0;
    }
}

/// The log of a run that several processes play: their lines in one file.
pub(crate) struct MergedLog {
    waiting: Arc<Mutex<Taken>>,
    writer: LogWriter,
}

impl MergedLog {
    /// Creates the file, and begins to write.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let waiting = Arc::<Mutex<Taken>>::default();
        let source = Arc::clone(&waiting);
        let take = move |lines: &mut Taken| std::mem::swap(lines, &mut *source.lock());
        Ok(Self { waiting, writer: LogWriter::start(create(path)?, take)? })
    }

    /// Adds lines of a process.
    pub(crate) fn add(&self, lines: &Taken) {
        self.waiting.lock().add(lines);
    }

    /// Writes the last lines. Returns the reason why lines are missing.
    pub(crate) fn finish(self) -> Option<String> {
        self.writer.finish()
    }
}

/// Creates the file of a log with its first lines. Replaces an existing file.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut file = File::create(path)?;
    file.write_all(HEAD.as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

/// The thread that writes a log.
pub(crate) struct LogWriter {
    ending: Arc<Ending>,
    /// `None` once it is awaited.
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// Signal that the last lines are there.
#[derive(Default)]
struct Ending {
    is_near: Mutex<bool>,
    changed: Condvar,
}

impl Ending {
    /// Waits until the time of the next write. Returns true if it is the last one.
    fn wait(&self) -> bool {
        let mut is_near = self.is_near.lock();
        if !*is_near {
            self.changed.wait_for(&mut is_near, INTERVAL);
        }
        *is_near
    }

    fn announce(&self) {
        *self.is_near.lock() = true;
        self.changed.notify_all();
    }
}

impl LogWriter {
    /// Starts to write the lines that `take` adds to the ones that it gets.
    pub(crate) fn start(
        mut file: File,
        mut take: impl FnMut(&mut Taken) + Send + 'static,
    ) -> io::Result<Self> {
        let ending = Arc::new(Ending::default());
        let signal = Arc::clone(&ending);
        let write = move || {
            let mut lines = Taken::default();
            let mut written = Ok(());
            loop {
                let is_last = signal.wait();
                take(&mut lines);
                // After an error the lines are only taken, so that they don't fill the memory.
                if written.is_ok() {
                    written = match lines.dropped {
                        0 if lines.text.is_empty() => Ok(()),
                        0 => file.write_all(&lines.text).and_then(|()| file.sync_data()),
                        dropped => Err(stalled(dropped)),
                    };
                }
                lines.clear();
                if is_last {
                    return written;
                }
            }
        };
        let thread = std::thread::Builder::new().name("success-log".into()).spawn(write)?;
        Ok(Self { ending, thread: Some(thread) })
    }

    /// Writes the last lines, once the recorders are closed. Returns the reason why lines are missing.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.ending.announce();
        match self.thread.take()?.join() {
            Ok(written) => written.err().map(|error| error.to_string()),
            Err(_) => Some("its thread panicked; this is an error in Lydite".into()),
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.ending.announce();
    }
}

/// Returns the error of lines that found no room.
fn stalled(dropped: u64) -> io::Error {
    io::Error::other(format!("its disk stalled for so long that {dropped} lines found no room in memory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::{CustomerId, DistrictId, OrderId, WarehouseId};

    fn order(c_id: u32, o_id: Option<u64>) -> Logged {
        let (w_id, d_id, c_id) = (WarehouseId(1), DistrictId(2), CustomerId(c_id));
        Logged::NewOrder { w_id, d_id, c_id, o_id: o_id.map(OrderId) }
    }

    fn text(lines: &mut Lines) -> (String, u64) {
        let mut text = Vec::new();
        let dropped = lines.take(&mut text);
        (String::from_utf8(text).unwrap(), dropped)
    }

    #[test]
    fn transactions_without_an_answer_have_lines_of_unknown_outcome_unless_they_can_not_be_committed() {
        let mut lines = Lines::of_one(1);
        // Two sessions with equal inputs, and two pipelined commits of one session.
        for (session, customer) in [(0, 7), (1, 7), (2, 8), (2, 9), (3, 5), (4, 4)] {
            lines.begin(session, order(customer, None));
        }
        lines.end(1, order(7, None), Some(order(7, Some(3_001))));
        lines.end(3, order(5, None), None);
        lines.forget_last(4);
        assert_eq!(text(&mut lines), ("new_order 1 2 7 3001\n".into(), 0));
        lines.close();
        assert_eq!(text(&mut lines), ("new_order? 1 2 7\nnew_order? 1 2 8\nnew_order? 1 2 9\n".into(), 0));
        lines.close();
        assert_eq!(text(&mut lines), (String::new(), 0));
    }

    #[test]
    fn the_lines_of_several_processes_are_in_one_file_and_their_dropped_lines_break_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let part = |text: &str, dropped| Taken { text: text.into(), dropped };
        let log = MergedLog::create(&path).unwrap();
        log.add(&part("new_order 1 2 7 3001\n", 0));
        log.add(&part("new_order? 1 2 8\n", 0));
        assert_eq!(log.finish(), None);
        let written = std::fs::read_to_string(&path).unwrap();
        assert_eq!(written, format!("{HEAD}new_order 1 2 7 3001\nnew_order? 1 2 8\n"));
        let log = MergedLog::create(&path).unwrap();
        log.add(&part("new_order 1 2 7 3001\n", 0));
        log.add(&part("", 2));
        assert!(log.finish().unwrap().contains("2 lines found no room"));
    }

    #[test]
    fn a_stalled_disk_costs_bounded_memory_and_the_dropped_lines_are_counted() {
        let mut lines = Lines::of_one(1);
        let line = format!("{}\n", order(7, Some(3_001)));
        let fit = MOST_OF_ALL.div_ceil(line.len());
        for _ in 0..fit + 3 {
            lines.begin(0, order(7, None));
            lines.end(0, order(7, None), Some(order(7, Some(3_001))));
        }
        let (kept, dropped) = text(&mut lines);
        assert_eq!((kept.lines().count(), dropped), (fit, 3));
        assert_eq!(text(&mut lines), (String::new(), 0), "taken once");
    }
}
