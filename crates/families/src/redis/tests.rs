//! The store on a real server.

use super::config::{Config, parse};
use super::store::RedisStore;
use crate::conformance;
use lydite_database::kv::KvTarget;
use lydite_database::kv::{Access, Direction, KeyRange, KvTable, Pending, Store, StoreError, StoreTx};
use lydite_database::target_url::ParsedUrl;
use lydite_database::{AbortReason, Committed, Target, TargetErrorKind};
use lydite_testkit::redis::Server;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

fn config(url: &str) -> Config {
    parse(&ParsedUrl::new(url, &mut Vec::new())).expect("a good URL")
}

#[test]
fn the_answers_and_the_rows_are_those_of_sqlite() {
    let server = Server::start(&[]);
    conformance::the_answers_and_the_rows_are_those_of_sqlite::<RedisStore>(config(&server.url(0)));
}

#[test]
fn sessions_that_fight_for_one_warehouse_keep_the_conditions() {
    let server = Server::start(&[]);
    conformance::sessions_that_fight_for_one_warehouse_keep_the_conditions::<RedisStore>(config(
        &server.url(0),
    ));
}

#[test]
fn an_interrupted_load_can_be_resumed_and_a_spoiled_row_is_found() {
    let server = Server::start(&[]);
    conformance::an_interrupted_load_can_be_resumed::<RedisStore>(config(&server.url(0)));
    conformance::a_spoiled_row_is_found_and_named::<RedisStore>(config(&server.url(1)));
}

fn put(store: &RedisStore, key: &[u8], value: &[u8]) {
    let mut tx = store.begin(Access::Write).expect("a transaction");
    tx.put(KvTable::Stock, key, value).expect("a write");
    tx.commit().and_then(Pending::wait).expect("a commit");
}

#[test]
fn who_read_what_another_changed_is_refused_and_leaves_nothing() {
    let server = Server::start(&[]);
    let store = RedisStore::open(&config(&server.url(0))).expect("a store");
    put(&store, b"a", b"1");
    for access in [Access::Write, Access::Read] {
        let mut tx = store.begin(access).expect("a transaction");
        assert!(tx.read(KvTable::Stock, b"a", |_| ()).expect("a read").is_some());
        if access == Access::Write {
            tx.put(KvTable::Stock, b"b", b"2").expect("a write");
        }
        put(&store, b"a", b"3");
        let refused = tx.commit().expect_err("a refusal");
        assert!(
            matches!(refused, StoreError::Retry { reason: AbortReason::Serialization, .. }),
            "{refused:?}"
        );
    }
    let mut tx = store.begin(Access::Read).expect("a transaction");
    assert_eq!(tx.read(KvTable::Stock, b"b", |_| ()).expect("a read"), None);
    // Transactions on different keys do not conflict.
    let mut one = store.begin(Access::Write).expect("a transaction");
    assert_eq!(one.modify(KvTable::Stock, b"a", |value| value.push(b'!')).expect("a change"), Some(()));
    put(&store, b"c", b"4");
    one.commit().and_then(Pending::wait).expect("a commit");
}

#[test]
fn a_key_whose_value_was_deleted_after_the_range_was_read_is_not_there() {
    let server = Server::start(&[]);
    let store = RedisStore::open(&config(&server.url(0))).expect("a store");
    for key in [b"a", b"b", b"c"] {
        put(&store, key, b"");
    }
    // A scan reads the keys before a transaction deletes one, and the values afterwards.
    let mut connection = store.connections.take().expect("a connection");
    let name = store.name(KvTable::Stock, b"b");
    redis::cmd("DEL").arg(&name).query::<()>(&mut connection).expect("a deletion");
    let mut tx = store.begin(Access::Write).expect("a transaction");
    let mut seen = Vec::new();
    let range = KeyRange { from: b"a", below: Some(b"z") };
    let scanned = tx.scan(KvTable::Stock, range, Direction::Forward, &mut |key, _| {
        seen.push(key.to_vec());
        ControlFlow::Continue(())
    });
    scanned.expect("a scan");
    assert_eq!(seen, [b"a", b"c"]);
    // The deleted key is watched all the same.
    redis::cmd("SET").arg(&name).arg("again").query::<()>(&mut connection).expect("a write");
    tx.put(KvTable::Stock, b"d", b"").expect("a write");
    let refused = tx.commit().expect_err("a refusal");
    assert!(matches!(refused, StoreError::Retry { .. }), "{refused:?}");
}

#[test]
fn two_loads_of_one_database_are_not_made_at_once() {
    let server = Server::start(&[]);
    let open = || KvTarget::<RedisStore>::new(config(&server.url(0)));
    let first = open().begin_load().expect("the right to load");
    let refused = open().begin_load().map(drop).expect_err("another load");
    assert!(refused.message.contains("another load is running on this database (process "), "{refused:?}");
    assert!(open().reset().is_err(), "what is being loaded is not dropped");
    drop(first);
    open().reset().expect("a load that has ended is in nobody's way");
    drop(open().begin_load().expect("the right to load"));
}

#[test]
fn a_load_that_slept_until_another_began_is_told_and_leaves_the_other_its_right() {
    let server = Server::start(&[]);
    let config = config(&server.url(0));
    let right = RedisStore::lock(&config).expect("the right to load");
    right.check().expect("it is held");
    let store = RedisStore::open(&config).expect("a store");
    let mut connection = store.connections.take().expect("a connection");
    // Simulates an expired key that another load has taken.
    redis::cmd("SET").arg(store.lock_name()).arg("another").query::<()>(&mut connection).expect("a write");
    let begin = Instant::now();
    let lost = loop {
        match right.check() {
            Ok(()) => assert!(begin.elapsed() < Duration::from_secs(60), "it is never noticed"),
            Err(lost) => break lost,
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(lost.line().contains("the right to load is lost"), "{lost:?}");
    drop(right);
    let holder: String = redis::cmd("GET").arg(store.lock_name()).query(&mut connection).expect("a value");
    assert_eq!(holder, "another");
}

#[test]
fn an_error_of_many_commands_is_one_line() {
    let server = Server::start(&["maxmemory=2mb"]);
    let store = RedisStore::open(&config(&server.url(0))).expect("a store");
    let mut tx = store.begin(Access::Load).expect("a transaction");
    for number in 0..2000_u32 {
        tx.put(KvTable::Stock, &number.to_be_bytes(), &[7; 1000]).expect("a write");
    }
    let full = tx.commit().expect_err("no memory");
    let full = full.line();
    assert!(full.len() < 400 && full.contains("maxmemory"), "{full}");
}

#[test]
fn a_server_that_goes_away_is_told_and_a_commit_on_its_way_is_unknown() {
    let server = Server::start(&[]);
    let config = config(&server.url(0));
    let store = RedisStore::open(&config).expect("a store");
    let mut writer = store.begin(Access::Write).expect("a transaction");
    writer.put(KvTable::Stock, b"a", b"1").expect("a write");
    let mut reader = store.begin(Access::Write).expect("a transaction");
    server.kill();
    let lost = reader.read(KvTable::Stock, b"a", |_| ()).expect_err("no server");
    assert!(matches!(lost, StoreError::Unavailable { committed: Committed::No, .. }), "{lost:?}");
    let lost = writer.commit().expect_err("no server");
    assert!(matches!(lost, StoreError::Unavailable { committed: Committed::Unknown, .. }), "{lost:?}");
    let lost = KvTarget::<RedisStore>::new(config.clone()).begin_load().map(drop).expect_err("no server");
    assert_eq!(lost.kind, TargetErrorKind::Unreachable, "{lost:?}");
    assert!(matches!(RedisStore::open(&config), Err(StoreError::Unavailable { .. })));
    server.restart();
    assert!(RedisStore::open(&config).is_ok());
}

#[test]
fn a_password_is_never_shown_and_bad_urls_are_refused() {
    let shown = format!("{:?}", config("redis://me:s3cret@db.example:7000/3"));
    assert!(!shown.contains("s3cret") && shown.contains("redis://me@db.example:7000/3"), "{shown}");
    for url in ["redis:x", "redis://", "redis://h/tpcc", "redis://h?prefix=a:b", "redis://:p@ss@h#"] {
        assert!(parse(&ParsedUrl::new(url, &mut Vec::new())).is_err(), "{url}");
    }
}

#[test]
fn a_missing_or_wrong_password_is_answered_with_how_to_give_one() {
    let server = Server::start(&["requirepass=s3cret"]);
    let refused = |url: &str| match RedisStore::open(&config(url)) {
        Ok(_) => panic!("{url} was let in"),
        Err(error) => error.line().to_string(),
    };
    let with =
        |number: u8, password: &str| server.url(number).replace("redis://", &format!("redis://:{password}@"));
    for url in [server.url(0), server.url(1), with(0, "wr0ng"), with(1, "wr0ng")] {
        let line = refused(&url);
        assert!(line.contains("password in the URL, or the password in LYDITE_PASSWORD"), "{url}: {line}");
        assert!(!line.contains("is it a Redis server") && !line.contains("wr0ng"), "{url}: {line}");
    }
    RedisStore::open(&config(&with(1, "s3cret"))).expect("the right password");
    let line = refused(&with(99, "s3cret"));
    assert!(line.contains("name a database that the server has"), "{line}");
}
