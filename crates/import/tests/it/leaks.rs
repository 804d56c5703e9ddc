//! No password gets out, whatever is wrong with a file.

use crate::files::{cases, imported};
use lydite_import::{Source, read_files};
use proptest::prelude::*;
use std::fs;

/// The password in all files.
const PASSWORD: &str = "hunter2";

/// Returns everything that an import of these bytes shows.
fn shown(bytes: &[u8]) -> String {
    match Source::from_bytes("a file", bytes) {
        Ok(source) => {
            let sources = [source];
            let plans = read_files(&sources);
            let all: Vec<String> = match &plans {
                Ok(imports) => imports
                    .iter()
                    .flat_map(|import| {
                        let settings = format!("{:?} {:?}", import.settings, import.notes);
                        [import.toml(), format!("{import:?}"), format!("{:?}", import.plan()), settings]
                    })
                    .collect(),
                Err(errors) => errors.iter().map(|error| format!("{error} {error:?}")).collect(),
            };
            all.join("\n")
        }
        Err(error) => format!("{error} {error:?}"),
    }
}

#[test]
fn no_file_shows_its_password() {
    for (case, files) in cases() {
        for path in &files {
            let shown = shown(&fs::read(path).unwrap());
            assert!(!shown.contains(PASSWORD), "{case}: {shown}");
        }
        let sources: Vec<Source> = files
            .iter()
            .map(|path| Source::from_bytes("a file", &fs::read(path).unwrap()).unwrap())
            .collect();
        assert!(!imported(&sources).contains(PASSWORD), "{case}");
    }
}

/// A password with a part that is found again: letters that end values and names in one form or another stand around it.
fn password() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        "", "@", ":", "/", "?", "#", "%", ";", "=", "&", "'", "\"", "\\", " ", "{", "}", "[", "]", "$", "<",
        ">", "|", "-", "ü", ",",
    ]);
    (special.clone(), special).prop_map(|(before, after)| format!("a{before}hunter2{after}b"))
}

#[test]
fn an_option_that_has_lost_the_mark_before_its_value_shows_no_password() {
    let run = |option: &str| format!("./tpcc.lua --threads=4 {option} run");
    for option in ["--colourhunter2", "--mysql-passwordhunter2", "--mysql_passwordhunter2", "--hunter2"] {
        let shown = shown(run(option).as_bytes());
        assert!(!shown.contains(PASSWORD) && shown.contains("does not know"), "{option}: {shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_other_password_in_its_place_gets_out(
        at in any::<prop::sample::Index>(), password in password(), quoted in any::<bool>(),
    ) {
        let all: Vec<_> = cases().into_values().flatten().collect();
        let path = at.get(&all);
        let Ok(text) = String::from_utf8(fs::read(path).unwrap()) else { return Ok(()) };
        // As one writes it who knows the form of the file, and as one who does not.
        let xml = text.starts_with('<');
        let password = match quoted {
            true if xml => password.replace('&', "&amp;").replace('<', "&lt;"),
            true => format!("'{}'", password.replace('\'', "")),
            false => password,
        };
        let shown = shown(text.replace(PASSWORD, &password).as_bytes());
        prop_assert!(!shown.contains(PASSWORD), "{}: {password}: {shown}", path.display());
    }

    #[test]
    fn a_file_that_is_cut_or_changed_anywhere_shows_no_password(
        at in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..4,
    ) {
        let all: Vec<_> = cases().into_values().flatten().collect();
        let path = at.get(&all);
        let mut bytes = fs::read(path).unwrap();
        let place = place.index(bytes.len());
        // A change within the password makes another one, which is not looked for.
        match how {
            0 => bytes.truncate(place),
            1 => drop(bytes.remove(place)),
            2 => bytes.insert(place, byte),
            _ => drop(bytes.drain(..place)),
        }
        let shown = shown(&bytes);
        prop_assert!(!shown.contains(PASSWORD), "{}: {shown}", path.display());
    }
}
