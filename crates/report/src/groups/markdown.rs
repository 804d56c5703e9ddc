//! Groups of runs as a summary in Markdown.

use std::fmt::Write as _;

use super::model::{Group, GroupsComparison};
use super::text::{group_columns, group_rows, mark, notes};
use crate::figures::plural;
use crate::markdown::{code, escaped, footer, list, table};

/// Renders groups with the warnings first, then the answers, the gates and the numbers.
#[must_use]
pub fn render_groups_summary(groups: &[Group], found: &GroupsComparison) -> String {
    let mut out = "### Lydite: comparison\n\n".to_owned();
    list(&mut out, found.warnings.iter().cloned());
    for answer in &found.verdicts {
        let _ = writeln!(
            out,
            "**{}**\n\n{}: {}.\n",
            escaped(&answer.sentence),
            answer.other,
            escaped(&answer.why)
        );
    }
    let gates = found
        .gates
        .iter()
        .map(|gate| vec![mark(gate.outcome).to_owned(), code(&gate.text), escaped(&gate.words)]);
    table(&mut out, &["", "fails if", "found"], 3, gates);
    let runs = found.groups.iter().map(|group| {
        vec![
            escaped(&format!("{} {}", group.letter, group.name)),
            escaped(&group.target),
            plural(group.runs as u64, "run"),
            escaped(&group.files.join(", ")),
        ]
    });
    table(&mut out, &["group", "target", "runs", "files"], 4, runs);
    let columns = group_columns(found);
    let head: Vec<&str> = std::iter::once("").chain(columns.iter().map(String::as_str)).collect();
    let rows = group_rows(found).into_iter().map(|cells| cells.iter().map(|cell| escaped(cell)).collect());
    table(&mut out, &head, 1, rows);
    list(&mut out, notes(found).into_iter());
    let first: Vec<_> = groups.iter().filter_map(|group| group.results().next()).take(1).cloned().collect();
    footer(&mut out, &first);
    out
}
