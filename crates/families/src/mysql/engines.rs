//! The check that the engines of the tables have transactions.

use crate::mysql::Mysql;
use crate::mysql::wire::Wire;
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use lydite_tpcc::schema::Table;
use std::collections::BTreeSet;

impl Mysql {
    /// Rejects an engine of new tables that has no transactions, such as MyISAM as the server's default. Engines that the
    /// server does not know are left to its own error.
    pub(super) fn check_engines(&self) -> Result<(), TargetError> {
        self.shards.iter().try_for_each(Self::check_engines)?;
        let mut wire = self.connect_wire()?;
        let named: BTreeSet<String> = Table::ALL
            .into_iter()
            .filter_map(|table| self.config.engine_of(table))
            .map(str::to_string)
            .collect();
        let all_named = Table::ALL.into_iter().all(|table| self.config.engine_of(table).is_some());
        let without = self.without_transactions(&mut wire)?;
        let lacks = |engine: &&String| without.contains(&engine.to_ascii_lowercase());
        let place = self.config.place();
        if let Some(engine) = named.iter().find(lacks) {
            return Err(TargetError::usage(format!(
                "{place}: the engine {engine} has no transactions: name another one, as ?engine=InnoDB"
            )));
        }
        let default = if all_named { None } else { self.default_without_transactions(&mut wire)? };
        match default {
            Some(engine) => Err(TargetError::usage(format!(
                "{place}: the server's default engine {engine} has no transactions: use ?engine=InnoDB"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the server's default engine, if it has no transactions.
    pub(super) fn default_without_transactions(
        &self,
        wire: &mut Wire,
    ) -> Result<Option<String>, TargetError> {
        let default = wire.column("SELECT @@default_storage_engine");
        let default = default.map_err(self.failed("look for engines"))?.concat();
        let without = self.without_transactions(wire)?;
        Ok(Some(default).filter(|engine| without.contains(&engine.to_ascii_lowercase())))
    }

    /// Returns the engines of the server that have no transactions, in lower case.
    fn without_transactions(&self, wire: &mut Wire) -> Result<Vec<String>, TargetError> {
        wire.column("SELECT lower(engine) FROM information_schema.engines WHERE transactions = 'NO'")
            .map_err(self.failed("look for engines"))
    }
}
