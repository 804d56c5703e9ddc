//! The coordinator: finds agents, gives each its share, and starts them together.

use crate::bus::{Bus, Inbox, Subscription};
use crate::clocks::{Clock, Compared, ROUND_TRIPS, RoundTrip, compare, day};
use crate::error::FleetError;
use crate::messages::{
    CALLS, Event, FromAgent, Hello, ToAgent, VERSION, decode, to_agent, to_all, to_coordinator, to_member,
};
use crate::parts::Unpacker;
use crate::{BEAT, SILENCE};
use lydite_bench::{RunControl, Share};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Time between two calls for agents.
const CALL_AGAIN: Duration = Duration::from_millis(500);
/// Time from the first call until the agents are chosen, so that all can answer.
const ANSWERS: Duration = Duration::from_millis(300);
/// Longest wait for a message before the coordinator looks after its other work.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
/// Agents that are pinged at the same time. More would wait for each other's answers.
const PINGED: usize = 8;
/// Time after which an agent that has not answered is pinged again: NATS may lose messages.
const PING_AGAIN: Duration = Duration::from_secs(1);

/// Demands on a fleet.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Number of agents.
    pub agents: u32,
    /// Longest wait for them.
    pub timeout: Duration,
    /// Advice on how to start agents, for the error if too few come.
    pub advice: String,
}

/// An agent of a run, and its part in it. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Member {
    /// Name of the agent.
    pub name: String,
    /// Host name.
    pub host: String,
    /// Agent's time of day minus the coordinator's.
    pub clock_offset_s: f64,
    /// Greatest error of the offset when the clocks were compared, before the start.
    pub clock_bound_s: f64,
    /// Start of its first session, since the common start.
    pub start_s: Option<f64>,
    /// Time since the window began until which its reports go, if it was lost; negative in the warm-up.
    pub lost_at_s: Option<f64>,
    /// Time of the window without its terminals.
    pub missing_s: f64,
    /// Reason why it was lost.
    pub lost: Option<String>,
    /// Transactions that it reported as completed in the window.
    pub completed: u64,
    /// Processor time in the window, until its last report.
    pub cpu_s: f64,
    /// Messages that it sent.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
}

/// An agent, as the coordinator sees it.
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) member: Member,
    pub(crate) compared: Compared,
    pub(crate) heard: Instant,
    pub(crate) unpacker: Unpacker,
    /// Reason of its early end, once it has sent one.
    pub(crate) ending: Option<String>,
}

impl Seen {
    /// Returns an agent before its work.
    fn new(id: String, name: String, host: String) -> Self {
        Self {
            id,
            member: Member { name, host, ..Member::default() },
            compared: Compared { offset: 0, day_offset: 0, bound: 0 },
            heard: Instant::now(),
            unpacker: Unpacker::default(),
            ending: None,
        }
    }

    /// Begins a work: forgets the earlier one.
    fn begin(&mut self) {
        let Member { name, host, .. } = std::mem::take(&mut self.member);
        *self = Self::new(std::mem::take(&mut self.id), name, host);
    }

    /// Returns why the agent can't be used, in words after its name. `there` has the agents that answer.
    fn absence(&self, there: &BTreeMap<String, (Hello, Instant)>) -> &'static str {
        if there.contains_key(&self.id) {
            "plays another run"
        } else if there.values().any(|(hello, _)| hello.name == self.member.name) {
            "was started again"
        } else {
            "is gone"
        }
    }

    /// Returns its name and host for messages.
    pub(crate) fn shown(&self) -> String {
        format!("agent {} on {}", self.member.name, self.member.host)
    }

    /// Returns true if it has sent no sign of life for [`SILENCE`].
    pub(crate) fn is_silent(&self) -> bool {
        self.heard.elapsed() > SILENCE
    }

    /// Returns the reason of its early end, if it has sent one, else `otherwise`.
    pub(crate) fn reason_or<'a>(&'a self, otherwise: &'a str) -> &'a str {
        self.ending.as_deref().unwrap_or(otherwise)
    }
}

/// Reason of an early end if the agent sent none.
pub(crate) const ENDED: &str = "it ended its share early, and sent no reason";

/// Returns the reason of a loss by silence.
pub(crate) fn silence() -> String {
    format!("no sign of life for {} s", SILENCE.as_secs())
}

/// The agents of a run.
pub struct Fleet {
    pub(crate) bus: Bus,
    pub(crate) run: String,
    terms: Terms,
    pub(crate) clock: Clock,
    pub(crate) inbox: Inbox,
    pub(crate) agents: Vec<Seen>,
    /// Time of the last sign of life to the agents.
    beat: Instant,
    /// Time of the last look at the inbox.
    looked: Instant,
    _subscription: Subscription,
}

impl Fleet {
    /// Waits until enough agents are there, and chooses the first ones by name. `run` is a random name of the run.
    ///
    /// # Errors
    /// Two agents have the same name, too few come in time, or NATS has a problem.
    pub fn gather(
        bus: Bus,
        run: String,
        terms: Terms,
        stopped: &dyn Fn() -> bool,
        tell: &dyn Fn(&str),
    ) -> Result<Self, FleetError> {
        let inbox = Inbox::new();
        let subscription = bus.subscribe(to_coordinator(&run), &inbox)?;
        let mut fleet = Self {
            bus,
            run,
            terms,
            clock: Clock::start(),
            inbox,
            agents: Vec::new(),
            beat: Instant::now(),
            looked: Instant::now(),
            _subscription: subscription,
        };
        fleet.choose(stopped, tell)?;
        Ok(fleet)
    }

    /// Waits until enough agents are free. Keeps the agents if all of them are, otherwise chooses the first ones by name.
    pub(crate) fn choose(
        &mut self,
        stopped: &dyn Fn() -> bool,
        tell: &dyn Fn(&str),
    ) -> Result<(), FleetError> {
        let (wanted, timeout) = (self.terms.agents as usize, self.terms.timeout);
        // An agent that was chosen before is called twice.
        let answers = if self.agents.is_empty() { ANSWERS } else { CALL_AGAIN + ANSWERS };
        // Answers to earlier calls may be outdated.
        while self.inbox.messages.try_recv().is_ok() {}
        let begun = Instant::now();
        let (mut called, mut told) = (None::<Instant>, false);
        let mut there: BTreeMap<String, (Hello, Instant)> = BTreeMap::new();
        loop {
            if stopped() {
                return Err(FleetError::Interrupted);
            }
            if let Some(problem) = self.bus.problem() {
                return Err(problem);
            }
            if called.is_none_or(|called| called.elapsed() >= CALL_AGAIN) {
                called = Some(Instant::now());
                self.bus.send(CALLS.to_owned(), &ToAgent::Call { run: self.run.clone() })?;
                // An agent that was ended, and maybe started again, does not answer any more.
                there.retain(|_, (_, heard)| heard.elapsed() <= SILENCE);
            }
            if let Ok(message) = self.inbox.messages.recv_timeout(LOOK)
                && let Some(FromAgent::Hello(hello)) = decode(&message)
            {
                let same = there.values().find(|(known, _)| known.name == hello.name && known.id != hello.id);
                // One that has not answered this call may have been ended and started again.
                if let Some((same, _)) = same.filter(|(_, heard)| called.is_some_and(|at| *heard >= at)) {
                    return Err(FleetError::Usage(format!(
                        "two agents have the name {} ({}): give each its own with --name",
                        hello.name,
                        if same.host == hello.host {
                            format!("both on {}", same.host)
                        } else {
                            format!("on {} and {}", same.host, hello.host)
                        }
                    )));
                }
                there.retain(|_, (known, _)| known.name != hello.name);
                there.insert(hello.id.clone(), (hello, Instant::now()));
            }
            let hellos = there.values().map(|(hello, _)| hello);
            let mut usable: Vec<&Hello> = hellos.filter(|hello| hello.is_free()).collect();
            let is_free = |agent: &Seen| usable.iter().any(|hello| hello.id == agent.id);
            if !self.agents.is_empty() && self.agents.iter().all(is_free) {
                return Ok(());
            }
            if begun.elapsed() < answers {
                continue;
            }
            if usable.len() >= wanted {
                for left in self.agents.iter().filter(|agent| !is_free(agent)) {
                    tell(&format!("{} {}: another takes its place", left.shown(), left.absence(&there)));
                }
                usable.sort_unstable_by(|one, other| one.name.cmp(&other.name));
                let seen =
                    |hello: &Hello| Seen::new(hello.id.clone(), hello.name.clone(), hello.host.clone());
                self.agents = usable.into_iter().take(wanted).map(seen).collect();
                return Ok(());
            }
            let problem = || {
                let gone = self.agents.iter().filter(|agent| !there.contains_key(&agent.id));
                let gone = gone.map(|agent| format!("{} {}; ", agent.shown(), agent.absence(&there)));
                gone.collect::<String>() + &too_few(&there, wanted, self.bus.url())
            };
            if begun.elapsed() >= timeout {
                let waited = timeout.as_secs_f64();
                return Err(FleetError::Lost(format!(
                    "{} after {waited} s: {}",
                    problem(),
                    self.terms.advice
                )));
            }
            if begun.elapsed() >= 2 * CALL_AGAIN && !told {
                told = true;
                tell(&format!("{}: waiting for up to {} s", problem(), timeout.as_secs_f64()));
            }
        }
    }

    /// Returns the agents and their part in the run so far.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.agents.iter().map(|agent| &agent.member)
    }

    /// Gives each agent its share of the work.
    pub(crate) fn give(&mut self, work: &[u8]) -> Result<(), FleetError> {
        let all = self.agents.len() as u32;
        for (index, agent) in (0..).zip(&self.agents) {
            let share = Share { index, of: all };
            let play = ToAgent::Play { run: self.run.clone(), agent: index, share, work: work.to_vec() };
            self.bus.send(to_agent(&agent.id), &play)?;
        }
        // Nothing of an earlier work of these agents counts.
        self.agents.iter_mut().for_each(Seen::begin);
        Ok(())
    }

    /// Waits until all agents have connected their sessions.
    pub(crate) fn await_ready(&mut self, control: &RunControl) -> Result<(), FleetError> {
        let mut ready = vec![false; self.agents.len()];
        while ready.contains(&false) {
            if let Some((agent, Event::Ready)) = self.before_start(control)? {
                ready[agent] = true;
            }
        }
        Ok(())
    }

    /// Waits a moment for an event before the start.
    ///
    /// # Errors
    /// An agent fails or is lost, NATS has a problem, or the user stops.
    fn before_start(&mut self, control: &RunControl) -> Result<Option<(usize, Event)>, FleetError> {
        if control.is_stopped() {
            return Err(FleetError::Interrupted);
        }
        if let Some(problem) = self.bus.problem() {
            return Err(problem);
        }
        if let Some((agent, why)) = self.agents.iter().find_map(|agent| Some((agent, agent.ending.as_ref()?)))
        {
            return Err(FleetError::Lost(format!("{}: {why}", agent.shown())));
        }
        if let Some(silent) = self.agents.iter().find(|agent| agent.is_silent()) {
            return Err(FleetError::Lost(format!("{} is gone: start it again", silent.shown())));
        }
        self.beat()?;
        self.looked = Instant::now();
        let Ok(message) = self.inbox.messages.recv_timeout(LOOK) else { return Ok(None) };
        let Some((agent, event)) = self.event(&message) else { return Ok(None) };
        if let Event::Failed(problem) = event {
            return Err(FleetError::Lost(format!("{}: {problem}", self.agents[agent].shown())));
        }
        Ok(Some((agent, event)))
    }

    /// Sends the agents a sign of life, if it is time for one.
    fn beat(&mut self) -> Result<(), FleetError> {
        if self.beat.elapsed() < BEAT {
            return Ok(());
        }
        self.beat = Instant::now();
        self.bus.send(to_all(&self.run), &ToAgent::Alive)
    }

    /// Sends the agents a sign of life in time, waits a moment for their events, and returns all that have come. Only
    /// then it is known which agents [are silent](Seen::is_silent): a sign of life may have waited in the inbox.
    pub(crate) fn attend(&mut self) -> Vec<(usize, Event)> {
        // If it can't be sent, the agents notice the silence.
        let _ = self.beat();
        let messages: Vec<Vec<u8>> = self.inbox.wait(LOOK).collect();
        let events = messages.iter().filter_map(|message| self.event(message)).collect();
        // If this process stood still, so did its knowledge of the others.
        if self.looked.elapsed() > BEAT {
            self.agents.iter_mut().for_each(|agent| agent.heard = Instant::now());
        }
        self.looked = Instant::now();
        events
    }

    /// Reads a message of an agent of the run, and notes that the agent is alive.
    pub(crate) fn event(&mut self, message: &[u8]) -> Option<(usize, Event)> {
        let Some(FromAgent::Run(agent, event)) = decode(message) else { return None };
        let number = agent as usize;
        let agent = self.agents.get_mut(number)?;
        agent.heard = Instant::now();
        agent.member.messages += 1;
        agent.member.bytes += message.len() as u64;
        if let Event::Ending(why) = event {
            agent.ending = Some(format!("it ended its share early: {why}"));
            return None;
        }
        Some((number, event))
    }

    /// Compares the clocks of all agents with this one. Returns the longest round trip.
    pub(crate) fn compare_clocks(&mut self, control: &RunControl) -> Result<Duration, FleetError> {
        let mut longest = 0;
        for first in (0..self.agents.len()).step_by(PINGED) {
            let some = first..self.agents.len().min(first + PINGED);
            let mut trips = vec![Vec::new(); some.len()];
            for _ in 0..ROUND_TRIPS {
                self.ping(some.clone(), &mut trips, control)?;
            }
            for (agent, trips) in self.agents[some].iter_mut().zip(&trips) {
                longest = trips.iter().map(|trip| trip.came - trip.sent).fold(longest, u64::max);
                let Some(compared) = compare(trips) else { continue };
                agent.compared = compared;
                agent.member.clock_offset_s = compared.day_offset as f64 / 1e9;
                agent.member.clock_bound_s = compared.bound as f64 / 1e9;
            }
        }
        Ok(Duration::from_nanos(longest))
    }

    /// Makes a round trip with each of these agents, and adds it to those of the agent.
    fn ping(
        &mut self,
        some: Range<usize>,
        trips: &mut [Vec<RoundTrip>],
        control: &RunControl,
    ) -> Result<(), FleetError> {
        // Answers to pings before this time are those of an earlier round.
        let begun = self.clock.now();
        let mut answered = vec![false; some.len()];
        let mut sent_at: Option<Instant> = None;
        while answered.contains(&false) {
            if sent_at.is_none_or(|at| at.elapsed() >= PING_AGAIN) {
                sent_at = Some(Instant::now());
                for (number, _) in some.clone().zip(&answered).filter(|(_, answered)| !**answered) {
                    let ping = ToAgent::Ping { sent: self.clock.now() };
                    self.bus.send(to_member(&self.run, number), &ping)?;
                }
            }
            let event = self.before_start(control)?;
            let (came, came_day) = (self.clock.now(), day());
            if let Some((agent, Event::Pong { sent, clock, day })) = event
                && some.contains(&agent)
                && sent >= begun
                && !std::mem::replace(&mut answered[agent - some.start], true)
            {
                trips[agent - some.start].push(RoundTrip { sent, came, clock, day, came_day });
            }
        }
        Ok(())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // If it fails, the agents notice the silence.
        let _ = self.bus.send(to_all(&self.run), &ToAgent::Release);
        self.bus.flush();
    }
}

/// Says who is there, and how many of them are free.
fn too_few(there: &BTreeMap<String, (Hello, Instant)>, wanted: usize, url: &str) -> String {
    let hellos = || there.values().map(|(hello, _)| hello);
    let mut names: Vec<String> = hellos()
        .map(|hello| match hello {
            Hello { name, busy: true, .. } => format!("{name} (plays another run)"),
            Hello { name, version, .. } if version != VERSION => {
                format!("{name} (Lydite {version}, and this is {VERSION})")
            }
            Hello { name, .. } => name.clone(),
        })
        .collect();
    names.sort_unstable();
    let usable = hellos().filter(|hello| hello.is_free()).count();
    let list = if names.is_empty() { "no agent answers".to_owned() } else { names.join(", ") };
    format!("{url}: {usable} of {wanted} agents are free ({list})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Login;
    use crate::agent::Done;
    use lydite_testkit::nats;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Passes the result of gathering a fleet to `test`, while agents with these names and versions answer. Those in
    /// `busy` say that they are.
    fn gather<T>(
        agents: &[(&str, &str)],
        wanted: u32,
        busy: &Mutex<Vec<&str>>,
        test: impl FnOnce(Result<Fleet, FleetError>) -> T,
    ) -> T {
        let server = nats::Server::start(&[]);
        let bus = |()| Bus::connect(&server.url(), &Login::default()).unwrap();
        let ended = &AtomicBool::new(false);
        let answering = bus(());
        let inbox = Inbox::new();
        let _calls = answering.subscribe(CALLS.to_owned(), &inbox).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while !ended.load(Ordering::Acquire) {
                    let Ok(message) = inbox.messages.recv_timeout(LOOK) else { continue };
                    let Some(ToAgent::Call { run }) = decode(&message) else { panic!("no call") };
                    for (number, (name, version)) in agents.iter().enumerate() {
                        let busy = busy.lock().unwrap().contains(name);
                        let (id, name, version) = (number.to_string(), (*name).into(), (*version).into());
                        let hello = Hello { id, name, host: "host".into(), version, busy };
                        answering.send(to_coordinator(&run), &FromAgent::Hello(hello)).unwrap();
                    }
                }
            });
            let _done = Done(ended);
            let advice = "start more".to_owned();
            let terms = Terms { agents: wanted, timeout: Duration::from_millis(1500), advice };
            let fleet = Fleet::gather(bus(()), "run".to_owned(), terms, &|| false, &|_| {});
            test(fleet)
        })
    }

    fn names(fleet: &Fleet) -> Vec<String> {
        fleet.members().map(|member| member.name.clone()).collect()
    }

    /// Gathers a fleet while agents with these names and versions answer, and returns the names or the error.
    fn gathered(agents: &[(&str, &str)], wanted: u32) -> Result<Vec<String>, String> {
        gather(agents, wanted, &Mutex::default(), |fleet| {
            fleet.map(|fleet| names(&fleet)).map_err(|error| error.to_string())
        })
    }

    #[test]
    fn agents_of_another_version_are_named_and_not_taken() {
        let error = gathered(&[("old", "0.0.1"), ("same", VERSION)], 2).unwrap_err();
        assert!(error.contains("1 of 2 agents are free"), "{error}");
        assert!(error.contains(&format!("old (Lydite 0.0.1, and this is {VERSION}), same")), "{error}");
        assert_eq!(gathered(&[("old", "0.0.1"), ("same", VERSION)], 1), Ok(vec!["same".to_owned()]));
    }

    #[test]
    fn the_first_agents_by_name_are_taken_and_a_name_is_given_once() {
        let three = [("c", VERSION), ("a", VERSION), ("b", VERSION)];
        assert_eq!(gathered(&three, 2), Ok(vec!["a".to_owned(), "b".to_owned()]));
        let error = gathered(&[("a", VERSION), ("a", VERSION)], 2).unwrap_err();
        assert!(error.contains("two agents have the name a (both on host)"), "{error}");
    }

    #[test]
    fn an_agent_that_another_run_took_meanwhile_is_replaced() {
        let busy = Mutex::new(vec![]);
        let agents = [("a", VERSION), ("b", VERSION), ("c", VERSION)];
        gather(&agents, 2, &busy, |fleet| {
            let mut fleet = fleet.unwrap();
            let told = Mutex::new(Vec::new());
            let tell = |line: &str| told.lock().unwrap().push(line.to_owned());
            fleet.choose(&|| false, &tell).unwrap();
            assert_eq!(names(&fleet), ["a", "b"]);
            busy.lock().unwrap().push("a");
            fleet.choose(&|| false, &tell).unwrap();
            assert_eq!(names(&fleet), ["b", "c"]);
            assert_eq!(*told.lock().unwrap(), ["agent a on host plays another run: another takes its place"]);
            busy.lock().unwrap().push("b");
            let error = fleet.choose(&|| false, &tell).unwrap_err().to_string();
            let free = "1 of 2 agents are free (a (plays another run), b (plays another run), c) after 1.5 s: start more";
            assert!(error.starts_with("nats://") && error.contains(free), "{error}");
        });
    }
}
