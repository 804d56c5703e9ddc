//! `gemel stat`: the tables, indexes and keyspaces of a database, with their schemas and sizes.

use crate::arguments::{Arguments, Format};
use crate::dump::json_of;
use crate::failure::{GOOD, Outcome};
use crate::listing::{Out, out};
use crate::parts;
use crate::statistics;
use crate::values::{escape, quote, quoted, type_name};
use gemel::row::{KeyColumn, Table};
use gemel::{Database, Engine, PartSize, State};
use std::io::Write;

/// The numbers of a database's state that are shown, with their meaning.
fn numbers(state: &State) -> Vec<(&'static str, u64)> {
    let found = &state.recovered;
    vec![
        ("memory_bytes", state.memory.bytes),
        ("file_bytes", state.disk.file_bytes),
        ("log_bytes", state.log_bytes),
        ("checkpoint_bytes", found.checkpoint_bytes),
        ("checkpoint_rows", found.checkpoint_rows),
        ("replayed_records", found.records),
        ("replayed_log_bytes", found.log_bytes),
        ("cut_records", found.cut_records),
        ("prepared_undecided", state.prepared.undecided as u64),
        ("opened_ms", u64::try_from(found.took.as_millis()).unwrap_or(u64::MAX)),
    ]
}

/// The content of the output.
struct Content<'a> {
    db: &'a Database,
    state: State,
    sizes: Vec<PartSize>,
    tables: Vec<(Table, Engine)>,
    /// Entries of the directory that are not Gemel's.
    foreign: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let format = arguments.format(&[Format::Text, Format::Json])?;
    let names = arguments.texts(1)?;
    if !names.is_empty() && arguments.has("--exact") {
        return Err(arguments.misused("the statistics of a TABLE have no --exact"));
    }
    let db = parts::open(arguments.path())?;
    if let [table] = names[..] {
        statistics::show(&db, table, format)?;
        db.close()?;
        return Ok(GOOD);
    }
    let sizes = if arguments.has("--exact") { db.exact_sizes()? } else { db.sizes()? };
    let tables = db.tables().into_iter();
    let tables: Vec<(Table, Engine)> =
        tables.map(|(name, engine)| Ok((db.table(&name)?, engine))).collect::<gemel::Result<_>>()?;
    let foreign = Database::foreign_entries(db.path())?;
    let content = Content { db: &db, state: db.state(), sizes, tables, foreign };
    let mut out = out();
    match format {
        Format::Json => write_json(&mut out, &content)?,
        _ => write_text(&mut out, &content)?,
    }
    out.flush()?;
    drop(content);
    db.close()?;
    Ok(GOOD)
}

fn write_text(out: &mut Out, content: &Content<'_>) -> Outcome {
    let (state, found) = (&content.state, &content.state.recovered);
    writeln!(out, "{}: {found}", content.db.path().display())?;
    let files: u64 = content.sizes.iter().map(|part| part.files).sum();
    writeln!(out, "memory      {} bytes", state.memory.bytes)?;
    write!(out, "files       {files} with {} bytes, of tables on disk", state.disk.file_bytes)?;
    match content.sizes.iter().map(|part| part.compressed_bytes).sum::<u64>() {
        0 => writeln!(out)?,
        compressed => writeln!(out, "; {compressed} bytes of them are in compressed files")?,
    }
    writeln!(out, "log         {} bytes", state.log_bytes)?;
    writeln!(out, "checkpoint  {} bytes, of tables in memory", found.checkpoint_bytes)?;
    match state.prepared.undecided {
        0 => {}
        1 => writeln!(out, "prepared    1 transaction is undecided: gemel prepared PATH lists it")?,
        many => {
            writeln!(out, "prepared    {many} transactions are undecided: gemel prepared PATH lists them")?
        }
    }
    for name in &content.foreign {
        writeln!(out, "not Gemel's: {}", escape(name.as_bytes()))?;
    }
    writeln!(out)?;
    write_sizes(out, &content.sizes)?;
    for (table, engine) in &content.tables {
        writeln!(out)?;
        write_schema(out, table, *engine)?;
    }
    Ok(())
}

fn write_sizes(out: &mut Out, sizes: &[PartSize]) -> Outcome {
    let about = |part: &PartSize, number: u64| {
        if part.is_exact { number.to_string() } else { format!("~{number}") }
    };
    let mut lines =
        vec![["name", "kind", "engine", "rows", "bytes", "files", "file bytes"].map(String::from)];
    for part in sizes {
        lines.push([
            escape(part.name.as_bytes()),
            part.kind.name().into(),
            part.engine.name().into(),
            about(part, part.rows),
            about(part, part.bytes),
            part.files.to_string(),
            part.file_bytes.to_string(),
        ]);
    }
    let mut widths = [0; 7];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let [name, kind, engine, rows, bytes, files, file_bytes] = widths;
    for [a, b, c, d, e, f, g] in &lines {
        writeln!(
            out,
            "{a:name$}  {b:kind$}  {c:engine$}  {d:>rows$}  {e:>bytes$}  {f:>files$}  {g:>file_bytes$}"
        )?;
    }
    if sizes.iter().any(|part| !part.is_exact) {
        writeln!(out, "~ is an estimate: gemel stat PATH --exact reads and counts all rows")?;
    }
    Ok(())
}

fn write_schema(out: &mut Out, table: &Table, engine: Engine) -> Outcome {
    let schema = table.schema();
    writeln!(out, "table {} ({})", escape(table.name().as_bytes()), engine.name())?;
    let width = parts::name_width(schema);
    for column in &schema.columns {
        let (name, kind) = (escape(column.name.as_bytes()), type_name(column.kind));
        writeln!(out, "  {name:width$}  {kind}{}", if column.nullable { ", nullable" } else { "" })?;
    }
    writeln!(out, "  primary key ({})", listed(&schema.primary_key))?;
    for index in &schema.indexes {
        let unique = if index.unique { "unique " } else { "" };
        write!(out, "  {unique}index {} ({})", escape(index.name.as_bytes()), listed(&index.columns))?;
        match index.include.is_empty() {
            true => writeln!(out)?,
            false => writeln!(out, " including ({})", index.include.join(", "))?,
        }
    }
    Ok(())
}

fn write_json(out: &mut Out, content: &Content<'_>) -> Outcome {
    write!(out, "{{\"path\":{}", quote(&content.db.path().display().to_string()))?;
    for (name, number) in numbers(&content.state) {
        write!(out, ",\"{name}\":{number}")?;
    }
    let parts: Vec<String> = content.sizes.iter().map(part_json).collect();
    write!(out, ",\"parts\":[{}]", parts.join(","))?;
    let tables = content.tables.iter().map(|(table, engine)| table_json(table, *engine));
    let tables = tables.collect::<Outcome<Vec<String>>>()?;
    write!(out, ",\"tables\":[{}]", tables.join(","))?;
    Ok(writeln!(out, ",\"foreign\":[{}]}}", quoted(&content.foreign))?)
}

fn part_json(part: &PartSize) -> String {
    format!(
        "{{\"name\":{},\"kind\":\"{}\",\"engine\":\"{}\",\"rows\":{},\"bytes\":{},\"is_exact\":{},\
         \"files\":{},\"file_bytes\":{},\"compressed_bytes\":{}}}",
        quote(&part.name),
        part.kind.name(),
        part.engine.name(),
        part.rows,
        part.bytes,
        part.is_exact,
        part.files,
        part.file_bytes,
        part.compressed_bytes
    )
}

fn table_json(table: &Table, engine: Engine) -> Outcome<String> {
    let schema = table.schema();
    let columns = schema.columns.iter().map(|column| {
        let (name, kind) = (quote(&column.name), type_name(column.kind));
        format!("{{\"name\":{name},\"type\":\"{kind}\",\"nullable\":{}}}", column.nullable)
    });
    let indexes = schema.indexes.iter().map(|index| {
        let (name, columns) = (quote(&index.name), json_of(&index.columns)?);
        let include = quoted(&index.include);
        Ok(format!(
            "{{\"name\":{name},\"columns\":{columns},\"unique\":{},\"include\":[{include}]}}",
            index.unique
        ))
    });
    Ok(format!(
        "{{\"name\":{},\"engine\":\"{}\",\"columns\":[{}],\"primary_key\":{},\"indexes\":[{}]}}",
        quote(table.name()),
        engine.name(),
        columns.collect::<Vec<_>>().join(","),
        json_of(&schema.primary_key)?,
        indexes.collect::<Outcome<Vec<String>>>()?.join(",")
    ))
}

/// Returns the columns of a key, with their order.
fn listed(columns: &[KeyColumn]) -> String {
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    columns.join(", ")
}
