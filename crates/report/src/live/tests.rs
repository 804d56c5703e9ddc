//! Tests of the views, drawn by ratatui's test backend and written to a captured stream.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Position, Size};

use super::history::{History, Sample};
use super::load_frame::LoadFrame;
use super::run_frame::RunFrame;
use super::screen::{Frame, Screen};
use super::*;

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn screen(&self, style: Style) -> Screen {
        Screen::new(style, Box::new(self.clone()), Box::new(|| Some(Size::new(80, 24))), true)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The rows of a frame drawn into a terminal of that size, blanks at their ends cut off.
fn drawn(frame: impl Frame, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|f| f.render_widget(frame, f.area())).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer.cell(Position::new(x, y)).unwrap().symbol()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned()).collect()
}

const TYPES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

fn types(per_s: f64, ms: impl Into<Option<f64>>) -> Vec<TypeRow<'static>> {
    let ms = ms.into();
    TYPES
        .iter()
        .map(|&name| TypeRow {
            name,
            per_s,
            p50_ms: ms,
            p95_ms: ms.map(|ms| ms * 2.0),
            p99_ms: ms.map(|ms| ms * 4.0),
        })
        .collect()
}

fn times(warmup: u64, window: u64) -> Times {
    Times { warmup: Duration::from_secs(warmup), window: Duration::from_secs(window) }
}

fn snapshot<'a>(s: u64, nopm: f64, per_type: &'a [TypeRow<'a>]) -> RunSnapshot<'a> {
    RunSnapshot {
        elapsed: Duration::from_secs(s),
        phase: Phase::Measuring,
        nopm: Some(nopm),
        tps: nopm / 27.0,
        per_type,
        aborts: 3,
        errors: 0,
        unknown: 0,
        sessions_connected: 64,
        sessions_total: 64,
        queue_length: None,
        observed: &[],
        message: None,
    }
}

fn history(nopm: impl IntoIterator<Item = f64>) -> History {
    let mut history = History::default();
    for (s, nopm) in nopm.into_iter().enumerate() {
        let at = Duration::from_secs(s as u64 + 1);
        history.push(Sample { at, rate: nopm, measured: s >= 5 });
    }
    history
}

fn frame<'a>(now: &'a RunSnapshot<'a>, history: &'a History) -> RunFrame<'a> {
    RunFrame { title: "tpcc on gemel:, 10 warehouses", times: times(5, 30), now, history }
}

#[test]
fn a_wide_terminal_shows_everything_in_aligned_columns() {
    let types = types(753.1, 2.1);
    let mut now = snapshot(12, 45_210.0, &types);
    now.queue_length = Some(1234);
    now.message = Some("node 2 paused");
    let history = history((0..12).map(|s| f64::from(s) * 4_000.0));
    assert_eq!(frame(&now, &history).rows(100), 18);
    let rows = drawn(frame(&now, &history), 100, 18);
    let bar = format!("  23 % {}{}", "━".repeat(21), "─".repeat(72));
    let expected = [
        " tpcc on gemel:, 10 warehouses                                                  measuring 7 s / 30 s",
        bar.as_str(),
        "",
        " 45,210 NOPM   1,674 tx/s   mean 32,000   peak 44,000",
        "",
        "         ▁▃▅█",
        "      ▂▅▇████",
        "  ▂▄▆████████",
        "",
        " ms: so far    tx/s now  p50 ms  p95 ms  p99 ms",
        " new_order          753    2.10    4.20    8.40",
        " payment            753    2.10    4.20    8.40",
        " order_status       753    2.10    4.20    8.40",
        " delivery           753    2.10    4.20    8.40",
        " stock_level        753    2.10    4.20    8.40",
        "",
        " aborts 3   errors 0   unknown 0   sessions 64/64   queue 1,234",
        " node 2 paused",
    ];
    assert_eq!(rows, expected, "\n{}", rows.join("\n"));
}

#[test]
fn a_wide_terminal_shows_observed_values_beside_the_table_and_a_narrower_one_does_not() {
    let types = types(753.1, 2.1);
    let mut now = snapshot(12, 45_210.0, &types);
    let of = |name, unit, value| ObservedNow { name, unit, value };
    let observed = [
        of("pg_stat_database.blks_hit", "/s", Some(52_000.0)),
        of("pg_stat_database.deadlocks", "/s", None),
        of("pg_stat_database.a_counter_with_a_rather_long_name", "/s", Some(1.0)),
        of("pg_stat_wal.wal_bytes", "bytes/s", Some(5.0 * 1024.0 * 1024.0)),
        of("cpu.iowait", "percent", Some(3.1)),
        of("last", "", Some(1.0)),
    ];
    now.observed = &observed;
    let history = history((0..12).map(|_| 45_000.0));
    let rows = drawn(frame(&now, &history), 100, 20);
    let at = rows.iter().position(|row| row.contains("ms: so far")).unwrap();
    let pane: Vec<String> = rows[at..at + 6].iter().map(|row| row.chars().skip(60).collect()).collect();
    let expected = [
        "observed                             now",
        "cpu.iowait                        3.10 %",
        "pg_stat_wal.wal_bytes          5.0 MiB/s",
        "pg_stat_database.blks_hit       52,000/s",
        "pg_stat_database.deadlocks             –",
        "pg_stat_database.a_counter_with_… 1.00/s",
    ];
    assert_eq!(pane, expected, "\n{}", rows.join("\n"));
    assert!(rows[at].starts_with(" ms: so far    tx/s now  p50 ms  p95 ms  p99 ms   "), "{}", rows[at]);
    let narrow = drawn(frame(&now, &history), 80, 20);
    assert!(!narrow.iter().any(|row| row.contains("observed")), "\n{}", narrow.join("\n"));
}

#[test]
fn a_narrow_terminal_drops_columns_and_wraps_the_counts() {
    let types = types(753.1, 2.1);
    let now = snapshot(12, 45_210.0, &types);
    let history = history((0..12).map(|_| 45_000.0));
    let rows = drawn(frame(&now, &history), 40, 9);
    let expected = [
        " tpcc on gemel:, 1… measuring 7 s / 30 s",
        " 45,210 NOPM   1,674 tx/s   mean 45,000",
        " ms: so far    tx/s now  p50 ms  p99 ms",
        " new_order          753    2.10    8.40",
        " payment            753    2.10    8.40",
        " order_status       753    2.10    8.40",
        " delivery           753    2.10    8.40",
        " stock_level        753    2.10    8.40",
        " aborts 3   errors 0   unknown 0",
    ];
    assert_eq!(rows, expected, "\n{}", rows.join("\n"));
}

#[test]
fn before_anything_is_measured_unknown_numbers_are_dashes() {
    let types = types(0.0, None);
    let mut now = snapshot(0, 0.0, &types);
    now.phase = Phase::Connecting;
    now.nopm = Some(f64::NAN);
    let history = history([]);
    let rows = drawn(frame(&now, &history), 80, 23);
    assert!(rows.iter().any(|r| r == " – NOPM       0 tx/s"), "\n{}", rows.join("\n"));
    assert!(rows.iter().any(|r| r.starts_with(" new_order            0       –       –")));
    assert!(!rows.iter().any(|r| r.contains("NaN") || r.contains("inf")));
}

#[test]
fn a_workload_without_new_orders_is_headed_by_its_transactions() {
    let types = types(1_234.0, 2.0);
    let now = RunSnapshot { nopm: None, tps: 1_234.0, ..snapshot(7, 0.0, &types[..1]) };
    let history = history((0..7).map(|_| 1_234.0));
    let rows = drawn(frame(&now, &history), 80, 23);
    assert!(rows.iter().any(|row| row.starts_with(" 1,234 tx/s   mean 1,234")), "\n{}", rows.join("\n"));
    assert!(!rows.iter().any(|row| row.contains("NOPM")), "\n{}", rows.join("\n"));
}

#[test]
fn a_workload_without_types_shows_no_table() {
    let now = snapshot(1, 10.0, &[]);
    let history = history([10.0]);
    let rows = drawn(frame(&now, &history), 80, 23);
    assert!(!rows.iter().any(|r| r.contains("p99")), "\n{}", rows.join("\n"));
}

#[test]
fn huge_numbers_stay_inside_their_columns() {
    let types = types(1e18, 1e12);
    let mut now = snapshot(12, 1e300, &types);
    (now.aborts, now.errors, now.unknown) = (u64::MAX, u64::MAX, u64::MAX);
    (now.sessions_connected, now.sessions_total) = (u64::MAX, u64::MAX);
    now.queue_length = Some(u64::MAX);
    let history = history([f64::MAX, f64::MAX, 1.0]);
    let rows = drawn(frame(&now, &history), 100, 30);
    let row = rows.iter().find(|r| r.starts_with(" new_order")).unwrap();
    assert_eq!(row, " new_order         1.0E    1.0T    2.0T    4.0T", "\n{}", rows.join("\n"));
}

#[test]
fn no_size_of_terminal_makes_a_frame_panic() {
    let types = types(753.1, 2.1);
    let mut now = snapshot(12, 45_210.0, &types);
    now.message = Some("a message that is longer than many of these terminals are wide");
    now.queue_length = Some(7);
    let history = history((0..200).map(f64::from));
    let load = LoadProgress {
        rows: 5,
        bytes: 9,
        elapsed: Duration::from_secs(3),
        units_done: 0,
        total_units: 3,
        building: None,
        stage: "loading warehouses 0/3",
    };
    for width in 1..=110 {
        for height in 1..=24 {
            drawn(frame(&now, &history), width, height);
            drawn(load_frame(&load, 10), width, height);
        }
    }
}

fn load_frame<'a>(now: &'a LoadProgress<'a>, total: u64) -> LoadFrame<'a> {
    LoadFrame {
        title: "Loading 20 warehouses into gemel:",
        total_rows: total,
        now,
        done: now.rows,
        total,
        rows_per_s: Some(102_000.4),
        bytes_per_s: Some(12_300_000.0),
        time_to_go: Some(Duration::from_secs(85)),
        in_stage: Duration::from_secs(4),
    }
}

#[test]
fn a_load_shows_share_speed_and_time_to_go() {
    let mut now = LoadProgress {
        rows: 1_234_567,
        bytes: 148_000_000,
        elapsed: Duration::from_secs(12),
        units_done: 3,
        total_units: 20,
        building: None,
        stage: "loading warehouses 3/20",
    };
    let rows = drawn(load_frame(&now, 9_900_000), 60, 4);
    let bar = format!("  12 % {}{}", "━".repeat(6), "─".repeat(47));
    let expected = [
        " Loading 20 warehouses into gemel:                      12 s",
        bar.as_str(),
        " loading warehouses 3/20                      ETA 1 min 25 s",
        " 1,234,567 of 9,900,000 rows   102,000 rows/s   11.7 MiB/s",
    ];
    assert_eq!(rows, expected, "\n{}", rows.join("\n"));

    // Rows of orders vary in number: all of them may be less than was expected.
    now.rows = 9_800_000;
    now.building = Some(Duration::from_secs(7));
    now.stage = "gathering statistics";
    let rows = drawn(load_frame(&now, 9_900_000), 60, 4);
    assert_eq!(rows[1], " building keys and indexes                           for 7 s");
    assert_eq!(rows[2], " gathering statistics                                for 4 s");
    assert_eq!(rows[3], " 9,800,000 rows, all of them");
}

#[test]
fn plain_lines_of_a_load_come_every_five_seconds_and_at_each_stage() {
    let sink = Sink::default();
    let mut view = LoadView::on(sink.screen(Style::Plain), "Loading 4 warehouses into x", 2_000_000, 4);
    let mut progress = |ms: u64, rows: u64, building: Option<u64>, stage: &str| {
        view.update(&LoadProgress {
            rows,
            bytes: rows * 100,
            elapsed: Duration::from_millis(ms),
            units_done: rows / 500_000,
            total_units: 4,
            building: building.map(Duration::from_millis),
            stage,
        });
    };
    for s in 0..=10 {
        progress(s * 1000, s * 100_000, None, &format!("loading warehouses {}/4", s / 5));
    }
    progress(10_100, 1_990_000, Some(0), "building keys and indexes");
    progress(10_200, 1_990_000, Some(100), "building indexes");
    progress(15_200, 1_990_000, Some(5_100), "building indexes");
    progress(15_300, 1_990_000, Some(5_200), "analyze");
    view.finish(&LoadProgress {
        rows: 2_000_000,
        bytes: 200_000_000,
        elapsed: Duration::from_millis(12_500),
        units_done: 4,
        total_units: 4,
        building: None,
        stage: "done",
    });
    assert_eq!(
        sink.lines(),
        [
            "Loading 4 warehouses into x",
            "0 s loading warehouses 0/4  0 %  0 rows  – rows/s  ETA –",
            "5 s loading warehouses 1/4  25 %  500,000 rows  100,000 rows/s  9.5 MiB/s  ETA 15 s",
            "10 s loading warehouses 2/4  50 %  1,000,000 rows  100,000 rows/s  9.5 MiB/s  ETA 10 s",
            "10 s building keys and indexes for 0 s  1,990,000 rows",
            "10 s building keys and indexes for 0 s: building indexes  1,990,000 rows",
            "15 s building keys and indexes for 5 s: building indexes  1,990,000 rows",
            "15 s building keys and indexes for 5 s: analyze  1,990,000 rows",
            "Loaded 2,000,000 rows, 190.7 MiB, in 12.5 s (160,000 rows/s, 15.3 MiB/s)",
        ]
    );
}

#[test]
fn the_last_line_of_a_load_names_the_warehouses_that_stay_and_not_the_rows_sent() {
    let sink = Sink::default();
    let mut end = LoadProgress {
        rows: 1_021_275,
        bytes: 200_000_000,
        elapsed: Duration::from_millis(12_500),
        units_done: 1,
        total_units: 4,
        building: None,
        stage: "interrupted",
    };
    LoadView::on(sink.screen(Style::Plain), "first", 2_000_000, 4).interrupt(&end);
    (end.units_done, end.total_units) = (0, 1);
    LoadView::on(sink.screen(Style::Plain), "alone", 2_000_000, 1).interrupt(&end);
    // Later only keys were missing.
    (end.rows, end.bytes, end.units_done) = (0, 0, 4);
    LoadView::on(sink.screen(Style::Plain), "then", 2_000_000, 4).finish(&end);
    assert_eq!(
        sink.lines(),
        [
            "first",
            "Interrupted after 12.5 s: 1 of 4 warehouses are complete and stay, unfinished ones do not",
            "alone",
            "Interrupted after 12.5 s: 0 of 1 warehouse is complete and stays, unfinished ones do not",
            "then",
            "All rows were loaded already; the rest was completed in 12.5 s",
        ]
    );
}

#[test]
fn plain_lines_of_a_run_average_their_interval_without_the_warm_up_and_show_the_first_type() {
    let sink = Sink::default();
    let types = types(753.1, 2.1);
    let mut view = RunView::on(sink.screen(Style::Plain), "tpcc on x", times(3, 57));
    for s in 1..=12 {
        let mut now = snapshot(s, if s % 2 == 0 { 40_000.0 } else { 50_000.0 }, &types);
        // The interval that ends with the warm-up belongs to the warm-up.
        now.phase = if s < 3 { Phase::Warmup } else { Phase::Measuring };
        if s >= 8 {
            now.message = Some("node 2\npaused");
        }
        view.update(&now);
    }
    view.finish();
    assert_eq!(
        sink.lines(),
        [
            "tpcc on x",
            "1 s warm-up  50,000 NOPM  1,852 tx/s  | so far: new_order p50 2.10 p95 4.20 p99 8.40 ms  aborts 3  errors 0",
            "1 s measuring  40,000 NOPM  1,481 tx/s  | so far: new_order p50 2.10 p95 4.20 p99 8.40 ms  aborts 3  errors 0",
            "5 s node 2 paused",
            "6 s measuring  46,000 NOPM  1,704 tx/s  | so far: new_order p50 2.10 p95 4.20 p99 8.40 ms  aborts 3  errors 0",
        ]
    );
}

#[test]
fn the_clock_of_the_window_begins_after_the_warm_up() {
    let types = types(753.1, 2.1);
    let history = history([]);
    let at = |s: u64, phase: Phase| {
        let now = RunSnapshot { phase, ..snapshot(s, 45_210.0, &types) };
        let rows = drawn(frame(&now, &history), 80, 23);
        (rows[0].split("warehouses").last().unwrap().trim().to_owned(), rows[1].trim()[..4].trim().to_owned())
    };
    for (s, phase, clock, share) in [
        (3, Phase::Warmup, "warm-up 3 s / 5 s", "0 %"),
        (5, Phase::Measuring, "measuring 0 s / 30 s", "0 %"),
        (20, Phase::Measuring, "measuring 15 s / 30 s", "50 %"),
        (36, Phase::Draining, "draining 1 s", "100"),
    ] {
        assert_eq!(at(s, phase), (clock.to_owned(), share.to_owned()), "after {s} s");
    }
}

#[test]
fn a_short_run_has_a_plain_line_every_second() {
    let sink = Sink::default();
    let mut view = RunView::on(sink.screen(Style::Plain), "tpcc on x", times(0, 10));
    for s in 1..=10 {
        view.update(&snapshot(s, 1.0, &[]));
    }
    assert_eq!(sink.lines().len(), 11);
}

#[test]
fn quiet_views_write_nothing() {
    let sink = Sink::default();
    let mut view = RunView::on(sink.screen(Style::Quiet), "tpcc on x", times(0, 10));
    view.update(&snapshot(1, 1.0, &[]));
    view.note("not even this");
    view.finish();
    let load = LoadView::on(sink.screen(Style::Quiet), "loading", 1, 1);
    load.finish(&LoadProgress {
        rows: 1,
        bytes: 1,
        elapsed: Duration::ZERO,
        units_done: 1,
        total_units: 1,
        building: None,
        stage: "",
    });
    assert_eq!(sink.text(), "");
}

#[test]
fn a_finished_live_run_is_taken_off_the_terminal() {
    let sink = Sink::default();
    let mut view = RunView::on(sink.screen(Style::Live), "tpcc on x", times(0, 10));
    view.update(&snapshot(1, 1.0, &[]));
    view.finish();
    assert!(sink.text().ends_with("A\x1b[?7h\x1b[?25h\x1b[?2026l"));
}

#[test]
fn the_style_is_live_only_on_a_capable_terminal() {
    assert_eq!(Style::choose(false, true, "xterm-256color", true), Style::Live);
    assert_eq!(Style::choose(false, true, "dumb", true), Style::Plain);
    assert_eq!(Style::choose(false, true, "xterm", false), Style::Plain);
    assert_eq!(Style::choose(false, false, "xterm", true), Style::Plain);
    assert_eq!(Style::choose(true, true, "xterm", true), Style::Quiet);
}
