//! The end of a run: the checks, the result document, the files and the table.

use super::Request;
use super::checks::{self, Conditions};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, is_terminal, print};
use lydite_console::write::write;
use lydite_bench::{Measurement, Runnable};
use lydite_plan::destination::Destination;
use lydite_report::live::columns;
use lydite_report::model::{BALANCES_CHECK, CheckResult, RequirementResult};
use lydite_report::{RunResult, render_html, render_run_summary, render_table, render_verbose_table};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Width of the final table in columns, unless it goes to a terminal.
const TABLE_WIDTH: usize = 110;
/// The least width of the final table, also in a narrower terminal.
const TABLE_WIDTH_MIN: usize = 80;

/// A check after a run.
pub(crate) type Check<'a> = dyn Fn() -> Result<Option<CheckResult>, Failure> + 'a;

/// A measured run of any workload.
pub(crate) struct Measured<'a> {
    pub(crate) request: &'a Request,
    pub(crate) url: &'a str,
    /// True if the target stores anything.
    pub(crate) stored: bool,
    /// The name in the result of checks that could not be made.
    pub(crate) check: &'a str,
    /// Makes the result document from the checks. The flag is false if some checks are missing.
    pub(crate) result: &'a dyn Fn(Vec<CheckResult>, bool) -> Result<RunResult, Failure>,
    /// Checks of the acknowledged transactions, by their names. They take less time than the other checks, and return
    /// `None` if the user interrupted them.
    pub(crate) acknowledged: Vec<(&'a str, Box<Check<'a>>)>,
    /// The other checks after the run, if the plan checks.
    pub(crate) after: &'a dyn Fn() -> Result<Conditions, Failure>,
}

impl Measured<'_> {
    /// Makes the checks after the run, writes the result, and prints the table. `checks` are those from before the run,
    /// `balances` is the check of balances if these were watched. A failure of one part does not prevent the others.
    ///
    /// # Errors
    /// All failures.
    pub(crate) fn conclude<W: Runnable>(
        &self,
        measurement: &Measurement<W>,
        mut checks: Vec<CheckResult>,
        balances: Option<Result<CheckResult, Failure>>,
    ) -> Outcome {
        let interrupt = &self.request.interrupt;
        measurement.warnings.iter().for_each(|warning| complain(warning));
        let interrupted = measurement.status == lydite_bench::Status::Interrupted;
        let document_of = |checks, checked| -> Result<RunResult, Failure> {
            let mut result = (self.result)(checks, checked)?;
            result.label.clone_from(&self.request.plan.label);
            result.requirements =
                self.request.plan.requirements.iter().map(|requirement| requirement.judge(&result)).collect();
            Ok(result)
        };
        let mut failures = Vec::new();
        let mut broken = false;
        match balances {
            Some(Ok(check)) => {
                broken |= !check.ok;
                checks.push(check);
            }
            Some(Err(failure)) => {
                checks.push(checks::failed(BALANCES_CHECK, &failure));
                failures.push(failure);
            }
            None => {}
        }
        if let Some(check) = checks::of_rows(&measurement.whole.wrong_rows) {
            broken = true;
            checks.push(check);
        }
        if interrupted {
            failures.push(Failure::Interrupted("interrupted: the result is partial".into()));
        }
        if let Some(lost) = &measurement.lost {
            failures.push(Failure::Target(format!("{}: lost: {lost}", self.url)));
        }
        if let lydite_bench::Status::Failing(error) = &measurement.status {
            failures.push(Failure::Target(format!("{}: {error}", self.url)));
        }
        let mut checked = true;
        let checks_all = self.request.plan.check;
        let makes_checks = checks_all || !self.acknowledged.is_empty();
        if makes_checks && self.stored && !interrupted && measurement.lost.is_none() {
            // The measurement is safe even if the process ends during the check. A failure to write is ignored here,
            // since the end of the run writes the same file and reports it.
            if let Some(place) = self.request.plan.json.as_ref().filter(|place| place.is_replaced()) {
                let partial = document_of(checks.clone(), false).and_then(|result| document(&result));
                let _reported_at_the_end =
                    partial.and_then(|partial| write(place, partial.as_bytes(), Some(interrupt)));
            }
            let mut found = Ok(());
            for (id, check) in &self.acknowledged {
                match check() {
                    Ok(Some(check)) => {
                        broken |= !check.ok;
                        checks.push(check);
                    }
                    // Interrupted.
                    Ok(None) => break,
                    Err(failure) => {
                        checked = false;
                        checks.push(checks::failed(id, &failure));
                        // A database that can't read its rows won't evaluate conditions over them.
                        if matches!(failure, Failure::Target(_)) {
                            found = Err(failure);
                            break;
                        }
                        failures.push(failure);
                    }
                }
            }
            match found.and_then(|()| checks_all.then(|| (self.after)()).transpose()) {
                Ok(None) => {}
                Ok(Some(found)) => {
                    broken |= found.results.iter().any(|check| !check.ok);
                    if found.stopped {
                        checked = false;
                        let words = "interrupted during the check after the run: the result is partial";
                        failures.push(Failure::Interrupted(words.into()));
                    }
                    checks.extend(found.results);
                }
                Err(failure) => {
                    checked = false;
                    if checks_all {
                        checks.push(checks::failed(self.check, &failure));
                    }
                    failures.push(failure);
                }
            }
        }
        if broken {
            let failed = checks.iter().filter(|check| !check.ok).map(|check| check.id.as_str());
            failures.push(Failure::checks("checks", failed));
        }
        match document_of(checks, checked) {
            Ok(result) => {
                publish(self.request, &result, &mut failures);
                let unmet = unmet(&result.requirements);
                if !unmet.is_empty() {
                    failures.push(Failure::Threshold(unmet));
                }
            }
            Err(failure) => failures.push(failure),
        }
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
        match document(result) {
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
fn or_elsewhere(place: &Destination, usual: &str, document: &[u8], interrupt: &Interrupt) -> Outcome {
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

fn document(result: &RunResult) -> Result<String, Failure> {
    result.to_json().map_err(|error| Failure::usage(format!("the result can't be written as JSON: {error}")))
}
