//! Gemel as a target: one open database with the key-value text for TPC-C and separate keyspaces for the
//! microbenchmark.

use super::{Config, GemelStore, home_of, is_tpcc, micro_tables};
use ::gemel::{Database, Error};
use lydite_database::kv::{KvTable, KvTarget, Store};
use lydite_database::micro::is_table_name;
use lydite_database::{
    BalanceTarget, Balances, Capabilities, ConditionFinding, DatabaseState, Demand, Description, FoundRows,
    HalfCounts, Held, HeldTarget, LedgerCounts, Loader, RowKeys, Session, TableChecksum, TableEngines,
    Target, TargetError, Written,
};
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{OrderId, TransactionKind};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Gemel as a target. See the module.
pub(crate) struct GemelTarget {
    /// TPC-C's tables. It creates them on use, so it is used only if they exist or are about to be made.
    tpcc: KvTarget<GemelStore>,
    pub(super) config: Config,
}

impl GemelTarget {
    pub(crate) fn new(config: Config) -> Self {
        Self { tpcc: KvTarget::new(config.clone()), config }
    }

    pub(super) fn database(&self) -> Result<Database, TargetError> {
        self.config.database().map_err(|error| {
            TargetError::unreachable(format!("{}: open: {error}", GemelStore::place(&self.config)))
        })
    }

    pub(super) fn failed(&self, doing: &str) -> impl Fn(Error) -> TargetError + use<> {
        let (place, doing) = (GemelStore::place(&self.config), doing.to_string());
        move |error| super::store_error(error).on_target(&doing, &place)
    }

    /// Returns the open database, or `None` if there is none to open.
    pub(super) fn database_if_there(&self) -> Result<Option<Database>, TargetError> {
        if GemelStore::is_there(&self.config) { self.database().map(Some) } else { Ok(None) }
    }

    /// True if it has keyspaces of TPC-C, even empty ones.
    fn has_tpcc(database: &Database) -> bool {
        database.keyspaces().iter().any(|(name, _)| is_tpcc(name))
    }
}

impl Target for GemelTarget {
    fn describe(&self) -> Result<Description, TargetError> {
        self.tpcc.describe()
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        let Some(database) = self.database_if_there()? else { return Ok(DatabaseState::Empty) };
        if let Some(state) = micro_tables::state(&database).map_err(self.failed("read lydite_micro"))? {
            return Ok(state);
        }
        if Self::has_tpcc(&database) { self.tpcc.state() } else { Ok(DatabaseState::Empty) }
    }

    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError> {
        self.tpcc.admit(demand)
    }

    // An open database is locked, so no second load can begin.
    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(()))
    }

    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        self.tpcc.create_schema(meta)
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        self.tpcc.loader()
    }

    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        self.tpcc.finish_load(jobs, stage)
    }

    fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError> {
        self.tpcc.note_played(kinds)
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        self.tpcc.connect()
    }

    fn reset(&self) -> Result<(), TargetError> {
        let Some(database) = self.database_if_there()? else { return Ok(()) };
        let failed = self.failed("remove the records");
        // The notes go first, as with TPC-C's.
        micro_tables::forget(&database).map_err(&failed)?;
        for (name, engine) in database.keyspaces() {
            if is_table_name(&name) {
                micro_tables::clear(&database, &name, engine).map_err(&failed)?;
            }
        }
        if Self::has_tpcc(&database) { self.tpcc.reset() } else { Ok(()) }
    }

    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        self.tpcc.check(conditions, done)
    }

    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        self.tpcc.checksums()
    }

    fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        self.tpcc.counts(warehouses)
    }

    fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        self.tpcc.written(warehouses, orders_from)
    }

    fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError> {
        self.tpcc.reread(keys)
    }

    fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        self.tpcc.halves(warehouses, loaded_orders)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            balances: Some(self),
            held: Some(self),
            micro: Some(self),
            lists: Some(self),
            observe: Some(self),
            leaving: Some(self),
            ..Capabilities::default()
        }
    }
}

impl BalanceTarget for GemelTarget {
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        self.tpcc.connect_balances(longest_wait)
    }

    fn table_engines(&self) -> Result<Option<TableEngines>, TargetError> {
        let engine = |table| home_of(&self.config, KvTable::from(table)).name().to_string();
        Ok(Some(Table::ALL.into_iter().map(|table| (table, engine(table))).collect()))
    }
}

impl HeldTarget for GemelTarget {
    fn connect_held(&self) -> Result<Box<dyn Session<Held>>, TargetError> {
        self.tpcc.connect_held()
    }
}
