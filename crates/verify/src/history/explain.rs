//! Sentences that explain anomalies.

use super::graph::{Edge, Kind};
use super::lost::{Lost, Older};
use super::model::{Action, History, KeyId, Op, Seen, TxId};
use super::report::Example;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Length of a list beyond which only its ends are shown.
const LIST_SHOWN: usize = 12;

/// Writes sentences about one history.
#[derive(Clone, Copy)]
pub(super) struct Explain<'h> {
    history: &'h History,
}

impl<'h> Explain<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        Self { history }
    }

    /// Returns an example of some transactions and one key.
    fn example(&self, transactions: &[TxId], key: KeyId, sentence: String) -> Example {
        let key = self.history.key(key);
        Example {
            transactions: transactions.to_vec(),
            processes: transactions.iter().map(|id| self.history.tx(*id).process).collect(),
            keys: vec![key.to_string()],
            engines: key.engine.iter().cloned().collect(),
            explanation: vec![sentence],
        }
    }

    fn key(&self, key: KeyId) -> String {
        self.history.key(key).to_string()
    }

    pub(super) fn lost(&self, Lost { key, by, value, reader, older }: &Lost) -> Example {
        let name = self.key(*key);
        let verb = match self.ops(*by, *key).find(|action| action.written().is_some()) {
            Some(Action::Append(_)) => format!("appended {value} to {name}"),
            Some(Action::Insert(_)) => format!("inserted {value} into {name}"),
            _ => format!("wrote {name} = {value}"),
        };
        let shown = shown(self.reads(*reader, *key).last());
        let at = self.history.tx(*by).completed;
        let lacks = match older {
            None => format!("{shown}, which lacks {value}"),
            Some(Older::Nothing) => format!("{shown}, the state before all writes"),
            Some(Older::Read) => format!("{shown}, which {by} had read before it wrote"),
            Some(Older::Acknowledged(writer)) => {
                let before = self.history.tx(*writer).completed;
                format!(
                    "{shown}, which {writer} wrote and which was acknowledged at {before}, before {by} began"
                )
            }
        };
        let sentence =
            format!("{by} {verb} and was acknowledged at {at}; at the end {reader} read {name} = {lacks}");
        self.example(&[*by, *reader], *key, sentence)
    }

    pub(super) fn garbage(&self, reader: TxId, key: KeyId, value: u64) -> Example {
        let sentence = format!("{reader} read {value} in {}, which nobody wrote", self.key(key));
        self.example(&[reader], key, sentence)
    }

    pub(super) fn future_read(&self, reader: TxId, key: KeyId, value: u64) -> Example {
        let key_name = self.key(key);
        self.example(
            &[reader],
            key,
            format!("{reader} read {value} in {key_name} before it wrote that value itself"),
        )
    }

    pub(super) fn own_appends(&self, reader: TxId, key: KeyId, wrote: &[u64], seen: &[u64]) -> Example {
        let (name, wrote, seen) = (self.key(key), list(wrote), list(seen));
        let sentence = format!("{reader} appended {wrote} to {name} and then read {name} = {seen}");
        self.example(&[reader], key, sentence)
    }

    pub(super) fn own_inserts(&self, reader: TxId, key: KeyId, wrote: &[u64], seen: &[u64]) -> Example {
        let (name, wrote, seen) = (self.key(key), set(wrote), set(seen));
        let sentence = format!("{reader} inserted {wrote} into {name} and then read {name} = {seen}");
        self.example(&[reader], key, sentence)
    }

    pub(super) fn own_write(&self, reader: TxId, key: KeyId, wrote: u64, seen: Option<u64>) -> Example {
        let (name, seen) = (self.key(key), register(seen));
        self.example(&[reader], key, format!("{reader} wrote {name} = {wrote} and then read {name} = {seen}"))
    }

    pub(super) fn unrepeatable_list(&self, id: TxId, key: KeyId, first: &[u64], second: &[u64]) -> Example {
        self.unrepeatable(id, key, &list(first), &list(second))
    }

    pub(super) fn unrepeatable_range(&self, id: TxId, key: KeyId, first: &[u64], second: &[u64]) -> Example {
        self.unrepeatable(id, key, &set(first), &set(second))
    }

    pub(super) fn unrepeatable_register(
        &self,
        id: TxId,
        key: KeyId,
        first: Option<u64>,
        second: Option<u64>,
    ) -> Example {
        self.unrepeatable(id, key, &register(first), &register(second))
    }

    fn unrepeatable(&self, id: TxId, key: KeyId, first: &str, second: &str) -> Example {
        let name = self.key(key);
        self.example(
            &[id],
            key,
            format!("{id} read {name} = {first} and later {second}, without its own writes"),
        )
    }

    pub(super) fn bad_source(
        &self,
        reader: TxId,
        key: KeyId,
        value: u64,
        writer: TxId,
        why: &str,
    ) -> Example {
        let name = self.key(key);
        let sentence = format!("{reader} read {value} in {name}, written by {writer}, which {why}");
        self.example(&[reader, writer], key, sentence)
    }

    pub(super) fn duplicate(&self, reader: TxId, key: KeyId, seen: &[u64]) -> Example {
        let mut known = BTreeSet::new();
        let twice = seen.iter().find(|value| !known.insert(**value)).copied().unwrap_or_default();
        let sentence = format!("{reader} read {} = {}, which has {twice} twice", self.key(key), list(seen));
        self.example(&[reader], key, sentence)
    }

    pub(super) fn incompatible(&self, key: KeyId, a: (TxId, &[u64]), b: (TxId, &[u64])) -> Example {
        let (at, name) = (a.1.iter().zip(b.1).take_while(|(a, b)| a == b).count(), self.key(key));
        let sentence = format!(
            "{} read {name} = {} and {} read {name} = {}: they differ from place {} on, so neither continues \
             the other",
            a.0,
            list(a.1),
            b.0,
            list(b.1),
            at + 1
        );
        self.example(&[a.0, b.0], key, sentence)
    }

    /// Explains a cycle, one sentence for each edge.
    pub(super) fn cycle(&self, edges: &[Edge]) -> Example {
        let transactions: Vec<TxId> = edges.iter().map(|edge| edge.from).collect();
        let (mut keys, mut engines) = (Vec::new(), BTreeSet::new());
        for edge in edges.iter().filter(|edge| !matches!(edge.kind, Kind::Session | Kind::Realtime)) {
            let name = self.key(edge.key);
            if !keys.contains(&name) {
                keys.push(name);
            }
            engines.extend(self.history.key(edge.key).engine.clone());
        }
        Example {
            processes: transactions.iter().map(|id| self.history.tx(*id).process).collect(),
            transactions,
            keys,
            engines: engines.into_iter().collect(),
            explanation: edges.iter().map(|edge| self.edge(edge)).collect(),
        }
    }

    /// Explains why one transaction comes before another.
    fn edge(&self, edge: &Edge) -> String {
        let Edge { from, to, kind, value, .. } = *edge;
        if kind == Kind::Session {
            return format!("process {} ran {from} before {to}", self.history.tx(from).process);
        }
        if kind == Kind::Realtime {
            let (end, begin) = (self.history.tx(from).completed, self.history.tx(to).invoked);
            return format!("{from} had ended (at {end}) before {to} began (at {begin})");
        }
        let name = self.key(edge.key);
        let (from_seen, to_seen) = (self.read_without(edge), self.read_with(edge));
        // The verb of the writes that a read has or misses; registers are overwritten instead.
        let grows = match (self.ops(to, edge.key).find(|action| action.written().is_some()), to_seen) {
            (_, Some(Seen::Range(_))) | (Some(Action::Insert(_)), _) => Some("inserted"),
            (_, Some(Seen::List(_))) | (Some(Action::Append(_)), _) => Some("appended"),
            _ => None,
        };
        match (kind, grows) {
            (Kind::WriteRead, Some(verb)) => {
                format!("{to} read {name} = {}, which has {value} that {from} {verb}", shown(to_seen))
            }
            (Kind::WriteRead, None) => format!("{to} read {name} = {value}, which {from} wrote"),
            (Kind::ReadWrite, Some(verb)) => {
                format!("{from} read {name} = {}, which misses {value} that {to} {verb}", shown(from_seen))
            }
            (Kind::ReadWrite, None) => {
                format!("{from} read {name} = {}, which {to} overwrote with {value}", shown(from_seen))
            }
            (_, Some(verb)) => format!("{to} {verb} {value} to {name} after {}", self.wrote(from, edge.key)),
            (_, None) => format!("{to} wrote {name} = {value} after {}", self.wrote(from, edge.key)),
        }
    }

    /// True if a cycle has a read that missed a row which another transaction inserted.
    pub(super) fn has_phantom(&self, cycle: &[Edge]) -> bool {
        let inserts =
            |edge: &Edge| self.ops(edge.to, edge.key).any(|action| matches!(action, Action::Insert(_)));
        cycle.iter().any(|edge| edge.kind == Kind::ReadWrite && inserts(edge))
    }

    /// Returns the value that a transaction left in a key, as the end of a sentence.
    fn wrote(&self, id: TxId, key: KeyId) -> String {
        let value = self.ops(id, key).filter_map(Action::written).last();
        value.map_or_else(|| id.to_string(), |value| format!("{value} of {id}"))
    }

    fn ops(&self, id: TxId, key: KeyId) -> impl Iterator<Item = &'h Action> {
        self.history.tx(id).ops.iter().filter(move |op| op.key == key).map(|op| &op.action)
    }

    fn reads(&self, id: TxId, key: KeyId) -> impl Iterator<Item = &'h Seen> {
        self.ops(id, key)
            .filter_map(|action| if let Action::Read(Some(seen)) = action { Some(seen) } else { None })
    }

    /// Returns the read of the edge's reader that lacks the edge's value.
    fn read_without(&self, edge: &Edge) -> Option<&'h Seen> {
        self.reads(edge.from, edge.key).find(|seen| !has(seen, edge.value))
    }

    /// Returns the read of the edge's reader that has the edge's value.
    fn read_with(&self, edge: &Edge) -> Option<&'h Seen> {
        self.reads(edge.to, edge.key).find(|seen| has(seen, edge.value))
    }
}

impl History {
    /// Returns the operations of a transaction: `r k3 [1 2], append k3 3`.
    #[must_use]
    pub fn shown(&self, id: TxId) -> String {
        let op = |op: &Op| {
            let key = self.key(op.key);
            match &op.action {
                Action::Append(value) => format!("append {key} {value}"),
                Action::Write(value) => format!("w {key} {value}"),
                Action::Insert(value) => format!("insert {key} {value}"),
                Action::Read(None) => format!("r {key} ?"),
                Action::Read(seen) => format!("r {key} {}", shown(seen.as_ref())),
            }
        };
        self.tx(id).ops.iter().map(op).collect::<Vec<_>>().join(", ")
    }
}

fn has(seen: &Seen, value: u64) -> bool {
    match seen {
        Seen::List(values) | Seen::Range(values) => values.contains(&value),
        Seen::Register(seen) => *seen == Some(value),
    }
}

fn shown(seen: Option<&Seen>) -> String {
    match seen {
        Some(Seen::List(values)) => list(values),
        Some(Seen::Range(values)) => set(values),
        Some(Seen::Register(value)) => register(*value),
        None => "something".into(),
    }
}

fn register(value: Option<u64>) -> String {
    value.map_or_else(|| "nil".into(), |value| value.to_string())
}

/// Returns a list as `[1 2 3]`; of a long one, the first and the last values.
fn list(values: &[u64]) -> String {
    format!("[{}]", few(values))
}

/// Returns the values of a range as `{1 2 3}`, in their order; of many, the first and the last ones.
fn set(values: &[u64]) -> String {
    let mut values = values.to_vec();
    values.sort_unstable();
    format!("{{{}}}", few(&values))
}

/// Returns values with spaces in between; of many, the first and the last ones.
fn few(values: &[u64]) -> String {
    let mut text = String::new();
    for (at, value) in values.iter().enumerate() {
        if values.len() > LIST_SHOWN && at >= LIST_SHOWN / 2 && at < values.len() - LIST_SHOWN / 2 {
            if at == LIST_SHOWN / 2 {
                text.push_str(" …");
            }
            continue;
        }
        let space = if at == 0 { "" } else { " " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{space}{value}");
    }
    text
}
