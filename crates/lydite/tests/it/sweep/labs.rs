//! Sweeps that start labs: real clusters, which end with the sweep unless they ran before.

use super::Bench;
use crate::program::{Program, json, text};
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

    let ended = labs.sweep(&[]).run().code(0);
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
