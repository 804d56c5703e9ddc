//! TiDB: the stores that lead WAREHOUSE's regions, and the regions that each store has a peer of.
//!
//! Source: `TIKV_REGION_STATUS`, `TIKV_REGION_PEERS` and `TIKV_STORE_STATUS` in TiDB's documentation (v7.1 and later,
//! for the columns about partitions), and its example of `TIDB_DECODE_KEY` for the keys. They need the right PROCESS.

use super::{Catalog, Spans, Trouble, by_partition, partition, sizes};
use lydite_database::sql::meta::{Admin, in_words};
use lydite_tpcc::Placement;
use std::collections::BTreeMap;

pub(crate) static TIDB: Catalog = Catalog {
    nodes,
    // A region of several tables and indexes has several rows. Sizes are MiB.
    sizes: |wire| {
        sizes(
            wire,
            "SELECT store.address, cast(sum(region.approximate_size) * 1048576 AS unsigned) FROM (SELECT DISTINCT \
             region_id, approximate_size FROM information_schema.tikv_region_status WHERE db_name = database()) \
             AS region JOIN information_schema.tikv_region_peers AS peer ON peer.region_id = region.region_id \
             JOIN information_schema.tikv_store_status AS store ON store.store_id = peer.store_id \
             GROUP BY store.address ORDER BY store.address",
        )
    },
};

fn nodes(wire: &mut dyn Admin, warehouses: u32) -> Result<Placement, Trouble> {
    let mut partitions: BTreeMap<u64, Spans> = BTreeMap::new();
    let mut strange = None;
    wire.query_each(
        "SELECT store.address, coalesce(region.partition_id, region.table_id), coalesce(region.partition_name, ''), \
         region.start_key, region.end_key FROM information_schema.tikv_region_status AS region \
         JOIN information_schema.tikv_region_peers AS peer ON peer.region_id = region.region_id \
         AND peer.is_leader = 1 JOIN information_schema.tikv_store_status AS store \
         ON store.store_id = peer.store_id WHERE region.db_name = database() AND region.table_name = 'warehouse' \
         AND region.is_index = 0",
        &mut |row| {
            let [Some(store), Some(table), Some(name), start, end] = row else {
                strange = Some(Trouble::Answer(format!("tikv_region_status: a region is {}", in_words(row))));
                return;
            };
            let keys = table.parse().ok().and_then(|table| {
                let from = bound(start.unwrap_or_default(), table, 0)?;
                Some(from..bound(end.unwrap_or_default(), table, u64::MAX)?)
            });
            match (partition(name), keys) {
                (Ok(number), Some(keys)) => {
                    // A region may reach into the table without having a row of it.
                    if !keys.is_empty() {
                        partitions.entry(number).or_default().0.push((keys, (*store).to_owned()));
                    }
                }
                (Err(trouble), _) => strange = Some(trouble),
                (_, None) => {
                    strange = Some(Trouble::Answer(format!(
                        "tikv_region_status: a region of table {table} has the keys {} to {}",
                        start.unwrap_or("NULL"),
                        end.unwrap_or("NULL")
                    )));
                }
            }
        },
    )?;
    if let Some(trouble) = strange {
        return Err(trouble);
    }
    let partitions = partitions
        .into_iter()
        .map(|(number, spans)| spans.sorted().map(|spans| (number, spans)))
        .collect::<Result<BTreeMap<_, _>, _>>()?;
    by_partition(&partitions, warehouses, |spans, warehouse| spans.node(warehouse.into()))
}

/// Returns the first row at or after a key of a region; `open` for a region without a bound. `None` if it is no key.
fn bound(key: &str, table: i64, open: u64) -> Option<u64> {
    if key.is_empty() {
        return Some(open);
    }
    let key = decoded(key)?;
    let rows = [&b"t"[..], &ordered(table), b"_r"].concat();
    let Some(row) = key.strip_prefix(&rows[..]) else {
        return Some(if key < rows { 0 } else { u64::MAX });
    };
    let mut number = [0; 8];
    let known = row.len().min(8);
    number[..known].copy_from_slice(&row[..known]);
    // Rows before 0 are none of ours.
    Some(u64::try_from(i64::from_be_bytes(number) ^ i64::MIN).unwrap_or(0))
}

/// Returns the bytes of a number that compare as the numbers do.
fn ordered(number: i64) -> [u8; 8] {
    (number ^ i64::MIN).to_be_bytes()
}

/// Decodes a key in hexadecimal digits: groups of eight bytes, each followed by 255 less the number of bytes that only
/// fill the group.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    let mut key = Vec::new();
    for group in bytes.chunks(9) {
        let (&filled, group) = group.split_last().filter(|(_, group)| group.len() == 8)?;
        let used = 8_usize.checked_sub(usize::from(u8::MAX - filled))?;
        key.extend_from_slice(&group[..used]);
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key is the documentation's, which gives the table 59 and the row 1958897 for it.
    #[test]
    fn keys_are_decoded_as_the_server_does() {
        let key = "7480000000000000FF3B5F728000000000FF1DE3F10000000000FA";
        assert_eq!(bound(key, 59, 0), Some(1_958_897));
        assert_eq!((bound(key, 60, 0), bound(key, 58, 0)), (Some(0), Some(u64::MAX)));
        assert_eq!((bound("", 59, 0), bound("", 59, u64::MAX)), (Some(0), Some(u64::MAX)));
        // The beginning of the table, and a text that is no key.
        assert_eq!(bound("7480000000000000FF3B00000000000000F8", 59, 0), Some(0));
        assert_eq!((bound("74800", 59, 0), bound("xyz", 59, 0)), (None, None));
    }
}
