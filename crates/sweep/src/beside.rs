//! Keys of a point that are none of its plan: settings of a lab's servers, and commands before and after each run. They
//! may stand at the top of the file, in `[plan]`, in `[axes]` and in points, like the keys of a plan.

use crate::command;
use crate::setting::Setting;
use lydite_database::secret;
use lydite_lab::{LabTarget, Trial};
use lydite_plan::controls::faults::addresses_of;
use lydite_plan::source::{Entry, Source};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The key of the command before each run.
pub(crate) const BEFORE: &str = "before";
/// The key of the command after each run.
pub(crate) const AFTER: &str = "after";
/// The keys of commands.
pub(crate) const COMMANDS: [&str; 2] = [BEFORE, AFTER];
/// The table of the servers' settings.
pub(crate) const SERVER: &str = "server";
/// The prefix of keys that are a setting of the servers.
const SERVER_PREFIX: &str = "server.";

/// Everything that is around the runs of a point.
#[derive(Debug)]
pub(crate) struct Beside {
    /// Settings of the lab's servers, each as `NAME=VALUE`.
    pub(crate) server: Vec<String>,
    /// Shell command before each run.
    pub(crate) before: Option<String>,
    /// Shell command after each run.
    pub(crate) after: Option<String>,
}

impl Beside {
    /// Takes them from the settings of a point.
    pub(crate) fn of(settings: &BTreeMap<&str, &Setting>) -> Self {
        let command = |key: &str| settings.get(key).map(|setting| setting.text.clone());
        let server = settings.values().filter_map(|setting| of_server(setting));
        Self { server: server.collect(), before: command(BEFORE), after: command(AFTER) }
    }

    /// Returns its keys with their values, without secrets.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let server = self.server.iter().filter_map(|setting| setting.split_once('='));
        let server = server.map(|(name, value)| (format!("{SERVER_PREFIX}{name}"), value.to_owned()));
        let commands = [(BEFORE, &self.before), (AFTER, &self.after)].into_iter();
        let commands =
            commands.filter_map(|(key, command)| Some((key.to_owned(), shown(key, command.as_ref()?))));
        server.chain(commands)
    }

    /// Returns the whole commands for a digest; an empty text without commands.
    pub(crate) fn digested(&self) -> String {
        let commands = [&self.before, &self.after];
        if commands.iter().all(|command| command.is_none()) {
            String::new()
        } else {
            format!("{commands:?}\n")
        }
    }

    /// Returns the settings of the servers as the user wrote them.
    pub(crate) fn given(&self) -> String {
        let settings: Vec<String> =
            self.server.iter().map(|setting| format!("{SERVER_PREFIX}{setting}")).collect();
        settings.join(" ")
    }
}

/// Returns true for a key of this file.
pub(crate) fn is_key(key: &str) -> bool {
    is_of_server(key) || COMMANDS.contains(&key)
}

/// Returns true for the key of a setting of the servers.
pub(crate) fn is_of_server(key: &str) -> bool {
    key.strip_prefix(SERVER_PREFIX).is_some_and(|name| !name.is_empty())
}

/// Returns a setting of the servers as `NAME=VALUE`; none for other keys.
fn of_server(setting: &Setting) -> Option<String> {
    setting.key.strip_prefix(SERVER_PREFIX).map(|name| format!("{name}={}", setting.text))
}

/// Returns a value as labels and documents show it: commands in one line, without secrets.
pub(crate) fn shown(key: &str, text: &str) -> String {
    if !COMMANDS.contains(&key) {
        return text.to_owned();
    }
    let line: String =
        text.trim().chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    secret::shown_fault(&line)
}

/// Returns the name of the variable that tells a command a value of its point.
pub(crate) fn variable(name: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("LYDITE_POINT_{}", name.chars().map(letter).collect::<String>())
}

/// Returns the entries at the top of the file with their whole keys: single values and lists.
pub(crate) fn at_the_top<'t, 'd>(source: &mut Source, document: &'t DeTable<'d>) -> Vec<Entry<'t, 'd>> {
    let mut all = Vec::new();
    for entry in source.entries(document) {
        match (entry.key.as_str(), entry.value) {
            (SERVER, DeValue::Table(table)) => {
                let leaves = source.leaves(table).into_iter();
                all.extend(leaves.map(|leaf| Entry { key: format!("{SERVER_PREFIX}{}", leaf.key), ..leaf }));
            }
            (SERVER, _) => {
                source.wrong(
                    entry.line,
                    SERVER,
                    "must be a table: server = { NAME = VALUE, NAME = [VALUE, VALUE] }",
                );
            }
            (key, _) if COMMANDS.contains(&key) => all.push(entry),
            _ => {}
        }
    }
    all
}

/// Rejects commands that the shell can't read, and settings that no server takes.
pub(crate) fn check<'a>(source: &mut Source, settings: impl Iterator<Item = &'a Setting>) {
    for setting in settings {
        let problem = match of_server(setting) {
            Some(setting) => Trial::problem(&setting),
            None if COMMANDS.contains(&setting.key.as_str()) => command::problem(&setting.text),
            None => None,
        };
        if let Some(problem) = problem {
            setting.wrong(source, &problem);
        }
    }
}

/// Returns the reason why the servers of a target can't get settings; none if they can, or if only a lab that runs later
/// says so.
pub(crate) fn problem_of_target(lab: Option<&LabTarget>, url: &str) -> Option<String> {
    match lab {
        Some(lab) => lab.trial().err().map(|failure| failure.line()),
        None if addresses_of(url).is_empty() => Some(
            "is for servers of labs, and the target is none: use target = \"lab:pg\", or the URL of a lab that runs".into(),
        ),
        None => None,
    }
}
