//! A key-value store as a target.

use crate::balances::Balances;
use crate::capabilities::{BalanceTarget, Capabilities, HeldTarget, Server, StoreTest};
use crate::error::TargetError;
use crate::facts::{ConditionFinding, DatabaseState, Description, LedgerCounts, TableChecksum};
use crate::held::Held;
use crate::kv::any::{AnyStore, AnyTx};
use crate::kv::balances::KvBalances;
use crate::kv::check::check;
use crate::kv::checksum::checksums;
use crate::kv::counts::counts;
use crate::kv::held::KvHeld;
use crate::kv::lists::{self, KvLists};
use crate::kv::load_lock::{LoadLock, LoadLockRef};
use crate::kv::loader::KvLoader;
use crate::kv::meta;
use crate::kv::reread::{halves, reread};
use crate::kv::scan::Scanned;
use crate::kv::session::KvSession;
use crate::kv::store::{Access, KvTable, Pending, Store, StoreTx};
use crate::kv::store_error::StoreError;
use crate::kv::store_test::test_store;
use crate::kv::written::written;
use crate::lists::{HeldLists, ListTarget, Lists};
use crate::load::Loader;
use crate::reread::{FoundRows, HalfCounts, RowKeys};
use crate::session::Session;
use crate::target::{Demand, Target};
use crate::written::Written;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{OrderId, TransactionKind};
use parking_lot::Mutex;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// A store that is opened for its first request and stays open as long as the target and its sessions.
pub struct KvTarget<S: Store> {
    config: S::Config,
    open: Mutex<Option<Arc<S>>>,
    /// Load lock that was taken last.
    load_lock: Mutex<LoadLockRef>,
}

impl<S: Store> KvTarget<S> {
    /// Makes a target of the store with this configuration. Opens nothing yet.
    pub fn new(config: S::Config) -> Self {
        Self { config, open: Mutex::new(None), load_lock: Mutex::default() }
    }

    /// Returns the store, and opens it first if necessary.
    pub fn store(&self) -> Result<Arc<S>, TargetError> {
        let mut open = self.open.lock();
        if let Some(store) = &*open {
            return Ok(Arc::clone(store));
        }
        let store = Arc::new(S::open(&self.config).map_err(|error| {
            TargetError::unreachable(format!("{}: open: {}", S::place(&self.config), error.line()))
        })?);
        *open = Some(Arc::clone(&store));
        Ok(store)
    }

    /// Returns the store, or `None` if there is none to open.
    pub(in crate::kv) fn store_if_there(&self) -> Result<Option<Arc<S>>, TargetError> {
        if self.open.lock().is_some() || S::is_there(&self.config) {
            self.store().map(Some)
        } else {
            Ok(None)
        }
    }

    pub(in crate::kv) fn failed(&self, doing: &'static str) -> impl Fn(StoreError) -> TargetError {
        let place = S::place(&self.config);
        move |error| error.on_target(doing, &place)
    }

    /// Returns the settings of the URL.
    pub(in crate::kv) fn config(&self) -> &S::Config {
        &self.config
    }

    pub(in crate::kv) fn load_lock(&self) -> LoadLockRef {
        self.load_lock.lock().clone()
    }

    /// Returns the store of a loaded database.
    ///
    /// # Errors
    /// The database is not loaded.
    fn loaded_store(&self) -> Result<Arc<S>, TargetError> {
        let store = self.store()?;
        let mut tx = store.begin_any(Access::Read).map_err(self.failed("read lydite_meta"))?;
        self.loaded(&mut tx)?;
        drop(tx);
        Ok(store)
    }

    /// Returns the description of the loaded database.
    ///
    /// # Errors
    /// The database is not loaded.
    fn loaded(&self, tx: &mut AnyTx<'_>) -> Result<DatabaseMeta, TargetError> {
        match meta::state(tx).map_err(self.failed("read lydite_meta"))? {
            DatabaseState::Ready { meta } => Ok(meta),
            _ => Err(TargetError::usage(format!(
                "{}: the database is not loaded: use lydite load",
                S::place(&self.config)
            ))),
        }
    }
}

impl<S: Store> Target for KvTarget<S> {
    fn describe(&self) -> Result<Description, TargetError> {
        S::describe(&self.config).map_err(self.failed("ask what it is"))
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        let Some(store) = self.store_if_there()? else { return Ok(DatabaseState::Empty) };
        let failed = self.failed("read lydite_meta");
        let mut tx = store.begin_any(Access::Read).map_err(&failed)?;
        meta::state(&mut tx).map_err(failed)
    }

    fn admit(&self, _demand: &Demand) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }

    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        let lock: Arc<dyn LoadLock> = S::lock(&self.config).map(Arc::from).map_err(|error| {
            let message = format!("{}: begin the load: {}", S::place(&self.config), error.line());
            match error {
                StoreError::Unavailable { .. } | StoreError::Broken(_) => TargetError::unreachable(message),
                StoreError::Retry { .. } | StoreError::Failed(_) => TargetError::usage(message),
            }
        })?;
        *self.load_lock.lock() = LoadLockRef::new(&lock);
        Ok(Box::new(lock))
    }

    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        let store = self.store()?;
        let failed = self.failed("create the tables");
        let mut tx = store.begin_any(Access::Write).map_err(&failed)?;
        if meta::state(&mut tx).map_err(&failed)? != DatabaseState::Empty {
            return Err(TargetError::usage(format!(
                "{}: there are rows already, which may be somebody else's: name another database; if nobody needs \
                 them, --fresh drops them",
                S::place(&self.config)
            )));
        }
        meta::create(&mut tx, meta)
            .and_then(|()| self.load_lock().check())
            .and_then(|()| tx.commit()?.wait())
            .map_err(failed)
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        Ok(Box::new(KvLoader::new(self.store()?, self.load_lock(), S::place(&self.config))))
    }

    fn finish_load(&self, _jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        let store = self.store()?;
        store.settle(stage).map_err(self.failed("finish the load"))?;
        self.load_lock()
            .check()
            .and_then(|()| meta::note_ready(&*store))
            .map_err(self.failed("note the end of the load"))
    }

    fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError> {
        let store = self.store()?;
        let failed = self.failed("note the transactions to play");
        let mut tx = store.begin_any(Access::Write).map_err(&failed)?;
        let meta = self.loaded(&mut tx)?;
        meta::note_played(&mut tx, kinds, &meta).and_then(|()| tx.commit()?.wait()).map_err(failed)
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        Ok(Box::new(KvSession::new(self.loaded_store()?)))
    }

    fn reset(&self) -> Result<(), TargetError> {
        let Some(store) = self.store_if_there()? else { return Ok(()) };
        let _alone = self.begin_load()?;
        // The notes go last, and say from the beginning that this is no database any more: then nothing that is left
        // after a stop can be run or resumed, and all of it is known as Lydite's.
        self.load_lock()
            .check()
            .and_then(|()| meta::note_dropping(&*store))
            .and_then(|()| {
                let mut tables = KvTable::ALL.into_iter();
                tables.try_for_each(|table| self.load_lock().check().and_then(|()| store.clear(table)))
            })
            .map_err(self.failed("remove the rows"))
    }

    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        let store = self.store()?;
        let failed = self.failed("check the conditions");
        let mut tx = store.begin_any(Access::Read).map_err(&failed)?;
        let meta = self.loaded(&mut tx)?;
        let findings = check(&mut Scanned(&mut tx), &meta, conditions).map_err(failed)?;
        findings.iter().for_each(done);
        Ok(findings)
    }

    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        let store = self.store()?;
        let failed = self.failed("read the tables");
        let mut tx = store.begin_any(Access::Read).map_err(&failed)?;
        checksums(&mut Scanned(&mut tx)).map_err(failed)
    }

    fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        let store = self.store()?;
        let failed = self.failed("count orders and payments");
        let mut tx = store.begin_any(Access::Read).map_err(&failed)?;
        counts(&mut Scanned(&mut tx), warehouses).map_err(failed)
    }

    fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        let store = self.store()?;
        let failed = self.failed("read orders and payments");
        let mut tx = store.begin_any(Access::Read).map_err(&failed)?;
        written(&mut Scanned(&mut tx), warehouses, orders_from).map_err(failed)
    }

    fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError> {
        let store = self.store()?;
        let failed = self.failed("read rows again");
        let mut tx = store.begin_any(Access::Read).map_err(&failed)?;
        reread(&mut Scanned(&mut tx), keys).map_err(failed)
    }

    fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        let store = self.store()?;
        let failed = self.failed("count both sides");
        let mut tx = store.begin_any(Access::Read).map_err(&failed)?;
        halves(&mut Scanned(&mut tx), warehouses, loaded_orders).map_err(failed)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            balances: Some(self),
            held: Some(self),
            lists: Some(self),
            store: Some(self),
            server: Some(self),
            leaving: Some(self),
            ..Capabilities::default()
        }
    }
}

impl<S: Store> Server for KvTarget<S> {
    fn answers(&self) -> bool {
        S::answers(&self.config)
    }
}

impl<S: Store> StoreTest for KvTarget<S> {
    fn try_functions(&self) -> Result<Option<String>, TargetError> {
        let description = self.describe()?;
        // A driver may guarantee atomic transactions without isolation.
        let whole = description.settings.get("guarantee").is_some_and(|guarantee| guarantee == "atomic");
        let rolls_back = description.isolation_is_level_3 || whole;
        test_store(&*self.store()?, rolls_back)
            .map(Some)
            .map_err(|wrong| TargetError::database(wrong.to_string()))
    }
}

impl<S: Store> BalanceTarget for KvTarget<S> {
    fn connect_balances(&self, _longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        Ok(Box::new(KvBalances(self.loaded_store()?)))
    }
}

impl<S: Store> HeldTarget for KvTarget<S> {
    fn connect_held(&self) -> Result<Box<dyn Session<Held>>, TargetError> {
        Ok(Box::new(KvHeld::new(self.loaded_store()?)))
    }
}

impl<S: Store> ListTarget for KvTarget<S> {
    fn isolates_ranges(&self) -> bool {
        S::ISOLATES_RANGES
    }

    fn create_lists(&self) -> Result<(), TargetError> {
        lists::create(&*self.store()?, &S::place(&self.config), self.failed("prepare the isolation check"))
    }

    fn connect_lists(&self, _longest_wait: Duration) -> Result<Box<dyn Session<Lists>>, TargetError> {
        Ok(Box::new(KvLists(self.store()?)))
    }

    fn connect_held_lists(&self) -> Result<Box<dyn Session<HeldLists>>, TargetError> {
        Ok(Box::new(KvLists(self.store()?)))
    }

    fn drop_lists(&self) -> Result<(), TargetError> {
        lists::drop_all(&*self.store()?).map_err(self.failed("remove the keys of the isolation check"))
    }
}
