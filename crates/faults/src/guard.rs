//! The guard: a process of its own that injects one fault, and undoes it whatever happens to Lydite.
//!
//! Lydite holds the guard's standard input open. The guard first prepares the fault and says so. Then a line may announce
//! the fault, another one begins it, and a last one ends it. The input also ends when Lydite ends in any way, and then
//! the guard undoes the fault.

use crate::error::FaultError;
use crate::fault::Fault;
use crate::kinds::{self, AnyKind};
use crate::note::{self, Left, Note};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Time of further tries to undo a fault, and the pause between them.
const UNDO_PATIENCE: Duration = Duration::from_secs(10);
const UNDO_AGAIN: Duration = Duration::from_secs(1);

/// Everything that a guard must know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The fault.
    pub(crate) fault: Fault,
    /// True if the fault is undone at all.
    pub(crate) undone: bool,
    /// Time from the begin until the guard undoes the fault by itself.
    pub(crate) at_most: Duration,
}

/// A line to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The fault is about to begin: look at the machine, and do what the database does not notice.
    Approach,
    Begin,
    End,
}

/// A line from the guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The fault is prepared.
    Ready,
    /// The fault has begun, and has been in force for this time.
    Begun { how: String, proof: String, since: Duration },
    /// The fault could not begin, and everything is as before unless the text says otherwise.
    NotBegun(String),
    /// The fault is undone, and its effect has been over for this time.
    Undone { proof: String, since: Duration },
    /// Something is not as before.
    NotUndone(String),
    /// A server was started again, and did not recover.
    Down(String),
    /// The fault is undone, and has left damage.
    Damaged(String),
    /// The guard has undone the fault by itself, after its time.
    Late(String),
}

impl Answer {
    fn not_begun(problem: &FaultError) -> Self {
        Self::NotBegun(problem.to_string())
    }

    fn not_undone(problem: &FaultError) -> Self {
        match problem {
            FaultError::Down(words) => Self::Down(words.clone()),
            problem => Self::NotUndone(problem.to_string()),
        }
    }
}

/// Runs a guard to its end: reads its task and its orders from the standard input, and answers on the standard output.
/// The caller has made the process survive signals to end: only the end of the input is the end of the fault.
///
/// # Errors
/// The task can't be read, or the system's error.
pub fn guard() -> io::Result<()> {
    let (lines, orders) = mpsc::channel();
    // Reads on a thread of its own, so that the guard can also wait for the end of its time.
    thread::Builder::new().name("orders".into()).spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if lines.send(line).is_err() {
                return;
            }
        }
    })?;
    let Ok(task) = orders.recv() else { return Ok(()) };
    let task: Task = serde_json::from_str(&task)?;
    let notable = note::prepare(&note::directory()).map_err(not_noted);
    let prepared = notable.and_then(|()| kind_of(&task)).and_then(|kind| {
        let prepared = kind.prepare(&task.fault).map_err(|problems| FaultError::joined(&problems))?;
        Ok((kind, prepared))
    });
    match prepared {
        Err(problem) => say(&Answer::not_begun(&problem)),
        Ok((kind, prepared)) => {
            say(&Answer::Ready);
            if let Some(answer) = play(kind, prepared, &task, &orders) {
                say(&answer);
            }
        }
    }
    Ok(())
}

/// Obeys the orders for a fault that is prepared. Returns the last answer; none if nothing has begun, and nothing is left.
fn play(
    kind: &dyn AnyKind,
    prepared: Option<Value>,
    task: &Task,
    orders: &Receiver<String>,
) -> Option<Answer> {
    let mut noted = None;
    loop {
        match next(orders) {
            Some(Order::Approach) if !kind.approaches() => {}
            // What fails now may succeed at the begin, which tries again.
            Some(Order::Approach) => noted = approach(kind, prepared.clone(), task).ok(),
            Some(Order::Begin) => {
                let noted = noted.map_or_else(|| approach(kind, prepared, task), Ok);
                return Some(match noted {
                    Ok(noted) => inject(kind, noted, task, orders),
                    Err(problem) => Answer::not_begun(&problem),
                });
            }
            Some(Order::End) | None => {
                return undo(&noted?).err().map(|problem| Answer::not_undone(&problem));
            }
        }
    }
}

/// Returns the next order; none at the end of the input.
fn next(orders: &Receiver<String>) -> Option<Order> {
    orders.recv().ok().and_then(|line| serde_json::from_str(&line).ok())
}

/// Answers. Lydite may be gone; then nobody reads it.
fn say(answer: &Answer) {
    let mut out = io::stdout().lock();
    if let Ok(line) = serde_json::to_string(answer) {
        let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// Notes the fault, and does all of its begin that the database does not notice.
///
/// # Errors
/// The fault can't begin; everything is as before unless the text says otherwise.
fn approach(kind: &dyn AnyKind, prepared: Option<Value>, task: &Task) -> Result<Left, FaultError> {
    let mut noted = note(kind, prepared, task)?;
    let done = kind.approach(&mut noted.note.state);
    let written = noted.note.write(&note::directory()).map_err(not_noted);
    done.and(written.map(drop)).map_err(|problem| not_begun(problem, &noted))?;
    Ok(noted)
}

/// Undoes what has begun of a fault that can't begin. Returns its problem, and what is left.
fn not_begun(problem: FaultError, noted: &Left) -> FaultError {
    match undo(noted) {
        Ok(_) => problem,
        Err(left) => FaultError::Failed(format!("{problem}; and it could not be undone: {left}")),
    }
}

/// Begins the fault, waits for its end, undoes it, and returns the last answer.
fn inject(kind: &dyn AnyKind, mut noted: Left, task: &Task, orders: &Receiver<String>) -> Answer {
    let how = kind.how(&noted.note.state);
    let begins = Instant::now();
    let begun = kind.begin(&mut noted.note.state);
    let done = Instant::now();
    let written = noted.note.write(&note::directory());
    let written = written.map_err(|error| FaultError::Failed(error.to_string()));
    let proof = match begun.and_then(|proof| written.map(|_| proof)) {
        Ok(proof) => proof,
        Err(problem) => return Answer::not_begun(&not_begun(problem, &noted)),
    };
    let since = if kind.is_in_force_at_once() { begins } else { done }.elapsed();
    say(&Answer::Begun { how, proof, since });
    if !task.undone {
        return match noted.forget() {
            Ok(()) => Answer::Undone { proof: String::new(), since: Duration::ZERO },
            Err(problem) => Answer::not_undone(&problem),
        };
    }
    // Any line, the end of the input and the end of the time are all the fault's end.
    let late = matches!(orders.recv_timeout(task.at_most), Err(RecvTimeoutError::Timeout));
    let lifted = kind.lift(&noted.note.state).then(Instant::now);
    match undo(&noted) {
        Ok(proof) => match kind.damage(&noted.note.state) {
            Some(damage) => Answer::Damaged(damage),
            None if late => Answer::Late(format!(
                "lydite stood still, so the guard undid it {:.1} s after its begin",
                task.at_most.as_secs_f64()
            )),
            None => {
                let since = lifted.map_or(Duration::ZERO, |lifted| lifted.elapsed());
                Answer::Undone { proof, since }
            }
        },
        Err(problem) => Answer::not_undone(&problem),
    }
}

/// Undoes a fault, and tries again for a while: another program may hold a lock, and nobody else may be left to undo it.
fn undo(noted: &Left) -> Result<String, FaultError> {
    let until = Instant::now() + UNDO_PATIENCE;
    loop {
        match noted.undo() {
            Err(_) if Instant::now() < until => thread::sleep(UNDO_AGAIN),
            Err(problem) => {
                return Err(match problem {
                    // The server says why, and the list does not.
                    FaultError::Down(_) => problem,
                    _ => FaultError::Failed(format!("{problem}: see lydite faults list")),
                });
            }
            Ok(proof) => return Ok(proof),
        }
    }
}

/// Returns the kind of a task's fault.
fn kind_of(task: &Task) -> Result<&'static dyn AnyKind, FaultError> {
    let name = &task.fault.spec.kind;
    kinds::named(name).ok_or_else(|| FaultError::Failed(format!("the kind {name} is not known")))
}

/// Rehearses the fault on the machine as it is now, unless it is prepared, and notes it.
fn note(kind: &dyn AnyKind, prepared: Option<Value>, task: &Task) -> Result<Left, FaultError> {
    let state = match prepared {
        Some(state) => state,
        None => kind.check(&task.fault).map_err(|problems| FaultError::joined(&problems))?,
    };
    Note::new(task.fault.clone(), state).and_then(|note| note.write(&note::directory())).map_err(not_noted)
}

/// Returns the problem of a fault whose note can't be written.
fn not_noted(error: io::Error) -> FaultError {
    FaultError::system(format!("it can't be noted in {}", note::directory().display()), error)
}
