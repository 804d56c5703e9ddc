//! The result file of deferred deliveries (clause 2.7.2.3): one JSON object a line.

use lydite_tpcc::transaction::Delivery;
use lydite_tpcc::{DistrictId, OrderId};
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Writes lines like `{"queued_us":…,"completed_us":…,"w_id":1,"o_carrier_id":7,"result":"committed",
/// "delivered":[[1,2101],…]}`. Times are microseconds since 1970 by the client's clock; `delivered` has the
/// D_ID and O_ID of each order, so skipped districts are those that are missing.
#[derive(Debug)]
pub(super) struct DeliveryLog {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: BufWriter<File>,
    lost_lines: u64,
    first_error: Option<io::Error>,
}

impl DeliveryLog {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(State { file, lost_lines: 0, first_error: None }),
        })
    }

    /// Writes a line. An error is kept for [`DeliveryLog::finish`]: the run is worth more than its log.
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
        let mut state = self.state.lock();
        if let Err(error) = state.file.write_all(line.as_bytes()) {
            state.lost_lines += 1;
            state.first_error.get_or_insert(error);
        }
    }

    /// Writes out what is buffered; the answer is a warning.
    pub(super) fn finish(&self) -> Option<String> {
        let mut state = self.state.lock();
        if let Err(error) = state.file.flush() {
            state.lost_lines += 1;
            state.first_error.get_or_insert(error);
        }
        let error = state.first_error.as_ref()?;
        Some(format!(
            "delivery log {}: {error}; {} lines or more are missing: is the disk full?",
            self.path.display(),
            state.lost_lines
        ))
    }
}

fn micros(time: SystemTime) -> u128 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_micros())
}
