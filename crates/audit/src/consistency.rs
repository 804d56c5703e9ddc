//! Consistency (clause 3.3): the twelve conditions hold before a load and after it.

use crate::act::PATIENCE;
use crate::checkpoints::Checkpoints;
use crate::finding::{Finding, LoadFacts, Property, Scope, Seen, Trouble};
use crate::load::{Gate, Load, Loaded, shortness};
use crate::stage::Stage;
use crate::{Extent, Test};
use lydite_database::{ConditionFinding, Target, TargetError};
use lydite_tpcc::OrderId;
use lydite_tpcc::consistency::{CONDITION_COUNT, conditions_of};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::random::Stream;
use lydite_verify::conditions::{Checked, check_aside, check_in_turn};
use serde::{Deserialize, Serialize};
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
    AFTER_LOAD,
];

const AFTER_LOAD: Test = Test {
    property: Property::Consistency,
    id: "consistency-2",
    clause: "3.3.3.2",
    title: "the twelve conditions after a load",
    extent: Extent::Loaded,
    play: after_load,
};

/// Evaluates the conditions on a server of the database, each as a step.
pub(crate) fn conditions(stage: &Stage<'_>, server: &Arc<dyn Target>) -> Result<Seen, Trouble> {
    let asked = conditions_of(stage.meta);
    let checked = if stage.audit.embedded {
        check_in_turn(&**server, &asked, stage.stop, &mut |_| {})?
    } else {
        check_aside(server, &asked, stage.stop, &mut |_| {})?
    };
    let Checked::All(findings) = checked else { return Err(Trouble::Stopped) };
    let judged = Judged::of(&findings, &**server, stage.meta);
    judged.steps.iter().for_each(|step| stage.step(step.clone()));
    judged.verdict()
}

/// The conditions, evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Judged {
    /// A step for each condition.
    steps: Vec<String>,
    /// Conditions that do not hold, in words.
    broken: Vec<String>,
}

impl Judged {
    /// Judges the findings on a server of a database that was loaded with `meta`.
    fn of(findings: &[ConditionFinding], server: &dyn Target, meta: &DatabaseMeta) -> Self {
        let mut judged = Self { steps: Vec::new(), broken: Vec::new() };
        for finding in findings {
            let (clause, title) = (finding.condition.clause, finding.condition.title);
            judged.steps.push(if finding.holds() {
                format!("{clause} {title}: holds ({:.1} s)", finding.seconds)
            } else {
                let examples = finding.examples.join("; ");
                judged.broken.push(format!("{clause} is broken by {} keys: {examples}", finding.offenders));
                format!("{clause} {title}: broken by {}: {examples}", finding.offenders)
            });
        }
        if !judged.broken.is_empty() {
            // The cause, if a server lost its side of a commit. The conditions are broken all the same if it is not known.
            let counts = server.halves(&(1..=meta.warehouses), OrderId(meta.size.orders().into()));
            let half = counts.ok().and_then(|counts| counts.half_a_commit(meta.played.update_stock));
            let sides = half.map(|half| {
                format!(
                    "sides of transactions differ, as after half a commit or rows changed by hand: {half}"
                )
            });
            judged.broken.splice(0..0, sides);
        }
        judged
    }

    fn verdict(&self) -> Result<Seen, Trouble> {
        if self.broken.is_empty() {
            let own = match self.steps.len().saturating_sub(CONDITION_COUNT) {
                0 => String::new(),
                own => format!(", and {own} of Lydite's own"),
            };
            Ok(Seen::plain(format!("all {CONDITION_COUNT} conditions hold{own}")))
        } else {
            Err(Trouble::Failed(self.broken.join("; ")))
        }
    }
}

/// Findings of the process of a load while its terminals stand still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    conditions: Result<Judged, String>,
    checkpoint: Checkpoint,
}

/// True if there was a checkpoint since the load began; `None` if the database counts none; or why it is not known.
type Checkpoint = Result<Option<bool>, String>;

impl Look {
    /// Looks at a database that was loaded with `meta` while the terminals of `gate` stand still. `checkpoints` are
    /// watched since the load began.
    #[must_use]
    pub fn at(
        target: &dyn Target,
        meta: &DatabaseMeta,
        gate: &Gate,
        checkpoints: &mut Result<Checkpoints, TargetError>,
    ) -> Self {
        let checkpoint = match checkpoints {
            Ok(checkpoints) => checkpoints.seen().map_err(|error| error.message),
            Err(error) => Err(error.message.clone()),
        };
        let conditions = match gate.try_write_for(PATIENCE) {
            Some(_closed) => target
                .check(&conditions_of(meta), &|_| {})
                .map(|found| Judged::of(&found, target, meta))
                .map_err(|error| error.message),
            None => Err(unanswered()),
        };
        Self { conditions, checkpoint }
    }

    /// Returns the finding of `consistency-2`, whose load is that of `durability-1`. `begun` is when it began.
    #[must_use]
    pub fn finding(self, scope: Scope, load: (u32, Duration, usize), begun: Instant) -> Finding {
        let (terminals, duration, entries) = load;
        let played = Played::of(terminals, duration.as_secs_f64(), entries as u64, self.checkpoint);
        let mut steps = played.steps("the load of durability-1, ");
        steps.push("the terminals stand still".to_owned());
        let ended = match self.conditions {
            Ok(judged) => {
                let ended = judged.verdict();
                steps.extend(judged.steps);
                ended.map(|seen| played.seen(&seen))
            }
            Err(problem) => Err(Trouble::NotRun(problem)),
        };
        let finding = Finding { load: Some(played.facts), ..not_begun(scope) };
        finding.ended(ended, steps, begun)
    }
}

/// Returns the finding of `consistency-2` if it was not made: for this reason, or because the user ended the audit.
#[must_use]
pub fn not_made(scope: Scope, why: Option<String>) -> Finding {
    let trouble = why.map_or(Trouble::Stopped, Trouble::NotRun);
    not_begun(scope).ended(Err(trouble), Vec::new(), Instant::now())
}

/// Returns the finding of `consistency-2` before it begins.
fn not_begun(scope: Scope) -> Finding {
    Finding::of(AFTER_LOAD.id, AFTER_LOAD.clause, AFTER_LOAD.title, scope)
}

/// A load that was played.
struct Played {
    terminals: u32,
    facts: LoadFacts,
    /// The length of the load in words, if it was too short.
    short: &'static str,
    /// The checkpoint in words.
    checkpoint: String,
}

impl Played {
    fn of(terminals: u32, seconds: f64, new_orders: u64, checkpoint: Checkpoint) -> Self {
        let facts = LoadFacts::new(seconds, new_orders, checkpoint.clone().unwrap_or_default());
        let checkpoint = match checkpoint {
            Ok(None) => "the database reports no checkpoints".to_owned(),
            Ok(Some(true)) => "a checkpoint was seen".to_owned(),
            Ok(Some(false)) => "no checkpoint was seen: use a longer --duration".to_owned(),
            Err(problem) => format!("its counters of checkpoints could not be read: {problem}"),
        };
        Self { terminals, facts, short: shortness(Duration::from_secs_f64(seconds)), checkpoint }
    }

    /// Returns the steps of the load, and of the checkpoint in it. `whose` load it is ends with a comma, or is empty.
    fn steps(&self, whose: &str) -> Vec<String> {
        let Self { terminals, facts: LoadFacts { seconds, new_orders, nopm, .. }, short, checkpoint } = self;
        vec![
            format!(
                "{whose}load of {terminals} terminals without waits, as fast as they go: {new_orders} New-Orders in \
                 {seconds:.0} s ({nopm:.0} NOPM){short}"
            ),
            checkpoint.clone(),
        ]
    }

    /// Returns what was seen after the load.
    fn seen(&self, conditions: &Seen) -> Seen {
        let Self { facts: LoadFacts { seconds, new_orders, .. }, short, checkpoint, .. } = self;
        Seen::plain(format!(
            "{} after {new_orders} New-Orders in {seconds:.0} s{short}; {checkpoint}",
            conditions.words
        ))
    }
}

fn after_load(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let mut checkpoints = Checkpoints::watch(&**stage.target, stage.audit.is_checkpoint)?;
    let (loaded, seconds) = load(stage)?;
    if let Some(lost) = loaded.lost.first() {
        return Err(Trouble::Lost(lost.clone()));
    }
    let new_orders = loaded.new_orders.iter().sum();
    let played = Played::of(stage.audit.terminals, seconds, new_orders, Ok(checkpoints.seen()?));
    stage.load.set(Some(played.facts));
    played.steps("").into_iter().for_each(|step| stage.step(step));
    let seen = conditions(stage, stage.target)?;
    Ok(played.seen(&seen))
}

/// Returns the words for terminals that do not answer.
fn unanswered() -> String {
    format!("the terminals have no answer after {} s", PATIENCE.as_secs())
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
        reconnects: false,
        gate: Arc::default(),
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
        Trouble::Failed(unanswered())
    })?;
    stage.goes_on()?;
    Ok((loaded?, seconds))
}
