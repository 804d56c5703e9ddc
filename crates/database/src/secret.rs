//! Hides what may be a secret in text that Lydite does not understand, for messages. It prefers to hide too much: a
//! target that is not a URL, a URL with a special character in its password, a value of an unknown option.

/// Replacement of a secret.
pub const HIDDEN: &str = "***";

/// Parts of names with secret values, in lower case.
const NAMES: [&str; 9] =
    ["pass", "pwd", "pw", "secret", "token", "auth", "credential", "apikey", "accesskey"];

/// Names in a connection string of libpq.
const KEYWORDS: [&str; 7] = ["host", "hostaddr", "port", "dbname", "user", "password", "service"];

/// Parts of the names of settings whose values may contain a secret.
const SETTINGS: [&str; 9] =
    ["password", "passwd", "passphrase", "secret", "token", "credential", "conninfo", "command", "_auth"];
/// Parts of values and statements that contain a secret, or may.
const VALUES: [&str; 4] = ["password", "passwd", "secret", "identified by"];

/// Longest text that is shown whole.
const LONGEST: usize = 200;

/// True if a text has one of these parts, in letters of any case.
fn has(text: &str, parts: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    parts.iter().any(|part| text.contains(part))
}

/// True if the value of a setting with this name may contain a secret.
pub(crate) fn is_secret_setting(name: &str) -> bool {
    has(name, &SETTINGS)
}

/// True if a value or a statement may contain a secret.
pub(crate) fn may_be_secret(text: &str) -> bool {
    has(text, &VALUES)
}

/// Returns a text of unknown form for a message: the whole text if nothing in it looks like a secret, else its harmless
/// beginning and `…`.
#[must_use]
pub fn shown(text: &str) -> String {
    if is_harmless(text) { text.to_owned() } else { beginning(text) }
}

/// Returns a fault as [`shown`] does. In a fault an `@` stands before the time.
#[must_use]
pub fn shown_fault(text: &str) -> String {
    let in_url = text.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    let without = if in_url { text.to_owned() } else { text.replace('@', " ") };
    if is_harmless(&without) { text.to_owned() } else { beginning(text) }
}

/// Returns a message about `source` without the parts of `source` that may be a secret.
#[must_use]
pub fn mask(message: &str, source: &str) -> String {
    let mut masked = message.to_owned();
    for secret in suspects(source) {
        masked = without_secret(&masked, &secret);
    }
    masked
}

/// True if a text looks like a connection string of libpq, `host=h user=u`.
#[must_use]
pub fn is_keywords(text: &str) -> bool {
    let names = text.match_indices('=').filter_map(|(at, _)| text[..at].split_whitespace().next_back());
    let mut names = names.map(|name| name.trim_matches('=').to_ascii_lowercase());
    names.any(|name| KEYWORDS.contains(&name.as_str()))
}

/// True if a text is a connection string rather than a name. libpq and psql take one where the database's name should be,
/// and it may have a password.
#[must_use]
pub fn is_connection_string(text: &str) -> bool {
    text.contains("://") || is_keywords(text)
}

/// True if an option stands within a part of a URL, behind a character that separates options elsewhere: `db&user=u`.
/// With `secrets`, only options with a secret value count.
#[must_use]
pub fn has_option(part: &str, secrets: bool) -> bool {
    let mut pieces = part.split(['?', '&', ';', ',']).skip(1);
    pieces.any(|piece| {
        piece.split_once('=').is_some_and(|(name, _)| {
            let name = name.trim();
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_. ".contains(letter);
            !name.is_empty() && name.chars().all(is_name) && (!secrets || is_secret(name))
        })
    })
}

/// Returns the value of a keyword in a connection string of libpq, if it is nothing but a name.
#[must_use]
pub fn keyword<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    let words = || text.split_whitespace();
    // In any other notation a word may be a part of the password.
    words()
        .all(|word| word.split_once('=').is_some_and(|(name, _)| KEYWORDS.contains(&name)))
        .then_some(())?;
    let value = words().find_map(|word| word.strip_prefix(keyword)?.strip_prefix('='))?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    (!value.is_empty() && value.chars().all(plain)).then_some(value)
}

/// True if no part of a text looks like a secret.
fn is_harmless(text: &str) -> bool {
    text.len() <= LONGEST && suspects(text).is_empty()
}

/// Returns the beginning of a text up to the first character after which a secret may follow, and `…`.
fn beginning(text: &str) -> String {
    let text = text.trim_start();
    let part_of_name = |letter: char| letter.is_ascii_alphanumeric() || "+-._".contains(letter);
    let end = text.find(|letter| !part_of_name(letter)).unwrap_or(0);
    let (word, rest) = text.split_at(end);
    let followed = rest.starts_with("://") || rest.starts_with([' ', '=']);
    // `SECRET@host` and `-pSECRET` begin with the secret.
    if word.is_empty() || word.starts_with('-') || !followed || word.len() > LONGEST {
        return "…".to_owned();
    }
    let between = if rest.starts_with("://") { "://" } else { &rest[..1] };
    format!("{word}{between}…")
}

/// Returns the parts of a text that may be a secret, the longest first, also as they are after decoding.
fn suspects(text: &str) -> Vec<String> {
    let mut regions: Vec<&str> = Vec::new();
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    if let Some((login, _)) = rest.rsplit_once('@') {
        // Without a colon the login is a user, a token or a password: with a scheme a user, as `etcd://user@host`.
        let behind = login.split_once([':', '/']).map(|(_, password)| password);
        regions.extend(behind.or_else(|| scheme.is_empty().then_some(login)));
    } else if let Some((_, port)) =
        // A user has neither a path nor options.
        rest.split_once(':').filter(|(user, _)| {
            !scheme.is_empty() && !rest.starts_with('[') && !user.contains(['/', '?'])
        })
    {
        // The @ may be forgotten: `postgres://user:SECRET`.
        let digits = port.chars().take_while(char::is_ascii_digit).count();
        if !matches!(port[digits..].chars().next(), None | Some('/' | '?' | ',')) {
            regions.push(port);
        }
    }
    regions.extend(values(text));
    regions.extend(of_options(text));
    let mut all: Vec<String> = Vec::new();
    for region in regions {
        let decoded = percent_encoding::percent_decode_str(region).decode_utf8_lossy().into_owned();
        for text in [region, decoded.as_str()] {
            let separates =
                |letter: char| letter.is_whitespace() || "/?#&=:;,@%\"'\\()[]{}<>|`".contains(letter);
            all.push(text.trim().to_owned());
            all.extend(text.split(separates).map(str::to_owned));
        }
    }
    // The scheme is public, and messages begin with it.
    all.retain(|part| !part.is_empty() && part != scheme);
    all.sort_by(|one, other| (other.len(), other).cmp(&(one.len(), one)));
    all.dedup();
    all
}

/// Returns the text behind the first name with a secret value: `password=SECRET`, `"token": "SECRET"`. The value may
/// contain any character.
fn values(text: &str) -> Option<&str> {
    let part_of_name = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    text.match_indices(['=', ':']).find_map(|(at, _)| {
        let before =
            text[..at].trim_end_matches(|letter: char| letter.is_whitespace() || "'\"\\".contains(letter));
        let begin = before
            .rfind(|letter| !part_of_name(letter))
            .map_or(0, |end| end + before[end..].chars().next().map_or(0, char::len_utf8));
        let value = &text[at + 1..];
        (is_secret(&before[begin..]) && !value.trim().is_empty() && !value.starts_with("//")).then_some(value)
    })
}

/// Returns the text behind the first option with a secret: `-pSECRET`, `--password SECRET`.
fn of_options(text: &str) -> Option<&str> {
    text.match_indices('-').find_map(|(at, _)| {
        let begins = text[..at].chars().next_back().is_none_or(char::is_whitespace);
        let option = text[at..].split(|letter: char| letter.is_whitespace() || letter == '=').next()?;
        let behind = &text[at + option.len()..];
        let named = !behind.trim().is_empty() && (["-p", "-P", "-a"].contains(&option) || is_secret(option));
        match (begins, named) {
            (true, true) => Some(behind),
            // `-pSECRET` of MySQL's programs.
            (true, false) if option.starts_with("-p") && option.len() > 2 => Some(&text[at + 2..]),
            _ => None,
        }
    })
}

/// True if a name has a secret value.
fn is_secret(name: &str) -> bool {
    let name: String =
        name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    NAMES.iter().any(|part| name.contains(part))
}

/// Returns a message with [`HIDDEN`] in place of a secret. A short one counts only where it stands alone.
#[must_use]
pub fn without_secret(message: &str, secret: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(secret) {
        let (before, behind) = (&rest[..at], &rest[at + secret.len()..]);
        let part_of_word =
            |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        let last = before.chars().next_back().or(out.chars().next_back());
        let alone = !part_of_word(last) && !part_of_word(behind.chars().next());
        // Two letters are words of the message unless they are quoted.
        let quoted = last == Some('"') || last == Some('=');
        let hide = if secret.len() <= 3 { alone && quoted } else { alone || secret.len() >= 6 };
        out.push_str(before);
        out.push_str(if hide { HIDDEN } else { secret });
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{keyword, mask, shown, shown_fault};

    #[test]
    fn text_without_a_secret_is_shown_whole() {
        for text in [
            "nonsense",
            "localhost:5432/tpcc",
            "a b",
            "postgres//h/db",
            "./file.db",
            "postgres://h:5432/db",
            "",
        ] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown_fault("kill@5s..10s/lab:pg"), "kill@5s..10s/lab:pg");
    }

    #[test]
    fn text_with_a_secret_is_shown_up_to_where_it_may_begin() {
        for (text, beginning) in [
            ("host=h user=u password=S3cr3t", "host=…"),
            ("password=S3cr3t", "password=…"),
            ("u:S3cr3t@h/db", "…"),
            ("S3cr3t@h", "…"),
            ("postgres://u:S3cr3t", "postgres://…"),
            ("postgres//u:S3cr3t@h", "…"),
            ("mysql -pS3cr3t -u u", "mysql …"),
            ("mysql --password S3cr3t", "mysql …"),
            ("-pS3cr3t", "…"),
            ("PGPASSWORD=S3cr3t psql", "PGPASSWORD=…"),
            ("jdbc:postgresql://h/db?user=u&Password=S3cr3t", "…"),
            ("Server=h;Pwd=S3cr3t", "Server=…"),
            ("u:S3cr3t@tcp(h:3306)/db", "…"),
            ("{\"token\": \"S3cr3t\"}", "…"),
        ] {
            assert_eq!(shown(text), beginning, "{text}");
        }
        assert_eq!(shown_fault("kill@5s/ssh://u:S3cr3t@h"), "…");
    }

    #[test]
    fn messages_lose_what_may_be_a_secret() {
        for (source, message, masked) in [
            ("postgres://u:pa?S3cr3t&x@h", "option \"S3cr3t\" is not known", "option \"***\" is not known"),
            ("postgres://u:a/S3cr3t@h", "database \"S3cr3t@h\"", "database \"***@h\""),
            ("postgres://u:S3c%2Fr3t@h", "S3c/r3t", "***"),
            ("postgres://u@h/db?password=S3cr3t", "x=\"S3cr3t\"", "x=\"***\""),
            ("postgres://u:is@h", "this is \"is\"", "this is \"***\""),
            ("postgres://u:postgres@h", "postgres: takes", "postgres: takes"),
            ("postgres://h/db?nodes=h2:1&isolation=none", "isolation=\"none\"", "isolation=\"none\""),
        ] {
            assert_eq!(mask(message, source), masked, "{source}");
        }
    }

    #[test]
    fn keywords_of_libpq_are_read_only_if_nothing_is_in_doubt() {
        let of = |text| ["host", "user", "dbname"].map(|name| keyword(text, name).map(str::to_owned));
        let known = |text: &str| Some(text.to_owned());
        assert_eq!(of("host=h user=u password=x dbname=d"), [known("h"), known("u"), known("d")]);
        assert_eq!(of("host=h password = x user=u"), [None, None, None]);
        assert_eq!(of("host=h password='a user=b'"), [known("h"), None, None]);
    }
}
