//! Plan files: the places of errors, and the precedence of flags, settings and files.

use crate::asked::{plan, plan_of_file};

#[test]
fn errors_of_a_file_have_lines_and_come_in_their_order() {
    let text = "target = \"null:\"\nwarehouses = \"two\"\n\ndurration = \"30s\"\nmix = [45, 43]\n[rte]\n\
                wait_factor = -1.0\n[retry]\nattempts = 0\npause = \"1s\"\n";
    let errors = plan_of_file(text, &["--seed", "x"]).expect_err("a plan with errors");
    for said in [
        "line 2, warehouses: \"two\" must be a whole number",
        "line 4: durration is not known: did you mean duration?",
        "line 5: mix must be a text, a number or true/false",
        "line 7, rte.wait_factor: \"-1.0\" must be from 0 to",
        "line 9, retry.attempts: \"0\" must be a whole number from 1",
        "line 10: retry.pause is not known",
        "--seed: \"x\" must be a whole number",
    ] {
        assert!(errors.iter().any(|error| error.contains(said)), "{said}: {errors:?}");
    }
    let line = |error: &String| match error.split_once(", line ") {
        Some((_, rest)) => rest.split([':', ',']).next().and_then(|line| line.parse().ok()).unwrap_or(0),
        None => usize::MAX,
    };
    assert!(errors.is_sorted_by_key(line), "{errors:?}");
}

#[test]
fn a_name_without_its_table_is_the_name_that_is_meant() {
    let error = plan(&["null:", "--set", "wait_factor=1"]).expect_err("a part of a name");
    assert!(error[0].contains("is not known: did you mean rte.wait_factor?"), "{error:?}");
}

#[test]
fn waits_between_retries_that_contradict_each_other_are_reported_with_a_key_that_was_set() {
    let low = plan(&["null:", "--set", "retry.backoff_min=1s"]).expect_err("above the default");
    assert!(low[0].starts_with("--set retry.backoff_min: is above retry.backoff_max"), "{low:?}");
    let both = ["null:", "--set", "retry.backoff_min=2s", "--set", "retry.backoff_max=1s"];
    let both = plan(&both).expect_err("crossed");
    assert!(
        both[0].starts_with("--set retry.backoff_max: must not be below retry.backoff_min (2 s)"),
        "{both:?}"
    );
    assert!(plan(&["null:", "--set", "retry.backoff_min=1s", "--set", "retry.backoff_max=2s"]).is_ok());
}

#[test]
fn flags_win_over_settings_and_these_over_the_file() {
    let text = "target = \"null:\"\nduration = \"1s\"\nwarmup = \"1s\"\nseed = 1\n";
    let flags = ["--set", "warmup=2s", "--set", "warmup=3s", "--set", "seed=2", "--duration", "4s"];
    let plan = plan_of_file(text, &flags).expect("a plan");
    assert_eq!((plan.duration.as_secs(), plan.warmup.as_secs(), plan.seed), (4, 3, 2));
    let twice = plan_of_file(text, &["--set", "duration=2s", "--duration", "4s"]).expect_err("two flags");
    assert_eq!(twice, ["--set duration: is given as --duration too: give one"]);
}

#[test]
fn errors_name_a_file_that_is_no_plan() {
    let errors = plan_of_file("warehouses = 2\nmode direct\n", &[]).expect_err("no TOML");
    assert!(errors[0].contains("p.toml, line 2: "), "{errors:?}");
    let missing = plan(&["null:", "--config", "/nonexistent/plan.toml"]).expect_err("no file");
    assert!(missing[0].starts_with("--config /nonexistent/plan.toml: No such file"), "{missing:?}");
}
