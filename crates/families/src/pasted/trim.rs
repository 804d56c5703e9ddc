//! Blanks, line ends, a byte order mark, quotes, a command and a variable's name that a paste brings around a connection
//! string, and blanks in names.

/// Pairs of quotes.
const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];

/// Returns a connection string without what a paste brought around it: also of `psql 'host=h …'`, as consoles of clouds
/// show it, and of `DATABASE_URL=postgres://…`.
pub(crate) fn bare(text: &str) -> &str {
    let text = unquoted(text);
    if let Some(rest) = text.strip_prefix("psql ")
        // An option is followed by more than a connection string.
        && !rest.trim_start().starts_with('-')
    {
        return unquoted(rest);
    }
    let assigned = text.strip_prefix("export ").unwrap_or(text).trim_start();
    // Files of properties, and of YAML.
    let parts = assigned.split_once('=').into_iter().chain(assigned.split_once(": "));
    let mut urls = parts.filter(|(name, _)| is_place_of_url(name.trim_end())).map(|(_, rest)| unquoted(rest));
    urls.find(|rest| is_url(rest)).unwrap_or(text)
}

/// True if a text is the name of an environment variable, or of a setting that is a URL, such as `spring.datasource.url`.
fn is_place_of_url(text: &str) -> bool {
    let is_upper = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let is_variable =
        text.starts_with(|letter: char| letter.is_ascii_uppercase()) && text.chars().all(is_upper);
    let in_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let lower = text.to_ascii_lowercase();
    let is_setting =
        ["url", "uri", "dsn"].iter().any(|end| lower.ends_with(end)) && text.chars().all(in_name);
    is_variable || is_setting
}

/// True if a text begins as a URL.
fn is_url(text: &str) -> bool {
    let text = text.strip_prefix("jdbc:").map_or(text, |rest| rest.trim_start_matches(':'));
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    !scheme.is_empty()
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+:-".contains(letter))
}

/// Returns a text without blanks and quotes around it.
fn unquoted(text: &str) -> &str {
    let blank = |letter: char| letter.is_whitespace() || matches!(letter, '\u{feff}' | '\u{200b}');
    let text = text.trim_matches(blank);
    // Code ends a statement or an element behind the quote.
    let ended = text.trim_end_matches([';', ',']);
    for (open, close) in QUOTES {
        let inner = ended.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        if let Some(inner) = inner.filter(|inner| !inner.contains([open, close])) {
            return inner.trim_matches(blank);
        }
    }
    text
}

/// Returns a name without blanks and in lower case, as names are compared.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}
