//! A run of the microbenchmark: load an empty database, check, measure, check again, and conclude.

use crate::beside::{counters, observing, servers};
use crate::companion::{Begun, Companions, Over};
use crate::conclusion::{Concluded, Measured};
use crate::fleet::running::Agents;
use crate::measuring::{Live, measure};
use crate::ready::micro::Ready;
use crate::request::Request;
use crate::result::micro::Parts;
use lydite_bench::{Measurement, MicroMode};
use lydite_console::exit::Failure;
use lydite_console::output::complain;
use lydite_database::{MICRO_RECORDS, Micro, Workload};
use lydite_plan::micro::MicroAsked;

/// The companions of a run of the microbenchmark, see [`crate::beside::OF_TPCC`].
const COMPANIONS: &[fn(&Ready<'_>) -> Begun<Micro>] = &[
    |ready| Ok(Some(Box::new(servers::Servers::new(&ready.target, ready.run_plan.sessions())))),
    counters::begin,
    |ready| observing::observe(&ready.request.plan, &ready.target, None),
];

/// Runs the microbenchmark.
///
/// # Errors
/// The failure of a run that measured nothing.
pub(crate) fn run(request: &Request, asked: &MicroAsked) -> Result<Concluded, Failure> {
    let ready = Ready::new(request, asked)?;
    // Others would add to the counts that are checked, and a drop would take the tables away.
    let _alone = ready.target.begin_run(&MICRO_RECORDS)?;
    let (mut companions, checks) = Companions::begin(COMPANIONS, &ready)?;
    ready.warnings.iter().for_each(|warning| complain(warning));
    let measurement = measured(&ready, &companions, &asked.shape.to_string())?;
    let over = Over { measurement: &measurement, replicas: None, agents: Agents::default() };
    let made = companions.finish(&over);
    let parts = Parts {
        plan: &request.plan,
        run: &ready.run_plan,
        description: &ready.description,
        stored: ready.stored,
        load: ready.load.as_ref(),
        measurement: &measurement,
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
        complete: &|_| {},
    };
    Ok(run.conclude(checks, made))
}

/// Measures the run.
fn measured(
    ready: &Ready<'_>,
    companions: &Companions<Micro>,
    shape: &str,
) -> Result<Measurement<Micro>, Failure> {
    if let Some(endpoints) = ready.target.capabilities().endpoints {
        // The counts of the run begin.
        let _no_placement = endpoints.begin(Vec::new(), None, 1);
    }
    let title = format!("{}  microbenchmark, {shape}", ready.description.url);
    let queue = matches!(ready.run_plan.mode, MicroMode::Open { .. });
    measure(
        &ready.request.plan,
        Live { title: &title, style: ready.request.style, queue, now: &|| companions.now() },
        ready.run_plan.sessions(),
        &[(0, Micro::KINDS[0])],
        &ready.request.interrupt,
        |control, observer| {
            companions.during(control, || {
                lydite_bench::run_micro(&ready.target, &ready.run_plan, control, observer)
            })
        },
    )
}
