//! Servers that do not report placement, settings or statistics: an account may lack the right, or the server the catalog.
//! A run goes on and warns once. Only a plan that needs the answer is rejected.

use crate::program::{assert_checks_hold, json, lydite, scratch, text};
use lydite_testkit::{mariadb, postgres};
use serde_json::Value;
use std::path::Path;

/// The warnings of a result.
fn warnings(result: &Value) -> Vec<&str> {
    result["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Fails unless a result has exactly one warning with each of these words, and the run said so.
#[track_caller]
fn assert_warned_once(result: &Value, stderr: &str, words: &[&str]) {
    for word in words {
        let found: Vec<&str> =
            warnings(result).into_iter().filter(|warning| warning.contains(word)).collect();
        assert_eq!(found.len(), 1, "{word}: {:#?}", warnings(result));
        assert!(stderr.contains(found[0]), "{word}: {stderr}");
    }
}

/// Returns the arguments of a short run that writes its result to a file.
pub(crate) fn run<'a>(url: &'a str, warehouses: &'a str, path: &'a Path) -> [&'a str; 13] {
    [
        "run",
        url,
        "-w",
        warehouses,
        "--size",
        "tiny",
        "-d",
        "1s",
        "--warmup",
        "0s",
        "--quiet",
        "--json",
        text(path),
    ]
}

/// Returns the result of a run that is complete, and whose checks hold.
#[track_caller]
pub(crate) fn complete(path: &Path) -> Value {
    let result = json(path);
    assert_eq!(result["status"], "complete", "{result}");
    assert_checks_hold(&result, &["before", "after"]);
    result
}

/// A database on the shared server, and its URL for a role that owns it but may not read these catalogs.
pub(crate) fn postgres_without(name: &str, catalogs: &[&str]) -> String {
    let server = postgres::shared();
    let url = server.create_database(name);
    server.psql("postgres", &format!("CREATE ROLE {name} LOGIN; ALTER DATABASE {name} OWNER TO {name}"));
    server.psql(name, &format!("ALTER SCHEMA public OWNER TO {name}"));
    for catalog in catalogs {
        server.psql(name, &format!("REVOKE SELECT ON pg_catalog.{catalog} FROM PUBLIC"));
    }
    url.replace("postgres@", &format!("{name}@"))
}

#[test]
fn a_run_goes_on_if_postgresql_reports_no_placement_settings_and_statistics() {
    let catalogs = ["pg_foreign_server", "pg_settings", "pg_stat_wal"];
    let url = postgres_without("unread", &catalogs);
    let directory = scratch();
    let path = directory.path().join("result.json");
    let run = run(&url, "2", &path);
    let ended = lydite(&run).code(0);
    let result = complete(&path);
    let placement = "The nodes of the warehouses could not be read";
    assert_warned_once(&result, &ended.stderr, &[placement, "The server does not report its settings"]);
    for words in ["Could not observe the server's changed settings", "Could not observe db: "] {
        let found = warnings(&result).into_iter().filter(|warning| warning.starts_with(words)).count();
        assert_eq!(found, 1, "{words}: {:#?}", warnings(&result));
    }
    assert!(result.get("nodes").is_none(), "{}", result["nodes"]);

    // A plan that needs the answer is rejected, with a way out.
    let needs =
        |more: &[&str], code: i32| lydite(&[&run[..], more].concat()).code(code).only_error().to_owned();
    let error = needs(&["--dis-ratio", "10"], 3);
    assert!(error.contains("permission denied") && error.contains("place them with --nodes N"), "{error}");
    let error = needs(&["--dis-ratio", "10", "--nodes", "2", "--set", "verify=strict"], 2);
    assert!(error.contains("verify=strict: the function tests need the nodes"), "{error}");
    let error = needs(&["--observe", "db"], 3);
    assert!(error.contains("observe db: ") && error.ends_with("or leave db out"), "{error}");
    let ended = lydite(&[&run[..], &["--dis-ratio", "10", "--nodes", "2"]].concat()).code(0);
    let result = json(&path);
    assert_warned_once(&result, &ended.stderr, &["those of --nodes were used, without function tests"]);
    assert_eq!(result["controls"]["distribution"]["placement"], "--nodes: 2 by ranges", "{result}");

    // The other commands that ask for them.
    let verified = lydite(&["verify", &url, "--global-snapshot", "--duration", "1s", "--quiet"]).code(0);
    for words in ["Not known: the nodes of the warehouses", "Not known: deadlock_timeout"] {
        assert!(verified.stderr.contains(words), "{verified:?}");
    }
    let audited =
        lydite(&["audit", &url, "--quick", "--only", "atomicity", "--quiet", "--json", text(&path)]);
    assert!(audited.code(0).stderr.contains("no test has rows on several nodes"));
    assert_eq!(json(&path)["audit"]["warnings"].as_array().map(Vec::len), Some(2), "{}", json(&path));
}

#[test]
fn a_run_goes_on_if_mariadb_does_not_report_its_statements() {
    let server = mariadb::shared();
    let url = server.create_database("unread");
    server.sql("mysql", "CREATE USER unread@'%'; GRANT ALL ON unread.* TO unread@'%'");
    let (_, place) = url.split_once("root@").expect("the user root");
    let url = format!("mariadb://unread@{place}");
    let directory = scratch();
    let path = directory.path().join("result.json");
    let run = run(&url, "1", &path);
    lydite(&run).code(0);
    let result = complete(&path);
    let observed = warnings(&result).into_iter().filter(|warning| warning.starts_with("Could not observe"));
    let observed: Vec<&str> = observed.collect();
    assert_eq!(observed.len(), 1, "{observed:?}");
    assert!(observed[0].starts_with("Could not observe the statements of db: "), "{observed:?}");
    assert!(observed[0].contains("(1142)"), "{observed:?}");
    assert!(result["observed"].as_array().is_some_and(|all| !all.is_empty()), "the rest is observed");
}
