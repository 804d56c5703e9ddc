//! `gemel move`: moves a table with its indexes, or a keyspace, to the other engine.

use crate::arguments::Arguments;
use crate::failure::{GOOD, Outcome};
use crate::listing::say;
use gemel::{Database, Engine, Error, Options};

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let texts = arguments.texts(1)?;
    let (name, engine) = match texts[..] {
        [name, "memory"] => (name, Engine::Memory),
        [name, "disk"] => (name, Engine::Disk),
        [_, engine] => return Err(arguments.misused(&format!("{engine} is no engine: use memory or disk"))),
        _ => return Err(arguments.misused("name a table and an engine")),
    };
    let db = Database::open_existing(arguments.path(), Options::default())?;
    let kind = if db.tables().iter().any(|(table, _)| table == name) {
        db.move_table(name, engine)?;
        "table"
    } else if db.keyspaces().iter().any(|(keyspace, _)| keyspace == name) {
        db.move_keyspace(name, engine)?;
        "keyspace"
    } else {
        return Err(Error::Usage(format!("there is no table or keyspace {name:?}")).into());
    };
    db.close()?;
    say(&format!("{kind} {name} is in the {} engine now\n", engine.name()));
    Ok(GOOD)
}
