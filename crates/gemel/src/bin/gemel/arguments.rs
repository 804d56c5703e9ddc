//! The arguments of a command: values in their places, and options by name.

use crate::failure::{Failure, Outcome};
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;

/// A command of the program.
pub(crate) struct Command {
    /// Name.
    pub(crate) name: &'static str,
    /// The arguments, as the help shows them.
    pub(crate) synopsis: &'static str,
    /// Lines of the help.
    pub(crate) help: &'static str,
    /// The possible numbers of values.
    pub(crate) places: RangeInclusive<usize>,
    /// The values in words.
    pub(crate) takes: &'static str,
    /// The options.
    pub(crate) options: &'static [Opt],
    /// The work. It returns the exit code.
    pub(crate) run: fn(&Arguments) -> Outcome<u8>,
}

/// An option of a command.
pub(crate) struct Opt {
    /// Name, with its dashes.
    pub(crate) name: &'static str,
    /// True if a value follows: `--limit 5` or `--limit=5`.
    pub(crate) has_value: bool,
}

/// Returns an option with a value.
pub(crate) const fn valued(name: &'static str) -> Opt {
    Opt { name, has_value: true }
}

/// Returns an option without a value.
pub(crate) const fn flag(name: &'static str) -> Opt {
    Opt { name, has_value: false }
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
}

/// The arguments behind the name of a command.
pub(crate) struct Arguments {
    command: &'static Command,
    /// The values in their places.
    given: Vec<OsString>,
    options: Vec<(&'static str, String)>,
}

impl Arguments {
    /// Sorts the arguments of a command into values and options. After `--` all are values.
    pub(crate) fn parse(command: &'static Command, arguments: &[OsString]) -> Outcome<Self> {
        let mut parsed = Self { command, given: Vec::new(), options: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let name = argument.to_str().filter(|text| is_option(text));
            match name {
                Some("--") => parsed.given.extend(rest.by_ref().cloned()),
                Some(text) => parsed.add_option(text, &mut rest)?,
                None => parsed.given.push(argument.clone()),
            }
        }
        if !command.places.contains(&parsed.given.len()) {
            return Err(parsed.misused(&format!("{} takes {}", command.name, command.takes)));
        }
        Ok(parsed)
    }

    fn add_option<'a>(&mut self, text: &str, rest: &mut impl Iterator<Item = &'a OsString>) -> Outcome {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let Some(option) = self.command.options.iter().find(|option| option.name == name) else {
            let command = self.command.name;
            return Err(self.misused(&format!("{command} has no option {name}, and a value goes behind --")));
        };
        if self.options.iter().any(|(known, _)| *known == name) {
            return Err(self.misused(&format!("{name} is given twice")));
        }
        let value = match (option.has_value, value) {
            (true, Some(value)) => value,
            (true, None) => {
                let next = rest.next().ok_or_else(|| self.misused(&format!("{name} needs a value")))?;
                let text = next.to_str();
                text.ok_or_else(|| self.misused(&format!("the value of {name} is not UTF-8")))?.to_owned()
            }
            (false, None) => String::new(),
            (false, Some(_)) => return Err(self.misused(&format!("{name} takes no value"))),
        };
        self.options.push((option.name, value));
        Ok(())
    }

    /// Returns the failure of a wrong use of this command.
    pub(crate) fn misused(&self, why: &str) -> Failure {
        Failure::Usage(format!("{why}: gemel {} {}", self.command.name, self.command.synopsis))
    }

    /// Returns the value in the first place: the path of the database.
    pub(crate) fn path(&self) -> &OsStr {
        self.at(0)
    }

    /// Returns the value in a place that the command requires.
    pub(crate) fn at(&self, place: usize) -> &OsStr {
        self.given.get(place).map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// Returns the values from a place on.
    pub(crate) fn texts(&self, from: usize) -> Outcome<Vec<&str>> {
        let mut texts = Vec::new();
        for value in self.given.iter().skip(from) {
            let wrong = || self.misused(&format!("{} is not UTF-8", value.display()));
            texts.push(value.to_str().ok_or_else(wrong)?);
        }
        Ok(texts)
    }

    /// Returns the value of an option, if it is given.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Returns true if an option is given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.option(name).is_some()
    }

    /// Returns the form of the output, which must be a `possible` one.
    pub(crate) fn format(&self, possible: &[Format]) -> Outcome<Format> {
        let format = match self.option("--format") {
            None | Some("text") => Some(Format::Text),
            Some("json") => Some(Format::Json),
            Some("csv") => Some(Format::Csv),
            Some(_) => None,
        };
        let given = self.option("--format").unwrap_or_default();
        let wrong = || self.misused(&format!("{} has no format {given}", self.command.name));
        format.filter(|format| possible.contains(format)).ok_or_else(wrong)
    }
}

/// Returns true for an option, and false for a value: a negative number, or `-`, the standard input.
fn is_option(text: &str) -> bool {
    let after = text.strip_prefix('-').and_then(|rest| rest.chars().next());
    after.is_some_and(|c| !c.is_ascii_digit() && c != '.') && text != "-inf"
}
