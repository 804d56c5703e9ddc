//! The summary of a sweep: metrics, spreads, figures, and their page.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use lydite_report::faults::FaultAvailability;
use lydite_report::metric::Metric;
use lydite_report::model::{
    Latency, NodeBytes, NodeFigures, PhaseResult, RunResult, Status, TransactionResult,
};
use lydite_report::observed::Observed;
use lydite_report::sweep::figure::{FigureSpec, Kind, Scale};
use lydite_report::sweep::{
    Axis, Environment, Point, Run, SWEEP_FORMAT, Spread, State, Sweep, render_csv, render_summary,
};
use lydite_report::{hdr, render_pictures, render_sweep};
use serde_json::json;

use crate::sample::read;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

/// So many transactions of a type that all took as long.
fn transactions(count: u64, ms: u64) -> TransactionResult {
    let mut histogram: Histogram<u64> = Histogram::new(3).unwrap();
    histogram.record_n(ms * 1_000_000, count).unwrap();
    TransactionResult {
        committed: count,
        latency_ms: Latency::from_histogram(&histogram),
        hdr: hdr::encode(&histogram).unwrap(),
        ..Default::default()
    }
}

fn result() -> RunResult {
    let mut result = RunResult { tps: 100.0, nopm: 2_700.0, ..Default::default() };
    result.window.measured_s = 10.0;
    result.transactions.insert("new_order".into(), transactions(450, 4));
    result.transactions.insert("payment".into(), transactions(430, 2));
    // Slower than anything that the histograms before it can hold.
    result.transactions.insert("stock_level".into(), transactions(120, 9_000));
    result.transactions.get_mut("new_order").unwrap().rolled_back = 5;
    result.aborts = [("csr", 5), ("serialization", 20)].map(|(name, n)| (name.to_owned(), n)).into();
    result.controls = read(json!({"tides": {"actual": [{"ratio_percent": 12.5}]}}));
    result.client.peak_rss_bytes = 1 << 20;
    result
}

fn value(name: &str) -> Option<f64> {
    Metric::parse(name).unwrap().of(&result())
}

#[test]
fn short_names_and_paths_find_their_numbers() {
    for (name, expected) in [
        ("tps", 100.0),
        ("nopm", 2_700.0),
        ("tps.payment", 43.0),
        ("abort_rate", 100.0 * 25.0 / 1_030.0),
        ("abort_rate.csr", 100.0 * 5.0 / 1_030.0),
        ("rollback_rate", 100.0 * 5.0 / 1_005.0),
        ("aborts.csr", 5.0),
        ("client.peak_rss_bytes", 1_048_576.0),
        ("controls.tides.actual.0.ratio_percent", 12.5),
    ] {
        let found = value(name).unwrap();
        assert!(near(found, expected), "{name}: {found}, not {expected}");
    }
    assert_eq!(value("abort_rate.deadlock"), None, "a reason that the result does not know");
    assert_eq!(value("latency.micro.p95"), None, "a type that it does not have");
    assert_eq!(value("controls.contention"), None, "no number");
    for wrong in ["tsp", "", "latency", "latency.neworder.p95", "window.lenght", "client..cpu_s"] {
        assert!(Metric::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_mean_of_an_observed_value_is_a_metric() {
    let mut result = result();
    let of = |source: &str, name: &str, values: &[Option<f64>]| Observed {
        source: source.into(),
        name: name.into(),
        values: values.to_vec(),
        ..Default::default()
    };
    result.observed = vec![
        of("db", "cpu", &[Some(9.0)]),
        of("host", "db.cpu", &[Some(0.5), None, Some(1.0)]),
        of("db:db1.test:5432", "cpu", &[Some(0.25)]),
        of("host", "silent", &[None]),
    ];
    let value = |name: &str| Metric::parse(name).unwrap().of(&result);
    assert_eq!(value("observed.host.db.cpu"), Some(0.75), "seconds without a value do not count");
    assert_eq!(value("observed.db:db1.test:5432.cpu"), Some(0.25), "the source has dots too");
    assert_eq!(value("observed.host.silent"), None);
    assert_eq!(value("observed.host.cpu"), None);
    assert_eq!(value("observed.1.values.2"), Some(1.0), "a path");
    assert!(Metric::parse("observed").is_err() && Metric::parse("observed.host").is_err());
    assert!(Metric::parse("observed.host.").is_err() && Metric::parse("observed..cpu").is_err());
}

#[test]
fn the_five_numbers_over_the_nodes_and_the_throughput_of_each_are_metrics() {
    let mut result = result();
    result.series.second = (0..10).collect();
    let node = |number: u64| json!({ "node": format!("n{number}") });
    result.controls = read(json!({ "distribution": { "nodes": (1..=4).map(node).collect::<Vec<_>>() } }));
    let bytes =
        NodeBytes { second: vec![-1.0, 9.0], of: (1..=4).map(|node| vec![node, node * 100]).collect() };
    result.nodes = Some(NodeFigures {
        names: (1..=4).map(|node| format!("n{node}")).collect(),
        second: (0..10).collect(),
        ops: (1..=4).map(|node| vec![node * 10; 10]).collect(),
        bytes: Some(bytes),
    });
    let value = |name: &str| Metric::parse(name).unwrap().of(&result);
    for (name, expected) in [
        ("tps_per_node", 25.0),
        ("nodes.ops.min", 10.0),
        ("nodes.ops.q1", 17.5),
        ("nodes.bytes.median", 250.0),
        ("nodes.bytes.max", 400.0),
    ] {
        assert_eq!(value(name), Some(expected), "{name}");
    }
    assert!(Metric::parse("nodes.ops.p95").is_err());
    let boxed = Metric::parse("nodes.ops").unwrap();
    let parts: Vec<String> = boxed.parts().iter().map(|part| part.name().to_owned()).collect();
    assert_eq!(parts, ["min", "q1", "median", "q3", "max"].map(|name| format!("nodes.ops.{name}")));
    assert_eq!(Metric::parse("tps_per_node").unwrap().of(&self::result()), None, "of unknown size");
}

#[test]
fn a_box_has_the_median_of_each_of_the_five_numbers_over_the_runs() {
    let runs = |of: &[[f64; 5]]| -> Vec<Run> {
        let run = |(repetition, five): (u32, &[f64; 5])| Run {
            values: ["min", "q1", "median", "q3", "max"]
                .into_iter()
                .zip(five)
                .map(|(name, value)| (format!("nodes.ops.{name}"), *value))
                .collect(),
            ..Run::without_result(repetition, "a.json", State::Complete, "")
        };
        (1..).zip(of).map(run).collect()
    };
    let mut sweep = sweep(&[]);
    let balanced =
        [[10.0, 20.0, 30.0, 40.0, 50.0], [12.0, 22.0, 32.0, 42.0, 52.0], [11.0, 21.0, 31.0, 41.0, 51.0]];
    sweep.points[0].runs = runs(&balanced);
    let boxes = FigureSpec {
        y: vec!["nodes.ops".into()],
        y_titles: vec!["Operations".into()],
        ..spec(Kind::Boxplot)
    };
    let figure = boxes.draw(&sweep.axes, &sweep.points);
    let cell = &figure.panels[0].series[0].cells[0];
    assert_eq!(cell.value, Some(Spread { median: 31.0, min: 11.0, max: 51.0, runs: 3 }));
    assert_eq!(cell.quartiles, Some([21.0, 41.0]));
    assert_eq!(figure.panels[0].series[0].cells[1].value, None, "runs that do not tell of nodes");
    sweep.figures = vec![figure];
    let page = render_sweep(&sweep);
    assert!(page.contains("nodes from 11.0 to 51.0, the middle half from 21.0 to 41.0"));
    assert!(page.contains("class=\"median\"") && page.contains("A box is the middle half of the nodes"));
}

#[test]
fn a_scatter_plot_puts_the_first_metric_along_the_bottom_and_the_second_along_the_side() {
    let run = |t_e: f64, r_e: Option<f64>| Run {
        values: [("t_e", Some(t_e)), ("r_e", r_e)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect(),
        ..Run::without_result(1, "a.json", State::Complete, "")
    };
    let mut sweep = sweep(&[]);
    sweep.points[0].runs = vec![run(0.2, Some(0.9)), run(0.25, Some(0.8)), run(0.5, Some(0.7))];
    sweep.points[1].runs = vec![run(0.1, None)];
    let spec = FigureSpec {
        y: vec!["t_e".into(), "r_e".into()],
        y_titles: vec!["T_e".into(), "R_e".into()],
        ..spec(Kind::Scatter)
    };
    sweep.figures = vec![spec.draw(&sweep.axes, &sweep.points)];
    let page = render_sweep(&sweep);
    assert_eq!(page.matches("<svg class=\"plot alone\"").count(), 1, "one picture of both metrics");
    assert!(page.contains("on, 1: T_e 0.250 (0.200 to 0.500), R_e 0.800 (0.700 to 0.900)"), "{page}");
    assert!(!page.contains("T_e 0.100"), "a point without R_e has no mark");
    assert!(page.contains("Without a mark, since a number is missing: on, 10;"), "{page}");
    let pictures = render_pictures(&sweep);
    let [(1, picture)] = pictures.as_slice() else { panic!("one picture: {pictures:?}") };
    assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{picture}");
    assert!(picture.contains("on, 1: T_e 0.250 (0.200 to 0.500), R_e 0.800 (0.700 to 0.900)"), "{picture}");
    assert!(!picture.contains("var(--"), "programs beside browsers know no variables: {picture}");
    assert!(!page.contains("NaN"));
}

#[test]
fn the_availability_of_a_run_is_that_of_its_worst_fault() {
    let fault = |t_e: Option<f64>, seconds_without_commit: u64| FaultAvailability {
        t_e,
        r_e: Some(0.9),
        seconds_without_commit,
        ..FaultAvailability::default()
    };
    let value = |name: &str, of: &[FaultAvailability]| {
        let result = RunResult { availability: of.to_vec(), ..RunResult::default() };
        Metric::parse(name).unwrap().of(&result)
    };
    let faults = [fault(Some(0.5), 3), fault(Some(0.25), 1)];
    assert_eq!(value("t_e", &faults), Some(0.25));
    assert_eq!(value("seconds_without_commit", &faults), Some(3.0));
    assert_eq!(value("availability.1.t_e", &faults), Some(0.25));
    assert_eq!(value("t_e", &[fault(Some(0.5), 3), fault(None, 1)]), None, "throughput never became stable");
    assert_eq!(value("r_e_during", &faults), None);
    assert_eq!(value("r_e", &[]), None, "a run without faults");
    let problem = Metric::parse("availability.r_e").unwrap_err();
    assert!(problem.contains("use r_e for the worst fault, or availability.0.r_e"), "{problem}");
}

#[test]
fn the_number_of_a_phase_is_a_metric() {
    let phase = |tps| PhaseResult { tps, ..PhaseResult::default() };
    let result = RunResult { phases: vec![phase(10.0), phase(20.0)], ..RunResult::default() };
    let value = |name: &str| Metric::parse(name).unwrap().of(&result);
    assert_eq!(value("phases.1.tps"), Some(20.0));
    assert_eq!(value("phases.2.tps"), None, "there are two");
}

/// A percentile of a phase rests on the transactions of that phase.
#[test]
fn the_latency_of_a_phase_is_a_metric_with_its_unit_and_its_samples() {
    let phase = |completed: u64| PhaseResult {
        transactions: [("new_order".to_owned(), completed)].into(),
        latency_ms: [("new_order".to_owned(), Latency { p99: Some(7.5), ..Latency::default() })].into(),
        ..PhaseResult::default()
    };
    let window = TransactionResult { committed: 1_999, ..TransactionResult::default() };
    let result = RunResult {
        phases: vec![phase(1_900), phase(99)],
        transactions: [("new_order".to_owned(), window)].into(),
        ..RunResult::default()
    };
    let [first, second] =
        [0, 1].map(|number| Metric::parse(&format!("phases.{number}.latency_ms.new_order.p99")).unwrap());
    assert_eq!((first.unit(), first.transaction_type()), ("ms", Some("new_order")));
    assert_eq!(first.judged(&result).unwrap(), 7.5);
    assert_eq!(second.of(&result), Some(7.5));
    let why = second.judged(&result).unwrap_err().to_string();
    assert!(why.contains("needs at least 100 transactions of type New-Order, but only 99 were"), "{why}");
    assert_eq!((first.has_few_samples(&result), second.has_few_samples(&result)), (false, true));
}

#[test]
fn a_figure_over_time_spreads_each_second_over_the_complete_runs() {
    let metric = "controls.contention.per_second";
    let run = |state: State, list: &[Option<f64>]| Run {
        seconds: BTreeMap::from([(metric.to_owned(), list.to_vec())]),
        ..Run::without_result(1, "a.json", state, "")
    };
    let mut sweep = sweep(&[]);
    // One ended a second before the other, and had nothing to measure in its second one.
    sweep.points[0].runs = vec![
        run(State::Complete, &[Some(1.0), Some(2.0), Some(3.0)]),
        run(State::Complete, &[Some(3.0), None]),
        run(State::Partial, &[Some(99.0)]),
    ];
    let over_time = FigureSpec {
        x: "second".into(),
        y: vec![metric.into()],
        x_scale: Scale::Linear,
        only: BTreeMap::from([("terminals".to_owned(), vec!["1".to_owned()])]),
        ..spec(Kind::Line)
    };
    sweep.figures = vec![over_time.draw(&sweep.axes, &sweep.points)];
    let panel = &sweep.figures[0].panels[0];
    assert_eq!(panel.x, ["0", "1", "2"]);
    let [on, off] = panel.series.as_slice() else { panic!("{:?}", panel.series) };
    let values: Vec<_> = on.cells.iter().map(|cell| cell.value).collect();
    assert_eq!(values, [Spread::of(&[1.0, 3.0]), Spread::of(&[2.0]), Spread::of(&[3.0])]);
    assert_eq!(on.cells.iter().map(|cell| cell.wanted).collect::<Vec<_>>(), [3, 2, 2]);
    assert!(off.cells.iter().all(|cell| cell.value.is_none()), "it has no such list");
    let gaps = sweep.figures[0].gaps().join(" ");
    assert!(gaps.contains("Of fewer runs: on, 0 (2 of 3); on, 1 (1 of 2)"), "{gaps}");
    assert!(gaps.contains("Not shown: 1 partial result."), "told once, not for each second: {gaps}");
    assert!(gaps.contains("No run has a number for: off, 0; off, 1; off, 2."), "{gaps}");
    let page = render_sweep(&sweep);
    assert!(page.contains("<polyline") && !page.contains("NaN"));
    assert!(
        page.contains("<summary>Second by second</summary>"),
        "its table does not push the next figure away"
    );

    let nothing = over_time.draw(&sweep.axes, &[]);
    assert_eq!(nothing.gaps(), ["No run has a number for: all of it."]);
}

#[test]
fn throughput_and_lists_are_known_by_second() {
    let mut result = result();
    result.series.new_order = vec![4, 5];
    result.series.payment = vec![6, 0];
    result.controls = read(json!({"contention": {"per_second": [9.5, null]}, "names": ["a"]}));
    let seconds = |name: &str| Metric::parse(name).unwrap().list_of(&result);
    assert_eq!(seconds("tps"), Some(vec![Some(10.0), Some(5.0)]));
    assert_eq!(seconds("tps.payment"), Some(vec![Some(6.0), Some(0.0)]));
    assert_eq!(seconds("controls.contention.per_second"), Some(vec![Some(9.5), None]));
    assert_eq!(seconds("series.aborts"), Some(vec![]));
    assert_eq!(seconds("controls.names"), None, "no numbers");
    assert_eq!(seconds("controls.contention"), None, "no list");
    assert_eq!(seconds("latency.p95"), None, "of the whole run only");
    assert!(Metric::parse("tps").unwrap().has_seconds());
    assert!(!Metric::parse("latency.p95").unwrap().has_seconds());
}

#[test]
fn the_latency_of_all_types_comes_from_all_their_histograms() {
    let near_ms = |name: &str, ms: f64| {
        let found = value(name).unwrap();
        assert!((found / ms - 1.0).abs() < 0.002, "{name}: {found} ms, not {ms} ms");
    };
    near_ms("latency.p50", 4.0);
    near_ms("latency.p95", 9_000.0);
    near_ms("latency.payment.p95", 2.0);
    near_ms("latency.max", 9_000.0);
}

#[test]
fn a_spread_has_the_median_of_odd_and_even_numbers() {
    let median = |values: &[f64]| Spread::of(values).unwrap().median;
    assert!(near(median(&[3.0, 1.0, 2.0]), 2.0));
    assert!(near(median(&[4.0, 1.0, 2.0, 3.0]), 2.5));
    assert_eq!(Spread::of(&[]), None);
}

/// A point of two axes with a run for each throughput; the state of the last run.
fn point(csr: &str, terminals: &str, tps: &[f64], last: State) -> Point {
    let mut runs: Vec<Run> = (1..)
        .zip(tps)
        .map(|(repetition, tps)| Run {
            values: BTreeMap::from([("tps".to_owned(), *tps)]),
            ..Run::without_result(
                repetition,
                &format!("results/{csr}-{terminals}.{repetition}.json"),
                State::Complete,
                "",
            )
        })
        .collect();
    if let Some(run) = runs.last_mut() {
        run.state = last;
    }
    Point {
        label: format!("csr={csr}, terminals={terminals}"),
        at: vec![csr.to_owned(), terminals.to_owned()],
        plan: BTreeMap::from([("terminals".to_owned(), terminals.to_owned())]),
        metrics: Point::spreads(&runs, &["tps".to_owned()]),
        runs,
    }
}

fn spec(kind: Kind) -> FigureSpec {
    FigureSpec {
        title: "What the registry <costs>".into(),
        note: String::new(),
        kind,
        x: "terminals".into(),
        series: Some("csr".into()),
        panel: None,
        y: vec!["tps".into()],
        x_title: "terminals".into(),
        y_titles: vec!["Throughput, transactions/s".into()],
        x_scale: Scale::Log,
        relative_to: None,
        only: BTreeMap::new(),
        claim: None,
    }
}

fn sweep(figures: &[FigureSpec]) -> Sweep {
    let axes = vec![
        Axis { name: "csr".into(), values: vec!["on".into(), "off".into()] },
        Axis { name: "terminals".into(), values: vec!["1".into(), "10".into(), "100".into()] },
    ];
    let points = vec![
        point("on", "1", &[100.0, 110.0, 120.0], State::Complete),
        point("on", "10", &[900.0, 950.0, 10.0], State::Partial),
        point("on", "100", &[1.0], State::Failed),
        point("off", "1", &[200.0, 110.0, 100.0], State::Complete),
        point("off", "10", &[1_000.0, 1_000.0, 1_000.0], State::Complete),
        point("off", "100", &[2_000.0, 2_000.0, 2_000.0], State::Complete),
    ];
    Sweep {
        lydite: "0.1.0".into(),
        format: SWEEP_FORMAT,
        title: "Registry & \"costs\"".into(),
        description: String::new(),
        experiment: "csr.toml".into(),
        digest: "0".into(),
        repetitions: 3,
        reload: "loaded anew for each run".into(),
        pause_s: 0.0,
        figures: figures.iter().map(|figure| figure.draw(&axes, &points)).collect(),
        axes,
        metrics: vec!["tps".into()],
        points,
        environment: Environment::default(),
    }
}

#[test]
fn a_figure_holds_medians_of_complete_runs_and_tells_of_the_others() {
    let sweep = sweep(&[spec(Kind::Line)]);
    let panel = &sweep.figures[0].panels[0];
    let on = &panel.series[0].cells;
    assert_eq!(on[0].value, Spread::of(&[100.0, 110.0, 120.0]));
    assert_eq!(on[1].value, Spread::of(&[900.0, 950.0]), "the partial run is left out");
    assert_eq!(on[2].value, None);
    assert_eq!(
        sweep.figures[0].gaps(),
        [
            "No run has a number for: on, 100.",
            "Of fewer runs: on, 10 (2 of 3).",
            "Not shown: 1 partial result."
        ]
    );
    let page = render_sweep(&sweep);
    assert!(page.contains("Of fewer runs: on, 10 (2 of 3)."));
    assert!(page.contains("no complete run"), "the picture marks what is missing");
    assert!(page.contains("What the registry &lt;costs&gt;") && !page.contains("<costs>"));
    assert_eq!(page.matches("<svg class=\"plot").count(), 1);
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

/// The custom properties that a block of a style sheet sets.
fn properties(block: &str) -> BTreeSet<&str> {
    let declared = block.split([';', '{']).filter_map(|text| text.trim().split_once(':'));
    declared.map(|(name, _)| name.trim()).filter(|name| name.starts_with("--")).collect()
}

#[test]
fn the_page_has_a_switch_between_light_and_dark_without_a_script() {
    let page = render_sweep(&sweep(&[spec(Kind::Line)]));
    assert!(page.contains("<input type=\"checkbox\" id=\"other-theme\">") && !page.contains("<script"));
    let style = include_str!("../../assets/report.css");
    let usual = properties(style.split_once(":root{").unwrap().1.split_once('}').unwrap().0);
    assert!(usual.len() > 20, "{usual:?}");
    let blocks: Vec<_> = page.split(":root:has(#other-theme:checked) {").skip(1).collect();
    assert_eq!(blocks.len(), 2, "one for each theme of the system");
    for block in blocks {
        assert_eq!(properties(block.split_once('}').unwrap().0), usual);
    }
}

#[test]
fn ratios_are_those_of_the_same_repetition() {
    let figure = FigureSpec {
        series: None,
        relative_to: Some(("csr".into(), "off".into())),
        only: BTreeMap::from([("csr".into(), vec!["on".into()])]),
        ..spec(Kind::Bar)
    };
    let sweep = sweep(&[figure]);
    let cells = &sweep.figures[0].panels[0].series[0].cells;
    assert_eq!(cells[0].value, Spread::of(&[0.5, 1.0, 1.2]), "not the ratio of the medians, which is 1");
    assert_eq!(cells[1].value, Spread::of(&[0.9, 0.95]));
}

#[test]
fn the_document_reads_back_as_it_was_written() {
    let sweep = sweep(&[spec(Kind::Line), spec(Kind::Table)]);
    let text = serde_json::to_string(&sweep).unwrap();
    assert_eq!(serde_json::from_str::<Sweep>(&text).unwrap(), sweep);
    assert_eq!(render_csv(&sweep).lines().count(), 7);
    let table = render_summary(&sweep);
    assert!(
        table.contains("110 (100–120)") && table.contains("! csr=on, terminals=100, run 1: failed"),
        "{table}"
    );
}

#[test]
fn a_partial_result_counts_in_no_figure() {
    let metrics = [Metric::parse("tps").unwrap()];
    let partial = RunResult { status: Status::Partial, ..result() };
    let run = Run::of(1, "results/a.1.json", &partial, &metrics);
    assert_eq!((run.state, run.counted("tps")), (State::Partial, None));
    assert_eq!(Run::of(1, "results/a.1.json", &result(), &metrics).counted("tps"), Some(100.0));
}

#[test]
fn a_comparison_has_the_availability_that_both_runs_have() {
    let run = |r_e| {
        let fault = FaultAvailability { r_e, seconds_without_commit: 2, ..FaultAvailability::default() };
        RunResult { availability: vec![fault], ..RunResult::default() }
    };
    let names = |a: &RunResult, b: &RunResult| -> Vec<(String, f64)> {
        let found = lydite_report::compare::compare(a, b).metrics.into_iter();
        found
            .map(|of| (of.name, of.b))
            .filter(|(name, _)| name.contains("R_e") || name.contains("commit"))
            .collect()
    };
    let (re, lost) = ("R_e: how much it keeps".to_owned(), "Seconds without a commit".to_owned());
    assert_eq!(names(&run(Some(0.9)), &run(Some(0.5))), [(re, 0.5), (lost.clone(), 2.0)]);
    assert_eq!(names(&run(Some(0.9)), &run(None)), [(lost, 2.0)]);
}
