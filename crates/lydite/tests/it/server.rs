//! A server that is not there or does not let us in: one line with the place and what to do, exit code 3. And the
//! password: found where it may be, shown nowhere.

use crate::loaded;
use crate::program;
use crate::program::{Ended, Program, assert_no_panic, lydite, scratch, text};
use lydite_testkit::certificates;
use lydite_testkit::postgres::{self, Server};
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// What each command that connects says of a URL; all say the same.
fn every_command(url: &str) -> Vec<Ended> {
    [
        vec!["check", url, "--quiet"],
        vec!["load", url, "--warehouses", "1", "--quiet"],
        vec!["run", url, "--warehouses", "1", "--quiet"],
    ]
    .iter()
    .map(|arguments| lydite(arguments).code(3))
    .collect()
}

/// The words of a password that must be found nowhere.
const PASSWORD: &str = "pa55:w/ord";
/// The same in a URL.
const PASSWORD_IN_URL: &str = "pa55%3Aw%2Ford";

/// A server that lets `postgres` in, and `guarded`, `hashed` and `plain` with the password by SCRAM, MD5 and as it
/// is. Few connections.
fn guarded() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        // The server reads its rules when it starts, and no more.
        let directory = scratch();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        let rules = directory.path().join("pg_hba.conf");
        fs::write(
            &rules,
            "host all postgres 127.0.0.1/32 trust\n\
             host all hashed   127.0.0.1/32 md5\n\
             host all plain    127.0.0.1/32 password\n\
             host all outcast  127.0.0.1/32 reject\n\
             host all all      127.0.0.1/32 scram-sha-256\n",
        )
        .expect("rules");
        let rules = format!("hba_file={}", text(&rules));
        let server = Server::start(&["fsync=off", &rules, "max_connections=12"]);
        server.psql(
            "postgres",
            &format!(
                "CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'; CREATE ROLE plain LOGIN PASSWORD '{PASSWORD}'; \
                 SET password_encryption = 'md5'; CREATE ROLE hashed LOGIN PASSWORD '{PASSWORD}'; \
                 CREATE ROLE outcast LOGIN"
            ),
        );
        server
    })
}

fn url_of(server: &Server, user: &str, database: &str) -> String {
    format!("postgres://{user}@127.0.0.1:{}/{database}", server.port())
}

#[test]
fn a_closed_port_is_told_with_host_port_and_advice() {
    let port = lydite_testkit::free_port();
    for ended in every_command(&format!("postgres://me@127.0.0.1:{port}/tpcc")) {
        let error = ended.only_error();
        assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
        assert!(error.contains("connection refused: is the server running"), "{error}");
    }
}

#[test]
fn a_host_name_that_does_not_exist_is_told() {
    for ended in every_command("postgres://me@no-such-host.invalid/tpcc") {
        let error = ended.only_error();
        assert!(
            error.contains("no-such-host.invalid:5432") && error.contains("check the host's name"),
            "{error}"
        );
    }
}

#[test]
fn a_server_that_takes_connections_but_never_answers_is_given_up_soon() {
    // As a frozen server, or a port that a firewall half-opens: the system takes the connection, nobody reads.
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let started = ["prefer", "disable"].map(|sslmode| {
        let url = format!("postgres://me@127.0.0.1:{port}/tpcc?sslmode={sslmode}");
        Program::new(&["check", &url, "--quiet"]).start()
    });
    // Connecting has a limit of its own, which a line about the wait tells.
    let telling =
        Program::new(&["check", &format!("postgres://me@127.0.0.1:{port}/tpcc")]).start().wait().code(3);
    assert!(telling.stderr.contains("waiting for the server: its version and settings ("), "{telling:?}");
    assert!(telling.stderr.contains(" of at most 10 s)") && !telling.stderr.contains("30 s"), "{telling:?}");
    for running in started {
        let ended = running.wait().code(3);
        let error = ended.only_error();
        assert!(error.contains(&format!("127.0.0.1:{port}")) && error.contains("no answer"), "{error}");
        assert!(ended.took < Duration::from_secs(40), "{ended:?}");
    }
}

#[test]
fn a_server_of_another_kind_is_told() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            // The client may hang up in the midst of it.
            let _cut = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        }
    });
    for ended in every_command(&format!("postgres://me@127.0.0.1:{port}/tpcc")) {
        let error = ended.only_error();
        assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
        assert!(error.ends_with("is it a PostgreSQL server?"), "{error}");
        assert_no_panic(&ended);
    }
}

#[test]
fn a_database_that_does_not_exist_is_told() {
    let server = postgres::shared();
    for ended in every_command(&server.url("nowhere")) {
        let error = ended.only_error();
        assert!(error.contains(&format!("127.0.0.1:{}, database \"nowhere\"", server.port())), "{error}");
        assert!(error.contains("does not exist") && error.contains("create it first"), "{error}");
    }
}

#[test]
fn a_missing_privilege_is_told() {
    let server = postgres::shared();
    server.psql("postgres", "CREATE ROLE reader LOGIN");
    let _by_owner = server.create_database("private");
    server.psql("private", "REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    let url = url_of(server, "reader", "private");
    for arguments in [
        vec!["load", &url, "--warehouses", "1", "--quiet"],
        vec!["run", &url, "--warehouses", "1", "--quiet"],
    ] {
        let ended = lydite(&arguments).code(3);
        let error = ended.only_error();
        assert!(error.contains(&format!("127.0.0.1:{}", server.port())), "{error}");
        assert!(error.contains("permission denied") && error.contains("GRANT CREATE"), "{error}");
    }
}

#[test]
fn a_role_that_may_not_read_the_tables_is_told_to_get_select() {
    let server = postgres::shared();
    server.psql("postgres", "CREATE ROLE stranger LOGIN");
    loaded::on_postgres("unreadable", 1);
    let url = url_of(server, "stranger", "unreadable");
    for command in ["check", "run", "load"] {
        let warehouses: &[&str] = if command == "check" { &[] } else { &["--warehouses", "1"] };
        let ended = lydite(&[&[command, &url, "--quiet"], warehouses].concat()).code(3);
        let error = ended.only_error();
        assert!(error.contains("permission denied for table") && error.contains("GRANT SELECT"), "{error}");
        assert!(!error.contains("CREATE"), "{error}");
    }
}

/// Makes certificates. Returns the settings of a server that uses them.
fn certificates(directory: &Path) -> Vec<String> {
    certificates::make(directory);
    let path = |name: &str| directory.join(name);
    // The server takes a key of its own user only.
    let (user, group) = postgres::shared().owner();
    chown(path("server.key"), Some(user), Some(group)).expect("the key's owner");
    fs::set_permissions(path("server.key"), fs::Permissions::from_mode(0o600)).expect("permissions");
    let file = |setting: &str, name: &str| format!("{setting}={}", text(&path(name)));
    vec!["ssl=on".into(), file("ssl_cert_file", "server.pem"), file("ssl_key_file", "server.key")]
}

/// A server with the certificates of a directory, which must live as long.
pub(crate) fn with_certificates() -> (Server, lydite_testkit::Directory) {
    let directory = scratch();
    let settings = certificates(directory.path());
    (Server::start(&settings.iter().map(String::as_str).collect::<Vec<_>>()), directory)
}

#[test]
fn a_certificate_of_a_private_ca_is_answered_with_how_to_trust_the_ca() {
    let (server, directory) = with_certificates();
    let path = |name: &str| directory.path().join(name);
    let url = format!("{}?sslmode=verify-full", server.url("postgres"));
    let trusting =
        |name: &str, url: &str| Program::new(&["check", url]).env("SSL_CERT_FILE", path(name)).run();

    for ca in ["other.pem", "missing.pem"] {
        let refused = trusting(ca, &url).code(3);
        let error = refused.only_error();
        assert!(
            error.contains("certificate of your CA (PEM) in the environment variable SSL_CERT_FILE"),
            "{error}"
        );
        assert!(!error.contains("sslmode"), "{error}");
    }
    let refused = trusting("ca.pem", &url.replace("127.0.0.1", "localhost")).code(3);
    let error = refused.only_error();
    assert!(error.contains("a host name that the certificate has") && !error.contains("sslmode"), "{error}");
    assert!(trusting("ca.pem", &url).code(2).only_error().contains("is empty"));

    let in_clear = format!("{}?sslmode=require", postgres::shared().url("postgres"));
    let refused = lydite(&["check", &in_clear]).code(3);
    assert!(
        refused.only_error().contains("the server offers no TLS: switch it on there, or "),
        "{refused:?}"
    );
}

/// Asserts that strings of other programs check the certificate of a server as these do, and prove the user.
fn pasted_strings_have_the_tls_of_their_programs(port: &str, root: &str, identity: &str) {
    let jdbc = format!("jdbc:postgresql://127.0.0.1:{port}/postgres?user=");
    let login = format!("port={port} dbname=postgres user=bound password=secret");
    for (string, words) in [
        (format!("{jdbc}bound&password=secret&ssl=true&sslrootcert={root}"), ""),
        (format!("{jdbc}certified&sslmode=verify-full&sslrootcert={root}&{identity}"), ""),
        (format!("host=127.0.0.1 {login} sslmode=verify-full sslrootcert='{root}'"), ""),
        (
            format!("host=localhost {login} sslmode=verify-ca sslrootcert='{root}' channel_binding=require"),
            "",
        ),
        (
            format!(
                "Host=127.0.0.1;Port={port};Database=postgres;Username=bound;Password=secret;SSL Mode=VerifyFull;\
                 Root Certificate={root}"
            ),
            "",
        ),
        (format!("postgresql+asyncpg://bound:secret@127.0.0.1:{port}/postgres?ssl=require"), ""),
        (format!("{jdbc}bound&password=secret&ssl=true"), "certificate of your CA"),
        (format!("host=localhost {login} sslmode=verify-full sslrootcert='{root}'"), "a host name that the"),
        // The server trusts those who come without TLS.
        (format!("{jdbc}bound&password=secret&ssl=false&sslmode=disable"), ""),
    ] {
        let ended = lydite(&["check", &string]).code(if words.is_empty() { 2 } else { 3 });
        let words = if words.is_empty() { "is empty: load it first" } else { words };
        assert!(ended.stderr.contains(words), "{string}: {ended:?}");
        assert!(!ended.stderr.contains("secret") && !ended.stdout.contains("secret"), "{ended:?}");
    }
}

#[test]
fn client_certificates_channel_binding_and_the_variables_of_libpq_work() {
    let directory = scratch();
    let path = |name: &str| text(&directory.path().join(name)).to_owned();
    let mut settings = certificates(directory.path());
    let access =
        "hostssl all certified all cert\nhostssl all bound all scram-sha-256\nhost all all all trust\n";
    fs::write(path("access"), access).expect("rules of access");
    settings.extend([format!("ssl_ca_file={}", path("ca.pem")), format!("hba_file={}", path("access"))]);
    let server = Server::start(&settings.iter().map(String::as_str).collect::<Vec<_>>());
    server.psql(
        "postgres",
        "CREATE ROLE certified LOGIN SUPERUSER; CREATE ROLE bound LOGIN SUPERUSER PASSWORD 'secret'",
    );
    let url = |user: &str, host: &str, options: &str| {
        format!("postgres://{user}@{host}:{}/postgres?{options}", server.port())
    };
    let check = |url: String| Program::new(&["check", &url]);
    // An empty database is what a connection that works finds.
    let works = |url: String| {
        let ended = check(url).env("LYDITE_PASSWORD", "secret").run().code(2);
        assert!(ended.only_error().contains("is empty"), "{ended:?}");
    };
    let (root, other) = (path("ca.pem"), path("other.pem"));
    let identity = format!("sslcert={}&sslkey={}", path("client.pem"), path("client.key"));
    works(url("certified", "127.0.0.1", &format!("sslmode=verify-full&sslrootcert={root}&{identity}")));
    // The certificate is not for this name, which only verify-full checks.
    works(url("certified", "localhost", &format!("sslmode=verify-ca&sslrootcert={root}&{identity}")));
    works(url("bound", "127.0.0.1", "sslmode=require&channel_binding=require"));
    works(url("bound", "127.0.0.1", "sslmode=require&channel_binding=disable"));

    for (target, code, problem) in [
        (url("certified", "127.0.0.1", "sslmode=require"), 3, "valid client certificate"),
        (
            url("bound", "localhost", &format!("sslmode=verify-full&sslrootcert={root}")),
            3,
            "a host name that the",
        ),
        // libpq checks the CA too if it has a file of it.
        (
            url("bound", "localhost", &format!("sslmode=require&sslrootcert={other}")),
            3,
            "name the file of the CA",
        ),
        (
            url("certified", "127.0.0.1", &format!("sslmode=require&sslcert={root}")),
            2,
            "sslcert needs the key",
        ),
        (url("postgres", "127.0.0.1", "channel_binding=require"), 3, "did not bind the password"),
        (url("bound", "127.0.0.1", "sslmode=verify-ca&sslrootcert=/nowhere.pem"), 2, "no such file"),
        (
            url("bound", "127.0.0.1", &format!("sslcert={}&sslkey={}", path("client.pem"), path("ca.key"))),
            2,
            "name the key of the certificate",
        ),
        (url("bound", "127.0.0.1", "connect_timeout=0"), 2, "connect_timeout=\"0\" must be a whole number"),
    ] {
        let ended = check(target).env("LYDITE_PASSWORD", "secret").run().code(code);
        assert!(ended.only_error().contains(problem), "{ended:?}");
    }

    let port = server.port().to_string();
    pasted_strings_have_the_tls_of_their_programs(&port, &root, &identity);

    // Whatever the URL leaves out comes from the environment.
    let variables = [
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", &port),
        ("PGUSER", "certified"),
        ("PGDATABASE", "named"),
        ("PGSSLMODE", "verify-full"),
        ("PGSSLROOTCERT", &root),
        ("PGSSLCERT", &path("client.pem")),
        ("PGSSLKEY", &path("client.key")),
        ("PGAPPNAME", "named by libpq"),
        ("PGOPTIONS", "-c log_connections=on"),
    ];
    let named = "CREATE DATABASE named";
    server.psql("postgres", named);
    let view = "CREATE VIEW warehouse AS SELECT current_setting('application_name') AS w_id";
    server.psql("named", view);
    let with =
        |program: Program| variables.iter().fold(program, |program, (name, value)| program.env(name, value));
    let ended = with(Program::new(&["check", "postgres:///"])).run().code(2);
    assert!(ended.only_error().contains("warehouse"), "{ended:?}");
    let wrong = with(Program::new(&["check", "postgres:///"])).env("PGPORT", "none").run().code(2);
    assert!(wrong.only_error().contains("PGPORT=\"none\" is not a port"), "{wrong:?}");
}

#[test]
fn a_schema_that_does_not_exist_is_told() {
    let server = postgres::shared();
    let url = format!("{}?schema=nowhere", server.create_database("no_schema"));
    for arguments in [
        vec!["load", &url, "--warehouses", "1", "--quiet"],
        vec!["run", &url, "--warehouses", "1", "--quiet"],
    ] {
        let ended = lydite(&arguments).code(3);
        let error = ended.only_error();
        assert!(error.contains("create the schema first"), "{error}");
    }
}

#[test]
fn more_sessions_than_the_server_takes_are_refused_before_anything_is_loaded() {
    let server = guarded();
    let url = server.create_database("crowded");
    for plan in [["--terminals", "13"].as_slice(), &["--mode", "open", "--rate", "5", "--sessions", "13"]] {
        let ended = lydite(&[&["run", &url, "--quiet"], plan].concat()).code(3);
        let error = ended.only_error();
        assert!(
            error.contains("takes 12 connections at most") && error.contains("has 13 sessions"),
            "{error}"
        );
        assert!(error.contains("use fewer sessions, or raise max_connections"), "{error}");
    }
    assert_eq!(server.psql("crowded", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}

#[test]
fn a_missing_or_wrong_password_is_told_and_a_host_that_is_refused() {
    let server = guarded();
    let port = server.port();
    for user in ["guarded", "hashed", "plain"] {
        let url = url_of(server, user, "postgres");
        let ended = lydite(&["check", &url]).code(3);
        let error = ended.only_error();
        assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
        assert!(error.contains(&format!("a password for user \"{user}\"")), "{error}");
        assert!(error.ends_with("give it in the URL, in LYDITE_PASSWORD or in ~/.pgpass"), "{error}");

        let ended = Program::new(&["check", &url]).env("LYDITE_PASSWORD", "wrong").run().code(3);
        let error = ended.only_error();
        assert!(error.contains("password authentication failed"), "{error}");
        assert!(
            error.ends_with("give the password in the URL, in LYDITE_PASSWORD or in ~/.pgpass"),
            "{error}"
        );
    }
    let ended = lydite(&["check", &url_of(server, "outcast", "postgres")]).code(3);
    assert!(ended.only_error().contains("pg_hba.conf"), "{ended:?}");
}

/// Fails if the password is anywhere in what was said.
fn assert_secret(ended: &Ended) {
    for said in [&ended.stdout, &ended.stderr] {
        assert!(
            !said.contains(PASSWORD) && !said.contains(PASSWORD_IN_URL) && !said.contains("pa55"),
            "{said}"
        );
    }
}

fn assert_secret_file(path: &Path) {
    let text = fs::read_to_string(path).expect("a file");
    assert!(!text.contains("pa55"), "the password is in {}", path.display());
}

#[test]
fn the_password_is_taken_from_the_url_the_environment_or_the_password_file() {
    let server = guarded();
    let port = server.port();
    let directory = scratch();
    let file = directory.path().join("pgpass");
    let escaped = PASSWORD.replace(':', "\\:");
    fs::write(&file, format!("# ours\nelsewhere:*:*:*:wrong\n127.0.0.1:{port}:*:*:{escaped}\n"))
        .expect("a password file");
    for user in ["guarded", "hashed", "plain"] {
        let url = url_of(server, user, "postgres");
        let with = format!("postgres://{user}:{PASSWORD_IN_URL}@127.0.0.1:{port}/postgres");
        for program in [
            Program::new(&["check", with.as_str()]),
            Program::new(&["check", &url]).env("LYDITE_PASSWORD", PASSWORD),
            Program::new(&["check", &url]).env("PGPASSFILE", &file),
        ] {
            // In, and the database is empty: that it says so shows that it was let in.
            let ended = program.run().code(2);
            assert!(ended.only_error().contains("is empty"), "{ended:?}");
            assert_secret(&ended);
        }
    }
}

#[test]
fn the_password_is_shown_nowhere_when_all_goes_well() {
    let server = guarded();
    server.psql("postgres", "CREATE DATABASE secret OWNER guarded");
    let url = format!("postgres://guarded:{PASSWORD_IN_URL}@127.0.0.1:{}/secret", server.port());
    let directory = scratch();
    let (result, page) = (directory.path().join("result.json"), directory.path().join("page.html"));
    let short =
        ["--warehouses", "1", "--size", "tiny", "--terminals", "2", "--duration", "1s", "--warmup", "0"];
    let files = ["--json", text(&result), "--report", text(&page)];
    let ended = lydite(&[["run", url.as_str()].as_slice(), &short, &files].concat()).code(0);
    assert_secret(&ended);
    for path in [&result, &page] {
        assert_secret_file(path);
    }
    let without = format!("postgres://guarded@127.0.0.1:{}/secret", server.port());
    assert_eq!(program::json(&result)["target"]["url"], without.as_str());
    for arguments in [["check", url.as_str(), "--checksums"], ["check", &url, "--quiet"]] {
        assert_secret(&lydite(&arguments).code(0));
    }
}

#[test]
fn the_password_is_shown_nowhere_when_things_go_wrong() {
    let server = guarded();
    let (open, closed) = (server.port(), lydite_testkit::free_port());
    let directory = scratch();
    let plan = directory.path().join("plan.toml");
    for (target, code) in [
        // Nobody there, a wrong password, no such database.
        (format!("postgres://guarded:{PASSWORD_IN_URL}@127.0.0.1:{closed}/tpcc"), 3),
        (format!("postgres://guarded:{PASSWORD_IN_URL}x@127.0.0.1:{open}/postgres"), 3),
        (format!("postgres://guarded:{PASSWORD_IN_URL}@127.0.0.1:{open}/nowhere"), 3),
        // Bad options, a bad port, a password where none can be, slips of the pen.
        (format!("postgres://guarded:{PASSWORD_IN_URL}@127.0.0.1:{open}/postgres?isolation=none"), 2),
        (format!("postgres://guarded:{PASSWORD_IN_URL}@127.0.0.1:99999/postgres"), 2),
        (format!("postgres://guarded:{PASSWORD_IN_URL}@/postgres"), 2),
        (format!("postgres:guarded:{PASSWORD_IN_URL}@127.0.0.1"), 2),
        (format!("postgres:guarded:{PASSWORD_IN_URL}@127.0.0.1/postgres"), 2),
        (format!("postgres:/guarded:{PASSWORD_IN_URL}@127.0.0.1/postgres"), 2),
        (format!("postgres://guarded:12/{PASSWORD_IN_URL}@127.0.0.1/postgres"), 2),
        (format!("postgres://guarded:12#{PASSWORD_IN_URL}@127.0.0.1/postgres"), 2),
        (format!("postgres://guarded:12?{PASSWORD_IN_URL}@127.0.0.1/postgres"), 2),
        (format!("postgres://guarded:12?{PASSWORD_IN_URL}=4@127.0.0.1/postgres"), 2),
        (format!("postgress://guarded:{PASSWORD_IN_URL}@127.0.0.1/postgres"), 2),
        (format!("postgres//guarded:{PASSWORD_IN_URL}@127.0.0.1/postgres"), 2),
    ] {
        fs::write(&plan, format!("target = \"{target}\"\n")).expect("a plan");
        for arguments in [
            vec!["check", &target],
            vec!["load", &target, "--warehouses", "1"],
            vec!["run", &target, "--warehouses", "1"],
            vec!["run", "--config", text(&plan), "--warehouses", "1"],
        ] {
            let ended = lydite(&arguments);
            assert_secret(&ended);
            assert_no_panic(&ended);
            assert_eq!(ended.code, Some(code), "{ended:?}");
        }
    }
}
