//! The statements that spread new tables over a CockroachDB, as a server that replays answers hears them.

use crate::playing::{meta, open};
use crate::replay::{Replay, row};
use lydite_database::{TargetErrorKind, TxMode};
use lydite_families::TargetSpec;

const COCKROACH: &str = "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15, go1.22.2)";

/// A server that takes all statements but those with `rejected` in them.
fn server(rejected: &'static str) -> (Replay, String) {
    let replay = Replay::postgres(Box::new(move |sql| {
        if sql.starts_with("SELECT version()") {
            Some(vec![row([COCKROACH, "0"])])
        } else {
            (!sql.contains(rejected)).then(Vec::new)
        }
    }));
    let url = format!("cockroach://root@127.0.0.1:{}/tpcc", replay.port);
    (replay, url)
}

#[test]
fn old_orders_are_kept_in_the_zone_of_the_archive_and_newer_ones_out_of_it() {
    let (replay, url) = server("no statement has this");
    let target = open(&format!("{url}?archive=cold"), TxMode::Statements);
    target.create_schema(&meta(2)).expect("the tables");
    let heard = replay.heard();
    let sent: Vec<&String> = heard.iter().filter(|sql| sql.starts_with("ALTER")).collect();
    // A tiny district has 30 orders, of which 21 are delivered.
    for (table, key) in [("orders", "o_w_id, o_d_id, o_id"), ("order_line", "ol_w_id, ol_d_id, ol_o_id")] {
        let of_table: Vec<&str> =
            sent.iter().filter(|sql| sql.contains(&format!(" {table} "))).map(|sql| sql.as_str()).collect();
        // The partitions, the zone of newer orders, and the zone of each of the 20 districts.
        assert_eq!(of_table.len(), 22, "{of_table:#?}");
        let parts = of_table[0];
        let begin = format!(
            "ALTER TABLE {table} PARTITION BY RANGE ({key}) (PARTITION old_1_1 VALUES FROM (1, 1, MINVALUE) TO (1, 1, 22), \
             PARTITION old_1_2 VALUES FROM (1, 2, MINVALUE) TO (1, 2, 22), "
        );
        assert!(parts.starts_with(&begin), "{parts}");
        assert!(
            parts.ends_with("PARTITION old_2_10 VALUES FROM (2, 10, MINVALUE) TO (2, 10, 22))"),
            "{parts}"
        );
        assert_eq!(
            of_table[1],
            format!("ALTER TABLE {table} CONFIGURE ZONE USING constraints = '[-zone=cold]'")
        );
        assert_eq!(
            of_table[21],
            format!(
                "ALTER PARTITION old_2_10 OF TABLE {table} CONFIGURE ZONE USING constraints = '[+zone=cold]'"
            )
        );
    }
    assert_eq!(sent.len(), 44, "no other table has an archive: {sent:#?}");
    // The tables are there before, and the load is noted after.
    let place = |words: &str| heard.iter().position(|sql| sql.contains(words)).expect("a statement");
    let (first, last) =
        (place("ALTER"), heard.iter().rposition(|sql| sql.contains("ALTER")).expect("a statement"));
    assert!(place("CREATE TABLE") < first && last < place("UPDATE lydite_meta"), "{heard:#?}");
}

#[test]
fn the_servers_error_is_told_in_one_line_with_the_begin_of_its_statement() {
    for (rejected, statement) in [
        (
            "ALTER TABLE orders PARTITION",
            "ALTER TABLE orders PARTITION BY RANGE (o_w_id, o_d_id, o_id) (PARTITION old_1_1",
        ),
        (
            "ALTER PARTITION old_1_1 OF TABLE orders",
            "ALTER PARTITION old_1_1 OF TABLE orders CONFIGURE ZONE USING",
        ),
    ] {
        let (replay, url) = server(rejected);
        let target = open(&format!("{url}?archive=cold"), TxMode::Statements);
        let error = target.create_schema(&meta(1)).expect_err("an error of the server");
        assert_eq!(error.kind, TargetErrorKind::Database, "{error}");
        let message = &error.message;
        assert!(message.contains(statement) && message.contains("no answer is recorded"), "{message}");
        assert!(!message.contains('\n') && message.len() < 400, "one line of a sensible length: {message}");
        assert!(
            !replay.heard().iter().any(|sql| sql.contains("UPDATE lydite_meta")),
            "it is not noted as created"
        );
    }
}

#[test]
fn what_an_archive_can_not_be_is_rejected_before_anything_is_sent() {
    let (replay, url) = server("no statement has this");
    for (options, words) in [
        ("archive=", "archive: \"\" is not a zone"),
        ("archive=a'b", "archive: \"a'b\" is not a zone: use letters, digits, - _ and ."),
        ("archive=cold&zones=a,b", "archive is not possible with zones"),
    ] {
        let errors = TargetSpec::parse(&format!("{url}?{options}"), TxMode::Statements).map(|_| ());
        let errors = errors.expect_err("a bad option").join("\n");
        assert!(errors.contains(words), "{options}: {errors}");
    }
    let target = open(&format!("{url}?archive=cold"), TxMode::Statements);
    let error = target.create_schema(&meta(101)).expect_err("too many districts");
    assert_eq!(error.kind, TargetErrorKind::Usage, "{error}");
    assert!(error.message.contains("possible up to 100 warehouses, not with 101"), "{error}");
    assert_eq!(replay.heard(), [""; 0], "nothing was sent");
}
