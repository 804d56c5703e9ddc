//! Readiness of the database for a run of TPC-C: templates, loading, and the check that its state fits the plan.

use crate::fleet::joining::Asked;
use crate::loading::{self, LoadDone, TpccLoad, resume_command};
use crate::request::Request;
use crate::sources::Sought;
use lydite_bench::Mode;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::shell::typed;
use lydite_database::{DatabaseState, Demand, Target};
use lydite_plan::Plan;
use lydite_plan::controls::Scale;
use lydite_plan::data::load_flags;
use lydite_plan::own_schema::check_loaded as check_scripts;
use lydite_report::figures::plural;
use lydite_tpcc::meta::DatabaseMeta;
use std::sync::Arc;

/// Least default of the number of warehouses to load.
const DEFAULT_WAREHOUSES: u32 = 2;
/// The default number of warehouses that `null:` pretends to have.
const DEFAULT_NULL_WAREHOUSES: u32 = 10;

/// Returns the mode on the database of `meta`.
///
/// # Errors
/// The database is too small for the plan.
pub(crate) fn fitting(plan: &Plan, meta: &DatabaseMeta) -> Result<Mode, Failure> {
    let mode = plan.mode(meta.warehouses)?;
    let active = plan.active(meta.warehouses)?;
    plan.controls.fit(&plan.schedule, &Scale { mode: &mode, active, districts: Some(&meta.districts) })?;
    Ok(mode)
}

/// Returns the mode of a run on the database of `meta`.
///
/// # Errors
/// The database is too small for the plan, or the run has fewer terminals than agents.
pub(crate) fn fitting_run(request: &Request, meta: &DatabaseMeta) -> Result<Mode, Failure> {
    let mode = fitting(&request.plan, meta)?;
    if let Some(fleet) = &request.fleet {
        fleet.fit(&mode, request.plan.active(meta.warehouses)?.1)?;
    }
    Ok(mode)
}

/// Returns the number of warehouses to load if the user gives none: at least one for each agent of a fleet, since a run
/// has a terminal for each warehouse, and for each endpoint, so that it can lead one.
fn default_warehouses(request: &Request) -> u32 {
    let agents = request.fleet.as_ref().map_or(0, Asked::agents);
    agents.max(request.plan.target.endpoints() as u32).max(DEFAULT_WAREHOUSES)
}

/// Rejects a target that can't run the plan, before anything is loaded.
pub(crate) fn check_target(plan: &Plan, target: &dyn Target) -> Outcome {
    loading::tell_notes(&target.admit(&Demand::Sessions(plan.sessions()))?);
    target.admit(&Demand::Writes)?;
    target.admit(&Demand::Transactions(plan.schedule.kinds()))?;
    Ok(plan.controls.check_target(&plan.schedule, &plan.target, target)?)
}

/// Restores the template of this name to the database. If there is no such template, loads the database anew and saves
/// it as the template.
pub(crate) fn begin_with_template(request: &Request, name: &str) -> Outcome {
    let plan = &request.plan;
    let templates = plan
        .target
        .templates()
        .ok_or_else(|| Failure::usage("--template: this target has no templates: load it with --fresh"))?;
    if templates.database_is_there()? {
        templates.check()?;
        let target = plan.target.open()?;
        let state = target.state()?;
        if matches!(state, DatabaseState::Foreign { .. })
            && let Some(refused) = unusable(&state, &target.describe()?.url)
        {
            return Err(refused);
        }
    }
    if templates.has(name)? {
        return Ok(templates.restore(name)?);
    }
    // The database is copied after it is closed.
    {
        let target = plan.target.open()?;
        check_target(plan, &*target)?;
        make_ready(&target, request, true)?;
    }
    Ok(templates.save(name)?)
}

/// Loads the database if it is empty, and checks that its data fits the plan. `fresh` drops its data and loads it anew.
/// Returns the description of the database, and the load if there was one.
pub(crate) fn make_ready(
    target: &Arc<dyn Target>,
    request: &Request,
    fresh: bool,
) -> Result<(DatabaseMeta, Option<LoadDone>), Failure> {
    let plan = &request.plan;
    let mut state = target.state()?;
    let (mut warehouses, mut data) = (plan.warehouses, plan.data);
    if fresh && state != DatabaseState::AnyScale {
        let dropped = match &state {
            DatabaseState::Ready { meta } | DatabaseState::Loading { meta, .. } => Some(meta),
            DatabaseState::Partial { meta, .. } => meta.as_deref(),
            _ => None,
        };
        if let Some(meta) = dropped {
            // Unset keys keep the values of the dropped data.
            warehouses = warehouses.or(Some(meta.warehouses));
            data.size = data.size.or(Some(meta.size));
        }
        // The plan is checked before the data is dropped.
        let meta = data.describe(warehouses.unwrap_or_else(|| default_warehouses(request)), plan.seed)?;
        fitting_run(request, &meta)?;
        target.admit(&Demand::Districts(meta.districts.clone()))?;
        target.admit(&Demand::Load)?;
        target.reset()?;
        state = DatabaseState::Empty;
    }
    match state {
        DatabaseState::AnyScale => {
            Ok((data.describe(warehouses.unwrap_or(DEFAULT_NULL_WAREHOUSES), plan.seed)?, None))
        }
        DatabaseState::Ready { meta } => match warehouses {
            Some(asked) if asked != meta.warehouses => Err(Failure::usage(format!(
                "{} holds {}, but the plan wants {asked}: leave --warehouses out, or load again with --fresh",
                target.describe()?.url,
                meta.warehouses_in_words()
            ))),
            _ => {
                let url = target.describe()?.url;
                data.check_loaded(&meta, &url)?;
                check_scripts(plan.target.scripts(), &meta, &url)?;
                Ok((meta, None))
            }
        },
        DatabaseState::Empty => {
            let meta = data.describe(warehouses.unwrap_or_else(|| default_warehouses(request)), plan.seed)?;
            let meta = DatabaseMeta { scripts: plan.target.scripts().notes(), ..meta };
            fitting_run(request, &meta)?;
            target.admit(&Demand::Districts(meta.districts.clone()))?;
            let place = (&**target, plan.target.is_temporary());
            let load = TpccLoad::new(place, &meta, request.style, &request.interrupt)?;
            let load = load.observed(Sought::of_plan(plan, target));
            let done = load.alone(plan.jobs, false)?;
            if done.report.interrupted {
                let next =
                    load.go_on().map(|next| next + ", or start again with --fresh").unwrap_or_default();
                return Err(Failure::Interrupted(format!("interrupted while loading{next}")));
            }
            Ok((meta, Some(done)))
        }
        state => Err(unusable(&state, &target.describe()?.url).unwrap_or_else(|| {
            Failure::usage("the database is in an unknown state: load it again with --fresh")
        })),
    }
}

/// Returns the description of a loaded database; that of the plan if the target stores nothing.
///
/// # Errors
/// The database is not loaded.
pub(crate) fn described(target: &dyn Target, plan: &Plan) -> Result<DatabaseMeta, Failure> {
    match target.state()? {
        DatabaseState::AnyScale => {
            Ok(plan.data.describe(plan.warehouses.unwrap_or(DEFAULT_NULL_WAREHOUSES), plan.seed)?)
        }
        DatabaseState::Ready { meta } => Ok(meta),
        state => {
            let url = target.describe()?.url;
            Err(unusable(&state, &url)
                .unwrap_or_else(|| Failure::usage(format!("{url} is empty: load it first"))))
        }
    }
}

/// Returns the error of a database whose state TPC-C can't use; none if it can.
pub fn unusable(state: &DatabaseState, url: &str) -> Option<Failure> {
    let go_on = |meta| resume_command(url, meta);
    let url = typed(url);
    match state {
        DatabaseState::Loading { meta, warehouses, .. } => Some(Failure::usage(format!(
            "the database holds a load that is running or was interrupted ({} of {}): wait for it, or go on with `{}`, \
             or start again with --fresh instead of --resume",
            warehouses.len(),
            plural(meta.warehouses.into(), "warehouse"),
            go_on(meta)
        ))),
        DatabaseState::Foreign { tables } => Some(Failure::usage(format!(
            "the database has tables that Lydite did not make ({}), or whose drop it did not finish: name another \
             database or schema; `lydite check {url} --foreign` checks TPC-C tables of other programs; if nobody needs \
             these tables, `lydite load {url} --warehouses N --fresh` drops them with all their rows",
            tables.join(", ")
        ))),
        DatabaseState::Partial { tables, problem, meta } => Some(Failure::usage(format!(
            "the database holds tables of Lydite's that can't be used ({}): {problem}: drop them and start over with \
             `lydite load {url} {} --fresh`, or name another database or schema",
            tables.join(", "),
            meta.as_ref().map_or_else(|| "--warehouses N".to_owned(), |meta| load_flags(meta))
        ))),
        DatabaseState::Micro { meta, .. } => Some(Failure::usage(format!(
            "the database holds the microbenchmark's tables ({}): run it with --workload micro, name another database, \
             or replace them with `lydite load {url} --warehouses N --fresh`",
            meta.data
        ))),
        DatabaseState::Empty | DatabaseState::Ready { .. } | DatabaseState::AnyScale => None,
    }
}
