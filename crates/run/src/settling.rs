//! Values that are settled once the database is known: the controls, and the plan of the terminals.

use crate::limits;
use lydite_bench::{Mode, RunPlan, Step};
use lydite_console::exit::Failure;
use lydite_database::{Target, TargetErrorKind, Tpcc, Workload};
use lydite_plan::Plan;
use lydite_plan::controls::affinity::Affinity;
use lydite_plan::controls::distribution::Place;
use lydite_plan::controls::{Ground, Settled};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::RunConstants;

/// Settles the controls on a database. Returns also the warnings about what it could not report.
pub(crate) fn settle(
    plan: &Plan,
    target: &dyn Target,
    url: &str,
    (meta, active): (&DatabaseMeta, (u32, u32)),
) -> Result<(Settled, Vec<String>), Failure> {
    let nodes = &plan.controls.distribution;
    let place = nodes.place(&plan.schedule, target, url, meta.warehouses)?;
    let settled = plan.controls.settle(&plan.schedule, &Ground { active, place })?;
    let place = &settled.distribution.place;
    let unnamed = begin_endpoints(target, place, meta.warehouses, plan.controls.affinity)?;
    let warnings = place.warning().into_iter().chain(unnamed).collect();
    Ok((settled, warnings))
}

/// Returns the plan of the terminals.
pub(crate) fn run_plan(
    plan: &Plan,
    (meta, active): (&DatabaseMeta, (u32, u32)),
    mode: &Mode,
    settled: &Settled,
) -> RunPlan {
    let steps = plan.schedule.steps.iter().map(|step| Step {
        from: step.from,
        phase: step.phase,
        mix: step.mix,
        rate: step.rate,
        sessions: step.sessions,
        ..Step::default()
    });
    let (first_warehouse, warehouses) = active;
    let constants = RunConstants::new(plan.seed, meta.c_load);
    let mut run_plan = RunPlan {
        first_warehouse,
        districts: meta.districts.clone(),
        size: meta.size,
        warmup: plan.warmup,
        steady: plan.steady,
        duration: plan.duration,
        steps: steps.collect(),
        retry: plan.retry,
        success_log: plan.success_log.clone(),
        limits: limits::of_requirements(&plan.requirements, Tpcc::KINDS),
        ..RunPlan::new(mode.clone(), warehouses, plan.seed, constants)
    };
    plan.controls.shape(settled, &plan.schedule, &mut run_plan);
    run_plan
}

/// Begins the counts of the endpoints. With affinity, all nodes of the placement must be endpoints. Without it, a database
/// that can't name them is a warning, which is returned.
pub(crate) fn begin_endpoints(
    target: &dyn Target,
    place: &Place,
    warehouses: u32,
    affinity: Affinity,
) -> Result<Option<String>, Failure> {
    let Some(endpoints) = target.capabilities().endpoints.filter(|endpoints| endpoints.is_spread()) else {
        return Ok(None);
    };
    // The user's nodes have other names.
    let named = place.reported().map(|_| target.capabilities().nodes_of_endpoints()).transpose();
    let (nodes, warning) = match named {
        Ok(nodes) => (nodes.unwrap_or_default(), None),
        Err(error) if affinity.0 || error.kind != TargetErrorKind::Database => return Err(error.into()),
        Err(error) => {
            let warning = format!(
                "The nodes of the endpoints could not be read, so 'away' counts by the order of the endpoints: {error}"
            );
            (Vec::new(), Some(warning))
        }
    };
    let missing = endpoints.begin(nodes, place.placement.as_deref(), warehouses);
    if affinity.0 && !missing.is_empty() {
        return Err(Failure::usage(format!(
            "--affinity: no endpoint is the node {}, which may lead warehouses: add it to the hosts of the URL",
            missing.join(", ")
        )));
    }
    Ok(warning)
}
