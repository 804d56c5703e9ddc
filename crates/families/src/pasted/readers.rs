//! Readers of the forms without a URL: they cut a string into parameters and values.

use super::apply::Parameter;
use super::findings::Findings;
use super::row::Decoding;
use crate::net::url::percent_decode;
use std::iter::Peekable;
use std::str::Chars;

/// Splits `NAME=VALUE&NAME=VALUE`.
pub(crate) fn query(text: &str, decoding: Decoding) -> Vec<Parameter> {
    let decoded = |text: &str| match decoding {
        Decoding::None => text.to_owned(),
        Decoding::Percent => percent_decode(text),
        Decoding::Form => percent_decode(&text.replace('+', " ")),
    };
    let mut behind_password = false;
    let mut parameters = Vec::new();
    let mut rest = text;
    for option in text.split('&') {
        // Later text may be the end of a login before an @.
        rest = rest.strip_prefix(option).unwrap_or(rest);
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let doubtful = behind_password || !option.contains('=') || option.contains('@') || rest.contains('@');
        rest = rest.strip_prefix('&').unwrap_or(rest);
        behind_password |= is_password(name);
        if !option.is_empty() {
            parameters.push(Parameter { name: decoded(name), value: decoded(value), doubtful });
        }
    }
    parameters
}

/// True if a parameter of this name has a secret.
pub(crate) fn is_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pass", "pwd", "psw", "secret", "token"].iter().any(|part| name.contains(part))
}

/// Splits `NAME=VALUE NAME='VALUE' …`. A backslash takes the next character as it is, also between quotes; two quotes
/// between quotes are one.
pub(crate) fn keywords(text: &str, findings: &mut Findings) -> Vec<Parameter> {
    let mut letters = text.chars().peekable();
    let mut parameters = Vec::new();
    let mut behind_password = false;
    loop {
        skip_blanks(&mut letters);
        if letters.peek().is_none() {
            return parameters;
        }
        let name: String =
            std::iter::from_fn(|| letters.next_if(|letter| *letter != '=' && !letter.is_whitespace()))
                .collect();
        skip_blanks(&mut letters);
        if letters.next_if_eq(&'=').is_none() {
            findings.error(
                "connection string has a word without = (put a value with a blank between quotes: password='…')",
            );
            return parameters;
        }
        skip_blanks(&mut letters);
        let value = match letters.next_if_eq(&'\'') {
            None => bare_value(&mut letters),
            Some(_) => match quoted(&mut letters, '\'', true) {
                Some(value) => value,
                None => {
                    findings
                        .error("connection string has a quote without an end: write \\' for one in a value");
                    return parameters;
                }
            },
        };
        let is_password = is_password(&name);
        parameters.push(Parameter { name, value, doubtful: behind_password });
        behind_password |= is_password;
    }
}

fn skip_blanks(letters: &mut Peekable<Chars<'_>>) {
    while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
}

/// Reads a value up to the next blank.
fn bare_value(letters: &mut Peekable<Chars<'_>>) -> String {
    let mut value = String::new();
    while let Some(letter) = letters.next_if(|letter| !letter.is_whitespace()) {
        match letter {
            '\\' => value.extend(letters.next()),
            other => value.push(other),
        }
    }
    value
}

/// Reads a value up to the closing quote; `None` if there is none.
fn quoted(letters: &mut Peekable<Chars<'_>>, quote: char, has_escapes: bool) -> Option<String> {
    let mut value = String::new();
    loop {
        match letters.next()? {
            '\\' if has_escapes => value.push(letters.next()?),
            letter if letter == quote => match letters.next_if_eq(&quote) {
                Some(_) => value.push(quote),
                None => return Some(value),
            },
            letter => value.push(letter),
        }
    }
}

/// Quotes around values of `NAME=VALUE;…`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// `"…"` and `'…'`; two of them are one.
    Marks,
    /// `{…}`; two closing ones are one.
    Braces,
}

impl Quotes {
    /// Returns the end of a value that begins with this letter; `None` if the letter is a part of the value.
    fn end(self, begin: char) -> Option<char> {
        match (self, begin) {
            (Self::Marks, '"' | '\'') => Some(begin),
            (Self::Braces, '{') => Some('}'),
            _ => None,
        }
    }
}

/// Splits `NAME=VALUE;NAME="VALUE";…`.
pub(crate) fn semicolons(text: &str, quotes: Quotes, findings: &mut Findings) -> Vec<Parameter> {
    let mut letters = text.chars().peekable();
    let mut parameters = Vec::new();
    let mut behind_password = false;
    loop {
        while letters.next_if(|letter| letter.is_whitespace() || *letter == ';').is_some() {}
        if letters.peek().is_none() {
            return parameters;
        }
        let name: String =
            std::iter::from_fn(|| letters.next_if(|letter| !matches!(letter, '=' | ';'))).collect();
        if letters.next_if_eq(&'=').is_none() {
            findings.error(
                "connection string has a part without = (put a value with a semicolon between quotes)",
            );
            return parameters;
        }
        skip_blanks(&mut letters);
        let value = match letters.peek().and_then(|letter| quotes.end(*letter)) {
            None => {
                let value: String = std::iter::from_fn(|| letters.next_if(|letter| *letter != ';')).collect();
                value.trim_end().to_owned()
            }
            Some(end) => {
                letters.next();
                let value = quoted(&mut letters, end, false);
                skip_blanks(&mut letters);
                match value.filter(|_| matches!(letters.peek(), None | Some(';'))) {
                    Some(value) => value,
                    None => {
                        findings.error(
                            "connection string has a quote without an end, or text behind it: write the quote twice for \
                             one in a value",
                        );
                        return parameters;
                    }
                }
            }
        };
        let name = name.trim().to_owned();
        let is_password = is_password(&name);
        parameters.push(Parameter { name, value, doubtful: behind_password });
        behind_password |= is_password;
    }
}

/// The parts of a Go connection string.
pub(crate) struct Go<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: Option<&'a str>,
    pub(crate) protocol: &'a str,
    pub(crate) address: Option<&'a str>,
    pub(crate) database: &'a str,
    pub(crate) query: &'a str,
}

/// Splits `[USER[:PASSWORD]@]PROTOCOL[(ADDRESS)]/DATABASE[?…]` as Go's driver does: at the last slash, and the last `@`
/// before it. A slash in the parameters, which the driver rejects, is not taken for it. Returns `None` for other text.
pub(crate) fn go(text: &str) -> Option<Go<'_>> {
    let slashes = [text.rfind('/'), text.rfind(")/").map(|at| at + 1)];
    slashes.into_iter().flatten().find_map(|slash| go_at(&text[..slash], &text[slash + 1..]))
}

/// Splits a Go connection string whose last slash is between these parts.
fn go_at<'a>(before: &'a str, behind: &'a str) -> Option<Go<'a>> {
    let (login, network) = before.rsplit_once('@').unwrap_or(("", before));
    let (protocol, address) = match network.split_once('(') {
        Some((protocol, address)) => (protocol, Some(address.strip_suffix(')')?)),
        None => (network, None),
    };
    let is_protocol = matches!(protocol, "tcp" | "tcp4" | "tcp6" | "unix");
    let has_neither = protocol.is_empty() && address.is_none() && before.ends_with('@');
    if !(is_protocol && (address.is_some() || !login.is_empty()) || has_neither) {
        return None;
    }
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let (database, query) = behind.split_once('?').unwrap_or((behind, ""));
    // These are of a string that is cut in its password.
    if database.contains(['@', '(', ')']) {
        return None;
    }
    Some(Go { user, password, protocol, address, database, query })
}
