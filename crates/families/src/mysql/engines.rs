//! The check that the engines of the tables have transactions.

use crate::mysql::Mysql;
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
        let failed = self.failed("look for engines");
        let named: BTreeSet<String> = Table::ALL
            .into_iter()
            .filter_map(|table| self.config.engine_of(table))
            .map(str::to_string)
            .collect();
        let all_named = Table::ALL.into_iter().all(|table| self.config.engine_of(table).is_some());
        let default = if all_named {
            None
        } else {
            Some(wire.column("SELECT @@default_storage_engine").map_err(&failed)?.concat())
        };
        let without = wire
            .column("SELECT lower(engine) FROM information_schema.engines WHERE transactions = 'NO'")
            .map_err(&failed)?;
        let lacks = |engine: &&String| without.contains(&engine.to_ascii_lowercase());
        let place = self.config.place();
        if let Some(engine) = named.iter().find(lacks) {
            return Err(TargetError::usage(format!(
                "{place}: the engine {engine} has no transactions: name another one, as ?engine=InnoDB"
            )));
        }
        match default.filter(|engine| lacks(&engine)) {
            Some(engine) => Err(TargetError::usage(format!(
                "{place}: the server's default engine {engine} has no transactions: use ?engine=InnoDB"
            ))),
            None => Ok(()),
        }
    }
}
