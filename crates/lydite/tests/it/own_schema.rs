//! Tables that the user's own statements make, and statements that follow the rows.

use crate::program::{Program, checksums, json, lydite, scratch, text};
use lydite_testkit::{mariadb, postgres};
use std::fs;
use std::path::{Path, PathBuf};

/// Statements with words in the place of types: `BIG`, `MONEY`, `RATE` and `TIME`.
const TABLES: &str = "-- Own tables; with a column more.
CREATE TABLE {item} (i_data varchar(50) NOT NULL, i_id int PRIMARY KEY, i_im_id int NOT NULL,
  i_name varchar(24) NOT NULL, i_price MONEY NOT NULL, i_more int DEFAULT 7 NOT NULL);
CREATE TABLE {warehouse} (w_id int PRIMARY KEY, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL,
  w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
  w_tax RATE NOT NULL, w_ytd MONEY NOT NULL);
CREATE TABLE {district} (d_id int, d_w_id int, d_name varchar(10) NOT NULL, d_street_1 varchar(20) NOT NULL,
  d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL, d_state char(2) NOT NULL, d_zip char(9) NOT NULL,
  d_tax RATE NOT NULL, d_ytd MONEY NOT NULL, d_next_o_id BIG NOT NULL, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE {customer} (c_id int, c_d_id int, c_w_id int, c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL,
  c_last varchar(16) NOT NULL, c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL,
  c_city varchar(20) NOT NULL, c_state char(2) NOT NULL, c_zip char(9) NOT NULL, c_phone char(16) NOT NULL,
  c_since TIME NOT NULL, c_credit char(2) NOT NULL, c_credit_lim MONEY NOT NULL, c_discount RATE NOT NULL,
  c_balance MONEY NOT NULL, c_ytd_payment MONEY NOT NULL, c_payment_cnt int NOT NULL, c_delivery_cnt BIG NOT NULL,
  c_data varchar(500) NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE {history} (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date TIME NOT NULL,
  h_amount MONEY NOT NULL, h_data varchar(24) NOT NULL);
CREATE TABLE {orders} (o_id BIG, o_d_id int, o_w_id int, o_c_id BIG NOT NULL, o_entry_d TIME NOT NULL,
  o_carrier_id int, o_ol_cnt int NOT NULL, o_all_local int NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE {new_order} (no_o_id int, no_d_id int, no_w_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE {order_line} (ol_o_id BIG, ol_d_id int, ol_w_id int, ol_number int, ol_i_id int NOT NULL,
  ol_supply_w_id int NOT NULL, ol_delivery_d TIME, ol_quantity int NOT NULL, ol_amount MONEY NOT NULL,
  ol_dist_info char(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE {stock} (s_i_id int, s_w_id int, s_quantity int NOT NULL, s_dist_01 char(24) NOT NULL,
  s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL,
  s_dist_06 char(24) NOT NULL, s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL,
  s_dist_10 char(24) NOT NULL, s_ytd BIG NOT NULL, s_order_cnt int NOT NULL, s_remote_cnt int NOT NULL,
  s_data varchar(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id));
";

const AFTER: &str = "CREATE INDEX own_names ON {customer} (c_w_id, c_d_id, c_last);
CREATE INDEX own_orders ON {orders} (o_w_id, o_d_id, o_c_id);
";

/// A database with its types.
struct Case {
    url: String,
    types: [(&'static str, &'static str); 4],
}

const POSTGRES: [(&str, &str); 4] =
    [("BIG", "bigint"), ("MONEY", "numeric(20, 2)"), ("RATE", "numeric"), ("TIME", "timestamp")];
const MARIADB: [(&str, &str); 4] =
    [("BIG", "bigint"), ("MONEY", "decimal(20, 2)"), ("RATE", "decimal(5, 4)"), ("TIME", "datetime")];
const SQLITE: [(&str, &str); 4] =
    [("BIG", "bigint"), ("MONEY", "int"), ("RATE", "int"), ("TIME", "datetime")];

fn cases(directory: &Path, name: &str) -> [Case; 3] {
    let sqlite = format!("sqlite:{}", text(&directory.join(format!("{name}.sqlite"))));
    [
        Case { url: postgres::shared().create_database(name), types: POSTGRES },
        Case { url: mariadb::shared().create_database(name), types: MARIADB },
        Case { url: sqlite, types: SQLITE },
    ]
}

fn tables(types: [(&str, &str); 4]) -> String {
    types.iter().fold(TABLES.to_owned(), |text, (word, kind)| text.replace(word, kind))
}

fn write(directory: &Path, name: &str, statements: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, statements).expect("a file");
    path
}

fn direct(directory: &Path) -> Vec<String> {
    let url = format!("sqlite:{}", text(&directory.join("direct.sqlite")));
    lydite(&["load", &url, "-w", "2", "--size", "tiny", "--quiet"]).code(0);
    checksums(&url)
}

#[test]
fn own_tables_hold_the_same_rows_and_are_named_by_results() {
    let directory = scratch();
    let wanted = direct(directory.path());
    let after = write(directory.path(), "after.sql", AFTER);
    let (document, result) = (directory.path().join("l.json"), directory.path().join("r.json"));
    for Case { url, types } in cases(directory.path(), "own_tables") {
        let schema = write(directory.path(), "own.sql", &tables(types));
        let files = ["--schema", text(&schema), "--after-load", text(&after)];
        let load = ["load", &url, "-w", "2", "--size", "tiny", "--quiet", "--json", text(&document)];
        lydite(&[&load[..], &files].concat()).code(0);
        assert_eq!(checksums(&url), wanted, "{url}");
        let loaded = json(&document);
        assert_eq!(loaded["plan"]["schema"]["file"], text(&schema));
        let phases = loaded["load"]["phases"].as_array().expect("phases");
        let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().expect("a name")).collect();
        assert!(names.contains(&"running after_load"), "{names:?}");
        assert!(
            !names.iter().any(|name| name.contains("foreign keys") && name.contains("adding")),
            "{names:?}"
        );
        let window = ["--warmup", "0s", "--duration", "1s", "--quiet", "--json", text(&result)];
        lydite(&[&["run", &url], &window[..]].concat()).code(0);
        let run = json(&result);
        assert_eq!(run["plan"]["schema"]["file"], text(&schema), "{url}");
        assert_eq!(run["plan"]["schema"]["hash"], loaded["plan"]["schema"]["hash"]);
        assert_eq!(run["plan"]["after_load"]["file"], text(&after));
        lydite(&["check", &url, "--quiet"]).code(0);
        // A second load replaces them, and a run with the file accepts them.
        lydite(&[&["run", &url, "--fresh", "--tx", "statements"], &window[..], &files].concat()).code(0);
        assert_eq!(json(&result)["plan"]["schema"]["text"], tables(types), "{url}");
        let other = write(directory.path(), "other.sql", &(tables(types) + "-- changed\n"));
        let refused = lydite(&["run", &url, "--duration", "1s", "--quiet", "--schema", text(&other)]).code(2);
        assert!(refused.only_error().contains("was loaded with") && refused.only_error().contains("own.sql"));
    }
}

#[test]
fn transactions_in_all_modes_run_on_own_tables_of_postgresql_in_a_schema_of_their_own() {
    let directory = scratch();
    let database = postgres::shared().create_database("own_modes");
    postgres::query(&database, "CREATE SCHEMA \"Other One\"");
    let url = format!("{database}?schema=Other%20One");
    let partitioned = tables(POSTGRES)
        .replace("NOT NULL, i_more int DEFAULT 7 NOT NULL)", "NOT NULL) WITH (fillfactor = 50)")
        .replace(
            "w_tax numeric NOT NULL, w_ytd numeric(20, 2) NOT NULL);",
            "w_tax numeric NOT NULL, w_ytd numeric(20, 2) NOT NULL) PARTITION BY LIST (w_id);\n\
             CREATE TABLE {warehouse}_1 PARTITION OF {warehouse} FOR VALUES IN (1);\n\
             CREATE TABLE {warehouse}_rest PARTITION OF {warehouse} DEFAULT;",
        );
    let schema = write(directory.path(), "own.sql", &partitioned);
    let after = write(
        directory.path(),
        "after.sql",
        &(AFTER.to_owned()
            + "ALTER TABLE {stock} ADD FOREIGN KEY (s_i_id) REFERENCES {item} (i_id); ANALYZE {stock};"),
    );
    let files = ["--schema", text(&schema), "--after-load", text(&after)];
    lydite(&[&["load", &url, "-w", "2", "--size", "tiny", "--quiet"], &files[..]].concat()).code(0);
    let found = postgres::query(&database, "SELECT count(*) FROM \"Other One\".warehouse_1");
    assert_eq!(found.trim(), "1");
    for mode in ["statements", "batched", "procedures"] {
        lydite(&["run", &url, "--warmup", "0s", "--duration", "1s", "--quiet", "--tx", mode]).code(0);
    }
    lydite(&["check", &url, "--quiet"]).code(0);
}

#[test]
fn tables_that_lack_what_statements_need_are_named_together_and_taken_back() {
    let directory = scratch();
    for Case { url, types } in cases(directory.path(), "own_lacks") {
        let bad = tables(types)
            .replace("s_dist_03 char(24) NOT NULL,", "")
            .replace("c_data varchar(500) NOT NULL", "c_data int NOT NULL")
            .replace("i_more int DEFAULT 7 NOT NULL", "i_more int NOT NULL")
            .replace("  o_carrier_id int,", "  o_carrier_id int NOT NULL,");
        let schema = write(directory.path(), "bad.sql", &bad);
        let load = ["load", &url, "-w", "1", "--size", "tiny", "--quiet"];
        let refused = lydite(&[&load[..], &["--schema", text(&schema)]].concat()).code(2);
        for words in [
            "stock.s_dist_03 is missing",
            "customer.c_data is int",
            "item.i_more is NOT NULL without a default",
            "orders.o_carrier_id is NOT NULL, and must take nulls",
        ] {
            assert!(refused.only_error().contains(words), "{words}: {refused:?}");
        }
        // A statement that the server rejects has its line. Nothing is left of both, so Lydite's own tables can be loaded.
        let schema =
            write(directory.path(), "wrong.sql", &tables(types).replace("no_d_id int,", "no_d_id,,"));
        let refused = lydite(&[&load[..], &["--schema", text(&schema)]].concat()).code(2);
        assert!(refused.only_error().contains("wrong.sql line 20"), "{refused:?}");
        lydite(&load).code(0);
    }
}

#[test]
fn files_that_drop_or_lack_tables_are_refused_before_anything_is_touched() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = format!("sqlite:{}", text(&path));
    lydite(&["load", &url, "-w", "1", "--size", "tiny", "--quiet"]).code(0);
    let before = fs::read(&path).expect("a database");
    let bad = tables(SQLITE).replace("CREATE TABLE {history}", "CREATE TABLE {histories}")
        + "DROP TABLE IF EXISTS {item};\n";
    let schema = write(directory.path(), "bad.sql", &bad);
    let after =
        write(directory.path(), "after.sql", "TRUNCATE {stock}; CREATE INDEX x ON {stok} (s_quantity)");
    for command in [&["load", &url, "-w", "1", "--fresh"][..], &["run", &url, "--fresh"]] {
        let files = ["--schema", text(&schema), "--after-load", text(&after)];
        lydite(&[command, &files].concat()).code(2).told(&[
            &["--schema", "bad.sql: line 16: {histories} is no table"],
            &["--schema", "bad.sql: line 29: DROP drops or empties what is there"],
            &["--schema", "bad.sql: has no CREATE TABLE for {history}"],
            &["--after-load", "after.sql: line 1: TRUNCATE drops or empties"],
            &["--after-load", "after.sql: line 1: {stok} is no table"],
        ]);
        assert_eq!(fs::read(&path).expect("a database"), before);
    }
    let own = write(directory.path(), "own.sql", &tables(SQLITE));
    for (command, words) in [
        (&["load", "null:", "-w", "1", "--schema", text(&own)][..], "which this database does not take"),
        (&["load", &url, "-w", "1", "--schema", "/nowhere.sql"], "/nowhere.sql: can't be read"),
        (
            &["load", "postgres://h/d?partitions=2", "-w", "1", "--schema", text(&own)],
            "the target option partitions shapes Lydite's own",
        ),
        (&["load", &url, "--workload", "micro", "--schema", text(&own)], "is for --workload tpcc only"),
        (
            &["load", "--csv", "/nowhere/csv", "-w", "1", "--schema", text(&own)],
            "is for the tables of a database: name a TARGET",
        ),
    ] {
        let refused = lydite(command).code(2);
        assert!(refused.only_error().contains(words), "{words}: {refused:?}");
    }
}

#[test]
fn a_load_into_own_tables_resumes_with_the_same_files_and_a_corrected_after_load() {
    let directory = scratch();
    let wanted = direct(directory.path());
    for Case { url, types } in cases(directory.path(), "own_resumed") {
        let schema = write(directory.path(), "own.sql", &tables(types));
        let after = directory.path().join("after.sql");
        let load = ["load", &url, "-w", "2", "--size", "tiny", "--quiet", "--schema", text(&schema)];
        let load = [&load[..], &["--after-load", text(&after)]].concat();
        // The second statement fails after the rows.
        fs::write(&after, AFTER.replace("o_c_id)", "o_nothing)")).expect("a file");
        let failed = lydite(&load).code(2);
        let error = failed.only_error();
        assert!(error.contains("after.sql line 2") && error.contains("complete: 2 of 2"), "{error}");
        let advised = format!("--schema {} --after-load {} --resume`", text(&schema), text(&after));
        assert!(error.contains(&advised), "{advised}: {error}");
        let refused = lydite(&["load", &url, "-w", "2", "--size", "tiny", "--quiet", "--resume"]).code(2);
        assert!(refused.only_error().contains("needs") && refused.only_error().contains("add --schema"));
        let resume = [&load[..], &["--resume"]].concat();
        fs::write(&after, AFTER.replace("own_names", "other_names")).expect("a file");
        let refused = lydite(&resume).code(2);
        assert!(refused.only_error().contains("its first statements are others"), "{refused:?}");
        // The first statement is not executed again, or it would fail.
        fs::write(&after, AFTER).expect("a file");
        Program::new(&resume).run().code(0);
        assert_eq!(checksums(&url), wanted, "{url}");
        lydite(&["check", &url, "--quiet"]).code(0);
    }
}

#[test]
fn statements_after_the_rows_that_break_the_tables_fail_the_load_and_name_their_file() {
    let directory = scratch();
    for Case { url, types } in cases(directory.path(), "own_broken") {
        let schema = write(directory.path(), "own.sql", &tables(types));
        let broken =
            "CREATE INDEX own_names ON {customer} (c_last);\nALTER TABLE {customer} DROP COLUMN c_data;";
        let after = write(directory.path(), "after.sql", broken);
        let load = ["load", &url, "-w", "1", "--size", "tiny", "--quiet", "--after-load", text(&after)];
        let own = [&load[..], &["--schema", text(&schema)]].concat();
        // Lydite's own tables, then those of the file.
        for (load, fresh) in [(&load[..], false), (&own[..], true)] {
            let load = [load, if fresh { &["--fresh"] } else { &[] }].concat();
            let failed = lydite(&load).code(2);
            let error = failed.only_error();
            for words in
                ["after.sql: its statements have left tables", "customer.c_data is missing", "--fresh"]
            {
                assert!(error.contains(words), "{words}: {error}");
            }
            assert!(!error.contains("--resume"), "nothing can be finished: {error}");
        }
        let refused = lydite(&[&own[..], &["--resume"]].concat()).code(2);
        assert!(
            refused.only_error().contains("customer.c_data is missing: correct it, and start over"),
            "{refused:?}"
        );
        let run = lydite(&["run", &url, "--duration", "1s", "--quiet"]).code(2);
        assert!(run.only_error().contains("a load that is running or was interrupted"), "{run:?}");
    }
}

#[test]
fn rows_that_own_tables_reject_are_no_reason_to_resume_alone() {
    let directory = scratch();
    let url = format!("sqlite:{}", text(&directory.path().join("own.sqlite")));
    let narrow =
        tables(SQLITE).replace("c_balance int NOT NULL", "c_balance int NOT NULL CHECK (c_balance > 0)");
    let schema = write(directory.path(), "narrow.sql", &narrow);
    let failed =
        lydite(&["load", &url, "-w", "1", "--size", "tiny", "--quiet", "--schema", text(&schema)]).code(3);
    let error = failed.only_error();
    let advice = format!(
        "if the tables of {} reject these rows, correct it and load again with --fresh; else finish",
        text(&schema)
    );
    assert!(error.contains("CHECK constraint failed") && error.contains(&advice), "{error}");
}

#[test]
fn tables_in_engines_without_transactions_are_refused_and_the_servers_default_is_no_obstacle() {
    let directory = scratch();
    let server = mariadb::Server::start(&[&mariadb::FAST[..], &["default-storage-engine=MyISAM"]].concat());
    let url = server.create_database("engines");
    let load = ["load", &url, "-w", "1", "--size", "tiny", "--quiet"];
    let of_engine = |engine: &str| tables(MARIADB).replace(");\n", &format!(") ENGINE = {engine};\n"));
    let one = of_engine("InnoDB").replacen("ENGINE = InnoDB", "ENGINE = Aria", 1);
    for (file, statements, named) in [
        (
            "none.sql",
            tables(MARIADB),
            &["warehouse is in the engine MyISAM", "stock is in the engine MyISAM"][..],
        ),
        ("one.sql", one, &["item is in the engine Aria"]),
    ] {
        let schema = write(directory.path(), file, &statements);
        let refused = lydite(&[&load[..], &["--schema", text(&schema)]].concat()).code(2);
        for words in named.iter().chain(&[file, "which has no transactions"]) {
            assert!(refused.only_error().contains(words), "{words}: {refused:?}");
        }
        assert_eq!(server.sql("engines", "SHOW TABLES"), "", "nothing is left");
    }
    let refused = lydite(&load).code(2);
    assert!(refused.only_error().contains("default engine MyISAM has no transactions"), "{refused:?}");
    let schema = write(directory.path(), "good.sql", &of_engine("InnoDB"));
    let good = [&load[..], &["--schema", text(&schema)]].concat();
    lydite(&good).code(0);
    let engines =
        "SELECT group_concat(DISTINCT engine) FROM information_schema.tables WHERE table_schema = 'engines'";
    assert_eq!(server.sql("engines", engines), "InnoDB", "the notes of the load, too");
    let after = write(directory.path(), "after.sql", "ALTER TABLE {stock} ENGINE = MyISAM");
    let refused = lydite(&[&good[..], &["--fresh", "--after-load", text(&after)]].concat()).code(2);
    assert!(
        refused.only_error().contains("after.sql: ")
            && refused.only_error().contains("stock is in the engine")
    );
}

#[test]
fn a_file_that_does_not_fit_costs_no_old_database_where_tables_are_made_in_a_transaction() {
    let directory = scratch();
    for Case { url, types } in cases(directory.path(), "own_kept") {
        if url.starts_with("mysql") || url.starts_with("mariadb") {
            continue;
        }
        let load = ["load", &url, "-w", "1", "--size", "tiny", "--quiet"];
        lydite(&load).code(0);
        let sums = checksums(&url);
        for (bad, words) in [
            (tables(types).replace("s_dist_03 char(24) NOT NULL,", ""), "stock.s_dist_03 is missing"),
            (tables(types).replace("no_d_id int,", "no_d_id,,"), "bad.sql line 20"),
        ] {
            let schema = write(directory.path(), "bad.sql", &bad);
            let refused = lydite(&[&load[..], &["--fresh", "--schema", text(&schema)]].concat()).code(2);
            assert!(refused.only_error().contains(words), "{words}: {refused:?}");
            assert_eq!(checksums(&url), sums, "{url}");
        }
        let schema = write(directory.path(), "good.sql", &tables(types));
        lydite(&[&load[..], &["--fresh", "--schema", text(&schema)]].concat()).code(0);
    }
}
