//! `cpu-limit:CORES`: the database's processes get so much processor time, by a control group.

use super::{Acts, Kind, cores, counted};
use crate::fault::Fault;
use crate::group::{Controller, Group, Version};
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};

/// The controller of processor time.
const CONTROLLER: Controller = Controller {
    two: "cpu",
    one: "cpu",
    folders: &["cpu", "cpu,cpuacct"],
    of: "processor time",
    otherwise: "cpu-burn",
};
/// Period of the quota, in microseconds.
const PERIOD_US: f64 = 100_000.0;
/// Least limit, in cores: the kernel takes no quota below 1 ms.
const LEAST: f64 = 0.01;

/// The kind.
pub(super) struct CpuLimit;

/// The group of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    group: Group,
    /// Limit in cores.
    cores: f64,
}

impl Kind for CpuLimit {
    type State = State;
    const NAME: &'static str = "cpu-limit";
    const ACTS: Acts = Acts::OnProcesses;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        limit(fault).map(|_| ())
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        let mut problems = Vec::new();
        let limit = limit(&fault.spec).unwrap_or_else(|problem| {
            problems.push(problem);
            LEAST
        });
        match cores() {
            Ok(cores) if limit > cores as f64 => {
                problems.push(format!("allows {limit} cores, and this machine has {cores}: allow less"));
            }
            Ok(_) => {}
            Err(problem) => problems.push(problem),
        }
        let roots = fault.roots().unwrap_or_else(|more| {
            problems.extend(more);
            Vec::new()
        });
        match Group::plan(&CONTROLLER, &roots) {
            Ok(group) if problems.is_empty() => Ok(State { group, cores: limit }),
            Ok(_) => Err(problems),
            Err(problem) => {
                problems.push(problem);
                Err(problems)
            }
        }
    }

    fn how(&self, state: &State) -> String {
        state.group.words("cpu.cfs_quota_us", "cpu.max")
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        state.group.make()?;
        let quota = (state.cores * PERIOD_US).round();
        match state.group.version() {
            Version::One => {
                state.group.set("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                state.group.set("cpu.cfs_quota_us", &quota.to_string())?;
            }
            Version::Two => state.group.set("cpu.max", &format!("{quota} {PERIOD_US}"))?,
        }
        let moved = state.group.fill()?;
        Ok(format!("limited {} to {} cores", counted(moved, "process", "processes"), state.cores))
    }

    fn end(&self, state: &State) -> Result<String, String> {
        let statistics = state.group.get("cpu.stat");
        let throttled = statistics.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        // Also processes that can't be moved back must get all their time.
        let _gone = match state.group.version() {
            Version::One => state.group.set("cpu.cfs_quota_us", "-1"),
            Version::Two => state.group.set("cpu.max", "max"),
        };
        state.group.remove()?;
        Ok(throttled.map_or_else(String::new, |count| format!("throttled in {count} periods of 0.1 s")))
    }
}

/// Reads the limit in cores.
fn limit(fault: &FaultSpec) -> Result<f64, String> {
    let limit = fault.arguments.as_deref().and_then(|text| text.parse::<f64>().ok());
    limit
        .filter(|limit| limit.is_finite() && *limit >= LEAST)
        .ok_or_else(|| format!("needs a number of cores from {LEAST}, as cpu-limit:0.5@5s..10s/lab:pg"))
}
