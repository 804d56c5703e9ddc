//! The lines of a dump, read and checked one after the other. `dump.rs` describes them.

use super::source::Lines;
use crate::dump::{FORMAT, of_today};
use crate::failure::{Failure, Outcome};
use crate::values::{self, Malformed, Parsed, in_quotes};
use gemel::row::{OwnedValue, Schema};
use gemel::{Engine, MAX_KEY_BYTES, MAX_NAME_BYTES, MAX_VALUE_BYTES};
use serde_json::value::RawValue;
use std::collections::HashSet;

/// The lines that may follow the end of a part, for messages.
const BETWEEN_PARTS: &str = "a table, a keyspace or the number of parts";

type Object = serde_json::Map<String, serde_json::Value>;

/// A table or keyspace of a dump, as its first line describes it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) engine: Engine,
    /// None for a keyspace.
    pub(super) schema: Option<Schema>,
}

/// A row of a table, or an entry of a keyspace.
#[derive(Clone, Debug)]
pub(super) enum Row {
    Values(Vec<OwnedValue>),
    Entry(Vec<u8>, Vec<u8>),
}

/// The content of a line.
pub(super) enum Item {
    /// A part begins.
    Begin(Part),
    Row(Row),
    /// The part ends.
    End,
    /// The dump ends.
    Last,
}

/// Reads a dump and checks all that a dump by itself can show: its form, its schemas, the type of each value, and the
/// numbers of rows and parts.
pub(super) struct Reader<'a> {
    lines: Lines<'a>,
    /// The part that has begun and has not ended.
    part: Option<Part>,
    /// Rows of the part so far.
    rows: u64,
    /// Parts that have ended.
    parts: u64,
    /// Names of the parts so far, and of their indexes.
    names: HashSet<String>,
}

impl<'a> Reader<'a> {
    /// Begins with the first line, which must have a format that this version reads.
    pub(super) fn begin(mut lines: Lines<'a>) -> Outcome<Self> {
        let first = match lines.next() {
            Ok(false) => {
                return Err(lines.damaged("the file is empty: name a file that gemel dump has written"));
            }
            Err(error @ Failure::Other(_)) => return Err(error),
            // A file that is no dump may look like a damaged line. The message below says what it is.
            first => first,
        };
        let format = serde_json::from_str(lines.line()).ok();
        let format = format.and_then(|object: Object| object.get("gemel_dump")?.as_u64());
        match format {
            Some(1..=FORMAT) => first.map(drop)?,
            Some(format) => {
                return Err(lines.rejected(&format!(
                    "the dump has format {format}, and this version of gemel reads formats 1 to {FORMAT}: use the \
                     version that wrote it"
                )));
            }
            None => {
                return Err(
                    lines.damaged("it does not begin a dump: name a file that gemel dump has written")
                );
            }
        }
        Ok(Self { lines, part: None, rows: 0, parts: 0, names: HashSet::new() })
    }

    /// Returns the lines, for the number of the last one and for messages.
    pub(super) fn lines(&self) -> &Lines<'a> {
        &self.lines
    }

    /// Reads the next line.
    pub(super) fn next(&mut self) -> Outcome<Item> {
        if !self.lines.next()? {
            return Err(self.lines.damaged("the dump ends before it: make the dump again"));
        }
        let item = match self.part.take() {
            None => self.between_parts(),
            Some(part) => self.within(part),
        };
        match item {
            Ok(Item::Last) if self.lines.next()? => {
                Err(self.lines.damaged("the dump goes on behind its end"))
            }
            item => item.map_err(|why| self.lines.damaged(&why.0)),
        }
    }

    fn between_parts(&mut self) -> Parsed<Item> {
        let mut object = self.object(BETWEEN_PARTS)?;
        if let Some(parts) = object.get("parts") {
            if parts.as_u64() != Some(self.parts) {
                return wrong(format!("the dump says it has {parts} parts, and {} were read", self.parts));
            }
            only(&object, &["parts"])?;
            return Ok(Item::Last);
        }
        let (kind, keys) = match (object.contains_key("table"), object.contains_key("keyspace")) {
            (true, false) => ("table", &["table", "engine", "schema"][..]),
            (false, true) => ("keyspace", &["keyspace", "engine"][..]),
            _ => return wrong(format!("expected {BETWEEN_PARTS}")),
        };
        only(&object, keys)?;
        let text = |key: &str| object.get(key).and_then(serde_json::Value::as_str);
        let Some(name) = text(kind).map(str::to_owned) else {
            return wrong(format!("the name of the {kind} is not a string"));
        };
        let engine = match text("engine") {
            Some("memory") => Engine::Memory,
            Some("disk") => Engine::Disk,
            _ => return wrong(format!("expected the engine of {name}: memory or disk")),
        };
        let schema = match kind {
            "table" => Some(read_schema(object.remove("schema").unwrap_or_default())?),
            _ => None,
        };
        self.add_names(&name, schema.as_ref())?;
        let part = Part { name, engine, schema };
        (self.part, self.rows) = (Some(part.clone()), 0);
        Ok(Item::Begin(part))
    }

    /// Notes the names that a part takes. Each must be free.
    fn add_names(&mut self, name: &str, schema: Option<&Schema>) -> Parsed<()> {
        let indexes = schema.map(|schema| schema.indexes.as_slice()).unwrap_or_default();
        let indexes = indexes.iter().map(|index| format!("{name}.{}", index.name));
        for name in std::iter::once(name.to_owned()).chain(indexes) {
            if !(1..=MAX_NAME_BYTES).contains(&name.len()) {
                let name = in_quotes(&name);
                return wrong(format!("{name} is no name: names have 1 to {MAX_NAME_BYTES} bytes"));
            }
            if let Some(name) = self.names.replace(name) {
                return wrong(format!("the dump has {} twice", in_quotes(&name)));
            }
        }
        Ok(())
    }

    fn within(&mut self, part: Part) -> Parsed<Item> {
        if self.lines.line().starts_with('[') {
            let row = self.row(&part)?;
            self.rows += 1;
            self.part = Some(part);
            return Ok(Item::Row(row));
        }
        let object = self.object("a row or the number of rows")?;
        let Some(rows) = object.get("rows") else {
            return wrong(format!("expected a row of {0}, or the number of rows of {0}", part.name));
        };
        if rows.as_u64() != Some(self.rows) {
            return wrong(format!(
                "the dump says {} has {rows} rows, and {} were read",
                part.name, self.rows
            ));
        }
        only(&object, &["rows"])?;
        self.parts += 1;
        Ok(Item::End)
    }

    fn row(&self, part: &Part) -> Parsed<Row> {
        let cells: Vec<&RawValue> = serde_json::from_str(self.lines.line()).map_err(of_json)?;
        if let Some(schema) = &part.schema {
            let columns = &schema.columns;
            if cells.len() != columns.len() {
                return wrong(format!("{} values for {} columns", cells.len(), columns.len()));
            }
            let values = columns.iter().zip(cells).map(|(column, cell)| values::parse_json(column, cell));
            return values.collect::<Parsed<_>>().map(Row::Values);
        }
        let [key, value] = cells[..] else {
            return wrong(format!("{} strings for a key and its value", cells.len()));
        };
        let bytes = |what: &str, cell: &RawValue, most: usize| {
            let bytes = values::parse_json_bytes(cell).map_err(|why| why.of(&format!("the {what}")))?;
            match bytes.len() {
                len if len > most => wrong(format!("the {what} has {len} bytes, and {most} are allowed")),
                _ => Ok(bytes),
            }
        };
        let (key, value) = (bytes("key", key, MAX_KEY_BYTES)?, bytes("value", value, MAX_VALUE_BYTES)?);
        if key.is_empty() { wrong("the key is empty".to_owned()) } else { Ok(Row::Entry(key, value)) }
    }

    /// Returns the line as an object.
    fn object(&self, expected: &str) -> Parsed<Object> {
        let line = self.lines.line();
        if !line.starts_with('{') {
            return wrong(format!("expected {expected}, not {}", in_quotes(line)));
        }
        serde_json::from_str(line).map_err(of_json)
    }
}

fn wrong<T>(why: String) -> Parsed<T> {
    Err(Malformed(why))
}

/// Checks that an object has no other keys than these.
fn only(object: &Object, keys: &[&str]) -> Parsed<()> {
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => wrong(format!("the key {} is unknown", in_quotes(key))),
    }
}

fn read_schema(schema: serde_json::Value) -> Parsed<Schema> {
    let schema = serde_json::from_value::<Schema>(schema);
    let schema = of_today(&schema.map_err(|error| Malformed(format!("the schema can't be read: {error}")))?);
    match schema.check() {
        Ok(()) => Ok(schema),
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            wrong(format!("the schema is wrong: {}", faults.join("; ")))
        }
    }
}

/// Describes an error of JSON within one line. Its own text counts lines of its own.
fn of_json(error: serde_json::Error) -> Malformed {
    let (line, column, text) = (error.line(), error.column(), error.to_string());
    let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    Malformed(format!("it is not JSON, at byte {column}: {text}"))
}
