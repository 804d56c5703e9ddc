//! `clock-jump:OFFSET`: the clock of the database's processes jumps, and jumps back at the end.
//!
//! The processes must run with libfaketime, which reads the offset of their clock from a file.

use super::{Acts, Kind, counted};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::process::{ProcessId, environment};
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Name of the library, as a process has it mapped.
const LIBRARY: &str = "libfaketime";
/// Variable that names the file with the offset.
const FILE: &str = "FAKETIME_TIMESTAMP_FILE";
/// Variable whose offset the library prefers to that of the file.
const FIXED: &str = "FAKETIME";
/// Longest wait until a server has read its new offset. Its processes look at the file once a second.
const PATIENCE: Duration = Duration::from_secs(10);
/// Units of an offset, in milliseconds; `ms` before its own ending `s`.
const UNITS: [(&str, f64); 5] = [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3_600e3), ("d", 86_400e3)];
/// Largest offset, in milliseconds: ten years.
const MOST_MS: f64 = 3_650.0 * 86_400e3;

/// The kind.
pub(super) struct ClockJump;

/// The clocks of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The jump, in milliseconds.
    jump_ms: i64,
    clocks: Vec<Clock>,
}

/// A clock.
#[derive(Debug, Serialize, Deserialize)]
struct Clock {
    /// File with its offset.
    file: PathBuf,
    /// Offset before the fault, in milliseconds.
    before_ms: i64,
}

impl Kind for ClockJump {
    type State = State;
    const NAME: &'static str = "clock-jump";
    const ARGUMENTS: &'static str = "OFFSET";
    const ACTS: Acts = Acts::OnProcesses;
    const OUTLIVES_BOOT: bool = true;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        jump(fault).map(|_| ())
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        let jump_ms = jump(&fault.spec)?;
        let (mut clocks, mut problems) = (Vec::<Clock>::new(), Vec::new());
        for root in fault.roots()? {
            match Clock::of(root) {
                Ok(clock) if clocks.iter().all(|other| other.file != clock.file) => clocks.push(clock),
                Ok(_) => {}
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(State { jump_ms, clocks }) } else { Err(problems) }
    }

    fn how(&self, _: &State) -> String {
        LIBRARY.into()
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        let begun = Instant::now();
        let mut reads = Vec::new();
        for clock in &state.clocks {
            let offset = offset(clock.before_ms + state.jump_ms);
            reads.push(replace(&clock.file, &offset).map_err(|error| clock.failed(error))?);
        }
        for (clock, reads) in state.clocks.iter().zip(reads) {
            if !reads.wait(begun + PATIENCE).map_err(|error| clock.failed(error))? {
                return Err(FaultError::Failed(format!(
                    "no process has read {} within {} s",
                    clock.file.display(),
                    PATIENCE.as_secs()
                )));
            }
        }
        Ok(format!(
            "{} jumped by {} s; the offset was read after {:.1} s",
            counted(state.clocks.len(), "clock", "clocks"),
            offset(state.jump_ms),
            begun.elapsed().as_secs_f64()
        ))
    }

    fn end(&self, state: &State) -> Result<String, FaultError> {
        for clock in &state.clocks {
            match replace(&clock.file, &offset(clock.before_ms)) {
                // The lab has ended meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(clock.failed(error)),
                Ok(_) => {}
            }
        }
        Ok(String::new())
    }
}

impl Clock {
    /// Returns the clock of a process.
    fn of(process: ProcessId) -> Result<Self, FaultError> {
        let pid = process.pid;
        let variables = environment(process)?;
        let variable = |name: &str| variables.iter().find(|(found, _)| found == name).map(|(_, value)| value);
        let maps = format!("/proc/{pid}/maps");
        let maps = fs::read_to_string(&maps).map_err(|error| FaultError::system(maps, error))?;
        let Some(file) = variable(FILE).filter(|_| maps.contains(LIBRARY)) else {
            return Err(FaultError::Lacks(format!(
                "process {pid} does not run with {LIBRARY}, so its clock can't jump: start the lab with lydite lab up \
                 NAME --clock"
            )));
        };
        if variable(FIXED).is_some() {
            return Err(FaultError::Lacks(format!(
                "the clock of process {pid} is fixed by the variable {FIXED}: start it without"
            )));
        }
        let file = PathBuf::from(file);
        let failed =
            |words: &dyn std::fmt::Display| FaultError::Lacks(format!("{}: {words}", file.display()));
        let text = fs::read_to_string(&file).map_err(|error| FaultError::system(file.display(), error))?;
        let before_ms =
            of_offset(text.trim()).ok_or_else(|| failed(&"it holds no offset in seconds, as +0"))?;
        let directory = file.parent().unwrap_or(Path::new("/"));
        let path = CString::new(directory.as_os_str().as_bytes()).map_err(|error| failed(&error))?;
        // SAFETY: the path is a string with an end, which outlives the call.
        if unsafe { libc::access(path.as_ptr(), libc::W_OK) } != 0 {
            let error = io::Error::last_os_error();
            return Err(FaultError::Lacks(format!(
                "needs the right to write in {} ({error}): run lydite as its user or as root",
                directory.display()
            )));
        }
        Ok(Self { file, before_ms })
    }

    fn failed(&self, error: io::Error) -> FaultError {
        FaultError::system(self.file.display(), error)
    }
}

/// Reads the jump, in milliseconds.
fn jump(fault: &FaultSpec) -> Result<i64, FaultError> {
    let read = |text: &str| {
        let (number, factor) =
            UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
        let signed = number.starts_with(['+', '-']);
        let jump_ms = number.parse::<f64>().ok().filter(|_| signed)? * factor;
        (jump_ms.abs() >= 1.0 && jump_ms.abs() <= MOST_MS).then_some(jump_ms.round() as i64)
    };
    fault.arguments.as_deref().and_then(read).ok_or_else(|| {
        let words =
            "needs an offset with its sign, at most ten years, as clock-jump:+1h@5s..10s/lab:pg, or -30s";
        FaultError::Wrong(words.into())
    })
}

/// Returns an offset as the library reads it: in seconds, with its sign.
fn offset(ms: i64) -> String {
    let (sign, ms) = (if ms < 0 { '-' } else { '+' }, ms.unsigned_abs());
    match ms % 1000 {
        0 => format!("{sign}{}", ms / 1000),
        rest => format!("{sign}{}.{rest:03}", ms / 1000),
    }
}

/// Reads an offset in seconds, in milliseconds.
fn of_offset(text: &str) -> Option<i64> {
    let seconds: f64 = text.starts_with(['+', '-']).then(|| text.parse().ok())??;
    (seconds.abs() <= 2.0 * MOST_MS / 1e3).then_some((seconds * 1e3).round() as i64)
}

/// Replaces a file with a line as a whole, for the same readers. Returns its reads from then on.
fn replace(file: &Path, line: &str) -> io::Result<Reads> {
    let old = fs::metadata(file)?;
    let mut name = file.as_os_str().to_owned();
    name.push(".lydite-fault");
    let new = PathBuf::from(name);
    // Left by a guard that was killed.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    writeln!(made, "{line}")?;
    if (old.uid(), old.gid()) != (made.metadata()?.uid(), made.metadata()?.gid()) {
        // The file itself: somebody else may have replaced its name.
        fchown(&made, Some(old.uid()), Some(old.gid()))?;
    }
    made.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))?;
    let reads = Reads::of(&new)?;
    fs::rename(&new, file)?;
    Ok(reads)
}

/// A watch over the reads of a file.
struct Reads(OwnedFd);

impl Reads {
    fn of(file: &Path) -> io::Result<Self> {
        // SAFETY: inotify_init1 takes a number and has no memory preconditions.
        let descriptor = unsafe { libc::inotify_init1(libc::IN_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was opened above and belongs to nobody else.
        let watch = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let path = CString::new(file.as_os_str().as_bytes())?;
        // SAFETY: the path is a string with an end, which outlives the call.
        if unsafe { libc::inotify_add_watch(descriptor, path.as_ptr(), libc::IN_ACCESS) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(watch))
    }

    /// Waits for a read until a moment. Returns true if there was one.
    fn wait(&self, until: Instant) -> io::Result<bool> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
            let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the pointer is to one struct, which outlives the call.
            match unsafe { libc::poll(&raw mut poll, 1, left) } {
                0 => return Ok(false),
                found if found > 0 => return Ok(true),
                _ => match io::Error::last_os_error() {
                    error if error.kind() == ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_and_written() {
        let jump = |text: &str| jump(&FaultSpec::for_test("clock-jump", Some(text)));
        for (text, ms, seconds) in [
            ("+1h", 3_600_000, "+3600"),
            ("-30s", -30_000, "-30"),
            ("+500ms", 500, "+0.500"),
            ("-1.5m", -90_000, "-90"),
            ("-1ms", -1, "-0.001"),
            ("+2d", 172_800_000, "+172800"),
        ] {
            assert_eq!(jump(text).unwrap(), ms, "{text}");
            assert_eq!(offset(ms), seconds);
            assert_eq!(of_offset(seconds), Some(ms));
        }
        for text in ["1h", "+1", "+h", "+0s", "+3651d", "+-1h", "", "+1y", "+nans", "+infs"] {
            assert!(jump(text).unwrap_err().to_string().contains("needs an offset with its sign"), "{text}");
        }
        for text in ["0", "@2000-01-01 00:00:00", "+0 x2", ""] {
            assert_eq!(of_offset(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_is_replaced_for_the_same_readers_and_its_reads_are_noticed() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("offset");
        fs::write(&file, "+0\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(place.path().join("offset.lydite-fault"), "of a killed guard").unwrap();
        let reads = replace(&file, "+3600").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        assert!(!reads.wait(Instant::now()).unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "+3600\n");
        assert!(reads.wait(Instant::now() + Duration::from_secs(60)).unwrap());
    }

    #[test]
    fn a_process_without_the_library_is_rejected() {
        let problem = Clock::of(ProcessId::own().unwrap()).unwrap_err().to_string();
        assert!(problem.contains("start the lab with lydite lab up NAME --clock"), "{problem}");
    }
}
