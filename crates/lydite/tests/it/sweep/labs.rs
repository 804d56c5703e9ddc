//! Sweeps that start labs: real clusters, which end with the sweep unless they ran before.

use super::Bench;
use crate::program::{Program, has_each, json, longer_windows, text};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Two clusters of tiny warehouses, one after the other.
const CLUSTERS: &str = r#"
title = "Clusters"
reload = "each-run"

[plan]
size = "tiny"
warmup = "0s"
duration = "1s"
check = false
verify = "off"
mix = "0,0,0,0,100"
dis_stock_level = 100

[axes]
nodes = [
  { label = "2", target = "lab:pg-sharded:2", warehouses = 2, terminals = 2 },
  { label = "3", target = "lab:pg-sharded:3", warehouses = 3, terminals = 3 },
  { label = "9", target = "lab:pg-sharded:9", warehouses = 9, terminals = 9, optional = true },
]

[[figure]]
title = "Throughput of each node"
claim = "All sizes answer queries over two nodes."
supports = ["tps > 0", "controls.distribution.actual.stock_level_degree < 2.01"]
x = "nodes"
y = ["tps", "controls.distribution.actual.stock_level_degree"]
"#;

/// The experiment, with a directory of labs of its own. Labs that a failed test leaves are ended.
struct Labs {
    bench: Bench,
}

impl Labs {
    fn new(experiment: &str) -> Self {
        let bench = Bench::new(experiment);
        fs::set_permissions(bench.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { bench }
    }

    fn within(&self, program: Program) -> Program {
        program.env("TMPDIR", self.bench.directory.path())
    }

    fn sweep(&self, arguments: &[&str]) -> Program {
        self.within(self.bench.sweep(arguments))
    }

    fn lab(&self, arguments: &[&str]) -> Program {
        self.within(Program::new(&[&["lab"], arguments].concat()))
    }

    fn directory(&self) -> PathBuf {
        // SAFETY: geteuid has no preconditions.
        let user = unsafe { libc::geteuid() };
        self.bench.directory.path().join(format!("lydite-lab-{user}")).join("pg-sharded")
    }

    /// The process numbers of the servers that run.
    fn servers(&self) -> Vec<String> {
        let pid = |server: usize| {
            let file = self.directory().join(format!("server-{server}/data/postmaster.pid"));
            Some(fs::read_to_string(file).ok()?.lines().next()?.to_owned())
        };
        (0..).map_while(pid).collect()
    }
}

impl Drop for Labs {
    fn drop(&mut self) {
        if self.directory().exists() {
            let _ended = std::process::Command::new(env!("CARGO_BIN_EXE_lydite"))
                .args(["lab", "down", "pg-sharded"])
                .env("TMPDIR", self.bench.directory.path())
                .output();
        }
    }
}

#[test]
fn a_sweep_starts_the_cluster_of_each_point_and_ends_it() {
    let labs = Labs::new(CLUSTERS);
    let dry = labs.sweep(&["--dry-run"]).run().code(0);
    assert!(dry.stdout.contains("target = lab:pg-sharded:3  terminals = 3"), "{dry:?}");
    assert!(!dry.stdout.contains("lab:pg-sharded:9"), "an optional value must be chosen: {dry:?}");
    let chosen = labs.sweep(&["--dry-run", "--set", "nodes=3,9"]).run().code(0);
    assert!(chosen.stdout.contains("lab:pg-sharded:9") && !chosen.stdout.contains("lab:pg-sharded:2"));
    let unknown = labs.sweep(&["--dry-run", "--set", "nodes=4"]).run().code(2);
    let problem = "--set nodes: \"4\" is no value of axis nodes: use some of 2, 3, 9";
    assert!(unknown.only_error().contains(problem), "{unknown:?}");

    let (labs, ended) = longer_windows(|window| {
        let labs = Labs::new(&CLUSTERS.replace(r#""1s""#, &format!("{window:?}")));
        let ended = labs.sweep(&[]).run().code(0);
        let points = labs.bench.summary()["points"].as_array().unwrap().clone();
        let result = |point: &Value| json(&labs.bench.out().join(point["runs"][0]["file"].as_str().unwrap()));
        points.iter().all(|point| has_each(&result(point), &["stock_level"])).then_some((labs, ended))
    });
    assert!(ended.stdout.contains("2 complete runs"), "{ended:?}");
    assert!(ended.stdout.contains("Throughput of each node: supported: All sizes answer"), "{ended:?}");
    assert!(!labs.directory().exists(), "the labs have ended");
    let summary = labs.bench.summary();
    for (point, nodes) in summary["points"].as_array().unwrap().iter().zip([2, 3]) {
        assert_eq!(point["plan"]["target"], format!("lab:pg-sharded:{nodes}"));
        let result = json(&labs.bench.out().join(point["runs"][0]["file"].as_str().unwrap()));
        let distribution = &result["controls"]["distribution"];
        assert_eq!(distribution["nodes"].as_array().unwrap().len(), nodes, "{distribution}");
        assert_eq!(distribution["asked"]["stock_level_percent"], 100.0);
        assert!(distribution["asked"]["ratio_percent"].is_null(), "orders are the standard's");
    }
    // A sweep that is complete starts nothing.
    let again = labs.sweep(&[]).run().code(0);
    assert!(again.stderr.contains("0 to make"), "{again:?}");
}

#[test]
fn a_lab_that_ran_before_stays_and_one_with_other_shards_is_rejected() {
    let labs = Labs::new(CLUSTERS);
    labs.lab(&["up", "pg-sharded", "--shards", "2"]).run().code(0);
    let servers = labs.servers();
    assert_eq!(servers.len(), 3);
    let other = labs.sweep(&[]).run().code(2);
    assert!(other.only_error().contains("there is a lab of 2 shards, and lab:pg-sharded:3 is another one"));
    assert!(labs.bench.results().is_empty(), "nothing was measured");
    let ended = labs.sweep(&["--set", "nodes=2", "--out", "two"]).run().code(0);
    assert!(ended.stdout.contains("1 complete run "), "{ended:?}");
    assert_eq!(labs.servers(), servers, "the same servers still run");
    assert_warehouses_move(&labs);
}

/// Moves warehouses of the running lab of two shards, by hand and during a run.
fn assert_warehouses_move(labs: &Labs) {
    for (place, warehouses, problem) in [
        ("pg/1", "1", "lab pg: only the warehouses of pg-sharded can move"),
        ("pg-sharded", "1", "name one of the shards, pg-sharded/1 to pg-sharded/2"),
        ("pg-sharded/0", "1", "name one of the shards"),
        ("pg-sharded/3", "1", "name one of the shards"),
        ("pg-sharded/x", "1", "name one of the shards"),
        ("pg-sharded/1", "1,", "\"\" is no warehouse: write numbers with commas, as 4,7"),
        ("pg-sharded/1", "1-2", "\"1-2\" is no warehouse"),
        ("pg-sharded/1", "1,2,1", "warehouse 1 is named twice"),
        ("pg-sharded/1", "3", "there is no warehouse 3: use 1 to 2"),
        ("pg-sharded/1", "2", "shard 2 would have no warehouse, and each needs one"),
    ] {
        let refused = labs.lab(&["move", place, warehouses]).run().code(2);
        assert!(refused.only_error().contains(problem), "{refused:?}");
    }
    let url = labs.lab(&["up", "pg-sharded"]).run().code(0).stdout;
    let url = url.trim();
    let result = labs.bench.out().with_extension("json");
    let run = |arguments: &[&str]| {
        let run =
            ["run", url, "-d", "2s", "--warmup", "0s", "--set", "refresh=200ms", "--json", text(&result)];
        labs.within(Program::new(&[&run[..], arguments].concat())).run()
    };
    let fault = |text: &str| run(&["--fault", text]).code(2).only_error().to_owned();
    assert!(fault("move@1s/lab:pg-sharded/1").contains("needs the numbers of warehouses, as move:4,7"));
    assert!(fault("move:0@1s/lab:pg-sharded/1").contains("needs the numbers of warehouses"));
    for place in ["lab:pg-sharded", "lab:pg-sharded/0", "nodes=1"] {
        let refused = fault(&format!("move:2@1s/{place}"));
        assert!(refused.contains("needs one shard of the lab pg-sharded, as lab:pg-sharded/1"), "{refused}");
    }
    assert!(fault("move:2@1s..2s/lab:pg-sharded/1").contains("warehouses do not move back by themselves"));

    let fresh =
        ["-w", "4", "--size", "tiny", "--fresh", "--terminals", "2", "--fault", "move:2@1s/lab:pg-sharded/2"];
    let ran = run(&fresh).code(0);
    assert!(ran.stdout.contains("12/12 after the run"), "{ran:?}");
    let told = json(&result);
    let moved = &told["faults"][0];
    assert_eq!(moved["ok"], true, "{moved}");
    let detail = moved["detail"].as_str().unwrap();
    assert!(detail.contains(": pg-sharded/2: 1 warehouse moved, "), "{moved}");
    // The placement at the begin of the next run, since a slow move ends after the window.
    run(&["--set", "check=false"]).code(0);
    let told = json(&result);
    let nodes = told["controls"]["distribution"]["nodes"].as_array().unwrap();
    assert_eq!(nodes.iter().map(|node| node["warehouses"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(3)]);
    let moved = labs.lab(&["move", "pg-sharded/1", "2,3"]).run().code(0);
    assert!(moved.stdout.starts_with("pg-sharded/1: 2 warehouses moved, "), "{moved:?}");
    let again = labs.lab(&["move", "pg-sharded/1", "2, 3"]).run().code(0);
    assert_eq!(again.stdout, "pg-sharded/1: nothing to move, the warehouses are there\n");
}

#[test]
fn an_interrupted_sweep_ends_its_lab() {
    let labs = Labs::new(&CLUSTERS.replace("\"1s\"", "\"60s\""));
    let mut running = labs.sweep(&[]).start();
    let text_of = || fs::read_to_string(labs.directory().join("lab.json")).unwrap_or_default();
    running
        .wait_until("the lab", || text_of().contains(text(&labs.bench.out())) && labs.servers().len() == 3);
    running.signal(libc::SIGINT);
    running.wait().code(130);
    assert!(!labs.directory().exists(), "the lab has ended");
}
