//! Modes, and the keys that belong to them.

use crate::asked::{plan, refused_once};
use lydite_bench::{Arrival, Mode};

#[test]
fn keys_of_another_mode_are_refused() {
    for (arguments, words) in [
        (vec!["--rate", "10"], vec!["--rate: is for --mode open only"]),
        (vec!["--arrival", "constant"], vec!["--arrival: is for --mode open only"]),
        (vec!["--sessions", "4"], vec!["--sessions: is for --mode rte or open only", "--terminals"]),
        (vec!["--mode", "open"], vec!["--mode open needs --rate"]),
        (
            vec!["--mode", "open", "--rate", "9", "--terminals", "2", "--sessions", "2"],
            vec!["--sessions: means the same as --terminals in open mode"],
        ),
        (
            vec!["--mode", "rte", "--terminals", "21", "--warehouses", "2"],
            vec!["--terminals: 21 emulated users", "clause 4.2.1", "at most 20"],
        ),
        (vec!["--tx", "batched"], vec!["--tx batched is not offered by sqlite"]),
        (
            vec!["--set", "active_warehouses=3-2"],
            vec!["--set active_warehouses: \"3-2\" begins behind its end"],
        ),
        (
            vec!["--set", "active_warehouses=2-5", "--warehouses", "4"],
            vec!["--set active_warehouses: names warehouse 5, and warehouses is 4"],
        ),
        (vec!["--mix", "50,50"], vec!["--mix: \"50,50\""]),
    ] {
        let error = refused_once(&[&["sqlite:/nonexistent/tpcc.sqlite"], &arguments[..]].concat());
        assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
    }
}

#[test]
fn numbers_that_a_plan_leaves_out_depend_on_the_warehouses() {
    let mode = |arguments: &[&str], warehouses| {
        let plan = plan(&[&["null:"], arguments].concat()).expect("a plan");
        plan.mode(warehouses).expect("a mode")
    };
    assert_eq!(mode(&[], 3), Mode::Direct { terminals: 3 });
    assert_eq!(mode(&[], 300), Mode::Direct { terminals: 8 }, "more would be asked for");
    assert_eq!(mode(&["--terminals", "20"], 3), Mode::Direct { terminals: 20 });
    let users = Mode::Rte {
        terminals: 30,
        sessions: 16,
        wait_factor: 1.0,
        display_delay: std::time::Duration::ZERO,
        lines: false,
        delivery_log: None,
    };
    assert_eq!(mode(&["--mode", "rte"], 3), users);
    let open = Mode::Open { rate: 250.0, arrival: Arrival::Poisson, sessions: 8 };
    assert_eq!(mode(&["--mode", "open", "--rate", "250"], 3), open);
    let active = plan(&["null:", "--set", "active_warehouses=3-6"]).expect("a plan");
    assert_eq!(active.active(10).expect("enough"), (3, 4));
    assert_eq!(active.mode(10).expect("enough"), Mode::Direct { terminals: 4 });
    assert!(
        active
            .mode(5)
            .expect_err("too few")
            .to_string()
            .contains("names warehouse 6, and the database has 5")
    );
}

#[test]
fn the_microbenchmark_has_modes_and_keys_of_its_own() {
    let micro =
        plan(&["gemel:", "--workload", "micro", "--set", "micro.accesses=4", "--set", "micro.updates=1"]);
    let micro = micro.expect("a plan");
    let shape = micro.micro.expect("the microbenchmark").shape;
    assert_eq!((shape.accesses, shape.updates), (4, 1));
    assert_eq!(micro.sessions(), 8);
    let refused =
        |arguments: &[&str]| refused_once(&[&["gemel:", "--workload", "micro"], arguments].concat());
    assert!(refused(&["--warehouses", "2"]).contains("--warehouses: is for --workload tpcc only"));
    assert!(refused(&["--mode", "rte"]).contains("--mode: is for --workload tpcc only"));
    let said = "updates are more than the accesses";
    assert!(
        refused(&["--set", "micro.accesses=1", "--set", "micro.updates=2"])
            .contains(&format!("updates: 2 {said}"))
    );
    assert!(refused(&["--set", "micro.accesses=1"]).contains(said));
    assert!(refused_once(&["gemel:", "--set", "micro.tables=2"]).contains("is for --workload micro only"));
}
