//! Phases and curves: the steps that they become, and their errors.

use crate::asked::{assert_refused, plan, plan_of_file, refused, refused_once};
use lydite_plan::Plan;
use std::time::Duration;

/// The beginning, the phase and the rate of each step.
fn rates(plan: &Plan) -> Vec<(Duration, usize, Option<f64>)> {
    plan.schedule.steps.iter().map(|step| (step.from, step.phase, step.rate)).collect()
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_phase_has_the_values_of_the_plan_where_it_sets_none() {
    let text = r#"
target = "null:"
mode = "open"
rate = 100
sessions = 4
[[phase]]
name = "peak"
lasts = "10s"
rate = 1000
homes = "hotspot(0.1,1)"
[[phase]]
from = "30s"
lasts = "5s"
sessions = 0
"#;
    let plan = plan_of_file(text, &[]).expect("a plan");
    assert_eq!(plan.duration, s(35));
    let spans: Vec<_> =
        plan.schedule.phases.iter().map(|span| (span.from, span.to, span.name.as_deref())).collect();
    assert_eq!(spans, [(s(0), s(10), Some("peak")), (s(10), s(30), None), (s(30), s(35), None)]);
    assert_eq!(rates(&plan), [(s(0), 0, Some(1000.0)), (s(10), 1, Some(100.0)), (s(30), 2, Some(100.0))]);
    let sessions: Vec<_> = plan.schedule.steps.iter().map(|step| step.sessions).collect();
    assert_eq!(sessions, [Some(4), Some(4), Some(0)]);
    let homes: Vec<_> =
        plan.schedule.steps.iter().map(|step| step.controls.imbalance.homes.is_some()).collect();
    assert_eq!(homes, [true, false, false]);
}

#[test]
fn lists_are_phases_of_equal_length_and_jumps_of_a_curve_are_steps() {
    let run = ["null:", "--mode", "open", "--rate", "200,step(1000,0)", "--phase", "2s"];
    let plan = plan(&run).expect("a plan");
    assert_eq!(plan.duration, s(4));
    assert_eq!(plan.schedule.phases[1].asked("rate"), Some("step(1000,0)"), "as it was written");
    // Steps of a quarter of a second, and those with the same values are no changes.
    let rates = rates(&plan);
    assert_eq!(rates[0], (s(0), 0, Some(200.0)));
    let of_second: Vec<_> = rates.iter().filter(|(_, phase, _)| *phase == 1).collect();
    assert!(of_second.iter().all(|(from, _, rate)| *rate == Some(if *from < s(3) { 1000.0 } else { 0.0 })));
    assert!(of_second.iter().any(|(from, _, _)| *from == s(3)), "{of_second:?}");
}

#[test]
fn the_shortest_window_and_the_shortest_phase_have_a_step() {
    let window = plan(&["null:", "--duration", "500us"]).expect("a plan");
    assert_eq!(window.schedule.steps.len(), 1);
    let text = "target = \"null:\"\n[[phase]]\nfrom = \"0.2ms\"\nlasts = \"0.5ms\"\nterminals = 3\n[[phase]]\nlasts = \"1s\"\n\
                terminals = 2\n";
    let phases = plan_of_file(text, &["--terminals", "1"]);
    // A flag can't hold in a phase that sets the key itself.
    assert!(phases.is_err());
    let phases = plan_of_file(&format!("terminals = 1\n{text}"), &[]).expect("a plan");
    let sessions: Vec<_> = phases.schedule.steps.iter().map(|step| (step.from, step.sessions)).collect();
    let at = Duration::from_micros;
    assert_eq!(sessions, [(at(0), Some(1)), (at(200), Some(3)), (at(700), Some(2))]);
}

#[test]
fn a_ramp_has_the_value_of_the_middle_of_each_step() {
    let run = ["null:", "--mode", "open", "--rate", "ramp(0,1000)", "--duration", "1s"];
    let plan = plan(&run).expect("a plan");
    let quarter = Duration::from_millis(250);
    let expected = [125.0, 375.0, 625.0, 875.0];
    let expected: Vec<_> = (0..).zip(expected).map(|(step, rate)| (quarter * step, 0, Some(rate))).collect();
    assert_eq!(rates(&plan), expected);
    assert_eq!(plan.schedule.whole_curve("rate").as_deref(), Some("ramp(0,1000)"));
}

#[test]
fn errors_of_phases_are_reported_at_once_with_their_lines() {
    let text = r#"target = "null:"
warehouses = 2
duration = "10s"
[[phase]]
lasts = "20s"
rate = 10
homez = 3
[[phase]]
from = "5s"
lasts = "0s"
ci = "x"
homes = "zipf(ramp(1))"
"#;
    let errors = plan_of_file(text, &[]).expect_err("a plan with errors");
    for said in [
        "line 7: homez is not known: did you mean homes?",
        "line 9, from: phase 2 begins before the one before it has ended, at 20 s",
        "line 10, lasts: \"0s\" must be more than zero",
        "line 3, duration: is 10 s, and the phases last until",
        "line 6, rate: is for --mode open only",
        "line 11, ci: \"x\" must be a number of competing transactions",
        "line 12, homes: \"zipf(ramp(1))\" has ramp(1), which is no curve",
    ] {
        assert!(errors.iter().any(|error| error.contains(said)), "{said}: {errors:?}");
    }
    let errors = plan_of_file(text, &["--set", "homes=zipf(1)"]).expect_err("a plan with errors");
    let said = "homes: would not hold in phase 2 of the plan file";
    assert!(errors.iter().any(|error| error.contains(said)), "{errors:?}");
}

#[test]
fn a_wrong_value_is_reported_once_without_what_follows_from_it() {
    for value in ["ramp(9", "ramp(9)"] {
        let error = refused_once(&["null:", "--mode", "open", "--rate", value]);
        assert_eq!(error.contains("closing bracket"), value == "ramp(9", "{error}");
        let nodes = ["null:?nodes=4", "--warehouses", "8", "--dis-degree", "3", "--dis-ratio"];
        refused_once(&[&nodes[..], &[value]].concat());
        refused_once(&[&nodes[..], &[&format!("10,{value}")]].concat());
        refused_once(&["null:", "--set", &format!("homes=zipf({value})"), "--set", "homes_shift=3"]);
        let text = format!(
            "target = \"null:?nodes=4\"\nwarehouses = 8\n[[phase]]\nlasts = \"1s\"\ndis_ratio = \"{value}\"\n\
             dis_degree = 3\n[[phase]]\nlasts = \"1s\"\n"
        );
        assert_eq!(plan_of_file(&text, &[]).expect_err("a plan with an error").len(), 1);
    }
    let mixes = "45,43,4,4,4; 50,40,6,2,2";
    let error = refused_once(&["null:", "--terminals", "9", "--mix", mixes, "--ci", "1,2,3"]);
    assert!(error.contains("--mix: has values for 2 phases, and there are 3"), "{error}");
    // However many steps a curve has.
    let curve = refused(&["null:", "--mode", "open", "--rate", "ramp(9,-9)", "--duration", "1h"]);
    assert_eq!(curve.concat().matches("must be from 0").count(), 1, "{curve:?}");
    assert!(curve.concat().contains("--rate: \"ramp(9,-9)\" is \"-"), "{curve:?}");
    // Each of several wrong values.
    assert_eq!(refused(&["null:", "--terminals", "9", "--ci", "x\"a,x\"b"]).len(), 2);
}

#[test]
fn tables_of_phases_that_contradict_the_plan_are_refused() {
    for (tables, said) in [
        ("[phase]\nlasts = \"1s\"", "line 2: phase must be a time, or tables with two brackets"),
        (
            "mode = \"open\"\n[[phase]]\nlasts = \"1s\"\nrate = 5\n[[phase]]\nlasts = \"1s\"",
            "give the plan a rate",
        ),
        ("workload = \"micro\"\n[[phase]]\nlasts = \"1s\"\nmix = \"deck\"", "for --workload tpcc only"),
        (
            "mix = \"deck;deck\"\n[[phase]]\nlasts = \"1s\"",
            "is a list or a curve, and the plan file has tables",
        ),
        (
            "duration = \"2s\"\n[[phase]]\nfrom = \"2s\"\nterminals = 3",
            "line 4, from: phase 1 does not say how long",
        ),
        (
            "terminals = 9\nci = \"2,3\"\n[[phase]]\nlasts = \"1s\"\nterminals = 8",
            "line 3, ci: is a list or a curve",
        ),
        (
            "duration = \"20s\"\n[[phase]]\nlasts = \"10s\"\n[[phase]]\nfrom = \"5s\"\nlasts = \"10s\"\n[[phase]]\n\
             from = \"15s\"\nlasts = \"5s\"",
            "line 6, from: phase 2 begins before",
        ),
    ] {
        let errors =
            plan_of_file(&format!("target = \"null:\"\n{tables}\n"), &[]).expect_err("a plan with errors");
        assert!(errors.iter().any(|error| error.contains(said)), "{said}: {errors:?}");
    }
}

#[test]
fn impossible_lists_and_curves_are_refused() {
    for (arguments, said) in [
        (
            &["--ci", "10,20,30", "--terminals", "5,6"][..],
            "--terminals: has values for 2 phases, and there are 3",
        ),
        (&["--terminals", "1,2", "--mode", "rte"], "--terminals: can't change where users are emulated"),
        (&["--rate", "1,2", "--mode", "rte"], "--rate: is for --mode open only"),
        (
            &["--ci", "10+5,20", "--terminals", "30", "--warehouses", "3"],
            "has phases with fewer hot rows than others",
        ),
        (
            &["--ci", "5,8", "--terminals", "20,7", "--warehouses", "3"],
            "8 transactions can't compete with 7 sessions",
        ),
        (&["--terminals", "1,2", "--workload", "micro"], "phases and curves are for --workload tpcc only"),
        (&["--set", "homes_shift=1,2"], "homes_shift: needs homes"),
        (&["--set", "homes=zipf(0.9),zipf(0.1)"], "between phases write ;"),
        (&["--set", "homes=explicit(1e308,1e308)"], "needs at least one share of more than 0"),
        (&["--mode", "open", "--rate", "sine(500,400,250ms)"], "but the value changes every 0.25 s"),
        (&["--ci", "1,2,3", "--duration", "2us"], "are shorter than a millisecond each"),
        (
            &["--warehouses", "20000", "--duration", "1h", "--set", "homes=hotspot(0.1,ramp(0.1,0.9))"],
            "20000 warehouses would have more than 10000000 shares",
        ),
    ] {
        assert_refused(&[&["null:"], arguments].concat(), said);
    }
}
