//! Clusters to throw away.

use crate::program::{Program, lydite, scratch, text, windows_from};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// A lab in a directory, ended also when a test fails.
struct Down<'a> {
    kind: &'a str,
    directory: &'a str,
}

impl Drop for Down<'_> {
    fn drop(&mut self) {
        let _ended = std::process::Command::new(env!("CARGO_BIN_EXE_lydite"))
            .args(["lab", "down", self.kind, "--dir", self.directory])
            .output();
    }
}

/// The password in what `lab up` printed.
fn password_of(printed: &str) -> &str {
    let (user, _) = printed.split_once('@').expect("a user");
    let (_, password) = user.rsplit_once(':').expect("a password");
    assert_eq!(password.len(), 32, "128 bits: {printed}");
    password
}

/// No server of a lab takes others than those who know its password, and nobody but its user sees that.
fn assert_closed(directory: &str, printed: &str, users: &[&str]) {
    let password = password_of(printed);
    let (scheme, _) = printed.split_once("://").unwrap();
    let database = if scheme == "postgres" { "postgres" } else { "tpcc" };
    let addresses = || printed.split(|letter: char| "@/,?= ".contains(letter));
    let addresses: Vec<&str> = addresses().filter(|word| word.starts_with("127.0.0.1:")).collect();
    assert!(!addresses.is_empty(), "{printed}");
    for address in &addresses {
        for user in users {
            for login in [(*user).to_string(), format!("{user}:wr0ng")] {
                let refused = lydite(&["check", &format!("{scheme}://{login}@{address}/{database}")]).code(3);
                let error = refused.only_error();
                assert!(error.contains("password") || error.contains("Access denied"), "{login}: {error}");
            }
        }
    }
    let mode = |path: &str| fs::metadata(path).unwrap_or_else(|error| panic!("{path}: {error}")).mode();
    // The group is that of servers that another user runs, who has to reach them.
    assert_eq!(mode(directory) & 0o067, 0, "{directory}");
    assert_eq!(mode(&format!("{directory}/lab.json")) & 0o077, 0);
    for server in 0..addresses.len() {
        assert_eq!(mode(&format!("{directory}/server-{server}")) & 0o077, 0);
    }
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command);
        assert!(!command.contains(password), "everybody sees it: {command}");
    }
}

#[test]
fn a_lab_is_started_used_and_leaves_nothing_behind() {
    let parent = scratch();
    let directory = parent.path().join("lab");
    let directory = text(&directory);
    let _down = Down { kind: "pg-sharded", directory };
    let up = ["lab", "up", "pg-sharded", "--shards", "2", "--dir", directory];
    let started = lydite(&up).code(0);
    let url = started.stdout.trim().to_string();
    assert!(url.starts_with("postgres://postgres:"), "{url}");
    assert!(!started.stderr.contains(password_of(&url)), "{}", started.stderr);
    assert_closed(directory, &url, &["postgres"]);
    assert_eq!(lydite(&up).code(0).stdout.trim(), url, "once more is the same");
    for other in [["up", "pg"], ["down", "pg"]] {
        let refused = lydite(&[&["lab"], &other[..], &["--dir", directory]].concat()).code(2);
        assert!(refused.only_error().contains("is pg-sharded, not pg: end it with"), "{refused:?}");
    }
    let result = parent.path().join("result.json");
    let run = ["run", &url, "-w", "2", "--size", "small", "--duration", "1s", "--warmup", "0s", "--quiet"];
    let ran = lydite(&[&run[..], &["--json", text(&result)]].concat()).code(0);
    assert!(ran.stdout.contains("12/12 after the run"), "{}", ran.stdout);
    let told = fs::read_to_string(&result).unwrap();
    let shown = format!("{}{}{told}", ran.stdout, ran.stderr);
    assert!(!shown.contains(password_of(&url)), "{shown}");
    assert_sizes_of_nodes(&result);
    // Shards by other names than those of the catalog: nobody's size is taken for another's, and the run is as good.
    let (coordinator, shards) = url.split_once('?').unwrap();
    let elsewhere = format!("{coordinator}?{}", shards.replace("127.0.0.1", "localhost"));
    let run = ["run", &elsewhere, "--duration", "1s", "--warmup", "0s", "--quiet", "--json", text(&result)];
    let ran = lydite(&run).code(0);
    assert!(ran.stdout.contains("12/12 after the run"), "{}", ran.stdout);
    assert!(ran.stderr.contains("name the shards in the URL as when they were loaded"), "{}", ran.stderr);
    let told: Value = serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap();
    assert!(told["nodes"]["bytes"].is_null(), "{}", told["nodes"]);
    assert!(told["warnings"].to_string().contains("The data sizes of the nodes could not be read 2 times"));

    let pids: Vec<String> = (0..3)
        .map(|server| {
            let file =
                fs::read_to_string(format!("{directory}/server-{server}/data/postmaster.pid")).unwrap();
            file.lines().next().unwrap().to_string()
        })
        .collect();
    lydite(&["lab", "down", "pg-sharded", "--dir", directory]).code(0);
    assert!(!fs::exists(directory).unwrap());
    for pid in pids {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!command.contains(directory), "server {pid} still runs: {command}");
    }
    let again = lydite(&["lab", "down", "pg-sharded", "--dir", directory]).code(2);
    assert!(again.only_error().contains("there is no lab"), "{}", again.only_error());
}

/// A result tells how much each of two nodes held before the run and after it.
fn assert_sizes_of_nodes(result: &Path) {
    let result: Value = serde_json::from_str(&fs::read_to_string(result).unwrap()).unwrap();
    let nodes = &result["nodes"];
    let named: Vec<&Value> = result["controls"]["distribution"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| &of["node"])
        .collect();
    assert_eq!(nodes["names"].as_array().unwrap().iter().collect::<Vec<_>>(), named);
    let second: Vec<f64> =
        nodes["bytes"]["second"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert!(second[0] <= 0.0 && *second.last().unwrap() >= 1.0, "{second:?}");
    for of in nodes["bytes"]["of"].as_array().unwrap() {
        let sizes: Vec<u64> = of.as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert!(sizes.len() == second.len() && sizes.iter().all(|size| *size > 5 << 20), "{sizes:?}");
    }
    assert!(result["warnings"].as_array().is_none_or(|warnings| {
        warnings.iter().all(|warning| !warning.as_str().unwrap().contains("How much data"))
    }));
}

/// The command lines of MariaDB's servers whose data is below a directory.
fn processes_of(directory: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(&format!("--datadir={directory}"))).collect()
}

/// Starts a lab of MariaDB, runs on it, and ends it; `servers` are its own.
fn assert_lab_of_mariadb(kind: &str, more: &[&str], servers: usize, warehouses: &str) {
    let parent = scratch();
    let directory = parent.path().join("lab");
    let directory = text(&directory);
    let _down = Down { kind, directory };
    let up = [&["lab", "up", kind, "--dir", directory], more].concat();
    let url = Program::new(&up).run().code(0).stdout.trim().to_string();
    assert!(url.starts_with("mariadb://root:"), "{url}");
    assert_closed(directory, &url, &["root", "nobody"]);
    assert_eq!(lydite(&up).code(0).stdout.trim(), url, "once more is the same");
    let wrong = lydite(&["lab", "down", "pg", "--dir", directory]).code(2);
    assert!(wrong.only_error().contains(&format!("lydite lab down {kind}")), "{wrong:?}");
    let run = ["run", &url, "--warehouses", warehouses, "--duration", "1s", "--warmup", "0s", "--quiet"];
    let ran = Program::new(&[&run[..], &["--set", "size=tiny"]].concat()).run().code(0);
    assert!(ran.stdout.contains("12/12 after the run"), "{}", ran.stdout);

    assert_eq!(processes_of(directory).len(), servers);
    lydite(&["lab", "down", kind, "--dir", directory]).code(0);
    assert!(!fs::exists(directory).unwrap());
    assert_eq!(processes_of(directory), Vec::<String>::new());
}

#[test]
fn a_lab_of_mariadb_is_started_used_and_leaves_nothing_behind() {
    assert_lab_of_mariadb("mariadb", &[], 1, "1");
}

#[test]
fn a_lab_of_galera_is_started_used_and_leaves_nothing_behind() {
    assert_lab_of_mariadb("galera", &[], 3, "1");
}

#[test]
fn a_lab_of_spider_is_started_used_and_leaves_nothing_behind() {
    assert_lab_of_mariadb("spider", &["--shards", "2"], 3, "2");
}

#[test]
fn a_lab_with_replicas_is_started_read_and_leaves_nothing_behind() {
    let parent = scratch();
    let directory = parent.path().join("lab");
    let directory = text(&directory);
    let kind = "pg-replicas";
    let _down = Down { kind, directory };
    let up = ["lab", "up", kind, "--dir", directory];
    let started = Program::new(&up).run().code(0);
    let printed = started.stdout.trim();
    let again = format!("try: lydite run $(lydite lab up {kind} --dir {directory}); end with");
    assert!(started.stderr.contains(&again), "{}", started.stderr);
    assert_closed(directory, printed, &["postgres"]);
    assert_eq!(lydite(&up).code(0).stdout.trim(), printed, "once more is the same");
    // What it prints is what `run` takes.
    let arguments: Vec<&str> = printed.split(' ').collect();
    let result = parent.path().join("result.json");
    let small = ["--warehouses", "1", "--warmup", "0s", "--quiet", "--json", text(&result)];
    let more = ["--set", "size=tiny", "--terminals", "2", "--staleness", "session"];
    let run = [&["run"], &arguments[..], &small, &more].concat();
    windows_from("2s", |window| {
        let ran = Program::new(&[&run[..], &["--duration", window]].concat()).run().code(0);
        assert!(ran.stdout.contains("12/12 after the run"), "{}", ran.stdout);
        assert!(ran.stdout.contains("staleness session: "), "{}", ran.stdout);
        let told: Value = serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap();
        let replicas = &told["controls"]["replicas"];
        let reads: Vec<u64> =
            replicas["reads_of"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert_eq!(reads.len(), 2, "{replicas}");
        // Each has a session.
        reads.iter().all(|&reads| reads > 0).then_some(())
    });
    // A server that somebody has stopped is ended too.
    let file = fs::read_to_string(format!("{directory}/server-0/data/postmaster.pid")).unwrap();
    let postmaster: i32 = file.lines().next().unwrap().parse().unwrap();
    // SAFETY: kill has no memory preconditions, and the process is the lab's.
    assert_eq!(unsafe { libc::kill(postmaster, libc::SIGSTOP) }, 0);
    lydite(&["lab", "down", kind, "--dir", directory]).code(0);
    assert!(!fs::exists(directory).unwrap());
}

#[test]
fn a_lab_that_cannot_be_is_refused_before_anything_is_made() {
    let parent = scratch();
    fs::write(parent.path().join("mine"), "").unwrap();
    let occupied = text(parent.path());
    for (arguments, says) in [
        (
            vec!["lab", "up", "oracle"],
            "use one of pg, pg-sharded, pg-replicas, mariadb, galera, spider, gemel",
        ),
        (vec!["lab", "up", "pg", "--shards", "2"], "--shards is for pg-sharded"),
        (vec!["lab", "up", "galera", "--shards", "2"], "--shards is for pg-sharded and spider"),
        (vec!["lab", "up", "pg", "--disk", "255M"], "write a size from 256M, as 4G or 512M"),
        (vec!["lab", "up", "pg", "--sync"], "--sync is for pg-replicas, not for pg"),
        (vec!["lab", "up", "galera", "--clock"], "--clock is for pg, pg-sharded and pg-replicas"),
        (vec!["lab", "up", "pg-sharded", "--shards", "0"], "a lab has 1 to 32"),
        (vec!["lab", "up", "pg", "--dir", occupied], "is not empty"),
    ] {
        let refused = lydite(&arguments).code(2);
        assert!(refused.only_error().contains(says), "{}", refused.only_error());
    }
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing was made");
}

#[test]
fn a_directory_that_the_servers_can_not_reach_is_named() {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return; // The servers run as this user.
    }
    let directory = scratch();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).expect("a directory");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("a mode");
    let refused = Program::new(&["lab", "up", "pg"]).env("TMPDIR", &closed).run().code(2);
    let words = format!("{}: the account that runs the servers", closed.display());
    assert!(refused.only_error().contains(&words) && refused.stderr.contains("chmod o+x"), "{refused:?}");
    assert_eq!(fs::read_dir(&closed).expect("the directory").count(), 0, "nothing is made");
}

#[test]
fn a_lab_that_is_being_started_is_not_listed_as_one_that_does_not_answer() {
    let parent = scratch();
    fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // SAFETY: geteuid has no preconditions.
    let directory = parent.path().join(format!("lydite-lab-{}", unsafe { libc::geteuid() })).join("pg");
    let _down = Down { kind: "pg", directory: text(&directory) };
    let lab = |arguments: &[&str]| Program::new(&[&["lab"], arguments].concat()).env("TMPDIR", parent.path());
    let mut starting = lab(&["up", "pg"]).start();
    starting.wait_until("the note", || directory.join("lab.json").exists());
    starting.signal(libc::SIGSTOP);
    let listed = lab(&["list"]).run().code(0).stdout;
    assert!(listed.contains("/postgres  (starting)\n"), "{listed}");
    let refused = lab(&["up", "pg"]).run().code(2);
    assert!(refused.only_error().contains("this lab is being started: wait"), "{refused:?}");
    starting.signal(libc::SIGCONT);
    starting.wait().code(0);
    let listed = lab(&["list"]).run().code(0).stdout;
    assert!(listed.contains("/postgres\n"), "{listed}");
    lab(&["down", "pg"]).run().code(0);
}

#[test]
fn a_list_shows_no_password_and_a_lab_of_an_older_version_is_told_open_and_ended() {
    let parent = scratch();
    // SAFETY: geteuid has no preconditions.
    let root = parent.path().join(format!("lydite-lab-{}", unsafe { libc::geteuid() }));
    let lab = |kind: &str, user: &str, port: u16| {
        let directory = root.join(kind);
        fs::create_dir_all(&directory).unwrap();
        let note = json!({
            "kind": kind,
            "url": format!("postgres://{user}@127.0.0.1:{port}/postgres"),
            "servers": [{"path": directory.join("server-0"), "port": port}],
        });
        fs::write(directory.join("lab.json"), note.to_string()).unwrap();
    };
    let server = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    lab("pg", "postgres", port);
    lab("pg-sharded", "postgres:0123456789abcdef", port);
    let lydite = |arguments: &[&str]| Program::new(arguments).env("TMPDIR", parent.path()).run().code(0);
    let listed = lydite(&["lab", "list"]).stdout;
    assert_eq!(
        listed.matches(&format!("postgres://postgres@127.0.0.1:{port}/postgres\n")).count(),
        2,
        "{listed}"
    );
    let up = lydite(&["lab", "up", "pg"]);
    assert!(up.stderr.contains("has no password"), "{}", up.stderr);
    let up = lydite(&["lab", "up", "pg-sharded"]);
    assert!(!up.stderr.contains("has no password") && up.stdout.contains(":0123456789abcdef@"), "{up:?}");
    for kind in ["pg", "pg-sharded"] {
        lydite(&["lab", "down", kind]);
    }
    assert!(!root.exists());
}
