//! Histories as files: JSON lines, one transaction each, in any order.
//!
//! An operation is an array: `["append", key, value]`, `["w", key, value]`, `["r", key, [list]]`,
//! `["r", key, value or null]`, `["insert", key, value]`, `["range", key, [values]]`, and `["r", key]` for a read whose
//! answer never came. A key is `name` or `name@engine`. `"final": true` marks the reads at the end.

use super::model::{Action, History, HistoryError, Key, KeyId, Op, Outcome, Seen, Transaction};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{BufRead, Write};

/// A line of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    process: u32,
    invoked: u64,
    completed: u64,
    outcome: Outcome,
    ops: Vec<Vec<Item>>,
    /// True for a read at the end.
    #[serde(default, rename = "final", skip_serializing_if = "std::ops::Not::not")]
    is_final: bool,
}

/// One member of an operation's array.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Item {
    Value(u64),
    Text(String),
    List(Vec<u64>),
    Nil,
}

impl History {
    /// Reads a history. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// Fails if the reader fails, or if a line is not a transaction.
    pub fn from_json_lines(reader: impl BufRead) -> Result<Self, HistoryError> {
        let mut history = Self::default();
        let mut numbers = HashMap::new();
        for (at, text) in reader.lines().enumerate() {
            let text = text?;
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let bad = |what: String| HistoryError::Line { line: at + 1, what };
            let line: Line = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
            let mut ops = Vec::with_capacity(line.ops.len());
            for items in line.ops {
                let (key, action) = operation(items).ok_or_else(|| {
                    bad("an operation is [\"append\", \"w\" or \"insert\", key, value], [\"r\", key, result] or \
                         [\"range\", key, values]"
                        .into())
                })?;
                let key = *numbers.entry(key).or_insert_with_key(|text| {
                    history.keys.push(Key::parse(text));
                    KeyId(history.keys.len() as u32 - 1)
                });
                ops.push(Op { key, action });
            }
            let Line { process, invoked, completed, outcome, is_final, .. } = line;
            if is_final {
                history.final_from = Some(history.final_from.map_or(invoked, |from| from.min(invoked)));
            }
            history.transactions.push(Transaction { process, invoked, completed, outcome, ops });
        }
        Ok(history)
    }

    /// Writes the history for later checks.
    ///
    /// # Errors
    /// Fails if the writer fails, if an engine's name contains `@`, or if an operation's key is not listed.
    pub fn to_json_lines(&self, mut writer: impl Write) -> Result<(), HistoryError> {
        for engine in self.keys.iter().filter_map(|key| key.engine.as_deref()) {
            if engine.is_empty() || engine.contains('@') {
                return Err(HistoryError::EngineName(engine.into()));
            }
        }
        self.validate()?;
        for tx in &self.transactions {
            let ops = tx.ops.iter().map(|op| self.items(op)).collect();
            let Transaction { process, invoked, completed, outcome, .. } = *tx;
            let line = Line { process, invoked, completed, outcome, ops, is_final: self.is_final(tx) };
            serde_json::to_writer(&mut writer, &line).map_err(std::io::Error::from)?;
            writer.write_all(b"\n")?;
        }
        Ok(writer.flush()?)
    }

    /// Returns an operation as its array.
    fn items(&self, op: &Op) -> Vec<Item> {
        let key = Item::Text(self.key(op.key).to_string());
        match &op.action {
            Action::Append(value) => vec![Item::Text("append".into()), key, Item::Value(*value)],
            Action::Write(value) => vec![Item::Text("w".into()), key, Item::Value(*value)],
            Action::Insert(value) => vec![Item::Text("insert".into()), key, Item::Value(*value)],
            Action::Read(None) => vec![Item::Text("r".into()), key],
            Action::Read(Some(seen)) => {
                let (name, seen) = match seen {
                    Seen::List(values) => ("r", Item::List(values.clone())),
                    Seen::Register(Some(value)) => ("r", Item::Value(*value)),
                    Seen::Register(None) => ("r", Item::Nil),
                    Seen::Range(values) => ("range", Item::List(values.clone())),
                };
                vec![Item::Text(name.into()), key, seen]
            }
        }
    }
}

/// Reads an operation from its array, with its key as text.
fn operation(items: Vec<Item>) -> Option<(String, Action)> {
    let mut items = items.into_iter();
    let (Some(Item::Text(what)), Some(Item::Text(key))) = (items.next(), items.next()) else { return None };
    let argument = items.next();
    if items.next().is_some() {
        return None;
    }
    let action = match (what.as_str(), argument) {
        ("append", Some(Item::Value(value))) => Action::Append(value),
        ("w", Some(Item::Value(value))) => Action::Write(value),
        ("insert", Some(Item::Value(value))) => Action::Insert(value),
        ("range", Some(Item::List(values))) => Action::Read(Some(Seen::Range(values))),
        ("r", None) => Action::Read(None),
        ("r", Some(Item::List(values))) => Action::Read(Some(Seen::List(values))),
        ("r", Some(Item::Value(value))) => Action::Read(Some(Seen::Register(Some(value)))),
        ("r", Some(Item::Nil)) => Action::Read(Some(Seen::Register(None))),
        _ => return None,
    };
    Some((key, action))
}
