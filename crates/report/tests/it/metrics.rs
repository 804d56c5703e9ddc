//! The metrics of results: in the terminal and on the page.

use lydite_report::faults::FaultResult;
use lydite_report::metrics::{Asked, Event, Metrics, MetricsError};
use lydite_report::model::{NodeBytes, NodeFigures, RunResult, Series};
use lydite_report::{render_html, render_metrics, render_report};
use serde_json::json;

use crate::sample::read;

/// A run with this many transactions in each second.
fn run(kind: &str, seconds: &[u64]) -> RunResult {
    let mut result = RunResult::default();
    result.target.kind = kind.to_owned();
    result.plan = read(json!({ "workload": "tpcc", "warehouses": 10, "mix": "deck" }));
    result.window.measured_s = seconds.len() as f64;
    result.tps = seconds.iter().sum::<u64>() as f64 / seconds.len() as f64;
    result.series = Series {
        second: (0..seconds.len() as i64).collect(),
        new_order: seconds.to_vec(),
        ..Series::default()
    };
    result
}

fn of_nodes(kind: &str, tps: u64, nodes: usize) -> RunResult {
    let mut result = run(kind, &[tps; 30]);
    let node = |number| json!({ "node": format!("n{number}"), "warehouses": 3 });
    result.controls = read(json!({ "distribution": { "nodes": (0..nodes).map(node).collect::<Vec<_>>() } }));
    result
}

fn names(results: &[RunResult]) -> Vec<String> {
    (1..=results.len()).map(|number| format!("run-{number}.json")).collect()
}

fn shutdown(from_s: f64, to_s: Option<f64>) -> Asked {
    Asked { events: vec![Event { name: "shutdown".to_owned(), from_s, to_s }], ..Asked::default() }
}

/// The line that has all of these words, its words apart by one blank.
fn line<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    text.lines().find(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").contains(words))
}

#[test]
fn availability_is_shown_with_its_settings_in_the_terminal_and_on_the_page() {
    let results = [run("pg", &[vec![1000; 30], vec![0; 9], vec![800; 40]].concat())];
    let metrics = Metrics::of(&results, &shutdown(30.0, Some(45.0))).unwrap();
    let text = render_metrics(&metrics, &names(&results));
    assert!(text.contains("means of 5 s stay within 10 % of their level for 10 s"), "{text}");
    assert!(line(&text, "run-1.json shutdown 30 1,000 800 0 9 0.800 0.100").is_some(), "{text}");
    assert!(line(&text, "shutdown, its end 45 1,000 800 800 0 0.800 1.000").is_some(), "{text}");
    let page = render_report(&results, &[], &metrics);
    for wanted in ["data-chart=\"availability\"", "R_e 0.800, T_e 0.100", "shutdown, its end", "\"r_e\":0.8"]
    {
        assert!(page.contains(wanted), "{wanted}");
    }
}

#[test]
fn moments_of_events_are_shown_to_the_hundredth() {
    let results = [run("pg", &[1000; 60])];
    let metrics = Metrics::of(&results, &shutdown(30.046_179_83, Some(41.5))).unwrap();
    let text = render_metrics(&metrics, &names(&results));
    assert!(line(&text, "shutdown 30.05 1,000").is_some() && line(&text, "its end 41.5").is_some(), "{text}");
    let page = render_report(&results, &[], &metrics);
    assert!(page.contains(">30.05</td>") && page.contains(">41.5</td>"));
}

#[test]
fn charts_mark_the_faults_of_one_run_and_the_users_events_of_all_runs() {
    let mut short = run("pg", &[1000; 8]);
    short.faults = vec![FaultResult {
        kind: "kill".into(),
        place: "lab:pg".into(),
        begun_s: Some(2.0),
        ..Default::default()
    }];
    let page = render_html(std::slice::from_ref(&short));
    let mark = r#""events":[{"name":"kill on lab:pg","from_s":2.0,"to_s":null}]"#;
    assert!(page.contains(mark), "no metric judges it, since 2 s lie before it");

    let mut long = run("pg", &[1000; 60]);
    long.faults = vec![FaultResult { begun_s: Some(20.0), ..short.faults[0].clone() }];
    let results = [long.clone(), run("pg", &[1000; 60])];
    assert!(render_html(&results).contains("\"events\":[]"), "one of two runs had it");
    let metrics = Metrics::of(&results, &shutdown(30.0, None)).unwrap();
    let users = r#"{"name":"shutdown","from_s":30.0,"to_s":null}"#;
    assert!(render_report(&results, &[], &metrics).contains(&format!("\"events\":[{users}]")));
    let metrics = Metrics::of(std::slice::from_ref(&long), &shutdown(30.0, None)).unwrap();
    let both = format!(r#""events":[{{"name":"kill on lab:pg","from_s":20.0,"to_s":null}},{users}]"#);
    assert!(render_report(&[long], &[], &metrics).contains(&both));
}

#[test]
fn a_database_that_does_not_come_back_is_reported_as_such() {
    let results = [run("pg", &[vec![1000; 30], vec![0; 40]].concat())];
    let metrics = Metrics::of(&results, &shutdown(30.0, None)).unwrap();
    let text = render_metrics(&metrics, &names(&results));
    let words = "! run-1.json, shutdown: throughput did not become stable again within the 40 s";
    assert!(text.contains(words), "{text}");
    assert!(line(&text, "shutdown 30 1,000 – 0 – – –").is_some(), "{text}");
    let page = render_report(&results, &[], &metrics);
    assert!(page.contains("did not become stable again") && !page.contains("data-chart=\"availability\""));
}

#[test]
fn the_faults_of_each_run_are_judged_by_its_own_definition_of_stable_throughput() {
    let results = [8, 20].map(|before: u32| {
        let mut result = run("pg", &[vec![100; before as usize], vec![0; 3], vec![100; 30]].concat());
        let (begun_s, undone_s) = (Some(before.into()), Some((before + 3).into()));
        result.faults.push(FaultResult { begun_s, undone_s, ..FaultResult::default() });
        result
    });
    let metrics = Metrics::without_flags(&results);
    let (text, page) = (render_metrics(&metrics, &names(&results)), render_html(&results));
    for (run, window_s, hold_s) in [(1, 4, 8), (2, 5, 10)] {
        let wanted = format!(
            "run-{run}.json: stable once means of {window_s} s stay within 10 % of their level for {hold_s} s"
        );
        assert!(text.contains(&wanted), "{text}");
        assert!(page.contains(&format!("stable once means of {window_s} s")), "{window_s}");
    }
    let (one, alone) = (&results[1..], Metrics::without_flags(&results[1..]));
    assert!(render_metrics(&alone, &names(one)).contains("t in seconds; stable once means of 5 s"));
}

#[test]
fn a_short_last_second_is_ignored() {
    let mut result = run("pg", &[100; 40]);
    result.series.new_order[39] = 3;
    result.window.measured_s = 39.02;
    let metrics = Metrics::of(&[result], &shutdown(20.0, None)).unwrap();
    assert_eq!(
        (metrics.events[0].events[0].began.watched_s, metrics.events[0].events[0].began.lowest_tps),
        (19, 100.0)
    );
}

#[test]
fn scalability_is_of_the_runs_of_one_database_by_the_nodes_that_the_results_tell() {
    let mut results =
        [of_nodes("pg", 300, 3), of_nodes("pg", 540, 6), of_nodes("null", 50, 2), run("pg", &[9; 30])];
    let metrics = Metrics::without_flags(&results);
    let text = render_metrics(&metrics, &names(&results));
    assert!(line(&text, "pg 6 1 540 90.0 0.900 0.900").is_some(), "{text}");
    assert!(!text.contains("null"), "one size is none: {text}");
    let unknown = "number of nodes is unknown (set it with --nodes): run-4.json";
    assert!(text.contains(unknown) && !text.contains("differs"), "{text}");
    let page = render_html(&results);
    assert!(page.contains("data-chart=\"scalability\"") && page.contains("0.900 from 3 to 6 nodes"));
    results[1].plan.mix = Some("1,2,3,4,90".to_owned());
    let text = render_metrics(&Metrics::without_flags(&results), &names(&results));
    assert!(
        text.contains("! pg: not only the number of nodes differs between these runs, but also mix"),
        "{text}"
    );
}

#[test]
fn given_numbers_of_nodes_hold_or_are_rejected() {
    let results = [of_nodes("pg", 300, 3), run("pg", &[400; 30])];
    let say =
        |nodes: &[u32]| Metrics::of(&results, &Asked { nodes: Some(nodes.to_vec()), ..Asked::default() });
    let text = render_metrics(&say(&[3, 5]).unwrap(), &names(&results));
    assert!(line(&text, "pg 5 1 400 80.0 0.800 0.800").is_some(), "{text}");
    let rejected = |nodes: &[u32], words: &str| match say(nodes).unwrap_err() {
        MetricsError::Nodes(problem) => assert!(problem.contains(words), "{problem}"),
        other @ MetricsError::Event { .. } => panic!("{other}"),
    };
    rejected(&[3], "1 numbers of nodes for 2 results");
    rejected(&[3, 3], "at least two numbers of nodes");
}

#[test]
fn nodes_are_summarised_by_five_numbers_and_those_of_half_known_nodes_are_not() {
    let mut result = run("pg", &[30; 10]);
    result.nodes = Some(NodeFigures {
        names: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
        second: (0..10).collect(),
        ops: [10, 20, 30, 40].map(|ops| vec![ops; 10]).to_vec(),
        bytes: Some(NodeBytes {
            second: vec![-1.0, 10.0],
            of: [1, 2, 3, 4].map(|size: u64| vec![size << 20, size << 21]).to_vec(),
        }),
    });
    let read: RunResult = serde_json::from_str(&serde_json::to_string(&result).unwrap()).unwrap();
    assert_eq!(read.nodes, result.nodes);
    let results = [read];
    let text = render_metrics(&Metrics::without_flags(&results), &names(&results));
    assert!(line(&text, "operations per second 4 10.0 17.5 25.0 32.5 40.0").is_some(), "{text}");
    assert!(line(&text, "data before the run 4 1.0 MiB 1.8 MiB 2.5 MiB 3.2 MiB 4.0 MiB").is_some(), "{text}");
    assert!(line(&text, "data after the run 4 2.0 MiB 3.5 MiB 5.0 MiB 6.5 MiB 8.0 MiB").is_some(), "{text}");
    let page = render_html(&results);
    assert!(page.contains("data-chart=\"nodes-ops\"") && page.contains("data-chart=\"nodes-bytes\""));
    assert!(page.contains("\"five\":[10.0,17.5,25.0,32.5,40.0]"));

    result.nodes.as_mut().unwrap().ops.pop();
    let metrics = Metrics::without_flags(&[result]);
    assert!(metrics.nodes[0].ops.is_empty() && metrics.nodes[0].bytes_spread().is_some());
}

#[test]
fn results_without_any_of_it_say_nothing() {
    let results = [run("pg", &[5; 30]), run("pg", &[6; 30])];
    let metrics = Metrics::without_flags(&results);
    assert!(metrics.is_empty());
    assert_eq!(render_metrics(&metrics, &names(&results)), "");
    assert!(!render_html(&results).contains("id=\"metrics\""));
}
