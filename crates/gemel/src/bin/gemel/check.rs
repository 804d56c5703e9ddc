//! `gemel check`: reads all of a database, and lists its parts and their faults.

use crate::arguments::Arguments;
use crate::failure::{DAMAGED, GOOD, Outcome};
use crate::listing::say;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let report = gemel::check(arguments.path())?;
    say(&format!("{report}\n"));
    Ok(if report.is_good() { GOOD } else { DAMAGED })
}
