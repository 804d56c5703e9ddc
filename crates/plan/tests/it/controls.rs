//! Controls in plans: the steps that they become, and their errors.

use crate::asked::{assert_refused, plan, refused};
use lydite_tpcc::{DistributionAsked, Strategy};

#[test]
fn all_errors_of_a_distribution_are_reported_at_once() {
    let errors = refused(&[
        "null:",
        "--dis-ratio",
        "101",
        "--dis-degree",
        "1",
        "--dis-strategy",
        "best",
        "--nodes",
        "hash:3",
    ]);
    for said in [
        "--dis-ratio: \"101\" must be from 0 to 100",
        "--dis-degree: \"1\" must be a whole number from 2",
        "--dis-strategy: \"best\" is not known: use paper, expected or placed",
        "--nodes: \"hash:3\" must be a number of nodes",
    ] {
        assert!(errors.iter().any(|error| error.contains(said)), "{said}: {errors:?}");
    }
    assert_refused(
        &["null:", "--dis-degree", "3", "--nodes", "9"],
        "--dis-degree: needs --dis-ratio, dis_payment",
    );
    assert_refused(&["null:", "--dis-ratio", "5", "--workload", "micro"], "is for --workload tpcc only");
}

#[test]
fn a_distribution_holds_in_each_step() {
    let plan = plan(&["null:?nodes=3", "--dis-ratio", "5,10", "--dis-degree", "3", "--phase", "2s"])
        .expect("a plan");
    let asked: Vec<_> = plan.schedule.steps.iter().map(|step| step.controls.distribution).collect();
    let of = |ratio_percent| {
        Some(DistributionAsked {
            ratio_percent: Some(ratio_percent),
            degree: 3,
            strategy: Strategy::default(),
            payment_percent: None,
            stock_level_percent: None,
            stock_level_degree: None,
        })
    };
    assert_eq!(asked, [of(5.0), of(10.0)]);
    assert!(plan.schedule.distributes() && plan.schedule.changes());
}

#[test]
fn contention_needs_sessions_districts_and_rows() {
    for (arguments, said) in [
        (["--ci", "10,20", "--terminals", "5"], "--ci: 20 transactions can't compete with 5 sessions"),
        (["--ci", "3", "--terminals", "101"], "101 sessions need a district each"),
        (["--ci", "3,x", "--terminals", "5"], "\"x\" must be a number of competing transactions"),
        (["--phase", "3s", "--terminals", "5"], "--phase: needs a list of values"),
        (["--ci", "3", "--dis-ratio", "5"], "--dis-ratio: can't be combined with --ci"),
        (["--set", "hot=district", "--terminals", "5"], "hot: needs ci"),
    ] {
        assert_refused(&[["null:"].as_slice(), &arguments].concat(), said);
    }
    for (arguments, sessions, said) in [
        (["--set", "hot=customer", "--ci", "3"], "9", "must be stock or district"),
        (
            ["--set", "hot=district", "--ci", "1+1"],
            "9",
            "2 hot districts need a warehouse each, and 1 are active",
        ),
        (["--set", "hot=district", "--ci", "10"], "10", "10 sessions need a district each"),
    ] {
        let run = ["null:", "--warehouses", "1", "--terminals", sessions];
        assert_refused(&[&run[..], &arguments].concat(), said);
    }
    assert_refused(
        &["null:", "--ci", "1,2", "--phase", "3s", "--duration", "5s"],
        "2 phases last 6 s together, and the window 5 s",
    );
}
