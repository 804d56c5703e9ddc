//! The entry of drivers in the table of families.

use super::config::{Config, OPTIONS, Reach, parse};
use super::target::External;
use crate::family::{Configured, Family, Scheme};
use lydite_database::{Target, TargetError, TxMode};
use std::sync::Arc;

/// The entry in the table of families.
pub(crate) static FAMILY: Family = Family {
    schemes: &[Scheme::without_port("driver")],
    url: "driver:COMMAND, for example driver:./demo or driver:'python3 demo.py'",
    about: "any database, through a program of yours in any language: lydite driver new",
    modes: &[TxMode::Statements],
    guarantees: "as the driver reports: none, per-key, atomic, optimistic, serializable",
    placement: &[],
    tested: "drivers in Python and Go over SQLite, bbolt, a store in memory, and PostgreSQL by psycopg, \
             psycopg2, SQLAlchemy, asyncpg and pgx",
    options: OPTIONS,
    tpcc_options: &[],
    parse: |url, _| parse(url).map(|config| Arc::new(config) as _),
};

impl Configured for Config {
    fn shown_url(&self) -> Option<&str> {
        Some(&self.url)
    }

    fn plays_micro(&self) -> bool {
        false
    }

    fn loads_one_node(&self) -> bool {
        matches!(self.reach, Reach::Server(_))
    }

    fn has_server(&self) -> bool {
        matches!(self.reach, Reach::Server(_))
    }

    fn fingerprint(&self) -> Option<u64> {
        match &self.reach {
            Reach::Program(program) => Some(program.fingerprint()),
            // Lydite's own server.
            Reach::Server(_) => None,
        }
    }

    fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        if let Reach::Program(program) = &self.reach {
            program.find(&self.place)?;
        }
        Ok(Arc::new(External::new(self.clone())))
    }
}
