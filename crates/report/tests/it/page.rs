//! The HTML page: self-contained, safe against what a result says, and with everything in it.

use crate::sample::{Look, sample};
use lydite_report::model::{ComplianceLine, ErrorCount, PhaseResult, RunResult, TransactionResult};
use lydite_report::observed::Observed;
use lydite_report::render_html;

/// The script and the style that every page carries; the program's own, and too large to look into.
const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");

fn without_assets(page: &str) -> String {
    assert!(page.contains(SCRIPT) && page.contains(STYLE));
    page.replace(SCRIPT, "").replace(STYLE, "")
}

fn pages() -> Vec<String> {
    let usual = sample(Look { seconds: 60, ..Look::default() });
    let troubled = sample(Look { troubled: true, ..Look::default() });
    let paced = sample(Look { mode: "rte", ..Look::default() });
    let one = std::slice::from_ref::<RunResult>;
    vec![
        render_html(one(&usual)),
        render_html(one(&troubled)),
        render_html(one(&paced)),
        render_html(&[usual.clone(), troubled.clone()]),
        render_html(&[usual, troubled, paced]),
        render_html(&[]),
        render_html(&[RunResult::default()]),
        render_html(&[RunResult::default(), RunResult::default()]),
    ]
}

#[test]
fn the_page_loads_nothing_from_anywhere() {
    for page in pages() {
        let own = without_assets(&page);
        for attribute in ["src=", "srcset=", "action=", "@import", "<link", "<iframe", "<object", "<base"] {
            assert!(!own.contains(attribute), "{attribute}");
        }
        // Every link leads to a section of the page.
        for link in own.split("href=\"").skip(1) {
            let to = link.split('"').next().unwrap();
            let id = to.strip_prefix('#').unwrap_or_else(|| panic!("{to} leads away"));
            assert!(own.contains(&format!("id=\"{id}\"")), "{to} leads nowhere");
        }
        assert!(own.contains("default-src &#39;none&#39;"), "the browser is told to load nothing");
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    assert!(!SCRIPT.contains("</script"), "the script would end early");
}

#[test]
fn text_of_a_result_cannot_become_markup() {
    let attack = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{2028}";
    let mut result = sample(Look { seconds: 30, troubled: true, ..Look::default() });
    result.errors = vec![ErrorCount { message: attack.to_owned(), count: 1 }];
    result.target.kind = attack.to_owned();
    result.target.version = attack.to_owned();
    result.target.url = attack.to_owned();
    result.target.settings.insert(attack.to_owned(), attack.to_owned());
    result.target.changed_settings.insert(attack.to_owned(), attack.to_owned());
    let values = vec![Some(1.0), Some(2.0)];
    let [source, name, unit] = [attack, attack, attack].map(str::to_owned);
    result.observed = vec![Observed { source, name, unit, values }];
    result.host.hostname = attack.to_owned();
    result.host.cpu = attack.to_owned();
    result.window.start = attack.to_owned();
    result.plan.others.insert(attack.to_owned(), serde_json::json!({ attack: [attack, { attack: attack }] }));
    let control = serde_json::json!({ "asked": { attack: attack }, "actual": {} , attack: [{attack: 1}]});
    result.controls.others.insert(attack.to_owned(), control);
    result.aborts.insert(attack.to_owned(), 3);
    result.transactions.insert(attack.to_owned(), TransactionResult { committed: 1, ..Default::default() });
    result.client.bottleneck = Some(attack.to_owned());
    for check in &mut result.checks {
        check.id = attack.to_owned();
        check.detail = attack.to_owned();
    }
    for line in &mut result.compliance {
        line.rule = attack.to_owned();
        line.clause = attack.to_owned();
        line.note = attack.to_owned();
    }
    for input in &mut result.inputs {
        input.quantity = attack.to_owned();
        input.unit = attack.to_owned();
        input.note = attack.to_owned();
    }
    let other = sample(Look { seconds: 30, ..Look::default() });
    for page in [render_html(std::slice::from_ref(&result)), render_html(&[other, result.clone()])] {
        let own = without_assets(&page);
        assert!(own.contains("&lt;script&gt;alert(1)"), "the text itself is shown");
        assert!(!own.contains("<script>alert") && !own.contains("<img"));
        // Two script elements: the data and the program.
        assert_eq!((own.matches("<script").count(), own.matches("</script").count()), (2, 2));
    }
}

#[test]
fn numbers_of_controls_have_six_digits_and_whole_ones_all() {
    let mut result = sample(Look { seconds: 30, ..Look::default() });
    let thing = serde_json::json!({
        "asked": { "share": 21_417.0, "rate": 1_234_567.25, "seed": 1_234_567_890_u64 },
        "actual": { "share": 19.973_456_789, "little": 0.000_012_345_678, "each": [0.1 + 0.2, 7] },
    });
    result.controls.others.insert("thing".to_owned(), thing);
    let page = render_html(&[result]);
    for wanted in
        ["21417</td>", "1234567</td>", "19.9735</td>", "1234567890</td>", "0.0000123457</td>", "0.3, 7</td>"]
    {
        assert!(page.contains(&format!(">{wanted}")), "{wanted}");
    }
}

#[test]
fn the_page_of_one_run_has_all_its_parts() {
    let page = render_html(&[sample(Look { mode: "rte", troubled: true, ..Look::default() })]);
    let own = without_assets(&page);
    for chart in ["throughput", "latency-over-time", "trouble", "percentiles", "frequency", "think", "parts"]
    {
        assert!(own.contains(&format!("data-chart=\"{chart}\"")), "no chart {chart}");
    }
    assert_eq!(own.matches("data-chart=\"frequency\"").count(), 5, "one distribution per type (TPC-C 5.6.1)");
    for chart in own.split("class=\"chart\"").skip(1) {
        let tag = chart.split('>').next().unwrap();
        assert!(tag.contains("role=\"img\"") && tag.contains("aria-label=\""), "{tag}");
    }
    for wanted in [
        "NOPM is not tpmC",
        "TPC-C-derived",
        "Mix of transactions (TPC-C 5.2.3)",
        "Randomness of the inputs (TPC-C 5.5.1.5)",
        "Keying and think times",
        "Deferred Delivery",
        "Consistency conditions (TPC-C 3.3.2)",
        "not judged",
        "shared_buffers",
        "W=4 D=7: NO_O_ID 2101 to 3120 but 1019 rows",
        "degree_stddev",
    ] {
        assert!(own.contains(wanted), "{wanted:?} is missing");
    }
}

#[test]
fn observed_values_have_charts_a_table_and_marks_of_checkpoints() {
    let own = without_assets(&render_html(&[sample(Look { seconds: 160, ..Look::default() })]));
    let (_, section) = own.split_once("<section id=\"server\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    for wanted in [
        "<h3>Database</h3>",
        "<h3>Client machine</h3>",
        "<figcaption>Bytes per second</figcaption>",
        "<figcaption>Percent</figcaption>",
        "pg_stat_activity.Lock: 2.00 on average, 4.00 at most",
        "3 values did not change and are in the table only.",
        "<summary>All observed values</summary>",
        ">pg_stat_database.deadlocks</th>",
        ">cpu.steal</th><td class=\"w\">Client machine</td><td class=\"n\">0 %</td>",
    ] {
        assert!(section.contains(wanted), "{wanted:?} is missing in {section}");
    }
    // Commits and what they change have one size, rows read another.
    assert!(section.contains("<figcaption>Events per second, up to "), "{section}");
    assert!(own.contains("\"checkpoints\":[140],"), "the charts over time mark the checkpoint");
    assert!(own.contains("A dotted line marks the second in which a checkpoint began."));
    for wanted in ["Settings that are not the server&#39;s default", ">random_page_cost<", ">encrypted<"] {
        assert!(own.contains(wanted), "{wanted:?} is missing");
    }
    let mut without = sample(Look { seconds: 30, ..Look::default() });
    without.observed.clear();
    let own = without_assets(&render_html(&[without]));
    assert!(!own.contains("id=\"server\"") && own.contains("\"checkpoints\":[],"));
}

#[test]
fn several_runs_are_compared_and_their_differences_named() {
    let a = sample(Look { seconds: 60, ..Look::default() });
    let mut b = sample(Look { seconds: 60, seed: 2, speed: 1.3, ..Look::default() });
    b.target.settings.insert("fsync".to_owned(), "off".to_owned());
    b.target.changed_settings.remove("work_mem");
    b.target.encrypted = Some(false);
    let pair = without_assets(&render_html(&[a.clone(), b.clone()]));
    for wanted in [
        "One run each: B has 1.",
        "overlay-throughput",
        "overlay-percentiles",
        "setting: fsync",
        "plan: seed",
    ] {
        assert!(pair.contains(wanted), "{wanted:?} is missing");
    }
    for wanted in ["setting: work_mem", "not encrypted", ">db pg_stat_wal.wal_bytes<", "MiB/s"] {
        assert!(pair.contains(wanted), "{wanted:?} is missing");
    }
    assert!(!pair.contains("data-chart=\"observed\"") && pair.contains("\"charts\":[]"), "means only");
    let three = without_assets(&render_html(&[a.clone(), b, a]));
    assert!(!three.contains("B against A"));
    assert!(three.contains("3 runs side by side"));
}

#[test]
fn moments_are_shown_to_the_second() {
    let mut result = sample(Look { seconds: 30, ..Look::default() });
    result.window.start = "2026-11-21T09:40:05.194337895Z".to_owned();
    let own = without_assets(&render_html(&[result]));
    assert!(own.contains("2026-11-21 09:40:05 UTC") && !own.contains("194337895"));
}

#[test]
fn a_run_along_a_curve_is_told_in_words() {
    let phase = |from_s: f64, to_s: f64, rate: &str| PhaseResult {
        from_s,
        to_s,
        asked: [("rate".to_owned(), rate.to_owned())].into(),
        ..PhaseResult::default()
    };
    let mut result = sample(Look { seconds: 30, ..Look::default() });
    result.plan.mode = Some("open".into());
    result.plan.rate = Some(150.0);
    assert!(without_assets(&render_html(&[result.clone()])).contains("rate 150,"), "a plan without phases");
    result.phases = vec![phase(0.0, 30.0, "ramp(100,200)")];
    let own = without_assets(&render_html(&[result.clone()]));
    assert!(own.contains("rate from 100 to 200 (150 on average)") && !own.contains("rate 150.0"), "{own}");
    assert!(own.contains("In the window: rate from 100 to 200."), "{own}");
    assert!(own.contains("\"phases\":[]"), "the only phase is not numbered in the charts");
    let text = lydite_report::render_table(&result, 110, false);
    assert!(text.contains("phase    0 to 30 s, rate from 100 to 200: "), "{text}");

    result.phases = vec![phase(0.0, 10.0, "100"), phase(10.0, 30.0, "step(1,5)")];
    let own = without_assets(&render_html(&[result.clone()]));
    assert!(own.contains("rate by phase (150 on average)"), "{own}");
    assert!(own.contains("Phases: 1: rate 100; 2: rate in steps 1, 5."), "{own}");
    let text = lydite_report::render_table(&result, 110, false);
    assert!(text.contains("phase    2, 10 to 30 s, rate in steps 1, 5: "), "{text}");
}

#[test]
fn percentiles_with_too_few_samples_are_marked_in_table_and_page_and_not_in_the_document() {
    // 500 New-Orders have five above their 99th percentile, and fifty above the 90th.
    let mut result = sample(Look { seconds: 30, ..Look::default() });
    let of = result.transactions.get_mut("new_order").unwrap();
    (of.committed, of.rolled_back) = (500, 0);
    (of.latency_ms.p90, of.latency_ms.p99) = (Some(111.0), Some(222.0));
    for text in [
        lydite_report::render_table(&result, 110, false),
        without_assets(&render_html(&[result.clone()])),
        without_assets(&render_html(&[result.clone(), result.clone()])),
    ] {
        assert!(text.contains("~222") && !text.contains("~111"), "{text}");
        assert!(text.contains("~: fewer than 10 transactions lie above this percentile"), "{text}");
    }
    assert!(!serde_json::to_string(&result).unwrap().contains('~'));
    let long = sample(Look { seconds: 120, ..Look::default() });
    assert!(!lydite_report::render_table(&long, 110, false).contains('~'));
}

#[test]
fn a_rule_that_the_database_does_not_break_is_not_red() {
    let mut result = sample(Look { seconds: 30, ..Look::default() });
    let line =
        |rule: &str| ComplianceLine { rule: rule.to_owned(), met: Some(false), ..ComplianceLine::default() };
    for (rule, pill) in [
        ("measurement interval", "none"),
        ("keying and think times", "none"),
        ("audit", "none"),
        ("consistency conditions", "bad"),
        ("response times, 90th percentile", "bad"),
        ("isolation", "bad"),
    ] {
        result.compliance = vec![line(rule)];
        let page = without_assets(&render_html(std::slice::from_ref(&result)));
        assert!(page.contains(&format!("<span class=\"pill {pill}\">not met</span>")), "{rule}");
    }
}

#[test]
fn a_damaged_histogram_costs_its_charts_and_not_the_page() {
    let mut result = sample(Look { seconds: 30, ..Look::default() });
    for t in result.transactions.values_mut() {
        t.hdr.truncate(40);
    }
    let own = without_assets(&render_html(&[result]));
    assert!(!own.contains("data-chart=\"frequency\"") && !own.contains("data-chart=\"percentiles\""));
    assert!(own.contains("data-chart=\"throughput\""));
}

#[test]
fn the_page_stays_small_enough_to_send() {
    assert!(SCRIPT.len() < 700_000, "{} bytes of script", SCRIPT.len());
    let long = sample(Look { seconds: 7200, mode: "rte", ..Look::default() });
    let page = render_html(&[long]);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

/// Elements that open must close, in order: a browser would repair it silently, and differently from ours.
#[test]
fn every_element_is_closed_where_it_should_be() {
    for page in pages() {
        let own = without_assets(&page);
        let mut open: Vec<&str> = Vec::new();
        for piece in own.split('<').skip(1) {
            let tag = piece.split('>').next().unwrap();
            let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
            if tag.starts_with('!') || ["meta", "br"].contains(&name) {
                continue;
            }
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "after {open:?}");
            } else {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?} are left open");
    }
}
