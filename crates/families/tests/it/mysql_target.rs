//! The target on a real MariaDB: its features beyond those that `sql_targets.rs` tests on every SQL database.

use crate::playing::{assert_conditions, inputs, load, meta, on_mariadb, open, play, population};
use lydite_database::{
    DatabaseState, Demand, LoadProgress, LoadUnit, TargetErrorKind, TxError, TxMode, playing,
};
use lydite_families::TargetSpec;
use lydite_testkit::mariadb::{self, FAST, Server};
use lydite_tpcc::{Standard, Transaction};

#[test]
fn a_server_that_forbids_local_files_is_loaded_by_insert_with_the_same_rows_and_that_is_said() {
    let server = Server::start(&[&FAST[..], &["local-infile=0"]].concat());
    let by_insert = open(&server.create_database("inserted"), TxMode::Statements);
    let notes = by_insert.admit(&Demand::Load).expect("notes");
    assert!(notes.len() == 1 && notes[0].contains("rows go by INSERT"), "{notes:?}");
    load(&*by_insert, 1);
    let by_file = open(&mariadb::shared().create_database("from_file"), TxMode::Statements);
    assert!(by_file.admit(&Demand::Load).expect("notes").is_empty());
    load(&*by_file, 1);
    assert_eq!(by_insert.checksums().expect("checksums"), by_file.checksums().expect("checksums"));
    assert_conditions(&*by_insert);
}

#[test]
fn procedures_over_arrays_and_line_by_line_answer_alike_and_say_which_they_are() {
    // Every third order has the same stock in two lines (clause 2.4.2.2).
    let mut inputs = inputs(2, 200);
    for (number, input) in inputs.iter_mut().enumerate() {
        if let Transaction::Standard(Standard::NewOrder(order)) = input
            && number % 3 == 0
        {
            order.lines[1] = order.lines[0];
        }
    }
    let played = |options: &str, choice: &str| {
        let server = on_mariadb(&FAST, 2, "");
        let target = open(&(server.url("tpcc") + options), TxMode::Procedures);
        assert_eq!(target.describe().expect("a description").settings["procedures"], choice);
        let answers = play(&*target, &inputs);
        assert_conditions(&*target);
        (answers, target.checksums().expect("checksums"))
    };
    let (arrays, rows) = (played("", "arrays"), played("?procedures=rows", "rows"));
    let rolled_back = arrays.0.iter().filter(|answer| matches!(answer, Err(TxError::RolledBack(_)))).count();
    assert!(rolled_back > 0, "the inputs hold an unused item");
    assert!(
        arrays.0.iter().all(|answer| matches!(answer, Ok(_) | Err(TxError::RolledBack(_)))),
        "{:?}",
        arrays.0
    );
    assert_eq!(arrays, rows);
}

#[test]
fn partitioned_tables_hold_the_same_rows_without_foreign_keys() {
    let server = mariadb::shared();
    let url = server.create_database("partitioned");
    let target = open(&format!("{url}?partitions=3"), TxMode::Batched);
    load(&*target, 1);
    let partitions = server.sql(
        "information_schema",
        "SELECT count(*) FROM partitions WHERE table_schema = 'partitioned' AND partition_name IS NOT NULL",
    );
    assert_eq!(partitions, (8 * 3).to_string(), "three of each table but ITEM");
    let answers = play(&*target, &inputs(1, 60));
    assert!(
        answers.iter().all(|answer| matches!(answer, Ok(_) | Err(TxError::RolledBack(_)))),
        "{answers:?}"
    );
    assert_conditions(&*target);
    let target = open(&format!("{url}?partitions=3&foreign_keys=on"), TxMode::Statements);
    let refused = target.state().expect_err("foreign keys of partitioned tables");
    assert_eq!(refused.kind, TargetErrorKind::Usage);
    assert!(refused.message.contains("can't have foreign keys"), "{refused}");
}

#[test]
fn a_scheme_that_means_another_server_is_refused_and_mysql_takes_what_it_meets() {
    let server = mariadb::shared();
    let url = server.create_database("schemes");
    for scheme in ["tidb", "oceanbase", "polardb"] {
        let target = open(&url.replace("mariadb:", &format!("{scheme}:")), TxMode::Statements);
        let refused = target.describe().expect_err("another server");
        assert_eq!(refused.kind, TargetErrorKind::Usage, "{refused}");
        assert!(refused.message.contains("the server is MariaDB: write mariadb://"), "{refused}");
    }
    let told =
        open(&url.replace("mariadb:", "mysql:"), TxMode::Statements).describe().expect("a description");
    assert!(told.version.contains("MariaDB"), "{told:?}");
    assert_eq!(told.settings["server"], "MariaDB");
    assert_eq!(told.isolation, "repeatable read");
    assert!(!told.durable, "the shared server does not sync its log");
}

#[test]
fn the_password_is_proved_and_a_wrong_one_is_told_without_it() {
    let server = mariadb::shared();
    let url = server.create_database("guarded");
    server.sql(
        "guarded",
        "CREATE USER me@'127.0.0.1' IDENTIFIED BY 'se:cret'; GRANT ALL ON guarded.* TO me@'127.0.0.1'",
    );
    let with = |user: &str| url.replace("root@", user);
    assert_eq!(open(&with("me:se%3Acret@"), TxMode::Statements).state(), Ok(DatabaseState::Empty));
    let refused = open(&with("me:wr0ng@"), TxMode::Statements).state().expect_err("a wrong password");
    assert_eq!(refused.kind, TargetErrorKind::Unreachable);
    assert!(refused.message.contains("Access denied"), "{refused}");
    assert!(refused.message.contains("LYDITE_PASSWORD") && !refused.message.contains("wr0ng"), "{refused}");
    let refused = open(&with("me@"), TxMode::Statements).state().expect_err("no password");
    let said = "give user and password in the URL, or the password in LYDITE_PASSWORD or ~/.my.cnf";
    assert!(refused.message.ends_with(said), "{refused}");
}

#[test]
fn a_server_is_reached_by_its_unix_socket() {
    let server = mariadb::shared();
    let _url = server.create_database("by_socket");
    let url = format!("mariadb://root@localhost/by_socket?socket={}", server.socket().display());
    assert_eq!(open(&url, TxMode::Statements).state(), Ok(DatabaseState::Empty));
}

#[test]
fn a_load_that_was_cut_off_is_told_and_can_be_completed() {
    let server = mariadb::shared();
    let target = open(&server.create_database("cut_off"), TxMode::Statements);
    let meta = meta(2);
    target.create_schema(&meta).expect("create_schema");
    let population = population(2);
    let mut loader = target.loader().expect("loader");
    loader.load(LoadUnit::Items, &(&population).into(), &LoadProgress::default()).expect("load ITEM");
    let progress = LoadProgress::default();
    progress.stop();
    let first = population.warehouse_ids().next().expect("a warehouse");
    let stopped =
        loader.load(LoadUnit::Warehouse(first), &(&population).into(), &progress).expect_err("a stop");
    assert!(stopped.message.contains("interrupted"), "{stopped}");
    assert_eq!(target.state(), Ok(DatabaseState::Loading { meta, items: true, warehouses: vec![] }));
    assert_eq!(server.sql("cut_off", "SELECT count(*) FROM customer"), "0", "nothing of the warehouse stays");
    for warehouse in population.warehouse_ids() {
        loader
            .load(LoadUnit::Warehouse(warehouse), &(&population).into(), &LoadProgress::default())
            .expect("a load");
    }
    drop(loader);
    target.finish_load(2, &|_| ()).expect("finish_load");
    target.finish_load(2, &|_| ()).expect("finishing for the second time");
    assert_eq!(
        server.sql(
            "information_schema",
            "SELECT count(*) FROM table_constraints \
        WHERE constraint_schema = 'cut_off' AND constraint_type = 'FOREIGN KEY'"
        ),
        "10"
    );
    assert_conditions(&*target);
}

/// The limit of the binary log's cache simulates a database that is not made for large transactions.
#[test]
fn a_load_that_is_too_large_a_transaction_is_told_and_in_batches_it_is_halved_and_the_same() {
    let logs = ["log-bin=log", "server-id=1", "binlog-format=ROW", "max-binlog-cache-size=128K"];
    let server = Server::start(&[&FAST[..], &logs].concat());
    let whole = open(&server.create_database("whole"), TxMode::Statements);
    // More rows than elsewhere in these tests.
    whole.create_schema(&playing::meta(1)).expect("create_schema");
    let mut loader = whole.loader().expect("a loader");
    let items = loader.load(LoadUnit::Items, &(&playing::population(1)).into(), &LoadProgress::default());
    let refused = items.expect_err("too large");
    assert!(refused.message.contains("(1197)") && refused.message.contains("?batch="), "{refused}");
    drop(loader);
    assert_eq!(server.sql("whole", "SELECT count(*) FROM item"), "0");

    let plain = on_mariadb(&FAST, 1, "");
    let rows = open(&plain.url("tpcc"), TxMode::Statements).checksums().expect("checksums");
    for (name, local_infile) in [("by_file", "ON"), ("by_insert", "OFF")] {
        let url = server.create_database(name);
        server.sql(name, &format!("SET GLOBAL local_infile = {local_infile}"));
        let target = open(&format!("{url}?batch=20000"), TxMode::Statements);
        load(&*target, 1);
        assert_eq!(target.checksums().expect("checksums"), rows, "{name}");
        assert_eq!(server.sql(name, "SELECT count(*) FROM lydite_load WHERE unit < 0"), "0", "{name}");
    }
}

#[test]
fn a_warehouse_whose_batches_were_broken_off_is_loaded_anew() {
    let server = mariadb::shared();
    let target = open(&format!("{}?batch=1000", server.create_database("broken_off")), TxMode::Statements);
    target.create_schema(&meta(1)).expect("create_schema");
    let population = population(1);
    let mut loader = target.loader().expect("a loader");
    loader.load(LoadUnit::Items, &(&population).into(), &LoadProgress::default()).expect("ITEM");
    server.sql("broken_off", "RENAME TABLE order_line TO hidden");
    let unit = LoadUnit::Warehouse(population.warehouse_ids().next().expect("a warehouse"));
    let broken = loader.load(unit, &(&population).into(), &LoadProgress::default()).expect_err("no table");
    assert!(broken.message.contains("order_line"), "{broken}");
    assert_ne!(server.sql("broken_off", "SELECT count(*) FROM customer"), "0", "batches stay");
    server.sql("broken_off", "RENAME TABLE hidden TO order_line");
    let state = target.state().expect("a state");
    let DatabaseState::Loading { items: true, warehouses, .. } = state else { panic!("{state:?}") };
    assert!(warehouses.is_empty(), "{warehouses:?}");
    loader.load(unit, &(&population).into(), &LoadProgress::default()).expect("a warehouse");
    drop(loader);
    target.finish_load(1, &|_| ()).expect("finish_load");
    assert_conditions(&*target);
}

#[test]
fn a_second_load_is_refused_while_one_is_running() {
    let target = open(&mariadb::shared().create_database("alone"), TxMode::Statements);
    let lock = target.begin_load().expect("the first load");
    let refused = target.begin_load().map(|_| ()).expect_err("a second load");
    assert!(refused.message.contains("another load is running"), "{refused}");
    drop(lock);
    target.begin_load().map(|_| ()).expect("a load after the first");
}

#[test]
fn sessions_beyond_the_servers_limits_are_refused_before_the_run() {
    let target = open(&mariadb::shared().create_database("limits"), TxMode::Statements);
    target.admit(&Demand::Sessions(10)).expect("ten sessions");
    let refused = target.admit(&Demand::Sessions(201)).expect_err("more than max_connections");
    assert!(refused.message.contains("max_connections of the server is 200"), "{refused}");
}

#[test]
fn a_killed_server_leaves_a_transaction_uncommitted_and_the_rest_of_the_database_whole() {
    let server = on_mariadb(&[], 1, "");
    let url = server.url("tpcc");
    for mode in TxMode::ALL {
        let target = open(&url, mode);
        let mut session = target.connect().expect("a session");
        let inputs = inputs(1, 30);
        session.execute(&inputs[0]).map(|_| ()).or_else(rolled_back).expect("a transaction");
        server.kill();
        let error = session.execute(&inputs[1]).expect_err("no server");
        assert!(matches!(error, TxError::Unavailable { .. }), "{mode}: {error:?}");
        let refused = target.describe().expect_err("no server");
        assert_eq!(refused.kind, TargetErrorKind::Unreachable);
        assert!(refused.message.contains(&format!("127.0.0.1:{}", server.port())), "{refused}");
        server.restart();
        assert_conditions(&*target);
        play(&*target, &inputs[2..]);
        assert_conditions(&*target);
    }
}

fn rolled_back(error: TxError) -> Result<(), TxError> {
    if matches!(error, TxError::RolledBack(_)) { Ok(()) } else { Err(error) }
}

#[test]
fn a_lock_that_is_not_given_aborts_the_transaction_in_every_mode_and_nothing_of_it_stays() {
    let server = on_mariadb(&[&FAST[..], &["innodb-lock-wait-timeout=1"]].concat(), 1, "");
    let url = server.url("tpcc");
    let before = open(&url, TxMode::Statements).checksums().expect("checksums");
    std::thread::scope(|scope| {
        // The session holds all districts until it is ended.
        let holder = scope.spawn(|| {
            let hold = "BEGIN; SELECT count(*) FROM district FOR UPDATE; SELECT sleep(3600)";
            std::panic::catch_unwind(|| server.sql("tpcc", hold)).expect_err("it is killed")
        });
        let sleeps = "SELECT coalesce(max(id), 0) FROM processlist WHERE state = 'User sleep'";
        let holding = loop {
            let id = server.sql("information_schema", sleeps);
            if id != "0" {
                break id;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        };
        for mode in TxMode::ALL {
            let order = inputs(1, 40)
                .into_iter()
                .find(|input| matches!(input, Transaction::Standard(Standard::NewOrder(_))))
                .expect("an order");
            let answers = play(&*open(&url, mode), &[order]);
            assert!(
                matches!(
                    &answers[0],
                    Err(TxError::Aborted { reason: lydite_database::AbortReason::LockTimeout, .. })
                ),
                "{mode}: {answers:?}"
            );
        }
        server.sql("tpcc", &format!("KILL {holding}"));
        holder.join().expect("the holder");
    });
    assert_eq!(open(&url, TxMode::Statements).checksums().expect("checksums"), before);
}

#[test]
fn an_engine_that_is_not_there_is_told_before_anything_is_made() {
    let url = mariadb::shared().create_database("engines");
    let target = open(&format!("{url}?engine=tokudb"), TxMode::Statements);
    let refused = target.create_schema(&meta(1)).expect_err("no such engine");
    assert!(refused.message.contains("tokudb") && refused.message.contains("?engine="), "{refused}");
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
    assert!(TargetSpec::parse(&format!("{url}?engine=a;b"), TxMode::Statements).is_err());
}
