//! `lydite driver`: scaffolds that work, and the kit on good and on broken targets.

use crate::claims::assert_plain;
use crate::kit::{
    SDK, assert_green, directory, kit, python_with_libraries, scaffold, step, uses_package_msgpack,
};
use crate::program::{Program, assert_checks_hold, json, longer_windows, lydite, text, total, windows_from};
use lydite_testkit::Directory;
use lydite_testkit::postgres::{self, Server};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a_new_driver_passes_the_kit_as_it_is() {
    let place = directory();
    // Hides the package msgpack, so that the SDK's own is used; a driver over PostgreSQL uses the package.
    std::fs::write(place.path().join("msgpack.py"), "raise ImportError('hidden')\n").expect("a module");
    let path = text(place.path());
    assert!(!uses_package_msgpack("python3", path));
    for (name, arguments) in [
        ("store", &["--lang", "python", "--kv"][..]),
        ("sql", &["--lang", "python"][..]),
        ("memory", &["--lang", "go", "--kv"][..]),
        ("tables", &["--lang", "go"][..]),
    ] {
        let url = scaffold(&place, name, arguments);
        let ended = Program::new(&["driver", "test", &url]).env("PYTHONPATH", path).run();
        assert_green(&ended);
        assert_eq!(step(&ended, "reconnect").0, "passed");
        // What the kit made is gone: a run finds an empty database, and what it loads is not touched by the kit.
        lydite(&["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);
        let refused = kit(&[&url]).code(2);
        assert!(
            refused.stderr.contains("is not empty, and the kit needs an empty database"),
            "{}",
            refused.stderr
        );
        lydite(&["check", &url]).code(0);
    }
    // A run tells whether the driver has passed in its present form.
    let url = format!("driver:{}", text(&place.path().join("store")));
    let warned = || {
        let file = place.path().join("result.json");
        let run = ["run", &url, "--duration", "1s", "--warmup", "0s", "--quiet", "--no-check"];
        lydite(&[&run[..], &["--json", text(&file)]].concat()).code(0);
        json(&file)["warnings"].to_string().contains("has not passed the kit")
    };
    assert!(!warned());
    let program = place.path().join("store/driver");
    let changed = std::fs::read_to_string(&program).expect("a driver") + "\n# changed\n";
    std::fs::write(&program, changed).expect("a driver");
    assert!(warned());
}

#[test]
fn a_name_that_is_taken_or_bad_is_refused_and_nothing_is_written() {
    let place = directory();
    let taken = place.path().join("taken");
    std::fs::create_dir(&taken).expect("a directory");
    for (name, words) in [("taken", "exists already"), ("a b", "use letters, digits"), ("x/..", "NAME")] {
        let ended =
            Program::new(&["driver", "new", name, "--lang", "python"]).within(place.path()).run().code(2);
        assert!(ended.stderr.contains(words), "{name}: {}", ended.stderr);
    }
    assert_eq!(std::fs::read_dir(place.path()).expect("the directory").count(), 1);
}

#[test]
fn the_kit_proves_built_in_targets_and_all_their_modes() {
    assert_green(&kit(&["gemel:"]));
    let server = postgres::shared();
    let ended = kit(&[&server.create_database("kit")]);
    assert_green(&ended);
    for mode in ["--tx batched", "--tx procedures"] {
        assert_eq!(step(&ended, mode).0, "passed", "{}", ended.stdout);
    }
}

#[test]
fn targets_that_can_not_be_proved_are_refused() {
    for (url, words) in [
        ("null:", "stores nothing"),
        ("nothing:", "is not known"),
        ("driver:", "names no program"),
        ("driver:./x?proceses=2", "\"proceses\" is not known"),
    ] {
        let ended = kit(&[url]).code(2);
        assert!(ended.stderr.contains(words), "{url}: {}", ended.stderr);
    }
    // A program that is not there is no broken database.
    let url = "driver:/nonexistent --port 5432 --pass s3cret -ps3cret";
    for command in [&["driver", "test", url][..], &["check", url], &["run", url], &["load", url, "-w", "1"]] {
        let ended = lydite(command).code(2);
        let error = ended.only_error();
        assert!(error.contains("the program /nonexistent is not found: look at the command"), "{error}");
        assert!(error.contains("driver /nonexistent --port 5432 --pass *** -p***"), "{error}");
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("s3cret"), "{ended:?}");
    }
    let place = directory();
    std::fs::write(place.path().join("here"), "").expect("a file");
    for (url, words) in
        [("driver:here", "write ./here for the file in this directory"), ("driver:nowhere", "and at PATH")]
    {
        let ended = Program::new(&["check", url]).within(place.path()).run().code(2);
        assert!(ended.only_error().contains(words), "{ended:?}");
    }
}

const BROKEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers/broken.py");

/// Several faults at once, as far as one does not hide another.
#[test]
fn a_broken_driver_of_each_kind_is_told_red_with_its_reason() {
    /// How it is broken, the step that finds it, and what that says.
    type Fault = (&'static str, &'static str, &'static str);
    let cases: [(&[Fault], &str); 7] = [
        (&[("forgets_notes", "schema", "lydite_meta has no warehouses")], ""),
        (&[("keeps_old_unit", "load", "UNIQUE constraint failed")], ""),
        (
            &[
                ("cuts_text", "rows as loaded", "stock has the right number of rows, 1000, but wrong values"),
                ("total_before_tax", "New-Order", "total is "),
                ("no_answer_field", "Payment", "missing field `c_data`"),
                ("forgets_carrier", "Order-Status", "carrier_id is nil instead of "),
                ("one_district", "Delivery", " instead of order "),
                ("counts_too_many", "Stock-Level", "low_stock is "),
                ("dirty", "dirty read", ", which was rolled back"),
                ("forgets_on_restart", "reconnect", "after reopening, the database is empty"),
            ],
            "",
        ),
        (
            &[
                ("loses_rows", "rows as loaded", "customer has "),
                ("float_money", "New-Order", "total: invalid type: floating point"),
                ("leaves_trace", "rollback", "district has the right number of rows"),
                ("overwrites", "lost update", "C_BALANCE is "),
            ],
            "",
        ),
        (
            &[
                ("crashes", "Delivery", "exit code 7 (its last words: out of memory)"),
                ("hangs", "Stock-Level", "gave no answer for 10 s"),
            ],
            "?timeout=10s",
        ),
        (
            &[
                ("commits_unused_item", "New-Order", "it was committed instead of rolled back"),
                ("commits_unused_item", "rollback", "has an unused item and was committed"),
                ("first_of_a_name", "Payment", "c_id is "),
                (
                    "no_snapshot",
                    "isolation, provoked",
                    "Order-Statuses beside Deliveries to their customer show ",
                ),
            ],
            "",
        ),
        (
            &[
                ("durable", "durability", "SIGKILL after 1 acknowledged transaction loses commits: "),
                ("forgets_on_restart", "reconnect", "after reopening, the database is empty"),
            ],
            "",
        ),
    ];
    for (faults, options) in cases {
        let place = directory();
        let kinds: Vec<&str> = faults.iter().map(|(kind, ..)| *kind).collect();
        let ended = kit(&[&broken(&place, &kinds.join(","), options)]).code(1);
        for (kind, name, words) in faults {
            let (verdict, reason) = step(&ended, name);
            assert!(
                verdict == "FAILED" && reason.contains(words),
                "{kind}: {words:?} is wanted: {}",
                ended.stdout
            );
        }
        assert_plain(&ended);
    }
}

/// The URL of a driver that is broken in these ways. It uses the package msgpack: with the SDK's own means a kit takes
/// twice the processor time.
fn broken(place: &Directory, kinds: &str, options: &str) -> String {
    let store = place.path().join("store.sqlite");
    let python = python_with_libraries();
    format!("driver:env PYTHONPATH={SDK} STORE_FILE={} {python} {BROKEN} {kinds}{options}", store.display())
}

#[test]
fn a_driver_without_isolation_is_told_so_and_not_failed_for_it() {
    let place = directory();
    let ended = kit(&[&broken(&place, "overwrites,promises_nothing", "")]).code(0);
    let (verdict, reason) = step(&ended, "lost update");
    assert_eq!(verdict, "not supported", "{}", ended.stdout);
    assert!(reason.starts_with("not promised (isolation none): "), "{reason}");
    let url = broken(&place, "promises_nothing", "");
    let result = place.path().join("result.json");
    let used = longer_windows(|window| {
        let run = ["run", &url, "--warehouses", "1", "--duration", window, "--warmup", "0s", "--no-check"];
        let more = ["--quiet", "--set", "size=tiny", "--json", text(&result)];
        let ran = lydite(&[&run[..], &more].concat()).code(0);
        assert!(
            ran.stdout.contains("! The driver guarantees \"none\" for its transactions"),
            "{}",
            ran.stdout
        );
        // What its process used stands beside what Lydite did.
        let used = ran.stdout.lines().find_map(|line| line.strip_prefix("driver   ")).map(str::to_owned);
        (total(&json(&result), "committed") > 0).then(|| used.expect("the driver's line"))
    });
    let each: f64 =
        used.split(' ').next().and_then(|word| word.replace(',', "").parse().ok()).expect("a number");
    assert!(each > 0.0, "{used}");
}

/// Whether a process is there and no corpse.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

#[test]
fn no_driver_is_left_behind_when_lydite_is_killed() {
    let place = directory();
    let url = scaffold(&place, "store", &["--lang", "python", "--kv"]);
    let mut running = Program::new(&["load", &url, "--warehouses", "9"]).start();
    let file = place.path().join("store").join("store.sqlite");
    running.wait_until("the driver's start", || file.exists());
    // The drivers are the processes that hold the store's file.
    let drivers: Vec<String> = std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| {
            let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            command.contains(&format!("{}/driver", place.path().join("store").display()))
                && !command.contains("lydite\0load")
        })
        .collect();
    assert!(!drivers.is_empty());
    // Dropping it kills it, as kill -9 does.
    drop(running);
    let deadline = Instant::now() + Duration::from_secs(5 * 60);
    while drivers.iter().any(|pid| runs(pid)) {
        assert!(Instant::now() < deadline, "a driver is left behind");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const PYTPCC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers/pytpcc");

/// The URL of a driver written to py-tpcc's contract, over a file in `place`.
fn pytpcc(place: &Directory, name: &str) -> String {
    let config = place.path().join("config");
    let database = place.path().join("tpcc.db").display().to_string();
    std::fs::write(&config, format!("[{name}]\ndatabase = {database}\n")).expect("a configuration");
    let python = python_with_libraries();
    let path = match name {
        "forked" => format!("{PYTPCC}/fork/drivers/forkeddriver.py"),
        _ => format!("{PYTPCC}/{name}driver.py"),
    };
    format!(
        "driver:pytpcc?path={path}&config={}&guarantee=serializable&python={python}&timeout=5m",
        config.display()
    )
}

#[test]
fn unmodified_drivers_of_both_dialects_of_py_tpcc_pass_the_conditions_and_the_kit() {
    let place = directory();
    let url = pytpcc(&place, "packaged");
    lydite(&["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);
    assert_green(&kit(&[&url, "--fresh"]));
    // For Python 2.
    let place = directory();
    assert_green(&kit(&[&pytpcc(&place, "plain")]));
}

#[test]
fn the_driver_of_py_tpcc_for_postgresql_passes_the_kit() {
    let place = directory();
    let config = place.path().join("config");
    let connection = connection(postgres::shared(), "pytpcc");
    std::fs::write(&config, format!("[postgres]\ndsn = {connection}\n")).expect("a configuration");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/pytpcc/postgresdriver.py");
    let (config, python) = (config.display(), python_with_libraries());
    let url = format!(
        "driver:pytpcc?path={path}&config={config}&guarantee=serializable&python={python}&timeout=5m"
    );
    let ended = kit(&[&url]);
    assert_green(&ended);
    for name in ["contention", "isolation, provoked", "isolation, random", "conditions afterwards"] {
        assert_eq!(step(&ended, name).0, "passed", "{name}");
    }
}

/// The configuration is in a folder with a plus sign, which stays one.
#[test]
fn a_fork_of_py_tpcc_runs_with_its_own_modules_and_with_tables_that_only_a_reset_makes() {
    let place = Directory::new("a+b");
    let url = pytpcc(&place, "forked");
    let json_file = place.path().join("result.json");
    let run = ["run", &url, "--warehouses", "1", "--duration", "2s", "--warmup", "0s", "--quiet", "--fresh"];
    // Python loads and checks row by row.
    let ran = lydite(&[&run[..], &["--set", "size=tiny", "--json", text(&json_file)]].concat()).code(0);
    let hold = "12/12 consistency conditions hold before the run, 12/12 after";
    assert!(ran.stdout.contains(hold), "{}", ran.stdout);
    assert_eq!(total(&json(&json_file), "failed"), 0);
}

/// The third call for ORDER_LINE fails, when rows of the warehouse have been handed over.
#[test]
fn a_load_that_a_py_tpcc_driver_can_not_take_up_advises_to_begin_again_and_nothing_else() {
    let place = directory();
    let url = pytpcc(&place, "stopping");
    let load = ["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"];
    let failed = lydite(&load);
    assert_ne!(failed.code, Some(0));
    for (ended, words) in [
        (failed, "(char 0) (stoppingdriver.py, line "),
        (lydite(&[&load[..], &["--resume"]].concat()).code(2), "rows of an unfinished warehouse"),
    ] {
        let error = ended.only_error();
        assert!(error.contains(words) && error.ends_with("load again with --fresh"), "{error}");
    }
}

/// A run in which more than so many transactions are committed and some commits are of unknown outcome; none fails, and the
/// conditions hold.
fn commits_are_left_open(url: &str, terminals: &str, committed: u64) {
    let place = directory();
    let path = place.path().join("result.json");
    windows_from("5s", |window| {
        let run = ["run", url, "-w", "1", "--terminals", terminals, "--duration", window, "--warmup", "0s"];
        let more = ["--quiet", "--set", "size=tiny", "--json", text(&path)];
        let ended = lydite(&[&run[..], &more].concat());
        if ended.code == Some(3) && ended.only_error().contains(": lost: ") {
            // All connections were lost at the very end.
            return None;
        }
        ended.code(0);
        let result = json(&path);
        assert_eq!(total(&result, "failed"), 0, "{result}");
        assert_checks_hold(&result, &["before", "after"]);
        (total(&result, "unknown") > 0 && total(&result, "committed") > committed).then_some(())
    });
}

#[test]
fn an_error_after_a_commit_of_a_python_driver_leaves_the_outcome_unknown() {
    let place = directory();
    let url = scaffold(&place, "store", &["--lang", "python"]);
    let file = place.path().join("store").join("driver");
    let text = std::fs::read_to_string(&file).expect("the driver");
    let (right, wrong) = (
        "        self.db.execute(\"COMMIT\")\n        return lydite.PaymentResult(",
        "        self.committing = True\n        self.db.execute(\"COMMIT\")\n        \
         self.paid = getattr(self, \"paid\", 0) + 1\n        if self.paid % 100 == 0:\n            raise ValueError(\"an answer is lost\")\n        return lydite.PaymentResult(",
    );
    assert_eq!(text.matches(right).count(), 1, "{text}");
    std::fs::write(&file, text.replace(right, wrong)).expect("a change");
    // Not so often that all sessions would be likely to be without a connection at the end.
    commits_are_left_open(&url, "2", 20);
}

#[test]
fn a_py_tpcc_driver_whose_connection_is_lost_gets_a_new_one() {
    let place = directory();
    let url = pytpcc(&place, "losing");
    // Each connection is lost after fifty transactions.
    commits_are_left_open(&url, "2", 100);
}

#[test]
fn an_error_that_a_store_does_not_explain_leaves_its_commit_open() {
    let place = directory();
    let store = place.path().join("store.sqlite");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers/forgetful.py");
    let url = format!("driver:env PYTHONPATH={SDK} STORE_FILE={} python3 {program}", store.display());
    commits_are_left_open(&url, "3", 0);
}

#[test]
fn wrong_results_of_a_py_tpcc_driver_are_named_field_by_field() {
    let place = directory();
    let ended = kit(&[&pytpcc(&place, "misshapen")]).code(1);
    for (name, words) in [
        ("New-Order", "new_order.misc.TOTAL is 'much', and has to be an amount"),
        ("Payment", "payment returned [1, 2], and has to return [warehouse, district, customer]"),
        ("Order-Status", "order_status.customer has 2 columns, and has to have 5: C_ID, C_FIRST"),
        ("Delivery", "delivery.result[0].O_ID is None, and has to be a whole number"),
        ("Stock-Level", "stock_level returned 'low', and has to return a whole number"),
    ] {
        let (verdict, reason) = step(&ended, name);
        assert_eq!(verdict, "FAILED", "{}", ended.stdout);
        assert!(reason.contains(words), "{reason}");
    }
}

#[test]
fn a_function_of_a_store_that_is_wrong_is_named_before_any_transaction() {
    let place = directory();
    for (name, wrong, found_by, words) in [
        (
            "empty",
            "return []",
            "functions",
            "scan before the commit gave no keys instead of 01, 01 00, 02, ff ff",
        ),
        ("deaf", "raise KeyError('boom')", "state", "KeyError: 'boom' (driver, line "),
    ] {
        let url = scaffold(&place, name, &["--lang", "python", "--kv"]);
        let file = place.path().join(name).join("driver");
        let text = std::fs::read_to_string(&file).expect("the driver");
        let old = text.split_once("    def scan(").expect("a scan").1;
        let broken = text.replace(
            &format!("    def scan({old}"),
            &format!("    def scan(self, *_: object) -> object:\n        {wrong}\n\n    def old({old}"),
        );
        std::fs::write(&file, broken).expect("a change");
        let ended = kit(&[&url]).code(1);
        let (verdict, reason) = step(&ended, found_by);
        assert_eq!(verdict, "FAILED", "{}", ended.stdout);
        assert!(reason.contains(words), "{reason}");
    }
}

#[test]
fn an_abort_that_commits_and_a_scan_without_its_limit_are_found() {
    let place = directory();
    let commits = ("self.db.execute(\"ROLLBACK\")", "self.db.execute(\"COMMIT\")");
    let atomic = ("guarantee = \"serializable\"", "guarantee = \"atomic\"");
    let limit = ("    def scan(self, table, start, end, limit, backward):\n", "        limit = -1\n");
    let limit = (limit.0, &*format!("{}{}", limit.0, limit.1));
    let rolled_back = "get of 01 after a transaction that was rolled back gave nothing";
    for (name, changes, words) in [
        ("commits", &[commits][..], rolled_back),
        ("atomic", &[commits, atomic], rolled_back),
        ("unlimited", &[limit], "a scan of history gave 200 entries, and the limit was 16"),
    ] {
        let url = scaffold(&place, name, &["--lang", "python", "--kv"]);
        let file = place.path().join(name).join("driver");
        let mut text = std::fs::read_to_string(&file).expect("the driver");
        for (right, wrong) in changes {
            assert!(text.contains(right), "{right}");
            text = text.replace(right, wrong);
        }
        std::fs::write(&file, text).expect("a change");
        let ended = kit(&[&url]).code(1);
        let (verdict, reason) = step(&ended, "functions");
        assert_eq!(verdict, "FAILED", "{name}: {}", ended.stdout);
        assert!(reason.contains(words), "{name}: {reason}");
    }
}

#[test]
fn a_kit_that_is_interrupted_leaves_nothing_in_the_store() {
    let place = directory();
    let url = scaffold(&place, "store", &["--lang", "python", "--kv"]);
    let file = place.path().join("store").join("store.sqlite");
    let mut running = Program::new(&["driver", "test", &url]).start();
    // Larger than its tables alone: rows are being loaded.
    running.wait_until("the load", || std::fs::metadata(&file).is_ok_and(|file| file.len() > 200_000));
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.stderr.contains("interrupted: the steps that are left were skipped"), "{ended:?}");
    let skipped: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("skipped")).collect();
    assert_eq!(skipped.len(), 1, "steps that share a reason share a line: {}", ended.stdout);
    assert!(
        skipped[0].contains(" steps: interrupted: ") && skipped[0].contains(", rollback,"),
        "{}",
        skipped[0]
    );
    let told = skipped[0].trim_start_matches("skipped").split_whitespace().next().unwrap_or_default();
    assert!(ended.stdout.contains(&format!(" {told} skipped")), "{}", ended.stdout);
    assert_eq!(step(&ended, "clean up").0, "passed", "{}", ended.stdout);
}

#[test]
fn options_of_py_tpcc_are_checked_before_anything_is_started() {
    let place = directory();
    for (url, words) in [
        ("driver:pytpcc".to_string(), "needs path"),
        ("driver:./x?path=y".to_string(), "is for driver:pytpcc"),
        (format!("driver:pytpcc?path={}/none.py", place.path().display()), "no such file"),
        (format!("driver:pytpcc?path={PYTPCC}/plaindriver.py&guarantee=much"), "guarantee"),
    ] {
        let ended = lydite(&["check", &url]).code(2);
        assert!(ended.stderr.contains(words), "{url}: {}", ended.stderr);
    }
}

/// What PostgreSQL's client libraries read as a connection to a new database of the server.
fn connection(server: &Server, database: &str) -> String {
    server.psql("postgres", &format!("CREATE DATABASE {database}"));
    format!("host=127.0.0.1 port={} user=postgres dbname={database}", server.port())
}

fn assert_proved_on_postgresql(url: &str) {
    let ended = kit(&[url]);
    assert_green(&ended);
    let (_, contention) = step(&ended, "contention");
    assert!(contention.contains("attempts were aborted and retried"), "{contention}");
}

fn psycopg(connection: &str) -> String {
    example_in_python("psycopg_driver.py", connection)
}

/// The driver over psycopg2, SQLAlchemy or asyncpg.
fn library(name: &str, connection: &str) -> String {
    example_in_python(&format!("postgres_libraries.py {name}"), connection)
}

fn example_in_python(example: &str, arguments: &str) -> String {
    format!("driver:env PYTHONPATH={SDK} {} {SDK}/examples/{example} {arguments}", python_with_libraries())
}

const PGX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/go/examples/pgx");

/// Builds the driver over pgx, which Go fetches when it has not yet.
fn pgx(place: &Directory, connection: &str) -> String {
    let program = place.path().join("pgx");
    let mut go = std::process::Command::new("go");
    go.args(["build", "-buildvcs=false", "-o"]).arg(&program).arg(".").current_dir(PGX);
    let built = go.output().expect("Go: run `make test`, which installs it");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    format!("driver:{} {connection}", program.display())
}

#[test]
fn the_psycopg_driver_passes_the_kit_on_postgresql_with_the_package_msgpack() {
    assert!(uses_package_msgpack(&python_with_libraries(), SDK));
    assert_proved_on_postgresql(&psycopg(&connection(postgres::shared(), "psycopg")));
}

/// Sends a message to an SDK driver that uses the package msgpack (`path` empty) or its own code; returns the error.
fn refusal_of_message(path: &str, message: &[u8]) -> String {
    let mut driver = std::process::Command::new(python_with_libraries())
        .arg(format!("{SDK}/examples/sqlite_kv.py"))
        .env("PYTHONPATH", format!("{path}:{SDK}"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("a driver");
    driver.stdin.take().expect("its input").write_all(message).expect("a message");
    let ended = driver.wait_with_output().expect("its end");
    assert!(!ended.status.success(), "{ended:?}");
    String::from_utf8_lossy(&ended.stderr).lines().last().unwrap_or_default().to_string()
}

#[test]
fn a_python_driver_rejects_messages_that_are_too_long_or_lie_about_their_parts() {
    let hidden = directory();
    std::fs::write(hidden.path().join("msgpack.py"), "raise ImportError('hidden')\n").expect("a module");
    for path in ["", text(hidden.path())] {
        let said = refusal_of_message(path, &[0xff; 4]);
        assert!(said.contains("a message of 4294967295 bytes came from Lydite"), "{said}");
        // A list of four thousand million, and a text of them, in messages of five bytes.
        for part in [0xdd, 0xdb] {
            let said = refusal_of_message(path, &[0, 0, 0, 5, part, 0xff, 0xff, 0xff, 0xff]);
            assert!(said.starts_with("ValueError") || said.starts_with("IndexError"), "{said}");
        }
    }
}

#[test]
fn the_pgx_driver_passes_the_kit_on_postgresql() {
    assert_proved_on_postgresql(&pgx(&directory(), &connection(postgres::shared(), "pgx")));
}

#[test]
fn the_psycopg2_driver_passes_the_kit_on_postgresql() {
    assert_proved_on_postgresql(&library("psycopg2", &connection(postgres::shared(), "psycopg2")));
}

#[test]
fn the_sqlalchemy_driver_passes_the_kit_on_postgresql() {
    assert_proved_on_postgresql(&library("sqlalchemy", &connection(postgres::shared(), "sqlalchemy")));
}

#[test]
fn the_asyncpg_driver_passes_the_kit_on_postgresql() {
    assert_proved_on_postgresql(&library("asyncpg", &connection(postgres::shared(), "asyncpg")));
}

/// `LYDITE_TEST_JDBC=on` switches it on: it needs a Java compiler, and Maven, which fetches the library.
#[test]
fn the_jdbc_driver_passes_the_kit_on_postgresql() {
    if !std::env::var("LYDITE_TEST_JDBC").is_ok_and(|switch| switch == "on") {
        eprintln!("LYDITE_TEST_JDBC is not on: the driver over pgjdbc is not tested");
        return;
    }
    let jdbc = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/java/examples/jdbc");
    let connection = connection(postgres::shared(), "jdbc");
    assert_proved_on_postgresql(&format!("driver:{jdbc} {connection}?timeout=300s"));
}

#[test]
fn an_unknown_library_of_python_is_rejected_with_the_known_ones() {
    for (arguments, words) in [
        ("", "the library is missing: use psycopg2, sqlalchemy or asyncpg"),
        ("psycopg4 host=h", "unknown library 'psycopg4': use psycopg2, sqlalchemy or asyncpg"),
    ] {
        let ended = lydite(&["check", &example_in_python("postgres_libraries.py", arguments)]);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[test]
fn drivers_of_postgresql_go_on_when_their_connections_were_lost() {
    let server = postgres::shared();
    let place = directory();
    let pgx = pgx(&place, &connection(server, "pgx_lost"));
    let psycopg = psycopg(&connection(server, "psycopg_lost"));
    let of = |name: &str| library(name, &connection(server, &format!("{name}_lost")));
    for (url, database) in [
        (pgx, "pgx_lost"),
        (psycopg, "psycopg_lost"),
        (of("psycopg2"), "psycopg2_lost"),
        (of("sqlalchemy"), "sqlalchemy_lost"),
        (of("asyncpg"), "asyncpg_lost"),
    ] {
        lydite(&["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);
        let orders = || -> u64 {
            let count = server.psql(database, "SELECT sum(d_next_o_id - 31) FROM district");
            count.parse().expect("a count")
        };
        windows_from("3s", |window| {
            let begun = orders();
            let run = ["run", &url, "--terminals", "2", "--duration", window, "--warmup", "0s", "--quiet"];
            let mut running = Program::new(&run).start();
            if !running.reaches("the first orders", || orders() > begun) {
                return None;
            }
            let ended = server.psql(
                database,
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            );
            let before = orders();
            let goes_on = running.reaches("orders after that", || orders() > before);
            // Cut off in the midst of the check that follows, it can't go on.
            let goes_on = goes_on.then(|| running.wait().code(0))?;
            assert!(ended.parse::<u32>().expect("a count") >= 2, "{ended}");
            assert!(goes_on.stdout.contains("12/12 after"), "{}", goes_on.stdout);
            Some(())
        });
    }
}
