//! A run on a fleet, as its coordinator sees it.

use crate::fleet::joining::Asked;
use crate::fleet::work::{RunWork, Work};
use lydite_bench::{Measurement, Mode, RunControl, RunPlan, Share, Snapshot};
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_fleet::{Member, encode};
use lydite_plan::Document;
use lydite_report::RunResult;
use lydite_report::model::{AgentResult, AgentStatus, Status};
use lydite_tpcc::meta::DatabaseMeta;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Delay of a start that the result warns of, in seconds.
const LATE_S: f64 = 0.05;

/// The agents of a run.
pub(crate) struct Fleet {
    agents: Mutex<lydite_fleet::Fleet>,
    document: Document,
    /// Lines for the live view.
    lines: Mutex<Vec<String>>,
}

impl Fleet {
    /// Waits for the agents.
    pub(crate) fn gather(asked: &Asked, interrupt: &Interrupt) -> Result<Self, Failure> {
        let fleet = asked.joining.gather(interrupt)?;
        Ok(Self { agents: Mutex::new(fleet), document: asked.document.clone(), lines: Mutex::default() })
    }

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

    /// Adds the agents to the result, which is partial if one was lost.
    pub(crate) fn add_to(&self, result: &mut RunResult) {
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
    }

    /// Returns the failures of the lost agents.
    pub(crate) fn failures(&self) -> impl Iterator<Item = Failure> {
        self.0.iter().filter_map(AgentResult::loss).map(Failure::Target)
    }
}
