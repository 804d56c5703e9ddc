//! Placement and sizes from the catalogs of databases that can't run here. Their answers have the form of the examples in
//! the documentation that `families/src/catalogs` names, for 10 000 warehouses.

use crate::playing::open;
use crate::replay::{Replay, Row, error, row};
use lydite_database::{TargetError, TargetErrorKind, TxMode, or_unknown};
use lydite_families::TargetSpec;
use lydite_tpcc::{Placement, WarehouseId};
use std::collections::BTreeSet;

const WAREHOUSES: u32 = 10_000;

/// A database by its recorded answers.
struct Recorded {
    replay: Replay,
    url: String,
}

impl Recorded {
    fn postgres(scheme: &str, answers: impl Fn(&str) -> Option<Vec<Row>> + Send + Sync + 'static) -> Self {
        let replay = Replay::postgres(Box::new(answers));
        let url = format!("{scheme}://root@127.0.0.1:{}/tpcc", replay.port);
        Self { replay, url }
    }

    fn mysql(
        scheme: &str,
        version: [&'static str; 2],
        answers: impl Fn(&str) -> Option<Vec<Row>> + Send + Sync + 'static,
    ) -> Self {
        let replay = Replay::mysql(
            version[0],
            Box::new(move |sql| {
                if sql.starts_with("SELECT version()") { Some(vec![row(version)]) } else { answers(sql) }
            }),
        );
        let url = format!("{scheme}://root@127.0.0.1:{}/tpcc", replay.port);
        Self { replay, url }
    }

    /// Reads the placement, by at most three queries of `catalog`.
    fn placement(&self, catalog: &str) -> Placement {
        let target = open(&self.url, TxMode::Statements);
        let placement =
            target.capabilities().placement(WAREHOUSES).expect("a placement").expect("several nodes");
        let heard = self.replay.heard();
        let queries = heard.iter().filter(|sql| sql.contains(catalog)).count();
        assert!((1..=3).contains(&queries), "{heard:#?}");
        // Besides these there is the beginning of a connection.
        assert!(heard.len() <= queries + 3, "{heard:#?}");
        assert_eq!(placement.node_of.len(), WAREHOUSES as usize);
        placement
    }

    fn sizes(&self) -> Vec<(String, u64)> {
        let target = open(&self.url, TxMode::Statements);
        let sizes = target.capabilities().node_sizes().expect("sizes").expect("sizes that are known");
        sizes.into_iter().map(|size| (size.node, size.bytes)).collect()
    }

    /// Returns the error of a placement that can't be read.
    fn problem(&self) -> String {
        let target = open(&self.url, TxMode::Statements);
        target.capabilities().placement(WAREHOUSES).expect_err("no placement").message
    }
}

/// Names of the nodes of some warehouses.
fn nodes_of<const COUNT: usize>(placement: &Placement, warehouses: [u32; COUNT]) -> [&str; COUNT] {
    warehouses.map(|warehouse| &*placement.nodes[placement.node(WarehouseId(warehouse)) as usize])
}

const COCKROACH: &str = "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15, go1.22.2)";

/// Ranges of a hundred warehouses, whose leaseholders take turns.
fn cockroach_ranges() -> Vec<Row> {
    let key = |range: u32| format!("…/1/{}", range * 100 + 1);
    (0..100)
        .map(|range| {
            let start = if range == 0 { "<before:/Table/106>".to_owned() } else { key(range) };
            let end = if range == 99 { "<after:/Max>".to_owned() } else { key(range + 1) };
            row([&start, &end, ["n1 (region=a)", "n2 (region=b)", "n3"][range as usize % 3]])
        })
        .collect()
}

#[test]
fn cockroach_reports_leaseholders_of_ranges_and_replicas_in_one_query_each() {
    let recorded = Recorded::postgres("cockroach", |sql| {
        if sql.starts_with("SELECT version()") {
            Some(vec![row([COCKROACH, "0"])])
        } else if sql.contains("SHOW RANGES FROM TABLE warehouse WITH DETAILS") {
            Some(cockroach_ranges())
        } else if sql.contains("SHOW RANGES FROM CURRENT_CATALOG WITH DETAILS") {
            Some(vec![row(["n1 (region=a)", "1024"]), row(["n3", "2048"])])
        } else {
            None
        }
    });
    let placement = recorded.placement("SHOW RANGES");
    assert_eq!(
        nodes_of(&placement, [1, 100, 101, 201, 301, 9_901, 10_000]),
        [
            "n1 (region=a)",
            "n1 (region=a)",
            "n2 (region=b)",
            "n3",
            "n1 (region=a)",
            "n1 (region=a)",
            "n1 (region=a)"
        ]
    );
    assert_eq!(recorded.sizes(), [("n1 (region=a)".to_owned(), 1_024), ("n3".to_owned(), 2_048)]);
}

#[test]
fn cockroach_begins_read_only_transactions_in_the_past_if_the_url_asks_for_it() {
    let begins = |options: &str| {
        let recorded = Recorded::postgres("cockroach", |sql| {
            Some(if sql.starts_with("SELECT version()") { vec![row([COCKROACH, "0"])] } else { Vec::new() })
        });
        let target = open(&(recorded.url.clone() + options), TxMode::Statements);
        let _session = target.connect().expect("a session");
        let heard = recorded.replay.heard();
        let begins = heard.into_iter().filter(|sql| sql.starts_with("BEGIN"));
        begins.collect::<BTreeSet<String>>()
    };
    let past = " AS OF SYSTEM TIME follower_read_timestamp()";
    for (options, level, past) in [
        ("", "SERIALIZABLE", ""),
        ("?follower_reads=off", "SERIALIZABLE", ""),
        ("?follower_reads=on", "SERIALIZABLE", past),
        ("?follower_reads=on&isolation=read-committed", "READ COMMITTED", past),
    ] {
        let expected = ["READ WRITE".to_owned(), format!("READ ONLY{past}")];
        let expected = expected.map(|end| format!("BEGIN ISOLATION LEVEL {level} {end}"));
        assert_eq!(begins(options), BTreeSet::from(expected), "{options}");
    }
    for scheme in ["postgres", "yugabyte", "citus"] {
        let url = format!("{scheme}://root@127.0.0.1/tpcc?follower_reads=on");
        let refused = TargetSpec::parse(&url, TxMode::Statements).map(|_| ()).expect_err("no such option");
        assert!(refused[0].contains("\"follower_reads\" is not known"), "{refused:?}");
    }
}

#[test]
fn a_range_without_a_leaseholder_or_with_a_strange_key_is_an_error() {
    for (start, node, words) in [
        ("<before:/Table/106>", None, "has no keys or no leaseholder"),
        ("…/1/\"US\"", Some("n1"), "ends at the key"),
        ("…/1/2", Some("n1"), "no node for warehouse 1:"),
    ] {
        let recorded = Recorded::postgres("cockroach", move |sql| {
            Some(vec![if sql.starts_with("SELECT version()") {
                row([COCKROACH, "0"])
            } else {
                vec![Some(start.to_owned()), Some("<after:/Max>".to_owned()), node.map(str::to_owned)]
            }])
        });
        let problem = recorded.problem();
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn yugabyte_reports_the_leaders_of_tablets_by_hash_code() {
    let hash = |warehouse: u32| warehouse * 40_503 % 65_536;
    let recorded = Recorded::postgres("yugabyte", move |sql| {
        if sql.starts_with("SELECT version()") {
            return Some(vec![row(["PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu", "0"])]);
        }
        if sql.contains("yb_hash_code") {
            return Some((1..=WAREHOUSES).map(|warehouse| row([&*hash(warehouse).to_string()])).collect());
        }
        sql.contains("FROM yb_tablet_metadata").then(|| {
            vec![
                row(["127.0.0.2:5433", "0", "21845", "3987b6a16bf94fbd92262744197350d7"]),
                row(["127.0.0.1:5433", "43690", "65536", "52176c704c614846bbd80f481678519e"]),
                row(["127.0.0.3:5433", "21845", "43690", "bed5b3c3eee747e99622a4e21acf437a"]),
            ]
        })
    });
    let placement = recorded.placement("warehouse");
    let expected = |warehouse| match hash(warehouse) {
        0..21_845 => "127.0.0.2:5433",
        21_845..43_690 => "127.0.0.3:5433",
        _ => "127.0.0.1:5433",
    };
    assert!((1..=WAREHOUSES).all(|warehouse| nodes_of(&placement, [warehouse]) == [expected(warehouse)]));
}

#[test]
fn citus_reports_the_workers_of_all_shards_in_one_query() {
    let recorded = Recorded::postgres("citus", |sql| {
        if sql.starts_with("SELECT version()") {
            return Some(vec![row(["PostgreSQL 16.4 on x86_64-pc-linux-gnu", "1"])]);
        }
        let worker = |warehouse: u32| ["w1:5432", "w2:5432"][warehouse as usize % 32 / 16];
        sql.contains("pg_dist_placement")
            .then(|| (1..=WAREHOUSES).map(|number| row([&*number.to_string(), worker(number)])).collect())
    });
    let placement = recorded.placement("pg_dist_placement");
    assert_eq!(
        nodes_of(&placement, [1, 15, 16, 31, 32]),
        ["w1:5432", "w1:5432", "w2:5432", "w2:5432", "w1:5432"]
    );
}

const TIDB: [&str; 2] = ["8.0.11-TiDB-v8.5.0", "TiDB Server (Apache License 2.0)"];

/// Returns a key of TiDB in hexadecimal digits: the row of a table, or the beginning of the table.
fn tidb_key(table: i64, row: Option<i64>) -> String {
    let mut key = [&b"t"[..], &(table ^ i64::MIN).to_be_bytes()].concat();
    if let Some(row) = row {
        key.extend([&b"_r"[..], &(row ^ i64::MIN).to_be_bytes()].concat());
    }
    let groups = key.chunks(8).flat_map(|group| {
        let mut filled = [0; 9];
        filled[..group.len()].copy_from_slice(group);
        filled[8] = 255 - (8 - group.len() as u8);
        filled
    });
    groups.map(|byte| format!("{byte:02X}")).collect()
}

#[test]
fn tidb_reports_the_leaders_of_regions_by_the_rows_between_their_keys() {
    assert_eq!(tidb_key(59, Some(1_958_897)), "7480000000000000FF3B5F728000000000FF1DE3F10000000000FA");
    let recorded = Recorded::mysql("tidb", TIDB, |sql| {
        if sql.contains("table_name = 'warehouse'") {
            let region = |store: &str, from: &str, to: &str| row([store, "59", "", from, to]);
            let (half, more) = (tidb_key(59, Some(5_001)), tidb_key(59, Some(7_501)));
            return Some(vec![
                region("tikv-2:20160", &half, &more),
                region("tikv-1:20160", &tidb_key(59, None), &half),
                // The last region of the table has rows of the next one, or is the last of all.
                region("tikv-3:20160", &more, ""),
                // A region of the table before.
                region("tikv-3:20160", &tidb_key(58, Some(3)), &tidb_key(59, None)),
            ]);
        }
        sql.contains("approximate_size")
            .then(|| vec![row(["tikv-1:20160", "104857600"]), row(["tikv-2:20160", "1048576"])])
    });
    let placement = recorded.placement("information_schema.tikv");
    assert_eq!(
        nodes_of(&placement, [1, 5_000, 5_001, 7_500, 7_501, 10_000]),
        ["tikv-1:20160", "tikv-1:20160", "tikv-2:20160", "tikv-2:20160", "tikv-3:20160", "tikv-3:20160"]
    );
    assert_eq!(recorded.sizes()[0], ("tikv-1:20160".to_owned(), 104_857_600));
}

#[test]
fn tidb_reports_the_regions_of_partitions() {
    let recorded = Recorded::mysql("tidb", TIDB, |sql| {
        sql.contains("table_name = 'warehouse'").then(|| {
            let partition = |number: i64, store| {
                let (table, name) = (60 + number, format!("p{number}"));
                let (from, to) = (tidb_key(table, None), tidb_key(table + 1, None));
                row([store, &*table.to_string(), &name, &from, &to])
            };
            vec![partition(0, "a:1"), partition(1, "b:1"), partition(2, "a:1")]
        })
    });
    let placement = recorded.placement("information_schema.tikv");
    assert_eq!(nodes_of(&placement, [1, 2, 3, 4]), ["b:1", "a:1", "a:1", "b:1"]);
}

#[test]
fn oceanbase_reports_the_leaders_of_partitions_and_the_tablets_of_servers() {
    let version = ["5.7.25-OceanBase-v4.3.5.3", "OceanBase_CE 4.3.5.3"];
    let recorded = Recorded::mysql("oceanbase", version, |sql| {
        if sql.contains("DBA_OB_TABLET_REPLICAS") {
            return Some(vec![row(["10.0.0.1:2882", "2097152"])]);
        }
        sql.contains("DBA_OB_TABLE_LOCATIONS").then(|| {
            let server = |number: usize| ["10.0.0.1:2882", "10.0.0.2:2882", "10.0.0.3:2882"][number % 3];
            (0..16).map(|number| row([server(number), &*format!("p{number}")])).collect()
        })
    });
    let placement = recorded.placement("oceanbase.DBA_OB");
    assert_eq!(
        nodes_of(&placement, [1, 15, 16, 10_000]),
        ["10.0.0.2:2882", "10.0.0.1:2882", "10.0.0.1:2882", "10.0.0.1:2882"]
    );
    assert_eq!(recorded.sizes(), [("10.0.0.1:2882".to_owned(), 2_097_152)]);
}

/// Callers go on without an answer that the database rejects, and not without a database.
#[test]
fn a_catalog_that_can_not_be_read_is_an_error_of_the_database_and_never_a_lost_server() {
    let rejects = |version: &'static str, extensions: &'static str| {
        move |sql: &str| sql.starts_with("SELECT version()").then(|| vec![row([version, extensions])])
    };
    let yugabyte = "PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu";
    let oceanbase = ["5.7.25-OceanBase-v4.3.5.3", "OceanBase_CE 4.3.5.3"];
    // As TiDB answers without its placement service.
    let failing = |sql: &str| {
        ["tikv_", "DBA_OB"]
            .iter()
            .any(|catalog| sql.contains(catalog))
            .then(|| vec![error(1105, "unavailable")])
    };
    let nulls = |sql: &str| {
        ["tikv_", "DBA_OB"].iter().any(|catalog| sql.contains(catalog)).then(|| vec![vec![None, None, None]])
    };
    for recorded in [
        Recorded::postgres("cockroach", rejects(COCKROACH, "0")),
        Recorded::postgres("yugabyte", rejects(yugabyte, "0")),
        Recorded::postgres("citus", rejects("PostgreSQL 16.4 on x86_64-pc-linux-gnu", "1")),
        Recorded::mysql("tidb", TIDB, failing),
        Recorded::mysql("tidb", TIDB, nulls),
        Recorded::mysql("oceanbase", oceanbase, failing),
        Recorded::mysql("oceanbase", oceanbase, nulls),
    ] {
        let target = open(&recorded.url, TxMode::Statements);
        let capabilities = target.capabilities();
        let placement = capabilities.placement(WAREHOUSES).expect_err("no placement");
        let sizes = capabilities.node_sizes().expect_err("no sizes");
        let kinds = [placement.kind, sizes.kind];
        assert_eq!(kinds, [TargetErrorKind::Database; 2], "{}: {placement}; {sizes}", recorded.url);
        let mut warnings = Vec::new();
        assert_eq!(or_unknown("the sizes", Err::<Option<u64>, _>(sizes), &mut warnings), Ok(None));
        assert!(warnings.concat().starts_with("Not known: the sizes: "), "{warnings:?}");
        let lost = TargetError::unreachable("gone");
        assert_eq!(or_unknown("it", Err::<u64, _>(lost.clone()), &mut Vec::new()), Err(lost));
    }
}
