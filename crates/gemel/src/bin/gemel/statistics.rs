//! `gemel stat PATH TABLE`: statistics of the columns and keys of a table, from a sample of its rows.

use crate::arguments::Format;
use crate::failure::{Failure, Outcome};
use crate::listing::{Out, out};
use crate::parts::{self, Part};
use crate::values::{self, escape, in_quotes, quote, quoted};
use gemel::Database;
use gemel::row::{ColumnStatistics, ColumnType, KeyStatistics, Sampling, Table, TableStatistics};
use std::io::Write;

/// Common values of a column that a text shows. JSON has all of them.
const SHOWN: usize = 5;

/// Shows the statistics of a table.
pub(crate) fn show(db: &Database, name: &str, format: Format) -> Outcome {
    let Part::Table(table, _) = parts::find(db, name)? else {
        return Err(Failure::Other(format!(
            "{} is a keyspace, and only the columns of tables have statistics",
            in_quotes(name)
        )));
    };
    let statistics = db.statistics(name, &Sampling::default())?;
    let mut out = out();
    match format {
        Format::Json => write_json(&mut out, &table, &statistics)?,
        _ => write_text(&mut out, &table, &statistics)?,
    }
    Ok(out.flush()?)
}

/// Returns the columns with their types. A change of the table in between is impossible: nobody else has the database open.
fn columns<'s>(
    table: &'s Table,
    statistics: &'s TableStatistics,
) -> impl Iterator<Item = (ColumnType, &'s ColumnStatistics)> {
    table.schema().columns.iter().map(|column| column.kind).zip(&statistics.columns)
}

fn write_text(out: &mut Out, table: &Table, statistics: &TableStatistics) -> Outcome {
    let about = if statistics.is_exact { "" } else { "~" };
    write!(out, "table {}: {about}{} rows", escape(table.name().as_bytes()), statistics.rows)?;
    match statistics.is_exact {
        true => writeln!(out, ", all of them read")?,
        false => writeln!(out, ", estimated from a sample of {}", statistics.sampled)?,
    }
    let width = parts::name_width(table.schema());
    for (kind, column) in columns(table, statistics) {
        let (name, null) = (escape(column.name.as_bytes()), 100.0 * column.null_fraction);
        write!(out, "  {name:width$}  {about}{} different, {null:.1} % null", column.distinct)?;
        writeln!(out, ", {:.1} bytes", column.average_bytes)?;
        let common = column.most_common.iter().take(SHOWN);
        let common: Vec<String> = common
            .map(|common| {
                let percent = 100.0 * common.fraction;
                format!("{} ({percent:.1} %)", values::text((&common.value).into(), kind))
            })
            .collect();
        if !common.is_empty() {
            let more = if column.most_common.len() > SHOWN { ", …" } else { "" };
            writeln!(out, "  {:width$}  common: {}{more}", "", common.join(", "))?;
        }
        if let (Some(first), Some(last)) = (column.histogram.first(), column.histogram.last()) {
            let [first, last] = [first, last].map(|bound| values::text(bound.into(), kind));
            let buckets = column.histogram.len() - 1;
            writeln!(out, "  {:width$}  others: from {first} to {last} in {buckets} buckets", "")?;
        }
    }
    for key in &statistics.keys {
        let name = key
            .index
            .as_ref()
            .map_or_else(|| "primary key".to_owned(), |index| format!("index {}", escape(index.as_bytes())));
        let distinct: Vec<String> = key.distinct.iter().map(u64::to_string).collect();
        let columns = key.columns.join(", ");
        writeln!(out, "  {name} ({columns}): {about}{} different", distinct.join(", "))?;
    }
    Ok(())
}

fn write_json(out: &mut Out, table: &Table, statistics: &TableStatistics) -> Outcome {
    let columns: Vec<String> =
        columns(table, statistics).map(|(kind, column)| column_json(kind, column)).collect();
    let keys: Vec<String> = statistics.keys.iter().map(key_json).collect();
    Ok(writeln!(
        out,
        "{{\"table\":{},\"rows\":{},\"sampled\":{},\"is_exact\":{},\"columns\":[{}],\"keys\":[{}]}}",
        quote(table.name()),
        statistics.rows,
        statistics.sampled,
        statistics.is_exact,
        columns.join(","),
        keys.join(",")
    )?)
}

fn column_json(kind: ColumnType, column: &ColumnStatistics) -> String {
    let common = column.most_common.iter().map(|common| {
        let value = values::json((&common.value).into(), kind);
        format!("{{\"value\":{value},\"fraction\":{}}}", common.fraction)
    });
    let bounds = column.histogram.iter().map(|bound| values::json(bound.into(), kind));
    format!(
        "{{\"name\":{},\"null_fraction\":{},\"average_bytes\":{},\"distinct\":{},\"most_common\":[{}],\
         \"histogram\":[{}]}}",
        quote(&column.name),
        column.null_fraction,
        column.average_bytes,
        column.distinct,
        common.collect::<Vec<_>>().join(","),
        bounds.collect::<Vec<_>>().join(",")
    )
}

fn key_json(key: &KeyStatistics) -> String {
    let index = key.index.as_ref().map_or_else(|| "null".to_owned(), |index| quote(index));
    let columns = quoted(&key.columns);
    let distinct: Vec<String> = key.distinct.iter().map(u64::to_string).collect();
    format!("{{\"index\":{index},\"columns\":[{columns}],\"distinct\":[{}]}}", distinct.join(","))
}
