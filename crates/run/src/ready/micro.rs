//! A database that fits a plan of the microbenchmark.

use crate::alone::begin_alone;
use crate::limits;
use crate::loading::{self, LoadDone};
use crate::observed;
use crate::records::make_ready;
use crate::request::Request;
use crate::spread::few_sessions;
use lydite_bench::{MicroMode, MicroPlan, RunPlan};
use lydite_console::exit::Failure;
use lydite_database::{DatabaseState, Demand, Description, Micro, Target, Workload};
use lydite_families::family_of;
use lydite_micro::Inputs;
use lydite_plan::micro::MicroAsked;
use std::sync::Arc;

/// A database that fits the plan.
pub(crate) struct Ready<'a> {
    pub(crate) request: &'a Request,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) description: Description,
    pub(crate) load: Option<LoadDone>,
    /// True if the target stores anything.
    pub(crate) stored: bool,
    pub(crate) run_plan: MicroPlan,
    /// Warnings that are known before the run.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Ready<'a> {
    /// Brings the database into the state that the plan wants.
    ///
    /// # Errors
    /// The database does not fit the plan, or the user interrupted.
    pub(crate) fn new(request: &'a Request, asked: &MicroAsked) -> Result<Self, Failure> {
        let plan = &request.plan;
        let mode = plan.micro_mode()?;
        let target: Arc<dyn Target> = plan.target.open()?;
        // A run that can't be made is rejected before anything is loaded.
        loading::tell_notes(&target.admit(&Demand::Sessions(plan.sessions()))?);
        target.admit(&Demand::Writes)?;
        observed::check(&plan.observe, &*target)?;
        let (meta, load) = {
            let _alone = request.fresh.then(|| begin_alone(&*target)).transpose()?;
            make_ready(&target, request, asked)?
        };
        let stored = !matches!(target.state()?, DatabaseState::AnyScale);
        let mut description = target.describe()?;
        // Settings about TPC-C's tables do not affect this workload.
        let tpcc_options = family_of(&description.kind).map_or(&[][..], |family| family.tpcc_options);
        let mut warnings = std::mem::take(&mut description.unread);
        description.settings.retain(|name, _| !tpcc_options.contains(&name.as_str()));
        let engines = target.capabilities().micro()?.engines();
        let inputs = Inputs { seed: plan.seed, data: meta.data, shape: asked.shape, engines };
        let run_plan = MicroPlan {
            inputs,
            meta,
            mode,
            warmup: plan.warmup,
            steady: plan.steady,
            duration: plan.duration,
            retry: plan.retry,
            drain: RunPlan::DRAIN,
            limits: limits::of_requirements(&plan.requirements, Micro::KINDS),
        };
        let flag = if matches!(mode, MicroMode::Direct { .. }) { "--terminals" } else { "--sessions" };
        if let Some(endpoints) = target.capabilities().endpoints {
            warnings.extend(few_sessions(endpoints, run_plan.sessions(), flag));
        }
        Ok(Self { request, target, description, load, stored, run_plan, warnings })
    }
}
