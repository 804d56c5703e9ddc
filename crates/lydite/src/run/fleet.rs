//! Runs on a fleet: the coordinator's side, and the work of an agent.

use super::Request;
use super::fleet_load::{LoadWork, load_own};
use super::readiness::{check_target, described, fitting};
use super::tpcc::{run_plan, settle};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::memory;
use lydite_console::output::complain;
use lydite_bench::{Loaded, Measurement, Mode, Part, RunControl, RunPlan, Share, Snapshot, run_share};
use lydite_database::TxMode;
use lydite_families::TargetSpec;
use lydite_fleet::{Bus, Login, Member, Report, Terms, decode, encode};
use lydite_plan::entries::Entries;
use lydite_plan::{Document, Plan};
use lydite_report::RunResult;
use lydite_report::model::{AgentResult, AgentStatus, Status};
use lydite_tpcc::DISTRICTS_PER_WAREHOUSE;
use lydite_tpcc::meta::DatabaseMeta;
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Delay of a start that the result warns of, in seconds.
const LATE_S: f64 = 0.05;

/// The place where agents wait, and demands on them.
#[derive(Debug)]
pub(crate) struct Joining {
    /// URL of the NATS server.
    pub(crate) join: String,
    pub(crate) login: Login,
    pub(crate) terms: Terms,
}

impl Joining {
    /// Waits for the agents.
    pub(crate) fn gather(&self, interrupt: &Interrupt) -> Result<lydite_fleet::Fleet, Failure> {
        let bus = Bus::connect(&self.join, &self.login)?;
        let stopped = || interrupt.asked();
        Ok(lydite_fleet::Fleet::gather(bus, random_name(), self.terms.clone(), &stopped, &complain)?)
    }
}

/// The fleet that plays a run.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) joining: Joining,
    pub(crate) document: Document,
}

/// Rejects values of a plan that a fleet can't play.
pub(crate) fn check(entries: &mut Entries) {
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
pub(crate) fn check_shared(target: &TargetSpec) -> Result<(), String> {
    if target.has_server() || !target.stores() {
        return Ok(());
    }
    Err("does not work with --agents: agents on other hosts share no file and start no program: name a database with a server"
        .to_owned())
}

/// Returns random text for names.
pub(crate) fn random_name() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

impl Asked {
    /// Rejects a mode with fewer terminals or sessions than agents. `warehouses` is the number of active ones.
    pub(crate) fn fit(&self, mode: &Mode, warehouses: u32) -> Outcome {
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
    pub(crate) fn agents(&self) -> u32 {
        self.joining.terms.agents
    }

    /// Waits for the agents.
    pub(crate) fn gather(&self, request: &Request) -> Result<Fleet, Failure> {
        let fleet = self.joining.gather(&request.interrupt)?;
        Ok(Fleet { agents: Mutex::new(fleet), document: self.document.clone(), lines: Mutex::default() })
    }
}

/// The work of an agent.
#[derive(Deserialize, Serialize)]
pub(super) enum Work {
    Run(RunWork),
    Load(LoadWork),
}

/// The work of an agent in a run.
#[derive(Deserialize, Serialize)]
pub(super) struct RunWork {
    document: Document,
    /// Description of the loaded database, which the agent must find too.
    database: String,
    /// See [`RunPlan::cuts`]. They come from faults, which agents do not know.
    cuts: Vec<u64>,
    /// True if the lines of the success log go with the reports.
    logs: bool,
}

/// The agents of a run.
pub(crate) struct Fleet {
    agents: Mutex<lydite_fleet::Fleet>,
    document: Document,
    /// Lines for the live view.
    lines: Mutex<Vec<String>>,
}

impl Fleet {
    /// Runs the plan on the agents.
    pub(crate) fn run(
        &self,
        meta: &DatabaseMeta,
        plan: &RunPlan,
        control: &RunControl,
        observer: &mut dyn FnMut(&Snapshot),
    ) -> Result<Measurement, Failure> {
        let work = Work::Run(RunWork {
            document: self.document.clone(),
            database: format!("{meta:?}"),
            cuts: plan.cuts.clone(),
            logs: plan.success_log.is_some(),
        });
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = |line: &str| self.lines().push(line.to_owned());
        Ok(agents.run(&encode(&work)?, plan, control, observer, &complain, &lost)?)
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the lines about lost agents since the last call, for the live view.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines())
    }

    /// Releases the agents, and returns their part in the run.
    pub(crate) fn finish(self, plan: &RunPlan) -> Agents {
        let fleet = self.agents.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (Mode::Direct { terminals }
        | Mode::Rte { terminals, .. }
        | Mode::Open { sessions: terminals, .. }) = plan.mode;
        let members: Vec<&Member> = fleet.members().collect();
        let of = members.len() as u32;
        let warehouses = plan.warehouses_by_share(of);
        let result = |((index, member), warehouses): ((u32, &&Member), u32)| AgentResult {
            name: member.name.clone(),
            host: member.host.clone(),
            status: if member.lost.is_some() { AgentStatus::Lost } else { AgentStatus::Complete },
            warehouses,
            terminals: Share { index, of }.count(terminals).into(),
            completed: member.completed,
            cpu_s: member.cpu_s,
            clock_offset_ms: 1e3 * member.clock_offset_s,
            clock_bound_ms: 1e3 * member.clock_bound_s,
            start_s: member.start_s,
            lost_at_s: member.lost_at_s,
            missing_s: member.missing_s,
            lost: member.lost.clone(),
            messages: member.messages,
            message_bytes: member.bytes,
        };
        Agents((0..).zip(&members).zip(warehouses).map(result).collect())
    }
}

/// The agents of a run that is over; none if this process played it.
#[derive(Debug, Default)]
pub(crate) struct Agents(Vec<AgentResult>);

impl Agents {
    /// True if no agent was lost.
    pub(crate) fn all_reported(&self) -> bool {
        self.0.iter().all(|agent| agent.lost.is_none())
    }

    /// Writes the agents into the result. It is partial if one was lost.
    pub(crate) fn add_to(&self, mut result: RunResult) -> RunResult {
        result.agents.clone_from(&self.0);
        let late = self.0.iter().filter(|agent| agent.start_s.is_some_and(|start| start > LATE_S));
        result.warnings.extend(late.map(|agent| {
            format!(
                "agent {} on {} began {:.2} s late: its part of the series begins later",
                agent.name,
                agent.host,
                agent.start_s.unwrap_or_default()
            )
        }));
        result.warnings.extend(self.0.iter().filter_map(AgentResult::loss));
        if !self.all_reported() {
            result.status = Status::Partial;
            result.warnings.push(
                "Ledger and success log are not compared: the last acknowledgements of a lost agent are unknown"
                    .into(),
            );
        }
        result
    }

    /// Returns the failures of the lost agents.
    pub(crate) fn failures(&self) -> impl Iterator<Item = Failure> {
        self.0.iter().filter_map(AgentResult::loss).map(Failure::Target)
    }
}

/// Plays a share of a run or a load, as an agent.
///
/// # Errors
/// The reason in one line why it can't be played.
pub(crate) fn play(
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
