//! The log or logs of a database, whichever mode it has.

use crate::engine::MAX_ENGINES;
use crate::error::Result;
use crate::log::{Log, Lsn};
use crate::record::{self, Group, Stamp};
use crate::ticket::Ticket;
use std::cell::RefCell;
use std::sync::Arc;

/// See [`crate::LogMode`].
pub(crate) enum Logs {
    /// One for all engines.
    Shared(Arc<Log>),
    /// One for each, in the order of the engines.
    PerEngine(Vec<Arc<Log>>),
}

thread_local! {
    /// Records are built here, so that a commit allocates nothing for its log.
    static BUFFERS: RefCell<[Vec<u8>; MAX_ENGINES]> = const { RefCell::new([const { Vec::new() }; MAX_ENGINES]) };
}

impl Logs {
    pub(crate) fn all(&self) -> &[Arc<Log>] {
        match self {
            Self::Shared(log) => std::slice::from_ref(log),
            Self::PerEngine(logs) => logs,
        }
    }

    /// Refuses when a log can't be written any more.
    pub(crate) fn usable(&self) -> Result<()> {
        self.all().iter().try_for_each(|log| log.usable())
    }

    /// Appends a commit: whole in one log, or each engine's writes in its own.
    pub(crate) fn append<'a>(&self, stamps: &[Stamp], groups: impl Iterator<Item = Group<'a>>) -> Result<()> {
        BUFFERS.with_borrow_mut(|buffers| match self {
            Self::Shared(log) => {
                let buffer = &mut buffers[0];
                buffer.clear();
                record::encode(buffer, stamps, groups);
                log.append(buffer).map(drop)
            }
            Self::PerEngine(logs) => {
                let mut parts: Vec<usize> = Vec::with_capacity(MAX_ENGINES);
                for group in groups.filter(|group| !group.writes.is_empty()) {
                    let engine = usize::from(group.engine);
                    buffers[engine].clear();
                    record::encode(&mut buffers[engine], stamps, std::iter::once(group));
                    parts.push(engine);
                }
                let records: Vec<(&Log, &[u8])> =
                    parts.iter().map(|&engine| (&*logs[engine], buffers[engine].as_slice())).collect();
                Log::append_all(&records)
            }
        })
    }

    /// Resolves when all that is in the logs now is durable. The caller's own commit is in them, and
    /// everything that it can have read.
    pub(crate) fn ticket(&self) -> Ticket {
        match self {
            Self::Shared(log) => Ticket::after(&[(log, log.end())]),
            Self::PerEngine(logs) => {
                let ends: Vec<(&Log, Lsn)> = logs.iter().map(|log| (&**log, log.end())).collect();
                Ticket::after(&ends)
            }
        }
    }

    /// Makes everything durable that is in the logs now.
    pub(crate) fn sync(&self) -> Result<()> {
        self.all().iter().try_for_each(|log| log.sync(log.end()))
    }

    /// Positions after the last records.
    pub(crate) fn ends(&self) -> Vec<Lsn> {
        self.all().iter().map(|log| log.end()).collect()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.all().iter().map(|log| log.bytes()).sum()
    }
}
