//! The mailbox of an open database: two files in its directory, through which another process asks for a backup.
//!
//! A process that asks holds a lock on the disk engine's directory from before it writes its request until it ends. So
//! only one asks at a time, and a request without that lock has nobody who waits for it, however its process ended.

use crate::backup::{self, BackupProgress, BackupReport};
use crate::database::{Closing, Inner};
use crate::error::{Error, Result, io};
use crate::ids;
use crate::lock::{self, Lock};
use crate::recovery::DISK_DIRECTORY;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const REQUEST: &str = "backup-request";
const ANSWER: &str = "backup-answer";
/// Suffix of a file that is being written.
const NEW: &str = ".new";
/// Interval at which a process looks for the answer to its request.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Interval at which a backup checks if somebody still waits for it.
const CHECK_EVERY: Duration = Duration::from_millis(100);
/// Interval at which a backup reports its progress.
const REPORT_EVERY: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Request {
    /// Random number, so an answer to an earlier request is not taken for the answer to this one.
    number: u64,
    target: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Answer {
    /// Number of the request, or none if the request could not be read.
    number: Option<u64>,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Working(BackupReport),
    Done(BackupReport),
    Failed(String),
}

/// Returns true if the mailbox uses an entry of this name in a database's directory.
pub(crate) fn is_own(name: &str) -> bool {
    [REQUEST, ANSWER].contains(&name.strip_suffix(NEW).unwrap_or(name))
}

/// Removes the mailbox's files.
pub(crate) fn remove(directory: &Path) -> Result<()> {
    for name in [REQUEST, ANSWER] {
        for path in [directory.join(name), directory.join(format!("{name}{NEW}"))] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(io("can't remove", &path)(error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns true if there is a request, and somebody waits for its answer. Otherwise removes what is in the mailbox.
pub(crate) fn has_mail(directory: &Path) -> bool {
    let has_request = directory.join(REQUEST).exists();
    if !has_request && !directory.join(ANSWER).exists() {
        return false;
    }
    match Lock::try_take(&directory.join(DISK_DIRECTORY)) {
        Ok(Some(_lock)) => {
            // Nobody can write a request while this process holds the lock. If a file can't be removed now, the next look
            // tries again.
            let _ = remove(directory);
            false
        }
        Ok(None) => has_request,
        Err(_) => false,
    }
}

/// Makes the backup that was requested, and answers. If the database is closed meanwhile, the request stays: who waits
/// for it sees that the database is closed.
pub(crate) fn serve(inner: &Inner, closing: &Closing) {
    let directory = &inner.path;
    let request = match read_request(directory) {
        Ok(Some(request)) => request,
        Ok(None) => return,
        Err(error) => return answer(directory, None, State::Failed(error.to_string())),
    };
    let number = Some(request.number);
    let (mut checked, mut reported, mut given_up) = (Instant::now(), Instant::now(), false);
    let outcome = backup::run(inner, &request.target, &mut |report| {
        if checked.elapsed() >= CHECK_EVERY {
            checked = Instant::now();
            given_up = closing.has_begun()
                || !has_mail(directory)
                || !matches!(read_request(directory), Ok(Some(now)) if now == request);
        }
        if given_up {
            return Err(Error::Usage("nobody waits for this backup any more: run it again".into()));
        }
        if reported.elapsed() >= REPORT_EVERY {
            reported = Instant::now();
            write(directory, ANSWER, &Answer { number, state: State::Working(report.clone()) })?;
        }
        Ok(())
    });
    match outcome {
        _ if given_up => {}
        Ok(report) => answer(directory, number, State::Done(report)),
        Err(error) => answer(directory, number, State::Failed(error.to_string())),
    }
}

/// Writes the last answer to a request. If that fails, the backup is repeated at the next look, for as long as somebody
/// waits for it.
fn answer(directory: &Path, number: Option<u64>, state: State) {
    if write(directory, ANSWER, &Answer { number, state }).is_ok() {
        let _ = fs::remove_file(directory.join(REQUEST));
    }
}

/// Asks the process that has the database open for a backup, and waits for it. Returns none if the database is closed
/// meanwhile.
pub(crate) fn ask(
    directory: &Path,
    target: &Path,
    progress: &mut dyn FnMut(&BackupProgress),
) -> Result<Option<BackupReport>> {
    // Another process may be waiting for its backup.
    let _waits = Lock::wait_for(&directory.join(DISK_DIRECTORY))?;
    remove(directory)?;
    let request = Request { number: ids::random(), target: target.into() };
    write(directory, REQUEST, &request)?;
    progress(&BackupProgress::Asked);
    let outcome = await_answer(directory, request.number, progress);
    let removed = remove(directory);
    let report = outcome?;
    removed?;
    Ok(report)
}

fn await_answer(
    directory: &Path,
    number: u64,
    progress: &mut dyn FnMut(&BackupProgress),
) -> Result<Option<BackupReport>> {
    let mut last = None;
    loop {
        // Before the answer is read: it may have been written just before the database was closed.
        let is_open = lock::is_open(directory);
        let answer: Option<Answer> = read(&directory.join(ANSWER))?;
        match answer.filter(|answer| answer.number.is_none_or(|answered| answered == number)) {
            Some(Answer { state: State::Done(report), .. }) => return Ok(Some(report)),
            Some(Answer { state: State::Failed(why), .. }) => return Err(Error::Usage(why)),
            Some(Answer { state: State::Working(report), .. }) if last.as_ref() != Some(&report) => {
                progress(&BackupProgress::Copied(report.clone()));
                last = Some(report);
            }
            _ => {}
        }
        if !is_open {
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Reads the request, unless there is none. Rejects one that another user wrote: this process would write where that
/// user may not.
fn read_request(directory: &Path) -> Result<Option<Request>> {
    let path = directory.join(REQUEST);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() && is_of_owner(directory, &found) => {}
        Ok(_) => {
            return Err(Error::Usage(format!(
                "the request {} is not from the owner of the database: run the backup as the owner",
                path.display()
            )));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io("can't look at", &path)(error)),
    }
    let request: Option<Request> = read(&path)?;
    match request {
        Some(request) if !request.target.is_absolute() => {
            Err(Error::Usage(format!("{}: name the target by an absolute path", request.target.display())))
        }
        request => Ok(request),
    }
}

#[cfg(unix)]
fn is_of_owner(directory: &Path, file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = fs::metadata(directory).map(|directory| directory.uid());
    let private = file.mode() & 0o077 == 0;
    private && (file.uid() == 0 || owner.is_ok_and(|owner| owner == file.uid()))
}

#[cfg(not(unix))]
fn is_of_owner(_: &Path, _: &fs::Metadata) -> bool {
    true
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| io("can't read", path)(std::io::Error::new(ErrorKind::InvalidData, error))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io("can't read", path)(error)),
    }
}

/// Replaces a file of the mailbox. Only the owner can read or write it.
fn write<T: Serialize>(directory: &Path, name: &str, content: &T) -> Result<()> {
    let (path, new) = (directory.join(name), directory.join(format!("{name}{NEW}")));
    let text = serde_json::to_vec(content).map_err(|error| io("can't write", &path)(error.into()))?;
    let _ = fs::remove_file(&new);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new).map_err(io("can't create", &new))?;
    file.write_all(&text).map_err(io("can't write", &new))?;
    fs::rename(&new, &path).map_err(io("can't rename to", &path))
}
