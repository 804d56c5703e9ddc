//! Summaries in Markdown, for a pull request or a log that renders Markdown.

use std::fmt::Write as _;

use crate::compare::{Comparison, all_warnings};
use crate::figures::{count, duration, moment, nopm, number, type_name};
use crate::findings::{disclaimer, findings_with_losses, has_new_orders, shown_types};
use crate::gate::{Gate, change_percent, signed_percent};
use crate::model::{Latency, RunResult, Status, TransactionResult};
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
    if has_new_orders(result) {
        rows.push(("**NOPM**", format!("**{}**", nopm(result.nopm))));
    }
    rows.push(("**tps**", format!("**{}**", number(result.tps))));
    rows.push(("aborts", count(result.aborts.values().sum())));
    let rows = rows.into_iter().map(|(name, text)| vec![name.to_owned(), text]);
    table(&mut out, &["", "result"], 2, rows);
    let types = shown_types(result).into_iter().map(|(key, of)| {
        let Latency { p50, p95, p99, .. } = of.latency_ms;
        let mut cells = vec![escaped(type_name(key)), count(of.completed())];
        cells.extend([p50, p95, p99].map(number));
        cells.extend([of.failed, of.unknown].map(count));
        cells
    });
    let head = ["transaction", "count", "p50 ms", "p95 ms", "p99 ms", "failed", "unknown"];
    table(&mut out, &head, 1, types);
    requirements(&mut out, &[String::new()], std::slice::from_ref(result));
    list(&mut out, findings_with_losses(result).into_iter().map(|finding| finding.text));
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
    for comparison in comparisons {
        let _ = writeln!(out, "{}\n", escaped(&comparison.sentence));
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let facts: Vec<Vec<(&str, String)>> = results.iter().map(facts).collect();
    for (place, (name, _)) in facts.first().into_iter().flatten().enumerate() {
        let cells = facts.iter().map(|of| of.get(place).map_or(String::new(), |(_, text)| text.clone()));
        rows.push(std::iter::once((*name).to_owned()).chain(cells).collect());
    }
    let mut changing =
        |name: String, shown: fn(Option<f64>) -> String, of: &dyn Fn(&RunResult) -> Option<f64>| {
            let first = results.first().and_then(of);
            let cell = |(place, result): (usize, &RunResult)| {
                let value = of(result);
                let change =
                    first.zip(value).filter(|_| place > 0).and_then(|(from, to)| change_percent(from, to));
                let change = change.map_or(String::new(), |change| format!(" ({})", signed_percent(change)));
                format!("{}{change}", shown(value))
            };
            rows.push(std::iter::once(name).chain(results.iter().enumerate().map(cell)).collect());
        };
    if results.iter().any(has_new_orders) {
        changing("**NOPM**".to_owned(), nopm, &|result| has_new_orders(result).then_some(result.nopm));
    }
    changing("**tps**".to_owned(), number, &|result| Some(result.tps));
    for key in types_of_any(results) {
        type Percentile = (&'static str, fn(&Latency) -> Option<f64>);
        let percentiles: [Percentile; 3] = [("p50", |l| l.p50), ("p95", |l| l.p95), ("p99", |l| l.p99)];
        for (name, of) in percentiles {
            changing(format!("{} {name} ms", escaped(type_name(key))), number, &|result| {
                result.transactions.get(key).and_then(|done| of(&done.latency_ms))
            });
        }
    }
    let sum = |result: &RunResult, of: fn(&TransactionResult) -> u64| -> Option<f64> {
        Some(result.transactions.values().map(of).sum::<u64>() as f64)
    };
    changing("failed".to_owned(), number, &|result| sum(result, |done| done.failed));
    changing("unknown".to_owned(), number, &|result| sum(result, |done| done.unknown));
    changing("aborts".to_owned(), number, &|result| Some(result.aborts.values().sum::<u64>() as f64));
    let escaped_names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
    let head: Vec<&str> = std::iter::once("").chain(escaped_names.iter().map(String::as_str)).collect();
    table(&mut out, &head, 1, rows.into_iter());

    let first = names.first().map_or("", String::as_str);
    let judged = gates.iter().zip(names.iter().skip(1)).flat_map(|(gates, name)| {
        gates.iter().map(move |gate| {
            vec![mark(!gate.failed).to_owned(), code(&gate.text), escaped(&gate.words((first, name)))]
        })
    });
    table(&mut out, &["", "fails if", "found"], 3, judged);
    requirements(&mut out, names, results);
    list(&mut out, all_warnings(comparisons).into_iter());
    footer(&mut out, results);
    out
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

fn mark(good: bool) -> &'static str {
    if good { "✓" } else { "✗" }
}

/// Appends a table of cells in Markdown; nothing without rows. The first `words` columns are aligned to the left, the
/// others, which hold numbers, to the right.
fn table(out: &mut String, head: &[&str], words: usize, rows: impl Iterator<Item = Vec<String>>) {
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

fn list(out: &mut String, lines: impl Iterator<Item = String>) {
    let before = out.len();
    for line in lines {
        let _ = writeln!(out, "- {}", escaped(&line));
    }
    if out.len() > before {
        out.push('\n');
    }
}

fn footer(out: &mut String, results: &[RunResult]) {
    let mut texts: Vec<&str> = results.iter().map(disclaimer).collect();
    texts.dedup();
    for text in texts {
        let _ = writeln!(out, "<sub>{}</sub>", escaped(text));
    }
}

/// Returns text from any source with the syntax of Markdown, tables and HTML escaped.
fn escaped(text: &str) -> String {
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

fn code(text: &str) -> String {
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
