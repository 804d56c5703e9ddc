//! `gemel check`: reads all of a database, and lists its parts and their faults.

use crate::arguments::Arguments;
use crate::failure::{DAMAGED, GOOD, Outcome};
use crate::listing::say;
use crate::parts;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let report = gemel::check(arguments.path()).map_err(|error| parts::cant_read(arguments.path(), error))?;
    say(&format!("{report}\n"));
    Ok(if report.is_good() { GOOD } else { DAMAGED })
}
