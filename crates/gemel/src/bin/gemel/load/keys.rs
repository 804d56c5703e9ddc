//! The keys of a dump: none comes twice in a part.

use super::reader::{Part, Row};
use crate::values::{Malformed, Parsed};
use gemel::Error;
use gemel::row::{KeyLayout, Value};
use std::collections::HashSet;

/// Finds keys that come twice. In the order of the keys, which all dumps have that Gemel writes, it is enough to look at
/// the key before. The keys of parts in another order are kept, so these need a second pass.
#[derive(Default)]
pub(super) struct Keys {
    /// Names of the parts that are not in the order of their keys.
    unordered: HashSet<String>,
    /// Name of the part.
    name: String,
    /// Codec of the part's primary key; none for a keyspace.
    layout: Option<KeyLayout>,
    /// The key before; empty at the beginning of a part.
    last: Vec<u8>,
    /// All keys of the part so far, if it was found to be unordered before.
    all: Option<HashSet<Vec<u8>>>,
}

impl Keys {
    /// Begins a part.
    pub(super) fn begin(&mut self, part: &Part) -> Parsed<()> {
        let layout = part.schema.as_ref().map(|schema| KeyLayout::primary(&part.name, schema));
        self.layout = layout.transpose().map_err(malformed)?;
        self.all = self.unordered.contains(&part.name).then(HashSet::new);
        self.last.clear();
        self.name.clone_from(&part.name);
        Ok(())
    }

    /// Adds the key of the next row.
    ///
    /// # Errors
    /// The part has the key already. Not all such keys are found in the first pass over an unordered part.
    pub(super) fn add(&mut self, row: &Row) -> Parsed<()> {
        let key = match (row, &self.layout) {
            (Row::Values(values), Some(layout)) => {
                let values: Vec<Value<'_>> = layout.positions().map(|at| Value::from(&values[at])).collect();
                layout.encode(&values).map_err(malformed)?
            }
            (Row::Entry(key, _), _) => key.clone(),
            // The reader returns rows of the part that has begun.
            (Row::Values(_), None) => return Ok(()),
        };
        let is_new = match &mut self.all {
            Some(all) => all.insert(key),
            None => {
                if key < self.last {
                    self.unordered.insert(self.name.clone());
                }
                let is_new = key != self.last;
                self.last = key;
                is_new
            }
        };
        if is_new { Ok(()) } else { Err(Malformed("a line before has a row with the same key".into())) }
    }

    /// Returns true if the dump must be read a second time, to find all keys that come twice.
    pub(super) fn need_second_pass(&self) -> bool {
        !self.unordered.is_empty()
    }
}

fn malformed(error: Error) -> Malformed {
    Malformed(error.to_string())
}
