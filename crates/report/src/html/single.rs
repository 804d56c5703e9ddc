//! The page of one result: summary, time, latency, workload, correctness, rules, environment.

use super::Section;
use super::chart::Chart;
use super::connections;
use super::controls;
use super::data::RunData;
use super::environment;
use super::faults;
use super::loaded;
use super::markup::{Markup, figures, pill, table, words};
use super::observed;
use super::standard;
use crate::figures::{P50, P90, P99, P999, THIN_NOTE, count, duration, moment, number, percent, type_name};
use crate::findings::{Weight, findings_with_losses, mean_queue_and_service_ms, shown_types};
use crate::model::{Latency, RunResult, TransactionResult};
use crate::numbers::latency::OF_LATENCY;
use crate::numbers::types::OF_TYPE;
use crate::numbers::{Group, Number};
use crate::observed::checkpoints;
use crate::phases;
use crate::table::{checks_in_words, plan_in_words};

/// Returns the title of the page.
pub(super) fn title(r: &RunResult) -> String {
    let target = format!("{} {}", r.target.kind, r.target.version);
    let target = if target.trim().is_empty() { "Benchmark result" } else { target.trim() };
    r.label.as_ref().map_or_else(|| target.to_owned(), |label| format!("{label}: {target}"))
}

/// Returns the content of the page.
pub(super) fn sections(r: &RunResult, run: &RunData) -> Vec<Section> {
    vec![
        Section::first("Summary", summary(r)),
        Section::new("time", "Over time", "Over time", over_time(r, run)),
        Section::new("phases", "Phases", "Phases", super::phases::content(r)),
        Section::new("server", "Server", "What the server did", observed::content(r, &run.observed)),
        Section::new("faults", "Faults", "Faults", faults::content(r)),
        Section::new("latency", "Latency", "Latency", latency(r, run)),
        Section::new("workload", "Workload", "Workload as it was", workload(r, run)),
        Section::new("troubles", "Aborts", "Aborts and errors", troubles(r)),
        Section::new("checks", "Checks", "Is the data right?", standard::checks(r)),
        Section::new("rules", "Rules", "Rules of the standard", standard::rules(r)),
        Section::new("load", "Load", "The load before the run", load(r)),
        Section::new("environment", "Environment", "Environment", environment::content(r)),
    ]
}

/// Returns phases, tables and batches of the load, if the run made it.
fn load(r: &RunResult) -> Markup {
    let Some(load) = &r.load else { return Markup::default() };
    [loaded::phases(load), loaded::tables(load), loaded::batches(load)].into_iter().collect()
}

fn summary(r: &RunResult) -> Markup {
    let mut all = Markup::with_text("h1", &[], &title(r));
    let mut lead = plan_in_words(r);
    if !r.window.start.is_empty() {
        lead = format!("{lead} · {}", moment(&r.window.start));
    }
    let measured = format!(
        "measured {} after {} of warm-up",
        duration(r.window.measured_s),
        duration(r.window.warmup_s)
    );
    all.push(Markup::with_text("p", &[("class", "lead")], &format!("{lead} · {measured}")));
    all.push(cards(r));
    all.push(findings_list(r));
    all.push(requirements(r));
    all.push(transactions_table(r));
    all
}

/// The requirements of the plan, with their verdicts.
pub(super) fn requirements(r: &RunResult) -> Markup {
    if r.requirements.is_empty() {
        return Markup::default();
    }
    let rows = r.requirements.iter().map(|requirement| {
        let verdict = if requirement.met { pill("good", "met") } else { pill("bad", "not met") };
        vec![Markup::text(&requirement.text), verdict, Markup::text(&requirement.measured())]
    });
    let columns = [words("Requirement"), words("Verdict"), words("Measured")];
    Markup::element(
        "div",
        &[("class", "narrow")],
        table("Requirements of the plan", &columns, rows.collect()),
    )
}

/// A number with its label and a note.
pub(super) fn card(label: &str, value: Markup, note: &str, kind: &'static str) -> Markup {
    let mut all = Markup::with_text("div", &[("class", "label")], label);
    all.push(Markup::element("div", &[("class", "value")], value));
    all.push(Markup::with_text("div", &[("class", "note")], note));
    Markup::element("div", &[("class", &format!("card {kind}"))], all)
}

fn cards(r: &RunResult) -> Markup {
    let mut all: Markup = number_cards(r, Group::Throughput).collect();
    if let Some((key, t)) = shown_types(r).first() {
        let name = type_name(key);
        let l = t.latency_ms;
        all.push(card(
            &format!("{name} latency"),
            with_unit(&P50.text(t.completed(), l.p50), "ms"),
            &format!(
                "median; p90 {} ms, p99 {} ms",
                P90.text(t.completed(), l.p90),
                P99.text(t.completed(), l.p99)
            ),
            "",
        ));
    }
    let held = r.checks.iter().filter(|c| c.ok).count();
    let (value, note, kind) = match (r.checks.len(), held) {
        (0, _) => ("–".to_owned(), "consistency was not checked".to_owned(), "warn"),
        (n, h) if n == h && r.any_conditions_cut_short() => (h.to_string(), checks_in_words(r), "warn"),
        (n, h) if n == h => (format!("{h}/{n}"), "checks hold".to_owned(), "good"),
        (n, h) => (format!("{h}/{n}"), format!("checks hold, {} fail", n - h), "bad"),
    };
    all.push(card("Consistency", Markup::text(&value), &note, kind));
    for card in number_cards(r, Group::Other) {
        all.push(card);
    }
    Markup::element("div", &[("class", "cards")], all)
}

/// Returns the cards of the numbers of a group. The first of the throughput is the main one.
fn number_cards(r: &RunResult, group: Group) -> impl Iterator<Item = Markup> {
    let shown = Number::in_group(group).filter(|number| (number.is_shown)(r));
    let with_cards = shown.filter_map(|number| Some((number, number.card.as_ref()?)));
    with_cards.enumerate().map(move |(place, (number, of))| {
        let value = match of.unit {
            "" => Markup::text(&number.text_of(r)),
            unit => with_unit(&number.text_of(r), unit),
        };
        let kind = match (group, place) {
            _ if (of.warns)(r) => "warn",
            (Group::Throughput, 0) => "main",
            _ => "",
        };
        card(of.label, value, &(of.note)(r), kind)
    })
}

fn with_unit(value: &str, unit: &str) -> Markup {
    let mut all = Markup::text(value);
    all.push(Markup::with_text("small", &[], unit));
    all
}

/// The findings of the result.
pub(super) fn findings_list(r: &RunResult) -> Markup {
    let items: Markup = findings_with_losses(r)
        .map(|finding| {
            let (class, word) = match finding.weight {
                Weight::Failure => ("bad", "Failure"),
                Weight::Warning => ("warn", "Note"),
            };
            let mut item = pill(class, word);
            item.push(Markup::with_text("span", &[], &finding.text));
            Markup::element("li", &[], item)
        })
        .collect();
    if items.is_empty() { items } else { Markup::element("ul", &[("class", "findings")], items) }
}

fn transactions_table(r: &RunResult) -> Markup {
    if r.transactions.is_empty() {
        return Markup::default();
    }
    let counts = |leads| OF_TYPE.iter().filter(move |count| count.on_page && count.leads == leads);
    let rows = shown_types(r).into_iter().map(|(key, t)| {
        let mut cells = vec![type_name(key).to_owned()];
        cells.extend(counts(true).map(|count| (count.text)(r, t)));
        cells.extend(times(t.completed(), &t.latency_ms));
        cells.extend(counts(false).map(|count| (count.text)(r, t)));
        cells.iter().map(|c| Markup::text(c)).collect()
    });
    let columns: Vec<_> = std::iter::once(words("Transaction"))
        .chain(counts(true).map(|count| figures(count.head)))
        .chain(OF_LATENCY.iter().map(|latency| figures(latency.head)))
        .chain(counts(false).map(|count| figures(count.head)))
        .collect();
    let mut all = table("Transactions; latency in ms from due to answered", &columns, rows.collect());
    all.push(thin_note(r));
    all
}

/// Returns mean, percentiles and greatest value; percentiles with too few samples are marked.
fn times(samples: u64, l: &Latency) -> impl Iterator<Item = String> {
    OF_LATENCY.iter().map(move |latency| latency.text(samples, l))
}

/// The explanation of the mark of percentiles with too few samples, if there are any.
fn thin_note(r: &RunResult) -> Markup {
    if r.transactions.values().any(|t| P999.is_thin(t.completed())) {
        Markup::with_text("p", &[("class", "note")], THIN_NOTE)
    } else {
        Markup::default()
    }
}

fn over_time(r: &RunResult, run: &RunData) -> Markup {
    let mut all = Markup::default();
    if r.series.second.is_empty() {
        return all;
    }
    let every =
        if run.step_s() == 1 { String::new() } else { format!(" One point stands for {} s.", run.step_s()) };
    let mut total = r.series.total();
    total.truncate(r.whole_seconds());
    let (least, most) = (total.iter().min().copied().unwrap_or(0), total.iter().max().copied().unwrap_or(0));
    let mut note = "Completed transactions per second, stacked by type.".to_owned();
    if !r.warmup_series.second.is_empty() {
        note.push_str(" The warm-up is shaded; it counts nowhere.");
    }
    if !r.outages.is_empty() {
        note.push_str(" Outages are marked red.");
    }
    match checkpoints(r).unwrap_or_default().len() {
        0 => {}
        1 => note.push_str(" A dotted line marks the second in which a checkpoint began."),
        several => {
            note.push_str(&format!(" Dotted lines mark the {several} seconds in which a checkpoint began."));
        }
    }
    let chart =
        |kind, title: &str, note: &str, says: &str| Chart { kind, run: 0, of: 0, title, note, says }.markup();
    if let Some(phases) = phases::sentence(&r.phases) {
        note.push(' ');
        note.push_str(&phases);
    }
    all.push(chart(
        "throughput",
        "Throughput",
        &(note + &every),
        &format!(
            "Over {} the total was {} per second on average, {} in the slowest and {} in the fastest second",
            duration(r.window.measured_s),
            number(r.tps),
            count(least),
            count(most)
        ),
    ));
    if r.series.first_type_ms()[1].iter().any(Option::is_some) {
        let says = r.types_in_order().first().map_or(String::new(), |(_, t)| {
            let l = t.latency_ms;
            format!(
                "Over the whole window the median was {} ms and the p99 {} ms",
                number(l.p50),
                number(l.p99)
            )
        });
        let thinned = if every.is_empty() { "" } else { " The p99 shown is the worst second's." };
        all.push(chart(
            "latency-over-time",
            &format!("{} latency", r.first_type()),
            &format!("Median and 99th percentile of each second.{every}{thinned}"),
            &says,
        ));
    }
    if let Some(control) = r.controls.contention.as_ref().filter(|_| !run.contention.is_empty()) {
        let phases = control.each_row().into_iter().flat_map(|row| row.phases);
        let settled = phases.map(|phase| format!("{} configured, {:.2} measured", phase.asked, phase.actual));
        all.push(chart(
            "contention",
            "Contention",
            "Transactions that compete for a row: the configured number, and the mean of each second.",
            &settled.collect::<Vec<_>>().join("; "),
        ));
    }
    let s = &r.series;
    let troubled = [&s.aborts, &s.errors, &s.unknown].iter().any(|v| v.iter().any(|n| *n > 0));
    if troubled {
        let sum = |v: &[u64]| count(v.iter().sum());
        all.push(chart(
            "trouble",
            "Aborts, errors and unknown commits",
            "Per second.",
            &format!("{} aborts, {} errors, {} unknown", sum(&s.aborts), sum(&s.errors), sum(&s.unknown)),
        ));
    }
    all
}

fn latency(r: &RunResult, run: &RunData) -> Markup {
    let mut all = Markup::default();
    if r.transactions.is_empty() {
        return all;
    }
    let types = r.types_in_order();
    let says: Vec<String> = types
        .iter()
        .map(|(key, t)| format!("{} p99 {} ms", type_name(key), number(t.latency_ms.p99)))
        .collect();
    let has_curves = run.types.iter().any(|t| t.frequency.is_some());
    if has_curves {
        all.push(
            Chart {
                kind: "percentiles",
                run: 0,
                of: 0,
                title: "Latency by percentile",
                note: "Every step to the right is one more nine. Both axes are logarithmic.",
                says: &says.join(", "),
            }
            .markup(),
        );
        all.push(distributions(r, &types, run));
    }
    if let Some((queue, service)) = mean_queue_and_service_ms(r) {
        all.push(
            Chart {
                kind: "parts",
                run: 0,
                of: 0,
                title: "Where the time goes",
                note: "Mean latency by type: waiting for a session (the client's share) and service (the database's \
                       share, retries included).",
                says: &format!("Of all types: {} ms waiting, {} ms service", number(queue), number(service)),
            }
            .markup(),
        );
    }
    all.push(parts_table(r));
    all
}

/// Returns the distribution of the response times of each type.
fn distributions(r: &RunResult, types: &[(&str, &TransactionResult)], run: &RunData) -> Markup {
    let charts: Markup = types
        .iter()
        .zip(&run.types)
        .enumerate()
        .filter_map(|(of, ((key, t), data))| {
            let frequency = data.frequency.as_ref()?;
            let beyond = if frequency.beyond_percent > 0.0 {
                format!(
                    "{} % lie beyond the scale, up to {} ms.",
                    percent(frequency.beyond_percent),
                    number(frequency.max_ms)
                )
            } else {
                format!("The greatest is {} ms.", number(frequency.max_ms))
            };
            let l = t.latency_ms;
            let says =
                format!("Average {} ms, 90th percentile {} ms. {beyond}", number(l.mean), number(l.p90));
            let title = format!("{} response times", type_name(key));
            Some(Chart { kind: "frequency", run: 0, of, title: &title, note: &beyond, says: &says }.markup())
        })
        .collect();
    let mut all = Markup::default();
    all.push(Markup::fixed("<h3>Response-time distributions</h3>"));
    let drawn = if r.is_tpcc() { ", as TPC-C 5.6.1 draws it" } else { "" };
    let note = format!(
        "Share of transactions by response time, from zero to four times the 90th percentile{drawn}."
    );
    all.push(Markup::with_text("p", &[("class", "note")], &note));
    all.push(Markup::element("div", &[("class", "multiples")], charts));
    all
}

fn parts_table(r: &RunResult) -> Markup {
    let mut rows = Vec::new();
    for (key, t) in r.types_in_order() {
        let mut line = |part: &str, l: &Latency| {
            let numbers = times(t.completed(), l).map(|text| Markup::text(&text));
            let name = format!("{} {part}", type_name(key));
            rows.push(std::iter::once(Markup::text(&name)).chain(numbers).collect());
        };
        line("latency", &t.latency_ms);
        line("queue", &t.queue_ms);
        line("service", &t.service_ms);
        if let Some(l) = &t.interactive_ms {
            line("interactive", l);
        }
    }
    if let Some(l) = &r.client.lateness_ms {
        let numbers = OF_LATENCY.iter().map(|latency| Markup::text(&number((latency.of)(l))));
        rows.push(std::iter::once(Markup::text("Client lateness")).chain(numbers).collect());
    }
    let latencies = OF_LATENCY.iter().map(|latency| figures(latency.head));
    let columns: Vec<_> = std::iter::once(words("Part")).chain(latencies).collect();
    let mut folded = Markup::fixed("<summary>All percentiles of latency, queue and service</summary>");
    folded.push(table("Times in ms", &columns, rows));
    Markup::element("details", &[], folded)
}

fn workload(r: &RunResult, run: &RunData) -> Markup {
    let mut all = standard::mix(r);
    all.push(standard::inputs(r));
    all.push(connections::endpoints(r));
    all.push(standard::pacing(r));
    all.push(think_times(r, run));
    all.push(standard::deferred(r));
    all.push(connections::terminals(r));
    let controls = controls::tables(&r.controls);
    if !controls.is_empty() {
        all.push(Markup::fixed("<h3>Controls: configured and measured</h3>"));
        all.push(controls);
    }
    all
}

/// Draws the think times of New-Order, the only type whose histogram a result has.
fn think_times(r: &RunResult, run: &RunData) -> Markup {
    let charts =
        r.types_in_order().into_iter().zip(&run.types).enumerate().filter_map(|(of, ((key, _), data))| {
            let think = data.think.as_ref()?;
            let says = format!(
                "Average {} s, greatest {} s",
                number(think.mean_ms / 1e3),
                number(think.max_ms / 1e3)
            );
            let title = format!("{} think times", type_name(key));
            let note = "Share of think times, from zero to four times their mean, as TPC-C 5.6.3 draws it.";
            Some(Chart { kind: "think", run: 0, of, title: &title, note, says: &says }.markup())
        });
    Markup::element("div", &[("class", "multiples")], charts.collect())
}

fn troubles(r: &RunResult) -> Markup {
    let mut all = Markup::default();
    let aborted = r.aborted();
    if aborted == 0 {
        all.push(Markup::with_text("p", &[], "The database aborted nothing."));
    } else {
        let mut reasons: Vec<(&String, &u64)> = r.aborts.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1));
        let rows = reasons.into_iter().map(|(reason, n)| {
            let share = format!("{} %", percent(*n as f64 * 100.0 / aborted as f64));
            vec![Markup::text(reason), Markup::text(&count(*n)), Markup::text(&share)]
        });
        let columns = [words("Reason"), figures("aborts"), figures("share")];
        let narrow = [("class", "narrow")];
        all.push(Markup::element("div", &narrow, table("Aborted attempts", &columns, rows.collect())));
    }
    if !r.errors.is_empty() {
        let rows = r.errors.iter().map(|e| vec![Markup::text(&e.message), Markup::text(&count(e.count))]);
        let columns = [words("Error"), figures("times")];
        all.push(table("Errors, in the words of the database", &columns, rows.collect()));
    }
    all
}
