//! What is asked of the controls is measured back, through the program.

use crate::loaded;
use crate::program::{Ended, json, longer_windows, lydite, scratch, text};
use lydite_testkit::postgres;

#[test]
fn the_distribution_that_was_asked_for_is_measured_back() {
    let directory = scratch();
    let result = directory.path().join("r.json");
    for strategy in ["placed", "expected"] {
        let asked = ["--dis-ratio", "20", "--dis-degree", "3", "--dis-strategy", strategy];
        let run = ["run", "null:?nodes=9", "--warehouses", "180", "--warmup", "0", "--json", text(&result)];
        let ended = longer_windows(|window| {
            let ended = lydite(&[&run[..], &asked, &["--duration", window]].concat()).code(0);
            let orders = json(&result)["controls"]["distribution"]["actual"]["orders"].as_u64();
            // So many that chance explains none of the differences below.
            (orders > Some(10_000)).then_some(ended)
        });
        assert!(ended.stdout.contains("(20 % configured)"), "{ended:?}");
        let distribution = &json(&result)["controls"]["distribution"];
        assert_eq!(distribution["asked"]["ratio_percent"], 20.0);
        assert_eq!(distribution["asked"]["degree"], 3);
        assert_eq!(distribution["asked"]["strategy"], strategy);
        let actual = |key: &str| distribution["actual"][key].as_f64().expect("a number");
        assert!((actual("ratio_percent") - 20.0).abs() < 2.0, "{distribution}");
        assert!((actual("degree") - 3.0).abs() < 0.05, "{distribution}");
        assert_eq!(actual("degree_stddev") == 0.0, strategy == "placed", "{distribution}");
        assert_eq!(distribution["nodes"].as_array().map(Vec::len), Some(9));
    }
}

#[test]
fn a_database_that_does_not_tell_is_asked_of_the_user_and_the_result_says_so() {
    let directory = scratch();
    let (database, result) = (directory.path().join("t.db"), directory.path().join("r.json"));
    let url = loaded::in_sqlite_of_size("small", &database, 4);
    let run = ["run", &url, "--dis-ratio", "50", "--warmup", "0", "--json", text(&result)];
    let refused = lydite(&run).code(2);
    assert!(
        refused.stderr.contains("does not report the nodes of its warehouses: place them with --nodes"),
        "{refused:?}"
    );
    let refused = lydite(&["run", "gemel:", "--dis-ratio", "50"]).code(2);
    assert!(
        !refused.stderr.contains("Load") && refused.stderr.contains("place them with --nodes"),
        "{refused:?}"
    );
    let server = postgres::shared();
    let refused = lydite(&["run", &server.create_database("untold"), "--dis-ratio", "50"]).code(2);
    assert!(refused.stderr.contains("place them with --nodes"), "{refused:?}");
    assert_eq!(server.psql("untold", "SELECT count(*) FROM pg_tables WHERE tablename = 'warehouse'"), "0");
    let asked = ["--nodes", "modulo:2", "--set", "dis_payment=100", "--set", "dis_stock_level=100"];
    let found = longer_windows(|window| {
        lydite(&[run.as_slice(), &asked, &["--duration", window]].concat()).code(0);
        let found = json(&result);
        let committed = |kind: &str| found["transactions"][kind]["committed"].as_u64() > Some(0);
        ["new_order", "payment", "stock_level"].into_iter().all(committed).then_some(found)
    });
    let distribution = &found["controls"]["distribution"];
    assert_eq!(distribution["placement"], "--nodes: 2 by modulo");
    assert_eq!(distribution["actual"]["degree"], 2.0);
    assert_eq!(distribution["actual"]["payment_percent"], 100.0);
    assert_eq!(distribution["actual"]["stock_level_percent"], 100.0);
    assert_eq!(distribution["actual"]["stock_level_degree"], 2.0);
}

#[test]
fn a_distribution_that_the_database_can_not_have_is_refused() {
    for (arguments, said) in [
        (["null:?nodes=3", "--dis-ratio", "5", "--dis-degree", "4"], "degree 4 is more than the 3 nodes"),
        (["null:?nodes=3", "--dis-ratio", "5", "--nodes", "3"], "reports the nodes of its warehouses itself"),
        (["null:", "--dis-ratio", "101", "--nodes", "2"], "--dis-ratio: \"101\" must be from 0 to 100"),
        (
            ["null:", "--ci", "10,20", "--terminals", "5"],
            "--ci: 20 transactions can't compete with 5 sessions",
        ),
    ] {
        let refused = lydite(&[["run"].as_slice(), &arguments].concat()).code(2);
        assert!(refused.stderr.contains(said), "{said}: {refused:?}");
    }
}

/// Asks for 4, 12 and 8 transactions of 18 sessions that compete for a row of this table, and holds the phases against it.
fn contention_is_kept(url: &str, hot: &str) -> serde_json::Value {
    let directory = scratch();
    let (result, page) = (directory.path().join("r.json"), directory.path().join("r.html"));
    let hot_row = format!("hot={hot}");
    let run = ["run", url, "--warehouses", "2", "--size", "small", "--terminals", "18", "--set", &hot_row];
    let files = ["--ci", "4,12,8", "--json", text(&result), "--report", text(&page)];
    // A machine that stands still for a moment keeps nobody at the row. Longer phases would hide feedback that is too slow.
    let attempt = |_| {
        let ended = lydite(&[&run[..], &["--phase", "4s", "--warmup", "0"], &files].concat()).code(0);
        assert!(ended.stdout.contains("contend "), "{ended:?}");
        let found = json(&result);
        // Who is given up waits for its turn, and is not tried in vain until nobody tries any more. (Other rows are fought
        // for, too.)
        let orders = &found["transactions"]["new_order"];
        let count = |key: &str| orders[key].as_u64().expect("a number");
        let mut near = 20 * count("failed") <= count("committed");
        let contention = found["controls"]["contention"].clone();
        let phases = contention["phases"].as_array().expect("phases");
        assert_eq!((phases.len(), contention["hot"].as_str()), (3, Some(hot)));
        for (phase, asked) in phases.iter().zip([4.0, 12.0, 8.0]) {
            let actual = phase["actual"].as_f64().expect("a number");
            assert_eq!(phase["asked"].as_f64(), Some(asked));
            // The feedback holds it far closer on an idle machine; this one may be busy.
            near &= (actual - asked).abs() < 0.25 * asked;
        }
        println!("{contention}, {orders}");
        near.then_some(contention)
    };
    let contention = (0..3).find_map(attempt).expect("the contention that was asked for");
    assert_eq!(json(&result)["window"]["measured_s"].as_f64().map(f64::round), Some(12.0));
    assert!(std::fs::read_to_string(&page).expect("the page").contains("data-chart=\"contention\""));
    contention
}

#[test]
fn contention_is_kept_where_transactions_wait_for_the_row() {
    let url = format!("{}?isolation=read-committed", loaded::on_postgres_of_size("small", "ci_waits", 2));
    assert_eq!(contention_is_kept(&url, "stock")["queued"], 0, "nobody is given up");
}

#[test]
fn contention_is_kept_where_transactions_are_given_up() {
    let queued =
        contention_is_kept(&loaded::on_postgres_of_size("small", "ci_aborts", 2), "stock")["queued"].as_u64();
    assert!(queued.is_some_and(|queued| queued > 10), "{queued:?} waited in the client's queue");
    contention_is_kept("gemel:?isolation=snapshot&commit=wait", "stock");
}

#[test]
fn parked_sessions_go_together_and_no_more_of_them_compete() {
    let directory = scratch();
    let result = directory.path().join("r.json");
    let run = ["run", "gemel:?commit=wait", "--size", "small", "--warehouses", "1", "--terminals", "8"];
    // The groups of the phases have different sizes. In the phase without groups nobody may be parked.
    let asked = ["--ci", "2,5,0,3", "--set", "ci_method=park", "--phase", "1s", "--warmup", "0"];
    lydite(&[&run[..], &asked, &["--json", text(&result)]].concat()).code(0);
    let found = json(&result);
    assert_eq!(found["plan"]["ci_method"], "park");
    let phases = found["controls"]["contention"]["phases"].as_array().expect("phases").clone();
    for (phase, most) in phases.iter().zip([2.0, 5.0, 0.0, 3.0]) {
        let actual = phase["actual"].as_f64().expect("a number");
        // A group of the phase before may still be at the row when the next phase begins.
        assert!(actual <= most + 1.0 && (actual > 0.0 || most == 0.0), "{phases:?}");
    }
    let refused =
        lydite(&["run", "null:", "--mode", "open", "--rate", "9", "--ci", "2", "--set", "ci_method=park"]);
    let refused = refused.code(2);
    assert!(refused.stderr.contains("must be feedback in this mode"), "{refused:?}");
}

#[test]
fn contention_for_a_row_of_a_database_that_is_locked_as_a_whole_is_refused() {
    let directory = scratch();
    let database = directory.path().join("t.db");
    let refused = lydite(&["run", &format!("sqlite:{}", text(&database)), "--ci", "4"]).code(2);
    assert!(refused.stderr.contains("SQLite lets one transaction write at a time"), "{refused:?}");
    assert!(!database.exists(), "nothing is loaded");
}

#[test]
fn contention_is_kept_at_a_rate_and_by_users_without_waiting_times() {
    // More requests than the database can answer, so that all sessions are at work.
    let rate = ["--mode", "open", "--rate", "100000"];
    let users = ["--mode", "rte", "--set", "rte.wait_factor=0"];
    for mode in [rate, users] {
        let directory = scratch();
        let result = directory.path().join("r.json");
        let sessions = ["--set", "sessions=12", "--set", "size=small", "--warehouses", "2", "--no-check"];
        let asked = ["--ci", "2,6", "--phase", "3s", "--warmup", "0", "--json", text(&result)];
        let run = [&["run", "gemel:?commit=wait"][..], &mode, &sessions, &asked].concat();
        let attempt = |_| {
            lydite(&run).code(0);
            let found = json(&result);
            let phases = found["controls"]["contention"]["phases"].as_array().expect("phases").clone();
            println!("{mode:?}: {phases:?}");
            let near = |(phase, asked): (&serde_json::Value, f64)| {
                let actual = phase["actual"].as_f64().expect("a number");
                (actual - asked).abs() < 0.25 * asked
            };
            assert!(found["transactions"]["payment"]["committed"].as_u64().is_some_and(|count| count > 0));
            (phases.iter().zip([2.0, 6.0]).all(near) && phases.len() == 2).then_some(())
        };
        (0..3).find_map(attempt).expect("the contention that was asked for");
    }
}

#[test]
fn contention_is_kept_for_a_district_as_well() {
    let server = postgres::shared();
    let url = format!("{}?isolation=read-committed", loaded::on_postgres_of_size("small", "ci_district", 2));
    let orders =
        || server.psql("ci_district", "SELECT count(*) FROM orders WHERE o_w_id = 1 AND o_d_id = 10");
    contention_is_kept(&url, "district");
    // Those that contend are orders of the last district, and no others are.
    let hot: u64 = orders().parse().expect("a number");
    assert!(hot > 310, "{hot} orders of the hot district, 300 of them loaded");
    lydite(&["check", &url]).code(0);
}

#[test]
fn homes_are_spread_as_asked_and_nodes_have_their_shares() {
    let directory = scratch();
    let result = directory.path().join("r.json");
    let run = ["run", "null:?nodes=4", "--warehouses", "20", "--warmup", "0", "--json", text(&result)];
    // Runs until so many transactions were made that chance explains none of the differences below.
    let far = |transactions: u64, more: &[&str]| -> Ended {
        longer_windows(|window| {
            let ended = lydite(&[&run[..], &["--duration", window], more].concat()).code(0);
            let made = json(&result)["controls"]["imbalance"]["actual"]["transactions"].as_u64();
            (made > Some(transactions)).then_some(ended)
        })
    };
    for mode in [&["--mode", "direct"][..], &["--mode", "open", "--rate", "20000"]] {
        let asked = ["--set", "homes=explicit(0.7,0.1,0.1,0.1)", "--dis-ratio", "10"];
        let ended = far(10_000, &[mode, &asked].concat());
        assert!(ended.stdout.contains("homes    explicit(0.7,0.1,0.1,0.1): 1"), "{ended:?}");
        let imbalance = &json(&result)["controls"]["imbalance"];
        for (node, asked) in
            imbalance["nodes"].as_array().expect("nodes").iter().zip([70.0, 10.0, 10.0, 10.0])
        {
            assert!((node["asked_percent"].as_f64().expect("a number") - asked).abs() < 1e-9, "{node}");
            assert!((node["actual_percent"].as_f64().expect("a number") - asked).abs() < 3.0, "{node}");
        }
    }
    // Homes that change are held against what was asked for while each was drawn from.
    // At a rate, so that as many are drawn from each however fast the machine is at the moment.
    let moving = ["--set", "homes=hotspot(0.1,0.9)", "--set", "homes_shift=ramp(0,10)"];
    let steady = ["--mode", "open", "--rate", "5000", "--set", "arrival=constant"];
    longer_windows(|window| {
        lydite(&[&run[..], &["--duration", window], &moving, &steady].concat()).code(0);
        let found = json(&result);
        let (all, of_phase) = (&found["controls"]["imbalance"], &found["phases"][0]["controls"]["imbalance"]);
        assert_eq!(all["asked"]["homes"], "hotspot(0.1,0.9)");
        assert_eq!(all["actual"], of_phase["actual"]);
        if all["actual"]["transactions"].as_u64() < Some(4_000) {
            return None;
        }
        assert!(all["actual"]["greatest_deviation_points"].as_f64().expect("a number") < 3.0, "{all}");
        // The hot spot of two was on each of the first twelve in turn, unless this machine stood still for long.
        (all["asked"]["most_frequent_percent"].as_f64().expect("a number") < 20.0).then_some(())
    });
    for (arguments, said) in [
        (["--set", "homes=zipf", "--seed", "1"], "is not a distribution: use zipf(0.99)"),
        (["--set", "homes=zipf(1)", "--mode", "rte"], "must be direct or open with homes"),
        (["--set", "homes=zipf(1)", "--ci", "3"], "can't be combined with homes"),
        (["--set", "homes=hotspot(0.001,0.5)", "--seed", "1"], "makes 0 of 20 warehouses hot"),
    ] {
        let refused = lydite(&[&run[..], &arguments].concat()).code(2);
        assert!(refused.stderr.contains(said), "{said}: {refused:?}");
    }
}

/// At a rate, so that the shares of a second do not depend on how fast the machine is in each part of it.
#[test]
fn phases_of_a_plan_file_change_what_they_set_and_are_measured_each() {
    let directory = scratch();
    let (plan, result, page) =
        (directory.path().join("p.toml"), directory.path().join("r.json"), directory.path().join("r.html"));
    let template = r#"
target = "null:?nodes=4"
warehouses = 20
terminals = 2
mode = "open"
rate = 10000
arrival = "constant"
warmup = "0s"
mix = "45,43,4,4,4"
[[phase]]
name = "calm"
lasts = "1s"
dis_ratio = 10
[[phase]]
from = "2s"
lasts = "1s"
dis_ratio = 60
dis_degree = 3
mix = "ramp(80,20),ramp(10,70),4,3,3"
homes = "explicit(1,0,0,0)"
homes_shift = "step(0,5)"
"#;
    let run = ["run", "--config", text(&plan), "--json", text(&result), "--report", text(&page)];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let (length, found) = longer_windows(|window| {
        let length: usize = window.trim_end_matches('s').parse().expect("seconds");
        let from = format!("{}s", 2 * length);
        let written =
            template.replace("\"2s\"", &format!("\"{from}\"")).replace("\"1s\"", &format!("\"{window}\""));
        std::fs::write(&plan, written).expect("written");
        let ended = lydite(&run).code(0);
        assert!(
            ended.stdout.contains(&format!("phase    1 calm, 0 to {length} s, dis_ratio 10: ")),
            "{ended:?}"
        );
        assert!(ended.stderr.contains("phase 2 of 3"), "{ended:?}");
        let found = json(&result);
        assert_eq!(found["phases"].as_array().map(Vec::len), Some(3), "what lies between them is one, too");
        // Where the machine stood still for long, a second has too few orders, or a ramp not as many in each part.
        let orders = |second: usize| number(&found["series"]["new_order"][second]);
        let transactions = found["phases"][2]["transactions"].as_object().expect("types");
        let all: f64 = transactions.values().map(number).sum();
        let share = 100.0 * number(&transactions["new_order"]) / all.max(1.0);
        let enough = orders(0) > 3_000.0 && orders(2 * length) > 3_000.0 && (share - 50.0).abs() < 5.0;
        if enough {
            assert!(ended.stdout.contains("% of New-Orders over 2.000"), "{ended:?}");
        }
        enough.then_some((length, found))
    });
    let phases = found["phases"].as_array().expect("phases");
    for (phase, (asked, degree)) in [&phases[0], &phases[2]].into_iter().zip([(10.0, 2.0), (60.0, 3.0)]) {
        let distribution = &phase["controls"]["distribution"];
        assert_eq!(number(&distribution["asked"]["ratio_percent"]), asked);
        assert!((number(&distribution["actual"]["ratio_percent"]) - asked).abs() < 2.0, "{phase}");
        assert_eq!(number(&distribution["actual"]["degree"]), degree, "{phase}");
    }
    assert_eq!(phases[1]["controls"]["distribution"]["asked"], serde_json::Value::Null);
    let total = |kind: &str| phases.iter().map(|phase| number(&phase["transactions"][kind])).sum::<f64>();
    let completed = &found["transactions"]["new_order"];
    assert_eq!(total("new_order"), number(&completed["committed"]) + number(&completed["rolled_back"]));
    let seconds =
        found["controls"]["distribution"]["per_second"]["ratio_percent"].as_array().expect("seconds");
    assert!(
        (number(&seconds[0]) - 10.0).abs() < 3.0 && (number(&seconds[2 * length]) - 60.0).abs() < 3.0,
        "{seconds:?}"
    );
    assert_eq!(found["plan"]["phases"][2]["homes_shift"], "step(0,5)");
    assert!(std::fs::read_to_string(&page).expect("the page").contains("1 calm"));
}

#[test]
fn what_a_phase_does_not_set_is_as_the_plan_has_it_whatever_the_others_set() {
    let directory = scratch();
    let (plan, result) = (directory.path().join("p.toml"), directory.path().join("r.json"));
    let written = r#"
target = "null:?nodes=10"
warehouses = 10
warmup = "0s"
mode = "open"
arrival = "constant"
rate = 100
sessions = 4
[[phase]]
lasts = "1s"
rate = 1000
homes = "hotspot(0.1,1)"
[[phase]]
lasts = "1s"
[[phase]]
lasts = "1s"
sessions = 0
"#;
    let transactions = |phase: &serde_json::Value| -> u64 {
        phase["transactions"].as_object().expect("types").values().filter_map(serde_json::Value::as_u64).sum()
    };
    // Transactions on each node from a second on.
    let from = |found: &serde_json::Value, second: usize| -> Vec<u64> {
        let ops = found["nodes"]["ops"].as_array().expect("ops").iter();
        let seconds = ops.map(|node| node.as_array().expect("seconds")[second..].iter());
        seconds.map(|ops| ops.map(|ops| ops.as_u64().expect("a number")).sum()).collect()
    };
    let (length, found, counts) = longer_windows(|window| {
        std::fs::write(&plan, written.replace("\"1s\"", &format!("\"{window}\""))).expect("written");
        lydite(&["run", "--config", text(&plan), "--json", text(&result)]).code(0);
        let found = json(&result);
        let length: usize = window.trim_end_matches('s').parse().expect("seconds");
        let counts: Vec<u64> = found["phases"].as_array().expect("phases").iter().map(transactions).collect();
        // The terminals are back in their own warehouses, which are on ten nodes, from the second phase on. A transaction
        // may end in the second after its own.
        let back = from(&found, length)[1..].iter().sum::<u64>() > 0;
        (counts[0] > 0 && counts[1] > 0 && back).then_some((length, found, counts))
    });
    let most = 1_100 * length as u64;
    let asked: Vec<_> = found["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .map(|phase| &phase["controls"]["rate"]["asked_per_s"])
        .collect();
    assert_eq!(asked, [1_000.0, 100.0, 100.0]);
    // A slow machine answers some of them in the next phase, or not at all.
    assert!(counts[0] + counts[1] <= most, "{counts:?}");
    assert!(counts[2] <= 4, "nobody plays, but each session may end what it had begun: {counts:?}");
    // All of the first phase are at home on the first node.
    let of_first = from(&found, 0)[0];
    assert!((counts[0]..=most).contains(&of_first), "{of_first} {counts:?}");
}

#[test]
fn the_curves_of_the_book_are_curves() {
    let directory = scratch();
    let result = directory.path().join("r.json");
    let run = ["run", "null:", "-w", "10", "--warmup", "0", "--duration", "2s", "--json", text(&result)];
    for curve in [
        &["--mode", "open", "--rate", "gaussian(1s,0.3s,2000)"][..],
        &["--set", "homes=hotspot(0.1,ramp(0.1,0.9))"],
        &["--mix", "ramp(45,40),ramp(43,25),4,4,ramp(4,27)"],
    ] {
        lydite(&[&run[..], curve].concat()).code(0);
    }
    // A jump is made where it is, however short it lasts.
    let steps = ["--mode", "open", "--set", "arrival=constant", "--rate", "step(10,10,100000,10,10)"];
    lydite(&[&run[..6], &["--duration", "1s"], &run[8..], &steps].concat()).code(0);
    let asked = json(&result)["controls"]["rate"]["asked"]["per_s"].as_f64().expect("a rate");
    assert!((asked - 20_008.0).abs() < 1.0, "{asked}");
}

#[test]
fn each_phase_of_a_ramp_has_its_latencies_aborts_and_queue_in_result_page_and_terminal() {
    let directory = scratch();
    let (result, page) = (directory.path().join("r.json"), directory.path().join("r.html"));
    let run = ["run", "null:", "-w", "2", "--mode", "open", "--set", "arrival=constant", "--warmup", "0"];
    let ramp = ["--rate", "50,100,200", "--phase", "1s", "--json", text(&result), "--report", text(&page)];
    let ended = lydite(&[&run[..], &ramp].concat()).code(0);
    let found = json(&result);
    let phases = found["phases"].as_array().expect("phases");
    assert_eq!(phases.len(), 3);
    let count = |value: &serde_json::Value| value.as_u64().expect("a count");
    for (kind, whole) in found["transactions"].as_object().expect("types") {
        let sum = |of: &str| phases.iter().map(|phase| count(&phase[of][kind])).sum::<u64>();
        assert_eq!(sum("transactions"), count(&whole["committed"]) + count(&whole["rolled_back"]), "{kind}");
        for of in ["retries", "failed", "unknown"] {
            assert_eq!(sum(of), count(&whole[of]), "{of} of {kind}");
        }
        let greatest = |of: &str| {
            let each = phases.iter().filter_map(|phase| phase[of][kind]["max"].as_f64());
            each.fold(None, |most: Option<f64>, max| Some(most.map_or(max, |most| most.max(max))))
        };
        assert_eq!(greatest("latency_ms"), whole["latency_ms"]["max"].as_f64(), "{kind}");
        assert_eq!(greatest("queue_ms"), whole["queue_ms"]["max"].as_f64(), "{kind}");
    }
    for (phase, rate) in phases.iter().zip([50, 100, 200]) {
        for number in ["mean", "p50", "p90", "p95", "p99", "p999", "max"] {
            assert!(phase["latency_ms"]["payment"][number].is_f64(), "{number} of {phase}");
        }
        let of_rate = &phase["controls"]["rate"];
        assert_eq!(
            (&of_rate["asked_per_s"], &of_rate["actual"]["due"]),
            (&serde_json::json!(f64::from(rate)), &serde_json::json!(rate))
        );
        assert_eq!(phase["aborts"]["deadlock"], 0, "{phase}");
    }
    let queue = |place: usize, of: &str| phases[place]["controls"]["queue"][of].as_i64().expect("a count");
    let grown: i64 = (0..3).map(|place| queue(place, "grew_by")).sum();
    assert_eq!((grown, queue(2, "backlog")), (queue(2, "backlog"), grown), "the queue was empty at first");
    assert_eq!(count(&found["controls"]["queue"]["actual"]["backlog"]), queue(2, "backlog").cast_unsigned());
    let line = ended.stdout.lines().find(|line| line.starts_with("phase    3, 2 to 3 s, rate 200: "));
    assert!(line.is_some_and(|line| line.contains(" tx/s, New-Order p50 ")), "{ended:?}");
    let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" ms, 0 aborts, queue "), "{words}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("<section id=\"phases\">")
            && page.contains("Latency by configured requests per second")
    );
}

#[test]
fn lists_and_curves_of_flags_are_phases_too() {
    let directory = scratch();
    let result = directory.path().join("r.json");
    let run = ["run", "null:", "-w", "2", "--mode", "open", "--set", "arrival=constant", "--warmup", "0"];
    let json_to = ["--json", text(&result)];
    let rates = ["--rate", "200,step(1000,0)", "--phase", "1s"];
    lydite(&[&run[..], &rates, &json_to].concat()).code(0);
    let found = json(&result);
    let asked: Vec<f64> = found["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .map(|phase| phase["controls"]["rate"]["asked_per_s"].as_f64().expect("a rate"))
        .collect();
    assert_eq!(asked, [200.0, 500.0]);
    assert_eq!(found["controls"]["rate"]["actual"]["due"], 700);
    lydite(&[&run[..], &["--rate", "gaussian(1s,0.3s,1000)", "--duration", "2s"], &json_to].concat()).code(0);
    let found = json(&result);
    assert_eq!(
        found["phases"][0]["asked"]["rate"], "gaussian(1s,0.3s,1000)",
        "what was asked for is told as written"
    );
    // The area of a normal distribution's bell: its peak times its deviation times the root of 2 pi, but for its ends.
    let due = found["controls"]["rate"]["actual"]["due"].as_f64().expect("a number");
    assert!((due - 751.6).abs() < 10.0, "{due}");
}

/// Dike, section 4.3: the districts are spread as asked, the conditions hold before and after a run, and what was
/// loaded is known from then on.
#[test]
fn skewed_data_is_loaded_measured_checked_and_told() {
    let directory = scratch();
    let (database, result) = (directory.path().join("gemel"), directory.path().join("r.json"));
    let url = format!("gemel:{}", text(&database));
    let run = |more: &[&str]| {
        let usual =
            ["run", &url, "--duration", "1s", "--warmup", "0", "--terminals", "2", "--json", text(&result)];
        lydite(&[&usual[..], &["--set", "size=small"], more].concat())
    };
    run(&["--warehouses", "3", "--set", "data_skew=zipf(2)"]).code(0);
    for wanted in ["data_skew=zipf(2)", "homes=zipf(1)"] {
        let ended = run(&["--set", wanted]).code(0);
        assert!(
            ended.stdout.contains("data     zipf(2): 22 districts at the largest warehouse"),
            "{ended:?}"
        );
        let result = json(&result);
        assert_eq!(result["plan"]["data_skew"], "zipf(2)");
        let data = &result["controls"]["imbalance"]["data"];
        assert_eq!((&data["asked"], &data["districts"]), (&"zipf(2)".into(), &serde_json::json!([22, 6, 2])));
        let checks = result["checks"].as_array().expect("checks");
        assert!(checks.len() == 43 && checks.iter().all(|check| check["ok"] == true), "{checks:?}");
        let rules = result["compliance"].as_array().expect("rules");
        let population = rules.iter().find(|rule| rule["rule"] == "districts per warehouse").expect("a rule");
        assert_eq!((&population["met"], &population["clause"]), (&false.into(), &"4.3.3.1".into()));
    }
    lydite(&["check", &url]).code(0);
    for (arguments, said) in [
        (
            &["--set", "data_skew=zipf(1)"][..],
            "holds districts that are spread by zipf(2), but the plan wants",
        ),
        (&["--set", "data_skew=zipf(0)"], "holds districts that are spread by zipf(2), but the plan wants"),
        (&["--set", "data_skew=hotspot(0.1,0.9)"], "data is spread by zipf(s) alone"),
        (&["--set", "data_skew=zipf(5)", "--warehouses", "4000"], "at most 32767 are possible"),
        (&["--mode", "rte", "--set", "data_skew=zipf(2)"], "a warehouse's users are ten"),
        (&["--set", "workload=micro", "--set", "data_skew=zipf(2)"], "data_skew"),
    ] {
        let refused = run(arguments).code(2);
        assert!(refused.stderr.contains(said), "{said}: {refused:?}");
    }
    // What is loaded speaks too; and no plan that does not fit costs the data.
    let refused = lydite(&["run", &url, "--duration", "1s", "--mode", "rte"]).code(2);
    assert!(refused.stderr.contains("the database was loaded with zipf(2)"), "{refused:?}");
    let refused = lydite(&["run", &url, "--ci", "3", "--phase", "5s", "--terminals", "4"]).code(2);
    assert!(
        refused.stderr.contains("4 sessions need a warehouse each with data_skew zipf(2)"),
        "{refused:?}"
    );
    lydite(&["check", &url]).code(0);

    let other = ["load", &url, "--warehouses", "3", "--data-skew"];
    let refused = lydite(&[&other[..], &["zipf(2)"]].concat()).code(2);
    assert!(refused.stderr.contains("3 small warehouses with data_skew zipf(2) from seed 1"), "{refused:?}");
    lydite(&[&other[..], &["explicit(1)", "--fresh"]].concat()).code(2);
    lydite(&["check", &url]).code(0);
    lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--fresh"]).code(0);
    let refused =
        run(&["--set", "data_skew=zipf(0.5)", "--fresh", "--mode", "rte", "--warehouses", "2"]).code(2);
    assert!(refused.stderr.contains("must be direct or open with data_skew"), "{refused:?}");
    // One warehouse has the standard's ten, however steep.
    let ended = run(&["--set", "data_skew=zipf(0.5)"]).code(0);
    assert!(ended.stdout.contains("data     zipf(0.5): 10 districts at the largest warehouse"), "{ended:?}");
}
