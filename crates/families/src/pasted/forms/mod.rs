//! The forms of connection strings: recognised, cut, and turned into a URL.

mod file;
mod go;
mod jdbc;
mod lists;
mod meant;
mod server;
mod url;

pub(crate) use meant::Meant;

use super::draft::Draft;
use super::families::{Families, dialects, family_of};
use super::findings::Findings;
use super::readers;
use super::row::Form;
use super::trim::plain;
use lydite_database::target_url::with_lower_scheme;

/// Returns what a connection string means; `None` for other text, and for a URL of Lydite's.
pub(crate) fn read(text: &str, families: Families, findings: &mut Findings) -> Option<Meant> {
    if let Some(rest) = behind_jdbc(text) {
        return jdbc::read(rest, families, findings).map(Meant::place);
    }
    let lower = with_lower_scheme(text);
    if let Some((scheme, rest)) = lower.split_once("://")
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-._".contains(letter))
    {
        return url::read(scheme, rest, families, findings);
    }
    // The first name decides before a slash or an @ does, which a value may have.
    let name = plain(text.split_once('=').map_or("", |(name, _)| name));
    let known = |form| dialects(families, form).find(|dialect| dialect.entry(&name).is_some());
    let keywords = known(Form::Keywords);
    let is_listed = known(Form::Ado).is_some() || known(Form::Odbc).is_some();
    let is_first_of_both =
        keywords.is_some() && (!text.contains(';') || is_keywords_before_semicolon(text, families));
    if is_listed && !is_first_of_both {
        return lists::read(text, families, findings).map(Meant::place);
    }
    if let Some(dialect) = keywords {
        let parameters = readers::keywords(text, findings);
        let draft = Draft::new(dialect.schemes[0].1);
        return Some(Meant::place(server::finished(dialect, draft, parameters, families, findings)));
    }
    let go = readers::go(text).filter(|go| family_of(go.user, families).is_none())?;
    let draft = go::draft(&go, dialects(families, Form::Go).next()?, families, findings);
    Some(Meant::place(draft))
}

/// Returns the text behind `jdbc:`.
fn behind_jdbc(text: &str) -> Option<&str> {
    let (begin, rest) = text.split_at_checked(5)?;
    begin.eq_ignore_ascii_case("jdbc:").then_some(rest)
}

/// True if text begins as `jdbc:`, with the name of a parameter before `=`, or is of Go's form.
pub(crate) fn begins(text: &str, families: Families) -> bool {
    let has_name = text.split_once('=').is_some_and(|(name, _)| {
        let forms = [Form::Keywords, Form::Ado, Form::Odbc].into_iter();
        forms.flat_map(|form| dialects(families, form)).any(|dialect| dialect.entry(name).is_some())
    });
    behind_jdbc(text).is_some() || has_name || readers::go(text).is_some_and(|go| !go.user.is_empty())
}

/// True if keywords with blanks between them come before the first semicolon, which is then a part of a value.
fn is_keywords_before_semicolon(text: &str, families: Families) -> bool {
    let begin = text.split(';').next().unwrap_or_default();
    let names = begin.match_indices('=').filter_map(|(at, _)| {
        let before = begin[..at].trim_end();
        before.contains(char::is_whitespace).then(|| before.rsplit(char::is_whitespace).next())?
    });
    let mut names = names.map(plain);
    names.any(|name| dialects(families, Form::Keywords).any(|dialect| dialect.entry(&name).is_some()))
}
