//! `lydite lab move`.

use crate::directories::directory;
use crate::kind::{Kind, Servers};
use crate::note::Lab;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::print;
use lydite_database::TxMode;
use lydite_families::TargetSpec;
use lydite_tpcc::WarehouseId;
use std::path::PathBuf;

/// Moves warehouses to a shard of a lab while others may use its database. `place` is `KIND/SHARD`, with shards from 1,
/// and `warehouses` is a list with commas.
///
/// # Errors
/// The lab has no such shard, the list is wrong, or the database does not move them.
pub fn move_warehouses(place: &str, warehouses: &str, dir: Option<PathBuf>) -> Outcome {
    let (name, shard) = place.split_once('/').unwrap_or((place, ""));
    let kind = Kind::named(name)?;
    if kind.servers != Servers::PostgresOverShards {
        let able = Kind::of(Servers::PostgresOverShards).name;
        return Err(Failure::usage(format!("lab {name}: only the warehouses of {able} can move")));
    }
    let ids = read(warehouses)?;
    let lab = Lab::of(kind, &directory(kind, dir)?)?;
    // The first server is the coordinator.
    let shards = lab.servers.len().saturating_sub(1);
    let shard = shard.parse().ok().filter(|shard| (1..=shards).contains(shard)).ok_or_else(|| {
        Failure::usage(format!("{place}: name one of the shards, {name}/1 to {name}/{shards}"))
    })?;
    let target = TargetSpec::parse(&lab.url, TxMode::Statements).map_err(Failure::Usage)?.open()?;
    let moved = target.capabilities().move_warehouses(&ids, shard - 1)?;
    print(&match moved.warehouses {
        0 => format!("{place}: nothing to move, the warehouses are there\n"),
        count => format!(
            "{place}: {count} warehouse{} moved, {:.1} s for the locks and {:.1} s for the rows\n",
            if count == 1 { "" } else { "s" },
            moved.waited.as_secs_f64(),
            moved.copied.as_secs_f64()
        ),
    })
}

/// Reads the numbers of warehouses.
fn read(text: &str) -> Result<Vec<WarehouseId>, Failure> {
    let mut ids: Vec<WarehouseId> = Vec::new();
    for number in text.split(',') {
        let id =
            number.trim().parse().ok().filter(|number| *number > 0).map(WarehouseId).ok_or_else(|| {
                let problem =
                    format!("{text:?}: {number:?} is no warehouse: write numbers with commas, as 4,7");
                Failure::usage(problem)
            })?;
        if ids.contains(&id) {
            return Err(Failure::usage(format!("{text:?}: warehouse {} is named twice", id.0)));
        }
        ids.push(id);
    }
    Ok(ids)
}
