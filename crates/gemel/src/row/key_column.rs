//! Columns of keys, with their order.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A column of the primary key or of an index, with its order. [`asc`] and [`desc`] make one, and so does a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "StoredKeyColumn", into = "StoredKeyColumn")]
pub struct KeyColumn {
    /// Name of the column.
    pub name: String,
    /// True if the greatest value comes first, and null last.
    pub descending: bool,
}

/// Returns the column of a key in ascending order: null first, then the least value.
///
/// ```
/// use gemel::row::{KeyColumn, asc};
///
/// assert_eq!(asc("place"), KeyColumn::from("place"));
/// ```
#[must_use]
pub fn asc(name: &str) -> KeyColumn {
    name.into()
}

/// Returns the column of a key in descending order: the greatest value first, and null last.
#[must_use]
pub fn desc(name: &str) -> KeyColumn {
    KeyColumn { name: name.to_owned(), descending: true }
}

/// The name of a column, in ascending order.
impl From<&str> for KeyColumn {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), descending: false }
    }
}

/// The name of a column, in ascending order.
impl From<&String> for KeyColumn {
    fn from(name: &String) -> Self {
        name.as_str().into()
    }
}

impl From<&KeyColumn> for KeyColumn {
    fn from(column: &KeyColumn) -> Self {
        column.clone()
    }
}

/// Shows the name, and `desc` behind it if the order is descending.
impl fmt::Display for KeyColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, if self.descending { " desc" } else { "" })
    }
}

/// The columns of a key in a manifest or a dump. Formats from before descending columns have names only.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredKeyColumn {
    Ascending(String),
    Ordered { name: String, descending: bool },
}

impl From<StoredKeyColumn> for KeyColumn {
    fn from(stored: StoredKeyColumn) -> Self {
        match stored {
            StoredKeyColumn::Ascending(name) => Self { name, descending: false },
            StoredKeyColumn::Ordered { name, descending } => Self { name, descending },
        }
    }
}

impl From<KeyColumn> for StoredKeyColumn {
    fn from(KeyColumn { name, descending }: KeyColumn) -> Self {
        if descending { Self::Ordered { name, descending } } else { Self::Ascending(name) }
    }
}
