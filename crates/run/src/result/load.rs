//! The measures of a load in a document.

use super::common::encoded;
use crate::loading::LoadDone;
use lydite_console::exit::Failure;
use lydite_plan::values::ratio;
use lydite_report::model::{Latency, LoadBatches, LoadClient, LoadInfo, LoadPhase, LoadSeries, TableLoad};

/// Returns the load of a database of TPC-C.
///
/// # Errors
/// The histogram can't be encoded.
pub(crate) fn of_warehouses(done: &LoadDone) -> Result<LoadInfo, Failure> {
    Ok(LoadInfo { warehouses: done.report.units.into(), ..loaded(done)? })
}

/// Returns the load of the microbenchmark's tables.
///
/// # Errors
/// See [`of_warehouses`].
pub(crate) fn of_tables(done: &LoadDone) -> Result<LoadInfo, Failure> {
    Ok(LoadInfo { tables: Some(done.report.units.into()), ..loaded(done)? })
}

/// Returns the part of a load that does not depend on the workload.
fn loaded(LoadDone { report: load, seen }: &LoadDone) -> Result<LoadInfo, Failure> {
    let measures = &load.measures;
    let latency = &measures.batches.latency;
    Ok(LoadInfo {
        seconds: load.seconds,
        rows: load.rows,
        bytes: load.bytes,
        warehouses: 0,
        tables: None,
        jobs: load.jobs as u32,
        rows_per_s: ratio(load.rows as f64, load.seconds),
        bytes_per_s: ratio(load.bytes as f64, load.seconds),
        start: jiff::Timestamp::try_from(measures.start).unwrap_or_default().to_string(),
        phases: measures
            .phases
            .iter()
            .map(|phase| LoadPhase { name: phase.name.clone(), from_s: phase.from_s, to_s: phase.to_s })
            .collect(),
        series: LoadSeries {
            second: (0..measures.seconds.len() as i64).collect(),
            rows: measures.seconds.iter().map(|second| second.rows).collect(),
            bytes: measures.seconds.iter().map(|second| second.bytes).collect(),
        },
        by_table: measures
            .by_table
            .iter()
            .map(|(table, rows, bytes)| TableLoad { table: table.name().into(), rows: *rows, bytes: *bytes })
            .collect(),
        batches: LoadBatches {
            count: latency.len(),
            latency_ms: Latency::from_histogram(latency),
            hdr: if latency.is_empty() { String::new() } else { encoded(latency)? },
        },
        client: LoadClient {
            cpu_s: measures.client.cpu.as_secs_f64(),
            peak_rss_bytes: measures.client.peak_rss_bytes,
        },
        observed: seen.written.observed.clone(),
        statements: seen.written.statements.clone(),
    })
}
