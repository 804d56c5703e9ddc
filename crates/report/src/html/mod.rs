//! The HTML report: one file that opens from disk, loads nothing, and can be sent to a colleague.
//!
//! The page is whole without its script: words, cards and tables are plain HTML. The script (built from `web/`,
//! embedded from `assets/`) draws the charts from the data that the page carries.

mod ab;
mod audit;
mod chart;
mod connections;
mod controls;
mod data;
mod disclosure;
mod environment;
mod experiment;
mod faults;
mod find;
mod groups;
mod load;
mod loaded;
mod markup;
mod metrics;
mod observed;
mod overlay;
mod phases;
mod pictures;
mod plot;
mod range;
mod rungs;
mod scatter;
mod single;
mod standard;
mod sweep;
mod theme;
mod ticks;
mod turns;

use crate::findings::disclaimer;
use crate::metrics::{Event, Metrics, OfEvents};
use crate::model::RunResult;
use crate::names::names;
use data::{PageData, RunData};
use markup::Markup;
use metrics::MetricsData;
use std::path::PathBuf;

pub use ab::render_ab;
pub use audit::render_audit;
pub use disclosure::{render_executive_summary, render_full_disclosure};
pub use find::render_find;
pub use load::render_load;
pub use pictures::render_pictures;
pub use sweep::render_sweep;

const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");

/// Policy of the page: it may run its own script and style and load nothing, whatever text a result has.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/// Renders the report: one result in full, several as an overlay, without results a note. Its metrics are those that
/// the results have without any flags.
#[must_use]
pub fn render_html(results: &[RunResult]) -> String {
    render_report(results, &[], &Metrics::without_flags(results))
}

/// Renders the report of results that may be named by their `files`, with metrics from the user's flags.
#[must_use]
pub fn render_report(results: &[RunResult], files: &[PathBuf], metrics: &Metrics) -> String {
    match results {
        [] => {
            let nothing = Markup::with_text("p", &[], "There are no results to report.");
            let data = data_of(Vec::new(), metrics, &[], results);
            page("No results", vec![Section::first("Summary", nothing)], &data, results)
        }
        [result] => {
            let names = [result.label.clone().unwrap_or_else(|| result.target.kind.clone())];
            let run = RunData::new(result, &names[0]).with_observed(result);
            let sections = with_metrics(single::sections(result, &run), metrics, &names);
            let data = data_of(vec![run], metrics, &names, results);
            page(&single::title(result), sections, &data, results)
        }
        several => {
            let names = names(several, files);
            let runs = several.iter().zip(&names).map(|(result, name)| RunData::new(result, name)).collect();
            let sections = with_metrics(overlay::sections(several, &names, files), metrics, &names);
            let data = data_of(runs, metrics, &names, results);
            page(&format!("{} runs", several.len()), sections, &data, results)
        }
    }
}

fn data_of(runs: Vec<RunData>, metrics: &Metrics, names: &[String], results: &[RunResult]) -> PageData {
    // A fault of a short run is marked too, although no metric has it.
    let mut events: Vec<Event> = match results {
        [one] => crate::faults::events(one).into_iter().map(|(_, event)| event).collect(),
        _ => Vec::new(),
    };
    // Several runs have one time axis, so only the events of all of them can be marked.
    let in_all = |event: &Event| {
        let has = |of: &OfEvents| of.events.iter().any(|found| found.event == *event);
        metrics.events.len() == results.len() && metrics.events.iter().all(has)
    };
    let judged = metrics.events.first().map_or(&[][..], |of| &of.events);
    for found in judged.iter().filter(|found| in_all(&found.event)) {
        if !events.contains(&found.event) {
            events.push(found.event.clone());
        }
    }
    PageData { runs, metrics: MetricsData::new(metrics, results, names), events }
}

/// Returns the sections with that of the metrics, which comes after the summary.
fn with_metrics(mut sections: Vec<Section>, metrics: &Metrics, names: &[String]) -> Vec<Section> {
    let content = metrics::content(metrics, names);
    let heading = "Availability, scalability, balance of the nodes";
    sections.insert(sections.len().min(1), Section::new("metrics", "Metrics", heading, content));
    sections
}

/// A part of the page with a link in the navigation.
struct Section {
    id: &'static str,
    /// Name in the navigation.
    name: &'static str,
    heading: Option<&'static str>,
    content: Markup,
}

impl Section {
    fn new(id: &'static str, name: &'static str, heading: &'static str, content: Markup) -> Self {
        Self { id, name, heading: Some(heading), content }
    }

    /// Returns the first section, whose content has the heading of the page.
    fn first(name: &'static str, content: Markup) -> Self {
        Self { id: "summary", name, heading: None, content }
    }

    fn markup(self) -> Markup {
        let mut all = self.heading.map_or_else(Markup::default, |text| Markup::with_text("h2", &[], text));
        all.push(self.content);
        Markup::element("section", &[("id", self.id)], all)
    }
}

/// Returns the page of results: its sections, the data of its charts, and the script that draws them.
fn page(title: &str, sections: Vec<Section>, data: &PageData, results: &[RunResult]) -> String {
    let mut disclaimers: Vec<&str> = results.iter().map(disclaimer).collect();
    disclaimers.sort_unstable();
    disclaimers.dedup();
    let mut footer: Markup = disclaimers.iter().map(|text| Markup::with_text("p", &[], text)).collect();
    let standard = "TPC-C and tpmC are names for audited results of the Transaction Processing Performance Council. \
                    NOPM counts new orders per minute in the same way, but the rules of the standard were kept \
                    only as far as this page says. ";
    let method = "Latency is counted from when a transaction was due, retries and waiting included; percentiles come \
                  from full histograms; the warm-up is excluded from every number.";
    let standard = if results.iter().any(RunResult::is_tpcc) { standard } else { "" };
    footer.push(Markup::with_text("p", &[], &format!("{standard}{method}")));
    let has_picture = matches!(results, [one] if phases::has_picture(one));
    let styles: &[&'static str] = if has_picture { &[theme::PLOT] } else { &[] };
    page_with_footer(title, sections, (data, styles), footer)
}

/// Returns a page with the data of its charts, and the script that draws them. `styles` are added to the style of all
/// pages.
fn page_with_footer(
    title: &str,
    sections: Vec<Section>,
    (data, styles): (&PageData, &[&'static str]),
    mut footer: Markup,
) -> String {
    footer.push(Markup::with_text(
        "p",
        &[],
        &format!("Made by Lydite {}. Charts: Apache ECharts, Apache License 2.0.", env!("CARGO_PKG_VERSION")),
    ));
    let mut charts = Markup::data("data", data);
    charts.push(Markup::fixed("<script>"));
    charts.push(Markup::fixed(SCRIPT));
    charts.push(Markup::fixed("</script>"));
    // Hidden until the script shows it: without the script it would do nothing.
    let theme = Markup::fixed("<button type=\"button\" id=\"theme\" hidden>Theme</button>");
    frame(title, sections, (styles, theme), footer, charts)
}

/// Returns a whole page: head, navigation, content, footer, and `last` at the end of the body. `styles` are added to the
/// style of all pages; `theme` is the switch between light and dark.
fn frame(
    title: &str,
    sections: Vec<Section>,
    (styles, theme): (&[&'static str], Markup),
    footer: Markup,
    last: Markup,
) -> String {
    // Empty sections are left out, with their links.
    let sections: Vec<Section> = sections.into_iter().filter(|s| !s.content.is_empty()).collect();
    let mut head = Markup::fixed(concat!(
        "<meta charset=\"utf-8\">",
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
        "<meta name=\"color-scheme\" content=\"light dark\">",
        "<meta name=\"referrer\" content=\"no-referrer\">",
    ));
    let policy = [("http-equiv", "Content-Security-Policy"), ("content", POLICY)];
    head.push(Markup::element("meta", &policy, Markup::default()));
    head.push(Markup::with_text("title", &[], &format!("{title} – Lydite")));
    head.push(Markup::fixed("<style>"));
    head.push(Markup::fixed(STYLE));
    for style in styles {
        head.push(Markup::fixed(style));
    }
    head.push(Markup::fixed("</style>"));

    let links = sections.iter().map(|s| Markup::with_text("a", &[("href", &format!("#{}", s.id))], s.name));
    let mut bar = Markup::fixed("<span class=\"brand\">Lydite</span>");
    bar.push(Markup::element("nav", &[("aria-label", "Sections")], links.collect()));
    bar.push(theme);

    let mut content = Markup::element("div", &[("class", "bar")], bar);
    content.push(Markup::element("main", &[], sections.into_iter().map(Section::markup).collect()));
    content.push(Markup::element("footer", &[], footer));
    content.push(last);

    let mut html = Markup::element("head", &[], head);
    html.push(Markup::element("body", &[], content));
    format!("<!DOCTYPE html>\n{}\n", Markup::element("html", &[("lang", "en")], html).into_html())
}
