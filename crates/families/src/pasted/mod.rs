//! Connection strings as people paste them, of drivers and other programs, and the URLs that they mean.
//!
//! The forms are read here; each family has the tables of what the parameters mean ([`row::Dialect`]).

pub(crate) mod apply;
pub(crate) mod draft;
mod families;
pub(crate) mod findings;
mod forms;
mod page;
mod readers;
pub(crate) mod row;
mod trim;
pub(crate) mod words;

pub(crate) use families::{Families, names_of};
pub(crate) use forms::begins;
pub(crate) use page::page;

use crate::net::url::percent_decode;
use crate::schemes;
use families::{family_of, is_server};
use findings::Findings;
use lydite_database::target_url::with_lower_scheme;
use std::borrow::Cow;
use std::fmt;

/// A target as its family reads it.
pub(crate) struct Pasted<'a> {
    /// The URL. It may have a password: it must never be shown.
    pub(crate) url: Cow<'a, str>,
    /// Parts that were left out or changed, for the user.
    pub(crate) notes: Vec<String>,
}

impl fmt::Debug for Pasted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pasted").field("notes", &self.notes).finish_non_exhaustive()
    }
}

impl Pasted<'_> {
    /// True if the password stands in the text, and not in a file that it names.
    pub(crate) fn has_password(&self, text: &str) -> bool {
        let login =
            self.url.split_once("://").and_then(|(_, rest)| Some(rest.split_once('@')?.0.split_once(':')?.1));
        let bare = |text: &str| percent_decode(text).replace('\\', "");
        login.is_some_and(|password| bare(text).contains(&bare(password)))
    }

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
        return Ok(unchanged(if text.trim() == bare { text } else { bare }));
    }
    let mut findings = Findings::default();
    let read = forms::read(bare, families, &mut findings);
    let (errors, notes) = findings.finish();
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(match read {
        Some(url) => Pasted { url: Cow::Owned(url), notes },
        None => Pasted { notes, ..unchanged(bare) },
    })
}

fn unchanged(text: &str) -> Pasted<'_> {
    Pasted { url: Cow::Borrowed(text), notes: Vec::new() }
}
