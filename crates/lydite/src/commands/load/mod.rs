//! `lydite load`: loads a database, from a seed or from files, or writes such files.

mod asked;
mod documents;
mod files;
mod micro;

use crate::cli::LoadArgs;
use crate::signals::{watch, watched};
use asked::{Asked, entries};
use documents::{conclude, facts};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::reserve_stdout;
use lydite_database::{Demand, Target};
use lydite_fleet::Fleet;
use lydite_plan::WorkloadName;
use lydite_plan::controls::faults::addresses_of;
use lydite_plan::data;
use lydite_plan::key::names;
use lydite_plan::micro as plan_micro;
use lydite_plan::own_schema;
use lydite_report::live::Style;
use lydite_run::Sought;
use lydite_run::alone::begin_alone;
use lydite_run::fleet::joining::Joining;
use lydite_run::fleet::loading as fleet_load;
use lydite_run::loading::TpccLoad;
use lydite_run::observed::check as check_observed;
use lydite_tpcc::meta::DatabaseMeta;
use std::sync::Arc;

/// Runs `lydite load`.
pub(crate) fn command(args: LoadArgs) -> Outcome {
    let mut entries = entries(&args);
    let workload = WorkloadName::read(&mut entries);
    if workload == Some(WorkloadName::Micro) {
        entries.only_for("tpcc", names(data::KEYS));
        entries.only_for("tpcc", names(own_schema::KEYS));
        return micro::load(&args, entries);
    }
    if workload == Some(WorkloadName::Tpcc) {
        entries.only_for("micro", names(plan_micro::KEYS));
    }
    let asked = Asked::read(&args, entries)?;
    let style = Style::detect(args.quiet);
    let Some(spec) = asked.spec.clone() else {
        return files::write(&asked, style, &watch(style)?);
    };
    if asked.outputs.writes_stdout() {
        reserve_stdout();
    }
    let (spec, mut interrupt) = watched(spec, style)?;
    let spec = &spec;
    let checked = files::before(&asked, style, &mut interrupt)?;
    let meta = match &checked {
        Some(checked) => checked.meta().clone(),
        None => asked.describe()?,
    };
    let meta = DatabaseMeta { scripts: spec.scripts().notes(), ..meta };
    let joined = asked.fleet.map(|joining| gather(joining, &mut interrupt, style)).transpose()?;
    let target: Arc<dyn Target> = spec.open()?;
    // Checked before --fresh drops anything.
    target.admit(&Demand::Districts(meta.districts.clone()))?;
    target.admit(&Demand::Load)?;
    check_observed(&asked.outputs.observe, &*target)?;
    if args.fresh {
        let _alone = begin_alone(&*target)?;
        target.reset()?;
    }
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    let facts = facts(&asked.outputs, (&target, spec), &meta, checked.as_ref())?;
    let mut load = TpccLoad::new((&*target, spec.is_temporary()), &meta, style, &interrupt)?;
    let url = asked.url.as_deref().unwrap_or_default();
    let addresses = addresses_of(url);
    if facts.is_some() {
        let observe = &asked.outputs.observe;
        load =
            load.observed(Sought { observe, spec, addresses: &addresses, target: &target, replicas: None });
    }
    if let Some(checked) = checked {
        load = checked.rows_of(load);
    }
    let done = match joined {
        None => load.alone(asked.jobs, args.resume)?,
        Some((mut agents, joining)) => {
            let how = (asked.jobs as u32, args.resume);
            fleet_load::load((&mut agents, &joining), &load, url, how)?
        }
    };
    let next = load.go_on().unwrap_or_default();
    conclude(&done, facts, &asked.outputs, &interrupt, &format!("interrupted: the load is unfinished{next}"))
}

/// Waits for the agents of a fleet. Begins to watch for Ctrl-C if nothing does so yet.
fn gather(
    joining: Joining,
    interrupt: &mut Option<Interrupt>,
    style: Style,
) -> Result<(Fleet, Joining), Failure> {
    let watching = interrupt.take().map_or_else(|| watch(style), Ok)?;
    let gathered = joining.gather(&watching)?;
    *interrupt = Some(watching);
    Ok((gathered, joining))
}
