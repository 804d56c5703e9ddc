//! An agent: waits for runs, and plays its shares.

use crate::bus::{Bus, Inbox};
use crate::clocks::{Clock, day};
use crate::error::FleetError;
use crate::messages::{
    CALLS, Event, FromAgent, Hello, ToAgent, VERSION, decode, encode_named, to_agent, to_all, to_coordinator,
    to_member,
};
use crate::parts::Packer;
use crate::{BEAT, SILENCE};
use lydite_bench::{Loaded, Part, RunControl, Share};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for a message before the agent looks after its other work.
const LOOK: Duration = Duration::from_millis(10);
/// The same between two runs.
const IDLE: Duration = Duration::from_millis(100);

/// Reason of an end by a signal to the agent.
const INTERRUPTED: &str = "interrupted at its host";
/// Reason of an end by the coordinator's silence.
const NOT_HEARD: &str = "no sign of life of the coordinator";

/// Name of an agent, and its host.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Name, which no other agent of the server has.
    pub name: String,
    /// Host name.
    pub host: String,
    /// Random text that tells agents of one name apart.
    pub id: String,
}

/// Counts of a share.
#[derive(Debug)]
pub enum Report {
    /// Counts of a run since the last report.
    Run(Box<Part>),
    /// Counts of a load so far. The second field is `Some` once the share has ended: true if it is loaded whole.
    Load(Loaded, Option<bool>),
}

/// Function that plays a share of the work that the bytes describe, and passes its counts on. A run waits for its
/// start once it is ready. Returns the reason in one line if it can't be played.
pub type Play<'a> =
    dyn Fn(&[u8], Share, &RunControl, &mut dyn FnMut(Report)) -> Result<(), String> + Sync + 'a;

/// Waits for runs and plays its shares until `ends`. `tell` reports the beginning and the end of each share.
///
/// # Errors
/// The server refuses the agent.
pub fn serve(
    bus: &Bus,
    me: &Identity,
    play: &Play<'_>,
    ends: &dyn Fn() -> bool,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(), FleetError> {
    let inbox = Inbox::new();
    let _calls = bus.subscribe(CALLS.to_owned(), &inbox)?;
    let _own = bus.subscribe(to_agent(&me.id), &inbox)?;
    let agent = Agent { bus, me, clock: Clock::start(), inbox };
    tell(&format!("agent {} waits for runs at {}", me.name, bus.url()));
    let mut was_down = false;
    while !ends() {
        if let Some(problem @ FleetError::Usage(_)) = bus.problem() {
            return Err(problem);
        }
        let down = bus.problem().is_some();
        if down != was_down {
            was_down = down;
            let now = if down { "is gone: waiting for it" } else { "is back" };
            tell(&format!("agent {}: NATS at {} {now}", me.name, bus.url()));
        }
        let Ok(message) = agent.inbox.messages.recv_timeout(IDLE) else { continue };
        if let Some(ToAgent::Play { run, agent: number, share, work }) = agent.read(&message, false)? {
            tell(&format!("share {} of {} of run {run} begins", share.index + 1, share.of));
            let end = agent.share(&run, number, play, &work, share, ends)?;
            tell(&format!("share {} of {} of run {run} ends: {end}", share.index + 1, share.of));
        }
    }
    tell(&format!("agent {} ends: interrupted", me.name));
    Ok(())
}

/// An agent at work.
struct Agent<'a> {
    bus: &'a Bus,
    me: &'a Identity,
    clock: Clock,
    inbox: Inbox,
}

impl Agent<'_> {
    /// Answers a call, or returns a message to this agent.
    fn read(&self, message: &[u8], busy: bool) -> Result<Option<ToAgent>, FleetError> {
        match decode(message) {
            Some(ToAgent::Call { run }) => {
                let Identity { name, host, id } = self.me.clone();
                let hello = Hello { id, name, host, version: VERSION.to_owned(), busy };
                let bytes = encode_named(&FromAgent::Hello(hello))?;
                self.bus.send_bytes(to_coordinator(&run), bytes)?;
                Ok(None)
            }
            message => Ok(message),
        }
    }

    /// Plays a share, and returns its end in words.
    fn share(
        &self,
        run: &str,
        number: u32,
        play: &Play<'_>,
        work: &[u8],
        share: Share,
        ends: &dyn Fn() -> bool,
    ) -> Result<String, FleetError> {
        let _all = self.bus.subscribe(to_all(run), &self.inbox)?;
        let _own = self.bus.subscribe(to_member(run, number as usize), &self.inbox)?;
        let control = RunControl::held();
        let done = AtomicBool::new(false);
        let failed = Mutex::new(None);
        let send = |event| self.bus.send(to_coordinator(run), &FromAgent::Run(number, event));
        std::thread::scope(|scope| {
            let working = || {
                let _done = Done(&done);
                let mut packer = Packer::new(self.bus.max_message());
                let mut report = |report: Report| {
                    let sent = match report {
                        Report::Run(part) => {
                            packer.pack(&part).and_then(|events| events.into_iter().try_for_each(send))
                        }
                        Report::Load(loaded, ended) => send(Event::Load { loaded, ended }),
                    };
                    if let Err(error) = sent {
                        note(&failed, error.to_string());
                        control.stop();
                    }
                };
                if let Err(problem) = play(work, share, &control, &mut report) {
                    note(&failed, problem);
                }
            };
            let thread = std::thread::Builder::new().name("share".to_owned()).spawn_scoped(scope, working);
            let thread = match thread {
                Ok(thread) => thread,
                Err(error) => {
                    note(&failed, format!("the system gives no thread: {error}"));
                    return Ok("");
                }
            };
            let end = self.attend(&control, &done, &send, ends);
            control.stop();
            if thread.join().is_err() {
                note(&failed, "its share panicked; this is an error in Lydite".to_owned());
            }
            end
        })
        .and_then(|end| {
            // A share that was stopped before its start has nothing to report.
            let failed = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            let end = match failed {
                None => end.to_owned(),
                Some(problem) => {
                    send(Event::Failed(problem.clone()))?;
                    format!("failed: {problem}")
                }
            };
            self.bus.flush();
            Ok(end)
        })
    }

    /// Attends to the coordinator while the share is played.
    fn attend(
        &self,
        control: &RunControl,
        done: &AtomicBool,
        send: &dyn Fn(Event) -> Result<(), FleetError>,
        ends: &dyn Fn() -> bool,
    ) -> Result<&'static str, FleetError> {
        let (mut heard, mut looked, mut beat) = (Instant::now(), Instant::now(), Instant::now());
        let (mut ready, mut begun) = (false, false);
        let mut end = None;
        while !done.load(Ordering::Acquire) {
            for message in self.inbox.wait(LOOK) {
                match self.read(&message, true)? {
                    None | Some(ToAgent::Call { .. }) => continue,
                    Some(ToAgent::Play { run, agent, .. }) => {
                        let busy = Event::Failed("plays a share of another run: wait for its end".to_owned());
                        self.bus.send(to_coordinator(&run), &FromAgent::Run(agent, busy))?;
                        continue;
                    }
                    Some(ToAgent::Ping { sent }) => {
                        send(Event::Pong { sent, clock: self.clock.now(), day: day() })?;
                    }
                    Some(ToAgent::Start { at }) => control.start_at(self.clock.instant(at)),
                    Some(ToAgent::Stop) => {
                        end.get_or_insert("the coordinator stopped it");
                        control.stop();
                    }
                    // After its start it comes when all counts are there: the share was played.
                    Some(ToAgent::Release) => {
                        if !begun {
                            end.get_or_insert("the coordinator gave the run up");
                        }
                        control.stop();
                    }
                    Some(ToAgent::Alive) => {}
                }
                heard = Instant::now();
            }
            // If this process stood still, so did its knowledge of the coordinator.
            if looked.elapsed() > BEAT {
                heard = Instant::now();
            }
            looked = Instant::now();
            let why =
                if ends() { Some(INTERRUPTED) } else { (heard.elapsed() > SILENCE).then_some(NOT_HEARD) };
            if let Some(why) = why.filter(|_| end.is_none()) {
                end = Some(why);
                // If it can't be sent, the coordinator notices the end without its reason.
                let _ = send(Event::Ending(why.to_owned()));
                control.stop();
            }
            if !ready && control.is_ready() {
                ready = true;
                send(Event::Ready)?;
            }
            if let Some(at) = control.begun().filter(|_| !begun) {
                begun = true;
                send(Event::Begun { at: self.clock.at(at) })?;
            }
            if beat.elapsed() >= BEAT {
                beat = Instant::now();
                send(Event::Alive)?;
            }
        }
        Ok(end.unwrap_or("played"))
    }
}

/// Notes that its thread's work is done when it is dropped, also if the thread panics.
pub(crate) struct Done<'a>(pub(crate) &'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Notes the first problem of a share.
fn note(failed: &Mutex<Option<String>>, problem: String) {
    failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(problem);
}
