//! `gemel move`: moves a table with its indexes, or a keyspace, to the other engine.

use crate::arguments::Arguments;
use crate::failure::{GOOD, Outcome};
use crate::listing::say;
use crate::parts::{self, Part};
use crate::values::escape;
use gemel::{Engine, Options};

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let texts = arguments.texts(1)?;
    let (name, engine) = match texts[..] {
        [name, "memory"] => (name, Engine::Memory),
        [name, "disk"] => (name, Engine::Disk),
        [_, engine] => return Err(arguments.misused(&format!("{engine} is no engine: use memory or disk"))),
        _ => return Err(arguments.misused("name a table and an engine")),
    };
    let db = parts::open_to_write(arguments.path(), Options::default())?;
    let kind = match parts::find(&db, name)? {
        Part::Table(..) => {
            db.move_table(name, engine)?;
            "table"
        }
        Part::Keyspace(..) => {
            db.move_keyspace(name, engine)?;
            "keyspace"
        }
    };
    db.close()?;
    say(&format!("{kind} {} is in the {} engine now\n", escape(name.as_bytes()), engine.name()));
    Ok(GOOD)
}
