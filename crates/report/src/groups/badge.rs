//! A comparison as a badge: a picture (SVG) for a README that needs no service. The other usual form, a document for
//! shields.io, needs a public address for the document and that service for the picture.

use super::junit::{Case, CaseEnd, escaped};
use super::model::{Answer, GroupsComparison};
use crate::verdict::Verdict;

/// Height of a badge, and the free space beside its texts, in pixels.
const HEIGHT: usize = 20;
const BESIDE: usize = 6;
/// Colours of the right half.
const GREEN: &str = "#3c873a";
const RED: &str = "#c0392b";
const GREY: &str = "#6b6b6b";

/// Renders a badge: the change of the number that decides, of the last group against the first, and the end of the gates.
#[must_use]
pub fn render_badge(found: &GroupsComparison, cases: &[Case]) -> String {
    let answer = found.verdicts.last();
    let change = answer.and_then(change).unwrap_or_else(|| "no ratio".to_owned());
    let has = |end| cases.iter().any(|case| case.end == end);
    let failed = cases.iter().filter(|case| case.end == CaseEnd::Failed).count();
    let (end, colour) = if failed > 0 {
        (format!("{failed} failed"), RED)
    } else if has(CaseEnd::Undecided) {
        ("undecided".to_owned(), GREY)
    } else if !found.gates.is_empty() {
        ("passed".to_owned(), GREEN)
    } else {
        let (words, colour) = match answer.map(|answer| answer.verdict) {
            Some(Verdict::Better) => ("better", GREEN),
            Some(Verdict::Worse) => ("worse", RED),
            Some(Verdict::Undecided) => ("cannot tell", GREY),
            Some(Verdict::NotJudged) | None => ("no verdict", GREY),
        };
        (words.to_owned(), colour)
    };
    let label = answer.map_or("lydite", |answer| &*answer.metric);
    svg(label, &format!("{change}, {end}"), colour)
}

fn change(answer: &Answer) -> Option<String> {
    answer.ratio.map(|ratio| format!("{:+.1} %", 100.0 * (ratio - 1.0)))
}

fn svg(label: &str, text: &str, colour: &str) -> String {
    // Digits and small letters of the font are about 7 pixels wide; `textLength` makes the text fit exactly.
    let width = |text: &str| 7 * text.chars().count();
    let (left, right) = (width(label) + 2 * BESIDE, width(text) + 2 * BESIDE);
    let all = left + right;
    let (middle, end) = (BESIDE, left + BESIDE);
    let (of_label, of_text) = (width(label), width(text));
    let (label, text) = (escaped(label), escaped(text));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"{HEIGHT}\" role=\"img\" \
         aria-label=\"{label}: {text}\"><title>{label}: {text}</title>\
         <rect width=\"{left}\" height=\"{HEIGHT}\" fill=\"#444\"/>\
         <rect x=\"{left}\" width=\"{right}\" height=\"{HEIGHT}\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\
         <text x=\"{middle}\" y=\"14\" textLength=\"{of_label}\">{label}</text>\
         <text x=\"{end}\" y=\"14\" textLength=\"{of_text}\">{text}</text></g></svg>\n"
    )
}
