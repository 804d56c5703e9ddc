//! Options of URLs from settings that name them one by one.

use crate::draft::Draft;
use crate::fate::Fate;
use crate::given::Given;
use crate::place;

/// Modes of TLS in URLs, and their names in drivers.
const SSL_MODES: [(&str, &[&str]); 5] = [
    ("disable", &["disabled", "off", "false"]),
    ("prefer", &["preferred"]),
    ("require", &["required", "trust", "on", "skip-verify"]),
    ("verify-ca", &[]),
    ("verify-full", &["verify-identity", "true"]),
];

/// Sets the mode of TLS by its name in a driver.
pub(crate) fn ssl_mode(draft: &mut Draft, given: &Given) -> Fate {
    let text = given.text().to_ascii_lowercase().replace('_', "-");
    let is_it = |(mode, names): &&(&str, &[&str])| *mode == text || names.contains(&text.as_str());
    match SSL_MODES.iter().find(is_it) {
        Some((mode, _)) => draft.option("sslmode", *mode),
        None if text == "allow" => Fate::none("Lydite has no mode allow: `sslmode=prefer` tries TLS first"),
        None => Fate::unknown("must be a mode of TLS, as disable, require or verify-full"),
    }
}

/// Sets an option to a path.
pub(crate) fn file(draft: &mut Draft, option: &'static str, given: &Given) -> Fate {
    match place::path(given.text()) {
        Some(path) => draft.option(option, path),
        None => Fate::unknown("must be the path of a file"),
    }
}

/// Sets an option to a name.
pub(crate) fn named(draft: &mut Draft, option: &'static str, given: &Given) -> Fate {
    match place::name(given.text()) {
        Some(name) => draft.option(option, name),
        None => Fate::unknown("must be a name"),
    }
}
