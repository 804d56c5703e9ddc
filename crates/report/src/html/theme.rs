//! The colours of the pages, light and dark. The style sheet that `web/` builds has the same files.

/// Style of pages without charts that a script draws. These pages have no script at all: a box that is checked turns the
/// system's theme into the other one.
pub(super) const STYLE: &str = concat!(
    include_str!("theme/switch.css"),
    "@media (prefers-color-scheme: light) {\n  :root:has(#other-theme:checked) {\n",
    include_str!("theme/dark.css"),
    "  }\n}\n\n@media (prefers-color-scheme: dark) {\n  :root:has(#other-theme:checked) {\n",
    include_str!("theme/light.css"),
    "  }\n}\n\n",
    include_str!("plot.css"),
);

/// Style of a picture on other pages.
pub(super) const PLOT: &str = include_str!("plot.css");

/// The switch between light and dark, which needs no script.
pub(super) const THEME: &str =
    "<label class=\"theme\"><input type=\"checkbox\" id=\"other-theme\">Light or dark</label>";

#[cfg(test)]
mod tests {
    /// Returns the colours of a style sheet.
    fn colours(style: &str) -> impl Iterator<Item = &str> {
        style
            .match_indices('#')
            .filter_map(|(at, _)| style.get(at..at + 7))
            .filter(|text| text.bytes().skip(1).all(|byte| byte.is_ascii_hexdigit()))
    }

    #[test]
    fn pictures_and_paper_have_the_colours_of_the_light_theme() {
        let light = include_str!("theme/light.css");
        for style in [include_str!("picture.css"), include_str!("disclosure.css")] {
            let other: Vec<&str> = colours(style).filter(|colour| !light.contains(colour)).collect();
            assert!(other.is_empty(), "{other:?}");
        }
    }
}
