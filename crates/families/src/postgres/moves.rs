//! Moves warehouses from shard to shard while others use the database.
//!
//! The coordinator's tables are partitioned by lists of warehouses, with a partition for each shard. One transaction on
//! the coordinator locks all of these tables, moves the rows from partition to partition, and changes the lists. The lock
//! waits for the transactions that use a table, and holds up those that come. So no transaction sees a warehouse twice,
//! or not at all.
//!
//! The commit is not atomic: `postgres_fdw` commits on each shard, and then the coordinator commits. If a server fails
//! between these commits, the rows of the warehouses may be on both shards or on neither, or the lists may name the wrong
//! shard. Only a new load repairs that.

use crate::postgres::Postgres;
use crate::postgres::connecting::SCHEMA;
use crate::postgres::shards::{list, partition, warehouses_of};
use crate::postgres::wire::Wire;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{DatabaseState, Moved, Target, TargetError};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::schema::Table;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Settings of the move's transaction, for a superuser.
///
/// A transaction that holds one table and waits for another that the move has locked is in a deadlock with the move. A
/// transaction looks for deadlocks once, a second after it began to wait, and is aborted then; the load repeats it. If it
/// began to wait before the deadlock was there, only the move can end the deadlock: it gives all its locks back and tries
/// again. The server rolls the move back if its client is gone.
const SETTINGS: &str = "SET LOCAL deadlock_timeout = '60s'; SET LOCAL lock_timeout = '2s'; \
     SET LOCAL client_connection_check_interval = '200ms'";
/// Time after which the move asks for the locks no more.
const PATIENCE: Duration = Duration::from_secs(60);
/// The tables in the order of their locks. With it few transactions are in a deadlock with the move: a New-Order that has
/// read WAREHOUSE and comes to CUSTOMER, and a Delivery, which comes to CUSTOMER last.
const LOCKED: [Table; 8] = [
    Table::Customer,
    Table::NewOrder,
    Table::Warehouse,
    Table::District,
    Table::Orders,
    Table::OrderLine,
    Table::Stock,
    Table::History,
];

/// The warehouses of each shard.
type Lists = Vec<BTreeSet<u32>>;

/// Changes of one move.
#[derive(Debug, PartialEq, Eq)]
struct Move {
    /// Source shards, each with its departing warehouses.
    from: Vec<(usize, BTreeSet<u32>)>,
    /// The lists afterwards.
    lists: Lists,
}

impl Postgres {
    /// Moves warehouses to a shard, counted from 0. Warehouses that are already on it stay.
    pub(super) fn move_to_shard(
        &self,
        warehouses: &[WarehouseId],
        shard: usize,
    ) -> Result<Moved, TargetError> {
        let place = self.config.place();
        match self.state()? {
            DatabaseState::Ready { .. } => {}
            DatabaseState::Empty => {
                return Err(TargetError::usage(format!("{place}: the database is empty: load it first")));
            }
            _ => {
                return Err(TargetError::usage(format!(
                    "{place}: only the warehouses of a complete TPC-C database can move"
                )));
            }
        }
        let mut wire = self.connect_wire()?;
        // A move that is impossible, or that changes nothing, holds up nobody.
        if self.planned_move(&mut wire, warehouses, shard)?.from.is_empty() {
            return Ok(Moved::default());
        }
        let begun = Instant::now();
        let tables = LOCKED.map(Table::name).join(", ");
        let lock = format!("BEGIN; {SETTINGS}; LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE");
        loop {
            match wire.execute(&lock) {
                Ok(()) => break,
                Err(SqlError::Database { retry: Some(_), .. }) if begun.elapsed() < PATIENCE => {
                    wire.execute("ROLLBACK")
                        .map_err(self.failed("give the locks back (nothing has moved)"))?;
                }
                Err(error) => {
                    return Err(self.failed("lock the tables for the move (nothing has moved; try again)")(
                        error,
                    ));
                }
            }
        }
        let waited = begun.elapsed();
        // Others may have moved some since.
        let moved = self.planned_move(&mut wire, warehouses, shard)?;
        if moved.from.is_empty() {
            return Ok(Moved::default());
        }
        wire.execute(&moved.sql(shard)).map_err(self.failed("move the rows (nothing has moved)"))?;
        // A statement of its own, so that a move whose client was killed before is rolled back.
        wire.execute("COMMIT").map_err(self.failed("commit the move, which may be done or not"))?;
        let warehouses = moved.from.iter().map(|(_, leaving)| leaving.len()).sum();
        Ok(Moved { warehouses, waited, copied: begun.elapsed().saturating_sub(waited) })
    }

    /// Reads the lists, and plans a move to a shard.
    fn planned_move(
        &self,
        wire: &mut Wire,
        warehouses: &[WarehouseId],
        shard: usize,
    ) -> Result<Move, TargetError> {
        let bounds = wire
            .column(&format!(
                "SELECT pg_get_expr(child.relpartbound, child.oid) FROM pg_class AS parent \
                 JOIN pg_inherits ON inhparent = parent.oid JOIN pg_class AS child ON child.oid = inhrelid \
                 WHERE parent.relname = 'warehouse' AND parent.relnamespace = {SCHEMA} \
                 ORDER BY substring(child.relname FROM '[0-9]+$')::int"
            ))
            .map_err(self.failed("look for the warehouses of each shard"))?;
        let place = self.config.place();
        if let Some(other) = bounds.iter().find(|bounds| !bounds.starts_with("FOR VALUES IN")) {
            return Err(TargetError::usage(format!(
                "{place}: a partition of the table warehouse is {other}, and only lists of warehouses can change: load \
                 again with --fresh"
            )));
        }
        let lists: Lists =
            bounds.iter().map(|bounds| warehouses_of(bounds).into_iter().flatten().collect()).collect();
        if let Some((_, bounds)) = lists.iter().zip(&bounds).find(|(list, _)| list.is_empty()) {
            return Err(TargetError::usage(format!(
                "{place}: a partition of the table warehouse is {bounds}, which is no list of warehouses"
            )));
        }
        planned(lists, warehouses, shard).map_err(|problem| TargetError::usage(format!("{place}: {problem}")))
    }
}

/// Returns what a move changes in these lists.
fn planned(mut lists: Lists, warehouses: &[WarehouseId], shard: usize) -> Result<Move, String> {
    if shard >= lists.len() {
        return Err(match lists.len() {
            0 => "only the warehouses of PostgreSQL over shards can move".into(),
            count => format!("there is no shard {}: use 1 to {count}", shard + 1),
        });
    }
    let all = lists.iter().flatten().max().copied().unwrap_or_default();
    if let Some(unknown) = warehouses.iter().find(|id| !lists.iter().any(|list| list.contains(&id.0))) {
        return Err(format!("there is no warehouse {}: use 1 to {all}", unknown.0));
    }
    let mut from = Vec::new();
    let mut arrived = BTreeSet::new();
    for (number, list) in lists.iter_mut().enumerate().filter(|(number, _)| *number != shard) {
        let leaves: BTreeSet<u32> = warehouses.iter().map(|id| id.0).filter(|id| list.remove(id)).collect();
        if list.is_empty() {
            return Err(format!(
                "shard {} would have no warehouse, and each needs one: leave one there",
                number + 1
            ));
        }
        if !leaves.is_empty() {
            arrived.extend(&leaves);
            from.push((number, leaves));
        }
    }
    lists[shard].append(&mut arrived);
    Ok(Move { from, lists })
}

impl Move {
    /// Returns the statements of the move, for a transaction that has locked the tables.
    fn sql(&self, shard: usize) -> String {
        let mut sql = String::new();
        for table in Table::OF_WAREHOUSE {
            let Some(column) = table.warehouse_column() else { unreachable!("{table:?} has warehouses") };
            let (name, to) = (table.name(), partition(table, shard));
            let parts = || self.from.iter().map(|(from, _)| *from).chain([shard]);
            // A partition rejects rows that are not of its list.
            for part in parts() {
                sql += &format!("ALTER TABLE {name} DETACH PARTITION {}; ", partition(table, part));
            }
            for (from, warehouses) in &self.from {
                let (from, warehouses) = (partition(table, *from), list(warehouses.iter().copied()));
                sql += &format!(
                    "INSERT INTO {to} SELECT * FROM {from} WHERE {column} IN ({warehouses}); \
                     DELETE FROM {from} WHERE {column} IN ({warehouses}); "
                );
            }
            for part in parts() {
                sql += &format!(
                    "ALTER TABLE {name} ATTACH PARTITION {} FOR VALUES IN ({}); ",
                    partition(table, part),
                    list(self.lists[part].iter().copied())
                );
            }
        }
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned_of(warehouses: &[u32], shard: usize) -> Result<Move, String> {
        let lists = vec![BTreeSet::from([1, 2]), BTreeSet::from([3, 4]), BTreeSet::from([5])];
        let warehouses: Vec<WarehouseId> = warehouses.iter().copied().map(WarehouseId).collect();
        planned(lists, &warehouses, shard)
    }

    #[test]
    fn warehouses_leave_their_shards_for_another() {
        let lists = vec![BTreeSet::from([2]), BTreeSet::from([3]), BTreeSet::from([1, 4, 5])];
        let from = vec![(0, BTreeSet::from([1])), (1, BTreeSet::from([4]))];
        assert_eq!(planned_of(&[4, 5, 1], 2), Ok(Move { from, lists }));
        let Ok(none) = planned_of(&[3, 4], 1) else { panic!("they are there") };
        assert!(none.from.is_empty());
    }

    #[test]
    fn impossible_moves_are_refused() {
        for (warehouses, shard, said) in [
            (&[1][..], 3, "there is no shard 4: use 1 to 3"),
            (&[1, 6], 1, "there is no warehouse 6: use 1 to 5"),
            (&[0], 1, "there is no warehouse 0"),
            (&[5], 1, "shard 3 would have no warehouse"),
        ] {
            let refused = planned_of(warehouses, shard).err();
            assert!(refused.as_ref().is_some_and(|refused| refused.contains(said)), "{refused:?}");
        }
        let alone = planned(Vec::new(), &[WarehouseId(1)], 0);
        assert!(alone.is_err_and(|problem| problem.contains("over shards can move")));
    }
}
