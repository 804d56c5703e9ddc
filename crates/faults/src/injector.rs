//! Lydite's side of a fault: starts the guard, and gives it its orders.

use crate::error::FaultError;
use crate::fault::Fault;
use crate::guard::{Answer, Order, Task};
use crate::note;
use crate::remote::program;
use serde::Serialize;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Longest wait for a guard's answer: an orderly stop, or the start of a server that recovers.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time from a fault's end until its guard undoes it by itself, if Lydite has not.
const GRACE: Duration = Duration::from_secs(5);

/// A fault that is about to be injected. Dropping it undoes the fault.
#[derive(Debug)]
pub struct Injector {
    fault: Fault,
    guard: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<Answer>,
}

/// A fault that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Mechanism of the injection, as `SIGSTOP, then SIGCONT`.
    pub how: String,
    /// The proof that it bites.
    pub proof: String,
    /// Age of the fault: time since it took effect.
    pub since: Duration,
}

/// A fault that is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// Further proof that it bit; may be empty.
    pub proof: String,
    /// Time since its effect ended.
    pub since: Duration,
}

impl Injector {
    /// Starts the guard of a fault, which waits for its begin. `lasts` is the time from the begin to the end; none if the
    /// fault is not undone.
    ///
    /// # Errors
    /// The process can't be started.
    pub fn start(fault: Fault, lasts: Option<Duration>) -> io::Result<Self> {
        let mut command = program(fault.spec.host.as_deref(), &["faults", "guard"])?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // A Ctrl-C in the terminal must not reach it.
        command.stderr(Stdio::null()).process_group(0);
        let mut guard = command.spawn()?;
        let (found, answers) = mpsc::channel();
        if let Some(output) = guard.stdout.take() {
            let read = move || {
                for line in BufReader::new(output).lines() {
                    let answer = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                    let Some(answer) = answer else { return };
                    if found.send(answer).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().name("guard".into()).spawn(read)?;
        }
        let orders = guard.stdin.take();
        let at_most = lasts.unwrap_or_default() + GRACE;
        let task = Task { fault: fault.clone(), undone: lasts.is_some(), at_most };
        let mut injector = Self { fault, guard, orders, answers };
        injector.send(&task)?;
        Ok(injector)
    }

    /// Returns the fault.
    #[must_use]
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    fn send(&mut self, line: &impl Serialize) -> io::Result<()> {
        let orders = self.orders.as_mut().ok_or_else(|| io::Error::other("the guard has ended"))?;
        writeln!(orders, "{}", serde_json::to_string(line)?)?;
        orders.flush()
    }

    /// Waits until the fault is prepared, so that its begin disturbs nothing but what it is meant to.
    ///
    /// # Errors
    /// The reason why it can't begin.
    pub fn wait_until_ready(&self) -> Result<(), FaultError> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(Answer::Ready) => Ok(()),
            Ok(Answer::NotBegun(problem)) => Err(failed(problem)),
            Ok(_) | Err(_) => Err(failed("its guard has ended")),
        }
    }

    /// Announces the begin of the fault, once it is prepared, so that the begin itself is short. The fault begins without
    /// it, too.
    pub fn approach(&mut self) {
        // If the guard has ended, the begin says so.
        let _gone = self.send(&Order::Approach);
    }

    /// Begins the fault, once it is prepared.
    ///
    /// # Errors
    /// The reason why it could not begin; whatever had begun is undone.
    pub fn begin(&mut self) -> Result<Begun, FaultError> {
        let sent = self.send(&Order::Begin);
        sent.map_err(|error| FaultError::system("its guard has ended", error))?;
        match self.answers.recv_timeout(PATIENCE).map_err(|_| failed("its guard has ended"))? {
            Answer::Begun { how, proof, since } => Ok(Begun { how, proof, since }),
            Answer::NotBegun(problem) => Err(failed(problem)),
            Answer::Ready
            | Answer::Undone { .. }
            | Answer::NotUndone(_)
            | Answer::Down(_)
            | Answer::Damaged(_)
            | Answer::Late(_) => Err(failed("its guard has ended before")),
        }
    }

    /// Ends the fault. Also undoes it if its guard has been killed.
    ///
    /// # Errors
    /// Something is not as before, the fault left damage, or it ended at another time than it was meant to.
    /// [`FaultError::Down`] is the server's failure, all others are not.
    pub fn end(mut self) -> Result<Undone, FaultError> {
        // The guard may have ended; then its answer or its note says how.
        let _gone = self.send(&Order::End);
        match self.answers.recv_timeout(PATIENCE) {
            Ok(Answer::Undone { proof, since }) => Ok(Undone { proof, since }),
            Ok(
                Answer::NotUndone(problem)
                | Answer::NotBegun(problem)
                | Answer::Damaged(problem)
                | Answer::Late(problem),
            ) => Err(failed(problem)),
            Ok(Answer::Down(problem)) => Err(FaultError::Down(problem)),
            Ok(Answer::Ready | Answer::Begun { .. }) => Err(failed("its guard began it twice")),
            Err(_) => self.undo_without_guard(),
        }
    }

    /// Undoes the fault after its guard has ended without a word.
    fn undo_without_guard(&mut self) -> Result<Undone, FaultError> {
        self.orders = None;
        let _ended = self.guard.kill();
        let _reaped = self.guard.wait();
        if let Some(host) = &self.fault.spec.host {
            return Err(failed(format!(
                "the connection to {host} broke, or its guard there was killed; see lydite faults list ssh://{host}"
            )));
        }
        let (left, _) = note::all(&note::directory())
            .map_err(|error| FaultError::system("its guard was killed", error))?;
        match left.iter().find(|left| left.note.guard.pid == self.guard.id()) {
            Some(left) => {
                left.undo().and(Err(failed("its guard was killed: lydite undid the fault instead")))
            }
            None => Err(failed("somebody else undid it before its end")),
        }
    }
}

/// Returns the problem of a fault that its guard tells, or that the guard itself has.
fn failed(words: impl Into<String>) -> FaultError {
    FaultError::Failed(words.into())
}

impl Drop for Injector {
    fn drop(&mut self) {
        // The end of its input makes the guard undo the fault, and end.
        self.orders = None;
        let _reaped = self.guard.wait();
    }
}
