//! The result document: its JSON names are a contract, old documents load, files are written whole.

use std::path::Path;

use crate::sample::{Look, sample};
use lydite_report::model::{FORMAT, RunResult};
use lydite_report::plan::PlanInfo;
use lydite_report::{ResultError, hdr};

#[test]
fn a_result_survives_the_way_through_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("result.json");
    for look in
        [Look { seconds: 30, ..Look::default() }, Look { mode: "rte", troubled: true, ..Look::default() }]
    {
        let result = sample(look);
        result.save(&path).unwrap();
        assert_eq!(RunResult::load(&path).unwrap(), result);
    }
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays behind");
}

#[test]
fn the_json_names_are_those_of_the_contract() {
    let json = serde_json::to_value(sample(Look { mode: "rte", troubled: true, ..Look::default() })).unwrap();
    let names = |pointer: &str| -> Vec<String> {
        let object = json.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing"));
        let mut names: Vec<String> = object.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    let expect = |pointer: &str, wanted: &str| {
        let mut wanted: Vec<&str> = wanted.split_whitespace().collect();
        wanted.sort_unstable();
        assert_eq!(names(pointer), wanted, "names at {pointer:?}");
    };
    expect(
        "",
        "lydite format status plan target host load window nopm tps efficiency_percent transactions aborts errors \
         series warmup_series client checks inputs controls compliance outages observed delivery pacing",
    );
    expect("/target", "kind version url settings changed_settings encrypted embedded");
    expect("/host", "hostname os kernel cpu cores memory_bytes");
    expect(
        "/load",
        "seconds rows bytes warehouses jobs rows_per_s bytes_per_s start phases series by_table batches client",
    );
    expect("/load/series", "second rows bytes");
    expect("/load/batches", "count latency_ms");
    expect("/load/client", "cpu_s peak_rss_bytes");
    expect("/window", "start warmup_s measured_s");
    expect("/transactions", "new_order payment order_status delivery stock_level");
    let of_type =
        "committed rolled_back retries failed unknown share_percent latency_ms queue_ms service_ms hdr";
    expect("/transactions/new_order", of_type);
    expect("/transactions/delivery", &format!("{of_type} interactive_ms"));
    expect("/transactions/new_order/latency_ms", "mean p50 p90 p95 p99 p999 max");
    expect("/errors/0", "message count");
    let series = "second new_order payment order_status delivery stock_level aborts errors unknown new_order_p50_ms \
                  new_order_p99_ms sessions_connected";
    expect("/series", series);
    expect("/warmup_series", series);
    expect("/client", "cpu_s peak_rss_bytes cpu_us_per_transaction lateness_ms");
    expect("/checks/0", "id ok detail when seconds");
    expect("/inputs/0", "quantity clause low high actual samples unit verdict note");
    expect("/compliance/0", "rule clause met note");
    expect("/outages/0", "cause from_s to_s");
    expect("/observed/0", "source name unit values");
    expect("/delivery", "queued completed skipped_districts within_80s_percent log");
    expect("/pacing/new_order", "keying_mean_s think_mean_s keying_min_s think_max_s think_hdr");

    assert_eq!(json["format"], FORMAT);
    assert_eq!(json["status"], "partial");
    assert_eq!(json["checks"][0]["when"], "before");
    assert_eq!(json["inputs"][2]["verdict"], "outside");
    assert_eq!(json["inputs"][5]["verdict"], "too_few_samples");
    assert!(json["compliance"][4]["met"].is_null());
}

#[test]
fn a_label_and_verdicts_on_requirements_are_written_where_there_are_any() {
    let json = serde_json::to_value(RunResult::default()).unwrap();
    assert!(json.get("label").is_none() && json.get("requirements").is_none());
    let mut result = RunResult { label: Some("main".to_owned()), ..RunResult::default() };
    result.requirements = vec![lydite_report::Requirement::parse("tps > 5").unwrap().judge(&result)];
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["label"], "main");
    assert_eq!(
        json["requirements"],
        serde_json::json!([{
            "text": "tps > 5", "metric": "tps", "value": null, "unit": "transactions/s", "met": false,
            "note": "no transaction was completed in the window",
        }])
    );
}

#[test]
fn absent_options_are_not_written() {
    let json = serde_json::to_value(RunResult::default()).unwrap();
    for name in ["load", "delivery", "pacing"] {
        assert!(json.get(name).is_none(), "{name} must be absent");
    }
    assert!(json["client"].get("bottleneck").is_none());
    assert!(json.get("observed").is_none() && json["target"]["encrypted"].is_null());
}

#[test]
fn a_document_with_little_in_it_loads() {
    let text = r#"{"lydite": "0.1.0", "format": 1, "nopm": 12, "target": {"kind": "gemel"},
                   "transactions": {"new_order": {"committed": 3}}, "a_name_from_the_future": 1}"#;
    let result = RunResult::from_json(text, Path::new("old.json")).unwrap();
    assert_eq!(result.transactions["new_order"].completed(), 3);
    assert_eq!(result.warehouses(), None);
    assert_eq!(result.plan, PlanInfo::default());
    assert!(serde_json::to_value(&result).unwrap()["plan"].is_object());
}

#[test]
fn another_format_is_refused_in_one_line_that_says_what_to_do() {
    let error =
        RunResult::from_json(r#"{"lydite": "9.0.0", "format": 2}"#, Path::new("new.json")).unwrap_err();
    assert!(matches!(error, ResultError::Format { found: 2, .. }));
    let text = error.to_string();
    assert!(text.contains("new.json") && text.contains("format 2") && text.contains("9.0.0"), "{text}");
    assert!(!text.contains('\n'));
}

#[cfg(unix)]
#[test]
fn a_saved_result_replaces_regular_files_alone_and_follows_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let [file, link, new, dangling, null] =
        ["file", "link", "new", "dangling", "null"].map(|name| directory.path().join(name));
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o604)).unwrap();
    symlink("file", &link).unwrap();
    symlink("new", &dangling).unwrap();
    symlink("/dev/null", &null).unwrap();
    for path in [&link, &dangling] {
        RunResult::default().save(path).unwrap();
        assert!(path.is_symlink());
    }
    assert_eq!(RunResult::load(&new).unwrap(), RunResult::load(&file).unwrap());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o604);
    let refused = RunResult::default().save(&null).unwrap_err().to_string();
    assert!(refused.contains("not a regular file"), "{refused}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 5, "no temporary file is left");
}

#[test]
fn files_that_are_no_results_are_named_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("broken.json");
    for text in
        ["", "[1, 2]", "{\"format\": \"one\"}", "{\"format\": 1, \"nopm\": \"fast\", \"lydite\": \"0\"}"]
    {
        std::fs::write(&path, text).unwrap();
        let message = RunResult::load(&path).unwrap_err().to_string();
        assert!(message.contains("broken.json") && !message.contains('\n'), "{message}");
    }
    let missing = RunResult::load(directory.path().join("absent.json")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read "), "{missing}");
    let unwritable = RunResult::default().save(directory.path().join("no/such/place.json")).unwrap_err();
    assert!(unwritable.to_string().starts_with("cannot write "), "{unwritable}");
}

#[test]
fn histograms_survive_as_text_and_damage_is_noticed() {
    let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    for n in 1..1000_u64 {
        histogram.record(n * 1_000_000).unwrap();
    }
    let text = hdr::encode(&histogram).unwrap();
    assert_eq!(hdr::decode(&text).unwrap(), histogram);
    for damaged in ["", "not base64!", "AAAA", &text[..text.len() / 2]] {
        assert!(hdr::decode(damaged).is_err(), "{damaged:?}");
    }
}
