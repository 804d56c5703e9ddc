//! The entry of Gemel in the table of families.

use super::templates::GemelTemplates;
use super::{GemelTarget, OPTIONS, Parsed, TPCC_OPTIONS, parse};
use crate::family::{Configured, Family, Home, Scheme};
use crate::file_templates::FileTemplates;
use crate::templates::Templates;
use lydite_database::code::Code;
use lydite_database::patience::Patience;
use lydite_database::{Target, TargetError, TxMode};
use lydite_micro::Engines;
use std::sync::Arc;

/// The entry in the table of families.
pub(crate) static FAMILY: Family = Family {
    schemes: &[Scheme::without_port("gemel")],
    url: "gemel: (a temporary directory) or gemel:PATH",
    about: "Gemel, built in: memory and disk engine, transactions over both; needs no server",
    modes: &[TxMode::Statements],
    guarantees: "snapshot isolation, serializable or read committed; durable commits",
    placement: &[],
    tested: "this version",
    options: OPTIONS,
    tpcc_options: TPCC_OPTIONS,
    parse: |url, _| parse(url).map(|parsed| Arc::new(parsed) as _),
};

impl Configured for Parsed {
    fn engines(&self) -> Engines {
        Engines::Two
    }

    fn home(&self) -> Home<'_> {
        self.path().map_or(Home::Temporary, Home::Path)
    }

    fn loads_one_node(&self) -> bool {
        true
    }

    fn templates(&self, _patience: &dyn Fn(Arc<dyn Target>) -> Option<Patience>) -> Option<Templates> {
        let of = |path| GemelTemplates { files: FileTemplates::of(path), parsed: Box::new(self.clone()) };
        self.path().map(|path| Templates::of(of(path)))
    }

    fn code(&self, _version: &str) -> Option<Code> {
        Some(Code::key_value())
    }

    fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        let config = self.config().map_err(|error| {
            TargetError::usage(format!("a temporary directory can't be made: {error}: set TMPDIR"))
        })?;
        Ok(Arc::new(GemelTarget::new(config)))
    }
}
