//! The environment of a run on its page: plan, database, machine, client, load, settings.

use super::controls;
use super::markup::{Markup, figures, pairs, table, words};
use crate::figures::{bytes, count, duration, number, plural};
use crate::model::{RunResult, Status, TableInfo};

/// Returns the content of the section.
pub(super) fn content(r: &RunResult) -> Markup {
    let mut tables = plan(r);
    tables.push(target(r));
    tables.push(host(r));
    tables.push(client(r));
    tables.push(load(r));
    tables.push(settings(r));
    let mut all = Markup::element("div", &[("class", "columns")], tables);
    all.push(target_tables(r));
    all
}

/// The tables of the database, if it described them. Columns without any number are left out.
pub(super) fn target_tables(r: &RunResult) -> Markup {
    type Cell = fn(&TableInfo) -> Option<String>;
    let all: [(&'static str, Cell); 6] = [
        ("size with indexes", |of| of.bytes.map(bytes)),
        ("rows (estimate)", |of| of.rows.map(count)),
        ("partitions", |of| of.partitions.map(count)),
        ("ranges", |of| of.ranges.map(count)),
        ("columns", |of| of.columns.map(count)),
        ("indexes", |of| of.indexes.map(count)),
    ];
    let tables = &r.target.tables;
    if tables.is_empty() {
        return Markup::default();
    }
    let shown: Vec<(&'static str, Cell)> =
        all.into_iter().filter(|(_, cell)| tables.iter().any(|of| cell(of).is_some())).collect();
    let columns: Vec<_> =
        std::iter::once(words("Table")).chain(shown.iter().map(|(name, _)| figures(name))).collect();
    let row = |of: &TableInfo| {
        let cells = shown.iter().map(|(_, cell)| cell(of).unwrap_or_else(|| "–".to_owned()));
        std::iter::once(of.name.clone()).chain(cells).map(|cell| Markup::text(&cell)).collect()
    };
    table("Tables at the end, by the catalog of the database", &columns, tables.iter().map(row).collect())
}

fn text(name: &str, value: &str) -> (String, Markup) {
    (name.to_owned(), Markup::text(value))
}

/// The plan of the run.
pub(super) fn plan(r: &RunResult) -> Markup {
    let mut plan = controls::rows(&r.plan);
    plan.push(text("status", if r.status == Status::Complete { "complete" } else { "partial" }));
    pairs("Plan", plan)
}

/// The database under test.
pub(super) fn target(r: &RunResult) -> Markup {
    let mut target =
        vec![text("Kind", &r.target.kind), text("Version", &r.target.version), text("URL", &r.target.url)];
    target.extend(r.target.encryption().map(|words| text("Connections", words)));
    pairs("Database under test", target)
}

/// The machine of the client.
pub(super) fn host(r: &RunResult) -> Markup {
    let h = &r.host;
    let host = vec![
        text("Name", &h.hostname),
        text("System", &format!("{}, kernel {}", h.os, h.kernel)),
        text("Processor", &h.cpu),
        text("Cores", &h.cores.to_string()),
        text("Memory", &bytes(h.memory_bytes)),
    ];
    pairs("Client machine", host)
}

/// The cost of the client.
pub(super) fn client(r: &RunResult) -> Markup {
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
    pairs("Client", client)
}

/// The load, if the run made it.
pub(super) fn load(r: &RunResult) -> Markup {
    let Some(l) = &r.load else { return Markup::default() };
    pairs(
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
    )
}

/// The settings of the database, and those that were changed.
pub(super) fn settings(r: &RunResult) -> Markup {
    let all = [
        ("Settings of the database", &r.target.settings),
        ("Settings that are not the server's default", &r.target.changed_settings),
    ];
    all.into_iter()
        .filter(|(_, settings)| !settings.is_empty())
        .map(|(caption, settings)| {
            pairs(caption, settings.iter().map(|(name, value)| text(name, value)).collect())
        })
        .collect()
}
