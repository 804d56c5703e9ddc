//! HTML that cannot be injected into: text enters only escaped, raw markup only from the program itself.

/// A piece of well-formed HTML.
#[derive(Debug, Clone, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Markup written in the program; `&'static`, so that nothing read at run time can come this way.
    pub(super) fn fixed(html: &'static str) -> Self {
        Self(html.to_owned())
    }

    /// Text, escaped for content and for attributes. Control characters other than blanks are left out: they mean
    /// nothing on a page, and HTML forbids some of them.
    pub(super) fn text(text: &str) -> Self {
        Self(escape(text))
    }

    /// An element with attributes (their values are escaped) and content.
    pub(super) fn element(name: &'static str, attributes: &[(&'static str, &str)], content: Markup) -> Self {
        let mut html = format!("<{name}");
        for (key, value) in attributes {
            html.push(' ');
            html.push_str(key);
            html.push_str("=\"");
            html.push_str(&escape(value));
            html.push('"');
        }
        html.push('>');
        html.push_str(&content.0);
        // The elements without an end tag that the page uses.
        if !matches!(name, "br" | "meta" | "input") {
            html.push_str("</");
            html.push_str(name);
            html.push('>');
        }
        Self(html)
    }

    /// An element with text only.
    pub(super) fn with_text(name: &'static str, attributes: &[(&'static str, &str)], text: &str) -> Self {
        Self::element(name, attributes, Self::text(text))
    }

    /// Data for the page's script, as a script element that no content can end early.
    pub(super) fn data(id: &'static str, value: &impl serde::Serialize) -> Self {
        // The data has only numbers and strings, so it always has a JSON form. Should it fail, a page without charts is
        // better than none.
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        Self(format!("<script type=\"application/json\" id=\"{id}\">{}</script>", escape_json(&json)))
    }

    /// Appends another piece.
    pub(super) fn push(&mut self, other: Markup) {
        self.0.push_str(&other.0);
    }

    /// Returns true if it is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the HTML.
    pub(super) fn into_html(self) -> String {
        self.0
    }
}

impl FromIterator<Markup> for Markup {
    fn from_iter<I: IntoIterator<Item = Markup>>(pieces: I) -> Self {
        pieces.into_iter().fold(Self::default(), |mut all, piece| {
            all.push(piece);
            all
        })
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Escapes JSON for a script element. Characters that could end the element or the line occur only within strings,
/// where JSON has escapes for them.
fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

/// A column of a table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    label: &'static str,
    numeric: bool,
}

/// A column of words, to the left.
pub(super) fn words(label: &'static str) -> Column {
    Column { label, numeric: false }
}

/// A column of numbers, to the right.
pub(super) fn figures(label: &'static str) -> Column {
    Column { label, numeric: true }
}

/// A table that scrolls sideways if it is wider than the page.
pub(super) fn table(caption: &str, columns: &[Column], rows: Vec<Vec<Markup>>) -> Markup {
    let columns: Vec<(String, bool)> = columns.iter().map(|c| (c.label.to_owned(), c.numeric)).collect();
    named_table(caption, &columns, rows)
}

/// A table with the given columns: name, and true for numbers.
pub(super) fn named_table(caption: &str, columns: &[(String, bool)], rows: Vec<Vec<Markup>>) -> Markup {
    let class = |numeric: bool| if numeric { "n" } else { "w" };
    let head = columns.iter().map(|(label, numeric)| {
        Markup::with_text("th", &[("class", class(*numeric)), ("scope", "col")], label)
    });
    let head = Markup::element("thead", &[], Markup::element("tr", &[], head.collect()));
    let body = rows
        .into_iter()
        .map(|row| {
            let cells = row.into_iter().zip(columns).enumerate().map(|(i, (cell, column))| {
                // The first cell names the row.
                let (name, scope): (_, &[(&str, &str)]) =
                    if i == 0 { ("th", &[("scope", "row")]) } else { ("td", &[]) };
                Markup::element(name, &[&[("class", class(column.1))], scope].concat(), cell)
            });
            Markup::element("tr", &[], cells.collect())
        })
        .collect();
    let mut all = head;
    all.push(Markup::element("tbody", &[], body));
    titled(caption, Markup::element("table", &[("aria-label", caption)], all))
}

/// A table that scrolls sideways, under its title; the title does not scroll with it.
pub(super) fn titled(title: &str, table: Markup) -> Markup {
    let mut all = Markup::default();
    if !title.is_empty() {
        all.push(Markup::with_text("p", &[("class", "caption")], title));
    }
    // Focusable, so that it scrolls by keyboard too.
    let frame = [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", title)];
    all.push(Markup::element("div", &frame, table));
    Markup::element("div", &[("class", "titled")], all)
}

/// A table of names and values.
pub(super) fn pairs(caption: &str, rows: Vec<(String, Markup)>) -> Markup {
    let body = rows
        .into_iter()
        .map(|(name, value)| {
            let mut row = Markup::with_text("th", &[("class", "w"), ("scope", "row")], &name);
            row.push(Markup::element("td", &[("class", "w")], value));
            Markup::element("tr", &[], row)
        })
        .collect();
    let mut all =
        if caption.is_empty() { Markup::default() } else { Markup::with_text("caption", &[], caption) };
    all.push(Markup::element("tbody", &[], body));
    Markup::element("table", &[("class", "pairs")], all)
}

/// A short verdict with a colour: `good`, `bad`, `warn` or `none`.
pub(super) fn pill(kind: &'static str, text: &str) -> Markup {
    Markup::with_text("span", &[("class", &format!("pill {kind}"))], text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        let html =
            Markup::with_text("td", &[("title", "\"><b>")], "<script>'&'\u{1b}\u{0}</script>").into_html();
        assert_eq!(
            html,
            "<td title=\"&quot;&gt;&lt;b&gt;\">&lt;script&gt;&#39;&amp;&#39;&lt;/script&gt;</td>"
        );
    }

    #[test]
    fn data_cannot_end_its_script() {
        let value = serde_json::json!({"name": "</script><!--\u{2028}\u{2029}&"});
        let html = Markup::data("x", &value).into_html();
        assert_eq!(html.matches("</script").count(), 1);
        assert!(!html.contains("<!--") && !html.contains('\u{2028}') && !html.contains('\u{2029}'));
        let json = html.split_once('>').and_then(|(_, rest)| rest.strip_suffix("</script>")).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(json).unwrap(), value);
    }
}
