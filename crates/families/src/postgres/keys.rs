//! Keys and indexes, which a load makes after the rows.

use crate::postgres::connecting::SCHEMA;
use crate::postgres::{Postgres, partitions};
use crate::sql_load::BY_SIZE;
use lydite_database::TargetError;
use lydite_database::sql::ddl;
use lydite_database::sql::meta::Admin;
use lydite_tpcc::schema::Table;

impl Postgres {
    /// Returns the statements that make the missing primary keys and the indexes.
    pub(super) fn keys_and_indexes(&self, tables: &[Table]) -> Result<Vec<String>, TargetError> {
        let there = self.constraints()?;
        let mut indexes = Vec::new();
        for &table in tables {
            let name = format!("{}_pkey", table.name());
            if let Some(key) = ddl::primary_key(table).filter(|_| !there.contains(&name)) {
                indexes
                    .push(format!("ALTER TABLE {} ADD CONSTRAINT {name} PRIMARY KEY ({key})", table.name()));
            }
            indexes.extend(ddl::create_indexes(table));
        }
        Ok(indexes)
    }

    /// Returns the names of the existing constraints of Lydite's tables, for a load that is finished a second time.
    fn constraints(&self) -> Result<Vec<String>, TargetError> {
        let mut wire = self.connect_wire()?;
        wire.column(&format!(
            "SELECT conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid \
             WHERE connamespace = {SCHEMA} AND convalidated AND relname IN ({})",
            ddl::table_names()
        ))
        .map_err(self.failed("look for constraints"))
    }

    /// Adds the foreign keys that are missing.
    pub(super) fn add_foreign_keys(&self, jobs: usize) -> Result<(), TargetError> {
        let there = self.constraints()?;
        let parted = self.config.product.heap
            && partitions::by_hash(&mut self.connect_wire()?)
                .map_err(self.failed("look for partitions"))?
                .is_some();
        let mut add = Vec::new();
        let mut validate = Vec::new();
        for table in BY_SIZE {
            for (number, key) in table.schema().foreign_keys.iter().enumerate() {
                let name = format!("{}_fkey_{}", table.name(), number + 1);
                if there.contains(&name) {
                    continue;
                }
                let table = table.name();
                // Not valid at first: adding the constraint locks both tables, validating it lets others work on them.
                // Partitioned tables have no such constraints.
                let valid = if parted { "" } else { " NOT VALID" };
                add.push(format!(
                    "ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}; \
                     ALTER TABLE {table} ADD CONSTRAINT {name} {}{valid}",
                    ddl::foreign_key(key)
                ));
                if !parted {
                    validate.push(format!("ALTER TABLE {table} VALIDATE CONSTRAINT {name}"));
                }
            }
        }
        self.run_all(&add, 1)?;
        self.run_all(&validate, jobs)
    }
}
