//! The judgement on a history, as text and as JSON.

use super::FORMAT;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::write::write;
use lydite_database::Description;
use lydite_plan::destination::Destination;
use lydite_report::faults::FaultResult;
use lydite_verify::history::{
    Anomaly, AnomalyKind, Example, History, HistoryError, Level, Options, Order, Report, Tally, TxId, check,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Operations of a transaction that the text shows. The JSON document has all.
const OPS_SHOWN: usize = 400;

/// A history with its report.
pub(super) struct Judgement<'a> {
    history: &'a History,
    asked: Level,
    report: Report,
}

impl<'a> Judgement<'a> {
    /// Checks a history, in the order of sessions and of real time too.
    pub(super) fn new(history: &'a History, asked: Level) -> Result<Self, HistoryError> {
        let report = check(history, &Options::new(Level::StrictSerializable))?;
        Ok(Self { history, asked, report })
    }

    /// True if an anomaly contradicts the level.
    pub(super) fn is_refuted(&self) -> bool {
        self.report.against(self.asked).next().is_some()
    }

    /// True if every key was read at the end, so that lost appends were looked for.
    fn has_reads_at_end(&self) -> bool {
        self.history.final_from.is_some()
    }

    /// Returns the failure of a refuted level, with the names of its anomalies.
    pub(super) fn failure(&self) -> Option<Failure> {
        let mut names: Vec<String> =
            self.report.against(self.asked).map(|anomaly| anomaly.kind.to_string()).collect();
        names.dedup();
        self.is_refuted()
            .then(|| Failure::CheckFailed(format!("{} is refuted: {}", self.asked.name(), names.join(", "))))
    }

    /// True if a dependency between transactions or an anomaly was seen. Otherwise the history proves nothing.
    pub(super) fn proves(&self) -> bool {
        self.report.transactions.dependencies > 0 || !self.report.anomalies.is_empty()
    }

    /// Returns the strongest level that was not refuted; none if all were, or if the history proves nothing.
    fn strongest(&self) -> Option<Level> {
        self.report.strongest().filter(|_| self.proves())
    }

    /// Returns the anomalies and the verdict as lines. `aborts` are the reasons of the aborts, if they are known.
    pub(super) fn text(&self, aborts: Option<&BTreeMap<&'static str, u64>>) -> String {
        let Tally { committed, aborted, unknown, unknown_seen, dependencies } = self.report.transactions;
        let reasons: Vec<String> =
            aborts.into_iter().flatten().map(|(reason, count)| format!("{count} {reason}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        let mut text = format!(
            "{committed} transactions committed, {aborted} aborted{reasons}, {unknown} unknown ({unknown_seen} of them \
             seen); {dependencies} dependencies between them\n"
        );
        self.report.anomalies.iter().for_each(|anomaly| self.anomaly(anomaly, &mut text));
        if !self.has_reads_at_end() {
            text += "lost appends: not looked for, since the history has no reads at the end\n";
        }
        let strongest = match self.strongest() {
            Some(level) => level.to_string(),
            None if self.proves() => "none".into(),
            None => "unknown, since no transaction depended on another one".into(),
        };
        let order = |order| if self.report.keeps(order) { "not refuted" } else { "REFUTED" };
        let verdict = if self.is_refuted() { "REFUTED" } else { "not refuted" };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "strongest level that was not refuted: {strongest}\n\
             order of each session (session guarantees): {}\n\
             real time (no stale reads): {}\n\
             {}: {verdict}\n",
            order(Order::Session),
            order(Order::Realtime),
            self.asked
        );
        text
    }

    fn anomaly(&self, anomaly: &Anomaly, text: &mut String) {
        let least = if anomaly.count_is_exact { "" } else { "at least " };
        let order = match anomaly.order {
            Order::Data => "",
            Order::Session => " by the order of a session",
            Order::Realtime => " by real time",
        };
        let against = weakest_against(anomaly);
        let _ = writeln!(text, "{}{order}: {least}{}, against {against}", anomaly.kind, anomaly.count);
        let Some(example) = shortest(anomaly).filter(|_| self.is_worth_showing(anomaly)) else { return };
        for (id, process) in distinct(example) {
            let mut ops = self.history.shown(id);
            if let Some((end, _)) = ops.char_indices().nth(OPS_SHOWN) {
                ops.truncate(end);
                ops.push('…');
            }
            let _ = writeln!(text, "  {id} (process {process}): {ops}");
        }
        for line in explained(example) {
            let _ = writeln!(text, "  {line}");
        }
    }

    /// True if the text shows an example. Those that need an order beside the data are long; they matter only if the
    /// data alone refute nothing, or if the level is about that order.
    fn is_worth_showing(&self, anomaly: &Anomaly) -> bool {
        anomaly.order == Order::Data
            || self.asked == Level::StrictSerializable
            || self.report.anomalies.iter().all(|other| other.order != Order::Data)
    }

    /// Writes the document.
    pub(super) fn save(
        &self,
        place: &Destination,
        about: &About<'_>,
        interrupt: Option<&Interrupt>,
    ) -> Outcome {
        let anomaly = |anomaly: &'_ Anomaly| {
            let example = shortest(anomaly);
            let transactions = example.map_or_else(Vec::new, |example| {
                let tx = |(id, process): (TxId, u32)| JsonTransaction {
                    id: id.to_string(),
                    process,
                    ops: self.history.shown(id),
                };
                distinct(example).map(tx).collect()
            });
            JsonAnomaly {
                name: anomaly.kind.to_string(),
                kind: anomaly.kind,
                order: anomaly.order,
                against: weakest_against(anomaly),
                count: anomaly.count,
                count_is_exact: anomaly.count_is_exact,
                transactions,
                explanation: example.map_or_else(Vec::new, explained),
            }
        };
        let document = JsonDocument {
            lydite: env!("CARGO_PKG_VERSION"),
            format: FORMAT,
            status: about.status,
            target: about.description.map(JsonTarget::of),
            faults: about.faults,
            isolation: JsonIsolation {
                asked: self.asked,
                refuted: self.is_refuted(),
                strongest_not_refuted: self.strongest(),
                session_order_refuted: !self.report.keeps(Order::Session),
                real_time_refuted: !self.report.keeps(Order::Realtime),
                reads_at_end: self.has_reads_at_end(),
                places: about.places,
                ranges: about.ranges,
                transactions: self.report.transactions,
                aborts: about.aborts,
                anomalies: self.report.anomalies.iter().map(anomaly).collect(),
            },
        };
        let document = serde_json::to_value(&document)
            .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))?;
        write(place, format!("{document:#}\n").as_bytes(), interrupt)
    }
}

/// Facts about a recording that the document contains beside the judgement.
#[derive(Clone, Copy, Default)]
pub(super) struct About<'a> {
    /// `complete` or `partial`.
    pub(super) status: &'a str,
    /// The target; none for a saved history.
    pub(super) description: Option<&'a Description>,
    /// Engines or nodes of the keys.
    pub(super) places: Option<&'a [String]>,
    /// True if transactions read ranges.
    pub(super) ranges: Option<bool>,
    /// Aborts by reason.
    pub(super) aborts: Option<&'a BTreeMap<&'static str, u64>>,
    /// Faults that were injected.
    pub(super) faults: &'a [FaultResult],
}

/// Returns the weakest level that an anomaly contradicts.
fn weakest_against(anomaly: &Anomaly) -> Level {
    let against = |level: &Level| level.forbids(anomaly.kind, anomaly.order);
    Level::ALL.into_iter().find(against).unwrap_or(Level::StrictSerializable)
}

/// Returns the example with the fewest transactions, which is the easiest to follow.
fn shortest(anomaly: &Anomaly) -> Option<&Example> {
    anomaly.examples.iter().min_by_key(|example| example.transactions.len())
}

/// Returns the transactions of an example, each once, with their processes.
fn distinct(example: &Example) -> impl Iterator<Item = (TxId, u32)> {
    let all = example.transactions.iter().copied().zip(example.processes.iter().copied());
    let mut shown = Vec::new();
    all.filter(move |(id, _)| {
        let new = !shown.contains(id);
        shown.push(*id);
        new
    })
}

/// Returns the explanation of an example. That of a cycle has a sentence for each step.
fn explained(example: &Example) -> Vec<String> {
    let (ids, sentences) = (&example.transactions, &example.explanation);
    if ids.len() < 2 || sentences.len() != ids.len() {
        return sentences.clone();
    }
    let step = |(at, sentence): (usize, &String)| {
        format!("{} comes before {}: {sentence}", ids[at], ids[(at + 1) % ids.len()])
    };
    let mut lines: Vec<String> = sentences.iter().enumerate().map(step).collect();
    lines.push(format!("so {} would come before itself: no order of these transactions is possible", ids[0]));
    lines
}

/// The JSON document.
#[derive(Serialize)]
struct JsonDocument<'a> {
    lydite: &'static str,
    format: u32,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<JsonTarget<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    faults: &'a [FaultResult],
    isolation: JsonIsolation<'a>,
}

/// The database under test in documents.
#[derive(Serialize)]
pub(super) struct JsonTarget<'a> {
    kind: &'a str,
    version: &'a str,
    url: &'a str,
    isolation: &'a str,
}

impl<'a> JsonTarget<'a> {
    /// Returns the parts of a description that documents have.
    pub(super) fn of(description: &'a Description) -> Self {
        let Description { kind, version, url, isolation, .. } = description;
        Self { kind, version, url, isolation }
    }
}

/// The judgement in the document.
#[derive(Serialize)]
struct JsonIsolation<'a> {
    asked: Level,
    refuted: bool,
    strongest_not_refuted: Option<Level>,
    session_order_refuted: bool,
    real_time_refuted: bool,
    reads_at_end: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<bool>,
    transactions: Tally,
    #[serde(skip_serializing_if = "Option::is_none")]
    aborts: Option<&'a BTreeMap<&'static str, u64>>,
    anomalies: Vec<JsonAnomaly>,
}

#[derive(Serialize)]
struct JsonAnomaly {
    name: String,
    kind: AnomalyKind,
    order: Order,
    against: Level,
    count: u64,
    count_is_exact: bool,
    transactions: Vec<JsonTransaction>,
    explanation: Vec<String>,
}

#[derive(Serialize)]
struct JsonTransaction {
    id: String,
    process: u32,
    ops: String,
}
