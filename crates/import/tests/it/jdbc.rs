//! JDBC URLs mean in files what they mean as targets of commands.

use lydite_families::TargetSpec;
use lydite_import::{Import, Kind, Source, read_files};
use std::collections::BTreeSet;

/// JDBC URLs without a password, and a part of the URL that each means.
const STRINGS: [(&str, &str); 20] = [
    (
        "jdbc:postgresql://h1:5433,h2/db?user=u&ssl=true&currentSchema=s&reWriteBatchedInserts=true\
         &targetServerType=primary",
        "@h1:5433,h2:5432/db?",
    ),
    ("jdbc:postgresql://h/db?user=u", "sslmode=prefer"),
    ("jdbc:postgresql:db?user=u", "@localhost:5432/db"),
    (
        "jdbc:postgresql://h/db?user=u&ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory",
        "sslmode=require",
    ),
    ("jdbc:postgresql://h/db?user=u&socketTimeout=30&connectTimeout=5", "statement_timeout=30s"),
    ("jdbc:postgresql://h/db?user=u&ApplicationName=bench&sslmode=disable", "application_name=bench"),
    ("jdbc:postgresql://h:6432/db?user=u&prepareThreshold=0", "statements=unprepared"),
    ("jdbc:yugabytedb://h/db?user=u&prepareThreshold=0", "yugabyte://u@h:5433/db?sslmode=prefer"),
    ("jdbc:mysql://h/db?user=u", "sslmode=prefer"),
    ("jdbc:mysql://h/db?user=u&useSSL=true", "sslmode=prefer"),
    ("jdbc:mysql://h/db?user=u&useSSL=true&requireSSL=true", "sslmode=require"),
    ("jdbc:mysql://h/db?user=u&useSSL=true&verifyServerCertificate=true", "sslmode=verify-ca"),
    ("jdbc:mysql://h/db?user=u&useSSL=false&transactionIsolation=READ-COMMITTED", "isolation=read-committed"),
    ("jdbc:mariadb://h/db?user=u", "sslmode=disable"),
    ("jdbc:mariadb://h/db?user=u&useSSL=true", "sslmode=verify-full"),
    ("jdbc:mariadb://h/db?user=u&useSsl=true&trustServerCertificate=true", "sslmode=require"),
    ("jdbc:mariadb://[::1]:3307/db?user=u&sslMode=verify-ca&serverSslCert=/etc/ca.pem", "ssl-ca=/etc/ca.pem"),
    ("jdbc:mariadb:///db?user=u&localSocket=/run/m.sock", "@/db?"),
    ("jdbc:oceanbase://h:2881/db?user=u", "oceanbase://u@h:2881/db?"),
    ("jdbc:sqlite:/tmp/a.db?synchronous=NORMAL", "sqlite:/tmp/a.db?synchronous=normal"),
];

/// Returns what an import makes of a file of BenchmarkSQL with this JDBC URL.
fn import(string: &str) -> Import {
    let text = format!("driver=some.Driver\nconn={string}\nwarehouses=1\n");
    let source = Source::from_bytes("f", text.as_bytes()).unwrap();
    read_files(&[source]).unwrap().pop().unwrap()
}

/// Returns a URL and its options, which have no order.
fn parts(url: &str) -> (&str, BTreeSet<&str>) {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    (place, options.split('&').collect())
}

/// Returns the kind and the text of a parameter's fate.
fn fate<'a>(import: &'a Import, parameter: &str) -> (Kind, &'a str) {
    let name = format!("conn {parameter}");
    let setting = import.settings.iter().find(|setting| setting.name == name);
    let setting = setting.unwrap_or_else(|| panic!("{name}: {:?}", import.settings));
    (setting.fate.kind, &setting.fate.text)
}

#[test]
fn an_import_makes_the_url_that_a_command_makes_of_the_same_string() {
    for (string, part) in STRINGS {
        let of_command = TargetSpec::url_of(string);
        let import = import(string);
        let of_import = import.target.as_deref().unwrap_or_else(|| panic!("{string}: {:?}", import.settings));
        assert!(of_command.contains(part), "{string}: {of_command}");
        assert_eq!(parts(of_import), parts(&of_command), "{string}");
        assert_eq!(import.not_understood().count(), 0, "{string}: {:?}", import.settings);
    }
}

#[test]
fn each_parameter_has_a_fate_with_the_value_in_the_url_or_the_reason() {
    let import = import(
        "jdbc:postgresql://h/db?ssl=true&tcpKeepAlive=true&requireAuth=scram&loadBalanceHosts=true&unheard=1\
         &sslNegotiation=postgres&user=u&password=hunter2",
    );
    assert_eq!(fate(&import, "ssl"), (Kind::Translated, "the URL's sslmode=verify-full"));
    assert_eq!(fate(&import, "user"), (Kind::Translated, "the URL's user"));
    assert_eq!(fate(&import, "loadBalanceHosts").0, Kind::Translated);
    assert_eq!(fate(&import, "password").0, Kind::Secret);
    for (parameter, kind, words) in [
        ("tcpKeepAlive", Kind::Dropped, "gives a host up after 30 s"),
        ("requireAuth", Kind::NoCounterpart, "can't restrict the login"),
        ("unheard", Kind::NotUnderstood, "is not known"),
    ] {
        let (found, text) = fate(&import, parameter);
        assert!(found == kind && text.contains(words), "{parameter}: {found:?} {text}");
    }
    assert_eq!(import.target.as_deref(), Some("postgres://u@h:5432/db?sslmode=verify-full"));
    assert!(import.has_password() && !import.toml().contains("hunter2"), "{}", import.toml());
}

#[test]
fn a_value_that_nobody_knows_is_not_understood_and_the_rest_of_the_url_stays() {
    let import = import("jdbc:mysql://u:hunter2@h:3307/db?sslMode=hunter2&transactionIsolation=SERIALIZABLE");
    let (kind, text) = fate(&import, "sslMode");
    assert!(kind == Kind::NotUnderstood && text.contains("VERIFY_IDENTITY"), "{kind:?} {text}");
    assert_eq!(import.target.as_deref(), Some("mysql://u@h:3307/db?isolation=serializable"));
    assert_eq!(fate(&import, "password").0, Kind::Secret);
    assert!(!format!("{import:?}{}", import.toml()).contains("hunter2"), "{}", import.toml());
}

#[test]
fn a_password_that_went_into_another_part_of_the_url_makes_no_url() {
    for string in [
        "jdbc:mariadb://h/db?user=benchpassword=hunter2",
        "jdbc:postgresql://h/db?ApplicationName=xpassword=hunter2",
        "jdbc:postgresql://h/dbuser=u&password=hunter2",
        "jdbc:mysql://u:p/hunter2@h/db",
    ] {
        let import = import(string);
        let shown = format!("{import:?} {} {:?}", import.toml(), import.plan());
        assert!(!shown.contains("hunter2"), "{string}: {shown}");
        assert!(import.target.is_none(), "{string}: {:?}", import.target);
        assert!(import.not_understood().any(|setting| setting.name == "conn"), "{string}: {shown}");
    }
}

#[test]
fn two_users_are_noted_and_one_that_is_named_twice_is_not() {
    let notes = |user: &str| {
        let text =
            format!("conn=jdbc:mariadb://h/db?user=bob\nuser={user}\nwarehouses=1\ndriver=some.Driver\n");
        let source = Source::from_bytes("f", text.as_bytes()).unwrap();
        let import = read_files(&[source]).unwrap().pop().unwrap();
        import.toml().lines().any(|line| line.contains("two users are named"))
    };
    assert!(notes("bmsql") && !notes("bob"));
}
