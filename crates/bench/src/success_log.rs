//! The success log: the New-Orders and Payments that the database acknowledged, one line each, in a file that reaches
//! the disk a moment later.
//!
//! A recorder takes the line under the lock that it has anyway. A thread of its own collects the lines, appends them to
//! the file, and waits for the disk, so no session does.

use crate::logged::HEAD;
use crate::recorder::Recorder;
use crate::worker::Shared;
use crate::workload::Runnable;
use parking_lot::{Condvar, Mutex};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two writes.
const INTERVAL: Duration = Duration::from_millis(100);

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
    thread: JoinHandle<io::Result<()>>,
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
}

impl LogWriter {
    /// Starts to write the lines of a run.
    pub(crate) fn start<W: Runnable>(mut file: File, shared: &Arc<Shared<W>>) -> io::Result<Self> {
        let (shared, ending) = (Arc::clone(shared), Arc::new(Ending::default()));
        let signal = Arc::clone(&ending);
        let write = move || {
            let mut lines = Vec::new();
            let mut written = Ok(());
            loop {
                let is_last = signal.wait();
                shared.recorders.iter().for_each(|recorder| take(&mut recorder.lock(), &mut lines));
                // After an error the lines are only taken, so that they don't fill the memory.
                if written.is_ok() && !lines.is_empty() {
                    written = file.write_all(&lines).and_then(|()| file.sync_data());
                }
                lines.clear();
                if is_last {
                    return written;
                }
            }
        };
        let thread = std::thread::Builder::new().name("success-log".into()).spawn(write)?;
        Ok(Self { ending, thread })
    }

    /// Writes the last lines, once the recorders are closed. Returns the reason why lines are missing.
    pub(crate) fn finish(self) -> Option<String> {
        *self.ending.is_near.lock() = true;
        self.ending.changed.notify_all();
        match self.thread.join() {
            Ok(written) => written.err().map(|error| error.to_string()),
            Err(_) => Some("its thread panicked; this is an error in Lydite".into()),
        }
    }
}

/// Moves the lines of a recorder to `lines`.
fn take<W: Runnable>(recorder: &mut Recorder<W>, lines: &mut Vec<u8>) {
    if let Some(log) = &mut recorder.log {
        lines.append(log);
    }
}
