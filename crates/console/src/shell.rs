//! Text that users paste into a shell.

use std::borrow::Cow;

/// Returns a URL as it is typed into a shell: quoted if it contains characters that the shell interprets.
pub fn typed(url: &str) -> Cow<'_, str> {
    if url.contains(|letter: char| letter.is_whitespace() || "&;?*()<>|$`\"'\\".contains(letter)) {
        format!("'{}'", url.replace('\'', "'\\''")).into()
    } else {
        url.into()
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
    }
}
