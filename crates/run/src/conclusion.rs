//! The end of a run: the checks and the result document.

use crate::checks::{failed, of_rows};
use crate::companion::{Companions, Made, Over};
use crate::limits;
use crate::request::Request;
use lydite_bench::{Measurement, Runnable, Status};
use lydite_console::exit::Failure;
use lydite_console::output::complain;
use lydite_console::write::write;
use lydite_report::RunResult;
use lydite_report::model::CheckResult;

/// A run that is over.
#[derive(Debug)]
pub struct Concluded {
    /// The result document; none if it could not be made, for one of the failures.
    pub result: Option<RunResult>,
    /// Failures of the run and of its checks; empty if it was complete and the database passed.
    pub failures: Vec<Failure>,
    /// Failures of faults and of agents, which are told last.
    pub late: Vec<Failure>,
}

/// A measured run of any workload.
pub(crate) struct Measured<'a, W: Runnable> {
    pub(crate) request: &'a Request,
    pub(crate) url: &'a str,
    /// True if the target stores anything.
    pub(crate) stored: bool,
    pub(crate) over: Over<'a, W>,
    pub(crate) companions: Companions<W>,
    /// Makes the result document from the checks, without what companions add. The flag is false if some checks are
    /// missing.
    pub(crate) result: &'a dyn Fn(Vec<CheckResult>, bool) -> Result<RunResult, Failure>,
    /// Completes a document with what depends on the rest of it.
    pub(crate) complete: &'a dyn Fn(&mut RunResult),
}

/// The checks of a run, and what is wrong.
#[derive(Default)]
struct Verdict {
    checks: Vec<CheckResult>,
    failures: Vec<Failure>,
    /// True if a check failed after the run began.
    broken: bool,
    /// False if a check is missing.
    checked: bool,
}

impl<W: Runnable> Measured<'_, W> {
    /// Makes the checks after the run and the result. `made` are the checks of companions that are over, `checks` those
    /// from before the run. A failure of one part does not prevent the others.
    pub(crate) fn conclude(mut self, checks: Vec<CheckResult>, made: Vec<Made>) -> Concluded {
        let measurement = self.over.measurement;
        measurement.warnings.iter().for_each(|warning| complain(warning));
        let mut verdict = Verdict { checks, checked: true, ..Verdict::default() };
        made.into_iter().for_each(|made| verdict.note(made));
        if let Some(check) = of_rows(&measurement.whole.wrong_rows) {
            verdict.add(vec![check]);
        }
        verdict.failures.extend(early_ends(measurement, self.url));
        let ended_early = measurement.status == Status::Interrupted || measurement.lost.is_some();
        if self.stored && !ended_early {
            self.keep_partial(&verdict.checks);
            self.check(&mut verdict);
        }
        if verdict.checked {
            self.companions.afterwards(&self.over);
        }
        let Verdict { checks, mut failures, broken, checked } = verdict;
        if broken {
            let failed = checks.iter().filter(|check| !check.ok).map(|check| check.id.as_str());
            failures.push(Failure::checks("checks", failed));
        }
        let result = self.document(checks, checked).map_err(|failure| failures.push(failure)).ok();
        let late = self.companions.failures(&self.over);
        Concluded { result, failures, late }
    }

    /// Writes the result as far as it is known, if there are checks to make: the measurement is safe then even if the
    /// process ends during a check.
    fn keep_partial(&mut self, checks: &[CheckResult]) {
        let place = self.request.plan.json.as_ref().filter(|place| place.is_replaced());
        if let Some(place) = place.filter(|_| self.companions.with_checks(&self.over).next().is_some()) {
            let partial = self.document(checks.to_vec(), false).and_then(|result| as_json(&result));
            // A failure is ignored here: the end of the run writes the same file and reports it.
            let _reported_at_the_end =
                partial.and_then(|partial| write(place, partial.as_bytes(), Some(&self.request.interrupt)));
        }
    }

    /// Makes the checks of the companions.
    fn check(&mut self, verdict: &mut Verdict) {
        let mut lost = None;
        let mut last = "";
        for (id, companion) in self.companions.with_checks(&self.over) {
            last = id;
            if lost.is_some() {
                continue;
            }
            match companion.check(&self.over) {
                Ok(found) => {
                    verdict.add(found.results);
                    if found.stopped {
                        verdict.checked = false;
                        let words = "interrupted during the check after the run: the result is partial";
                        verdict.failures.push(Failure::Interrupted(words.into()));
                        return;
                    }
                }
                Err(failure) => {
                    verdict.checked = false;
                    verdict.checks.push(failed(id, &failure));
                    // A database that can't read its rows won't evaluate conditions over them.
                    if matches!(failure, Failure::Target(_)) {
                        lost = Some((id, failure));
                    } else {
                        verdict.failures.push(failure);
                    }
                }
            }
        }
        if let Some((id, failure)) = lost {
            if id != last {
                verdict.checks.push(failed(last, &failure));
            }
            verdict.failures.push(failure);
        }
    }

    /// Returns the result document.
    fn document(&self, checks: Vec<CheckResult>, checked: bool) -> Result<RunResult, Failure> {
        let mut result = (self.result)(checks, checked)?;
        self.companions.add_to(&self.over, &mut result);
        (self.complete)(&mut result);
        result.label.clone_from(&self.request.plan.label);
        let asked = &self.request.plan.requirements;
        let mut verdicts: Vec<_> = asked.iter().map(|requirement| requirement.judge(&result)).collect();
        limits::add_shares(asked, self.over.measurement, &mut verdicts);
        result.requirements = verdicts;
        Ok(result)
    }
}

impl Verdict {
    /// Adds results of checks after the run.
    fn add(&mut self, results: Vec<CheckResult>) {
        self.broken |= results.iter().any(|check| !check.ok);
        self.checks.extend(results);
    }

    /// Adds a check that was made, or the failure to make it.
    fn note(&mut self, made: Made) {
        match made.check {
            Ok(check) => self.add(vec![check]),
            Err(failure) => {
                self.checks.push(failed(made.id, &failure));
                self.failures.push(failure);
            }
        }
    }
}

/// Returns the failures of a run that did not go on to its end.
fn early_ends<W: Runnable>(measurement: &Measurement<W>, url: &str) -> Vec<Failure> {
    let mut failures = Vec::new();
    if measurement.status == Status::Interrupted {
        failures.push(Failure::Interrupted("interrupted: the result is partial".into()));
    }
    if let Some(lost) = &measurement.lost {
        failures.push(Failure::Target(format!("{url}: lost: {lost}")));
    }
    if let Status::Failing(error) = &measurement.status {
        failures.push(Failure::Target(format!("{url}: {error}")));
    }
    failures
}

/// Returns a result as JSON.
pub(crate) fn as_json(result: &RunResult) -> Result<String, Failure> {
    result.to_json().map_err(|error| Failure::usage(format!("the result can't be written as JSON: {error}")))
}
