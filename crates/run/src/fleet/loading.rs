//! Loads by a fleet, as their coordinator sees them.

use super::joining::Joining;
use super::work::{LoadWork, Work};
use crate::loading::{LoadDone, TpccLoad, now};
use lydite_bench::{Loaded, Missing, load_by};
use lydite_console::exit::Failure;
use lydite_console::output::complain;
use lydite_database::TargetError;
use lydite_fleet::{Fleet, FleetError, encode};
use lydite_tpcc::population::Population;

/// Lets a fleet load the tables of TPC-C at `url` through `jobs` connections for each agent, and shows the progress.
pub fn load(
    (fleet, agents): (&mut Fleet, &Joining),
    load: &TpccLoad<'_>,
    url: &str,
    (jobs, resume): (u32, bool),
) -> Result<LoadDone, Failure> {
    let TpccLoad { target, meta, .. } = *load;
    let time = now();
    let population = Population::from_meta(meta, time);
    let all_jobs = (jobs * agents.terms.agents) as usize;
    let show = || {
        load.show(", with or without --agents", |control, observer| {
            let mut by_agents = |missing: &Missing, progress: &mut dyn FnMut(Loaded)| {
                let work = LoadWork {
                    url: url.to_owned(),
                    warehouses: meta.warehouses,
                    data_skew: meta.districts.skew().map(|skew| skew.to_string()),
                    size: meta.size.name().to_owned(),
                    seed: meta.seed,
                    time,
                    missing: missing.clone(),
                    jobs,
                };
                let work = encode(&Work::Load(work)).map_err(failed)?;
                fleet.load(&work, control, progress, &complain).map_err(failed)
            };
            load_by(target, &(&population).into(), all_jobs, resume, control, observer, &mut by_agents)
        })
    };
    load.watching(show)
}

/// Returns the error of a fleet as one of the load.
fn failed(error: FleetError) -> TargetError {
    match error {
        FleetError::Usage(line) => TargetError::usage(line),
        FleetError::Lost(line) => TargetError::unreachable(line),
        FleetError::Interrupted => TargetError::interrupted(error.to_string()),
    }
}
