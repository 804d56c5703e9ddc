//! TiDB's own server with its embedded store. `LYDITE_TEST_TIDB=on` switches it on: the server is built from Go modules,
//! which takes about ten processor minutes the first time.

use crate::program::{Program, assert_checks_hold, json, lydite, scratch, text};
use lydite_testkit::tidb::Server;

#[test]
fn tidb_runs_all_that_it_supports_and_its_isolation_is_as_the_book_says() {
    let Some(server) = Server::start() else { return };
    let directory = scratch();
    let path = directory.path().join("result.json");
    let url = server.create_database("tpcc");
    lydite(&["load", &url, "-w", "2", "--size", "small", "--quiet"]).code(0);
    for tx in ["statements", "batched"] {
        let run = ["run", &url, "-d", "3s", "--warmup", "0s", "--tx", tx, "--quiet", "--json", text(&path)];
        let ended = lydite(&run).code(0);
        let result = json(&path);
        assert_eq!(result["status"], "complete", "{tx}: {result}");
        assert_checks_hold(&result, &["before", "after"]);
        // The embedded store has no placement service.
        let warnings: Vec<String> = serde_json::from_value(result["warnings"].clone()).expect("warnings");
        let unread = warnings.iter().filter(|warning| warning.contains("pd http client unavailable"));
        assert_eq!(unread.count(), 1, "{tx}: {warnings:?}");
        assert!(ended.stderr.contains("The nodes of the warehouses could not be read"), "{ended:?}");
    }
    let micro = server.create_database("micro");
    let run = ["run", &micro, "--workload", "micro", "-d", "1s", "--warmup", "0s", "--quiet"];
    lydite(&run).code(0);
    let kit = Program::new(&["driver", "test", &server.create_database("kit")]).run().code(0);
    assert!(!kit.stdout.contains("FAILED"), "{}", kit.stdout);
    // The pair of the book: a pessimistic transaction's locking reads see newer rows than its snapshot.
    for (options, refuted) in [("", true), ("?transactions=optimistic", false)] {
        let url = server.create_database(if refuted { "pessimistic" } else { "optimistic" }) + options;
        let judged =
            ["verify", &url, "--isolation", "--level", "snapshot-isolation", "--duration", "5s", "--quiet"];
        lydite(&judged).code(i32::from(refuted));
    }
}
