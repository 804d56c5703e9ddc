//! Statistics that a database reports about itself while it works, and its settings that someone has changed.

use crate::error::TargetError;
use crate::secret::{is_secret_setting, may_be_secret};
use crate::statements::StatementUse;
use std::collections::BTreeMap;

/// A database that reports statistics about itself.
pub trait Observe: Send + Sync {
    /// Returns the servers that the URL names, as `HOST:PORT`, the main one first. A database without servers has one
    /// entry without a name.
    fn servers(&self) -> Vec<String> {
        vec![String::new()]
    }

    /// Opens an observer of a server, given by its place in [`Observe::servers`], on a connection of its own, so that it
    /// never waits behind the load. `None` if there is no such server, or if it has nothing to report. Neither this nor
    /// the observer waits for a silent server without end.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn observer(&self, server: usize) -> Result<Option<Box<dyn Observer>>, TargetError>;

    /// Returns the configuration of the database and of connections to it.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn configuration(&self) -> Result<Configuration, TargetError> {
        Ok(Configuration::default())
    }
}

/// A source of samples.
pub trait Observer: Send {
    /// Returns the present values.
    ///
    /// # Errors
    /// The source is away or silent. The observer can't be used any more; a new one may be opened.
    fn sample(&mut self) -> Result<Vec<Sample>, TargetError>;

    /// Returns the statements on which the server spent the most time since the first call, the most first. Returns none
    /// at the first call, and from a server that does not count them.
    ///
    /// # Errors
    /// See [`Observer::sample`].
    fn statements(&mut self) -> Result<Vec<StatementUse>, TargetError> {
        Ok(Vec::new())
    }
}

/// A present value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Name, as the source calls it.
    pub name: String,
    /// Unit of a gauge, or of a counter's growth in a second: `/s`, `bytes/s`, `cores`.
    pub unit: &'static str,
    /// Kind of the value.
    pub kind: SampleKind,
    /// Value.
    pub value: f64,
}

/// Kind of a sampled value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// Total since some moment. It only grows, unless the source starts again.
    Counter,
    /// State, which may grow and shrink.
    Gauge,
}

/// Configuration of a database and of connections to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Settings of the server that differ from its defaults; without secrets and paths.
    pub changed_settings: BTreeMap<String, String>,
    /// True if connections are encrypted; `None` if there are none, or if this is not known.
    pub encrypted: Option<bool>,
    /// Error of a server that did not report its changed settings.
    pub problem: Option<String>,
}

impl Configuration {
    /// Adds a changed setting, unless it may contain a secret or is a path.
    pub fn add(&mut self, name: &str, value: &str) {
        let key = name.to_ascii_lowercase().ends_with("_key");
        if !key && !is_secret_setting(name) && !may_be_secret(value) && !value.starts_with(['/', '.']) {
            self.changed_settings.insert(name.to_owned(), value.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_secrets_and_paths_are_left_out() {
        let mut found = Configuration::default();
        for (name, value) in [
            ("shared_buffers", "64MB"),
            ("primary_conninfo", "host=h user=u"),
            ("wsrep_sst_auth", "root:x"),
            ("archive_command", "scp %p host:"),
            ("ssl_key", "server.pem"),
            ("app.settings", "user=u password=x"),
            ("datadir", "/var/lib/mysql"),
            ("innodb_data_home_dir", "./data"),
            ("password_encryption", "md5"),
            ("wal_level", "minimal"),
        ] {
            found.add(name, value);
        }
        let names: Vec<&str> = found.changed_settings.keys().map(String::as_str).collect();
        assert_eq!(names, ["shared_buffers", "wal_level"]);
    }
}
