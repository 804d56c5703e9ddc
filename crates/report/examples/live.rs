//! Simulates a load and a run, to look at the live view: `live [SECONDS [WAREHOUSES]]`, `live --quiet`.

use std::thread::sleep;
use std::time::Duration;

use lydite_report::live::{
    LoadProgress, LoadView, ObservedNow, Phase, RunSnapshot, RunView, Style, Times, TypeRow,
};

const ROWS_PER_WAREHOUSE: u64 = 499_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = args.iter().filter_map(|a| a.parse().ok()).collect();
    let seconds = numbers.first().copied().unwrap_or(30).max(1);
    let warehouses = numbers.get(1).copied().unwrap_or(4).max(1);
    let style = Style::detect(args.iter().any(|a| a == "--quiet"));
    load(style, warehouses);
    run(style, warehouses, seconds);
    println!("The result would stand here.");
}

fn load(style: Style, warehouses: u64) {
    let total_rows = warehouses * ROWS_PER_WAREHOUSE;
    let title = format!("Loading {warehouses} warehouse(s) into gemel:/var/tmp/lydite");
    let mut view = LoadView::new(style, &title, total_rows, warehouses);
    let mut elapsed = Duration::ZERO;
    let mut rows_in = None;
    let mut show = |rows: u64, stage: &str, view: &mut LoadView| {
        let units_done = rows / ROWS_PER_WAREHOUSE;
        let bytes = rows * 92;
        if rows == total_rows {
            rows_in.get_or_insert(elapsed);
        }
        let building = rows_in.map(|at| elapsed - at);
        let progress =
            LoadProgress { rows, bytes, elapsed, units_done, total_units: warehouses, building, stage };
        view.update(&progress);
        if stage.is_empty() {
            return;
        }
        sleep(Duration::from_millis(50));
        elapsed += Duration::from_millis(50);
    };
    let mut rows = 0;
    while rows < total_rows {
        let stage = format!("loading warehouses {}/{warehouses}", rows / ROWS_PER_WAREHOUSE);
        show(rows, &stage, &mut view);
        rows = (rows + 12_345).min(total_rows);
    }
    for stage in ["building indexes", "foreign keys", "analyze"] {
        for _ in 0..30 {
            show(rows, stage, &mut view);
        }
    }
    view.finish(&LoadProgress {
        rows,
        bytes: rows * 92,
        elapsed,
        units_done: warehouses,
        total_units: warehouses,
        building: None,
        stage: "done",
    });
}

fn run(style: Style, warehouses: u64, seconds: u64) {
    let title = format!("tpcc on gemel:/var/tmp/lydite, {warehouses} warehouse(s), 64 terminals, direct");
    let times =
        Times { warmup: Duration::from_secs(5), window: Duration::from_secs(seconds.saturating_sub(5)) };
    let mut view = RunView::new(style, &title, times);
    let (mut aborts, mut errors) = (0, 0);
    for s in 0..=seconds {
        sleep(Duration::from_secs(1));
        let wave = (s as f64 / 4.0).sin() * 0.15 + (s as f64 * 1.7).sin() * 0.05;
        let fault = s % 20 >= 14 && s % 20 < 17;
        let ramp = (s as f64 / 5.0).min(1.0);
        let tps = if fault { 310.0 } else { 1674.0 * ramp * (1.0 + wave) };
        aborts += (tps / 500.0) as u64;
        errors += u64::from(fault);
        let slow = if fault { 9.0 } else { 1.0 + wave };
        let row = |name, share: f64, ms: f64| TypeRow {
            name,
            per_s: tps * share,
            p50_ms: Some(ms * slow),
            p95_ms: Some(ms * slow * 1.9),
            p99_ms: Some(ms * slow * 3.8),
        };
        let per_type = [
            row("new_order", 0.45, 2.1),
            row("payment", 0.43, 0.9),
            row("order_status", 0.04, 0.4),
            row("delivery", 0.04, 7.7),
            row("stock_level", 0.04, 1.6),
        ];
        let phase = match s {
            0..5 => Phase::Warmup,
            _ if s == seconds => Phase::Draining,
            _ => Phase::Measuring,
        };
        if s == 3 {
            view.note("warning: the client uses 92 % of its processors");
        }
        let of = |name, unit, value| ObservedNow { name, unit, value: Some(value) };
        let observed = [
            of("pg_stat_database.xact_commit", "/s", tps),
            of("pg_stat_wal.wal_bytes", "bytes/s", tps * 4200.0),
            of("cpu.user", "percent", tps / 25.0),
            of("cpu.iowait", "percent", slow),
            of("pg_stat_activity.Lock", "", (s % 5) as f64),
        ];
        view.update(&RunSnapshot {
            elapsed: Duration::from_secs(s),
            phase,
            nopm: Some(tps * 0.45 * 60.0),
            tps,
            per_type: &per_type,
            aborts,
            errors,
            unknown: 0,
            sessions_connected: if fault { 60 } else { 64 },
            sessions_total: 64,
            observed: &observed,
            queue_length: Some(if fault { 1234 } else { 3 }),
            message: fault.then_some("fault: node 2 paused for 3 s"),
        });
    }
    view.finish();
}
