//! Parts that both documents have: the system, the numerical quantities, the price sheet.

use crate::disclosure::Disclosure;
use crate::figures::{P90, count, duration, nopm, number, percent, type_name};
use crate::findings::shown_types;
use crate::html::markup::{Markup, figures, named_table, pairs, table, words};
use crate::model::{Latency, RunResult};
use crate::observed::checkpoints;
use lydite_tpcc::sizing::Prices;

/// The system in a few lines.
pub(super) fn system(of: &Disclosure<'_>) -> Markup {
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

/// The numerical quantities of clause 8.1.
pub(super) fn quantities(of: &Disclosure<'_>) -> Markup {
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
    all.push(pairs(
        "Test",
        vec![
            text("Ramp-up", duration(r.window.warmup_s)),
            text("Measurement interval", duration(r.window.measured_s)),
            text("Checkpoints in the interval", begun),
            text("Transactions completed, all types", count(r.completed())),
            text("New orders per minute", nopm(r.nopm)),
            text(
                "New orders per minute and warehouse",
                number(r.warehouses().filter(|count| *count > 0).map(|count| r.nopm / count as f64)),
            ),
        ],
    ));
    all
}

/// The parts with their prices.
pub(super) fn price_sheet(prices: &Prices) -> Markup {
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

/// Returns the times that terminals saw: for a deferred Delivery, those of its interactive part.
pub(super) fn response(key: &str, r: &RunResult) -> Option<Latency> {
    let of = r.transactions.get(key)?;
    Some(of.interactive_ms.unwrap_or(of.latency_ms))
}

/// The deferred part of Delivery, in one line.
pub(super) fn deferred_line(r: &RunResult) -> Markup {
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
