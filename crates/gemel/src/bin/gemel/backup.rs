//! `gemel backup`: copies a database, which another process may have open.

use crate::arguments::Arguments;
use crate::failure::{GOOD, Outcome};
use crate::listing::{say, tell};
use gemel::BackupProgress;
use std::time::{Duration, Instant};

/// Interval between lines about a backup's progress.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let mut reported = Instant::now();
    let report = gemel::backup(arguments.path(), arguments.at(1), |progress| match progress {
        BackupProgress::Asked => {
            tell("another process has the database open: waiting for its backup (Ctrl-C gives it up)");
        }
        BackupProgress::Copied(report) if reported.elapsed() >= REPORT_EVERY => {
            reported = Instant::now();
            tell(&format!("{} bytes copied, {} bytes kept", report.bytes_copied, report.bytes_kept));
        }
        _ => {}
    })?;
    say(&format!("{report}\n"));
    Ok(GOOD)
}
