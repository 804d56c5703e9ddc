//! surrealkv: an LSM tree, snapshots, many writers at once; of two that write the same key the first to commit wins.

use crate::options::{Config, Durability};
use lydite_database::kv::{Access, Direction, Each, KeyRange, KvTable, Store, StoreError, StoreTx};
use lydite_database::{AbortReason, Committed, Description};
use surrealkv::{LSMIterator, Mode, Transaction, Tree, TreeBuilder};
use tokio::runtime::{Builder, Runtime};

fn failed(error: surrealkv::Error) -> StoreError {
    use surrealkv::Error;
    let detail = error.to_string();
    match error {
        Error::TransactionWriteConflict | Error::TransactionRetry => {
            StoreError::Retry { reason: AbortReason::Serialization, detail }
        }
        Error::WriteStall { .. } => StoreError::Retry { reason: AbortReason::Other, detail },
        Error::DatabaseStopped(_) | Error::DatabasePoisoned(_) => {
            StoreError::Unavailable { committed: Committed::Unknown, detail }
        }
        _ => StoreError::Failed(detail),
    }
}

/// An open database.
pub(crate) struct SurrealKv {
    tree: Tree,
    durability: Durability,
    /// Commits are futures, and what compacts and flushes are its tasks. A session drives its own commits, without a
    /// change of threads.
    runtime: Runtime,
}

impl Store for SurrealKv {
    type Config = Config;
    type Tx<'a> = SurrealTx<'a>;
    type Pending = ();

    fn place(config: &Config) -> String {
        format!("surrealkv {}", config.path.display())
    }

    fn describe(config: &Config) -> Result<Description, StoreError> {
        Ok(config.describe("surrealkv", "snapshot", true))
    }

    fn is_there(config: &Config) -> bool {
        config.path.exists()
    }

    fn open(config: &Config) -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread().enable_all().build().map_err(|error| {
            StoreError::Failed(format!("the runtime for its tasks can't be made: {error}"))
        })?;
        let tree = {
            let _within = runtime.enter();
            TreeBuilder::new()
                .with_path(config.path.clone())
                .with_block_cache_capacity(config.cache_bytes as u64)
                .build()
                .map_err(failed)?
        };
        Ok(Self { tree, durability: config.durability, runtime })
    }

    fn begin(&self, access: Access) -> Result<SurrealTx<'_>, StoreError> {
        let mode = if access == Access::Read { Mode::ReadOnly } else { Mode::ReadWrite };
        let durability = match (self.durability, access) {
            (Durability::Full, Access::Write) => surrealkv::Durability::Immediate,
            _ => surrealkv::Durability::Eventual,
        };
        let transaction = self.tree.begin_with_mode(mode).map_err(failed)?.with_durability(durability);
        Ok(SurrealTx { store: self, access, transaction, key: Vec::new() })
    }

    fn settle(&self, stage: &(dyn Fn(&str) + Sync)) -> Result<(), StoreError> {
        stage("making the rows durable");
        self.tree.flush_wal(true).map_err(failed)
    }
}

impl Drop for SurrealKv {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _closed = self.runtime.block_on(self.tree.close());
    }
}

/// See [`StoreTx`].
pub(crate) struct SurrealTx<'a> {
    store: &'a SurrealKv,
    access: Access,
    transaction: Transaction,
    /// A buffer.
    key: Vec<u8>,
}

/// There is one keyspace, so a table is the first byte of its keys.
fn tag(table: KvTable) -> u8 {
    table.index() as u8
}

impl SurrealTx<'_> {
    fn name(&mut self, table: KvTable, key: &[u8]) {
        self.key.clear();
        self.key.push(tag(table));
        self.key.extend_from_slice(key);
    }
}

impl StoreTx for SurrealTx<'_> {
    type Pending = ();

    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        self.name(table, key);
        Ok(self.transaction.get(self.key.as_slice()).map_err(failed)?.map(|value| found(&value)))
    }

    fn modify<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<Option<R>, StoreError> {
        self.name(table, key);
        let Some(mut value) = self.transaction.get(self.key.as_slice()).map_err(failed)? else {
            return Ok(None);
        };
        let changed = change(&mut value);
        self.transaction.set(self.key.as_slice(), value).map_err(failed)?;
        Ok(Some(changed))
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.name(table, key);
        self.transaction.set(self.key.as_slice(), value).map_err(failed)
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.name(table, key);
        self.transaction.delete(self.key.as_slice()).map_err(failed)
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        let tagged = |key: &[u8]| [&[tag(table)], key].concat();
        let below = range.below.map_or_else(|| vec![tag(table) + 1], tagged);
        let mut entries = self.transaction.range(tagged(range.from), below).map_err(failed)?;
        let mut more = match direction {
            Direction::Forward => entries.seek_first(),
            Direction::Backward => entries.seek_last(),
        }
        .map_err(failed)?;
        while more {
            let value = entries.value().map_err(failed)?;
            if each(&entries.key().user_key()[1..], &value).is_break() {
                break;
            }
            more = match direction {
                Direction::Forward => entries.next(),
                Direction::Backward => entries.prev(),
            }
            .map_err(failed)?;
        }
        Ok(())
    }

    fn commit(mut self) -> Result<(), StoreError> {
        if self.access == Access::Read {
            return Ok(());
        }
        self.store.runtime.block_on(self.transaction.commit()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_families::conformance;

    #[test]
    fn surrealkv_gives_the_answers_and_leaves_the_rows_of_sqlite() {
        conformance::the_answers_and_the_rows_are_those_of_sqlite::<SurrealKv>(Config::temporary(
            Durability::Relaxed,
        ));
    }

    #[test]
    fn fighting_sessions_keep_the_conditions_in_surrealkv() {
        conformance::sessions_that_fight_for_one_warehouse_keep_the_conditions::<SurrealKv>(
            Config::temporary(Durability::Relaxed),
        );
    }
}
