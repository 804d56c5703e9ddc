//! `lydite import`: plans that `lydite run` takes, new files only, and passwords nowhere.

use crate::program::{json, lydite, scratch, text};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The password in all files.
const PASSWORD: &str = "hunter2";

const BENCHBASE: &str = "<parameters><type>SQLITE</type><url>jdbc:sqlite:FILE</url><username>u</username>
<password>hunter2</password><scalefactor>1</scalefactor><terminals>1</terminals>
<works><work><time>1</time><rate>unlimited</rate><weights>45,43,4,4,4</weights></work></works>
<transactiontypes><transactiontype><name>NewOrder</name></transactiontype><transactiontype><name>Payment</name></transactiontype>
<transactiontype><name>OrderStatus</name></transactiontype><transactiontype><name>Delivery</name></transactiontype>
<transactiontype><name>StockLevel</name></transactiontype></transactiontypes></parameters>";

#[test]
fn a_plan_of_another_programs_file_runs() {
    let directory = scratch();
    let (file, plan, result) = (
        directory.path().join("tpcc.xml"),
        directory.path().join("plan.toml"),
        directory.path().join("result.json"),
    );
    fs::write(&file, BENCHBASE.replace("FILE", text(&directory.path().join("t.db")))).unwrap();
    let ended = lydite(&["import", text(&file), "-o", text(&plan)]).code(0);
    assert!(ended.stdout.contains(&format!("lydite run -c {}", text(&plan))), "{ended:?}");
    assert!(!format!("{ended:?}{}", fs::read_to_string(&plan).unwrap()).contains(PASSWORD));
    let run = ["run", "-c", text(&plan), "--size", "tiny", "-q", "--json", text(&result)];
    lydite(&run).code(0);
    let result = json(&result);
    assert_eq!(result["plan"]["warehouses"], 1, "{result:#}");
    assert_eq!(result["plan"]["mode"], "direct");
    assert_eq!(result["window"]["measured_s"].as_f64().map(f64::round), Some(1.0));
}

#[test]
fn a_file_of_another_program_as_a_plan_is_named_with_the_command_that_reads_it() {
    let directory = scratch();
    let file = directory.path().join("run.tcl");
    fs::write(&file, "dbset db pg\ndiset tpcc pg_pass hunter2\nvuset vu 4\n").unwrap();
    let (file, out) = (text(&file), text(directory.path()));
    for arguments in
        [&["run", "-c", file][..], &["ab", "-c", file, "null:", "null:"], &["sweep", file, "--out", out]]
    {
        let ended = lydite(arguments).code(2);
        let words = format!("is a configuration of HammerDB: make a plan of it with: lydite import {file}");
        assert!(ended.errors().iter().any(|error| error.contains(&words)), "{ended:?}");
        assert!(!format!("{ended:?}").contains(PASSWORD), "{ended:?}");
    }
}

#[test]
fn a_document_of_lydite_as_a_plan_is_named_with_what_to_give_instead() {
    let directory = scratch();
    let (file, result) = (directory.path().join("run.sh"), directory.path().join("result.json"));
    lydite(&["run", "null:", "-d", "200ms", "--warmup", "0s", "-q", "--json", text(&result)]).code(0);
    fs::write(&file, "go-tpc tpcc run -H h\n").unwrap();
    let document = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let plans = document("plans.json", &lydite(&["import", text(&file), "--json", "-"]).code(0).stdout);
    let sizes = document("sizes.json", &lydite(&["plan", "--nopm", "100", "--json", "-"]).code(0).stdout);
    let other = document("other.json", "{\"target\": \"null:\"}");
    for (file, words) in [
        (&result, "is a result of Lydite, not a plan: name the plan file that the run had"),
        (&plans, "has plans of `lydite import --json`: name a plan file"),
        (&sizes, "is a document that Lydite wrote, not a plan: name a plan file"),
        (&other, "is JSON, and a plan file is TOML"),
    ] {
        let words = format!("{}: {words}", text(file));
        let ended = lydite(&["run", "-c", text(file)]).code(2);
        assert!(ended.only_error().contains(&format!("--config {words}")), "{ended:?}");
        let ended = lydite(&["sweep", text(file), "--out", text(&directory.path().join("out"))]).code(2);
        assert!(ended.only_error().contains(&words), "{ended:?}");
    }
}

/// An import that fails leaves an empty pipe, or an empty file behind `>`.
#[test]
fn a_plan_without_a_key_never_measures_the_default_database() {
    let directory = scratch();
    let plan = directory.path().join("plan.toml");
    for input in ["", " \n\t\n", "# a comment\n\n  # and another\n", "[retry]\n"] {
        for target in [&[][..], &["null:"]] {
            let run = [&["run"][..], target, &["-c", "-", "-d", "200ms", "--warmup", "0s"]].concat();
            let (code, stdout, stderr) = piped(&run, input);
            let words = "standard input is empty: the command before the pipe made no plan";
            assert!(code == Some(2) && stderr.contains(words) && stdout.is_empty(), "{input:?}: {stderr}");
        }
        fs::write(&plan, input).unwrap();
        for arguments in [
            &["run", "-d", "200ms"][..],
            &["ab", "--b-set", "seed=2"],
            &["find", "--slo", "new_order.p99 < 50ms"],
        ] {
            let ended = lydite(&[arguments, &["-c", text(&plan)]].concat()).code(2);
            let words = format!("--config {}: has no key: ", text(&plan));
            assert!(ended.errors().iter().any(|error| error.contains(&words)), "{input:?}: {ended:?}");
        }
    }
    fs::write(&plan, "").unwrap();
    let ended = lydite(&["sweep", text(&plan), "--out", text(&directory.path().join("out"))]).code(2);
    assert!(ended.only_error().contains("has no key: write [plan]"), "{ended:?}");
    let (code, _, stderr) = piped(&["run", "-c", "-", "--dry-run"], "seed = 2\n");
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn an_import_overwrites_nothing_and_rejects_what_it_can_not_write() {
    let directory = scratch();
    let (one, other, plan) = (
        directory.path().join("1.sh"),
        directory.path().join("2.properties"),
        directory.path().join("plan.toml"),
    );
    fs::write(&one, "go-tpc tpcc run -p hunter2\n").unwrap();
    fs::write(&other, "db=mysql\nhost=h\nset=d\npassword=hunter2\n").unwrap();
    fs::write(directory.path().join("plan-2.toml"), "mine").unwrap();
    let ended = lydite(&["import", text(&one), text(&other), "-o", text(&plan)]).code(2);
    assert!(ended.only_error().contains("plan-2.toml exists, and is never overwritten"), "{ended:?}");
    assert!(!plan.exists() && !directory.path().join("plan-1.toml").exists());
    fs::write(&plan, "mine").unwrap();
    let ended = lydite(&["import", text(&one), "-o", text(&plan)]).code(2);
    assert!(ended.only_error().contains("exists, and is never overwritten"), "{ended:?}");
    let ended = lydite(&["import", text(&one), "--json", text(&one)]).code(2);
    assert!(ended.only_error().contains("is a file of this import"), "{ended:?}");
    assert_eq!(fs::read_to_string(&plan).unwrap(), "mine");
    assert!(fs::read_to_string(&one).unwrap().starts_with("go-tpc"));
    let missing = directory.path().join("none");
    let ended = lydite(&["import", text(&missing), text(&directory.path().join("."))]).code(2);
    assert_eq!(ended.errors().len(), 2, "{ended:?}");
}

/// A plan of a HammerDB script that names no database.
const WITHOUT_DATABASE: &str = "diset tpcc count_ware 1\nvuset vu 2\n";

#[test]
fn a_plan_without_a_database_runs_on_the_one_that_is_named_and_never_on_the_default_one() {
    let directory = scratch();
    let (file, plan) = (directory.path().join("run.tcl"), directory.path().join("plan.toml"));
    fs::write(&file, WITHOUT_DATABASE).unwrap();
    let ended = lydite(&["import", text(&file), "-o", text(&plan)]).code(0);
    assert!(ended.stdout.contains(&format!("lydite run URL -c {}\n", text(&plan))), "{ended:?}");
    for arguments in
        [&["run", "-d", "1s"][..], &["ab", "--b-set", "seed=2"], &["find", "--slo", "new_order.p99 < 50ms"]]
    {
        let ended = lydite(&[arguments, &["-c", text(&plan)]].concat()).code(2);
        let words =
            "plan.toml, line 3, target: is empty: write the URL of the database there, or behind the command";
        assert!(ended.errors().iter().any(|error| error.contains(words)), "{ended:?}");
    }
    lydite(&["run", "null:", "-c", text(&plan), "-d", "200ms", "--warmup", "0s", "-q"]).code(0);
    lydite(&["run", "--set", "target=null:", "-c", text(&plan), "--dry-run"]).code(0);
}

#[test]
fn the_standard_output_takes_one_plan_which_run_reads_from_a_pipe() {
    let directory = scratch();
    let (one, other, out) = (
        directory.path().join("1.sh"),
        directory.path().join("2.properties"),
        directory.path().join("out.json"),
    );
    fs::write(&one, "go-tpc tpcc run -H h -T 4\n").unwrap();
    fs::write(&other, "db=mysql\nhost=h\nset=d\n").unwrap();
    for more in [&[][..], &["-o", "-"]] {
        let ended = lydite(&[&["import", text(&one), text(&other)], more].concat()).code(2);
        let words = "these are 2 plans, and the standard output takes one: write them into plan-1.toml, plan-2.toml and so \
                     on with -o plan.toml, or as one document with --json -";
        assert!(ended.only_error().contains(words) && ended.stdout.is_empty(), "{ended:?}");
    }
    lydite(&["import", text(&one), text(&other), "--json", text(&out)]).code(0);
    assert_eq!(json(&out)["plans"].as_array().map(Vec::len), Some(2));
    let ended = lydite(&["import", text(&one), text(&other), "--json", "-"]).code(0);
    assert!(ended.stdout.starts_with('{') && ended.stderr.is_empty(), "{ended:?}");

    fs::write(&one, WITHOUT_DATABASE).unwrap();
    let plan = lydite(&["import", text(&one)]).code(0).stdout;
    let run = ["run", "null:", "-c", "-", "-d", "200ms", "--warmup", "0s", "-q", "--json", text(&out)];
    let (code, _, stderr) = piped(&run, &plan);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(json(&out)["plan"]["terminals"], 2);
    let (code, _, stderr) = piped(&["run", "-c", "-"], &plan);
    assert!(code == Some(2) && stderr.contains("standard input, line 3, target: is empty"), "{stderr}");
}

#[test]
fn the_exit_code_says_if_all_settings_are_understood() {
    let directory = scratch();
    let (file, plan, out) = (
        directory.path().join("run.tcl"),
        directory.path().join("plan.toml"),
        directory.path().join("out.json"),
    );
    // A setting without a counterpart is understood.
    for (line, code) in [
        ("diset tpcc purge true", 0),
        ("diset tpcc colour red", 4),
        ("diset tpcc count_ware $w", 4),
        ("diset tpcc count_ware none", 4),
    ] {
        fs::write(&file, format!("dbset db pg\nvuset vu 2\n{line}\n")).unwrap();
        let ended = lydite(&["import", text(&file), "-o", text(&plan), "--json", text(&out)]).code(code);
        assert_eq!(ended.errors().len(), usize::from(code == 4), "{ended:?}");
        let settings = json(&out)["plans"][0]["settings"].to_string();
        assert_eq!(settings.contains("not_understood"), code == 4, "{line}");
        fs::remove_file(&plan).expect("the plan is written either way");
    }
    // The plan is understood, and can't run.
    fs::write(
        &file,
        "dbset db maria\ndiset connection maria_ssl true\ndiset connection maria_ssl_ca /nonexistent/ca\n",
    )
    .unwrap();
    let ended = lydite(&["import", text(&file)]).code(4);
    assert!(ended.only_error().contains("lydite run refuses the plan as it is"), "{ended:?}");
}

#[test]
fn names_of_files_that_are_not_utf_8_are_files_like_others() {
    let directory = scratch();
    let path = |name: &[u8]| directory.path().join(OsStr::from_bytes(name));
    let (file, plan) = (path(b"a\xff'1.tcl"), path(b"plan\xff 2.toml"));
    fs::write(&file, WITHOUT_DATABASE.to_owned() + "dbset db pg\ndiset connection pg_host h\n").unwrap();
    let words = |words: &[&'static str], file: &Path| {
        let words = words.iter().map(|word| OsStr::new(word).to_owned());
        words.chain([file.as_os_str().to_owned()]).collect::<Vec<_>>()
    };
    let shown = lydite(&words(&["import"], &file)).code(0).stdout;
    assert!(shown.contains("a\\377\\'1.tcl' -o plan.toml"), "{shown}");
    let mut import = words(&["import"], &file);
    import.extend(words(&["-o"], &plan));
    let ended = lydite(&import).code(0);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no file of another name");
    // The printed commands name the files that are there.
    let command = ended.stdout.lines().find(|line| line.ends_with("--dry-run")).expect("a command");
    let command = command.replacen("lydite", env!("CARGO_BIN_EXE_lydite"), 1);
    let ran = Command::new("bash").args(["-c", &command]).output().unwrap();
    assert!(ran.status.success(), "{command}: {ran:?}");
    lydite(&words(&["run", "null:", "--dry-run", "-c"], &plan)).code(0);
    let refused = lydite(&words(&["run", "-c"], &file)).code(2);
    assert!(refused.only_error().contains("make a plan of it with: lydite import FILE"), "{refused:?}");
    let refused = lydite(&words(&["import"], &path(b"none\xff"))).code(2);
    assert!(refused.only_error().contains("No such file"), "{refused:?}");
}

#[test]
fn commands_of_a_script_with_different_settings_become_plans_of_their_own() {
    let directory = scratch();
    let (script, plan) = (directory.path().join("two.sh"), directory.path().join("plan.toml"));
    fs::write(&script, "go-tpc tpcc run -H h -T 16\ngo-tpc tpcc run -H h -T 32\n").unwrap();
    let ended = lydite(&["import", text(&script), "-o", text(&plan)]).code(0);
    assert!(ended.stderr.contains("two.sh: its commands make several plans"), "{ended:?}");
    for (name, terminals) in [("plan-1.toml", 16), ("plan-2.toml", 32)] {
        let plan: toml::Table =
            fs::read_to_string(directory.path().join(name)).unwrap().parse().expect("a plan");
        assert_eq!(plan["terminals"].as_integer(), Some(terminals));
    }
    assert!(!plan.exists());
}

#[test]
fn ends_of_lines_in_a_name_of_a_file_stay_within_the_comments() {
    let directory = scratch();
    let (file, plan) = (directory.path().join("w\nrate = 5\n#.sh"), directory.path().join("plan.toml"));
    fs::write(&file, "go-tpc tpcc run -H h --colour=1\n").unwrap();
    let ended = lydite(&["import", text(&file)]).code(4);
    let read: toml::Table = ended.stdout.parse().expect("the standard output is a plan");
    assert!(!read.contains_key("rate"), "{ended:?}");
    assert!(ended.stdout.contains(r"w\012rate = 5\012#.sh'"), "{ended:?}");
    assert_eq!(ended.errors().len(), 1, "{ended:?}");
    lydite(&["import", text(&file), "-o", text(&plan)]).code(4);
}

/// Runs a command with this text in a pipe on its standard input.
fn piped(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lydite"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let [stdout, stderr] = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (ended.status.code(), stdout, stderr)
}

#[test]
fn a_pipe_is_a_file_too() {
    const LINE: &str = "./tpcc.lua --mysql-password=hunter2 --scale=3 --threads=5 --colour=hunter2 run\n";
    for name in ["-", "/dev/stdin"] {
        let (code, stdout, stderr) = piped(&["import", name], LINE);
        assert_eq!(code, Some(4), "{stderr}");
        let plan: toml::Table = stdout.parse().expect("the standard output is a plan");
        assert_eq!(plan["warehouses"].as_integer(), Some(3));
        assert_eq!(plan["terminals"].as_integer(), Some(5));
        assert!(stderr.contains(&format!("{name}, line 1: --colour is a setting of")), "{stderr}");
        assert!(stdout.contains("lydite import FILE -o plan.toml"), "{stdout}");
        assert!(!format!("{stdout}{stderr}").contains(PASSWORD));
        let (code, _, stderr) = piped(&["import", name], "");
        assert_eq!(code, Some(2));
        assert!(stderr.contains(&format!("{name}: is empty")), "{stderr}");
    }
    let (code, _, stderr) = piped(&["run", "-c", "-"], LINE);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("is a configuration of sysbench-tpcc") && stderr.contains("lydite import FILE"),
        "{stderr}"
    );
    assert!(!stderr.contains(PASSWORD));
}

#[test]
fn an_imported_url_is_the_one_that_a_command_understands() {
    for string in [
        "jdbc:postgresql://127.0.0.1:1/db?user=u&ssl=true&currentSchema=s&tcpKeepAlive=true&password=hunter2",
        "jdbc:mariadb://127.0.0.1:1/db?user=u&useSSL=true&cachePrepStmts=true&password=hunter2",
    ] {
        let directory = scratch();
        let (file, out) = (directory.path().join("a.properties"), directory.path().join("out.json"));
        fs::write(&file, format!("driver=some.Driver\nconn={string}\nwarehouses=1\n")).unwrap();
        let imported = lydite(&["import", text(&file), "--json", text(&out)]).code(0);
        let checked = lydite(&["check", string]);
        assert!(matches!(checked.code, Some(2 | 3)), "{checked:?}");
        let understood = checked.stderr.lines().find_map(|line| line.split_once("target is understood as "));
        let understood = understood.unwrap_or_else(|| panic!("{checked:?}")).1;
        let document = json(&out);
        assert_eq!(document["plans"][0]["target"], understood, "{document:#}");
        assert!(understood.contains("sslmode=verify-full"), "{understood}");
        for said in [imported.stdout, imported.stderr, checked.stdout, checked.stderr, document.to_string()] {
            assert!(!said.contains(PASSWORD), "{said}");
        }
    }
}

/// Files whose plans `lydite run` refuses as they are, with a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    ("benchbase/disabled.in", "rate: \\\"0\\\" must be more than 0"),
    ("hammerdb/maria-tls.in", "ssl-ca=/nonexistent/certs/ca-cert.pem: no such file or directory"),
    ("hammerdb/mysql-two-way.in", "ssl-ca=/nonexistent/ca.pem: no such file or directory"),
];

#[test]
fn the_plans_of_all_files_are_plans_that_run_takes() {
    let directory = scratch();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/files");
    let mut wrong = Vec::new();
    for tool in fs::read_dir(root).unwrap() {
        let mut files: Vec<_> =
            fs::read_dir(tool.unwrap().path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "in"));
        for file in files {
            let out = directory.path().join("out.json");
            let ended = lydite(&["import", text(&file), "--json", text(&out)]);
            if format!("{ended:?}").contains(PASSWORD) {
                wrong.push(format!("{}: {ended:?}", file.display()));
            }
            let Ok(document) = fs::read_to_string(&out) else { continue };
            fs::remove_file(&out).unwrap();
            if document.contains(PASSWORD) {
                wrong.push(format!("{}: {document}", file.display()));
            }
            let document: serde_json::Value = serde_json::from_str(&document).unwrap();
            let problems = document["plans"][0]["problems"].to_string();
            let known = REFUSED.iter().find(|(name, _)| file.ends_with(name)).map_or("[]", |(_, part)| part);
            if !problems.contains(known) {
                wrong.push(format!("{}: {problems}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
