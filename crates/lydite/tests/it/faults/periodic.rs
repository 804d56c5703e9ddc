//! Faults that repeat until the end of the window: each occurrence is injected, undone and judged, and all are summed up.

use super::{Lab, Place, assert_injected, json, lydite, seconds, text};
use std::fs;

#[test]
fn a_fault_that_repeats_is_judged_at_each_occurrence_and_summed_up_over_all() {
    let lab = Lab::new();
    let (file, plan) = (lab.place.file("result.json"), lab.place.file("plan.toml"));
    let table =
        "[[fault]]\nkind = \"stop\"\nfrom = \"1s\"\nto = \"1.5s\"\nevery = \"2s\"\nwhere = \"lab:pg\"\n";
    fs::write(&plan, table).expect("a plan");
    let once = "cpu-burn:1@0.2s..0.4s,every=30s/local";
    let ended = lab
        .run("8s", &[once], &["--config", text(&plan), "--no-check", "--json", text(&file)])
        .wait()
        .code(0);
    let warned =
        format!("fault {once}: occurs once, since the window of 8 s ends before its second occurrence");
    assert!(ended.stderr.contains(&warned), "{ended:?}");
    let result = json(&file);
    let stop = "stop@1s..1.5s,every=2s/lab:pg";
    assert_eq!(result["plan"]["faults"], serde_json::json!([once, stop]));
    let faults = result["faults"].as_array().expect("faults");
    assert_eq!(faults.len(), 5, "{result}");
    for (number, fault) in (1_u32..).zip(&faults[1..]) {
        assert_injected(fault, &["stopped ", " processes, state T"]);
        assert_eq!(seconds(&fault["begin_s"]), f64::from(2 * number - 1), "{fault}");
        assert_eq!(
            (fault["occurrence"].as_u64(), fault["every_s"].as_f64()),
            (Some(number.into()), Some(2.0)),
            "{fault}"
        );
    }
    // The first second of the window alone is too short to say what is normal.
    let judged = result["availability"].as_array().expect("availability");
    assert_eq!(judged.len(), 5, "{result}");
    assert!(judged.iter().all(|of| of["r_e"].is_null() && of["note"] != ""), "{result}");
    assert!(judged[1..].iter().all(|of| of["aborts"]["during"]["serialization"].is_u64()), "{result}");
    let periodic = &result["periodic_faults"][1];
    assert_eq!(
        (&periodic["faults"], &periodic["occurred"], &periodic["ok"]),
        (&serde_json::json!([1, 2, 3, 4]), &4.into(), &4.into()),
        "{result}"
    );
    let during = &periodic["tps_during"];
    assert_eq!(during["of"], 4, "{result}");
    assert!(seconds(&during["min"]) <= seconds(&during["median"]), "{result}");
    assert!(seconds(&during["median"]) <= seconds(&during["max"]), "{result}");
    let summary =
        "stop on lab:pg every 2 s: 4 of 4 occurrences began, 4 ok; median (least to greatest): during";
    let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(summary), "{}", ended.stdout);
    let page = lab.place.file("page.html");
    lydite(&["report", text(&file), "--output", text(&page)]).code(0);
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("Faults that repeat") && page.contains("stop on lab:pg every 2 s"));
    assert_eq!(lab.place.list(), "no active faults\n");
}

#[test]
fn faults_that_can_not_repeat_as_they_are_written_are_rejected_before_anything_begins() {
    let place = Place::new();
    let faults = [
        (
            "stop@1s..3s,every=2s/lab:pg",
            "lasts 2 s and repeats every 2 s: let every be longer than the fault",
        ),
        ("stop@1s..3s,every=0s/lab:pg", "lasts 2 s and repeats every 0 s"),
        ("kill@1s,every=5s/lab:pg", "has no end, so it can't repeat: write FROM..TO,every=TIME"),
        ("stop@1s..3s,often=5s/lab:pg", "after its times: write FROM..TO,every=TIME/WHERE"),
        (
            "cpu-burn:1@1s..1.001s,every=2ms/local",
            "occurs 14500 times in the window of 30 s, and a fault may occur 1000 times at most",
        ),
        ("mem-burn:1k@1s..2s", "needs a size from 1 MiB, as mem-burn:512Mi@"),
        ("mem-burn:4096Gi@1s..2s", "takes 4398046.5 MB, and this machine has "),
        ("mem-burn:1Mi@3s..5s,every=10s", ""),
        ("mem-burn:1Mi@14s..16s", "overlaps mem-burn:1Mi@3s..5s,every=10s/local at the same place"),
    ];
    let mut arguments = vec!["run", "gemel:", "-w", "1", "-d", "30s"];
    faults.iter().for_each(|(fault, _)| arguments.extend(["--fault", fault]));
    let ended = place.lydite(&arguments).code(2);
    let (errors, wanted) = (ended.errors(), faults.iter().filter(|(_, words)| !words.is_empty()));
    for (fault, words) in wanted.clone() {
        assert!(errors.iter().any(|error| error.contains(words)), "{fault}: {errors:#?}");
    }
    assert_eq!(errors.len(), wanted.count(), "{errors:#?}");
}
