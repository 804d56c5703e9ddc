//! `lydite grant`: an account with the printed rights suffices, and what a database lacks is rejected.

use crate::leaving::{OBJECTS, OBJECTS_OF_MARIADB, drop_all, listed};
use crate::program::lydite;
use lydite_testkit::{mariadb, postgres};

/// Returns the SQL that `lydite grant` prints.
fn grant(url: &str, more: &[&str]) -> String {
    lydite(&[&["grant", url][..], more].concat()).code(0).stdout
}

/// Runs the audits that need no lab.
fn audit(url: &str) {
    lydite(&["audit", url, "--quick", "-d", "1s", "--only", "atomicity,consistency,isolation", "--quiet"])
        .code(0);
}

/// Runs the isolation check, on tables of its own. MariaDB's repeatable read is no snapshot isolation.
fn verify(url: &str) {
    lydite(&["verify", url, "--isolation", "--level", "read-committed", "-d", "1s", "--quiet"]).code(0);
}

#[test]
fn a_role_with_the_printed_rights_loads_runs_checks_audits_and_drops_on_postgresql() {
    let server = postgres::shared();
    let owner = server.create_database("granted");
    let psql = |sql: &str| server.psql("granted", sql);
    psql(
        "REVOKE ALL ON DATABASE granted FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC; \
          CREATE ROLE \"a\"\"b O'Neil\" LOGIN; CREATE ROLE runner LOGIN",
    );
    let url = owner.replacen("postgres@", "a%22b%20O%27Neil@", 1);
    let load = ["load", &url, "-w", "2", "--set", "size=tiny", "--quiet"];
    let refused = lydite(&load).code(3);
    assert!(refused.stderr.contains("permission denied"), "{refused:?}");
    let sql = grant(&owner, &["--to", "a\"b O'Neil"]);
    assert!(sql.contains("GRANT CONNECT ON DATABASE \"granted\" TO \"a\"\"b O'Neil\";\n"), "{sql}");
    psql(&sql);
    lydite(&load).code(0);
    let run = |url: &str| lydite(&["run", url, "-d", "1s", "--warmup", "0s", "--quiet"]);
    run(&url).code(0);
    lydite(&["check", &url, "--quiet"]).code(0);
    audit(&url);

    let runner = owner.replacen("postgres@", "runner@", 1);
    let sql = grant(&owner, &["--to", "runner", "--for", "run", "--with", "observe"]);
    assert!(
        sql.contains("\nGRANT pg_monitor TO \"runner\";\n") && sql.contains("\n-- GRANT CREATE ON SCHEMA"),
        "{sql}"
    );
    psql(&sql);
    run(&runner).code(0);
    lydite(&["check", &runner, "--quiet"]).code(0);
    let refused = drop_all(&runner).code(3);
    assert!(refused.stderr.contains("must be owner of"), "{refused:?}");
    psql(&grant(&owner, &["--to", "runner", "--for", "run", "--with", "audit"]));
    audit(&runner);
    verify(&runner);
    drop_all(&url).code(0);
    assert_eq!(psql(OBJECTS), "");
}

#[test]
fn an_account_with_the_printed_rights_loads_runs_checks_audits_and_drops_on_mariadb() {
    let server = mariadb::shared();
    let owner = server.create_database("granted_here");
    let sql = |sql: &str| server.sql("mysql", sql);
    sql("CREATE USER `O'Neil`@`%`; CREATE USER runner@`%`; CREATE DATABASE grantedXhere");
    let url = owner.replacen("root@", "O%27Neil@", 1);
    let load = ["load", &url, "-w", "2", "--set", "size=tiny", "--quiet"];
    lydite(&load).code(3);
    sql(&grant(&owner, &["--to", "O'Neil@%"]));
    lydite(&load).code(0);
    let beside = lydite(&["check", &url.replace("granted_here", "grantedXhere")]).code(3);
    assert!(beside.stderr.contains("denied"), "the name of a database is no pattern: {beside:?}");
    let run = |url: &str| lydite(&["run", url, "-d", "1s", "--warmup", "0s", "--quiet"]);
    run(&url).code(0);
    lydite(&["check", &url, "--quiet"]).code(0);
    audit(&url);

    let runner = owner.replacen("root@", "runner@", 1);
    sql(&grant(&owner, &["--to", "runner", "--for", "run", "--with", "observe,audit"]));
    run(&runner).code(0);
    lydite(&["check", &runner, "--quiet"]).code(0);
    audit(&runner);
    verify(&runner);
    assert!(listed(&url, 4)["notes"].to_string().contains("lacks the right TRIGGER"));
    drop_all(&url).code(0);
    assert_eq!(server.sql("granted_here", OBJECTS_OF_MARIADB), "");
}

#[test]
fn databases_without_accounts_are_told_their_own_means() {
    for url in ["sqlite:x", "gemel:x", "redis://h", "etcd://h", "null:"] {
        let refused = lydite(&["grant", url, "--to", "bench"]).code(2);
        assert!(refused.only_error().contains("by the database's own means"), "{refused:?}");
    }
    for (role, url) in [("", "postgres://h/d"), ("@%", "mysql://h/d"), ("a\nb", "mysql://h/d")] {
        assert!(lydite(&["grant", url, "--to", role]).code(2).only_error().starts_with("--to: "));
    }
    let with = |url: &str, extra: &str| lydite(&["grant", url, "--to", "bench", "--with", extra]);
    for (url, extra) in [
        ("cockroach://h/d", "observe"),
        ("cockroach://h/d", "templates"),
        ("citus://h/d", "templates"),
        ("postgres://h/d?statements=unprepared", "templates"),
        ("mysql://h/d", "templates"),
    ] {
        assert!(with(url, extra).code(2).only_error().starts_with(&format!("--with {extra}: ")), "{url}");
    }
    assert!(!lydite(&["grant", "cockroach://h/d", "--to", "bench"]).code(0).stdout.contains("pg_monitor"));
    assert!(with("yugabyte://h/d", "observe").code(0).stdout.contains("\nGRANT pg_monitor TO"));
    let of_two_lines = lydite(&["grant", "postgres://h/a%0DDROP", "--to", "bench"]).code(0);
    let mut before_quotes = of_two_lines.stdout.split(['\n', '\r']).take_while(|line| !line.contains('"'));
    assert!(before_quotes.all(|line| line.starts_with("-- ")), "{of_two_lines:?}");
    let refused = lydite(&["grant", "postgres://h/d?shards=a:1,b:2", "--to", "bench"]).code(2);
    assert!(refused.only_error().contains("leave shards= out"), "{refused:?}");
}
