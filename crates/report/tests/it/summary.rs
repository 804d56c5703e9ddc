//! Several results in one table, and the summaries in Markdown.

use std::path::PathBuf;

use crate::sample::{Look, sample};
use lydite_report::figures::{self, number};
use lydite_report::model::RequirementResult;
use lydite_report::names::names;
use lydite_report::{
    FailIf, Gate, Requirement, RunResult, compare_all, render_comparison_summary, render_comparisons,
    render_html, render_report, render_run_summary, render_table,
};

fn labelled(label: &str, look: Look) -> RunResult {
    RunResult { label: Some(label.to_owned()), ..sample(look) }
}

fn three() -> [RunResult; 3] {
    let look = |seed, speed| Look { seed, speed, seconds: 30, ..Look::default() };
    [labelled("main", look(1, 1.0)), labelled("pr | <b>", look(2, 0.8)), labelled("pr | <b>", look(3, 1.2))]
}

/// The cells of the row of a Markdown table with this first cell.
fn cells<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let row = text.lines().find(|line| line.starts_with(&format!("| {first} |")));
    let row = row.unwrap_or_else(|| panic!("no row {first}\n{text}"));
    row.trim_matches('|').split(" | ").map(str::trim).collect()
}

fn with_requirements(mut result: RunResult) -> RunResult {
    result.requirements = ["tps > 1", "new_order.p99 < 1us"]
        .map(|text| Requirement::parse(text).unwrap().judge(&result))
        .to_vec();
    result
}

#[test]
fn a_summary_of_a_run_has_its_numbers_and_its_requirements() {
    let result = with_requirements(three()[0].clone());
    let text = render_run_summary(&result);
    assert!(text.starts_with("### Lydite: main\n\n"), "{text}");
    assert_eq!(cells(&text, "**NOPM**")[1], format!("**{}**", figures::nopm(result.nopm)));
    assert_eq!(cells(&text, "**tps**")[1], format!("**{}**", number(result.tps)));
    assert_eq!(cells(&text, "target")[1], "postgres 17.2 (Debian 17.2-1)");
    assert_eq!(cells(&text, "status")[1], "complete");
    let payment = result.transactions["payment"].latency_ms;
    assert_eq!(cells(&text, "Payment")[2..5], [payment.p50, payment.p95, payment.p99].map(number));
    assert_eq!(cells(&text, "✓")[1], "<code>tps &gt; 1</code>");
    assert_eq!(cells(&text, "✗")[1], r"<code>new\_order.p99 &lt; 1us</code>");
    assert!(text.contains("NOPM is not tpmC"), "{text}");
}

#[test]
fn a_summary_of_several_results_has_a_column_for_each_with_its_change() {
    let results = three();
    let names = names(&results, &[]);
    let gate = FailIf::parse("tps < -5%").unwrap();
    let gates: Vec<Vec<Gate>> =
        results[1..].iter().map(|other| vec![gate.judge(&results[0], other)]).collect();
    let text = render_comparison_summary(&results, &names, &compare_all(&results, &[]), &gates);
    assert!(text.contains(r"|  | A main | B pr \| &lt;b&gt; | C pr \| &lt;b&gt; |"), "{text}");
    let tps = cells(&text, "**tps**");
    let change = 100.0 * (results[1].tps / results[0].tps - 1.0);
    let expected = format!("{} ({change:+.2} %)", number(results[1].tps));
    assert_eq!((tps.len(), tps[2]), (4, expected.as_str()), "{text}");
    assert!(cells(&text, "New-Order p99 ms")[3].ends_with(" %)"), "{text}");
    let failed = cells(&text, "✗");
    assert_eq!(failed[1], "<code>tps &lt; -5%</code>");
    assert!(failed[2..].join(" | ").contains("in A main"), "{failed:?}");
    assert_eq!(text.matches("<code>tps &lt; -5%</code>").count(), 2, "of both of the others");
    assert!(!text.contains("<b>"), "{text}");
}

#[test]
fn each_of_several_results_is_compared_with_the_first() {
    let results = three();
    let text = render_comparisons(&compare_all(&results, &[]));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let head = text.lines().find(|line| line.contains("C/A")).unwrap();
    assert_eq!(words(head), ["A", "B", "B/A", "within", "runs", "C", "C/A", "within", "runs"]);
    let nopm = words(text.lines().find(|line| line.starts_with("NOPM")).unwrap());
    assert_eq!(nopm[1..3], [figures::nopm(results[0].nopm), figures::nopm(results[1].nopm)]);
    assert_eq!(nopm[3], format!("{:.2}", results[1].nopm / results[0].nopm));
    assert_eq!(nopm[7], figures::nopm(results[2].nopm));
    assert!(text.contains("One run each: C has 1.") && text.contains("One run each: B has 0."), "{text}");
    assert!(text.contains("A and C: The plans differ: seed (1 / 3)."), "{text}");
    assert!(text.contains("They cover the variation within these runs"), "{text}");
}

#[test]
fn a_type_that_only_one_comparison_has_keeps_its_place() {
    let mut results = three();
    results[1].transactions.remove("payment");
    let text = render_comparisons(&compare_all(&results, &[]));
    let at = |name: &str| {
        text.lines().position(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{text}"))
    };
    assert!(at("New-Order p99") < at("Payment p50") && at("Payment p99") < at("Order-Status p50"), "{text}");
    let row: Vec<&str> = text.lines().nth(at("Payment p50")).unwrap().split_whitespace().collect();
    assert_eq!(row[4..6], ["–", "–"], "{row:?}");
}

#[test]
fn labels_requirements_and_times_are_in_the_table_and_on_the_page() {
    let mut result = with_requirements(three()[0].clone());
    result.window.start = "2026-11-21T09:40:05.194337895Z".to_owned();
    let table = render_table(&result, 110, false);
    for words in [
        "label    main",
        "require  ✓ tps > 1: ",
        "✗ not met: new_order.p99 < 1us: ",
        "from 2026-11-21 09:40:05 UTC",
    ] {
        assert!(table.contains(words), "{words}\n{table}");
    }
    let page = render_html(std::slice::from_ref(&result));
    for words in [
        "<h1>main: postgres 17.2",
        "Requirements of the plan",
        ">new_order.p99 &lt; 1us<",
        ">not met<",
        "09:40:05 UTC",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("194337895"), "nobody reads nanoseconds");
}

#[test]
fn a_page_of_several_names_them_by_label_or_file_and_has_their_versions_in_a_table_of_their_own() {
    let mut results = three();
    results[2].label = None;
    let files = ["x/a.json", "x/b.json", "x/c.json"].map(PathBuf::from);
    let page = render_report(&results, &files, &lydite_report::metrics::Metrics::without_flags(&results));
    for words in ["A\u{a0}main", "B\u{a0}pr | &lt;b&gt;", "C\u{a0}c.json", ">C/A<", "The others against A"] {
        assert!(page.contains(words), "{words}");
    }
    // Its last mention is the name of the table itself.
    let table = page.rsplit("What was run").next().unwrap();
    let first_row = table.split("<tbody>").nth(1).unwrap();
    let place = |words: &str| first_row.find(words).unwrap_or_else(|| panic!("no {words}"));
    assert!(
        place("postgres 17.2 (Debian 17.2-1)") < place("class=\"n\""),
        "the version comes before the numbers"
    );
}

#[test]
fn a_verdict_of_another_version_is_shown_as_it_was_stored() {
    let mut result = sample(Look { seconds: 30, ..Look::default() });
    result.requirements = vec![RequirementResult {
        text: "marvels > 5 miles".to_owned(),
        metric: "marvels".to_owned(),
        value: Some(7.5),
        unit: "miles".to_owned(),
        met: true,
        note: String::new(),
        over: None,
    }];
    assert!(render_table(&result, 110, false).contains("✓ marvels > 5 miles: 7.50 miles"));
}

#[test]
fn every_rendering_rounds_new_orders_per_minute_down() {
    let mut result = three()[0].clone();
    result.nopm = 6187.6;
    assert_eq!(figures::nopm(99.99), "99.9");
    let names = ["A".to_owned(), "B".to_owned()];
    let pair = [result.clone(), result.clone()];
    let comparisons = compare_all(&pair, &[]);
    let gates = vec![vec![FailIf::parse("nopm < -5%").unwrap().judge(&result, &result)]];
    for text in [
        render_table(&result, 110, false),
        render_run_summary(&result),
        render_comparisons(&comparisons),
        render_comparison_summary(&pair, &names, &comparisons, &gates),
        render_html(&pair[..1]),
        render_report(&pair, &["a.json".into(), "b.json".into()], &Default::default()),
    ] {
        assert!(text.contains("6,187") && !text.contains("6,188"), "{text}");
    }
}
