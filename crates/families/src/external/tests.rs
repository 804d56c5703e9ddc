//! Drivers that are written with the SDK for Python, and drivers that break the protocol.

mod served;

use super::config::{Config, parse};
use super::pool::Driver;
use super::store::DriverStore;
use super::target::External;
use crate::conformance::{
    a_spoiled_row_is_found_and_named, an_interrupted_load_can_be_resumed,
    sessions_that_fight_for_one_warehouse_keep_the_conditions, the_answers_and_the_rows_are_those_of_sqlite,
};
use crate::registry::TargetSpec;
use lydite_database::playing::{SEED, assert_conditions, inputs, load, meta, play, population};
use lydite_database::target_url::ParsedUrl;
use lydite_database::{
    AbortReason, Committed, DatabaseState, Demand, LoadProgress, LoadUnit, Target, TargetErrorKind, TxError,
    TxMode,
};
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::deck::Mix;
use lydite_tpcc::schema::Table;
use lydite_tpcc::transactions::{NewOrder, OrderLineInput, StockLevel};
use lydite_tpcc::{
    CustomerId, DistrictId, Districts, InputPlan, ItemId, Outcome, Standard, StandardOutcome, Transaction,
    WarehouseId,
};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/python");
const MISBEHAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/external/tests/misbehaving.py");

/// Returns the URL of an example program of the SDK, over a file in `directory`. Where `make test` runs the tests, the
/// program uses the package msgpack: the SDK's own code takes twice the processor time and has tests of its own.
fn example(name: &str, directory: &TempDir, options: &str) -> Config {
    let file = directory.path().join("store.sqlite");
    let python = std::env::var("PSYCOPG_PYTHON").unwrap_or_else(|_| "python3".into());
    let command =
        format!("env 'PYTHONPATH={SDK}' 'STORE_FILE={}' {python} '{SDK}/examples/{name}'", file.display());
    config(&command, options)
}

fn config(command: &str, options: &str) -> Config {
    parse(&ParsedUrl::new(&format!("driver:{command}{options}"), &mut Vec::new())).expect("a good URL")
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn misbehaving(kind: &str, options: &str) -> External {
    External::new(config(&format!("env 'PYTHONPATH={SDK}' python3 '{MISBEHAVING}' {kind}"), options))
}

#[test]
fn the_answers_and_the_rows_of_a_key_value_driver_are_those_of_sqlite() {
    let place = directory();
    the_answers_and_the_rows_are_those_of_sqlite::<DriverStore>(Driver::new(example(
        "sqlite_kv.py",
        &place,
        "",
    )));
}

#[test]
fn sessions_of_a_key_value_driver_that_fight_for_one_warehouse_keep_the_conditions() {
    let place = directory();
    let config = example("sqlite_kv.py", &place, "");
    sessions_that_fight_for_one_warehouse_keep_the_conditions::<DriverStore>(Driver::new(config));
}

#[test]
fn an_interrupted_load_into_a_key_value_driver_can_be_resumed() {
    let place = directory();
    an_interrupted_load_can_be_resumed::<DriverStore>(Driver::new(example("sqlite_kv.py", &place, "")));
}

#[test]
fn a_spoiled_row_of_a_key_value_driver_is_found_and_named() {
    let place = directory();
    a_spoiled_row_is_found_and_named::<DriverStore>(Driver::new(example("sqlite_kv.py", &place, "")));
}

#[test]
fn the_answers_and_the_rows_of_a_driver_of_transactions_are_those_of_sqlite() {
    let place = directory();
    let target = External::new(example("sqlite_driver.py", &place, ""));
    let sqlite =
        TargetSpec::parse("sqlite:", TxMode::Statements).expect("a good URL").open().expect("a target");
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
    let skewed = Districts::spread("zipf(2)".parse().expect("a distribution"), 2).expect("few enough");
    let error = target.admit(&Demand::Districts(skewed)).expect_err("its Delivery knows ten districts");
    assert!(error.message.contains("data_skew zipf(2)"), "{error}");
    target.admit(&Demand::Districts(Districts::uniform())).expect("the standard's");
    load(&*sqlite, 2);

    // The load is interrupted first, then resumed.
    target.create_schema(&meta(2)).expect("create_schema");
    assert!(target.create_schema(&meta(2)).is_err(), "not twice");
    let population = population(2);
    let mut loader = target.loader().expect("loader");
    loader
        .load(LoadUnit::Warehouse(WarehouseId(2)), &(&population).into(), &LoadProgress::default())
        .expect("load");
    let stopped = LoadProgress::default();
    stopped.stop();
    let error = loader
        .load(LoadUnit::Warehouse(WarehouseId(1)), &(&population).into(), &stopped)
        .expect_err("interrupted");
    assert!(error.message.ends_with("load warehouse 1: the load was interrupted"), "{error}");
    let loading = DatabaseState::Loading { meta: meta(2), items: false, warehouses: vec![WarehouseId(2)] };
    assert_eq!(target.state(), Ok(loading));
    assert_eq!(target.connect().err().map(|error| error.kind), Some(TargetErrorKind::Usage));
    loader.load(LoadUnit::Items, &(&population).into(), &LoadProgress::default()).expect("load");
    // A unit may be loaded twice: the second load replaces its rows.
    for warehouse in population.warehouse_ids() {
        loader
            .load(LoadUnit::Warehouse(warehouse), &(&population).into(), &LoadProgress::default())
            .expect("load");
    }
    drop(loader);
    let stages = parking_lot::Mutex::new(Vec::new());
    target.finish_load(1, &|stage| stages.lock().push(stage.to_string())).expect("finish_load");
    assert_eq!(*stages.lock(), ["finishing", "statistics"], "the driver says what takes long");
    assert_eq!(target.state(), Ok(DatabaseState::Ready { meta: meta(2) }));

    let inputs = inputs(2, 1_000);
    let (ours, theirs) = (play(&target, &inputs), play(&*sqlite, &inputs));
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "input {number} is answered differently: {:?}", inputs[number]);
    }
    assert!(ours.iter().any(|answer| matches!(answer, Err(TxError::RolledBack(_)))));
    assert_conditions(&target);
    assert_eq!(target.checksums(), sqlite.checksums());
    target.reset().expect("reset");
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
    target.reset().expect("reset of nothing");
}

#[test]
fn processes_of_a_driver_of_transactions_work_side_by_side_and_keep_the_conditions() {
    let place = directory();
    let target = External::new(example("sqlite_driver.py", &place, "?processes=4"));
    load(&target, 1);
    std::thread::scope(|scope| {
        for terminal in 0..4 {
            let target = &target;
            scope.spawn(move || {
                let mix = Mix::weights([40.0, 40.0, 5.0, 10.0, 5.0]).expect("shares of 100");
                let plan = InputPlan::on(&meta(1), SEED, mix);
                let mut terminal = plan.terminal(terminal);
                let mut session = target.connect().expect("connect");
                for _ in 0..100 {
                    let input = terminal.next(&plan);
                    while let Err(TxError::Aborted { .. }) = session.execute(&input) {}
                }
            });
        }
    });
    assert_conditions(&target);
    let error = target.admit(&Demand::Sessions(5)).expect_err("more than processes");
    assert!(error.message.contains("5 sessions are needed, and it serves 1 in each of 4"), "{error}");
    let sessions: Vec<_> = (0..4).map(|_| target.connect().expect("connect")).collect();
    let error = target.connect().err().expect("a fifth");
    assert!(error.message.contains("raise processes in the URL"), "{error}");
    drop(sessions);
    target.connect().expect("those before were given back");
}

#[test]
fn what_can_not_be_started_is_told() {
    let place = directory();
    let file = place.path().join("plain");
    std::fs::write(&file, "no program").expect("a file");
    for (command, words) in [
        (
            "/nonexistent/driver".to_string(),
            "/nonexistent/driver can't be started: No such file or directory",
        ),
        (file.display().to_string(), "make it executable (chmod +x)"),
        // A directory stands for the program `driver` in it.
        (place.path().display().to_string(), "/driver can't be started: No such file or directory"),
        ("true".into(), "asked for hello it gave no answer: it ended with exit code 0"),
        ("sh -c 'echo no database >&2; exit 3'".into(), "exit code 3 (its last words: no database)"),
        (
            "echo hello".into(),
            "wrote \"hello\" to its standard output, which is not a message: it must print to standard error",
        ),
    ] {
        let error = External::new(config(&command, "")).describe().expect_err("no driver");
        assert_eq!(error.kind, TargetErrorKind::Unreachable);
        assert!(error.message.contains(words), "{command}: {error}");
        assert!(!error.message.contains('\n'), "one line: {error}");
    }
    for (kind, words) in [
        ("version", "it speaks version 2 of the protocol, and this Lydite version 1"),
        ("guarantee", "the answer to hello has a wrong shape: guarantee: unknown variant `much`"),
        ("deaf", "asked for hello it gave no answer for 1 s, the timeout of its URL"),
    ] {
        // Python takes its time to start on a busy machine.
        let options = if kind == "deaf" { "?timeout=1s" } else { "" };
        let error = misbehaving(kind, options).describe().expect_err("no driver");
        assert!(error.message.contains(words), "{kind}: {error}");
    }
}

fn an_order() -> Transaction {
    let (w_id, d_id, c_id) = (WarehouseId(1), DistrictId(1), CustomerId(1));
    let line = |i_id| OrderLineInput { i_id: ItemId(i_id), supply_w_id: w_id, quantity: 2 };
    Transaction::Standard(Standard::NewOrder(NewOrder {
        w_id,
        d_id,
        c_id,
        lines: (1..=5).map(line).collect(),
    }))
}

fn a_stock_level() -> Transaction {
    Transaction::Standard(Standard::StockLevel(StockLevel {
        w_id: WarehouseId(1),
        d_id: DistrictId(1),
        threshold: 10,
        others: std::iter::empty().collect(),
    }))
}

#[test]
fn a_driver_that_breaks_the_protocol_is_one_clear_error_and_never_a_hang() {
    for (kind, words) in [
        ("garbage", "wrote \"Connected to the database!\" to its standard output, which is not a message"),
        ("no_message", "instead of a message of the protocol"),
        ("other_request", "answered request 8 instead of 3"),
        (
            "crash",
            "gave no answer: it ended with exit code 7 (its last words: line one | ImportError: no module",
        ),
        ("killed", "gave no answer: it was killed by signal 9 (it wrote nothing"),
        ("half", "ended in the middle of its answer"),
        ("hang", "gave no answer for 5 s, the timeout of its URL (its last words: waiting for the database)"),
        ("drip", "gave no answer for 5 s, the timeout of its URL"),
    ] {
        let options = if ["hang", "drip"].contains(&kind) { "?timeout=5s" } else { "" };
        let target = misbehaving(kind, options);
        let mut session = target.connect().expect("connect");
        match session.execute(&an_order()) {
            Err(TxError::Unavailable { committed: Committed::Unknown, detail }) => {
                assert!(detail.contains(words), "{kind}: {detail}");
                assert!(!detail.contains('\n'), "one line: {detail}");
            }
            other => panic!("{kind}: {other:?}"),
        }
        let again = session.execute(&a_stock_level());
        assert!(matches!(again, Err(TxError::Unavailable { .. })), "{kind}: {again:?}");
        // A new process serves the new session.
        let answer = target.connect().expect("reconnect").execute(&a_stock_level());
        assert!(
            matches!(answer, Ok(Outcome::Standard(StandardOutcome::StockLevel(_)))),
            "{kind}: {answer:?}"
        );
    }
}

#[test]
fn a_session_that_hangs_is_the_end_of_that_session_alone() {
    let place = directory();
    let script = place.path().join("several.py");
    std::fs::write(
        &script,
        "import time, lydite\n\
         class Several(lydite.Driver):\n    \
         name, guarantee = 'several', 'serializable'\n    \
         def tables(self):\n        return ['warehouse']\n    \
         def notes(self):\n        return {'state': 'ready', 'warehouses': '1', 'seed': '7', 'c_load': '1', \
         'population': '1', 'lydite': 'test'}\n    \
         def stock_level(self, asked):\n        \
         if asked.threshold == 20:\n            time.sleep(6)\n        \
         if asked.threshold == 19:\n            raise BrokenPipeError('the database has gone')\n        \
         return 1\n\
         lydite.serve(Several, sessions=0)\n",
    )
    .expect("a script");
    let command = format!("env 'PYTHONPATH={SDK}' python3 '{}'", script.display());
    let target = External::new(config(&command, "?timeout=5s"));
    let with = |threshold| {
        Transaction::Standard(Standard::StockLevel(StockLevel {
            w_id: WarehouseId(1),
            d_id: DistrictId(1),
            threshold,
            others: std::iter::empty().collect(),
        }))
    };
    let mut sessions: Vec<_> = (0..3).map(|_| target.connect().expect("connect")).collect();
    while let Some(mut session) = (!sessions.is_empty()).then(|| sessions.remove(0)) {
        let lost = session.execute(&with(20)).expect_err("it sleeps");
        let words = "gave no answer for 5 s";
        assert!(matches!(&lost, TxError::Unavailable { detail, .. } if detail.contains(words)), "{lost:?}");
        // The late answer comes meanwhile and is dropped.
        drop(session);
        std::thread::sleep(Duration::from_millis(1_500));
        for other in &mut sessions {
            let answer = other.execute(&with(10));
            assert!(matches!(answer, Ok(Outcome::Standard(StandardOutcome::StockLevel(_)))), "{answer:?}");
        }
    }
    let mut fresh = target.connect().expect("the process is still there");
    let refused = fresh.execute(&with(19)).expect_err("a pipe that the database broke");
    assert!(
        matches!(&refused, TxError::Fatal(detail) if detail.contains("the database has gone")),
        "{refused:?}"
    );
    assert!(fresh.execute(&with(10)).is_ok());
}

#[test]
fn two_loads_with_one_driver_are_not_made_at_once() {
    let place = directory();
    let open = || External::new(example("sqlite_kv.py", &place, ""));
    let first = open().begin_load().expect("the right to load");
    let refused = open().begin_load().map(drop).expect_err("another load");
    assert!(refused.message.contains("another load with this driver is running"), "{refused:?}");
    assert!(open().reset().is_err(), "what is being loaded is not dropped");
    drop(first);
    open().reset().expect("a load that has ended is in nobody's way");
    drop(open().begin_load().expect("the right to load"));
}

#[test]
fn an_answer_of_a_wrong_shape_is_named_field_by_field_and_the_session_goes_on() {
    for (kind, words) in [
        ("float", "the answer to new_order has a wrong shape: total: invalid type: floating point `1.5`"),
        ("missing", "missing field `c_credit`"),
        ("null", "lines[3].i_price: "),
        ("too_long", "c_last: "),
        ("few_lines", "lines has 2 lines instead of 5"),
        ("nothing", "it must have exactly one of ok, error and alive"),
        ("unknown_kind", "error.kind: unknown variant `sorry`"),
        ("rolled_back", "it rolled back an order without an unused item"),
    ] {
        let target = misbehaving(kind, "");
        let mut session = target.connect().expect("connect");
        match session.execute(&an_order()) {
            // The driver may have committed before it answered.
            Err(TxError::Unavailable { committed: Committed::Unknown, detail }) if kind != "rolled_back" => {
                assert!(detail.contains(words), "{kind}: {detail}");
            }
            // The order's items are in the database, or it is broken.
            Err(TxError::WrongRows { committed: Committed::No, detail }) if kind == "rolled_back" => {
                assert!(detail.contains(words), "{kind}: {detail}");
            }
            other => panic!("{kind}: {other:?}"),
        }
        let answer = session.execute(&a_stock_level());
        assert!(
            matches!(answer, Ok(Outcome::Standard(StandardOutcome::StockLevel(_)))),
            "{kind}: {answer:?}"
        );
    }
    let error = misbehaving("rows", "").check(&CONDITIONS, &|_| ()).expect_err("a bad row");
    let words = "row 0 of district: d_tax is the text \"tax\", not a whole number in its range";
    assert!(error.message.contains(words), "{error}");
}

#[test]
fn a_second_answer_is_noticed_at_the_next_request() {
    let target = misbehaving("twice", "");
    let mut session = target.connect().expect("connect");
    assert!(session.execute(&an_order()).is_ok());
    match session.execute(&a_stock_level()) {
        Err(TxError::Unavailable { detail, .. }) => {
            assert!(detail.contains("answered the request before it twice"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_driver_refuses_is_told_apart() {
    let execute = |kind| misbehaving(kind, "").connect().expect("connect").execute(&an_order());
    let aborted = TxError::Aborted { reason: AbortReason::Deadlock, detail: "lost again".into() };
    assert_eq!(execute("aborted"), Err(aborted));
    match execute("unavailable") {
        Err(TxError::Unavailable { committed: Committed::No, detail }) => {
            assert!(detail.ends_with("the server is gone"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
}

/// True if a process exists and is not a zombie.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

#[test]
fn a_driver_ends_with_its_target_and_so_does_what_it_has_started() {
    let place = directory();
    let pids = place.path().join("pids");
    for kind in ["rows", "hang"] {
        let target = misbehaving(&format!("{kind} '{}'", pids.display()), "?timeout=5s");
        let mut session = target.connect().expect("connect");
        // One process answers, the other hangs.
        let _answer = session.execute(&an_order());
        let found = std::fs::read_to_string(&pids).expect("its process ids");
        drop(session);
        drop(target);
        wait_until_gone(&found);
    }
}

fn wait_until_gone(pids: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    for pid in pids.split(' ') {
        while runs(pid) {
            assert!(Instant::now() < deadline, "process {pid} is left behind");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn the_microbenchmark_is_refused_before_anything_is_started() {
    let errors = TargetSpec::parse_micro("driver:/nonexistent").expect_err("refused");
    assert_eq!(errors, ["driver: does not play the microbenchmark: leave out --workload micro"]);
}

#[test]
fn the_log_holds_what_the_driver_writes_to_its_standard_error() {
    let place = directory();
    let log = place.path().join("log");
    let command = "sh -c 'echo first >&2; echo second >&2'";
    let target = External::new(config(command, &format!("?log={}", log.display())));
    assert!(target.describe().is_err());
    drop(target);
    assert_eq!(std::fs::read_to_string(Path::new(&log)).expect("the log"), "first\nsecond\n");
}

#[test]
fn the_document_of_the_protocol_lists_the_columns_and_the_key_of_every_table() {
    let document = include_str!("../../../../docs/src/driver-protocol.md");
    for table in Table::ALL {
        let columns: Vec<&str> = table.schema().columns.iter().map(|column| column.name).collect();
        let dists: Vec<String> = (1..=10).map(|number| format!("s_dist_{number:02}")).collect();
        let listed = columns.join(", ").replace(&dists.join(", "), "s_dist_01 … s_dist_10");
        let key = match table.schema().primary_key {
            [] => "none".to_owned(),
            key => key.join(", "),
        };
        let row = format!("| `{}` | {listed} | {key} |", table.name());
        assert!(document.lines().any(|line| line == row), "not there: {row}");
    }
}
