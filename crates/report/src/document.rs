//! The result document as a tree, for callers that name its parts by text: figures of sweeps, and lists of all keys of
//! a plan.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A part of a document in its written form.
#[derive(Debug)]
pub(crate) struct Document(Value);

impl Document {
    /// Returns the written form of a part of a result; none if it can't be written.
    pub(crate) fn of(part: &impl Serialize) -> Option<Self> {
        serde_json::to_value(part).ok().map(Self)
    }

    /// Returns the value at a path; numbers in the path are indexes of lists.
    fn at(&self, path: &[impl AsRef<str>]) -> Option<&Value> {
        path.iter().map(AsRef::as_ref).try_fold(&self.0, |at, part| match part.parse::<usize>() {
            Ok(index) if at.is_array() => at.get(index),
            _ => at.get(part),
        })
    }

    /// Returns true if the document has a value at a path.
    pub(crate) fn has(&self, path: &[impl AsRef<str>]) -> bool {
        self.at(path).is_some()
    }

    /// Returns the number at a path.
    pub(crate) fn number(&self, path: &[impl AsRef<str>]) -> Option<f64> {
        self.at(path)?.as_f64()
    }

    /// Returns the list of numbers and nulls at a path; none without a list, or if it holds anything else.
    pub(crate) fn numbers(&self, path: &[impl AsRef<str>]) -> Option<Vec<Option<f64>>> {
        let number = |value: &Value| if value.is_null() { Some(None) } else { value.as_f64().map(Some) };
        self.at(path)?.as_array()?.iter().map(number).collect()
    }
}

/// Returns the keys of an object with their values as text; `a.b` is key b of object a.
pub(crate) fn texts(object: &impl Serialize) -> BTreeMap<String, String> {
    fn add(texts: &mut BTreeMap<String, String>, key: String, value: Value) {
        match value {
            Value::Object(inner) => {
                inner.into_iter().for_each(|(name, value)| add(texts, format!("{key}.{name}"), value));
            }
            Value::Null => {}
            Value::String(text) => drop(texts.insert(key, text)),
            other => drop(texts.insert(key, other.to_string())),
        }
    }
    let mut texts = BTreeMap::new();
    if let Ok(Value::Object(object)) = serde_json::to_value(object) {
        object.into_iter().for_each(|(key, value)| add(&mut texts, key, value));
    }
    texts
}
