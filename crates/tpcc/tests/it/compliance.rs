//! The judgement of runs: each rule is broken by its own fact and by no other.

use lydite_tpcc::compliance::{
    Compliance, DATABASE_RULES, Declared, Isolation, MeasuredWaits, ResponseTimes, RunFacts, WindowVerdict,
    judge, judge_inputs, judge_mix,
};
use lydite_tpcc::{DikeKind, InputStatistics, Mix, Size, StandardKind, TransactionKind};

/// Transactions of the standard's types, and none of other types.
fn of_each(standard: [u64; 5]) -> [u64; TransactionKind::COUNT] {
    let mut all = [0; TransactionKind::COUNT];
    all[..5].copy_from_slice(&standard);
    all
}

/// Inputs of a run with every value as prescribed.
fn prescribed(new_orders: u64) -> InputStatistics {
    let mut orders_by_lines = [0; 16];
    orders_by_lines[10] = new_orders;
    InputStatistics {
        transactions: of_each([new_orders, new_orders, new_orders / 10, new_orders / 10, new_orders / 10]),
        rollbacks_asked: new_orders / 100,
        orders_by_lines,
        remote_lines: new_orders / 10,
        remote_orders: new_orders / 10,
        remote_payments: new_orders * 15 / 100,
        payments_by_name: new_orders * 60 / 100,
        order_status_by_name: new_orders * 6 / 100,
    }
}

#[test]
fn the_rules_of_the_database_are_rules() {
    let rules: Vec<&str> = judge(&good()).iter().map(|line| line.rule).collect();
    for rule in DATABASE_RULES {
        assert!(rules.contains(&rule), "{rule}: {rules:?}");
    }
}

fn good() -> RunFacts {
    RunFacts {
        data_skew: None,
        size: Size::Standard,
        wait_factor: Some(1.0),
        terminals_per_warehouse: 10.0,
        fixed_warehouses: true,
        mix: judge_mix(&prescribed(1_000_000), &Mix::Deck),
        inputs: judge_inputs(&prescribed(1_000_000), 100),
        response: [Some(ResponseTimes { p90_s: 0.02, mean_s: 0.01 }); StandardKind::COUNT],
        menu_p90_s: None,
        deferred_delivery_p90_s: Some(0.5),
        deliveries: 1_000,
        skipped_deliveries: 0,
        waits: StandardKind::ALL.map(|kind| {
            let limits = kind.limits();
            let (keying_min_s, think_mean_s) = (limits.keying_s, limits.mean_think_s);
            Some(MeasuredWaits { keying_min_s, think_mean_s, samples: 10_000 })
        }),
        measured_minutes: 120.0,
        new_orders: (0..7_200).map(|second| 20 + second % 3).collect(),
        checkpoints_s: Some(vec![600.0, 2_100.0, 3_600.0, 5_400.0]),
        nopm_per_warehouse: 12.6,
        durable_commits: Some(true),
        storage_in_memory: false,
        isolation: Some(Isolation { name: "serializable".to_owned(), level_3: Some(true) }),
        declared: None,
        reads_replicas: false,
        conditions_violated: Some(Vec::new()),
    }
}

fn broken(facts: &RunFacts) -> Vec<&'static str> {
    let rules = judge(facts);
    rules.into_iter().filter(|rule| rule.met == Some(false)).map(|rule| rule.rule).collect()
}

fn find(facts: &RunFacts, name: &str) -> Compliance {
    judge(facts).into_iter().find(|rule| rule.rule == name).unwrap_or_else(|| panic!("no rule {name}"))
}

#[test]
fn a_run_by_the_book_breaks_only_the_rules_that_no_driver_can_keep() {
    assert_eq!(broken(&good()), ["screens and menu", "audit"]);
}

#[test]
fn each_fact_breaks_its_own_rule() {
    type Spoil = fn(&mut RunFacts);
    let cases: [(&str, Spoil); 20] = [
        ("keying and think times", |f| f.wait_factor = None),
        ("keying and think times", |f| f.wait_factor = Some(0.1)),
        ("throughput per warehouse", |f| f.nopm_per_warehouse = 8.99),
        ("throughput per warehouse", |f| f.nopm_per_warehouse = 20_000.0),
        ("keying and think times, measured", |f| {
            f.waits[0] = Some(MeasuredWaits { keying_min_s: 17.9, think_mean_s: 12.1, samples: 10_000 });
        }),
        ("keying and think times, measured", |f| {
            f.waits[0] = Some(MeasuredWaits { keying_min_s: 18.0, think_mean_s: 11.5, samples: 10_000 });
        }),
        ("measurement interval", |f| {
            (f.measured_minutes, f.new_orders) = (119.0, f.new_orders[..7_140].to_vec());
        }),
        // One percent slower in each tenth of the interval.
        ("steady state", |f| {
            f.new_orders = (0..7_200).map(|second| 1_000 - second / 720 * 3 + second % 3).collect();
        }),
        ("running mean of the throughput", |f| {
            // A burst in the middle leaves no trend.
            f.new_orders =
                (0..7_200).map(|second| 20 + 10 * u64::from((3_000..4_200).contains(&second))).collect();
        }),
        ("checkpoints", |f| f.checkpoints_s = Some(vec![600.0, 2_100.0, 3_600.0])),
        ("checkpoints", |f| f.checkpoints_s = Some(vec![600.0, 700.0, 800.0, 900.0])),
        ("terminals per warehouse", |f| f.terminals_per_warehouse = 1.0),
        ("warehouse fixed per terminal", |f| f.fixed_warehouses = false),
        ("response times, 90th percentile", |f| {
            f.response[1] = Some(ResponseTimes { p90_s: 5.0, mean_s: 1.0 })
        }),
        ("mean response below the 90th percentile", |f| {
            f.response[4] = Some(ResponseTimes { p90_s: 0.1, mean_s: 0.3 });
        }),
        ("skipped deliveries", |f| f.skipped_deliveries = 11),
        ("consistency conditions", |f| f.conditions_violated = Some(vec![3, 12])),
        ("isolation", |f| {
            f.isolation = Some(Isolation { name: "read committed".to_owned(), level_3: Some(false) });
        }),
        ("durability", |f| f.durable_commits = Some(false)),
        ("durability", |f| f.storage_in_memory = true),
    ];
    for (name, spoil) in cases {
        let mut facts = good();
        spoil(&mut facts);
        let mut expected = vec![name, "screens and menu", "audit"];
        let mut found = broken(&facts);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn what_was_not_measured_stays_open() {
    let facts = RunFacts { terminals_per_warehouse: 10.0, ..RunFacts::default() };
    let names =
        ["transaction mix", "input data", "response times, 90th percentile", "consistency conditions"];
    let others = [
        "isolation",
        "durability",
        "skipped deliveries",
        "deferred deliveries",
        "keying and think times, measured",
        "steady state",
        "running mean of the throughput",
        "checkpoints",
        "eight hours at this rate",
    ];
    for name in names.into_iter().chain(others) {
        assert_eq!(find(&facts, name).met, None, "{name}");
    }
}

#[test]
fn a_few_think_times_below_the_mean_are_chance() {
    let mut facts = good();
    facts.waits[0] = Some(MeasuredWaits { keying_min_s: 18.0, think_mean_s: 11.5, samples: 100 });
    let found = find(&facts, "keying and think times, measured");
    assert_eq!((found.met, found.note.as_str()), (None, "new_order think 11.500 s on average, 12 wanted"));
}

#[test]
fn a_short_interval_leaves_its_steady_state_open_and_eight_steady_hours_are_shown() {
    let noisy = |seconds: u64| (0..seconds).map(|second| 90 + second * second % 23).collect::<Vec<_>>();
    let short = find(&RunFacts { new_orders: noisy(30), ..good() }, "steady state");
    assert_eq!(short.met, None, "{}", short.note);
    assert!(short.note.ends_with("measure longer to know"), "{}", short.note);
    let hours = |measured_minutes, seconds| {
        let facts = RunFacts { measured_minutes, new_orders: noisy(seconds), ..good() };
        find(&facts, "eight hours at this rate")
    };
    assert_eq!(hours(120.0, 7_200).met, None);
    assert_eq!(hours(480.0, 28_800).met, Some(true));
}

#[test]
fn durability_is_never_said_to_be_met_without_a_test_of_clause_3_5_4() {
    assert_eq!(find(&good(), "durability").met, None);
}

#[test]
fn districts_that_are_not_ten_for_each_warehouse_break_the_population_of_clause_4_3_3_1() {
    assert_eq!(find(&good(), "districts per warehouse").met, Some(true));
    let facts = RunFacts { data_skew: "zipf(1.5)".parse().ok(), ..good() };
    assert_eq!(
        broken(&facts),
        std::iter::once("districts per warehouse").chain(broken(&good())).collect::<Vec<_>>()
    );
}

#[test]
fn what_a_driver_declares_is_met_only_when_it_was_tested_and_less_than_level_3_never() {
    let weak = Some(Isolation { name: "read committed".to_owned(), level_3: Some(false) });
    for (declared, met, words) in [
        (Some(Declared::Untested), None, "declared by the driver, not tested"),
        (Some(Declared::Tested), Some(true), "declared by the driver, tested by the kit"),
    ] {
        let isolation = find(&RunFacts { declared, ..good() }, "isolation");
        assert_eq!(isolation.met, met);
        assert!(isolation.note.contains(words), "{}", isolation.note);
        let durability = find(&RunFacts { declared, ..good() }, "durability");
        assert_eq!(durability.met, None);
        assert!(durability.note.contains("declared by the driver"), "{}", durability.note);
        let weak = find(&RunFacts { declared, isolation: weak.clone(), ..good() }, "isolation");
        assert_eq!(weak.met, Some(false), "{}", weak.note);
    }
}

#[test]
fn reads_of_a_replica_break_the_isolation_of_clause_3_4_whatever_the_level_is() {
    let facts = RunFacts { reads_replicas: true, ..good() };
    let isolation = find(&facts, "isolation");
    assert_eq!(isolation.met, Some(false));
    assert!(isolation.note.contains("replicas"), "{}", isolation.note);
}

#[test]
fn one_skipped_delivery_is_always_allowed_by_clause_2_7_4_2() {
    let facts = RunFacts { deliveries: 10, skipped_deliveries: 1, ..good() };
    assert_eq!(find(&facts, "skipped deliveries").met, Some(true));
    let facts = RunFacts { deliveries: 10, skipped_deliveries: 2, ..good() };
    assert_eq!(find(&facts, "skipped deliveries").met, Some(false));
}

#[test]
fn a_value_outside_its_window_by_chance_alone_has_too_few_samples() {
    let rollbacks = |orders, rolled_back| {
        let statistics = InputStatistics { rollbacks_asked: rolled_back, ..prescribed(orders) };
        judge_inputs(&statistics, 100)[0].verdict
    };
    // With 1 000 orders the standard error is 0.31 points.
    assert_eq!(rollbacks(1_000, 10), WindowVerdict::Inside);
    assert_eq!(rollbacks(1_000, 15), WindowVerdict::TooFewSamples);
    assert_eq!(rollbacks(1_000, 30), WindowVerdict::Outside);
    // With a million orders it is 0.01 points.
    assert_eq!(rollbacks(1_000_000, 10_500), WindowVerdict::Inside);
    assert_eq!(rollbacks(1_000_000, 11_500), WindowVerdict::Outside);
    assert_eq!(rollbacks(0, 0), WindowVerdict::TooFewSamples);
}

#[test]
fn too_few_samples_leave_a_rule_open_and_one_window_outside_breaks_it() {
    let mut statistics = InputStatistics { rollbacks_asked: 15, ..prescribed(1_000) };
    let judged = |statistics: &InputStatistics| RunFacts { inputs: judge_inputs(statistics, 100), ..good() };
    let open = find(&judged(&statistics), "input data");
    assert_eq!(open.met, None);
    assert_eq!(open.note, "too few samples: New-Orders rolled back, % 1.50 (0.9 to 1.1)");
    statistics.remote_payments = 500;
    let outside = find(&judged(&statistics), "input data");
    assert_eq!(outside.met, Some(false));
    assert_eq!(outside.note, "remote payments, % 50.00 (14 to 16)");
}

#[test]
fn with_one_warehouse_the_remote_windows_do_not_apply() {
    let statistics = InputStatistics { remote_lines: 0, remote_payments: 0, ..prescribed(1_000_000) };
    let verdicts = judge_inputs(&statistics, 1);
    assert_eq!(verdicts.len(), 4);
    assert!(verdicts.iter().all(|v| v.verdict == WindowVerdict::Inside), "{verdicts:?}");
    assert!(judge_inputs(&statistics, 2).iter().any(|v| v.verdict == WindowVerdict::Outside));
}

#[test]
fn a_mix_that_does_not_aim_at_the_minimum_shares_is_outside_at_any_size() {
    let mix = Mix::weights([90.0, 10.0, 0.0, 0.0, 0.0]).unwrap();
    let statistics = InputStatistics { transactions: of_each([9, 1, 0, 0, 0]), ..InputStatistics::default() };
    let verdicts = judge_mix(&statistics, &mix);
    assert!(verdicts.iter().all(|v| v.verdict == WindowVerdict::Outside), "{verdicts:?}");
    // With the deck's 4.35 % as the aim, ten transactions prove nothing.
    let few = judge_mix(&statistics, &Mix::Deck);
    assert_eq!(few[1].verdict, WindowVerdict::TooFewSamples);
}

#[test]
fn a_type_that_the_standard_does_not_have_makes_the_mix_another_whatever_its_share() {
    let judged = |mix: &str, update_stocks: u64| {
        let mut statistics = prescribed(100_000);
        statistics.transactions[DikeKind::UpdateStock.index()] = update_stocks;
        judge_mix(&statistics, &mix.parse().unwrap())
    };
    let mix = "new_order=44,payment=43,order_status=4,delivery=4,stock_level=4,update_stock=1";
    let verdicts = judged(mix, 2_300);
    assert_eq!(verdicts[4].title, "update_stock in the mix, %");
    assert_eq!(
        verdicts.iter().map(|v| v.verdict).filter(|v| *v == WindowVerdict::Outside).count(),
        1,
        "{verdicts:?}"
    );
    assert_eq!(verdicts[4].verdict, WindowVerdict::Outside);
    // A phase alone had the type.
    assert_eq!(judged("45,43,4,4,4", 1)[4].verdict, WindowVerdict::Outside);
    assert_eq!(judged("45,43,4,4,4", 0).len(), 4);
}
