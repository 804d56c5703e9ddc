//! Text that users paste into a shell.

use std::borrow::Cow;

/// Returns a URL or a name of a file as it is typed into a shell: quoted if it contains characters that the shell
/// interprets. Control characters are escaped as bash, zsh and ksh read them, so the text stays one line.
pub fn typed(url: &str) -> Cow<'_, str> {
    if url.contains(char::is_control) {
        return format!("$'{}'", url.chars().map(escaped).collect::<String>()).into();
    }
    let begins = url.is_empty() || url.starts_with(['#', '~']);
    if begins || url.contains(|letter: char| letter.is_whitespace() || "&;?*()<>|$`\"'\\".contains(letter)) {
        format!("'{}'", url.replace('\'', "'\\''")).into()
    } else {
        url.into()
    }
}

/// Returns a character as it stands in `$'…'`.
fn escaped(letter: char) -> String {
    match letter {
        '\'' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => {
            // Octal numbers end after three digits, whatever follows.
            let mut bytes = [0; 4];
            letter.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}")).collect()
        }
        letter => letter.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn a_url_is_quoted_where_a_shell_would_take_it_apart() {
        assert_eq!(typed("gemel:/data/shop"), "gemel:/data/shop");
        assert_eq!(typed("gemel:/shop?cache=1GB&log=shared"), "'gemel:/shop?cache=1GB&log=shared'");
        assert_eq!(typed("sqlite:it's"), "'sqlite:it'\\''s'");
        assert_eq!(typed("~/shop"), "'~/shop'");
        assert_eq!(typed(""), "''");
    }

    #[test]
    fn a_name_with_ends_of_lines_stays_one_line() {
        assert_eq!(typed("a\nrate = 5\n#.xml"), "$'a\\012rate = 5\\012#.xml'");
        assert_eq!(typed("it's\t\\1\u{85}"), "$'it\\'s\\011\\\\1\\302\\205'");
    }
}
