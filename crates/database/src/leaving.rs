//! The list of what Lydite has made in a database, and its removal.

use crate::error::TargetError;
use lydite_tpcc::named_enum;
use std::fmt;

named_enum! {
    /// Kind of a thing that Lydite makes. The names are those of documents.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ThingKind {
        /// A table.
        Table = "table",
        /// A table whose rows are on another server.
        ForeignTable = "foreign table",
        /// An index of a table, or the index of a key.
        Index = "index",
        /// A sequence that fills a column.
        Sequence = "sequence",
        /// A function or procedure of `--tx procedures`.
        Procedure = "procedure",
        /// An entry for another server.
        Server = "server",
        /// Keys of a store that hold the rows of a table.
        Keys = "keys",
        /// A file with its journals.
        File = "file",
        /// A directory.
        Directory = "directory",
        /// A copy of the database that runs of an experiment begin with.
        Template = "template",
    }
}

/// A thing that Lydite has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// Kind.
    pub kind: ThingKind,
    /// Name; of a function with the types of its arguments.
    pub name: String,
    /// Server that has it, if that is another one than the URL's.
    pub server: Option<String>,
    /// Table that it goes with.
    pub of: Option<String>,
    /// Rows, as far as they are known; those of a server are its estimate.
    pub rows: Option<u64>,
    /// Bytes with indexes, as far as they are known.
    pub bytes: Option<u64>,
}

impl Thing {
    /// Makes a thing whose table, rows and bytes are unknown.
    pub fn new(kind: ThingKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), server: None, of: None, rows: None, bytes: None }
    }

    /// Makes a thing that goes with a table.
    pub fn part(kind: ThingKind, name: impl Into<String>, of: impl Into<String>) -> Self {
        Self { of: Some(of.into()), ..Self::new(kind, name) }
    }

    /// True if both are the same thing, whatever its size.
    fn is(&self, other: &Self) -> bool {
        (self.kind, &self.name, &self.server, &self.of) == (other.kind, &other.name, &other.server, &other.of)
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.name)?;
        self.server.as_ref().map_or(Ok(()), |server| write!(f, " on {server}"))
    }
}

/// A thing that somebody else has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Others {
    /// Kind and name, as `view sales`.
    pub what: String,
    /// Reason why it stays, or why it is in the way.
    pub reason: String,
}

impl Others {
    /// Makes a thing of others.
    pub fn new(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), reason: reason.into() }
    }
}

/// Things of Lydite's in a database, and those of others that matter to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Things that a removal drops, those with a table behind it.
    pub ours: Vec<Thing>,
    /// Things with names of Lydite's that somebody else has made. They stay.
    pub stays: Vec<Others>,
    /// Things of others that depend on Lydite's. While one is there, nothing is removed.
    pub in_the_way: Vec<Others>,
    /// Further remarks for the user, one line each.
    pub notes: Vec<String>,
}

impl Inventory {
    /// Adds the things of another server, with its place. Its notes are left out.
    pub fn add_server(&mut self, place: &str, there: Self) {
        let on = |mut others: Others| {
            others.what += &format!(" on {place}");
            others
        };
        let ours = there.ours.into_iter().map(|thing| Thing { server: Some(place.to_owned()), ..thing });
        self.ours.extend(ours);
        self.stays.extend(there.stays.into_iter().map(on));
        self.in_the_way.extend(there.in_the_way.into_iter().map(on));
    }

    /// Returns the things of Lydite's on a server; `None` is the URL's.
    #[must_use]
    pub fn ours_on(&self, server: Option<&str>) -> Vec<&Thing> {
        self.ours.iter().filter(|thing| thing.server.as_deref() == server).collect()
    }

    /// Rejects the removal of what is there now, if it is more than what the user has seen, or if something is in the way.
    ///
    /// # Errors
    /// One of both, with what to do.
    pub fn check_removal(&self, seen: &Self, place: &str) -> Result<(), TargetError> {
        if let Some(first) = self.in_the_way.first() {
            let more = match self.in_the_way.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            return Err(TargetError::usage(format!(
                "{place}: {}{more} in the way: {}: nothing was dropped; drop or change that first",
                first.what, first.reason
            )));
        }
        let is_new = |thing: &&Thing| !seen.ours.iter().any(|known| known.is(thing));
        if let Some(new) = self.ours.iter().find(is_new) {
            return Err(TargetError::usage(format!(
                "{place}: {new} was made since the list was shown: nothing was dropped; look at the list again"
            )));
        }
        Ok(())
    }
}

/// A database that knows what Lydite has made in it, by the notes that each load leaves there.
pub trait Leaving: Send + Sync {
    /// Lists the things of Lydite's, and those of others that matter to them. Changes nothing.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn inventory(&self) -> Result<Inventory, TargetError>;

    /// Removes the things of Lydite's, as far as the user has `seen` them. May be repeated after an interruption.
    ///
    /// # Errors
    /// There is more than the user has seen; something of others is in the way; a load is running; the database rejects
    /// a step.
    fn remove(&self, seen: &Inventory) -> Result<(), TargetError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_the_list_was_shown_is_not_removed_unless_only_its_size_changed() {
        let table = Thing { rows: Some(1), ..Thing::new(ThingKind::Table, "stock") };
        let seen = Inventory { ours: vec![table.clone()], ..Inventory::default() };
        let grown =
            Inventory { ours: vec![Thing { rows: Some(2), ..table.clone() }], ..Inventory::default() };
        assert_eq!(grown.check_removal(&seen, "here"), Ok(()));
        let less = Inventory::default();
        assert_eq!(less.check_removal(&seen, "here"), Ok(()));
        let more =
            Inventory { ours: vec![table, Thing::new(ThingKind::Table, "item")], ..Inventory::default() };
        let error = more.check_removal(&seen, "here").expect_err("a new table");
        assert!(error.message.contains("table item was made since"), "{error}");
    }
}
