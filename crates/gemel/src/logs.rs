//! The log or logs of a database, in either mode.

use crate::error::{Error, Result};
use crate::ids::MAX_ENGINES;
use crate::log::entry::{Entry, Large, ROOM};
use crate::log::{Log, LogCounts, Lsn};
use crate::record::{self, Group, Stamp};
use crate::ticket::Ticket;
use std::cell::RefCell;
use std::sync::Arc;

/// See [`crate::LogMode`].
pub(crate) enum Logs {
    /// One log for all engines.
    Shared(Arc<Log>),
    /// One log per engine, in the order of the engines.
    PerEngine(Vec<Arc<Log>>),
}

/// Maximum capacity that a thread's buffer keeps after a commit, in bytes.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    /// Empty buffers for records, so a commit allocates no memory for its log.
    static BUFFERS: RefCell<Buffers> = const { RefCell::new([const { Vec::new() }; MAX_ENGINES]) };
}

type Buffers = [Vec<u8>; MAX_ENGINES];

/// The records of a commit, whose timestamps are still missing.
pub(crate) struct Encoded {
    /// With a shared log the first has the record, otherwise there is one for each engine that the commit wrote. [`ROOM`]
    /// bytes are before the payload.
    buffers: Buffers,
    /// Large records. Their buffers are empty.
    large: [Option<Large>; MAX_ENGINES],
}

/// A record without timestamps, for [`Logs::append_alone`].
pub(crate) struct AloneRecord {
    /// [`ROOM`] bytes, then the payload; empty if the record is large.
    buffer: Vec<u8>,
    large: Option<Large>,
    /// Length of the payload in bytes.
    pub(crate) bytes: u64,
}

impl AloneRecord {
    /// Encodes a record. `encode` appends its payload to the buffer.
    pub(crate) fn new(encode: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut buffer = vec![0; ROOM];
        encode(&mut buffer);
        let bytes = (buffer.len() - ROOM) as u64;
        let large = Large::take(&mut buffer, record::bytes_of_head(0, true));
        Self { buffer, large, bytes }
    }
}

impl Drop for Encoded {
    fn drop(&mut self) {
        for buffer in &mut self.buffers {
            buffer.clear();
            buffer.shrink_to(KEPT_BYTES);
        }
        // Fails on a thread that ends: then the buffers are freed here.
        let _ = BUFFERS.try_with(|kept| kept.replace(std::mem::take(&mut self.buffers)));
    }
}

impl Logs {
    pub(crate) fn all(&self) -> &[Arc<Log>] {
        match self {
            Self::Shared(log) => std::slice::from_ref(log),
            Self::PerEngine(logs) => logs,
        }
    }

    /// Returns an error if a log can't be written, now or any more. Waits while too many bytes are appended but not
    /// written yet. A commit calls this before it locks anything.
    pub(crate) fn wait_for_room(&self) -> Result<()> {
        self.all().iter().try_for_each(|log| log.wait_for_room())
    }

    /// Encodes a commit: as a whole for the shared log, or each engine's writes for the engine's log. `stamps` need no
    /// timestamps yet. `decides` is the number of the prepared transaction that it commits. The work is proportional to
    /// the commit's size, so it is done before timestamps are drawn.
    pub(crate) fn encode<'a>(
        &self,
        stamps: &[Stamp],
        decides: Option<u64>,
        groups: impl Iterator<Item = Group<'a>> + Clone,
    ) -> Encoded {
        // A thread has no buffers any more if it commits from a destructor at its end.
        let mut buffers = BUFFERS.try_with(RefCell::take).unwrap_or_default();
        let mut large = [const { None }; MAX_ENGINES];
        // `append` fills in the position that the other log must reach.
        let need = matches!(self.all(), [_, _]).then_some(Lsn(0));
        match self {
            Self::Shared(_) => large[0] = encode(&mut buffers[0], stamps, need, decides, groups),
            Self::PerEngine(_) => {
                for group in groups.filter(|group| !group.writes.is_empty()) {
                    let place = usize::from(group.engine);
                    large[place] = encode(&mut buffers[place], stamps, need, decides, std::iter::once(group));
                }
            }
        }
        Encoded { buffers, large }
    }

    /// Appends an encoded commit, which has drawn these timestamps.
    pub(crate) fn append(&self, mut encoded: Encoded, stamps: &[Stamp]) -> Result<()> {
        // Every commit that this one can have read has been appended, and so has every commit that is finished. The
        // commit's own half in the other log is behind these positions: the timestamps bind the halves.
        let needs = match self.all() {
            [first, second] => [Some(second.end()), Some(first.end())],
            _ => [None; 2],
        };
        let needs = needs.into_iter().chain(std::iter::repeat(None));
        let places = encoded.buffers.iter_mut().zip(&mut encoded.large).zip(needs);
        let mut parts =
            self.all().iter().zip(places).filter_map(|(log, ((buffer, large), need))| {
                Some((&**log, entry(buffer, large, stamps, need)?))
            });
        match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => Ok(()),
            (Some((log, record)), None, _) => log.append(record).map(drop),
            (Some(first), Some(second), None) => Log::append_both(first, second).map(drop),
            _ => Err(Error::Usage(
                "a log for each engine supports only two engines: use the shared log".into(),
            )),
        }
    }

    /// Appends a record without timestamps. It is a record of the first log, whatever engines it is about. Returns its
    /// length in bytes.
    pub(crate) fn append_alone(&self, record: AloneRecord) -> Result<u64> {
        let AloneRecord { mut buffer, mut large, bytes } = record;
        let (log, need) = match self.all() {
            [log, other] => (log, other.end()),
            [log, ..] => (log, Lsn(0)),
            [] => return Err(Error::Usage("the database has no log".into())),
        };
        // As in a commit, the position is read just before the record is appended.
        if let Some(record) = entry(&mut buffer, &mut large, &[], Some(need)) {
            log.append(record)?;
        }
        Ok(bytes)
    }

    /// Returns a ticket that resolves when all current bytes of the logs are durable. They include the caller's commit
    /// and every commit that it can have read.
    pub(crate) fn ticket(&self) -> Ticket {
        match self {
            Self::Shared(log) => Ticket::after(&[(log, log.end())]),
            Self::PerEngine(logs) => {
                let ends: Vec<(&Log, Lsn)> = logs.iter().map(|log| (&**log, log.end())).collect();
                Ticket::after(&ends)
            }
        }
    }

    /// See [`Database::hurry`](crate::Database::hurry).
    pub(crate) fn hurry(&self) {
        self.all().iter().for_each(|log| log.hurry());
    }

    /// Makes all current bytes of the logs durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.all().iter().try_for_each(|log| log.sync(log.end()))
    }

    /// Returns the ends of the logs, taken together: no commit has one half before them and one behind.
    pub(crate) fn ends(&self) -> Vec<Lsn> {
        match self {
            Self::Shared(log) => vec![log.end()],
            Self::PerEngine(logs) => match &logs[..] {
                [first, second] => {
                    let (first, second) = Log::ends_of_both(first, second);
                    vec![first, second]
                }
                logs => logs.iter().map(|log| log.end()).collect(),
            },
        }
    }

    /// Returns the reason why a log waits for space on the disk, if one does.
    pub(crate) fn full(&self) -> Option<Arc<str>> {
        self.all().iter().find_map(|log| log.full())
    }

    /// Poisons the logs.
    pub(crate) fn fail(&self, cause: &str) {
        let cause = Arc::from(cause);
        self.all().iter().for_each(|log| log.fail(&cause));
    }

    /// Returns the number of bytes that are appended but not durable.
    pub(crate) fn lag(&self) -> u64 {
        self.all().iter().map(|log| log.end().0.saturating_sub(log.durable().0)).sum()
    }

    /// Drops the log files that lie wholly before these positions.
    pub(crate) fn drop_before(&self, positions: &[Lsn]) -> Result<()> {
        self.all().iter().zip(positions).try_for_each(|(log, position)| log.drop_before(*position))
    }

    /// Removes dropped log files that are kept to be overwritten. Returns true if it removed any.
    pub(crate) fn drop_spares(&self) -> bool {
        self.all().iter().filter(|log| log.drop_spares()).count() > 0
    }

    /// Returns the number of bytes in dropped log files that are kept to be overwritten.
    pub(crate) fn spare_bytes(&self) -> u64 {
        self.all().iter().map(|log| log.spare_bytes()).sum()
    }

    /// Returns true on a thread that writes one of the logs. Callbacks run on these threads.
    pub(crate) fn is_thread_of_one(&self) -> bool {
        self.all().iter().any(|log| log.is_own_thread())
    }

    /// Writes and syncs the remaining bytes, and ends the logs' threads.
    pub(crate) fn close(&self) -> Result<()> {
        self.all().iter().try_for_each(|log| log.close())
    }

    /// Returns the work of the threads that write the logs since they were opened.
    pub(crate) fn counts(&self) -> LogCounts {
        let mut sum = LogCounts::default();
        for LogCounts { bytes, batches, syncs } in self.all().iter().map(|log| log.counts()) {
            sum.bytes += bytes;
            sum.batches += batches;
            sum.syncs += syncs;
        }
        sum
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.all().iter().map(|log| log.bytes()).sum()
    }
}

/// Fills in the head of an encoded record, and returns the record, if there is one.
fn entry<'a>(
    buffer: &'a mut [u8],
    large: &mut Option<Large>,
    stamps: &[Stamp],
    need: Option<Lsn>,
) -> Option<Entry<'a>> {
    if let Some(mut large) = large.take() {
        record::fill_in(large.varying(), stamps, need);
        return Some(Entry::Moved(large));
    }
    let payload = buffer.get_mut(ROOM..)?;
    record::fill_in(payload, stamps, need);
    Some(Entry::Copied(payload))
}

/// Encodes a record into an empty buffer. Takes the buffer if the record is large.
fn encode<'a>(
    buffer: &mut Vec<u8>,
    stamps: &[Stamp],
    need: Option<Lsn>,
    decides: Option<u64>,
    groups: impl Iterator<Item = Group<'a>> + Clone,
) -> Option<Large> {
    buffer.resize(ROOM, 0);
    record::encode(buffer, stamps, need, decides, groups);
    Large::take(buffer, record::bytes_of_head(stamps.len(), need.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::engine::{Handle, Write};
    use crate::files::faulty::FaultyFiles;
    use crate::ids::KeyspaceId;
    use crate::key::Key;
    use crate::options::Durability;
    use std::path::Path;
    use std::sync::mpsc::Sender;

    fn logs(names: &[&'static str]) -> Vec<Arc<Log>> {
        let open = |name: &&'static str| {
            let files = Arc::new(FaultyFiles::default());
            Log::open(files, Path::new("/log"), name, 1, Lsn(0), Durability::None).unwrap()
        };
        names.iter().map(open).collect()
    }

    fn append(logs: &Logs, bytes: usize) {
        let write = |engine| Write {
            keyspace: KeyspaceId(engine),
            key: Key::new(b"k"),
            value: Some((&vec![7; bytes]).into()),
            since: Timestamp::ZERO,
            handle: Handle::None,
        };
        let writes = [[write(0)], [write(1)]];
        let stamps = [0, 1].map(|engine| Stamp { engine, at: Timestamp(1), writes: true });
        let groups = [0, 1].map(|engine| Group { engine, writes: &writes[usize::from(engine)] });
        logs.append(logs.encode(&stamps, None, groups.into_iter()), &stamps).unwrap();
    }

    #[test]
    fn the_buffers_of_a_thread_shrink_after_a_large_commit() {
        for logs in [Logs::Shared(logs(&["log"]).remove(0)), Logs::PerEngine(logs(&["memory", "disk"]))] {
            append(&logs, 8 << 20);
            let kept = BUFFERS.with_borrow(|buffers| buffers.each_ref().map(Vec::capacity));
            assert!(kept.iter().all(|kept| *kept <= 1 << 20), "{kept:?}");
            append(&logs, 100);
            let kept = BUFFERS.with_borrow(|buffers| buffers[0].capacity());
            assert!(kept >= 100, "a small commit allocates again: {kept}");
        }
    }

    /// A thread may commit while its thread-local values are being destroyed.
    #[test]
    fn a_thread_that_ends_can_still_append() {
        struct AtTheEnd(Arc<Logs>, Sender<()>);
        impl Drop for AtTheEnd {
            fn drop(&mut self) {
                append(&self.0, 10);
                self.1.send(()).unwrap();
            }
        }
        thread_local! {
            static LAST: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
        }
        let logs = Arc::new(Logs::PerEngine(logs(&["memory", "disk"])));
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // The value that is used first is destroyed last.
            LAST.set(Some(AtTheEnd(Arc::clone(&logs), done)));
            append(&logs, 10);
        });
        ended.recv().unwrap();
    }
}
