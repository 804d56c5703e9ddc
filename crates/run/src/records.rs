//! Records of the microbenchmark: their load, and the check that they are as a plan wants.

use crate::loading::{self, LoadDone};
use crate::request::Request;
use crate::sources::Sought;
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_console::shell::typed;
use lydite_database::{DatabaseState, Demand, Target, TargetErrorKind};
use lydite_micro::check::whole as whole_records;
use lydite_micro::{Data, Engines, Meta, RECORDS_VERSION, Totals};
use lydite_plan::micro::MicroAsked;
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen};
use std::sync::Arc;
use std::time::Instant;

/// Loads the tables of the microbenchmark.
pub fn load(
    target: &dyn Target,
    meta: &Meta,
    jobs: usize,
    style: Style,
    interrupt: &Interrupt,
    sought: Option<&Sought<'_>>,
) -> Result<LoadDone, Failure> {
    loading::tell_notes(&target.admit(&Demand::Load)?);
    let engines = target.capabilities().micro()?.engines();
    let tables = meta.data.all_tables(engines).count() as u64;
    let title = format!("Loading {tables} tables of {} records", meta.data.records);
    let expected = (meta.data.all_records(engines), tables);
    let load = || {
        loading::show(style, &title, expected, interrupt, |control, observer| {
            lydite_bench::load_micro(target, meta, jobs, control, observer)
        })
    };
    Ok(loading::watched(sought, load)?)
}

/// Returns the error of a database whose state the microbenchmark can't use.
pub fn unusable(state: &DatabaseState, url: &str) -> Failure {
    let fresh = "name another database, or replace what it holds with --fresh";
    Failure::usage(match state {
        DatabaseState::Ready { meta } => {
            format!("{url} holds TPC-C's tables ({}): {fresh}", meta.warehouses_in_words())
        }
        DatabaseState::Loading { meta, .. } => {
            format!(
                "{url} holds a load of TPC-C that is running or was interrupted ({}): {fresh}",
                meta.warehouses_in_words()
            )
        }
        DatabaseState::Foreign { tables } => {
            format!(
                "{url} has tables that Lydite did not make ({}): name another database; if nobody needs these tables, \
                 --fresh drops them with all their rows",
                tables.join(", ")
            )
        }
        DatabaseState::Partial { tables, problem, .. } => format!(
            "{url} holds tables of Lydite's that can't be used ({}): {problem}: {fresh}",
            tables.join(", ")
        ),
        DatabaseState::Micro { meta, .. } => format!(
            "{url} holds a load of the microbenchmark that is running or was interrupted ({}): wait for it, or load \
             again with --fresh",
            meta.data
        ),
        DatabaseState::Empty | DatabaseState::AnyScale => {
            format!("{url} is empty: load it first with `lydite load {} --workload micro`", typed(url))
        }
    })
}

/// Loads the database if it is empty or `--fresh` is set, and checks that its data fits the plan. Returns its
/// description, and the load if there was one.
pub(crate) fn make_ready(
    target: &Arc<dyn Target>,
    request: &Request,
    asked: &MicroAsked,
) -> Result<(Meta, Option<LoadDone>), Failure> {
    let plan = &request.plan;
    let mut state = target.state()?;
    let mut usual = Data::default();
    if request.fresh && state != DatabaseState::AnyScale {
        if let DatabaseState::Micro { meta, .. } = &state {
            // Unset keys keep the values of the dropped data.
            usual = meta.data;
        }
        target.admit(&Demand::Load)?;
        target.reset()?;
        state = DatabaseState::Empty;
    }
    let meta = || Meta::new(asked.data.or(usual), plan.seed, env!("CARGO_PKG_VERSION"));
    let url = target.describe()?.url;
    match state {
        DatabaseState::AnyScale => Ok((meta(), None)),
        DatabaseState::Micro { meta, ready: true } => {
            if meta.version != RECORDS_VERSION {
                return Err(Failure::usage(format!(
                    "{url} was loaded by Lydite {}, with other records: load again with --fresh",
                    meta.lydite
                )));
            }
            match asked.data.check_loaded(&meta) {
                Ok(()) => Ok((meta, None)),
                Err(differ) => Err(Failure::usage(format!(
                    "{url} holds {} from seed {}, but the plan wants {differ}: leave that out, or load again with \
                     --fresh",
                    meta.data, meta.seed
                ))),
            }
        }
        DatabaseState::Empty => {
            let meta = meta();
            let sought = Sought::of_plan(plan, target);
            let done = load(&**target, &meta, plan.jobs, request.style, &request.interrupt, Some(&sought))?;
            if done.report.interrupted {
                // A temporary database is gone.
                let next = if plan.target.is_temporary() { "" } else { ": load again with --fresh" };
                return Err(Failure::Interrupted(format!("interrupted while loading{next}")));
            }
            Ok((meta, Some(done)))
        }
        state => Err(unusable(&state, &url)),
    }
}

/// Reads all tables. Returns their totals and the time in seconds; none if the user interrupted it.
pub fn sum(
    target: &dyn Target,
    meta: &Meta,
    interrupt: &Interrupt,
) -> Result<Option<(Totals, f64)>, Failure> {
    let begun = Instant::now();
    let mut sum = Totals::default();
    let micro = target.capabilities().micro()?;
    for table in meta.data.all_tables(micro.engines()) {
        if interrupt.asked() {
            return Ok(None);
        }
        match micro.totals(meta, table) {
            Ok(totals) => sum.add(totals),
            Err(error) if error.kind == TargetErrorKind::Interrupted => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some((sum, begun.elapsed().as_secs_f64())))
}

/// Returns the check that all records are there.
pub fn records_check(
    totals: &Totals,
    meta: &Meta,
    engines: Engines,
    when: CheckedWhen,
    seconds: f64,
) -> CheckResult {
    let (ok, detail) = match whole_records(totals, &meta.data, engines) {
        Ok(()) => (true, "all records are there, with texts of their length".to_string()),
        Err(problem) => (false, problem),
    };
    CheckResult { id: "records".into(), ok, detail, when, seconds }
}
