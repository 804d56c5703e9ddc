//! `lydite report`: the metrics that it tells, and what it refuses.

use crate::program::{lydite, scratch, text};
use lydite_report::RunResult;
use std::fs;
use std::path::Path;

/// Writes a result with this many transactions in each second.
fn write(path: &Path, seconds: &[u64]) {
    let mut result = RunResult::default();
    result.target.kind = "postgres".into();
    result.window.measured_s = seconds.len() as f64;
    result.tps = seconds.iter().sum::<u64>() as f64 / seconds.len() as f64;
    result.series.second = (0..seconds.len() as i64).collect();
    result.series.new_order = seconds.to_vec();
    result.save(path).unwrap();
}

#[test]
fn events_and_nodes_are_told_before_the_path_of_the_page() {
    let directory = scratch();
    let (a, b) = (directory.path().join("three.json"), directory.path().join("six.json"));
    write(&a, &[vec![300; 30], vec![0; 4], vec![300; 26]].concat());
    write(&b, &[540; 60]);
    let page = directory.path().join("page.html");
    let more = ["--event", "shutdown=30s..40s", "--nodes", "3,6", "-o", text(&page)];
    let ended = lydite(&[&["report", text(&a), text(&b)], &more[..]].concat()).code(0);
    let words: Vec<String> =
        ended.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let told =
        |wanted: &str| assert!(words.iter().any(|line| line.contains(wanted)), "{wanted}: {}", ended.stdout);
    told("three.json shutdown 30 300 300 0 4 1.000 0.200");
    told("six.json shutdown 30 540 540 540 0 1.000 1.000");
    told("means of 5 s stay within 10 % of their level for 10 s");
    told("postgres 6 1 540 90.0 0.964 0.964");
    assert_eq!(words.last().map(String::as_str), Some(text(&page)));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("data-chart=\"availability\""));
    // The charts over time mark it.
    assert!(html.contains(r#""events":[{"name":"shutdown","from_s":30.0,"to_s":40.0}]"#));

    let plain = lydite(&["report", text(&b), "-o", text(&page)]).code(0);
    assert_eq!(plain.stdout.trim(), text(&page), "nothing is told that nobody asked for");
    let stable = ["report", text(&a), "--event", "30s", "--stable", "1s,1%,5s", "-o", text(&page)];
    let stable = lydite(&stable).code(0).stdout;
    assert!(stable.contains("means of 1 s stay within 1 % of their level for 5 s"), "{stable}");
}

#[test]
fn what_can_not_be_judged_is_refused_and_no_page_is_written() {
    let directory = scratch();
    let (a, page) = (directory.path().join("a.json"), directory.path().join("page.html"));
    write(&a, &[300; 30]);
    for (more, words) in [
        (
            vec!["--event", "31s"],
            "a.json: the event 31s: it is outside the measured window, which has 30 whole seconds",
        ),
        (vec!["--event", "x=5s"], "the event x: only 5 s lie before"),
        (vec!["--event", "x=25s"], "only 5 s lie after its beginning in all"),
        (vec!["--event", "x=12s..11s"], "ends before it begins"),
        (
            vec!["--event", "x=soon"],
            "--event: \"x=soon\" has a time \"soon\" that must be a time such as 30s",
        ),
        (vec!["--event", "=12s"], "has no name before its ="),
        (vec!["--nodes", "3,x"], "--nodes: \"3,x\": each must be a whole number from 1"),
        (vec!["--nodes", "3,4"], "--nodes: there are 2 numbers of nodes for 1 results"),
        (
            vec!["--nodes", "3"],
            "--nodes: scalability needs results of one database with at least two numbers of nodes",
        ),
        (vec!["--stable", "5s,10,10s"], "--stable: no result has a fault: name an --event"),
        (vec!["--event", "12s", "--stable", "5s,10"], "must be WINDOW,PERCENT,HOLD"),
        (vec!["--event", "12s", "--stable", "5s,10,4s"], "has a HOLD of 4 s, shorter than its WINDOW of 5 s"),
        (vec!["--event", "12s", "--stable", "5s,0,10s"], "above 0 and below 100"),
    ] {
        let refused = lydite(&[&["report", text(&a), "-o", text(&page)], &more[..]].concat()).code(2);
        assert!(refused.only_error().contains(words), "{more:?}: {}", refused.only_error());
        assert!(!page.exists());
    }
}
