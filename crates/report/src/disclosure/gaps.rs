//! Everything that a disclosure still lacks, each with the command that supplies it.

use super::audit::{AuditDocument, PROPERTIES, Tested};
use super::{Disclosure, REPRODUCED_PERCENT};
use crate::figures::{count, nopm, number, type_name};
use crate::model::{CheckedWhen, ComplianceLine};
use lydite_tpcc::StandardKind;
use lydite_tpcc::limits::MAX_NOPM_PER_WAREHOUSE;
use lydite_tpcc::sizing::YEARS;
use serde::Serialize;

/// Least load of the audit's tests, in percent of the reported throughput (3.3.3.2, 3.5.4).
const AUDIT_LOAD_PERCENT: f64 = 90.0;
/// Least length of that load, in seconds.
const AUDIT_LOAD_S: f64 = 300.0;

/// The audit's test of the loss of a disk.
const LOSS_OF_DISK: &str = "durability-2";
/// The audit's test of the loss of power.
const LOSS_OF_POWER: &str = "durability-4";

/// Something that is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The missing thing.
    pub missing: String,
    /// Clause of the standard.
    pub clause: String,
    /// The command that supplies it, or what to do by hand.
    pub supply: String,
}

fn gap(missing: impl Into<String>, clause: &str, supply: impl Into<String>) -> Gap {
    Gap { missing: missing.into(), clause: clause.to_owned(), supply: supply.into() }
}

/// Supply of the rules of the standard: what follows `lydite run TARGET`.
const RULES: [(&str, &str); 12] = [
    ("keying and think times", "--mode rte"),
    ("keying and think times, measured", "--mode rte"),
    ("terminals per warehouse", "--mode rte"),
    ("warehouse fixed per terminal", "--mode rte"),
    ("measurement interval", "--mode rte --duration 2h"),
    ("steady state", "--mode rte --steady --duration 2h"),
    ("running mean of the throughput", "--mode rte --steady --duration 2h"),
    ("checkpoints", "--mode rte --duration 2h --observe db"),
    ("eight hours at this rate", "--mode rte --duration 8h"),
    ("transaction mix", "--mode rte --mix deck --duration 2h"),
    ("input data", "--mode rte --duration 2h"),
    ("deferred deliveries", "--mode rte"),
];

impl Disclosure<'_> {
    /// Returns everything that is missing, the gravest first.
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.of_data();
        gaps.extend(self.of_audit());
        gaps.extend(self.of_rules());
        gaps.extend(self.of_graphs());
        gaps.extend(self.of_reproduction());
        gaps.extend(self.of_environment());
        gaps.extend(self.of_price());
        gaps
    }

    /// Returns the command that runs the plan again.
    fn run(&self, flags: &str) -> String {
        let space = if flags.is_empty() { "" } else { " " };
        format!("lydite run {}{space}{flags} --json result.json", self.target)
    }

    fn of_data(&self) -> Vec<Gap> {
        let r = self.result;
        let failed: Vec<&str> = r.checks.iter().filter(|c| !c.ok).map(|c| c.id.as_str()).collect();
        let mut gaps = Vec::new();
        if !failed.is_empty() {
            let which = failed.join(", ");
            gaps.push(gap(
                format!("consistent data: a check of the run fails: {which}"),
                "3.3.2",
                "mend the database, then run again",
            ));
        }
        let lacking: Vec<&str> =
            [(CheckedWhen::Before, "before the run"), (CheckedWhen::After, "after the run")]
                .into_iter()
                .filter(|(when, _)| !r.evaluated_conditions(*when))
                .map(|(_, words)| words)
                .collect();
        if !lacking.is_empty() {
            gaps.push(gap(
                format!("the consistency conditions {}", lacking.join(" and ")),
                "3.3.3",
                format!("{}, without --no-check", self.run("")),
            ));
        }
        gaps
    }

    fn of_audit(&self) -> Vec<Gap> {
        let again = format!("lydite audit {} --json audit.json", self.target);
        let Some(document) = self.audit else {
            return vec![gap("the ACID tests: there is no audit", "3", again)];
        };
        let mut gaps = Vec::new();
        let of = &document.audit;
        let failed = |of_data: bool| -> Vec<&str> {
            let failed = document.tests.iter().filter(|test| test.failed());
            failed.map(|test| test.id.as_str()).filter(|id| id.starts_with("data-") == of_data).collect()
        };
        let (acid, data) = (failed(false), failed(true));
        if !acid.is_empty() {
            let which = acid.join(", ");
            gaps.push(gap(
                format!("ACID properties: the database fails {which}"),
                "3",
                format!("mend it, then {again}"),
            ));
        }
        if !data.is_empty() {
            let which = data.join(", ");
            gaps.push(gap(
                format!("data and inputs of the standard: the database fails {which}"),
                "9.2.2",
                format!("load it again, then {again}"),
            ));
        }
        if document.status != "complete" {
            gaps.push(gap("a whole audit: it was broken off", "3", &again));
        }
        for property in PROPERTIES {
            let of_property = || document.tests.iter().filter(|test| test.id.starts_with(property));
            if of_property().any(Tested::ran) {
                // Tests of this property that did not run, where others did.
                let not = of_property().filter(|test| !test.ran() && test.id != LOSS_OF_POWER);
                let not: Vec<&str> = not.map(|test| test.id.as_str()).collect();
                if !not.is_empty() {
                    gaps.push(gap(format!("tests that did not run: {}", not.join(", ")), "3", &again));
                }
                continue;
            }
            let why = of_property().next().map_or(String::new(), |test| format!(": {}", test.seen));
            let supply = if property == "durability" && !self.result.target.embedded {
                format!(
                    "lydite audit {} --kill COMMAND --restart COMMAND --json audit.json, where it is no lab",
                    self.target
                )
            } else {
                again.clone()
            };
            gaps.push(gap(format!("tests of {property}{why}"), "3", supply));
        }
        if !document.tests.iter().any(|test| test.id.starts_with("data-") && test.ran()) {
            gaps.push(gap("tests of the data and the inputs", "9.2.2", &again));
        }
        // One that failed or did not run is named above.
        if !document.tests.iter().any(|test| test.id == LOSS_OF_DISK) {
            gaps.push(gap(
                "durability after the loss of a disk: the audit removed none",
                "3.5.3.1",
                "a test by hand, with a copy of the data on another disk",
            ));
        }
        // One that failed is named above.
        if !document.tests.iter().any(|test| test.id == LOSS_OF_POWER && test.ran()) {
            gaps.push(gap(
                "durability after the loss of power: the audit cut none, and judges it by the settings",
                "3.5.3.4",
                "lydite audit \"$(lydite lab up KIND --disk 2G)\" --only durability, on a lab of this database",
            ));
        }
        if of.quick {
            gaps.push(gap(
                "an audit with full loads and waits: it was quick",
                "3.3.3",
                format!("{again}, without --quick"),
            ));
        }
        gaps.extend(self.of_audit_loads(document, &again));
        if self.result.warehouses().is_some_and(|count| count != of.warehouses)
            || self.result.warehouse_size() != of.size
        {
            let warehouses = self.result.warehouses().unwrap_or(0);
            gaps.push(gap(
                format!(
                    "an audit of the database at its size: it had {} warehouses of size {}, the run {}",
                    count(of.warehouses),
                    of.size,
                    count(warehouses)
                ),
                "3.1",
                &again,
            ));
        }
        let read = self.result.controls.replicas.iter().flat_map(|replicas| &replicas.urls);
        let untested: Vec<&str> =
            read.clone().filter(|url| !of.replicas.contains(url)).map(String::as_str).collect();
        if !untested.is_empty() {
            let all: Vec<&str> = read.map(String::as_str).collect();
            gaps.push(gap(
                format!(
                    "consistency of replicas that the run read and the audit did not: {}",
                    untested.join(", ")
                ),
                "1.4.6",
                format!("lydite audit {} --replicas {} --json audit.json", self.target, all.join(",")),
            ));
        }
        if let Some(nodes) = self.result.node_count().filter(|nodes| *nodes > 1)
            && of.nodes.unwrap_or(1) <= 1
        {
            gaps.push(gap(
                format!("ACID tests over nodes: the run had {nodes} nodes, the audit one"),
                "3.1.3",
                &again,
            ));
        }
        gaps
    }

    /// Returns what the loads of the audit's tests lack.
    fn of_audit_loads(&self, document: &AuditDocument, again: &str) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let seconds = document.audit.duration_s;
        if seconds < AUDIT_LOAD_S && !document.audit.quick {
            let words = format!("loads of 5 min in the audit: they had {} s", number(seconds));
            gaps.push(gap(words, "3.3.3", again));
        }
        let reported = self.result.nopm;
        for (test, load) in document.tests.iter().filter_map(|test| Some((test, test.load?))) {
            if load.nopm < AUDIT_LOAD_PERCENT / 100.0 * reported {
                gaps.push(gap(
                    format!(
                        "{AUDIT_LOAD_PERCENT} % of the reported throughput in {}: its load had {} of {} NOPM",
                        test.id,
                        nopm(load.nopm),
                        number(reported)
                    ),
                    &test.clause,
                    format!(
                        "lydite audit {} --terminals N --json audit.json, with more terminals",
                        self.target
                    ),
                ));
            }
            // Only that test needs one.
            if test.id.starts_with("consistency") && load.checkpoint == Some(false) {
                gaps.push(gap(format!("a checkpoint in the load of {}", test.id), "3.3.3", again));
            }
        }
        gaps
    }

    fn of_rules(&self) -> Vec<Gap> {
        let lines = &self.result.compliance;
        if lines.is_empty() {
            return vec![gap(
                "the rules of the standard: the result judges none",
                "5",
                self.run("--mode rte"),
            )];
        }
        lines.iter().filter(|line| line.met != Some(true)).filter_map(|line| self.of_rule(line)).collect()
    }

    fn of_rule(&self, line: &ComplianceLine) -> Option<Gap> {
        let supply = match line.rule.as_str() {
            // The audit and the conditions have gaps of their own.
            "durability" | "consistency conditions" if line.met.is_none() => return None,
            "consistency conditions" => return None,
            // A driver declares it.
            "isolation" if line.met.is_none() => {
                format!("lydite driver test {} on an empty database, then {}", self.target, self.run(""))
            }
            "audit" => "an auditor certified by the TPC; no command can".to_owned(),
            "screens and menu" => "terminals with the standard's screens; no command can".to_owned(),
            "districts per warehouse" | "rows of the tables" => format!(
                "lydite load {} --warehouses {} --fresh",
                self.target,
                self.result.warehouses().unwrap_or(1)
            ),
            "throughput per warehouse" => {
                if self.result.plan.mode.as_deref() == Some("rte") {
                    format!("keying and think times as the standard's, then {}", self.run("--mode rte"))
                } else {
                    let wanted = (self.result.nopm / MAX_NOPM_PER_WAREHOUSE).ceil().max(1.0);
                    let words = format!("on {} warehouses for this throughput", count(wanted as u64));
                    format!("{}, {words}", self.run("--mode rte"))
                }
            }
            rule => match RULES.iter().find(|(name, _)| *name == rule) {
                Some((_, flags)) => self.run(flags),
                None => format!("change the database or its load, then {}", self.run("--mode rte")),
            },
        };
        let note = if line.note.is_empty() { String::new() } else { format!(": {}", line.note) };
        Some(gap(format!("{}{note}", line.rule), &line.clause, supply))
    }

    fn of_graphs(&self) -> Vec<Gap> {
        let r = self.result;
        let mut gaps = Vec::new();
        let without: Vec<&str> = StandardKind::ALL
            .iter()
            .filter(|kind| r.transactions.get(kind.name()).is_none_or(|of| of.hdr.is_empty()))
            .map(|kind| type_name(kind.name()))
            .collect();
        if !without.is_empty() {
            let which = without.join(", ");
            gaps.push(gap(
                format!("the graph of response times of {which}: no samples"),
                "5.6.1",
                self.run("--mode rte --duration 2h"),
            ));
        }
        if !self.has_response_curve() {
            gaps.push(gap(
                "the graph of response times against throughput",
                "5.6.2",
                format!(
                    "lydite sweep experiments/tpcc/response-times.toml --set target={} -o curve, then name \
                     curve/summary.json too",
                    self.target
                ),
            ));
        }
        let think = r.pacing.as_ref().and_then(|pacing| pacing.get(StandardKind::NewOrder.name()));
        if think.is_none_or(|pacing| pacing.think_hdr.is_empty()) {
            gaps.push(gap(
                "the graph of think times: terminals do not wait",
                "5.6.3",
                self.run("--mode rte"),
            ));
        }
        if r.series.second.is_empty() {
            gaps.push(gap("the graph of throughput over time", "5.6.4", self.run("--mode rte")));
        }
        if crate::observed::checkpoints(r).is_none() {
            gaps.push(gap(
                "marks of checkpoints: the database reports none",
                "5.6.4",
                self.run("--mode rte --observe db"),
            ));
        }
        gaps
    }

    fn of_reproduction(&self) -> Vec<Gap> {
        let again = "run the same plan again, and name both results";
        if self.again.is_empty() {
            return vec![gap("a second run of the same plan", "5.5", again)];
        }
        let beyond = self.differences().filter(|percent| percent.abs() > REPRODUCED_PERCENT);
        beyond
            .map(|percent| {
                let words = format!(
                    "reproducibility: a run differs by {} %, {REPRODUCED_PERCENT} % are allowed",
                    number(percent)
                );
                gap(words, "5.5", again)
            })
            .collect()
    }

    fn of_environment(&self) -> Vec<Gap> {
        let r = self.result;
        let mut gaps = Vec::new();
        if r.host.hostname.is_empty() || r.host.cpu.is_empty() || r.host.memory_bytes == 0 {
            gaps.push(gap("facts about the machine of the driver", "6", self.run("")));
        }
        if !r.target.embedded {
            gaps.push(gap(
                "hardware of the servers: processors, memory, disks, network",
                "6",
                "add it by hand; no command sees it from outside",
            ));
            if r.target.changed_settings.is_empty() {
                gaps.push(gap(
                    "changed settings of the server: the database reports none",
                    "8.1.1",
                    "add them by hand, or run as a user that may read them",
                ));
            }
        }
        if self.transactions.is_empty() {
            gaps.push(gap(
                "code of the tables and of the transactions",
                "8.1.1",
                "add the driver's source by hand",
            ));
        }
        gaps.push(gap("statement of the sponsor", "8.1.1", "add it by hand"));
        gaps
    }

    fn of_price(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        match &self.space {
            None => gaps.push(gap(
                "the space for 60 days: the size of a warehouse is not known",
                "4.2.3",
                "lydite disclose … --bytes-per-warehouse SIZE",
            )),
            Some(facts) => {
                if !facts.measured {
                    gaps.push(gap(
                        format!("the measured size of a warehouse: {}", facts.source),
                        "4.2.3",
                        format!(
                            "lydite plan --target {} --nopm {}, then --bytes-per-warehouse SIZE",
                            self.target,
                            self.result.nopm.trunc()
                        ),
                    ));
                }
                for rule in facts.rules.iter().filter(|rule| rule.clause == "4.2.3" && rule.met != Some(true))
                {
                    let supply = if rule.met.is_none() {
                        "lydite disclose … --disk SIZE"
                    } else {
                        "larger disks, then lydite disclose … --disk SIZE"
                    };
                    gaps.push(gap(format!("{}: {}", rule.rule, rule.note), rule.clause, supply));
                }
            }
        }
        match &self.prices {
            None => {
                gaps.push(gap(
                    "the price of the configuration",
                    "7",
                    "lydite disclose … --prices PRICES.toml",
                ));
            }
            Some(priced) if priced.years < YEARS => gaps.push(gap(
                format!("{YEARS} years of maintenance: a part has {}", priced.years),
                "7.1.2",
                format!("years = {YEARS} in the price sheet"),
            )),
            Some(_) => {}
        }
        gaps.push(gap("dates on which all parts are available", "5.7.1", "add them by hand"));
        gaps
    }
}
