//! Citus: the workers of the shards.
//!
//! Source: `pg_dist_placement`, `pg_dist_node`, `citus_shards` and `get_shard_id_for_distribution_column` in Citus's
//! documentation. The view `citus_shards` asks every worker for sizes, so only the sizes come from it.

use super::{Catalog, Numbered, Trouble, nowhere, sizes};
use lydite_database::sql::meta::Admin;
use lydite_tpcc::Placement;

pub(crate) static CITUS: Catalog = Catalog {
    nodes,
    sizes: |wire| {
        sizes(
            wire,
            "SELECT nodename || ':' || nodeport, sum(shard_size)::bigint FROM citus_shards GROUP BY 1 ORDER BY 1",
        )
    },
};

fn nodes(wire: &mut dyn Admin, warehouses: u32) -> Result<Placement, Trouble> {
    let mut found = Vec::new();
    wire.query_each(
        &format!(
            "WITH shard AS MATERIALIZED (SELECT warehouse, get_shard_id_for_distribution_column('warehouse', warehouse) \
             AS id FROM generate_series(1, {warehouses}) AS warehouse) \
             SELECT warehouse, nodename || ':' || nodeport FROM shard \
             JOIN pg_dist_placement AS placement ON placement.shardid = shard.id AND placement.shardstate = 1 \
             JOIN pg_dist_node AS node ON node.groupid = placement.groupid AND node.noderole = 'primary' \
             ORDER BY warehouse"
        ),
        &mut |row| {
            if let [Some(warehouse), Some(node)] = row {
                found.push((warehouse.parse::<u32>().ok(), (*node).to_owned()));
            }
        },
    )?;
    let mut found = found.into_iter().peekable();
    let mut numbered = Numbered::default();
    for warehouse in 1..=warehouses {
        let node = found.next_if(|(of, _)| *of == Some(warehouse));
        numbered.push(&node.ok_or_else(|| nowhere(warehouse))?.1);
    }
    match found.next() {
        None => Ok(numbered.placement()),
        Some(_) => Err(Trouble::Answer("a shard of the table warehouse is on several nodes".into())),
    }
}
