//! A comparison as annotations of a GitHub workflow: lines on its output that the workflow shows beside the job.

use std::fmt::Write as _;

use super::junit::{Case, CaseEnd};

/// Renders tests and warnings as workflow commands: errors first, since GitHub shows the first ten of each kind.
#[must_use]
pub fn render_annotations(cases: &[Case], warnings: &[String]) -> String {
    let mut out = String::new();
    let of = |end| cases.iter().filter(move |case| case.end == end);
    for case in of(CaseEnd::Failed) {
        let _ = writeln!(out, "::error title={}::{}", property(&case.name), message(&case.text));
    }
    for case in of(CaseEnd::Undecided) {
        let _ = writeln!(out, "::error title=Undecided%3A {}::{}", property(&case.name), message(&case.text));
    }
    for warning in warnings {
        let _ = writeln!(out, "::warning title=lydite compare::{}", message(warning));
    }
    for case in of(CaseEnd::Passed) {
        let _ = writeln!(out, "::notice title={}::{}", property(&case.name), message(&case.text));
    }
    out
}

/// Returns the text of a workflow command.
fn message(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Returns the value of a property of a workflow command.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_command() {
        assert_eq!(message("50 %\n::error::x\u{7}"), "50 %25%0A::error::x");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
