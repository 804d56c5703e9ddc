//! The section of groups of runs on the page of several results.

use std::path::PathBuf;

use super::markup::{Markup, named_table};
use crate::groups::{Group, Pairing, Run, compare_groups, group_columns, group_rows, of_list, problems};
use crate::model::RunResult;
use crate::names::file_names;

/// Content of the section; none if no runs share a label and a plan.
pub(super) fn content(results: &[RunResult], files: &[PathBuf]) -> Option<Markup> {
    let names = file_names(results.len(), files);
    let runs = results.iter().zip(names).map(|(result, file)| Run { file, result: result.clone() });
    let groups = of_list(runs.collect());
    if groups.len() < 2 || groups.iter().all(|group| group.runs.len() == 1) {
        return None;
    }
    let mut wrong = problems(&groups, false);
    let mut all = Markup::default();
    let paragraph = |class, text: &str| Markup::with_text("p", &[("class", class)], text);
    if wrong.is_empty() {
        match compare_groups(&groups, Pairing::Auto, &[]) {
            Ok(found) => {
                for answer in &found.verdicts {
                    all.push(paragraph("verdict", &answer.sentence));
                    all.push(paragraph("note", &format!("{}: {}.", answer.other, answer.why)));
                }
                let heads = group_columns(&found).into_iter().map(|head| (head, true));
                let columns: Vec<(String, bool)> =
                    std::iter::once(("Metric".to_owned(), false)).chain(heads).collect();
                let cells = |row: Vec<String>| row.iter().map(|cell| Markup::text(cell)).collect();
                let rows = group_rows(&found).into_iter().map(cells).collect();
                all.push(named_table("Means over runs", &columns, rows));
                for note in crate::groups::notes(&found) {
                    all.push(paragraph("note", &note));
                }
            }
            Err(several) => wrong = several,
        }
    }
    for problem in &wrong {
        all.push(paragraph("note", &format!("Not compared: {problem}.")));
    }
    all.push(Markup::element("ul", &[("class", "plain")], groups.iter().map(members).collect()));
    Some(all)
}

fn members(group: &Group) -> Markup {
    let files: Vec<&str> = group.runs.iter().map(|run| run.file.as_str()).collect();
    Markup::with_text("li", &[], &format!("{}: {}", group.name(), files.join(", ")))
}
