//! The URL of a driver: the command, and how many processes of it there may be.

use crate::registry::{OptionSpec, ParsedUrl};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a driver may be silent while an answer is waited for, unless the URL says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Options behind `?`.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "processes",
        values: "1 to 1000",
        default: "one for each session, or one if the driver serves several sessions in a process",
        about: "most processes of the driver; sessions are spread over them",
    },
    OptionSpec {
        name: "timeout",
        values: "a time, as 90s",
        default: "60s",
        about: "how long the driver may be silent while an answer is waited for",
    },
    OptionSpec {
        name: "log",
        values: "a file",
        default: "none; errors quote the last lines",
        about: "file to which everything is appended that the driver writes to its standard error",
    },
];

/// A driver's URL that has been found good; nothing has been started.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// The URL, passwords of URLs within it taken out.
    pub(crate) url: String,
    /// What messages begin with: `driver ./demo`.
    pub(crate) place: String,
    /// Most processes.
    pub(crate) processes: Option<u32>,
    /// Longest silence while an answer is waited for.
    pub(crate) timeout: Duration,
    /// Where the driver's standard error is kept.
    pub(crate) log: Option<PathBuf>,
}

impl Config {
    /// The program to start: a directory stands for the program `driver` in it.
    pub(crate) fn program(&self) -> PathBuf {
        let given = Path::new(&self.words[0]);
        if given.is_dir() { given.join("driver") } else { given.to_path_buf() }
    }
}

/// Reads `driver:COMMAND`.
pub(crate) fn parse(url: &ParsedUrl) -> Result<Config, Vec<String>> {
    let mut errors = Vec::new();
    let command = percent_encoding::percent_decode_str(&url.rest).decode_utf8_lossy().into_owned();
    let words = match shell_words::split(&command) {
        Ok(words) if words.first().is_some_and(|word| !word.is_empty()) => words,
        Ok(_) => {
            errors.push(
                "target driver: names no program: write for example driver:./demo or driver:'python3 demo.py'".into(),
            );
            Vec::new()
        }
        Err(_) => {
            errors.push("target driver: has a quotation mark without its other half in the command".into());
            Vec::new()
        }
    };
    let processes = url.options.get("processes").and_then(|text| match text.parse() {
        Ok(count @ 1..=1000) => Some(count),
        _ => {
            errors.push(format!("target option processes={text:?}: must be 1 to 1000"));
            None
        }
    });
    let timeout = match url.options.get("timeout") {
        None => TIMEOUT,
        Some(text) => seconds(text).unwrap_or_else(|| {
            errors.push(format!("target option timeout={text:?}: must be a time from 1s to 3600s, as 90s"));
            TIMEOUT
        }),
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let log = url.options.get("log").map(PathBuf::from);
    Ok(Config {
        place: format!("driver {}", without_passwords(&command)),
        url: without_passwords(&url.whole),
        words,
        processes,
        timeout,
        log,
    })
}

/// Whole seconds, with or without the unit.
fn seconds(text: &str) -> Option<Duration> {
    let number = text.strip_suffix('s').unwrap_or(text);
    number.parse().ok().filter(|count| (1..=3600).contains(count)).map(Duration::from_secs)
}

/// A text without the passwords of URLs in it: `postgres://user:secret@host` becomes `postgres://user@host`.
fn without_passwords(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find("://") {
        let (before, behind) = rest.split_at(begin + 3);
        clean.push_str(before);
        let end = behind.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(behind.len());
        // A password may hold an @, and in a careless URL a slash: then it is cut at the last @ of the word.
        let word_end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        let at = behind[..end].rfind('@').or_else(|| behind[..word_end].rfind('@'));
        rest = match at {
            Some(at) => {
                clean.push_str(behind[..at].split(':').next().unwrap_or_default());
                &behind[at..]
            }
            None => behind,
        };
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<Config, Vec<String>> {
        parse(&ParsedUrl::new(url, &mut Vec::new()))
    }

    #[test]
    fn a_command_is_cut_into_words_as_a_shell_does() {
        let config =
            parsed("driver:python3 'my driver.py' --limit%3F 5?processes=3&timeout=90s").expect("good");
        assert_eq!(config.words, ["python3", "my driver.py", "--limit?", "5"]);
        assert_eq!((config.processes, config.timeout), (Some(3), Duration::from_secs(90)));
    }

    #[test]
    fn what_is_wrong_is_told_all_at_once() {
        let errors = parsed("driver:?processes=0&timeout=soon").expect_err("bad");
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(parsed("driver:python3 'x").is_err());
    }

    #[test]
    fn passwords_within_the_command_are_not_shown() {
        for (given, shown) in [
            ("d --dsn postgres://u:secret@host/db --x", "d --dsn postgres://u@host/db --x"),
            ("d postgres://u:se@cret@host/db?a=b", "d postgres://u@host/db?a=b"),
            ("d postgres://u:se/cret@host/db", "d postgres://u@host/db"),
            ("d redis://:secret@host mysql://v:other@h", "d redis://@host mysql://v@h"),
            ("d http://host/x", "d http://host/x"),
        ] {
            assert_eq!(without_passwords(given), shown);
        }
    }
}
