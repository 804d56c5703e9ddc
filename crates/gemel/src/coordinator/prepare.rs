//! Prepared transactions: a commit in two steps (`DESIGN.md`, "Prepared transactions").
//!
//! Preparing does all of a commit that can fail for a reason of other transactions: it locks the writes and validates
//! the reads. The locks stay, and so does the protection of the reads, until the decision, which draws the timestamps.

use super::{
    Coordinator, Entered, Failure, Part, Unwinding, failure, groups_of, note_writes, parts_of, stamps_of,
};
use crate::error::Result;
use crate::files::fail_point;
use crate::ids::MAX_ENGINES;
use crate::logs::AloneRecord;
use crate::options::CommitStamps;
use crate::order::active::Count;
use crate::prepared::{Draft, Entry, Found, Reads, Work, check_name, unknown};
use crate::record::{encode_prepared, encode_roll_back};
use crate::ticket::Ticket;
use crate::transaction::{Seen, Transaction};
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns what a transaction has read and must still be current at its commit.
fn reads_of(seen: &[Seen]) -> Reads {
    let mut reads = Reads::default();
    for seen in seen {
        match seen {
            Seen::Key { engine, keyspace, key, .. } => reads.add_key(*engine, *keyspace, key.clone()),
            Seen::Range { engine, keyspace, range, .. } if !range.is_empty() => {
                reads.add_range(*engine, *keyspace, range.clone());
            }
            Seen::Range { .. } => {}
        }
    }
    reads
}

/// Returns the draft of an entry with these parts.
fn draft<'n>(name: &'n str, transaction: u64, at_us: u64, parts: &[Part], reads: Reads) -> Draft<'n> {
    let writes = || parts.iter().flat_map(|part| &part.writes);
    Draft {
        name,
        transaction,
        at_us,
        engines: parts.iter().map(|part| (part.engine, !part.writes.is_empty())).collect(),
        rows: writes().count() as u64,
        keyspaces: writes().map(|write| write.keyspace).collect::<BTreeSet<_>>(),
        reads,
    }
}

fn record_of(entry: &Entry, parts: &[Part]) -> AloneRecord {
    let Entry { number, at_us, name, reads, .. } = entry;
    AloneRecord::new(|out| encode_prepared(out, *number, *at_us, name, reads, groups_of(parts)))
}

impl Coordinator {
    /// Prepares a transaction under a name. After an error nothing is locked.
    pub(crate) fn prepare(&self, transaction: &mut Transaction, name: &str) -> Result<Ticket, Failure> {
        check_name(name).map_err(failure)?;
        self.logs.wait_for_room().map_err(failure)?;
        let parts = self.parts(transaction);
        let mut entered = self.enter(&parts).map_err(failure)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let reads = reads_of(&transaction.seen);
        let number = transaction.seat.number;
        let draft = draft(name, number, u64::try_from(now).unwrap_or_default(), &parts, reads);
        let entry = self.prepared.reserve(draft).map_err(failure)?;
        let unwinding = Unwinding(self);
        let outcome = self.prepare_entered(transaction, parts, &entry, &mut entered);
        std::mem::forget(unwinding);
        outcome.inspect_err(|_| self.prepared.remove(&entry))?;
        Ok(self.logs.ticket())
    }

    fn prepare_entered<'e>(
        &'e self,
        transaction: &mut Transaction,
        mut parts: Vec<Part>,
        entry: &Entry,
        entered: &mut [Option<Entered<'e>>; MAX_ENGINES],
    ) -> Result<(), Failure> {
        self.lock_all(entry.owner, transaction, &mut parts, entered)?;
        fail_point("prepare.locked");
        note_writes(transaction, &parts);
        let appended = self.ready_to_prepare(transaction, &parts, entry).and_then(|record| {
            // From the append on, a checkpoint that drops the record finds the transaction here.
            let work = entry.work.lock();
            self.logs.append_alone(record).map_err(failure)?;
            Ok(work)
        });
        let mut work = appended.inspect_err(|_| self.give_up(&mut parts))?;
        fail_point("prepare.after_append");
        *work = Some(Work { parts, trace: transaction.trace.take() });
        entry.set_ready();
        Ok(())
    }

    /// Does all of a commit that can still fail, but for the timestamps. The reads are validated after they are
    /// protected and the writes are locked, so they stay current until the decision. Returns the record.
    fn ready_to_prepare(
        &self,
        transaction: &Transaction,
        parts: &[Part],
        entry: &Entry,
    ) -> Result<AloneRecord, Failure> {
        self.note_locks(entry.owner, parts)?;
        self.check_reads_held(entry)?;
        self.validate(entry.owner, transaction)?;
        self.check_changes(transaction, parts).map_err(failure)?;
        self.check_age(transaction.seat).map_err(failure)?;
        let record = record_of(entry, parts);
        self.prepared.take_bytes(entry, record.bytes).map_err(failure)?;
        Ok(record)
    }

    /// Commits a prepared transaction. After an error it is undecided, as before. Returns the number of its rows too.
    pub(crate) fn commit_prepared(&self, name: &str) -> Result<(Ticket, u64)> {
        let entry = self.prepared.find(name)?;
        if entry.rows == 0 {
            // Nothing takes a place in the order of an engine. All that it read is current until here.
            return Ok((self.end_prepared(&entry, Count::ReadOnly)?, 0));
        }
        self.logs.wait_for_room()?;
        let mut entered = self.enter_each(entry.engines.iter().copied())?;
        let unwinding = Unwinding(self);
        let outcome = self.commit_entry(&entry, &mut entered);
        std::mem::forget(unwinding);
        outcome.map(|()| (self.logs.ticket(), entry.rows))
    }

    fn commit_entry(&self, entry: &Entry, entered: &mut [Option<Entered<'_>>; MAX_ENGINES]) -> Result<()> {
        let mut work = entry.work.lock();
        let Some(Work { parts, trace }) = &mut *work else { return Err(unknown(&entry.name)) };
        let encoded = self.logs.encode(&stamps_of(parts), Some(entry.number), groups_of(parts));
        let mut hidden = [const { None }; MAX_ENGINES];
        self.hide(parts, &mut hidden);
        // Under the latch no pair is rejected, however the other commits get theirs.
        let logged = self
            .stamp_as(CommitStamps::Latched, parts)
            .map_err(|(_, error)| error)
            .and_then(|()| self.logs.append(encoded, &stamps_of(parts)));
        if let Err(error) = logged {
            self.take_back(parts, &mut hidden);
            self.publish(parts);
            parts.iter_mut().for_each(|part| part.stamp = None);
            return Err(error);
        }
        fail_point("prepare.commit_appended");
        let count = self.install(parts, &mut hidden, entered, None);
        self.trace(trace, parts);
        *work = None;
        self.prepared.remove(entry);
        self.prepared.count(count);
        Ok(())
    }

    /// Rolls a prepared transaction back. After an error it is undecided, as before.
    pub(crate) fn roll_back_prepared(&self, name: &str) -> Result<Ticket> {
        let entry = self.prepared.find(name)?;
        self.end_prepared(&entry, Count::RolledBack)
    }

    /// Ends a prepared transaction without a change.
    fn end_prepared(&self, entry: &Entry, outcome: Count) -> Result<Ticket> {
        self.logs.wait_for_room()?;
        let unwinding = Unwinding(self);
        let ended = self.end_entry(entry, outcome);
        std::mem::forget(unwinding);
        ended.map(|()| self.logs.ticket())
    }

    fn end_entry(&self, entry: &Entry, outcome: Count) -> Result<()> {
        let mut work = entry.work.lock();
        let Some(Work { parts, trace }) = &mut *work else { return Err(unknown(&entry.name)) };
        self.logs.append_alone(AloneRecord::new(|out| encode_roll_back(out, entry.number)))?;
        fail_point("prepare.rolled_back");
        self.give_up(parts);
        if outcome == Count::ReadOnly {
            self.trace(trace, &[]);
        }
        *work = None;
        self.prepared.remove(entry);
        self.prepared.count(outcome);
        Ok(())
    }

    /// Appends the records of all undecided transactions to the log again, and makes them durable. So the log before
    /// this call may be dropped. Returns the bytes of the records.
    pub(crate) fn write_prepared_again(&self) -> Result<u64> {
        let mut bytes = 0;
        for entry in self.prepared.all() {
            // While the log waits for space, what is appended would only take memory.
            self.logs.wait_for_room()?;
            // One that is being prepared or decided is in the log, in this order.
            let work = entry.work.lock();
            if let Some(Work { parts, .. }) = &*work {
                bytes += self.logs.append_alone(record_of(&entry, parts))?;
            }
        }
        if bytes > 0 {
            self.logs.sync()?;
        }
        Ok(bytes)
    }

    /// Reinstates an undecided transaction with its protection, after recovery and before the first transaction.
    pub(crate) fn reinstate(&self, found: Found<'_>) -> Result<()> {
        let Found { number, name, at_us, bytes, reads, mut writes } = found;
        let mut touched = [false; MAX_ENGINES];
        reads.places().for_each(|(engine, _)| touched[engine] = true);
        for (engine, writes) in writes.iter_mut().enumerate().filter(|(_, writes)| !writes.is_empty()) {
            touched[engine] = true;
            // Whoever has committed one of the keys did so before it was locked.
            let since = self.engines[engine].clock().horizon();
            writes.iter_mut().for_each(|write| write.since = since);
        }
        let mut parts = parts_of(writes, touched);
        let transaction = self.active.next_number();
        let entry = self.prepared.restore(draft(name, transaction, at_us, &parts, reads), number, bytes);
        for part in &mut parts {
            let locked = self.engines[part.engine].lock_again(entry.owner, &mut part.writes);
            locked.map_err(|refusal| self.refusal(part.engine, refusal).1)?;
        }
        *entry.work.lock() = Some(Work { parts, trace: None });
        entry.set_ready();
        Ok(())
    }
}
