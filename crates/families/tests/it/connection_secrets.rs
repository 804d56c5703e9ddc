//! The secrets of connection strings come back in nothing that is printed, whatever is wrong with the strings.

use lydite_database::TxMode;
use lydite_families::TargetSpec;

const MARKER: &str = "S3cr3tM";

/// Forms of connection strings. `{p}` is the password as it stands there.
const FORMS: [&str; 20] = [
    "jdbc:postgresql://h1:5433,h2/db?user=u&password={p}&ssl=true&reWriteBatchedInserts=true",
    "jdbc:postgresql://u:{p}@h/db?sslmode=require",
    "jdbc:mysql://h/db?password={p}&user=u&useSSL=false",
    "jdbc:mysql://u:{p}@h/db?serverTimezone=UTC",
    "jdbc:mariadb://h/db?user=u&password={p}&sslMode=trust",
    "host=h user=u password={p} dbname=db sslmode=require",
    "password='{p}' host=h user=u dbname=db",
    "postgres://u:{p}@h/db?schema=s&connection_limit=5",
    "postgres://h/db?user=u&password={p}&sslmode=require",
    "postgresql+psycopg2://u:{p}@h:5432/db",
    "mysql2://u:{p}@h/db?encoding=utf8mb4",
    "mysql://u:{p}@h/db?sslaccept=strict&charset=utf8",
    "Host=h;Port=5432;Username=u;Password={p};Database=db;Pooling=true",
    "Server=h;Port=3306;Uid=u;Pwd=\"{p}\";Database=db",
    "u:{p}@tcp(h:3306)/db?parseTime=true&tls=true",
    "u:{p}@unix(/run/m.sock)/db",
    "Driver={PostgreSQL Unicode};Server=h;Database=db;UID=u;PWD={{p}};SSLmode=require",
    "DRIVER=MySQL ODBC;SERVER=h;DATABASE=db;UID=u;PWD={p}",
    "jdbc:mysql://u:{p}@address=(host=h)(port=1)/db?useSSL=false",
    "postgres://u:{p}@%2Frun%2Fpg/db?pool=1",
];

/// Characters with a meaning somewhere.
const SPECIAL: [char; 24] = [
    '@', ':', '/', '#', '?', '%', ';', '=', '&', '\'', '"', '\\', ' ', ',', '+', '(', ')', '[', ']', '{',
    '}', '$', 'ü', '\t',
];

/// A sequence of numbers that is the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }
}

/// Returns a password with the marker between special characters.
fn password(numbers: &mut Numbers) -> String {
    let mut any = |most: usize| -> String {
        let length = numbers.below(most + 1);
        (0..length).map(|_| SPECIAL[numbers.below(SPECIAL.len())]).collect()
    };
    let (begin, end) = (any(3), any(3));
    format!("a{begin}{MARKER}{end}b")
}

/// Returns all that a reading says.
fn said(text: &str) -> String {
    match TargetSpec::parse(text, TxMode::Statements) {
        Ok(spec) => format!(
            "{spec:?} {} {:?} {}",
            spec.without_password(text),
            spec.understood(),
            spec.notes().join(" ")
        ),
        Err(errors) => errors.join(" "),
    }
}

#[test]
fn no_secret_comes_back_whatever_is_cut_off_or_left_out() {
    let mut numbers = Numbers(7);
    let mut understood = 0;
    for form in FORMS {
        for _ in 0..150 {
            let text = form.replace("{p}", &password(&mut numbers));
            let letters: Vec<char> = text.chars().collect();
            let begin = form.find("{p}").expect("a place");
            let cut: String = letters[..numbers.below(letters.len())].iter().collect();
            // Without what is before it, a password may be a user.
            let without = begin + numbers.below(letters.len() - begin);
            let left: String = letters
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != without)
                .map(|(_, letter)| letter)
                .collect();
            understood += usize::from(TargetSpec::parse(&text, TxMode::Statements).is_ok());
            for text in [text, cut, left] {
                let said = said(&text);
                // Nothing tells a host from the end of a password with an @ before it.
                let in_host = text.rsplit_once('@').is_some_and(|(_, host)| host.contains(MARKER));
                assert!(!said.contains(MARKER) || in_host && !text.contains("password"), "{text}\n{said}");
            }
        }
    }
    assert!(understood > 300, "{understood}");
}

#[test]
fn a_text_is_known_as_the_secret_one_only_if_its_password_is_in_it() {
    let spec = |text: &str| TargetSpec::parse(text, TxMode::Statements).expect("a good string");
    for text in [
        "postgres://u:p@h/db",
        "host=h user=u password=it\\'s",
        "u:p@tcp(h)/db",
        "Host=h;Username=u;Password=p",
        // The URL writes the password otherwise.
        "Host=h;Username=u;Password=\"a\"\"b\"",
        "password='a\\'b' host=h user=u",
        "jdbc:postgresql://h/db?user=u&password=a+b%41",
        "postgres://u:%41@h/db",
    ] {
        assert!(spec(text).is_secret_of(text), "{text}");
        assert!(!spec(text).is_secret_of("postgres://u@h/db"), "{text}");
    }
    for text in ["postgres://u@h/db", "host=h user=u", "sqlite:a:b@c"] {
        assert!(!spec(text).is_secret_of(text), "{text}");
    }
    // The password of a service is in its file, even if its letters are in the text as well.
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("services");
    std::fs::write(&file, "[one]\nhost=h\nuser=u\npassword=s\n").expect("a file");
    let text = format!("service=one servicefile={}", file.display());
    let read = spec(&text);
    assert!(read.understood().is_some_and(|url| url.contains("u@h")), "{:?}", read.understood());
    assert!(!read.is_secret_of(&text));
}
