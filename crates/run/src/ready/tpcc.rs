//! A database that fits a plan of TPC-C, and what was settled on it.

use crate::alone::begin_alone;
use crate::halves::Sides;
use crate::loading::LoadDone;
use crate::observed::check as check_observed;
use crate::proven;
use crate::readiness::{check_target, fitting_run, make_ready};
use crate::reading::Reading;
use crate::replicas::catch_up;
use crate::request::Request;
use crate::settling::{run_plan, settle};
use crate::spread::{Spread, flag_of, least_sessions};
use lydite_bench::{Mode, RunPlan};
use lydite_console::exit::Failure;
use lydite_console::output::complain;
use lydite_database::{DatabaseState, Demand, Description, Replicas, Target};
use lydite_plan::controls::Settled;
use lydite_report::figures::plural;
use lydite_tpcc::DikeKind;
use lydite_tpcc::compliance::Declared;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_was::client::Lines;
use std::sync::Arc;

/// A database that fits the plan, and the values that were settled on it.
pub(crate) struct Ready<'a> {
    pub(crate) request: &'a Request,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) replicas: Option<Arc<Replicas>>,
    pub(crate) description: Description,
    pub(crate) meta: DatabaseMeta,
    /// The load, if there was one.
    pub(crate) load: Option<LoadDone>,
    pub(crate) mode: Mode,
    /// The first of the active warehouses, and their number.
    pub(crate) active: (u32, u32),
    /// True if the target stores anything.
    pub(crate) stored: bool,
    pub(crate) settled: Settled,
    /// Standing of a driver's declarations; none for other targets.
    pub(crate) declared: Option<Declared>,
    /// Lines of the terminals to a WAS, if the plan has one.
    pub(crate) lines: Option<Arc<Lines>>,
    /// Warnings that were known before the run, which the user has seen.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Ready<'a> {
    /// Brings the database into the state that the plan wants.
    ///
    /// # Errors
    /// The database does not fit the plan, or the user interrupted.
    pub(crate) fn new(request: &'a Request) -> Result<Self, Failure> {
        let plan = &request.plan;
        if plan.was().is_some() && request.fresh {
            return Err(Failure::usage(
                "was: the WAS serves the loaded database: leave --fresh out, or load before 'lydite was' starts",
            ));
        }
        let target: Arc<dyn Target> = plan.target.open()?;
        check_target(plan, &*target)?;
        check_observed(&plan.observe, &*target)?;
        let replicas = plan.controls.replicas.open(plan.sessions(), &target)?;
        let (meta, load) = {
            let _alone = request.fresh.then(|| begin_alone(&*target)).transpose()?;
            make_ready(&target, request, request.fresh)?
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
        let declared = proven::declared(&plan.target, &description);
        let lines = None;
        let mut ready = Self {
            request,
            target,
            replicas,
            description,
            meta,
            load,
            mode,
            active,
            stored,
            settled,
            declared,
            lines,
            warnings,
        };
        let idle = ready.spread().warnings(&request.faults);
        ready.warnings.extend(idle);
        ready.warnings.iter().for_each(|warning| complain(warning));
        if let Some(address) = plan.was() {
            ready.lines = Some(ready.connect_terminals(address)?);
        }
        Ok(ready)
    }

    /// Connects the terminals with the WAS, and checks that it serves this database.
    fn connect_terminals(&self, address: &str) -> Result<Arc<Lines>, Failure> {
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
        let run_plan = self.run_plan();
        let homes = run_plan.steps.first().map(|step| {
            let inputs = run_plan.inputs(step);
            let one = |number| inputs.terminal_of(number, terminals);
            (0..terminals).map(|number| (one(number).warehouse(), one(number).district())).collect()
        });
        Ok(Lines::connect(address, homes.unwrap_or_default())?)
    }

    /// True if the plan checks, and the target stores what can be checked.
    pub(crate) fn checks(&self) -> bool {
        self.request.plan.check && self.stored
    }

    /// Returns the plan of the run in this process.
    pub(crate) fn run_plan(&self) -> RunPlan {
        run_plan(&self.request.plan, (&self.meta, self.active), &self.mode, &self.settled)
    }

    /// Returns the spread of the sessions over servers.
    fn spread(&self) -> Spread<'_> {
        let run_plan = self.run_plan();
        Spread {
            plan: &self.request.plan,
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

    /// Keeps other runs on the active warehouses away: they would look like a broken database.
    pub(crate) fn begin_run(&self) -> Result<Box<dyn Send>, Failure> {
        let (first, count) = self.active;
        Ok(self.target.begin_run(&(first..=first + count - 1))?)
    }

    /// Returns the reading of the active warehouses.
    pub(crate) fn reading(&self) -> Reading {
        Reading::new(&self.target, self.description.embedded, self.active)
    }

    /// Returns both sides of the transactions of the run.
    pub(crate) fn sides(&self) -> Sides {
        // The sums begin at the load, so dUpdateStocks of earlier runs count, too.
        let plays_update_stock =
            self.meta.played.update_stock || self.request.plan.schedule.plays(DikeKind::UpdateStock);
        Sides::new(self.reading(), self.meta.size.orders(), plays_update_stock)
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
