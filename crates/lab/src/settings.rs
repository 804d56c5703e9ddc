//! Settings of a lab's servers that the user chose (`--set`).

use lydite_console::exit::{Failure, Outcome};

/// Settings that a lab makes itself, in small letters and with `_`.
const OWN: [&str; 10] = [
    "port",
    "listen_addresses",
    "bind_address",
    "unix_socket_directories",
    "socket",
    "data_directory",
    "datadir",
    "pid_file",
    "log_error",
    "tmpdir",
];
/// Signs that mean something to a shell, an option file or a URL.
const SPECIAL: &str = "'\"\\&#?%`$";

/// Rejects texts that are no `NAME=VALUE`, and settings that the lab makes itself. The server knows the names and values.
pub(crate) fn check(settings: &[String]) -> Outcome {
    check_flag("--set", settings)
}

/// Rejects the same of another flag.
pub(crate) fn check_flag(flag: &str, settings: &[String]) -> Outcome {
    let problems: Vec<String> = settings
        .iter()
        .filter_map(|setting| problem(setting).map(|problem| format!("{flag} {setting}: {problem}")))
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(Failure::Usage(problems)) }
}

/// Returns the reason why no lab takes a setting.
pub(crate) fn problem(setting: &str) -> Option<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let is_value = |letter: char| (letter.is_ascii_graphic() || letter == ' ') && !SPECIAL.contains(letter);
    match setting.split_once('=') {
        Some((name, value)) if !name.is_empty() && name.chars().all(is_name) => {
            if OWN.contains(&name_of(name).as_str()) {
                Some(format!("the lab sets {name} itself: leave it out"))
            } else if !value.chars().all(is_value) {
                Some(format!("the value has a sign that is none of plain ASCII, or one of {SPECIAL}"))
            } else {
                None
            }
        }
        _ => Some("write NAME=VALUE, as the server's own setting".into()),
    }
}

/// Returns the name of a setting in small letters and with `_`.
pub(crate) fn name_of(setting: &str) -> String {
    let name = setting.split_once('=').map_or(setting, |(name, _)| name);
    name.to_ascii_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_names_with_values_and_none_of_the_labs_own() {
        let good =
            ["fsync=off", "innodb-flush-log-at-trx-commit=2", "auto_explain.log_min_duration=1 s", "a="];
        assert!(check(&good.map(str::to_owned)).is_ok());
        for (setting, word) in [
            ("fsync", "write NAME=VALUE"),
            ("=off", "write NAME=VALUE"),
            ("f sync=off", "write NAME=VALUE"),
            ("Port=5", "the lab sets Port itself"),
            ("pid-file=x", "the lab sets pid-file itself"),
            ("a=b'c", "the value has a sign"),
            ("a=b\nc", "the value has a sign"),
        ] {
            let problem = problem(setting).unwrap_or_else(|| panic!("{setting}"));
            assert!(problem.contains(word), "{setting}: {problem}");
        }
    }
}
