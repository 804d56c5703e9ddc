//! MariaDB with the engine Spider over several real servers: a coordinator and three shards.

use crate::playing::{assert_conditions, inputs, load, meta, on_mariadb, open, play, population};
use lydite_database::{DatabaseState, LoadProgress, LoadUnit, Target, TargetErrorKind, TxError, TxMode};
use lydite_testkit::mariadb::FAST;
use lydite_testkit::spider::Cluster;
use lydite_tpcc::WarehouseId;

const WAREHOUSES: u32 = 4;

fn load_units(target: &dyn Target, units: impl IntoIterator<Item = LoadUnit>) {
    let population = population(WAREHOUSES);
    let mut loader = target.loader().expect("loader");
    for unit in units {
        loader.load(unit, &(&population).into(), &LoadProgress::default()).expect("load");
    }
}

fn warehouse(number: u32) -> LoadUnit {
    LoadUnit::Warehouse(WarehouseId(number))
}

/// One test with several steps, since four servers take a while to start.
#[test]
fn warehouses_are_parted_over_shards_and_the_database_is_the_same() {
    let cluster = Cluster::start(3, &FAST);
    let url = cluster.create_database("parted");
    let target = open(&url, TxMode::Statements);
    let refused = target.create_schema(&meta(2)).expect_err("two warehouses on three shards");
    assert!(refused.message.contains("3 shards need at least as many warehouses"), "{refused:?}");
    cluster.shards[1].sql("parted", "CREATE TABLE stock (mine int)");
    let refused = target.create_schema(&meta(WAREHOUSES)).expect_err("somebody's table");
    assert!(refused.message.contains("this shard has tables already: stock"), "{refused:?}");
    assert_eq!(target.state().expect("a state"), DatabaseState::Empty);
    assert_eq!(cluster.shards[1].sql("parted", "SHOW TABLES"), "stock", "it is left alone");
    cluster.shards[1].sql("parted", "DROP TABLE stock");
    // The tables of the shards are made before those of the coordinator.
    cluster.coordinator.sql("parted", "CREATE TABLE stock (mine int)");
    target.create_schema(&meta(WAREHOUSES)).expect_err("a table that can't be made");
    assert!(cluster.shards.iter().all(|shard| shard.sql("parted", "SHOW TABLES").is_empty()));
    assert_eq!(cluster.coordinator.sql("parted", "SHOW TABLES"), "stock", "it is somebody else's");
    cluster.coordinator.sql("parted", "DROP TABLE stock");

    target.create_schema(&meta(WAREHOUSES)).expect("create_schema");
    load_units(target.as_ref(), [LoadUnit::Items, warehouse(1), warehouse(3)]);
    // Simulates a kill between the two notes: the shard has the rows, the coordinator does not know of them.
    cluster.coordinator.sql("parted", "DELETE FROM lydite_load WHERE unit = 3");
    let DatabaseState::Loading { warehouses, items: true, .. } = target.state().expect("a state") else {
        panic!("a load that did not end is told")
    };
    assert_eq!(warehouses, [WarehouseId(1)]);
    load_units(target.as_ref(), [warehouse(2), warehouse(3), warehouse(4)]);
    target.finish_load(2, &|_| ()).expect("finish_load");

    // The placement agrees with the shards' own tables.
    let placement =
        target.capabilities().placement(WAREHOUSES).expect("a placement").expect("one that is known");
    assert_eq!(placement.node_of, [0, 1, 2, 2]);
    for (number, shard) in (0..).zip(&cluster.shards) {
        let name = &placement.nodes[number as usize];
        assert!(name.contains(&format!("host=127.0.0.1 port={}", shard.port())), "{name}");
        let told: Vec<String> =
            placement.warehouses_of(number).map(|warehouse| warehouse.0.to_string()).collect();
        for (table, column) in [("warehouse", "w_id"), ("stock", "s_w_id"), ("history", "h_w_id")] {
            let there = shard.sql(
                "parted",
                &format!("SELECT group_concat(DISTINCT {column} ORDER BY {column}) FROM {table}"),
            );
            assert_eq!(there, told.join(","), "{table} of shard {number}");
        }
    }

    crate::shapes::assert_shapes(&*target, WAREHOUSES, Some(3));
    let sizes = target.capabilities().node_sizes().expect("sizes").expect("sizes that are known");
    let named: Vec<&String> = sizes.iter().map(|of| &of.node).collect();
    assert_eq!(named, placement.nodes.iter().collect::<Vec<_>>());
    // A tiny warehouse has more than half a megabyte.
    assert!(sizes[2].bytes > sizes[0].bytes + (512 << 10), "two warehouses are more than one: {sizes:?}");

    let server = on_mariadb(&FAST, WAREHOUSES, "");
    let plain = open(&server.url("tpcc"), TxMode::Statements);
    assert_eq!(
        (plain.capabilities().placement(WAREHOUSES), plain.capabilities().node_sizes()),
        (Ok(None), Ok(None))
    );
    assert_eq!(target.checksums().expect("checksums"), plain.checksums().expect("checksums"));
    let inputs = inputs(WAREHOUSES, 300);
    for target in [&target, &plain] {
        let answers = play(target.as_ref(), &inputs);
        let wrong = answers.iter().find(|answer| !matches!(answer, Ok(_) | Err(TxError::RolledBack(_))));
        assert!(wrong.is_none(), "{wrong:?}");
        assert_conditions(target.as_ref());
    }
    assert_eq!(target.checksums().expect("checksums"), plain.checksums().expect("checksums"));
    assert!(
        !target.describe().expect("a description").isolation_is_level_3,
        "snapshots are taken one by one"
    );

    // The error names a shard that is away.
    cluster.shards[0].kill();
    let refused = target.create_schema(&meta(WAREHOUSES)).expect_err("a shard that is away");
    assert_eq!(refused.kind, TargetErrorKind::Unreachable);
    assert!(refused.message.contains(&format!("127.0.0.1:{}", cluster.shards[0].port())), "{refused}");
    cluster.shards[0].restart();

    target.reset().expect("reset");
    for server in cluster.shards.iter().chain([&cluster.coordinator]) {
        assert_eq!(server.sql("parted", "SHOW TABLES"), "");
    }
    assert_eq!(cluster.coordinator.sql("mysql", "SELECT count(*) FROM servers"), "0");

    // A server without the engine is reported before anything is created.
    let address = format!("127.0.0.1:{}", cluster.shards[1].port());
    let without = open(&format!("{}?shards={address}", cluster.shards[0].url("parted")), TxMode::Statements);
    let refused = without.create_schema(&meta(WAREHOUSES)).expect_err("no Spider");
    assert!(refused.message.contains("needs the engine Spider"), "{refused}");
    assert_eq!(cluster.shards[1].sql("parted", "SHOW TABLES"), "");
}

/// The database and the answers are the same for every layout.
#[test]
fn items_on_one_shard_and_tables_apart_are_the_same_database() {
    // The conditions take long over Spider.
    let warehouses = 2;
    let cluster = Cluster::start(2, &FAST);
    let url = cluster.create_database("parted");
    let server = on_mariadb(&FAST, warehouses, "");
    let plain = open(&server.url("tpcc"), TxMode::Statements);
    let fresh = plain.checksums().expect("checksums");
    let inputs = inputs(warehouses, 300);
    let answers = play(plain.as_ref(), &inputs);
    let played = plain.checksums().expect("checksums");
    for (mode, options) in [(TxMode::Procedures, "items=single"), (TxMode::Batched, "colocated=off")] {
        let target = open(&format!("{url}&{options}"), mode);
        load(target.as_ref(), warehouses);
        assert_eq!(target.checksums().expect("checksums"), fresh, "{options}");
        let placement =
            target.capabilities().placement(warehouses).expect("a placement").expect("one that is known");
        assert_eq!(placement.node_of, [0, 1]);
        let apart = options.contains("colocated=off");
        let numbers = |table: &str, column: &str| -> Vec<String> {
            let list = format!("SELECT group_concat(DISTINCT {column} ORDER BY {column}) FROM {table}");
            cluster.shards.iter().map(|shard| shard.sql("parted", &list)).collect()
        };
        assert_eq!(numbers("warehouse", "w_id"), ["1", "2"]);
        assert_eq!(numbers("stock", "s_w_id"), if apart { ["2", "1"] } else { ["1", "2"] }, "{options}");
        let single = options.contains("items=single");
        assert_eq!(cluster.shards[0].sql("parted", "SHOW TABLES LIKE 'item'") == "item", single, "{options}");
        assert_eq!(play(target.as_ref(), &inputs), answers, "{options}");
        assert_conditions(target.as_ref());
        assert_eq!(target.checksums().expect("checksums"), played, "{options}");
        let settings = target.describe().expect("a description").settings;
        assert_eq!(settings["items"], if single { "single" } else { "replicated" });
        assert_eq!(settings["colocated"], if apart { "off" } else { "on" });
        let other = if single { "items=replicated" } else { "colocated=on" };
        let other = open(&format!("{url}&{other}"), mode).connect().err().expect("other tables");
        assert!(other.message.contains("load again with --fresh"), "{other:?}");
        let resumed = open(&url, mode).loader().err().expect("other tables");
        assert!(resumed.message.contains("name these, or load again"), "{resumed:?}");
        target.reset().expect("a reset");
    }
}
