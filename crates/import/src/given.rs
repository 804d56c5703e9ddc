//! Settings as they stand in a file.

use crate::fate::Fate;
use std::fmt;

/// A setting as it stands in a file. Its `Debug` leaves out the value, which may be a password.
#[derive(Clone)]
pub(crate) struct Given {
    /// Name, in the words of the program.
    pub(crate) name: String,
    /// Value; the reason if the file only computes it.
    pub(crate) value: Result<String, NotLiteral>,
    /// True if the file has no value for it, so its name may be a name and a value without a mark between them.
    pub(crate) is_alone: bool,
    /// Line in the file, from 1; 0 for a default of the program, which stands nowhere.
    pub(crate) line: usize,
    /// Number of the group of settings that it belongs to, from 1; 0 without groups.
    pub(crate) group: usize,
    /// Number of the command of a script that it belongs to, from 1; 0 without commands.
    pub(crate) command: usize,
}

/// The reason why a file does not say a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotLiteral(pub(crate) &'static str);

impl Given {
    /// A setting with a value.
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>, line: usize) -> Self {
        let value = value.into();
        Self { name: name.into(), is_alone: value.is_empty(), value: Ok(value), line, group: 0, command: 0 }
    }

    /// A flag without a value, which stands for `true`.
    pub(crate) fn flag(name: impl Into<String>, line: usize) -> Self {
        Self { is_alone: true, ..Self::new(name, "true", line) }
    }

    /// A setting whose value the file computes.
    pub(crate) fn computed(name: impl Into<String>, reason: &'static str, line: usize) -> Self {
        Self {
            name: name.into(),
            value: Err(NotLiteral(reason)),
            is_alone: false,
            line,
            group: 0,
            command: 0,
        }
    }

    /// Returns a part of the value as a setting of its own, which is never a default.
    pub(crate) fn part(&self, value: impl Into<String>) -> Self {
        Self::new(self.name.clone(), value, self.line.max(1))
    }

    /// Puts the setting into a group.
    pub(crate) fn in_group(self, group: usize) -> Self {
        Self { group, ..self }
    }

    /// Puts the setting into a command of a script.
    pub(crate) fn in_command(self, command: usize) -> Self {
        Self { command, ..self }
    }

    /// Returns the value; empty if it is computed.
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default().trim()
    }

    /// True if the setting is a default of the program.
    pub(crate) fn is_default(&self) -> bool {
        self.line == 0
    }

    /// Returns the value of `true`, `yes`, `on`, `1` and their opposites.
    pub(crate) fn switch(&self) -> Option<bool> {
        switch(self.text())
    }

    /// Returns the fate that a function has for a switch.
    pub(crate) fn switched(&self, fate: impl FnOnce(bool) -> Fate) -> Fate {
        self.switch().map_or_else(|| Fate::unknown("must be true or false"), fate)
    }

    /// True if the value is this one, as a word, a number or a switch.
    pub(crate) fn is(&self, value: &str) -> bool {
        let number = |text: &str| text.parse::<f64>().ok();
        let same = |one: Option<f64>| one.is_some() && one == number(self.text());
        self.text().eq_ignore_ascii_case(value)
            || same(number(value))
            || (switch(value).is_some() && switch(value) == self.switch())
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on line {}", self.name, self.line)
    }
}
