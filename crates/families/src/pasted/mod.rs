//! Connection strings as people paste them, of drivers and other programs, and the URLs that they mean.
//!
//! The forms are read here; each family has the tables of what the parameters mean ([`row::Dialect`]).

mod addresses;
pub(crate) mod apply;
pub(crate) mod draft;
mod families;
pub(crate) mod findings;
mod forms;
pub(crate) mod outcome;
mod page;
mod placeholder;
pub(crate) mod readers;
pub(crate) mod row;
mod trim;
pub(crate) mod words;

pub(crate) use families::{Families, names_of};
pub(crate) use forms::begins;
pub(crate) use page::page;

use crate::net::url::{authority, has_password, password, percent_decode};
use crate::schemes;
use draft::Draft;
use families::{family_of, is_server, with_scheme};
use findings::{Findings, Outcomes};
use forms::Meant;
use lydite_database::secret::{self, has_option};
use lydite_database::target_url::with_lower_scheme;
use placeholder::is_placeholder;
use readers::is_password;
use row::{Decoding, Form};
use std::borrow::Cow;
use std::fmt;

/// A target as its family reads it.
pub(crate) struct Pasted<'a> {
    /// The URL. It may have a password: it must never be shown.
    pub(crate) url: Cow<'a, str>,
    /// True if the password stands in the text itself, not in a file that it names or in the environment.
    pub(crate) has_password: bool,
    /// Parts that were left out or changed, for the user.
    pub(crate) notes: Vec<String>,
}

impl fmt::Debug for Pasted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pasted").field("notes", &self.notes).finish_non_exhaustive()
    }
}

impl Pasted<'_> {
    /// True if the text was no URL of Lydite's.
    pub(crate) fn is_other(&self) -> bool {
        matches!(self.url, Cow::Owned(_))
    }
}

/// Reads a target. A URL of Lydite's stays as it is.
///
/// # Errors
/// The connection string can't be followed: one line for each reason, without its secrets.
pub(crate) fn read(text: &str, families: Families) -> Result<Pasted<'_>, Vec<String>> {
    let bare = trim::bare(text);
    let lower = with_lower_scheme(bare);
    let family = schemes::of(&lower).and_then(|scheme| family_of(scheme, families));
    // A blank may belong to a path or a command.
    if family.is_some_and(|family| !is_server(family)) {
        let notes = notes_of_file(&lower, families);
        return Ok(Pasted { notes, ..unchanged(if text.trim() == bare { text } else { bare }) });
    }
    let mut findings = Findings::default();
    let read = forms::read(bare, families, &mut findings);
    let (errors, notes) = findings.finish();
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut pasted = match read {
        Some(Meant::Url(url)) => Pasted { has_password: has_password(&url), url: Cow::Owned(url), notes },
        Some(Meant::Place(draft)) => {
            Pasted { has_password: draft.password_in_text, url: Cow::Owned(draft.url()), notes }
        }
        None => Pasted { notes, ..unchanged(bare) },
    };
    if password(&pasted.url).is_some_and(|password| is_placeholder(&percent_decode(password))) {
        return Err(vec![
            "target has a placeholder where the password is to stand: write the password, or leave it out and set \
             LYDITE_PASSWORD to it"
                .into(),
        ]);
    }
    if let Some(part) = part_with_option(&pasted.url) {
        return Err(vec![format!(
            "target has an option within {part}: URLs have ? before the first option and & before the others, keywords a space, \
             .NET and ODBC a semicolon"
        )]);
    }
    pasted.notes.extend(notes_of_file(&pasted.url, families));
    Ok(pasted)
}

/// Returns the part of a server's URL within which an option stands, behind a character that is no separator there. It
/// would be a part of a name, which messages repeat, and it may be a password.
fn part_with_option(url: &str) -> Option<String> {
    let place = authority(url);
    let (login, _) = url[place.clone()].rsplit_once('@').unwrap_or_default();
    let user = login.split_once(':').map_or(login, |(user, _)| user);
    let (path, query) = url[place.end..].split_once('?').unwrap_or((&url[place.end..], ""));
    if has_option(&percent_decode(user), false) {
        return Some("the name of the user".into());
    }
    if has_option(&percent_decode(path), false) {
        return Some("the name of the database".into());
    }
    let options = readers::query(query, Decoding::Percent).into_iter();
    let mut within = options.filter(|option| !is_password(&option.name) && has_option(&option.value, true));
    within.next().map(|option| format!("the option {}", secret::shown(&option.name)))
}

/// Returns the note about a path that object mappers read otherwise.
fn notes_of_file(url: &str, families: Families) -> Vec<String> {
    let Some((scheme, path)) = url.split_once(":///").filter(|(_, path)| !path.starts_with('/')) else {
        return Vec::new();
    };
    let is_mapped = with_scheme(scheme, families, Form::Url).is_some();
    if !is_mapped || family_of(scheme, families).is_none_or(is_server) {
        return Vec::new();
    }
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    vec![format!(
        "{scheme}:///{path} names the file /{path}; for SQLAlchemy it would be {path} in this directory: write {scheme}:{path} \
         for that"
    )]
}

/// Cuts a connection string of another program into the parts of a URL. Parameters that Lydite can't follow don't
/// make the string wrong: their outcomes say so.
///
/// # Errors
/// The whole string can't be followed, or is none of another program: one line for each reason, without its secrets.
pub(crate) fn parts(text: &str, families: Families) -> Result<(Draft, Outcomes), Vec<String>> {
    let mut findings = Findings::default();
    let read = forms::read(trim::bare(text), families, &mut findings);
    let outcomes = findings.outcomes()?;
    match read {
        Some(Meant::Place(draft)) => Ok((*draft, outcomes)),
        Some(Meant::Url(_)) | None => {
            Err(vec!["target is no connection string of another program: write the URL yourself".into()])
        }
    }
}

fn unchanged(text: &str) -> Pasted<'_> {
    Pasted { url: Cow::Borrowed(text), has_password: has_password(text), notes: Vec::new() }
}
