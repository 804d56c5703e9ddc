//! Connection strings as people paste them, on real servers: commands say what they understood, connect, and repeat no
//! password.

use crate::loaded;
use crate::program::{Ended, Program, json, lydite, scratch, text};
use lydite_testkit::{mariadb, postgres};
use std::fs;

const MARKER: &str = "S3cr3tM";

/// Asserts that a command reached the empty database, and said so of this URL.
#[track_caller]
fn assert_reached(ended: Ended, url: &str) {
    let ended = ended.code(2);
    assert!(ended.stderr.contains("is empty: load it first"), "{ended:?}");
    assert!(ended.stderr.contains(&format!("target is understood as {url}\n")), "{ended:?}");
    assert!(!ended.stderr.contains(MARKER) && !ended.stdout.contains(MARKER), "{ended:?}");
}

#[test]
fn each_form_connects_to_a_real_postgres() {
    let server = postgres::shared();
    let _url = server.create_database("pasted");
    let port = server.port();
    let of = |options: &str| format!("postgres://postgres@127.0.0.1:{port}/pasted{options}");
    for (string, url) in [
        (
            format!(
                "jdbc:postgresql://127.0.0.1:{port}/pasted?user=postgres&password=S3cr3tM&currentSchema=public&\
                 reWriteBatchedInserts=true"
            ),
            of("?schema=public&sslmode=prefer"),
        ),
        (
            format!(
                "host=127.0.0.1 port={port} dbname=pasted user=postgres password='a S3cr3tM' keepalives=1"
            ),
            of(""),
        ),
        (
            format!(
                "Host=127.0.0.1;Port={port};Database=pasted;Username=postgres;Password=\"a;S3cr3tM\";Pooling=true"
            ),
            of("?sslmode=prefer"),
        ),
        (
            format!("postgresql+psycopg2://postgres:S3cr3tM@127.0.0.1:{port}/pasted"),
            of("").replace("postgres:", "postgresql:"),
        ),
        (
            format!("\"postgres://postgres@127.0.0.1:{port}/pasted?connection_limit=5&password=S3cr3tM\"\n"),
            of(""),
        ),
    ] {
        let ended = lydite(&["check", &string]);
        assert!(ended.stderr.contains("ps shows it: leave it out there"), "{ended:?}");
        assert_reached(ended, &url);
    }
}

#[test]
fn each_form_connects_to_a_real_mariadb() {
    let server = mariadb::shared();
    let _url = server.create_database("pasted");
    let (port, socket) = (server.port(), server.socket().display().to_string());
    for (string, url) in [
        (
            format!(
                "jdbc:mariadb://127.0.0.1:{port}/pasted?user=root&useSsl=false&rewriteBatchedStatements=true"
            ),
            format!("mariadb://root@127.0.0.1:{port}/pasted?sslmode=disable"),
        ),
        (
            format!("jdbc:mysql://127.0.0.1:{port}/pasted?user=root&serverTimezone=UTC"),
            format!("mysql://root@127.0.0.1:{port}/pasted?sslmode=prefer"),
        ),
        (
            format!("root@tcp(127.0.0.1:{port})/pasted?parseTime=true"),
            format!("mysql://root@127.0.0.1:{port}/pasted?sslmode=disable"),
        ),
        (format!("root@unix({socket})/pasted"), format!("mysql://root@/pasted?socket={socket}")),
        (
            format!(
                "Server=127.0.0.1;Port={port};Uid=root;Database=pasted;SslMode=Preferred;AllowUserVariables=true"
            ),
            format!("mysql://root@127.0.0.1:{port}/pasted?sslmode=prefer"),
        ),
        (
            format!("mysql2://root@127.0.0.1:{port}/pasted?encoding=utf8mb4"),
            format!("mysql://root@127.0.0.1:{port}/pasted"),
        ),
    ] {
        assert_reached(lydite(&["check", &string]), &url);
    }
}

#[test]
fn services_are_read_from_their_file_and_never_left_out() {
    let server = postgres::shared();
    let _url = server.create_database("served");
    let directory = scratch();
    let file = directory.path().join("services");
    let port = server.port();
    let lines = format!(
        "# services\n[other]\nhost=nowhere\n\n[bench]\nhost=127.0.0.1\nport={port}\nuser=postgres\ndbname=served\npassword=S3cr3tM\n\
         application_name=served\n[bad]\nsslcrl=/x\n"
    );
    fs::write(&file, lines).expect("a file");
    let url = format!("postgres://postgres@127.0.0.1:{port}/served?application_name=served");
    for (target, service) in
        [("service=bench", ""), ("dbname=served", "bench"), ("postgres:///?service=bench", "")]
    {
        let ended =
            Program::new(&["check", target]).env("PGSERVICEFILE", &file).env("PGSERVICE", service).run();
        assert!(ended.stderr.contains("service \"bench\" is from "), "{ended:?}");
        assert!(!ended.stderr.contains("ps shows it"), "{ended:?}");
        assert_reached(ended, &url);
    }
    // A value of the URL comes first.
    let ended = Program::new(&["check", "postgres://127.0.0.1/postgres"]).env("PGSERVICEFILE", &file);
    let ended = ended.env("PGSERVICE", "bench").run().code(2);
    assert!(
        ended.stderr.contains(&format!("understood as postgres://postgres@127.0.0.1:{port}/postgres?")),
        "{ended:?}"
    );
    for (service, words) in [("none", "none of"), ("bad", "no lists of revoked certificates")] {
        let ended = Program::new(&["check", "postgres://127.0.0.1:1/db"]).env("PGSERVICEFILE", &file);
        let ended = ended.env("PGSERVICE", service).run().code(2);
        assert!(ended.only_error().contains(words), "{ended:?}");
    }
}

#[test]
fn each_variable_of_the_environment_is_followed_noted_or_rejected() {
    let url = "postgres://postgres@127.0.0.1:1/db";
    for (name, value, words) in [
        ("PGSSLCRL", "/x", "PGSSLCRL=…: Lydite reads no lists of revoked certificates"),
        ("PGGSSENCMODE", "require", "PGGSSENCMODE=require: Lydite has no GSSAPI"),
        ("PGREQUIREAUTH", "scram-sha-256", "PGREQUIREAUTH=scram-sha-256: Lydite can't restrict the login"),
        ("PGTARGETSESSIONATTRS", "standby", "PGTARGETSESSIONATTRS=standby: transactions write"),
        ("PGHOSTADDR", "10.0.0.1", "leave hostaddr out"),
        ("PGSERVICE", "bench", "names the service \"bench\""),
    ] {
        let ended = Program::new(&["check", url]).env("HOME", "/nonexistent").env(name, value).run().code(2);
        assert!(ended.only_error().contains(words), "{ended:?}");
    }
    for (name, value, words) in [
        ("PGTZ", "UTC", "PGTZ left out: Lydite sets the time zone"),
        ("PGCLIENTENCODING", "LATIN1", "PGCLIENTENCODING left out"),
        ("PGREQUIRESSL", "1", "understood as postgres://postgres@127.0.0.1:1/db?sslmode=require"),
    ] {
        let ended = Program::new(&["check", url]).env(name, value).run().code(3);
        assert!(ended.stderr.contains(words), "{ended:?}");
        let quiet = Program::new(&["check", url, "--quiet"]).env(name, value).run().code(3);
        assert!(!quiet.stderr.contains(words), "{quiet:?}");
    }
}

#[test]
fn a_run_with_a_pasted_string_leaves_its_password_nowhere() {
    let url = loaded::on_postgres("pasted_run", 1);
    let server = url.split_once('@').expect("a user").1;
    let string = format!("jdbc:postgresql://{server}?user=postgres&password=a%26S3cr3tM&prepareThreshold=1");
    let directory = scratch();
    let (result, page) = (directory.path().join("r.json"), directory.path().join("r.html"));
    let ended = lydite(&[
        "run",
        &string,
        "-d",
        "1s",
        "--warmup",
        "0s",
        "--terminals",
        "2",
        "--json",
        text(&result),
        "--report",
        text(&page),
    ])
    .code(0);
    assert_eq!(
        json(&result)["target"]["url"],
        format!("postgres://postgres@{server}?sslmode=prefer").as_str()
    );
    for written in [
        ended.stdout,
        ended.stderr,
        fs::read_to_string(&result).expect("a result"),
        fs::read_to_string(&page).expect("a page"),
    ] {
        assert!(!written.contains(MARKER), "{written}");
    }
}
