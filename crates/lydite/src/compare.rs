//! `lydite compare`: results against the first, and the changes that are not allowed.

use crate::cli::CompareArgs;
use crate::destination::Destination;
use crate::exit::{Failure, Outcome};
use crate::gates;
use crate::output::{print, reserve_stdout};
use crate::result::load;
use lydite_report::names::names;
use lydite_report::{Gate, compare_all, render_comparison_summary, render_comparisons};
use std::path::PathBuf;

/// `lydite compare`.
pub(crate) fn command(args: &CompareArgs) -> Outcome {
    let files: Vec<PathBuf> = std::iter::once(&args.a).chain(&args.others).cloned().collect();
    let mut errors = Vec::new();
    let conditions = gates::fail_ifs(&args.fail_if, &mut errors);
    let summary = args.summary.as_ref().map(Destination::new);
    if let Some(place) = &summary
        && let Err(problem) = place
            .check()
            .map_err(|problem| format!("{} {problem}", place.shown()))
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
    let judge =
        |other| first.map_or_else(Vec::new, |a| conditions.iter().map(|of| of.judge(a, other)).collect());
    let judged: Vec<Vec<Gate>> = results.iter().skip(1).map(judge).collect();

    let mut failures = Vec::new();
    let mut text = format!("{}\n\n{}", names.join("\n"), render_comparisons(&comparisons));
    let (told, failed) = gates::told(&names, &judged);
    text.push_str(&told);
    if let Some(place) = &summary {
        let document = render_comparison_summary(&results, &names, &comparisons, &judged);
        match place.write(document.as_bytes(), None) {
            Ok(()) => text.push_str(&format!("summary: {}\n", place.shown())),
            Err(failure) => failures.push(failure),
        }
    }
    failures.extend(print(&text).err());
    if !failed.is_empty() {
        failures.push(Failure::Threshold(failed));
    }
    Failure::all(failures)
}
