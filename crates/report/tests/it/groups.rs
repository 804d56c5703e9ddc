//! Groups of runs: which runs are paired, and what a comparison of several groups has.

use lydite_report::Verdict;
use lydite_report::groups::{
    Group, GroupsComparison, Method, Pairing, Run, compare_groups, given, of_list, problems, render_groups,
};
use lydite_report::model::{Latency, TransactionResult};
use lydite_report::{FailIf, RunResult};

/// A run that began in this minute; none has no start.
fn run(file: &str, minute: Option<u32>, tps: f64) -> Run {
    let new_order = TransactionResult {
        committed: 5_000,
        latency_ms: Latency { p99: Some(20_000.0 / tps), ..Latency::default() },
        ..TransactionResult::default()
    };
    let mut result = RunResult { tps, nopm: 27.0 * tps, ..RunResult::default() };
    result.window.start =
        minute.map_or_else(String::new, |minute| format!("2026-11-20T10:{minute:02}:00.5Z"));
    result.transactions.insert("new_order".to_owned(), new_order);
    Run { file: file.to_owned(), result }
}

/// Groups of runs that began in these minutes, each a little faster than the one before.
fn groups(minutes: &[&[u32]]) -> Vec<Group> {
    let side = |(place, minutes): (usize, &&[u32])| {
        let runs = minutes.iter().map(|minute| {
            let tps = 1_000.0 + 100.0 * place as f64 + f64::from(*minute);
            run(&format!("{place}-{minute}.json"), Some(*minute), tps)
        });
        (format!("side {place}"), runs.collect())
    };
    given(minutes.iter().enumerate().map(side).collect())
}

fn compared(groups: &[Group], pairing: Pairing) -> GroupsComparison {
    compare_groups(groups, pairing, &[]).unwrap()
}

#[test]
fn runs_are_paired_only_if_each_two_that_follow_each_other_are_one_of_both() {
    for (a, b, method, why) in [
        (vec![1, 4, 5], vec![2, 3, 6], Method::Paired, "taken in turns: A B B A A B by their starts"),
        (vec![2, 3], vec![1, 4], Method::Paired, "taken in turns: B A A B by their starts"),
        (vec![2, 4], vec![1, 3], Method::Welch, "B was first in most pairs (B A B A by their starts)"),
        (vec![1, 2], vec![3, 4], Method::Welch, "not taken in turns: A A B B by their starts"),
        (vec![1, 4], vec![2, 3, 5], Method::Welch, "A has 2 runs and B has 3 runs, so there are no pairs"),
        (vec![1], vec![2, 3], Method::Single, "A has 1 run and B has 2 runs"),
    ] {
        let found = compared(&groups(&[&a, &b]), Pairing::Auto);
        let answer = &found.verdicts[0];
        assert_eq!(answer.method, method, "{a:?} {b:?}: {answer:?}");
        assert!(answer.why.contains(why), "{answer:?}");
        assert_eq!(answer.interval.is_some(), method != Method::Single, "{answer:?}");
    }
    let mut apart = groups(&[&[1, 4], &[2, 3]]);
    assert_eq!(compared(&apart, Pairing::Off).verdicts[0].method, Method::Welch);
    apart[1].runs[1].result.host.hostname = "elsewhere".to_owned();
    let answer = &compared(&apart, Pairing::Auto).verdicts[0];
    assert!(
        answer.why.contains("not taken on one machine") && answer.why.contains("elsewhere"),
        "{answer:?}"
    );
    apart[0].runs[0].result.window.start = "yesterday".to_owned();
    let answer = &compared(&apart, Pairing::Auto).verdicts[0];
    assert!(answer.why.ends_with("0-1.json does not say when its run started"), "{answer:?}");
    assert_eq!(compared(&apart, Pairing::On).verdicts[0].method, Method::Paired);
}

#[test]
fn each_of_several_groups_is_compared_with_the_first_by_its_own_runs() {
    let all = groups(&[&[1, 4, 7], &[2, 3, 8], &[10, 11, 12]]);
    let gate = FailIf::parse("tps < +150").unwrap();
    let found = compare_groups(&all, Pairing::Auto, &[gate]).unwrap();
    let methods: Vec<_> =
        found.verdicts.iter().map(|of| (of.other.as_str(), of.method, of.verdict)).collect();
    assert_eq!(methods, [("B", Method::Paired, Verdict::Better), ("C", Method::Welch, Verdict::Better)]);
    let gates: Vec<_> = found.gates.iter().map(|gate| (gate.other.as_str(), gate.words.as_str())).collect();
    assert!(gates[0].1.contains("(+100, 95 % interval over runs +97.5 to +103)"), "{gates:?}");
    assert!(gates[1].1.contains("(+207, 95 % interval over runs +200 to +214)"), "{gates:?}");
    let text = render_groups(&found);
    let head: Vec<&str> =
        text.lines().find(|line| line.contains("C/A")).unwrap().split_whitespace().collect();
    assert_eq!(head.iter().filter(|word| **word == "verdict").count(), 2, "{text}");
    let p99 = found.metrics.iter().find(|metric| metric.name == "new_order.p99").unwrap();
    assert_eq!(p99.verdict, Verdict::Better, "less is better: {p99:?}");
}

#[test]
fn a_list_without_labels_is_a_group_for_each_run_and_seeds_do_not_part_runs() {
    let labelled = |file: &str, label: Option<&str>, seed: u64| {
        let mut run = run(file, None, 1_000.0);
        run.result.label = label.map(str::to_owned);
        run.result.plan.seed = Some(seed);
        run
    };
    let sizes = |runs: Vec<Run>| of_list(runs).iter().map(|group| group.runs.len()).collect::<Vec<_>>();
    let of = |label: Option<&str>, seed| labelled("x.json", label, seed);
    assert_eq!(sizes(vec![of(None, 1), of(None, 1), of(None, 1)]), [1, 1, 1]);
    assert_eq!(sizes(vec![of(Some("a"), 1), of(Some("b"), 1), of(Some("a"), 2)]), [2, 1]);
    assert_eq!(sizes(vec![of(Some("a"), 1), of(Some("a"), 2)]), [1, 1], "nothing to compare it with");
    let mut other = of(Some("a"), 2);
    other.result.plan.sessions = Some(8);
    let all = of_list(vec![of(Some("a"), 1), other, of(Some("a"), 3)]);
    assert_eq!(all.iter().map(|group| group.runs.len()).collect::<Vec<_>>(), [2, 1], "another plan");
    assert!(problems(&all, false).is_empty());
    let mixed = given(vec![("a".to_owned(), all.into_iter().flat_map(|group| group.runs).collect())]);
    let found: Vec<String> = problems(&mixed, true).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("does not belong to A with x.json: sessions (unset / 8)"), "{found:?}");
}
