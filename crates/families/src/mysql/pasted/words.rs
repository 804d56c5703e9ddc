//! Reasons, words and notes that several dialects of MySQL's family share.

use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Word::{self, Rejected, Sets};
pub(super) use crate::pasted::words::{CODE, OWN_ADDRESS, POOL, SPREAD, STATEMENTS, VALUES, VERSIONS, ZONE};

/// Reason for parameters about lost connections.
pub(super) const ALIVE: &str =
    "Lydite gives a host up after 30 s without an answer from its network, and connects anew";
/// Reason for the time of connecting.
pub(super) const CONNECTING: &str = "Lydite waits 10 s at most for each step of a connection";
/// Reason for texts.
pub(super) const TEXTS: &str = "Lydite sets the character set of every connection";
/// Reason for modes of SQL.
pub(super) const MODES: &str = "Lydite sets sql_mode of every connection";
/// Reason for hosts in DNS records.
pub(super) const DNS: &str = "Lydite finds no hosts by DNS records: name them";
/// Reason for compression.
pub(super) const PACKED: &str = "Lydite sends nothing compressed";
/// Reason for keys of passwords.
pub(super) const PUBLIC_KEY: &str =
    "Lydite sends a password itself over TLS or a Unix socket only, and asks for no key";
/// Reason for methods of logins.
pub(super) const LOGIN: &str = "the server names the method of the login";
/// Reason for stores of certificates.
pub(super) const STORE: &str =
    "Lydite reads certificates and keys as PEM: write a URL with ssl-ca=FILE, ssl-cert=FILE and ssl-key=FILE";
/// Reason for settings of sessions.
pub(super) const SESSION: &str = "Lydite sets no variables for you: set it on the server, or leave it out";
/// Reason for what begins a session.
pub(super) const FIRST: &str =
    "Lydite runs no statement of yours on each connection: set it on the server, or leave it out";
/// Reason for files on the client.
pub(super) const FILES: &str = "Lydite loads rows its own way";

/// Levels of isolation as drivers write them.
pub(super) const LEVELS: &[(&str, Word)] = &[
    ("REPEATABLE-READ", Sets("repeatable-read")),
    ("READ-COMMITTED", Sets("read-committed")),
    ("SERIALIZABLE", Sets("serializable")),
    ("READ-UNCOMMITTED", Rejected(LEVEL)),
    ("'REPEATABLE-READ'", Sets("repeatable-read")),
    ("'READ-COMMITTED'", Sets("read-committed")),
    ("'SERIALIZABLE'", Sets("serializable")),
];
pub(super) const LEVEL: &str = "write REPEATABLE-READ, READ-COMMITTED or SERIALIZABLE";

/// Words of MySQL's programs for the modes of TLS.
pub(super) const TLS: &[(&str, Word)] = &[
    ("DISABLED", Sets("disable")),
    ("PREFERRED", Sets("prefer")),
    ("REQUIRED", Sets("require")),
    ("VERIFY_CA", Sets("verify-ca")),
    ("VERIFY_IDENTITY", Sets("verify-full")),
];

/// Sets a mode of TLS where the string has none. A word of the mysql client's counts.
pub(super) fn set_mode(draft: &mut Draft, mode: &str) {
    if draft.get("sslmode").is_none() && draft.get("ssl-mode").is_none() {
        draft.set("sslmode", mode);
    }
}

/// Sets the mode of a driver that uses no TLS unless told.
pub(super) fn without_tls(draft: &mut Draft, parameter: &str, findings: &mut Findings) {
    draft.set("sslmode", "disable");
    findings.note(format!("sslmode=disable: the driver uses no TLS without {parameter}"));
}

/// Notes what becomes of several hosts.
pub(super) fn several_hosts(draft: &Draft, findings: &mut Findings) {
    if draft.hosts.len() > 1 {
        findings.note("sessions are spread over all hosts, which must all take writes");
    }
}
