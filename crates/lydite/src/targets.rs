//! `lydite targets`, and targets in commands that messages tell.

use crate::output::print;
use lydite_families::families;
use std::borrow::Cow;
use std::fmt::Write;

/// A URL as one types it into a shell: options are joined by a sign that means something there.
pub(crate) fn typed(url: &str) -> Cow<'_, str> {
    if url.contains(|letter: char| letter.is_whitespace() || "&;?*()<>|$`\"'\\".contains(letter)) {
        format!("'{}'", url.replace('\'', "'\\''")).into()
    } else {
        url.into()
    }
}

/// Lists the families of databases with their URLs, ways of sending transactions, and options.
pub(crate) fn list() -> crate::exit::Outcome {
    let mut text = String::new();
    for family in families() {
        let modes: Vec<&str> = family.modes.iter().map(|mode| mode.name()).collect();
        let schemes = family.schemes.join(", ");
        // Writing to a string can't fail.
        let _ = writeln!(text, "{schemes}\n    {}\n    URL   {}", family.about, family.url);
        let _ = writeln!(text, "    --tx  {}", modes.join(", "));
        let _ = writeln!(text, "    transactions  {}", family.guarantees);
        let _ = writeln!(text, "    placement     {}", family.placement.unwrap_or("no"));
        let _ = writeln!(text, "    tested on     {}", family.tested);
        for option in family.options {
            let _ = writeln!(text, "    ?{}={}", option.name, option.values);
            let _ = writeln!(text, "        {} [default: {}]", option.about, option.default);
        }
        text.push('\n');
    }
    print(&text)
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
