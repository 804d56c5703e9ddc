//! Runs that read on replicas: a real primary with one that follows it.

use crate::program::{Program, has_each, json, lydite, scratch, text, windows_from};
use lydite_testkit::postgres::Server;
use std::fs;

const SETTINGS: [&str; 2] = ["fsync=off", "shared_buffers=64MB"];

#[test]
fn reads_of_a_run_go_to_the_replica_that_has_what_the_run_has_loaded() {
    let primary = Server::start(&SETTINGS);
    let url = primary.create_database("tpcc");
    let replica = primary.replica(&SETTINGS);
    let directory = scratch();
    let plan = directory.path().join("plan.toml");
    let result = directory.path().join("result.json");
    let with_password = replica.url("tpcc").replace("postgres@", "postgres:s3cret@");
    fs::write(&plan, format!("target = {url:?}\nreplicas = [{with_password:?}]\nstaleness = \"session\"\n"))
        .unwrap();
    // What the two types alone look at there.
    let scans = || -> u64 {
        let of_lines =
            "SELECT coalesce(max(idx_scan), 0) FROM pg_stat_user_tables WHERE relname = 'order_line'";
        replica.psql("tpcc", of_lines).parse().unwrap()
    };
    let run = ["run", "--config", text(&plan), "--warehouses", "1", "--terminals", "2", "--warmup", "0s"];
    let (ran, told) = windows_from("2s", |window| {
        let more = ["--duration", window, "--mix", "30,30,20,0,20", "--quiet", "--json", text(&result)];
        let ran = Program::new(&[run.as_slice(), &more].concat()).run().code(0);
        let told = json(&result);
        let measured = has_each(&told, &["order_status", "stock_level"])
            && told["controls"]["replicas"]["lag"]["max_s"].as_f64() > Some(0.0);
        measured.then_some((ran, told))
    });
    let reads = &told["controls"]["replicas"];
    let committed = |kind: &str| told["transactions"][kind]["committed"].as_u64().unwrap();
    let counted = committed("order_status") + committed("stock_level");
    let answered = reads["reads"].as_u64().unwrap() + reads["to_primary"].as_u64().unwrap();
    assert!(answered >= counted, "{counted}: {reads}");
    assert_eq!(reads["staleness"], "session");
    assert_eq!(reads["urls"][0], replica.url("tpcc"));
    assert_eq!(told["plan"]["replicas"][0], replica.url("tpcc"));
    assert!(!fs::read_to_string(&result).unwrap().contains("s3cret"));
    let isolation =
        told["compliance"].as_array().unwrap().iter().find(|line| line["rule"] == "isolation").unwrap();
    assert_eq!(isolation["met"], false);
    assert!(ran.stdout.contains("staleness session: "), "{}", ran.stdout);
    // Not by our own count: the server's statistics come a little later.
    for attempt in 0.. {
        if scans() >= reads["reads"].as_u64().unwrap() {
            break;
        }
        assert!(attempt < 300, "the replica tells of {} looks at order lines: {reads}", scans());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }

    // It goes on when the replica comes back. Before it does, the run is not begun.
    replica.kill();
    let again = [run.as_slice(), &["--duration", "1s", "--quiet", "--no-check"]].concat();
    let refused = lydite(&again).code(3);
    let error = refused.only_error();
    assert!(
        error.contains(&format!("replica {}", replica.url("tpcc"))) && !error.contains("s3cret"),
        "{error}"
    );
}

#[test]
fn replicas_that_cannot_be_are_refused_before_anything_is_touched() {
    let url = "postgres://me@h/tpcc";
    for (arguments, says) in [
        (vec!["--replicas", "oracle://h/tpcc"], "target scheme \"oracle\" is not known"),
        (vec!["--replicas", "mysql://h/tpcc"], "is of another family than the target"),
        (vec!["--replicas", "cockroach://r/tpcc"], "is CockroachDB, and the target is PostgreSQL"),
        (vec!["--replicas", "postgres://you@h/tpcc"], "is the target itself"),
        (vec!["--replicas", "postgres://r/tpcc,postgres://r/tpcc"], "is named twice"),
        (vec!["--replicas", "postgres://r/tpcc?isolation=serializable"], "which replicas do not support"),
        (vec!["--replicas", "postgres://r/tpcc?shards=a:1,b:1"], "is not possible with shards="),
        (vec!["--staleness", "session"], "is about replicas"),
        (vec!["--replicas", "postgres://r/tpcc", "--staleness", "fresh"], "must be any, session, or a time"),
        (vec!["--replicas", "postgres://r/tpcc", "--staleness", "10ms"], "at least 100 ms"),
        (vec!["--replicas", "postgres://r/tpcc", "--workload", "micro"], "is for --workload tpcc only"),
    ] {
        let refused = lydite(&[&["run", url], &arguments[..]].concat()).code(2);
        assert!(refused.stderr.contains(says), "{arguments:?}: {}", refused.stderr);
    }
    let refused = lydite(&["run", "gemel:", "--replicas", "gemel:/tmp"]).code(2);
    assert!(refused.only_error().contains("a target that has replicas"), "{refused:?}");
}
