//! The document of an experiment, from its pairs.

use crate::changes::changes;
use crate::experiment::Experiment;
use crate::judge::{course, judge};
use crate::progress::{Progress, Slot};
use crate::store::Store;
use crate::variant::{Variant, letter};
use lydite_decide::Side;
use lydite_report::ab::{
    AB_FORMAT, Ab, Difference, End, Judged, Pair, Role, RunOfPair, Sides, Variant as VariantOf,
};
use lydite_report::compare::Better;
use lydite_report::figures::plural;
use lydite_report::model::Status;
use lydite_report::sweep::{Environment, Spread};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Most findings of runs among the warnings.
const FINDINGS: usize = 10;

/// Returns the document of the pairs so far.
pub(crate) fn document(
    experiment: &Experiment,
    store: &Store,
    slots: &[Slot],
    environment: &Environment,
) -> Ab {
    let looking = &experiment.looking;
    let progress = Progress::of(slots, looking);
    let took = Duration::from_secs_f64(store.records.took_s());
    let ab = judge(&progress.counted, looking, took);
    let of_role = |role: Role| slots.iter().zip(&progress.roles).filter(move |(_, of)| **of == role);
    let counted: Vec<&Slot> = of_role(Role::Counted).map(|(slot, _)| slot).collect();
    let median = |side: Side| {
        let values = counted.iter().filter_map(|slot| slot.run(side)?.value);
        Spread::of(&values.collect::<Vec<_>>()).map(|spread| spread.median)
    };
    let variant = |side: Side| {
        let Variant { subject, known, .. } = experiment.side(side);
        VariantOf {
            plan: subject.shown.clone(),
            server: known.server.clone(),
            before: known.before.clone(),
            median: median(side),
        }
    };
    let pairs = slots.iter().zip(&progress.roles).map(|(slot, role)| pair(store, slot, *role)).collect();
    Ab {
        lydite: env!("CARGO_PKG_VERSION").into(),
        format: AB_FORMAT,
        status: if ab.end == End::Open { Status::Partial } else { Status::Complete },
        label: experiment.label.clone(),
        metric: Judged {
            name: looking.metric.name().to_owned(),
            title: looking.metric.title(),
            unit: looking.metric.unit().to_owned(),
            better: looking.metric.better().unwrap_or(Better::Higher),
        },
        order_seed: looking.order_seed,
        most_pairs: looking.looks.most(),
        most_time_s: looking.most_time.map(|time| time.as_secs_f64()),
        took_s: took.as_secs_f64(),
        reload: experiment.reload_words(),
        sides: Sides { a: variant(Side::A), b: variant(Side::B) },
        differences: differences(experiment, &counted),
        pairs,
        course: course(&progress.counted, looking),
        changes: changes(&counted),
        environment: environment.clone(),
        warnings: warnings(slots, &progress, &counted, looking.most_repeats()),
        ab,
    }
}

fn pair(store: &Store, slot: &Slot, role: Role) -> Pair {
    let run = |side: Side| {
        let played = slot.run(side);
        let said = store.ending(side, slot.number).map_or("", |ending| ending.said.as_str());
        RunOfPair {
            file: Store::file(side, slot.number),
            value: played.and_then(|run| run.value),
            checks_failed: played.map_or(0, |run| run.checks_failed),
            note: if played.is_some_and(|run| run.is_good()) { String::new() } else { said.to_owned() },
        }
    };
    Pair {
        number: slot.number,
        role,
        busy: slot.is_busy(),
        first: match slot.first() {
            Side::A => "a",
            Side::B => "b",
        },
        a: run(Side::A),
        b: run(Side::B),
        ratio: slot.values().map(|(a, b)| b / a),
    }
}

/// Returns the settings in which the sides differ: those of the user, and those that the database reported.
fn differences(experiment: &Experiment, counted: &[&Slot]) -> Vec<Difference> {
    let [a, b]: [&Variant; 2] = [experiment.side(Side::A), experiment.side(Side::B)];
    let mut all = differing("", &a.known.plan, &b.known.plan);
    // A default that a side says or not is no difference; of a real one the values that were said are shown.
    for of in &mut all {
        let said = |variant: &Variant| variant.subject.shown.get(&of.name).cloned().unwrap_or_default();
        (of.a, of.b) = (said(a), said(b));
    }
    let servers: [BTreeMap<String, String>; 2] = [a, b].map(|variant| {
        let pairs = variant.known.server.iter().filter_map(|setting| setting.split_once('='));
        pairs.map(|(name, value)| (name.trim().to_owned(), value.to_owned())).collect()
    });
    all.extend(differing("server ", &servers[0], &servers[1]));
    let before = [a, b].map(|variant| variant.known.before.clone().unwrap_or_default());
    if before[0] != before[1] {
        let [a, b] = before;
        all.push(Difference { name: "before".into(), a, b });
    }
    if let Some((of_a, of_b)) = counted.last().and_then(|slot| slot.both()) {
        let told: BTreeSet<String> = all.iter().map(|of| of.name.clone()).collect();
        let reported = differing("setting ", &of_a.settings, &of_b.settings).into_iter();
        let known = |name: &str| told.contains(name) || told.contains(&format!("server {name}"));
        all.extend(reported.filter(|of| !known(of.name.trim_start_matches("setting "))));
    }
    all
}

/// Returns the keys whose values differ; `kind` stands before their names.
fn differing(kind: &str, a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<Difference> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |of: &BTreeMap<String, String>, key: &String| of.get(key).cloned().unwrap_or_default();
    keys.into_iter()
        .filter(|key| a.get(*key) != b.get(*key))
        .map(|key| Difference { name: format!("{kind}{key}"), a: value(a, key), b: value(b, key) })
        .collect()
}

/// Returns what a reader must know of the pairs.
fn warnings(slots: &[Slot], progress: &Progress, counted: &[&Slot], most_repeats: usize) -> Vec<String> {
    let mut all = Vec::new();
    for slot in slots {
        for (side, run) in [(Side::A, &slot.a), (Side::B, &slot.b)] {
            if let Some(run) = run.as_ref().filter(|run| run.checks_failed > 0) {
                let checks = plural(u64::from(run.checks_failed), "check");
                let side = letter(side);
                all.push(format!(
                    "Pair {}, {side}: {checks} do not hold: its speed is worth nothing.",
                    slot.number
                ));
            }
        }
    }
    let busy = counted.iter().filter(|slot| slot.is_busy()).count();
    if busy > 0 {
        all.push(format!(
            "The machine was busy with other programs during {} of {} that count: {} were repeated before, and at most {} \
             are. The interval has this noise; a quiet machine decides sooner.",
            busy,
            plural(counted.len() as u64, "pair"),
            progress.roles.iter().filter(|role| **role == Role::Busy).count(),
            most_repeats
        ));
    }
    all.extend(findings(counted));
    all
}

/// Returns the findings of the runs that count, alike ones once, the most frequent first.
fn findings(counted: &[&Slot]) -> Vec<String> {
    // Findings of two runs often differ in their numbers only.
    let key = |text: &str| -> String { text.chars().filter(|letter| !letter.is_ascii_digit()).collect() };
    let mut found: Vec<(String, String, [usize; 2])> = Vec::new();
    for (side, run) in counted.iter().filter_map(|slot| slot.both()).flat_map(|(a, b)| [(0, a), (1, b)]) {
        for text in &run.findings {
            let key = key(text);
            match found.iter_mut().find(|(known, ..)| *known == key) {
                Some((_, _, runs)) => runs[side] += 1,
                None => {
                    let mut runs = [0, 0];
                    runs[side] = 1;
                    found.push((key, text.clone(), runs));
                }
            }
        }
    }
    found.sort_by_key(|(_, _, runs)| std::cmp::Reverse(runs[0] + runs[1]));
    let more = found.len().saturating_sub(FINDINGS);
    let line =
        |(_, text, [a, b]): (String, String, [usize; 2])| format!("{text} ({a} of A's runs, {b} of B's)");
    let mut lines: Vec<String> = found.into_iter().take(FINDINGS).map(line).collect();
    if more > 0 {
        lines.push(format!("{more} further warnings are in the results of the runs."));
    }
    lines
}
