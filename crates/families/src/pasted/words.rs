//! Reasons that the dialects of several families share.

/// Reason for parameters of pools.
pub(crate) const POOL: &str = "each session of Lydite has a connection of its own";
/// Reason for parameters about statements.
pub(crate) const STATEMENTS: &str = "Lydite prepares its statements; --tx says how they travel";
/// Reason for parameters about values.
pub(crate) const VALUES: &str = "it changes what an application sees, and nothing for Lydite";
/// Reason for the time zone.
pub(crate) const ZONE: &str = "Lydite sets the time zone of every connection";
/// Reason for the addresses of several servers.
pub(crate) const SPREAD: &str = "sessions are spread over all hosts";
/// Reason for versions and ciphers of TLS.
pub(crate) const VERSIONS: &str = "Lydite takes TLS 1.2 or 1.3 as the server does: leave it out";
/// Reason for code that a driver for Java loads.
pub(crate) const CODE: &str = "it names code in Java, which Lydite can't run: leave it out (a proxy of a cloud has a \
                               program of its own: start it, and name its address)";
/// Reason for the address of the client.
pub(crate) const OWN_ADDRESS: &str = "Lydite can't choose its own address: leave it out";
/// Meaning of the driver of ODBC.
pub(crate) const DRIVER: &str = "the database";
/// Reason for entries of ODBC's files.
pub(crate) const NAMED: &str =
    "it names an entry of odbc.ini, which Lydite does not read: write Driver=…;Server=…;Database=…";
