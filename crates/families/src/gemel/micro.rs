//! The microbenchmark on Gemel: a keyspace per table, half of them in the memory engine and half in the disk engine.
//!
//! A record's key is its number. The value is the counter (eight bytes, little-endian), followed by the text.

use super::micro_tables::{all_entries, keyspace, note};
use super::{GemelTarget, store_error};
use ::gemel::{Database, Error, Isolation, Keyspace, Result as GemelResult, Ticket};
use lydite_database::kv::session::OnItsWay;
use lydite_database::kv::{Pending, StoreError};
use lydite_database::micro::missing;
use lydite_database::{
    LoadProgress, Micro, MicroLoader, MicroTarget, Session, Submitted, TargetError, TxError,
};
use lydite_micro::{Access, Engines, Home, Meta, Outcome, TableId, Totals, Transaction};
use std::ops::ControlFlow;

/// Size in bytes at which a transaction of a load is committed.
const BATCH_BYTES: usize = 1 << 20;
/// Bytes of the counter.
const COUNTER: usize = 8;

fn counter(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

impl MicroTarget for GemelTarget {
    fn engines(&self) -> Engines {
        Engines::Two
    }

    fn create_tables(&self, meta: &Meta) -> Result<(), TargetError> {
        let database = self.database()?;
        let make = || {
            let mut notes = vec![("state", "loading".to_string())];
            notes.extend(meta.notes());
            note(&database, &notes)?;
            meta.data.all_tables(Engines::Two).try_for_each(|table| keyspace(&database, table).map(|_| ()))
        };
        make().map_err(self.failed("create the tables"))
    }

    fn table_loader(&self, meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError> {
        let failed = self.failed("load");
        Ok(Box::new(GemelTableLoader { database: self.database()?, meta: meta.clone(), failed }))
    }

    fn finish_tables(
        &self,
        _meta: &Meta,
        _jobs: usize,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError> {
        let database = self.database()?;
        stage("writing a checkpoint");
        database.checkpoint().map_err(self.failed("finish the load"))?;
        note(&database, &[("state", "ready".to_string())]).map_err(self.failed("note the end of the load"))
    }

    fn connect_micro(&self, meta: &Meta) -> Result<Box<dyn Session<Micro>>, TargetError> {
        let database = self.database()?;
        let handles = |home| -> Result<Vec<Keyspace>, TargetError> {
            (0..meta.data.tables)
                .map(|number| keyspace(&database, TableId { home, number }))
                .collect::<GemelResult<_>>()
                .map_err(self.failed("open the tables"))
        };
        let keyspaces = [handles(Home::Memory)?, handles(Home::Disk)?];
        let (isolation, pipelined) = (self.config.isolation, self.config.pipelined);
        Ok(Box::new(GemelMicroSession { database, keyspaces, isolation, pipelined }))
    }

    fn totals(&self, meta: &Meta, table: TableId) -> Result<Totals, TargetError> {
        let database = self.database()?;
        let (mut totals, bytes) = (Totals::default(), meta.data.text_bytes() as usize + COUNTER);
        let mut read = || {
            all_entries(&database, &keyspace(&database, table)?, |_, value| {
                totals.records += 1;
                totals.counters += counter(value).map_or(0, i128::from);
                totals.bad_texts += u64::from(value.len() != bytes);
                ControlFlow::Continue(())
            })
        };
        read().map_err(self.failed("check the records"))?;
        Ok(totals)
    }
}

struct GemelTableLoader<F> {
    database: Database,
    meta: Meta,
    failed: F,
}

impl<F: Fn(Error) -> TargetError> GemelTableLoader<F> {
    fn fill(&self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError> {
        let failed = &self.failed;
        let Meta { data, seed, .. } = self.meta;
        let keyspace = keyspace(&self.database, table).map_err(failed)?;
        let begin = || self.database.begin(Isolation::Snapshot).map_err(failed);
        let (mut batch, mut rows, mut bytes) = (Some(begin()?), 0, 0);
        let mut pending: Vec<Ticket> = Vec::new();
        let mut value = Vec::with_capacity(COUNTER + data.text_bytes() as usize);
        data.write_table(table, seed, |record, text| {
            value.clear();
            value.extend_from_slice(&0_u64.to_le_bytes());
            value.extend_from_slice(text.as_bytes());
            let transaction = match &mut batch {
                Some(transaction) => transaction,
                none => none.insert(begin()?),
            };
            transaction.put(&keyspace, &record.to_be_bytes(), &value).map_err(failed)?;
            (rows, bytes) = (rows + 1, bytes + value.len() + size_of::<u32>());
            if bytes < BATCH_BYTES {
                return Ok(());
            }
            if let Some(full) = batch.take() {
                pending.push(full.commit().map_err(failed)?);
            }
            progress.add(std::mem::take(&mut rows), std::mem::take(&mut bytes) as u64);
            match progress.stopped() {
                true => Err(TargetError::database("the load was interrupted")),
                false => Ok(()),
            }
        })?;
        if let Some(last) = batch.take() {
            pending.push(last.commit().map_err(failed)?);
        }
        progress.add(rows, bytes as u64);
        pending.into_iter().try_for_each(|ticket| ticket.wait().map_err(failed))
    }
}

impl<F: Fn(Error) -> TargetError + Send> MicroLoader for GemelTableLoader<F> {
    fn load(&mut self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError> {
        self.fill(table, progress)
    }
}

struct GemelMicroSession {
    database: Database,
    /// Keyspaces by [`Home`], then by number.
    keyspaces: [Vec<Keyspace>; 2],
    isolation: Isolation,
    pipelined: bool,
}

impl GemelMicroSession {
    fn play(&self, transaction: &Transaction) -> Result<(Outcome, super::GemelCommit), TxError> {
        let failed = |error| store_error(error).in_transaction();
        let gone = |access| TxError::wrong_rows(missing(Engines::Two, access));
        // For a read-only transaction, serializable costs more than a snapshot and gives no more.
        let isolation = match self.isolation {
            Isolation::Serializable if transaction.is_read_only() => Isolation::Snapshot,
            isolation => isolation,
        };
        let mut work = self.database.begin(isolation).map_err(failed)?;
        let mut outcome = Outcome::default();
        let at = |access: &Access| (self.keyspace(access.table), access.record.to_be_bytes());
        for access in transaction.reads() {
            let (keyspace, key) = at(access);
            let read = work.read(keyspace, &key, |value| {
                let text = value.get(COUNTER..).unwrap_or_default();
                // The text is read, as any use of it would.
                std::hint::black_box(text.last());
                (counter(value), text.len() as u64)
            });
            let (counter, text_bytes) = read.map_err(failed)?.ok_or_else(|| gone(access))?;
            outcome.counters = outcome.counters.wrapping_add(counter.unwrap_or(0));
            outcome.text_bytes += text_bytes;
        }
        for access in transaction.updates() {
            let (keyspace, key) = at(access);
            let found = work.update(keyspace, &key, |value| {
                if let Some(bytes) = value.first_chunk_mut::<COUNTER>() {
                    *bytes = u64::from_le_bytes(*bytes).wrapping_add(1).to_le_bytes();
                }
            });
            if !found.map_err(failed)? {
                return Err(gone(access));
            }
        }
        let ticket = work.commit().map_err(failed)?;
        Ok((outcome, super::GemelCommit { ticket, pipelined: self.pipelined }))
    }

    fn keyspace(&self, table: TableId) -> &Keyspace {
        &self.keyspaces[table.home as usize][table.number as usize]
    }
}

impl Session<Micro> for GemelMicroSession {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        let (outcome, pending) = self.play(transaction)?;
        pending.wait().map_err(StoreError::in_wait)?;
        Ok(outcome)
    }

    fn submit(&mut self, transaction: &Transaction) -> Result<Submitted<Micro>, TxError> {
        let (outcome, pending) = self.play(transaction)?;
        OnItsWay::submitted(outcome, pending)
    }

    fn hurry(&mut self) {
        self.database.hurry();
    }
}
