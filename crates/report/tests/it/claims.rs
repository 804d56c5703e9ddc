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
    let axes: Vec<Axis> = axes().into_iter().rev().collect();
    let spec = figure(Kind::Line, "tps > 0");
    let parse = |text: &str| Condition::parse(text, &spec, &axes);
    for right in [
        "falls tps",
        "tps < 3",
        "flat tps within 5%",
        "tps is nodes within 1 where database=my sql",
        "a > b",
        "b < 1.2 * a",
        "tps: a > b where nodes=2",
        "3 > 1",
    ] {
        parse(right).unwrap_or_else(|problem| panic!("{right}: {problem}"));
    }
    for (wrong, problem) in [
        ("sinks tps", "is no condition: use rises METRIC"),
        ("falls latency.p95", "\"latency.p95\" is no metric of the figure: use tps"),
        ("tps < many", "\"many\" is no number"),
        ("tps is ci within 1", "\"ci\" is no axis of the figure: use nodes, database"),
        ("falls tps where database", "where needs AXIS=LABEL"),
        ("flat tps within 5", "is no condition"),
        ("latency.p95 > 3", "\"latency.p95\" is no metric of the figure"),
        (
            "a > c",
            "does not compare two values of an axis of the figure: use those of database (a, b) or nodes (1, 2, 3)",
        ),
        ("a > 1", "does not compare two values of an axis"),
        ("a > 0 * b", "does not compare two values of an axis"),
    ] {
        let found = parse(wrong).unwrap_err();
        assert!(found.contains(problem), "{wrong}: {found}");
    }
}

#[test]
fn two_series_are_compared_place_by_place_by_an_interval_over_the_repetitions() {
    let b: [&[f64]; 3] =
        [&[100.0, 102.0, 98.0, 101.0], &[200.0, 203.0, 199.0, 201.0], &[300.0, 301.0, 304.0, 299.0]];
    let times = |factors: [f64; 4]| -> Vec<Vec<f64>> {
        b.iter()
            .map(|values| values.iter().zip(factors).map(|(value, factor)| value * factor).collect())
            .collect()
    };
    let of = |supports: &str, a: &[Vec<f64>]| {
        verdict(supports, &a.iter().map(Vec::as_slice).collect::<Vec<_>>(), &b)
    };
    let much = times([1.5, 1.52, 1.49, 1.51]);
    let above = of("a > b", &much);
    assert_eq!((above.outcome, above.reasons.len()), (Outcome::Supported, 3), "{above:?}");
    let reason = "tps at 1: a 151 (146 to 155), b 101 (98.0 to 102): ratio 1.50 (95 % interval over 4 repetitions 1.48 to \
                  1.53), wanted above 1.00";
    assert_eq!(above.reasons[0], reason);
    for (supports, outcome) in [
        ("a > 1.4 * b", Outcome::Supported),
        ("a > 1.5 * b", Outcome::Undecided),
        ("a > 1.6 * b", Outcome::NotSupported),
        ("a < 1.6 * b", Outcome::Supported),
        ("b < 0.7 * a", Outcome::Supported),
        ("b > a", Outcome::NotSupported),
        // The axis along the bottom, in the line of each database.
        ("2 > 1.9 * 1", Outcome::Supported),
        ("3 < 1", Outcome::NotSupported),
    ] {
        assert_eq!(of(supports, &much).outcome, outcome, "{supports}");
    }
    let one_place = of("a > b where nodes=3", &much);
    assert_eq!(one_place.reasons.len(), 1);
    assert!(one_place.reasons[0].starts_with("tps at 3: "), "{one_place:?}");
    // Noise that is larger than the difference decides nothing, whatever the medians say.
    let noisy = of("a > b", &times([1.3, 0.8, 1.2, 1.1]));
    assert_eq!(noisy.outcome, Outcome::Undecided);
    assert!(noisy.reasons[0].contains("more repetitions would decide"), "{noisy:?}");
    // A single place refutes, and equal numbers are not above each other.
    let mut refuted = much.clone();
    refuted[1] = b[1].iter().map(|value| value * 0.5).collect();
    assert_eq!(of("a > b", &refuted).outcome, Outcome::NotSupported);
    assert_eq!(of("a > b", &times([1.0; 4])).outcome, Outcome::NotSupported);
}

#[test]
fn fewer_than_three_repetitions_compare_nothing_and_numbers_may_be_zero() {
    let two = verdict("a > b", &[&[200.0, 210.0]], &[&[100.0, 101.0]]);
    assert_eq!(two.outcome, Outcome::Undecided);
    assert_eq!(
        two.reasons[0],
        "tps at 1: a 205 (200 to 210), b 101 (100 to 101): 2 repetitions can't say how far runs differ: it takes 3 or more"
    );
    let none = verdict("a > b", &[&[200.0]], &[]);
    assert!(none.reasons[0].contains("no repetition has both numbers"), "{none:?}");
    let zero = verdict("a > 2 * b where nodes=1", &[&[5.0, 6.0, 5.5]], &[&[0.0, 0.0, 0.0]]);
    assert_eq!(zero.outcome, Outcome::Supported);
    assert!(zero.reasons[0].contains("difference 5.50 (95 % interval over 3 repetitions"), "{zero:?}");
}

/// A number that is normal with mean 0 and standard deviation 1, by the sum of twelve uniform ones.
fn normal(state: &mut u64) -> f64 {
    let mut uniform = || {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

#[test]
fn equal_series_are_rarely_called_different_and_a_fifth_is_mostly_found() {
    let mut state = 1;
    let mut shares = |ratio: f64| {
        let mut counts = BTreeMap::new();
        for _ in 0..400 {
            let mut runs = |ratio: f64| -> Vec<Vec<f64>> {
                let mut run = || 1_000.0 * ratio * (1.0 + 0.03 * normal(&mut state));
                (0..3).map(|_| (0..4).map(|_| run()).collect()).collect()
            };
            let (a, b) = (runs(ratio), runs(1.0));
            let a: Vec<&[f64]> = a.iter().map(Vec::as_slice).collect();
            let b: Vec<&[f64]> = b.iter().map(Vec::as_slice).collect();
            *counts.entry(verdict("a > b", &a, &b).outcome).or_insert(0) += 1;
        }
        counts
    };
    let equal = shares(1.0);
    let of = |counts: &BTreeMap<Outcome, i32>, outcome| counts.get(&outcome).copied().unwrap_or(0);
    assert!(of(&equal, Outcome::Supported) <= 2, "it would have to be above at all three places: {equal:?}");
    assert!(of(&equal, Outcome::NotSupported) <= 20, "at most 5 % of 400: {equal:?}");
    let fifth = shares(1.2);
    assert!(of(&fifth, Outcome::Supported) >= 300, "{fifth:?}");
    assert_eq!(of(&fifth, Outcome::NotSupported), 0, "{fifth:?}");
}
