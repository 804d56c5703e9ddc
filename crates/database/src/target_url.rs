//! The URL of a target: a scheme, a part that its family reads, and options after a question mark.

use crate::secret;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// An option in a target's URL.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Name of the option.
    pub name: &'static str,
    /// Permitted values after `=`.
    pub values: &'static str,
    /// Default value.
    pub default: &'static str,
    /// One-line description.
    pub about: &'static str,
}

/// Returns a part of a path that looks like an option, and the text before it.
fn option_in<'a>(path: &'a str, known: &[OptionSpec]) -> Option<(&'a str, &'a str)> {
    path.match_indices('=').find_map(|(equals, _)| {
        let in_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.%".contains(letter);
        let name = path[..equals].rsplit(|letter| !in_name(letter)).next()?;
        let before = &path[..equals - name.len()];
        let between = before.chars().next_back();
        let separated = matches!(between, None | Some('&' | ';'));
        let looks = name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && separated;
        (looks || known.iter().any(|option| option.name == name)).then(|| {
            (before.strip_suffix(|letter| !in_name(letter)).unwrap_or(before), &path[before.len()..])
        })
    })
}

fn decoded(path: &str) -> PathBuf {
    OsString::from_vec(percent_encoding::percent_decode_str(path).collect()).into()
}

/// Returns a path as part of a URL: bytes with a special meaning are written as `%` and two hexadecimal digits.
pub fn encoded(path: &Path) -> String {
    let mut text = String::new();
    for part in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in part.valid().chars() {
            match letter {
                '%' | '?' | '=' => text += &format!("%{:02X}", u32::from(letter)),
                other => text.push(other),
            }
        }
        part.invalid().iter().for_each(|byte| text += &format!("%{byte:02X}"));
    }
    text
}

/// Returns a URL with its scheme in lower case: schemes have no case (RFC 3986, section 3.1).
#[must_use]
pub fn with_lower_scheme(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find(':').unwrap_or_default());
    let is_scheme = scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    if is_scheme { scheme.to_ascii_lowercase() + rest } else { url.to_owned() }
}

/// A URL split into its parts. The family reads the part between scheme and `?`.
#[derive(Clone, Debug)]
pub struct ParsedUrl {
    /// The whole URL as given, but for the case of its scheme. It may hold a password: never print it.
    pub whole: String,
    /// Text between the scheme's colon and the question mark.
    pub rest: String,
    /// Decoded options.
    pub options: BTreeMap<String, String>,
}

impl ParsedUrl {
    /// Splits a URL into its parts. Adds an error to `errors` for an option that is given twice.
    pub fn new(url: &str, errors: &mut Vec<String>) -> Self {
        let url = with_lower_scheme(url);
        let (base, query) = url.split_once('?').unwrap_or((&url, ""));
        let rest = base.split_once(':').map_or("", |(_, rest)| rest).to_string();
        let mut options = BTreeMap::new();
        // Forms write a space as a plus sign. Options don't: paths and passwords contain plus signs.
        let decoded =
            |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let (name, value) = (decoded(name), decoded(value));
            if options.insert(name.clone(), value).is_some() {
                errors.push(format!("target option {name:?} is given twice"));
            }
        }
        Self { whole: url, rest, options }
    }

    /// Returns the path after the scheme; `None` if it is left out. `%` and two hexadecimal digits stand for a byte.
    ///
    /// # Errors
    /// A part of it looks like an option, which belongs after a question mark.
    pub fn path(&self, known: &[OptionSpec]) -> Result<Option<PathBuf>, String> {
        let rest = self.rest.strip_prefix("//").unwrap_or(&self.rest);
        // Two slashes before a path would begin a relative one in the URL that messages and results show.
        let doubled = rest.len() - rest.trim_start_matches('/').len();
        let rest = &rest[doubled.saturating_sub(1)..];
        if rest.is_empty() {
            return Ok(None);
        }
        let scheme = self.whole.split_once(':').map_or("", |(scheme, _)| scheme);
        if rest.len() < self.rest.len() && rest.split_once('@').is_some_and(|(login, _)| login.contains(':'))
        {
            return Err(format!(
                "target {scheme}: names a user of a server, but it takes a path: write {scheme}:PATH"
            ));
        }
        if let Some((before, option)) = option_in(rest, known) {
            // The option may be a password.
            if secret::has_option(rest, true) {
                return Err(format!(
                    "target {scheme}:{before} has an option in its path: write ? before it, or %3D for the = of a file's name"
                ));
            }
            return Err(format!(
                "target {scheme}:{rest} has the option {option:?} in its path: write {scheme}:{before}?{option}, or \
                 {scheme}:{} for a file of that name",
                encoded(&decoded(rest))
            ));
        }
        Ok(Some(decoded(rest)))
    }

    /// Reads the option `name` as a whole number within `range`.
    pub fn number(&self, name: &str, range: RangeInclusive<u32>, errors: &mut Vec<String>) -> Option<u32> {
        let given = self.options.get(name)?;
        let number = given.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            errors.push(format!(
                "target option {name}={given:?} must be a whole number from {} to {}",
                range.start(),
                range.end()
            ));
        }
        number
    }

    /// Reads the option `name` as one of `values`. The default is `values[0]`.
    pub fn choice(&self, name: &str, values: &[&'static str], errors: &mut Vec<String>) -> &'static str {
        let Some(given) = self.options.get(name) else { return values[0] };
        match values.iter().find(|value| *value == given) {
            Some(value) => value,
            None => {
                errors
                    .push(format!("target option {name}={given:?} is not known: use {}", values.join(", ")));
                values[0]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_before_an_absolute_path_are_one() {
        for text in ["sqlite:/x/a.db", "sqlite:///x/a.db", "sqlite:////x/a.db", "sqlite://///x/a.db"] {
            let path = ParsedUrl::new(text, &mut Vec::new()).path(&[]);
            assert_eq!(path, Ok(Some(PathBuf::from("/x/a.db"))), "{text}");
        }
    }
}
