//! Sizes and parts of the nine tables, from the catalogs. A query answers with a row of each table: its name, bytes with
//! indexes, estimated rows, partitions, ranges, columns, and indexes. `{tables}` in it stands for the names of the tables,
//! since a schema may have many others.
//!
//! Sources: PostgreSQL's and MySQL's documentation of their catalogs; of CockroachDB `SHOW RANGES` (v23.2 and later) with
//! its columns `range_id`, `range_size`, `schema_name` and `table_name`, `SHOW TABLES` with `estimated_row_count`, and
//! `information_schema` with `columns.is_hidden`.

use super::Trouble;
use lydite_database::sql::meta::{Admin, in_words};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{TableShape, TargetError};
use lydite_tpcc::schema::Table;

/// The query of PostgreSQL. A table of partitions has no rows of its own; a table that nobody analysed has -1. Partitions
/// may have partitions: those without any count. Servers that resemble PostgreSQL may lack `pg_partition_tree`, and all have
/// `pg_inherits`.
pub(crate) const SHAPES_OF_POSTGRES: &str = "SELECT c.relname, \
     (pg_total_relation_size(c.oid) + coalesce(p.bytes, 0))::bigint, \
     CASE WHEN p.parts IS NULL THEN nullif(c.reltuples, -1) WHEN p.least >= 0 THEN p.rows END::bigint, \
     p.parts, NULL, \
     (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), \
     (SELECT count(*) FROM pg_index x WHERE x.indrelid = c.oid) \
     FROM pg_class c LEFT JOIN LATERAL \
     (WITH RECURSIVE tree (part) AS (SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid UNION ALL \
      SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.part) \
      SELECT sum(pg_total_relation_size(r.oid)) AS bytes, nullif(count(*), 0) AS parts, \
      sum(r.reltuples) AS rows, min(r.reltuples) AS least \
      FROM tree JOIN pg_class r ON r.oid = tree.part WHERE r.relkind <> 'p') p ON true \
     WHERE c.relkind IN ('r', 'p', 'f') AND c.relname IN ({tables}) \
     AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// The query of MySQL's family. Each part names the schema by itself, so that a server looks into no other one. OceanBase
/// reports no bytes of rows that it has in memory only.
pub(crate) const SHAPES_OF_MYSQL: &str = "SELECT t.table_name, nullif(t.data_length + t.index_length, 0), t.table_rows, \
     p.parts, NULL, c.columns, coalesce(x.indexes, 0) FROM information_schema.tables t LEFT JOIN \
     (SELECT table_name AS of_table, count(*) AS parts FROM information_schema.partitions \
      WHERE table_schema = database() AND partition_name IS NOT NULL GROUP BY table_name) p ON p.of_table = t.table_name \
     LEFT JOIN (SELECT table_name AS of_table, count(*) AS columns FROM information_schema.columns \
      WHERE table_schema = database() GROUP BY table_name) c ON c.of_table = t.table_name \
     LEFT JOIN (SELECT table_name AS of_table, count(DISTINCT index_name) AS indexes FROM information_schema.statistics \
      WHERE table_schema = database() GROUP BY table_name) x ON x.of_table = t.table_name \
     WHERE t.table_schema = database() AND t.table_name IN ({tables})";

/// The query of CockroachDB. A hidden column is not a column of the table, the index of a hidden key is one. A range that
/// several tables share counts for each.
pub(crate) const SHAPES_OF_COCKROACH: &str = "SELECT t.table_name, r.bytes, t.estimated_row_count, NULL, \
     coalesce(r.ranges, 0), c.columns, x.indexes FROM [SHOW TABLES] AS t LEFT JOIN \
     (SELECT table_name AS of_table, count(DISTINCT range_id) AS ranges, sum(range_size)::int8 AS bytes \
      FROM [SHOW RANGES FROM CURRENT_CATALOG WITH TABLES, DETAILS] WHERE schema_name = current_schema() \
      GROUP BY table_name) AS r ON r.of_table = t.table_name \
     LEFT JOIN (SELECT table_name AS of_table, count(*) AS columns FROM information_schema.columns \
      WHERE table_schema = current_schema() AND is_hidden = 'NO' GROUP BY table_name) AS c ON c.of_table = t.table_name \
     LEFT JOIN (SELECT table_name AS of_table, count(DISTINCT index_name) AS indexes FROM information_schema.statistics \
      WHERE table_schema = current_schema() GROUP BY table_name) AS x ON x.of_table = t.table_name \
     WHERE t.schema_name = current_schema() AND t.table_name IN ({tables})";

/// Returns the answer to such a query, in the order of [`Table::ALL`]. `failed` makes the error of the statement.
pub(crate) fn shapes(
    wire: &mut dyn Admin,
    query: &str,
    (place, failed): (&str, impl Fn(SqlError) -> TargetError),
) -> Result<Vec<TableShape>, TargetError> {
    read(wire, query).map_err(|trouble| trouble.on_target(place, failed))
}

fn read(wire: &mut dyn Admin, query: &str) -> Result<Vec<TableShape>, Trouble> {
    let names: Vec<String> = Table::ALL.iter().map(|table| format!("'{}'", table.name())).collect();
    let query = query.replace("{tables}", &names.join(", "));
    let (mut found, mut strange) = (Vec::new(), None);
    wire.query_each(&query, &mut |row| match shape(row) {
        Some(shape) => found.push(shape),
        None => strange = Some(in_words(row)),
    })?;
    if let Some(row) = strange {
        return Err(Trouble::Answer(format!("the server describes a table as {row}")));
    }
    found.sort_by_key(|shape: &TableShape| Table::ALL.iter().position(|table| *table == shape.table));
    Ok(found)
}

/// Reads a row. `None` if it is not of one of the tables, or has something else than numbers.
fn shape(row: &[Option<&str>]) -> Option<TableShape> {
    let [Some(name), numbers @ ..] = row else { return None };
    let table = Table::from_name(name)?;
    let read = |text: &Option<&str>| match text {
        None => Some(None),
        Some(text) => text.parse::<u64>().ok().map(Some),
    };
    let numbers: Vec<Option<u64>> = numbers.iter().map(read).collect::<Option<_>>()?;
    let [bytes, rows, partitions, ranges, columns, indexes] = numbers[..] else { return None };
    Some(TableShape { table, bytes, rows, partitions, ranges, columns, indexes })
}
