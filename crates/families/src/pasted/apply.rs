//! Gives each parameter of a connection string its meaning.

use super::draft::Draft;
use super::findings::Findings;
use super::outcome::Outcome;
use super::row::{Dialect, Entry, Form, Given, Meaning, Row, Unit, Variable, Word, is_same};
use super::trim::plain;
use crate::duration::duration;
use crate::net::CONNECT_TIMEOUT;
use crate::net::url::{IS_CONNECTION_STRING, variable};
use lydite_database::secret;
use std::time::Duration;

/// Longest value that a message shows.
const LONGEST: usize = 40;
/// Most letters that a name may differ by from the known one that was meant.
const TYPING_ERRORS: usize = 2;

/// A parameter as it stands in a connection string.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) value: String,
    /// True if the name may be a part of a password with an unescaped special character.
    pub(crate) doubtful: bool,
}

/// Gives the parameters of a string their meaning as [`apply`] does, and notes what became of each.
pub(crate) fn conclude(
    dialect: &Dialect,
    parameters: Vec<Parameter>,
    draft: &mut Draft,
    findings: &mut Findings,
) -> Given {
    let given: Vec<(String, String)> =
        parameters.iter().map(|one| (one.name.clone(), one.value.clone())).collect();
    let applied = apply(dialect, parameters, draft, findings);
    for (name, value) in given {
        let outcome = match dialect.entry(&name) {
            Some(Entry::Row(row)) => outcome(row, &value, draft),
            // Others have an error or a note, which come before this.
            Some(Entry::Group(_)) | None => Outcome::Same,
        };
        findings.conclude(&name, outcome);
    }
    applied
}

/// Returns what became of a parameter that has neither an error nor a note, after all have their meaning.
fn outcome(row: &Row, value: &str, draft: &Draft) -> Outcome {
    let used = |part: &str| Outcome::Used(part.to_owned());
    let option = |option: &str| draft.written(option).map(Outcome::Used);
    let left_out = |why: &str| Outcome::LeftOut(why.to_owned());
    match row.meaning {
        Meaning::Password => Outcome::Secret,
        _ if value.is_empty() && row.sets.is_empty() => left_out("it is empty"),
        Meaning::User => used("user"),
        Meaning::Host | Meaning::Address => used("host"),
        Meaning::Port => used("port"),
        Meaning::Database => used("database"),
        Meaning::Socket => used("Unix socket"),
        Meaning::Path => used("path"),
        Meaning::Option(name) | Meaning::First(name) => {
            option(name).unwrap_or_else(|| left_out("it is empty"))
        }
        Meaning::Choice(name, words, _) => match words.iter().find(|(known, _)| is_same(known, value)) {
            Some((_, Word::Sets(_))) => {
                option(name).unwrap_or_else(|| left_out("this database has no such option"))
            }
            _ => Outcome::Same,
        },
        Meaning::Time(name, _) => option(name).unwrap_or(Outcome::Same),
        Meaning::Connecting(_) => option("connect_timeout").unwrap_or_else(|| Outcome::LeftOut(most())),
        Meaning::Combined(about) if row.sets.is_empty() => used(about),
        Meaning::Combined(_) => option(row.sets).unwrap_or_else(|| left_out("another parameter decides")),
    }
}

/// Gives the parameters of a dialect their meaning: parts and options of the draft, notes and errors. Returns those that
/// have a row.
pub(crate) fn apply(
    dialect: &Dialect,
    parameters: Vec<Parameter>,
    draft: &mut Draft,
    findings: &mut Findings,
) -> Given {
    let mut given = Given::default();
    for (number, parameter) in parameters.into_iter().enumerate() {
        let Parameter { name, value, .. } = &parameter;
        match dialect.entry(name) {
            None => unknown(dialect, &parameter, number + 1, findings),
            Some(Entry::Group(group)) if group.rejected => {
                findings.secret(value);
                findings.rejected(name, &format!("{} of {}: ", named(name), dialect.name), group.why);
            }
            Some(Entry::Group(group)) => findings.ignored(name, group.why),
            Some(Entry::Row(row)) => {
                if given.0.iter().any(|(known, other)| known.names[0] == row.names[0] && other != value) {
                    findings.unread(
                        name,
                        &format!("{} ", named(name)),
                        "is given twice: leave one of them out",
                    );
                }
                one(row, name, value, draft, findings);
                given.0.push((row, parameter.value));
            }
        }
    }
    (dialect.finish)(&given, draft, findings);
    given
}

/// Gives the environment variables of a dialect their meaning, where no parameter says the same. Those that the family
/// reads are left to it.
pub(crate) fn variables(dialect: &Dialect, given: &Given, draft: &mut Draft, findings: &mut Findings) {
    for row in dialect.all_rows() {
        if let Variable::Judged(name) = row.variable
            && row.names.first().is_none_or(|first| !given.has(first))
            && !matches!(row.meaning, Meaning::Choice(option, ..) if draft.get(option).is_some())
            && let Some(value) = variable(&[name])
        {
            one(row, name, &value, draft, findings);
        }
    }
}

/// Returns a name with single spaces.
fn plain_name(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a name in quotes, with single spaces.
fn named(name: &str) -> String {
    format!("{:?}", plain_name(name))
}

/// Gives one parameter its meaning.
fn one(row: &'static Row, name: &str, value: &str, draft: &mut Draft, findings: &mut Findings) {
    match row.meaning {
        // Behind the colon may be the password.
        Meaning::User if value.contains(':') => findings.error(
            "user has a colon: give a password apart; for a user with a colon in the name write a URL, with %3A in it",
        ),
        Meaning::User => part(&mut draft.user, "user", value, findings),
        Meaning::Password => {
            findings.secret(value);
            part(&mut draft.password, "password", value, findings);
        }
        Meaning::Database if secret::is_connection_string(value) => {
            findings.error(format!("string: {IS_CONNECTION_STRING}"));
        }
        Meaning::Database => part(&mut draft.database, "database", value, findings),
        Meaning::Socket => part(&mut draft.socket, "Unix socket", value, findings),
        Meaning::Path => part(&mut draft.path, "file", value, findings),
        Meaning::Host if value.starts_with('/') => part(&mut draft.socket, "Unix socket", value, findings),
        Meaning::Host if value.is_empty() => {}
        Meaning::Host => hosts(value, "names a host twice: leave one of them out", draft, findings),
        Meaning::Address => hosts(
            value,
            "names hosts and other addresses for them: leave hostaddr out, or write the addresses as the hosts",
            draft,
            findings,
        ),
        Meaning::Port => ports(value, draft, findings),
        Meaning::Option(option) if value.is_empty() => draft.unset(option),
        Meaning::Option(option) => draft.set(option, value),
        Meaning::First(option) => first(option, name, value, draft, findings),
        Meaning::Choice(option, words, others) => {
            let known = words.iter().find(|(known, _)| is_same(known, value)).map(|(_, word)| *word);
            match known.unwrap_or(others) {
                Word::Sets(value) => draft.set(option, value),
                Word::Same => {}
                Word::Ignored(why) => findings.ignored(name, why),
                Word::Rejected(why) => {
                    let head = format!("{}={}: ", plain_name(name), shown(value));
                    // The last word of a list of values is for those that nobody knows.
                    if known.is_none() && words.iter().any(|(_, word)| matches!(word, Word::Sets(_))) {
                        findings.unread(name, &head, why);
                    } else {
                        findings.rejected(name, &head, why);
                    }
                }
            }
        }
        Meaning::Time(option, unit) => match time(value, unit) {
            Some(Duration::ZERO) => {}
            Some(time) => draft.set(option, written(time)),
            None => not_a_time(name, value, unit, findings),
        },
        Meaning::Connecting(unit) => connecting(name, value, unit, draft, findings),
        Meaning::Combined(_) => {}
    }
}

/// Sets a part that may be named once.
fn part(part: &mut Option<String>, what: &str, value: &str, findings: &mut Findings) {
    if part.as_ref().is_some_and(|known| known != value) {
        findings.error(format!("names the {what} twice: leave one of them out"));
    }
    if !value.is_empty() {
        *part = Some(value.to_owned());
    }
}

/// Takes hosts if the draft has none. `problem` is the error if it has others.
fn hosts(value: &str, problem: &str, draft: &mut Draft, findings: &mut Findings) {
    let mut named = Draft::default();
    named.take_hosts(value, findings);
    if draft.hosts.is_empty() {
        draft.hosts = named.hosts;
    } else if draft.hosts.iter().map(|(host, _)| host).ne(named.hosts.iter().map(|(host, _)| host)) {
        findings.error(problem);
    }
}

fn ports(value: &str, draft: &mut Draft, findings: &mut Findings) {
    if value.is_empty() {
        return;
    }
    let port = |text: &str| match text.trim() {
        "" => Some(0),
        text => text.parse().ok().filter(|&port: &u16| port > 0),
    };
    match value.split(',').map(port).collect::<Option<Vec<u16>>>() {
        Some(ports) => draft.ports = ports,
        None => findings.error("port is not a number from 1 to 65535"),
    }
}

/// Sets an option to the first name of a list.
fn first(option: &'static str, name: &str, value: &str, draft: &mut Draft, findings: &mut Findings) {
    let value = value.trim();
    // A name between quotes may have a comma.
    let (first, rest) = match value.strip_prefix('"').and_then(|inner| inner.split_once('"')) {
        Some(parts) => parts,
        None => value.split_at(value.find(',').unwrap_or(value.len())),
    };
    let first = first.trim();
    if first.is_empty() {
        return;
    }
    draft.set(option, first);
    if rest.contains(',') {
        findings
            .note(format!("{name}: the first name of the list is used: Lydite's tables are in one schema"));
    }
}

/// Sets the time of connecting, which has a limit anyway.
fn connecting(name: &str, value: &str, unit: Unit, draft: &mut Draft, findings: &mut Findings) {
    match time(value, unit) {
        Some(time) if time > Duration::ZERO && time <= CONNECT_TIMEOUT => {
            draft.set("connect_timeout", time.as_secs_f64().ceil().to_string());
        }
        Some(_) => findings.note(format!("{name}: {}", most())),
        None => not_a_time(name, value, unit, findings),
    }
}

/// Returns the reason why a longer time of connecting is left out.
fn most() -> String {
    format!("Lydite waits {} s at most for each step of a connection", CONNECT_TIMEOUT.as_secs())
}

/// Reads a time.
fn time(value: &str, unit: Unit) -> Option<Duration> {
    let number = || value.trim().parse::<f64>().ok();
    match unit {
        // Libraries take a negative time for none.
        Unit::Seconds => Duration::try_from_secs_f64(number()?.max(0.0)).ok(),
        Unit::Milliseconds => Duration::try_from_secs_f64(number()?.max(0.0) / 1000.0).ok(),
        Unit::Written => duration(value),
    }
}

/// Returns a time as an option of a URL has it.
fn written(time: Duration) -> String {
    let milliseconds = time.as_millis().max(1);
    if milliseconds.is_multiple_of(1000) {
        format!("{}s", milliseconds / 1000)
    } else {
        format!("{milliseconds}ms")
    }
}

/// Adds the error of a value that is no time.
fn not_a_time(name: &str, value: &str, unit: Unit, findings: &mut Findings) {
    let unit = match unit {
        Unit::Seconds => "a number of seconds",
        Unit::Milliseconds => "a number of milliseconds",
        Unit::Written => "a time such as 30s",
    };
    let head = format!("{}={} ", plain_name(name), shown(value));
    findings.unread(name, &head, &format!("is not {unit}"));
}

/// Returns a value for a message, or dots for one that is no plain word.
fn shown(value: &str) -> &str {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.,".contains(letter);
    if value.len() <= LONGEST && value.chars().all(is_plain) { value } else { "…" }
}

/// Adds the error of a parameter that no row has. A name that may be a part of a password is shown only if it is
/// nearly a known one.
fn unknown(dialect: &Dialect, parameter: &Parameter, number: usize, findings: &mut Findings) {
    let name = plain(&parameter.name);
    let near = dialect.names().map(|known| (strsim::damerau_levenshtein(&name, &plain(known)), known));
    let meant = near.min_by_key(|(distance, _)| *distance);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_. ".contains(letter);
    let is_plain = name.len() <= LONGEST && !name.is_empty() && parameter.name.chars().all(is_name);
    let typed = meant.filter(|(distance, _)| *distance <= TYPING_ERRORS && name.len() > 2 * TYPING_ERRORS);
    let all = "all are in the chapter \"Connection strings\" of the book";
    let whole = &parameter.name;
    let head = format!("{} of {} ", named(whole), dialect.name);
    match (typed, meant) {
        (Some((_, known)), _) => {
            let why = format!("is not known: did you mean {known}? {all}");
            findings.unknown(whole, &plain_name(whole), &head, &why);
        }
        (None, Some((_, known))) if is_plain && !parameter.doubtful => {
            let why = format!("is not known: leave it out (the nearest known one is {known}; {all})");
            findings.unknown(whole, &plain_name(whole), &head, &why);
        }
        _ => {
            let way_out = match dialect.form {
                Form::Keywords => "quote it: password='…'",
                Form::Ado => "quote it: Password=\"…\"",
                Form::Odbc => "put it between braces: PWD={…}",
                Form::Url | Form::Jdbc | Form::Go => "write %26 in it for &, %3F for ?",
            };
            let number = format!("number {number}");
            let head = format!("{number} of {} ", dialect.name);
            let why = format!("is not known; if it is a part of the password, {way_out}; {all}");
            findings.unknown(whole, &number, &head, &why);
        }
    }
}
