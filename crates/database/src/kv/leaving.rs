//! The entries of a store that Lydite has written, and their removal. An entry is Lydite's if a note says that Lydite
//! loaded the store, and if its key and its value are those of a row: others may use the same names.

use crate::error::TargetError;
use crate::kv::any::{AnyStore, AnyTx};
use crate::kv::codec::{KeyPart, KvRow};
use crate::kv::lists;
use crate::kv::meta;
use crate::kv::store::{Access, Direction, KeyRange, KvTable, Pending, Store, StoreTx};
use crate::kv::store_error::StoreError;
use crate::kv::target::KvTarget;
use crate::leaving::{Inventory, Leaving, Others, Thing, ThingKind};
use crate::target::Target;
use lydite_tpcc::{CustomerId, DistrictId, OrderId, WarehouseId, rows};
use std::ops::ControlFlow;

/// Entries that are deleted in one transaction.
const DELETED_AT_ONCE: usize = 1_000;
/// Bytes behind the prefix of a key of HISTORY.
const HISTORY_NUMBER: usize = 11;

/// Entries of a table: those of Lydite's, and those of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Entries of Lydite's.
    pub ours: u64,
    /// Bytes of these: keys and values.
    pub bytes: u64,
    /// Entries of others.
    pub others: u64,
    /// The first key of others, in words.
    pub example: Option<String>,
}

impl Counted {
    /// Counts an entry. `marked` is true if a note says that Lydite loaded the store.
    pub fn count(&mut self, table: KvTable, key: &[u8], value: &[u8], marked: bool) {
        self.add(is_ours(table, key, value, marked), key, value, words);
    }

    /// Counts an entry that is known as Lydite's or as somebody else's.
    pub fn add(&mut self, ours: bool, key: &[u8], value: &[u8], words: impl FnOnce(&[u8]) -> String) {
        if ours {
            self.ours += 1;
            self.bytes += (key.len() + value.len()) as u64;
        } else {
            self.others += 1;
            self.example.get_or_insert_with(|| words(key));
        }
    }

    /// Adds the table to a list.
    pub fn list(&self, table: &str, marked: bool, into: &mut Inventory) {
        if self.ours > 0 {
            let thing = Thing::new(ThingKind::Keys, table);
            into.ours.push(Thing { rows: Some(self.ours), bytes: Some(self.bytes), ..thing });
        }
        let Some(example) = &self.example else { return };
        let (count, notes) = (self.others, KvTable::Meta.name());
        let reason = if marked {
            format!("they have other keys or values than rows of Lydite's, as {example}")
        } else {
            format!("no note in {notes} says that Lydite wrote them, the first is {example}")
        };
        into.stays.push(Others::new(format!("{count} entries of {table}"), reason));
    }
}

/// Returns a key in words: as text if it is one, else in hexadecimal digits.
fn words(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.is_empty() && !text.contains(char::is_control) => format!("{text:?}"),
        _ => key.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// True if Lydite has written an entry. `marked` is true if a note says that Lydite loaded the store.
#[must_use]
pub fn is_ours(table: KvTable, key: &[u8], value: &[u8], marked: bool) -> bool {
    match table {
        KvTable::Meta => lists::is_ours(key) || (marked && meta::is_note(key)),
        _ => marked && is_row(table, key, value),
    }
}

/// True if an entry has the key and the value of a row, or of an entry of an index.
fn is_row(table: KvTable, key: &[u8], value: &[u8]) -> bool {
    match table {
        KvTable::Item => is_of::<rows::Item>(key, value),
        KvTable::Warehouse => is_of::<rows::Warehouse>(key, value),
        KvTable::District => is_of::<rows::District>(key, value),
        KvTable::Customer => is_of::<rows::Customer>(key, value),
        KvTable::History => {
            let prefix = key.len().checked_sub(HISTORY_NUMBER).and_then(|end| key.get(..end));
            prefix.is_some_and(|prefix| is_of::<rows::History>(prefix, value))
        }
        KvTable::Order => is_of::<rows::Order>(key, value),
        KvTable::NewOrder => is_of::<rows::NewOrder>(key, value),
        KvTable::OrderLine => is_of::<rows::OrderLine>(key, value),
        KvTable::Stock => is_of::<rows::Stock>(key, value),
        KvTable::CustomerByName => value.is_empty() && is_name(key).is_some(),
        KvTable::OrderByCustomer => value.is_empty() && is_customer(key).is_some(),
        KvTable::Meta => false,
    }
}

fn is_of<R: KvRow>(key: &[u8], value: &[u8]) -> bool {
    let mut again = Vec::with_capacity(value.len());
    R::decode(key, value)
        .is_ok_and(|row| row.key()[..] == *key && row.encode(&mut again).is_ok() && again == value)
}

/// Reads a key of customers by name: district, two texts with a zero behind each, customer.
fn is_name(mut key: &[u8]) -> Option<()> {
    WarehouseId::take(&mut key)?;
    DistrictId::take(&mut key)?;
    for _text in ["last", "first"] {
        let end = key.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(key.get(..end)?).ok()?;
        key = key.get(end + 1..)?;
    }
    CustomerId::take(&mut key)?;
    key.is_empty().then_some(())
}

/// Reads a key of orders by customer.
fn is_customer(mut key: &[u8]) -> Option<()> {
    WarehouseId::take(&mut key)?;
    DistrictId::take(&mut key)?;
    CustomerId::take(&mut key)?;
    OrderId::take(&mut key)?;
    key.is_empty().then_some(())
}

/// The entries of a store, counted.
struct Look {
    /// True if a note says that Lydite loaded the store.
    marked: bool,
    tables: Vec<(KvTable, Counted)>,
}

impl Look {
    fn at(tx: &mut AnyTx<'_>) -> Result<Self, StoreError> {
        let marked = tx.read(KvTable::Meta, meta::STATE, meta::is_state)?.unwrap_or(false);
        let mut tables = Vec::new();
        for table in KvTable::ALL {
            let mut counted = Counted::default();
            tx.scan(table, KeyRange::ALL, Direction::Forward, &mut |key, value| {
                counted.count(table, key, value, marked);
                ControlFlow::Continue(())
            })?;
            if counted != Counted::default() {
                tables.push((table, counted));
            }
        }
        Ok(Self { marked, tables })
    }

    fn inventory(&self) -> Inventory {
        let mut inventory = Inventory::default();
        for (table, counted) in &self.tables {
            counted.list(table.name(), self.marked, &mut inventory);
        }
        inventory
    }
}

/// Deletes the entries of a table that Lydite has written, and leaves those of others.
fn delete(store: &dyn AnyStore, table: KvTable, marked: bool) -> Result<(), StoreError> {
    let mut from: Vec<u8> = Vec::new();
    loop {
        let mut tx = store.begin_any(Access::Load)?;
        let mut keys: Vec<Vec<u8>> = Vec::new();
        tx.scan(table, KeyRange { from: &from, below: None }, Direction::Forward, &mut |key, value| {
            if is_ours(table, key, value, marked) {
                keys.push(key.to_vec());
            }
            if keys.len() < DELETED_AT_ONCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        for key in &keys {
            tx.delete(table, key)?;
        }
        tx.commit()?.wait()?;
        match keys.pop().filter(|_| keys.len() + 1 == DELETED_AT_ONCE) {
            Some(last) => from = last,
            None => return Ok(()),
        }
    }
}

impl<S: Store> Leaving for KvTarget<S> {
    fn inventory(&self) -> Result<Inventory, TargetError> {
        match self.store_if_there()? {
            Some(store) => Ok(self.look(&store)?.inventory()),
            None => Ok(Inventory::default()),
        }
    }

    fn remove(&self, seen: &Inventory) -> Result<(), TargetError> {
        let Some(store) = self.store_if_there()? else { return Ok(()) };
        let _alone = self.begin_load()?;
        let look = self.look(&store)?;
        look.inventory().check_removal(seen, &S::place(self.config()))?;
        let failed = self.failed("remove the rows");
        if look.marked {
            self.load_lock().check().and_then(|()| meta::note_dropping(&*store)).map_err(&failed)?;
        }
        // The notes go last: whatever is left after a stop is known as Lydite's.
        for notes in [false, true] {
            if notes && look.marked {
                self.check_gone(&store)?;
            }
            let now = |(table, counted): &&(KvTable, Counted)| {
                (*table == KvTable::Meta) == notes && counted.ours > 0
            };
            for (table, counted) in look.tables.iter().filter(now) {
                self.load_lock()
                    .check()
                    .and_then(|()| match counted.others {
                        0 => store.clear(*table),
                        _ => delete(&*store, *table, look.marked),
                    })
                    .map_err(&failed)?;
            }
        }
        Ok(())
    }
}

impl<S: Store> KvTarget<S> {
    fn look(&self, store: &S) -> Result<Look, TargetError> {
        let failed = self.failed("look for rows");
        let mut tx = store.begin_any(Access::Read).map_err(&failed)?;
        Look::at(&mut tx).map_err(failed)
    }

    /// Rejects the removal of the notes while there are rows: without a note nobody would know them as Lydite's.
    ///
    /// # Errors
    /// A session has written rows since they were removed. A store has no lock that keeps runs away.
    fn check_gone(&self, store: &S) -> Result<(), TargetError> {
        let look = self.look(store)?;
        let is_row = |(table, counted): &&(KvTable, Counted)| *table != KvTable::Meta && counted.ours > 0;
        match look.tables.iter().find(is_row) {
            None => Ok(()),
            Some((table, counted)) => Err(TargetError::database(format!(
                "{}: a run still writes ({} entries of {} since their removal): end it, then run the command again",
                S::place(self.config()),
                counted.ours,
                table.name()
            ))),
        }
    }
}
