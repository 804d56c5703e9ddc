//! `disk-read:THREADS` and `disk-write:THREADS`: a helper process reads or writes on the device of the data, past the
//! page cache, and so takes throughput of the device from the database.
//!
//! The helper makes its scratch file before the run, and then stands still until the fault begins.
//!
//! The scratch file has no name, so it is gone when the helper ends in any way.

use super::{Acts, Kind, counted};
use crate::data::{self, Data};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::helper;
use crate::process::{ProcessId, now_ms, wait_while};
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Size of the scratch file.
const FILE: u64 = 256 << 20;
/// Size of one read, as a page of a database.
const READ: usize = 16 << 10;
/// Size of one write.
const WRITE: usize = 1 << 20;
/// Most threads: each writes a part of the file of its own.
const MOST: usize = 64;
/// Alignment that direct I/O needs at most.
const ALIGNMENT: usize = 4096;
/// The line of a helper that has made its file. Any other line is the reason why it can't.
const READY: &str = "ready";
/// Longest wait until a helper stands still, and until it has read or written for the first time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause after a failed read or write.
const PAUSE: Duration = Duration::from_millis(10);

/// The kind: `disk-write` if it writes, else `disk-read`.
pub(super) struct DiskLoad<const WRITES: bool>;

/// Helpers of the fault, one for each device.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    threads: usize,
    /// Directories of the scratch files.
    directories: Vec<PathBuf>,
    /// Helpers, each with the bytes that it had read or written before the load.
    helpers: Vec<(ProcessId, u64)>,
    /// Time of the begin, in milliseconds since 1970.
    since_ms: u64,
}

impl<const WRITES: bool> Kind for DiskLoad<WRITES> {
    type State = State;
    const NAME: &'static str = if WRITES { "disk-write" } else { "disk-read" };
    const ARGUMENTS: &'static str = "N";
    const ACTS: Acts = Acts::OnProcesses;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        threads(fault).map(|_| ())
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        let threads = threads(&fault.spec)?;
        let data = data::of(fault)?;
        let problems: Vec<FaultError> = data.iter().filter_map(|data| room(data).err()).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let directories = data.into_iter().map(|data| data.directory).collect();
        Ok(State { threads, directories, helpers: Vec::new(), since_ms: 0 })
    }

    fn prepare(&self, fault: &Fault) -> Result<Option<State>, Vec<FaultError>> {
        let mut state = self.check(fault)?;
        for directory in &state.directories {
            let helper = start(WRITES, state.threads, directory)
                .map_err(|problem| FaultError::Failed(format!("{}: {problem}", directory.display())))?;
            state.helpers.push((helper, 0));
        }
        Ok(Some(state))
    }

    fn how(&self, _: &State) -> String {
        let what = if WRITES { "writes of 1 MiB, each with fdatasync" } else { "random reads of 16 KiB" };
        format!("a helper process of lydite: {what}, with O_DIRECT on a scratch file of {} MiB", FILE >> 20)
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        for (helper, before) in &mut state.helpers {
            *before = bytes(*helper, WRITES)
                .ok_or_else(|| FaultError::Failed("its helper has ended before it".into()))?;
            let sent = helper.signal(libc::SIGCONT);
            sent.map_err(|error| FaultError::system(format!("start process {}", helper.pid), error))?;
        }
        for (helper, before) in &state.helpers {
            let waits = |helper: ProcessId| bytes(helper, WRITES).is_some_and(|now| now == *before);
            if !wait_while(&[*helper], PATIENCE, waits).is_empty() || !helper.lives() {
                let what = if WRITES { "written" } else { "read" };
                return Err(FaultError::Failed(format!(
                    "its helper has {what} nothing within {} s",
                    PATIENCE.as_secs()
                )));
            }
        }
        state.since_ms = now_ms();
        let directories: Vec<String> =
            state.directories.iter().map(|directory| directory.display().to_string()).collect();
        Ok(format!(
            "{} {} beside the data in {}",
            counted(state.threads, "thread", "threads"),
            if WRITES { "writing" } else { "reading" },
            directories.join(", ")
        ))
    }

    // The end takes longer, since it deletes the scratch file.
    fn lift(&self, state: &State) -> bool {
        let helpers = state.helpers.iter().map(|(helper, _)| *helper);
        helpers.clone().all(|helper| helper.signal(libc::SIGSTOP).is_ok())
            && wait_while(&helpers.collect::<Vec<_>>(), PATIENCE, moves).is_empty()
    }

    fn end(&self, state: &State) -> Result<String, FaultError> {
        let moved: Option<u64> = state
            .helpers
            .iter()
            .map(|(helper, before)| bytes(*helper, WRITES).map(|now| now.saturating_sub(*before)))
            .sum();
        let seconds = now_ms().saturating_sub(state.since_ms).max(1) as f64 / 1e3;
        for (helper, _) in &state.helpers {
            helper::end(*helper, &[libc::SIGKILL])?;
        }
        let done = if WRITES { "wrote" } else { "read" };
        // Helpers that have ended before, with their guard, left no count.
        Ok(moved.filter(|_| !state.helpers.is_empty()).map_or_else(String::new, |bytes| {
            let megabytes = bytes as f64 / 1e6;
            format!("{done} {megabytes:.2} MB, {:.2} MB/s", megabytes / seconds)
        }))
    }
}

/// Starts a helper, and waits until it has made its file and stands still.
fn start(writes: bool, threads: usize, directory: &Path) -> Result<ProcessId, FaultError> {
    let mut arguments: Vec<OsString> = vec!["disk".into(), threads.to_string().into(), directory.into()];
    arguments.extend(writes.then(|| "--write".into()));
    let (child, helper) = helper::start(arguments, libc::SIGKILL)?;
    helper::wait_until_ready(child, READY)?;
    if wait_while(&[helper], PATIENCE, moves).is_empty() && helper.lives() {
        Ok(helper)
    } else {
        Err(FaultError::Failed("its helper does not stand still".into()))
    }
}

/// True if a helper does not stand still.
fn moves(helper: ProcessId) -> bool {
    helper.state().is_some_and(|state| state != 'T')
}

/// Reads the number of threads.
fn threads(fault: &FaultSpec) -> Result<usize, FaultError> {
    let threads = fault.arguments.as_deref().and_then(|text| text.parse().ok());
    threads.filter(|threads| (1..=MOST).contains(threads)).ok_or_else(|| {
        FaultError::Wrong(format!(
            "needs the number of threads, 1 to {MOST}, as {}:2@5s..10s/lab:pg",
            fault.kind
        ))
    })
}

/// Rejects data on a file system where the helper could not do what it is for.
fn room(data: &Data) -> Result<(), FaultError> {
    let directory = data.directory.display();
    let file = scratch(&data.directory).map_err(|error| match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => FaultError::Lacks(format!(
            "needs the right to write in {directory} ({error}): run lydite as its user or as root"
        )),
        _ => FaultError::system(
            format!("needs a scratch file without a name and with O_DIRECT in {directory}"),
            error,
        ),
    })?;
    // SAFETY: an all-zero statfs is a valid value of this plain struct.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the struct outlives the call.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut found) } != 0 {
        return Err(FaultError::system(directory, io::Error::last_os_error()));
    }
    if found.f_type == libc::TMPFS_MAGIC {
        let words = format!("finds the data in memory (tmpfs), not on a disk: {directory}");
        return Err(FaultError::Lacks(words));
    }
    let block = u64::try_from(found.f_bsize).unwrap_or_default();
    let free = found.f_bavail.saturating_mul(block);
    if free < 2 * FILE {
        return Err(FaultError::Lacks(format!(
            "needs {} MiB of free space in {directory}, and there are {} MiB",
            (2 * FILE) >> 20,
            free >> 20
        )));
    }
    Ok(())
}

/// Opens a file without a name for direct I/O.
fn scratch(directory: &Path) -> io::Result<File> {
    let flags = libc::O_TMPFILE | libc::O_DIRECT;
    OpenOptions::new().read(true).write(true).custom_flags(flags).mode(0o600).open(directory)
}

/// Returns the bytes that a process has read from devices, or written to them; none if it has ended.
fn bytes(process: ProcessId, writes: bool) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/io", process.pid)).ok()?;
    let name = if writes { "write_bytes: " } else { "read_bytes: " };
    let bytes = text.lines().find_map(|line| line.strip_prefix(name))?.parse().ok()?;
    process.lives().then_some(bytes)
}

/// Makes a scratch file in a directory, says so on the standard output, and stands still. Once it may go on, it reads or
/// writes there with so many threads until the process is killed.
///
/// # Errors
/// The scratch file can't be made, or a thread can't be started.
pub(crate) fn load(writes: bool, threads: usize, directory: &Path) -> io::Result<()> {
    let file = scratch(directory)?;
    if writes {
        let length = libc::off_t::try_from(FILE).map_err(io::Error::other)?;
        // SAFETY: the descriptor is open, and fallocate has no memory preconditions.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) } != 0 {
            return Err(io::Error::last_os_error());
        }
    } else {
        // Blocks that were never written would be read without the device.
        let mut memory = Memory::new(WRITE);
        for offset in (0..FILE).step_by(WRITE) {
            file.write_all_at(memory.bytes(), offset)?;
        }
        file.sync_all()?;
    }
    writeln!(io::stdout(), "{READY}")?;
    // SAFETY: raise has no memory preconditions.
    unsafe { libc::raise(libc::SIGSTOP) };
    let file = Arc::new(file);
    for number in 0..threads {
        let file = Arc::clone(&file);
        let work = move || {
            let mut work = Work::new(writes, number, threads);
            loop {
                if work.next(&file).is_err() {
                    thread::sleep(PAUSE);
                }
            }
        };
        thread::Builder::new().name("disk".into()).spawn(work)?;
    }
    loop {
        thread::park();
    }
}

/// The reads or writes of one thread.
struct Work {
    writes: bool,
    memory: Memory,
    random: Random,
    /// Part of the file that the thread writes.
    part: std::ops::Range<u64>,
    /// Offset of the next write.
    offset: u64,
}

impl Work {
    fn new(writes: bool, number: usize, threads: usize) -> Self {
        let part = FILE / WRITE as u64 / threads as u64 * WRITE as u64;
        let start = part * number as u64;
        let memory = Memory::new(if writes { WRITE } else { READ });
        Self { writes, memory, random: Random(number as u64), part: start..start + part, offset: start }
    }

    /// Reads or writes once.
    fn next(&mut self, file: &File) -> io::Result<()> {
        if !self.writes {
            let offset = self.random.next() % (FILE / READ as u64) * READ as u64;
            return file.read_exact_at(self.memory.bytes(), offset);
        }
        file.write_all_at(self.memory.bytes(), self.offset)?;
        self.offset += WRITE as u64;
        if self.offset == self.part.end {
            self.offset = self.part.start;
        }
        file.sync_data()
    }
}

/// Memory that direct I/O takes, full of random bytes, which no device compresses.
struct Memory {
    all: Vec<u8>,
    start: usize,
    length: usize,
}

impl Memory {
    fn new(length: usize) -> Self {
        let mut random = Random(length as u64);
        let all: Vec<u8> = (0..length + ALIGNMENT).map(|_| (random.next() & 0xff) as u8).collect();
        let start = all.as_ptr().align_offset(ALIGNMENT);
        Self { all, start, length }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.all[self.start..self.start + self.length]
    }
}

/// Random numbers that need not be good.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn threads_write_in_parts_of_their_own_and_read_all_over_the_file() {
        let place = tempfile::tempfile().unwrap();
        place.set_len(FILE).unwrap();
        let mut parts: Vec<_> = (0..5).map(|number| Work::new(true, number, 5).part).collect();
        parts.dedup_by(|next, last| next.start < last.end);
        assert_eq!(parts.len(), 5);
        assert!(parts[4].end <= FILE);
        let mut writer = Work::new(true, 4, 128);
        let rounds = (writer.part.end - writer.part.start) / WRITE as u64 + 1;
        (0..rounds).for_each(|_| writer.next(&place).unwrap());
        assert_eq!(writer.offset, writer.part.start + WRITE as u64, "it starts again at its part");
        let mut reader = Work::new(false, 0, 1);
        (0..1000).for_each(|_| reader.next(&place).unwrap());
        assert_eq!(place.metadata().unwrap().len(), FILE);
    }

    #[test]
    fn memory_is_aligned() {
        assert_eq!(Memory::new(READ).bytes().as_ptr().align_offset(ALIGNMENT), 0);
        assert_eq!(Memory::new(READ).bytes().len(), READ);
    }

    #[test]
    fn data_without_a_directory_or_in_memory_is_rejected() {
        let place = tempfile::tempdir().unwrap();
        let gone = Data { directory: place.path().join("gone"), device: 0 };
        let problem = room(&gone).unwrap_err().to_string();
        assert!(
            problem.starts_with("needs a scratch file without a name and with O_DIRECT in "),
            "{problem}"
        );
        let memory = Path::new("/dev/shm");
        let Ok(found) = fs::metadata(memory) else { return };
        let problem =
            room(&Data { directory: memory.to_owned(), device: found.dev() }).unwrap_err().to_string();
        assert!(problem.contains("/dev/shm"), "{problem}");
    }
}
