//! Function tests before a run whose transactions touch several nodes.

use crate::companion::{Begun, Companion, Over};
use crate::ready::tpcc::Ready;
use lydite_bench::Runnable;
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_database::{Target, Tpcc, or_unknown};
use lydite_plan::controls::function_tests::FunctionTests;
use lydite_report::RunResult;
use lydite_report::controls::function_tests::{self as report, FunctionTest};
use lydite_report::live::Style;
use lydite_verify::functions::{Finding, Functions, TestVerdict, prepare};
use std::sync::Arc;
use std::time::Duration;

/// Length of the snapshot test before a run.
const BEFORE_A_RUN: Duration = Duration::from_secs(2);
/// Number of writers, and of readers, of the snapshot test before a run.
const SESSIONS_BEFORE_A_RUN: u32 = 4;

/// Makes the function tests, if the plan has them and distributes transactions over nodes that the database reports.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    let asked = ready.request.plan.controls.function_tests;
    if !ready.stored || asked == FunctionTests::Off || !ready.settled.distribution.over_real_nodes() {
        return Ok(None);
    }
    let strict = asked == FunctionTests::Strict;
    let (style, interrupt) = (ready.request.style, &ready.request.interrupt);
    let found = FunctionFindings::make(&ready.target, ready.meta.warehouses, strict, style, interrupt)?;
    Ok(Some(Box::new(found)))
}

/// Findings of the function tests before a run.
#[derive(Debug, Default)]
struct FunctionFindings {
    findings: Vec<Finding>,
    /// The reason why they could not be made.
    unmade: Option<String>,
    /// Warnings about what the database did not report to the tests.
    unknown: Vec<String>,
}

impl FunctionFindings {
    /// Makes the tests on a loaded database, for a short time each. With `strict` a failure is an error.
    fn make(
        target: &Arc<dyn Target>,
        warehouses: u32,
        strict: bool,
        style: Style,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let looks_after = target.capabilities().balances()?.deadlock_timeout();
        // The preparation asks again, and its warning is in the result.
        let looks_after = or_unknown("", looks_after, &mut Vec::new())?.unwrap_or_default();
        let functions = Functions {
            snapshot: true,
            deadlock: true,
            // Rings that are closed on purpose find more in less time.
            random_order: false,
            duration: BEFORE_A_RUN,
            sessions: SESSIONS_BEFORE_A_RUN,
            updates: None,
            // Longer than the database needs to find a deadlock.
            limit: Duration::from_secs(looks_after.as_secs() + 2),
            seed: 1,
        };
        let prepared = match prepare(target, warehouses, functions) {
            Ok(prepared) => prepared,
            Err(error) if strict => return Err(error.into()),
            Err(error) => return Ok(Self { unmade: Some(error.message), ..Self::default() }),
        };
        prepared.unknown().iter().for_each(|warning| complain(warning));
        if style != Style::Quiet {
            complain("function tests of transactions over several nodes (verify=off leaves them out)");
        }
        let report = prepared.run(&|| interrupt.asked(), &mut |finding| {
            if style != Style::Quiet {
                complain(line(finding).trim_end());
            }
        });
        if let Some(why) = report.unrestored {
            return Err(Failure::Target(format!(
                "the balances could not be restored after the function tests ({why}): load again with --fresh"
            )));
        }
        if let Some(lost) = report.lost {
            return Err(lost.into());
        }
        if report.stopped {
            let words = "interrupted during the function tests: nothing was measured";
            return Err(Failure::Interrupted(words.into()));
        }
        let found = Self { findings: report.findings, unmade: None, unknown: prepared.unknown().to_vec() };
        if strict && let Some(failed) = found.failed().next() {
            return Err(Failure::Usage(vec![format!(
                "{failed}: verify=strict rejects such a database; verify=on measures it and reports the failure"
            )]));
        }
        Ok(found)
    }

    /// Returns a line for each test that did not pass.
    fn failed(&self) -> impl Iterator<Item = String> {
        let failed = self.findings.iter().filter(|finding| finding.verdict != TestVerdict::Passed);
        failed.map(|Finding { test, verdict, detail, .. }| {
            let verdict = match verdict {
                TestVerdict::Timeout => "ended by timeouts alone",
                TestVerdict::Skipped => "could not be made",
                TestVerdict::Failed | TestVerdict::Passed => "failed",
            };
            format!("The function test {test} {verdict} on this database: {detail}")
        })
    }

    /// Adds the findings, and their warnings before all others.
    fn write(&self, result: &mut RunResult) {
        let unmade = self.unmade.iter().map(|why| format!("The function tests could not be made: {why}"));
        result.warnings.splice(0..0, self.failed().chain(unmade).chain(self.unknown.iter().cloned()));
        if !self.findings.is_empty() {
            result.controls.functions = Some(self.findings.iter().map(written).collect());
        }
    }
}

impl<W: Runnable> Companion<W> for FunctionFindings {
    fn add_to(&self, _: &Over<'_, W>, result: &mut RunResult) {
        self.write(result);
    }
}

/// Returns the line about a finding in the output.
pub fn line(finding: &Finding) -> String {
    let verdict = match finding.verdict {
        TestVerdict::Passed => "passed",
        TestVerdict::Failed => "FAILED",
        TestVerdict::Timeout => "TIMEOUT",
        TestVerdict::Skipped => "skipped",
    };
    format!("{verdict:<7}  {:<17} {:>6.1} s  {}\n", finding.test, finding.seconds, finding.detail)
}

/// Returns a finding as the result has it.
fn written(found: &Finding) -> FunctionTest {
    FunctionTest {
        test: found.test.into(),
        verdict: match found.verdict {
            TestVerdict::Passed => report::TestVerdict::Passed,
            TestVerdict::Failed => report::TestVerdict::Failed,
            TestVerdict::Timeout => report::TestVerdict::Timeout,
            TestVerdict::Skipped => report::TestVerdict::Skipped,
        },
        detail: found.detail.clone(),
        seconds: found.seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_verify::functions::Seen;
    use serde_json::json;

    #[test]
    fn the_result_has_the_findings_and_their_warnings() {
        let finding = |test, verdict| Finding {
            test,
            verdict,
            detail: "seen".into(),
            seconds: 1.5,
            seen: Seen::default(),
        };
        let findings = vec![
            finding("global snapshot", TestVerdict::Passed),
            finding("deadlock of two", TestVerdict::Timeout),
        ];
        let found = FunctionFindings { findings, ..FunctionFindings::default() };
        let mut result = RunResult::default();
        found.write(&mut result);
        let golden = json!({ "functions": [
            { "test": "global snapshot", "verdict": "passed", "detail": "seen", "seconds": 1.5 },
            { "test": "deadlock of two", "verdict": "timeout", "detail": "seen", "seconds": 1.5 },
        ]});
        assert_eq!(serde_json::to_value(&result.controls).ok(), Some(golden));
        let warning = "The function test deadlock of two ended by timeouts alone on this database: seen";
        assert_eq!(result.warnings, [warning]);
        let unmade = FunctionFindings { unmade: Some("no session".into()), ..FunctionFindings::default() };
        let mut result = RunResult::default();
        unmade.write(&mut result);
        assert_eq!(serde_json::to_value(&result.controls).ok(), Some(json!({})));
        assert_eq!(result.warnings, ["The function tests could not be made: no session"]);
    }
}
