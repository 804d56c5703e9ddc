//! Influx's line protocol, read back strictly.

use crate::sample::{LABEL, STATEMENT, sample, written};
use lydite_export::{ExportError, Format, Layout, Run, Table, TableKind};
use std::collections::{BTreeMap, BTreeSet};

/// A point.
#[derive(Debug)]
struct Point {
    measurement: String,
    tags: BTreeMap<String, String>,
    /// Fields as they were written.
    fields: BTreeMap<String, String>,
    time_ns: i128,
}

/// Splits at a letter that is neither escaped nor within quotes.
fn split(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut from, mut escaped, mut quoted) = (Vec::new(), 0, false, false);
    for (place, letter) in text.char_indices() {
        if letter == at && !escaped && !quoted {
            parts.push(&text[from..place]);
            from = place + letter.len_utf8();
        }
        quoted ^= letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
    }
    parts.push(&text[from..]);
    parts
}

/// Splits the tags of a line, whose quotes mean nothing.
fn split_tags(text: &str, at: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = parts.last_mut().unwrap();
        // A backslash escapes these alone, and stands for itself before all others.
        if letter == '\\' && letters.peek().is_some_and(|next| [',', '=', ' '].contains(next)) {
            last.extend([letter, letters.next().unwrap()]);
        } else if letter == at {
            parts.push(String::new());
        } else {
            last.push(letter);
        }
    }
    parts
}

fn unescaped(text: &str) -> String {
    text.replace("\\,", ",").replace("\\=", "=").replace("\\ ", " ")
}

fn read(line: &str) -> Point {
    let head_end = split_tags(line, ' ')[0].len();
    let (head, rest) = line.split_at(head_end);
    let [fields, time] = split(rest.trim_start_matches(' '), ' ')[..] else { panic!("{line}") };
    let mut head = split_tags(head, ',').into_iter();
    let measurement = head.next().unwrap();
    let tags = head.map(|tag| {
        let [key, value] = &split_tags(&tag, '=')[..] else { panic!("{tag}") };
        assert!(!value.is_empty() && !value.ends_with('\\'), "{line}");
        (key.clone(), unescaped(value))
    });
    let fields = split(fields, ',').into_iter().map(|field| {
        let (key, value) = field.split_once('=').expect("a field");
        let is_typed = value == "true"
            || value == "false"
            || value.strip_suffix('i').is_some_and(|number| number.parse::<i64>().is_ok())
            || value.len() >= 2 && value.starts_with('"') && value.ends_with('"')
            || value.parse::<f64>().is_ok_and(f64::is_finite);
        assert!(is_typed, "{field}");
        (key.to_owned(), value.to_owned())
    });
    Point {
        measurement,
        tags: tags.collect(),
        fields: fields.collect(),
        time_ns: time.parse().expect("a time"),
    }
}

#[test]
fn each_row_is_a_point_with_its_tags_fields_and_time() {
    let result = sample();
    let runs = [Run::new("out/a 1.json".to_owned(), &result)];
    let text = written("influx", &[], &runs);
    let points: Vec<Point> = text.lines().map(read).collect();
    let of = |table: &str| {
        let measurement = format!("lydite_{table}");
        points.iter().filter(move |point| point.measurement == measurement)
    };
    // An end of a line is written as `\n`, since a point is one line.
    let label = LABEL.replace('\n', "\\n");
    assert!(points.iter().all(|point| point.tags["run"] == "out/a 1.json" && point.tags["label"] == label));
    assert_eq!(of("series").count(), 5);
    let last = of("series").next_back().unwrap();
    assert_eq!(last.time_ns, 1_767_323_047_123_456_000);
    assert_eq!((&*last.fields["new_order"], &*last.fields["new_order_p50_ms"]), ("4i", "0.25"));
    let second = of("series").nth(3).unwrap();
    assert!(!second.fields.contains_key("new_order_p50_ms"), "null is left out");
    assert_eq!(second.fields["completed"], "0i");
    let observed = of("observed").next().unwrap();
    assert_eq!(observed.tags["name"], result.observed[0].name);
    let statement = of("statements").next().unwrap();
    let wanted = STATEMENT.replace('\n', "\\n").replace('\\', "\\\\").replace('"', "\\\"");
    assert_eq!(statement.fields["statement"], format!("\"{wanted}\""));
    let keys: BTreeSet<String> = points
        .iter()
        .map(|point| format!("{}{:?}{}", point.measurement, point.tags, point.time_ns))
        .collect();
    assert_eq!(keys.len(), points.len(), "no point replaces another one");
}

#[test]
fn a_tag_that_the_protocol_cannot_hold_is_refused() {
    let mut result = sample();
    result.label = Some("C:\\".to_owned());
    let runs = [Run::new("a.json".to_owned(), &result)];
    let table = Table::of(TableKind::named("runs").unwrap(), &runs).unwrap();
    let Layout::OneDocument(write) = Format::named("influx").unwrap().layout else { panic!() };
    let error = write(&[table], &mut Vec::new()).unwrap_err();
    assert!(matches!(error, ExportError::Tag { column: "label", .. }), "{error}");
}
