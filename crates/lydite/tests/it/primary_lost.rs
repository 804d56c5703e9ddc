//! Labs with replicas that lose a replica for ever and then their primary: the lab promotes a replica, and the audit finds
//! out whether acknowledged orders are lost.

use crate::audit::test_of;
use crate::failover::script;
use crate::faults::{Lab, wait_until};
use crate::program::{Ended, json, text};
use lydite_testkit::postgres::query;
use serde_json::Value;

/// Makes the tests of durability. `lagging` lets the last replica that is left fall behind, once the other one is lost.
fn audit(lab: &Lab, lagging: bool) -> (Ended, Value) {
    let file = lab.place.file("audit.json");
    let only = ["--quick", "--only", "durability", "--duration", "1s", "--json", text(&file)];
    let mut audit = lab.place.program(&[&["audit", &lab.url], &only[..]].concat()).start();
    let data = lab.directory().join("server-2/data");
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
    let up = lab.place.lydite(&["lab", "up", "pg-replicas"]).code(0);
    let replicas: Vec<&str> = up.stdout.split_whitespace().skip(2).flat_map(|list| list.split(',')).collect();
    assert_eq!(replicas.len(), 2, "{up:?}");
    for replica in replicas {
        assert_eq!(query(replica, "SELECT pg_is_in_recovery()"), "t", "{replica}");
    }
}

#[test]
fn replicas_that_commits_wait_for_have_each_acknowledged_order_when_one_is_promoted() {
    let lab = Lab::try_start_of("pg-replicas", &["--sync"]).unwrap_or_else(|ended| panic!("{ended:?}"));
    for (arguments, words) in [
        (["promote", "pg-replicas"], "runs: kill it before, for example with: lydite lab lose pg-replicas/0"),
        (["promote", "pg"], "only the lab pg-replicas has replicas that can be promoted"),
        (["lose", "pg-replicas/3"], "name one of the servers, pg-replicas/0 to pg-replicas/2"),
        (["lose", "galera/1"], "only the lab pg-replicas has replicas"),
    ] {
        let refused = lab.place.lydite(&[&["lab"], &arguments[..]].concat()).code(2);
        assert!(refused.only_error().contains(words), "{words}: {refused:?}");
    }
    let (ended, found) = audit(&lab, false);
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
    assert_whole(&lab);
    assert_eq!(lab.place.list(), "no active faults\n");
    let checked = lab.place.lydite(&["check", &lab.url]).code(0);
    assert!(checked.stdout.contains("12 of 12 consistency conditions hold"), "{checked:?}");
}

#[test]
fn a_replica_that_lags_and_is_promoted_is_found_out_as_losing_orders() {
    let lab = Lab::try_start_of("pg-replicas", &[]).unwrap_or_else(|ended| panic!("{ended:?}"));
    let (ended, found) = audit(&lab, true);
    assert_eq!(ended.code, Some(1), "{ended:?}\n{found}");
    let test = test_of(&found, "durability-3", "local");
    assert_eq!(test["verdict"], "failed", "{found}");
    let seen = test["seen"].as_str().expect("words");
    assert!(seen.contains(" committed New-Orders are lost: order "), "{seen}");
    assert_whole(&lab);
}
