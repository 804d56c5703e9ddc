//! A place in the page that the script draws a chart into, and the numbers of charts.

use super::markup::Markup;

/// A place that the script draws a chart into. `kind` names the chart, `run` and `of` its data; `says` describes the
/// chart in words.
pub(super) struct Chart<'a> {
    pub(super) kind: &'static str,
    pub(super) run: usize,
    pub(super) of: usize,
    pub(super) title: &'a str,
    pub(super) note: &'a str,
    pub(super) says: &'a str,
}

impl Chart<'_> {
    pub(super) fn markup(&self) -> Markup {
        let mut all = Markup::with_text("figcaption", &[], self.title);
        if !self.note.is_empty() {
            all.push(Markup::with_text("p", &[("class", "note")], self.note));
        }
        let label = format!("{}. {}", self.title, self.says);
        let (run, of) = (self.run.to_string(), self.of.to_string());
        let place = [
            ("class", "chart"),
            ("data-chart", self.kind),
            ("data-run", run.as_str()),
            ("data-of", of.as_str()),
            ("role", "img"),
            ("aria-label", label.as_str()),
        ];
        all.push(Markup::element(
            "div",
            &place,
            Markup::fixed("<noscript>Charts need JavaScript.</noscript>"),
        ));
        Markup::element("figure", &[("class", self.kind)], all)
    }
}

/// Rounds to four significant digits: more would only make the page larger.
pub(super) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
