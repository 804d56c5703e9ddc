//! A run of TPC-C: load an empty database, check, measure, check again, and conclude.

use super::Request;
use super::balances::BalanceWatch;
use super::checks::{self, Conditions, before};
use super::conclusion::{Check, Measured};
use super::fault_pieces;
use super::faults::Faults;
use super::fleet::Fleet;
use super::function_tests::FunctionFindings;
use super::halves::Sides;
use super::idle::{Spread, flag_of, idle_in_window, least_sessions};
use super::ledger::Ledger;
use super::measuring::{Live, measure};
use super::node_sizes::SizeWatch;
use super::observing::{self, Observing};
use super::readiness::{begin_with_template, check_target, fitting_run, make_ready};
use super::reading::Reading;
use super::result::{Parts, endpoints};
use super::sample;
use super::success_log::SuccessLog;
use crate::exit::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::complain;
use crate::proven;
use lydite_bench::{LoadReport, Measurement, Mode, RunPlan, Step};
use lydite_database::{
    CATCH_UP, CATCH_UP_WITH_LOAD, DatabaseState, Demand, Description, Kind, Replicas, Target,
    TargetErrorKind, Tpcc, Workload,
};
use lydite_faults::FaultSpec;
use lydite_plan::Plan;
use lydite_plan::controls::affinity::Affinity;
use lydite_plan::controls::distribution::Place;
use lydite_plan::controls::function_tests::FunctionTests;
use lydite_plan::controls::{Ground, Ran, Settled};
use lydite_report::figures::plural;
use lydite_report::model::{ANSWERS_CHECK, CheckedWhen, LEDGER_CHECK, SAMPLE_CHECK, SUCCESS_LOG_CHECK};
use lydite_tpcc::DikeKind;
use lydite_tpcc::consistency::conditions_of;
use lydite_tpcc::meta::{DatabaseMeta, Played};
use lydite_tpcc::nurand::RunConstants;
use lydite_verify::conditions::Checked;
use lydite_was::client::Lines;
use std::sync::Arc;

/// Runs TPC-C.
pub(crate) fn run(request: &Request) -> Outcome {
    if let Some(name) = &request.template {
        begin_with_template(request, name)?;
    }
    let plan = &request.plan;
    let fleet = request.fleet.as_ref().map(|asked| asked.gather(request)).transpose()?;
    let ready = Ready::new(request)?;
    let _alone = ready.begin_run()?;
    let balances = ready.watch_balances(request)?;
    let mut checks = Vec::new();
    if plan.check && ready.stored {
        checks = before(ready.conditions(request, CheckedWhen::Before)?)?;
    }
    ready.note_played(request)?;
    let functions = ready.function_tests(request)?;
    let sizes = SizeWatch::new(&ready.target, ready.settled.distribution.reported());
    let faults = Faults::start(&request.faults, plan.duration)?;
    let observing = Observing::new(plan, &ready.target, ready.replicas.as_deref())?;
    // The last look before the run.
    let success_log = ready.open_success_log(request)?;
    let ledger = ready.open_ledger(request)?;
    let measured = ready.measure(request, &faults, &observing, fleet.as_ref());
    let lines = ready.lines.as_ref().map(|lines| lines.counts());
    if let Some(lines) = &ready.lines {
        lines.close();
    }
    let measurement = measured?;
    let agents = fleet.map(|fleet| fleet.finish(&ready.run_plan(plan))).unwrap_or_default();
    let endpoints = if request.fleet.is_some() { Vec::new() } else { endpoints(&*ready.target) };
    let observed = observing.finish();
    let balances = balances.filter(|_| agents.all_reported());
    let balances = balances.map(|balances| balances.finish(&measurement.whole));
    let replicas = ready.replicas.as_ref().map(|replicas| replicas.report());
    let sizes = sizes.finish(measurement.window.start);
    let mut late = match &request.fleet {
        // Its agents open the sessions.
        Some(_) => Vec::new(),
        None => {
            let sessions = ready.run_plan(plan).sessions();
            idle_in_window(&*ready.target, replicas.as_ref(), (sessions, measurement.window.start))
        }
    };
    late.extend(replicas.iter().flat_map(|replicas| replicas.unmeasured.clone()));
    late.iter().for_each(|warning| complain(warning));
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
        declared: proven::declared(&plan.target, &ready.description),
        load: ready.load.as_ref(),
        lines,
    };
    let sides = ready.sides(request);
    let mut acknowledged: Vec<(&str, Box<Check<'_>>)> = Vec::new();
    // Nobody knows the last acknowledgements of a lost agent.
    if let Some(ledger) = ledger.as_ref().filter(|_| agents.all_reported()) {
        let check = || ledger.check(&measurement.whole, &sides, &request.interrupt);
        acknowledged.push((LEDGER_CHECK, Box::new(check)));
    }
    if let Some(log) = success_log.as_ref().filter(|_| agents.all_reported()) {
        let check = || log.check(&measurement, &sides, &request.interrupt);
        acknowledged.push((SUCCESS_LOG_CHECK, Box::new(check)));
    }
    if plan.check && ready.stored {
        let check = || Ok(Some(checks::of_answers(&measurement.facts.contradictions)));
        acknowledged.push((ANSWERS_CHECK, Box::new(check)));
    }
    let samples = &measurement.facts.samples;
    // The answers of a fleet stay with its agents.
    if plan.check && ready.stored && request.fleet.is_none() && !samples.is_empty() {
        let (reading, meta, interrupt) = (ready.reading(), &ready.meta, &request.interrupt);
        let check = move || sample::check(&reading, meta, samples, interrupt);
        acknowledged.push((SAMPLE_CHECK, Box::new(check)));
    }
    let run = Measured {
        request,
        url: &ready.description.url,
        stored: ready.stored,
        check: "3.3.2",
        result: &|checks, checked| {
            let mut result = parts.result(checks, checked)?;
            result.warnings.extend(ready.warnings.iter().chain(&late).cloned());
            result.warnings.extend(proven::warning(parts.declared));
            result.endpoints.clone_from(&endpoints);
            let result = parts.judged(observed.add_to(result));
            let result = agents.add_to(result);
            let mut result = faults.add_to(functions.add_to(sizes.add_to(result)));
            let specs: Vec<&FaultSpec> = plan.controls.faults.specs().collect();
            fault_pieces::add_to(&mut result.availability, &specs, &measurement.pieces);
            Ok(success_log.iter().fold(result, |result, log| log.add_to(result)))
        },
        acknowledged,
        after: &|| ready.conditions(request, CheckedWhen::After),
    };
    let concluded = run.conclude(&measurement, checks, balances);
    Failure::all(concluded.err().into_iter().chain(faults.failure()).chain(agents.failures()).collect())
}

/// A database that fits the plan, and the values that were settled on it.
struct Ready {
    target: Arc<dyn Target>,
    replicas: Option<Arc<Replicas>>,
    description: Description,
    meta: DatabaseMeta,
    /// The load, if there was one.
    load: Option<LoadReport>,
    mode: Mode,
    /// The first of the active warehouses, and their number.
    active: (u32, u32),
    /// True if the target stores anything.
    stored: bool,
    settled: Settled,
    /// Lines of the terminals to a WAS, if the plan has one.
    lines: Option<Arc<Lines>>,
    /// Warnings that were known before the run, which the user has seen.
    warnings: Vec<String>,
}

impl Ready {
    fn new(request: &Request) -> Result<Self, Failure> {
        let plan = &request.plan;
        if plan.was().is_some() && request.fresh {
            return Err(Failure::usage(
                "was: the WAS serves the loaded database: leave --fresh out, or load before 'lydite was' starts",
            ));
        }
        let target: Arc<dyn Target> = plan.target.open()?;
        check_target(plan, &*target)?;
        observing::check(plan, &*target)?;
        let replicas = plan.controls.replicas.open(plan.sessions(), &target)?;
        let (meta, load) = {
            let _alone = request.fresh.then(|| begin_alone(&*target)).transpose()?;
            make_ready(&*target, request, request.fresh)?
        };
        if load.is_some() && plan.target.endpoints() > 1 {
            // Empty databases look alike. Only loaded ones show that all endpoints have the same one.
            target.admit(&Demand::Sessions(plan.sessions()))?;
        }
        if let Some(replicas) = &replicas {
            catch_up(replicas, &meta, load.is_some(), &request.interrupt)?;
        }
        let mode = fitting_run(request, &meta)?;
        let active = plan.active(meta.warehouses)?;
        let stored = !matches!(target.state()?, DatabaseState::AnyScale);
        let description = target.describe()?;
        if plan.success_log.is_some() && !stored {
            return Err(Failure::usage(format!(
                "success_log: {} stores nothing that it could be compared with: leave it out",
                description.url
            )));
        }
        let (settled, unread) = settle(plan, &*target, &description.url, (&meta, active))?;
        let mut warnings = description.unread.clone();
        warnings.extend(unread);
        let lines = None;
        let mut ready = Self {
            target,
            replicas,
            description,
            meta,
            load,
            mode,
            active,
            stored,
            settled,
            lines,
            warnings,
        };
        let idle = ready.spread(plan).warnings(&request.faults);
        ready.warnings.extend(idle);
        ready.warnings.iter().for_each(|warning| complain(warning));
        if let Some(address) = plan.was() {
            ready.lines = Some(ready.connect_terminals(plan, address)?);
        }
        Ok(ready)
    }

    /// Connects the terminals with the WAS, and checks that it serves this database.
    fn connect_terminals(&self, plan: &Plan, address: &str) -> Result<Arc<Lines>, Failure> {
        let Mode::Rte { terminals, .. } = self.mode else {
            return Err(Failure::usage("was: is for --mode rte only"));
        };
        let (warehouses, seed) = if self.stored { (self.meta.warehouses, self.meta.seed) } else { (0, 0) };
        // Asked before any terminal connects, since terminals of another database would be rejected one by one.
        let served = Lines::served_at(address)?;
        if (served.warehouses, served.seed) != (warehouses, seed)
            || is_beside(&served.url, &self.description.url)
        {
            return Err(Failure::usage(format!(
                "was: {address} serves {} with {} of the seed {}, and the target {} has {warehouses} of the seed {seed}: \
                 name the database that the WAS serves",
                served.url,
                plural(served.warehouses.into(), "warehouse"),
                served.seed,
                self.description.url
            )));
        }
        let run_plan = self.run_plan(plan);
        let homes = run_plan.steps.first().map(|step| {
            let inputs = run_plan.inputs(step);
            let one = |number| inputs.terminal_of(number, terminals);
            (0..terminals).map(|number| (one(number).warehouse(), one(number).district())).collect()
        });
        Ok(Lines::connect(address, homes.unwrap_or_default())?)
    }

    /// Returns the plan of the run in this process.
    fn run_plan(&self, plan: &Plan) -> RunPlan {
        run_plan(plan, (&self.meta, self.active), &self.mode, &self.settled)
    }

    /// Returns the spread of the sessions over servers.
    fn spread<'a>(&'a self, plan: &'a Plan) -> Spread<'a> {
        let run_plan = self.run_plan(plan);
        Spread {
            plan,
            target: &*self.target,
            sessions: run_plan.sessions(),
            least: least_sessions(&run_plan),
            flag: flag_of(&self.mode),
            replicas: self
                .replicas
                .iter()
                .flat_map(|replicas| replicas.servers())
                .map(|(url, _)| url)
                .collect(),
            placement: self.settled.distribution.reported(),
            active: self.active,
        }
    }

    /// Begins to watch the balances, if the mix has dUpdateBalances.
    fn watch_balances(&self, request: &Request) -> Result<Option<BalanceWatch>, Failure> {
        let schedule = &request.plan.schedule;
        let balances = request.plan.controls.coaccess.balances(schedule);
        balances
            .filter(|_| self.stored && schedule.plays(DikeKind::UpdateBalance))
            .map(|balances| {
                let together = balances.warehouses;
                BalanceWatch::new(&self.target, &self.meta, self.active, together, &request.interrupt)
            })
            .transpose()
    }

    /// Opens the ledger of the run, if the plan checks.
    fn open_ledger(&self, request: &Request) -> Result<Option<Ledger>, Failure> {
        let embedded = self.description.embedded;
        (request.plan.check && self.stored)
            .then(|| Ledger::open(&self.target, embedded, &self.meta, self.active, &request.interrupt))
            .transpose()
    }

    /// Keeps other runs on the active warehouses away: they would look like a broken database.
    fn begin_run(&self) -> Result<Box<dyn Send>, Failure> {
        let (first, count) = self.active;
        Ok(self.target.begin_run(&(first..=first + count - 1))?)
    }

    /// Returns the reading of the active warehouses.
    fn reading(&self) -> Reading {
        Reading::new(&self.target, self.description.embedded, self.active)
    }

    /// Returns both sides of the transactions of the run.
    fn sides(&self, request: &Request) -> Sides {
        // The sums begin at the load, so dUpdateStocks of earlier runs count, too.
        let plays_update_stock =
            self.meta.played.update_stock || request.plan.schedule.plays(DikeKind::UpdateStock);
        Sides::new(self.reading(), self.meta.size.orders(), plays_update_stock)
    }

    /// Opens the success log of the run, if the plan has one.
    fn open_success_log(&self, request: &Request) -> Result<Option<SuccessLog>, Failure> {
        let Some(path) = &request.plan.success_log else { return Ok(None) };
        let embedded = self.description.embedded;
        SuccessLog::open(path, &self.target, embedded, self.active, &request.interrupt).map(Some)
    }

    /// Notes in the database which transactions beyond the standard's five the run plays: its own conditions compare
    /// less from now on.
    fn note_played(&self, request: &Request) -> Result<(), Failure> {
        let schedule = &request.plan.schedule;
        let kinds: Vec<_> = Played::NOTED.into_iter().filter(|&kind| schedule.plays(kind)).collect();
        if self.stored && !kinds.is_empty() {
            self.target.note_played(&kinds)?;
        }
        Ok(())
    }

    /// Evaluates the standard's conditions and Lydite's own.
    fn conditions(&self, request: &Request, when: CheckedWhen) -> Result<Conditions, Failure> {
        let conditions = conditions_of(&self.meta);
        let embedded = self.description.embedded;
        let (interrupt, style) = (&request.interrupt, request.style);
        let (found, stopped) =
            match checks::evaluate_until(interrupt, &self.target, embedded, style, &conditions)? {
                Checked::All(found) => (found, false),
                Checked::Stopped(found) => (found, true),
            };
        Ok(Conditions { results: checks::results(&found, when), stopped })
    }

    /// Runs the function tests, if the plan has them and distributes transactions over nodes that the database reports.
    fn function_tests(&self, request: &Request) -> Result<FunctionFindings, Failure> {
        let asked = request.plan.controls.function_tests;
        if !self.stored || asked == FunctionTests::Off || !self.settled.distribution.over_real_nodes() {
            return Ok(FunctionFindings::default());
        }
        let strict = asked == FunctionTests::Strict;
        FunctionFindings::make(&self.target, self.meta.warehouses, strict, request.style, &request.interrupt)
    }

    /// Measures the run.
    fn measure(
        &self,
        request: &Request,
        faults: &Faults,
        observing: &Observing,
        fleet: Option<&Fleet>,
    ) -> Result<Measurement, Failure> {
        let plan = &request.plan;
        let run_plan = self.run_plan(plan);
        let title = format!("{}  {}", self.description.url, self.meta.warehouses_in_words());
        let queue = !matches!(self.mode, Mode::Direct { .. });
        let kinds: Vec<(usize, Kind)> =
            plan.schedule.kinds().into_iter().map(|kind| (kind.index(), Tpcc::KINDS[kind.index()])).collect();
        let place = &self.settled.distribution.place;
        // Its warning is known.
        let _known = begin_endpoints(&*self.target, place, self.meta.warehouses, plan.controls.affinity)?;
        let _lag = self.replicas.as_ref().map(Replicas::watch).transpose()?;
        measure(
            plan,
            Live { title: &title, style: request.style, queue, faults: Some(faults), observing, fleet },
            run_plan.sessions(),
            &kinds,
            &request.interrupt,
            |control, observer| {
                let run = || -> Result<Measurement, Failure> {
                    if let Some(fleet) = fleet {
                        return fleet.run(&self.meta, &run_plan, control, observer);
                    }
                    let connect: Arc<lydite_bench::Connect<Tpcc>> = match (&self.lines, &self.replicas) {
                        (None, None) => {
                            return Ok(lydite_bench::run(&self.target, &run_plan, control, observer)?);
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
                    Ok(lydite_bench::run_through(&self.target, connect, &run_plan, control, observer)?)
                };
                observing.during(control, || faults.during(control, run))
            },
        )
    }
}

/// Keeps other runs on any warehouse of a loaded database away: they would lose their tables, or write rows among those
/// that a test compares.
pub(crate) fn begin_alone(target: &dyn Target) -> Result<Option<Box<dyn Send>>, Failure> {
    match target.state()? {
        DatabaseState::Ready { meta } => Ok(Some(target.begin_run(&(1..=meta.warehouses))?)),
        _ => Ok(None),
    }
}

/// Keeps runs away from all warehouses of a database that a test has found loaded with `meta`.
///
/// # Errors
/// A run or a test works on it, or it was dropped or loaded anew before they could be kept away.
pub(crate) fn begin_test(target: &dyn Target, meta: &DatabaseMeta) -> Result<Box<dyn Send>, Failure> {
    let mark = target.begin_run(&(1..=meta.warehouses))?;
    match target.state()? {
        DatabaseState::Ready { meta: now }
            if (now.warehouses, now.seed, now.size) == (meta.warehouses, meta.seed, meta.size) =>
        {
            Ok(mark)
        }
        _ => Err(Failure::usage(
            "the database was loaded anew or dropped meanwhile: begin again when that is done",
        )),
    }
}

/// Settles the controls on a database. Returns also the warnings about what it could not report.
pub(super) fn settle(
    plan: &Plan,
    target: &dyn Target,
    url: &str,
    (meta, active): (&DatabaseMeta, (u32, u32)),
) -> Result<(Settled, Vec<String>), Failure> {
    let nodes = &plan.controls.distribution;
    let place = nodes.place(&plan.schedule, target, url, meta.warehouses)?;
    let settled = plan.controls.settle(&plan.schedule, &Ground { active, place })?;
    let place = &settled.distribution.place;
    let unnamed = begin_endpoints(target, place, meta.warehouses, plan.controls.affinity)?;
    let warnings = place.warning().into_iter().chain(unnamed).collect();
    Ok((settled, warnings))
}

/// Returns the plan of the terminals.
pub(super) fn run_plan(
    plan: &Plan,
    (meta, active): (&DatabaseMeta, (u32, u32)),
    mode: &Mode,
    settled: &Settled,
) -> RunPlan {
    let steps = plan.schedule.steps.iter().map(|step| Step {
        from: step.from,
        phase: step.phase,
        mix: step.mix,
        rate: step.rate,
        sessions: step.sessions,
        ..Step::default()
    });
    let (first_warehouse, warehouses) = active;
    let constants = RunConstants::new(plan.seed, meta.c_load);
    let mut run_plan = RunPlan {
        first_warehouse,
        districts: meta.districts.clone(),
        size: meta.size,
        warmup: plan.warmup,
        steady: plan.steady,
        duration: plan.duration,
        steps: steps.collect(),
        retry: plan.retry,
        success_log: plan.success_log.clone(),
        ..RunPlan::new(mode.clone(), warehouses, plan.seed, constants)
    };
    plan.controls.shape(settled, &plan.schedule, &mut run_plan);
    run_plan
}

/// Begins the counts of the endpoints. With affinity, all nodes of the placement must be endpoints. Without it, a database
/// that can't name them is a warning, which is returned.
fn begin_endpoints(
    target: &dyn Target,
    place: &Place,
    warehouses: u32,
    affinity: Affinity,
) -> Result<Option<String>, Failure> {
    let Some(endpoints) = target.capabilities().endpoints.filter(|endpoints| endpoints.is_spread()) else {
        return Ok(None);
    };
    // The user's nodes have other names.
    let named = place.reported().map(|_| target.capabilities().nodes_of_endpoints()).transpose();
    let (nodes, warning) = match named {
        Ok(nodes) => (nodes.unwrap_or_default(), None),
        Err(error) if affinity.0 || error.kind != TargetErrorKind::Database => return Err(error.into()),
        Err(error) => {
            let warning = format!(
                "The nodes of the endpoints could not be read, so 'away' counts by the order of the endpoints: {error}"
            );
            (Vec::new(), Some(warning))
        }
    };
    let missing = endpoints.begin(nodes, place.placement.as_deref(), warehouses);
    if affinity.0 && !missing.is_empty() {
        return Err(Failure::usage(format!(
            "--affinity: no endpoint is the node {}, which may lead warehouses: add it to the hosts of the URL",
            missing.join(", ")
        )));
    }
    Ok(warning)
}

/// Waits until all replicas have the rows of the primary. `loaded` is true if this command has loaded them.
pub(crate) fn catch_up(
    replicas: &Replicas,
    meta: &DatabaseMeta,
    loaded: bool,
    interrupt: &Interrupt,
) -> Outcome {
    let limit = if loaded { CATCH_UP_WITH_LOAD } else { CATCH_UP };
    if replicas.catch_up(meta, limit, &complain, &|| interrupt.asked())? {
        Ok(())
    } else {
        Err(Failure::Interrupted("interrupted while waiting for the replicas: nothing was measured".into()))
    }
}

/// True if two URLs name different databases of one server. Other differences say nothing: a server has many names.
fn is_beside(one: &str, other: &str) -> bool {
    let parts = |url: &str| {
        let (_, rest) = url.split_once("://")?;
        let rest = rest.split('?').next().unwrap_or_default();
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        place.split_once('/').map(|(server, database)| (server.to_owned(), database.to_owned()))
    };
    match (parts(one), parts(other)) {
        (Some((server, database)), Some((same, another))) => server == same && database != another,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_beside;

    #[test]
    fn databases_of_one_server_are_told_apart_and_names_of_servers_are_not() {
        let is = |other| is_beside("postgres://me@db:5432/one", other);
        assert!(is("postgres://you@db:5432/two?tx=procedures"));
        assert!(!is("postgres://you@db:5432/one?tx=procedures"));
        assert!(!is("postgres://me@db.example.com:5432/two"), "perhaps a proxy");
        assert!(!is("sqlite:two.db"));
    }
}
