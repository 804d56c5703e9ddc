//! The page of a comparison in turns: the verdict, the paired runs, the interval over the experiment, the settings in which
//! the sides differ, and the numbers that changed most.

use super::experiment::{environment, footer, warnings};
use super::markup::{Markup, figures, pairs, pill, table, words};
use super::single::card;
use super::theme::{STYLE, THEME};
use super::turns;
use super::{Section, frame};
use crate::Verdict;
use crate::ab::{
    Ab, Change, GROUPS, Pair, Role, RunOfPair, Variant, ratio_of, sentence, times, verdict_on_b,
};
use crate::figures::{duration, number, plural};
use crate::observed::with_unit;

/// Renders the page of a comparison in turns.
#[must_use]
pub fn render_ab(ab: &Ab) -> String {
    let title = ab.label.clone().unwrap_or_else(|| "A and B in turns".to_owned());
    let sections = vec![
        Section::first("Summary", summary(ab, &title)),
        Section::new("pairs", "Pairs", "Runs in pairs", drawn_pairs(ab)),
        Section::new("course", "Course", "The interval over the experiment", course(ab)),
        Section::new("differences", "Differences", "Settings in which the sides differ", differences(ab)),
        Section::new("changes", "Changes", "Where the difference is", changes(ab)),
        Section::new("setup", "Setup", "How it was run", setup(ab)),
    ];
    frame(&title, sections, (&[STYLE], Markup::fixed(THEME)), footer(), Markup::default())
}

fn summary(ab: &Ab, title: &str) -> Markup {
    let mut all = Markup::with_text("h1", &[], title);
    all.push(warnings(&ab.warnings));
    all.push(Markup::with_text("p", &[("class", "lead")], &format!("{}.", sentence(ab))));
    let judged = &ab.ab;
    let kind = match judged.verdict {
        Verdict::Better => "good",
        Verdict::Worse => "bad",
        Verdict::Undecided | Verdict::NotJudged => "warn",
    };
    let mut cards = card("Verdict", Markup::text(verdict_on_b(judged.verdict)), &ab.metric.title, kind);
    let interval = match judged.low.zip(judged.high) {
        Some((low, high)) => format!("{} to {}", times(low), times(high)),
        None => "no interval yet".to_owned(),
    };
    let ratio = judged.ratio.map_or_else(|| "–".to_owned(), times);
    cards.push(card("B / A", Markup::text(&ratio), &interval, ""));
    let more = match judged.more_pairs {
        Some(more) => format!("about {more} more would decide"),
        None => format!("of at most {}", ab.most_pairs),
    };
    cards.push(card("Pairs", Markup::text(&judged.pairs.to_string()), &more, ""));
    for (letter, of) in [("A", &ab.sides.a), ("B", &ab.sides.b)] {
        let value = Markup::text(&number(of.median));
        let note = format!("{}, median {}", ab.metric.title, ab.metric.unit);
        cards.push(card(letter, value, note.trim(), ""));
    }
    all.push(Markup::element("div", &[("class", "cards")], cards));
    all
}

fn drawn_pairs(ab: &Ab) -> Markup {
    let mut all = Markup::default();
    let note = "Each pair is two runs one after the other. Of two pairs one begins with A and the other with B. Pale pairs do \
                not count: the first warms up the machine, and pairs on a busy machine are repeated.";
    all.push(Markup::with_text("p", &[("class", "note")], note));
    if let Some(picture) = turns::pairs(ab) {
        all.push(Markup::element("div", &[("class", "scroll")], picture.on_page(true)));
    }
    let columns = [
        figures("pair"),
        words("Use"),
        words("First"),
        figures("A"),
        figures("B"),
        figures("B/A"),
        words("Results"),
        words("Note"),
    ];
    let rows = ab.pairs.iter().map(|pair| row(pair, &ab.metric.unit)).collect();
    all.push(table("", &columns, rows));
    all
}

fn row(pair: &Pair, unit: &str) -> Vec<Markup> {
    let kind = match pair.role {
        Role::Counted if pair.busy => "warn",
        Role::Counted => "good",
        Role::WarmUp | Role::Busy => "none",
        Role::Incomplete => "bad",
    };
    let file = |run: &RunOfPair| match run.value {
        Some(_) => Markup::with_text("a", &[("href", &run.file)], &run.file),
        None => Markup::text("–"),
    };
    let mut files = file(&pair.a);
    files.push(Markup::text(" "));
    files.push(file(&pair.b));
    let notes = [("A: ", &pair.a), ("B: ", &pair.b)];
    let notes = notes.iter().filter(|(_, run)| !run.note.is_empty());
    let mut notes: Vec<String> = notes.map(|(side, run)| format!("{side}{}", run.note)).collect();
    if pair.busy && pair.role == Role::Counted {
        notes.push("the machine was busy".to_owned());
    }
    vec![
        Markup::text(&pair.number.to_string()),
        pill(kind, pair.role.words()),
        Markup::text(&pair.first.to_uppercase()),
        Markup::text(&with_unit(pair.a.value, unit)),
        Markup::text(&with_unit(pair.b.value, unit)),
        Markup::text(&pair.ratio.map_or_else(|| "–".to_owned(), times)),
        files,
        Markup::text(&notes.join("; ")),
    ]
}

fn course(ab: &Ab) -> Markup {
    let Some(picture) = turns::course(ab) else { return Markup::default() };
    let note = format!(
        "The ratio B / A of all pairs so far with its interval: Student's over the logarithms of the pairs. Thick intervals \
         are looks of the plan, which may end the experiment as soon as one excludes 1; the errors of all looks sum to {} %. \
         Thin ones decide nothing. An arrow marks an interval that goes on beyond the picture; the table has its ends.",
        number(100.0 * ab.ab.error_of_all)
    );
    let mut all = Markup::with_text("p", &[("class", "note")], &note);
    all.push(Markup::element("div", &[("class", "scroll")], picture.on_page(true)));
    let columns =
        [figures("pairs"), figures("B/A"), figures("from"), figures("to"), figures("error %"), words("Look")];
    let rows = ab.course.iter().map(|look| {
        vec![
            Markup::text(&look.pairs.to_string()),
            Markup::text(&times(look.ratio)),
            Markup::text(&times(look.low)),
            Markup::text(&times(look.high)),
            Markup::text(&number(100.0 * look.error)),
            Markup::text(if look.decides { "yes" } else { "no" }),
        ]
    });
    all.push(table("", &columns, rows.collect()));
    all
}

fn differences(ab: &Ab) -> Markup {
    if ab.differences.is_empty() {
        return Markup::with_text("p", &[], "None: both sides are the same.");
    }
    let or_unset = |text: &str| Markup::text(if text.is_empty() { "–" } else { text });
    let rows = ab.differences.iter();
    let rows = rows.map(|of| vec![Markup::text(&of.name), or_unset(&of.a), or_unset(&of.b)]).collect();
    table("", &[words("Setting"), words("A"), words("B")], rows)
}

fn changes(ab: &Ab) -> Markup {
    let mut all = Markup::default();
    for (group, title) in GROUPS {
        let of: Vec<&Change> = ab.changes.iter().filter(|change| change.group == group).collect();
        if of.is_empty() {
            continue;
        }
        let row = |change: &&Change| {
            let mean = |mean: f64| Markup::text(&with_unit(Some(mean), &change.unit));
            vec![Markup::text(&change.name), mean(change.a), mean(change.b), Markup::text(&ratio_of(change))]
        };
        let columns = [words("Name"), figures("A"), figures("B"), figures("B/A")];
        all.push(table(title, &columns, of.iter().map(row).collect()));
    }
    if !all.is_empty() {
        let note = "Means over the runs of pairs that count, and 99 % intervals of the ratio. Of a hundred numbers that did not \
                    change, one is listed by chance.";
        all.push(Markup::with_text("p", &[("class", "note")], note));
    }
    all
}

fn setup(ab: &Ab) -> Markup {
    let text = |name: &str, value: &str| (name.to_owned(), Markup::text(value));
    let limit = match ab.most_time_s {
        Some(time) => format!("at most {}, or {}", plural(ab.most_pairs as u64, "pair"), duration(time)),
        None => format!("at most {}", plural(ab.most_pairs as u64, "pair")),
    };
    let mut all = pairs(
        "Experiment",
        vec![
            text("Metric", &ab.metric.name),
            text("Length", &limit),
            text("Time so far", &duration(ab.took_s)),
            text("Database", &ab.reload),
            text("Seed of the order", &ab.order_seed.to_string()),
        ],
    );
    for (letter, of) in [("A", &ab.sides.a), ("B", &ab.sides.b)] {
        all.push(pairs(letter, side(of)));
    }
    all.push(environment(&ab.environment));
    Markup::element("div", &[("class", "columns")], all)
}

fn side(of: &Variant) -> Vec<(String, Markup)> {
    let plan = of.plan.iter().map(|(key, value)| (key.clone(), Markup::text(value)));
    let server = of.server.iter().map(|setting| ("server".to_owned(), Markup::text(setting)));
    let before = of.before.iter().map(|command| ("before".to_owned(), Markup::text(command)));
    plan.chain(server).chain(before).collect()
}
