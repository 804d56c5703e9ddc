//! The files and the table of a result.

use crate::conclusion::{Concluded, as_json};
use crate::request::Request;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{is_terminal, print};
use lydite_console::write::write;
use lydite_plan::destination::Destination;
use lydite_report::live::columns;
use lydite_report::model::RequirementResult;
use lydite_report::{RunResult, render_html, render_run_summary, render_table, render_verbose_table};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Width of the final table in columns, unless it goes to a terminal.
const TABLE_WIDTH: usize = 110;
/// The least width of the final table, also in a narrower terminal.
const TABLE_WIDTH_MIN: usize = 80;

impl Concluded {
    /// Writes the files that the plan names, and prints the table and their places.
    ///
    /// # Errors
    /// All failures of the run, and those to write.
    pub fn publish(self, request: &Request) -> Outcome {
        let mut failures = self.failures;
        if let Some(result) = &self.result {
            publish(request, result, &mut failures);
            let unmet = unmet(&result.requirements);
            if !unmet.is_empty() {
                failures.push(Failure::Threshold(unmet));
            }
        }
        failures.extend(self.late);
        Failure::all(failures)
    }
}

/// Returns the requirements that were not met, one line each.
fn unmet(requirements: &[RequirementResult]) -> Vec<String> {
    let unmet = requirements.iter().filter(|requirement| !requirement.met);
    unmet.map(|requirement| format!("not met: {requirement}")).collect()
}

/// Writes the files, and then prints the table and their places. The files come first, since the reader of the output
/// may close it early.
fn publish(request: &Request, result: &RunResult, failures: &mut Vec<Failure>) {
    let Request { plan, interrupt, .. } = request;
    let terminal = is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    let columns = columns().filter(|_| terminal);
    let width = columns.map_or(TABLE_WIDTH, |columns| columns.max(TABLE_WIDTH_MIN));
    let table = if request.verbose { render_verbose_table } else { render_table };
    let mut text = table(result, width, colour);
    let mut unwritten = None;
    let mut output = |name: &str, place: &Destination, usual: &str, document: &str| match or_elsewhere(
        place,
        usual,
        document.as_bytes(),
        interrupt,
    ) {
        Ok(()) => text.push_str(&format!("{name}: {}\n", place.shown())),
        Err(failure) => failures.push(failure),
    };
    if let Some(place) = &plan.json {
        match as_json(result) {
            Ok(document) => output("result", place, "result.json", &document),
            Err(failure) => unwritten = Some(failure),
        }
    }
    if let Some(place) = &plan.report {
        output("report", place, "report.html", &render_html(std::slice::from_ref(result)));
    }
    if let Some(place) = &plan.summary {
        output("summary", place, "summary.md", &render_run_summary(result));
    }
    failures.extend(unwritten);
    failures.extend(print(&text).err());
}

/// Writes a document. If that fails, writes it to a new temporary directory, with its own file name or the `usual` one:
/// the measurement would be lost otherwise.
///
/// # Errors
/// The failure to write to `place`, with the other place.
pub(crate) fn or_elsewhere(
    place: &Destination,
    usual: &str,
    document: &[u8],
    interrupt: &Interrupt,
) -> Outcome {
    let Err(failure) = write(place, document, Some(interrupt)) else { return Ok(()) };
    // A new directory for each file, so that no other file is overwritten.
    let directory = |number| std::env::temp_dir().join(format!("lydite-{}-{number}", std::process::id()));
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    let made = (0..100).map(directory).find(|directory| builder.create(directory).is_ok());
    let kept: Option<PathBuf> = made.and_then(|directory| {
        let kept = directory.join(place.file_name().unwrap_or(usual.as_ref()));
        if write(&Destination::Path(kept.clone()), document, None).is_ok() {
            return Some(kept);
        }
        // The directory is empty.
        let _gone = std::fs::remove_dir(&directory);
        None
    });
    let Some(kept) = kept else { return Err(failure) };
    let line = format!("{}; it was written to {} instead", failure.line(), kept.display());
    Err(if matches!(failure, Failure::Interrupted(_)) {
        Failure::Interrupted(line)
    } else {
        Failure::usage(line)
    })
}
