//! The documents of a disclosure: an executive summary and the full report, for paper. They have no script.

mod chapters;
mod charts;

use super::markup::{Markup, figures, named_table, pairs, table, words};
use super::single::card;
use super::{Section, frame};
use crate::disclosure::{Disclosure, Gap, Paper, Priced};
use crate::figures::{P90, count, duration, moment, nopm, number, percent, plural, type_name};
use crate::findings::shown_types;
use crate::model::{Latency, RunResult};
use crate::observed::checkpoints;
use chapters::chapters;
use lydite_tpcc::sizing::Prices;

/// Style of both documents, for each paper.
const A4: &str =
    concat!(include_str!("../plot.css"), include_str!("../disclosure.css"), "@page { size: A4; }\n");
const LETTER: &str =
    concat!(include_str!("../plot.css"), include_str!("../disclosure.css"), "@page { size: letter; }\n");

/// Sentence of both documents. The standard's own unit belongs to audited results and is never named.
const DISCLAIMER: &str = "A rehearsal of a disclosure of the TPC-C standard, revision 5.11, not an audited TPC result. \
                          NOPM counts new orders per minute and must not be compared with published TPC-C results.";

/// Renders the executive summary.
#[must_use]
pub fn render_executive_summary(of: &Disclosure<'_>) -> String {
    let mut sections = vec![
        Section::first("Summary", head(of, "Executive summary")),
        missing(&of.gaps()),
        Section::new("system", "System", "System", system(of)),
        Section::new("numbers", "Numbers", "Numerical quantities", quantities(of)),
    ];
    if let Some(Priced { prices, .. }) = of.prices {
        sections.push(Section::new("prices", "Prices", "Price sheet", price_sheet(prices)));
    }
    document(of, "Executive summary", sections)
}

/// Renders the full disclosure report.
#[must_use]
pub fn render_full_disclosure(of: &Disclosure<'_>) -> String {
    let chapters = chapters(of);
    let mut first = head(of, "Full disclosure report");
    let entries = chapters.iter().map(|chapter| {
        let place = format!("#{}", chapter.id);
        let link = Markup::with_text("a", &[("href", &place)], chapter.heading.unwrap_or_default());
        Markup::element("li", &[], link)
    });
    let contents = Markup::element("ol", &[("class", "contents")], entries.collect());
    let mut sections = vec![Section::first("Summary", Markup::default()), missing(&of.gaps())];
    first.push(contents);
    sections[0].content = first;
    sections.extend(chapters);
    document(of, "Full disclosure report", sections)
}

fn document(of: &Disclosure<'_>, name: &str, sections: Vec<Section>) -> String {
    let mut footer = Markup::with_text("p", &[], DISCLAIMER);
    footer.push(Markup::with_text("p", &[], &format!("Made by Lydite {}.", env!("CARGO_PKG_VERSION"))));
    let title = format!("{name}: {}", subject(of.result));
    let style = match of.paper {
        Paper::A4 => A4,
        Paper::Letter => LETTER,
    };
    frame(&title, sections, (style, Markup::default()), footer, Markup::default())
}

/// Returns the database in words.
fn subject(r: &RunResult) -> String {
    let database = format!("{} {}", r.target.kind, r.target.version);
    r.label.as_ref().map_or_else(|| database.trim().to_owned(), |label| format!("{label}: {database}"))
}

/// Returns the head of a document: title, and the primary metrics.
fn head(of: &Disclosure<'_>, name: &str) -> Markup {
    let r = of.result;
    let mut all = Markup::with_text("h1", &[], name);
    let mut lead = subject(r);
    if !r.window.start.is_empty() {
        lead = format!("{lead} · measured {}", moment(&r.window.start));
    }
    all.push(Markup::with_text("p", &[("class", "lead")], &lead));
    all.push(Markup::with_text("p", &[("class", "note")], DISCLAIMER));
    let warehouses = r.warehouses().unwrap_or(0);
    let mut cards = card(
        "NOPM",
        Markup::text(&nopm(r.nopm)),
        &format!("new orders per minute, {}", plural(warehouses, "warehouse")),
        "main",
    );
    cards.push(match of.prices {
        Some(Priced { prices, years }) => card(
            "Price per NOPM",
            Markup::text(&format!("{} {}", prices.currency, prices.per_nopm)),
            &format!("{} of maintenance included", plural(years.into(), "year")),
            "",
        ),
        None => card("Price per NOPM", Markup::text("–"), "not priced", "warn"),
    });
    cards.push(match of.prices {
        Some(Priced { prices, .. }) => card(
            "Total price",
            Markup::text(&format!("{} {}", prices.currency, count(prices.total))),
            &plural(prices.parts.len() as u64, "part"),
            "",
        ),
        None => card("Total price", Markup::text("–"), "not priced", "warn"),
    });
    cards.push(card("Availability", Markup::text("–"), "the dates of the parts are not known", "warn"));
    all.push(Markup::element("div", &[("class", "cards")], cards));
    all
}

/// Returns the section of everything that is missing.
fn missing(gaps: &[Gap]) -> Section {
    let rows = gaps.iter().map(|gap| {
        // A command ends at the first comma with a space.
        let is_command = gap.supply.starts_with("lydite ");
        let end = gap.supply.find(", ").filter(|_| is_command).unwrap_or(gap.supply.len());
        let (first, rest) = gap.supply.split_at(end);
        let mut supply = Markup::with_text(if is_command { "code" } else { "span" }, &[], first);
        supply.push(Markup::text(rest));
        vec![Markup::text(&gap.missing), Markup::text(&gap.clause), supply]
    });
    let columns = [words("Missing"), words("Clause"), words("Supplied by")];
    let mut all = Markup::with_text(
        "p",
        &[],
        &format!("{} would be missing in a disclosure for an audit:", plural(gaps.len() as u64, "thing")),
    );
    all.push(Markup::element("div", &[("class", "gaps")], table("", &columns, rows.collect())));
    Section::new("missing", "Missing", "Still missing", all)
}

/// The system in a few lines.
fn system(of: &Disclosure<'_>) -> Markup {
    let r = of.result;
    let text = |name: &str, value: String| (name.to_owned(), Markup::text(&value));
    let plan = &r.plan;
    let known = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), count);
    let mut rows = vec![
        text("Database", format!("{} {}", r.target.kind, r.target.version)),
        text("Isolation", plan.isolation.clone().unwrap_or_else(|| "–".to_owned())),
        text("Warehouses", known(r.warehouses())),
        text("Terminals", known(plan.terminals)),
        text("Sessions", known(plan.sessions)),
        text("Nodes", r.node_count().map_or_else(|| "1".to_owned(), |nodes| nodes.to_string())),
        text(
            if r.target.embedded { "Machine of database and driver" } else { "Machine of the driver" },
            format!("{}, {} cores, {}", r.host.cpu, r.host.cores, crate::figures::bytes(r.host.memory_bytes)),
        ),
        text("Operating system", format!("{}, kernel {}", r.host.os, r.host.kernel)),
    ];
    if let Some(space) = &of.space {
        rows.push(text("Space for 60 days", space.space.sixty_day_bytes.to_string()));
    }
    if let Some(audit) = of.audit {
        rows.push(text("ACID tests", audit.acid_counts()));
    }
    pairs("", rows)
}

/// Returns the times that terminals saw: for a deferred Delivery, those of its interactive part.
fn response(key: &str, r: &RunResult) -> Option<Latency> {
    let of = r.transactions.get(key)?;
    Some(of.interactive_ms.unwrap_or(of.latency_ms))
}

/// The numerical quantities of clause 8.1.
fn quantities(of: &Disclosure<'_>) -> Markup {
    let r = of.result;
    // Latencies are without the display delay, and terminals see it (clause 6.6.3.7).
    let delay_ms = r.terminals.as_ref().map_or(0.0, |terminals| terminals.display_delay_ms);
    let in_seconds = |ms: Option<f64>, more: f64| {
        ms.map_or_else(|| "–".to_owned(), |ms| format!("{:.3}", (ms + more) / 1e3))
    };
    let mut rows: Vec<Vec<Markup>> = shown_types(r)
        .into_iter()
        .map(|(key, t)| {
            let seen = response(key, r).unwrap_or_default();
            let seconds = |ms: Option<f64>| in_seconds(ms, delay_ms);
            let p90 = match P90.is_thin(t.completed()) {
                true => format!("~{}", seconds(seen.p90)),
                false => seconds(seen.p90),
            };
            let wait = |of: fn(&crate::model::Pacing) -> f64| {
                let pacing = r.pacing.as_ref().and_then(|pacing| pacing.get(key));
                pacing.map_or_else(|| "–".to_owned(), |pacing| format!("{:.2}", of(pacing)))
            };
            let cells = [
                type_name(key).to_owned(),
                count(t.completed()),
                percent(t.share_percent),
                seconds(seen.mean),
                p90,
                seconds(seen.max),
                wait(|of| of.keying_min_s),
                wait(|of| of.keying_mean_s),
                wait(|of| of.think_mean_s),
                wait(|of| of.think_max_s),
            ];
            cells.iter().map(|cell| Markup::text(cell)).collect()
        })
        .collect();
    if let Some(was) = r.terminals.as_ref().and_then(|terminals| terminals.was.as_ref()) {
        let menu = &was.menu_ms;
        let times = [menu.mean, menu.p90, menu.max].map(|ms| in_seconds(ms, 0.0));
        let dashes = std::iter::repeat_n("–".to_owned(), 4);
        let cells =
            ["Menu".to_owned(), "–".to_owned(), "–".to_owned()].into_iter().chain(times).chain(dashes);
        rows.push(cells.map(|cell| Markup::text(&cell)).collect());
    }
    let columns = [
        words("Transaction"),
        figures("completed"),
        figures("mix %"),
        figures("average s"),
        figures("90th % s"),
        figures("greatest s"),
        figures("keying least s"),
        figures("keying average s"),
        figures("think average s"),
        figures("think greatest s"),
    ];
    let mut all = table("Response times at the terminal, and waits", &columns, rows);
    if delay_ms > 0.0 {
        let note = format!(
            "Response times of transactions have {} s of display delay (clause 6.6.3.7); the graphs are without it.",
            number(delay_ms / 1e3)
        );
        all.push(Markup::with_text("p", &[("class", "note")], &note));
    }
    if r.transactions.values().any(|of| P90.is_thin(of.completed())) {
        let note = "~ too few transactions for a sure 90th percentile.";
        all.push(Markup::with_text("p", &[("class", "note")], note));
    }
    all.push(deferred_line(r));
    let text = |name: &str, value: String| (name.to_owned(), Markup::text(&value));
    let begun = checkpoints(r)
        .map_or_else(|| "not reported by the database".to_owned(), |all| count(all.len() as u64));
    let completed = r.transactions.values().map(|t| t.completed()).sum();
    all.push(pairs(
        "Test",
        vec![
            text("Ramp-up", duration(r.window.warmup_s)),
            text("Measurement interval", duration(r.window.measured_s)),
            text("Checkpoints in the interval", begun),
            text("Transactions completed, all types", count(completed)),
            text("New orders per minute", nopm(r.nopm)),
            text(
                "New orders per minute and warehouse",
                number(r.warehouses().filter(|count| *count > 0).map(|count| r.nopm / count as f64)),
            ),
        ],
    ));
    all
}

/// The deferred part of Delivery, in one line.
fn deferred_line(r: &RunResult) -> Markup {
    let Some(of) = r.transactions.get("delivery").filter(|of| of.interactive_ms.is_some()) else {
        return Markup::default();
    };
    let words = format!(
        "Delivery's times are those of its answer that it was queued. Its deferred part took {} ms on average, {} ms at \
         the 90th percentile, {} ms at most.",
        number(of.latency_ms.mean),
        number(of.latency_ms.p90),
        number(of.latency_ms.max)
    );
    Markup::with_text("p", &[("class", "note")], &words)
}

/// The parts with their prices.
fn price_sheet(prices: &Prices) -> Markup {
    let currency = &prices.currency;
    let columns = [
        ("Part".to_owned(), false),
        ("count".to_owned(), true),
        (format!("price, {currency}"), true),
        (format!("maintenance, {currency}"), true),
    ];
    let mut rows: Vec<Vec<Markup>> = prices
        .parts
        .iter()
        .map(|part| {
            [
                part.part.clone(),
                count(u64::from(part.count)),
                part.price_cents.to_string(),
                part.maintenance_cents.to_string(),
            ]
            .iter()
            .map(|cell| Markup::text(cell))
            .collect()
        })
        .collect();
    let sum = ["Total, rounded up".to_owned(), String::new(), count(prices.total), String::new()];
    rows.push(sum.iter().map(|cell| Markup::text(cell)).collect());
    let mut all = named_table("All pieces and years, less discounts", &columns, rows);
    let each = format!("Price per NOPM: {currency} {}, rounded up (clause 7.1).", prices.per_nopm);
    all.push(Markup::with_text("p", &[], &each));
    all
}
