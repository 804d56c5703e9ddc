//! A removal takes Lydite's entries from a store and leaves those of others.

use super::{Access, KvTable, KvTarget, Memory, MemoryConfig, Store, StoreTx, Target};
use crate::facts::{DatabaseState, Description};
use crate::kv::leaving::is_ours;
use crate::kv::memory::MemoryTx;
use crate::kv::store::{Direction, KeyRange, clear_in_batches};
use crate::kv::store_error::StoreError;
use crate::leaving::{Inventory, Leaving};
use crate::playing::{inputs, load, play};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A store to which a run writes while tables are removed, if its flag says so: one row of each table comes back.
struct Busy {
    store: Memory,
    busy: Arc<AtomicBool>,
}

impl Store for Busy {
    type Config = (MemoryConfig, Arc<AtomicBool>);
    type Tx<'a> = MemoryTx<'a>;
    type Pending = ();

    fn place((config, _): &Self::Config) -> String {
        Memory::place(config)
    }

    fn describe((config, _): &Self::Config) -> Result<Description, StoreError> {
        Memory::describe(config)
    }

    fn is_there((config, _): &Self::Config) -> bool {
        Memory::is_there(config)
    }

    fn open((config, busy): &Self::Config) -> Result<Self, StoreError> {
        Ok(Self { store: Memory::open(config)?, busy: Arc::clone(busy) })
    }

    fn begin(&self, access: Access) -> Result<MemoryTx<'_>, StoreError> {
        self.store.begin(access)
    }

    fn clear(&self, table: KvTable) -> Result<(), StoreError> {
        let mut row = None;
        self.begin(Access::Read)?.scan(table, KeyRange::ALL, Direction::Forward, &mut |key, value| {
            row = Some((key.to_vec(), value.to_vec()));
            ControlFlow::Break(())
        })?;
        clear_in_batches(self, table)?;
        let Some((key, value)) = row.filter(|_| self.busy.load(Ordering::Relaxed)) else { return Ok(()) };
        let mut tx = self.begin(Access::Write)?;
        tx.put(table, &key, &value)?;
        tx.commit()
    }
}

#[test]
fn a_removal_beside_a_run_keeps_the_note_so_that_the_next_one_takes_the_rest() {
    let busy = Arc::new(AtomicBool::new(true));
    let target = KvTarget::<Busy>::new((MemoryConfig::default(), Arc::clone(&busy)));
    load(&target, 1);
    let seen = target.inventory().expect("inventory");
    let error = target.remove(&seen).expect_err("the run writes");
    assert!(error.message.contains("a run still writes (1 entries of item since their removal)"), "{error}");
    let left = target.inventory().expect("inventory");
    assert_eq!((left.ours.len(), &left.stays[..]), (KvTable::COUNT, &[][..]), "all is known as Lydite's");
    busy.store(false, Ordering::Relaxed);
    target.remove(&left).expect("the run has ended");
    assert_eq!(target.inventory(), Ok(Inventory::default()));
}

fn put(target: &KvTarget<Memory>, entries: &[(KvTable, &[u8], &[u8])]) {
    let store = target.store().expect("the store");
    let mut tx = store.begin(Access::Write).expect("a transaction");
    for (table, key, value) in entries {
        tx.put(*table, key, value).expect("put");
    }
    tx.commit().expect("commit");
}

fn keys(target: &KvTarget<Memory>) -> Vec<Vec<u8>> {
    let store = target.store().expect("the store");
    let mut tx = store.begin(Access::Read).expect("a transaction");
    let mut keys = Vec::new();
    for table in KvTable::ALL {
        tx.scan(table, KeyRange::ALL, Direction::Forward, &mut |key, _| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        })
        .expect("scan");
    }
    keys
}

fn removed(target: &KvTarget<Memory>) -> Inventory {
    let seen = target.inventory().expect("inventory");
    target.remove(&seen).expect("remove");
    seen
}

#[test]
fn a_removal_takes_all_rows_after_a_run_and_leaves_entries_of_others() {
    let target = KvTarget::<Memory>::new(MemoryConfig::default());
    load(&target, 1);
    play(&target, &inputs(1, 200));
    let all = removed(&target);
    assert_eq!((all.ours.len(), &all.stays[..]), (KvTable::COUNT, &[][..]), "each row is known as one");
    assert!(all.ours.iter().all(|thing| thing.rows > Some(0) && thing.bytes > Some(0)), "{all:?}");
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
    assert_eq!(target.inventory(), Ok(Inventory::default()));

    load(&target, 1);
    // Some have keys of a row, but no value of one.
    let others: [(KvTable, &[u8], &[u8]); 4] = [
        (KvTable::Item, &[0, 0, 0, 9, 9], b"mine"),
        (KvTable::Customer, b"joe", b"mine"),
        (KvTable::CustomerByName, b"joe", b""),
        (KvTable::Meta, b"mine", b""),
    ];
    put(&target, &others);
    let seen = removed(&target);
    assert_eq!((seen.ours.len(), seen.stays.len()), (KvTable::COUNT, others.len()));
    assert!(seen.stays[1].what == "1 entries of customer" && seen.stays[1].reason.contains("\"joe\""));
    let mut left: Vec<&[u8]> = others.iter().map(|(_, key, _)| *key).collect();
    left.sort_unstable();
    let mut found = keys(&target);
    found.sort_unstable();
    assert_eq!(found, left);
}

#[test]
fn rows_without_a_note_stay_and_a_stopped_removal_can_be_repeated() {
    let target = KvTarget::<Memory>::new(MemoryConfig::default());
    load(&target, 1);
    let store = target.store().expect("the store");
    let seen = target.inventory().expect("inventory");
    crate::kv::meta::note_dropping(&*store).expect("note");
    store.clear(KvTable::Stock).expect("clear");
    let left = target.inventory().expect("inventory");
    assert_eq!(left.ours.len(), KvTable::COUNT - 1);
    target.remove(&seen).expect("less than was seen");
    assert_eq!(target.state(), Ok(DatabaseState::Empty));

    load(&target, 1);
    store.clear(KvTable::Meta).expect("clear");
    let strange = removed(&target);
    assert_eq!((strange.ours.len(), strange.stays.len()), (0, KvTable::COUNT - 1));
    assert!(!keys(&target).is_empty());
}

#[test]
fn a_load_since_the_list_was_shown_is_not_removed() {
    let target = KvTarget::<Memory>::new(MemoryConfig::default());
    let seen = target.inventory().expect("inventory");
    load(&target, 1);
    let error = target.remove(&seen).expect_err("there is more");
    assert!(error.message.contains("nothing was dropped"), "{error}");
    assert!(!is_ours(KvTable::Meta, b"mine", b"", true) && is_ours(KvTable::Meta, b"seed", b"", true));
}
