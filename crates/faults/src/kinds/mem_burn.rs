//! `mem-burn:SIZE`: a helper process takes so much memory of the machine, and keeps touching it.

use super::{Acts, Kind, size_of_memory};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::helper;
use crate::memory::{available, field, pages};
use crate::process::ProcessId;
use crate::spec::FaultSpec;
use crate::units::megabytes;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::time::Duration;

/// Distance of the touched bytes: at most a page of any machine.
const PAGE: usize = 4096;
/// Pause between two rounds over all pages: they stay in use, and the helper takes little processor time.
const PAUSE: Duration = Duration::from_millis(100);
/// The line of a helper that has its memory. Any other line is the reason why it has not.
const READY: &str = "ready";

/// The kind.
pub(super) struct MemBurn;

/// The helper of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    bytes: u64,
    /// The helper, once it runs.
    helper: Option<ProcessId>,
    /// Pages that the kernel had reclaimed, and pages that it had swapped out, before.
    before: (u64, u64),
}

impl Kind for MemBurn {
    type State = State;
    const NAME: &'static str = "mem-burn";
    const ARGUMENTS: &'static str = "SIZE";
    const ACTS: Acts = Acts::Locally;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        size(fault).map(drop)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        let bytes = size(&fault.spec)?;
        let Some(available) = available() else {
            return Err(vec![FaultError::Lacks("needs /proc/meminfo, which can't be read".into())]);
        };
        if bytes > available {
            return Err(vec![FaultError::Lacks(format!(
                "takes {}, and this machine has {} available: take less, or the kernel would end processes",
                megabytes(bytes),
                megabytes(available)
            ))]);
        }
        Ok(State { bytes, helper: None, before: (0, 0) })
    }

    fn how(&self, _: &State) -> String {
        "a helper process of lydite that keeps touching its memory".into()
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        state.before = reclaimed();
        let (child, helper) = helper::start(["memory", &state.bytes.to_string()], libc::SIGKILL)?;
        state.helper = Some(helper);
        helper::wait_until_ready(child, READY)?;
        let held = resident(helper).map_or_else(|| "nothing".to_owned(), megabytes);
        let left = available().map(|left| format!(", {} left on the machine", megabytes(left)));
        Ok(format!("a helper holds {held}{}", left.unwrap_or_default()))
    }

    fn end(&self, state: &State) -> Result<String, FaultError> {
        let Some(helper) = state.helper else { return Ok(String::new()) };
        let held = resident(helper);
        let now = reclaimed();
        helper::end(helper, &[libc::SIGKILL])?;
        match held {
            Some(_) => Ok(format!(
                "the kernel reclaimed {} of all processes and swapped out {}",
                pages(now.0.saturating_sub(state.before.0)),
                pages(now.1.saturating_sub(state.before.1))
            )),
            None => Err(FaultError::Failed(
                "its helper ended before the fault was over: the kernel ends it first when memory is short: take less".into(),
            )),
        }
    }
}

/// Reads the size.
fn size(fault: &FaultSpec) -> Result<u64, FaultError> {
    size_of_memory(fault, "mem-burn:512Mi@5s..10s/local")
}

/// Returns the resident memory of a process, without its program; none if it has ended.
fn resident(process: ProcessId) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    field(&status, "RssAnon:").filter(|_| process.lives())
}

/// Returns the pages of files and memory that the kernel of this machine has reclaimed so far, and those that it has
/// swapped out.
fn reclaimed() -> (u64, u64) {
    let all = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let of = |name: &str| field(&all, name).unwrap_or_default();
    (of("pgsteal_kswapd") + of("pgsteal_direct"), of("pswpout"))
}

/// Takes so many bytes and touches them until the process is killed. A machine without memory ends this process first.
///
/// # Errors
/// The system does not give the memory, or nobody reads the output.
pub(crate) fn burn(bytes: usize) -> io::Result<()> {
    // Best effort: a user may always make his own process the first one to be ended.
    let _kept = fs::write("/proc/self/oom_score_adj", "1000");
    let memory = pages_of(bytes)?;
    touch(memory, 1);
    let mut out = io::stdout().lock();
    writeln!(out, "{READY}").and_then(|()| out.flush())?;
    let mut round = 1_u8;
    loop {
        round = round.wrapping_add(1);
        touch(memory, round);
        std::thread::sleep(PAUSE);
    }
}

/// Returns so many bytes of new memory, which take no room before they are written.
fn pages_of(bytes: usize) -> io::Result<&'static mut [u8]> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping of no file overlaps no memory of this program.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping has so many bytes, all of them 0, is nobody else's, and stays until the process ends.
    Ok(unsafe { std::slice::from_raw_parts_mut(start.cast::<u8>(), bytes) })
}

/// Writes into each page.
fn touch(memory: &mut [u8], byte: u8) {
    memory.iter_mut().step_by(PAGE).for_each(|first| *first = byte);
    std::hint::black_box(memory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_memory_than_the_machine_has_available_is_rejected_with_both_numbers() {
        let fault = |size: u64| Fault {
            spec: FaultSpec::for_test(MemBurn::NAME, Some(&size.to_string())),
            sites: vec![crate::fault::Site::Machine],
        };
        assert_eq!(MemBurn.check(&fault(1 << 20)).unwrap().bytes, 1 << 20);
        let problems = MemBurn.check(&fault(1 << 50)).unwrap_err();
        let words = "takes 1125899906.8 MB, and this machine has ";
        assert!(problems[0].to_string().starts_with(words), "{problems:?}");
    }
}
