//! Groups of runs, compared by what differs between runs: the answer about two configurations that single runs can't
//! give. [`compare_groups`] makes the document, the other functions write it for people and for machines.

mod badge;
mod form;
mod gates;
mod github;
mod junit;
mod markdown;
mod metrics;
mod model;
mod text;
mod turns;

pub use badge::render_badge;
pub use form::{given, of_list, problems};
pub use github::render_annotations;
pub use junit::{Case, CaseEnd, cases, render_junit};
pub use markdown::render_groups_summary;
pub use model::{
    Answer, Group, GroupGate, GroupInfo, GroupMetric, GroupProblem, GroupsComparison, Interval, Method,
    Outcome, Quantity, Run,
};
pub use text::{gate_line, render_groups};
pub(crate) use text::{group_columns, group_rows, notes};
pub use turns::Pairing;

use std::collections::BTreeSet;

use crate::compare::{Warning, differences, differing_settings, host_in_words, of_runs, target_in_words};
use crate::gate::FailIf;

/// Compares each group with the first one, and judges the conditions.
///
/// # Errors
/// Each reason why a condition can't be judged on these groups, or runs can't be paired.
pub fn compare_groups(
    groups: &[Group],
    pairing: Pairing,
    conditions: &[FailIf],
) -> Result<GroupsComparison, Vec<GroupProblem>> {
    let mut found = GroupsComparison {
        lydite: env!("CARGO_PKG_VERSION"),
        format: model::COMPARISON_FORMAT,
        groups: groups.iter().map(info).collect(),
        warnings: warnings(groups),
        verdicts: Vec::new(),
        metrics: Vec::new(),
        gates: Vec::new(),
    };
    let Some((a, others)) = groups.split_first() else { return Ok(found) };
    let mut problems = Vec::new();
    for b in others {
        let turns = match turns::turns(a, b, pairing) {
            Ok(turns) => turns,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let metrics = metrics::metrics(a, b, &turns);
        found.verdicts.push(metrics::answer(a, b, &turns, &metrics));
        found.metrics.extend(metrics);
        for condition in conditions {
            match gates::judge(condition, (a, b), &turns) {
                Ok(gate) => found.gates.push(gate),
                Err(several) => problems.extend(several),
            }
        }
    }
    // A file that lacks a number is named once, though it is compared with several.
    let mut known = BTreeSet::new();
    problems.retain(|problem| known.insert(problem.to_string()));
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

fn info(group: &Group) -> GroupInfo {
    let first = group.runs.first();
    GroupInfo {
        letter: group.letter.clone(),
        name: group.title.clone(),
        label: form::common_label(&group.runs),
        runs: group.runs.len(),
        files: group.runs.iter().map(|run| run.file.clone()).collect(),
        started: group.results().map(|result| result.window.start.clone()).collect(),
        target: first.map_or_else(String::new, |run| target_in_words(&run.result)),
    }
}

/// Returns the warnings about all runs, then what differs within groups, then what differs between them.
fn warnings(groups: &[Group]) -> Vec<String> {
    let runs = groups.iter().flat_map(|group| &group.runs);
    let mut all: Vec<Warning> = of_runs(runs.map(|run| (run.file.as_str(), &run.result)));
    for group in groups {
        let Some(first) = group.runs.first() else { continue };
        for run in group.runs.iter().skip(1) {
            let mut differ = differing_settings(&first.result, &run.result);
            let hosts = [first, run].map(|run| host_in_words(&run.result));
            if hosts[0] != hosts[1] {
                differ.push(format!("host ({} / {})", hosts[0], hosts[1]));
            }
            if !differ.is_empty() {
                let text = format!("It is no run like {} of its group: {}.", first.file, differ.join(", "));
                all.push(Warning { files: vec![run.file.clone()], text });
            }
        }
    }
    let mut all: Vec<String> = all.iter().map(ToString::to_string).collect();
    let Some((a, others)) = groups.split_first() else { return all };
    for b in others {
        if let (Some(one), Some(other)) = (a.runs.first(), b.runs.first()) {
            let between = differences(&one.result, &other.result);
            all.extend(between.into_iter().map(|text| format!("{} and {}: {text}", a.letter, b.letter)));
        }
    }
    all
}
