//! redb: a copy-on-write B-tree in a file, one writer at a time, so serializable.

use crate::options::{Config, Durability, SYNC_EVERY};
use lydite_database::kv::{Access, Direction, Each, KeyRange, KvTable, Store, StoreError, StoreTx};
use lydite_database::{Committed, Description};
use redb::{
    Builder, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, Table,
    TableDefinition, WriteTransaction,
};
use self_cell::self_cell;
use std::ops::{Bound, ControlFlow};
use std::sync::Mutex;
use std::time::Instant;

type Bytes = &'static [u8];

fn definition(table: KvTable) -> TableDefinition<'static, Bytes, Bytes> {
    TableDefinition::new(table.name())
}

fn failed(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Failed(error.into().to_string())
}

/// An open database.
pub(crate) struct Redb {
    db: Database,
    durability: Durability,
    /// Of the last commit that was made durable. redb has no commits that become durable by and by: one is durable
    /// with all before it, or stays in memory until such a one comes.
    synced: Mutex<Instant>,
}

impl Redb {
    /// Whether the commit at hand is to be made durable; notes that it will be.
    fn must_sync(&self, access: Access) -> bool {
        if self.durability == Durability::Full && access != Access::Load {
            return true;
        }
        let mut synced = self.synced.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let due = synced.elapsed() >= SYNC_EVERY;
        if due {
            *synced = Instant::now();
        }
        due
    }
}

impl Store for Redb {
    type Config = Config;
    type Tx<'a> = RedbTx<'a>;
    type Pending = ();

    fn place(config: &Config) -> String {
        format!("redb {}", config.path.display())
    }

    fn describe(config: &Config) -> Result<Description, StoreError> {
        Ok(config.describe("redb", "serializable", true))
    }

    fn is_there(config: &Config) -> bool {
        config.path.exists()
    }

    fn open(config: &Config) -> Result<Self, StoreError> {
        let db = Builder::new().set_cache_size(config.cache_bytes).create(&config.path).map_err(failed)?;
        let transaction = db.begin_write().map_err(failed)?;
        for table in KvTable::ALL {
            transaction.open_table(definition(table)).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(Self { db, durability: config.durability, synced: Mutex::new(Instant::now()) })
    }

    fn begin(&self, access: Access) -> Result<RedbTx<'_>, StoreError> {
        let open = match access {
            Access::Read => Open::Reader(self.db.begin_read().map_err(failed)?, Default::default()),
            Access::Write | Access::Load => {
                let transaction = self.db.begin_write().map_err(failed)?;
                Open::Writer(Writer::new(transaction, |_| Tables::default()))
            }
        };
        Ok(RedbTx { store: self, access, open })
    }

    fn settle(&self, stage: &(dyn Fn(&str) + Sync)) -> Result<(), StoreError> {
        stage("making the rows durable");
        self.db.begin_write().map_err(failed)?.commit().map_err(failed)
    }
}

/// Tables that a transaction has opened: to open one is to find it by its name.
type Tables<'t> = [Option<Table<'t, Bytes, Bytes>>; KvTable::COUNT];

self_cell! {
    struct Writer {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: Tables,
    }
}

#[expect(clippy::large_enum_variant, reason = "a box would cost redb an allocation for each transaction")]
enum Open {
    Reader(ReadTransaction, [Option<ReadOnlyTable<Bytes, Bytes>>; KvTable::COUNT]),
    Writer(Writer),
}

/// See [`StoreTx`].
pub(crate) struct RedbTx<'a> {
    store: &'a Redb,
    access: Access,
    open: Open,
}

fn writable<'t, 's>(
    transaction: &'t WriteTransaction,
    tables: &'s mut Tables<'t>,
    table: KvTable,
) -> Result<&'s mut Table<'t, Bytes, Bytes>, StoreError> {
    match &mut tables[table.index()] {
        Some(open) => Ok(open),
        none => Ok(none.insert(transaction.open_table(definition(table)).map_err(failed)?)),
    }
}

fn readable<'s>(
    transaction: &ReadTransaction,
    tables: &'s mut [Option<ReadOnlyTable<Bytes, Bytes>>; KvTable::COUNT],
    table: KvTable,
) -> Result<&'s ReadOnlyTable<Bytes, Bytes>, StoreError> {
    match &mut tables[table.index()] {
        Some(open) => Ok(open),
        none => Ok(none.insert(transaction.open_table(definition(table)).map_err(failed)?)),
    }
}

fn get<R>(
    table: &impl ReadableTable<Bytes, Bytes>,
    key: &[u8],
    found: impl FnOnce(&[u8]) -> R,
) -> Result<Option<R>, StoreError> {
    Ok(table.get(key).map_err(failed)?.map(|value| found(value.value())))
}

fn scan_table(
    table: &impl ReadableTable<Bytes, Bytes>,
    range: KeyRange<'_>,
    direction: Direction,
    mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let bounds = (Bound::Included(range.from), range.below.map_or(Bound::Unbounded, Bound::Excluded));
    let mut entries = table.range::<&[u8]>(bounds).map_err(failed)?;
    loop {
        let entry = match direction {
            Direction::Forward => entries.next(),
            Direction::Backward => entries.next_back(),
        };
        let Some(entry) = entry else { return Ok(()) };
        let (key, value) = entry.map_err(failed)?;
        if each(key.value(), value.value()).is_break() {
            return Ok(());
        }
    }
}

impl RedbTx<'_> {
    fn write<R>(
        &mut self,
        table: KvTable,
        write: impl FnOnce(&mut Table<'_, Bytes, Bytes>) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        match &mut self.open {
            Open::Writer(writer) => {
                writer.with_dependent_mut(|transaction, tables| write(writable(transaction, tables, table)?))
            }
            Open::Reader(..) => Err(StoreError::Failed("a write in a transaction that only reads".into())),
        }
    }
}

impl StoreTx for RedbTx<'_> {
    type Pending = ();

    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        match &mut self.open {
            Open::Reader(transaction, tables) => get(readable(transaction, tables, table)?, key, found),
            Open::Writer(writer) => writer.with_dependent_mut(|transaction, tables| {
                get(writable(transaction, tables, table)?, key, found)
            }),
        }
    }

    fn modify<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<Option<R>, StoreError> {
        self.write(table, |table| {
            let Some(mut place) = table.get_mut(key).map_err(failed)? else { return Ok(None) };
            let mut value = place.value().to_vec();
            let changed = change(&mut value);
            place.insert(value.as_slice()).map_err(failed)?;
            Ok(Some(changed))
        })
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.write(table, |table| table.insert(key, value).map(|_| ()).map_err(failed))
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.write(table, |table| table.remove(key).map(|_| ()).map_err(failed))
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        match &mut self.open {
            Open::Reader(transaction, tables) => {
                scan_table(readable(transaction, tables, table)?, range, direction, each)
            }
            Open::Writer(writer) => writer.with_dependent_mut(|transaction, tables| {
                scan_table(writable(transaction, tables, table)?, range, direction, each)
            }),
        }
    }

    fn commit(self) -> Result<(), StoreError> {
        let Open::Writer(writer) = self.open else { return Ok(()) };
        // Closes the tables.
        let mut transaction = writer.into_owner();
        if !self.store.must_sync(self.access) {
            transaction.set_durability(redb::Durability::None).map_err(failed)?;
        }
        transaction.commit().map_err(|error| StoreError::Unavailable {
            committed: Committed::Unknown,
            detail: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_families::conformance;

    #[test]
    fn redb_gives_the_answers_and_leaves_the_rows_of_sqlite() {
        conformance::the_answers_and_the_rows_are_those_of_sqlite::<Redb>(Config::temporary(
            Durability::Relaxed,
        ));
    }

    #[test]
    fn fighting_sessions_keep_the_conditions_in_redb() {
        conformance::sessions_that_fight_for_one_warehouse_keep_the_conditions::<Redb>(Config::temporary(
            Durability::Relaxed,
        ));
    }
}
