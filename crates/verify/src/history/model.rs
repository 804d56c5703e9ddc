//! Histories: transactions of client processes with their operations, results and times by one logical clock.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Number of a key: its place in [`History::keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyId(pub u32);

/// Number of a transaction: its place in [`History::transactions`]. Shown as `T7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TxId(pub u32);

impl fmt::Display for TxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

/// A key of the database and its engine or node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Name of the key, unique within its engine.
    pub name: String,
    /// Engine or node of the key, if that matters. It must not contain `@`.
    pub engine: Option<String>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.engine {
            Some(engine) => write!(f, "{}@{engine}", self.name),
            // An empty engine marks a name that contains an @ itself.
            None if self.name.contains('@') => write!(f, "{}@", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Key {
    /// Reads a key from its displayed form: `name` or `name@engine`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.rsplit_once('@') {
            Some((name, "")) => Self { name: name.into(), engine: None },
            Some((name, engine)) => Self { name: name.into(), engine: Some(engine.into()) },
            None => Self { name: text.into(), engine: None },
        }
    }
}

/// Result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The whole list; empty if the key does not exist.
    List(Vec<u64>),
    /// The register's value; none if it was never written.
    Register(Option<u64>),
    /// Values of all rows in the range, in any order.
    Range(Vec<u64>),
}

/// Action of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Append of a value to the list. The value was never appended to this key before.
    Append(u64),
    /// Write of a value to the register. The value was never written to this key before.
    Write(u64),
    /// Insert of a row with a value into the range. The value was never inserted into this range before, and no row is
    /// ever changed or deleted.
    Insert(u64),
    /// Read, with its result; none if the answer never came.
    Read(Option<Seen>),
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Key of the operation.
    pub key: KeyId,
    /// Action on the key.
    pub action: Action,
}

/// Outcome of a transaction, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The database reported the commit.
    Committed,
    /// The database reported an abort, or the client rolled back.
    Aborted,
    /// The client got no answer. The transaction counts as committed only if another one saw its effect.
    Unknown,
}

/// One transaction of a client process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Client that ran the transaction. A process runs one at a time.
    pub process: u32,
    /// Position of the history's clock at the begin.
    pub invoked: u64,
    /// Position of the same clock at which the client knew the outcome; it is later.
    pub completed: u64,
    /// Outcome of the transaction.
    pub outcome: Outcome,
    /// Operations in their order.
    pub ops: Vec<Op>,
}

/// Operations of clients on a database, and its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Keys. An operation names a key by its place here.
    pub keys: Vec<Key>,
    /// Transactions, in any order.
    pub transactions: Vec<Transaction>,
    /// Position of the clock from which on transactions are the reads at the end: nobody writes any more, and what they
    /// do not show does not come later. None if the history has no such reads; then lost appends can't be told from
    /// stale reads.
    pub final_from: Option<u64>,
}

/// Error of a history that cannot be checked, read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// An operation names a key that is not in the list of keys.
    #[error("{tx} uses key number {key} of {keys}: list the key in the history")]
    NoSuchKey {
        /// The transaction.
        tx: TxId,
        /// The key's number.
        key: u32,
        /// Number of keys.
        keys: usize,
    },
    /// A key is used as a list, a register or a range, and as another of them.
    #[error(
        "{tx} uses key {key} as a {as_what}, other transactions do not: use different keys for lists, registers and \
         ranges"
    )]
    MixedKey {
        /// The transaction.
        tx: TxId,
        /// The key.
        key: String,
        /// `list`, `register` or `range`.
        as_what: &'static str,
    },
    /// A value is written to a key twice. Nothing can be inferred from values that are not unique.
    #[error("{tx} writes {value} to key {key} a second time: write each value to a key only once")]
    NotUnique {
        /// The transaction that repeats the write.
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
        /// The transaction's process.
        process: u32,
        /// Begin of the transaction.
        invoked: u64,
        /// End of the transaction.
        completed: u64,
        /// End of the transaction before it in the process.
        free: u64,
    },
    /// A transaction that began among the reads at the end writes.
    #[error(
        "{0} writes, but began after the first read at the end: mark only reads without writers beside them as final"
    )]
    WritesAtEnd(TxId),
    /// More than 2³¹ transactions or keys.
    #[error("the history has {0} transactions, more than {max} cannot be checked at once: cut it", max = u32::MAX / 2)]
    TooLong(usize),
    /// An engine's name cannot be written to a file.
    #[error("engine name `{0}` is empty or contains an @: choose another name")]
    EngineName(String),
    /// A line of a file is malformed.
    #[error("history line {line}: {what}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// The fault of the line.
        what: String,
    },
    /// Reading or writing the file failed.
    #[error("history file: {0}")]
    Io(#[from] std::io::Error),
}

/// Use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    List,
    Register,
    Range,
}

impl Action {
    /// Returns the use of the key that this action implies; none if unknown.
    fn kind(&self) -> Option<KeyKind> {
        match self {
            Self::Append(_) | Self::Read(Some(Seen::List(_))) => Some(KeyKind::List),
            Self::Write(_) | Self::Read(Some(Seen::Register(_))) => Some(KeyKind::Register),
            Self::Insert(_) | Self::Read(Some(Seen::Range(_))) => Some(KeyKind::Range),
            Self::Read(None) => None,
        }
    }

    /// Returns the value that the action writes.
    pub(super) fn written(&self) -> Option<u64> {
        match self {
            Self::Append(value) | Self::Write(value) | Self::Insert(value) => Some(*value),
            Self::Read(_) => None,
        }
    }
}

impl History {
    /// Returns the transaction with this number.
    pub(super) fn tx(&self, id: TxId) -> &Transaction {
        &self.transactions[id.0 as usize]
    }

    /// Returns the key with this number.
    pub(super) fn key(&self, id: KeyId) -> &Key {
        &self.keys[id.0 as usize]
    }

    /// True if a transaction is one of the reads at the end.
    pub(super) fn is_final(&self, tx: &Transaction) -> bool {
        self.final_from.is_some_and(|from| tx.invoked >= from)
    }

    /// Returns all transactions with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (TxId, &Transaction)> {
        self.transactions.iter().enumerate().map(|(at, tx)| (TxId(at as u32), tx))
    }

    /// Checks the assumptions of the checker and returns the use of each key.
    pub(super) fn validate(&self) -> Result<Vec<KeyKind>, HistoryError> {
        if self.transactions.len().max(self.keys.len()) > (u32::MAX / 2) as usize {
            return Err(HistoryError::TooLong(self.transactions.len()));
        }
        let mut kinds = vec![None; self.keys.len()];
        let mut written = HashSet::new();
        let mut processes: HashMap<u32, Vec<TxId>> = HashMap::new();
        for (id, tx) in self.numbered() {
            processes.entry(tx.process).or_default().push(id);
            if self.is_final(tx) && tx.ops.iter().any(|op| op.action.written().is_some()) {
                return Err(HistoryError::WritesAtEnd(id));
            }
            for op in &tx.ops {
                let Some(known) = kinds.get_mut(op.key.0 as usize) else {
                    return Err(HistoryError::NoSuchKey { tx: id, key: op.key.0, keys: self.keys.len() });
                };
                if let Some(kind) = op.action.kind()
                    && *known.get_or_insert(kind) != kind
                {
                    let as_what = match kind {
                        KeyKind::List => "list",
                        KeyKind::Register => "register",
                        KeyKind::Range => "range",
                    };
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
