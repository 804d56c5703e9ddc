//! YugabyteDB: the leaders of WAREHOUSE's tablets, and the files of each replica.
//!
//! Source: `yb_tablet_metadata` in YugabyteDB's documentation (from 2025.1; its columns of sizes are newer).

use super::{Catalog, Numbered, Sizes, Spans, Trouble, nowhere, sizes};
use lydite_database::sql::meta::{Admin, in_words};
use lydite_tpcc::Placement;

pub(crate) static YUGABYTE: Catalog = Catalog { nodes, sizes: files };

/// The view joins the tablets with tables of the same name in every schema, so it may show a tablet twice.
fn nodes(wire: &mut dyn Admin, warehouses: u32) -> Result<Placement, Trouble> {
    let mut spans = Spans::default();
    let mut strange = None;
    wire.query_each(
        "SELECT DISTINCT leader, coalesce(start_hash_code, 0), coalesce(end_hash_code, 65536), tablet_id \
         FROM yb_tablet_metadata WHERE db_name = current_database() AND relname = 'warehouse'",
        &mut |row| match row {
            [Some(leader), Some(from), Some(to), _] => match (from.parse(), to.parse()) {
                (Ok(from), Ok(to)) => spans.0.push((from..to, (*leader).to_owned())),
                _ => strange = Some(format!("a tablet has the hash codes {from} to {to}")),
            },
            _ => strange = Some(format!("a tablet has no leader: {}: try again", in_words(row))),
        },
    )?;
    if let Some(problem) = strange {
        return Err(Trouble::Answer(format!("yb_tablet_metadata: {problem}")));
    }
    let spans = spans.sorted()?;
    let hashes = wire.column(&format!(
        "SELECT yb_hash_code(warehouse) FROM generate_series(1, {warehouses}) AS warehouse ORDER BY warehouse"
    ))?;
    let mut hashes = hashes.iter();
    let mut numbered = Numbered::default();
    for warehouse in 1..=warehouses {
        let hash = hashes.next().and_then(|hash| hash.parse().ok());
        let node = hash.and_then(|hash| spans.node(hash));
        numbered.push(node.ok_or_else(|| nowhere(warehouse))?);
    }
    Ok(numbered.placement())
}

fn files(wire: &mut dyn Admin) -> Sizes {
    let known = wire.column(
        "SELECT 1 FROM pg_attribute WHERE attrelid = 'yb_tablet_metadata'::regclass \
         AND attname = 'active_ssts_size'",
    )?;
    if known.is_empty() {
        return Ok(None);
    }
    sizes(
        wire,
        "SELECT node, sum(bytes)::bigint FROM (SELECT DISTINCT tablet_id, unnest(replicas) AS node, \
         unnest(active_ssts_size) AS bytes FROM yb_tablet_metadata WHERE db_name = current_database()) AS replica \
         GROUP BY node ORDER BY node",
    )
}
