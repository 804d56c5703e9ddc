//! `cpu-limit:CORES`: the database's processes get so much processor time, by a control group.

use super::cores;
use super::limit::LimitKind;
use crate::error::FaultError;
use crate::fault::Fault;
use crate::group::{Controller, Group, Version};
use crate::spec::FaultSpec;

/// Period of the quota, in microseconds.
const PERIOD_US: f64 = 100_000.0;
/// Least limit, in cores: the kernel takes no quota below 1 ms.
const LEAST: f64 = 0.01;

/// The kind.
pub(super) struct CpuLimit;

impl LimitKind for CpuLimit {
    /// Cores.
    type Most = f64;
    const NAME: &'static str = "cpu-limit";
    const ARGUMENTS: &'static str = "CORES";
    const CONTROLLER: Controller = Controller {
        two: "cpu",
        one: "cpu",
        folders: &["cpu", "cpu,cpuacct"],
        of: "processor time",
        otherwise: "cpu-burn",
    };
    const CONTROLS: [&'static str; 2] = ["cpu.cfs_quota_us", "cpu.max"];

    fn read(fault: &FaultSpec) -> Result<(), FaultError> {
        limit(fault).map(drop)
    }

    fn most(fault: &Fault) -> Result<f64, Vec<FaultError>> {
        let (limit, cores) = (limit(&fault.spec)?, cores()?);
        if limit > cores as f64 {
            return Err(vec![FaultError::Lacks(format!(
                "allows {limit} cores, and this machine has {cores}: allow less"
            ))]);
        }
        Ok(limit)
    }

    fn words(cores: &f64) -> String {
        format!("{cores} cores")
    }

    fn set(group: &Group, cores: &f64, lifted: bool) -> Result<(), FaultError> {
        let quota = (cores * PERIOD_US).round();
        match group.version() {
            Version::One if lifted => group.set("cpu.cfs_quota_us", "-1"),
            Version::One => {
                group.set("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                group.set("cpu.cfs_quota_us", &quota.to_string())
            }
            Version::Two if lifted => group.set("cpu.max", "max"),
            Version::Two => group.set("cpu.max", &format!("{quota} {PERIOD_US}")),
        }
    }

    fn effect(group: &Group, _: &f64) -> String {
        let statistics = group.get("cpu.stat");
        let throttled = statistics.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        throttled.map_or_else(String::new, |count| format!("throttled in {count} periods of 0.1 s"))
    }
}

/// Reads the limit in cores.
fn limit(fault: &FaultSpec) -> Result<f64, FaultError> {
    let limit = fault.arguments.as_deref().and_then(|text| text.parse::<f64>().ok());
    limit.filter(|limit| limit.is_finite() && *limit >= LEAST).ok_or_else(|| {
        FaultError::Wrong(format!("needs a number of cores from {LEAST}, as cpu-limit:0.5@5s..10s/lab:pg"))
    })
}
