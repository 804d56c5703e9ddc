//! Hides the secrets in a driver's command, for messages and files. It prefers to hide too much.

/// Replacement of a secret.
const HIDDEN: &str = "***";

/// Ends of names with secret values, in lower case and without `-`, `_` and `.`: `PGPASSWORD`, `--db-pass`.
const NAMES: [&str; 26] = [
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "passcode",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "auth",
    "authorization",
    "bearer",
    "jwt",
    "cookie",
    "credential",
    "apikey",
    "accesskey",
    "accountkey",
    "authkey",
    "encryptionkey",
    "masterkey",
    "privatekey",
    "secretkey",
    "sharedkey",
    "signingkey",
];

/// Options of one letter that are followed by a secret word, as in `mysql`, `sqlcmd` and `redis-cli`.
const LETTERS: [&str; 3] = ["-p", "-P", "-a"];

/// Option of one letter with its value attached, as `-pVALUE` of `mysql`.
const JOINED: &str = "-p";

/// Names of options with one dash that begin like `JOINED`, as in Go's package `flag`.
const READABLE: [&str; 21] = [
    "-page",
    "-parallel",
    "-partitions",
    "-pass",
    "-passphrase",
    "-passwd",
    "-password",
    "-path",
    "-period",
    "-pipeline",
    "-plan",
    "-pool",
    "-port",
    "-prefix",
    "-prepare",
    "-processes",
    "-profile",
    "-project",
    "-protocol",
    "-proxy",
    "-pwd",
];

/// Returns a command without the passwords of its URLs and the values of arguments with secret names.
pub(super) fn without_secrets(command: &str) -> String {
    let words = words(command);
    let clean = clean(&words);
    // The command stays as it was written if it has no secrets.
    if clean == words { command.to_string() } else { joined(&clean) }
}

/// Splits a command into words as a shell does, or at spaces if a quotation is not closed.
fn words(command: &str) -> Vec<String> {
    shell_words::split(command).unwrap_or_else(|_| command.split_whitespace().map(str::to_string).collect())
}

fn joined(words: &[String]) -> String {
    let quoted = |word: &String| {
        let plain = !word.is_empty()
            && !word.contains(|letter: char| letter.is_whitespace() || "'\"\\".contains(letter));
        if plain { word.clone() } else { shell_words::quote(word).into_owned() }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn clean(words: &[String]) -> Vec<String> {
    let mut hide_next = false;
    let mut shown = Vec::with_capacity(words.len());
    for word in words {
        // An option stays readable after an option that needs no value.
        let hide = hide_next && !word.starts_with("--");
        // Every word decides about the next one, even a hidden word: `--no-auth -p secret`.
        hide_next = LETTERS.contains(&word.as_str()) || word.starts_with('-') && is_secret(word);
        shown.push(if hide { HIDDEN.to_string() } else { clean_word(word) });
    }
    shown
}

fn clean_word(word: &str) -> String {
    let option = word.split('=').next().unwrap_or(word);
    if word.len() > JOINED.len() && word.starts_with(JOINED) && !READABLE.contains(&option) {
        return format!("{JOINED}{HIDDEN}");
    }
    let clean = without_values(&without_passwords(word));
    if !clean.contains(char::is_whitespace) {
        return clean;
    }
    // A command within the command: sh -c 'cmd --password x'.
    let inner = words(&clean);
    let cleaner = self::clean(&inner);
    if cleaner == inner || inner.len() < 2 { clean } else { joined(&cleaner) }
}

/// True if a name has a secret value.
fn is_secret(name: &str) -> bool {
    let name: String =
        name.chars().filter(|letter| letter.is_alphabetic()).flat_map(char::to_lowercase).collect();
    let singular = name.strip_suffix('s').unwrap_or(&name);
    NAMES.iter().any(|end| name.ends_with(end) || singular.ends_with(end))
}

/// Returns a word up to the first value of a secret name, in any notation: `host=h password=x`, `{"token":"x"}`. A
/// value may contain any character, so the rest of the word is hidden.
fn without_values(word: &str) -> String {
    let part_of_name = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    for (at, _) in word.match_indices(['=', ':']) {
        let (before, value) = (&word[..at], &word[at + 1..]);
        let before =
            before.trim_end_matches(|letter: char| letter.is_whitespace() || "'\"\\".contains(letter));
        let name = before.rfind(|letter| !part_of_name(letter));
        let name =
            name.map_or(before, |end| before[end..].trim_start_matches(|letter| !part_of_name(letter)));
        // A host follows a scheme.
        if is_secret(name) && !value.is_empty() && !value.starts_with("//") {
            return format!("{}{HIDDEN}", &word[..=at]);
        }
    }
    word.to_string()
}

/// Returns a word without the passwords before an `@`: `postgres://user:secret@host`, `user:secret@tcp(host)` and
/// `user/secret@host` of Oracle become `…user@…`.
fn without_passwords(word: &str) -> String {
    let mut clean = String::with_capacity(word.len());
    let mut rest = word;
    let first = rest.find("://").map_or(rest.len(), |begin| begin);
    let (head, tail) = rest.split_at(first);
    if let Some(at) = head.rfind('@') {
        let colon = head[..at].find(':');
        let slash = head[..at].rfind('/').filter(|&slash| {
            let user = head[..slash].rsplit('=').next().unwrap_or_default();
            !user.is_empty() && user.chars().all(|letter| letter.is_alphanumeric() || "_$#".contains(letter))
        });
        clean.push_str(&head[..colon.or(slash).unwrap_or(at)]);
        clean.push_str(&head[at..]);
    } else {
        clean.push_str(head);
    }
    rest = tail;
    while let Some(begin) = rest.find("://") {
        let (before, behind) = rest.split_at(begin + 3);
        clean.push_str(before);
        let end = behind.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(behind.len());
        // A password may contain an @, and in a careless URL a slash. Then the word is cut at its last @.
        let word_end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        let at = behind[..end].rfind('@').or_else(|| behind[..word_end].rfind('@'));
        rest = match at {
            Some(at) => {
                clean.push_str(behind[..at].split(':').next().unwrap_or_default());
                &behind[at..]
            }
            None => behind,
        };
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn passwords_of_urls_are_hidden() {
        for (given, shown) in [
            ("d --dsn postgres://u:secret@host/db --x", "d --dsn postgres://u@host/db --x"),
            ("d postgres://u:se@cret@host/db?a=b", "d postgres://u@host/db?a=b"),
            ("d postgres://u:se/cret@host/db", "d postgres://u@host/db"),
            ("d redis://:secret@host mysql://v:other@h", "d redis://@host mysql://v@h"),
            ("d 'u:secret@tcp(h:3306)/db?x=http://y'", "d u@tcp(h:3306)/db?x=http://y"),
            ("d --dsn=scott/secret@h:1521/db", "d --dsn=scott@h:1521/db"),
            ("d jdbc:mysql://h/db?user=u&password=secret", "d jdbc:mysql://h/db?user=u&password=***"),
        ] {
            assert_eq!(without_secrets(given), shown);
        }
    }

    #[test]
    fn values_of_secret_names_are_hidden() {
        for (given, shown) in [
            ("d host=h user=u password=secret dbname=x", "d host=h user=u password=*** dbname=x"),
            ("d 'host=h PASSWORD=secret' --pwd=other", "d 'host=h PASSWORD=***' --pwd=***"),
            ("d \"password = 'se cret' user=u\"", "d 'password =***'"),
            ("d --password secret --user u", "d --password *** --user u"),
            ("d --password 'se cret' --user u", "d --password *** --user u"),
            ("d --password='se cret;x' --user u", "d --password=*** --user u"),
            ("d --pass secret --auth other", "d --pass *** --auth ***"),
            ("d -p secret -psesame -p=sesame", "d -p *** -p*** -p***"),
            ("d -password secret -pass=secret", "d -password *** -pass=***"),
            ("d -token secret --db-passwords=secret", "d -token *** --db-passwords=***"),
            ("d --api-key secret --apikey=secret", "d --api-key *** --apikey=***"),
            ("d --client_secret -secret", "d --client_secret ***"),
            ("d --no-auth -p secret", "d --no-auth *** ***"),
            ("env PGPASSWORD=secret MYSQL_PWD=secret d", "env PGPASSWORD=*** MYSQL_PWD=*** d"),
            ("sh -c 'PGPASSWORD=secret d'", "sh -c PGPASSWORD=***"),
            ("sh -c 'd --token secret -x'", "sh -c 'd --token *** -x'"),
            ("d -H 'Authorization: Bearer secret'", "d -H Authorization:***"),
            ("d '{\"user\":\"u\",\"password\": \"se cret\"}'", "d '{\"user\":\"u\",\"password\":***'"),
            ("d --dsn='Server=h;Pwd=se;cret'", "d --dsn=Server=h;Pwd=***"),
        ] {
            assert_eq!(without_secrets(given), shown);
        }
    }

    #[test]
    fn other_arguments_stay_readable() {
        for given in [
            "d --port 5432 --port=5432 -port 5432 -port=5432 --path 'a b'",
            "d --password-file f --token-less",
            "d http://host/x host:5432 user@host",
            "'my driver' \"host=h  user=u\"",
            "d --auth --port 5432",
        ] {
            assert_eq!(without_secrets(given), given);
        }
    }
}
