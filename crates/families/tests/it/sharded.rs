//! PostgreSQL over several real servers: a coordinator and three shards.

use crate::playing::on_postgres;
use lydite_database::{
    Committed, DatabaseState, LoadProgress, LoadUnit, Moved, Target, TargetErrorKind, TxError, TxMode,
    Written,
};
use lydite_families::TargetSpec;
use lydite_testkit::postgres::Server;
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::deck::Mix;
use lydite_tpcc::input::InputPlan;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::{OrderId, Size, Timestamp, Transaction, WarehouseId};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const WAREHOUSES: u32 = 4;

/// A coordinator, its three shards, and the URL of a database over them.
struct Cluster {
    coordinator: Server,
    shards: Vec<Server>,
}

impl Cluster {
    fn start() -> Self {
        let start = || Server::start(&["fsync=off", "shared_buffers=64MB"]);
        Self { coordinator: start(), shards: (0..3).map(|_| start()).collect() }
    }

    fn url(&self) -> String {
        let shards: Vec<String> =
            self.shards.iter().map(|shard| format!("127.0.0.1:{}", shard.port())).collect();
        format!("{}?shards={}", self.coordinator.url("postgres"), shards.join(","))
    }
}

fn open(url: &str) -> Arc<dyn Target> {
    TargetSpec::parse(url, TxMode::Statements).expect("a good URL").open().expect("a target")
}

/// The rows of New-Orders and Payments since the load, in an order of their own.
fn written(target: &dyn Target, warehouses: &RangeInclusive<u32>) -> Written {
    let mut written = target.written(warehouses, Some(OrderId(31))).expect("orders and payments");
    assert!(!written.orders.is_empty() && !written.payments.is_empty());
    written.orders.sort_unstable();
    written
}

fn meta() -> DatabaseMeta {
    DatabaseMeta { size: Size::Tiny, ..DatabaseMeta::uniform(WAREHOUSES, 7, "test") }
}

fn load(target: &dyn Target, units: impl IntoIterator<Item = LoadUnit>) {
    let population = Population::from_meta(&meta(), Timestamp(1_700_000_000_000_000));
    let mut loader = target.loader().expect("loader");
    for unit in units {
        loader.load(unit, &(&population).into(), &LoadProgress::default()).expect("load");
    }
}

fn warehouse(number: u32) -> LoadUnit {
    LoadUnit::Warehouse(WarehouseId(number))
}

fn inputs(count: usize) -> Vec<Transaction> {
    InputPlan::on(&meta(), 7, Mix::Deck).in_turn(count)
}

/// A load that fails on the coordinator leaves nothing on the shards, and what a stopped drop leaves is told and dropped.
fn assert_halves_are_taken_back(cluster: &Cluster, target: &dyn Target) {
    let tables = |server: &Server| {
        server.psql(
            "postgres",
            "SELECT string_agg(relname, ',') FROM pg_class WHERE relkind IN ('r', 'p', 'f') \
                                 AND relnamespace = 'public'::regnamespace",
        )
    };
    // The tables of the shards are made before those of the coordinator.
    cluster.coordinator.psql("postgres", "CREATE TABLE stock_3 (mine int)");
    let failed = target.create_schema(&meta()).expect_err("a partition that can't be made");
    assert!(failed.message.contains("stock_3"), "{failed:?}");
    assert!(cluster.shards.iter().all(|shard| tables(shard).is_empty()));
    assert_eq!(tables(&cluster.coordinator), "stock_3", "it is somebody else's");
    cluster.coordinator.psql("postgres", "DROP TABLE stock_3");

    let server = "CREATE SERVER lydite_shard_1 FOREIGN DATA WRAPPER postgres_fdw";
    cluster.coordinator.psql("postgres", &format!("CREATE EXTENSION IF NOT EXISTS postgres_fdw; {server}"));
    let refused = target.create_schema(&meta()).expect_err("an entry of a shard");
    assert!(refused.message.contains("entries of shards already (lydite_shard_1)"), "{refused:?}");
    cluster.shards[1].psql("postgres", "CREATE TABLE lydite_load (unit int); CREATE TABLE stock (mine int)");
    target.reset().expect("reset");
    assert_eq!(tables(&cluster.shards[1]), "");
}

/// One test with several steps, since four servers take a while to start.
#[test]
fn warehouses_are_parted_over_shards_and_the_database_is_the_same() {
    let cluster = Cluster::start();
    let target = open(&cluster.url());
    let few = DatabaseMeta { warehouses: 2, ..meta() };
    let refused = target.create_schema(&few).expect_err("two warehouses on three shards");
    assert!(refused.message.contains("3 shards need at least as many warehouses"), "{refused:?}");
    assert_eq!(target.state().expect("a state"), DatabaseState::Empty);
    assert_halves_are_taken_back(&cluster, &*target);

    let refused = target.capabilities().move_warehouses(&[WarehouseId(1)], 1).expect_err("no tables");
    assert!(refused.message.contains("the database is empty: load it first"), "{refused:?}");
    target.create_schema(&meta()).expect("create_schema");
    let refused =
        target.capabilities().move_warehouses(&[WarehouseId(3)], 1).expect_err("a load that did not end");
    assert!(refused.message.contains("only the warehouses of a complete TPC-C database"), "{refused:?}");
    load(target.as_ref(), [LoadUnit::Items, warehouse(1), warehouse(3)]);
    // Simulates a kill between the two notes: the shard has the rows, the coordinator does not know of them.
    cluster.coordinator.psql("postgres", "DELETE FROM lydite_load WHERE unit = 3");
    let DatabaseState::Loading { warehouses, items: true, .. } = target.state().expect("a state") else {
        panic!("a load that did not end is told")
    };
    assert_eq!(warehouses, [WarehouseId(1)]);
    load(target.as_ref(), [warehouse(2), warehouse(3), warehouse(4)]);
    target.finish_load(2, &|_| ()).expect("finish_load");

    crate::stock_level::assert_many_are_the_sum(&*target);

    let placement =
        target.capabilities().placement(WAREHOUSES).expect("a placement").expect("one that is known");
    assert_eq!(placement.node_of, [0, 1, 2, 2]);
    assert_eq!(placement.nodes.len(), 3);
    for (shard, warehouses) in cluster.shards.iter().zip(["1", "2", "3,4"]) {
        let there = shard.psql("postgres", "SELECT string_agg(w_id::text, ',' ORDER BY w_id) FROM warehouse");
        assert_eq!(there, warehouses);
        assert!(placement.nodes.iter().any(|node| node.contains(&format!("port={}", shard.port()))));
    }

    crate::shapes::assert_shapes(&*target, WAREHOUSES, Some(3));
    let sizes = target.capabilities().node_sizes().expect("sizes").expect("sizes that are known");
    let named: Vec<&String> = sizes.iter().map(|of| &of.node).collect();
    assert_eq!(named, placement.nodes.iter().collect::<Vec<_>>());
    // A tiny warehouse has more than half a megabyte.
    assert!(sizes[2].bytes > sizes[0].bytes + (512 << 10), "two warehouses are more than one: {sizes:?}");

    let plain = open(&on_postgres("beside_shards", WAREHOUSES, ""));
    assert_eq!(target.checksums().expect("checksums"), plain.checksums().expect("checksums"));
    let inputs = inputs(300);
    for target in [&target, &plain] {
        let mut session = target.connect().expect("a session");
        for input in &inputs {
            let outcome = session.execute(input);
            assert!(matches!(outcome, Ok(_) | Err(TxError::RolledBack(_))), "{outcome:?}");
        }
        let findings = target.check(&CONDITIONS, &|_| ()).expect("a check");
        assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
    }
    assert_eq!(target.checksums().expect("checksums"), plain.checksums().expect("checksums"));
    for warehouses in [1..=WAREHOUSES, 2..=3, 4..=4] {
        assert_eq!(target.counts(&warehouses), plain.counts(&warehouses));
        assert_eq!(written(&*target, &warehouses), written(&*plain, &warehouses));
    }

    assert_warehouses_move(&cluster, target.as_ref());

    // The URL without the shards opens the same database. It rejects modes that would lock whole tables.
    let url = cluster.coordinator.url("postgres");
    assert!(open(&url).capabilities().placement(WAREHOUSES).expect("a placement").is_some());
    assert_eq!(open(&url).capabilities().node_sizes(), Ok(None), "the shards are not known");
    assert_eq!(plain.capabilities().node_sizes().expect("sizes").expect("one size").len(), 1);
    let batched = TargetSpec::parse(&url, TxMode::Batched).expect("a good URL").open().expect("a target");
    let refused = batched.connect().err().expect("batched on shards");
    assert!(
        refused.kind == TargetErrorKind::Usage && refused.message.contains("--tx statements"),
        "{refused:?}"
    );

    // A lost shard fails the transactions that use it, and no others.
    cluster.shards[1].kill();
    let mut session = target.connect().expect("a session");
    let mut lost = 0;
    for input in inputs.iter().take(100) {
        match session.execute(input) {
            Err(TxError::Unavailable { committed: Committed::No, .. }) => {
                lost += 1;
                session = target.connect().expect("a session");
            }
            outcome => assert!(matches!(outcome, Ok(_) | Err(TxError::RolledBack(_))), "{outcome:?}"),
        }
    }
    assert!((5..=60).contains(&lost), "{lost} of 100 need a warehouse of the shard");
    cluster.shards[1].restart();

    target.reset().expect("a reset");
    assert_eq!(target.state().expect("a state"), DatabaseState::Empty);
    for shard in &cluster.shards {
        assert_eq!(shard.psql("postgres", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
    }
    cluster.shards[2].psql("postgres", "CREATE TABLE stock (mine int)");
    let refused = target.create_schema(&meta()).expect_err("a shard with a table of that name");
    assert!(refused.message.contains("has tables already: stock"), "{refused:?}");
    assert_eq!(target.state().expect("a state"), DatabaseState::Empty);
}

/// Sets a flag when it is dropped.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Moves warehouses while others play transactions: each finds all of its rows, whatever shard has them. In the end they
/// are where they were.
fn assert_warehouses_move(cluster: &Cluster, target: &dyn Target) {
    let capabilities = target.capabilities();
    let refused = capabilities.move_warehouses(&[WarehouseId(2)], 0).expect_err("the only one of its shard");
    assert!(refused.message.contains("shard 2 would have no warehouse"), "{refused:?}");
    let refused = capabilities.move_warehouses(&[WarehouseId(5)], 0).expect_err("an unknown one");
    assert!(refused.message.contains("there is no warehouse 5: use 1 to 4"), "{refused:?}");
    // The coordinator's URL alone is enough, as for transactions.
    let alone = open(&cluster.coordinator.url("postgres"));
    let (moved, played) = (AtomicBool::new(false), [const { AtomicUsize::new(0) }; 4]);
    let all_played_since = |before: &[usize]| {
        let since = |(played, before): (&AtomicUsize, &usize)| played.load(Ordering::Acquire) > *before;
        while !moved.load(Ordering::Acquire) && !played.iter().zip(before).all(since) {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let now = || played.iter().map(|played| played.load(Ordering::Acquire)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        // All end if an assertion fails anywhere.
        let _end = SetWhenDropped(&moved);
        for (seed, played) in (1..).zip(&played) {
            let moved = &moved;
            scope.spawn(move || {
                let _end = SetWhenDropped(moved);
                let mut session = target.connect().expect("a session");
                let inputs = InputPlan::on(&meta(), seed, Mix::Deck).in_turn(5_000);
                for input in inputs.iter().cycle().take_while(|_| !moved.load(Ordering::Acquire)) {
                    match session.execute(input) {
                        Ok(_) | Err(TxError::RolledBack(_)) => drop(played.fetch_add(1, Ordering::AcqRel)),
                        Err(TxError::Aborted { .. }) => {}
                        Err(other) => panic!("{other:?}"),
                    }
                }
            });
        }
        for (warehouse, node, node_of) in
            [(3, 0, [0, 1, 0, 2]), (1, 1, [1, 1, 0, 2]), (1, 0, [0, 1, 0, 2]), (3, 2, [0, 1, 2, 2])]
        {
            all_played_since(&now());
            let moves = alone.capabilities().move_warehouses(&[WarehouseId(warehouse)], node);
            assert_eq!(moves.expect("a move").warehouses, 1);
            let placement =
                capabilities.placement(WAREHOUSES).expect("a placement").expect("one that is known");
            assert_eq!(placement.node_of, node_of);
        }
        all_played_since(&now());
    });
    let again = capabilities.move_warehouses(&[WarehouseId(1)], 0);
    assert_eq!(again, Ok(Moved::default()), "it is there");
    let there =
        |shard: &Server| shard.psql("postgres", "SELECT string_agg(DISTINCT s_w_id::text, ',') FROM stock");
    assert_eq!(cluster.shards.iter().map(there).collect::<Vec<_>>(), ["1", "2", "3,4"]);
    let findings = target.check(&CONDITIONS, &|_| ()).expect("a check");
    assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
}

/// The database and the answers are the same for every layout.
#[test]
fn items_on_one_shard_and_tables_apart_are_the_same_database() {
    let cluster = Cluster::start();
    let plain = open(&on_postgres("beside_variants", WAREHOUSES, ""));
    let fresh = plain.checksums().expect("checksums");
    let inputs = inputs(300);
    let play = |target: &dyn Target| {
        let mut session = target.connect().expect("a session");
        for input in &inputs {
            let outcome = session.execute(input);
            assert!(matches!(outcome, Ok(_) | Err(TxError::RolledBack(_))), "{outcome:?}");
        }
    };
    play(plain.as_ref());
    let played = plain.checksums().expect("checksums");
    for (options, single) in [("items=single", true), ("colocated=off", false)] {
        let apart = !single;
        let target = open(&format!("{}&{options}", cluster.url()));
        target.create_schema(&meta()).expect("create_schema");
        load(target.as_ref(), [LoadUnit::Items, warehouse(1), warehouse(3)]);
        // Simulates a kill between the notes of the shards and that of the coordinator.
        let mut rest = vec![warehouse(2), warehouse(3), warehouse(4)];
        if single {
            rest.push(LoadUnit::Items);
        }
        let forgotten = if single { "0, 3" } else { "3" };
        cluster.coordinator.psql("postgres", &format!("DELETE FROM lydite_load WHERE unit IN ({forgotten})"));
        load(target.as_ref(), rest);
        target.finish_load(2, &|_| ()).expect("finish_load");
        assert_eq!(target.checksums().expect("checksums"), fresh, "{options}");

        let items: Vec<bool> = cluster
            .shards
            .iter()
            .map(|shard| shard.psql("postgres", "SELECT to_regclass('item') IS NOT NULL") == "t")
            .collect();
        assert_eq!(items, [single, false, false], "{options}");
        let numbers = |table: &str, column: &str| -> Vec<String> {
            let list = format!(
                "SELECT string_agg(DISTINCT {column}::text, ',' ORDER BY {column}::text) FROM {table}"
            );
            cluster.shards.iter().map(|shard| shard.psql("postgres", &list)).collect()
        };
        // WAREHOUSE follows the placement. Other tables do too, or with colocated=off each one is a shard further.
        let placement =
            target.capabilities().placement(WAREHOUSES).expect("a placement").expect("one that is known");
        assert_eq!(placement.node_of, [0, 1, 2, 2]);
        assert_eq!(numbers("warehouse", "w_id"), ["1", "2", "3,4"]);
        let further = if apart { ["3,4", "1", "2"] } else { ["1", "2", "3,4"] };
        assert_eq!(numbers("district", "d_w_id"), further, "{options}");
        assert_eq!(
            numbers("order_line", "ol_w_id"),
            ["1", "2", "3,4"],
            "the seventh is on the first's shard again"
        );
        assert_eq!(numbers("stock", "s_w_id"), further, "{options}");

        play(target.as_ref());
        let findings = target.check(&CONDITIONS, &|_| ()).expect("a check");
        assert!(findings.len() == 12 && findings.iter().all(|finding| finding.holds()), "{findings:?}");
        assert_eq!(target.checksums().expect("checksums"), played, "{options}");
        assert_eq!(target.counts(&(1..=WAREHOUSES)), plain.counts(&(1..=WAREHOUSES)), "{options}");
        let all = 1..=WAREHOUSES;
        assert_eq!(written(&*target, &all), written(&*plain, &all), "{options}");
        // Each table has a shard of its own for a warehouse, so its rows move apart, too.
        let nodes = target.capabilities();
        nodes.move_warehouses(&[WarehouseId(3), WarehouseId(1)], 1).expect_err("all of a shard's warehouses");
        nodes.move_warehouses(&[WarehouseId(3)], 1).expect("a move");
        assert_eq!(numbers("stock", "s_w_id"), if apart { ["4", "1", "2,3"] } else { ["1", "2,3", "4"] });
        assert_eq!(target.checksums().expect("checksums"), played, "{options}");
        let settings = target.describe().expect("a description").settings;
        assert_eq!(settings["items"], if single { "single" } else { "replicated" });
        assert_eq!(settings["colocated"], if apart { "off" } else { "on" });
        let other = if single { "items=replicated" } else { "colocated=on" };
        let other = open(&format!("{}&{other}", cluster.url())).connect().err().expect("other tables");
        assert!(
            other.kind == TargetErrorKind::Usage && other.message.contains("load again with --fresh"),
            "{other:?}"
        );
        // A load can only be resumed with the layout that it began with.
        let resumed = open(&cluster.url()).loader().err().expect("other tables");
        assert!(resumed.message.contains("name these, or load again"), "{resumed:?}");
        target.loader().expect("the same tables");
        target.reset().expect("a reset");
        for server in cluster.shards.iter().chain([&cluster.coordinator]) {
            let left = server.psql(
                "postgres",
                "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
            );
            assert_eq!(left, "0", "{options}");
        }
    }
}

#[test]
fn variants_of_the_schema_are_refused_where_they_mean_nothing() {
    for (url, says) in [
        ("postgres://h/db?items=single", "items is for tables over several nodes"),
        ("postgres://h/db?shards=a:1,b:1&items=two", "use replicated, single"),
        ("postgres://h/db?shards=a:1&colocated=off", "needs two shards at least"),
        ("mariadb://h/db?colocated=off", "colocated is for tables over several nodes"),
        ("mariadb://h/db?shards=a:1&colocated=off", "needs two shards at least"),
        ("oceanbase://h/db?items=single", "items is for tables over several nodes"),
        ("cockroach://h/db?items=single", "is not known"),
    ] {
        let errors = TargetSpec::parse(url, TxMode::Statements).map(|_| ()).expect_err(url);
        assert!(errors.iter().any(|error| error.contains(says)), "{url}: {errors:?}");
    }
    for url in ["citus://h/db?items=single&colocated=off", "oceanbase://h/db?partitions=3&colocated=off"] {
        TargetSpec::parse(url, TxMode::Statements).map(|_| ()).expect(url);
    }
}

#[test]
fn the_null_target_pretends_a_placement() {
    let placement = |url, warehouses| open(url).capabilities().placement(warehouses);
    assert_eq!(placement("null:", 9).expect("a placement"), None);
    let nine = placement("null:?nodes=9", 180).expect("a placement").expect("one that is known");
    assert_eq!((nine.nodes.len(), nine.node_of.len()), (9, 180));
    assert!((0..9).all(|node| nine.warehouses_of(node).count() == 20));
    assert_eq!(nine.warehouses_of(8).next(), Some(WarehouseId(161)));
    let uneven = placement("null:?nodes=3", 4).expect("a placement").expect("one that is known");
    assert_eq!(uneven.node_of, [0, 1, 2, 2]);
    assert!(placement("null:?nodes=3", 2).is_err());
    assert!(TargetSpec::parse("null:?nodes=0", TxMode::Statements).is_err());
}

#[test]
fn what_shards_cannot_do_is_refused_before_anything_is_touched() {
    let url = "postgres://me@h/db?shards=a:1,a:1,b,:3&foreign_keys=on";
    let errors = TargetSpec::parse(url, TxMode::Procedures).map(|_| ()).expect_err("bad options");
    let says = |text: &str| assert!(errors.iter().any(|error| error.contains(text)), "{text}: {errors:?}");
    says("names a:1 twice");
    says("\"b\" is not HOST:PORT");
    says("\":3\" is not HOST:PORT");
    says("foreign_keys=on is not possible");
    says("--tx procedures is not possible on shards");
}
