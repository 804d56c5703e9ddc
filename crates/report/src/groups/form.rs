//! Groups of runs are formed, and refused if their runs do not belong together.

use super::model::{Group, GroupProblem, Run};
use crate::compare::{differing, target_in_words};
use crate::model::{RunResult, Status};
use crate::names::letter;

/// Keys of a plan in which the runs of a group may differ: chance draws the rows and the inputs.
const DRAWN: [&str; 3] = ["seed", "load_seed", "c_load"];

/// Groups with explicit members: `(what their files were found by, runs)`, A first.
#[must_use]
pub fn given(sides: Vec<(String, Vec<Run>)>) -> Vec<Group> {
    let group = |(place, (pattern, runs)): (usize, (String, Vec<Run>))| {
        let title = common_label(&runs).unwrap_or_else(|| match runs.as_slice() {
            [run] => run.file.clone(),
            _ => pattern,
        });
        Group { letter: letter(place), title, runs }
    };
    sides.into_iter().filter(|(_, runs)| !runs.is_empty()).enumerate().map(group).collect()
}

/// Groups of a list of runs: those that share label, plan and target, in the order of their first runs. A run without a
/// label is a group of its own. If all would be in one group, there is nothing to compare it with, so each run is one.
#[must_use]
pub fn of_list(runs: Vec<Run>) -> Vec<Group> {
    let mut all: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        let same = |group: &&mut Vec<Run>| {
            group.first().is_some_and(|first| {
                first.result.label.is_some()
                    && first.result.label == run.result.label
                    && differences(&first.result, &run.result).is_empty()
            })
        };
        match all.iter_mut().find(same) {
            Some(group) => group.push(run),
            None => all.push(vec![run]),
        }
    }
    if all.len() == 1 {
        all = all.into_iter().flatten().map(|run| vec![run]).collect();
    }
    let title = |runs: &[Run]| runs.first().map_or_else(String::new, |run| run.file.clone());
    given(all.into_iter().map(|runs| (title(&runs), runs)).collect())
}

/// Returns all reasons why runs do not belong together, one for each file: other workloads in any group, and in a group
/// with several runs, or with explicit members, partial runs and other sizes, versions and plans.
#[must_use]
pub fn problems(groups: &[Group], are_given: bool) -> Vec<GroupProblem> {
    let mut all = Vec::new();
    let several = are_given || groups.iter().any(|group| group.runs.len() > 1);
    let Some(first) = groups.first().and_then(|group| group.runs.first()).filter(|_| several) else {
        return all;
    };
    let mut seen: Vec<(&Group, &Run)> = Vec::new();
    for group in groups {
        for run in &group.runs {
            all.extend(problem(first, group, run, &seen).map(GroupProblem));
            seen.push((group, run));
        }
    }
    all
}

/// Returns the reason why a run does not belong to its group. `first` is the first run of all, `seen` the runs before.
fn problem(first: &Run, group: &Group, run: &Run, seen: &[(&Group, &Run)]) -> Option<String> {
    let (file, result) = (&run.file, &run.result);
    if let Some((of, twin)) = seen.iter().find(|(_, twin)| is_copy(&twin.result, result)) {
        let (one, other) = (&of.letter, &group.letter);
        return Some(format!(
            "{file} of {other} is the same run as {} of {one}: name each run once",
            twin.file
        ));
    }
    if result.workload() != first.result.workload() {
        return Some(format!(
            "{file} is a run of the workload {}, and {} one of {}: compare runs of one workload",
            result.workload(),
            first.file,
            first.result.workload()
        ));
    }
    if result.status == Status::Partial {
        return Some(format!(
            "{file} is partial, its run ended early or failed or was not checked to the end: leave it out or repeat it"
        ));
    }
    let of_group = group.runs.first()?;
    let differ = differences(&of_group.result, result);
    let what = differ.join(", ");
    (!differ.is_empty()).then(|| {
        format!(
            "{file} does not belong to {} with {}: {what}: put it into a group of its own",
            group.letter, of_group.file
        )
    })
}

/// Returns the differences that keep two runs out of one group, each with both values.
fn differences(one: &RunResult, other: &RunResult) -> Vec<String> {
    let mut all = Vec::new();
    let mut differ = |what: &str, of_one: &str, of_other: &str| {
        if of_one != of_other {
            all.push(format!("{what} ({of_one} / {of_other})"));
        }
    };
    differ("workload", one.workload(), other.workload());
    differ("target", &target_in_words(one), &target_in_words(other));
    differ("version of lydite", &one.lydite, &other.lydite);
    let plans = differing(&one.plan_flat(), &other.plan_flat()).into_iter();
    let plans = plans.filter(|(key, _)| key != "target" && !DRAWN.contains(&key.as_str()));
    all.extend(plans.map(|(_, text)| text));
    all
}

/// Returns true if both documents are of one run.
fn is_copy(one: &RunResult, other: &RunResult) -> bool {
    !one.window.start.is_empty()
        && one.window == other.window
        && one.host == other.host
        && one.tps == other.tps
}

/// Returns the label that all runs have.
pub(super) fn common_label(runs: &[Run]) -> Option<String> {
    let label = runs.first()?.result.label.clone()?;
    runs.iter().all(|run| run.result.label.as_ref() == Some(&label)).then_some(label)
}
