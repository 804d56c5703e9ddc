//! `gemel compact`: merges the files of tables on disk.

use crate::arguments::{Arguments, Format};
use crate::failure::{GOOD, Outcome};
use crate::listing::say;
use crate::parts::{self, Part};
use crate::values::{escape, quote};
use gemel::{Engine, Options};

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let format = arguments.format(&[Format::Text, Format::Json])?;
    let given = arguments.texts(1)?;
    let db = parts::open_to_write(arguments.path(), Options::default())?;
    let mut names = Vec::new();
    if given.is_empty() {
        for name in parts::names(&db)? {
            if let Part::Table(_, Engine::Disk) | Part::Keyspace(_, Engine::Disk) = parts::find(&db, &name)? {
                names.push(name);
            }
        }
    }
    for name in given {
        // A name that does not exist is reported before anything is merged.
        parts::find(&db, name)?;
        names.push(name.to_owned());
    }
    let (mut before, mut after) = (0, 0);
    for name in &names {
        let done = db.compact(name)?;
        (before, after) = (before + done.bytes_before, after + done.bytes_after);
        // The work goes on if the reader of this line has gone.
        say(&match format {
            Format::Json => format!(
                "{{\"name\":{},\"bytes_before\":{},\"bytes_after\":{},\"is_complete\":{}}}\n",
                quote(name),
                done.bytes_before,
                done.bytes_after,
                done.is_complete
            ),
            _ => {
                let held =
                    if done.is_complete { "" } else { "; old versions stayed, for a transaction that runs" };
                let name = escape(name.as_bytes());
                format!("{name}: {} bytes before, {} after{held}\n", done.bytes_before, done.bytes_after)
            }
        });
    }
    if format == Format::Text && names.len() != 1 {
        let count = names.len();
        say(&format!("{count} tables and keyspaces on disk: {before} bytes before, {after} after\n"));
    }
    db.close()?;
    Ok(GOOD)
}
