//! The numbers of a result, a row each: the name, the unit, how it follows from the document, and where it is shown.
//! Requirements, gates, figures, comparisons, summaries, the terminal and the page read this table: a new number of a
//! result is a row here, and a row in the book (`sweeps.md`).

pub(crate) mod latency;
pub(crate) mod nodes;
pub(crate) mod types;

use lydite_tpcc::limits::MAX_NOPM_PER_WAREHOUSE;
use serde::Serialize;

use crate::document::Document;
use crate::figures::{bytes, count, nopm, number, type_name};
use crate::findings::has_new_orders;
use crate::model::{FaultAvailability, RunResult, TRANSACTION_TYPES};

/// Transaction types of workloads other than TPC-C.
pub(crate) const OTHER_TYPES: [&str; 1] = ["micro"];

/// The better direction of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// Place of a number among those of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Shown first, before the latencies.
    Throughput,
    /// Shown after the latencies.
    Other,
}

/// Results that have a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Only {
    /// All results.
    All,
    /// Results of TPC-C.
    Tpcc,
    /// Results of TPC-C with the standard's keying and think times.
    EmulatedUsers,
    /// Results of runs that injected faults.
    Faults,
}

/// Transactions without which a number says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// None.
    Nothing,
    /// Completed transactions.
    Completed,
    /// Completed New-Orders.
    NewOrders,
    /// Transactions that completed, failed, or have an unknown outcome.
    Ended,
}

/// Kind of a number's parts. Each part has a name: `tps.payment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// A part for each transaction type.
    Type,
    /// A part for each abort reason.
    Reason,
}

/// The parts of a number.
pub(crate) struct Parts {
    /// Kind.
    pub(crate) kind: PartKind,
    /// Returns the title of a part.
    pub(crate) title: fn(&str) -> String,
    /// Returns the value of a part.
    pub(crate) of: fn(&RunResult, &str) -> Option<f64>,
}

/// Pairs of results that are compared by a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// All; a missing value counts as 0.
    Always,
    /// Pairs that both have it.
    Known,
    /// Pairs with a pace set by a plan; a missing value counts as 0.
    Paced,
    /// Pairs without a pace; a missing value counts as 0.
    Unpaced,
}

/// A line of comparisons.
pub(crate) struct Compared {
    /// Name with its unit.
    pub(crate) name: &'static str,
    /// The better direction.
    pub(crate) better: Better,
    /// Pairs that it is for.
    pub(crate) when: When,
    /// Counts of each second, if an interval of the ratio follows from them.
    pub(crate) seconds: Option<fn(&RunResult) -> Vec<u64>>,
}

/// A line of summaries in Markdown.
pub(crate) struct Summary {
    /// Name.
    pub(crate) label: &'static str,
    /// True for one in bold.
    pub(crate) is_main: bool,
    /// Writes the value in the summary of one result; none if only summaries of several have the line.
    pub(crate) alone: Option<fn(f64) -> String>,
}

/// A line of the terminal's headline.
pub(crate) struct Headline {
    /// Name.
    pub(crate) label: &'static str,
    /// Returns what follows the value and its words.
    pub(crate) more: fn(&RunResult) -> String,
}

/// A card on the page of a result.
pub(crate) struct Card {
    /// Name.
    pub(crate) label: &'static str,
    /// Unit beside the value; may be empty.
    pub(crate) unit: &'static str,
    /// Returns the note below the value.
    pub(crate) note: fn(&RunResult) -> String,
    /// Returns true if it needs attention.
    pub(crate) warns: fn(&RunResult) -> bool,
}

/// Function for the values of a number by second; with a name, for that part.
type BySecond = fn(&RunResult, Option<&str>) -> Option<Vec<Option<f64>>>;

/// A number of a result.
pub(crate) struct Number {
    /// Name in requirements, gates and figures; empty if they can't name it.
    pub(crate) name: &'static str,
    /// Title of a figure's axis.
    pub(crate) title: &'static str,
    /// Unit; empty without one.
    pub(crate) unit: &'static str,
    /// Words that follow the value in a sentence.
    pub(crate) words: &'static str,
    /// Returns the value in a result; none if the result does not have it.
    pub(crate) of: fn(&RunResult) -> Option<f64>,
    /// Writes a value; a dash without one.
    pub(crate) text: fn(Option<f64>) -> String,
    /// Place among the numbers.
    pub(crate) group: Group,
    /// Results that have it.
    pub(crate) only: Only,
    /// Returns true if the table, the page and the summary of a result show it.
    pub(crate) is_shown: fn(&RunResult) -> bool,
    /// Transactions without which it can't be judged.
    pub(crate) needs: Needs,
    /// True if it counts what is bad. Such a number is often 0, so it has no ratio, and no better side in comparisons.
    pub(crate) counts_bad: bool,
    /// Parts, if it has any.
    pub(crate) parts: Option<Parts>,
    /// Returns the values by second, of a part if there is one; none for a number of whole runs.
    pub(crate) by_second: Option<BySecond>,
    /// Line of comparisons.
    pub(crate) compared: Option<Compared>,
    /// Line of summaries in Markdown.
    pub(crate) summary: Option<Summary>,
    /// Line of the terminal's headline.
    pub(crate) headline: Option<Headline>,
    /// Card on the page of a result.
    pub(crate) card: Option<Card>,
    /// Head of its column on the page of several results; none without a column.
    pub(crate) column: Option<&'static str>,
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Number {}

impl std::fmt::Debug for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Number").field(&self.name).finish()
    }
}

impl Number {
    /// A number that gates and figures can name, and that nothing else shows.
    const PLAIN: Self = Self {
        name: "",
        title: "",
        unit: "",
        words: "",
        of: |_| None,
        text: number,
        group: Group::Other,
        only: Only::All,
        is_shown: |_| true,
        needs: Needs::Completed,
        counts_bad: false,
        parts: None,
        by_second: None,
        compared: None,
        summary: None,
        headline: None,
        card: None,
        column: None,
    };

    /// Returns the number with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        NUMBERS.iter().find(|number| !name.is_empty() && number.name == name)
    }

    /// Returns the number of the line with this name in comparisons.
    pub(crate) fn compared_as(name: &str) -> Option<&'static Self> {
        NUMBERS.iter().find(|number| number.compared.as_ref().is_some_and(|compared| compared.name == name))
    }

    /// Returns the numbers of a group, in the order of the table.
    pub(crate) fn in_group(group: Group) -> impl Iterator<Item = &'static Self> {
        NUMBERS.iter().filter(move |number| number.group == group)
    }

    /// Returns true if only results of TPC-C have it.
    pub(crate) fn is_of_tpcc(&self) -> bool {
        matches!(self.only, Only::Tpcc | Only::EmulatedUsers)
    }

    /// Returns the value in a result that shows it, 0 if the result does not have it.
    pub(crate) fn value(&self, result: &RunResult) -> f64 {
        (self.of)(result).unwrap_or_default()
    }

    /// Returns the value in a result as text.
    pub(crate) fn text_of(&self, result: &RunResult) -> String {
        (self.text)(Some(self.value(result)))
    }

    /// Returns the value in one of several results as text; a dash if it has none.
    pub(crate) fn text_in_column(&self, result: &RunResult) -> String {
        (self.text)((self.of)(result).filter(|_| result.is_tpcc() || !self.is_of_tpcc()))
    }

    /// Returns the value in a result with the words that follow it.
    pub(crate) fn in_words(&self, result: &RunResult) -> String {
        format!("{} {}", self.text_of(result), self.words)
    }
}

/// The numbers, in the order of all views.
pub(crate) static NUMBERS: &[Number] = &[
    Number {
        name: "nopm",
        title: "New orders",
        unit: "per minute",
        words: "new orders per minute",
        of: |r| Some(r.nopm),
        text: nopm,
        group: Group::Throughput,
        only: Only::Tpcc,
        is_shown: has_new_orders,
        needs: Needs::NewOrders,
        compared: Some(Compared {
            name: "NOPM",
            better: Better::Higher,
            when: When::Always,
            seconds: Some(|r| r.series.new_order.clone()),
        }),
        summary: Some(Summary { label: "NOPM", is_main: true, alone: Some(nopm) }),
        headline: Some(Headline { label: "NOPM", more: share_of_maximum }),
        card: Some(Card { label: "NOPM", unit: "", note: nopm_note, warns: |_| false }),
        column: Some("NOPM"),
        ..Number::PLAIN
    },
    Number {
        name: "tps",
        title: "Throughput",
        unit: "transactions/s",
        words: "transactions per second",
        of: |r| Some(r.tps),
        group: Group::Throughput,
        parts: Some(Parts {
            kind: PartKind::Type,
            title: |of| format!("Throughput, {}", type_name(of)),
            of: tps_of,
        }),
        by_second: Some(tps_by_second),
        compared: Some(Compared {
            name: "transactions/s",
            better: Better::Higher,
            when: When::Always,
            seconds: Some(|r| r.series.total()),
        }),
        summary: Some(Summary { label: "tps", is_main: true, alone: Some(number) }),
        headline: Some(Headline { label: "tps", more: |_| String::new() }),
        card: Some(Card {
            label: "Transactions",
            unit: "/s",
            note: |r| if has_new_orders(r) { "completed, all types" } else { "completed" }.to_owned(),
            warns: |_| false,
        }),
        column: Some("tx/s"),
        ..Number::PLAIN
    },
    Number {
        name: "efficiency",
        title: "Efficiency",
        unit: "%",
        of: |r| Some(r.efficiency_percent),
        only: Only::EmulatedUsers,
        ..Number::PLAIN
    },
    Number {
        name: "failed",
        title: "Failed transactions",
        unit: "transactions",
        of: |r| Some(r.total(|t| t.failed) as f64),
        needs: Needs::Ended,
        summary: Some(Summary { label: "failed", is_main: false, alone: None }),
        counts_bad: true,
        ..Number::PLAIN
    },
    Number {
        name: "unknown",
        title: "Transactions without a known outcome",
        unit: "transactions",
        of: |r| Some(r.total(|t| t.unknown) as f64),
        needs: Needs::Ended,
        summary: Some(Summary { label: "unknown", is_main: false, alone: None }),
        counts_bad: true,
        ..Number::PLAIN
    },
    Number {
        name: "failed_rate",
        title: "Failed transactions, share",
        unit: "% of transactions",
        of: |r| {
            share_percent(
                r.total(|t| t.failed),
                r.completed() + r.total(|t| t.failed) + r.total(|t| t.unknown),
            )
        },
        needs: Needs::Ended,
        counts_bad: true,
        ..Number::PLAIN
    },
    Number {
        of: |r| Some(r.aborted() as f64),
        summary: Some(Summary { label: "aborts", is_main: false, alone: Some(|value| count(value as u64)) }),
        column: Some("aborts"),
        ..Number::PLAIN
    },
    Number {
        name: "abort_rate",
        title: "Aborted attempts",
        unit: "% of attempts",
        of: |r| share_percent(r.aborted(), r.completed() + r.aborted()),
        needs: Needs::Nothing,
        parts: Some(Parts {
            kind: PartKind::Reason,
            title: |reason| format!("Aborts by reason: {reason}"),
            of: |r, reason| share_percent(*r.aborts.get(reason)?, r.completed() + r.aborted()),
        }),
        counts_bad: true,
        ..Number::PLAIN
    },
    Number {
        name: "rollback_rate",
        title: "Rolled back as entered",
        unit: "% of transactions",
        of: |r| share_percent(r.total(|t| t.rolled_back), r.completed()),
        ..Number::PLAIN
    },
    Number {
        name: "client_percent",
        title: "Client, share of one processor",
        unit: "% of one processor",
        words: "% of one processor",
        of: |r| Some(r.client_percent_of_core()),
        is_shown: RunResult::is_paced,
        compared: Some(Compared {
            name: "client % of one processor",
            better: Better::Lower,
            when: When::Paced,
            seconds: None,
        }),
        card: Some(Card {
            label: "Client cost",
            unit: "%",
            note: |r| format!("of one processor{}", memory(r)),
            warns: |r| r.client.bottleneck.is_some(),
        }),
        column: Some("client % of a core"),
        ..Number::PLAIN
    },
    Number {
        name: "cpu_per_transaction",
        title: "Processor time",
        unit: "µs/transaction",
        words: "µs of processor per transaction",
        of: |r| (r.completed() > 0).then_some(r.client.cpu_us_per_transaction),
        is_shown: |r| !r.is_paced(),
        compared: Some(Compared {
            name: "client µs/transaction",
            better: Better::Lower,
            when: When::Unpaced,
            seconds: None,
        }),
        card: Some(Card {
            label: "Client cost",
            unit: "µs",
            note: |r| format!("processor time per transaction{}", memory(r)),
            warns: |r| r.client.bottleneck.is_some(),
        }),
        ..Number::PLAIN
    },
    Number {
        name: "driver_cpu_per_transaction",
        title: "Processor time of the driver",
        unit: "µs/transaction",
        // A target without a driver spends nothing in one.
        of: |r| (r.completed() > 0).then(|| r.client.driver_cpu_us_per_transaction.unwrap_or_default()),
        ..Number::PLAIN
    },
    Number {
        name: "aborts_per_1000",
        title: "Aborts per 1,000 transactions",
        unit: "aborts per 1,000 transactions",
        of: |r| {
            Some(if r.completed() == 0 { 0.0 } else { r.aborted() as f64 * 1000.0 / r.completed() as f64 })
        },
        compared: Some(Compared {
            name: "aborts per 1,000 transactions",
            better: Better::Lower,
            when: When::Always,
            seconds: None,
        }),
        ..Number::PLAIN
    },
    Number {
        name: "tps_per_node",
        title: "Throughput of each node",
        unit: "transactions/s and node",
        of: |r| r.node_count().map(|nodes| r.tps / f64::from(nodes)),
        ..Number::PLAIN
    },
    Number {
        of: |r| worst(r, |fault| fault.t_e, f64::min),
        ..of_faults("t_e", "T_e: how fast it recovers", "", Better::Higher)
    },
    Number {
        of: |r| worst(r, |fault| fault.r_e, f64::min),
        ..of_faults("r_e", "R_e: how much it keeps", "", Better::Higher)
    },
    Number {
        of: |r| worst(r, |fault| fault.r_e_during, f64::min),
        ..of_faults("r_e_during", "R_e while the fault lasts", "", Better::Higher)
    },
    Number {
        of: |r| worst(r, |fault| Some(fault.seconds_without_commit as f64), f64::max),
        ..of_faults("seconds_without_commit", "Seconds without a commit", "s", Better::Lower)
    },
];

/// Returns a number of the faults of a run, without its value.
const fn of_faults(name: &'static str, title: &'static str, unit: &'static str, better: Better) -> Number {
    Number {
        name,
        title,
        unit,
        only: Only::Faults,
        compared: Some(Compared { name: title, better, when: When::Known, seconds: None }),
        ..Number::PLAIN
    }
}

/// Returns the number of the client's cost that a result shows: per transaction, or in all where the plan sets the pace,
/// since most of a transaction's cost is then the cost of waiting for it.
pub(crate) fn client_cost(result: &RunResult) -> Option<&'static Number> {
    let is_cost = |number: &&Number| {
        number.compared.as_ref().is_some_and(|compared| matches!(compared.when, When::Paced | When::Unpaced))
    };
    NUMBERS.iter().filter(is_cost).find(|number| (number.is_shown)(result))
}

fn share_percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// Returns the completed transactions of a type per second.
fn tps_of(result: &RunResult, of: &str) -> Option<f64> {
    let seconds = result.window.measured_s;
    let done = result.transactions.get(of)?.completed() as f64;
    (seconds > 0.0).then(|| done / seconds)
}

/// Returns the completed transactions of each second, of one type or of all.
fn tps_by_second(result: &RunResult, of: Option<&str>) -> Option<Vec<Option<f64>>> {
    let document = Document::of(&result.series)?;
    if let Some(of) = of {
        return document.numbers(&[of]);
    }
    let types = TRANSACTION_TYPES.iter().chain(&OTHER_TYPES);
    let lists: Vec<Vec<Option<f64>>> =
        types.filter_map(|of| document.numbers(&[of])).filter(|list| !list.is_empty()).collect();
    let seconds = lists.iter().map(Vec::len).max()?;
    let sum = |second: usize| lists.iter().filter_map(|list| *list.get(second)?).sum();
    Some((0..seconds).map(|second| Some(sum(second))).collect())
}

/// Returns the worst value over the faults of a run; none if that of any fault is unknown.
fn worst(
    result: &RunResult,
    of: fn(&FaultAvailability) -> Option<f64>,
    worse: fn(f64, f64) -> f64,
) -> Option<f64> {
    let all: Vec<f64> = result.availability.iter().map(of).collect::<Option<_>>()?;
    all.into_iter().reduce(worse)
}

/// Returns the share of the greatest throughput of the warehouses in words; `None` unless terminals keep the standard's
/// waiting times.
fn of_maximum(result: &RunResult) -> Option<String> {
    (result.plan.mode.as_deref() == Some("rte"))
        .then(|| format!("{} % of {MAX_NOPM_PER_WAREHOUSE} per warehouse", number(result.efficiency_percent)))
}

/// Returns [`of_maximum`] behind a number.
fn share_of_maximum(result: &RunResult) -> String {
    of_maximum(result).map_or_else(String::new, |share| format!("  ({share})"))
}

fn nopm_note(result: &RunResult) -> String {
    let per_warehouse = result.warehouses().filter(|w| *w > 0).map(|w| result.nopm / w as f64);
    match (of_maximum(result), per_warehouse) {
        (Some(share), _) => format!("new orders per minute, {share}"),
        (None, Some(each)) => format!("new orders per minute, {} per warehouse", number(each)),
        (None, None) => "new orders per minute".to_owned(),
    }
}

/// Returns what the client's memory includes beside the client.
pub(crate) fn embedded_in_words(result: &RunResult) -> &'static str {
    if result.target.embedded { ", the embedded database included" } else { "" }
}

/// Returns the words on the client's memory that follow its processor time.
fn memory(result: &RunResult) -> String {
    format!("{}; {} of memory", embedded_in_words(result), bytes(result.client.peak_rss_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_each_number() {
        let book = include_str!("../../../../docs/src/sweeps.md");
        let rows: Vec<&str> = book.lines().filter(|line| line.starts_with("| `")).collect();
        for number in NUMBERS.iter().filter(|number| !number.name.is_empty()) {
            let name = format!("`{}`", number.name);
            assert!(rows.iter().any(|row| row.contains(&name)), "docs/src/sweeps.md lacks {name}");
        }
    }

    #[test]
    fn names_and_lines_are_unique() {
        let names = NUMBERS.iter().map(|number| number.name).filter(|name| !name.is_empty());
        let lines = NUMBERS.iter().filter_map(|number| Some(number.compared.as_ref()?.name));
        for mut all in [names.collect::<Vec<_>>(), lines.collect()] {
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
