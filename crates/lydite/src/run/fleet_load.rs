//! Loads by a fleet: the coordinator's side, and the share of an agent.

use super::fleet::Joining;
use super::loading::{TpccLoad, now};
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_console::memory;
use lydite_console::output::complain;
use lydite_bench::{LoadReport, Loaded, Missing, RunControl, Share, load_by, load_share};
use lydite_database::{DatabaseState, TargetError, TxMode};
use lydite_families::TargetSpec;
use lydite_fleet::{Fleet, FleetError, encode};
use lydite_plan::data::Data;
use lydite_tpcc::population::Population;
use lydite_tpcc::{DataSkew, Size, Timestamp};
use serde::{Deserialize, Serialize};

/// The work of an agent in a load.
#[derive(Deserialize, Serialize)]
pub(super) struct LoadWork {
    /// URL of the database.
    url: String,
    warehouses: u32,
    data_skew: Option<String>,
    size: String,
    seed: u64,
    /// Time of the load, the same in the rows of all agents.
    time: Timestamp,
    missing: Missing,
    /// Connections of each agent.
    jobs: u32,
}

/// Lets a fleet load the tables of TPC-C at `url` through `jobs` connections for each agent, and shows the progress.
pub(crate) fn load(
    (fleet, agents): (&mut Fleet, &Joining),
    load: &TpccLoad<'_>,
    url: &str,
    (jobs, resume): (u32, bool),
) -> Result<LoadReport, Failure> {
    let TpccLoad { target, meta, .. } = *load;
    let time = now();
    let population = Population::from_meta(meta, time);
    let all_jobs = (jobs * agents.terms.agents) as usize;
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
            let work = encode(&super::fleet::Work::Load(work)).map_err(failed)?;
            fleet.load(&work, control, progress, &complain).map_err(failed)
        };
        load_by(target, &population, all_jobs, resume, control, observer, &mut by_agents)
    })
}

/// Returns the error of a fleet as one of the load.
fn failed(error: FleetError) -> TargetError {
    match error {
        FleetError::Usage(line) => TargetError::usage(line),
        FleetError::Lost(line) => TargetError::unreachable(line),
        FleetError::Interrupted => TargetError::interrupted(error.to_string()),
    }
}

/// Loads a share, as an agent. Returns true if it is loaded whole, and false if the load was stopped.
pub(super) fn load_own(
    work: &LoadWork,
    share: Share,
    control: &RunControl,
    report: &mut dyn FnMut(Loaded),
    interrupt: &Interrupt,
) -> Result<bool, Failure> {
    let spec = TargetSpec::parse(&work.url, TxMode::Statements).map_err(Failure::Usage)?;
    super::fleet::check_shared(&spec).map_err(Failure::usage)?;
    memory::suit(&spec);
    let target = spec.waited_for_by(interrupt.waiter()).open()?;
    let unreadable = |key: &str| {
        Failure::usage(format!("{key} of the load can't be read: use the same version everywhere"))
    };
    let skew = work.data_skew.as_deref().map(str::parse::<DataSkew>).transpose();
    let data = Data {
        skew: skew.map_err(|_| unreadable("data_skew"))?,
        size: Some(Size::from_name(&work.size).ok_or_else(|| unreadable("size"))?),
    };
    let meta = data.describe(work.warehouses, work.seed)?;
    match target.state()? {
        DatabaseState::AnyScale => {}
        DatabaseState::Loading { meta: found, .. } if found.is_of_same_rows(&meta) => {}
        _ => {
            return Err(Failure::usage(format!(
                "{} is another database here than at the coordinator: use a URL that leads to the same one everywhere",
                target.describe()?.url
            )));
        }
    }
    let population = Population::from_meta(&meta, work.time);
    let jobs = work.jobs as usize;
    Ok(load_share(&*target, &population, (&work.missing, share), jobs, control, report)?)
}
