//! CockroachDB's archive: the URL option `archive` keeps old orders in a zone of their own.
//!
//! Old are the orders that a load makes as delivered: the age of an order is its number in its district. CockroachDB
//! partitions a table by a prefix of its key, and the number comes after the warehouse and the district. So each district
//! has a partition of its own. Rows outside of all partitions follow the zone of their table.

use lydite_database::TargetError;
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;

/// The option.
pub(super) const ARCHIVE: OptionSpec = OptionSpec {
    name: "archive",
    values: "ZONE",
    default: "none",
    about: "loading keeps the orders that it makes as delivered, and their lines, in this zone, and newer ones out of it",
};
/// Most warehouses of a database with an archive: the server keeps all partitions of a table in one description, and each
/// has a statement of its own.
const MOST_WAREHOUSES: u32 = 100;

/// Returns true if a text can be the name of a zone in a constraint.
pub(super) fn is_zone(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
}

/// Reads the option. Partitions by warehouse (`zones`) leave no room for others.
pub(super) fn read(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Option<String> {
    let zone = parsed.options.get(ARCHIVE.name)?;
    if !is_zone(zone) {
        errors.push(format!("target option archive: {zone:?} is not a zone: use letters, digits, - _ and ."));
    }
    if parsed.options.contains_key("zones") {
        errors.push(
            "target option archive is not possible with zones: both partition ORDERS and ORDER-LINE; leave one of them out"
                .into(),
        );
    }
    Some(zone.clone())
}

/// Rejects a database with too many warehouses for an archive.
pub(super) fn check(zone: Option<&str>, meta: &DatabaseMeta) -> Result<(), TargetError> {
    if zone.is_none() || meta.warehouses <= MOST_WAREHOUSES {
        return Ok(());
    }
    Err(TargetError::usage(format!(
        "target option archive makes a partition for each district, and is possible up to {MOST_WAREHOUSES} warehouses, not \
         with {}: load fewer, or leave it out",
        meta.warehouses
    )))
}

/// Returns the statements that give a new table its archive in a zone; none if it has no orders.
pub(super) fn statements(zone: Option<&str>, table: Table, meta: &DatabaseMeta) -> Vec<String> {
    let (Some(zone), Some(key)) = (zone, key_of_orders(table)) else { return Vec::new() };
    let name = table.name();
    let new = meta.size.delivered() + 1;
    let districts = (1..=meta.warehouses)
        .flat_map(|w_id| (1..=meta.districts.of(WarehouseId(w_id))).map(move |d_id| (w_id, d_id)));
    let districts: Vec<_> = districts.collect();
    let part = |(w_id, d_id): &(u32, _)| {
        format!(
            "PARTITION old_{w_id}_{d_id} VALUES FROM ({w_id}, {d_id}, MINVALUE) TO ({w_id}, {d_id}, {new})"
        )
    };
    let parts: Vec<String> = districts.iter().map(part).collect();
    let mut statements = vec![
        format!("ALTER TABLE {name} PARTITION BY RANGE ({key}) ({})", parts.join(", ")),
        format!("ALTER TABLE {name} CONFIGURE ZONE USING constraints = '[-zone={zone}]'"),
    ];
    statements.extend(districts.iter().map(|(w_id, d_id)| {
        format!(
            "ALTER PARTITION old_{w_id}_{d_id} OF TABLE {name} CONFIGURE ZONE USING constraints = '[+zone={zone}]'"
        )
    }));
    statements
}

/// Returns the columns of the primary key up to the number of the order.
fn key_of_orders(table: Table) -> Option<&'static str> {
    match table {
        Table::Orders => Some("o_w_id, o_d_id, o_id"),
        Table::OrderLine => Some("ol_w_id, ol_d_id, ol_o_id"),
        _ => None,
    }
}
