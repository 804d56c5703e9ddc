//! What a history is: transactions of client processes, what they did and saw, and when, by one logical clock.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A key's number: its place in [`History::keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyId(pub u32);

/// A transaction's number: its place in [`History::transactions`]. Shown as `T7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TxId(pub u32);

impl fmt::Display for TxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

/// A key of the database, and where it lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// What the key is called; unique within its engine.
    pub name: String,
    /// The engine or node it lives on, where that matters; it must not contain `@`.
    pub engine: Option<String>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.engine {
            Some(engine) => write!(f, "{}@{engine}", self.name),
            // A name with an @ of its own is told from one with an engine by an empty engine.
            None if self.name.contains('@') => write!(f, "{}@", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Key {
    /// The key of a text as `Display` writes it: `name` or `name@engine`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.rsplit_once('@') {
            Some((name, "")) => Self { name: name.into(), engine: None },
            Some((name, engine)) => Self { name: name.into(), engine: Some(engine.into()) },
            None => Self { name: text.into(), engine: None },
        }
    }
}

/// What a read returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The whole list; a key that does not exist is the empty list.
    List(Vec<u64>),
    /// The register's value; none if it was never written.
    Register(Option<u64>),
}

/// What an operation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Appended a value, never appended to this key before, to the list.
    Append(u64),
    /// Wrote a value, never written to this key before, to the register.
    Write(u64),
    /// Read; none if the answer never came.
    Read(Option<Seen>),
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Upon what.
    pub key: KeyId,
    /// What.
    pub action: Action,
}

/// How a transaction ended, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The database said that it is committed.
    Committed,
    /// The database said that it is not, or the client rolled it back.
    Aborted,
    /// No answer: it counts as committed only if somebody saw its effect.
    Unknown,
}

/// One transaction of a client process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The client that ran it; a process runs one at a time.
    pub process: u32,
    /// When it was begun, a position of the history's clock.
    pub invoked: u64,
    /// When the client knew its outcome, a later position of the same clock.
    pub completed: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What it did, in order.
    pub ops: Vec<Op>,
}

/// What clients did to a database and what it answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The keys; an operation names one by its place here.
    pub keys: Vec<Key>,
    /// The transactions, in any order.
    pub transactions: Vec<Transaction>,
}

/// Why a history cannot be checked, read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// An operation names a key that is not in the list of keys.
    #[error("{tx} uses key number {key} of {keys}: list the key in the history")]
    NoSuchKey {
        /// The transaction.
        tx: TxId,
        /// The key's number.
        key: u32,
        /// How many there are.
        keys: usize,
    },
    /// A key is used as a list and as a register.
    #[error("{tx} uses key {key} as a {as_what}, others use it otherwise: give each kind keys of its own")]
    MixedKey {
        /// The transaction.
        tx: TxId,
        /// The key.
        key: String,
        /// `list` or `register`.
        as_what: &'static str,
    },
    /// Nothing can be inferred from values that are not unique.
    #[error("{tx} writes {value} to key {key} again: each value may be written to a key once")]
    NotUnique {
        /// The transaction that did it again.
        tx: TxId,
        /// The key.
        key: String,
        /// The value.
        value: u64,
    },
    /// A transaction ends before it begins, or a process runs two at once.
    #[error(
        "{tx} of process {process} begins at {invoked}, ends at {completed}, and the process is busy until \
             {free}: a process runs one transaction at a time"
    )]
    Times {
        /// The transaction.
        tx: TxId,
        /// Its process.
        process: u32,
        /// When it begins.
        invoked: u64,
        /// When it ends.
        completed: u64,
        /// When the transaction before it in the process ended.
        free: u64,
    },
    /// More than 2³¹ transactions or keys.
    #[error("the history has {0} transactions, more than {max} cannot be checked at once: cut it", max = u32::MAX / 2)]
    TooLong(usize),
    /// An engine's name cannot be written to a file.
    #[error("engine name `{0}` is empty or contains an @: choose another name")]
    EngineName(String),
    /// A line of a file is not what it should be.
    #[error("history line {line}: {what}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The file failed.
    #[error("history file: {0}")]
    Io(#[from] std::io::Error),
}

/// What a key is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    List,
    Register,
}

impl Action {
    /// What this action takes its key for; nothing if that cannot be told.
    fn kind(&self) -> Option<KeyKind> {
        match self {
            Self::Append(_) | Self::Read(Some(Seen::List(_))) => Some(KeyKind::List),
            Self::Write(_) | Self::Read(Some(Seen::Register(_))) => Some(KeyKind::Register),
            Self::Read(None) => None,
        }
    }

    /// The value that it puts into its key.
    pub(super) fn written(&self) -> Option<u64> {
        match self {
            Self::Append(value) | Self::Write(value) => Some(*value),
            Self::Read(_) => None,
        }
    }
}

impl History {
    /// The transaction of a number.
    pub(super) fn tx(&self, id: TxId) -> &Transaction {
        &self.transactions[id.0 as usize]
    }

    /// The key of a number.
    pub(super) fn key(&self, id: KeyId) -> &Key {
        &self.keys[id.0 as usize]
    }

    /// All transactions with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (TxId, &Transaction)> {
        self.transactions.iter().enumerate().map(|(at, tx)| (TxId(at as u32), tx))
    }

    /// Checks what the checker relies upon, and tells what each key is used as.
    pub(super) fn validate(&self) -> Result<Vec<KeyKind>, HistoryError> {
        if self.transactions.len().max(self.keys.len()) > (u32::MAX / 2) as usize {
            return Err(HistoryError::TooLong(self.transactions.len()));
        }
        let mut kinds = vec![None; self.keys.len()];
        let mut written = HashSet::new();
        let mut processes: HashMap<u32, Vec<TxId>> = HashMap::new();
        for (id, tx) in self.numbered() {
            processes.entry(tx.process).or_default().push(id);
            for op in &tx.ops {
                let Some(known) = kinds.get_mut(op.key.0 as usize) else {
                    return Err(HistoryError::NoSuchKey { tx: id, key: op.key.0, keys: self.keys.len() });
                };
                if let Some(kind) = op.action.kind()
                    && *known.get_or_insert(kind) != kind
                {
                    let as_what = if kind == KeyKind::List { "list" } else { "register" };
                    return Err(HistoryError::MixedKey {
                        tx: id,
                        key: self.key(op.key).to_string(),
                        as_what,
                    });
                }
                if let Some(value) = op.action.written()
                    && !written.insert((op.key, value))
                {
                    return Err(HistoryError::NotUnique { tx: id, key: self.key(op.key).to_string(), value });
                }
            }
        }
        for list in processes.values_mut() {
            list.sort_unstable_by_key(|id| self.tx(*id).invoked);
            let mut free = None;
            for id in list {
                let tx = self.tx(*id);
                if tx.invoked >= tx.completed || free.is_some_and(|free| tx.invoked <= free) {
                    return Err(HistoryError::Times {
                        tx: *id,
                        process: tx.process,
                        invoked: tx.invoked,
                        completed: tx.completed,
                        free: free.unwrap_or(0),
                    });
                }
                free = Some(tx.completed);
            }
        }
        Ok(kinds.into_iter().map(|kind| kind.unwrap_or(KeyKind::List)).collect())
    }
}
