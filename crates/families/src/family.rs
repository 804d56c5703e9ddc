//! A family of databases: its entry in the table of `lydite targets`, and what one of its URLs configures.

use crate::grants::{GrantRequest, Grants, no_accounts};
use crate::own_schema::{OwnSchema, ScriptForm};
use crate::templates::Templates;
use lydite_database::code::Code;
use lydite_database::patience::Patience;
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{Target, TargetError, TxMode};
use lydite_micro::Engines;
use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Function that reads a URL of a family. It returns all errors in the URL, one line each.
pub(crate) type Parse = fn(&ParsedUrl, TxMode) -> Result<Arc<dyn Configured>, Vec<String>>;

/// A family of databases.
#[derive(Debug)]
pub struct Family {
    /// URL schemes that choose it.
    pub schemes: &'static [Scheme],
    /// The form of its URLs.
    pub url: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Supported values of `--tx`.
    pub modes: &'static [TxMode],
    /// Guarantees of its transactions, in a few words.
    pub guarantees: &'static str,
    /// Kinds of node that it can name for a warehouse; empty for databases of one node.
    pub placement: &'static [PlacementSource],
    /// Servers that every change is tested on.
    pub tested: &'static str,
    /// Options after `?` in the URL.
    pub options: &'static [OptionSpec],
    /// Options about TPC-C's tables. Other workloads reject them.
    pub tpcc_options: &'static [&'static str],
    pub(crate) parse: Parse,
}

/// A scheme of URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The text before the colon.
    pub name: &'static str,
    /// Port of servers whose URL has none; `None` if there is no server, or no usual port.
    pub port: Option<u16>,
}

impl Scheme {
    /// Makes the scheme of servers that wait on this port unless told otherwise.
    pub(crate) const fn of_servers(name: &'static str, port: u16) -> Self {
        Self { name, port: Some(port) }
    }

    /// Makes a scheme without a usual port.
    pub(crate) const fn without_port(name: &'static str) -> Self {
        Self { name, port: None }
    }
}

/// Kind of node that a family can name for a warehouse.
#[derive(Debug)]
pub struct PlacementSource {
    /// The nodes, in a few words.
    pub nodes: &'static str,
    /// Evidence that Lydite reads the database's catalogs right.
    pub evidence: Evidence,
}

/// Evidence that Lydite reads the catalogs of a database right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Every change is tested on a real server.
    Live,
    /// Every change is tested on answers from the documentation, which a small server replays.
    Recorded,
    /// There are no catalogs.
    None,
}

impl Evidence {
    /// Returns the evidence in words; empty if there is none.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Live => "verified on a live server",
            Self::Recorded => "by recorded answers",
            Self::None => "",
        }
    }
}

impl PlacementSource {
    /// Makes a source that is tested on a real server.
    pub(crate) const fn live(nodes: &'static str) -> Self {
        Self { nodes, evidence: Evidence::Live }
    }

    /// Makes a source that is tested on recorded answers.
    pub(crate) const fn recorded(nodes: &'static str) -> Self {
        Self { nodes, evidence: Evidence::Recorded }
    }
}

/// Place of a database, as far as the URL says.
#[derive(PartialEq, Eq)]
pub(crate) enum Home<'a> {
    /// On a server, in another program, or nowhere.
    Elsewhere,
    /// In this process, deleted when it is closed.
    Temporary,
    /// In this process, in this file or directory.
    Path(&'a Path),
}

/// A valid URL of a family. Nothing has been touched yet.
pub(crate) trait Configured: fmt::Debug + Send + Sync + Any {
    /// Returns the URL without its password, or `None` if URLs of the family have no password.
    fn shown_url(&self) -> Option<&str> {
        None
    }

    /// True if the database stores any data.
    fn stores(&self) -> bool {
        true
    }

    /// True if the database supports the microbenchmark.
    fn plays_micro(&self) -> bool {
        true
    }

    /// Returns the engines that the database spreads tables over.
    fn engines(&self) -> Engines {
        Engines::One
    }

    /// Returns the place of the database.
    fn home(&self) -> Home<'_> {
        Home::Elsewhere
    }

    /// True if all loaded data is on one node, as far as the URL says.
    fn loads_one_node(&self) -> bool;

    /// True if requests go to a server, which may freeze or vanish.
    fn has_server(&self) -> bool {
        false
    }

    /// Returns a number that identifies a program of the user's that is the target: its command, and the contents of the
    /// files that the command names. `None` for targets that are a part of Lydite.
    fn fingerprint(&self) -> Option<u64> {
        None
    }

    /// Returns the number of servers that sessions are spread over.
    fn endpoints(&self) -> usize {
        1
    }

    /// True if a session has one connection for many transactions.
    fn keeps_connections(&self) -> bool {
        true
    }

    /// Returns the same database on one server alone, if the URL names one of this port, and each server has all rows.
    fn on_port(&self, _port: u16) -> Option<Arc<dyn Configured>> {
        None
    }

    /// True if it can be the primary of replicas.
    fn may_lead(&self) -> bool {
        false
    }

    /// Checks, without touching anything, that this target can be a replica of `primary`.
    ///
    /// # Errors
    /// It can't. The text follows the replica's URL.
    fn can_follow(&self, _primary: &dyn Configured) -> Result<(), String> {
        Err(OTHER_FAMILY.into())
    }

    /// Returns the templates of the database. `None` if it has no way to copy a database that is quicker than loading,
    /// or if it stores no data. `patience` limits the requests to a server.
    fn templates(&self, _patience: &dyn Fn(Arc<dyn Target>) -> Option<Patience>) -> Option<Templates> {
        None
    }

    /// Returns the form of files of the user's statements; `None` if the database takes none.
    fn script_form(&self) -> Option<ScriptForm<'_>> {
        None
    }

    /// Returns the same database with files of the user's statements; `None` if it takes none.
    fn with_scripts(&self, _scripts: &Arc<OwnSchema>) -> Option<Arc<dyn Configured>> {
        None
    }

    /// Returns the SQL that lets an account work with the database.
    ///
    /// # Errors
    /// The database has no accounts in SQL, or the account can't be one.
    fn grants(&self, _asked: &GrantRequest<'_>) -> Result<Grants, TargetError> {
        Err(no_accounts())
    }

    /// Returns the code of tables and transactions that a server of this version gets. `None` if the code is not
    /// Lydite's, or if there is none.
    fn code(&self, _version: &str) -> Option<Code> {
        None
    }

    /// Makes the target. Connects to nothing yet; a temporary database gets its directory.
    ///
    /// # Errors
    /// The temporary directory can't be made, or the program of a driver is not found.
    fn open(&self) -> Result<Arc<dyn Target>, TargetError>;
}

/// Error for a replica of another family than its primary. It follows the replica's URL.
pub(crate) const OTHER_FAMILY: &str =
    "is of another family than the target: a replica speaks the protocol of its primary";

/// Returns the configuration as type `C`, or `None` if it belongs to another family.
pub(crate) fn as_config<C: 'static>(configured: &dyn Configured) -> Option<&C> {
    let configured: &dyn Any = configured;
    configured.downcast_ref()
}
