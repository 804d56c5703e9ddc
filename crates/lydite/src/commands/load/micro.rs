//! `lydite load --workload micro`: loads the tables of the microbenchmark.

use super::asked::SEED;
use super::documents::conclude;
use crate::cli::LoadArgs;
use crate::signals::{watch, watched};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::reserve_stdout;
use lydite_database::{DatabaseState, Demand, Target};
use lydite_families::TargetSpec;
use lydite_micro::{Data as MicroRecords, Meta};
use lydite_observe::SourceSpec;
use lydite_plan::Problem;
use lydite_plan::controls::faults::addresses_of;
use lydite_plan::entries::Entries;
use lydite_plan::load::LoadOutputs;
use lydite_plan::micro::MicroData;
use lydite_plan::values::{number, whole};
use lydite_report::live::Style;
use lydite_report::model::LoadPlan;
use lydite_run::alone::begin_alone;
use lydite_run::observed::check as check_observed;
use lydite_run::{LoadFacts, Sought, records};
use std::sync::Arc;

/// Flags that are for TPC-C only, with what to do.
fn not_for_micro(args: &LoadArgs, errors: &mut Vec<String>) {
    for (given, flag, advice) in [
        (args.warehouses.is_some(), "warehouses", "leave it out"),
        (args.fleet.agents.is_some() || args.fleet.join.is_some(), "agents", "leave it out"),
        (args.csv.is_some(), "csv", "leave it out"),
        (args.from.is_some(), "from", "leave it out"),
        (args.interleaved, "interleaved", "leave it out"),
        (args.resume, "resume", "load again with --fresh"),
    ] {
        if given {
            errors.push(format!("--{flag}: is for --workload tpcc only: {advice}"));
        }
    }
}

/// Runs the command.
pub(super) fn load(args: &LoadArgs, mut entries: Entries) -> Outcome {
    let configured = MicroData::read(&mut entries, None);
    let url = args.target.clone().unwrap_or_default();
    let mut problems = Vec::new();
    not_for_micro(args, &mut problems);
    let spec = match &args.target {
        Some(url) => TargetSpec::parse_micro(url).map_err(|more| problems.extend(more)).ok(),
        None => None,
    };
    let outputs = LoadOutputs::read(&mut entries, spec.as_ref(), &SourceSpec::reach);
    let mut errors = std::mem::take(&mut entries.errors);
    let mut keep = |flag: &str, result: Result<u64, Problem>| {
        result.unwrap_or_else(|problem| {
            errors.push(format!("--{flag}: {problem}"));
            0
        })
    };
    let jobs = keep("jobs", whole(args.jobs.as_deref().unwrap_or("2"), 1, 1_000).map(u64::from)) as usize;
    let seed = args.seed.as_deref().map(|text| number(text, "must be a whole number from 0"));
    let seed = keep("seed", seed.unwrap_or(Ok(SEED)));
    errors.extend(problems);
    let (Some(spec), true) = (spec, errors.is_empty()) else { return Err(Failure::Usage(errors)) };
    if outputs.writes_stdout() {
        reserve_stdout();
    }
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let target: Arc<dyn Target> = spec.open()?;
    target.admit(&Demand::Load)?;
    check_observed(&outputs.observe, &*target)?;
    let description = target.describe()?;
    let place = &description.url;
    match target.state()? {
        DatabaseState::AnyScale => return Err(Failure::usage(format!("{place} stores nothing to load"))),
        DatabaseState::Empty => {}
        _ if args.fresh => {
            let _alone = begin_alone(&*target)?;
            target.reset()?;
        }
        DatabaseState::Micro { meta, ready: true } => {
            return Err(Failure::usage(format!(
                "{place} is loaded already, with {} from seed {}: use it as it is, or load again with --fresh",
                meta.data, meta.seed
            )));
        }
        state => return Err(records::unusable(&state, place)),
    }
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    let meta = Meta::new(configured.or(MicroRecords::default()), seed, env!("CARGO_PKG_VERSION"));
    let (addresses, observe) = (addresses_of(&url), &outputs.observe);
    let sought = Sought { observe, spec: &spec, addresses: &addresses, target: &target, replicas: None };
    let sought = outputs.any().then_some(&sought);
    let done = records::load(&*target, &meta, jobs, style, &interrupt, sought)?;
    let plan = LoadPlan { workload: "micro".into(), seed, ..LoadPlan::default() };
    let facts = outputs.any().then(|| LoadFacts { target: Arc::clone(&target), description, plan });
    let interrupted = "interrupted: start again with the same command and --fresh";
    conclude(&done, facts, &outputs, &interrupt, interrupted)
}
