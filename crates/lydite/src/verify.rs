//! `lydite verify`: the function tests on a loaded database, as a table.

use crate::Outcome;
use crate::cli::VerifyArgs;
use crate::destination::Destination;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::loading::{unusable, watch, watched};
use crate::output::{complain, print, reserve_stdout};
use crate::plan::{apart, number, time, whole};
use crate::targets::typed;
use lydite_database::{DatabaseState, Description, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_report::RunResult;
use lydite_report::live::Style;
use lydite_verify::functions::{Finding, Functions, Group, Verdict, prepare};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The version of the JSON document.
const FORMAT: u32 = 1;
/// Most writers, and most readers: more of them find nothing that these do not.
const SESSIONS_MAX: u32 = 1_000;
/// The shortest and the longest wait for a lock.
const LIMIT_MIN: Duration = Duration::from_secs(1);
const LIMIT_MAX: Duration = Duration::from_secs(3_600);

/// `lydite verify`.
pub(crate) fn command(args: &VerifyArgs) -> Outcome {
    let (spec, functions, json) = plan(args).map_err(Failure::Usage)?;
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    if !spec.stores() {
        return Err(Failure::usage(format!("{} stores nothing that could be tested", args.target)));
    }
    if spec.is_temporary() {
        return Err(Failure::usage(format!(
            "{} is a temporary database, and holds no warehouses: name the path of one that is loaded",
            args.target
        )));
    }
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let target: Arc<dyn Target> = spec.open()?;
    let description = target.describe()?;
    let warehouses = loaded(&*target, &description.url)?;
    let prepared = prepare(&target, warehouses, functions)?;
    let document = Document { description: &description, group: prepared.group(), warehouses };
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    // Here, so that a file that can't be written is told before anything is changed.
    if let Some(place) = json.as_ref().filter(|place| place.is_replaced()) {
        document.save(place, &[], "partial", &interrupt)?;
    }
    if !args.quiet {
        print(&header(&description, prepared.group(), warehouses))?;
    }

    let (mut unprinted, mut told) = (Ok(()), false);
    let report = prepared.run(&|| interrupt.asked(), &mut |finding| {
        if !args.quiet || finding.verdict != Verdict::Passed {
            let shown = print(&line(finding));
            if unprinted.is_ok() {
                unprinted = shown;
            }
        }
        if interrupt.asked() && !std::mem::replace(&mut told, true) {
            complain("interrupted: the balances are being restored; once more ends at once, and leaves them as they are");
        }
    });

    let count = |verdict| report.findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (failed, timeouts) = (count(Verdict::Failed), count(Verdict::Timeout));
    let mut failures = vec![];
    if failed + timeouts > 0 {
        failures.push(Failure::CheckFailed);
    }
    failures.extend(unprinted.err());
    if !args.quiet {
        let (passed, skipped) = (count(Verdict::Passed), count(Verdict::Skipped));
        let text = format!("{passed} passed, {failed} failed, {timeouts} by timeout, {skipped} skipped\n");
        failures.extend(print(&text).err());
    }
    let whole = !report.stopped && report.lost.is_none();
    let status = if whole { "complete" } else { "partial" };
    if let Some(place) = &json {
        failures.extend(document.save(place, &report.findings, status, &interrupt).err());
    }
    failures.extend(report.lost.map(Failure::from));
    if let Some(why) = report.unrestored {
        failures.push(Failure::Target(format!(
            "the balances could not be restored ({why}): condition 3.3.2.1 will not hold; load again with `lydite load {} \
             --warehouses {warehouses} --fresh`",
            typed(&description.url)
        )));
    }
    if report.stopped {
        failures.push(Failure::Interrupted("interrupted: not all tests were made".into()));
    }
    Failure::all(failures)
}

/// How long the test of the snapshot lasts before a run.
const BEFORE_A_RUN: Duration = Duration::from_secs(2);
/// Writers, and as many readers, before a run.
const SESSIONS_BEFORE_A_RUN: u32 = 4;

/// Whether a run whose transactions go over several nodes begins with the function tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Before {
    /// They are made, and the result tells what failed.
    #[default]
    On,
    /// They are not made.
    Off,
    /// What fails ends the run before it begins.
    Strict,
}

impl Before {
    /// Reads what a plan says.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            "strict" => Ok(Self::Strict),
            _ => Err("is not known: use on, off, or strict to refuse a database that fails".into()),
        }
    }
}

/// What the function tests before a run came to.
#[derive(Debug, Default)]
pub(crate) struct FoundBefore {
    findings: Vec<Finding>,
    /// Why they could not be made.
    unmade: Option<String>,
}

impl FoundBefore {
    /// Makes the tests on a database that is loaded, for a short time each.
    pub(crate) fn make(
        target: &Arc<dyn Target>,
        warehouses: u32,
        strict: bool,
        style: Style,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let looks_after = target.capabilities().balances()?.deadlock_timeout()?.unwrap_or_default();
        let functions = Functions {
            snapshot: true,
            deadlock: true,
            // Rings that are closed on purpose tell more in less time.
            random_order: false,
            duration: BEFORE_A_RUN,
            sessions: SESSIONS_BEFORE_A_RUN,
            updates: None,
            // Time enough for the database to find what it looks for.
            limit: Duration::from_secs(looks_after.as_secs() + 2),
            seed: 1,
        };
        let prepared = match prepare(target, warehouses, functions) {
            Ok(prepared) => prepared,
            Err(error) if strict => return Err(error.into()),
            Err(error) => return Ok(Self { findings: Vec::new(), unmade: Some(error.message) }),
        };
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
        let found = Self { findings: report.findings, unmade: None };
        if strict && let Some(failed) = found.failed().next() {
            return Err(Failure::Usage(vec![format!(
                "{failed}: verify=strict refuses such a database; verify=on measures it and tells"
            )]));
        }
        Ok(found)
    }

    /// A line for each test that did not pass.
    fn failed(&self) -> impl Iterator<Item = String> {
        let failed = self.findings.iter().filter(|finding| finding.verdict != Verdict::Passed);
        failed.map(|Finding { test, verdict, detail, .. }| {
            let verdict = match verdict {
                Verdict::Timeout => "ended by timeouts alone",
                Verdict::Skipped => "could not be made",
                Verdict::Failed | Verdict::Passed => "failed",
            };
            format!("The function test {test} {verdict} on this database: {detail}")
        })
    }

    /// The result with what was found before it, first of all.
    pub(crate) fn told_in(&self, mut result: RunResult) -> RunResult {
        let unmade = self.unmade.iter().map(|why| format!("The function tests could not be made: {why}"));
        result.warnings.splice(0..0, self.failed().chain(unmade));
        if !self.findings.is_empty() {
            let test = |found: &Finding| json!({ "test": found.test, "verdict": found.verdict, "detail": found.detail, "seconds": found.seconds });
            result.controls["functions"] = self.findings.iter().map(test).collect();
        }
        result
    }
}

/// All that the arguments say; all that is wrong with them.
fn plan(args: &VerifyArgs) -> Result<(TargetSpec, Functions, Option<Destination>), Vec<String>> {
    let mut errors = Vec::new();
    macro_rules! read {
        ($flag:ident, $default:expr, $read:expr) => {{
            let given = args.$flag.as_deref();
            match given.map_or(Ok($default), $read) {
                Ok(value) => value,
                Err(problem) => {
                    errors.push(format!("--{}: {problem}", stringify!($flag)));
                    $default
                }
            }
        }};
    }
    let seconds = |text: &str| match time(text)? {
        limit if limit.subsec_nanos() == 0 && (LIMIT_MIN..=LIMIT_MAX).contains(&limit) => Ok(limit),
        _ => Err("must be whole seconds, from 1s to 1h".to_string()),
    };
    let lasting = |text: &str| match time(text)? {
        Duration::ZERO => Err("must be longer than 0".to_string()),
        duration => Ok(duration),
    };
    let all = args.all.is_some() || !(args.global_deadlock || args.global_snapshot);
    let functions = Functions {
        snapshot: all || args.global_snapshot,
        deadlock: all || args.global_deadlock,
        random_order: all || args.global_deadlock,
        duration: read!(duration, Duration::from_secs(10), lasting),
        sessions: read!(sessions, 4, |text| whole(text, 1, SESSIONS_MAX)),
        updates: read!(updates, None, |text| whole(text, 2, u32::MAX).map(Some)),
        limit: read!(limit, Duration::from_secs(10), seconds),
        seed: read!(seed, 1, |text| number(text, "must be a whole number from 0")),
    };
    if let Some(mode) = args.tx.as_deref().filter(|mode| *mode != TxMode::Statements.name()) {
        errors.push(if TxMode::ALL.iter().any(|known| known.name() == mode) {
            format!("--tx {mode}: the function tests are sent as statements only: leave it out")
        } else {
            format!("--tx {mode:?} is not known: the function tests are sent as statements")
        });
    }
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(|more| errors.extend(more)).ok();
    let json = args.json.as_ref().map(Destination::new);
    if let Some(place) = &json
        && let Err(problem) = place.check().and_then(|()| apart(place, spec.as_ref(), None))
    {
        errors.push(format!("--json: {} {problem}", place.shown()));
    }
    match spec {
        Some(spec) if errors.is_empty() => Ok((spec, functions, json)),
        _ => Err(errors),
    }
}

/// How many warehouses the database holds: two at least.
fn loaded(target: &dyn Target, url: &str) -> Result<u32, Failure> {
    let load = |first: &str| format!("`lydite load {} --warehouses 2{first}`", typed(url));
    match target.state()? {
        DatabaseState::Ready { meta } if meta.warehouses >= 2 => Ok(meta.warehouses),
        DatabaseState::Ready { .. } => Err(Failure::usage(format!(
            "{url} has one warehouse, and these tests need two at least: {} makes it anew",
            load(" --fresh")
        ))),
        DatabaseState::AnyScale => Err(Failure::usage(format!("{url} stores nothing that could be tested"))),
        state => Err(unusable(&state, url).unwrap_or_else(|| {
            Failure::usage(format!("{url} is empty: load it first, for example with {}", load("")))
        })),
    }
}

fn header(description: &Description, group: &Group, warehouses: u32) -> String {
    let ids: Vec<String> = group.warehouses.iter().map(|id| id.0.to_string()).collect();
    let nodes = group.nodes.map_or_else(String::new, |nodes| format!(" on {nodes} nodes"));
    let engines = group.engines.as_ref().map_or_else(String::new, |[warehouse, district]| {
        format!(", with their first districts: WAREHOUSE in {warehouse}, DISTRICT in {district}")
    });
    format!(
        "{}: {} {}, isolation {}, warehouses {} of {warehouses}{nodes}{engines}\n",
        description.url,
        description.kind,
        description.version,
        description.isolation,
        ids.join(", ")
    )
}

fn line(finding: &Finding) -> String {
    let verdict = match finding.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "FAILED",
        Verdict::Timeout => "TIMEOUT",
        Verdict::Skipped => "skipped",
    };
    format!("{verdict:<7}  {:<17} {:>6.1} s  {}\n", finding.test, finding.seconds, finding.detail)
}

/// What was found, as a file.
struct Document<'a> {
    description: &'a Description,
    group: &'a Group,
    warehouses: u32,
}

impl Document<'_> {
    fn save(
        &self,
        place: &Destination,
        findings: &[Finding],
        status: &str,
        interrupt: &Interrupt,
    ) -> Outcome {
        let Description { kind, version, url, isolation, .. } = self.description;
        let document = json!({
            "lydite": env!("CARGO_PKG_VERSION"),
            "format": FORMAT,
            "status": status,
            "target": { "kind": kind, "version": version, "url": url, "isolation": isolation },
            "warehouses": self.warehouses,
            "group": self.group.warehouses,
            "nodes": self.group.nodes,
            "engines": self.group.engines,
            "tests": findings,
        });
        place.write(format!("{document:#}\n").as_bytes(), Some(interrupt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_verify::functions::Seen;

    #[test]
    fn the_result_has_what_the_tests_before_it_found() {
        let finding = |test, verdict| Finding {
            test,
            verdict,
            detail: "seen".into(),
            seconds: 1.5,
            seen: Seen::default(),
        };
        let findings =
            vec![finding("global snapshot", Verdict::Passed), finding("deadlock of two", Verdict::Timeout)];
        let result = FoundBefore { findings, unmade: None }.told_in(RunResult::default());
        let golden = json!({ "functions": [
            { "test": "global snapshot", "verdict": "passed", "detail": "seen", "seconds": 1.5 },
            { "test": "deadlock of two", "verdict": "timeout", "detail": "seen", "seconds": 1.5 },
        ]});
        assert_eq!(serde_json::to_value(&result.controls).ok(), Some(golden));
        let warning = "The function test deadlock of two ended by timeouts alone on this database: seen";
        assert_eq!(result.warnings, [warning]);
        let unmade = FoundBefore { findings: Vec::new(), unmade: Some("no session".into()) };
        let result = unmade.told_in(RunResult::default());
        assert_eq!(serde_json::to_value(&result.controls).ok(), Some(json!({})));
        assert_eq!(result.warnings, ["The function tests could not be made: no session"]);
    }
}
