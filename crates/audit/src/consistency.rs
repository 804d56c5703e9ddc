//! Consistency (clause 3.3): the twelve conditions hold before a load and after it.

use crate::act::PATIENCE;
use crate::checkpoints::Checkpoints;
use crate::finding::{LoadFacts, Property, Seen, Trouble};
use crate::load::{Load, Loaded, shortness};
use crate::stage::Stage;
use crate::{Extent, Test};
use lydite_database::Target;
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::random::Stream;
use lydite_verify::conditions::{Checked, check_aside, check_in_turn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Time between two looks at the clock and at the user.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) static TESTS: &[Test] = &[
    Test {
        property: Property::Consistency,
        id: "consistency-1",
        clause: "3.3.3.1",
        title: "the twelve conditions before a load",
        extent: Extent::Whole,
        play: |stage, _| conditions(stage, stage.target),
    },
    Test {
        property: Property::Consistency,
        id: "consistency-2",
        clause: "3.3.3.2",
        title: "the twelve conditions after a load",
        extent: Extent::Loaded,
        play: after_load,
    },
];

/// Evaluates the conditions on a server of the database, each as a step.
pub(crate) fn conditions(stage: &Stage<'_>, server: &Arc<dyn Target>) -> Result<Seen, Trouble> {
    let checked = if stage.audit.embedded {
        check_in_turn(&**server, &CONDITIONS, stage.stop, &mut |_| {})?
    } else {
        check_aside(server, &CONDITIONS, stage.stop, &mut |_| {})?
    };
    let Checked::All(findings) = checked else { return Err(Trouble::Stopped) };
    let mut broken = Vec::new();
    for finding in &findings {
        let (clause, title) = (finding.condition.clause, finding.condition.title);
        if finding.holds() {
            stage.step(format!("{clause} {title}: holds ({:.1} s)", finding.seconds));
        } else {
            let examples = finding.examples.join("; ");
            stage.step(format!("{clause} {title}: broken by {}: {examples}", finding.offenders));
            broken.push(format!("{clause} is broken by {} keys: {examples}", finding.offenders));
        }
    }
    if broken.is_empty() {
        Ok(Seen::plain(format!("all {} conditions hold", findings.len())))
    } else {
        Err(Trouble::Failed(broken.join("; ")))
    }
}

fn after_load(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let (facts, load) = match stage.load.get() {
        Some(facts) => (facts, "the load of durability-1, which the failure ended".to_owned()),
        None => {
            let mut checkpoints = Checkpoints::watch(&**stage.target, stage.audit.is_checkpoint)?;
            let (loaded, seconds) = load(stage)?;
            if let Some(lost) = loaded.lost.first() {
                return Err(Trouble::Lost(lost.clone()));
            }
            let facts = LoadFacts::new(seconds, loaded.new_orders.iter().sum(), checkpoints.seen()?);
            (facts, format!("load of {} terminals without waits, as fast as they go", stage.audit.terminals))
        }
    };
    stage.load.set(Some(facts));
    let short = shortness(stage.audit.duration);
    let LoadFacts { seconds, new_orders, nopm, checkpoint } = facts;
    stage.step(format!("{load}: {new_orders} New-Orders in {seconds:.0} s ({nopm:.0} NOPM){short}"));
    let checkpoint = match checkpoint {
        None => "the database reports no checkpoints",
        Some(true) => "a checkpoint was seen",
        Some(false) => "no checkpoint was seen: use a longer --duration",
    };
    stage.step(checkpoint);
    let seen = conditions(stage, stage.target)?;
    Ok(Seen::plain(format!(
        "{} after {new_orders} New-Orders in {seconds:.0} s{short}; {checkpoint}",
        seen.words
    )))
}

/// Plays the load for its time. Returns its result, and its seconds.
fn load(stage: &Stage<'_>) -> Result<(Loaded, f64), Trouble> {
    let load = Load {
        target: Arc::clone(stage.target),
        meta: stage.meta.clone(),
        terminals: stage.audit.terminals,
        seed: stage.audit.seed,
        file: None,
        turns: None,
    };
    let (stop, (ready, is_ready), (send, ended)) = (Arc::new(AtomicBool::new(false)), channel(), channel());
    let asked = Arc::clone(&stop);
    let work = move || {
        // Nobody waits for terminals that were left behind.
        let loaded = load.play(|| _ = ready.send(()), &asked);
        let _heard = send.send(loaded);
    };
    Builder::new()
        .name("load".into())
        .spawn(work)
        .map_err(|error| Trouble::NotRun(format!("can't start a thread for the load: {error}")))?;
    // A terminal that can't connect ends the load before.
    let _ready = is_ready.recv_timeout(PATIENCE);
    let begun = Instant::now();
    let mut early = None;
    while early.is_none() && begun.elapsed() < stage.audit.duration && !(stage.stop)() {
        early = ended.recv_timeout(LOOK).ok();
    }
    let seconds = begun.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    let loaded = early.map_or_else(|| ended.recv_timeout(PATIENCE), Ok).map_err(|_| {
        stage.crew.leave_behind();
        Trouble::Failed(format!("the terminals have no answer after {} s", PATIENCE.as_secs()))
    })?;
    stage.goes_on()?;
    Ok((loaded?, seconds))
}
