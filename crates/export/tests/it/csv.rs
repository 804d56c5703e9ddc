//! CSV, read back by RFC 4180.

use crate::sample::{LABEL, STATEMENT, sample, written};
use lydite_export::Run;
use lydite_report::RunResult;

/// Reads CSV strictly: lines end with CR LF, quotes stand around a whole field, and all lines have as many fields. A
/// field without quotes that is empty is null.
fn read(text: &str) -> Vec<Vec<Option<String>>> {
    let mut letters = text.chars().peekable();
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    while letters.peek().is_some() {
        let mut field = String::new();
        let quoted = letters.next_if_eq(&'"').is_some();
        if quoted {
            loop {
                match letters.next().expect("the end of a quoted field") {
                    '"' if letters.next_if_eq(&'"').is_some() => field.push('"'),
                    '"' => break,
                    letter => field.push(letter),
                }
            }
        } else {
            while let Some(letter) = letters.next_if(|letter| !matches!(letter, ',' | '\r' | '\n')) {
                assert_ne!(letter, '"', "a quote within a field: {field}");
                field.push(letter);
            }
        }
        line.push((quoted || !field.is_empty()).then_some(field));
        match letters.next() {
            Some(',') => {}
            Some('\r') => {
                assert_eq!(letters.next(), Some('\n'));
                lines.push(std::mem::take(&mut line));
            }
            other => panic!("{other:?} after a field"),
        }
    }
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
    lines
}

#[test]
fn texts_with_commas_quotes_and_ends_of_lines_come_back_and_null_is_no_empty_text() {
    let (mut full, mut plain) = (sample(), RunResult::default());
    full.observed[0].unit = String::new();
    plain.label = Some(String::new());
    let runs = [Run::new("out/a,1.json".to_owned(), &full), Run::new("b.json".to_owned(), &plain)];
    let at = |lines: &[Vec<Option<String>>], line: usize, name: &str| {
        let place = lines[0].iter().position(|of| of.as_deref() == Some(name)).expect(name);
        lines[line][place].clone()
    };
    let statements = read(&written("csv", &["statements"], &runs));
    assert_eq!(at(&statements, 1, "label").as_deref(), Some(LABEL));
    assert_eq!(at(&statements, 1, "run").as_deref(), Some("out/a,1.json"));
    assert_eq!(at(&statements, 1, "statement").as_deref(), Some(STATEMENT));
    assert_eq!([1, 2].map(|line| at(&statements, line, "rank").unwrap()), ["1", "2"]);
    assert_eq!(at(&statements, 1, "blocks_hit"), None);
    let runs_table = read(&written("csv", &["runs"], &runs));
    assert_eq!(at(&runs_table, 2, "label").as_deref(), Some(""), "an empty label");
    assert_eq!(at(&runs_table, 2, "time"), None);
    let observed = read(&written("csv", &["observed"], &runs));
    assert_eq!(at(&observed, 1, "name").as_deref(), Some(full.observed[0].name.as_str()));
    assert_eq!(at(&observed, 1, "unit").as_deref(), Some(""), "a plain number");
    assert_eq!(
        [1, 2, 3].map(|line| at(&observed, line, "value")),
        [Some("0.5".into()), None, Some("2.0".into())]
    );
    let series = read(&written("csv", &["series"], &runs));
    let small: f64 = at(&series, 5, "new_order_p99_ms").unwrap().parse().unwrap();
    assert_eq!(small, 1e-7, "no digit is lost");
}
