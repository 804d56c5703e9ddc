//! `lydite compare`: compares results with the first one, and fails if a change is too large.

use super::result_file::load;
use crate::cli::CompareArgs;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_console::write::write;
use lydite_plan::Problem;
use lydite_plan::destination::Destination;
use lydite_plan::requirements::known_reason;
use lydite_report::model::Status;
use lydite_report::names::names;
use lydite_report::{FailIf, Gate, RunResult, compare_all, render_comparison_summary, render_comparisons};
use std::path::PathBuf;

/// Runs `lydite compare`.
pub(crate) fn command(args: &CompareArgs) -> Outcome {
    let files: Vec<PathBuf> = std::iter::once(&args.a).chain(&args.others).cloned().collect();
    let mut errors = Vec::new();
    let conditions = fail_ifs(&args.fail_if, &mut errors);
    let summary = args.summary.as_ref().map(Destination::new);
    if let Some(place) = &summary
        && let Err(problem) = place
            .check()
            .map_err(|problem| Problem::from(format!("{} {problem}", place.shown())))
            .and_then(|()| place.apart_from(&files))
    {
        errors.push(format!("--summary: {problem}"));
    }
    if !errors.is_empty() {
        return Err(Failure::Usage(errors));
    }
    if summary.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    let results = files.iter().map(|path| load(path)).collect::<Result<Vec<_>, _>>()?;
    let names = names(&results, &files);
    let comparisons = compare_all(&results);
    let first = results.first();
    let judge = |other| {
        first
            .map_or_else(Vec::new, |a| conditions.iter().map(|condition| condition.judge(a, other)).collect())
    };
    let judged: Vec<Vec<Gate>> = results.iter().skip(1).map(judge).collect();

    let mut failures = Vec::new();
    let mut text = format!("{}\n\n{}", names.join("\n"), render_comparisons(&comparisons));
    let (lines, mut failed) = gate_lines(&names, &judged);
    text.push_str(&lines);
    if let Some(place) = &summary {
        let document = render_comparison_summary(&results, &names, &comparisons, &judged);
        match write(place, document.as_bytes(), None) {
            Ok(()) => text.push_str(&format!("summary: {}\n", place.shown())),
            Err(failure) => failures.push(failure),
        }
    }
    failures.extend(print(&text).err());
    if !conditions.is_empty() {
        for (result, name) in results.iter().zip(&names) {
            let (broken, partial) = unfit(result);
            failures.extend(broken.map(|checks| {
                Failure::CheckFailed(format!(
                    "{name} can't pass --fail-if: its database failed the checks {checks}"
                ))
            }));
            failed.extend(partial.map(|why| format!("{name} can't pass --fail-if: {why}")));
        }
        // Whoever reads only the exit code must learn that chance may have decided it.
        let reasons = comparisons.iter().zip(names.iter().skip(1));
        for (reason, name) in
            reasons.filter_map(|(comparison, name)| Some((comparison.no_interval.as_ref()?, name)))
        {
            complain(&format!("--fail-if judged {name} by its numbers alone, without an interval: {reason}"));
        }
    }
    if !failed.is_empty() {
        failures.push(Failure::Threshold(failed));
    }
    Failure::all(failures)
}

/// Returns the reasons why a result passes no gate, whatever its numbers: the failed checks of its database, and that its
/// run did not reach its end.
fn unfit(result: &RunResult) -> (Option<String>, Option<&'static str>) {
    let mut broken: Vec<&str> = Vec::new();
    for check in result.checks.iter().filter(|check| !check.ok) {
        // A condition may fail before and after a run.
        if !broken.contains(&check.id.as_str()) {
            broken.push(&check.id);
        }
    }
    let partial = (result.status == Status::Partial).then_some(
        "it is partial: its run ended early or failed, or its database was not checked to the end",
    );
    ((!broken.is_empty()).then(|| broken.join(", ")), partial)
}

/// Reads all `--fail-if` conditions.
fn fail_ifs(texts: &[String], errors: &mut Vec<String>) -> Vec<FailIf> {
    let read = |text: &String| -> Result<FailIf, Problem> {
        let condition = FailIf::parse(text)?;
        known_reason(condition.metric()).map(|()| condition)
    };
    let mut all = Vec::new();
    for text in texts {
        match read(text) {
            Ok(condition) => all.push(condition),
            Err(problem) => errors.push(format!("--fail-if: {text:?} {problem}")),
        }
    }
    all
}

/// Returns a line for each gate of each result after the first, and the lines of the gates that failed.
fn gate_lines(names: &[String], judged: &[Vec<Gate>]) -> (String, Vec<String>) {
    let first = names.first().map_or("", String::as_str);
    let (mut text, mut failed) = (String::new(), Vec::new());
    for (gates, name) in judged.iter().zip(names.iter().skip(1)) {
        for gate in gates {
            let line = format!("{}: {}", gate.text, gate.words((first, name)));
            let mark = if gate.failed { "✗" } else { "✓" };
            text.push_str(&format!("{mark} {line}\n"));
            if gate.failed {
                failed.push(format!("failed by {line}"));
            }
        }
    }
    if !text.is_empty() {
        text.insert(0, '\n');
    }
    (text, failed)
}
