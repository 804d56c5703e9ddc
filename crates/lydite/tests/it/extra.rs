//! The Dike paper's transactions beside the standard's, through the program.

use crate::kit::{directory, scaffold};
use crate::loaded;
use crate::program::{TYPES, has_each, json, longer_windows, lydite, scratch, text};
use serde_json::Value;

const SHORT: [&str; 4] = ["--duration", "1s", "--warmup", "0"];

fn names(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn sum(list: &Value) -> u64 {
    list.as_array().expect("a list").iter().map(|number| number.as_u64().expect("a count")).sum()
}

#[test]
fn a_type_that_the_standard_does_not_have_is_told_where_the_mix_has_it_and_nowhere_else() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let run = ["run", "null:?nodes=9", "--warehouses", "180", "--warmup", "0", "--json", text(&path)];
    let ended = lydite(&[&run[..], &["--duration", "1s"]].concat()).code(0);
    let result = json(&path);
    assert!(!result.to_string().contains("update_stock") && !ended.stdout.contains("dUpdateStock"));

    let mixed = ["--mix", "new_order=40,update_stock=60", "--set", "update_stock_rounds=3"];
    let (shown, result) = longer_windows(|window| {
        let shown = lydite(&[&run[..], &["--duration", window], &mixed].concat()).code(0);
        let result = json(&path);
        let done = result["transactions"]["update_stock"]["committed"].as_u64().expect("a count");
        // So many that chance explains none of the differences below.
        (done > 10_000).then_some((shown, result))
    });
    assert!(shown.stdout.contains("dUpdateStock  "), "{shown:?}");
    assert_eq!(result["plan"]["mix"], "new_order=40,update_stock=60");
    assert_eq!(result["plan"]["update_stock_rounds"], 3);
    let mut all = [&TYPES[..], &["update_stock"]].concat();
    all.sort_unstable();
    assert_eq!(names(&result["transactions"]), all);
    let done = |of: &str| result["transactions"][of]["committed"].as_u64().expect("a count");
    assert_eq!(done("payment"), 0, "{}", result["transactions"]);
    assert_eq!(sum(&result["series"]["update_stock"]), done("update_stock"));
    let share = result["transactions"]["update_stock"]["share_percent"].as_f64().expect("a share");
    assert!((share - 60.0).abs() < 3.0, "{share}");
    // Three warehouses of 180 on nine equal nodes: seldom all on one.
    let actual = &result["controls"]["distribution"]["actual"];
    let percent = actual["update_stock_percent"].as_f64().expect("a share");
    assert!((percent - 100.0 * (1.0 - (19.0 / 179.0) * (18.0 / 178.0))).abs() < 1.0, "{actual}");
    let rules = result["compliance"].as_array().expect("rules");
    let mix = rules.iter().find(|rule| rule["rule"] == "transaction mix").expect("the rule");
    assert_eq!(mix["met"], false);
    assert!(mix["note"].as_str().expect("a note").contains("update_stock in the mix, % "), "{mix}");
}

#[test]
fn phases_and_curves_have_shares_by_name_too() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let run = ["run", "null:", "--warmup", "0", "--json", text(&path)];
    for mix in [
        "45,43,4,4,4; update_stock=100",
        "new_order=100; update_stock=ramp(40,60),new_order=ramp(60,40)",
        "deck; new_order=33.33,payment=ramp(33.337,33.337),update_stock=33.333",
    ] {
        longer_windows(|window| {
            lydite(&[&run[..], &["--duration", window, "--mix", mix]].concat()).code(0);
            let phases = json(&path)["phases"].clone();
            let of = |phase: usize| phases[phase]["transactions"]["update_stock"].as_u64().expect("a count");
            assert_eq!(of(0), 0, "{mix}: {phases}");
            (of(1) > 1_000).then_some(())
        });
    }
}

#[test]
fn orders_and_updates_of_stock_together_keep_the_conditions() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    for url in ["gemel:", "sqlite:"] {
        let mix = [
            "--mix",
            "new_order=30,payment=20,delivery=10,update_stock=30,update_item=10",
            "--json",
            text(&path),
        ];
        let run = ["run", url, "--warehouses", "2", "--terminals", "4", "--set", "update_stock_rounds=2"];
        let run = [&run[..], &["--warmup", "0", "--set", "size=small"]].concat();
        let result = longer_windows(|window| {
            lydite(&[&run[..], &["--duration", window], &mix].concat()).code(0);
            let result = json(&path);
            has_each(&result, &["update_stock", "update_item"]).then_some(result)
        });
        let checks = result["checks"].as_array().expect("checks");
        assert_eq!(
            checks.len(),
            43,
            "twelve conditions and eight own, before and after, the ledger, the answers and the sample: {checks:?}"
        );
        assert!(checks.iter().all(|check| check["ok"] == true), "{checks:?}");
        assert_eq!((&checks[12]["id"], &checks[36]["id"]), (&"item".into(), &"stock".into()));
        assert_eq!(checks[20]["id"], "ledger");
        // Once these transactions have run, less is compared, and the check says so.
        let says = |number: usize, words: &str| {
            checks[number]["detail"].as_str().is_some_and(|it| it.contains(words))
        };
        for (before, after, of) in
            [(12, 35, "update_item ran"), (13, 36, "update_stock ran"), (15, 38, "update_item ran")]
        {
            assert!(!says(before, of) && says(after, of), "{checks:?}");
        }
        for of in ["update_stock", "update_item"] {
            let update = &result["transactions"][of];
            assert_eq!(update["failed"], 0, "{update}");
            assert_eq!(sum(&result["series"][of]), update["committed"].as_u64().expect("a count"));
        }
    }
}

#[test]
fn a_broken_price_is_found() {
    let directory = scratch();
    let file = directory.path().join("t.db");
    let url = loaded::in_sqlite(&file, 1);
    // The option has no effect any more, and scripts have it.
    for more in [&[][..], &["--extra"]] {
        let checked = lydite(&[&["check", &url], more].concat()).code(0);
        assert!(checked.stdout.contains("12 of 12 consistency conditions hold, 8 of 8 own"), "{checked:?}");
    }
    let database = rusqlite::Connection::open(&file).expect("the file");
    database.execute_batch("UPDATE item SET i_price = i_price + 1 WHERE i_id = 1").expect("a change");
    drop(database);
    let broken = lydite(&["check", &url]).code(1);
    assert!(broken.stdout.contains("FAILED item       I_PRICE is what was loaded"), "{broken:?}");
    assert!(broken.stdout.contains("i_id=1: i_price "), "{broken:?}");
    assert!(broken.stdout.contains("12 of 12 consistency conditions hold, 7 of 8 own"), "{broken:?}");
    let refused = lydite(&[&["run", &url][..], &SHORT].concat()).code(1);
    assert!(refused.stderr.contains("condition item does not hold before the run"), "{refused:?}");
}

#[test]
fn co_access_is_measured_back() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let run =
        ["run", "null:?nodes=9", "--warehouses", "180", "--json", text(&path), "--mix", "update_stock=100"];
    let rounds = ["--set", "update_stock_rounds=3", "--set"];
    for (asked, words) in [
        ("80", "(80 % configured)"),
        (
            "100",
            "100.00 % of dUpdateStocks on a whole group of 3 warehouses (100 % configured), 3.00 nodes on average",
        ),
    ] {
        let coaccess = format!("coaccess={asked}");
        let ended = longer_windows(|window| {
            let times = ["--warmup", "0", "--duration", window];
            let ended = lydite(&[&run[..], &times, &rounds, &[&coaccess]].concat()).code(0);
            let updates = json(&path)["controls"]["coaccess"]["actual"]["updates"].as_u64();
            // So many that chance explains none of the differences below.
            (updates > Some(20_000)).then_some(ended)
        });
        let told = ended.stdout.lines().find(|line| line.starts_with("groups   ")).expect("the line");
        assert!(told.contains(words), "{told}");
        let result = json(&path);
        let coaccess = &result["controls"]["coaccess"];
        assert_eq!((&coaccess["rounds"], &coaccess["groups"]), (&3.into(), &60.into()));
        let actual = coaccess["actual"]["percent"].as_f64().expect("a share");
        let asked: f64 = asked.parse().expect("a share");
        assert!((actual - asked).abs() < 1.5 && coaccess["asked"]["percent"] == asked, "{coaccess}");
        assert_eq!(coaccess["actual"]["updates"], result["transactions"]["update_stock"]["committed"]);
        assert_eq!(result["plan"]["coaccess"], asked);
        // Groups lie on three nodes each; others seldom meet.
        assert!(coaccess["actual"]["nodes_mean"].as_f64() > Some(2.9), "{coaccess}");
    }
    // Each phase has its own counts.
    let mix = ["--set", "mix=update_stock=100; deck; update_stock=50,payment=50"];
    let phases = longer_windows(|window| {
        let times = ["--warmup", "0", "--duration", window];
        lydite(&[&run[..6], &times, &mix, &rounds, &["coaccess=50"]].concat()).code(0);
        let phases = json(&path)["phases"].clone();
        (phases[2]["controls"]["coaccess"]["actual"]["updates"].as_u64() > Some(5_000)).then_some(phases)
    });
    let of = |phase: usize| &phases[phase]["controls"]["coaccess"]["actual"];
    assert!(of(1)["updates"] == 0 && of(1)["percent"].is_null(), "{phases}");
    assert!((of(2)["percent"].as_f64().expect("a share") - 50.0).abs() < 3.0, "{phases}");
}

#[test]
fn co_access_changes_from_phase_to_phase_and_by_curves() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let run = ["run", "null:", "--warehouses", "60", "--json", text(&path), "--mix", "update_stock=100"];
    let more = ["--set", "update_stock_rounds=3", "--set", "coaccess=10,90,ramp(20,60)"];
    let result = longer_windows(|window| {
        let times = ["--warmup", "0", "--duration", window];
        lydite(&[&run[..], &times, &more].concat()).code(0);
        let result = json(&path);
        let of = |phase: usize| &result["phases"][phase]["controls"]["coaccess"]["actual"]["updates"];
        (0..3).all(|phase| of(phase).as_u64() > Some(100)).then_some(result)
    });
    // As many standard deviations of chance as never happen, however few transactions a slow machine sends.
    let assert_near = |coaccess: &Value| {
        let percent = |of: &str| coaccess[of]["percent"].as_f64().expect("a share");
        let updates = coaccess["actual"]["updates"].as_f64().expect("a number");
        assert!((percent("asked") - percent("actual")).abs() < 6.0 * 50.0 / updates.sqrt(), "{coaccess}");
        percent("asked")
    };
    let asked = [0, 1, 2].map(|phase| assert_near(&result["phases"][phase]["controls"]["coaccess"]));
    assert_eq!(asked[..2], [10.0, 90.0]);
    // Its mean is 40 only where each moment sends as many transactions.
    assert!((20.0..60.0).contains(&asked[2]), "{asked:?}");
    assert_near(&result["controls"]["coaccess"]);
    assert!(result["plan"]["coaccess"].is_null());
    let refused = lydite(&[&run[..], &SHORT, &more[..3], &["coaccess=10,101"]].concat()).code(2);
    assert!(refused.stderr.contains("--set coaccess: \"101\" must be from 0 to 100"), "{refused:?}");
}

#[test]
fn what_can_not_be_had_is_refused_before_anything_is_touched() {
    let rounds = |number: &'static str| ["--mix", "update_stock=100", "--set", number];
    for (arguments, said) in [
        (
            &["--mix", "update_stock=100", "--mode", "rte"][..],
            "has update_stock, for which the standard has no keying",
        ),
        (&["--set", "update_stock_rounds=2"], "update_stock_rounds: needs a mix with update_stock"),
        (&["--set", "update_item_rounds=2"], "update_item_rounds: needs a mix with update_item"),
        (
            &["--mix", "update_item=100", "--set", "update_item_rounds=8"],
            "must be a whole number from 1 to 7",
        ),
        (&rounds("update_stock_rounds=16"), "must be a whole number from 1 to 15"),
        (&rounds("update_stock_rounds=3"), "3 rounds need a warehouse each, and 2 are active"),
        (
            &["--mix", "update_stock=100", "--set", "coaccess=80"],
            "coaccess: needs update_stock_rounds of at least 2",
        ),
        (&["--set", "update_stock_rounds=2", "--set", "coaccess=80"], "needs a mix with update_stock"),
        (
            &["--mix", "update_stock=100", "--set", "update_stock_rounds=2", "--set", "coaccess=101"],
            "must be from 0 to 100",
        ),
        (
            &["--mix", "update_stock=100", "--set", "update_stock_rounds=2", "--set", "coaccess=80"],
            "coaccess: 2 active warehouses form one group of 2, and no warehouse is outside of it: use at least 4",
        ),
        (&["--mix", "update_stok=100"], "there is no type \"update_stok\", only new_order, payment"),
        (&["--workload", "micro", "--set", "update_stock_rounds=3"], "is for --workload tpcc only"),
    ] {
        let run = ["run", "gemel:", "--warehouses", "2"];
        let run = if arguments.contains(&"micro") { &run[..2] } else { &run[..] };
        let refused = lydite(&[run, arguments].concat()).code(2);
        assert!(refused.stderr.contains(said) && !refused.stderr.contains("oading"), "{said}: {refused:?}");
    }
    // A driver that plays the transactions itself knows the standard's.
    let place = directory();
    let url = scaffold(&place, "own", &["--lang", "python"]);
    let refused = lydite(&["run", &url, "--mix", "payment=50,update_stock=50"]).code(2);
    assert!(refused.stderr.contains("plays only the standard's five, not update_stock"), "{refused:?}");
}
