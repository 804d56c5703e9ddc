//! Places of the documents that a run writes.

use crate::asked::{plan, refused_once};

#[test]
fn each_document_needs_a_place_of_its_own_that_can_be_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a name").to_owned();
    let (one, database) = (path("one"), path("db"));
    let both = refused_once(&["null:", "--json", &one, "--report", &one]);
    assert!(both.contains("--report: ") && both.contains("is where json goes"), "{both}");
    let log = ["--mode", "rte", "--set", &format!("rte.delivery_log={one}")];
    let both = refused_once(&[&["null:", "--summary", &one], &log[..]].concat());
    assert!(both.contains("is where summary goes"), "{both}");
    let logs = ["null:", "--set", &format!("success_log={one}")];
    let both = refused_once(&[&logs, &log[..]].concat());
    assert!(both.contains("success_log: ") && both.contains("is where rte.delivery_log goes"), "{both}");
    for (log, said) in
        [("-", "is no file"), ("/dev/null", "is no file"), ("/nonexistent/log", "can't be written")]
    {
        let error = refused_once(&["null:", "--set", &format!("success_log={log}")]);
        assert!(error.contains(said), "{log}: {error}");
    }
    let missing = refused_once(&["null:", "--json", "/nonexistent/result.json"]);
    assert!(missing.contains("--json: /nonexistent/result.json can't be written"), "{missing}");
    let own = refused_once(&[&format!("sqlite:{database}"), "--json", &database]);
    assert!(own.contains("belongs to the database"), "{own}");
    let named = path("result.json");
    assert!(!plan(&["null:", "--json", &named]).expect("a plan").writes_stdout());
    assert!(plan(&["null:", "--json", "-"]).expect("a plan").writes_stdout());
    let names: Vec<_> = std::fs::read_dir(directory.path()).expect("the directory").collect();
    assert!(names.is_empty(), "a plan writes nothing: {names:?}");
}

#[test]
fn requirements_are_on_metrics_that_the_run_has() {
    let good = plan(&["null:", "--require", "new_order.p99 < 50ms,tps > 1000"]).expect("a plan");
    assert_eq!(good.requirements.len(), 2);
    for (require, said) in [
        ("new_ordr.p99 < 50ms", "did you mean"),
        ("micro.p99 < 50ms", "are for --workload micro only"),
        ("update_stock.p99 < 50ms", "the mix has no update_stock"),
        ("new_order.p99 < 50", "must be a time with its unit"),
        ("abort_rate.bad_luck < 1%", "with an unknown abort reason: use serialization"),
    ] {
        let error = refused_once(&["null:", "--require", require]);
        assert!(error.contains(said), "{said}: {error}");
    }
    let label = refused_once(&["null:", "--label", "two\nlines"]);
    assert!(label.contains("must be one line of 1 to 100 characters"), "{label}");
}
