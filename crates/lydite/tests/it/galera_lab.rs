//! The nodes of a Galera lab: one that loses its disk copies all rows from the others, and all that were killed form their
//! cluster again. The audit does both, and reads the rows.

use crate::faults::{Lab, wait_until};
use crate::program::{json, text};
use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::process::Command;

#[test]
fn nodes_that_were_killed_or_lost_their_disk_have_each_acknowledged_order_again() {
    let lab = Lab::try_start_of("galera", &[]).unwrap_or_else(|ended| panic!("{ended:?}"));
    let both = ["kill@0.5s..1s/lab:galera/2", "disk-loss@0.8s..1.5s/nodes=1"];
    let ended = lab.run("2s", &both, &[]).wait().code(2);
    assert!(ended.only_error().contains("at the same place: let one end before"), "{ended:?}");
    for (fault, word) in [
        ("disk-loss@0.5s/lab:galera/2", "needs an end, when the server gets a new disk: write FROM..TO"),
        ("disk-loss:1@0.5s..1s/lab:galera/2", "takes no arguments"),
        ("disk-loss@0.5s..1s/nodes=2", "1 of 3 running servers would be left"),
        (
            "disk-loss@0.5s..1s/lab:galera",
            "0 of 3 running servers would be left, and only more than half of them go on",
        ),
    ] {
        let ended = lab.run("2s", &[fault], &[]).wait().code(2);
        assert!(ended.errors().join("\n").contains(word), "{fault}: {ended:?}");
    }
    let server = lab.directory().join("server-2");
    let old = server.join("data/of-the-lost-disk");
    fs::write(&old, "").unwrap();

    let file = lab.place.file("audit.json");
    let audit = ["audit", &lab.url, "--quick", "--only", "isolation,durability", "--json", text(&file)];
    let mut audit = lab.place.program(&audit).start();
    let data = server.join("data");
    // First the loss for ever, which ends after the kill of another node, then that of a disk alone.
    for _ in 0..2 {
        audit.wait_until("the loss of the disk", || !data.exists());
        audit.wait_until("the node's new disk", || data.exists());
    }
    // The audit gives the node back its rows before it ends.
    audit.signal(libc::SIGINT);
    let ended = audit.wait().code(0);
    let found = json(&file);
    assert_eq!(found["status"], "complete", "{found}");
    let [isolation @ .., all, two, one, power] = &found["tests"].as_array().expect("tests")[..] else {
        panic!("{found}")
    };
    // T1 and T2 run on two nodes. If both change a row, Galera aborts one of them at its end.
    let passed = isolation.iter().filter(|test| test["verdict"] == "passed").count();
    assert_eq!(passed, 9, "the tenth needs two warehouses: {found}");
    assert_eq!([&all["id"], &all["verdict"]], ["durability-1", "passed"], "{found}\n{ended:?}");
    assert!(steps(all).contains(&"all servers are killed: killed 3 processes"), "{found}");
    assert_eq!(
        [&two["id"], &two["clause"], &two["verdict"]],
        ["durability-3", "3.5.3.1", "passed"],
        "{found}"
    );
    let seen = two["seen"].as_str().expect("words");
    assert!(seen.contains(" alone: each of "), "{seen}");
    for words in
        ["; after the loss steady again ", "; after the kill steady again ", " % of the throughput before ("]
    {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    for begin in [
        "the last node is killed and loses its data for ever: killed 1 process, removed ",
        "another node is killed: killed 1 process",
        "it is started again: port ",
        "the lost node is started with empty data: port ",
        "all nodes answer, and the lost one has copied all rows, ",
    ] {
        assert!(steps(two).iter().any(|step| step.starts_with(begin)), "{begin}: {found}");
    }
    assert_eq!([&power["id"], &power["verdict"]], ["durability-4", "not_run"], "{found}");
    assert!(power["seen"].to_string().contains("lydite lab up galera --disk 2G"), "{found}");
    assert_eq!([&one["id"], &one["clause"]], ["durability-2", "3.5.3.1"], "{found}");
    assert_eq!(one["verdict"], "passed", "{found}\n{ended:?}");
    let each = format!("on each of the nodes on ports {} alone: each of ", words(&ports(&lab)));
    assert!(all["seen"].as_str().is_some_and(|seen| seen.starts_with(&each)), "{found}");
    let prefix = format!("on the node on port {} alone: each of ", ports(&lab)[2]);
    assert!(one["seen"].as_str().is_some_and(|seen| seen.starts_with(&prefix)), "{found}");
    let lost = "the last node is killed and loses its data: killed 1 process, removed ";
    for begin in [lost, "the others go on without it: ", "the node has copied all rows and answers, "] {
        assert!(steps(one).iter().any(|step| step.starts_with(begin)), "{begin}: {found}");
    }
    let names: Vec<String> = fs::read_dir(&server)
        .expect("the server's directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().all(|name| !name.starts_with("data.")), "nothing half is left: {names:?}");
    assert_eq!(lab.place.list(), "no active faults\n");
    check(&lab, &alone(&lab, 2));

    kill(&lab, 2);
    let (rest, _) = lab.url.rsplit_once(',').expect("three nodes");
    let audit = ["audit", rest, "--quick", "--only", "durability", "--json", text(&file)];
    lab.place.lydite(&audit).code(3);
    let found = json(&file);
    for test in found["tests"].as_array().expect("tests") {
        assert_eq!(test["verdict"], "not_run", "{found}");
        if test["id"] == "durability-4" {
            continue;
        }
        let why = format!("not all servers of lab galera are in the URL: port {} is missing", ports(&lab)[2]);
        assert!(test["seen"].as_str().is_some_and(|seen| seen.contains(&why)), "{found}");
    }
    assert_eq!(found["tests"].as_array().map(Vec::len), Some(4), "{found}");
    let restarted = lab.place.lydite(&["lab", "restart", "galera"]).code(0);
    assert!(restarted.stderr.contains(" runs again"), "{restarted:?}");
    // The last node misses the orders of this run.
    kill(&lab, 2);
    let run = ["run", rest, "-d", "1s", "--warmup", "0s", "--quiet"];
    lab.place.lydite(&run).code(0);
    (0..2).for_each(|node| kill(&lab, node));
    let refused = lab.place.lydite(&["lab", "restart", "galera/1"]).code(2);
    assert!(refused.only_error().contains("0 of 3 nodes run, and the others wait for more"), "{refused:?}");
    let restarted = lab.place.lydite(&["lab", "restart", "galera"]).code(0);
    assert!(restarted.stderr.contains("these run again: "), "{restarted:?}");
    assert_eq!(restarted.stderr.matches("server on port ").count(), 3, "{restarted:?}");
    let rows: Vec<String> = (0..3).map(|node| rows(&lab, node)).collect();
    assert!(rows.iter().all(|of_node| *of_node == rows[0]), "{rows:?}");
    (0..3).for_each(|node| check(&lab, &alone(&lab, node)));

    // At the end, since a node that stands still may leave the cluster for a while.
    let file = lab.place.file("result.json");
    let more = ["--no-check", "--terminals", "2", "--json", text(&file)];
    let idle = "has no session: the run can only show its effect on the other servers";
    let ended = lab.run("1s", &["stop@0.2s..0.4s/lab:galera/2"], &more).wait().code(0);
    let expected = format!("fault stop@0.2s..0.4s/lab:galera/2: 127.0.0.1:{} {idle}", ports(&lab)[2]);
    assert!(ended.stderr.contains(&expected), "{ended:?}");
    let warnings = json(&file)["warnings"].to_string();
    assert!(warnings.contains(&expected) && warnings.contains("2 sessions for 3 endpoints"), "{warnings}");
    let ended = lab.run("1s", &["stop@0.2s..0.4s/lab:galera/1"], &more).wait().code(0);
    assert!(!ended.stderr.contains(idle), "{ended:?}");
}

/// The orders and payments of a node.
fn rows(lab: &Lab, node: usize) -> String {
    let url = alone(lab, node);
    let (user, _) = url.split_once('@').expect("a user");
    let (_, password) = user.rsplit_once(':').expect("a password");
    let sql = "SELECT (SELECT sum(d_next_o_id) FROM district), (SELECT count(*) FROM history)";
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=root", "tpcc", "-NBe", sql]);
    let output = client.arg(format!("--port={}", ports(lab)[node])).env("MYSQL_PWD", password).output();
    let output = output.expect("the client");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The ports of the nodes.
fn ports(lab: &Lab) -> Vec<u16> {
    let addresses = lab.url.split("127.0.0.1:").skip(1);
    let port = |rest: &str| rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok();
    addresses.map(|rest| port(rest).expect("a port")).collect()
}

/// Ports in words.
fn words(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// The URL of one node.
fn alone(lab: &Lab, node: usize) -> String {
    let (first, _) = lab.url.split_once('?').expect("further nodes");
    first.replace(&format!(":{}/", ports(lab)[0]), &format!(":{}/", ports(lab)[node]))
}

fn check(lab: &Lab, url: &str) {
    let checked = lab.place.lydite(&["check", url]).code(0);
    assert!(checked.stdout.contains("12 of 12 consistency conditions hold"), "{checked:?}");
}

/// Kills a node, and waits until nobody listens on its port.
fn kill(lab: &Lab, node: usize) {
    let file = lab.directory().join(format!("server-{node}/pid"));
    let pid = fs::read_to_string(file).expect("a running node").trim().parse().expect("a number");
    // SAFETY: kill has no memory preconditions. The process is the node, which runs.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    wait_until("the node has ended", || TcpStream::connect(("127.0.0.1", ports(lab)[node])).is_err());
}

/// The steps of a finding.
fn steps(test: &Value) -> Vec<&str> {
    test["steps"].as_array().expect("steps").iter().filter_map(Value::as_str).collect()
}
