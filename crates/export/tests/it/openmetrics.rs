//! OpenMetrics text, read back by the rules of its specification.

use crate::sample::{LABEL, STATEMENT, sample, written};
use lydite_export::{ExportError, Format, Layout, Run, TABLES, Table};
use std::collections::{BTreeMap, BTreeSet};

/// A sample.
#[derive(Debug, Clone)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
    at: f64,
}

/// A metric family.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    unit: String,
    samples: Vec<Sample>,
}

/// Reads labels up to the closing brace, and returns the rest of the line.
fn labels(mut text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    loop {
        let (name, rest) = text.split_once("=\"").expect("a label");
        assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'), "{name}");
        let (mut value, mut letters) = (String::new(), rest.char_indices());
        let end = loop {
            match letters.next().expect("the end of a label") {
                (place, '"') => break place,
                (_, '\\') => match letters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, letter @ ('\\' | '"'))) => value.push(letter),
                    other => panic!("{other:?} is escaped"),
                },
                (_, letter) => value.push(letter),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "{name} twice");
        match rest[end + 1..].split_at(1) {
            (",", more) => text = more,
            ("}", more) => return (labels, more.strip_prefix(' ').expect("a blank")),
            (other, _) => panic!("{other} after a label"),
        }
    }
}

fn read(text: &str) -> BTreeMap<String, Family> {
    let body = text.strip_suffix("# EOF\n").expect("the end");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut now = String::new();
    for line in body.lines() {
        if let Some(meta) = line.strip_prefix("# ") {
            let [what, name, rest] = meta.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            if what == "TYPE" {
                assert!(!families.contains_key(name), "{name} is no family apart");
                now = name.to_owned();
            }
            assert_eq!(name, now, "{line}");
            let family = families.entry(now.clone()).or_default();
            assert!(family.samples.is_empty(), "{line} after its samples");
            match what {
                "TYPE" => family.kind = rest.to_owned(),
                "UNIT" => family.unit = rest.to_owned(),
                "HELP" => {}
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, rest) = line.split_once('{').expect("a sample");
        let (labels, rest) = labels(rest);
        let (value, at) = rest.split_once(' ').expect("a time");
        let sample =
            Sample { name: name.to_owned(), labels, value: value.parse().unwrap(), at: at.parse().unwrap() };
        families.get_mut(&now).unwrap().samples.push(sample);
    }
    families
}

/// Holds the families to the rules that readers rely on.
fn check(families: &BTreeMap<String, Family>) {
    for (name, family) in families {
        let end = match family.kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            "gauge" => "",
            other => panic!("{name} is a {other}"),
        };
        assert!(
            family.unit.is_empty() || name.ends_with(&format!("_{}", family.unit)),
            "{name}: {}",
            family.unit
        );
        assert!(!family.samples.is_empty(), "{name}");
        let (mut seen, mut before): (BTreeSet<String>, Option<&Sample>) = (BTreeSet::new(), None);
        for sample in &family.samples {
            assert_eq!(sample.name, format!("{name}{end}"));
            match before.filter(|before| before.labels == sample.labels) {
                Some(before) => {
                    assert!(before.at < sample.at, "{name} goes back in time: {sample:?}");
                    assert!(family.kind != "counter" || before.value <= sample.value, "{name}: {sample:?}");
                }
                None => assert!(seen.insert(format!("{:?}", sample.labels)), "{name}: a series in two parts"),
            }
            assert!(family.kind != "info" || sample.value == 1.0);
            before = Some(sample);
        }
    }
}

#[test]
fn two_results_are_one_valid_document_whose_counters_end_at_the_totals() {
    let (one, mut other) = (sample(), sample());
    other.label = None;
    let runs = [Run::new("a.json".to_owned(), &one), Run::new("b.json".to_owned(), &other)];
    let families = read(&written("openmetrics", &[], &runs));
    check(&families);
    let samples = |name: &str, run: &str| -> Vec<(f64, f64)> {
        let of = families[name].samples.iter().filter(|sample| sample.labels["run"] == run);
        let measured =
            of.filter(|sample| sample.labels.get("window").is_none_or(|window| window == "measured"));
        measured.map(|sample| (sample.at, sample.value)).collect()
    };
    let start = 1_767_323_045.123_456;
    let seen = samples("lydite_series_new_order", "a.json");
    assert_eq!(seen, [(start, 0.0), (start + 1.0, 3.0), (start + 2.0, 3.0), (start + 2.25, 7.0)]);
    // Without a sample there is no value: none is 0, and none is repeated.
    let seen = samples("lydite_series_new_order_p99_seconds", "b.json");
    assert_eq!(seen, [(start + 1.0, 0.007), (start + 2.25, 1e-7 / 1000.0)]);
    assert_eq!(samples("lydite_transactions_committed", "a.json").last().unwrap().1, 2.0);
    assert_eq!(families["lydite_series_new_order_p99_seconds"].unit, "seconds");
    assert!(!families.contains_key("lydite_series_micro"), "a family without samples");

    let info = &families["lydite_statements"].samples[0];
    assert_eq!((&*info.labels["label"], &*info.labels["statement"]), (LABEL, STATEMENT));
    assert!(!families["lydite_statements"].samples.last().unwrap().labels.contains_key("label"));
    let observed = &families["lydite_observed_value"].samples[0];
    assert_eq!(observed.labels["name"], one.observed[0].name);
}

#[test]
fn rows_that_would_be_one_series_are_refused() {
    let mut result = sample();
    let again = result.observed[0].clone();
    result.observed.push(again);
    let runs = [Run::new("a.json".to_owned(), &result)];
    let tables: Vec<Table<'_>> = TABLES.iter().map(|kind| Table::of(kind, &runs).unwrap()).collect();
    let Layout::OneDocument(write) = Format::named("openmetrics").unwrap().layout else { panic!() };
    let error = write(&tables, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, ExportError::Twice { table: "observed", .. }), "{error}");
}
