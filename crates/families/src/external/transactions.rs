//! Drivers that run the five transactions themselves. Lydite reads their tables back to check them.

use super::channel::{CallError, decode};
use super::messages::{
    Answer, Create, DeliveryRequest, LoadAnswer, NewOrderRequest, Note, Nothing, OrderStatusRequest,
    PaymentRequest, Read, RefusalKind, RowBuffer, StateAnswer, StockLevelRequest, Unit,
};
use super::pool::{Driver, Lease};
use super::store::abort_reason;
use lydite_database::kv::StoreError;
use lydite_database::kv::check::check;
use lydite_database::kv::checksum::checksums;
use lydite_database::kv::codec::KvRow;
use lydite_database::kv::columns::{Columns, FromColumns, Loose};
use lydite_database::kv::counts::counts;
use lydite_database::kv::meta;
use lydite_database::kv::reread::{halves, reread};
use lydite_database::kv::scan::RowSource;
use lydite_database::kv::session::now;
use lydite_database::kv::written::written;
use lydite_database::profile::asks_for_an_unused_item;
use lydite_database::{
    Committed, ConditionFinding, DatabaseState, FoundRows, HalfCounts, LedgerCounts, LoadProgress, LoadRows,
    LoadUnit, Loader, RowKeys, RowsLost, Session, TableChecksum, TargetError, TxError, Written,
};
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::RowWriter;
use lydite_tpcc::rows::{self, Row};
use lydite_tpcc::schema::Table;
use lydite_tpcc::transactions::{
    DeliveryOutcome, NewOrderOutcome, OrderStatusOutcome, PaymentOutcome, StockLevelOutcome,
};
use lydite_tpcc::{OrderId, Outcome, Standard, StandardOutcome, Transaction, TransactionKind, WarehouseId};
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Size in bytes at which a batch of rows is sent.
const BATCH_BYTES: usize = 256 << 10;
/// Prefix of a unit's note. The warehouse follows, 0 for ITEM.
const LOADED: &str = "loaded ";

/// A driver that runs the transactions. See the module.
pub(super) struct Transactions {
    driver: Arc<Driver>,
    /// True if checks must stop.
    stopped: AtomicBool,
}

impl Transactions {
    pub(super) fn new(driver: Arc<Driver>) -> Self {
        Self { driver, stopped: AtomicBool::new(false) }
    }

    fn lease(&self) -> Result<Lease, TargetError> {
        self.driver.lease().map_err(TargetError::unreachable)
    }

    fn ask(&self, doing: &str, what: &'static str, with: &impl serde::Serialize) -> Result<(), TargetError> {
        match self.lease()?.call::<Nothing>(what, with) {
            Ok(Nothing {}) => Ok(()),
            Err(error) => Err(self.driver.on_target(doing, &error)),
        }
    }

    pub(super) fn contents(&self) -> Result<StateAnswer, TargetError> {
        let answer = self.lease()?.call("state", &Nothing {});
        answer.map_err(|error| self.driver.on_target("read the state", &error))
    }

    /// Checks that an interrupted load can be resumed.
    pub(super) fn admit_resume(&self) -> Result<(), TargetError> {
        if self.contents()?.resumes {
            return Ok(());
        }
        Err(TargetError::usage(format!(
            "{}: rows of an unfinished warehouse are in the database, and this driver can't take them back: load again \
             with --fresh",
            self.driver.config.place
        )))
    }

    pub(super) fn state(&self) -> Result<DatabaseState, TargetError> {
        let StateAnswer { tables, notes, .. } = self.contents()?;
        if notes.is_empty() {
            return Ok(if tables.is_empty() {
                DatabaseState::Empty
            } else {
                DatabaseState::Foreign { tables }
            });
        }
        let units: Vec<u32> =
            notes.keys().filter_map(|name| name.strip_prefix(LOADED)).flat_map(str::parse).collect();
        Ok(meta::from_notes(&notes, &units).unwrap_or_else(|error| DatabaseState::Partial {
            tables,
            problem: error.to_string(),
            meta: meta::meta(&notes).ok().map(Box::new),
        }))
    }

    pub(super) fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        if self.state()? != DatabaseState::Empty {
            return Err(TargetError::usage(format!(
                "{}: there are tables already, which may be somebody else's: name another database; if nobody needs them, \
                 --fresh drops them with all their rows",
                self.driver.config.place
            )));
        }
        let state = ("state", "loading".to_string());
        let notes = meta::notes(meta).into_iter().chain([state]).collect();
        self.ask("create the tables", "create", &Create { notes })
    }

    pub(super) fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        Ok(Box::new(DriverLoader(self.lease()?)))
    }

    pub(super) fn finish_load(&self, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        stage("finishing");
        let mut lease = self.lease()?;
        lease
            .call_watched::<Nothing>("finish", &Nothing {}, &|doing, _| stage(doing))
            .and_then(|Nothing {}| lease.call("note", &Note { name: "state", value: "ready" }))
            .map(|Nothing {}| ())
            .map_err(|error| self.driver.on_target("finish the load", &error))
    }

    /// Returns the description of the loaded database.
    fn loaded(&self) -> Result<DatabaseMeta, TargetError> {
        match self.state()? {
            DatabaseState::Ready { meta } => Ok(meta),
            _ => Err(TargetError::usage(format!(
                "{}: the database is not loaded: use lydite load",
                self.driver.config.place
            ))),
        }
    }

    pub(super) fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError> {
        let loaded = self.loaded()?;
        meta::unnoted(kinds, &loaded).try_for_each(|name| {
            self.ask("note the transactions to play", "note", &Note { name, value: meta::PLAYED })
        })
    }

    pub(super) fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        self.loaded()?;
        Ok(Box::new(DriverSession(self.lease()?)))
    }

    pub(super) fn reset(&self) -> Result<(), TargetError> {
        self.ask("drop the tables", "drop", &Nothing {})
    }

    pub(super) fn stop_work(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        let meta = self.loaded()?;
        let findings =
            self.reading("check the conditions", meta.warehouses, |source| check(source, &meta, conditions))?;
        findings.iter().for_each(done);
        Ok(findings)
    }

    pub(super) fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        self.reading("read the tables", 0, |source| checksums(source))
    }

    pub(super) fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        self.reading("count orders and payments", 0, |source| counts(source, warehouses))
    }

    pub(super) fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        self.reading("read orders and payments", 0, |source| written(source, warehouses, orders_from))
    }

    pub(super) fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError> {
        self.reading("read rows again", 0, |source| reread(source, keys))
    }

    pub(super) fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        self.reading("count both sides", 0, |source| halves(source, warehouses, loaded_orders))
    }

    /// Reads tables on one snapshot, if the driver has snapshots.
    fn reading<R>(
        &self,
        doing: &str,
        warehouses: u32,
        read: impl FnOnce(&mut Reader<'_>) -> Result<R, StoreError>,
    ) -> Result<R, TargetError> {
        let mut lease = self.lease()?;
        let failed = |error: &CallError| self.driver.on_target(doing, error);
        lease.call::<Nothing>("snapshot", &Nothing {}).map_err(|error| failed(&error))?;
        let mut source = Reader { lease: &mut lease, target: self, warehouses, more: None };
        let read = read(&mut source).map_err(|error| error.on_target(doing, &self.driver.config.place));
        match lease.call::<Nothing>("release", &Nothing {}) {
            Ok(Nothing {}) => read,
            Err(error) => {
                lease.spoiled = true;
                read.and(Err(failed(&error)))
            }
        }
    }
}

/// The tables, read back from the driver.
struct Reader<'a> {
    lease: &'a mut Lease,
    target: &'a Transactions,
    /// Number of loaded warehouses.
    warehouses: u32,
    /// Loaded warehouses and those of the table WAREHOUSE; `None` before the first read.
    more: Option<BTreeSet<WarehouseId>>,
}

/// Rows of one answer, and a flag that is true if more follow.
#[derive(Deserialize)]
struct Batch<'a> {
    #[serde(borrow)]
    rows: Vec<Vec<Loose<'a>>>,
    more: bool,
}

/// Typed rows of one answer, and a flag that is true if more follow.
type TypedBatch<R> = (Vec<R>, bool);

fn typed<R: Row + FromColumns>(body: &[u8]) -> Result<Answer<TypedBatch<R>>, String> {
    let Answer { id, ok, error, alive, stored } = decode::<Batch<'_>>(body)?;
    let ok = match ok {
        None => None,
        Some(Batch { rows, more }) => {
            let row = |(number, values): (usize, Vec<Loose<'_>>)| {
                Columns::new(R::TABLE, &values)
                    .and_then(|mut columns| R::from_columns(&mut columns))
                    .map_err(|why| format!("row {number} of {}: {why}", R::TABLE.name()))
            };
            Some((rows.into_iter().enumerate().map(row).collect::<Result<_, _>>()?, more))
        }
    };
    Ok(Answer { id, ok, error, alive, stored })
}

impl Reader<'_> {
    fn failed(&self, error: &CallError) -> StoreError {
        let words = self.target.driver.words(error);
        match error {
            CallError::Lost(_) => StoreError::Unavailable { committed: Committed::No, detail: words },
            _ => StoreError::Failed(words),
        }
    }

    fn batch<R: Row + FromColumns>(
        &mut self,
        what: &'static str,
        with: &impl serde::Serialize,
    ) -> Result<TypedBatch<R>, StoreError> {
        let sent = self.lease.ask(what, |bytes| {
            rmp_serde::encode::write_named(bytes, with)
                .map_err(|error| CallError::Malformed(error.to_string()))
        });
        sent.and_then(|()| self.lease.answer(what, &|_, _| (), typed::<R>))
            .map_err(|error| self.failed(&error))
    }
}

impl RowSource for Reader<'_> {
    /// Returns the next warehouse: a loaded one, or another one that WAREHOUSE contains.
    fn next_warehouse(
        &mut self,
        _tables: &[Table],
        last: Option<WarehouseId>,
    ) -> Result<Option<WarehouseId>, StoreError> {
        if self.more.is_none() {
            let mut found: BTreeSet<WarehouseId> = (1..=self.warehouses).map(WarehouseId).collect();
            self.rows(None, |row: &rows::Warehouse| {
                found.insert(row.id);
            })?;
            self.more = Some(found);
        }
        let from = last.map_or(WarehouseId(0), |last| WarehouseId(last.0.saturating_add(1)));
        Ok(self.more.as_ref().and_then(|found| found.range(from..).next().copied()))
    }

    fn rows<R: KvRow + FromColumns>(
        &mut self,
        of: Option<WarehouseId>,
        mut each: impl FnMut(&R),
    ) -> Result<(), StoreError> {
        let request = Read { table: R::TABLE.name(), w_id: of.map(|w_id| w_id.0) };
        let (mut rows, mut more) = self.batch::<R>("read", &request)?;
        loop {
            rows.iter().for_each(&mut each);
            if !more {
                return Ok(());
            }
            if self.target.stopped.load(Ordering::Relaxed) {
                let Nothing {} = self.lease.call("stop", &Nothing {}).map_err(|error| self.failed(&error))?;
                return Err(StoreError::Failed("the check was stopped".into()));
            }
            (rows, more) = self.batch::<R>("next", &Nothing {})?;
        }
    }
}

/// Loader that sends rows. A unit is noted once the driver has stored it.
struct DriverLoader(Lease);

impl Loader for DriverLoader {
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        let driver = Arc::clone(self.0.driver());
        let doing = format!("load {unit}");
        match self.fill(unit, rows, progress) {
            Ok(()) => Ok(()),
            Err(FillError::Rows(lost)) => {
                self.0.spoiled = self.0.call::<Nothing>("load_abort", &Nothing {}).is_err();
                Err(lost.into())
            }
            Err(FillError::Interrupted) => {
                self.0.spoiled = self.0.call::<Nothing>("load_abort", &Nothing {}).is_err();
                Err(TargetError::database(format!(
                    "{}: {doing}: the load was interrupted",
                    driver.config.place
                )))
            }
            Err(FillError::Call(error)) => {
                // An error ends the unit on the driver's side too. After a malformed answer the connection ends.
                self.0.spoiled = matches!(error, CallError::Malformed(_));
                Err(driver.on_target(&doing, &error))
            }
        }
    }
}

/// Reason why a unit was not loaded.
enum FillError {
    Interrupted,
    Call(CallError),
    /// A file of rows can't be read.
    Rows(RowsLost),
}

impl From<RowsLost> for FillError {
    fn from(lost: RowsLost) -> Self {
        Self::Rows(lost)
    }
}

impl From<CallError> for FillError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl DriverLoader {
    fn fill(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), FillError> {
        let w_id = unit.warehouse().0;
        let Nothing {} = self.0.call("load_begin", &Unit { w_id })?;
        let kept = Kept::default();
        for &table in unit.tables() {
            let columns = table.schema().columns.len() as u32;
            let (lease, kept) = (&mut self.0, &kept);
            let mut sender = Sender { lease, table, columns, buffer: RowBuffer::default(), progress, kept };
            rows.write_table(table, unit.warehouse(), &mut sender)?;
            sender.send()?;
        }
        let Nothing {} = self.0.call_watched("load_end", &Unit { w_id }, &|_, stored| {
            kept.store(stored, progress);
        })?;
        kept.store(u64::MAX, progress);
        let name = format!("{LOADED}{w_id}");
        let Nothing {} = self.0.call("note", &Note { name: &name, value: "" })?;
        Ok(())
    }
}

/// Rows of a unit that the driver has received and not stored yet. Each entry has a table and its numbers of rows and
/// bytes, in the order in which they were sent.
#[derive(Default)]
struct Kept(RefCell<VecDeque<(Table, u64, u64)>>);

impl Kept {
    fn add(&self, table: Table, rows: u64, bytes: u64) {
        let mut all = self.0.borrow_mut();
        match all.back_mut() {
            Some((last, kept, size)) if *last == table => {
                *kept += rows;
                *size += bytes;
            }
            _ => all.push_back((table, rows, bytes)),
        }
    }

    /// Counts that many of them, at most all, as loaded. Each has an equal share of the bytes of its table.
    fn store(&self, rows: u64, progress: &LoadProgress) {
        let (mut all, mut left) = (self.0.borrow_mut(), rows);
        while let Some((table, kept, bytes)) = all.front_mut().filter(|_| left > 0) {
            let rows = left.min(*kept);
            let share =
                (u128::from(*bytes) * u128::from(rows)).checked_div(u128::from(*kept)).unwrap_or(0) as u64;
            *kept -= rows;
            *bytes -= share;
            left -= rows;
            progress.add_to(*table, rows, share);
            if *kept == 0 {
                all.pop_front();
            }
        }
    }
}

struct Sender<'a> {
    lease: &'a mut Lease,
    table: Table,
    columns: u32,
    buffer: RowBuffer,
    progress: &'a LoadProgress,
    kept: &'a Kept,
}

impl Sender<'_> {
    /// Sends the waiting rows, if any.
    fn send(&mut self) -> Result<(), FillError> {
        let RowBuffer { bytes, rows } = &mut self.buffer;
        if *rows == 0 {
            return Ok(());
        }
        let (table, length, begun) = (self.table.name(), bytes.len(), Instant::now());
        self.lease.ask("load", |message| {
            // Writing to memory can't fail.
            let _infallible = rmp::encode::write_map_len(message, 2);
            let _infallible = rmp::encode::write_str(message, "table");
            let _infallible = rmp::encode::write_str(message, table);
            let _infallible = rmp::encode::write_str(message, "rows");
            let _infallible = rmp::encode::write_array_len(message, *rows);
            message.append(bytes);
            Ok(())
        })?;
        let LoadAnswer { kept } = self.lease.answer("load", &|_, _| (), |body| decode(body))?;
        let rows = u64::from(std::mem::take(rows));
        if kept {
            self.kept.add(self.table, rows, length as u64);
        } else {
            self.progress.add_to(self.table, rows, length as u64);
        }
        self.progress.batch(begun.elapsed());
        if self.progress.stopped() { Err(FillError::Interrupted) } else { Ok(()) }
    }
}

impl RowWriter for Sender<'_> {
    type Error = FillError;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), FillError> {
        self.buffer.begin(self.columns);
        row.emit(&mut self.buffer);
        if self.buffer.bytes.len() >= BATCH_BYTES { self.send() } else { Ok(()) }
    }
}

/// One session.
struct DriverSession(Lease);

impl Session for DriverSession {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        let lease = &mut self.0;
        let Transaction::Standard(standard) = transaction else {
            // The plan's demand was checked before: `Target::admit`.
            return Err(TxError::Fatal(format!(
                "{}: a driver that plays the transactions itself has no {}",
                lease.driver().config.place,
                transaction.kind().title()
            )));
        };
        ask(lease, standard)
            .and_then(|outcome| self.sensible(standard, outcome))
            .map(Outcome::Standard)
            .map_err(|error| self.failed(transaction, error))
    }
}

/// Sends a transaction to the driver, and reads its answer.
fn ask(lease: &mut Lease, transaction: &Standard) -> Result<StandardOutcome, CallError> {
    let now = now();
    Ok(match transaction {
        Standard::NewOrder(input) => {
            lease.call::<NewOrderOutcome>("new_order", &NewOrderRequest::new(input, now))?.into()
        }
        Standard::Payment(input) => {
            Box::new(lease.call::<PaymentOutcome>("payment", &PaymentRequest::new(input, now))?).into()
        }
        Standard::OrderStatus(input) => {
            lease.call::<OrderStatusOutcome>("order_status", &OrderStatusRequest::new(input))?.into()
        }
        Standard::Delivery(input) => {
            lease.call::<DeliveryOutcome>("delivery", &DeliveryRequest::new(input, now))?.into()
        }
        Standard::StockLevel(input) => {
            lease.call::<StockLevelOutcome>("stock_level", &StockLevelRequest::new(input))?.into()
        }
    })
}

impl DriverSession {
    /// Rejects an answer whose parts can't belong to the transaction.
    fn sensible(
        &self,
        transaction: &Standard,
        outcome: StandardOutcome,
    ) -> Result<StandardOutcome, CallError> {
        if let (Standard::NewOrder(input), StandardOutcome::NewOrder(order)) = (transaction, &outcome)
            && input.lines.len() != order.lines.len()
        {
            return Err(CallError::Malformed(format!(
                "{}: the answer to new_order has a wrong shape: lines has {} lines instead of {}",
                self.0.driver().config.place,
                order.lines.len(),
                input.lines.len()
            )));
        }
        Ok(outcome)
    }

    fn failed(&self, transaction: &Transaction, error: CallError) -> TxError {
        let words = self.0.driver().words(&error);
        match error {
            // The transaction was sent, and the driver commits by itself.
            CallError::Lost(detail) => TxError::Unavailable { committed: Committed::Unknown, detail },
            // The driver has committed, and its answer was not understood. A read-only transaction has nothing to
            // commit.
            CallError::Malformed(detail) if transaction.kind().only_reads() => TxError::Fatal(detail),
            CallError::Malformed(detail) => TxError::Unavailable { committed: Committed::Unknown, detail },
            CallError::Refused(refusal) => match (refusal.kind, &refusal.order) {
                (RefusalKind::Aborted, _) => {
                    TxError::Aborted { reason: abort_reason(refusal.reason), detail: refusal.words() }
                }
                (RefusalKind::RolledBack, Some(order)) if asks_for_an_unused_item(transaction) => {
                    TxError::RolledBack(Box::new(order.clone()))
                }
                (RefusalKind::RolledBack, Some(_)) => TxError::wrong_rows(format!(
                    "{}: it rolled back an order without an unused item: run lydite check",
                    self.0.driver().config.place
                )),
                (RefusalKind::RolledBack, None) => TxError::Fatal(format!(
                    "{}: its rollback names no order: send o_id, c_last and c_credit",
                    self.0.driver().config.place
                )),
                (RefusalKind::Unavailable, _) => {
                    TxError::Unavailable { committed: refusal.committed(), detail: words }
                }
                (RefusalKind::Unsupported | RefusalKind::Fatal, _) => TxError::of_message(words),
            },
        }
    }
}
