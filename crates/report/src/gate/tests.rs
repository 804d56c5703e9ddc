//! Requirements and changes are read and judged.

use super::*;
use crate::model::{Latency, TransactionResult};

/// A result with this throughput, and New-Orders with this many milliseconds at the 99th percentile.
fn result(tps: f64, new_orders: u64, p99: f64) -> RunResult {
    let new_order = TransactionResult {
        committed: new_orders,
        latency_ms: Latency { p50: Some(2.0), p99: Some(p99), ..Latency::default() },
        ..TransactionResult::default()
    };
    RunResult {
        tps,
        nopm: 60.0 * tps,
        efficiency_percent: 97.5,
        transactions: [("new_order".to_owned(), new_order)].into(),
        ..RunResult::default()
    }
}

/// Returns the verdict on a requirement and the text of the measured value.
fn judged(text: &str, result: &RunResult) -> (bool, String) {
    let found = Requirement::parse(text).unwrap_or_else(|problem| panic!("{text} {problem}")).judge(result);
    assert_eq!(found.text, text.trim());
    (found.met, found.measured())
}

fn micro_plan() -> crate::plan::PlanInfo {
    crate::plan::PlanInfo { workload: Some("micro".to_owned()), ..Default::default() }
}

#[test]
fn requirements_are_judged_in_the_units_of_their_metrics() {
    let result = result(1_000.0, 500, 49.25);
    for (text, met, measured) in [
        ("tps > 999.5", true, "1000"),
        ("tps > 900", true, "1,000"),
        ("tps>=1000", true, "1,000"),
        (" tps > 1000 ", false, "1,000"),
        ("tps < 10", false, "1,000"),
        ("tps == 1000", true, "1,000"),
        ("nopm <= 5e4", false, "60,000"),
        ("new_order.p99 < 50ms", true, "49.2 ms"),
        ("new_order.p99 < 49000us", false, "49.2 ms"),
        ("new_order.p99 < 49251 µs", true, "49.2 ms"),
        ("new_order.p99 > 0.05 s", false, "49.2 ms"),
        ("latency.new_order.p50 == 2ms", true, "2.00 ms"),
        ("transactions.new_order.latency_ms.p99 < 0.05s", true, "49.2 ms"),
        ("efficiency > 97%", true, "97.5 %"),
        ("efficiency > 98", false, "97.5 %"),
        ("failed == 0", true, "0"),
        ("failed_rate < 1%", true, "0 %"),
    ] {
        assert_eq!(judged(text, &result), (met, measured.to_owned()), "{text}");
    }
}

#[test]
fn a_value_close_to_its_limit_is_shown_with_all_its_digits() {
    let result = result(1_000.25, 500, 50.04);
    assert_eq!(judged("new_order.p99 < 50ms", &result), (false, "50.04 ms".to_owned()));
    assert_eq!(judged("tps > 1000", &result), (true, "1000.25".to_owned()));
}

#[test]
fn a_requirement_with_too_few_samples_is_not_met_and_says_why() {
    let of = |count| result(1.0, count, 1.0);
    for (text, count, met, words) in [
        ("new_order.p99 < 50ms", 0, false, "no transaction of type New-Order was completed in the window"),
        (
            "new_order.p99 < 50ms",
            99,
            false,
            "the 99th percentile needs at least 100 transactions of type New-Order, but only 99 were completed",
        ),
        ("new_order.p99 < 50ms", 100, true, "1.00 ms"),
        (
            "new_order.p50 < 50ms",
            1,
            false,
            "the median needs at least 2 transactions of type New-Order, but only 1 was completed",
        ),
        (
            "transactions.new_order.latency_ms.p99 < 1s",
            5,
            false,
            "the 99th percentile needs at least 100 transactions of type New-Order, but only 5 were completed",
        ),
        ("payment.max < 1s", 100, false, "no transaction of type Payment was completed in the window"),
        ("tps < 10", 0, false, "no transaction was completed in the window"),
        ("tps < 10", 1, true, "1.00"),
        ("nopm > 0", 0, false, "no transaction of type New-Order was completed in the window"),
        ("failed == 0", 0, false, "no transaction was completed in the window"),
        ("abort_rate < 1%", 0, false, "the result has no such number"),
        ("load.seconds < 10s", 5, false, "the result has no such number"),
    ] {
        assert_eq!(judged(text, &of(count)), (met, words.to_owned()), "{text}, {count}");
    }
    let micro = RunResult { plan: micro_plan(), ..of(5) };
    assert_eq!(judged("nopm > 0", &micro), (false, "the workload micro has no such number".to_owned()));
}

#[test]
fn a_wrong_requirement_gets_a_suggestion() {
    for (text, words) in [
        ("tps", "has no comparison: use <, <=, >, >= or =="),
        ("tps = 5", "has no comparison"),
        ("tps != 5", "has no comparison"),
        ("tsp > 5", "has a metric \"tsp\" that is not known: did you mean tps? use nopm, tps"),
        ("new_ordr.p99 < 5ms", "did you mean new_order.p99?"),
        ("neworder.p99 < 5ms", "did you mean new_order.p99?"),
        ("> 5", "has a metric \"\" that is not known: use"),
        ("new_order.p98 < 5ms", "is not known"),
        ("transactions.payment.service_ms.p98 < 5ms", "a result has no transactions.payment.service_ms.p98"),
        ("transactions.payment.servic_ms.p99 < 5ms", "did you mean service_ms?"),
        ("nodes.ops > 5", "that is five numbers: name one, as nodes.ops.median"),
        ("new_order.p99 < 50", "has a value \"50\" that must be a time with its unit: ms, s or us, as 50ms"),
        ("new_order.p99 < 50m", "must be a time with its unit"),
        ("new_order.p99 < fastms", "must be a time with its unit"),
        ("tps > 5/s", "has a value \"5/s\" that must be a plain number, without a unit"),
        ("tps > 5%", "a change in percent is for `lydite compare --fail-if`"),
        ("tps > many", "must be a plain number"),
        ("tps > ", "has a value \"\" that must be a number"),
        ("tps > inf", "must be"),
        ("tps > 1e999", "must be a number"),
        ("efficiency > 5ms", "must be a share in percent, as 95%"),
    ] {
        let problem = Requirement::parse(text).unwrap_err();
        assert!(problem.contains(words), "{text}: {problem}");
    }
}

#[test]
fn changes_are_judged_against_the_first_result() {
    let (a, b) = (result(1_000.0, 500, 40.0), result(950.0, 500, 45.0));
    for (text, failed, words) in [
        ("tps < -5%", false, "1,000 in A, 950 in B (-5.00 %)"),
        ("tps <= -5%", true, "1,000 in A, 950 in B (-5.00 %)"),
        ("tps < -4.9%", true, "1,000 in A, 950 in B (-5.00 %)"),
        ("nopm < -10%", false, "60,000 in A, 57,000 in B (-5.00 %)"),
        ("new_order.p99 > +10%", true, "~40.0 ms in A, ~45.0 ms in B (+12.50 %)"),
        ("new_order.p99 > +15%", false, "~40.0 ms in A, ~45.0 ms in B (+12.50 %)"),
        ("new_order.p99 > +5ms", false, "~40.0 ms in A, ~45.0 ms in B (+12.50 %)"),
        ("new_order.p99 > +4999us", true, "~40.0 ms in A, ~45.0 ms in B (+12.50 %)"),
        ("new_order.p99 > 44ms", true, "~40.0 ms in A, ~45.0 ms in B (+12.50 %)"),
        ("new_order.p99 > 45ms", false, "~40.0 ms in A, ~45.0 ms in B (+12.50 %)"),
        ("tps < -49", true, "1,000 in A, 950 in B (-5.00 %)"),
        ("tps < 950", false, "1,000 in A, 950 in B (-5.00 %)"),
        ("failed > +0", false, "0 in A, 0 in B"),
        ("failed_rate > +10%", false, "0 % in A, 0 % in B"),
    ] {
        let gate = FailIf::parse(text).unwrap_or_else(|problem| panic!("{text} {problem}")).judge(&a, &b);
        assert_eq!((gate.failed, gate.words(("A", "B"))), (failed, words.to_owned()), "{text}");
    }
}

#[test]
fn a_change_that_can_not_be_judged_fails() {
    let usual = result(1_000.0, 500, 40.0);
    let none = result(0.0, 0, 40.0);
    let mut failing = usual.clone();
    failing.transactions.get_mut("new_order").expect("New-Orders").failed = 5;
    let micro = RunResult { plan: micro_plan(), ..usual.clone() };
    let small_plan = crate::plan::PlanInfo { size: Some("small".to_owned()), ..Default::default() };
    let small = RunResult { plan: small_plan, ..result(1_000.0, 500, 50.0) };
    for (text, a, b, words) in [
        ("tps < -5%", &usual, &none, "1,000 in A, – in B: no transaction was completed in the window"),
        ("tps < -5%", &none, &usual, "– in A, 1,000 in B: in the first result no transaction was completed"),
        ("payment.p99 > +5%", &usual, &usual, "no transaction of type Payment was completed"),
        (
            "failed > +10%",
            &usual,
            &failing,
            "a change from 0 has no percentage: write a difference, such as +5",
        ),
        ("tps < -5%", &usual, &micro, "the workloads differ (tpcc and micro)"),
        ("tps < -5%", &usual, &small, "the sizes of the warehouses differ (standard and small)"),
    ] {
        let gate = FailIf::parse(text).expect("a change").judge(a, b);
        assert!(gate.failed, "{text}");
        let found = gate.words(("A", "B"));
        assert!(found.contains(words), "{text}: {found}");
    }
    assert!(FailIf::parse("failed > +4").expect("a change").judge(&usual, &failing).failed);
    assert!(!FailIf::parse("tps < 5").expect("a limit").judge(&none, &usual).failed, "A bears on no limit");
}

#[test]
fn a_change_needs_its_sign() {
    for (text, words) in [
        ("nopm < 5%", "has a change \"5%\" that has no sign: write -5% or +5%"),
        ("abort_rate > 5%", "write -5% or +5%, or a value without %"),
        ("nopm < -x%", "must be a number with %"),
        ("nopm < -5ms", "must be a plain number"),
        ("new_order.p99 > +5", "must be a time with its unit"),
        ("nopn < -5%", "did you mean nopm?"),
    ] {
        let problem = FailIf::parse(text).unwrap_err();
        assert!(problem.contains(words), "{text}: {problem}");
    }
}

#[test]
fn a_condition_that_decides_nothing_or_fails_what_is_good_is_refused() {
    for (text, words) in [
        ("nopm > -5%", "fails what is as good as before, and better: use <"),
        ("new_order.p99 < +25%", "fails what is as good as before, and better: use >"),
        ("failed <= +0", "fails what is as good as before, and better: use >"),
        ("nopm < -100%", "never fails: nothing gets less by more than 100 %"),
        ("nopm <= -500%", "never fails"),
        ("nopm < 0", "never fails: it is never below 0"),
        ("failed < 0", "never fails"),
        ("latency.p99 < 50ms", "fails what is good: use >"),
        ("tps > 100", "fails what is good: use <"),
    ] {
        let problem = FailIf::parse(text).expect_err(text);
        assert!(problem.contains(words), "{text}: {problem}");
    }
    for text in
        ["nopm < +10%", "nopm <= -100%", "new_order.p99 > +25%", "failed > 0", "tps > +50%", "failed == 0"]
    {
        FailIf::parse(text).expect(text);
    }
    for (text, words) in [
        ("failed >= 0", "holds only where it is bad"),
        ("abort_rate > 0.5%", "holds only where it is bad"),
        ("failed < 0", "never holds"),
        ("failed_rate <= -1%", "never holds"),
        ("latency.p99 <= 0ms", "never holds"),
    ] {
        let why = Requirement::parse(text).expect(text).not_searched();
        assert!(why.is_some_and(|why| why.contains(words)), "{text}: {why:?}");
    }
    for text in ["tps > 500", "nopm >= 1", "tps.payment > 5"] {
        let why = Requirement::parse(text).expect(text).not_searched();
        assert!(why.is_some_and(|why| why.contains("fails at low levels")), "{text}: {why:?}");
    }
    for text in [
        "failed == 0",
        "failed <= 0",
        "failed_rate < 1%",
        "latency.p99 < 20ms",
        "efficiency > 85%",
        "r_e > 0.9",
        "t_e >= 0.5",
        "seconds_without_commit < 5s",
    ] {
        assert_eq!(Requirement::parse(text).expect(text).not_searched(), None, "{text}");
    }
}
