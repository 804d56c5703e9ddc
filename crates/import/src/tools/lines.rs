//! Calls of a program in lines of a shell, in a script or alone.

use crate::given::Given;
use crate::source::Source;
use crate::syntax::shell::{self, Word};
use crate::table::Row;

/// Text for a value that only the shell knows.
pub(super) const COMPUTED: &str = "is a variable of the shell, whose value the file does not say";

/// A call of a program.
pub(super) struct Call {
    /// Variables of the environment that are set for it.
    pub(super) environment: Vec<Given>,
    /// The words behind the program's name.
    pub(super) arguments: Vec<Word>,
}

impl Call {
    /// True if `word` is among the arguments.
    pub(super) fn has(&self, word: &str) -> bool {
        self.arguments.iter().any(|argument| argument.text == word)
    }

    /// True if one of `words` is among the arguments.
    pub(super) fn has_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word))
    }

    /// Returns the first of `commands` that is among the arguments; `run` if none is.
    pub(super) fn command(&self, commands: &[&'static str]) -> &'static str {
        commands.iter().copied().find(|command| self.has(command)).unwrap_or("run")
    }

    /// Returns the line of the first word.
    pub(super) fn line(&self) -> usize {
        self.arguments.first().map_or(1, |word| word.line)
    }
}

/// Returns the calls of a program. `is_program` returns true for a word that names it.
pub(super) fn calls(source: &Source, is_program: impl Fn(&Word) -> bool) -> Vec<Call> {
    calls_at(source, |words| words.iter().position(&is_program))
}

/// Returns the calls of a program. `place` returns the place of the last word that names it among those of a command.
pub(super) fn calls_at(source: &Source, place: impl Fn(&[Word]) -> Option<usize>) -> Vec<Call> {
    let commands = shell::commands(&source.text);
    let call = |words: Vec<Word>| {
        let at = place(&words)?;
        // What stands before may set variables; `sudo`, `time` and the like are not the program's.
        let before = words.get(..at)?;
        let environment = before.iter().filter_map(variable).collect();
        Some(Call { environment, arguments: words.get(at + 1..)?.to_vec() })
    };
    commands.into_iter().filter_map(call).collect()
}

/// Puts an option of a call under its action if the table has rows for it under actions: `--threads` becomes
/// `run --threads`. `normal` returns a name as the table has it.
pub(super) fn under_action(given: Given, action: &str, rows: &[Row], normal: fn(&str) -> String) -> Given {
    let option = normal(&given.name);
    let is_of_actions = rows.iter().flat_map(Row::each).any(|name| option_of(name) == Some(option.as_str()));
    if is_of_actions { Given { name: format!("{action} {option}"), ..given } } else { given }
}

/// Returns the name of an option as the table has it: without its action if that has no row of its own.
pub(super) fn without_action(name: &str, rows: &[Row]) -> String {
    match option_of(name) {
        Some(option) if !rows.iter().flat_map(Row::each).any(|known| known == name) => option.to_owned(),
        _ => name.to_owned(),
    }
}

/// Returns the option in a name `ACTION --OPTION`.
fn option_of(name: &str) -> Option<&str> {
    name.split_once(' ').map(|(_, option)| option).filter(|option| option.starts_with("--"))
}

/// Returns a word `NAME=VALUE` as a setting.
fn variable(word: &Word) -> Option<Given> {
    let (name, value) = word.text.split_once('=')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    (!name.is_empty() && name.chars().all(is_name)).then(|| given(&format!("{name}="), value, word))
}

/// Returns a setting with the value of a word.
pub(super) fn given(name: &str, value: &str, word: &Word) -> Given {
    match word.computed {
        true => Given::computed(name, COMPUTED, word.line),
        false => Given::new(name, value, word.line),
    }
}

/// Reads flags of the form `--NAME VALUE` or `--NAME=VALUE`. `takes_value` returns true for a name that a value
/// follows, and `letter` the name of a short form. Other words go to `rest`.
pub(super) fn flags(
    call: &Call,
    takes_value: fn(&str) -> bool,
    letter: fn(char) -> Option<&'static str>,
    mut rest: impl FnMut(&Word) -> Option<Given>,
) -> Vec<Given> {
    let mut found = call.environment.clone();
    let mut words = call.arguments.iter().peekable();
    while let Some(word) = words.next() {
        let (text, value) = shell::split(word);
        let short = text.strip_prefix('-').filter(|short| !short.starts_with('-')).and_then(|short| {
            let mut letters = short.chars();
            let name = letters.next().and_then(letter)?;
            Some((name, letters.as_str()))
        });
        let (name, value) = match short {
            // `-pVALUE`, `-p=VALUE` and `-p VALUE`. A value may have an = of its own.
            Some((name, together)) => {
                let whole = word.text.get(2..).unwrap_or_default();
                let whole = whole.strip_prefix('=').unwrap_or(whole);
                (name, (!together.is_empty() || value.is_some()).then_some(whole))
            }
            None if text.starts_with("--") => (text, value),
            None => {
                found.extend(rest(word));
                continue;
            }
        };
        found.push(match value {
            Some(value) => given(name, value, word),
            None if takes_value(name) => match words.next() {
                Some(value) => given(name, &value.text, value),
                None => Given::new(name, "", word.line),
            },
            None => Given::flag(name, word.line),
        });
    }
    found
}
