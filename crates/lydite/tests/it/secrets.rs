//! Passwords in what Lydite does not understand: no command repeats them, neither in its output nor in a file.

use crate::program::{Program, lydite, scratch, text};
use std::fs;
use std::path::Path;

const MARKER: &str = "S3cr3tM";

/// Fails if a file below a directory has the marker, except those that the test wrote.
fn assert_no_file_has_it(directory: &Path, own: &[&str]) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_no_file_has_it(&path, own);
        } else if !own.iter().any(|name| path.ends_with(name)) {
            let content = fs::read(&path).expect("a file");
            let content = String::from_utf8_lossy(&content);
            assert!(!content.contains(MARKER), "{}: {content}", path.display());
        }
    }
}

#[test]
fn no_command_repeats_a_password_of_what_it_does_not_understand() {
    let directory = scratch();
    let place = directory.path();
    let keywords = "host=h user=u password=S3cr3tM S3cr3tM";
    let (mangled, url) = ("postgres//u:S3cr3tM@h/db", "postgres://u:S3cr3tM@h:port/db");
    fs::write(place.join("plan.toml"), format!("target = {keywords:?}\n")).expect("a plan");
    fs::write(place.join("open.toml"), format!("target = {keywords}\n")).expect("a plan");
    fs::write(place.join("key.toml"), format!("\"u:S3cr3tM@h\" = 1\ntarget = {url:?}\n")).expect("a plan");
    fs::write(
        place.join("grid.toml"),
        format!("[plan]\ntarget = {keywords:?}\nduration = \"1s\"\n[axes]\nterminals = [1, 2]\n"),
    )
    .expect("an experiment");
    let commands: &[&[&str]] = &[
        &["check", keywords],
        &["check", keywords, "--foreign"],
        &["load", mangled, "-w", "1"],
        &["run", url, "--json", "a.json", "--report", "a.html"],
        &["run", "--config", "plan.toml"],
        &["run", "--config", "open.toml"],
        &["run", "--config", "key.toml"],
        &["run", "null:", "--set", keywords],
        &["run", "--set", "target=host=h password=S3cr3tM S3cr3tM"],
        &["run", "null:", "--set", "u:S3cr3tM@h=1"],
        &["run", "null:", "--fault", "kill@1s/ssh://u:S3cr3tM@h"],
        &["run", "null:", "--observe", "prometheus=htp://u:S3cr3tM@h"],
        &["run", "null:", "--agents", "2", "--join", keywords],
        &["run", "null:", "--join", "u:S3cr3tM@h"],
        &["run", "null:", "u:S3cr3tM@h"],
        &["run", "null:", "--warehuoses=password=S3cr3tM"],
        &["run", "null:", "--duration", "password=S3cr3tM"],
        &["verify", keywords, "--isolation"],
        &["audit", mangled],
        &["driver", "test", keywords],
        &["driver", "test", "driver:./no --password S3cr3tM"],
        &["check", "driver:PGPASSWORD=S3cr3tM ./no"],
        &["check", "driver:no:S3cr3tM@h"],
        &["check", "driver:'./no --password=S3cr3tM'"],
        &["sweep", "grid.toml", "--out", "out"],
        &["agent", "--join", keywords],
        &["agent", "--join", "nats://u:S3cr3tM@h:port"],
        &["faults", "list", "ssh://u:S3cr3tM@h:port"],
        &["plan", "--nopm", "1000", "--target", keywords],
        &["lab", "down", "mariadb://root:S3cr3tM@127.0.0.1:1/tpcc"],
        &["lab", "restart", "mariadb://root:S3cr3tM@127.0.0.1:1/tpcc"],
        &["verify", "null:", "--isolation", "--level", "u:S3cr3tM@h"],
        &["audit", "null:", "--only", "u:S3cr3tM@h"],
        &["S3cr3tM@h", "run"],
        // Where a file is expected.
        &["run", "--config", url],
        &["run", "--config=postgres://u:S3cr3tM@h/db"],
        &["compare", "a.json", url],
        &["compare", keywords, "a.json"],
        &["report", url],
        &["report", "a.json", "-o", url],
        &["sweep", url],
        &["plan", "--from", url],
        &["plan", "--check", url],
        &["export", url, "--to", "influx"],
        &["export", "a.json", "--to", "influx", "-o", url],
        &["disclose", url],
        &["verify", "--check-history", url],
        &["driver", "new", url],
        &["load", "null:", "--from", url],
    ];
    for command in commands {
        let ended = Program::new(command).within(place).run();
        assert!(matches!(ended.code, Some(2 | 3)), "{ended:?}");
        assert!(!ended.stdout.contains(MARKER) && !ended.stderr.contains(MARKER), "{ended:?}");
    }
    assert_no_file_has_it(place, &["plan.toml", "open.toml", "key.toml", "grid.toml"]);
    let told = lydite(&["check", "host=127.0.0.1 port=1 user=me password=S3cr3tM dbname=tpcc"]).code(3);
    assert!(told.stderr.contains("target is understood as postgres://me@127.0.0.1:1/tpcc\n"), "{told:?}");
    assert!(
        told.stderr.contains("where ps shows it: leave it out there, and set LYDITE_PASSWORD"),
        "{told:?}"
    );
    assert!(!told.stderr.contains(MARKER), "{told:?}");
}

#[test]
fn hosts_that_are_written_wrong_are_named_and_never_left_out() {
    let (again, empty) =
        ("name user and password once, before the first host", "an empty host beside a comma");
    let (twice, one) = ("twice: name each once", "takes one: leave out the others");
    for (url, words) in [
        ("postgres://u:S3cr3tM@h1:1,u:S3cr3tM@h2:2/db", again),
        ("mysql://u:S3cr3tM@h1:1,u:S3cr3tM@h2:2/db", again),
        ("tidb://u:S3cr3tM@h1,h2,u:S3cr3tM@h3/db", again),
        ("cockroach://u@h1,u:S3cr3tM@h2/db", again),
        ("postgres://h1:1,u:S3cr3tM@h2:2/db", again),
        ("postgres://h1,u:S3cr3tM@h2:2/db", again),
        ("redis://u:S3cr3tM@h1:1,u:S3cr3tM@h2:2", again),
        ("etcd://u:S3cr3tM@h1:1,u:S3cr3tM@h2:2", again),
        ("gemel-server://:S3cr3tM@h1:1,:S3cr3tM@h2:2", again),
        ("postgres://,h1/db", empty),
        ("postgres://u:S3cr3tM@,h1/db", empty),
        ("mariadb://h1:1,,h2/db", empty),
        ("postgres://h1,/db", empty),
        ("etcd://h1,,h2", one),
        ("redis://h1:1,h2:2", one),
        ("etcd://h1,h2", one),
        ("gemel-server://:S3cr3tM@h1:1,h2:2", one),
        ("postgres://u:S3cr3tM@H1:1,h1:1/db", twice),
        ("postgres://u:S3cr3tM@h1/db?nodes=h2:1,H2:1", "target option nodes names H2:1 twice"),
        ("mysql://u:S3cr3tM@h1/db?nodes=u:S3cr3tM@h2:1", "target option nodes names a user: leave it out"),
        ("postgres://u@h1/db?nodes=u:S3cr3tM@h2:1", "target option nodes names a user: leave it out"),
        (
            "postgres://u:S3cr3tM@h1/db?nodes=h2:1,,h3:1",
            "target option nodes has an empty server beside a comma",
        ),
        ("postgres://h1/db?nodes=h2:1&isolation=none", "target option isolation=\"none\" is not known"),
        ("postgres://u:nodes@h1/db?nodes=nodes", "target option nodes: \"***\" is not HOST:PORT"),
    ] {
        let ended = lydite(&["check", url]).code(2);
        assert!(ended.only_error().contains(words), "{ended:?}");
        assert!(!ended.stderr.contains(MARKER), "{ended:?}");
    }
    // A comma alone may be a part of the password.
    let ended = lydite(&["check", "postgres://u:a,b@127.0.0.1:1/db"]).code(3);
    assert!(ended.stderr.contains("127.0.0.1:1"), "{ended:?}");
}

#[test]
fn a_scheme_has_no_case_and_a_blank_around_a_target_is_named() {
    let ended = lydite(&["check", "POSTGRES://u:S3cr3tM@127.0.0.1:1/db"]).code(3);
    assert!(ended.stderr.contains("postgres at 127.0.0.1:1, database \"db\""), "{ended:?}");
    let directory = scratch();
    let path = directory.path().join("Tpcc.sqlite");
    lydite(&["load", &format!("SQLite:{}", text(&path)), "-w", "1", "--size", "tiny"]).code(0);
    let ended = lydite(&["check", &format!("sqlite:{}", text(&path))]).code(0);
    assert!(ended.stderr.is_empty(), "{ended:?}");
    lydite(&["run", "NULL:", "-d", "1s", "--warmup", "0s", "--workload", "micro"]).code(0);
    for (url, at) in [
        ("sqlite:tpcc.sqlite ", "target ends with a blank"),
        (" driver:./demo", "target begins with a blank"),
    ] {
        let ended = lydite(&["check", url]).code(2);
        assert!(ended.only_error().contains(at), "{ended:?}");
    }
    // Around the URL of a server a blank means nothing.
    for url in [
        " postgres://u:S3cr3tM@127.0.0.1:1/db",
        "\tMYSQL://u:S3cr3tM@127.0.0.1:1/db",
        "postgres://u:S3cr3tM@127.0.0.1:1/db ",
        "\u{feff}'postgres://u:S3cr3tM@127.0.0.1:1/db'\r\n",
    ] {
        let ended = lydite(&["check", url]).code(3);
        assert!(ended.stderr.contains("at 127.0.0.1:1") && !ended.stderr.contains(MARKER), "{ended:?}");
    }
}

#[test]
fn a_wrong_command_line_is_answered_in_one_line_with_the_way_out() {
    for (arguments, line) in [
        (
            &["run", "--warehouse", "2"][..],
            "unexpected argument '--warehouse' found: did you mean --warehouses?",
        ),
        (&["chekc", "null:"], "unrecognized subcommand 'chekc': did you mean check?"),
        (&["run", "null:", "--duration"], "but none was supplied: see 'lydite run --help'"),
        (&["run", "null:", "extra"], "unexpected argument 'extra' found: see 'lydite run --help'"),
        (
            &["check"],
            "the following required arguments were not provided: <TARGET>: see 'lydite check --help'",
        ),
        (&["driver", "new", "x", "--lang", "pyton"], "did you mean python?"),
    ] {
        let ended = lydite(arguments).code(2);
        assert!(ended.only_error().ends_with(line), "{ended:?}");
    }
    assert!(lydite(&["run", "--help"]).code(0).stdout.contains("Usage:"));
    assert!(lydite(&["--version"]).code(0).stdout.starts_with("lydite "));
}

#[test]
fn a_failed_check_is_one_line_on_the_standard_error_with_quiet_too() {
    let directory = scratch();
    let url = format!("sqlite:{}", text(&directory.path().join("tpcc.sqlite")));
    lydite(&["load", &url, "-w", "1", "--size", "tiny"]).code(0);
    let database = directory.path().join("tpcc.sqlite");
    let broken = rusqlite::Connection::open(database).expect("a database");
    broken.execute("UPDATE warehouse SET w_ytd = w_ytd + 1", []).expect("an update");
    drop(broken);
    let ended = lydite(&["check", &url, "--quiet"]).code(1);
    assert!(ended.only_error().starts_with("failed consistency conditions: 3.3.2.1"), "{ended:?}");
    let ended = lydite(&["run", &url, "-d", "1s", "--quiet"]).code(1);
    assert!(ended.only_error().starts_with("condition 3.3.2.1 does not hold before the run"), "{ended:?}");
}

#[test]
fn a_curve_of_another_program_is_answered_with_the_right_one() {
    for (rate, words) in [
        ("linear(100,200)", "write ramp, as ramp(100,200)"),
        ("ramp(100..200)", "use ramp(FROM,TO) with two numbers"),
        ("fast", "must be a number of transactions per second, as 100, or a curve, as ramp(100,200)"),
        ("100..200", "or a curve, as ramp(100,200)"),
    ] {
        let ended = lydite(&["run", "null:", "--mode", "open", "--rate", rate, "-d", "1s"]).code(2);
        assert!(ended.only_error().contains(words), "{ended:?}");
    }
    lydite(&["run", "null:", "--mode", "open", "--rate", "ramp(100,200)", "-d", "1s", "--warmup", "0s"])
        .code(0);
}
