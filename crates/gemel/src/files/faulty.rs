//! Files in memory that fail on demand and know what a power cut would leave of them.

use super::{File, Files};
use crate::draw::Random;
use crate::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Operations that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Write,
    Sync,
    /// Writes, syncs, and all changes of a directory.
    Any,
}

#[derive(Debug)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write(offset, bytes) => {
                let (from, to) = (*offset as usize, *offset as usize + bytes.len());
                content.resize(content.len().max(to), 0);
                content[from..to].copy_from_slice(bytes);
            }
            Self::Length(len) => content.resize(*len as usize, 0),
        }
    }
}

#[derive(Debug, Default)]
struct Content {
    current: Vec<u8>,
    durable: Vec<u8>,
    /// Changes that lead from `durable` to `current`.
    pending: Vec<Change>,
}

type Node = Arc<Mutex<Content>>;

#[derive(Debug)]
struct Fault {
    operation: Operation,
    /// Number of operations until the fault strikes.
    left: u64,
    errno: i32,
    /// Bytes that a failing write still writes.
    keep: usize,
    /// True if it strikes at each operation from then on.
    lasts: bool,
}

/// A power cut. All operations fail afterwards.
#[derive(Debug)]
struct PowerCut {
    /// Number of operations until the cut.
    left: u64,
    seed: u64,
    /// Files that the cut has left, once it has come.
    image: Option<FaultyFiles>,
}

#[derive(Debug, Default)]
struct Disk {
    names: BTreeMap<PathBuf, Node>,
    durable_names: BTreeMap<PathBuf, Node>,
    /// Renames from one directory to another. As on a journaling file system, a power cut leaves each done or not done.
    moves: Vec<(PathBuf, PathBuf)>,
    /// Directories that the database made.
    directories: BTreeSet<PathBuf>,
    fault: Option<Fault>,
    power: Option<PowerCut>,
    writes: u64,
    syncs: u64,
    retries: u64,
}

/// A file system in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyFiles {
    disk: Arc<Mutex<Disk>>,
    stall: Arc<Stall>,
}

/// A disk that does not answer for a while.
#[derive(Debug, Default)]
struct Stall {
    state: Mutex<StallState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct StallState {
    is_on: bool,
    /// Number of syncs that wait.
    waiting: usize,
}

/// While this lives, every sync waits.
#[derive(Debug)]
pub(crate) struct Stalled(Arc<Stall>);

impl Stalled {
    /// Waits until a sync waits.
    pub(crate) fn await_sync(&self) {
        let state = lock(&self.0.state);
        drop(
            self.0
                .changed
                .wait_while(state, |state| state.waiting == 0)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        lock(&self.0.state).is_on = false;
        self.0.changed.notify_all();
    }
}

#[derive(Debug)]
struct FaultyFile {
    files: FaultyFiles,
    path: PathBuf,
    node: Node,
    /// True if a sync has failed. The data not written by then is lost, although the next sync would succeed.
    unsure: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn io(what: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io { what, path: path.to_path_buf(), source }
}

impl FaultyFiles {
    /// Makes the `nth` operation from now (the first is 1) fail with `errno`. A failing write still writes `keep`
    /// bytes.
    pub(crate) fn fail(&self, operation: Operation, nth: u64, errno: i32, keep: usize) {
        lock(&self.disk).fault = Some(Fault { operation, left: nth, errno, keep, lasts: false });
    }

    /// Makes the `nth` operation from now and all later ones fail with `errno`, until [`FaultyFiles::mend`].
    pub(crate) fn fail_from(&self, operation: Operation, nth: u64, errno: i32) {
        lock(&self.disk).fault = Some(Fault { operation, left: nth, errno, keep: 0, lasts: true });
    }

    /// Removes the fault. Returns true if it had struck.
    pub(crate) fn mend(&self) -> bool {
        let fault = lock(&self.disk).fault.take();
        fault.is_none_or(|fault| fault.lasts && fault.left == 0)
    }

    /// Cuts the power just before the `nth` operation from now, with `seed` as in [`FaultyFiles::power_cut`]. From then
    /// on every operation fails. [`FaultyFiles::image`] returns what is left.
    pub(crate) fn cut_power(&self, nth: u64, seed: u64) {
        lock(&self.disk).power = Some(PowerCut { left: nth, seed, image: None });
    }

    /// Makes every sync of a file or directory wait until the returned value is dropped.
    pub(crate) fn stall(&self) -> Stalled {
        lock(&self.stall.state).is_on = true;
        Stalled(Arc::clone(&self.stall))
    }

    /// Waits while the disk does not answer.
    fn wait(&self) {
        let mut state = lock(&self.stall.state);
        state.waiting += 1;
        self.stall.changed.notify_all();
        state =
            self.stall.changed.wait_while(state, |state| state.is_on).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
    }

    /// Returns the files that the power cut has left; none before the cut.
    pub(crate) fn image(&self) -> Option<Self> {
        lock(&self.disk).power.as_ref()?.image.clone()
    }

    /// Returns the number of writes and syncs of files after a failed sync of the same file.
    pub(crate) fn retries(&self) -> u64 {
        lock(&self.disk).retries
    }

    /// Returns true if the database made this directory.
    pub(crate) fn made(&self, directory: &Path) -> bool {
        lock(&self.disk).directories.contains(directory)
    }

    /// Returns the numbers of writes and syncs of files.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let disk = lock(&self.disk);
        (disk.writes, disk.syncs)
    }

    /// Returns the files that a power cut at this moment would leave, as another file system. Seed 0 loses everything
    /// that was not synced. With other seeds each unsynced change is kept, lost, or kept in part.
    pub(crate) fn power_cut(&self, seed: u64) -> Self {
        Self::image_of(&lock(&self.disk), seed)
    }

    fn image_of(disk: &Disk, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut below = |limit: u64| random.next() % limit;
        let mut names = BTreeMap::new();
        let all: BTreeSet<&PathBuf> = disk.names.keys().chain(disk.durable_names.keys()).collect();
        let mut moved = BTreeMap::new();
        for (from, to) in &disk.moves {
            let lucky = seed != 0 && below(2) == 0;
            moved.extend([(from, lucky), (to, lucky)]);
        }
        for path in all {
            let lucky = moved.get(path).copied().unwrap_or_else(|| seed != 0 && below(2) == 0);
            let Some(node) = (if lucky { &disk.names } else { &disk.durable_names }).get(path) else {
                continue;
            };
            let content = lock(node);
            let mut left = content.durable.clone();
            if seed != 0 {
                for change in &content.pending {
                    match (below(3), change) {
                        (0, _) => {}
                        (1, Change::Write(offset, bytes)) => {
                            let some = below(bytes.len() as u64 + 1) as usize;
                            Change::Write(*offset, bytes[..some].to_vec()).apply(&mut left);
                        }
                        _ => change.apply(&mut left),
                    }
                }
            }
            let content = Content { current: left.clone(), durable: left, pending: Vec::new() };
            names.insert(path.clone(), Arc::new(Mutex::new(content)));
        }
        let durable_names = names.clone();
        let disk = Disk { names, durable_names, ..Disk::default() };
        Self { disk: Arc::new(Mutex::new(disk)), stall: Arc::default() }
    }

    /// Changes the stored content of a file behind the database's back.
    pub(crate) fn tamper(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let disk = lock(&self.disk);
        let mut content = lock(&disk.names[path]);
        change(&mut content.current);
        content.durable = content.current.clone();
        content.pending.clear();
    }

    /// Puts a durable file in place.
    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) {
        let content = Content { current: bytes.to_vec(), durable: bytes.to_vec(), pending: Vec::new() };
        let node = Arc::new(Mutex::new(content));
        let mut disk = lock(&self.disk);
        disk.names.insert(path.to_path_buf(), node.clone());
        disk.durable_names.insert(path.to_path_buf(), node);
    }

    /// Returns an error if the operation fails now, and the number of bytes that a write still writes.
    fn strike(&self, operation: Operation) -> Option<(std::io::Error, usize)> {
        let mut disk = lock(&self.disk);
        match operation {
            Operation::Write => disk.writes += 1,
            Operation::Sync => disk.syncs += 1,
            Operation::Any => {}
        }
        if let Some(power) = &mut disk.power {
            power.left = power.left.saturating_sub(1);
            if power.left == 0 {
                if power.image.is_none() {
                    let seed = power.seed;
                    let image = Self::image_of(&disk, seed);
                    disk.power = Some(PowerCut { left: 0, seed, image: Some(image) });
                }
                return Some((std::io::Error::other("the power is off"), 0));
            }
        }
        let fault = disk.fault.as_mut()?;
        if fault.operation != Operation::Any && fault.operation != operation {
            return None;
        }
        fault.left = fault.left.saturating_sub(1);
        if fault.left > 0 {
            return None;
        }
        let struck = (std::io::Error::from_raw_os_error(fault.errno), fault.keep);
        if !fault.lasts {
            disk.fault = None;
        }
        Some(struck)
    }

    fn check(&self, operation: Operation, what: &'static str, path: &Path) -> Result<()> {
        self.strike(operation).map_or(Ok(()), |(source, _)| Err(io(what, path, source)))
    }

    fn file(&self, path: &Path, node: Node) -> Box<dyn File> {
        Box::new(FaultyFile { files: self.clone(), path: path.to_path_buf(), node, unsure: false })
    }
}

impl Files for FaultyFiles {
    fn create(&self, path: &Path) -> Result<Box<dyn File>> {
        self.check(Operation::Any, "can't create", path)?;
        let mut disk = lock(&self.disk);
        if disk.names.contains_key(path) {
            return Err(io("can't create", path, ErrorKind::AlreadyExists.into()));
        }
        let node = Node::default();
        disk.names.insert(path.to_path_buf(), node.clone());
        drop(disk);
        Ok(self.file(path, node))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        let node = lock(&self.disk).names.get(path).cloned();
        node.map(|node| self.file(path, node))
            .ok_or_else(|| io("can't open", path, ErrorKind::NotFound.into()))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.check(Operation::Any, "can't rename to", to)?;
        let mut disk = lock(&self.disk);
        let node = disk.names.remove(from);
        let node = node.ok_or_else(|| io("can't rename to", to, ErrorKind::NotFound.into()))?;
        disk.names.insert(to.to_path_buf(), node);
        if from.parent() != to.parent() {
            disk.moves.push((from.to_path_buf(), to.to_path_buf()));
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.check(Operation::Any, "can't remove", path)?;
        let gone = lock(&self.disk).names.remove(path);
        gone.map(|_| ()).ok_or_else(|| io("can't remove", path, ErrorKind::NotFound.into()))
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>> {
        let disk = lock(&self.disk);
        let inside = disk.names.keys().filter(|path| path.parent() == Some(directory));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn sync_dir(&self, directory: &Path) -> Result<()> {
        self.wait();
        self.check(Operation::Any, "can't sync", directory)?;
        let mut disk = lock(&self.disk);
        disk.durable_names.retain(|path, _| path.parent() != Some(directory));
        let now: Vec<_> = disk.names.iter().filter(|(path, _)| path.parent() == Some(directory)).collect();
        let now: Vec<_> = now.into_iter().map(|(path, node)| (path.clone(), node.clone())).collect();
        disk.durable_names.extend(now);
        Ok(())
    }

    fn create_dir(&self, directory: &Path) -> Result<()> {
        self.check(Operation::Any, "can't make the directory", directory)?;
        if !directory.is_dir() {
            lock(&self.disk).directories.insert(directory.to_path_buf());
        }
        // The lock and the disk engine's files don't go through this trait yet, so their directory must really exist.
        if directory.parent().is_some_and(Path::is_dir) && directory.parent() != Some(Path::new("/")) {
            std::fs::create_dir_all(directory)
                .map_err(|source| io("can't make the directory", directory, source))?;
        }
        Ok(())
    }
}

impl FaultyFile {
    fn change(&self, change: Change) {
        if self.unsure {
            lock(&self.files.disk).retries += 1;
        }
        let mut content = lock(&self.node);
        change.apply(&mut content.current);
        content.pending.push(change);
    }
}

impl File for FaultyFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if let Some((source, keep)) = self.files.strike(Operation::Write) {
            self.change(Change::Write(offset, bytes[..keep.min(bytes.len())].to_vec()));
            return Err(io("can't write", &self.path, source));
        }
        self.change(Change::Write(offset, bytes.to_vec()));
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let content = lock(&self.node);
        let rest = content.current.get(offset as usize..).unwrap_or_default();
        let got = rest.len().min(buffer.len());
        buffer[..got].copy_from_slice(&rest[..got]);
        Ok(got)
    }

    fn sync(&mut self) -> Result<()> {
        self.files.wait();
        let failed = self.files.check(Operation::Sync, "can't sync", &self.path);
        let mut content = lock(&self.node);
        if self.unsure {
            lock(&self.files.disk).retries += 1;
        }
        if failed.is_err() {
            self.unsure = true;
            // Same as Linux: pages that could not be written count as clean, and the next sync leaves them out.
            content.pending.clear();
            return failed;
        }
        for change in std::mem::take(&mut content.pending) {
            change.apply(&mut content.durable);
        }
        Ok(())
    }

    fn len(&mut self) -> Result<u64> {
        Ok(lock(&self.node).current.len() as u64)
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        self.files.check(Operation::Any, "can't set the length of", &self.path)?;
        self.change(Change::Length(len));
        Ok(())
    }
}
