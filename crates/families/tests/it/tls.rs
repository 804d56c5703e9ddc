//! TLS to a MariaDB server: the modes, the CA, and the client's certificate.

use crate::playing::open;
use lydite_database::TxMode;
use lydite_testkit::certificates;
use lydite_testkit::mariadb::{FAST, Server};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn mysqls_options_of_tls_check_the_server_and_prove_the_user() {
    let directory = tempfile::tempdir().expect("a directory");
    certificates::make(directory.path());
    let path = |name: &str| directory.path().join(name).display().to_string();
    // The server's user reads it.
    fs::set_permissions(path("server.key"), fs::Permissions::from_mode(0o644)).expect("permissions");
    let settings = [("ssl-ca", "ca.pem"), ("ssl-cert", "server.pem"), ("ssl-key", "server.key")]
        .map(|(setting, name)| format!("{setting}={}", path(name)));
    let settings: Vec<&str> = FAST.into_iter().chain(settings.iter().map(String::as_str)).collect();
    let server = Server::start(&settings);
    let _url = server.create_database("secured");
    for (user, needs) in [("certified", "SUBJECT '/CN=certified'"), ("encrypted", "SSL")] {
        server.sql("mysql", &format!("CREATE USER {user} REQUIRE {needs}; GRANT ALL ON *.* TO {user}"));
    }
    let described = |user: &str, host: &str, options: &str| {
        let url = format!("mariadb://{user}@{host}:{}/secured?{options}", server.port());
        open(&url, TxMode::Statements).describe().map(|_| ()).map_err(|error| error.message)
    };
    let (ca, other) = (format!("ssl-ca={}", path("ca.pem")), format!("ssl-ca={}", path("other.pem")));
    let identity = format!("ssl-cert={}&ssl-key={}", path("client.pem"), path("client.key"));
    for (user, host, options) in [
        ("encrypted", "127.0.0.1", "ssl-mode=REQUIRED".to_owned()),
        ("encrypted", "127.0.0.1", String::new()),
        ("encrypted", "127.0.0.1", format!("ssl-mode=verify_identity&{ca}")),
        // The certificate is not for this name, which only VERIFY_IDENTITY checks.
        ("encrypted", "localhost", format!("sslmode=verify-ca&{ca}")),
        ("certified", "127.0.0.1", format!("ssl-mode=VERIFY_CA&{ca}&{identity}")),
        ("certified", "127.0.0.1", identity.clone()),
    ] {
        assert_eq!(described(user, host, &options), Ok(()), "{user}@{host} {options}");
    }
    let port = server.port();
    let pasted = |string: String| {
        open(&string, TxMode::Statements).describe().map(|_| ()).map_err(|error| error.message)
    };
    for string in [
        format!("jdbc:mariadb://127.0.0.1:{port}/secured?user=encrypted&sslMode=trust"),
        format!("jdbc:mysql://127.0.0.1:{port}/secured?user=encrypted&useSSL=true&requireSSL=true"),
        format!("encrypted@tcp(127.0.0.1:{port})/secured?tls=skip-verify"),
        format!(
            "Server=127.0.0.1;Port={port};Uid=encrypted;Database=secured;SslMode=VerifyFull;SslCa={}",
            path("ca.pem")
        ),
        format!("mysql+pymysql://encrypted@127.0.0.1:{port}/secured?ssl_ca={}", path("ca.pem")),
    ] {
        assert_eq!(pasted(string.clone()), Ok(()), "{string}");
    }
    for (string, problem) in [
        (format!("encrypted@tcp(127.0.0.1:{port})/secured"), "Access denied"),
        (format!("jdbc:mysql://127.0.0.1:{port}/secured?user=encrypted&useSSL=false"), "Access denied"),
        (format!("encrypted@tcp(127.0.0.1:{port})/secured?tls=true"), "certificate of your CA"),
        (format!("mysql://encrypted@127.0.0.1:{port}/secured?sslaccept=strict"), "certificate of your CA"),
    ] {
        let refused = pasted(string.clone()).expect_err(&string);
        assert!(refused.contains(problem), "{string}: {refused}");
    }
    for (user, host, options, problem) in [
        ("encrypted", "127.0.0.1", "ssl-mode=DISABLED".to_owned(), "Access denied"),
        ("certified", "127.0.0.1", format!("ssl-mode=VERIFY_CA&{ca}"), "Access denied"),
        ("encrypted", "127.0.0.1", format!("ssl-mode=VERIFY_CA&{other}"), "name the file of the CA"),
        ("encrypted", "127.0.0.1", format!("ssl-mode=REQUIRED&{other}"), "name the file of the CA"),
        (
            "encrypted",
            "localhost",
            format!("ssl-mode=VERIFY_IDENTITY&{ca}"),
            "a host name that the certificate",
        ),
    ] {
        let refused = described(user, host, &options).expect_err(&options);
        assert!(refused.contains(problem), "{user}@{host} {options}: {refused}");
    }
}
