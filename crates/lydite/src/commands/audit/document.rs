//! The documents of an audit: JSON, and a page.

use lydite_audit::{Finding, Property, Verdict};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::write::write;
use lydite_database::Description;
use lydite_plan::destination::Destination;
use lydite_report::audit::{AuditPage, AuditTest, render_audit};
use lydite_report::figures::{moment, plural};
use lydite_tpcc::meta::DatabaseMeta;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The version of the JSON format.
const FORMAT: u32 = 1;

/// Everything but the findings that the documents contain.
pub(super) struct Document<'a> {
    pub(super) description: &'a Description,
    pub(super) meta: &'a DatabaseMeta,
    pub(super) nodes: Option<usize>,
    /// URLs of the replicas, without passwords.
    pub(super) replicas: Vec<&'a str>,
    /// Warnings about what the database did not report.
    pub(super) warnings: &'a [String],
    pub(super) only: &'a [Property],
    pub(super) quick: bool,
    pub(super) duration: Duration,
    /// Time without an answer after which a transaction counts as waiting.
    pub(super) wait: Duration,
    pub(super) terminals: u32,
    pub(super) seed: u64,
    /// Begin of the tests.
    pub(super) start: jiff::Timestamp,
}

/// The JSON document.
#[derive(Serialize)]
struct JsonDocument<'a> {
    lydite: &'static str,
    format: u32,
    status: &'a str,
    audit: JsonAudit<'a>,
    tests: &'a [Finding],
}

/// The conditions of the audit in the document.
#[derive(Serialize)]
struct JsonAudit<'a> {
    start: String,
    target: JsonTarget<'a>,
    warehouses: u32,
    size: &'static str,
    nodes: Option<usize>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    replicas: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
    only: &'a [Property],
    quick: bool,
    duration_s: f64,
    wait_s: f64,
    terminals: u32,
    seed: u64,
}

/// The database under test in the document.
#[derive(Serialize)]
struct JsonTarget<'a> {
    kind: &'a str,
    version: &'a str,
    url: &'a str,
    isolation: &'a str,
    settings: &'a BTreeMap<String, String>,
}

impl Document<'_> {
    /// Formats the line about the database.
    pub(super) fn header(&self) -> String {
        let Description { kind, version, url, isolation, .. } = self.description;
        let nodes = self.nodes.map_or_else(String::new, |nodes| format!(" on {nodes} nodes"));
        let replicas = match self.replicas.len() as u64 {
            0 => String::new(),
            count => format!(" and {}", plural(count, "replica")),
        };
        let quick = if self.quick { ", quick: short loads and waits" } else { "" };
        let warehouses = self.meta.warehouses_in_words();
        format!("{url}: {kind} {version}, isolation {isolation}, {warehouses}{nodes}{replicas}{quick}\n")
    }

    /// Writes one of the documents.
    pub(super) fn save(
        &self,
        place: &Destination,
        is_json: bool,
        tests: &[Finding],
        status: &str,
        interrupt: &Interrupt,
    ) -> Outcome {
        let text = if is_json { self.json(tests, status)? } else { self.page(tests, status) };
        write(place, text.as_bytes(), Some(interrupt))
    }

    fn json(&self, tests: &[Finding], status: &str) -> Result<String, Failure> {
        let Description { kind, version, url, isolation, settings, .. } = self.description;
        let document = JsonDocument {
            lydite: env!("CARGO_PKG_VERSION"),
            format: FORMAT,
            status,
            audit: JsonAudit {
                start: self.start.to_string(),
                target: JsonTarget { kind, version, url, isolation, settings },
                warehouses: self.meta.warehouses,
                size: self.meta.size.name(),
                nodes: self.nodes,
                replicas: &self.replicas,
                warnings: self.warnings,
                only: self.only,
                quick: self.quick,
                duration_s: self.duration.as_secs_f64(),
                wait_s: self.wait.as_secs_f64(),
                terminals: self.terminals,
                seed: self.seed,
            },
            tests,
        };
        let document = serde_json::to_value(&document)
            .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))?;
        Ok(format!("{document:#}\n"))
    }

    fn page(&self, tests: &[Finding], status: &str) -> String {
        let tests = tests.iter().map(|test| AuditTest {
            id: test.id,
            clause: test.clause,
            title: test.title,
            scope: test.scope.name(),
            verdict: super::words(test.verdict),
            good: test.verdict == Verdict::Passed,
            bad: test.verdict == Verdict::Failed,
            case: test.case,
            seen: &test.seen,
            steps: &test.steps,
            seconds: test.seconds,
        });
        let about = format!(
            "{}; begun {}, seed {}, loads of {:.0} s by {} terminals",
            self.header().trim_end(),
            moment(&self.start.to_string()),
            self.seed,
            self.duration.as_secs_f64(),
            self.terminals
        );
        render_audit(&AuditPage { about: &about, status, tests: tests.collect() })
    }
}
