//! The text and the page of a search: the answer in words, the levels, and nothing that a name could inject.

use lydite_report::find::{
    End, Estimate, FIND_FORMAT, Find, Found, Over, RunOfFind, RunVerdict, Rung, render_find_text, sentence,
};
use lydite_report::model::Status;
use lydite_report::render_find;
use lydite_report::sweep::Environment;
use std::collections::BTreeMap;

fn rung(level: f64, holds: Option<bool>, p99_ms: f64, share: f64) -> Rung {
    Rung {
        level,
        holds,
        certain: holds.is_some(),
        doubt: String::new(),
        probes: 2,
        held: if holds == Some(true) { 2 } else { 0 },
        tps: Some(level),
        p50_ms: Some(2.5),
        p99_ms: Some(p99_ms),
        is_thin: level < 150.0,
        over: vec![Over {
            objective: "new_order.p99 < 50ms".to_owned(),
            limit_ms: 50.0,
            allowed: 0.01,
            share,
            low: share / 2.0,
            high: share * 1.5,
        }],
        why: if holds == Some(true) { String::new() } else { format!("new_order.p99 {p99_ms} ms") },
    }
}

fn find() -> Find {
    let run = |number: u32, level: f64, probe: Option<usize>| RunOfFind {
        number,
        level,
        probe,
        file: format!("results/{number}.json"),
        busy: probe.is_none(),
        tps: level,
        values: vec!["new_order.p99 20.0 ms".to_owned()],
        met: Some(level < 500.0),
        verdict: if level < 500.0 { RunVerdict::Holds } else { RunVerdict::Fails },
        why: String::new(),
        growth: Some(0.0002),
    };
    Find {
        lydite: "0.1.0".to_owned(),
        format: FIND_FORMAT,
        status: Status::Complete,
        label: Some("<b>Limit</b>".to_owned()),
        find: Found {
            objective: "new_order.p99 < 50ms".to_owned(),
            objectives: vec!["new_order.p99 < 50ms".to_owned()],
            limits_ms: vec![50.0],
            mode: "open",
            level: "rate",
            title: "rate",
            unit: "transactions/s",
            highest: Some(450.0),
            next_above: Some(463.0),
            next_below: Some(100.0),
            confidence: Some(0.9876),
            limit: Some(Estimate { at: 456.0, low: 449.0, high: 462.5, stalled: 0 }),
            end: End::Found,
            range: [10.0, 1e6],
            resolution: 0.03,
            curve: vec![
                rung(100.0, Some(true), 12.0, 0.001),
                rung(450.0, Some(true), 48.0, 0.008),
                rung(463.0, Some(false), 61.5, 0.02),
                rung(900.0, None, 4_000.0, 0.6),
            ],
        },
        plan: BTreeMap::from([("target".to_owned(), "postgres://host/db".to_owned())]),
        reload: "restored from a template for each run".to_owned(),
        took_s: 300.0,
        runs: vec![run(1, 100.0, None), run(2, 100.0, Some(1)), run(3, 900.0, Some(2))],
        environment: Environment::default(),
        warnings: vec!["The <machine> was busy.".to_owned()],
    }
}

#[test]
fn the_text_has_the_answer_its_neighbours_and_all_levels() {
    let text = render_find_text(&find());
    for words in [
        "warning: The <machine> was busy.\n",
        "450 transactions/s hold new_order.p99 < 50ms; 463 transactions/s fail (new_order.p99 61.5 ms)\n",
        "between the two with a probability of 98.7 %",
        "the limit is at 456 (449 to 463 with 90 %)",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let line = |level: &str| {
        let found = text.lines().find(|line| line.starts_with(level));
        found.unwrap_or_else(|| panic!("no {level} in {text}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(line("100 "), ["100", "holds", "100", "2.50", "~12.0", "0.100", "2", "of", "2"]);
    assert_eq!(line("463 ")[..2], ["463", "fails"]);
    assert_eq!(line("900 ")[..3], ["900", "not", "judged"]);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn each_end_has_its_sentence() {
    let found = |change: &dyn Fn(&mut Found)| {
        let mut found = find().find;
        change(&mut found);
        sentence(&found)
    };
    for (of, words) in [
        (
            found(&|of| {
                (of.end, of.highest, of.next_above, of.range) =
                    (End::FailsAtLowest, None, Some(463.0), [463.0, 1e6]);
            }),
            "463 transactions/s, the lowest, already fail new_order.p99 < 50ms (new_order.p99 61.5 ms)",
        ),
        (
            found(&|of| (of.end, of.next_above) = (End::HoldsAtHighest, None)),
            "450 transactions/s, the highest, still hold new_order.p99 < 50ms: the limit is higher",
        ),
        (
            found(&|of| of.end = End::Time),
            "the time is over: 450 transactions/s hold new_order.p99 < 50ms so far; 463 transactions/s fail",
        ),
        (
            found(&|of| (of.end, of.highest, of.next_above) = (End::Time, None, None)),
            "the time is over: no level was judged for new_order.p99 < 50ms",
        ),
        (
            found(&|of| (of.end, of.highest) = (End::Open, None)),
            "not found yet: 463 transactions/s fail new_order.p99 < 50ms",
        ),
        (
            found(&|of| (of.end, of.unit, of.level, of.highest) = (End::Found, "", "sessions", Some(1.0))),
            "1 session holds new_order.p99 < 50ms; 463 sessions fail ",
        ),
    ] {
        assert!(of.starts_with(words), "{of}");
    }
}

/// Leaves the levels from 450 to 463 in doubt.
fn in_doubt() -> Find {
    let mut find = find();
    for rung in &mut find.find.curve {
        if (450.0..=463.0).contains(&rung.level) {
            (rung.certain, rung.doubt) = (false, "0.9 % took longer, 1 % may".to_owned());
        }
    }
    let run = &mut find.runs[1];
    (run.verdict, run.why) = (RunVerdict::InDoubt, "the queue seems to grow".to_owned());
    find
}

#[test]
fn levels_in_doubt_are_told_from_certain_ones() {
    let find = in_doubt();
    let text = render_find_text(&find);
    for words in [
        "450 transactions/s hold new_order.p99 < 50ms (in doubt); ",
        "; 463 transactions/s fail (new_order.p99 61.5 ms; in doubt)\n",
        "In doubt: 450 transactions/s, 463 transactions/s. Certain: 100 transactions/s hold.\n",
        " holds, in doubt ",
        " fails, in doubt ",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let certain = render_find_text(&self::find());
    assert!(!certain.to_lowercase().contains("doubt"), "{certain}");
    let page = render_find(&find);
    for words in [
        "In doubt: 450 transactions/s, 463 transactions/s. Certain: 100 transactions/s hold.",
        "transactions/s: fails, in doubt",
        "463 transactions/s, fails, in doubt: p99 61.5 ms",
        "new_order.p99 61.5 ms; 0.9 % took longer, 1 % may",
        "the queue seems to grow",
    ] {
        assert!(page.contains(words), "no {words:?}");
    }
    let document = serde_json::to_value(&find).unwrap();
    let curve = document["find"]["curve"].as_array().unwrap();
    let certain: Vec<bool> = curve.iter().map(|rung| rung["certain"].as_bool().unwrap()).collect();
    assert_eq!(certain, [true, false, false, false]);
    assert_eq!(curve[1]["holds"], true, "the answer keeps its verdict");
    assert_eq!(document["runs"][1]["verdict"], "in_doubt");
}

#[test]
fn the_axis_of_levels_has_three_to_seven_round_numbers() {
    for (lowest, highest) in [(400.0, 500.0), (1000.0, 1002.0), (10.0, 1e6), (1.0, 1024.0), (3.0, 4.0)] {
        let mut find = find();
        for (rung, level) in find.find.curve.iter_mut().zip([lowest, lowest, highest, highest]) {
            rung.level = level;
        }
        let page = render_find(&find);
        let across = page.matches("text-anchor=\"middle\"").count();
        // The labels of the levels, and the two titles.
        assert!((5..=9).contains(&across), "{lowest} to {highest}: {across}");
    }
}

#[test]
fn the_page_shows_the_curve_and_escapes_every_text() {
    let page = render_find(&find());
    for words in [
        "&lt;b&gt;Limit&lt;/b&gt;",
        "The &lt;machine&gt; was busy.",
        "98.7 %",
        "<svg",
        "463 transactions/s, fails: p99 61.5 ms",
        "limit 50.0 ms",
        "0.800 % (0.400 to 1.20), allowed 1.00 %",
        "busy machine, repeated",
        "href=\"results/2.json\"",
        "restored from a template for each run",
    ] {
        assert!(page.contains(words), "no {words:?}");
    }
    assert!(!page.contains("<machine>") && !page.contains("http://"));
    let mut without = find();
    without.find.curve.clear();
    assert!(!render_find(&without).contains("<svg"), "nothing to draw");
    assert_eq!(serde_json::to_value(&without).unwrap()["find"]["curve"], serde_json::json!([]));
}
