//! The twelve consistency conditions of clause 3.3.2, and ours beside them, on a whole database.

use lydite_database::{ConditionFinding, Target, TargetError, TargetErrorKind};
use lydite_tpcc::consistency::Condition;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to give up a check that nobody waits for any more.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a check looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);

/// What a check came to that could be stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Checked {
    /// All, by number.
    All(Vec<ConditionFinding>),
    /// Those that were evaluated until it was stopped, by number.
    Stopped(Vec<ConditionFinding>),
}

/// Evaluates `conditions`; `done` is told each as it comes, in whatever order. The findings are by number.
///
/// # Errors
/// The database fails; a condition that does not hold is a finding.
pub fn check(
    target: &dyn Target,
    conditions: &[Condition],
    done: &(dyn Fn(&ConditionFinding) + Sync),
) -> Result<Vec<ConditionFinding>, TargetError> {
    target.check(conditions, done)
}

/// As [`check`], on a thread that is left behind when `stop` says so. For a server: it is asked to give up the statement
/// at hand, but its answer may be long in coming, and nothing of ours depends on it.
///
/// # Errors
/// As [`check`]; or the system refuses a thread.
pub fn check_aside(
    target: &Arc<dyn Target>,
    conditions: &[Condition],
    stop: &dyn Fn() -> bool,
    done: &mut dyn FnMut(&ConditionFinding),
) -> Result<Checked, TargetError> {
    let (sender, receiver) = channel();
    let (target, asked) = (Arc::clone(target), Arc::clone(target));
    let conditions = conditions.to_vec();
    let work = move || {
        // Nobody listens any more once the check was stopped.
        let result = target.check(&conditions, &|finding| drop(sender.send(Ok(finding.clone()))));
        let _ = sender.send(Err(result));
    };
    thread::Builder::new()
        .name("check".to_owned())
        .spawn(work)
        .map_err(|error| TargetError::usage(format!("can't start a thread for the check: {error}")))?;
    let mut findings = Vec::new();
    let mut end = None;
    loop {
        if end.is_none() && stop() {
            let target = Arc::clone(&asked);
            // Aside too: a frozen server does not hear it.
            let _without = thread::Builder::new()
                .name("cancel".to_owned())
                .spawn(move || target.capabilities().stop_work());
            end = Some(Instant::now() + PATIENCE);
        }
        match receiver.recv_timeout(LOOK) {
            Ok(Ok(finding)) => {
                done(&finding);
                findings.push(finding);
            }
            Ok(Err(Err(error))) if end.is_some() || error.kind == TargetErrorKind::Interrupted => break,
            Ok(Err(result)) => return result.map(Checked::All),
            Err(RecvTimeoutError::Timeout) if end.is_some_and(|end| Instant::now() >= end) => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(TargetError::database(
                    "a check panicked; this is an error in Lydite or in a driver",
                ));
            }
        }
    }
    findings.sort_by_key(|finding| finding.condition.number);
    Ok(Checked::Stopped(findings))
}

/// As [`check`], one condition after the other until `stop` says so; each has a snapshot of its own. For a database
/// within this process, which must not be left at work when the process ends.
///
/// # Errors
/// As [`check`].
pub fn check_in_turn(
    target: &dyn Target,
    conditions: &[Condition],
    stop: &dyn Fn() -> bool,
    done: &mut dyn FnMut(&ConditionFinding),
) -> Result<Checked, TargetError> {
    let mut findings = Vec::new();
    for condition in conditions {
        if stop() {
            return Ok(Checked::Stopped(findings));
        }
        let found = target.check(std::slice::from_ref(condition), &|_| {})?;
        found.iter().for_each(&mut *done);
        findings.extend(found);
    }
    Ok(Checked::All(findings))
}
