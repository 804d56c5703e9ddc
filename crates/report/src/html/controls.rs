//! The plan and the controls as tables: configured values (`asked`) beside measured ones (`actual`), lists of objects
//! as rows.
//!
//! The tables are made from the JSON form and not from the types, so that keys of other versions are shown like known
//! ones.

use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::markup::{Markup, pairs, titled};

/// Greatest depth of nested tables; deeper values are printed as JSON.
const DEPTH_MAX: usize = 3;

/// Returns the JSON form of an object; empty for anything else.
fn written(object: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(object) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// Renders an object as tables; nothing if it is empty.
pub(super) fn tables(object: &impl Serialize) -> Markup {
    written(object)
        .iter()
        .filter(|(_, value)| !is_empty(value))
        .map(|(name, value)| {
            let title = sentence(name);
            match value {
                Value::Object(inner) => object_table(&title, inner, DEPTH_MAX),
                list if is_list(list) => list_table(&title, list, DEPTH_MAX),
                other => pairs("", vec![(title, cell(other, DEPTH_MAX))]),
            }
        })
        .collect()
}

/// Returns the rows of a plan or a control as name and value; null values are left out.
pub(super) fn rows(object: &impl Serialize) -> Vec<(String, Markup)> {
    let object = written(object);
    object.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.clone(), cell(v, DEPTH_MAX))).collect()
}

fn object_table(title: &str, object: &Map<String, Value>, depth: usize) -> Markup {
    // Configured and measured values belong side by side.
    if let (Some(Value::Object(asked)), Some(Value::Object(actual))) = (object.get(ASKED), object.get(ACTUAL))
    {
        let mut keys: Vec<&String> = asked.keys().collect();
        keys.extend(actual.keys().filter(|k| !asked.contains_key(*k)));
        let value = |of: &Map<String, Value>, key: &String| {
            of.get(key).map_or(Markup::text("–"), |v| cell(v, depth))
        };
        let rows =
            keys.into_iter().map(|k| vec![Markup::text(k), value(asked, k), value(actual, k)]).collect();
        let mut all = grid(title, &["", ASKED, ACTUAL].map(str::to_owned), rows);
        let others: Map<String, Value> = object
            .iter()
            .filter(|(k, v)| !matches!(k.as_str(), ASKED | ACTUAL | DRAWN) && !is_empty(v))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        if !others.is_empty() {
            all.push(object_table(&format!("{title}, more"), &others, depth));
        }
        return all;
    }
    // Lists of objects are tables in their own right, beside the plain values.
    let (lists, plain): (Vec<_>, Vec<_>) =
        object.iter().filter(|(k, v)| *k != DRAWN && !is_empty(v)).partition(|(_, v)| is_list(v));
    let mut all = Markup::default();
    if !plain.is_empty() {
        all.push(pairs(title, plain.into_iter().map(|(k, v)| (k.clone(), cell(v, depth))).collect()));
    }
    for (name, list) in lists {
        let caption = if title.is_empty() { sentence(name) } else { format!("{title}: {name}") };
        all.push(list_table(&caption, list, depth));
    }
    all
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

/// Renders a list of objects as a table: a column for every key that occurs, `asked` and `actual` first.
fn list_table(caption: &str, list: &Value, depth: usize) -> Markup {
    let objects: Vec<&Map<String, Value>> =
        list.as_array().into_iter().flatten().filter_map(Value::as_object).collect();
    let mut keys: Vec<String> = Vec::new();
    for key in objects.iter().flat_map(|o| o.keys()) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys.sort_by_key(|k| match k.as_str() {
        ASKED => 0,
        ACTUAL => 1,
        _ => 2,
    });
    let row = |o: &&Map<String, Value>| {
        keys.iter()
            .map(|k| o.get(k).map_or(Markup::text("–"), |v| cell(v, depth.saturating_sub(1))))
            .collect()
    };
    let rows = objects.iter().map(row).collect();
    grid(caption, &keys, rows)
}

fn cell(value: &Value, depth: usize) -> Markup {
    match value {
        Value::Null => Markup::text("–"),
        Value::Bool(yes) => Markup::text(if *yes { "yes" } else { "no" }),
        Value::Number(n) => Markup::text(&rounded(n)),
        Value::String(text) => Markup::text(text),
        Value::Object(object) if depth > 0 => object_table("", object, depth - 1),
        list if depth > 0 && is_list(list) => list_table("", list, depth),
        Value::Array(items) if items.iter().all(|i| !i.is_object() && !i.is_array()) => {
            let words: Vec<String> = items.iter().map(plain).collect();
            Markup::text(&words.join(", "))
        }
        other => Markup::text(&other.to_string()),
    }
}

/// Renders a table with a column for each key.
fn grid(title: &str, columns: &[String], rows: Vec<Vec<Markup>>) -> Markup {
    let head = columns
        .iter()
        .map(|c| Markup::with_text("th", &[("class", "w"), ("scope", "col")], heading(c)))
        .collect();
    let body = rows
        .into_iter()
        .map(|row| {
            Markup::element(
                "tr",
                &[],
                row.into_iter().map(|c| Markup::element("td", &[("class", "w")], c)).collect(),
            )
        })
        .collect();
    let mut all = Markup::element("thead", &[], Markup::element("tr", &[], head));
    all.push(Markup::element("tbody", &[], body));
    titled(title, Markup::element("table", &[("aria-label", title)], all))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(n) => rounded(n),
        other => other.to_string(),
    }
}

/// Returns a number with all digits before the point, but at most six digits in all if it has a fraction.
fn rounded(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) if value.abs() < 1e5 => {
            format!("{value:.5e}").parse().map_or_else(|_| number.to_string(), |value: f64| value.to_string())
        }
        Some(value) => format!("{value:.0}"),
        None => number.to_string(),
    }
}

/// Keys of the two parts of a control that belong side by side.
const ASKED: &str = "asked";
const ACTUAL: &str = "actual";

/// Returns the heading of a column: the glossary's word for a part of a control, else the key.
fn heading(key: &str) -> &str {
    match key {
        ASKED => "configured",
        ACTUAL => "measured",
        other => other,
    }
}

/// Key of values that charts draw; as a table they would have a row for each second.
const DRAWN: &str = "per_second";

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(o) => o.is_empty(),
        Value::Array(a) => a.is_empty(),
        _ => false,
    }
}

/// Returns a key as words: `Hot rows` for `hot_rows`.
fn sentence(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
