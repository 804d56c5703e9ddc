//! A family of databases: its entry in the table of `lydite targets`, and what one of its URLs configures.

use crate::templates::Templates;
use lydite_database::patience::Patience;
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{Target, TargetError, TxMode};
use lydite_micro::Engines;
use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Reads a URL of a family. The errors are everything that is wrong with it, one line each.
pub(crate) type Parse = fn(&ParsedUrl, TxMode) -> Result<Arc<dyn Configured>, Vec<String>>;

/// A family of databases.
#[derive(Debug)]
pub struct Family {
    /// URL schemes that choose it.
    pub schemes: &'static [&'static str],
    /// The form of its URLs.
    pub url: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The ways of sending transactions that it has.
    pub modes: &'static [TxMode],
    /// Guarantees of its transactions, in a few words.
    pub guarantees: &'static str,
    /// The nodes that it can name for a warehouse; none for databases of one node.
    pub placement: Option<&'static str>,
    /// Servers that it is tested on with every change.
    pub tested: &'static str,
    /// Options behind `?` in the URL.
    pub options: &'static [OptionSpec],
    /// Those of them that are about TPC-C's tables, and mean nothing to other workloads.
    pub tpcc_options: &'static [&'static str],
    pub(crate) parse: Parse,
}

/// The place of a database, as far as the URL tells.
#[derive(PartialEq, Eq)]
pub(crate) enum Home<'a> {
    /// On a server, in a program, or nowhere.
    Elsewhere,
    /// Built in, and gone when it is closed.
    Temporary,
    /// Built in, in this file or directory.
    Path(&'a Path),
}

/// A URL of a family, read and found good. Nothing has been touched yet.
pub(crate) trait Configured: fmt::Debug + Send + Sync + Any {
    /// The URL without its password; none in families whose URLs have no password.
    fn shown_url(&self) -> Option<&str> {
        None
    }

    /// True if the database stores anything at all.
    fn stores(&self) -> bool {
        true
    }

    /// True if it plays the microbenchmark.
    fn plays_micro(&self) -> bool {
        true
    }

    /// Engines that the database spreads tables over.
    fn engines(&self) -> Engines {
        Engines::One
    }

    /// The place of the database.
    fn home(&self) -> Home<'_> {
        Home::Elsewhere
    }

    /// True if all that is loaded there is on one node, as far as the URL tells.
    fn loads_one_node(&self) -> bool;

    /// True if requests go to a server, which may freeze or vanish.
    fn has_server(&self) -> bool {
        false
    }

    /// True if it can be a primary that others follow.
    fn may_lead(&self) -> bool {
        false
    }

    /// Refuses, without touching anything, what can't be a replica of `primary`. The error follows the replica's URL.
    fn can_follow(&self, _primary: &dyn Configured) -> Result<(), String> {
        Err(OTHER_FAMILY.into())
    }

    /// Returns its templates; none if it has no way to copy a database that is quicker than loading, or nothing to keep.
    /// `patience` limits the requests to a server.
    fn templates(&self, _patience: &dyn Fn(Arc<dyn Target>) -> Option<Patience>) -> Option<Templates> {
        None
    }

    /// Makes the target. Connects to nothing yet; a temporary database gets its directory.
    ///
    /// # Errors
    /// The temporary directory can't be made, or the program of a driver is not found.
    fn open(&self) -> Result<Arc<dyn Target>, TargetError>;
}

/// The error of a replica of another family than its primary, behind its URL.
pub(crate) const OTHER_FAMILY: &str =
    "is of another family than the target: a replica speaks the protocol of its primary";

/// Reads a configuration as that of a family, or as none.
pub(crate) fn as_config<C: 'static>(configured: &dyn Configured) -> Option<&C> {
    let configured: &dyn Any = configured;
    configured.downcast_ref()
}
