//! `lydite load`: loads a database.

use super::joining::joining;
use crate::cli::LoadArgs;
use crate::signals::{watch, watched};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_database::{DatabaseState, Demand, TxMode};
use lydite_families::TargetSpec;
use lydite_fleet::Fleet;
use lydite_micro::{Data as MicroRecords, Meta};
use lydite_plan::data::{self, Data};
use lydite_plan::entries::Entries;
use lydite_plan::key::names;
use lydite_plan::micro::{self as plan_micro, MicroData};
use lydite_plan::values::{number, whole};
use lydite_plan::{Problem, WorkloadName};
use lydite_report::live::Style;
use lydite_run::alone::begin_alone;
use lydite_run::fleet::joining::{Joining, check_shared};
use lydite_run::fleet::loading as fleet_load;
use lydite_run::loading::TpccLoad;
use lydite_run::records;
use lydite_tpcc::limits::MAX_WAREHOUSES;

/// Keys that `--set` accepts.
const KEYS: &[&str] =
    &["workload", "data_skew", "size", "micro.tables", "micro.records", "micro.record_bytes"];

/// Runs `lydite load`.
pub(crate) fn command(args: LoadArgs) -> Outcome {
    let mut entries = Entries::default();
    for setting in &args.set {
        entries.set(setting, KEYS);
    }
    entries.flag("workload", args.workload.clone());
    entries.flag("data_skew", args.data_skew.clone());
    entries.flag("size", args.size.clone());
    let workload = WorkloadName::read(&mut entries);
    if workload == Some(WorkloadName::Micro) {
        entries.only_for("tpcc", names(data::KEYS));
        return load_micro(&args, entries);
    }
    if workload == Some(WorkloadName::Tpcc) {
        entries.only_for("micro", names(plan_micro::KEYS));
    }
    let data = Data::read(&mut entries, None);
    let mut errors = entries.errors;
    let mut keep = |flag: &str, result: Result<u64, Problem>| match result {
        Ok(value) => value,
        Err(problem) => {
            errors.push(format!("--{flag}: {problem}"));
            0
        }
    };
    let warehouses = match &args.warehouses {
        Some(text) => whole(text, 1, MAX_WAREHOUSES),
        None => Err("is missing: say how many to load, for example --warehouses 2".into()),
    };
    let warehouses = keep("warehouses", warehouses.map(u64::from)) as u32;
    let jobs = keep("jobs", whole(args.jobs.as_deref().unwrap_or("2"), 1, 1_000).map(u64::from)) as usize;
    let seed = keep("seed", number(args.seed.as_deref().unwrap_or("1"), "must be a whole number from 0"));
    let fleet = joining(&args.fleet, &mut errors);
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(|more| errors.extend(more));
    if let (Ok(spec), Some(_)) = (&spec, &fleet)
        && let Err(problem) = check_shared(spec)
    {
        errors.push(format!("TARGET: {problem}"));
    }
    let (Ok(spec), true) = (spec, errors.is_empty()) else { return Err(Failure::Usage(errors)) };
    let meta = data.describe(warehouses, seed)?;
    let style = Style::detect(args.quiet);
    let (spec, mut interrupt) = watched(spec, style)?;
    let fleet = fleet.map(|joining| gather(joining, &mut interrupt, style)).transpose()?;
    let target = spec.open()?;
    // Checked before --fresh drops anything.
    target.admit(&Demand::Districts(meta.districts.clone()))?;
    target.admit(&Demand::Load)?;
    if args.fresh {
        let _alone = begin_alone(&*target)?;
        target.reset()?;
    }
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    let load = TpccLoad::new((&*target, spec.is_temporary()), &meta, style, &interrupt)?;
    let report = match fleet {
        None => load.alone(jobs, args.resume)?,
        Some((mut agents, joining)) => {
            let how = (jobs as u32, args.resume);
            fleet_load::load((&mut agents, &joining), &load, &args.target, how)?
        }
    };
    if report.interrupted {
        let next = load.go_on().unwrap_or_default();
        return Err(Failure::Interrupted(format!("interrupted: the load is unfinished{next}")));
    }
    Ok(())
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

/// Runs `lydite load --workload micro`.
fn load_micro(args: &LoadArgs, mut entries: Entries) -> Outcome {
    let configured = MicroData::read(&mut entries, None);
    let mut errors = std::mem::take(&mut entries.errors);
    let mut keep = |flag: &str, result: Result<u64, Problem>| {
        result.unwrap_or_else(|problem| {
            errors.push(format!("--{flag}: {problem}"));
            0
        })
    };
    let jobs = keep("jobs", whole(args.jobs.as_deref().unwrap_or("2"), 1, 1_000).map(u64::from)) as usize;
    let seed = keep("seed", number(args.seed.as_deref().unwrap_or("1"), "must be a whole number from 0"));
    if args.warehouses.is_some() {
        errors.push("--warehouses: is for --workload tpcc only: leave it out".into());
    }
    if args.fleet.agents.is_some() || args.fleet.join.is_some() {
        errors.push("--agents: is for --workload tpcc only: leave it out".into());
    }
    if args.resume {
        errors.push("--resume: is for --workload tpcc only: load again with --fresh".into());
    }
    let spec = TargetSpec::parse_micro(&args.target).map_err(|more| errors.extend(more));
    let (Ok(spec), true) = (spec, errors.is_empty()) else { return Err(Failure::Usage(errors)) };
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let target = spec.open()?;
    target.admit(&Demand::Load)?;
    let url = target.describe()?.url;
    match target.state()? {
        DatabaseState::AnyScale => return Err(Failure::usage(format!("{url} stores nothing to load"))),
        DatabaseState::Empty => {}
        _ if args.fresh => target.reset()?,
        DatabaseState::Micro { meta, ready: true } => {
            return Err(Failure::usage(format!(
                "{url} is loaded already, with {} from seed {}: use it as it is, or load again with --fresh",
                meta.data, meta.seed
            )));
        }
        state => return Err(records::unusable(&state, &url)),
    }
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    let meta = Meta::new(configured.or(MicroRecords::default()), seed, env!("CARGO_PKG_VERSION"));
    let report = records::load(&*target, &meta, jobs, style, &interrupt)?;
    if report.interrupted {
        return Err(Failure::Interrupted(
            "interrupted: start again with the same command and --fresh".into(),
        ));
    }
    Ok(())
}
