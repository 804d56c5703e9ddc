//! Blanks, line ends, a byte order mark and quotes that a paste brings around a connection string, and blanks in names.

/// Pairs of quotes.
const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];

/// Returns a connection string without what a paste brought around it.
pub(crate) fn bare(text: &str) -> &str {
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
