//! The store on a real server. The kit of `lydite driver test` proves the rest; its proofs are not repeated here,
//! because a load takes long.

use super::config::{Config, parse};
use super::store::EtcdStore;
use lydite_database::kv::{Access, Direction, KeyRange, KvTable, KvTarget, Store, StoreError, StoreTx};
use lydite_database::target_url::ParsedUrl;
use lydite_database::{AbortReason, Committed, Target, TargetErrorKind};
use lydite_testkit::etcd::Server;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

fn config(url: &str) -> Config {
    parse(&ParsedUrl::new(url, &mut Vec::new())).expect("a good URL")
}

fn put(store: &EtcdStore, key: &[u8], value: &[u8]) {
    let mut tx = store.begin(Access::Write).expect("a transaction");
    tx.put(KvTable::Stock, key, value).expect("a write");
    tx.commit().expect("a commit");
}

fn keys(tx: &mut impl StoreTx, direction: Direction) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    tx.scan(KvTable::Stock, KeyRange::ALL, direction, &mut |key, _| {
        seen.push(key.to_vec());
        ControlFlow::Continue(())
    })
    .expect("a scan");
    seen
}

#[test]
fn a_transaction_reads_one_revision_and_loses_against_one_that_committed_first() {
    let server = Server::start(&[]);
    let store = EtcdStore::open(&config(&server.url())).expect("a store");
    for number in 0..100_u8 {
        put(&store, &[number, 0xff], &[number]);
    }
    let begin = || store.begin(Access::Write).expect("a transaction");
    let (mut reader, mut writer, mut deleter, mut maker) = (begin(), begin(), begin(), begin());
    assert_eq!(reader.read(KvTable::Stock, &[7, 0xff], <[u8]>::to_vec), Ok(Some(vec![7])));
    assert_eq!(writer.modify(KvTable::Stock, &[7, 0xff], |value| value.push(1)), Ok(Some(())));
    assert_eq!(keys(&mut deleter, Direction::Forward).len(), 100);
    deleter.delete(KvTable::Stock, &[7, 0xff]).expect("a deletion");
    assert_eq!(maker.read(KvTable::Stock, &[200], |_| ()), Ok(None));
    maker.put(KvTable::Stock, &[200], b"x").expect("a write");

    let mut other = begin();
    other.delete(KvTable::Stock, &[7, 0xff]).expect("a deletion");
    other.put(KvTable::Stock, &[200], b"y").expect("a write");
    other.commit().expect("a commit");
    // The snapshot shows no change, and a read-only transaction does not fail.
    assert_eq!(reader.read(KvTable::Stock, &[7, 0xff], <[u8]>::to_vec), Ok(Some(vec![7])));
    let backward: Vec<_> = keys(&mut reader, Direction::Backward).into_iter().rev().collect();
    assert_eq!(backward, keys(&mut reader, Direction::Forward));
    assert_eq!(backward.len(), 100);
    reader.commit().expect("a reader");
    for (what, tx) in [("a change", writer), ("a deletion", deleter), ("an insert", maker)] {
        let refused = tx.commit().expect_err(what);
        let reason = AbortReason::Serialization;
        assert!(
            matches!(&refused, StoreError::Retry { reason: found, .. } if *found == reason),
            "{what}: {refused:?}"
        );
    }
}

#[test]
fn two_loads_of_one_store_are_not_made_at_once() {
    let server = Server::start(&[]);
    let open = || KvTarget::<EtcdStore>::new(config(&server.url()));
    let first = open().begin_load().expect("the right to load");
    let refused = open().begin_load().map(drop).expect_err("another load");
    assert!(refused.message.contains("another load is running on this database (process "), "{refused:?}");
    drop(first);
    drop(open().begin_load().expect("the right to load"));
}

#[test]
fn a_load_whose_lease_has_ended_is_told() {
    let server = Server::start(&[]);
    let config = config(&server.url());
    let right = EtcdStore::lock(&config).expect("the right to load");
    right.check().expect("it is held");
    let store = EtcdStore::open(&config).expect("a store");
    let ask = |path, request: &Value| store.client.ask::<Value>(path, request, Committed::No);
    let leases = ask("/v3/lease/leases", &json!({})).expect("leases");
    let id = &leases["leases"][0]["ID"];
    ask("/v3/lease/revoke", &json!({ "ID": id })).expect("its end");
    let begin = Instant::now();
    let lost = loop {
        match right.check() {
            Ok(()) => assert!(begin.elapsed() < Duration::from_secs(60), "it is never noticed"),
            Err(lost) => break lost,
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(lost.line().contains("the right to load is lost"), "{lost:?}");
    // The lock belongs to the other load, which took it meanwhile.
    let other = EtcdStore::lock(&config).expect("the right to load");
    drop(right);
    assert!(EtcdStore::lock(&config).is_err());
    drop(other);
}

#[test]
fn a_server_that_goes_away_is_told_and_a_commit_on_its_way_is_unknown() {
    let server = Server::start(&[]);
    let config = config(&server.url());
    let store = EtcdStore::open(&config).expect("a store");
    let mut writer = store.begin(Access::Write).expect("a transaction");
    writer.put(KvTable::Stock, b"a", b"1").expect("a write");
    let mut reader = store.begin(Access::Write).expect("a transaction");
    server.kill();
    let lost = reader.read(KvTable::Stock, b"a", |_| ()).expect_err("no server");
    assert!(matches!(lost, StoreError::Unavailable { committed: Committed::No, .. }), "{lost:?}");
    let lost = writer.commit().expect_err("no server");
    assert!(matches!(lost, StoreError::Unavailable { committed: Committed::Unknown, .. }), "{lost:?}");
    let lost = KvTarget::<EtcdStore>::new(config.clone()).begin_load().map(drop).expect_err("no server");
    assert_eq!(lost.kind, TargetErrorKind::Unreachable, "{lost:?}");
    server.restart();
    let store = EtcdStore::open(&config).expect("it is back");
    put(&store, b"b", b"2");
}

#[test]
fn a_server_that_takes_too_few_operations_is_told_with_what_to_do() {
    let server = Server::start(&["--max-txn-ops=10"]);
    let store = EtcdStore::open(&config(&server.url())).expect("a store");
    let mut tx = store.begin(Access::Write).expect("a transaction");
    for number in 0..20_u8 {
        tx.put(KvTable::Stock, &[number], b"x").expect("a write");
    }
    let refused = tx.commit().expect_err("too many");
    let advice = "start etcd with --max-txn-ops=1024";
    assert!(refused.line().contains(advice), "{refused:?}");
    // With etcd's default limit the load is rejected too, before it loads anything.
    let usual = Server::start(&["--max-txn-ops=128"]);
    let refused = EtcdStore::lock(&config(&usual.url())).map(drop).expect_err("too few for a Delivery");
    assert!(refused.line().contains(advice), "{refused:?}");
}

#[test]
fn bad_urls_are_refused() {
    for url in ["etcd:x", "etcd://", "etcd://me:secret@h", "etcd://h/db", "etcd://h?prefix=a/b"] {
        let errors = parse(&ParsedUrl::new(url, &mut Vec::new())).expect_err("a bad URL").join(" ");
        assert!(!errors.contains("secret"), "{errors}");
    }
}
