//! Summaries in Markdown, for a pull request or a log that renders Markdown.

use std::fmt::Write as _;

use crate::compare::{Comparison, all_warnings};
use crate::figures::{THIN_NOTE, duration, moment, type_name};
use crate::findings::{disclaimer, findings_with_losses, shown_types};
use crate::gate::{Gate, change_percent, signed_percent};
use crate::model::{RunResult, Status, TransactionResult};
use crate::numbers::latency::{OF_LATENCY, OfLatency};
use crate::numbers::types::OF_TYPE;
use crate::numbers::{Group, NUMBERS, Number, Summary};
use crate::table::{checks_in_words, plan_in_words};

/// Renders one result: target and plan, throughput, each transaction type, the requirements, and the findings.
#[must_use]
pub fn render_run_summary(result: &RunResult) -> String {
    let title = result.label.as_deref().unwrap_or(&result.target.kind);
    let mut out = format!("### Lydite: {}\n\n", escaped(title));
    let mut rows = facts(result);
    let start = match moment(&result.window.start) {
        start if start.is_empty() => String::new(),
        start => format!(" from {start}"),
    };
    rows.push(("plan", escaped(&plan_in_words(result))));
    rows.push(("measured", escaped(&format!("{}{start}", duration(result.window.measured_s)))));
    let mut rows: Vec<Vec<String>> =
        rows.into_iter().map(|(name, text)| vec![name.to_owned(), text]).collect();
    for number in NUMBERS.iter().filter(|number| (number.is_shown)(result)) {
        let Some(summary @ Summary { alone: Some(text), .. }) = &number.summary else { continue };
        rows.push(vec![summary.in_bold(summary.label), summary.in_bold(&text(number.value(result)))]);
    }
    table(&mut out, &["", "result"], 2, rows.into_iter());
    let counts = |leads| OF_TYPE.iter().filter(move |count| count.in_summary && count.leads == leads);
    let types = shown_types(result).into_iter().map(|(key, of)| {
        let mut cells = vec![escaped(type_name(key))];
        cells.extend(counts(true).map(|count| (count.text)(result, of)));
        cells.extend(
            compared_latencies().map(|latency| escaped(&latency.text(of.completed(), &of.latency_ms))),
        );
        cells.extend(counts(false).map(|count| (count.text)(result, of)));
        cells
    });
    let head: Vec<String> = std::iter::once("transaction".to_owned())
        .chain(counts(true).map(|count| count.head.to_owned()))
        .chain(compared_latencies().map(|latency| format!("{} ms", latency.head)))
        .chain(counts(false).map(|count| count.head.to_owned()))
        .collect();
    table(&mut out, &head.iter().map(String::as_str).collect::<Vec<_>>(), 1, types);
    few_note(&mut out, std::slice::from_ref(result));
    requirements(&mut out, &[String::new()], std::slice::from_ref(result));
    list(&mut out, findings_with_losses(result).map(|finding| finding.text));
    footer(&mut out, std::slice::from_ref(result));
    out
}

/// Renders several results side by side, each with its change from the first. `names` has their names, `comparisons`
/// the comparisons of [`compare_all`](crate::compare_all), and `gates` the verdicts on each result after the first, in
/// order.
#[must_use]
pub fn render_comparison_summary(
    results: &[RunResult],
    names: &[String],
    comparisons: &[Comparison],
    gates: &[Vec<Gate>],
) -> String {
    let mut out = "### Lydite: comparison\n\n".to_owned();
    list(&mut out, all_warnings(comparisons).into_iter());
    for comparison in comparisons {
        let _ = writeln!(out, "{}\n", escaped(&comparison.sentence));
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let facts: Vec<Vec<(&str, String)>> = results.iter().map(facts).collect();
    for (place, (name, _)) in facts.first().into_iter().flatten().enumerate() {
        let cells = facts.iter().map(|of| of.get(place).map_or(String::new(), |(_, text)| text.clone()));
        rows.push(std::iter::once((*name).to_owned()).chain(cells).collect());
    }
    rows.extend(changes(results));
    let escaped_names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
    let head: Vec<&str> = std::iter::once("").chain(escaped_names.iter().map(String::as_str)).collect();
    table(&mut out, &head, 1, rows.into_iter());
    few_note(&mut out, results);

    let first = names.first().map_or("", String::as_str);
    let judged = gates.iter().zip(names.iter().skip(1)).flat_map(|(gates, name)| {
        gates.iter().map(move |gate| {
            vec![mark(!gate.failed).to_owned(), code(&gate.text), escaped(&gate.words((first, name)))]
        })
    });
    table(&mut out, &["", "fails if", "found"], 3, judged);
    requirements(&mut out, names, results);
    footer(&mut out, results);
    out
}

/// Returns a row for each number of several results, with its change from the first: the throughput, the latencies by
/// type, and the other numbers.
fn changes(results: &[RunResult]) -> Vec<Vec<String>> {
    let changing = |name: String,
                    shown: &dyn Fn(&RunResult, Option<f64>) -> String,
                    of: &dyn Fn(&RunResult) -> Option<f64>| {
        let first = results.first().and_then(of);
        let cell = |(place, result): (usize, &RunResult)| {
            let value = of(result);
            let change =
                first.zip(value).filter(|_| place > 0).and_then(|(from, to)| change_percent(from, to));
            let change = change.map_or(String::new(), |change| format!(" ({})", signed_percent(change)));
            format!("{}{change}", shown(result, value))
        };
        std::iter::once(name).chain(results.iter().enumerate().map(cell)).collect()
    };
    let of_group = |group| {
        Number::in_group(group).filter(|number| results.iter().any(number.is_shown)).filter_map(|number| {
            let summary = number.summary.as_ref()?;
            let of = |result: &RunResult| (number.of)(result).filter(|_| (number.is_shown)(result));
            Some(changing(summary.in_bold(summary.label), &|_, value| (number.text)(value), &of))
        })
    };
    let mut rows: Vec<Vec<String>> = of_group(Group::Throughput).collect();
    for key in types_of_any(results) {
        for latency in compared_latencies() {
            let done = |result: &'_ RunResult| {
                result.transactions.get(key).map(|of| (of.completed(), of.latency_ms))
            };
            rows.push(changing(
                format!("{} {} ms", escaped(type_name(key)), latency.head),
                &|result, _| {
                    escaped(&done(result).map_or("–".to_owned(), |(count, of)| latency.text(count, &of)))
                },
                &|result| done(result).and_then(|(_, of)| (latency.of)(&of)),
            ));
        }
    }
    rows.extend(of_group(Group::Other));
    rows
}

/// Explains the mark of percentiles with too few samples, if a summary has any.
fn few_note(out: &mut String, results: &[RunResult]) {
    let mut types = results.iter().flat_map(shown_types);
    let few = |(_, of): (&str, &TransactionResult)| {
        compared_latencies().any(|latency| latency.is_thin(of.completed()))
    };
    if types.any(few) {
        let _ = writeln!(out, "{}\n", escaped(THIN_NOTE));
    }
}

/// Returns the numbers of a latency that summaries show.
fn compared_latencies() -> impl Iterator<Item = &'static OfLatency> {
    OF_LATENCY.iter().filter(|latency| latency.is_compared)
}

impl Summary {
    /// Returns text in bold if the number is a main one.
    fn in_bold(&self, text: &str) -> String {
        if self.is_main { format!("**{text}**") } else { text.to_owned() }
    }
}

/// Returns rows about a result other than its numbers: their names, and texts in Markdown.
fn facts(result: &RunResult) -> Vec<(&'static str, String)> {
    let status = match result.status {
        Status::Complete => "complete",
        Status::Partial => "partial",
    };
    let checks = if result.checks.is_empty() { "not made".to_owned() } else { checks_in_words(result) };
    let target = format!("{} {}", result.target.kind, result.target.version);
    [
        ("target", target.as_str()),
        ("lydite", result.lydite.as_str()),
        ("status", status),
        ("checks", checks.as_str()),
    ]
    .map(|(name, text)| (name, escaped(text)))
    .to_vec()
}

/// Returns the transaction types that any of the results shows, in the usual order.
fn types_of_any(results: &[RunResult]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for (key, _) in results.iter().flat_map(shown_types) {
        if !all.contains(&key) {
            all.push(key);
        }
    }
    all
}

/// Appends the requirements of the plans of the results.
fn requirements(out: &mut String, names: &[String], results: &[RunResult]) {
    let several = results.len() > 1;
    let rows = results.iter().zip(names).flat_map(|(result, name)| {
        result.requirements.iter().map(move |requirement| {
            let mut cells = vec![mark(requirement.met).to_owned()];
            cells.extend(several.then(|| escaped(name)));
            cells.extend([code(&requirement.text), escaped(&requirement.measured())]);
            cells
        })
    });
    let head: &[&str] =
        if several { &["", "run", "requires", "measured"] } else { &["", "requires", "measured"] };
    table(out, head, head.len(), rows);
}

pub(crate) fn mark(good: bool) -> &'static str {
    if good { "✓" } else { "✗" }
}

/// Appends a table of cells in Markdown; nothing without rows. The first `words` columns are aligned to the left, the
/// others, which hold numbers, to the right.
pub(crate) fn table(out: &mut String, head: &[&str], words: usize, rows: impl Iterator<Item = Vec<String>>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let mut line = |cells: &[&str]| {
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    line(head);
    let rule: Vec<&str> = (0..head.len()).map(|column| if column < words { "---" } else { "---:" }).collect();
    line(&rule);
    for row in rows {
        line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    out.push('\n');
}

pub(crate) fn list(out: &mut String, lines: impl Iterator<Item = String>) {
    let before = out.len();
    for line in lines {
        let _ = writeln!(out, "- {}", escaped(&line));
    }
    if out.len() > before {
        out.push('\n');
    }
}

pub(crate) fn footer(out: &mut String, results: &[RunResult]) {
    let mut texts: Vec<&str> = results.iter().map(disclaimer).collect();
    texts.dedup();
    for text in texts {
        let _ = writeln!(out, "<sub>{}</sub>", escaped(text));
    }
}

/// Returns text from any source with the syntax of Markdown, tables and HTML escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_whitespace() => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

pub(crate) fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("a|b\n**c** <img> `d` [e](f)"), r"a\|b \*\*c\*\* &lt;img&gt; \`d\` \[e\](f)");
    }
}
