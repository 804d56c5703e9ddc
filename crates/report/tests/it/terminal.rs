//! The terminal table and the comparison, as text.

use crate::sample::{Look, sample};
use lydite_report::compare::{compare, render_comparison};
use lydite_report::faults::FaultResult;
use lydite_report::model::{
    AgentResult, CheckResult, CheckedWhen, LEDGER_CHECK, Latency, Outage, RunResult, Status,
    TransactionResult,
};
use lydite_report::observed::Observed;
use lydite_report::{render_table, render_verbose_table};

fn quick(seed: u64, speed: f64) -> RunResult {
    sample(Look { seed, speed, seconds: 120, ..Look::default() })
}

#[test]
fn the_table_tells_the_run_at_a_glance() {
    let text = render_table(&quick(1, 1.0), 160, false);
    for wanted in [
        "new orders per minute",
        "target   postgres 17.2",
        "10 warehouses, 16 terminals, mode direct, tx batched",
        "status   complete",
        "12/12 consistency conditions hold before the run, 12/12 after the run",
        " rules of the standard are met, 2 not judged; --verbose lists them",
        "41.3 µs of processor per transaction",
        "TPC-C-derived workload, not an audited TPC result: NOPM is not tpmC",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    let at = |name: &str| text.find(&format!("\n{name} ")).unwrap_or_else(|| panic!("no row {name}\n{text}"));
    let rows = ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"].map(at);
    assert!(rows.is_sorted(), "the types stand in the standard's order");
    assert!(!text.contains('\x1b'), "no colour unless asked");
    assert!(!text.contains("not met: "), "rules are folded\n{text}");
}

#[test]
fn every_rule_of_the_standard_is_listed_when_asked() {
    let result = quick(1, 1.0);
    let text = render_verbose_table(&result, 160, false);
    for wanted in [
        "\n         met: ",
        "\n         not judged: ",
        "not met: Measurement interval of 120 minutes (5.5.2): measured 5 min",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    let listed =
        |line: &&str| ["met: ", "not met: ", "not judged: "].iter().any(|met| line.trim().starts_with(met));
    assert_eq!(text.lines().filter(listed).count(), result.compliance.len(), "{text}");
    assert!(!text.contains("--verbose"), "{text}");
}

/// The last rows of a table on a terminal of 80 columns and 24 rows: what is on the screen when a run has ended.
#[test]
fn the_headline_and_the_latencies_are_on_the_screen_when_a_run_has_ended() {
    for mode in ["direct", "rte"] {
        let mut result = sample(Look { mode, ..Look::default() });
        result.client.bottleneck = Some("Lydite itself was likely the limit".to_owned());
        let text = render_table(&result, 80, false);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len() - 4..].iter().map(|line| line[..9].trim_end()).collect::<Vec<_>>();
        assert_eq!(last, ["NOPM", "tps", "checks", "status"], "{text}");
        // Two rows are for the names of the files, and one for the prompt.
        let screen = lines[lines.len().saturating_sub(24 - 3)..].join("\n");
        for wanted in ["! Lydite itself was likely", "aborts ", "p99 ms", "New-Order ", "Stock-Level "] {
            assert!(screen.contains(wanted), "{wanted:?} has scrolled away\n{text}");
        }
    }
}

#[test]
fn failures_stand_in_the_table_with_their_details() {
    let text = render_table(&sample(Look { troubled: true, ..Look::default() }), 100, false);
    for wanted in [
        "status   PARTIAL",
        "10/12 after the run",
        "C3: W=4 D=7: NO_O_ID 2101 to 3120 but 1019 rows",
        "! 2 checks fail: C3, C10.",
        "! 3 transactions ended with an unknown outcome",
        "! The database answered nothing for 6 s, from 201 s to 207 s",
        "requests come faster than these sessions answer them",
    ] {
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(&wanted), "{wanted:?} is missing in\n{text}");
    }
    assert!(!text.contains('\x1b'), "an error message cannot drive the terminal");
}

#[test]
fn a_check_that_was_interrupted_is_not_shown_as_one_that_holds() {
    let mut result = quick(1, 1.0);
    for (number, check) in result.checks.iter_mut().enumerate() {
        check.id = format!("3.3.2.{}", number % 12 + 1);
    }
    let green = "\x1b[32m12/12 consistency conditions hold before the run";
    assert!(render_table(&result, 160, true).contains(green), "{}", render_table(&result, 160, true));
    result.status = Status::Partial;
    for (made, words) in [
        (2, "12/12 consistency conditions hold before the run, 2 of 12 made after the run, interrupted"),
        (0, "12/12 consistency conditions hold before the run, none made after the run"),
    ] {
        result.checks.truncate(12 + made);
        let text = render_table(&result, 160, true);
        assert!(text.contains(&format!("\x1b[33m{words}\x1b[0m")), "{text}");
        let page = lydite_report::render_html(std::slice::from_ref(&result));
        assert!(page.contains(words) && !page.contains("14/14") && !page.contains("12/12<"), "{words}");
    }
}

#[test]
fn the_ledger_is_told_beside_the_conditions_and_not_counted_among_them() {
    let mut result = quick(1, 1.0);
    for (number, check) in result.checks.iter_mut().enumerate() {
        check.id = format!("3.3.2.{}", number % 12 + 1);
    }
    let detail = "89 of 1040 acknowledged New-Orders are missing: Σ D_NEXT_O_ID grew by 951";
    let ledger = CheckResult {
        id: LEDGER_CHECK.into(),
        ok: true,
        detail: detail.into(),
        when: CheckedWhen::After,
        seconds: 0.1,
    };
    result.checks.insert(12, ledger);
    let held = "12/12 consistency conditions hold before the run, 12/12 after the run, ledger ";
    let text = render_table(&result, 160, true);
    assert!(text.contains(&format!("\x1b[32m{held}holds")), "{text}");
    result.checks[12].ok = false;
    let text = render_table(&result, 160, true);
    assert!(text.contains(&format!("\x1b[31m{held}FAILS")), "{text}");
    assert!(text.contains(&format!("ledger: {detail}")), "{text}");
    let page = lydite_report::render_html(std::slice::from_ref(&result));
    assert!(page.contains(detail) && page.contains("24/25"), "the page has it too");
    let summary = lydite_report::render_run_summary(&result);
    let escaped = detail.replace('_', "\\_");
    assert!(summary.contains(&format!("ledger: {escaped}.")), "{summary}");
    // The conditions were interrupted, the ledger was not.
    result.checks[12].ok = true;
    result.status = Status::Partial;
    result.checks.truncate(13);
    let text = render_table(&result, 160, false);
    assert!(text.contains("none made after the run, ledger holds"), "{text}");
}

#[test]
fn a_run_with_faults_says_that_its_numbers_include_them() {
    let mut result = quick(1, 1.0);
    let sentence = "Lydite injected faults, and the numbers of the window include them: ";
    assert!(!lydite_report::render_run_summary(&result).contains(sentence));
    let fault = |kind: &str, undone_s| FaultResult {
        kind: kind.into(),
        place: "lab:pg".into(),
        begun_s: Some(6.09),
        undone_s,
        ..FaultResult::default()
    };
    result.faults = vec![fault("kill", Some(8.152)), fault("stop", None)];
    let both = format!("{sentence}kill on lab:pg from 6.09 to 8.15 s; stop on lab:pg from 6.09 s on.");
    let summary = lydite_report::render_run_summary(&result);
    assert!(summary.contains(&both), "{summary}");
    assert!(render_table(&result, 400, false).contains(&both));
    let warnings = |result: &RunResult| -> Vec<String> {
        compare(&quick(1, 1.0), result).warnings.iter().map(ToString::to_string).collect()
    };
    assert!(warnings(&result).contains(&format!("B: {both}")), "{:?}", warnings(&result));
    // None of these began.
    result.faults.iter_mut().for_each(|fault| fault.begun_s = None);
    assert!(!lydite_report::render_run_summary(&result).contains(sentence));
    assert!(!warnings(&result).iter().any(|warning| warning.contains("injected")));
}

#[test]
fn a_result_without_an_agent_says_that_it_is_partial_and_what_is_missing() {
    let agent = |name: &str, lost: Option<&str>| AgentResult {
        name: name.into(),
        host: "host".into(),
        terminals: 1,
        lost: lost.map(Into::into),
        lost_at_s: lost.map(|_| 4.0),
        missing_s: 6.0,
        ..AgentResult::default()
    };
    let mut result = RunResult { status: Status::Partial, ..quick(1, 1.0) };
    result.agents = vec![agent("a", None), agent("b", Some("no sign of life"))];
    result.warnings.extend(result.agents.iter().filter_map(AgentResult::loss));
    let text = render_table(&result, 200, false);
    assert!(text.contains("that were measured; 1 of 2 agents was lost."), "{text}");
    assert!(
        text.contains("agent b on host was lost 4.0 s after the window began (no sign of life)"),
        "{text}"
    );
    assert!(text.contains("its terminal is missing for 6.0 s"), "{text}");
    // Documents of other versions lack fields.
    let read: AgentResult = serde_json::from_str(r#"{"name": "a", "host": "host"}"#).unwrap();
    assert_eq!(read.name, "a");
}

#[test]
fn where_the_plan_sets_the_pace_the_client_costs_a_share_of_a_processor() {
    let mut result = sample(Look { mode: "rte", ..Look::default() });
    result.client.cpu_s = 0.05 * result.window.measured_s;
    let text = render_table(&result, 160, false);
    assert!(text.contains("client   5.00 % of one processor, "), "{text}");
    assert!(!text.contains("per transaction,"), "{text}");
    let page = lydite_report::render_html(std::slice::from_ref(&result));
    assert!(page.contains("of one processor") && !page.contains("processor time per transaction"));
}

#[test]
fn a_closed_loop_says_that_its_percentiles_do_not_show_an_outage() {
    for (mode, warns) in [("direct", true), ("rte", false)] {
        let text = render_table(&sample(Look { troubled: true, mode, ..Look::default() }), 400, false);
        let words = "The percentiles hardly show these 6 s: a closed loop sends nothing while it waits";
        assert_eq!(text.contains(words), warns, "{text}");
    }
}

#[test]
fn stalls_are_reported_unless_the_connections_were_lost() {
    let mut result = quick(1, 1.0);
    assert!(!render_table(&result, 400, false).contains("No transaction completed"));
    let counts = |result: &mut RunResult, from: i64, to: i64| {
        let series = &mut result.series;
        let of_time = |at: usize| (from..to).contains(&series.second[at]);
        let places: Vec<usize> = (0..series.second.len()).filter(|&at| of_time(at)).collect();
        for counts in [
            &mut series.new_order,
            &mut series.payment,
            &mut series.order_status,
            &mut series.delivery,
            &mut series.stock_level,
        ] {
            places.iter().for_each(|&at| counts[at] = 0);
        }
    };
    counts(&mut result, 13, 17);
    for of in result.transactions.values_mut() {
        of.latency_ms.max = Some(900.0);
    }
    assert!(!render_table(&result, 400, false).contains("No transaction completed"), "no request was due");
    result.transactions.get_mut("payment").expect("payments").latency_ms.max = Some(4_100.0);
    let text = render_table(&result, 400, false);
    assert!(
        text.contains("No transaction completed in 4 seconds of the window, the first of them second 13"),
        "{text}"
    );
    result.outages = vec![Outage { from_s: 12.5, to_s: 17.2, ..Outage::default() }];
    assert!(!render_table(&result, 400, false).contains("No transaction completed"));
    // A run that is always so slow.
    counts(&mut result, 0, 70);
    assert!(!render_table(&result, 400, false).contains("No transaction completed"));
}

/// A result in which one type was never completed.
fn without_stock_level() -> RunResult {
    let mut result = quick(1, 1.0);
    result.transactions.insert("stock_level".to_owned(), TransactionResult::default());
    result
}

fn row<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name));
    line.unwrap_or_else(|| panic!("no row {name}\n{text}")).split_whitespace().collect()
}

#[test]
fn a_type_that_never_was_has_no_times() {
    let empty = hdrhistogram::Histogram::new(3).unwrap();
    assert_eq!(Latency::from_histogram(&empty), Latency::default());
    let result = without_stock_level();
    let json = serde_json::to_value(&result).unwrap();
    for times in ["latency_ms", "queue_ms", "service_ms"] {
        for name in ["mean", "p50", "p90", "p95", "p99", "p999", "max"] {
            let value = json["transactions"]["stock_level"][times].get(name);
            assert!(value.is_some_and(serde_json::Value::is_null), "{times}.{name}: {value:?}");
        }
    }
    let text = render_table(&result, 160, false);
    assert_eq!(row(&text, "Stock-Level")[4..9], ["–"; 5], "{text}");
    let comparison = compare(&quick(2, 1.0), &result);
    assert!(comparison.metrics.iter().all(|m| !m.name.starts_with("Stock-Level")), "{comparison:?}");
    assert!(comparison.metrics.iter().any(|m| m.name.starts_with("Delivery p99")), "{comparison:?}");
    let warning = "B: It completed no Stock-Level: its latency is not compared.";
    assert!(comparison.warnings.iter().any(|w| w.to_string() == warning), "{:?}", comparison.warnings);
    let page = lydite_report::render_html(std::slice::from_ref(&result));
    assert!(page.contains("Stock-Level p99 – ms"));
}

#[test]
fn where_requests_wait_for_a_session_their_wait_and_the_service_stand_apart() {
    let paced = sample(Look { mode: "rte", ..Look::default() });
    let times = paced.transactions["payment"].clone();
    let numbers = |text: &str| (text.contains("queue p95"), text.contains("service p95"));
    for width in [80, 110, 200] {
        let text = render_table(&paced, width, false);
        assert_eq!(numbers(&text), (true, true), "{width}\n{text}");
    }
    let text = render_table(&paced, 200, false);
    let shown = [times.queue_ms.p95, times.service_ms.p95].map(lydite_report::figures::number);
    assert_eq!(row(&text, "Payment")[9..11], shown, "{text}");
    assert_eq!(numbers(&render_table(&quick(1, 1.0), 110, false)), (false, false));
}

#[test]
fn what_must_be_known_with_the_headline_stands_right_before_it() {
    let mut result = quick(1, 1.0);
    result.client.bottleneck = Some("Lydite itself was likely the limit".to_owned());
    result.transactions.get_mut("payment").unwrap().failed = 7;
    result.transactions.get_mut("payment").unwrap().unknown = 2;
    let text = render_table(&result, 110, false);
    let (before, headline) = text.split_once("\nNOPM ").unwrap_or_else(|| panic!("{text}"));
    let block = before.split("\n\n").last().unwrap_or_default();
    for warning in ["! Lydite itself was likely", "! 7 transactions failed", "! 2 transactions ended with an"]
    {
        assert!(block.contains(warning), "{warning:?}\n{text}");
    }
    assert!(block.lines().all(|line| line.starts_with("! ") || line.starts_with("  ")), "{text}");
    assert!(!headline.contains("! "), "{text}");
}

#[test]
fn no_line_is_wider_than_asked() {
    for width in [60, 80, 100, 140, 200] {
        for look in [
            Look { seconds: 30, ..Look::default() },
            Look { troubled: true, ..Look::default() },
            Look { mode: "rte", ..Look::default() },
        ] {
            for line in render_table(&sample(look), width, false).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn an_empty_result_renders() {
    let text = render_table(&RunResult::default(), 80, true);
    assert!(text.contains("consistency was not checked"));
}

#[test]
fn a_known_ratio_lies_in_the_interval() {
    let comparison = compare(&quick(1, 1.0), &quick(2, 1.25));
    let nopm = &comparison.metrics[0];
    let (low, high) = nopm.interval.unwrap();
    assert!(low < 1.25 && 1.25 < high, "{low} to {high}");
    assert!(high - low < 0.3, "{low} to {high} says nothing");
}

#[test]
fn single_runs_get_no_verdict_whatever_their_intervals_say() {
    let a = quick(1, 1.0);
    for (b, begin) in [
        (a.clone(), "One run each: B has 1.00x the NOPM of A (+0.0 %)."),
        (quick(2, 1.25), "One run each: B has 1.2"),
    ] {
        let comparison = compare(&a, &b);
        assert!(comparison.sentence.starts_with(begin), "{}", comparison.sentence);
        assert!(
            comparison.sentence.ends_with("differ is unknown, so this is no verdict."),
            "{}",
            comparison.sentence
        );
        let text = render_comparison(&comparison);
        assert!(text.contains("  within runs\n") && text.contains("not that from run to run"), "{text}");
    }
}

/// The seconds of the sample drift with a coefficient of 0.8 under noise: an interval covers the truth, or there is none.
#[test]
fn the_interval_covers_the_truth_about_as_often_as_it_says() {
    let intervals: Vec<_> = (0..40)
        .filter_map(|i| compare(&quick(100 + i, 1.0), &quick(200 + i, 1.0)).metrics[0].interval)
        .collect();
    let covered = intervals.iter().filter(|(low, high)| *low <= 1.0 && 1.0 <= *high).count();
    assert!(intervals.len() >= 20 && covered + 4 >= intervals.len(), "{covered} of {}", intervals.len());
}

#[test]
fn seconds_that_depend_too_much_get_no_interval_and_every_rendering_says_so() {
    let a = quick(1, 1.0);
    let mut b = quick(2, 1.0);
    // The database slows down all the time.
    let all = b.series.new_order.len() as u64;
    b.series.new_order.iter_mut().zip(0..).for_each(|(count, second)| *count = 900 - 600 * second / all);
    let comparison = compare(&a, &b);
    let why = "the seconds of B depend on each other too much: measure longer, after a longer warm-up, or compare \
               several runs";
    assert_eq!(comparison.metrics[0].no_interval.as_deref(), Some(why));
    let warning = format!("No interval of NOPM, transactions/s for B: {why}.");
    assert!(comparison.notes.contains(&warning), "{:?}", comparison.notes);
    let text = render_comparison(&comparison);
    let row = text.lines().find(|line| line.contains("NOPM  ")).expect("a row");
    assert!(row.ends_with("none") && text.contains(&warning), "{text}");
    let page =
        lydite_report::render_report(&[a, b], &["a.json".into(), "b.json".into()], &Default::default());
    assert!(page.contains(why), "the page");
}

#[test]
fn too_few_seconds_get_a_ratio_but_no_interval() {
    let short = sample(Look { seconds: 10, ..Look::default() });
    let comparison = compare(&short, &short);
    assert!(comparison.metrics.iter().all(|m| m.interval.is_none()));
    assert!(render_comparison(&comparison).contains("at least 20 measured seconds"));
    assert_eq!(compare(&RunResult::default(), &short).sentence, "A has no throughput to compare with.");
}

#[test]
fn differences_that_spoil_a_comparison_are_named() {
    let a = quick(1, 1.0);
    let mut b = a.clone();
    b.plan.warehouses = Some(20);
    b.host.hostname = "elsewhere".to_owned();
    b.target.version = "16.1".to_owned();
    b.target.settings.insert("fsync".to_owned(), "off\x1b[31m".to_owned());
    b.status = Status::Partial;
    b.checks[0].ok = false;
    // Also a setting of the target, which needs not be told twice.
    b.plan.tx = Some("procedures".to_owned());
    b.target.settings.insert("tx".to_owned(), "procedures".to_owned());
    b.target.changed_settings.insert("work_mem".to_owned(), "4MB".to_owned());
    b.target.changed_settings.remove("random_page_cost");
    b.target.encrypted = None;
    let text = render_comparison(&compare(&a, &b));
    assert_eq!(text.matches("tx (").count(), 1, "{text}");
    for wanted in [
        "The plans differ: tx (batched / procedures), warehouses (10 / 20).",
        "The hosts differ: bench-01",
        "The targets differ: postgres 17.2",
        "fsync (on / off",
        "random_page_cost (1.1 / unset), work_mem (64MB / 4MB)",
        "The connections differ: encrypted and unknown.",
        "! B: The result is partial: its numbers cover the ",
        "! B: 1 check fails: ",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    assert!(!text.contains('\x1b'));
    let same = compare(&a, &a.clone());
    assert!(same.warnings.iter().all(|warning| warning.files == ["A", "B"]), "one for both: {same:?}");
    assert!(same.differences.is_empty(), "{same:?}");
}

#[test]
fn means_of_values_that_both_runs_observed_are_compared_without_a_verdict() {
    let a = quick(1, 1.0);
    let mut b = a.clone();
    let change = |result: &mut RunResult, name: &str, to: f64| {
        let of = result.observed.iter_mut().find(|of| of.name == name).unwrap();
        of.values.iter_mut().for_each(|value| *value = Some(to));
    };
    change(&mut b, "memory.used", 3e9);
    change(&mut b, "pg_stat_database.deadlocks", 2.0);
    b.observed.retain(|of| of.name != "cpu.user");
    let comparison = compare(&a, &b);
    let of = |name: &str| comparison.observed.iter().find(|of| of.name == name);
    let memory = of("host memory.used").unwrap();
    assert!(memory.ratio().is_some_and(|ratio| 0.3 < ratio && ratio < 0.34), "{memory:?}");
    assert_eq!(
        of("db pg_stat_database.deadlocks").map(|of| (of.a, of.b, of.ratio())),
        Some((0.0, 2.0, None))
    );
    assert!(of("host cpu.user").is_none(), "one of them has it");
    assert!(of("host cpu.steal").is_none(), "0 in both");

    let text = render_comparison(&comparison);
    let (_, table) = text
        .split_once("\nObserved means over the seconds with a sample, the greatest change first\n")
        .unwrap_or_else(|| panic!("{text}"));
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["A", "B", "B/A"]);
    assert_eq!(rows[1], ["db", "pg_stat_database.deadlocks", "0/s", "2.00/s", "–"]);
    assert_eq!((rows[2][1], rows[2][4], rows[2][6]), ("memory.used", "2.8", "0.33"), "{text}");

    let value = b.observed[0].clone();
    b.observed.extend((0..30).map(|n| Observed { name: format!("more{n}"), ..value.clone() }));
    let many = compare(&b, &b);
    let text = render_comparison(&many);
    let more = many.observed.len() - 20;
    assert!(text.contains(&format!("first; 'lydite report' shows {more} more\n")), "{text}");
    let mut none = a.clone();
    none.observed.clear();
    assert!(!render_comparison(&compare(&a, &none)).contains("Observed"));
}

#[test]
fn small_and_standard_warehouses_are_told_apart_above_the_numbers() {
    let standard = quick(1, 1.0);
    let mut small = quick(2, 1.25);
    small.plan.size = Some("small".into());
    for (a, b, words) in [
        (&small, &standard, "A has small warehouses and B has standard ones, with other numbers of rows"),
        (&standard, &small, "A has standard warehouses and B has small ones, with other numbers of rows"),
    ] {
        let text = render_comparison(&compare(a, b));
        let numbers = text.find("\nNOPM").unwrap_or_else(|| panic!("{text}"));
        assert!(text.find(words).is_some_and(|at| at < numbers), "{text}");
    }
    assert!(compare(&small, &small.clone()).sentence.starts_with("One run each: "));
}

#[test]
fn a_short_last_second_is_no_second_of_the_comparison() {
    let a = quick(1, 1.0);
    let mut b = a.clone();
    // Half a second more, in which half a second's transactions were answered.
    b.window.measured_s = 120.5;
    let series = &mut b.series;
    series.second.push(120);
    for counts in [&mut series.new_order, &mut series.payment, &mut series.aborts, &mut series.errors] {
        counts.push(1);
    }
    series.new_order_p99_ms.push(Some(1e6));
    let mut a = a;
    a.window.measured_s = 120.0;
    let of = |comparison: lydite_report::compare::Comparison| -> Vec<_> {
        comparison.metrics.into_iter().map(|metric| metric.interval).collect()
    };
    assert_eq!(of(compare(&a, &b)), of(compare(&a, &a)));
}

/// The table without its line breaks.
fn unwrapped(result: &RunResult) -> String {
    render_table(result, 160, false).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn aborts_by_the_limit_of_statements_are_not_blamed_on_contention() {
    let mut result = quick(1, 1.0);
    // A plan that asks for contention wants aborts.
    result.controls.contention = None;
    let attempts = result.transactions.values().map(|of| of.committed).sum::<u64>();
    result.aborts =
        [("serialization".to_owned(), attempts / 10), ("statement_timeout".to_owned(), attempts)].into();
    result.target.settings.insert("statement_timeout of the client".into(), "200ms".into());
    let text = unwrapped(&result);
    assert!(
        text.contains("since an answer took longer than statement_timeout=200ms: raise this limit"),
        "{text}"
    );
    assert!(!text.contains("compete for the same rows"), "{text}");
    result.aborts.insert("statement_timeout".into(), 0);
    result.aborts.insert("serialization".into(), attempts);
    let text = unwrapped(&result);
    assert!(text.contains("compete for the same rows") && !text.contains("raise this limit"), "{text}");
}
