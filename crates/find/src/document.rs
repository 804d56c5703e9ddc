//! The document of a search, from its runs.

use crate::experiment::{Experiment, Searched};
use crate::judge::{Doubt, Judged, Verdict, doubts, judge, shares};
use crate::played::Played;
use crate::probes::{Next, Pooled, Probed, Probes};
use crate::store::{Store, shown};
use lydite_decide::{Crossing, INTERVAL_ERROR, Limit};
use lydite_report::Requirement;
use lydite_report::figures::{number, plural};
use lydite_report::find::{End, Estimate, FIND_FORMAT, Find, Found, Over, RunOfFind, RunVerdict, Rung};
use lydite_report::model::Status;
use lydite_report::sweep::{Environment, Spread};

/// Most findings of runs among the warnings.
const FINDINGS: usize = 8;
/// An answer with less confidence is a guess.
const UNSURE: f64 = 0.5;

/// Returns the document of the runs so far.
pub(crate) fn document(
    experiment: &Experiment,
    store: &Store,
    runs: &[Played],
    environment: &Environment,
) -> Find {
    let asked = experiment.asked();
    let probes = Probes::of(&asked, runs);
    let levels = Level::all(&probes);
    let found = found(&asked, runs, &probes);
    let runs_of = |(place, run): (usize, &Played)| of_run(&asked, run, probes.number_of(place));
    let warnings = warnings(&experiment.objectives, runs, &levels, &found, &probes);
    Find {
        lydite: env!("CARGO_PKG_VERSION").into(),
        format: FIND_FORMAT,
        status: if found.end == End::Open { Status::Partial } else { Status::Complete },
        label: experiment.label.clone(),
        plan: shown(experiment),
        reload: experiment.origin.words().to_owned(),
        took_s: store.records.took_s(),
        runs: runs.iter().enumerate().map(runs_of).collect(),
        environment: environment.clone(),
        warnings,
        find: found,
    }
}

/// The probes of a level.
struct Level<'a> {
    level: f64,
    probes: Vec<&'a Probed>,
    /// The verdict on all its runs together.
    judged: &'a Judged,
}

impl<'a> Level<'a> {
    /// Returns all levels in ascending order.
    fn all(probes: &'a Probes) -> Vec<Self> {
        let of_level = |pooled: &'a Pooled| Self {
            level: pooled.level,
            probes: probes.all.iter().filter(|probe| probe.level == pooled.level).collect(),
            judged: &pooled.judged,
        };
        probes.levels.iter().map(of_level).collect()
    }

    fn held(&self) -> usize {
        self.probes.iter().filter(|probe| probe.judged.verdict == Verdict::Holds).count()
    }

    /// Returns the probes for it less those against it.
    fn lead(&self) -> i64 {
        let fails = |probe: &&&Probed| matches!(probe.judged.verdict, Verdict::Fails { .. });
        self.held() as i64 - self.probes.iter().filter(fails).count() as i64
    }

    fn runs<'r>(&self, runs: &'r [Played]) -> Vec<&'r Played> {
        self.probes.iter().flat_map(|probe| &probe.runs).filter_map(|place| runs.get(*place)).collect()
    }

    /// Returns the reason of the last probe that failed; of a level without a verdict that of one that can't be judged.
    fn why(&self, holds: Option<bool>) -> String {
        let reason = |probe: &&Probed| match &probe.judged.verdict {
            Verdict::Fails { why, .. } => holds.and(Some(why.clone())),
            Verdict::Unjudged(why) => Some(why.clone()),
            Verdict::Holds => None,
        };
        self.probes.iter().rev().find_map(reason).unwrap_or_default()
    }
}

/// Returns the answer of the runs so far.
pub(crate) fn found(asked: &Searched<'_>, runs: &[Played], probes: &Probes) -> Found {
    let levels = Level::all(probes);
    let objectives: Vec<String> = asked.objectives.iter().map(|of| of.text().to_owned()).collect();
    let next = probes.next(asked.range);
    let answer = match next {
        Next::Done(Limit::Between { holds, fails }) => Some((holds, fails)),
        _ => None,
    };
    let of = |level: f64| levels.iter().find(|of| of.level == level);
    // A search may go on with a narrower range.
    let within = |of: &&Level<'_>| (asked.range.lowest..=asked.range.highest).contains(&of.level);
    // So far the lowest level that fails, and the highest one below it that holds.
    let fails = match answer {
        Some((_, fails)) => of(fails),
        None => levels.iter().filter(within).find(|level| level.lead() < 0),
    };
    let below = |level: &&Level<'_>| fails.is_none_or(|fails| level.level < fails.level);
    let holds = match answer {
        Some((holds, _)) => of(holds),
        None => levels.iter().rev().filter(within).filter(below).find(|level| level.lead() > 0),
    };
    let next_below = holds
        .and_then(|holds| levels.iter().rev().find(|level| level.level < holds.level))
        .map(|level| level.level);
    let end = match next {
        Next::Done(Limit::Between { .. }) => End::Found,
        Next::Done(Limit::FailsAtLowest) => End::FailsAtLowest,
        Next::Done(Limit::HoldsAtHighest) => End::HoldsAtHighest,
        Next::Unjudged(..) => End::NotJudged,
        Next::Run(_) => End::Open,
    };
    let limit = probes.limit.as_ref();
    let confidence = match (end, holds, fails) {
        (End::Found, Some(holds), Some(fails)) => {
            // Without shares each probe that is ahead is a toss of a coin.
            let toss = |level: &Level<'_>| 0.5_f64.powi(level.lead().unsigned_abs() as i32);
            Some(limit.map_or_else(
                || (1.0 - toss(holds) - toss(fails)).max(0.0),
                |limit| limit.between(holds.level, fails.level),
            ))
        }
        _ => None,
    };
    let ends = [holds, fails].map(|level| level.map(|level| level.level));
    let range = asked.range;
    Found {
        objective: objectives.join(" and "),
        limits_ms: asked
            .objectives
            .iter()
            .filter_map(|objective| Some(objective.latency_limit()?.limit_ms))
            .collect(),
        objectives,
        mode: asked.quantity.mode,
        level: asked.quantity.name,
        title: asked.quantity.title,
        unit: asked.quantity.unit,
        highest: holds.map(|level| level.level),
        next_above: fails.map(|level| level.level),
        next_below,
        confidence,
        limit: limit.map(estimate),
        end,
        range: [range.lowest, range.highest],
        resolution: range.resolution,
        curve: levels.iter().map(|level| rung(asked, runs, level, ends)).collect(),
    }
}

fn estimate(limit: &Crossing) -> Estimate {
    let reach = limit.reach(INTERVAL_ERROR);
    Estimate { at: limit.at, low: limit.at - reach, high: limit.at + reach, stalled: limit.stalled }
}

fn rung(asked: &Searched<'_>, runs: &[Played], level: &Level<'_>, [holds, fails]: [Option<f64>; 2]) -> Rung {
    let of = level.runs(runs);
    let median = |number: fn(&Played) -> Option<f64>| {
        let values: Vec<f64> = of.iter().filter_map(|run| number(run)).collect();
        Spread::of(&values).map(|spread| spread.median)
    };
    let holds = match level.lead() {
        _ if holds == Some(level.level) => Some(true),
        _ if fails == Some(level.level) => Some(false),
        0 => None,
        // Near the limit chance may have decided, and only all runs together tell.
        _ if level.judged.doubt == Doubt::Sampling => None,
        lead => Some(lead > 0),
    };
    let all_say = match &level.judged.verdict {
        Verdict::Holds => Some(true),
        Verdict::Fails { .. } => Some(false),
        Verdict::Unjudged(_) => None,
    };
    let certain = holds.is_some() && holds == all_say && level.judged.doubt == Doubt::No;
    let doubt = match (all_say, level.judged.doubt) {
        (None, _) => String::new(),
        _ if certain => String::new(),
        (Some(all_hold), Doubt::No) => {
            let all = if all_hold { "hold" } else { "fail" };
            format!("its probes contradict each other, and all its runs together {all}")
        }
        (Some(_), Doubt::Sampling | Doubt::Unknown) => doubts(&of, asked.objectives, asked.quantity),
    };
    Rung {
        level: level.level,
        holds,
        certain,
        doubt,
        probes: level.probes.len(),
        held: level.held(),
        tps: median(|run| Some(run.tps)),
        p50_ms: median(|run| run.p50_ms),
        p99_ms: median(|run| run.p99_ms),
        is_thin: of.iter().any(|run| run.is_thin),
        over: shares(&of, asked.objectives),
        why: if holds == Some(true) { String::new() } else { level.why(holds) },
    }
}

/// Returns a run. `probe` is the number of its probe.
pub(crate) fn of_run(asked: &Searched<'_>, run: &Played, probe: Option<usize>) -> RunOfFind {
    let (verdict, why) = alone(asked, run);
    RunOfFind {
        number: run.number,
        level: run.level,
        probe,
        file: Store::file(run.number),
        busy: run.is_busy,
        tps: run.tps,
        values: run
            .objectives
            .iter()
            .map(|objective| format!("{} {}", objective.metric, objective.measured_value()))
            .collect(),
        met: run
            .objectives
            .iter()
            .all(|objective| objective.value.is_some())
            .then(|| run.objectives.iter().all(|objective| objective.met)),
        verdict,
        why,
        growth: run.growth.map(|growth| growth.slope),
    }
}

/// Returns the verdict on a run alone, and its reason.
fn alone(asked: &Searched<'_>, run: &Played) -> (RunVerdict, String) {
    let judged = judge(&[run], asked.objectives, asked.quantity);
    match (judged.verdict, judged.doubt) {
        (Verdict::Unjudged(why), _) => (RunVerdict::NotJudged, why),
        (_, Doubt::Sampling | Doubt::Unknown) => {
            (RunVerdict::InDoubt, doubts(&[run], asked.objectives, asked.quantity))
        }
        (Verdict::Holds, Doubt::No) => (RunVerdict::Holds, String::new()),
        (Verdict::Fails { why, .. }, Doubt::No) => (RunVerdict::Fails, why),
    }
}

/// Returns what a reader must know of the runs.
fn warnings(
    objectives: &[Requirement],
    runs: &[Played],
    levels: &[Level<'_>],
    found: &Found,
    probes: &Probes,
) -> Vec<String> {
    let mut all = Vec::new();
    let at = |level: Option<f64>| {
        let of = levels.iter().find(|of| Some(of.level) == level);
        of.map(|of| of.runs(runs)).unwrap_or_default()
    };
    let (above, below) = (at(found.next_above), at(found.highest));
    if let Some(why) = above.iter().find_map(|run| run.bottleneck.as_ref()) {
        all.push(format!("The limit is probably that of the client, not of the database: {why}."));
    }
    let busy = (0..runs.len()).filter(|run| runs[*run].is_busy && probes.number_of(*run).is_some()).count();
    if busy > 0 {
        all.push(format!(
            "The machine was busy with other programs during {} that count: the limit is that of a busy machine.",
            plural(busy as u64, "run")
        ));
    }
    let is_short = |run: &Played| {
        let mut both = objectives.iter().zip(&run.objectives);
        both.any(|(of, judged)| {
            of.latency_limit().is_some() && judged.value.is_some() && judged.over.is_none()
        })
    };
    if runs.iter().any(is_short) {
        all.push(
            "Runs are too short to tell the sampling error of a latency: windows of 24 s and more do (--duration).".to_owned(),
        );
    }
    let deciding = || above.iter().chain(&below);
    if found.mode != "direct" && deciding().next().is_some() && deciding().all(|run| run.growth.is_none()) {
        all.push(
            "No run could tell whether the queue grows: that takes New-Orders, and windows of 12 s and more (--duration)."
                .to_owned(),
        );
    }
    if let (End::Found, Some(limit)) = (found.end, found.limit) {
        let known = (limit.high - limit.at) / limit.at;
        // The runs of the two ends move the interval a little after the search found it narrow enough.
        if known > 1.25 * found.resolution {
            all.push(format!(
                "The limit is known to {} % only, after {}: longer runs (--duration) tell more.",
                number(100.0 * known),
                plural(runs.len() as u64, "run")
            ));
        }
    }
    if let Some(limit) = found.limit.filter(|limit| limit.stalled > 0) {
        all.push(format!(
            "{} left out of the limit: something stalled them, as a checkpoint or another program. A service has such times too.",
            if limit.stalled == 1 { "1 run is".to_owned() } else { format!("{} runs are", limit.stalled) }
        ));
    }
    if found.end == End::Found && found.confidence.is_some_and(|confidence| confidence < UNSURE) {
        all.push(
            "The runs contradict each other, and the two levels are a guess. Repeat the search on a quiet machine, or with longer \
             runs (--duration)."
                .to_owned(),
        );
    }
    let contradicts = |over: &Over| over.share >= over.allowed;
    if shares(&below, objectives).iter().any(contradicts) {
        all.push(
            "The highest level holds by the majority of its probes, but all its runs together are over the limit: some were \
             disturbed. Repeat the search on a quiet machine, or with longer runs."
                .to_owned(),
        );
    }
    let mut findings: Vec<&String> = Vec::new();
    // Findings of two runs often differ in their numbers only.
    let key = |text: &str| -> String { text.chars().filter(|letter| !letter.is_ascii_digit()).collect() };
    for text in below.iter().chain(&above).flat_map(|run| &run.findings) {
        if !findings.iter().any(|known| key(known) == key(text)) {
            findings.push(text);
        }
    }
    // Requirements that a run does not meet are what the search looks for.
    findings.retain(|text| !found.objectives.iter().any(|objective| text.contains(objective.as_str())));
    all.extend(findings.into_iter().take(FINDINGS).cloned());
    all
}
