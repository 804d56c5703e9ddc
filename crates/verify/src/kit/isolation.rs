//! Isolation of a driver at the level that it declares. Transactions on keys of the kit's own are led into each anomaly
//! step by step, then played at random; the checker of histories judges both. A driver that plays the five transactions
//! by itself offers no others, so these must do.

use super::claim::Claim;
use super::judge::{judge, undeclared};
use super::script::{SCENARIOS, Scripted};
use super::{SEED, Seen, Trouble, readers};
use crate::history::{Level, WorkloadKind};
use crate::isolation::{Played, Settings, clear, prepare};
use lydite_database::{Target, TargetErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// Sessions of a history. One more reads all keys at the end.
const SESSIONS: u32 = 3;
/// A history ends after this number of transactions or this time.
const TRANSACTIONS: u64 = 1_000;
const DURATION: Duration = Duration::from_secs(3);
/// Longest wait of a transaction for a lock, where the target can limit it.
const LIMIT: Duration = Duration::from_secs(1);

/// Addition to the verdict on drivers that play the transactions by themselves.
const NO_LISTS: &str =
    "write skew and phantoms are not tested: a driver that plays the five transactions has no others";

/// True if the target plays transactions on keys of the kit's own.
fn has_lists(target: &dyn Target) -> Result<bool, Trouble> {
    let lists = target.capabilities().lists()?;
    match lists.connect_held_lists() {
        Ok(_) => Ok(true),
        Err(error) if error.kind == TargetErrorKind::Usage => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Leads transactions into each anomaly that the declaration excludes.
pub(super) fn provoked(target: &Arc<dyn Target>, claim: &Claim) -> Seen {
    if claim.level.is_none() {
        return Err(undeclared(claim));
    }
    if !has_lists(&**target)? {
        return readers::readers(&**target, claim).map(|seen| format!("{seen}; {NO_LISTS}"));
    }
    clear(target)?;
    target.capabilities().lists()?.create_lists()?;
    let seen = led(&**target, claim);
    let cleared = clear(target);
    let seen = seen?;
    cleared?;
    Ok(seen)
}

/// Plays all scenarios whose anomaly the declaration excludes.
fn led(target: &dyn Target, claim: &Claim) -> Seen {
    let mut scripted = Scripted::new(target)?;
    let mut names = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.is_excluded_by(claim)) {
        let history = scripted.play(scenario)?;
        judge(&history, claim, &format!("two sessions that are led into {}", scenario.name))?;
        names.push(scenario.name);
    }
    Ok(format!("{} is not refuted by sessions that are led into {}", claim.words, names.join(", ")))
}

/// Plays transactions at random.
pub(super) fn random(target: &Arc<dyn Target>, claim: &Claim) -> Seen {
    if claim.level.is_none() {
        return Err(undeclared(claim));
    }
    let (workloads, objects, more) = if has_lists(&**target)? {
        let registers = Played::Own(WorkloadKind::Register);
        if claim.reaches(Level::SnapshotIsolation) {
            let lists = Played::Own(WorkloadKind::ListAppend);
            (vec![lists, registers], "lists, registers and ranges", String::new())
        } else {
            // A driver appends by a read and a write, and weaker levels may lose one of two such updates.
            (vec![registers], "registers and ranges", String::new())
        }
    } else {
        (vec![Played::Tpcc], "the mix of TPC-C", format!("; {NO_LISTS}"))
    };
    let (mut committed, mut dependencies) = (0, 0);
    for played in workloads {
        clear_own(target, played)?;
        let settings = Settings {
            played,
            duration: DURATION,
            transactions: TRANSACTIONS,
            sessions: SESSIONS,
            limit: LIMIT,
            seed: SEED,
        };
        let recording = prepare(target, settings)?.record(&|_| (), &|| false);
        let tally = judge(&recording.history, claim, &format!("transactions on {objects}"))?;
        if let Some(error) = recording.lost {
            return Err(error.into());
        }
        if let Some(why) = recording.unread {
            return Err(format!("the keys could not be read at the end: {why}").into());
        }
        if let Some(why) = recording.undropped {
            return Err(format!("the keys could not be removed: {why}").into());
        }
        committed += tally.committed;
        dependencies += tally.dependencies;
    }
    if dependencies == 0 {
        return Err(format!("no transaction of {committed} on {objects} saw another one's writes").into());
    }
    Ok(format!(
        "{} is not refuted by {committed} transactions of {SESSIONS} sessions on {objects} with {dependencies} \
         dependencies{more}",
        claim.words
    ))
}

/// Removes the keys that a killed check left behind.
fn clear_own(target: &Arc<dyn Target>, played: Played) -> Result<(), Trouble> {
    match played {
        Played::Own(_) => Ok(clear(target)?),
        Played::Tpcc => Ok(()),
    }
}
