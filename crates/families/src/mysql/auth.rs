//! Authentication by password with a server of MySQL's family.

use crate::mysql::packet::Reader;
use lydite_database::sql::sql_error::SqlError;
use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

/// Supported authentication methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// `mysql_native_password`: SHA-1.
    Native,
    /// `caching_sha2_password`: SHA-256, or the password itself over a safe connection.
    CachingSha2,
    /// `mysql_clear_password`: the password itself.
    Clear,
}

/// Safety of the connection to the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Safe {
    /// True if nobody else can listen.
    pub(crate) encrypted: bool,
    /// True if the other end is certainly the server.
    pub(crate) verified: bool,
}

/// Message of the server during authentication.
pub(crate) enum Challenge<'a> {
    /// Switch to another method, with new random bytes.
    Switch(Method, &'a [u8]),
    /// The short proof is enough.
    Enough,
    /// Send the password itself.
    Password,
}

impl Method {
    /// Returns the method with this name.
    pub(crate) fn of(name: &[u8]) -> Result<Self, SqlError> {
        Ok(match name {
            b"mysql_native_password" => Self::Native,
            b"caching_sha2_password" => Self::CachingSha2,
            b"mysql_clear_password" => Self::Clear,
            other => {
                return Err(SqlError::Lost(format!(
                    "the server wants authentication by {:?}, which is not supported: use a user with \
                     mysql_native_password or caching_sha2_password",
                    String::from_utf8_lossy(other)
                )));
            }
        })
    }

    /// Returns the name of the method.
    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::Native => b"mysql_native_password",
            Self::CachingSha2 => b"caching_sha2_password",
            Self::Clear => b"mysql_clear_password",
        }
    }

    /// Returns the first answer to the server's random bytes.
    pub(crate) fn proof(self, password: &str, random: &[u8], safe: Safe) -> Result<Vec<u8>, SqlError> {
        if password.is_empty() && self != Self::Clear {
            return Ok(Vec::new());
        }
        // A zero byte follows the twenty random bytes.
        let random = random.get(..20).unwrap_or(random);
        let password = password.as_bytes();
        Ok(match self {
            Self::Native => {
                let stage = hash(&SHA1_FOR_LEGACY_USE_ONLY, &[password]);
                let twice = hash(&SHA1_FOR_LEGACY_USE_ONLY, &[&stage]);
                xor(&stage, &hash(&SHA1_FOR_LEGACY_USE_ONLY, &[random, &twice]))
            }
            Self::CachingSha2 => {
                let stage = hash(&SHA256, &[password]);
                let twice = hash(&SHA256, &[&stage]);
                xor(&stage, &hash(&SHA256, &[&twice, random]))
            }
            Self::Clear if !safe.verified => {
                return Err(SqlError::Lost(
                    "the server wants the password itself (mysql_clear_password): use ?sslmode=verify-full, which \
                     proves who gets it, or a Unix socket"
                        .into(),
                ));
            }
            Self::Clear => clear(password, safe.encrypted)?,
        })
    }
}

/// Returns the password itself, for a connection on which nobody can listen.
///
/// # Errors
/// The connection is not safe.
pub(crate) fn clear(password: &[u8], safe: bool) -> Result<Vec<u8>, SqlError> {
    if !safe {
        return Err(SqlError::Lost(
            "the server wants the password itself, which goes only over TLS or a Unix socket: use ?sslmode=require \
             or ?socket=, or connect once that way with another client, so that the server remembers it"
                .into(),
        ));
    }
    Ok([password, &[0]].concat())
}

/// Reads a message that comes during authentication.
pub(crate) fn challenge(packet: &[u8]) -> Result<Challenge<'_>, SqlError> {
    let mut reader = Reader::new(packet);
    match (reader.u8(), packet.get(1)) {
        (Some(0xfe), Some(_)) => {
            let name = reader.until_zero().unwrap_or_default();
            Ok(Challenge::Switch(Method::of(name)?, reader.rest()))
        }
        (Some(0xfe), None) => Method::of(b"mysql_old_password").map(|method| Challenge::Switch(method, &[])),
        (Some(1), Some(3)) => Ok(Challenge::Enough),
        (Some(1), Some(4)) => Ok(Challenge::Password),
        _ => Err(SqlError::Lost("the server wants an unknown method of authentication".into())),
    }
}

fn hash(algorithm: &'static Algorithm, parts: &[&[u8]]) -> Vec<u8> {
    digest(algorithm, &parts.concat()).as_ref().to_vec()
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Safe = Safe { encrypted: false, verified: false };
    const ENCRYPTED: Safe = Safe { encrypted: true, verified: false };
    const VERIFIED: Safe = Safe { encrypted: true, verified: true };

    #[test]
    fn a_server_that_knows_only_the_hash_can_check_the_proof() {
        // The server stores SHA-1 of SHA-1 of the password, and finds SHA-1 of the password in the proof.
        let random = [7; 20];
        let proof = Method::Native.proof("secret", &random, OPEN).expect("a proof");
        let stored = hash(&SHA1_FOR_LEGACY_USE_ONLY, &[&hash(&SHA1_FOR_LEGACY_USE_ONLY, &[b"secret"])]);
        let stage = xor(&proof, &hash(&SHA1_FOR_LEGACY_USE_ONLY, &[&random, &stored]));
        assert_eq!(hash(&SHA1_FOR_LEGACY_USE_ONLY, &[&stage]), stored);
        let proof = Method::CachingSha2.proof("secret", &random, OPEN).expect("a proof");
        let stored = hash(&SHA256, &[&hash(&SHA256, &[b"secret"])]);
        let stage = xor(&proof, &hash(&SHA256, &[&stored, &random]));
        assert_eq!(hash(&SHA256, &[&stage]), stored);
    }

    #[test]
    fn a_password_is_not_sent_where_others_can_listen() {
        assert!(clear(b"secret", OPEN.encrypted).is_err());
        assert_eq!(clear(b"secret", ENCRYPTED.encrypted), Ok(b"secret\0".to_vec()));
    }

    #[test]
    fn a_password_is_sent_as_it_is_only_to_a_server_that_is_sure_to_be_the_right_one() {
        assert!(Method::Clear.proof("secret", &[], OPEN).is_err());
        assert!(Method::Clear.proof("secret", &[], ENCRYPTED).is_err());
        assert_eq!(Method::Clear.proof("secret", &[], VERIFIED), Ok(b"secret\0".to_vec()));
    }
}
