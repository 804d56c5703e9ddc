//! Labs with replicas that lose a replica for ever and then their primary: the lab promotes a replica, and the audit finds
//! out whether acknowledged orders are lost.

use crate::audit::test_of;
use crate::failover::script;
use crate::faults::{Lab, wait_until};
use crate::power_cut::on_disk;
use crate::program::{Ended, json, text};
use lydite_testkit::postgres::query;
use serde_json::Value;

/// A lab with a disk of its own where that is possible, and true if it has one.
fn lab(more: &[&str]) -> (Lab, bool) {
    if let Some(lab) = on_disk("pg-replicas", "2G", more) {
        return (lab, true);
    }
    (Lab::try_start_of("pg-replicas", more).unwrap_or_else(|ended| panic!("{ended:?}")), false)
}

/// The URLs of the replicas, as `lydite lab up` prints them.
fn replicas(lab: &Lab) -> String {
    let up = lab.place.lydite(&["lab", "up", "pg-replicas"]).code(0);
    up.stdout.split_whitespace().nth(2).expect("replicas").to_owned()
}

/// Makes the tests of durability. `more` follows the URL. `lagging` lets the last replica that is left fall behind, once
/// the other one is lost.
fn audit(lab: &Lab, more: &[&str], lagging: bool) -> (Ended, Value) {
    let file = lab.place.file("audit.json");
    let only = ["--quick", "--only", "durability", "--duration", "1s", "--json", text(&file)];
    let mut audit = lab.place.program(&[&["audit", &lab.url], more, &only[..]].concat()).start();
    let disk = lab.directory().join("disk");
    let above = if disk.exists() { disk } else { lab.directory() };
    let data = above.join("server-2/data");
    audit.wait_until("the loss of the replica", || !data.exists());
    if lagging {
        script(lab, "lag");
    }
    let ended = audit.wait();
    (ended, json(&file))
}

fn steps(test: &Value) -> Vec<&str> {
    test["steps"].as_array().expect("steps").iter().filter_map(Value::as_str).collect()
}

/// Fails unless the lab has a primary with two replicas that follow it, on the ports that it had before.
#[track_caller]
fn assert_whole(lab: &Lab) {
    assert_eq!(query(&lab.url, "SELECT pg_is_in_recovery()"), "f");
    wait_until("two replicas", || {
        query(&lab.url, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "2"
    });
    let replicas = replicas(lab);
    assert_eq!(replicas.split(',').count(), 2, "{replicas}");
    for replica in replicas.split(',') {
        assert_eq!(query(replica, "SELECT pg_is_in_recovery()"), "t", "{replica}");
    }
}

/// Fails unless the power of the disk was cut under all servers, and nothing was lost.
#[track_caller]
fn assert_survived_power_cut(found: &Value) {
    let test = test_of(found, "durability-4", "local");
    assert_eq!(test["verdict"], "passed", "{found}");
    let again = steps(test).into_iter().find(|step| step.starts_with("the servers are started again: "));
    assert_eq!(again.map(|step| step.matches("port ").count()), Some(3), "{found}");
}

#[test]
fn replicas_that_commits_wait_for_have_each_acknowledged_order_when_one_is_promoted() {
    let (lab, has_disk) = lab(&["--sync"]);
    for (arguments, words) in [
        (["promote", "pg-replicas"], "runs: kill it before, for example with: lydite lab lose pg-replicas/0"),
        (["promote", "pg"], "only the lab pg-replicas has replicas that can be promoted"),
        (["lose", "pg-replicas/3"], "name one of the servers, pg-replicas/0 to pg-replicas/2"),
        (["lose", "galera/1"], "only the lab pg-replicas has replicas"),
        (["lose", "pg/0"], "only the lab pg-replicas has replicas that go on without a lost server"),
    ] {
        let refused = lab.place.lydite(&[&["lab"], &arguments[..]].concat()).code(2);
        assert!(refused.only_error().contains(words), "{words}: {refused:?}");
    }
    let (ended, found) = audit(&lab, &["--replicas", &replicas(&lab)], false);
    assert_eq!(ended.code, Some(0), "{ended:?}\n{found}");
    let all = test_of(&found, "durability-1", "local");
    assert_eq!(all["verdict"], "passed", "{found}");
    assert!(steps(all).iter().any(|step| step.starts_with("the primary is killed: killed ")), "{found}");
    let test = test_of(&found, "durability-3", "local");
    assert_eq!((&test["verdict"], &test["clause"]), (&"passed".into(), &"3.5.3.1".into()), "{found}");
    for begin in [
        "the last node is killed and loses its data for ever: ",
        "the primary is killed: ",
        "a replica is promoted in its place, and the lost ones copy its rows: ",
        "the lost node is started with empty data: ",
        "the database answers again, ",
    ] {
        assert!(steps(test).iter().any(|step| step.starts_with(begin)), "{begin}: {found}");
    }
    let seen = test["seen"].as_str().expect("words");
    for words in [
        "each of ",
        // On a busy machine it may not be steady in time, which fails nothing.
        "; after the loss ",
        "; after the kill ",
        " % of the throughput before (",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    if has_disk {
        assert_survived_power_cut(&found);
    }
    assert_whole(&lab);
    assert_eq!(lab.place.list(), "no active faults\n");
    let checked = lab.place.lydite(&["check", &lab.url]).code(0);
    assert!(checked.stdout.contains("12 of 12 consistency conditions hold"), "{checked:?}");
}

#[test]
fn a_replica_that_lags_and_is_promoted_is_found_out_as_losing_orders() {
    let (lab, has_disk) = lab(&[]);
    let (ended, found) = audit(&lab, &[], true);
    assert_eq!(ended.code, Some(1), "{ended:?}\n{found}");
    let test = test_of(&found, "durability-3", "local");
    assert_eq!(test["verdict"], "failed", "{found}");
    let seen = test["seen"].as_str().expect("words");
    assert!(seen.contains(" committed New-Orders are lost: order "), "{seen}");
    if has_disk {
        assert_survived_power_cut(&found);
    }
    assert_whole(&lab);
}
