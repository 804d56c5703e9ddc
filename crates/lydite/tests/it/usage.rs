//! Bad usage: exit code 2, every error at once and on a line of its own, and nothing touched.

use crate::program;
use crate::program::{Program, lydite, scratch, text, windows_from};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn an_unknown_scheme_is_told_with_the_known_ones() {
    let ended = lydite(&["run", "nodb://localhost/tpcc"]).code(2);
    assert!(
        ended
            .only_error()
            .contains("\"nodb\" is not known: use for example postgres://HOST/DATABASE; all are listed by 'lydite targets'"),
        "{ended:?}"
    );
    let ended = lydite(&["load", "nonsense", "-w", "1"]).code(2);
    assert!(ended.only_error().contains("\"nonsense\" is not a URL"), "{ended:?}");
    let ended = lydite(&["check", "mongodb:"]).code(2);
    assert!(
        ended.only_error().contains("\"mongodb\" is not known: Lydite has no MongoDB: write a driver"),
        "{ended:?}"
    );
}

#[test]
fn a_url_that_another_program_takes_is_answered_with_one_that_lydite_takes() {
    for (url, words) in [
        ("postgress://h/tpcc", "did you mean postgres? all are listed by 'lydite targets'"),
        ("potsgres://h/tpcc", "did you mean postgres?"),
        ("pg://h/tpcc", "did you mean postgres?"),
        ("mysqll://h/tpcc", "did you mean mysql?"),
        ("cockroachd://h/tpcc", "did you mean cockroach?"),
        ("rediss://:s3cret@h:6379", "write redis://, or start a tunnel"),
        ("redshift://me:s3cret@h/tpcc", "Lydite has no Redshift: write a driver"),
        ("sqlite3:file", "did you mean sqlite?"),
        ("jdbc:oracle:thin:@h:1521", "Lydite has no Oracle: write a driver"),
        ("postgresql+srv://me:s3cret@h/tpcc", "write postgresql://HOST:PORT/DATABASE"),
        ("redis+cluster://:s3cret@h/0", "leave out +cluster, and write redis://"),
        (
            "localhost:5432",
            "write the scheme before host and port, for example postgres://localhost:5432/DATABASE",
        ),
        ("db.example:3306/tpcc", "for example mysql://db.example:3306/DATABASE"),
        ("127.0.0.1:6379", "for example redis://127.0.0.1:6379"),
        ("h:7777", "for example postgres://h:PORT/DATABASE"),
    ] {
        let ended = lydite(&["check", url]).code(2);
        let error = ended.only_error();
        assert!(error.contains(words), "{url}: {error}");
        assert!(error.len() < 200 && !error.contains("s3cret"), "{error}");
    }
}

#[test]
fn times_in_a_url_are_written_as_in_a_plan() {
    let url = |timeout: &str| {
        format!("postgres://127.0.0.1:{}/tpcc?timeout={timeout}", lydite_testkit::free_port())
    };
    for timeout in ["1h", "2m", "90s", "90", "1m 30s", "1500ms"] {
        let ended = lydite(&["check", &url(timeout)]).code(3);
        assert!(ended.only_error().contains("connection refused"), "{timeout}: {ended:?}");
    }
    for timeout in ["soon", "0s", "61m", "500ms", "-1s", "1e99"] {
        for url in [url(timeout), format!("driver:cat?timeout={timeout}")] {
            let ended = lydite(&["check", &url]).code(2);
            let words = format!("timeout={timeout:?}: must be a time from 1s to 1h, for example 90s or 2m");
            assert!(ended.only_error().contains(&words), "{ended:?}");
        }
    }
}

#[test]
fn unknown_options_and_bad_values_of_a_url_are_told_together() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = format!("sqlite:{}?colour=red&synchronous=maybe&cache_mb=0", text(&path));
    lydite(&["run", &url]).code(2).told(&[
        &["option \"colour\" is not known", "synchronous, foreign_keys, cache_mb"],
        &["option synchronous=\"maybe\" is not known", "full, normal, off"],
        &["option cache_mb", "from 1 to 65536"],
    ]);
    assert_eq!(names(directory.path()), [""; 0], "nothing is touched");
}

#[test]
fn every_bad_flag_of_a_run_is_told_at_once_and_nothing_is_touched() {
    let directory = scratch();
    let url = format!("sqlite:{}?colour=red", text(&directory.path().join("tpcc.sqlite")));
    let ended = Program::new(&[
        "run",
        &url,
        "--warehouses",
        "none",
        "--terminals",
        "0",
        "--duration",
        "0s",
        "--warmup",
        "soon",
        "--mode",
        "fast",
        "--rate",
        "-5",
        "--arrival",
        "sometimes",
        "--mix",
        "45,43,4,4,5",
        "--tx",
        "telepathy",
        "--seed",
        "-1",
        "--jobs",
        "0",
        "--json",
        "/nonexistent/result.json",
    ])
    .within(directory.path())
    .run()
    .code(2);
    ended.told(&[
        &["\"colour\" is not known"],
        &["--warehouses: \"none\" must be a whole number from 1"],
        &["--terminals: \"0\" must be a whole number from 1"],
        &["--duration: must be more than zero"],
        &["--warmup: \"soon\" must be a time such as 30s"],
        &["--mode: \"fast\" is not known: use direct, rte or open"],
        &["--rate: \"-5\" must be more than 0"],
        &["--arrival: \"sometimes\" is not known: use poisson or constant"],
        &["--mix: \"45,43,4,4,5\"", "100"],
        &["--tx: \"telepathy\" is not known: use statements, batched or procedures"],
        &["--seed: \"-1\" must be a whole number"],
        &["--jobs: \"0\" must be a whole number from 1"],
        &["--json: /nonexistent/result.json can't be written", "choose another place"],
    ]);
    assert_eq!(names(directory.path()), [""; 0], "nothing is touched");
}

#[test]
fn every_bad_flag_of_a_load_is_told_at_once_and_nothing_is_touched() {
    let directory = scratch();
    let url = format!("sqlite:{}?cache_mb=much", text(&directory.path().join("tpcc.sqlite")));
    lydite(&["load", &url, "--warehouses", "0", "--jobs", "many", "--seed", "1.5"]).code(2).told(&[
        &["option cache_mb"],
        &["--warehouses: must be a whole number from 1"],
        &["--jobs: must be a whole number from 1"],
        &["--seed: must be a whole number"],
    ]);
    assert_eq!(names(directory.path()), [""; 0], "nothing is touched");
}

#[test]
fn a_bad_plan_file_is_told_by_file_line_and_key_all_at_once() {
    let directory = scratch();
    let database = directory.path().join("tpcc.sqlite");
    let plan = directory.path().join("plan.toml");
    fs::write(
        &plan,
        format!(
            "target = \"sqlite:{}\"\n\
             warehouses = \"two\"\n\
             \n\
             durration = \"30s\"\n\
             mix = [45, 43]\n\
             [rte]\n\
             wait_factor = -1.0\n\
             [retry]\n\
             attempts = 0\n\
             pause = \"1s\"\n",
            text(&database)
        ),
    )
    .expect("a plan");
    let file = text(&plan);
    let at = |line: u32, key: &str| format!("{file}, line {line}: {key}");
    let of = |line: u32, key: &str| format!("{file}, line {line}, {key}");
    lydite(&["run", "--config", file, "--seed", "x"]).code(2).told(&[
        &[&of(2, "warehouses"), "\"two\" must be a whole number"],
        &[&at(4, "durration"), "is not known: did you mean duration?"],
        &[&at(5, "mix"), "must be a text, a number or true/false"],
        &[&of(7, "rte.wait_factor"), "must be from 0 to"],
        &[&of(7, "rte.wait_factor"), "is for --mode rte only"],
        &[&of(9, "retry.attempts"), "must be a whole number from 1"],
        &[&at(10, "retry.pause"), "is not known"],
        &["--seed: \"x\" must be a whole number"],
    ]);
    let ended = lydite(&["run", "--config", file, "--seed", "x", "--set", "colour=red"]);
    let colour =
        ended.errors().into_iter().find(|error| error.contains("--set colour")).expect("the key's error");
    assert!(
        colour.ends_with(
            "use for example target, warehouses, active_warehouses; all are listed by 'lydite run \
                              --help' and the chapter Running of the book"
        ),
        "{colour}"
    );
    let place = |error: &&str| match error.split_once(", line ") {
        Some((_, rest)) => rest.split([':', ',']).next().and_then(|line| line.parse().ok()).unwrap_or(0),
        None => usize::MAX,
    };
    assert!(ended.errors().is_sorted_by_key(place), "errors come in the order of the lines: {ended:?}");
    assert_eq!(names(directory.path()), ["plan.toml"], "nothing is touched");
}

#[test]
fn a_plan_file_that_is_no_toml_or_not_there_is_told() {
    let directory = scratch();
    let plan = directory.path().join("plan.toml");
    fs::write(&plan, "warehouses = 2\nmode direct\n").expect("a plan");
    let ended = lydite(&["run", "null:", "--config", text(&plan)]).code(2);
    assert!(ended.only_error().starts_with(&format!("{}, line 2: ", text(&plan))), "{ended:?}");
    fs::write(&plan, [0xff, 0xfe, 0x00]).expect("a plan");
    let ended = lydite(&["run", "null:", "--config", text(&plan)]).code(2);
    assert!(ended.only_error().contains(text(&plan)), "{ended:?}");
    let ended = lydite(&["run", "null:", "--config", "/nonexistent/plan.toml"]).code(2);
    assert!(ended.only_error().contains("--config /nonexistent/plan.toml: No such file"), "{ended:?}");
}

#[test]
fn flags_win_over_the_plan_file() {
    let directory = scratch();
    let (plan, result) = (directory.path().join("plan.toml"), directory.path().join("result.json"));
    fs::write(
        &plan,
        "target = \"null:\"\nwarehouses = 3\nterminals = 4\nduration = \"1h\"\nwarmup = 0\nseed = 5\n\
         [retry]\nattempts = 7\n",
    )
    .expect("a plan");
    let flags = ["--terminals", "2", "--duration", "200ms", "--json", text(&result)];
    lydite(&[&["run", "--config", text(&plan)], flags.as_slice()].concat()).code(0);
    let plan = &program::json(&result)["plan"];
    assert_eq!(
        (&plan["warehouses"], &plan["terminals"], &plan["seed"], &plan["retry"]["attempts"]),
        (&3.into(), &2.into(), &5.into(), &7.into()),
        "{plan}"
    );
    assert_eq!((&plan["duration_s"], &plan["warmup_s"]), (&0.2.into(), &0.0.into()), "{plan}");
}

#[test]
fn a_run_over_some_of_the_warehouses_counts_those_alone() {
    let directory = scratch();
    let result = directory.path().join("result.json");
    let run = |active: &str, window: &str| {
        let active = format!("active_warehouses={active}");
        let flags = ["--set", &active, "--duration", window, "--warmup", "0", "--json", text(&result)];
        lydite(&[&["run", "null:", "--warehouses", "9"], flags.as_slice()].concat())
    };
    let json = windows_from("200ms", |window| {
        run("4-6", window).code(0);
        let json = program::json(&result);
        program::has_each(&json, &["new_order"]).then_some(json)
    });
    let plan = &json["plan"];
    assert_eq!((&plan["warehouses"], &plan["active_warehouses"]), (&9.into(), &"4-6".into()), "{plan}");
    assert_eq!(plan["terminals"], 3, "one for each that is active");
    let efficiency = json["nopm"].as_f64().expect("nopm") / (12.86 * 3.0) * 100.0;
    let told = json["efficiency_percent"].as_f64().expect("efficiency");
    assert!((told / efficiency - 1.0).abs() < 1e-6, "{told} {efficiency}");
    assert!(run("4-10", "200ms").code(2).only_error().contains("names warehouse 10, and warehouses is 9"));
}

#[test]
fn results_that_could_not_be_written_are_told_before_the_run_and_nothing_is_touched() {
    let directory = scratch();
    let url = format!("sqlite:{}", text(&directory.path().join("tpcc.sqlite")));
    let ended =
        lydite(&["run", &url, "--json", "/nonexistent/a.json", "--report", text(directory.path())]).code(2);
    ended.told(&[
        &["--json: /nonexistent/a.json can't be written", "choose another place"],
        &["--report: ", "is a directory: name a file"],
    ]);
    let plan = directory.path().join("plan.toml");
    fs::write(&plan, "mode = \"rte\"\n[rte]\ndelivery_log = \"/nonexistent/log\"\n").expect("a plan");
    lydite(&["run", &url, "--config", text(&plan)])
        .code(2)
        .told(&[&["line 3, rte.delivery_log: /nonexistent/log can't be written"]]);
    assert_eq!(names(directory.path()), ["plan.toml"], "nothing is touched");
}

#[test]
fn a_dry_run_shows_the_plan_as_a_plan_file_and_touches_nothing() {
    let directory = scratch();
    let (database, plan) = (directory.path().join("db"), directory.path().join("plan.toml"));
    fs::write(
        &plan,
        "terminals = 4\nduration = \"8s\"\nseed = 7\nretry.attempts = 3\nsteady = false\n[[phase]]\nname = \"low\"\n\
         lasts = \"3s\"\nmix = \"43,45,4,4,4\"\n[[phase]]\nname = \"high\"\n",
    )
    .expect("a plan");
    let url = format!("gemel:{}", text(&database));
    let run = ["run", &url, "-c", text(&plan), "-w", "5", "--set", "seed=8", "--dry-run"];
    let shown = lydite(&run).code(0).stdout;
    let read: toml::Table = shown.parse().expect("a plan file");
    for (key, value) in [("warehouses", 5), ("terminals", 4), ("seed", 8)] {
        assert_eq!(read[key].as_integer(), Some(value), "{shown}");
    }
    for (key, value) in [("target", &*url), ("duration", "8s"), ("mode", "direct"), ("warmup", "5s")] {
        assert_eq!(read[key].as_str(), Some(value), "{shown}");
    }
    assert_eq!(read["retry"]["attempts"].as_integer(), Some(3), "{shown}");
    assert_eq!(read["phase"][0]["mix"].as_str(), Some("43,45,4,4,4"), "{shown}");
    assert!(shown.contains("warmup = \"5s\"  # by default\n") && !shown.contains("seed = 8  #"), "{shown}");
    // It is a plan again, and the same one.
    fs::write(&plan, &shown).expect("a plan");
    let again = lydite(&["run", "-c", text(&plan), "--dry-run"]).code(0).stdout;
    assert_eq!(again.parse::<toml::Table>().expect("a plan file"), read);
    assert_eq!(names(directory.path()), ["plan.toml"], "nothing is made");

    let shown = lydite(&["run", &url, "--no-check", "--fresh", "--dry-run"]).code(0).stdout;
    assert!(
        shown.contains("\ncheck = false\n") && shown.contains("# With --fresh it first drops"),
        "{shown}"
    );
    let shown = lydite(&["run", "--dry-run"]).code(0).stdout;
    assert!(shown.contains("target = \"gemel:\"  # by default: in a temporary directory"), "{shown}");
    // Nobody listens there, and the password is the user's own.
    let secret = "postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable";
    let shown = lydite(&["run", secret, "--dry-run"]).code(0);
    assert!(shown.stdout.contains("postgres://u@127.0.0.1:1/db"), "{shown:?}");
    assert!(!format!("{}{}", shown.stdout, shown.stderr).contains("hunter2"), "{shown:?}");
    let wrong = lydite(&["run", "--dry-run", "-w", "none", "--terminals", "0"]).code(2);
    assert_eq!(wrong.errors().len(), 2, "{wrong:?}");
}

#[test]
fn an_argument_that_must_be_utf_8_and_is_not_is_named() {
    let odd = OsStr::from_bytes(b"r\xff.json");
    for before in [&["run", "null:", "-d", "1s", "--json"][..], &["run"], &["load"]] {
        let arguments: Vec<&OsStr> = before.iter().map(OsStr::new).chain([odd]).collect();
        let ended = lydite(&arguments).code(2);
        assert!(ended.only_error().contains("r\u{fffd}.json: must be UTF-8: name the file"), "{ended:?}");
    }
}

#[test]
fn a_file_that_is_no_result_is_refused() {
    let directory = scratch();
    let (page, other) = (directory.path().join("page.html"), directory.path().join("other.json"));
    for (content, words) in [
        ("", "is not a Lydite result"),
        ("{\"a\": [1, 2]}", "it is JSON of another program, without a number \"format\""),
        ("{\"format\": 99, \"lydite\": \"9.9\"}", "result format 99, this program reads format 1"),
        ("{\"format\": 1, \"lydite\": 5}", "is not a Lydite result: it has no transactions"),
        // Documents of the same format as results.
        ("{\"format\": 1, \"audit\": {}, \"tests\": []}", "it is an audit"),
        ("{\"format\": 1, \"points\": [], \"figures\": []}", "it is the summary of a sweep"),
        ("{\"format\": 1, \"isolation\": {}}", "it is a judgement of `lydite verify --isolation`"),
        ("{\"format\": 1, \"group\": [], \"tests\": []}", "it has verdicts of `lydite verify`"),
        ("{\"format\": 1, \"databases\": []}", "it has verdicts of `lydite check --foreign`"),
        ("{\"format\": 1, \"groups\": [], \"metrics\": []}", "it is a comparison of `lydite compare --json`"),
        ("{\"listen\": \"\", \"transactions\": {}}", "it has counts of `lydite was`"),
    ] {
        fs::write(&other, content).expect("a file");
        for arguments in [
            vec!["report", text(&other), "-o", text(&page)],
            vec!["compare", text(&other), text(&other)],
            vec!["plan", "--check", text(&other)],
        ] {
            let ended = lydite(&arguments).code(2);
            assert!(ended.only_error().contains(words), "{ended:?}");
        }
    }
    let ended = lydite(&["compare", "/nonexistent/a.json", text(&other)]).code(2);
    ended.told(&[&["cannot read /nonexistent/a.json"], &["it has counts of `lydite was`"]]);
    assert!(!page.exists(), "no page of something else");
}

#[test]
fn the_built_in_targets_are_listed_with_urls_options_and_ways_of_sending() {
    let ended = lydite(&["targets"]).code(0);
    for words in [
        "gemel: (a temporary directory) or gemel:PATH",
        "sqlite: (a temporary file) or sqlite:PATH",
        "postgres://[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE",
        "--tx  statements, batched, procedures",
        "transactions  snapshot isolation",
        "placement     over shards",
        "tested on     real servers: MariaDB",
        "?isolation=repeatable-read, serializable, read-committed",
        "[default: repeatable-read]",
        "null:",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn flags_of_other_programs_are_answered_with_those_of_lydite() {
    for (arguments, words) in [
        (&["run", "null:", "--threads", "4"][..], "did you mean --sessions or --terminals?"),
        (&["load", "null:", "--threads", "4"], "did you mean --jobs?"),
        (&["run", "null:", "--time", "5"], "did you mean --duration?"),
        (&["run", "null:", "--warmup-time", "5"], "did you mean --warmup?"),
        (&["run", "null:", "--scale", "5"], "did you mean --warehouses?"),
        (
            &["run", "--target", "null:"],
            "the target is the first argument, a URL as 'lydite targets' lists them",
        ),
        (&["check", "--host", "h"], "the target is the first argument"),
        (&["run", "null:", "--password", "s3cret"], "set LYDITE_PASSWORD to the password"),
        (&["run", "null:", "--isolation", "serializable"], "?isolation=LEVEL"),
        (&["run", "null:", "--warehouse", "5"], "did you mean --warehouses?"),
        (&["run", "null:", "--qqqq", "5"], "see 'lydite run --help'"),
        (&["prepare", "null:"], "did you mean load?"),
        (&["cleanup", "null:"], "did you mean drop?"),
        (&["imprt", "x"], "did you mean import?"),
        (&["run", "host=h", "password=s3cret"], "put a connection string between quotes"),
    ] {
        let ended = lydite(arguments).code(2);
        let error = ended.only_error();
        assert!(error.contains(words) && !error.contains("s3cret"), "{arguments:?}: {error}");
    }
}

#[test]
fn options_that_a_target_lacks_are_refused_in_one_line() {
    for (url, words) in [
        ("mariadb://h/tpcc?transactions=optimistic", "mariadb: only TiDB has these modes"),
        ("oceanbase://h/tpcc?transactions=pessimistic", "oceanbase: only TiDB has these modes"),
        (
            "postgres://h/tpcc?transactions=optimistic",
            "\"transactions\" is not known: all are listed by 'lydite targets'",
        ),
        ("tidb://h/tpcc?transactions=hopeful", "use pessimistic, optimistic"),
        ("tidb://h/tpcc?batch=99", "must be a whole number from 100 to 1000000"),
        ("sqlite:?batch=1000", "\"batch\" is not known: sqlite: takes"),
    ] {
        let ended = lydite(&["run", url, "--quiet"]).code(2);
        let error = ended.only_error();
        assert!(error.contains(words) && error.len() < 200, "{ended:?}");
    }
    assert!(lydite(&["targets"]).code(0).stdout.contains("?transactions=pessimistic, optimistic"));
}

#[test]
fn check_on_a_database_that_is_not_there_says_so_and_makes_none() {
    let directory = scratch();
    let url = format!("sqlite:{}", text(&directory.path().join("tpcc.sqlite")));
    let ended = lydite(&["check", &url]).code(2);
    let error = ended.only_error();
    assert!(error.contains("is empty") && error.contains(&format!("lydite load {url}")), "{error}");
    assert_eq!(names(directory.path()), [""; 0], "nothing is touched");
    let ended = lydite(&["check", "null:"]).code(2);
    assert!(ended.only_error().contains("stores nothing to check"), "{ended:?}");
}

#[test]
fn commands_that_look_at_a_database_make_none() {
    let directory = scratch();
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).expect("a directory");
    fs::write(directory.path().join("file"), "").expect("a file");
    for url in ["gemel:empty", "gemel:missing", "sqlite:missing", "sqlite:file"] {
        for command in ["check", "verify"] {
            let ended = Program::new(&[command, url]).within(directory.path()).run().code(2);
            assert!(ended.only_error().contains("is empty: load it first"), "{url}: {ended:?}");
        }
    }
    assert_eq!(names(directory.path()), ["empty", "file"]);
    assert_eq!(names(&empty), [""; 0]);
    assert_eq!(fs::read(directory.path().join("file")).expect("the file"), b"");
}

#[test]
fn an_option_without_its_question_mark_is_not_taken_for_a_part_of_a_file_name() {
    let directory = scratch();
    for (url, right, other) in [
        ("gemel:path&isolation=snapshot", "gemel:path?isolation=snapshot", "gemel:path&isolation%3Dsnapshot"),
        (
            "gemel:/tmp/x;isolation=serializable",
            "gemel:/tmp/x?isolation=",
            "gemel:/tmp/x;isolation%3Dserializable",
        ),
        (
            "gemel:placement=optimize-payment",
            "gemel:?placement=optimize-payment",
            "gemel:placement%3Doptimize-payment",
        ),
        ("sqlite:x&mode=ro", "sqlite:x?mode=ro", "sqlite:x&mode%3Dro"),
        ("sqlite:x.db synchronous=off", "sqlite:x.db?synchronous=off", "sqlite:x.db synchronous%3Doff"),
    ] {
        for command in [&["check"][..], &["load", "-w", "1"], &["run"]] {
            let ended = Program::new(&[command, &[url]].concat()).within(directory.path()).run().code(2);
            let error = ended.only_error();
            assert!(error.contains(right) && error.contains(other), "{url}: {error}");
        }
    }
    assert_eq!(names(directory.path()), [""; 0]);
    // Such a file can be named all the same, and is shown as it can be named again.
    let micro = ["--workload", "micro", "--set", "micro.records=10", "--set", "micro.tables=1", "--quiet"];
    let load = |url: &str| {
        Program::new(&[&["load", url], &micro[..]].concat()).within(directory.path()).run().code(0)
    };
    load("sqlite:a&mode%3Dro%3F 100%25");
    load("sqlite:R&D");
    assert_eq!(names(directory.path()).first().map(String::as_str), Some("R&D"));
    assert!(directory.path().join("a&mode=ro? 100%").exists());
    let url = "sqlite:a&mode%3Dro%3F 100%25";
    let told = Program::new(&["check", url]).within(directory.path()).run().code(0);
    assert!(told.stdout.contains(url), "{told:?}");
}

#[test]
fn check_on_a_temporary_database_advises_no_load_that_would_be_gone_again() {
    for target in ["sqlite:", "gemel:"] {
        let ended = lydite(&["check", target]).code(2);
        let error = ended.only_error();
        assert!(error.contains("is a temporary database") && error.contains("name the path"), "{error}");
        assert!(!error.contains("lydite load"), "{error}");
    }
}

#[test]
fn a_database_in_memory_is_not_called_durable() {
    if !Path::new("/dev/shm").is_dir() {
        return;
    }
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let result = directory.path().join("result.json");
    for family in ["sqlite", "gemel"] {
        let url = format!("{family}:{}", text(&directory.path().join(family)));
        let plan =
            ["-w", "1", "-d", "500ms", "--warmup", "0", "--no-check", "--quiet", "--json", text(&result)];
        let ended = lydite(&[["run", url.as_str()].as_slice(), &plan].concat()).code(0);
        assert!(ended.stdout.contains("file system in memory (tmpfs)"), "{}", ended.stdout);
        let result = program::json(&result);
        let rules = result["compliance"].as_array().expect("rules");
        let durability = rules.iter().find(|rule| rule["clause"] == "3.5").expect("durability");
        assert_eq!(durability["met"], false, "{durability}");
        assert!(durability["note"].as_str().is_some_and(|note| note.contains("in memory")), "{durability}");
    }
}

#[test]
fn a_file_that_is_no_database_is_left_as_it_is() {
    let directory = scratch();
    let path = directory.path().join("letter.txt");
    let content = "Dear reader, ".repeat(1_000);
    fs::write(&path, &content).expect("a file");
    let url = format!("sqlite:{}", text(&path));
    for arguments in
        [vec!["check", url.as_str()], vec!["load", &url, "-w", "1", "--quiet"], vec!["run", &url, "--quiet"]]
    {
        let ended = lydite(&arguments).code(3);
        assert!(ended.only_error().contains("name another path"), "{ended:?}");
    }
    assert_eq!(fs::read_to_string(&path).expect("the file"), content);
}

#[test]
fn a_database_in_a_directory_that_is_not_there_is_told() {
    for arguments in [
        vec!["load", "sqlite:/nonexistent/tpcc.sqlite", "-w", "1", "--quiet"],
        vec!["run", "sqlite:/nonexistent/tpcc.sqlite", "--quiet"],
    ] {
        let ended = lydite(&arguments).code(3);
        let error = ended.only_error();
        assert!(error.contains("/nonexistent/tpcc.sqlite") && error.contains("check the path"), "{error}");
    }
}

/// What a run of `null:` with values in its table writes to a terminal of so many columns that is its standard output.
fn table_in_terminal(columns: u16) -> String {
    let directory = scratch();
    let result = directory.path().join("result.json");
    windows_from("300ms", |window| {
        let table = table_of(columns, window, &result);
        program::has_each(&program::json(&result), &["new_order", "payment"]).then_some(table)
    })
}

/// What a run of this duration writes to such a terminal.
fn table_of(columns: u16, duration: &str, result: &Path) -> String {
    let (mut ours, _, its) = program::terminal(columns);
    let mut command = Command::new(env!("CARGO_BIN_EXE_lydite"));
    command.args(["run", "null:", "--mode", "open", "--rate", "100", "--warmup", "0", "--quiet"]);
    command.args(["--duration", duration, "--json", text(result)]);
    command.env("NO_COLOR", "1").stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(its);
    // SAFETY: setsid is async-signal-safe; without it the terminal of whoever runs the tests would be asked.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    let mut child = command.spawn().expect("the program starts");
    // Its side is closed with the child only.
    drop(command);
    let mut shown = Vec::new();
    // Reading ends with an error when the other side is closed.
    let _end = ours.read_to_end(&mut shown);
    assert!(child.wait().expect("its end").success());
    String::from_utf8(shown).expect("UTF-8").replace("\r\n", "\n")
}

#[test]
fn the_table_is_as_wide_as_the_terminal_but_not_narrower_than_80_columns() {
    for (columns, widths) in [(200, 111..=200), (100, 81..=100), (40, 61..=80)] {
        let text = table_in_terminal(columns);
        let widest = text.lines().map(|line| line.chars().count()).max().expect("lines");
        assert!(widths.contains(&widest), "{columns} columns: {widest}\n{text}");
    }
    let one_block = |line: &str| line.contains("count") && line.contains("service p95");
    assert!(table_in_terminal(200).lines().any(one_block));
    assert!(!table_in_terminal(100).lines().any(one_block));
}

#[test]
fn a_reader_that_goes_away_costs_nothing_but_the_rest_of_the_text() {
    let directory = scratch();
    let result = directory.path().join("result.json");
    let run = ["run", "null:", "--duration", "200ms", "--warmup", "0", "--json", text(&result)];
    for arguments in [run.as_slice(), &["targets"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lydite"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("its end");
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}: {errors}");
        assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
    }
    assert!(fs::read_to_string(&result).expect("the result").contains("\"complete\""));
    // Nor does one of its errors.
    let mut command = Command::new(env!("CARGO_BIN_EXE_lydite"));
    command.args(run).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    drop(child.stderr.take());
    assert_eq!(child.wait().expect("its end").code(), Some(0));
}

#[test]
fn one_file_for_the_result_and_the_report_is_refused_before_anything_is_done() {
    let directory = tempfile::tempdir().expect("a directory");
    let both = directory.path().join("both");
    let ended = lydite(&["run", "null:", "--json", text(&both), "--report", text(&both)]).code(2);
    assert!(ended.only_error().contains("give each its own"), "{}", ended.stderr);
    assert!(!both.exists());
}
