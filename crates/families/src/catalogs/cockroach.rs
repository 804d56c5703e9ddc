//! CockroachDB: the leaseholders of WAREHOUSE's ranges, and the ranges that each node has a replica of.
//!
//! Source: `SHOW RANGES` in CockroachDB's documentation (v23.2 and later), its columns `start_key`, `end_key`,
//! `lease_holder`, `lease_holder_locality`, `replicas`, `replica_localities` and `range_size`.

use super::{Catalog, Numbered, Spans, Trouble, nowhere, sizes};
use lydite_database::sql::meta::{Admin, in_words};
use lydite_tpcc::Placement;

pub(crate) static COCKROACH: Catalog = Catalog {
    nodes,
    sizes: |wire| {
        sizes(
            wire,
            "SELECT 'n' || node::text || coalesce(' (' || nullif(locality, '') || ')', '') AS name, sum(bytes)::int8 \
             FROM (SELECT unnest(replicas) AS node, unnest(replica_localities) AS locality, range_size AS bytes \
             FROM [SHOW RANGES FROM CURRENT_CATALOG WITH DETAILS]) AS replica GROUP BY 1 ORDER BY 1",
        )
    },
};

fn nodes(wire: &mut dyn Admin, warehouses: u32) -> Result<Placement, Trouble> {
    let mut spans = Spans::default();
    let mut strange = None;
    wire.query_each(
        "SELECT start_key, end_key, 'n' || lease_holder::text || \
         coalesce(' (' || nullif(lease_holder_locality, '') || ')', '') \
         FROM [SHOW RANGES FROM TABLE warehouse WITH DETAILS]",
        &mut |row| match row {
            [Some(start), Some(end), Some(node)] => match (bound(start), bound(end)) {
                (Ok(from), Ok(to)) => {
                    spans.0.push((from.unwrap_or(0)..to.unwrap_or(u64::MAX), (*node).to_owned()));
                }
                (Err(key), _) | (_, Err(key)) => strange = Some(format!("a range ends at the key {key:?}")),
            },
            _ => strange = Some(format!("a range has no keys or no leaseholder: {}", in_words(row))),
        },
    )?;
    if let Some(problem) = strange {
        return Err(Trouble::Answer(format!("SHOW RANGES FROM TABLE warehouse: {problem}")));
    }
    let spans = spans.sorted()?;
    let mut numbered = Numbered::default();
    for warehouse in 1..=warehouses {
        numbered.push(spans.node(warehouse.into()).ok_or_else(|| nowhere(warehouse))?);
    }
    Ok(numbered.placement())
}

/// Returns the first warehouse at or after a key such as `…/1/80000`: index, warehouse. `None` if the key is outside of
/// the index, such as `<before:/Table/106>` and `…/<TableMax>`.
fn bound(key: &str) -> Result<Option<u64>, String> {
    if key.contains('<') {
        return Ok(None);
    }
    let (key_of_row, past) = key.strip_suffix("/PrefixEnd").map_or((key, 0), |row| (row, 1));
    let mut parts = key_of_row.trim_start_matches('…').split('/').filter(|part| !part.is_empty());
    match (parts.next(), parts.next_back()) {
        (Some(_), None) => Ok(None),
        (Some(_), Some(warehouse)) => {
            warehouse.parse::<u64>().map(|warehouse| Some(warehouse + past)).map_err(|_| key.to_owned())
        }
        (None, _) => Err(key.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_the_server_writes_them() {
        for (key, warehouse) in [
            ("<before:/Table/106>", None),
            ("<after:/Max>", None),
            ("…/<TableMin>", None),
            ("…/1", None),
            ("…/1/80000", Some(80_000)),
            ("…/1/80000/PrefixEnd", Some(80_001)),
            ("…/104/1/3", Some(3)),
        ] {
            assert_eq!(bound(key), Ok(warehouse), "{key}");
        }
        assert!(bound("…/1/\"US\"").is_err());
        assert!(bound("").is_err());
    }
}
