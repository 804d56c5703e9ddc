//! The work of an agent of a fleet: its share of a run or of a load.

use crate::fleet::joining::{check, check_shared};
use crate::fleet::work::{LoadWork, RunWork, Work};
use crate::readiness::{check_target, described, fitting};
use crate::settling::{run_plan, settle};
use lydite_bench::{Loaded, Part, RunControl, RunPlan, Share, load_share, run_share};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::memory;
use lydite_database::{DatabaseState, TxMode};
use lydite_families::TargetSpec;
use lydite_fleet::{Report, decode};
use lydite_plan::Plan;
use lydite_plan::data::Data;
use lydite_tpcc::population::Population;
use lydite_tpcc::{DataSkew, Size};
use std::path::PathBuf;

/// Plays a share of a run or a load, as an agent.
///
/// # Errors
/// The reason in one line why it can't be played.
pub fn play(
    work: &[u8],
    share: Share,
    control: &RunControl,
    report: &mut dyn FnMut(Report),
    interrupt: &Interrupt,
) -> Result<(), String> {
    let work: Work = decode(work).ok_or("the plan can't be read: use the same version everywhere")?;
    let played = match work {
        Work::Run(work) => {
            let mut parts = |part| report(Report::Run(Box::new(part)));
            play_run(&work, share, control, &mut parts, interrupt)
        }
        Work::Load(work) => {
            let mut last = Loaded::default();
            let mut counts = |loaded| {
                last = loaded;
                report(Report::Load(loaded, None));
            };
            let ended = load_own(&work, share, control, &mut counts, interrupt);
            ended.map(|whole| report(Report::Load(last, Some(whole))))
        }
    };
    played.map_err(|failure| failure.line())
}

fn play_run(
    work: &RunWork,
    share: Share,
    control: &RunControl,
    report: &mut dyn FnMut(Part),
    interrupt: &Interrupt,
) -> Outcome {
    let mut entries = work.document.entries();
    check(&mut entries);
    // Before the plan is read: this host's files and programs are none of the coordinator's business.
    let url =
        entries.text("target").ok_or_else(|| Failure::usage("the plan of the coordinator has no target"))?;
    let target = TargetSpec::parse(&url, TxMode::Statements).map_err(Failure::Usage)?;
    check_shared(&target).map_err(Failure::usage)?;
    let mut plan = Plan::read(entries)?;
    plan.waited_for_by(&interrupt.waiter());
    memory::suit(&plan.target);
    let target = plan.target.open()?;
    check_target(&plan, &*target)?;
    let url = target.describe()?.url;
    let meta = described(&*target, &plan)?;
    if format!("{meta:?}") != work.database {
        return Err(Failure::usage(format!(
            "{url} is another database here than at the coordinator: use a URL that leads to the same one everywhere"
        )));
    }
    let mode = fitting(&plan, &meta)?;
    let active = plan.active(meta.warehouses)?;
    // The coordinator asks the same database, and reports its warnings.
    let (settled, _reported) = settle(&plan, &*target, &url, (&meta, active))?;
    let run_plan = RunPlan {
        share,
        cuts: work.cuts.clone(),
        // The coordinator has the file.
        success_log: work.logs.then(PathBuf::new),
        ..run_plan(&plan, (&meta, active), &mode, &settled)
    };
    if let Some(endpoints) = target.capabilities().endpoints {
        endpoints.begin_at(share.before(run_plan.sessions()));
    }
    Ok(run_share(&target, &run_plan, control, report)?)
}

/// Loads a share, as an agent. Returns true if it is loaded whole, and false if the load was stopped.
fn load_own(
    work: &LoadWork,
    share: Share,
    control: &RunControl,
    report: &mut dyn FnMut(Loaded),
    interrupt: &Interrupt,
) -> Result<bool, Failure> {
    let spec = TargetSpec::parse(&work.url, TxMode::Statements).map_err(Failure::Usage)?;
    check_shared(&spec).map_err(Failure::usage)?;
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
    Ok(load_share(&*target, &(&population).into(), (&work.missing, share), jobs, control, report)?)
}
