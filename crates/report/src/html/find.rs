//! The page of a search for the highest level: the answer, latency over the levels, the levels and all runs.

use super::experiment::{environment, footer, warnings};
use super::markup::{Markup, figures, pairs, pill, table, words};
use super::single::card;
use super::theme::{STYLE, THEME};
use super::{Section, frame, rungs};
use crate::figures::{duration, number};
use crate::find::{
    End, Estimate, Find, Found, Over, RunOfFind, RunVerdict, Rung, bare_level, doubts, is_in_doubt, joined,
    level_in_words, sentence, verdict,
};

/// Renders the page of a search.
#[must_use]
pub fn render_find(find: &Find) -> String {
    let title = find.label.clone().unwrap_or_else(|| format!("The highest {}", find.find.title));
    let sections = vec![
        Section::first("Summary", summary(find, &title)),
        Section::new("curve", "Curve", "Latency over the levels", curve(&find.find)),
        Section::new("runs", "Runs", "All runs", runs(find)),
        Section::new("setup", "Setup", "How it was run", setup(find)),
    ];
    frame(&title, sections, (&[STYLE], Markup::fixed(THEME)), footer(), Markup::default())
}

fn summary(find: &Find, title: &str) -> Markup {
    let mut all = Markup::with_text("h1", &[], title);
    all.push(warnings(&find.warnings));
    let found = &find.find;
    all.push(Markup::with_text("p", &[("class", "lead")], &format!("{}.", sentence(found))));
    if let Some(doubts) = doubts(found) {
        all.push(Markup::with_text("p", &[], &format!("{doubts}.")));
    }
    let level = |level: Option<f64>| Markup::text(&level.map_or_else(|| "–".to_owned(), bare_level));
    let is_open = |level: Option<f64>| level.and_then(|level| found.rung(level)).is_some_and(is_in_doubt);
    let doubt = |level: Option<f64>| if is_open(level) { ", in doubt" } else { "" };
    let unit = if found.unit.is_empty() { found.level } else { found.unit };
    let kind = match found.end {
        End::Found if is_open(found.highest) => "warn",
        End::Found => "good",
        End::HoldsAtHighest | End::Time | End::NotJudged | End::Open => "warn",
        End::FailsAtLowest => "bad",
    };
    let holds = format!("{unit}: holds {}{}", found.objective, doubt(found.highest));
    let mut cards = card("Highest", level(found.highest), &holds, kind);
    let fails = match found.next_above {
        Some(_) => format!("{unit}: fails{}", doubt(found.next_above)),
        None => "no level above was tried".to_owned(),
    };
    cards.push(card("Next above", level(found.next_above), &fails, ""));
    cards.push(card("Next below", level(found.next_below), &format!("{unit}: the next that was tried"), ""));
    let confidence = found.confidence.map_or_else(
        || "–".to_owned(),
        |confidence| format!("{} %", number((1000.0 * confidence).floor() / 10.0)),
    );
    cards.push(card("Confidence", Markup::text(&confidence), "that the limit is between the two", ""));
    if let Some(limit) = found.limit {
        cards.push(card("Limit", Markup::text(&number(limit.at)), &interval(limit), ""));
    }
    cards.push(card("Runs", Markup::text(&find.runs.len().to_string()), &duration(find.took_s), ""));
    all.push(Markup::element("div", &[("class", "cards")], cards));
    all
}

fn interval(limit: Estimate) -> String {
    format!("{} to {} with 90 %, by all runs near it", number(limit.low), number(limit.high))
}

fn curve(found: &Found) -> Markup {
    let mut all = Markup::default();
    let note = "Medians over the runs of each level, both axes on a scale of ratios. Pale levels fail, or are in doubt: further \
                runs may say the opposite. A probe is one to three runs of a level.";
    all.push(Markup::with_text("p", &[("class", "note")], note));
    if let Some(picture) = rungs::curve(found) {
        all.push(Markup::element("div", &[("class", "scroll")], picture.on_page(true)));
    }
    let columns = [
        figures("level"),
        words("Verdict"),
        figures("transactions/s"),
        figures("p50 ms"),
        figures("p99 ms"),
        words("Over the limit"),
        figures("probes held"),
        words("Reason"),
    ];
    all.push(table("", &columns, found.curve.iter().map(row).collect()));
    all
}

fn row(rung: &Rung) -> Vec<Markup> {
    let kind = match rung.holds {
        Some(true) if rung.certain => "good",
        Some(false) if rung.certain => "bad",
        _ => "warn",
    };
    let thin = if rung.is_thin { "~" } else { "" };
    let p99 = rung.p99_ms.map_or_else(|| "–".to_owned(), |p99| format!("{thin}{}", number(p99)));
    let share = |over: &Over| {
        let [share, low, high, allowed] =
            [over.share, over.low, over.high, over.allowed].map(|of| number(100.0 * of));
        format!("{share} % ({low} to {high}), allowed {allowed} %")
    };
    vec![
        Markup::text(&bare_level(rung.level)),
        pill(kind, verdict(rung)),
        Markup::text(&number(rung.tps)),
        Markup::text(&number(rung.p50_ms)),
        Markup::text(&p99),
        Markup::text(&rung.over.iter().map(share).collect::<Vec<_>>().join("; ")),
        Markup::text(&format!("{} of {}", rung.held, rung.probes)),
        Markup::text(&joined([&rung.why, &rung.doubt])),
    ]
}

fn runs(find: &Find) -> Markup {
    let columns = [
        figures("run"),
        figures("level"),
        figures("probe"),
        words("Alone"),
        figures("transactions/s"),
        words("Objectives"),
        figures("growth s/s"),
        words("Result"),
        words("Note"),
    ];
    table("", &columns, find.runs.iter().map(run).collect())
}

fn run(of: &RunOfFind) -> Vec<Markup> {
    let kind = match of.verdict {
        RunVerdict::Holds => "good",
        RunVerdict::Fails => "bad",
        RunVerdict::InDoubt | RunVerdict::NotJudged => "warn",
    };
    let alone = pill(kind, of.verdict.words());
    let busy = match (of.busy, of.probe) {
        (true, Some(_)) => "the machine was busy",
        (true, None) => "busy machine, repeated",
        (false, _) => "",
    };
    vec![
        Markup::text(&of.number.to_string()),
        Markup::text(&bare_level(of.level)),
        Markup::text(&of.probe.map_or_else(|| "–".to_owned(), |probe| probe.to_string())),
        alone,
        Markup::text(&number(of.tps)),
        Markup::text(&of.values.join(", ")),
        Markup::text(&of.growth.map_or_else(|| "–".to_owned(), |growth| format!("{growth:.4}"))),
        Markup::with_text("a", &[("href", &of.file)], &of.file),
        Markup::text(&joined([busy, &of.why])),
    ]
}

fn setup(find: &Find) -> Markup {
    let text = |name: &str, value: &str| (name.to_owned(), Markup::text(value));
    let found = &find.find;
    let [lowest, highest] = found.range;
    let mut all = pairs(
        "Search",
        vec![
            text("Objectives", &found.objective),
            text("Mode", found.mode),
            text("Range", &format!("{} to {}", bare_level(lowest), level_in_words(found, highest))),
            text("Resolution", &format!("{} %", number(100.0 * found.resolution))),
            text("Database", &find.reload),
            text("Time so far", &duration(find.took_s)),
        ],
    );
    all.push(pairs("Plan", find.plan.iter().map(|(key, value)| text(key, value)).collect()));
    all.push(environment(&find.environment));
    Markup::element("div", &[("class", "columns")], all)
}
