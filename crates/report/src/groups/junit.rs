//! A comparison as JUnit XML, which CI servers show as tests: a test for each condition, each run that passes no gate,
//! and each answer. Written here: it is a few elements, and libraries for it bring clocks and random numbers.

use std::fmt::Write as _;

use super::model::{GroupsComparison, Outcome};
use super::text::gate_line;
use crate::figures::clean;

/// End of a test of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseEnd {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It could not be decided.
    Undecided,
}

/// A test of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Name.
    pub name: String,
    /// End.
    pub end: CaseEnd,
    /// Values and reasons.
    pub text: String,
}

/// Returns the tests of a comparison: its conditions, then its answers, which always pass. `undecided` is the end of an
/// undecided condition.
#[must_use]
pub fn cases(found: &GroupsComparison, undecided: CaseEnd) -> Vec<Case> {
    let name_of = |letter: &str| {
        let group = found.groups.iter().find(|group| group.letter == letter);
        group.map_or_else(|| letter.to_owned(), |group| format!("{letter} {}", group.name))
    };
    let gates = found.gates.iter().map(|gate| Case {
        name: format!("{} in {}", gate.text, name_of(&gate.other)),
        end: match gate.outcome {
            Outcome::Passed => CaseEnd::Passed,
            Outcome::Failed => CaseEnd::Failed,
            Outcome::Undecided => undecided,
        },
        text: gate_line(gate),
    });
    let answers = found.verdicts.iter().map(|answer| Case {
        name: format!("{} against {}", name_of(&answer.other), name_of("A")),
        end: CaseEnd::Passed,
        text: format!("{} {}.", answer.sentence, answer.why),
    });
    gates.chain(answers).collect()
}

/// Renders tests as one suite. A failed one has a `failure`, an undecided one an `error`; the warnings are the suite's
/// standard error.
#[must_use]
pub fn render_junit(cases: &[Case], warnings: &[String]) -> String {
    let count = |end| cases.iter().filter(|case| case.end == end).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        cases.len(),
        count(CaseEnd::Failed),
        count(CaseEnd::Undecided)
    );
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(out, "<testsuites name=\"lydite\" {counts}>");
    let _ = writeln!(out, "  <testsuite name=\"lydite compare\" {counts} skipped=\"0\" time=\"0\">");
    for case in cases {
        let (name, text) = (escaped(&case.name), escaped(&case.text));
        let _ = writeln!(out, "    <testcase classname=\"lydite.compare\" name=\"{name}\" time=\"0\">");
        let _ = match case.end {
            CaseEnd::Passed => writeln!(out, "      <system-out>{text}</system-out>"),
            CaseEnd::Failed => {
                writeln!(out, "      <failure message=\"{text}\" type=\"threshold\">{text}</failure>")
            }
            CaseEnd::Undecided => {
                writeln!(out, "      <error message=\"{text}\" type=\"undecided\">{text}</error>")
            }
        };
        out.push_str("    </testcase>\n");
    }
    if !warnings.is_empty() {
        let _ = writeln!(out, "    <system-err>{}</system-err>", escaped(&warnings.join("\n")));
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Returns text for an attribute or an element. XML has no control characters, not even escaped.
pub(super) fn escaped(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(clean).collect();
    let mut out = String::with_capacity(text.len());
    for c in lines.join("\n").chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}
