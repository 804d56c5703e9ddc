//! CockroachDB, YugabyteDB and Citus, as far as PostgreSQL can simulate them: a database whose `version()` and catalogs
//! are those of the product. Syntax that only the real products know is not tested here.

use crate::playing;
use crate::playing::{assert_conditions, inputs, load, meta, open, play, population};
use lydite_database::{DatabaseState, LoadProgress, LoadUnit, Target, TargetErrorKind, TxMode};
use lydite_families::TargetSpec;
use lydite_testkit::postgres::shared;
use lydite_tpcc::WarehouseId;
use std::sync::Arc;

const WAREHOUSES: u32 = 2;

/// Makes a database that reports `version` as its version, and returns its URL. Objects in the schema `fake` hide those
/// of the server.
fn pretender(name: &str, scheme: &str, version: &str, more: &str) -> String {
    let server = shared();
    let url = server.create_database(name);
    server.psql(
        name,
        &format!(
            "CREATE SCHEMA fake; CREATE FUNCTION fake.version() RETURNS text LANGUAGE sql AS $$ SELECT '{version}' $$; {more}; \
             ALTER DATABASE {name} SET search_path = fake, pg_catalog"
        ),
    );
    url.replace("postgres://", &format!("{scheme}://"))
}

const COCKROACH: &str = "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15, go1.22.2)";
const YUGABYTE: &str = "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu";

/// Returns a PostgreSQL database with the same rows and its answers to the same transactions, for comparison.
fn plain(name: &str, inputs: &[lydite_tpcc::Transaction]) -> (Arc<dyn Target>, playing::Answers) {
    let target = open(&playing::on_postgres(name, WAREHOUSES, ""), TxMode::Statements);
    let answers = play(&*target, inputs);
    (target, answers)
}

#[test]
fn keys_come_first_rows_in_batches_and_the_database_is_the_same() {
    let inputs = inputs(WAREHOUSES, 300);
    let (plain, answers) = plain("family_plain", &inputs);
    let rows = plain.checksums().expect("checksums");
    for (scheme, version) in [("cockroach", COCKROACH), ("yugabyte", YUGABYTE)] {
        let name = format!("family_{scheme}");
        let url = pretender(&name, scheme, version, "SELECT 1");
        let target = open(&format!("{url}?batch=700"), TxMode::Statements);
        load(&*target, WAREHOUSES);
        let unlogged = shared().psql(&name, "SELECT count(*) FROM lydite_load WHERE unit < 0");
        assert_eq!(unlogged.trim(), "0", "no note of a unit that was begun is left");
        let keys = shared().psql(
            &name,
            "SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conname LIKE '%_pkey' \
                   AND connamespace = 'fake'::regnamespace",
        );
        // Eight of the nine tables, and two tables of Lydite's.
        assert_eq!(keys.trim(), "10");
        assert_conditions(&*target);
        assert!(play(&*target, &inputs) == answers, "{scheme} answers otherwise than PostgreSQL");
        assert_conditions(&*target);
        assert_eq!(target.checksums().expect("checksums"), rows, "{scheme}");
        let described = target.describe().expect("a description");
        assert_eq!((described.kind.as_str(), described.durable), (scheme, true));
        target.reset().expect("reset");
        assert_eq!(target.state().expect("a state"), DatabaseState::Empty);
    }
}

#[test]
fn a_batch_that_the_server_calls_too_large_is_sent_in_halves() {
    let url = shared().create_database("family_too_large");
    let target = open(&format!("{url}?batch=5000"), TxMode::Statements);
    target.create_schema(&meta(1)).expect("create_schema");
    shared().psql(
        "family_too_large",
        "CREATE FUNCTION too_large() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF (SELECT count(*) FROM fresh) > 100 THEN \
         RAISE EXCEPTION 'transaction is too large to complete; try splitting into pieces'; END IF; RETURN NULL; END $$; \
         CREATE TRIGGER too_large AFTER INSERT ON stock REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT \
         EXECUTE FUNCTION too_large()",
    );
    let progress = LoadProgress::default();
    let population = population(1);
    let mut loader = target.loader().expect("a loader");
    loader.load(LoadUnit::Items, &(&population).into(), &progress).expect("ITEM");
    loader.load(LoadUnit::Warehouse(WarehouseId(1)), &(&population).into(), &progress).expect("a warehouse");
    drop(loader);
    target.finish_load(1, &|_| ()).expect("finish_load");
    assert_conditions(&*target);
    assert_eq!(
        progress.rows(),
        1_000 + 1 + 10 + 2 * 300 + 300 + 90 + 1_000 + {
            population.table_rows(lydite_tpcc::schema::Table::OrderLine, WarehouseId(1))
        }
    );
}

#[test]
fn a_warehouse_whose_batches_were_broken_off_is_loaded_anew() {
    let url = shared().create_database("family_broken_off");
    let target = open(&format!("{url}?batch=1000"), TxMode::Statements);
    target.create_schema(&meta(1)).expect("create_schema");
    let population = population(1);
    let mut loader = target.loader().expect("a loader");
    loader.load(LoadUnit::Items, &(&population).into(), &LoadProgress::default()).expect("ITEM");
    // A server that rejects order lines interrupts the load. Rows that were copied before stay.
    let breaks = "CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  IF NEW.ol_o_id > 10 THEN RAISE EXCEPTION 'broken'; END IF; RETURN NEW; END $$; \
                  CREATE TRIGGER breaks BEFORE INSERT ON order_line FOR EACH ROW EXECUTE FUNCTION breaks()";
    shared().psql("family_broken_off", breaks);
    let unit = LoadUnit::Warehouse(WarehouseId(1));
    let broken = loader
        .load(unit, &(&population).into(), &LoadProgress::default())
        .expect_err("a trigger that raises");
    assert!(broken.message.contains("order_line: broken"), "{broken:?}");
    drop(loader);
    let left = shared().psql("family_broken_off", "SELECT count(*) > 0 FROM customer");
    assert_eq!(left.trim(), "t", "batches stay");
    let state = target.state().expect("a state");
    let DatabaseState::Loading { items: true, warehouses, .. } = state else { panic!("{state:?}") };
    assert!(warehouses.is_empty(), "{warehouses:?}");

    shared().psql("family_broken_off", "DROP TRIGGER breaks ON order_line");
    let mut loader = target.loader().expect("a loader");
    loader.load(unit, &(&population).into(), &LoadProgress::default()).expect("a warehouse");
    drop(loader);
    target.finish_load(1, &|_| ()).expect("finish_load");
    assert_conditions(&*target);
}

#[test]
fn a_scheme_that_does_not_match_its_server_is_refused_before_anything_is_touched() {
    let plain = shared().create_database("family_refused");
    let cockroach = pretender("family_refused_crdb", "postgres", COCKROACH, "SELECT 1");
    for (url, advice) in [
        (plain.replace("postgres://", "cockroach://"), "write postgres:// instead of cockroach://"),
        (plain.replace("postgres://", "yugabyte://"), "write postgres:// instead of yugabyte://"),
        (plain.replace("postgres://", "citus://"), "CREATE EXTENSION citus first"),
        (cockroach, "write cockroach:// instead of postgres://"),
    ] {
        let refused = open(&url, TxMode::Statements).state().expect_err("another server");
        assert_eq!(refused.kind, TargetErrorKind::Usage, "{refused:?}");
        assert!(refused.message.contains(advice), "{refused:?}");
    }
    for (url, mode, advice) in [
        (
            "cockroach://h/db?isolation=repeatable-read",
            TxMode::Statements,
            "use serializable, read-committed",
        ),
        ("cockroach://h/db", TxMode::Procedures, "--tx procedures is not offered by cockroach"),
        ("citus://h/db", TxMode::Batched, "--tx batched is not offered by citus"),
        ("cockroach://h/db?zone_strategy=leases", TxMode::Statements, "add zones="),
        ("cockroach://h/db?split=0", TxMode::Statements, "split=\"0\" must be a whole number from 1"),
        ("yugabyte://h/db?batch=1", TxMode::Statements, "batch=\"1\" must be a whole number from 100"),
        ("cockroach://h/db?zones=a,a,b'c", TxMode::Statements, "names a twice"),
    ] {
        let errors = TargetSpec::parse(url, mode).map(|_| ()).expect_err("a bad URL").join("\n");
        assert!(errors.contains(advice), "{errors}");
    }
}

#[test]
fn placement_is_asked_of_catalogs_in_their_own_words() {
    // Warehouse 1 is in the lower half of the hash codes, warehouse 2 in the upper half.
    let url = pretender(
        "family_tablets",
        "yugabyte",
        YUGABYTE,
        "CREATE FUNCTION fake.yb_hash_code(int) RETURNS int LANGUAGE sql AS $$ SELECT $1 * 30000 $$; \
         CREATE TABLE fake.yb_tablet_metadata (tablet_id text, db_name text, relname text, start_hash_code int, \
         end_hash_code int, leader text, replicas text[]); \
         INSERT INTO fake.yb_tablet_metadata SELECT id, db, 'warehouse', lower, upper, leader, ARRAY['a:5433', 'b:5433'] \
         FROM (VALUES ('1', 'family_tablets', NULL, 32768, 'a:5433'), ('2', 'family_tablets', 32768, NULL, 'b:5433'), \
         ('2', 'family_tablets', 32768, NULL, 'b:5433'), ('3', 'another', NULL, NULL, 'c:5433')) \
         AS tablet (id, db, lower, upper, leader)",
    );
    let placement = open(&url, TxMode::Statements)
        .capabilities()
        .placement(2)
        .expect("a placement")
        .expect("several nodes");
    assert_eq!((placement.nodes, placement.node_of), (vec!["a:5433".into(), "b:5433".into()], vec![0, 1]));
    assert_eq!(
        open(&url, TxMode::Statements).capabilities().node_sizes(),
        Ok(None),
        "not PostgreSQL's own sizes"
    );
    shared().psql(
        "family_tablets",
        "ALTER TABLE fake.yb_tablet_metadata ADD active_ssts_size bigint[] DEFAULT ARRAY[20, 30]",
    );
    let sizes =
        open(&url, TxMode::Statements).capabilities().node_sizes().expect("sizes").expect("known sizes");
    let sizes: Vec<(&str, u64)> = sizes.iter().map(|of| (of.node.as_str(), of.bytes)).collect();
    assert_eq!(sizes, [("a:5433", 40), ("b:5433", 60)]);

    let url = pretender(
        "family_citus",
        "citus",
        "PostgreSQL 16.4 on x86_64-pc-linux-gnu",
        "CREATE TABLE fake.pg_extension (extname text); INSERT INTO fake.pg_extension VALUES ('citus'); \
         CREATE TABLE fake.spread (said text); \
         CREATE FUNCTION fake.create_reference_table(text) RETURNS void LANGUAGE sql AS \
         $$ INSERT INTO fake.spread VALUES ($1 || ' everywhere') $$; \
         CREATE FUNCTION fake.create_distributed_table(text, text, colocate_with text DEFAULT 'none') RETURNS void LANGUAGE sql \
         AS $$ INSERT INTO fake.spread VALUES ($1 || ' by ' || $2 || ' with ' || $3) $$; \
         CREATE FUNCTION fake.get_shard_id_for_distribution_column(text, int) RETURNS int LANGUAGE sql AS $$ SELECT $2 % 2 $$; \
         CREATE TABLE fake.citus_shards (shardid int, nodename text, nodeport int, shard_size bigint); \
         INSERT INTO fake.citus_shards VALUES (0, 'even', 1, 20), (1, 'odd', 2, 30), (3, 'odd', 2, 12); \
         CREATE TABLE fake.pg_dist_node (groupid int, nodename text, nodeport int, noderole text); \
         INSERT INTO fake.pg_dist_node VALUES (7, 'even', 1, 'primary'), (8, 'odd', 2, 'primary'), (8, 'copy', 3, 'secondary'); \
         CREATE TABLE fake.pg_dist_placement (shardid bigint, shardstate int, groupid int); \
         INSERT INTO fake.pg_dist_placement VALUES (0, 1, 7), (1, 1, 8), (1, 4, 7)",
    );
    let target = open(&url, TxMode::Statements);
    load(&*target, 3);
    let spread = shared().psql("family_citus", "SELECT string_agg(said, '; ') FROM fake.spread");
    assert_eq!(
        spread.trim(),
        "item everywhere; warehouse by w_id with none; district by d_w_id with warehouse; customer by c_w_id with warehouse; \
         history by h_w_id with warehouse; orders by o_w_id with warehouse; new_order by no_w_id with warehouse; \
         order_line by ol_w_id with warehouse; stock by s_w_id with warehouse"
    );
    let placement = target.capabilities().placement(3).expect("a placement").expect("several nodes");
    assert_eq!((placement.nodes, placement.node_of), (vec!["odd:2".into(), "even:1".into()], vec![0, 1, 0]));
    let sizes = target.capabilities().node_sizes().expect("sizes").expect("sizes that are known");
    let sizes: Vec<(&str, u64)> = sizes.iter().map(|of| (of.node.as_str(), of.bytes)).collect();
    assert_eq!(sizes, [("even:1", 20), ("odd:2", 42)]);
    assert!(!target.describe().expect("a description").isolation_is_level_3);
    assert_conditions(&*target);
}

#[test]
fn partitions_and_sequences_of_lydites_tables_are_no_foreign_objects_for_a_template() {
    let (server, name) = (shared(), "templates_of_parts");
    let url = playing::on_postgres(name, 1, "?partitions=2");
    server.psql(
        name,
        "CREATE TABLE cust_rest (LIKE stock) PARTITION BY LIST (s_i_id); CREATE TABLE cust_1 PARTITION OF cust_rest DEFAULT; \
         ALTER TABLE stock DETACH PARTITION stock_p2; \
         ALTER TABLE stock ATTACH PARTITION cust_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
         DROP TABLE stock_p2; ALTER TABLE history ADD h_serial serial; \
         ALTER TABLE item ADD i_more int GENERATED BY DEFAULT AS IDENTITY",
    );
    let templates = || {
        let spec = TargetSpec::parse(&format!("{url}?partitions=2"), TxMode::Statements).expect("a good URL");
        spec.templates().expect("a server keeps templates")
    };
    templates().check().expect("all of it is Lydite's");
    for (object, drop) in [
        ("TABLE child_of_item () INHERITS (item)", "TABLE child_of_item"),
        ("SEQUENCE another", "SEQUENCE another"),
        ("TABLE parted (x int) PARTITION BY LIST (x)", "TABLE parted"),
    ] {
        server.psql(name, &format!("CREATE {object}"));
        let refused = templates().check().expect_err(object);
        let named = drop.split(' ').nth(1).expect("a name");
        assert!(refused.message.contains(&format!("holds {named:?}")), "{refused}");
        server.psql(name, &format!("DROP {drop}"));
    }
}

#[test]
fn a_restore_that_fails_leaves_the_database_and_one_that_was_half_dropped_is_made_again() {
    let (server, name) = (shared(), "restored_or_left");
    let login = "LOGIN CREATEDB";
    server.psql("postgres", &format!("CREATE ROLE keeper {login}"));
    server.psql("postgres", &format!("CREATE DATABASE {name} OWNER keeper"));
    let url = server.url(name).replace("postgres@", "keeper@");
    let templates = || {
        TargetSpec::parse(&url, TxMode::Statements)
            .expect("a good URL")
            .templates()
            .expect("a server keeps templates")
    };
    server.psql(name, "CREATE TABLE kept (x int)");
    templates().save("template_1").expect("a template");
    server.psql(name, "CREATE TABLE later (x int)");

    // It may drop databases of its own, and make none.
    server.psql("postgres", "ALTER ROLE keeper NOCREATEDB");
    let failed = templates().restore("template_1").expect_err("no privilege");
    assert!(failed.message.contains("permission denied to create database"), "{failed}");
    assert_eq!(server.psql(name, "SELECT count(*) FROM later"), "0", "the database is as it was");

    server.psql("postgres", &format!("ALTER ROLE keeper {login}"));
    server.psql("postgres", &format!("UPDATE pg_database SET datconnlimit = -2 WHERE datname = '{name}'"));
    assert!(!templates().database_is_there().expect("a server"), "half dropped is not there");
    templates().restore("template_1").expect("a restored database");
    assert_eq!(
        server.psql(name, "SELECT to_regclass('kept')::text || coalesce(to_regclass('later')::text, '')"),
        "kept"
    );
    templates().delete("template_1").expect("gone");
    let like = format!("SELECT count(*) FROM pg_database WHERE datname LIKE '{name}%'");
    assert_eq!(server.psql("postgres", &like), "1");
}
