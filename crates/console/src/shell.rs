//! Text that users paste into a shell.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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

/// Returns a name of a file as [`typed`] does. Bytes that are no UTF-8 are escaped as control characters are.
pub fn typed_path(path: &Path) -> Cow<'_, str> {
    if let Some(text) = path.to_str() {
        return typed(text);
    }
    let chunk = |chunk: std::str::Utf8Chunk<'_>| {
        let valid = chunk.valid().chars().map(escaped);
        valid.chain(chunk.invalid().iter().map(|byte| octal(*byte))).collect::<String>()
    };
    format!("$'{}'", path.as_os_str().as_bytes().utf8_chunks().map(chunk).collect::<String>()).into()
}

/// Returns a character as it stands in `$'…'`.
fn escaped(letter: char) -> String {
    match letter {
        '\'' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => letter.encode_utf8(&mut [0; 4]).bytes().map(octal).collect(),
        letter => letter.to_string(),
    }
}

/// Returns a byte as it stands in `$'…'`. Such numbers end after three digits, whatever follows.
fn octal(byte: u8) -> String {
    format!("\\{byte:03o}")
}

#[cfg(test)]
mod tests {
    use super::{typed, typed_path};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

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

    #[test]
    fn a_name_that_is_no_utf_8_is_typed_as_its_bytes() {
        let typed = |bytes| typed_path(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(typed(b"a\xff1 \xc3\xa4'.xml"), "$'a\\3771 \u{e4}\\'.xml'");
        assert_eq!(typed(b"plan.toml"), "plan.toml");
        assert_eq!(typed(b"a b"), "'a b'");
    }
}
