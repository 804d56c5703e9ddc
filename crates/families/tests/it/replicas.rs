//! Reads on real replicas: the rows that a session sees, the server that answers, and the rejected configurations.

use crate::playing::{load, meta, open};
use lydite_database::{
    CATCH_UP_WITH_LOAD, Replicas, ReplicasReport, Session, Staleness, TargetErrorKind, TxError, TxMode,
};
use lydite_testkit::{mariadb, postgres};
use lydite_tpcc::transactions::{CustomerSelector, OrderStatus, Payment};
use lydite_tpcc::{
    Cents, CustomerId, DistrictId, Outcome, Standard, StandardOutcome, Transaction, WarehouseId,
};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for events that happen by themselves.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
const ITSELF: &str = "is a replica itself";
const BOUND: Duration = Duration::from_millis(400);

/// A primary with a loaded database and its replica, of any family.
struct Pair<'a> {
    url: String,
    replica: String,
    /// Function that stops the replication and returns once it has stopped.
    pause: &'a dyn Fn(),
    resume: &'a dyn Fn(),
}

fn with(url: &str, replicas: &[&str], staleness: Staleness) -> Arc<Replicas> {
    let replica = |url: &&str| (open(url, TxMode::Statements), (*url).to_owned());
    let opened = replicas.iter().map(replica).collect();
    let primary = open(url, TxMode::Statements);
    Arc::new(Replicas::new((primary, url.to_owned()), opened, staleness))
}

impl Pair<'_> {
    fn with(&self, staleness: Staleness) -> Arc<Replicas> {
        let replicas = with(&self.url, &[&self.replica], staleness);
        replicas.check(4).expect("a replica");
        replicas
    }
}

fn customer() -> CustomerSelector {
    CustomerSelector::Id(CustomerId(11))
}

/// Pays one cent and returns the new balance.
fn pay(session: &mut dyn Session) -> Cents {
    let (w_id, d_id) = (WarehouseId(1), DistrictId(3));
    let payment =
        Payment { w_id, d_id, c_w_id: w_id, c_d_id: d_id, customer: customer(), amount: Cents(100) };
    match session.execute(&Transaction::Standard(Standard::Payment(payment))).expect("a payment") {
        Outcome::Standard(StandardOutcome::Payment(outcome)) => outcome.c_balance,
        other => panic!("{other:?}"),
    }
}

/// Returns the balance that Order-Status shows.
fn balance(session: &mut dyn Session) -> Cents {
    let status = OrderStatus { w_id: WarehouseId(1), d_id: DistrictId(3), customer: customer() };
    match session.execute(&Transaction::Standard(Standard::OrderStatus(status))).expect("an order's status") {
        Outcome::Standard(StandardOutcome::OrderStatus(outcome)) => outcome.c_balance,
        other => panic!("{other:?}"),
    }
}

/// Returns the numbers of reads on the replica and on the primary in its place.
fn reads(report: &ReplicasReport) -> (u64, u64) {
    (report.reads_of.iter().sum(), report.to_primary)
}

fn until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Checks the guarantees that hold for every family whose servers report their position.
fn assert_each_staleness(pair: &Pair<'_>) {
    let any = pair.with(Staleness::Any);
    assert!(any.catch_up(&meta(1), CATCH_UP_WITH_LOAD, &|_| (), &|| false).expect("the same database"));

    // Any staleness: the read accepts the replica as it is.
    let mut session = any.connect().expect("connect");
    let before = balance(&mut *session);
    (pair.pause)();
    let after = pay(&mut *session);
    assert_ne!(after, before);
    assert_eq!(balance(&mut *session), before, "the replica has not heard of it");
    assert_eq!(reads(&any.report()), (2, 0));

    // A session reads its own writes: the wait ends, and the primary answers.
    let own = pair.with(Staleness::Session);
    let mut session = own.connect().expect("connect");
    let after = pay(&mut *session);
    assert_eq!(balance(&mut *session), after, "read on the primary");
    let report = own.report();
    assert_eq!((reads(&report), report.waited), ((0, 1), 1));
    assert!(report.waited_s > 1.0, "{report:?}");
    // The wait also ends when the replica has the commit.
    let after = pay(&mut *session);
    let seen = thread::scope(|scope| {
        let reading = scope.spawn(|| balance(&mut *session));
        thread::sleep(Duration::from_millis(300));
        assert!(!reading.is_finished(), "it waits");
        (pair.resume)();
        reading.join().unwrap()
    });
    assert_eq!(seen, after);
    assert_eq!(reads(&own.report()), (1, 1), "read on the replica");
    let waited = own.report().waited;
    assert_eq!(balance(&mut *session), after);
    assert_eq!(own.report().waited, waited, "nothing was written since");

    // Bounded staleness: reads leave a lagging replica and return to it.
    let bounded = pair.with(Staleness::Bounded(BOUND));
    let mut session = bounded.connect().expect("connect");
    assert_eq!(balance(&mut *session), after);
    assert_eq!(reads(&bounded.report()), (0, 1), "nothing is known of its lag yet");
    let watch = bounded.watch().expect("a watch");
    until("reads on the replica", || {
        balance(&mut *session);
        reads(&bounded.report()).0 > 0
    });
    (pair.pause)();
    let after = pay(&mut *session);
    until("reads on the primary", || balance(&mut *session) == after);
    let (on_replica, on_primary) = reads(&bounded.report());
    assert!(on_primary > 1, "{on_primary}");
    assert_eq!(balance(&mut *session), after);
    assert_eq!(reads(&bounded.report()), (on_replica, on_primary + 1));
    // The lag is sampled: reads leave the replica before a sample says so.
    until("a sample of such a lag", || {
        bounded.report().lag.is_some_and(|(_, most)| most >= BOUND.as_secs_f64())
    });
    (pair.resume)();
    until("reads on the replica again", || {
        assert_eq!(balance(&mut *session), after);
        reads(&bounded.report()).0 > on_replica
    });
    let (mean, most) = bounded.report().lag.expect("a lag");
    assert!(mean > 0.0 && mean < most, "{mean} {most}");
    drop(watch);
}

fn assert_refused(primary: &str, replica: &str, kind: TargetErrorKind, says: &str) {
    let refused = with(primary, &[replica], Staleness::Any).check(1).expect_err("no replica");
    assert_eq!(refused.kind, kind, "{refused}");
    // The error names the server at fault.
    assert!(refused.message.contains(if says == ITSELF { primary } else { replica }), "{refused}");
    assert!(refused.message.contains(says), "{refused}");
}

#[test]
fn reads_go_to_a_replica_of_postgresql_as_old_as_they_may_be() {
    let settings = ["fsync=off", "shared_buffers=64MB"];
    let primary = postgres::Server::start_filled("1", &settings, |server| {
        load(open(&server.create_database("tpcc"), TxMode::Statements).as_ref(), 1);
    });
    let url = primary.url("tpcc");
    let replica = primary.replica(&settings);
    let pause = || {
        replica.psql("tpcc", "SELECT pg_wal_replay_pause()");
        until("replay is paused", || {
            replica.psql("tpcc", "SELECT pg_get_wal_replay_pause_state()") == "paused"
        });
    };
    let resume = || drop(replica.psql("tpcc", "SELECT pg_wal_replay_resume()"));
    assert_each_staleness(&Pair {
        url: url.clone(),
        replica: replica.url("tpcc"),
        pause: &pause,
        resume: &resume,
    });

    // The other modes work as well, and create nothing on a server that rejects writes.
    for mode in [TxMode::Batched, TxMode::Procedures] {
        let opened = vec![(open(&replica.url("tpcc"), mode), "r".to_owned())];
        let replicas = Replicas::new((open(&url, mode), url.clone()), opened, Staleness::Session);
        let mut session = replicas.connect().expect("connect");
        assert_eq!(pay(&mut *session), balance(&mut *session), "{mode}");
        assert_eq!(reads(&replicas.report()), (1, 0), "{mode}");
    }

    let usage = TargetErrorKind::Usage;
    let other = primary.create_database("other");
    assert_refused(&url, &other, usage, "no replica");
    let itself = url.replace("127.0.0.1", "localhost");
    assert_refused(&url, &itself, usage, "is no replica");
    assert_refused(&replica.url("tpcc"), &url, usage, ITSELF);
    let stranger = postgres::Server::start_stranger(&settings);
    let strange = stranger.create_database("tpcc");
    assert_refused(&url, &strange, usage, "follows no other");
    assert_refused(&strange, &replica.url("tpcc"), usage, "another database");
    let gone = strange.clone();
    drop(stranger);
    assert_refused(&url, &gone, TargetErrorKind::Unreachable, "connect");
    let replicas = with(&url, &[&replica.url("tpcc")], Staleness::Any);
    let never = replicas
        .catch_up(&meta(2), Duration::from_secs(10), &|_| (), &|| false)
        .expect_err("another database");
    assert!(never.message.contains("it holds 1 tiny warehouse of seed 7, the primary 2"), "{never}");

    // The error names the lost replica, and the session is unusable.
    let mut session = replicas.connect().expect("connect");
    replica.kill();
    let status = OrderStatus { w_id: WarehouseId(1), d_id: DistrictId(3), customer: customer() };
    match session.execute(&Transaction::Standard(Standard::OrderStatus(status))) {
        Err(TxError::Unavailable { detail, .. }) => {
            assert!(detail.starts_with(&format!("replica {}: ", replica.url("tpcc"))), "{detail}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn reads_go_to_a_replica_of_mariadb_as_old_as_they_may_be() {
    let (primary, replica) = mariadb::Server::with_replica(&mariadb::FAST);
    let url = primary.create_database("tpcc");
    load(open(&url, TxMode::Statements).as_ref(), 1);
    let pause = || drop(replica.sql("mysql", "STOP SLAVE SQL_THREAD"));
    let resume = || drop(replica.sql("mysql", "START SLAVE SQL_THREAD"));
    assert_each_staleness(&Pair {
        url: url.clone(),
        replica: replica.url("tpcc"),
        pause: &pause,
        resume: &resume,
    });
    let usage = TargetErrorKind::Usage;
    let other = primary.create_database("other");
    assert_refused(&url, &other, usage, "no replica");
    replica.sql("mysql", "CREATE DATABASE elsewhere");
    assert_refused(&url, &replica.url("elsewhere"), usage, "another database");
    assert_refused(&replica.url("tpcc"), &url, usage, ITSELF);
    let alone = mariadb::Server::start(&mariadb::FAST);
    let unlogged = alone.create_database("tpcc");
    assert_refused(&url, &unlogged, usage, "follows no other");
    // A primary without a binary log has no positions.
    let silent = with(&unlogged, &[&replica.url("tpcc")], Staleness::Session).check(1).expect_err("no log");
    assert!(silent.message.contains("writes no binary log"), "{silent}");
}
