//! Options for opening a database and for its transactions.

use std::time::Duration;

/// Longest interval of [`Durability::Relaxed`].
const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);
/// Longest [`Options::gather`].
const LONGEST_GATHER: Duration = Duration::from_secs(1);
/// Largest [`Options::prepared_limit_bytes`]. Half a record of the log: the commit of a prepared transaction is a record
/// too, and must not be too large for the log when it is too late to reject the transaction.
const LARGEST_PREPARED: u64 = 512 << 20;
/// Shortest [`Options::max_snapshot_age`]. A shorter one would hit transactions that are just slow.
const SHORTEST_AGE: Duration = Duration::from_secs(1);

/// The moment at which a commit's ticket resolves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// The ticket resolves when the commit's log record is durable.
    #[default]
    Full,
    /// The ticket resolves at once. The log is made durable at this interval, at most one day. A crash may lose
    /// the newest commits, but none in part.
    Relaxed(Duration),
    /// The ticket resolves at once. The log is written, and the operating system decides when it becomes durable.
    None,
}

/// The logs of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogMode {
    /// One log. A transaction over both engines is one record.
    #[default]
    Shared,
    /// One log per engine, as in Skeena. After a crash the logs may end at different commits. Recovery cuts each before
    /// the first commit that lacks its other half or an earlier commit. So what is left is a prefix of the commits, as
    /// with one log. No commit is cut whose ticket has resolved as durable.
    PerEngine,
}

impl LogMode {
    /// Returns the mode in words, for messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Shared => "one shared log",
            Self::PerEngine => "a log for each engine",
        }
    }
}

/// The way in which a transaction over both engines gets its two commit timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CommitStamps {
    /// Draws both timestamps under the registry's latch. So commits over both engines have the same order in each, and
    /// the registry aborts none.
    #[default]
    Latched,
    /// Draws each timestamp when its engine is ready, then checks the pair in the registry, which aborts commits that
    /// cross (as in the thesis).
    Independent,
}

/// The behaviour of a database whose disk has no space for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FullDisk {
    /// Rejects commits until there is space, with [`Error::DiskFull`](crate::Error::DiskFull). The commits that were
    /// under way are written then, and their tickets stay open until then. Closing the database gives them up.
    #[default]
    Wait,
    /// Rejects commits until the database is opened again, as after any other error of the log. The tickets of commits
    /// under way resolve at once: their outcome is unknown.
    Fail,
}

/// The form of the blocks of rows in the disk engine's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Blocks are written as they are.
    #[default]
    None,
    /// Blocks are compressed with LZ4.
    Lz4,
}

/// The isolation level of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Each access sees everything committed at that moment.
    ReadCommitted,
    /// All accesses see the state at the transaction's begin, in both engines. If two transactions write the same key,
    /// the first to commit wins.
    #[default]
    Snapshot,
    /// Same as [`Isolation::Snapshot`], and everything that was read must still be current at the commit. The effect is
    /// that of a serial execution.
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
    /// The moment at which a commit's ticket resolves.
    pub durability: Durability,
    /// Longest time that the log waits for more commits, to write them together; none to write each at once. It needs
    /// full durability. It delays a commit only if no thread or task waits for it: its ticket has a callback
    /// ([`Ticket::on_done`](crate::Ticket::on_done)), or was dropped.
    ///
    /// The log does not use the whole time. It begins to write when a thread or task waits for a ticket, when the caller
    /// asks ([`Database::hurry`](crate::Database::hurry)), and when enough commits have come. How many are enough, it
    /// learns from the calls of `hurry`.
    pub gather: Option<Duration>,
    /// One log, or one per engine. A database keeps the mode that it was made with.
    pub log: LogMode,
    /// True if snapshots over both engines go through the registry. False only demonstrates what the registry prevents.
    pub csr: bool,
    /// The way in which commits over both engines get their timestamps.
    pub commit_stamps: CommitStamps,
    /// Entries in a partition of the registry.
    pub csr_capacity: usize,
    /// Accesses to the registry between searches for partitions to drop. It also searches after it opened a partition.
    pub csr_recycle: u64,
    /// Bytes of the disk engine's block cache.
    pub cache_bytes: u64,
    /// Bytes of writes that the disk engine collects in memory before it writes a file. The larger, the more reads find rows
    /// that were written lately without a look into the files: TPC-C with a cache of 1 GB gets faster up to a quarter of the
    /// cache, the largest size that was tried. If the files can't keep up, commits wait at three times as many. A
    /// checkpoint writes the files too, so a buffer larger than `checkpoint_log_bytes` is never full.
    pub write_buffer_bytes: u64,
    /// The form of the blocks that the disk engine writes from now on. Files with other blocks can be read, and get the
    /// new form when they are merged; [`Database::compact`](crate::Database::compact) merges all files of a table. The
    /// block cache has the blocks as they were before compression.
    ///
    /// Versions of Gemel without this option reject a database that this version has closed, compressed or not.
    pub compression: Compression,
    /// Number of writes that each disk keyspace remembers for conflict checks while a snapshot is older than they are.
    /// Each takes some 250 bytes of memory. Commits exceed the limit for a moment, until garbage is collected. A
    /// transaction that is older than a forgotten write can read, but may be unable to write:
    /// [`Error::TooOld`](crate::Error::TooOld).
    pub remembered_writes: usize,
    /// Age at which a transaction no longer holds back garbage collection; at least one second, or none for no limit.
    /// From then on its accesses fail with [`Error::TooOld`](crate::Error::TooOld), and so does its commit if it wrote.
    ///
    /// Without a limit, a transaction that was forgotten keeps all versions since its begin, until the memory engine is
    /// full. With a limit, a report that takes longer can't finish. Nobody but the application knows how long its reads
    /// take, so there is no limit by default. [`State::running`](crate::State::running) lists old transactions.
    pub max_snapshot_age: Option<Duration>,
    /// Memory limit of the memory engine in bytes, old versions included. A commit that would exceed it is rejected, and
    /// so is a write whose transaction alone would exceed it together with the rows that are there.
    pub memory_limit_bytes: u64,
    /// Limit in bytes of what all running transactions together hold until they end: their writes, with what the commits
    /// of these take in addition; the values that savepoints keep; and the reads that a commit must check (at serializable
    /// and read committed, or for an update). The call that would exceed it is rejected with
    /// [`Error::Capacity`](crate::Error::Capacity). Then the transaction is as before: it can commit, roll back, or roll
    /// back to a savepoint, which gives bytes back.
    ///
    /// The first 64 KiB of each transaction do not count, so small transactions go on at the limit. A write takes some 300
    /// bytes, twice its key, and twice its value. Tables in memory have a limit of their own from the commit on.
    pub pending_limit_bytes: u64,
    /// Bytes per second that flushes and merges of the disk engine and checkpoints of the memory engine may write
    /// together; at least 1 MiB, or none for no limit. Commits and the log have no limit. A limit leaves more of the
    /// disk to them, and background work takes longer.
    ///
    /// Bytes of keys and values count, before compression; deletions do not. The limit *gives way*, and what is written
    /// meanwhile does not count:
    ///
    /// - to flushes, once the write buffers are two thirds full: at the end of the last third, commits would wait;
    /// - to merges, once a table has half as many unsorted files as would make commits wait;
    /// - to a checkpoint, once the log since the last one is twice `checkpoint_log_bytes`, or the log has no space;
    /// - to everything, while a call of the program waits for such work or does it:
    ///   [`checkpoint`](crate::Database::checkpoint), [`compact`](crate::Database::compact), a backup until it copies
    ///   files, a drop, and closing. The copying of a backup has no limit.
    ///
    /// So a limit below what the load writes does not stop commits, and does not hold.
    pub background_bytes_per_second: Option<u64>,
    /// Maximum number of prepared transactions that are undecided ([`Transaction::prepare`](crate::Transaction::prepare)).
    /// Beyond it, transactions can't be prepared: [`Error::Capacity`](crate::Error::Capacity). Those that an opening finds
    /// stay, whatever the limit. Zero for none.
    pub prepared_limit: usize,
    /// Limit in bytes of the log records of all prepared transactions that are undecided: their writes, and the reads that
    /// they protect; at most 512 MiB. They stay in memory, with some 200 bytes more for each row, and each checkpoint
    /// writes them into the log again.
    pub prepared_limit_bytes: u64,
    /// Bytes of log between checkpoints. The database also keeps older log files, at most as many bytes, and overwrites
    /// them instead of making new files. Each counts as `log_segment_bytes`. They are removed when the database is closed,
    /// and when the disk is full.
    pub checkpoint_log_bytes: u64,
    /// Bytes of a log file, after which the next one begins; from 4 KiB to 1 GiB. A larger batch of commits gets a file of
    /// its own. A checkpoint frees whole files only, so the log takes up to one file more than it needs, and an opening
    /// reads each file into memory. Commits wait for two syncs when a file begins, so small files make them slower.
    pub log_segment_bytes: u64,
    /// The behaviour when the disk has no space for the log.
    pub full_disk: FullDisk,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            gather: None,
            log: LogMode::default(),
            csr: true,
            commit_stamps: CommitStamps::default(),
            csr_capacity: 1000,
            csr_recycle: 1000,
            cache_bytes: 256 << 20,
            write_buffer_bytes: 64 << 20,
            compression: Compression::default(),
            remembered_writes: 1 << 19,
            max_snapshot_age: None,
            memory_limit_bytes: 8 << 30,
            pending_limit_bytes: 2 << 30,
            background_bytes_per_second: None,
            prepared_limit: 1000,
            prepared_limit_bytes: 256 << 20,
            checkpoint_log_bytes: 1 << 30,
            // Short in unit tests, so files are dropped and overwritten in all tests of faults.
            log_segment_bytes: if cfg!(test) { 4 << 10 } else { 64 << 20 },
            full_disk: FullDisk::default(),
        }
    }
}

impl Options {
    /// Rejects invalid values; one error lists all of them.
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
        if self.remembered_writes == 0 {
            wrong.push("remembered_writes must be at least 1");
        }
        if self.max_snapshot_age.is_some_and(|age| age < SHORTEST_AGE) {
            wrong.push("max_snapshot_age must be at least one second: use none for no limit");
        }
        if self.memory_limit_bytes < 1 << 20 {
            wrong.push("memory_limit_bytes must be at least 1048576");
        }
        if self.pending_limit_bytes < 1 << 20 {
            wrong.push("pending_limit_bytes must be at least 1048576");
        }
        if self.background_bytes_per_second.is_some_and(|bytes| bytes < 1 << 20) {
            wrong.push("background_bytes_per_second must be at least 1048576: use none for no limit");
        }
        if self.prepared_limit_bytes > LARGEST_PREPARED {
            wrong.push("prepared_limit_bytes must be at most 536870912");
        }
        if self.checkpoint_log_bytes < 1 << 20 {
            wrong.push("checkpoint_log_bytes must be at least 1048576");
        }
        if !(4 << 10..=1 << 30).contains(&self.log_segment_bytes) {
            wrong.push("log_segment_bytes must be from 4096 to 1073741824");
        }
        if self.durability == Durability::Relaxed(Duration::ZERO) {
            wrong.push("the interval of relaxed durability must not be zero: use full durability");
        }
        if matches!(self.durability, Durability::Relaxed(interval) if interval > LONGEST_INTERVAL) {
            wrong.push(
                "the interval of relaxed durability must be at most one day: \
                 use durability none to leave syncs to the system",
            );
        }
        if self.gather.is_some_and(|longest| longest.is_zero() || longest > LONGEST_GATHER) {
            wrong.push("gather must be more than zero and at most one second: use none to write at once");
        }
        if self.gather.is_some() && self.durability != Durability::Full {
            wrong.push("gather needs full durability: with another one, no commit waits for the log");
        }
        if wrong.is_empty() { Ok(()) } else { Err(crate::Error::Usage(wrong.join("; "))) }
    }
}
