//! A run of TPC-C: load an empty database, check, measure, check again, and conclude.

use crate::beside::OF_TPCC;
use crate::companion::{Companions, Now, Over};
use crate::conclusion::{Concluded, Measured};
use crate::fleet::running::Fleet;
use crate::measuring::{Live, measure};
use crate::readiness::begin_with_template;
use crate::ready::tpcc::Ready;
use crate::request::Request;
use crate::result::tpcc::Parts;
use crate::settling::begin_endpoints;
use lydite_bench::{Measurement, Mode};
use lydite_console::exit::Failure;
use lydite_database::{Kind, Replicas, Tpcc, Workload};
use lydite_plan::controls::Ran;
use std::sync::Arc;

/// Runs TPC-C.
///
/// # Errors
/// The failure of a run that measured nothing.
pub(crate) fn run(request: &Request) -> Result<Concluded, Failure> {
    if let Some(name) = &request.template {
        begin_with_template(request, name)?;
    }
    let plan = &request.plan;
    let gather = |asked| Fleet::gather(asked, &request.interrupt);
    let fleet = request.fleet.as_ref().map(gather).transpose()?;
    let ready = Ready::new(request)?;
    let _alone = ready.begin_run()?;
    let (mut companions, checks) = Companions::begin(OF_TPCC, &ready)?;
    let measured = measured(&ready, &companions, fleet.as_ref());
    let lines = ready.lines.as_ref().map(|lines| lines.counts());
    if let Some(lines) = &ready.lines {
        lines.close();
    }
    let measurement = measured?;
    let agents = fleet.map(|fleet| fleet.finish(&ready.run_plan())).unwrap_or_default();
    let replicas = ready.replicas.as_ref().map(|replicas| replicas.report());
    let over = Over { measurement: &measurement, replicas: replicas.as_ref(), agents };
    let made = companions.finish(&over);
    let parts = Parts {
        plan,
        ran: Ran {
            schedule: &plan.schedule,
            data: plan.data,
            mode: &ready.mode,
            meta: &ready.meta,
            settled: &ready.settled,
            active: ready.active,
            replicas: replicas.as_ref(),
            measurement: &measurement,
        },
        description: &ready.description,
        stored: ready.stored,
        declared: ready.declared,
        load: ready.load.as_ref(),
        lines,
    };
    let run = Measured {
        request,
        url: &ready.description.url,
        stored: ready.stored,
        over,
        companions,
        result: &|checks, checked| {
            let mut result = parts.result(checks, checked)?;
            result.warnings.extend(ready.warnings.iter().cloned());
            Ok(result)
        },
        complete: &|result| parts.judge(result),
    };
    Ok(run.conclude(checks, made))
}

/// Measures the run.
fn measured(
    ready: &Ready<'_>,
    companions: &Companions<Tpcc>,
    fleet: Option<&Fleet>,
) -> Result<Measurement, Failure> {
    let plan = &ready.request.plan;
    let run_plan = ready.run_plan();
    let title = format!("{}  {}", ready.description.url, ready.meta.warehouses_in_words());
    let queue = !matches!(ready.mode, Mode::Direct { .. });
    let kinds: Vec<(usize, Kind)> =
        plan.schedule.kinds().into_iter().map(|kind| (kind.index(), Tpcc::KINDS[kind.index()])).collect();
    let place = &ready.settled.distribution.place;
    // Its warning is known.
    let _known = begin_endpoints(&*ready.target, place, ready.meta.warehouses, plan.controls.affinity)?;
    let _lag = ready.replicas.as_ref().map(Replicas::watch).transpose()?;
    let now = || {
        let lines = fleet.map(Fleet::take_lines).unwrap_or_default();
        Now { lines, ..companions.now() }
    };
    measure(
        plan,
        Live { title: &title, style: ready.request.style, queue, now: &now },
        run_plan.sessions(),
        &kinds,
        &ready.request.interrupt,
        |control, observer| {
            companions.during(control, || -> Result<Measurement, Failure> {
                if let Some(fleet) = fleet {
                    return fleet.run(&ready.meta, &run_plan, control, observer);
                }
                let connect: Arc<lydite_bench::Connect<Tpcc>> = match (&ready.lines, &ready.replicas) {
                    (None, None) => {
                        return Ok(lydite_bench::run(&ready.target, &run_plan, control, observer)?);
                    }
                    (Some(lines), _) => {
                        let lines = Arc::clone(lines);
                        Arc::new(move || lines.session())
                    }
                    (None, Some(replicas)) => {
                        let replicas = Arc::clone(replicas);
                        Arc::new(move || replicas.connect())
                    }
                };
                Ok(lydite_bench::run_through(&ready.target, connect, &run_plan, control, observer)?)
            })
        },
    )
}
