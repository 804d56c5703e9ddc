//! Results to export, with all that makes an export hard: odd texts, missing values, short seconds.

use lydite_export::{Format, Layout, Run, TABLES, Table};
use lydite_report::RunResult;
use lydite_report::model::{Observed, PhaseResult, Series, TransactionResult};
use lydite_report::statements::StatementResult;

/// A label with everything that a format escapes.
pub(crate) const LABEL: &str = "a, \"b\" = c\\d\nzweite Zeile ü 漢";
/// A statement of two lines.
pub(crate) const STATEMENT: &str = "SELECT \"w\" , ?\nFROM t -- \\";

/// A result with a warm-up of 1.5 s and a window of 2.25 s in two phases.
pub(crate) fn sample() -> RunResult {
    let mut result =
        RunResult { label: Some(LABEL.to_owned()), nopm: 186.5, tps: 4.0, ..RunResult::default() };
    result.window.start = "2026-01-02T03:04:05.123456789Z".to_owned();
    (result.window.warmup_s, result.window.measured_s) = (1.5, 2.25);
    result.plan.mode = Some("open".to_owned());
    result.target.kind = "postgres".to_owned();
    result.warmup_series =
        Series { second: vec![-2, -1], new_order: vec![1, 2], payment: vec![0, 1], ..Series::default() };
    result.series = Series {
        second: vec![0, 1, 2],
        new_order: vec![3, 0, 4],
        payment: vec![1, 0, 1],
        order_status: vec![0; 3],
        delivery: vec![0; 3],
        stock_level: vec![0; 3],
        aborts: vec![0, 2, 0],
        errors: vec![0, 1, 0],
        unknown: vec![0; 3],
        new_order_p50_ms: vec![Some(1.5), None, Some(0.25)],
        new_order_p99_ms: vec![Some(7.0), None, Some(1e-7)],
        sessions_connected: vec![8, 0, 8],
        ..Series::default()
    };
    let mut new_order = TransactionResult { committed: 6, rolled_back: 1, ..TransactionResult::default() };
    new_order.latency_ms.p99 = Some(7.0);
    result.transactions.insert("new_order".to_owned(), new_order);
    result
        .transactions
        .insert("payment".to_owned(), TransactionResult { committed: 2, ..Default::default() });
    result.aborts.insert("deadlock".to_owned(), 2);
    result.phases = vec![
        PhaseResult { name: Some("low, \"calm\"".to_owned()), to_s: 1.0, tps: 4.0, ..PhaseResult::default() },
        PhaseResult { from_s: 1.0, to_s: 2.25, ..PhaseResult::default() },
    ];
    result.phases[0].transactions.insert("new_order".to_owned(), 3);
    result.observed = vec![Observed {
        source: "http://h:9187/metrics".to_owned(),
        name: "pg_x{datname=\"a, b\\\\c\"}".to_owned(),
        unit: "/s".to_owned(),
        values: vec![Some(0.5), None, Some(2.0)],
    }];
    let statement = |text: &str, calls| StatementResult {
        source: "db".to_owned(),
        text: text.to_owned(),
        calls,
        mean_ms: 0.5,
        rows: 3,
        ..StatementResult::default()
    };
    // A server may know one text twice: by two users.
    result.statements = vec![statement(STATEMENT, 4), statement(STATEMENT, 2)];
    result
}

/// Writes the tables of these names, in a format.
pub(crate) fn written(format: &str, names: &[&str], runs: &[Run<'_>]) -> String {
    let mut text = Vec::new();
    let kinds = TABLES.iter().filter(|kind| names.is_empty() || names.contains(&kind.name));
    let tables: Vec<Table<'_>> = kinds.map(|kind| Table::of(kind, runs).unwrap()).collect();
    match Format::named(format).unwrap().layout {
        Layout::FilePerTable(write) => tables.iter().for_each(|table| write(table, &mut text).unwrap()),
        Layout::OneDocument(write) => write(&tables, &mut text).unwrap(),
    }
    String::from_utf8(text).unwrap()
}
