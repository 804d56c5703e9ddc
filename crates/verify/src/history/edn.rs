//! Histories as Jepsen writes them (`history.edn`), for Elle and other checkers: one operation map per line, an
//! invocation and a completion for each transaction.
//!
//! Reads at the end have `:final? true`, as in Jepsen's own tests.
//!
//! The clock of a history is logical, so `:time` is a position and no time.

use super::model::{Action, History, HistoryError, KeyKind, Op, Outcome, Seen, Transaction};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;

impl History {
    /// Writes the history as EDN, without its operations on ranges: Elle has none that means the same, and what is left
    /// of a sound history is sound.
    ///
    /// # Errors
    /// Fails if the writer fails or the history is malformed.
    pub fn to_edn(&self, mut writer: impl Write) -> Result<(), HistoryError> {
        let kinds = self.validate()?;
        let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * self.transactions.len());
        for (at, tx) in self.transactions.iter().enumerate() {
            events.extend([(tx.invoked, false, at), (tx.completed, true, at)]);
        }
        // At one position beginnings come first: only an end strictly before a beginning counts.
        events.sort_unstable();
        let processes = self.transactions.iter().map(|tx| tx.process + 1).max().unwrap_or(0);
        // A process without an answer has crashed there: its client goes on as another process.
        let mut crashes: HashMap<u32, u32> = HashMap::new();
        for (index, (time, ended, at)) in events.into_iter().enumerate() {
            let tx = &self.transactions[at];
            let crashed = crashes.entry(tx.process).or_default();
            let process = u64::from(tx.process) + u64::from(*crashed) * u64::from(processes);
            let kind = match (ended, tx.outcome) {
                (false, _) => ":invoke",
                (true, Outcome::Committed) => ":ok",
                (true, Outcome::Aborted) => ":fail",
                (true, Outcome::Unknown) => {
                    *crashed += 1;
                    ":info"
                }
            };
            let value = self.value(tx, &kinds, kind == ":ok");
            let at_end = if self.is_final(tx) { ", :final? true" } else { "" };
            writeln!(
                writer,
                "{{:type {kind}, :f :txn, :value [{value}], :process {process}, :time {time}, :index {index}{at_end}}}"
            )?;
        }
        Ok(writer.flush()?)
    }

    /// Returns the operations, with the results of reads if they are known.
    fn value(&self, tx: &Transaction, kinds: &[KeyKind], known: bool) -> String {
        let op = |Op { key, action }: &Op| {
            let is_range = kinds[key.0 as usize] == KeyKind::Range;
            let key = text(&self.key(*key).to_string());
            Some(match action {
                Action::Append(value) => format!("[:append {key} {value}]"),
                Action::Write(value) => format!("[:w {key} {value}]"),
                Action::Read(Some(Seen::List(values))) if known => {
                    let values: Vec<String> = values.iter().map(u64::to_string).collect();
                    format!("[:r {key} [{}]]", values.join(" "))
                }
                Action::Read(Some(Seen::Register(Some(value)))) if known => format!("[:r {key} {value}]"),
                Action::Insert(_) => return None,
                Action::Read(_) if is_range => return None,
                Action::Read(_) => format!("[:r {key} nil]"),
            })
        };
        tx.ops.iter().filter_map(op).collect::<Vec<_>>().join(" ")
    }
}

/// Returns a text as a string of EDN.
fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\u{:04x}", letter as u32);
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}
