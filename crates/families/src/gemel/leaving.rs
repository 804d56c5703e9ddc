//! The list of what Lydite has made in a database of Gemel, and its removal. A directory that then holds nothing is
//! deleted.

use super::{GemelStore, GemelTarget, micro_tables};
use crate::file_templates::{discard, note_of_link, real, size};
use ::gemel::{Database, Engine, Isolation, Result as GemelResult};
use lydite_database::kv::leaving::{Counted, is_ours};
use lydite_database::kv::{KvTable, Store, meta};
use lydite_database::lists::is_table_name as is_list;
use lydite_database::micro::is_table_name as is_micro;
use lydite_database::{Inventory, Leaving, Others, TargetError, Thing, ThingKind};
use std::ops::ControlFlow;
use std::path::Path;

/// The keyspaces of a database, with their entries counted.
struct Look {
    /// True if a note says that Lydite loaded TPC-C's tables.
    tpcc: bool,
    /// True if a note says that Lydite loaded the microbenchmark's.
    micro: bool,
    /// Keyspaces with names of Lydite's.
    keyspaces: Vec<(String, Engine, Counted)>,
    /// True if there is nothing else.
    alone: bool,
}

/// Returns the table of TPC-C with this name.
fn table_of(name: &str) -> Option<KvTable> {
    KvTable::ALL.into_iter().find(|table| table.name() == name)
}

/// True if Lydite makes keyspaces of this name.
fn concerns(name: &str) -> bool {
    table_of(name).is_some() || is_micro(name) || is_list(name) || micro_tables::is_notes(name)
}

impl Look {
    fn at(database: &Database) -> GemelResult<Self> {
        let typed = database.tables();
        let all = database.keyspaces();
        let is_typed = |name: &str| {
            typed.iter().any(|(table, _)| name == table || name.starts_with(&format!("{table}.")))
        };
        let named: Vec<_> =
            all.iter().filter(|(name, _)| concerns(name) && !is_typed(name)).cloned().collect();
        let notes_of = |name: &str| named.iter().find(|(known, _)| known == name);
        let tpcc = match notes_of(KvTable::Meta.name()) {
            Some((name, engine)) => {
                let keyspace = database.keyspace(name, *engine)?;
                let mut transaction = database.begin(Isolation::Snapshot)?;
                transaction.read(&keyspace, meta::STATE, meta::is_state)?.unwrap_or(false)
            }
            None => false,
        };
        let micro = micro_tables::has_notes(database)?;
        let alone = named.len() == all.len() && typed.is_empty();
        let mut look = Self { tpcc, micro, alone, keyspaces: Vec::with_capacity(named.len()) };
        for (name, engine) in named {
            let (marked, table) = (look.marked(&name), table_of(&name));
            let mut counted = Counted::default();
            micro_tables::all_entries(database, &database.keyspace(&name, engine)?, |key, value| {
                match table {
                    Some(table) => counted.count(table, key, value, marked),
                    // The microbenchmark and isolation checks have keyspaces of their own names.
                    None => counted.add(marked, key, value, |key| format!("of {} bytes", key.len())),
                }
                ControlFlow::Continue(())
            })?;
            look.keyspaces.push((name, engine, counted));
        }
        Ok(look)
    }

    /// True if entries of a keyspace of this name may be Lydite's.
    fn marked(&self, name: &str) -> bool {
        is_list(name) || if table_of(name).is_some() { self.tpcc } else { self.micro }
    }

    fn is_empty(&self) -> bool {
        self.alone && self.keyspaces.iter().all(|(.., counted)| *counted == Counted::default())
    }

    fn inventory(&self, path: &Path, others: &[String]) -> Inventory {
        let mut inventory = Inventory::default();
        for (name, _, counted) in &self.keyspaces {
            counted.list(name, self.marked(name), &mut inventory);
            if *counted == Counted::default() && (self.tpcc || self.micro || is_list(name)) {
                inventory.ours.push(Thing { rows: Some(0), ..Thing::new(ThingKind::Keys, name.as_str()) });
            }
        }
        let any = !inventory.ours.is_empty();
        if self.alone && others.is_empty() && any && inventory.stays.is_empty() {
            let bytes = size(&real(path));
            let directory = Thing::new(ThingKind::Directory, path.display().to_string());
            inventory.ours.push(Thing { bytes, ..directory });
            inventory.notes.extend(note_of_link(path));
        } else if any {
            let reason = "Lydite did not make it";
            inventory.stays.extend(others.iter().map(|name| Others::new(format!("file {name}"), reason)));
            inventory.notes.push(format!("the directory {} stays, since others use it", path.display()));
        } else if self.is_empty() && others.is_empty() {
            let path = path.display();
            inventory.notes.push(format!(
                "the database in {path} holds nothing: delete the directory if nobody needs it"
            ));
        }
        inventory
    }
}

impl GemelTarget {
    /// Looks at the database. Returns the files of others beside.
    fn look(&self, database: &Database) -> Result<(Look, Vec<String>), TargetError> {
        let failed = self.failed("look for what Lydite has made");
        let others = Database::foreign_entries(&self.config.path).map_err(&failed)?;
        Ok((Look::at(database).map_err(failed)?, others))
    }

    /// Removes what Lydite has written, the notes last.
    fn drop_keyspaces(&self, database: &Database, look: &Look) -> GemelResult<()> {
        if look.micro {
            micro_tables::note(database, &[("state", meta::DROPPING.to_owned())])?;
        }
        if look.tpcc
            && let Some((name, engine, _)) =
                look.keyspaces.iter().find(|(name, ..)| name == KvTable::Meta.name())
        {
            let keyspace = database.keyspace(name, *engine)?;
            let mut transaction = database.begin(Isolation::Snapshot)?;
            transaction.put(&keyspace, meta::STATE, meta::DROPPING.as_bytes())?;
            transaction.commit()?.wait()?;
        }
        let is_notes = |name: &str| name == KvTable::Meta.name() || micro_tables::is_notes(name);
        for notes in [false, true] {
            for (name, engine, counted) in look.keyspaces.iter().filter(|(name, ..)| is_notes(name) == notes)
            {
                let marked = look.marked(name);
                match (counted.others, table_of(name)) {
                    (0, _) if marked || counted.ours > 0 || look.tpcc || look.micro => {
                        database.drop_keyspace(name)?;
                    }
                    (1.., Some(table)) if counted.ours > 0 => {
                        let goes = |key: &[u8], value: &[u8]| is_ours(table, key, value, marked);
                        micro_tables::clear_of(database, name, *engine, goes)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Closes the database and deletes its directory.
    fn delete_directory(&self, database: Database) -> Result<(), TargetError> {
        // The targets of this URL share the open database.
        drop(self.config.opened.lock().take());
        database.close().map_err(self.failed("close the database"))?;
        discard(&self.config.path).map_err(|error| {
            let place = GemelStore::place(&self.config);
            TargetError::database(format!("{place}: delete the directory: {error}"))
        })
    }
}

impl Leaving for GemelTarget {
    fn inventory(&self) -> Result<Inventory, TargetError> {
        let Some(database) = self.database_if_there()? else { return Ok(Inventory::default()) };
        let (look, others) = self.look(&database)?;
        Ok(look.inventory(&self.config.path, &others))
    }

    fn remove(&self, seen: &Inventory) -> Result<(), TargetError> {
        let Some(database) = self.database_if_there()? else { return Ok(()) };
        let (look, others) = self.look(&database)?;
        let now = look.inventory(&self.config.path, &others);
        now.check_removal(seen, &GemelStore::place(&self.config))?;
        if now.ours.is_empty() {
            return Ok(());
        }
        if now.ours.iter().any(|thing| thing.kind == ThingKind::Directory) {
            return self.delete_directory(database);
        }
        self.drop_keyspaces(&database, &look).map_err(self.failed("remove the rows"))?;
        database.checkpoint().map_err(self.failed("write a checkpoint"))
    }
}
