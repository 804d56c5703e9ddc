//! OceanBase: the leaders of WAREHOUSE's partitions, and the tablets on each server.
//!
//! Source: `DBA_OB_TABLE_LOCATIONS` and `DBA_OB_TABLET_REPLICAS` in OceanBase's documentation (V4).

use super::{Catalog, Trouble, by_partition, partition, sizes};
use lydite_database::sql::meta::{Admin, in_words};
use lydite_tpcc::Placement;
use std::collections::BTreeMap;

pub(crate) static OCEANBASE: Catalog = Catalog {
    nodes,
    sizes: |wire| {
        sizes(
            wire,
            "SELECT concat(tablet.svr_ip, ':', tablet.svr_port), cast(sum(tablet.required_size) AS unsigned) \
             FROM oceanbase.DBA_OB_TABLE_LOCATIONS AS location JOIN oceanbase.DBA_OB_TABLET_REPLICAS AS tablet \
             ON tablet.tablet_id = location.tablet_id AND tablet.ls_id = location.ls_id \
             AND tablet.svr_ip = location.svr_ip AND tablet.svr_port = location.svr_port \
             WHERE location.database_name = database() GROUP BY 1 ORDER BY 1",
        )
    },
};

fn nodes(wire: &mut dyn Admin, warehouses: u32) -> Result<Placement, Trouble> {
    let mut partitions: BTreeMap<u64, String> = BTreeMap::new();
    let mut strange = None;
    wire.query_each(
        "SELECT concat(svr_ip, ':', svr_port), coalesce(partition_name, '') FROM oceanbase.DBA_OB_TABLE_LOCATIONS \
         WHERE database_name = database() AND table_name = 'warehouse' AND table_type = 'USER TABLE' \
         AND role = 'LEADER'",
        &mut |row| {
            let [Some(server), Some(name)] = row else {
                strange = Some(Trouble::Answer(format!("DBA_OB_TABLE_LOCATIONS: a location is {}", in_words(row))));
                return;
            };
            match partition(name) {
                Ok(number) => {
                    partitions.insert(number, (*server).to_owned());
                }
                Err(trouble) => strange = Some(trouble),
            }
        },
    )?;
    match strange {
        Some(trouble) => Err(trouble),
        None => by_partition(&partitions, warehouses, |server, _| Some(server)),
    }
}
