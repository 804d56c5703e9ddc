//! One load at a time: a key with a lease, which a load keeps alive.

use super::client::{Bytes, Client, Compare, Done, Found, Operation, Range, Txn};
use crate::keeper::{EXPIRES_S, Keeper, Renewed, held_by, holder};
use lydite_database::Committed;
use lydite_database::kv::StoreError;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Number of operations that is above the writes and above the comparisons of any transaction of TPC-C.
const MOST_OPERATIONS: u32 = 200;

/// Answer to the grant of a lease.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Lease {
    #[serde(rename = "ID", skip_serializing_if = "String::is_empty")]
    id: String,
    #[serde(rename = "TTL", skip_serializing_if = "String::is_empty")]
    ttl: String,
}

/// Answer to a keep-alive of a lease.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Alive {
    result: Lease,
}

/// Takes the right to load, whose holder has this key.
///
/// # Errors
/// Another load has it; the error names that load.
pub(super) fn take(client: Client, key: Bytes) -> Result<Keeper, StoreError> {
    let taken = Instant::now();
    let wanted = Lease { ttl: EXPIRES_S.to_string(), ..Lease::default() };
    let lease: Lease = client.ask("/v3/lease/grant", &wanted, Committed::No)?;
    let id = lease.id;
    let value = Bytes(holder().into_bytes());
    let absent = Compare { key: key.clone(), result: "EQUAL", target: "MOD", mod_revision: "0".into() };
    let put = Operation::RequestPut { key: key.clone(), value, lease: Some(id.clone()) };
    // A server that rejects the many operations of a Delivery rejects this transaction too, before anything is loaded.
    let nothing = (0..MOST_OPERATIONS).map(|number| Operation::RequestDeleteRange {
        key: Bytes([&key.0[..], &number.to_be_bytes()].concat()),
        range_end: None,
    });
    let success = std::iter::once(put).chain(nothing).collect();
    let done: Done = client.ask("/v3/kv/txn", &Txn { compare: vec![absent], success }, Committed::No)?;
    if !done.succeeded {
        let mut found: Found =
            client.ask("/v3/kv/range", &Range { key, ..Range::default() }, Committed::No)?;
        let other = found.kvs.pop().unwrap_or_default();
        return Err(held_by(&String::from_utf8_lossy(&other.value.0)));
    }
    Keeper::start(
        taken,
        (client, id),
        |(client, id)| {
            let alive = Lease { id: id.clone(), ..Lease::default() };
            match client.ask::<Alive>("/v3/lease/keepalive", &alive, Committed::No) {
                // An expired lease has no time to live left, and its key is gone.
                Ok(Alive { result }) if matches!(result.ttl.as_str(), "" | "0") => Renewed::Lost,
                Ok(_) => Renewed::Held,
                // A server that is away for a while keeps the lease meanwhile.
                Err(_) => Renewed::Away,
            }
        },
        |(client, id)| {
            let over = Lease { id: id.clone(), ..Lease::default() };
            let _over: Result<serde_json::Value, _> = client.ask("/v3/lease/revoke", &over, Committed::No);
        },
    )
}
