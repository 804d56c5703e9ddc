//! The result file of deferred deliveries (clause 2.7.2.3): one JSON object per line.

use lydite_tpcc::transactions::Delivery;
use lydite_tpcc::{DistrictId, OrderId};
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

/// Writes lines like
/// `{"queued_us":…,"completed_us":…,"w_id":1,"o_carrier_id":7,"result":"committed", "delivered":[[1,2101],…]}`. Times
/// are microseconds since 1970 by the client's clock. `delivered` has the D_ID and O_ID of each order; skipped
/// districts are missing.
///
/// A thread of its own writes the lines: an answer may come on a thread of the database, which a file must not block.
#[derive(Debug)]
pub(super) struct DeliveryLog {
    path: PathBuf,
    /// `None` once the log is finished.
    lines: Mutex<Option<Sender<String>>>,
    writer: Mutex<Option<JoinHandle<Written>>>,
}

/// Failures to write the file.
#[derive(Debug, Default)]
struct Written {
    lost_lines: u64,
    first_error: Option<io::Error>,
}

impl Written {
    fn note(&mut self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            self.lost_lines += 1;
            self.first_error.get_or_insert(error);
        }
    }
}

impl DeliveryLog {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        let (lines, received) = channel::<String>();
        let writer = std::thread::Builder::new().name("delivery-log".into()).spawn(move || {
            let mut written = Written::default();
            for line in received {
                written.note(file.write_all(line.as_bytes()));
            }
            written.note(file.flush());
            written
        })?;
        Ok(Self { path: path.to_owned(), lines: Mutex::new(Some(lines)), writer: Mutex::new(Some(writer)) })
    }

    /// Queues a line. An error is kept for [`DeliveryLog::finish`], because the run is worth more than its log.
    pub(super) fn write(
        &self,
        delivery: &Delivery,
        queued: SystemTime,
        completed: SystemTime,
        result: &str,
        delivered: &[(DistrictId, OrderId)],
    ) {
        let mut line = format!(
            "{{\"queued_us\":{},\"completed_us\":{},\"w_id\":{},\"o_carrier_id\":{},\"result\":\"{result}\",\"delivered\":[",
            micros(queued),
            micros(completed),
            delivery.w_id,
            delivery.carrier_id,
        );
        for (index, (district, order)) in delivered.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing into a String cannot fail.
            let _ = write!(line, "{comma}[{district},{order}]");
        }
        line.push_str("]}\n");
        if let Some(lines) = &*self.lines.lock() {
            // The writer thread ends after the last sender.
            let _ = lines.send(line);
        }
    }

    /// Writes buffered lines. Returns a warning if a line could not be written.
    pub(super) fn finish(&self) -> Option<String> {
        drop(self.lines.lock().take());
        let writer = self.writer.lock().take()?;
        let Ok(written) = writer.join() else {
            return Some(format!(
                "delivery log {}: its thread panicked: lines are missing",
                self.path.display()
            ));
        };
        let error = written.first_error?;
        Some(format!(
            "delivery log {}: {error}; {} lines or more are missing: is the disk full?",
            self.path.display(),
            written.lost_lines
        ))
    }
}

fn micros(time: SystemTime) -> u128 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_micros())
}
