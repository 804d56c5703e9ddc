//! The place where the agents of a fleet wait, and what a fleet can play.

use lydite_bench::Mode;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_families::TargetSpec;
use lydite_fleet::{Bus, Login, Terms};
use lydite_plan::Document;
use lydite_plan::entries::Entries;
use lydite_tpcc::DISTRICTS_PER_WAREHOUSE;
use std::hash::{BuildHasher, RandomState};

/// Keys of a plan that a fleet can't play, with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("affinity", "the endpoints count the sessions of one process: leave it out"),
    ("ci", "transactions compete for a row within one process: leave it out"),
    ("hot", "transactions compete for a row within one process: leave it out"),
    ("refresh", "each agent reads the placement once: leave it out"),
    ("replicas", "one process chooses the replicas: leave it out"),
    ("rte.delivery_log", "the file is one process's: leave it out"),
    ("steady", "the warm-up would end at another time on each agent: give --warmup a length instead"),
    ("was", "the lines belong to one process: leave it out"),
];

/// The place where agents wait, and demands on them.
#[derive(Debug)]
pub struct Joining {
    /// URL of the NATS server.
    pub join: String,
    /// Login there.
    pub login: Login,
    /// The demands.
    pub terms: Terms,
}

impl Joining {
    /// Waits for the agents.
    pub fn gather(&self, interrupt: &Interrupt) -> Result<lydite_fleet::Fleet, Failure> {
        let bus = Bus::connect(&self.join, &self.login)?;
        let stopped = || interrupt.asked();
        Ok(lydite_fleet::Fleet::gather(bus, random_name(), self.terms.clone(), &stopped, &complain)?)
    }
}

/// The fleet that plays a run.
#[derive(Debug)]
pub struct Asked {
    /// Place where they wait.
    pub joining: Joining,
    /// The plan as the agents get it.
    pub document: Document,
}

/// Rejects values of a plan that a fleet can't play.
pub fn check(entries: &mut Entries) {
    for (key, problem) in REFUSED {
        let in_phase = entries.phase_has(key);
        if entries.text(key).is_some() || in_phase {
            entries.wrong(key, &format!("does not work with --agents: {problem}"));
        }
    }
    if entries.text("workload").is_some_and(|workload| workload == "micro") {
        entries.wrong("workload", "does not work with --agents: a fleet plays tpcc only");
    }
}

/// Rejects a target that agents on other hosts don't reach, or that is a program on their hosts.
pub fn check_shared(target: &TargetSpec) -> Result<(), String> {
    if target.has_server() || !target.stores() {
        return Ok(());
    }
    Err("does not work with --agents: agents on other hosts share no file and start no program: name a database with a server"
        .to_owned())
}

/// Returns random text for names.
pub fn random_name() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

impl Asked {
    /// Rejects a mode with fewer terminals or sessions than agents. `warehouses` is the number of active ones.
    pub fn fit(&self, mode: &Mode, warehouses: u32) -> Outcome {
        let (terminals, sessions) = match mode {
            Mode::Direct { terminals } => (*terminals, *terminals),
            Mode::Rte { terminals, sessions, .. } => (*terminals, *sessions),
            // All terminals send in turn, ten of each warehouse.
            Mode::Open { sessions, .. } => {
                (warehouses.saturating_mul(DISTRICTS_PER_WAREHOUSE.into()), *sessions)
            }
        };
        let agents = self.joining.terms.agents;
        let few = |what: &str, count: u32| {
            let flag = match mode {
                Mode::Open { .. } if what == "terminals" => {
                    format!("--warehouses {}", agents.div_ceil(DISTRICTS_PER_WAREHOUSE.into()))
                }
                _ => format!("--{what} {agents}"),
            };
            Failure::usage(format!(
                "--agents {agents}: the run has {count} {what}: give each agent at least one, with {flag} or more"
            ))
        };
        if terminals < agents {
            return Err(few("terminals", terminals));
        }
        if sessions < agents {
            return Err(few("sessions", sessions));
        }
        Ok(())
    }

    /// Returns the number of agents.
    pub fn agents(&self) -> u32 {
        self.joining.terms.agents
    }
}
