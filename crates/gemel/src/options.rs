//! How a database is opened.

use std::time::Duration;

/// Longest interval of [`Durability::Relaxed`].
const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// When its log record is on stable storage.
    #[default]
    Full,
    /// At once; the log is made durable every so often, at least once a day. The last transactions may be lost, never one in
    /// part.
    Relaxed(Duration),
    /// At once; the log is written, and durable when the operating system likes.
    None,
}

/// Where log records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogMode {
    /// One log; a transaction over both engines is one record.
    #[default]
    Shared,
    /// A log for each engine, as Skeena has it; recovery cuts both at the first transaction of which a part is missing.
    PerEngine,
}

impl LogMode {
    /// For messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Shared => "one shared log",
            Self::PerEngine => "a log for each engine",
        }
    }
}

/// How a transaction over both engines gets its two commit timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CommitStamps {
    /// Both under the registry's latch: commits over both engines come in the same order in each, so none is refused.
    #[default]
    Latched,
    /// Each when its engine is ready, then checked in the registry, which refuses those that cross (as the thesis has it).
    Independent,
}

/// What a transaction sees of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Each access sees what is committed at that moment.
    ReadCommitted,
    /// All accesses see the state at the transaction's begin, in both engines; of two that write the same key the
    /// first to commit wins.
    #[default]
    Snapshot,
    /// As [`Isolation::Snapshot`], and what was read must still be so at the commit: the effect is that of one
    /// transaction after the other.
    Serializable,
}

impl Isolation {
    pub(crate) fn from_index(index: u64) -> Self {
        match index {
            0 => Self::ReadCommitted,
            1 => Self::Snapshot,
            _ => Self::Serializable,
        }
    }
}

/// Options of a database. All have defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// Where log records go. A database keeps the mode that it was made with.
    pub log: LogMode,
    /// Whether snapshots over both engines go through the registry. Off only to show what it prevents.
    pub csr: bool,
    /// How commits over both engines are stamped.
    pub commit_stamps: CommitStamps,
    /// Entries in a partition of the registry.
    pub csr_capacity: usize,
    /// Accesses to the registry between two looks for partitions that can be dropped.
    pub csr_recycle: u64,
    /// Bytes of the disk engine's cache of blocks.
    pub cache_bytes: u64,
    /// Bytes of writes that the disk engine collects in memory before it writes a file.
    pub write_buffer_bytes: u64,
    /// Most bytes that rows and versions of the memory engine may take.
    pub memory_limit_bytes: u64,
    /// Bytes of log after which a checkpoint begins.
    pub checkpoint_log_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            log: LogMode::default(),
            csr: true,
            commit_stamps: CommitStamps::default(),
            csr_capacity: 1000,
            csr_recycle: 1000,
            cache_bytes: 256 << 20,
            write_buffer_bytes: 64 << 20,
            memory_limit_bytes: 8 << 30,
            checkpoint_log_bytes: 1 << 30,
        }
    }
}

impl Options {
    /// Refuses values that make no sense, all at once.
    pub(crate) fn check(&self) -> crate::Result<()> {
        let mut wrong = Vec::new();
        if self.csr_capacity == 0 {
            wrong.push("csr_capacity must be at least 1");
        }
        if self.csr_recycle == 0 {
            wrong.push("csr_recycle must be at least 1");
        }
        if self.write_buffer_bytes < 1 << 16 {
            wrong.push("write_buffer_bytes must be at least 65536");
        }
        if self.memory_limit_bytes < 1 << 20 {
            wrong.push("memory_limit_bytes must be at least 1048576");
        }
        if self.checkpoint_log_bytes < 1 << 20 {
            wrong.push("checkpoint_log_bytes must be at least 1048576");
        }
        if self.durability == Durability::Relaxed(Duration::ZERO) {
            wrong.push("the interval of relaxed durability must not be zero: use full");
        }
        if matches!(self.durability, Durability::Relaxed(interval) if interval > LONGEST_INTERVAL) {
            wrong.push("the interval of relaxed durability must be at most one day: use none to leave syncs to the system");
        }
        if wrong.is_empty() { Ok(()) } else { Err(crate::Error::Usage(wrong.join("; "))) }
    }
}
