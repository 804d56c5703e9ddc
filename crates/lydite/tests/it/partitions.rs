//! PostgreSQL's tables in partitions by hash of the warehouse.

use crate::loaded;
use crate::program::{Program, assert_checks_hold, checksums, json, lydite, scratch, text, total};
use lydite_testkit::postgres;

#[test]
fn partitions_are_loaded_resumed_checked_run_and_dropped() {
    let server = postgres::shared();
    let direct = server.create_database("hashed");
    let url = format!("{direct}?partitions=3&history_key=on");
    let load = ["load", &url, "--warehouses", "2", "--size", "tiny", "--quiet"];
    lydite(&load).code(0);
    assert_eq!(checksums(&direct), loaded::sums(2));
    let count = |of: &str| server.psql("hashed", of);
    // The warehouses 1 and 2 are in different partitions.
    assert_eq!(count("SELECT count(DISTINCT tableoid) FROM stock"), "2");
    assert_eq!(count("SELECT count(*) FROM pg_partitioned_table"), "8");
    let directory = scratch();
    let path = directory.path().join("result");
    for (tx, url) in [("statements", &url), ("batched", &direct), ("procedures", &url)] {
        let arguments =
            ["run", url, "--tx", tx, "--warmup", "0", "--duration", "1s", "--quiet", "--json", text(&path)];
        lydite(&arguments).code(0);
        let result = json(&path);
        assert_checks_hold(&result, &["before", "after"]);
        assert_eq!((total(&result, "failed"), total(&result, "unknown")), (0, 0), "{tx}: {result}");
        let settings = &result["target"]["settings"];
        assert_eq!((&settings["partitions"], &settings["history_key"]), (&"3".into(), &"on".into()));
        assert_eq!(settings["foreign keys"], "10", "{settings}");
    }
    // Another number is rejected, and a new load drops the partitions.
    let other = format!("{direct}?partitions=4");
    let refused = lydite(&["run", &other, "--duration", "1s", "--quiet"]).code(2);
    assert!(refused.only_error().contains("the tables have 3 partitions"), "{}", refused.stderr);
    lydite(&["load", &direct, "--warehouses", "1", "--size", "tiny", "--fresh", "--quiet"]).code(0);
    assert_eq!(count("SELECT count(*) FROM pg_partitioned_table"), "0");
    assert_eq!(count("SELECT count(*) FROM pg_class WHERE relname LIKE 'stock_p_'"), "0");
}

#[test]
fn a_load_of_partitions_that_was_killed_is_resumed() {
    let server = postgres::shared();
    let url = format!("{}?partitions=2", server.create_database("hashed_half"));
    let mut arguments = vec!["load", &url];
    arguments.extend(loaded::SLOWLY);
    let mut running = Program::new(&arguments).start();
    running.wait_until("a warehouse", || {
        let there = "SELECT count(*) FROM pg_class WHERE relname = 'lydite_load'";
        server.psql("hashed_half", there) == "1"
            && server.psql("hashed_half", "SELECT count(*) > 1 FROM lydite_load") == "t"
    });
    running.signal(libc::SIGKILL);
    drop(running.wait());
    arguments.push("--resume");
    lydite(&arguments).code(0);
    lydite(&["check", &url, "--quiet"]).code(0);
    assert_eq!(checksums(&url), loaded::sums_of_slowly());
}

#[test]
fn partitions_over_shards_or_in_great_number_are_rejected() {
    for (url, words) in [
        ("postgres://h/d?partitions=2&shards=a:1,b:2", "partitions is not possible with shards"),
        ("postgres://h/d?partitions=129", "partitions"),
        ("citus://h/d?partitions=2", "partitions"),
    ] {
        let refused = lydite(&["run", url, "--quiet"]).code(2);
        assert!(refused.stderr.contains(words), "{url}: {}", refused.stderr);
    }
}
