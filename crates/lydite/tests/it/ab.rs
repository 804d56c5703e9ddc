//! `lydite ab`: two variants in turns, with differences that are made and not measured.

use crate::program::{Ended, Program, json, lydite, scratch, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Window of runs whose databases wait for no disk: they complete something in it on a busy machine too, and a throughput
/// of 0 has no ratio.
const WINDOW: &str = "400ms";

/// A scratch directory in which experiments go to `ab`.
struct Bench {
    directory: lydite_testkit::Directory,
}

impl Bench {
    fn new() -> Self {
        Self { directory: scratch() }
    }

    fn ab(&self, arguments: &[&str]) -> Program {
        let window = ["--duration", WINDOW, "--warmup", "0s"];
        Program::new(&[&["ab"], arguments, &window].concat()).within(self.directory.path())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn document(&self) -> Value {
        json(&self.path("ab/ab.json"))
    }

    /// The names of the results that are there.
    fn results(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("ab/results")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }
}

fn roles(document: &Value) -> Vec<&str> {
    document["pairs"].as_array().unwrap().iter().map(|pair| pair["role"].as_str().unwrap()).collect()
}

/// Sides whose throughput the plan sets: B's is eight times that of A, so much that no neighbour hides it.
const EIGHTFOLD: [&str; 7] = ["null:", "--mode", "open", "--a-set", "rate=100", "--b-set", "rate=800"];

/// Sides that are equal, and leave the processors to others.
const EQUAL: [&str; 5] = ["null:", "--mode", "open", "--rate", "100"];

#[test]
fn a_difference_that_is_made_is_found_and_shown() {
    let bench = Bench::new();
    // Pairs on a busy machine are repeated, half as many as may count.
    let flags = [&EIGHTFOLD[..], &["--label", "Eightfold", "--order-seed", "7", "--pairs", "6"]].concat();
    let ended = bench.ab(&flags).run().code(0);
    assert!(ended.stdout.contains("B is better: Throughput (transactions/s) of B is "), "{}", ended.stdout);
    assert!(!ended.stderr.contains("A and B are the same"), "{ended:?}");
    let document = bench.document();
    let found = &document["ab"];
    assert_eq!((&found["verdict"], &found["end"]), (&"better".into(), &"decided".into()), "{found}");
    let number = |key: &str| found[key].as_f64().unwrap();
    assert!(number("ratio") > 2.0 && number("low") > 1.0 && number("high") >= number("ratio"), "{found}");
    assert!((3.0..=6.0).contains(&number("pairs")) && found["more_pairs"].is_null(), "{found}");
    let rate = &document["differences"][0];
    assert_eq!((&rate["name"], &rate["a"], &rate["b"]), (&"rate".into(), &"100".into(), &"800".into()));
    assert_eq!((&document["order_seed"], &document["format"]), (&7.into(), &1.into()));
    // Of two pairs one begins with A and the other with B.
    let roles = roles(&document);
    assert_eq!(roles[0], "warm_up");
    let pairs = document["pairs"].as_array().unwrap();
    let first: Vec<&str> = pairs
        .iter()
        .filter(|pair| pair["role"] == "counted")
        .map(|pair| pair["first"].as_str().unwrap())
        .collect();
    assert!(first.chunks_exact(2).all(|two| two[0] != two[1]), "{first:?}");
    let page = fs::read_to_string(bench.path("ab/report.html")).unwrap();
    for words in ["Eightfold", "B is better", "<td class=\"w\">800</td>", "after 3 pairs", "results/b.2.json"]
    {
        assert!(page.contains(words), "no {words}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "the page loads nothing");
    let again = bench.ab(&flags).run().code(0);
    assert!(again.stdout.contains("B is better"), "an experiment that has ended is only shown: {again:?}");
    assert_eq!(again.stderr, "", "{again:?}");
}

#[test]
fn a_killed_experiment_goes_on_where_it_was_and_another_one_is_refused() {
    let bench = Bench::new();
    // Three pairs are one look: equal sides end there, whatever they show.
    let equal = [&EQUAL[..], &["--pairs", "3"]].concat();
    let mut running = bench.ab(&equal).start();
    running.wait_until("three results", || bench.results().len() >= 3);
    running.signal(libc::SIGKILL);
    running.wait();
    let first = fs::read(bench.path("ab/results/a.1.json")).unwrap();
    for (arguments, words) in [
        (&["--pairs", "4"][..], "its most pairs is 3, now 4"),
        (&["--pairs", "3", "--b-set", "terminals=2"], "terminals of B is unset, now 2"),
        (&["--pairs", "3", "--metric", "nopm"], "its metric is tps, now nopm"),
    ] {
        let refused = bench.ab(&[&EQUAL[..], arguments].concat()).run().code(2);
        let error = refused.only_error();
        assert!(error.contains("ab: holds another experiment") && error.contains(words), "{error}");
    }
    // A default that is said is the same experiment.
    let said = ["--seed", "1", "--b-set", "sessions=8", "--json", "-"];
    let ended = bench.ab(&[&equal[..], &said].concat()).run().code(0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&document["status"], &document["ab"]["pairs"]), (&"complete".into(), &3.into()));
    assert_eq!(document["differences"], Value::Array(Vec::new()));
    assert!(ended.stderr.contains("A and B are the same"), "{ended:?}");
    assert_eq!(fs::read(bench.path("ab/results/a.1.json")).unwrap(), first, "a whole pair is kept");
    let mut fresh = bench.ab(&[&EQUAL[..], &["--pairs", "4", "--fresh", "--quiet"]].concat()).start();
    let is_new = || fs::read(bench.path("ab/results/a.1.json")).is_ok_and(|new| new != first);
    fresh.wait_until("the first run of another experiment", || bench.results() == ["a.1.json"] && is_new());
    fresh.signal(libc::SIGINT);
    let fresh = fresh.wait().code(130);
    assert_eq!(bench.document()["most_pairs"], 4, "{fresh:?}");
    let sweep = bench.path("grid.toml");
    fs::write(&sweep, "[plan]\ntarget = \"null:\"\n").unwrap();
    let refused = Program::new(&["sweep", text(&sweep), "--out", text(&bench.path("ab"))]).run().code(2);
    assert!(refused.only_error().contains("holds no sweep"), "{refused:?}");
}

#[test]
fn everything_wrong_with_an_experiment_is_told_at_once_and_nothing_is_touched() {
    let bench = Bench::new();
    fs::write(bench.path("plan.toml"), "json = \"a.json\"\nwarehuoses = 2\n").unwrap();
    let ended = bench
        .ab(&[
            &["null:", "--config", "plan.toml", "--warehouses", "none", "--pairs", "2", "--time", "0s"][..],
            &["--metric", "tsp", "--order-seed", "x", "--reload", "never", "--before-timeout", "soon"],
            &[
                "--a-set",
                "tx=telepathy",
                "--b-set",
                "colour=red",
                "--b-set",
                "terminals",
                "--b-set",
                "placement=all-disk",
            ],
            &["--a-set", "target.colour=red", "--a-server", "work_mem=1MB", "--b-server", "port=5"],
            &["--b-before", "if then"],
        ]
        .concat())
        .run()
        .code(2);
    ended.told(&[
        &["--pairs: \"2\" must be a whole number from 3 to 1000"],
        &["--time: \"0s\" must be more than zero"],
        &["--before-timeout: \"soon\" must be a time"],
        &["--order-seed: \"x\" must be a whole number"],
        &["--reload: \"never\" is not known: use restore, each-run or once"],
        &["--metric tsp"],
        &["plan.toml, line 1, json", "use the flag of this command"],
        &["plan.toml, line 2: warehuoses is not known: did you mean warehouses?"],
        &["--warehouses: \"none\" must be"],
        &["--a-set tx: \"telepathy\""],
        &["\"colour\" is not known"],
        &["--a-server: the target is no lab"],
        &["--b-set colour: is not known"],
        &["--b-set terminals: must be KEY=VALUE"],
        &["--b-set placement: is an option of targets: write --b-set target.placement=VALUE"],
        &["--b-server port=5: the lab sets port itself"],
        &["--b-server: the target is no lab"],
        &["--b-before: the shell can't read it"],
    ]);
    for (arguments, words) in [
        (&["null:", "--b-set", "workload=micro"][..], "the sides have different workloads"),
        (&["null:", "--b-set", "seed=2"], "seed: is 1 of A and 2 of B, and is no variant: other inputs"),
        (&["null:", "--a-set", "warmup=1s"], "warmup: is 1s of A and 0s of B, and is no variant"),
        (
            &["null:", "--a-set", "seed=2", "--b-set", "seed=2", "--metric", "observed.db.rows"],
            "has no better direction",
        ),
        (&["null:", "--a-set", "mode=open", "--a-set", "rate=9"], "tps of one side is bound by a rate"),
        (
            &["null:", "--a-set", "mode=open", "--a-set", "rate=9", "--metric", "r_e"],
            "--metric: r_e is of a fault, which the plan of a side lacks: add --fault",
        ),
        (&["null:", "--metric", "retries"], "--metric"),
        (&["null:", "--metric", "observed.host.cpu.user"], "has no better direction"),
        (&["redis://127.0.0.1:1"], "say --reload each-run"),
        (&["lab:oracle"], "use one of pg"),
        (&["null:", "null:", "null:"], "unexpected"),
    ] {
        let refused = bench.ab(arguments).run().code(2);
        assert!(refused.only_error().contains(words), "{arguments:?}: {refused:?}");
    }
    let there: Vec<_> = fs::read_dir(bench.directory.path()).unwrap().flatten().collect();
    assert_eq!(there.len(), 1, "nothing is touched: {there:?}");
}

#[test]
fn a_command_before_each_run_of_a_side_is_run_and_its_failures_are_told() {
    let bench = Bench::new();
    let said = bench.path("said");
    let write = |side: &str| format!("echo {side} >> {}; echo words of {side}", text(&said));
    let (a, b) = (write("a"), write("b"));
    let commands = ["--pairs", "3", "--a-before", &a, "--b-before", &b];
    let ended = bench.ab(&[&EQUAL[..], &commands].concat()).run().code(0);
    assert!(ended.stderr.contains("--b-before: words of b"), "{}", ended.stderr);
    let sides = fs::read_to_string(&said).unwrap();
    let document = bench.document();
    let order: String = document["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| if pair["first"] == "a" { "a\nb\n" } else { "b\na\n" })
        .collect();
    assert_eq!(sides, order);
    assert_eq!(document["differences"][0]["name"], "before");

    let failing = ["null:", "--b-before", "echo it broke; exit 7", "--out", "failed"];
    let failed = bench.ab(&failing).run().code(2);
    let error = failed.errors().concat();
    for words in ["pair 1, B: --b-before: failed: exit status: 7: it broke", "the same command goes on"] {
        assert!(error.contains(words), "{error}");
    }
    let hanging = ["null:", "--a-before", "sleep 600", "--before-timeout", "300ms", "--out", "hung"];
    let hung = bench.ab(&hanging).run().code(2);
    assert!(hung.errors().concat().contains("--a-before: was ended after 0.3 s"), "{hung:?}");
    // Ctrl-C ends the command too.
    let mut running = bench.ab(&["null:", "--a-before", "touch begun; sleep 600", "--out", "cut"]).start();
    running.wait_until("the command", || bench.path("begun").exists());
    running.signal(libc::SIGINT);
    let cut = running.wait().code(130);
    assert!(cut.errors().concat().contains("interrupted"), "{cut:?}");
}

/// The checksums of a database's tables.
fn checksums(url: &str) -> String {
    lydite(&["check", url, "--checksums", "--quiet"]).code(0).stdout
}

#[test]
fn each_run_begins_with_what_the_database_held_and_so_does_who_uses_it_after() {
    let bench = Bench::new();
    let file = bench.path("tpcc.sqlite");
    let url = format!("sqlite:{}?synchronous=off", text(&file));
    lydite(&["load", &url, "-w", "1", "--size", "tiny", "--seed", "9", "--quiet"]).code(0);
    let before = checksums(&url);
    let tables = ["--set", "check=false", "--pairs", "3", "--a-set", "terminals=1", "--b-set", "terminals=2"];
    let ended = bench.ab(&[&[url.as_str()][..], &tables].concat()).run().code(0);
    assert!(ended.stderr.contains("restored from a template for each run"), "{}", ended.stderr);
    assert_eq!(bench.document()["ab"]["pairs"], 3);
    assert_eq!(checksums(&url), before, "the data is as it was");
    assert_eq!(names_like(bench.directory.path(), ".template_"), 0, "no template stays");

    // A plan that does not fit the data ends the experiment at its first run, and leaves nothing behind.
    let refused = bench.ab(&[url.as_str(), "-w", "5", "--out", "ab3"]).run().code(2);
    assert!(refused.errors().concat().contains("pair 1"), "{refused:?}");
    assert_eq!((checksums(&url), names_like(bench.directory.path(), ".template_")), (before.clone(), 0));

    // One that starts over gives the databases back what they held before the first run, not what runs left.
    let other = format!("sqlite:{}?synchronous=off", text(&bench.path("other.sqlite")));
    lydite(&["load", &other, "-w", "1", "--size", "tiny", "--seed", "10", "--quiet"]).code(0);
    let held = (before.clone(), checksums(&other));
    let stops = "[ ! -e ab4/results/a.1.json ] || [ -e go ]";
    let sides = [url.as_str(), &other, "--b-before", stops, "--out", "ab4", "--set", "check=false"];
    let stopped = bench.ab(&[&sides[..], &["--pairs", "4"]].concat()).run().code(2);
    assert!(stopped.errors().concat().contains("--b-before"), "{stopped:?}");
    assert_eq!(names_like(bench.directory.path(), ".template_"), 2, "both are kept for the pairs to come");
    let elsewhere = bench.ab(&[other.as_str(), "--out", "ab4", "--fresh"]).run().code(2);
    assert!(elsewhere.errors().concat().contains("keeps what "), "{elsewhere:?}");
    fs::write(bench.path("go"), "").unwrap();
    // One pair takes longer.
    bench.ab(&[&sides[..], &["--time", "1ms", "--fresh"]].concat()).run().code(5);
    assert_eq!(json(&bench.path("ab4/ab.json"))["ab"]["end"], "time");
    assert_eq!((checksums(&url), checksums(&other)), held);
    assert_eq!(names_like(bench.directory.path(), ".template_"), 0);

    // A run that fails is named, the others are kept, and the same command goes on.
    let path = text(&file);
    let breaks = format!("if [ -e ab2/results/a.1.json ]; then echo broken > {path}; fi");
    let broken = [url.as_str(), "--reload", "once", "--out", "ab2", "--pairs", "3", "--b-before", &breaks];
    let failed = bench.ab(&broken).run();
    let error = failed.errors().concat();
    assert!(error.contains("pair 1, B: ") && error.contains("the same command goes on"), "{failed:?}");
    assert!(failed.code.is_some_and(|code| [1, 2, 3].contains(&code)), "{failed:?}");
    let document = json(&bench.path("ab2/ab.json"));
    assert_eq!((&document["status"], roles(&document)), (&"partial".into(), vec!["incomplete"]));
}

/// The number of files in a directory whose names have this part.
fn names_like(directory: &Path, part: &str) -> usize {
    let names = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().contains(part)).count()
}

/// A lab of a PostgreSQL server of this test's own, ended also when the test fails.
pub(crate) struct Lab<'a> {
    pub(crate) root: &'a Path,
}

impl Lab<'_> {
    pub(crate) fn command(&self, arguments: &[&str]) -> Program {
        Program::new(&[&["lab"], arguments].concat()).env("TMPDIR", self.root)
    }

    /// The note of the lab, and the options that its server runs with.
    pub(crate) fn state(&self) -> (Value, String) {
        // SAFETY: geteuid has no preconditions.
        let lab = self.root.join(format!("lydite-lab-{}", unsafe { libc::geteuid() })).join("pg");
        let options = fs::read_to_string(lab.join("server-0/data/postmaster.opts")).unwrap();
        (json(&lab.join("lab.json")), options)
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        let _ended = std::process::Command::new(env!("CARGO_BIN_EXE_lydite"))
            .args(["lab", "down", "pg"])
            .env("TMPDIR", self.root)
            .output();
    }
}

#[test]
fn settings_of_a_labs_server_are_those_of_the_side_and_at_the_end_the_usual_ones() {
    let bench = Bench::new();
    use std::os::unix::fs::PermissionsExt;
    let root = bench.directory.path();
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    let lab = Lab { root };
    let url = lab.command(&["up", "pg", "--set", "fsync=off"]).run().code(0).stdout.trim().to_owned();
    let usual = lab.state();
    let ab = |arguments: &[&str]| {
        let load = ["-w", "1", "--set", "size=tiny", "--set", "check=false"];
        // A server that has just started may answer nothing for a while.
        let window = ["--warmup", "0s", "--duration", "1s"];
        let all = [&["ab", url.as_str()][..], arguments, &load, &window].concat();
        Program::new(&all).within(root).env("TMPDIR", root)
    };
    let is_back = |ended: &Ended| {
        let (note, options) = lab.state();
        assert_eq!(note, usual.0, "{ended:?}");
        assert!(options.contains("fsync=off") && !options.contains("work_mem"), "{options}");
        lydite(&["run", &url, "-w", "1", "--set", "size=tiny", "-d", "200ms", "--warmup", "0s", "-q"])
            .code(0);
    };
    // A setting that the server does not take is named, and nothing is half done.
    let refused = ab(&["--a-server", "work_mem=1MB", "--b-server", "work_memory=2MB"]).run().code(2);
    let error = refused.errors().concat();
    assert!(error.contains("--b-server work_memory=2MB: the lab does not start: "), "{error}");
    assert!(error.contains("unrecognized configuration parameter \"work_memory\""), "{error}");
    assert!(error.contains("the lab has its usual settings again"), "{error}");
    assert_eq!(bench.results(), Vec::<String>::new());
    is_back(&refused);

    let three = ["--a-server", "work_mem=1MB", "--b-server", "work_mem=2MB", "--pairs", "3"];
    let begun = || {
        let mut running = ab(&three).start();
        if running.reaches("a pair", || bench.results().len() >= 2) {
            return Some(running);
        }
        let ended = running.wait();
        assert!(ended.stderr.contains("tps is 0"), "{ended:?}");
        None
    };
    let running = (0..10).find_map(|_| begun()).expect("a pair");
    running.signal(libc::SIGINT);
    let cut = running.wait().code(130);
    is_back(&cut);
    let again = || {
        let ended = ab(&three).run();
        // On a busy machine nothing may complete in a second. Then the same command goes on.
        (!ended.stderr.contains("tps is 0")).then(|| ended.code(0))
    };
    let ended = std::iter::repeat_with(again).take(10).flatten().next().expect("runs with transactions");
    is_back(&ended);
    let document = bench.document();
    let work_mem =
        document["differences"].as_array().unwrap().iter().find(|of| of["name"] == "server work_mem");
    let work_mem = work_mem.unwrap_or_else(|| panic!("{document}"));
    assert_eq!((&work_mem["a"], &work_mem["b"]), (&"1MB".into(), &"2MB".into()));
    for (side, value) in [("a", "1MB"), ("b", "2MB")] {
        let result = json(&bench.path(&format!("ab/results/{side}.2.json")));
        let changed = &result["target"]["changed_settings"]["work_mem"];
        assert!(changed.as_str().is_some_and(|changed| changed.starts_with(value)), "{side}: {changed}");
    }
    assert!(!fs::read_to_string(bench.path("ab/experiment.json")).unwrap().contains(password(&url)));
}

/// The password in a URL.
fn password(url: &str) -> &str {
    url.split_once('@').and_then(|(user, _)| user.rsplit_once(':')).map(|(_, password)| password).unwrap()
}
