//! Requests to etcd and their answers in JSON. Keys and values are in base64, 64-bit numbers are strings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use lydite_database::kv::StoreError;
use lydite_database::{AbortReason, Committed};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;
use ureq::Agent;

/// Time limit of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer that is read, in bytes.
const LONGEST: u64 = 256 << 20;

/// Bytes, in JSON as base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// Reads a 64-bit number, which is a string in JSON and left out if it is 0.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// The beginning of every answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Header {
    /// Revision of the store at the time of the answer.
    #[serde(deserialize_with = "number")]
    pub(super) revision: i64,
}

/// The request `/v3/kv/range`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Range {
    pub(super) key: Bytes,
    /// End of the keys, exclusive; `None` reads `key` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) range_end: Option<Bytes>,
    /// Most keys to return; 0 for all.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) limit: i64,
    /// Revision to read at; 0 for the newest.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) revision: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sort_order: Option<&'static str>,
    /// True if the asked member may answer alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) serializable: bool,
    /// True to leave out the values.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) keys_only: bool,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// An entry.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct KeyValue {
    pub(super) key: Bytes,
    pub(super) value: Bytes,
    /// Revision of the last change.
    #[serde(deserialize_with = "number")]
    pub(super) mod_revision: i64,
}

/// The answer to [`Range`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Found {
    pub(super) header: Header,
    pub(super) kvs: Vec<KeyValue>,
}

/// A comparison of a key's revision. A missing key has revision 0.
#[derive(Debug, Serialize)]
pub(super) struct Compare {
    pub(super) key: Bytes,
    /// Comparison: `EQUAL` or `LESS`.
    pub(super) result: &'static str,
    pub(super) target: &'static str,
    pub(super) mod_revision: String,
}

/// A write of a transaction.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Operation {
    RequestPut {
        key: Bytes,
        value: Bytes,
        #[serde(skip_serializing_if = "Option::is_none")]
        lease: Option<String>,
    },
    RequestDeleteRange {
        key: Bytes,
        #[serde(skip_serializing_if = "Option::is_none")]
        range_end: Option<Bytes>,
    },
}

/// The request `/v3/kv/txn`: if all comparisons hold, all operations are done, else none.
#[derive(Debug, Default, Serialize)]
pub(super) struct Txn {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) compare: Vec<Compare>,
    pub(super) success: Vec<Operation>,
}

/// The answer to [`Txn`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    /// True if all comparisons held.
    pub(super) succeeded: bool,
}

/// An error, as the server sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refused {
    error: String,
    /// Error code of gRPC.
    code: u32,
}

/// A client of one server.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: Agent,
    server: String,
}

impl Client {
    /// Makes a client. Connects to nothing yet.
    pub(super) fn new(server: &str) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .http_status_as_error(false)
            .max_idle_connections(1_000)
            .max_idle_connections_per_host(1_000)
            .build();
        Self { agent: config.into(), server: server.to_string() }
    }

    /// Sends a request and returns the answer. `committed` is the state of the commit in errors without an answer:
    /// unknown if this request may be a commit.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        request: &impl Serialize,
        committed: Committed,
    ) -> Result<T, StoreError> {
        let body = serde_json::to_vec(request)
            .map_err(|error| StoreError::Failed(format!("{path}: the request can't be encoded: {error}")))?;
        let away = |error: ureq::Error| StoreError::Unavailable { committed, detail: advised(&error) };
        let mut answer = self
            .agent
            .post(format!("{}{path}", self.server))
            .header("content-type", "application/json")
            .send(&body)
            .map_err(away)?;
        let status = answer.status();
        let body = answer.body_mut().with_config().limit(LONGEST).read_to_vec().map_err(away)?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| {
                let detail = format!("{path}: the answer is not etcd's: {error}");
                match committed {
                    Committed::No => StoreError::Failed(detail),
                    Committed::Unknown => StoreError::Unavailable { committed, detail },
                }
            });
        }
        Err(match serde_json::from_slice::<Refused>(&body) {
            Ok(refused) if refused.code != 0 => refusal(&refused, committed),
            // The error may come from a proxy, which may have passed the request on.
            _ if status.is_server_error() => {
                StoreError::Unavailable { committed, detail: format!("{path}: HTTP status {status}") }
            }
            _ => StoreError::Failed(format!("{path}: HTTP status {status}: is it etcd 3.4 or later?")),
        })
    }
}

fn advised(error: &ureq::Error) -> String {
    let text = error.to_string();
    format!(
        "{}: is etcd running, and does it listen there without TLS?",
        text.strip_prefix("io: ").unwrap_or(&text)
    )
}

/// Converts an error by its gRPC code.
fn refusal(refused: &Refused, committed: Committed) -> StoreError {
    let detail = refused.error.clone();
    match refused.code {
        // Invalid argument, resource exhausted, failed precondition, out of range: rejected before anything was done.
        3 if detail.contains("too many operations") => StoreError::Failed(format!(
            "{detail}: start etcd with --max-txn-ops=1024, since a Delivery writes up to 180 entries"
        )),
        8 if detail.contains("space") => StoreError::Failed(format!(
            "{detail}: start etcd with a larger --quota-backend-bytes, and compact"
        )),
        8 if detail.contains("too many requests") => StoreError::Retry { reason: AbortReason::Other, detail },
        // The transaction's revision was compacted away.
        11 => StoreError::Retry { reason: AbortReason::Other, detail },
        3 | 8 | 9 => StoreError::Failed(detail),
        // After any other error the commit may have been done all the same.
        _ if committed == Committed::Unknown => StoreError::Unavailable { committed, detail },
        // Cancelled, deadline exceeded, unavailable.
        1 | 4 | 14 => StoreError::Unavailable { committed, detail },
        // Aborted.
        10 => StoreError::Retry { reason: AbortReason::Serialization, detail },
        _ => StoreError::Failed(detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: u32, error: &str, committed: Committed) -> StoreError {
        refusal(&Refused { error: error.into(), code }, committed)
    }

    #[test]
    fn a_commit_that_is_answered_with_an_error_is_unknown_unless_it_was_refused_beforehand() {
        let unknown =
            |told: &StoreError| matches!(told, StoreError::Unavailable { committed: Committed::Unknown, .. });
        for code in [1, 2, 4, 10, 13, 14, 15] {
            let told = told(code, "etcdserver: request timed out", Committed::Unknown);
            assert!(unknown(&told), "{code}: {told:?}");
        }
        for code in [3, 8, 9, 11] {
            let told = told(code, "etcdserver: refused", Committed::Unknown);
            assert!(!unknown(&told), "{code}: {told:?}");
        }
        for code in [1, 4, 14] {
            let told = told(code, "etcdserver: no leader", Committed::No);
            assert!(
                matches!(told, StoreError::Unavailable { committed: Committed::No, .. }),
                "{code}: {told:?}"
            );
        }
    }

    #[test]
    fn a_server_with_too_much_to_do_is_asked_again_and_one_without_room_is_not() {
        let busy = told(8, "etcdserver: too many requests", Committed::Unknown);
        assert!(matches!(busy, StoreError::Retry { .. }), "{busy:?}");
        let full = told(8, "etcdserver: mvcc: database space exceeded", Committed::Unknown);
        assert!(full.line().contains("--quota-backend-bytes"), "{full:?}");
        assert!(matches!(full, StoreError::Failed(_)), "{full:?}");
    }

    #[test]
    fn what_is_answered_in_the_place_of_etcd_leaves_a_commit_open() {
        let proxy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = Client::new(&format!("http://{}", proxy.local_addr().expect("its address")));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                use std::io::{Read, Write};
                let (mut stream, _) = proxy.accept().expect("a connection");
                let mut request = [0; 4096];
                assert!(stream.read(&mut request).expect("a request") > 0);
                stream
                    .write_all(
                        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\nConnection: close\r\n\r\nsad!",
                    )
                    .expect("an answer");
            });
            let told = client.ask::<Done>("/v3/kv/txn", &Txn::default(), Committed::Unknown);
            assert!(
                matches!(&told, Err(StoreError::Unavailable { committed: Committed::Unknown, .. })),
                "{told:?}"
            );
        });
    }
}
