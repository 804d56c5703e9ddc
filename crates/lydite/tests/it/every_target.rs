//! `lydite driver test` on every target that runs here, each on a real server.

use crate::program;
use crate::program::{Ended, Program, windows_from};
use lydite_testkit::{etcd, postgres, redis, seekdb};

/// Runs the kit to its end, with no step failed.
fn prove(url: &str) -> Ended {
    let ended = Program::new(&["driver", "test", url]).run();
    assert_eq!(ended.code, Some(0), "{url}: {}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains(" 0 failed, 0 skipped"), "{}", ended.stdout);
    ended
}

/// Whether a step ended with this verdict.
fn ended_as(ended: &Ended, step: &str, verdict: &str) -> bool {
    ended.stdout.lines().any(|line| line.starts_with(verdict) && line.contains(step))
}

#[test]
fn sqlite_is_proved() {
    let ended = prove("sqlite:");
    assert!(ended_as(&ended, "contention", "passed"), "{}", ended.stdout);
}

#[test]
fn redis_is_proved_and_its_check_goes_on_to_its_end() {
    let server = redis::Server::start(&[]);
    let ended = prove(&server.url(0));
    for step in ["contention", "lost update", "dirty read", "conditions afterwards"] {
        assert!(ended_as(&ended, step, "passed"), "{step}: {}", ended.stdout);
    }
    assert!(ended_as(&ended, "cancellation", "not supported"), "{}", ended.stdout);
}

#[test]
fn etcd_is_proved() {
    let server = etcd::Server::start(&[]);
    let ended = prove(&server.url());
    for step in ["contention", "lost update", "dirty read", "conditions afterwards"] {
        assert!(ended_as(&ended, step, "passed"), "{step}: {}", ended.stdout);
    }
}

#[test]
fn postgresql_over_shards_is_proved_as_far_as_it_promises() {
    let start = || postgres::Server::start(&["fsync=off", "shared_buffers=64MB"]);
    let (coordinator, shards) = (start(), [start(), start()]);
    let shards: Vec<String> = shards.iter().map(|shard| format!("127.0.0.1:{}", shard.port())).collect();
    let url = format!("{}?shards={}", coordinator.url("postgres"), shards.join(","));
    let ended = Program::new(&["driver", "test", "--warehouses", "2", &url]).run();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended_as(&ended, "New-Order", "passed"), "{}", ended.stdout);
    // A warehouse is on one server, whose snapshot is that of all.
    assert!(ended_as(&ended, "cancellation", "passed"), "{}", ended.stdout);
}

#[test]
fn the_kernel_of_oceanbase_is_proved_in_all_modes() {
    let Some(server) = seekdb::Server::start() else { return };
    // On a machine under load a statement may take longer than the ten seconds that are the default.
    server.sql("SET GLOBAL ob_query_timeout = 300000000");
    let url = server.create_database("kit");
    let ended = prove(&url);
    for step in ["New-Order", "contention", "--tx batched", "--tx procedures"] {
        assert!(ended_as(&ended, step, "passed"), "{step}: {}", ended.stdout);
    }
    // Sessions that meet: who comes second is refused by code 6235, sent again, and counted as serialization.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("result.json");
    for mode in ["statements", "procedures"] {
        let plan = ["run", &url, "--tx", mode, "--warehouses", "1", "--terminals", "4"];
        let files = [
            "--warmup",
            "0s",
            "--set",
            "size=tiny",
            "--quiet",
            "--json",
            path.to_str().expect("a path in UTF-8"),
        ];
        windows_from("3s", |window| {
            let ended = Program::new(&[&plan[..], &["--duration", window], &files].concat()).run();
            // On a machine whose disk is busy the kernel stands still for seconds, perhaps at the end of the run.
            if ended.code == Some(3) && ended.stderr.contains("no session had an answer") {
                return None;
            }
            ended.code(0);
            let result = program::json(&path);
            let checks = result["checks"].as_array().expect("checks");
            assert!(
                checks.len() == 43 && checks.iter().all(|check| check["ok"] == true),
                "{mode}: {checks:?}"
            );
            println!("{mode}: {} NOPM, aborts {}", result["nopm"], result["aborts"]);
            // On a machine under load they seldom meet.
            (result["aborts"]["serialization"].as_u64() > Some(0)).then_some(())
        });
    }
}
