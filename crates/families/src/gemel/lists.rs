//! The workload of isolation checks on Gemel: a keyspace in the memory engine and one in the disk engine.

use super::{GemelStore, GemelTarget, store_error};
use ::gemel::{Database, Direction, Engine, Isolation, Keyspace, Transaction};
use lydite_database::kv::lists::{Entries, play};
use lydite_database::kv::{Store, StoreError};
use lydite_database::lists::{check_none, table_name};
use lydite_database::{ListKey, ListTarget, ListTransaction, Lists, Session, TargetError, TxError};
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

/// Engines of the keyspaces, by place.
const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];

impl ListTarget for GemelTarget {
    fn places(&self) -> Result<Vec<String>, TargetError> {
        Ok(ENGINES.map(|engine| engine.name().to_string()).into())
    }

    fn create_lists(&self) -> Result<(), TargetError> {
        let database = self.database()?;
        let there = database.keyspaces();
        check_none(&GemelStore::place(&self.config), there.iter().map(|(name, _)| name.as_str()))?;
        keyspaces(&database).map(drop).map_err(self.failed("prepare the isolation check"))
    }

    fn connect_lists(&self, _longest_wait: Duration) -> Result<Box<dyn Session<Lists>>, TargetError> {
        let database = self.database()?;
        let keyspaces = keyspaces(&database).map_err(self.failed("open the keyspaces"))?;
        Ok(Box::new(GemelLists { database, keyspaces, isolation: self.config.isolation }))
    }

    fn drop_lists(&self) -> Result<(), TargetError> {
        let Some(database) = self.database_if_there()? else { return Ok(()) };
        let there = database.keyspaces();
        (0..ENGINES.len())
            .map(table_name)
            .filter(|name| there.iter().any(|(known, _)| known == name))
            .try_for_each(|name| database.drop_keyspace(&name))
            .map_err(self.failed("drop the keyspaces of the isolation check"))
    }
}

fn keyspaces(database: &Database) -> ::gemel::Result<Vec<Keyspace>> {
    let named = |(place, engine): (usize, &Engine)| database.keyspace(&table_name(place), *engine);
    ENGINES.iter().enumerate().map(named).collect()
}

struct GemelLists {
    database: Database,
    keyspaces: Vec<Keyspace>,
    isolation: Isolation,
}

/// Entries of one transaction.
struct InGemel<'a> {
    transaction: &'a mut Transaction,
    keyspaces: &'a [Keyspace],
}

impl<'a> InGemel<'a> {
    fn at(&self, key: ListKey) -> (&'a Keyspace, [u8; 4]) {
        (&self.keyspaces[key.place as usize], key.number.to_be_bytes())
    }
}

impl Entries for InGemel<'_> {
    fn get(&mut self, key: ListKey) -> Result<Vec<u8>, StoreError> {
        let (keyspace, name) = self.at(key);
        Ok(self.transaction.get(keyspace, &name).map_err(store_error)?.unwrap_or_default())
    }

    fn append(&mut self, key: ListKey, more: &[u8]) -> Result<(), StoreError> {
        let (keyspace, name) = self.at(key);
        let append = |value: &mut Vec<u8>| value.extend_from_slice(more);
        if self.transaction.update(keyspace, &name, append).map_err(store_error)? {
            return Ok(());
        }
        self.transaction.put(keyspace, &name, more).map_err(store_error)
    }

    fn put(&mut self, key: ListKey, value: &[u8]) -> Result<(), StoreError> {
        let (keyspace, name) = self.at(key);
        self.transaction.put(keyspace, &name, value).map_err(store_error)
    }

    fn insert(&mut self, range: ListKey, row: [u8; 8], value: &[u8]) -> Result<(), StoreError> {
        let (keyspace, name) = self.at(range);
        self.transaction.put(keyspace, &[&name[..], &row].concat(), value).map_err(store_error)
    }

    fn scan(&mut self, range: ListKey) -> Result<Vec<u8>, StoreError> {
        let mut values = Vec::new();
        let (keyspace, name) = self.at(range);
        // No value is so large that its row lies behind.
        let behind = [&name[..], &[u8::MAX; 8]].concat();
        let (from, below) = (Bound::Included(&name[..]), Bound::Excluded(&behind[..]));
        self.transaction
            .scan(keyspace, from, below, Direction::Forward, |_, value| {
                values.extend_from_slice(value);
                ControlFlow::Continue(())
            })
            .map_err(store_error)?;
        Ok(values)
    }
}

impl Session<Lists> for GemelLists {
    fn execute(&mut self, transaction: &ListTransaction) -> Result<Vec<Vec<u64>>, TxError> {
        let failed = |error| store_error(error).in_transaction();
        let mut running = self.database.begin(self.isolation).map_err(failed)?;
        let mut entries = InGemel { transaction: &mut running, keyspaces: &self.keyspaces };
        let reads = play(&mut entries, transaction).map_err(StoreError::in_transaction)?;
        let ticket = running.commit().map_err(failed)?;
        ticket.wait().map_err(|error| store_error(error).in_wait())?;
        Ok(reads)
    }
}
