//! The documents of a disclosure: an executive summary and the full report, for paper. They have no script.

mod chapters;
mod charts;
mod parts;

use super::markup::{Markup, table, words};
use super::single::card;
use super::theme::STYLE;
use super::{Section, frame};
use crate::disclosure::{Disclosure, Gap, Paper, Priced};
use crate::figures::{count, moment, nopm, plural};
use crate::model::RunResult;
use chapters::chapters;
use parts::{price_sheet, quantities, system};

/// Style of both documents.
const PAPER: &str = include_str!("../disclosure.css");

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
    let size = match of.paper {
        Paper::A4 => "@page { size: A4; }\n",
        Paper::Letter => "@page { size: letter; }\n",
    };
    frame(&title, sections, (&[STYLE, PAPER, size], Markup::default()), footer, Markup::default())
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
