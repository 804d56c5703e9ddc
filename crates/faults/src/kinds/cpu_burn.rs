//! `cpu-burn:N`: a helper process with N busy threads takes processor time from the database.

use super::{Acts, Kind, cores, counted};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::helper;
use crate::process::ProcessId;
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::hint::black_box;

/// The kind.
pub(super) struct CpuBurn;

/// The helper of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// Busy threads.
    threads: usize,
    /// The helper, once it runs.
    helper: Option<ProcessId>,
}

impl Kind for CpuBurn {
    type State = State;
    const NAME: &'static str = "cpu-burn";
    const ARGUMENTS: &'static str = "N";
    const ACTS: Acts = Acts::Locally;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        threads(fault).map(|_| ())
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        let threads = threads(&fault.spec)?;
        let cores = cores()?;
        if threads > cores {
            return Err(vec![FaultError::Lacks(format!(
                "needs {threads} cores, and this machine has {cores}: burn at most {cores}"
            ))]);
        }
        Ok(State { threads, helper: None })
    }

    fn how(&self, _: &State) -> String {
        "a helper process of lydite".into()
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        let (_, helper) = helper::start(["burn", &state.threads.to_string()], libc::SIGKILL)?;
        state.helper = Some(helper);
        Ok(format!("{} busy", counted(state.threads, "thread", "threads")))
    }

    fn end(&self, state: &State) -> Result<String, FaultError> {
        let Some(helper) = state.helper else { return Ok(String::new()) };
        let used = helper.cpu_s();
        helper::end(helper, &[libc::SIGKILL])?;
        Ok(used.map_or_else(String::new, |used| format!("used {used:.1} s of processor time")))
    }
}

/// Reads the number of busy threads.
fn threads(fault: &FaultSpec) -> Result<usize, FaultError> {
    let threads =
        fault.arguments.as_deref().and_then(|text| text.parse().ok()).filter(|threads| *threads > 0);
    threads.ok_or_else(|| {
        FaultError::Wrong("needs the number of threads from 1, as cpu-burn:2@5s..10s/local".into())
    })
}

/// Keeps so many threads busy until the process is killed.
pub(crate) fn burn(threads: usize) {
    let busy = || {
        let mut number = 0_u64;
        loop {
            number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    };
    for _ in 1..threads {
        std::thread::spawn(busy);
    }
    busy();
}
