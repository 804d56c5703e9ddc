//! Targets that are no good URL hold a password somewhere: no error may repeat it, whatever is wrong.

use lydite_database::TxMode;
use lydite_families::TargetSpec;

const MARKER: &str = "S3cr3tM";

const SCHEMES: [&str; 6] = ["postgres", "mysql", "tidb", "redis", "etcd", "oracle"];

/// Passwords with what is special in URLs, in shells and in messages.
const PASSWORDS: [&str; 9] = [
    "S3cr3tM",
    "S3cr3tM/x",
    "x?S3cr3tM",
    "x#S3cr3tM&y",
    "p@S3cr3tM",
    "%53S3cr3tM%zz",
    "S3cr3tM:80",
    "x\"S3cr3tM",
    "a S3cr3tM",
];

/// Texts that people write instead of a URL, and mistakes in URLs. `{s}` is the scheme and `{p}` the password.
const FORMS: [&str; 24] = [
    "{s}://u:{p}",
    "{s}://u:{p}@",
    "{s}:u:{p}@h/db",
    "{s}:/u:{p}@h/db",
    "{s}//u:{p}@h/db",
    "{s};//u:{p}@h/db",
    "{s} ://u:{p}@h/db",
    "{s}://u:{p}@h:port/db",
    "{s}://u:{p}@h:99999/db",
    "{s}://u:{p}@h/db?bogus=1",
    "{s}://u:{p}@h/a/b/c",
    "{s}://u:{p}@[::1/db",
    "{s}://h/db?password={p}",
    "{s}://h/db?user=u&Pwd={p}",
    "jdbc:{s}://h/db?user=u&password={p}",
    "u:{p}@h/db",
    "{p}@h",
    "u:{p}@tcp(h:3306)/db",
    "host=h user=u password={p}",
    "host=h user=u password = '{p}' hostaddr=::1",
    "PASSWORD={p}",
    "Server=h;Uid=u;Pwd={p};",
    "{s} -h h -u u -p{p}",
    "PGPASSWORD={p} psql -h h",
];

#[test]
fn no_error_about_a_malformed_target_repeats_its_password() {
    let (mut rejected, mut seen) = (0, 0);
    for form in FORMS {
        for scheme in SCHEMES {
            for password in PASSWORDS {
                let target = form.replace("{s}", scheme).replace("{p}", password);
                // Nothing tells this password's end from a host.
                if form == "{s}://u:{p}" && password.contains('@') {
                    continue;
                }
                seen += 1;
                let shown = match TargetSpec::parse(&target, TxMode::Statements) {
                    Ok(spec) => format!("{spec:?} {}", spec.without_password(&target)),
                    Err(errors) => {
                        rejected += 1;
                        assert!(errors.iter().all(|error| !error.contains('\n')), "{errors:?}");
                        errors.join("; ")
                    }
                };
                assert!(!shown.contains(MARKER), "{target}: {shown}");
                if let Err(errors) = TargetSpec::parse_micro(&target) {
                    assert!(!errors.join("; ").contains(MARKER), "{target}: {errors:?}");
                }
            }
        }
    }
    assert!(seen > 1000 && rejected > 800, "{rejected} of {seen}");
}

#[test]
fn a_path_is_not_taken_for_a_user_of_a_server() {
    for target in ["sqlite://u:S3cr3tM@h/db", "gemel://u:S3cr3tM@h/db"] {
        let errors = TargetSpec::parse(target, TxMode::Statements).map(|_| ()).expect_err("a server");
        assert!(errors[0].contains("names a user of a server, but it takes a path"), "{errors:?}");
        assert!(!errors[0].contains(MARKER), "{errors:?}");
    }
}

#[test]
fn a_text_that_is_only_alike_a_connection_string_is_answered_with_a_url() {
    let error =
        |text: &str| TargetSpec::parse(text, TxMode::Statements).map(|_| ()).expect_err("no URL").join("; ");
    let told = error("connect host=db.example port=5433 user=me password=S3cr3tM dbname=tpcc");
    assert!(told.contains("write postgres://USER@HOST/DATABASE, and set LYDITE_PASSWORD"), "{told}");
}
