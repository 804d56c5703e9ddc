//! Databases over several servers: loading directly into the shards, and the placement of the warehouses.
//!
//! One server, the coordinator, takes all statements and has ITEM. Each shard has the other tables under their own
//! names, with only the rows of its warehouses.

use crate::error::TargetError;
use crate::load::{LoadProgress, LoadUnit, Loader};
use crate::load_rows::LoadRows;
use crate::sql::meta::is_ours;
use crate::target_url::{OptionSpec, ParsedUrl};
use lydite_tpcc::Placement;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use std::ops::Range;

/// Option for the location of ITEM.
pub const ITEMS: OptionSpec = OptionSpec {
    name: "items",
    values: "replicated, single",
    default: "replicated",
    about: "ITEM local to every transaction, or on one node only; when loading over several nodes",
};
/// Option that keeps the rows of a warehouse on one node.
pub const COLOCATED: OptionSpec = OptionSpec {
    name: "colocated",
    values: "on, off",
    default: "on",
    about: "whether the rows of a warehouse are on one node in all tables; when loading over several nodes",
};

/// Measures that keep transactions on one node of several, as configured. `None` if the URL does not set the option;
/// then the measure is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    items_single: Option<bool>,
    colocated: Option<bool>,
}

impl Layout {
    /// Reads the options. They are errors unless `several` is set, because they have a meaning only over several nodes.
    pub fn of(parsed: &ParsedUrl, several: bool, errors: &mut Vec<String>) -> Self {
        let mut read = |option: &OptionSpec, values: &[&'static str]| {
            parsed.options.contains_key(option.name).then(|| {
                if !several {
                    errors.push(format!(
                        "target option {} is for tables over several nodes: leave it out, or name the nodes",
                        option.name
                    ));
                }
                parsed.choice(option.name, values, errors)
            })
        };
        Self {
            items_single: read(&ITEMS, &["replicated", "single"]).map(|items| items == "single"),
            colocated: read(&COLOCATED, &["on", "off"]).map(|colocated| colocated == "on"),
        }
    }

    /// True if only one node has ITEM.
    pub fn items_single(self) -> bool {
        self.items_single == Some(true)
    }

    /// True if the rows of a warehouse are on one node.
    pub fn colocated(self) -> bool {
        self.colocated != Some(false)
    }

    /// Returns the options with their values, for the result.
    pub fn settings(self) -> [(&'static str, &'static str); 2] {
        let items = if self.items_single() { "single" } else { "replicated" };
        [(ITEMS.name, items), (COLOCATED.name, if self.colocated() { "on" } else { "off" })]
    }

    /// Makes the layout of existing tables.
    pub fn found(items_single: bool, colocated: bool) -> Self {
        Self { items_single: Some(items_single), colocated: Some(colocated) }
    }

    /// Rejects existing tables with another layout than the configured one.
    pub fn check(self, found: Self, place: &str) -> Result<(), TargetError> {
        let differs = |asked: Option<bool>, there: Option<bool>| asked.is_some() && asked != there;
        if !differs(self.items_single, found.items_single) && !differs(self.colocated, found.colocated) {
            return Ok(());
        }
        let [(items, there), (colocated, together)] = found.settings();
        Err(TargetError::usage(format!(
            "{place}: the tables were loaded with {items}={there} and {colocated}={together}: name these, or load \
             again with --fresh"
        )))
    }

    /// Checks a resumed load as [`Layout::check`] does, with the defaults for options that the URL does not set.
    pub fn check_load(self, found: Self, place: &str) -> Result<(), TargetError> {
        Self::found(self.items_single(), self.colocated()).check(found, place)
    }

    /// Returns the tables of a shard, counted from 0.
    pub fn tables_of(self, shard: usize) -> &'static [Table] {
        if self.items_single() && shard == ITEMS_SHARD { &Table::ALL } else { &Table::OF_WAREHOUSE }
    }

    /// Returns the shard, counted from 0, with a table's rows of the warehouses that loading assigns to the shard `of`.
    /// Without colocation each table is one shard further than the one before, and WAREHOUSE is on the shard `of`.
    pub fn shard_of(self, table: Table, of: usize, shards: usize) -> usize {
        let further = Table::OF_WAREHOUSE.iter().position(|known| *known == table).unwrap_or_default();
        if self.colocated() { of } else { (of + further) % shards }
    }
}

/// Shard with ITEM, if a single shard has it.
pub const ITEMS_SHARD: usize = 0;

/// A loader that works on one server of several.
pub trait ShardLoader: Loader {
    /// Loads some of a unit's tables, as [`Loader::load`] loads all.
    fn load_tables(
        &mut self,
        unit: LoadUnit,
        tables: &[Table],
        rows: &LoadRows,
        progress: &LoadProgress,
    ) -> Result<(), TargetError>;

    /// True if the server has noted a unit as loaded.
    fn has_loaded(&mut self, unit: LoadUnit) -> Result<bool, TargetError>;

    /// Notes a unit as loaded on the server.
    fn note(&mut self, unit: LoadUnit) -> Result<(), TargetError>;
}

/// Loads a warehouse into its shard, or its tables into their shards. Notes it there in the same transaction, then on
/// the coordinator.
pub struct ShardedLoader<L> {
    /// Loader of the coordinator, which loads ITEM unless a shard has it.
    pub coordinator: L,
    /// Loaders of the shards, in order.
    pub shards: Vec<L>,
    /// Layout of the tables.
    pub layout: Layout,
}

impl<L: ShardLoader> Loader for ShardedLoader<L> {
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        let (layout, count) = (self.layout, self.shards.len());
        let of = match unit {
            LoadUnit::Items if !layout.items_single() => {
                return self.coordinator.load(unit, rows, progress);
            }
            LoadUnit::Items => ITEMS_SHARD,
            LoadUnit::Warehouse(warehouse) => {
                planned(count, rows.warehouses()).node_of[warehouse.0 as usize - 1] as usize
            }
        };
        for (number, shard) in self.shards.iter_mut().enumerate() {
            let here = |table: &Table| match table {
                Table::Item => number == ITEMS_SHARD,
                table => layout.shard_of(*table, of, count) == number,
            };
            let tables: Vec<Table> = unit.tables().iter().copied().filter(here).collect();
            // An earlier load that was killed between two notes has left these rows.
            if !tables.is_empty() && !shard.has_loaded(unit)? {
                shard.load_tables(unit, &tables, rows, progress)?;
            }
        }
        self.coordinator.note(unit)
    }
}

/// Returns the placement of a load: ranges of warehouses, on nodes that are named by the numbers of the shards.
pub fn planned(shards: usize, warehouses: u32) -> Placement {
    Placement::ranges((1..=shards).map(|shard| shard.to_string()).collect(), warehouses)
}

/// Returns the warehouses that a load puts on a shard, counted from 0.
pub fn planned_range(shards: usize, warehouses: u32, shard: usize) -> Range<u32> {
    let placement = planned(shards, warehouses);
    let mut numbers = placement.warehouses_of(shard as u32).map(|warehouse| warehouse.0);
    numbers.next().map_or(0..0, |first| first..numbers.last().unwrap_or(first) + 1)
}

/// Rejects more shards than warehouses.
pub fn check_count(shards: usize, meta: &DatabaseMeta) -> Result<(), TargetError> {
    if shards <= meta.warehouses as usize {
        return Ok(());
    }
    Err(TargetError::usage(format!(
        "{shards} shards need at least as many warehouses, and the plan has {}: raise --warehouses, or name \
         fewer shards",
        meta.warehouses
    )))
}

/// Rejects a shard with tables that have the names of Lydite's tables. `there` has the names of its tables.
pub fn check_empty(place: &str, there: &[String]) -> Result<(), TargetError> {
    let found: Vec<&str> = there.iter().map(String::as_str).filter(|name| is_ours(name)).collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(TargetError::usage(format!(
        "{place}: this shard has tables already: {}: name another database; if nobody needs these tables, which may be \
         somebody else's, --fresh drops them with all their rows",
        found.join(", ")
    )))
}

/// A partition of the table WAREHOUSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name of its node.
    pub node: String,
    /// Warehouses of the partition, as ranges; empty if they can't be read.
    pub warehouses: Vec<Range<u32>>,
}

/// Makes the placement of the partitions of the table WAREHOUSE, where each partition is a node. Returns `None` without
/// partitions.
pub fn placement(parts: Vec<Part>, warehouses: u32, place: &str) -> Result<Option<Placement>, TargetError> {
    if parts.is_empty() {
        return Ok(None);
    }
    let mut node_of = vec![None; warehouses as usize];
    for (node, part) in (0..).zip(&parts) {
        for warehouse in part.warehouses.iter().flat_map(|of| of.start.max(1)..of.end.min(warehouses + 1)) {
            node_of[warehouse as usize - 1] = Some(node);
        }
    }
    let found = (1..).zip(node_of).map(|(warehouse, node): (u32, Option<u32>)| {
        node.ok_or_else(|| {
            TargetError::database(format!(
                "{place}: no partition of the table warehouse takes warehouse {warehouse}: load again with --fresh"
            ))
        })
    });
    let node_of = found.collect::<Result<_, _>>()?;
    Ok(Some(Placement { nodes: parts.into_iter().map(|part| part.node).collect(), node_of }))
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
    fn tables_without_colocation_are_on_successive_shards() {
        let apart = Layout::found(false, false);
        let shards: Vec<usize> =
            Table::OF_WAREHOUSE.iter().map(|&table| apart.shard_of(table, 1, 3)).collect();
        assert_eq!(shards, [1, 2, 0, 1, 2, 0, 1, 2]);
        assert!(Table::OF_WAREHOUSE.iter().all(|&table| Layout::default().shard_of(table, 1, 3) == 1));
    }

    #[test]
    fn tables_with_another_layout_are_rejected_and_unset_options_accept_any() {
        let found = Layout::found(true, true);
        assert_eq!(Layout::default().check(found, "here"), Ok(()));
        assert_eq!(found.check(found, "here"), Ok(()));
        let refused = Layout::found(false, true).check(found, "here").expect_err("another ITEM");
        assert!(refused.message.contains("items=single and colocated=on"), "{refused}");
    }

    #[test]
    fn a_warehouse_that_no_partition_takes_is_an_error() {
        let part = |node: &str, warehouses| Part { node: node.into(), warehouses };
        let parts =
            vec![part("a", vec![1..2, 3..4]), part("b", Vec::new()), part("c", vec![2..3, 5..u32::MAX])];
        let known = placement(parts.clone(), 3, "here").expect("a placement").expect("one that is known");
        assert_eq!(known.node_of, [0, 2, 0]);
        assert_eq!(known.nodes, ["a", "b", "c"]);
        let lost = placement(parts, 5, "here").expect_err("the fourth warehouse");
        assert!(lost.message.contains("takes warehouse 4"), "{lost}");
        assert_eq!(placement(Vec::new(), 3, "here"), Ok(None));
    }
}
