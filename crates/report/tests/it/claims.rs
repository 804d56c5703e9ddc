//! Claims of figures, judged by the runs of a sweep.

use std::collections::BTreeMap;

use lydite_report::sweep::claim::{Claim, Condition, Outcome, Verdict};
use lydite_report::sweep::figure::{FigureSpec, Kind, Scale};
use lydite_report::sweep::{Axis, Point, Run, State};

/// A figure of `tps` by the nodes of an order, over one, two and three nodes.
fn figure(kind: Kind, supports: &str) -> FigureSpec {
    FigureSpec {
        title: "Cost".into(),
        note: String::new(),
        kind,
        x: "nodes".into(),
        series: Some("database".into()),
        panel: None,
        y: vec![if kind == Kind::Boxplot { "nodes.ops" } else { "tps" }.into()],
        x_title: "nodes".into(),
        y_titles: vec!["Throughput".into()],
        x_scale: Scale::Even,
        relative_to: None,
        only: BTreeMap::new(),
        claim: Some(Claim { text: "It costs.".into(), supports: vec![supports.into()] }),
    }
}

/// A point with a run for each value of each metric.
fn point(database: &str, nodes: usize, metrics: &[(&str, &[f64])]) -> Point {
    let count = metrics.first().map_or(0, |(_, values)| values.len());
    let run = |place: usize| Run {
        values: metrics.iter().map(|(name, values)| ((*name).to_owned(), values[place])).collect(),
        ..Run::without_result(place as u32 + 1, "a.json", State::Complete, "")
    };
    Point {
        label: format!("{database}, {nodes}"),
        at: vec![database.to_owned(), nodes.to_string()],
        plan: BTreeMap::new(),
        runs: (0..count).map(run).collect(),
        metrics: BTreeMap::new(),
    }
}

fn axes() -> Vec<Axis> {
    let axis = |name: &str, values: &[&str]| Axis {
        name: name.into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    vec![axis("database", &["a", "b"]), axis("nodes", &["1", "2", "3"])]
}

/// The verdict on throughputs of database `a` on one to three nodes, each over some runs, and on those of `b`.
fn verdict(supports: &str, a: &[&[f64]], b: &[&[f64]]) -> Verdict {
    let of = |database: &'static str, runs: &[&[f64]]| -> Vec<Point> {
        (1..).zip(runs).map(|(nodes, values)| point(database, nodes, &[("tps", values)])).collect()
    };
    let points = [of("a", a), of("b", b)].concat();
    figure(Kind::Line, supports).draw(&axes(), &points).verdict.expect("a verdict")
}

#[test]
fn a_fall_is_supported_only_if_the_runs_of_its_ends_do_not_overlap() {
    let steady: [&[f64]; 3] = [&[90.0, 100.0], &[70.0, 80.0], &[50.0, 60.0]];
    let falls = verdict("falls tps where database=a", &steady, &[]);
    assert_eq!(falls.outcome, Outcome::Supported, "{falls:?}");
    assert_eq!(falls.reasons, ["tps (a): 95.0 (90.0 to 100) at 1, 55.0 (50.0 to 60.0) at 3: falls"]);
    assert_eq!(verdict("rises tps where database=a", &steady, &[]).outcome, Outcome::NotSupported);
    let wide: [&[f64]; 3] = [&[50.0, 100.0], &[70.0, 80.0], &[40.0, 60.0]];
    assert_eq!(verdict("falls tps where database=a", &wide, &[]).outcome, Outcome::Undecided);
    // Another database that rises refutes a claim about all of them.
    let both = verdict("falls tps", &steady, &[&[1.0, 1.0], &[2.0, 2.0], &[3.0, 3.0]]);
    assert_eq!((both.outcome, both.reasons.len()), (Outcome::NotSupported, 2));
    // Without numbers nothing is decided.
    assert_eq!(verdict("falls tps", &steady, &[]).outcome, Outcome::Undecided);
}

#[test]
fn single_runs_need_a_difference_above_the_noise() {
    let single =
        |last: f64| verdict("falls tps where database=a", &[&[100.0], &[100.0], &[last]], &[]).outcome;
    assert_eq!(
        [90.0, 97.0, 110.0].map(single),
        [Outcome::Supported, Outcome::Undecided, Outcome::NotSupported]
    );
}

#[test]
fn bounds_flatness_and_wanted_numbers_are_judged_at_each_mark() {
    let a: [&[f64]; 3] = [&[1.0, 1.0], &[2.0, 2.02], &[2.9, 3.0]];
    let of = |supports: &str| verdict(&format!("{supports} where database=a"), &a, &[]).outcome;
    assert_eq!(of("tps < 3.1"), Outcome::Supported);
    assert_eq!(of("tps < 2.95"), Outcome::Undecided, "one of two runs is above it");
    assert_eq!(of("tps > 1.5"), Outcome::NotSupported);
    assert_eq!(of("tps is nodes within 2%"), Outcome::Supported);
    assert_eq!(of("tps is nodes within 0.01"), Outcome::NotSupported);
    assert_eq!(of("flat tps within 60%"), Outcome::Supported);
    assert_eq!(of("flat tps within 10%"), Outcome::NotSupported);
    assert_eq!(of("peaks tps from 3 to 3"), Outcome::Supported);
    assert_eq!(of("peaks tps from 1 to 2"), Outcome::NotSupported);
}

#[test]
fn a_box_plot_is_judged_by_the_unevenness_of_its_nodes() {
    let names = ["min", "q1", "median", "q3", "max"].map(|name| format!("nodes.ops.{name}"));
    let boxes = |nodes, values: [f64; 5]| {
        let metrics: Vec<(&str, &[f64])> = names
            .iter()
            .zip(&values)
            .map(|(name, value)| (name.as_str(), std::slice::from_ref(value)))
            .collect();
        point("a", nodes, &metrics)
    };
    let points = [boxes(1, [9.0, 9.0, 10.0, 10.0, 10.0]), boxes(2, [0.0, 0.0, 0.0, 5.0, 10.0])];
    let judge = |supports: &str| {
        let drawn = figure(Kind::Boxplot, &format!("{supports} where database=a")).draw(&axes(), &points);
        drawn.verdict.expect("a verdict")
    };
    let rises = judge("rises nodes.ops");
    assert_eq!(rises.outcome, Outcome::Supported);
    assert!(rises.reasons[0].contains("10.0 % of unevenness at 1, 100 % of unevenness at 2"), "{rises:?}");
    assert_eq!(judge("nodes.ops < 50").outcome, Outcome::NotSupported);
}

#[test]
fn a_condition_names_only_what_the_figure_has() {
    let parse = |text: &str| Condition::parse(text, &["tps".into()], &["nodes".into(), "database".into()]);
    for right in ["falls tps", "tps < 3", "flat tps within 5%", "tps is nodes within 1 where database=my sql"]
    {
        parse(right).unwrap_or_else(|problem| panic!("{right}: {problem}"));
    }
    for (wrong, problem) in [
        ("sinks tps", "is no condition: use rises METRIC"),
        ("falls latency.p95", "\"latency.p95\" is no metric of the figure: use tps"),
        ("tps < many", "\"many\" is no number"),
        ("tps is ci within 1", "\"ci\" is no axis of the figure: use nodes, database"),
        ("falls tps where database", "where needs AXIS=LABEL"),
        ("flat tps within 5", "is no condition"),
    ] {
        let found = parse(wrong).unwrap_err();
        assert!(found.contains(problem), "{wrong}: {found}");
    }
}
