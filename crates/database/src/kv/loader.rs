//! Loading: rows in batches; a note in `lydite_meta` marks a unit as complete.
//!
//! An interrupted load leaves rows of a unit without a note. A new load of the unit writes the same keys, so no old row
//! stays.

use crate::error::TargetError;
use crate::kv::any::{AnyPending, AnyStore, AnyTx};
use crate::kv::codec::KvRow;
use crate::kv::layout::{HistoryNumber, customer_by_name, history, order_by_customer};
use crate::kv::load_lock::LoadLockRef;
use crate::kv::meta;
use crate::kv::store::{Access, KvTable, Pending, StoreTx};
use crate::kv::store_error::StoreError;
use crate::load::{LoadProgress, LoadUnit, Loader};
use crate::load_rows::LoadRows;
use lydite_tpcc::population::RowWriter;
use lydite_tpcc::rows::{AnyRow, History, Row};
use lydite_tpcc::schema::Table;
use std::sync::Arc;
use std::time::Instant;

/// Size in bytes at which a transaction of a load is committed: large enough that commits cost little, small enough
/// that a store can hold several in memory.
const BATCH_BYTES: u64 = 1 << 20;

/// Loader of a store. See [`Loader`].
pub(crate) struct KvLoader {
    store: Arc<dyn AnyStore>,
    load_lock: LoadLockRef,
    place: String,
}

impl KvLoader {
    pub(crate) fn new(store: Arc<dyn AnyStore>, load_lock: LoadLockRef, place: String) -> Self {
        Self { store, load_lock, place }
    }

    fn fill(&self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), StoreError> {
        let mut batch = Batch {
            store: &*self.store,
            load_lock: &self.load_lock,
            tx: None,
            value: Vec::new(),
            begun: None,
            tables: [(0, 0); Table::ALL.len()],
            bytes: 0,
            history: 0,
            pending: Vec::new(),
            progress,
        };
        for &table in unit.tables() {
            rows.write_table(table, unit.warehouse(), &mut batch)?;
        }
        batch.commit()?;
        // The unit is complete only once all its rows are durable.
        batch.pending.into_iter().try_for_each(Pending::wait)?;
        let mut tx = self.store.begin_any(Access::Load)?;
        meta::note_loaded(&mut tx, unit)?;
        self.load_lock.check()?;
        tx.commit()?.wait()
    }
}

impl Loader for KvLoader {
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        self.fill(unit, rows, progress).map_err(|error| error.on_target(&format!("load {unit}"), &self.place))
    }
}

struct Batch<'a> {
    store: &'a dyn AnyStore,
    load_lock: &'a LoadLockRef,
    /// Transaction that the first row begins.
    tx: Option<AnyTx<'a>>,
    /// Reused buffer for values.
    value: Vec<u8>,
    /// Time of the first row of this transaction.
    begun: Option<Instant>,
    /// Rows and bytes of this transaction, in the order of the tables.
    tables: [(u64, u64); Table::ALL.len()],
    /// Bytes of this transaction.
    bytes: u64,
    /// Rows of HISTORY in this unit.
    history: u32,
    pending: Vec<AnyPending>,
    progress: &'a LoadProgress,
}

impl Batch<'_> {
    fn put(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.bytes += (key.len() + self.value.len()) as u64;
        let tx = match &mut self.tx {
            Some(tx) => tx,
            none => none.insert(self.store.begin_any(Access::Load)?),
        };
        tx.put(table, key, &self.value)
    }

    fn row<R: KvRow>(&mut self, row: &R) -> Result<(), StoreError> {
        row.encode(&mut self.value)?;
        self.put(R::KV_TABLE, &row.key())
    }

    fn index(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.value.clear();
        self.put(table, key)
    }

    fn history(&mut self, row: &History) -> Result<(), StoreError> {
        self.history += 1;
        let number = HistoryNumber { time: 0, session: self.history };
        row.encode(&mut self.value)?;
        self.put(history::TABLE, &number.key(row.w_id, row.d_id))
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if let Some(tx) = self.tx.take() {
            self.load_lock.check()?;
            self.pending.push(tx.commit()?);
        }
        if let Some(begun) = self.begun.take() {
            self.progress.batch(begun.elapsed());
        }
        for (table, (rows, bytes)) in Table::ALL.into_iter().zip(std::mem::take(&mut self.tables)) {
            if rows > 0 {
                self.progress.add_to(table, rows, bytes);
            }
        }
        self.bytes = 0;
        if self.progress.stopped() {
            return Err(StoreError::Failed("the load was interrupted".into()));
        }
        Ok(())
    }
}

impl RowWriter for Batch<'_> {
    type Error = StoreError;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), StoreError> {
        let before = self.bytes;
        self.begun.get_or_insert_with(Instant::now);
        match row.as_any() {
            AnyRow::Item(row) => self.row(row)?,
            AnyRow::Warehouse(row) => self.row(row)?,
            AnyRow::District(row) => self.row(row)?,
            AnyRow::Customer(row) => {
                self.row(row)?;
                self.index(customer_by_name::TABLE, &customer_by_name::key(row))?;
            }
            AnyRow::History(row) => self.history(row)?,
            AnyRow::Order(row) => {
                self.row(row)?;
                let key = order_by_customer::key(row.w_id, row.d_id, row.c_id, row.id);
                self.index(order_by_customer::TABLE, &key)?;
            }
            AnyRow::NewOrder(row) => self.row(row)?,
            AnyRow::OrderLine(row) => self.row(row)?,
            AnyRow::Stock(row) => self.row(row)?,
        }
        let (rows, bytes) = &mut self.tables[R::TABLE as usize];
        *rows += 1;
        *bytes += self.bytes - before;
        if self.bytes >= BATCH_BYTES { self.commit() } else { Ok(()) }
    }
}
