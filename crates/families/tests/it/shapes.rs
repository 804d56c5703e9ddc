//! Sizes and parts of the nine tables, from the catalogs of real servers and from recorded answers.

use crate::playing::{on_mariadb, on_postgres, open};
use crate::replay::{Replay, Row, row};
use lydite_database::{TableShape, Target, TargetErrorKind, TxMode};
use lydite_testkit::mariadb::FAST;
use lydite_tpcc::Size;
use lydite_tpcc::schema::Table;

/// Fails unless the catalog of a database of tiny warehouses describes all nine tables, and all but ITEM with these
/// partitions, and has their sizes.
#[track_caller]
pub(crate) fn assert_shapes(target: &dyn Target, warehouses: u32, partitions: Option<u64>) {
    assert_described(target, warehouses, partitions);
    for shape in target.capabilities().shapes().expect("sizes of the tables") {
        let least = if shape.table == Table::Stock { 100_000 } else { 0 };
        assert!(shape.bytes.is_some_and(|bytes| bytes > least), "{shape:?}");
    }
}

/// The same without the sizes.
#[track_caller]
pub(crate) fn assert_described(target: &dyn Target, warehouses: u32, partitions: Option<u64>) {
    let shapes = target.capabilities().shapes().expect("sizes of the tables");
    assert_eq!(shapes.iter().map(|shape| shape.table).collect::<Vec<_>>(), Table::ALL);
    for shape in shapes {
        let schema = shape.table.schema();
        assert_eq!(shape.columns, Some(schema.columns.len() as u64), "{shape:?}");
        let least = schema.indexes.len() as u64 + u64::from(!schema.primary_key.is_empty());
        assert!(shape.indexes.is_some_and(|indexes| indexes >= least), "{least}: {shape:?}");
        assert_eq!(shape.partitions, partitions.filter(|_| shape.table != Table::Item), "{shape:?}");
        assert_eq!(shape.ranges, None, "{shape:?}");
        let rows = match shape.table {
            Table::Item => Size::Tiny.rows(Table::Item, 10),
            table => Size::Tiny.rows(table, 10).map(|rows| rows * u64::from(warehouses)),
        };
        if let (Some(rows), Some(estimate)) = (rows, shape.rows) {
            // Estimates of small tables may be far off.
            assert!(estimate <= 4 * rows + 20 && 4 * estimate + 20 >= rows, "{rows} rows: {shape:?}");
        }
        assert_ne!(shape.bytes, Some(0), "{shape:?}");
    }
}

/// Bytes and leaves of ORDER-LINE, as PostgreSQL itself counts them.
fn postgres_tree(url: &str) -> (u64, u64) {
    let counted = lydite_testkit::postgres::query(
        url,
        "SELECT sum(pg_total_relation_size(relid)) || ' ' || count(*) FILTER (WHERE isleaf) \
         FROM pg_partition_tree('order_line')",
    );
    let (bytes, leaves) = counted.trim().split_once(' ').expect("two numbers");
    (bytes.parse().expect("bytes"), leaves.parse().expect("leaves"))
}

#[test]
fn postgresql_describes_its_tables_and_partitions() {
    let plain = open(&on_postgres("shapes", 2, ""), TxMode::Statements);
    assert_shapes(&*plain, 2, None);
    let exact = |target: &dyn Target| {
        let shapes = target.capabilities().shapes().expect("sizes");
        let stock = shapes.into_iter().find(|shape| shape.table == Table::Stock).expect("STOCK");
        (stock.rows, stock.indexes)
    };
    // A load ends with an analysis, and the table has a key alone.
    assert_eq!(exact(&*plain), (Some(2 * 1_000), Some(1)));
    let url = on_postgres("shapes_of_partitions", 2, "?partitions=3");
    let parted = open(&url, TxMode::Statements);
    assert_shapes(&*parted, 2, Some(3));
    assert_eq!(exact(&*parted).0, Some(2 * 1_000), "the sum over the partitions");
    let database = "shapes_of_partitions";
    let server = lydite_testkit::postgres::shared();
    server.psql(
        database,
        "ALTER TABLE order_line DETACH PARTITION order_line_p3; \
         CREATE TABLE ol_4 PARTITION OF order_line FOR VALUES WITH (MODULUS 3, REMAINDER 2) PARTITION BY RANGE (ol_number); \
         CREATE TABLE ol_4_low PARTITION OF ol_4 FOR VALUES FROM (MINVALUE) TO (3); \
         CREATE TABLE ol_4_rest PARTITION OF ol_4 DEFAULT; INSERT INTO order_line SELECT * FROM order_line_p3; \
         ANALYZE order_line",
    );
    let (bytes, leaves) = postgres_tree(&server.url(database));
    let shapes = parted.capabilities().shapes().expect("sizes");
    let lines = shapes.into_iter().find(|shape| shape.table == Table::OrderLine).expect("ORDER-LINE");
    assert_eq!((lines.bytes, lines.partitions), (Some(bytes), Some(leaves)), "partitions of partitions");
    let rows = server.psql(database, "SELECT count(*) FROM order_line").trim().parse().ok();
    assert_eq!((leaves, lines.rows), (4, rows));
    let forget = "UPDATE pg_class SET reltuples = -1 WHERE relname = 'stock_p2'";
    server.psql(database, forget);
    assert_eq!(exact(&*parted).0, None, "nobody has analysed one of the partitions");
}

#[test]
fn mariadb_describes_its_tables_and_partitions() {
    let server = on_mariadb(&FAST, 1, "");
    assert_shapes(&*open(&server.url("tpcc"), TxMode::Statements), 1, None);
    let url = server.create_database("parted") + "?partitions=2";
    let parted = open(&url, TxMode::Statements);
    crate::playing::load(&*parted, 1);
    assert_shapes(&*parted, 1, Some(2));
}

/// CockroachDB's answers to what a connection asks first, and to the query of the tables.
fn cockroach(tables: impl Fn() -> Vec<Row> + Send + Sync + 'static) -> (Replay, String) {
    let replay = Replay::postgres(Box::new(move |sql| {
        if sql.starts_with("SELECT version()") {
            Some(vec![row([
                "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15, go1.22.2)",
                "0",
            ])])
        } else {
            sql.contains("SHOW RANGES FROM CURRENT_CATALOG WITH TABLES, DETAILS").then(&tables)
        }
    }));
    let url = format!("cockroach://root@127.0.0.1:{}/tpcc", replay.port);
    (replay, url)
}

fn texts<const COLUMNS: usize>(values: [Option<&str>; COLUMNS]) -> Row {
    values.iter().map(|value| value.map(str::to_owned)).collect()
}

#[test]
fn cockroach_describes_its_tables_and_ranges_in_one_query() {
    let (replay, url) = cockroach(|| {
        vec![
            texts([Some("stock"), Some("35441869"), Some("100000"), None, Some("2"), Some("17"), Some("1")]),
            // Nobody has gathered statistics, and the size is not known.
            texts([Some("district"), None, None, None, Some("1"), Some("11"), Some("1")]),
        ]
    });
    let target = open(&url, TxMode::Statements);
    let stock = TableShape {
        table: Table::Stock,
        bytes: Some(35_441_869),
        rows: Some(100_000),
        partitions: None,
        ranges: Some(2),
        columns: Some(17),
        indexes: Some(1),
    };
    let district = TableShape {
        table: Table::District,
        bytes: None,
        rows: None,
        ranges: Some(1),
        columns: Some(11),
        ..stock
    };
    assert_eq!(target.capabilities().shapes().expect("sizes"), [district, stock]);
    let asked = replay.heard().into_iter().filter(|sql| sql.contains("SHOW RANGES")).collect::<Vec<_>>();
    assert_eq!(asked.len(), 1, "{asked:?}");
    for words in
        ["[SHOW TABLES]", "is_hidden = 'NO'", "'warehouse', 'district'", "schema_name = current_schema()"]
    {
        assert!(asked[0].contains(words), "{words}: {}", asked[0]);
    }
}

#[test]
fn a_catalog_that_answers_something_else_or_nothing_is_an_error_of_the_database() {
    let strange: Vec<Row> = vec![texts([Some("stock"), Some("a lot"), None, None, None, None, None])];
    for (tables, words) in
        [(strange, "describes a table as stock, a lot"), (vec![row(["stock"])], "describes a table as stock")]
    {
        let (_replay, url) = cockroach(move || tables.clone());
        let error = open(&url, TxMode::Statements).capabilities().shapes().expect_err("no sizes");
        assert_eq!(error.kind, TargetErrorKind::Database);
        assert!(error.message.contains(words), "{error}");
    }
    let replay = Replay::postgres(Box::new(|sql| {
        sql.starts_with("SELECT version()").then(|| vec![row(["CockroachDB CCL v24.1.0", "0"])])
    }));
    let url = format!("cockroach://root@127.0.0.1:{}/tpcc", replay.port);
    let error = open(&url, TxMode::Statements).capabilities().shapes().expect_err("no sizes");
    assert_eq!(error.kind, TargetErrorKind::Database);
    assert!(error.message.contains("ask for the sizes of the tables"), "{error}");
    assert!(open("null:", TxMode::Statements).capabilities().shapes().expect("nothing").is_empty());
}
