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
    let conditions = conditions.to_vec();
    let mut findings = Vec::new();
    let mut heard = |finding: ConditionFinding| {
        done(&finding);
        findings.push(finding);
    };
    let all = aside(target, stop, &mut heard, move |target, heard| {
        target.check(&conditions, &|finding| heard(finding.clone()))
    })?;
    if let Some(all) = all {
        return Ok(Checked::All(all));
    }
    findings.sort_by_key(|finding| finding.condition.number);
    Ok(Checked::Stopped(findings))
}

/// Reads from the database with `read`, on a thread, which is left behind when `stop` says so. Then returns `None`. For
/// a server, as [`check_aside`].
///
/// # Errors
/// Fails as `read` does, or if the system can't start a thread.
pub fn read_aside<R: Send + 'static>(
    target: &Arc<dyn Target>,
    stop: &dyn Fn() -> bool,
    read: impl FnOnce(&dyn Target) -> Result<R, TargetError> + Send + 'static,
) -> Result<Option<R>, TargetError> {
    aside(target, stop, &mut |()| {}, move |target, _| read(target))
}

/// Runs `work` on a thread and passes to `heard` what the work reports. Returns `None` if `stop` ended it first.
fn aside<E: Send + 'static, R: Send + 'static>(
    target: &Arc<dyn Target>,
    stop: &dyn Fn() -> bool,
    heard: &mut dyn FnMut(E),
    work: impl FnOnce(&dyn Target, &(dyn Fn(E) + Sync)) -> Result<R, TargetError> + Send + 'static,
) -> Result<Option<R>, TargetError> {
    let (sender, receiver) = channel();
    let (target, asked) = (Arc::clone(target), Arc::clone(target));
    let work = move || {
        // Nobody receives any more once the work is stopped.
        let result = work(&*target, &|event| drop(sender.send(Ok(event))));
        let _ = sender.send(Err(result));
    };
    thread::Builder::new()
        .name("check".to_owned())
        .spawn(work)
        .map_err(|error| TargetError::usage(format!("can't start a thread for the check: {error}")))?;
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
            Ok(Ok(event)) => heard(event),
            Ok(Err(Err(error))) if end.is_some() || error.kind == TargetErrorKind::Interrupted => {
                return Ok(None);
            }
            Ok(Err(result)) => return result.map(Some),
            Err(RecvTimeoutError::Timeout) if end.is_some_and(|end| Instant::now() >= end) => {
                return Ok(None);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(TargetError::database(
                    "a check panicked; this is an error in Lydite or in a driver",
                ));
            }
        }
    }
}

/// Runs [`check`] for one of the [`Target::passes`] after the other until `stop` says so, each on a snapshot of its own.
/// For a database within this process, which must not be at work when the process ends.
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
    for pass in target.passes(conditions) {
        if stop() {
            return Ok(Checked::Stopped(findings));
        }
        let found = target.check(&pass, &|_| {})?;
        found.iter().for_each(&mut *done);
        findings.extend(found);
    }
    findings.sort_by_key(|finding| finding.condition.number);
    Ok(Checked::All(findings))
}
