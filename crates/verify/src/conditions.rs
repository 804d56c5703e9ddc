//! The twelve consistency conditions of clause 3.3.2, and those of Lydite, on a whole database.

use lydite_database::{ConditionFinding, Target, TargetError, TargetErrorKind};
use lydite_tpcc::consistency::Condition;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time in which a server may cancel a check that nobody waits for any more.
const PATIENCE: Duration = Duration::from_secs(1);
/// Interval at which a check looks for a stop.
const LOOK: Duration = Duration::from_millis(20);

/// Result of a check that can be stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Checked {
    /// All findings, by number.
    All(Vec<ConditionFinding>),
    /// Findings of the conditions that were evaluated before the stop, by number.
    Stopped(Vec<ConditionFinding>),
}

/// Evaluates `conditions` and reports each finding to `done` as it comes, in any order. Returns the findings by number.
///
/// # Errors
/// Fails if the database fails. A condition that does not hold is a finding.
pub fn check(
    target: &dyn Target,
    conditions: &[Condition],
    done: &(dyn Fn(&ConditionFinding) + Sync),
) -> Result<Vec<ConditionFinding>, TargetError> {
    target.check(conditions, done)
}

/// Runs [`check`] on a thread, which is left behind when `stop` says so. For a server: the check asks it to cancel the
/// current statement, but does not wait for its answer.
///
/// # Errors
/// Fails as [`check`] does, or if the system can't start a thread.
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
        // Nobody receives any more once the check is stopped.
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
            // On a thread too, because a frozen server does not answer.
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

/// Runs [`check`] for one condition after the other until `stop` says so, each on a snapshot of its own. For a database
/// within this process, which must not be at work when the process ends.
///
/// # Errors
/// Fails as [`check`] does.
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
