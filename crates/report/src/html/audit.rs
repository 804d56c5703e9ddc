//! The page of an audit: each test with its verdict, what was seen, and its steps.

use super::markup::{Markup, figures, pill, table, words};
use super::theme::{STYLE, THEME};
use super::{Section, frame};
use crate::audit::{AuditPage, AuditTest};

/// Renders the page of an audit.
#[must_use]
pub fn render_audit(page: &AuditPage<'_>) -> String {
    let sections = vec![
        Section::first("Summary", summary(page)),
        Section::new("tests", "Tests", "Tests", tests(page)),
        Section::new("steps", "Steps", "Steps of each test", page.tests.iter().map(steps).collect()),
    ];
    let mut footer = Markup::with_text(
        "p",
        &[],
        "The tests follow clause 3 of the TPC-C standard. They are not an audit by a certified auditor.",
    );
    footer.push(Markup::with_text("p", &[], &format!("Made by Lydite {}.", env!("CARGO_PKG_VERSION"))));
    frame("ACID tests", sections, (&[STYLE], Markup::fixed(THEME)), footer, Markup::default())
}

fn summary(page: &AuditPage<'_>) -> Markup {
    let mut all = Markup::with_text("h1", &[], "ACID tests");
    all.push(Markup::with_text("p", &[("class", "lead")], page.about));
    let count = |chosen: fn(&AuditTest<'_>) -> bool| page.tests.iter().filter(|test| chosen(test)).count();
    let (passed, failed) = (count(|test| test.good), count(|test| test.bad));
    let others = page.tests.len() - passed - failed;
    let partial =
        if page.status == "complete" { "" } else { " The audit was broken off: tests are missing." };
    let words = format!("{passed} passed, {failed} failed, {others} not run.{partial}");
    all.push(Markup::with_text("p", &[], &words));
    all
}

/// Returns the verdict of a test.
fn verdict(test: &AuditTest<'_>) -> Markup {
    let kind = match (test.good, test.bad) {
        (true, _) => "good",
        (_, true) => "bad",
        _ => "none",
    };
    pill(kind, &test.verdict)
}

/// Returns the observation with its case.
fn seen(test: &AuditTest<'_>) -> String {
    test.case.map_or_else(|| test.seen.to_owned(), |case| format!("case {case}: {}", test.seen))
}

pub(super) fn tests(page: &AuditPage<'_>) -> Markup {
    let columns = [
        words("Test"),
        words("Clause"),
        words("Scope"),
        words("Verdict"),
        words("Subject"),
        words("Seen"),
        figures("Seconds"),
    ];
    let rows = page.tests.iter().map(|test| {
        vec![
            Markup::text(test.id),
            Markup::text(test.clause),
            Markup::text(test.scope),
            verdict(test),
            Markup::text(test.title),
            Markup::text(&seen(test)),
            Markup::text(&format!("{:.1}", test.seconds)),
        ]
    });
    table("", &columns, rows.collect())
}

/// Returns the steps of a test.
pub(super) fn steps(test: &AuditTest<'_>) -> Markup {
    if test.steps.is_empty() {
        return Markup::default();
    }
    let mut all = Markup::with_text("h3", &[], &format!("{} ({}): {}", test.id, test.scope, test.title));
    let list = test.steps.iter().map(|step| Markup::with_text("li", &[], step));
    all.push(Markup::element("ol", &[], list.collect()));
    let mut end = verdict(test);
    end.push(Markup::text(&format!(" {}", seen(test))));
    all.push(Markup::element("p", &[], end));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_each_test_with_its_steps_and_escapes_them() {
        let steps = ["T1: <b>".to_owned()];
        let test = AuditTest {
            id: "isolation-7",
            clause: "3.4.2.7",
            title: "prices",
            scope: "local",
            verdict: "failed".into(),
            good: false,
            bad: true,
            case: Some('D'),
            seen: "a phantom",
            steps: &steps,
            seconds: 0.25,
        };
        let page = render_audit(&AuditPage { about: "postgres", status: "partial", tests: vec![test] });
        for part in
            ["0 passed, 1 failed, 0 not run", "broken off", "case D: a phantom", "T1: &lt;b&gt;", "3.4.2.7"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
