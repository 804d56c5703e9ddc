//! A driver as a target. The driver's greeting says which of the two ways it takes.

use super::config::{Config, Reach};
use super::load_lock::LoadLock;
use super::messages::Way;
use super::pool::Driver;
use super::store::DriverStore;
use super::transactions::Transactions;
use lydite_database::kv::KvTarget;
use lydite_database::{
    BalanceTarget, Balances, Capabilities, ConditionFinding, DatabaseState, Demand, Description, FoundRows,
    HalfCounts, Held, HeldLists, HeldTarget, LedgerCounts, ListTarget, Lists, Loader, Program, RowKeys,
    Server, Session, StoppableWork, StoreTest, TableChecksum, Target, TargetError, Written,
};
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{OrderId, TransactionKind};
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A driver as a target. See the module.
pub(crate) struct External {
    driver: Arc<Driver>,
    speaking: OnceLock<Speaking>,
}

pub(super) enum Speaking {
    Store(KvTarget<DriverStore>),
    Transactions(Transactions),
}

impl External {
    /// Makes the target. Starts nothing yet.
    pub(crate) fn new(config: Config) -> Self {
        Self { driver: Driver::new(config), speaking: OnceLock::new() }
    }

    /// Returns the settings of the URL.
    pub(super) fn config(&self) -> &Config {
        &self.driver.config
    }

    pub(super) fn speaking(&self) -> Result<&Speaking, TargetError> {
        let way = self.driver.hello().map_err(TargetError::unreachable)?.way;
        Ok(self.speaking.get_or_init(|| match way {
            Way::KeyValue => Speaking::Store(KvTarget::new(Arc::clone(&self.driver))),
            Way::Transactions => Speaking::Transactions(Transactions::new(Arc::clone(&self.driver))),
        }))
    }
}

impl Target for External {
    fn describe(&self) -> Result<Description, TargetError> {
        let hello = self.driver.hello().map_err(TargetError::unreachable)?;
        Ok(self.driver.describe(hello))
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.state(),
            Speaking::Transactions(target) => target.state(),
        }
    }

    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError> {
        let problem = match demand {
            Demand::Load | Demand::Writes | Demand::Contention => None,
            Demand::Resume => {
                return match self.speaking()? {
                    Speaking::Store(_) => Ok(Vec::new()),
                    Speaking::Transactions(target) => target.admit_resume().map(|()| Vec::new()),
                };
            }
            Demand::Sessions(sessions) => return self.driver.check_sessions(*sessions).map(|()| Vec::new()),
            Demand::Districts(districts) => districts.skew().map(|skew| {
                format!(
                    "data_skew {skew}: a driver that plays the transactions itself delivers the ten districts of the \
                     standard, and no others: leave data_skew out"
                )
            }),
            Demand::FarStockLevels => Some(
                "dis_stock_level: a driver that plays the transactions itself plays only Stock-Levels of one \
                 warehouse: leave it out"
                    .to_owned(),
            ),
            Demand::Transactions(kinds) => kinds.iter().find(|kind| matches!(kind, TransactionKind::Dike(_))).map(|extra| {
                format!(
                    "mix: a driver that plays the transactions itself plays only the standard's five, not {}: leave \
                     it out",
                    extra.name()
                )
            }),
        };
        match problem {
            Some(problem) if matches!(self.speaking()?, Speaking::Transactions(_)) => {
                let place = &self.driver.config.place;
                Err(TargetError::usage(format!("{place}: {problem}, or use a driver of a store")))
            }
            _ => Ok(Vec::new()),
        }
    }

    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.create_schema(meta),
            Speaking::Transactions(target) => target.create_schema(meta),
        }
    }

    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        // Lydite can't lock the database behind the driver. It can keep away others that start the same driver on this
        // machine.
        Ok(Box::new(LoadLock::take(&self.driver.config)?))
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.loader(),
            Speaking::Transactions(target) => target.loader(),
        }
    }

    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.finish_load(jobs, stage),
            Speaking::Transactions(target) => target.finish_load(stage),
        }
    }

    fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.note_played(kinds),
            Speaking::Transactions(target) => target.note_played(kinds),
        }
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.connect(),
            Speaking::Transactions(target) => target.connect(),
        }
    }

    fn reset(&self) -> Result<(), TargetError> {
        let _alone = LoadLock::take(&self.driver.config)?;
        match self.speaking()? {
            Speaking::Store(target) => target.reset(),
            Speaking::Transactions(target) => target.reset(),
        }
    }

    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.check(conditions, done),
            Speaking::Transactions(target) => target.check(conditions, done),
        }
    }

    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.checksums(),
            Speaking::Transactions(target) => target.checksums(),
        }
    }

    fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.counts(warehouses),
            Speaking::Transactions(target) => target.counts(warehouses),
        }
    }

    fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.written(warehouses, orders_from),
            Speaking::Transactions(target) => target.written(warehouses, orders_from),
        }
    }

    fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.reread(keys),
            Speaking::Transactions(target) => target.reread(keys),
        }
    }

    fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.halves(warehouses, loaded_orders),
            Speaking::Transactions(target) => target.halves(warehouses, loaded_orders),
        }
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let (server, program) = match &self.driver.config.reach {
            // Each request to a driver has a timeout of its own.
            Reach::Program(_) => (None, Some(self as &dyn Program)),
            Reach::Server(_) => (Some(self as &dyn Server), None),
        };
        Capabilities {
            server,
            program,
            balances: Some(self),
            held: Some(self),
            lists: Some(self),
            store: Some(self),
            work: Some(self),
            leaving: Some(self),
            ..Capabilities::default()
        }
    }
}

impl Server for External {
    fn answers(&self) -> bool {
        self.driver.answers()
    }
}

impl Program for External {
    fn kill(&self) -> Result<usize, TargetError> {
        self.driver.kill().map_err(TargetError::unreachable)
    }
}

impl StoreTest for External {
    fn try_functions(&self) -> Result<Option<String>, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.try_functions(),
            Speaking::Transactions(_) => Ok(None),
        }
    }
}

impl BalanceTarget for External {
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.connect_balances(longest_wait),
            Speaking::Transactions(_) => Err(TargetError::usage(format!(
                "{}: this driver plays TPC-C's five transactions and no others, and the function tests need two of their \
                 own: a key-value driver has them",
                self.driver.config.place
            ))),
        }
    }
}

impl HeldTarget for External {
    fn connect_held(&self) -> Result<Box<dyn Session<Held>>, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.connect_held(),
            Speaking::Transactions(_) => Err(TargetError::usage(format!(
                "{}: this driver plays its transactions as a whole, so Lydite can't stop them before their commit: a \
                 key-value driver lets it",
                self.driver.config.place
            ))),
        }
    }
}

impl External {
    /// Returns the lists of a key-value driver.
    fn lists(&self) -> Result<&dyn ListTarget, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => Ok(target),
            Speaking::Transactions(_) => Err(TargetError::usage(format!(
                "{}: this driver plays TPC-C's five transactions and no others, and --isolation needs some of its own: a \
                 key-value driver has them",
                self.driver.config.place
            ))),
        }
    }
}

impl ListTarget for External {
    fn create_lists(&self) -> Result<(), TargetError> {
        self.lists()?.create_lists()
    }

    fn connect_lists(&self, longest_wait: Duration) -> Result<Box<dyn Session<Lists>>, TargetError> {
        self.lists()?.connect_lists(longest_wait)
    }

    fn connect_held_lists(&self) -> Result<Box<dyn Session<HeldLists>>, TargetError> {
        self.lists()?.connect_held_lists()
    }

    fn drop_lists(&self) -> Result<(), TargetError> {
        self.lists()?.drop_lists()
    }
}

impl StoppableWork for External {
    fn stop_work(&self) {
        match self.speaking.get() {
            Some(Speaking::Transactions(target)) => target.stop_work(),
            // Lydite itself reads a store, so no work continues there when nobody asks.
            Some(Speaking::Store(_)) | None => {}
        }
    }
}
