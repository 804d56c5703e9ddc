//! The environment of a run on its page: plan, database, machine, client, load, settings.

use super::controls;
use super::markup::{Markup, pairs};
use crate::figures::{bytes, count, duration, number, plural};
use crate::model::{RunResult, Status};

/// Returns the content of the section.
pub(super) fn content(r: &RunResult) -> Markup {
    let text = |name: &str, value: &str| (name.to_owned(), Markup::text(value));
    let mut plan = controls::rows(&r.plan);
    plan.push(text("status", if r.status == Status::Complete { "complete" } else { "partial" }));
    let mut target =
        vec![text("Kind", &r.target.kind), text("Version", &r.target.version), text("URL", &r.target.url)];
    target.extend(r.target.encryption().map(|words| text("Connections", words)));
    let h = &r.host;
    let host = vec![
        text("Name", &h.hostname),
        text("System", &format!("{}, kernel {}", h.os, h.kernel)),
        text("Processor", &h.cpu),
        text("Cores", &h.cores.to_string()),
        text("Memory", &bytes(h.memory_bytes)),
    ];
    let mut client = vec![
        text("Processor time", &duration(r.client.cpu_s)),
        if r.is_paced() {
            text("Share of one processor", &format!("{} %", number(r.client_percent_of_core())))
        } else {
            text("Per transaction", &format!("{} µs", number(r.client.cpu_us_per_transaction)))
        },
        text("Memory at most", &bytes(r.client.peak_rss_bytes)),
        text("Lydite", &r.lydite),
    ];
    if let (Some(all), Some(each)) = (r.client.driver_cpu_s, r.client.driver_cpu_us_per_transaction) {
        let shown = format!("{}, {} µs per transaction", duration(all), number(each));
        client.insert(2, text("Processor time of the driver", &shown));
    }
    let mut tables = pairs("Plan", plan);
    tables.push(pairs("Database under test", target));
    tables.push(pairs("Client machine", host));
    tables.push(pairs("Client", client));
    if let Some(l) = &r.load {
        tables.push(pairs(
            "Load",
            vec![
                match l.tables {
                    Some(tables) => text("Tables", &count(tables)),
                    None => text("Warehouses", &count(l.warehouses)),
                },
                text("Rows", &count(l.rows)),
                text("Data", &bytes(l.bytes)),
                text("Time", &format!("{} with {}", duration(l.seconds), plural(l.jobs.into(), "loader"))),
                text("Rate", &format!("{} rows/s", number(l.rows_per_s))),
            ],
        ));
    }
    for (caption, settings) in [
        ("Settings of the database", &r.target.settings),
        ("Settings that are not the server's default", &r.target.changed_settings),
    ] {
        let settings = settings.iter().map(|(name, value)| text(name, value)).collect::<Vec<_>>();
        if !settings.is_empty() {
            tables.push(pairs(caption, settings));
        }
    }
    Markup::element("div", &[("class", "columns")], tables)
}
