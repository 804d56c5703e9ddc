//! The URL of a driver: the command, and the limit of its processes. A server that speaks the protocol has an address
//! instead.

use super::secrets::without_secrets;
use crate::duration::timeout;
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{TargetError, secret};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xxhash_rust::xxh3::Xxh3;

/// Default of the longest silence of a driver while an answer is awaited.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Options after `?`.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "processes",
        values: "1 to 1000",
        default: "one for each session, or one if the driver serves several sessions in a process",
        about: "most processes of the driver; sessions are spread over them",
    },
    OptionSpec {
        name: "timeout",
        values: "a time from 1s to 1h, such as 90s",
        default: "60s",
        about: "longest silence of the driver before an answer",
    },
    OptionSpec {
        name: "path",
        values: "a file, such as mydriver.py",
        default: "none",
        about: "driver:pytpcc: the driver written for py-tpcc",
    },
    OptionSpec {
        name: "config",
        values: "a file",
        default: "the driver's own defaults",
        about: "driver:pytpcc: its configuration, as py-tpcc reads it",
    },
    OptionSpec {
        name: "ddl",
        values: "a file",
        default: "none",
        about: "driver:pytpcc: the file with the tables that py-tpcc hands to drivers",
    },
    OptionSpec {
        name: "guarantee",
        values: "none, per-key, atomic, optimistic, serializable",
        default: "atomic",
        about: "driver:pytpcc: guarantee of its transactions, which py-tpcc does not report",
    },
    OptionSpec {
        name: "python",
        values: "a program",
        default: "python3",
        about: "driver:pytpcc: the Python that runs it",
    },
    OptionSpec {
        name: "log",
        values: "a file",
        default: "none; errors quote the last lines",
        about: "file to which the driver's standard error is appended",
    },
];

/// A valid URL of a driver. Nothing has been started.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The URL without secrets.
    pub(crate) url: String,
    /// Beginning of messages: `driver ./demo`.
    pub(crate) place: String,
    /// Longest silence while an answer is awaited.
    pub(crate) timeout: Duration,
    pub(crate) reach: Reach,
}

/// The other side of the protocol.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    /// A program that Lydite starts.
    Program(Program),
    /// A server that runs already.
    Server(Address),
}

/// The address of a server. Its `Debug` shows no password.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) password: Option<String>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// A driver's program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// Most processes.
    pub(crate) processes: Option<u32>,
    /// File that receives the driver's standard error.
    pub(crate) log: Option<PathBuf>,
    /// Environment variables of the shim, for a driver for py-tpcc.
    pub(crate) pytpcc: Option<Vec<(&'static str, PathBuf)>>,
}

/// Command that stands for the shim of py-tpcc's drivers.
const PYTPCC: &str = "pytpcc";
const GUARANTEES: [&str; 5] = ["atomic", "none", "per-key", "optimistic", "serializable"];

/// Reads the options of a driver for py-tpcc. Returns the program with its arguments, and its environment variables.
fn pytpcc(url: &ParsedUrl, errors: &mut Vec<String>) -> (Vec<String>, Vec<(&'static str, PathBuf)>) {
    let mut variables = Vec::new();
    for (name, variable) in
        [("path", "LYDITE_PYTPCC_PATH"), ("config", "LYDITE_PYTPCC_CONFIG"), ("ddl", "LYDITE_PYTPCC_DDL")]
    {
        match url.options.get(name) {
            Some(text) if Path::new(text).is_file() => variables.push((variable, PathBuf::from(text))),
            Some(text) => errors.push(format!("target option {name}={text:?}: no such file")),
            None if name == "path" => {
                errors.push("driver:pytpcc needs path: driver:pytpcc?path=…/mydriver.py".into());
            }
            None => {}
        }
    }
    let guarantee = url.choice("guarantee", &GUARANTEES, errors);
    variables.push(("LYDITE_PYTPCC_GUARANTEE", PathBuf::from(guarantee)));
    let python = url.options.get("python").map_or("python3", String::as_str);
    let words = [python, "-m", "lydite.pytpcc"].map(str::to_string).to_vec();
    (words, variables)
}

impl Program {
    /// Returns the program to start. A directory stands for the program `driver` in it.
    pub(crate) fn program(&self) -> PathBuf {
        let given = Path::new(&self.words[0]);
        if given.is_dir() { given.join("driver") } else { given.to_path_buf() }
    }

    /// Returns a number that identifies the driver: its command, and the contents of the files that the command names.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = Xxh3::new();
        let program = self.program();
        let variables = self.pytpcc.iter().flatten().map(|(_, value)| value.as_path());
        let parts = [program.as_path()].into_iter().chain(self.words.iter().map(Path::new)).chain(variables);
        for part in parts {
            let name = part.as_os_str().as_encoded_bytes();
            hash.update(&name.len().to_le_bytes());
            hash.update(name);
            // Anything else than a readable file is known by its name alone.
            if part.is_file()
                && let Ok(contents) = std::fs::read(part)
            {
                hash.update(&contents.len().to_le_bytes());
                hash.update(&contents);
            }
        }
        hash.digest()
    }

    /// Checks that the program exists, before anything is started.
    ///
    /// # Errors
    /// The program does not exist. The error is one line that names the places where Lydite looked.
    pub(crate) fn find(&self, place: &str) -> Result<(), TargetError> {
        let program = self.program();
        // It may be a password that somebody put before the program.
        let name = secret::shown(&program.display().to_string());
        let hint = if program.components().count() > 1 || program.is_absolute() {
            if program.exists() {
                return Ok(());
            }
            "look at the command in the URL".to_owned()
        } else {
            let search = std::env::var_os("PATH").unwrap_or_default();
            if std::env::split_paths(&search).any(|directory| directory.join(&program).is_file()) {
                return Ok(());
            }
            if program.is_file() {
                format!("write ./{name} for the file in this directory")
            } else {
                "look at the command in the URL, and at PATH".to_owned()
            }
        };
        Err(TargetError::usage(format!("{place}: the program {name} is not found: {hint}")))
    }
}

/// Reads `driver:COMMAND`.
pub(crate) fn parse(url: &ParsedUrl) -> Result<Config, Vec<String>> {
    let mut errors = Vec::new();
    let command = percent_encoding::percent_decode_str(&url.rest).decode_utf8_lossy().into_owned();
    let variables = if command == PYTPCC { Some(pytpcc(url, &mut errors)) } else { None };
    if variables.is_none() {
        for name in ["path", "config", "ddl", "guarantee", "python"] {
            if url.options.contains_key(name) {
                errors.push(format!(
                    "target option {name:?} is for driver:pytpcc: give other drivers arguments, as in \
                     driver:'./demo --{name} x'"
                ));
            }
        }
    }
    let words = match shell_words::split(&command) {
        Ok(words) if words.first().is_some_and(|word| !word.is_empty()) => words,
        Ok(_) => {
            errors.push(
                "target driver: names no program: write for example driver:./demo or driver:'python3 demo.py'".into(),
            );
            Vec::new()
        }
        Err(_) => {
            errors.push("target driver: has an unclosed quotation mark in the command".into());
            Vec::new()
        }
    };
    // `driver:DIR?log=f host=db1`: the words after the option would silently become a part of its value.
    let options = url.whole.split_once('?').map_or("", |(_, options)| options);
    if variables.is_none() && options.contains(char::is_whitespace) {
        errors.push(
            "target driver: no argument can follow an option: write the driver's arguments before the question mark, \
             and %20 for a space in an option"
                .into(),
        );
    }
    let processes = url.options.get("processes").and_then(|text| match text.parse() {
        Ok(count @ 1..=1000) => Some(count),
        _ => {
            errors.push(format!("target option processes={text:?}: must be 1 to 1000"));
            None
        }
    });
    let timeout = match url.options.get("timeout") {
        None => TIMEOUT,
        Some(text) => timeout(text).unwrap_or_else(|problem| {
            errors.push(problem);
            TIMEOUT
        }),
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let log = url.options.get("log").map(PathBuf::from);
    let (words, pytpcc) = match variables {
        Some((words, variables)) => (words, Some(variables)),
        None => (words, None),
    };
    let shown = without_secrets(&command);
    Ok(Config {
        place: format!("driver {shown}"),
        url: if shown == command {
            url.whole.clone()
        } else {
            let options = url.whole.find('?').map_or("", |options| &url.whole[options..]);
            format!("driver:{shown}{options}")
        },
        timeout,
        reach: Reach::Program(Program { words, processes, log, pytpcc }),
    })
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
        assert_eq!(config.timeout, Duration::from_secs(90));
        let Reach::Program(program) = config.reach else { panic!("a program") };
        assert_eq!(program.words, ["python3", "my driver.py", "--limit?", "5"]);
        assert_eq!(program.processes, Some(3));
    }

    #[test]
    fn what_is_wrong_is_told_all_at_once() {
        let errors = parsed("driver:?processes=0&timeout=soon").expect_err("bad");
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(parsed("driver:python3 'x").is_err());
    }

    #[test]
    fn arguments_after_an_option_are_rejected() {
        let errors = parsed("driver:./demo?log=f host=db1").expect_err("bad");
        assert!(errors[0].contains("no argument can follow an option"), "{errors:?}");
        let Reach::Program(program) = parsed("driver:./demo host=db1?log=a%20b").expect("good").reach else {
            panic!("a program")
        };
        assert_eq!(program.log, Some(PathBuf::from("a b")));
    }

    #[test]
    fn secrets_of_the_command_are_hidden_and_options_stay() {
        for (given, shown) in [
            (
                "driver:d postgres%3A%2F%2Fu%3Asecret%40host?processes=2",
                "driver:d postgres://u@host?processes=2",
            ),
            ("driver:d --password se%3Fcret?processes=2", "driver:d --password ***?processes=2"),
            ("driver:d%20--pass%20secret", "driver:d --pass ***"),
            ("driver:d%20x http://host/x", "driver:d%20x http://host/x"),
        ] {
            assert_eq!(parsed(given).expect("good").url, shown);
        }
    }
}
