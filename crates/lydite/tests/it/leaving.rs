//! `lydite drop`: what Lydite made is shown and dropped, and what others made stays.

use crate::loaded;
use crate::program::{Ended, Program, lydite, scratch, text};
use lydite_testkit::{mariadb, postgres, redis};
use rusqlite::Connection;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;

/// Objects of all schemas of a PostgreSQL database but the server's own, one a line.
pub(crate) const OBJECTS: &str = "SELECT 'class ' || relkind::text || ' ' || relname FROM pg_class JOIN pg_namespace AS n \
     ON n.oid = relnamespace WHERE nspname !~ '^(pg_|information_schema)' \
     UNION ALL SELECT 'function ' || proname FROM pg_proc JOIN pg_namespace AS n ON n.oid = pronamespace \
     WHERE nspname !~ '^(pg_|information_schema)' AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid \
     AND deptype = 'e') UNION ALL SELECT 'type ' || typname FROM pg_type JOIN pg_namespace AS n ON n.oid = typnamespace \
     WHERE nspname !~ '^(pg_|information_schema)' UNION ALL SELECT 'server ' || srvname FROM pg_foreign_server ORDER BY 1";

/// Objects of the database of a connection to MariaDB.
pub(crate) const OBJECTS_OF_MARIADB: &str = "SELECT table_type, table_name FROM information_schema.tables \
     WHERE table_schema = database() UNION ALL SELECT routine_type, routine_name FROM information_schema.routines \
     WHERE routine_schema = database() ORDER BY 1, 2";

pub(crate) fn drop_all(url: &str) -> Ended {
    lydite(&["drop", url, "--yes"])
}

pub(crate) fn listed(url: &str, code: i32) -> Value {
    let ended = lydite(&["drop", url, "--json", "-"]).code(code);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn names<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().expect("a list").iter().map(|one| one[field].as_str().expect("a text")).collect()
}

#[test]
fn postgresql_is_left_as_it_was_before_lydite_came() {
    let server = postgres::shared();
    let url = server.create_database("leaving");
    let psql = |sql: &str| server.psql("leaving", sql);
    psql("CREATE TABLE diary (id bigserial PRIMARY KEY, mine text); CREATE VIEW days AS SELECT * FROM diary");
    let before = psql(OBJECTS);
    assert!(listed(&url, 0)["ours"].as_array().expect("a list").is_empty());
    let parted = format!("{url}?history_key=on&partitions=3");
    lydite(&["load", &parted, "-w", "1", "--set", "size=tiny", "--quiet"]).code(0);
    // What a killed isolation check leaves.
    psql(
        "CREATE TABLE lydite_isolation_1 (id bigint NOT NULL PRIMARY KEY, elements varchar(500) NOT NULL, latest bigint)",
    );
    psql("CREATE FUNCTION lydite_payment(text) RETURNS text LANGUAGE sql AS 'SELECT $1'");
    let loaded = psql(OBJECTS);

    let shown = lydite(&["drop", &url]).code(4);
    assert!(shown.stderr.contains("nothing was dropped: `lydite drop "), "{shown:?}");
    for line in
        ["  table stock, about 1,000 rows, ", "    index stock_pkey\n", "  procedure lydite_new_order("]
    {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
    assert!(shown.stdout.contains("function lydite_payment(text): its text is not Lydite's"), "{shown:?}");
    lydite(&["drop", &url, "--dry-run"]).code(4);
    let list = listed(&url, 4);
    assert_eq!((&list["dropped"], &list["format"]), (&Value::from(false), &Value::from(1)));
    let ours = names(&list["ours"], "name");
    for name in ["history_h_id_seq", "lydite_meta", "lydite_load", "lydite_isolation_1", "orders_by_customer"]
    {
        assert!(ours.contains(&name), "{name}: {ours:?}");
    }
    assert_eq!(psql(OBJECTS), loaded, "a list changes nothing");

    drop_all(&url).code(0);
    psql("DROP FUNCTION lydite_payment(text)");
    assert_eq!(psql(OBJECTS), before);
    drop_all(&url).code(0);
    let mistyped = drop_all(&url.replace("/leaving", "/leavnig")).code(3);
    assert!(mistyped.only_error().contains("there is no such database: nothing was dropped"), "{mistyped:?}");
}

#[test]
fn nothing_is_dropped_below_what_others_have_made_on_top() {
    let server = postgres::shared();
    let url = loaded::on_postgres("leaving_below", 1);
    let psql = |sql: &str| server.psql("leaving_below", sql);
    psql(
        "CREATE SCHEMA mine; CREATE VIEW mine.sales AS SELECT sum(ol_amount) FROM order_line; \
          CREATE TABLE mine.notes (w int REFERENCES warehouse (w_id)); \
          CREATE FUNCTION mine.seen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
          CREATE TRIGGER seen AFTER INSERT ON history EXECUTE FUNCTION mine.seen(); \
          CREATE FUNCTION mine.first(item) RETURNS int LANGUAGE sql AS 'SELECT 1'; \
          CREATE PUBLICATION spread FOR TABLE stock; CREATE TABLE mine.child () INHERITS (district); \
          CREATE INDEX mine_too ON customer (c_phone)",
    );
    let before = psql(OBJECTS);
    let list = listed(&url, 2);
    let found = names(&list["in_the_way"], "what");
    for what in [
        "view mine.sales",
        "constraint notes_w_fkey on table mine.notes",
        "trigger seen on table history",
        "function mine.first(item)",
        "publication spread",
        "table mine.child",
    ] {
        assert!(found.contains(&what), "{what}: {found:?}");
    }
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(list["notes"].to_string().contains("mine_too of customer"), "{list}");
    let refused = drop_all(&url).code(2);
    assert!(
        refused.stderr.contains("nothing was dropped, since others have made something on top"),
        "{refused:?}"
    );
    assert_eq!(psql(OBJECTS), before);
    psql("DROP SCHEMA mine CASCADE; DROP TRIGGER IF EXISTS seen ON history; DROP PUBLICATION spread");
    drop_all(&url).code(0);
    assert_eq!(psql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"), "0");
}

#[test]
fn tables_of_others_with_names_of_lydites_stay() {
    let server = postgres::shared();
    let url = server.create_database("leaving_others");
    let psql = |sql: &str| server.psql("leaving_others", sql);
    psql(
        "CREATE TABLE customer (id int, name text); INSERT INTO customer VALUES (1, 'Joe'); \
          CREATE TABLE lydite_meta (name text, value text); INSERT INTO lydite_meta VALUES ('mine', 'x'); \
          CREATE VIEW item AS SELECT * FROM customer",
    );
    let before = psql(OBJECTS);
    let list = listed(&url, 0);
    assert!(list["ours"].as_array().expect("a list").is_empty(), "{list}");
    assert_eq!(names(&list["stays"], "what"), ["table customer", "view item", "table lydite_meta"]);
    drop_all(&url).code(0);
    assert_eq!(psql(OBJECTS), before);

    // Beside tables of Lydite's: the notes say nothing about what came in the place of one.
    let url = loaded::on_postgres("leaving_beside", 1);
    server.psql(
        "leaving_beside",
        "DROP TABLE stock CASCADE; CREATE TABLE stock (share text, price numeric); \
                                   INSERT INTO stock VALUES ('ACME', 7)",
    );
    let ended = drop_all(&url).code(0);
    assert!(ended.stdout.contains("table stock: it lacks columns of Lydite's"), "{ended:?}");
    assert_eq!(server.psql("leaving_beside", "SELECT share FROM stock"), "ACME");
    assert_eq!(
        server.psql("leaving_beside", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"),
        "1"
    );
}

#[test]
fn a_template_of_an_experiment_is_known_and_an_empty_database_of_such_a_name_stays() {
    let server = postgres::shared();
    let url = loaded::on_postgres("leaving_template", 1);
    let template = "leaving_template_template_0123456789abcdef";
    loaded::copy_on(server, "leaving_template", template);
    let _empty = server.create_database("leaving_template_template_00000000000000ff");
    let list = listed(&url, 4);
    let kinds = names(&list["ours"], "kind");
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "template").count(),
        1,
        "an empty one is not Lydite's: {list}"
    );
    assert!(names(&list["ours"], "name").contains(&template));
    drop_all(&url).code(0);
    assert_eq!(
        server.psql(
            "postgres",
            "SELECT count(*) FROM pg_database WHERE datname LIKE 'leaving\\_template\\_template%'"
        ),
        "1"
    );
}

#[test]
fn a_template_that_can_not_be_opened_is_named_and_the_rest_is_dropped() {
    let server = postgres::shared();
    let url = server.create_database("leaving_unread").replacen("postgres@", "leaver@", 1);
    server.psql("postgres", "CREATE ROLE leaver LOGIN");
    server.psql("postgres", "ALTER DATABASE leaving_unread OWNER TO leaver");
    lydite(&["load", &url, "-w", "1", "--set", "size=tiny", "--quiet"]).code(0);
    let closed = "leaving_unread_template_0123456789abcdef";
    let opened = "leaving_unread_template_fedcba9876543210";
    for name in [closed, opened] {
        loaded::copy_on(server, "leaving_unread", name);
    }
    server.psql("postgres", &format!("REVOKE CONNECT ON DATABASE {closed} FROM PUBLIC"));
    server.psql("postgres", &format!("ALTER DATABASE {opened} OWNER TO leaver"));
    assert!(lydite(&["drop", &url]).code(4).stdout.contains(closed));
    let ended = drop_all(&url).code(3);
    assert!(ended.stdout.contains("dropped\n"), "{ended:?}");
    assert!(ended.stderr.contains("there may be templates of experiments") && ended.stderr.contains(closed));
    let left = "SELECT string_agg(datname, ' ') FROM pg_database WHERE datname LIKE 'leaving\\_unread\\_%'";
    assert_eq!(server.psql("postgres", left), closed);
    assert_eq!(
        server.psql("leaving_unread", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"),
        "0"
    );
}

#[test]
fn nothing_is_dropped_below_a_run_that_is_at_work() {
    let server = postgres::shared();
    // One run is of TPC-C, on one of two warehouses; the other one is of the microbenchmark.
    let tpcc = loaded::on_postgres("leaving_at_work", 2);
    let micro = server.create_database("leaving_at_work_micro");
    let load = ["load", &micro, "--workload", "micro", "--set", "micro.records=100", "--quiet"];
    lydite(&load).code(0);
    let usual = ["--warmup", "0", "--duration", "1h", "--mode", "open", "--rate", "50", "--quiet"];
    let of_tpcc =
        [&["run", &tpcc, "--set", "active_warehouses=2-2", "--terminals", "2"][..], &usual].concat();
    let of_micro = [&["run", &micro, "--workload", "micro"][..], &usual].concat();
    for (url, name, run, message) in [
        (&tpcc, "leaving_at_work", of_tpcc, "another run changes these warehouses (backend PID "),
        (
            &micro,
            "leaving_at_work_micro",
            of_micro,
            "another run of the microbenchmark is at work (backend PID ",
        ),
    ] {
        let mut run = Program::new(&run).start();
        let marks = "SELECT count(*) FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE locktype = 'advisory' \
                     AND datname = current_database() AND application_name LIKE 'lydite run, %'";
        run.wait_until("the mark of the run", || server.psql(name, marks) != "0");
        let before = server.psql(name, OBJECTS);
        let refused = drop_all(url).code(2);
        let error = refused.only_error();
        assert!(error.starts_with("nothing was dropped: ") && error.contains(message), "{error}");
        assert_eq!(server.psql(name, OBJECTS), before);
        assert!(run.is_running());
        run.signal(9);
        let _killed = run.wait();
        drop_all(url).code(0);
    }
}

#[test]
fn shards_are_dropped_with_their_coordinator_and_after_a_stop_again() {
    let start = || postgres::Server::start(&["fsync=off", "shared_buffers=64MB"]);
    let (coordinator, shards) = (start(), [start(), start()]);
    let ports: Vec<String> = shards.iter().map(|shard| format!("127.0.0.1:{}", shard.port())).collect();
    let url = format!("{}?shards={}", coordinator.url("postgres"), ports.join(","));
    let load = ["load", &url, "-w", "2", "--set", "size=tiny", "--quiet"];
    let left = || {
        let count = |server: &postgres::Server| server.psql("postgres", OBJECTS);
        let all: Vec<String> = std::iter::once(&coordinator).chain(&shards).map(count).collect();
        all.concat()
    };
    lydite(&load).code(0);
    let list = listed(&url, 4);
    let of_shards =
        list["ours"].as_array().expect("a list").iter().filter(|thing| !thing["server"].is_null());
    assert!(of_shards.count() > 16, "{list}");
    drop_all(&url).code(0);
    assert_eq!(left(), "");
    lydite(&load).code(0);
    // A drop was stopped when one shard was done.
    coordinator.psql("postgres", "UPDATE lydite_meta SET value = 'dropping' WHERE name = 'state'");
    shards[0].psql(
        "postgres",
        "DROP TABLE stock, order_line, new_order, orders, history, customer, district, warehouse, lydite_load",
    );
    drop_all(&url).code(0);
    assert_eq!(left(), "");
}

#[test]
fn mariadb_is_left_as_it_was_before_lydite_came() {
    let server = mariadb::shared();
    let url = server.create_database("leaving");
    let sql = |sql: &str| server.sql("leaving", sql);
    sql("CREATE TABLE diary (mine text); CREATE VIEW history AS SELECT * FROM diary; \
         CREATE PROCEDURE lydite_delivery() SELECT 1");
    assert_eq!(names(&listed(&url, 0)["stays"], "what"), ["view history", "procedure lydite_delivery"]);
    sql("DROP VIEW history; DROP PROCEDURE lydite_delivery");
    let before = sql(OBJECTS_OF_MARIADB);
    let load = ["load", &url, "-w", "1", "--set", "size=tiny", "--quiet"];
    lydite(&load).code(0);
    let list = listed(&url, 4);
    assert!(!list["notes"].to_string().contains("TRIGGER"), "{list}");
    let ours = names(&list["ours"], "name");
    for name in ["stock", "lydite_meta", "customer_by_name", "lydite_new_order", "order_line_fkey_2"] {
        assert!(ours.contains(&name), "{name}: {ours:?}");
    }
    sql("CREATE VIEW sales AS SELECT sum(ol_amount) AS sold FROM order_line; \
         CREATE TABLE notes (w int, FOREIGN KEY (w) REFERENCES warehouse (w_id)); \
         CREATE TRIGGER seen AFTER INSERT ON history FOR EACH ROW SET @seen = 1");
    let loaded = sql(OBJECTS_OF_MARIADB);
    let list = listed(&url, 2);
    let found = names(&list["in_the_way"], "what");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].ends_with("of leaving.notes"), "{found:?}");
    assert_eq!(found[1..], ["trigger seen", "view leaving.sales"]);
    drop_all(&url).code(2);
    assert_eq!(sql(OBJECTS_OF_MARIADB), loaded);
    sql("DROP VIEW sales; DROP TABLE notes; DROP TRIGGER seen");
    // A drop was stopped between two statements.
    sql("UPDATE lydite_meta SET value = 'dropping' WHERE name = 'state'; DROP PROCEDURE lydite_payment; \
         SET foreign_key_checks = 0; DROP TABLE stock, item, lydite_load");
    drop_all(&url).code(0);
    assert_eq!(sql(OBJECTS_OF_MARIADB), before);
}

#[test]
fn sqlite_keeps_a_file_of_others_and_loses_one_of_lydites() {
    let directory = scratch();
    let path = directory.path().join("db");
    let url = loaded::in_sqlite(&path, 1);
    let files = || {
        let entries = fs::read_dir(directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(files(), ["db"]);
    listed(&url, 4);
    assert_eq!(files(), ["db"], "a look leaves no file behind");
    let base = Connection::open(&path).unwrap();
    base.execute_batch(
        "CREATE VIEW sales AS SELECT sum(ol_amount) FROM Order_Line; CREATE TABLE notes (w REFERENCES warehouse (w_id)); \
         CREATE TRIGGER seen AFTER INSERT ON history BEGIN DELETE FROM notes; END",
    )
    .unwrap();
    let list = listed(&url, 2);
    let found = names(&list["in_the_way"], "what");
    assert_eq!(found, ["view sales", "foreign key of table notes", "trigger seen"]);
    drop_all(&url).code(2);
    base.execute_batch("DROP VIEW sales; DROP TRIGGER seen; DROP TABLE notes; CREATE TABLE diary (mine)")
        .unwrap();
    // A run keeps its connections open, as this one is.
    let refused = drop_all(&url).code(2);
    assert!(refused.stderr.contains("nothing was dropped; end that first"), "{refused:?}");
    drop(base);
    let ended = drop_all(&url).code(0);
    assert!(ended.stdout.contains("stays, since others have something in it"), "{ended:?}");
    assert_eq!(files(), ["db"], "the file of others has no files of SQLite's beside it");
    let base = Connection::open(&path).unwrap();
    let left: Vec<String> = base
        .prepare("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(left, ["diary"]);
    drop(base);

    fs::remove_file(&path).unwrap();
    let url = loaded::in_sqlite(&path, 1);
    // What a killed sweep leaves, and a file of somebody else.
    for name in ["db.template_0123456789abcdef", "db.template_0123456789abcdef.partial", "db.txt"] {
        fs::write(directory.path().join(name), "x").unwrap();
    }
    drop_all(&url).code(0);
    assert_eq!(files(), ["db.txt"]);
    lydite(&["drop", &url]).code(0);
    assert!(!path.exists(), "a look makes no file");
}

#[test]
fn a_link_to_a_database_stays_and_the_database_goes() {
    let directory = scratch();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    for scheme in ["gemel", "sqlite"] {
        let load = if scheme == "gemel" { loaded::in_gemel } else { loaded::in_sqlite };
        load(&real, 1);
        symlink(&real, &link).unwrap();
        let url = format!("{scheme}:{}", link.display());
        let list = listed(&url, 4);
        let whole =
            list["ours"].as_array().expect("a list").iter().find(|thing| thing["name"] == text(&link));
        assert!(whole.expect("the database")["bytes"].as_u64() > Some(10_000), "{list}");
        assert!(list["notes"].to_string().contains("is a link: it stays"), "{list}");
        drop_all(&url).code(0);
        assert!(!real.exists() && link.is_symlink(), "{scheme}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{scheme}");
        lydite(&["drop", &url]).code(0);
        fs::remove_file(&link).unwrap();
    }
}

#[test]
fn a_directory_of_gemel_goes_if_it_holds_nothing_else() {
    let directory = scratch();
    let path = directory.path().join("db");
    let url = loaded::in_gemel(&path, 1);
    fs::write(path.join("mine.txt"), "x").unwrap();
    let ended = drop_all(&url).code(0);
    assert!(ended.stdout.contains("file mine.txt: Lydite did not make it"), "{ended:?}");
    assert!(path.join("mine.txt").exists());
    fs::remove_file(path.join("mine.txt")).unwrap();
    assert!(lydite(&["drop", &url]).code(0).stdout.contains("holds nothing"));
    for workload in ["tpcc", "micro"] {
        let scale = if workload == "micro" { "micro.records=100" } else { "size=tiny" };
        let warehouses: &[&str] = if workload == "micro" { &[] } else { &["-w", "1"] };
        let load = ["load", &url, "--workload", workload, "--set", scale, "--quiet"];
        lydite(&[&load[..], warehouses].concat()).code(0);
        let list = listed(&url, 4);
        assert!(names(&list["ours"], "kind").contains(&"directory"), "{list}");
        drop_all(&url).code(0);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{workload}");
    }
    lydite(&["drop", &url]).code(0);
    assert!(!path.exists(), "a look makes no database");
    lydite(&["drop", "null:", "--yes"]).code(0);
    assert!(lydite(&["drop", "gemel:"]).code(2).only_error().contains("is a temporary database"));
}

#[test]
fn keys_of_others_in_redis_stay() {
    let server = redis::Server::start(&[]);
    let url = server.url(0);
    let address = url.trim_start_matches("redis://").trim_end_matches("/0").to_owned();
    let ask = |command: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    lydite(&["load", &url, "-w", "1", "--set", "size=tiny", "--quiet"]).code(0);
    // Beside the keys of a load, and among them.
    ask("SET mine x");
    ask("SET lydite:customer:joe x");
    ask("ZADD lydite:customer# 0 joe");
    let ended = drop_all(&url).code(0);
    assert!(ended.stdout.contains("1 entries of customer: they have other keys or values"), "{ended:?}");
    assert!(ask("DBSIZE").starts_with(":3\r\n"), "{}", ask("KEYS *"));
}
