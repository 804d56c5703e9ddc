//! What databases over several servers share: loading that goes to the shards directly, and where the warehouses are.
//!
//! One server, the coordinator, takes all statements and has ITEM; each shard has the other tables under their own names,
//! with the rows of its warehouses alone.

use crate::error::TargetError;
use crate::sql::meta::OWN_TABLES;
use crate::target::{LoadProgress, LoadUnit, Loader};
use lydite_tpcc::Placement;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use std::ops::Range;

/// A loader that works on one server of several.
pub(crate) trait ShardLoader: Loader {
    /// Whether its server has noted a unit as loaded.
    fn has_loaded(&mut self, unit: LoadUnit) -> Result<bool, TargetError>;

    /// Notes a unit as loaded.
    fn note(&mut self, unit: LoadUnit) -> Result<(), TargetError>;
}

/// Loads a warehouse into its shard, and notes it there in the same transaction; then on the coordinator.
pub(crate) struct ShardedLoader<L> {
    /// Loads ITEM.
    pub(crate) coordinator: L,
    pub(crate) shards: Vec<L>,
}

impl<L: ShardLoader> Loader for ShardedLoader<L> {
    fn load(
        &mut self,
        unit: LoadUnit,
        population: &Population,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        let LoadUnit::Warehouse(warehouse) = unit else {
            return self.coordinator.load(unit, population, progress);
        };
        let warehouses = population.warehouse_ids().count() as u32;
        let placement = planned(self.shards.len(), warehouses);
        let shard = &mut self.shards[placement.node_of[warehouse.0 as usize - 1] as usize];
        // A load that was killed between the two notes left the rows.
        if !shard.has_loaded(unit)? {
            shard.load(unit, population, progress)?;
        }
        self.coordinator.note(unit)
    }
}

/// Where loading puts the warehouses: in ranges, by the numbers of the shards.
pub(crate) fn planned(shards: usize, warehouses: u32) -> Placement {
    Placement::ranges((1..=shards).map(|shard| shard.to_string()).collect(), warehouses)
}

/// The warehouses of a shard, counted from 0, as loading puts them.
pub(crate) fn planned_range(shards: usize, warehouses: u32, shard: usize) -> Range<u32> {
    let placement = planned(shards, warehouses);
    let mut numbers = placement.warehouses_of(shard as u32).map(|warehouse| warehouse.0);
    numbers.next().map_or(0..0, |first| first..numbers.last().unwrap_or(first) + 1)
}

/// Refuses more shards than there are warehouses.
pub(crate) fn check_count(shards: usize, meta: &DatabaseMeta) -> Result<(), TargetError> {
    if shards <= meta.warehouses as usize {
        return Ok(());
    }
    Err(TargetError::usage(format!(
        "{shards} shards need at least as many warehouses, and the plan has {}: raise --warehouses, or name fewer shards",
        meta.warehouses
    )))
}

/// Refuses a shard that has tables of the names that will be made. `there`: the names of its tables.
pub(crate) fn check_empty(place: &str, there: &[String]) -> Result<(), TargetError> {
    let ours =
        |name: &&str| OWN_TABLES.contains(name) || Table::ALL.iter().any(|table| table.name() == *name);
    let found: Vec<&str> = there.iter().map(String::as_str).filter(ours).collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(TargetError::usage(format!(
        "{place}: this shard has tables already: {}: name another database, or drop them with --fresh",
        found.join(", ")
    )))
}

/// The placement that the partitions of the table WAREHOUSE make: each with its node's name and its numbers, if these can
/// be read; none if there are no partitions.
pub(crate) fn placement(
    parts: Vec<(String, Option<Range<u32>>)>,
    warehouses: u32,
    place: &str,
) -> Result<Option<Placement>, TargetError> {
    if parts.is_empty() {
        return Ok(None);
    }
    let mut node_of = Vec::new();
    for warehouse in 1..=warehouses {
        let node = parts
            .iter()
            .position(|(_, range)| range.as_ref().is_some_and(|range| range.contains(&warehouse)));
        let node = node.ok_or_else(|| {
            TargetError::database(format!(
                "{place}: no partition of the table warehouse takes warehouse {warehouse} by its range: load again with \
                 --fresh"
            ))
        })?;
        node_of.push(node as u32);
    }
    Ok(Some(Placement { nodes: parts.into_iter().map(|(name, _)| name).collect(), node_of }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warehouse_is_in_the_range_of_one_shard() {
        let ranges: Vec<Range<u32>> = (0..3).map(|shard| planned_range(3, 7, shard)).collect();
        assert_eq!(ranges, [1..3, 3..5, 5..8]);
    }

    #[test]
    fn a_warehouse_that_no_partition_takes_is_an_error() {
        let parts = vec![("a".to_string(), Some(1..3)), ("b".to_string(), None)];
        let known = placement(parts.clone(), 2, "here").expect("a placement").expect("one that is known");
        assert_eq!(known.node_of, [0, 0]);
        let lost = placement(parts, 3, "here").expect_err("the third warehouse");
        assert!(lost.message.contains("takes warehouse 3"), "{lost}");
        assert_eq!(placement(Vec::new(), 3, "here"), Ok(None));
    }
}
