//! Reasons and notes that several dialects of PostgreSQL share.

use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Word;
pub(super) use crate::pasted::words::{CODE, OWN_ADDRESS, POOL, SPREAD, STATEMENTS, VALUES, VERSIONS, ZONE};
use crate::postgres::unprepared::{self, STATEMENTS as OPTION};

/// Reason for what belongs to a login by Kerberos.
pub(super) const KERBEROS: &str = "Lydite has no login by Kerberos; it matters only there";
/// Reason for parameters about lost connections.
pub(super) const ALIVE: &str = "Lydite gives a host up after 30 s without an answer from its network";
/// Meaning of statements that a driver does not prepare.
pub(super) const UNPREPARED: Word = Word::Sets(unprepared::UNPREPARED);
/// Reason for texts.
pub(super) const TEXTS: &str = "Lydite talks UTF-8";
/// Reason for sizes of buffers.
pub(super) const BUFFERS: &str = "Lydite leaves the sizes of buffers to the system";
/// Reason for TLS without asking the server first.
pub(super) const ASKED: &str = "Lydite asks for TLS first, a round trip more for each connection";
/// Reason for a wish that Lydite has too.
pub(super) const PRIMARY: &str = "Lydite rejects a standby by itself, among several hosts too: name the primary alone if others are standbys";
/// Reason for a wish for a standby.
pub(super) const STANDBY: &str = "transactions write: name the primary, and its replicas with --replicas";
/// Reason for zones of a cluster.
pub(super) const ZONES: &str =
    "sessions go to the hosts of the string, and to no others: name those of the zones that you mean";
/// Reason for what a driver does about hosts that it finds by itself.
pub(super) const HOSTS_STAY: &str = "sessions go to the hosts of the string, and to no others";
/// Reason for encryption that Lydite lacks.
pub(super) const GSS: &str = "Lydite never encrypts by GSSAPI; TLS is sslmode";
/// Reason for certificates in containers.
pub(super) const CONTAINER: &str = "Lydite reads certificates and keys as PEM: write sslcert=FILE&sslkey=FILE (openssl pkcs12 -in FILE -nodes)";
/// Reason for keys with a passphrase.
pub(super) const PASSPHRASE: &str =
    "Lydite reads keys without a passphrase: write a copy with 'openssl pkey -in KEY -out FILE'";
/// Reason for lists of revoked certificates.
pub(super) const REVOKED: &str = "Lydite reads no lists of revoked certificates: leave it out";
/// Reason for the mode that tries without TLS first.
pub(super) const ALLOW: &str = "Lydite does not try without TLS first: write prefer or disable";

/// Takes the option for unprepared statements back, where the database of the URL lacks it.
pub(super) fn only_postgres(draft: &mut Draft, findings: &mut Findings) {
    if !draft.scheme.starts_with("postgres") && draft.get(OPTION.name).is_some() {
        draft.unset(OPTION.name);
        findings.note(format!(
            "{}: statements are prepared: only postgres: has statements=unprepared",
            draft.scheme
        ));
    }
}

/// Notes what becomes of several hosts, where a driver takes the first that answers.
pub(super) fn several_hosts(draft: &Draft, findings: &mut Findings) {
    if draft.hosts.len() > 1 {
        findings.note(
            "sessions are spread over all hosts, which must all take writes; the driver takes the first that answers",
        );
    }
}
