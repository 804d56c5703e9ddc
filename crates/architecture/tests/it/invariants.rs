//! An invariant that ARCHITECTURE.md states is held by something: a test or a type, which it names.

use crate::WORKSPACE;
use std::collections::BTreeSet;

/// Begin of an invariant.
const INVARIANT: &str = "**Architecture Invariant:**";
/// Begin of the sentence that names what holds it.
const HELD: &str = "Held by ";

#[test]
fn each_invariant_names_the_tests_or_types_that_hold_it() {
    let page = WORKSPACE.text("ARCHITECTURE.md").expect("ARCHITECTURE.md");
    let code = WORKSPACE.all_code().expect("the sources");
    let holders = holders(&code);
    let mut problems = Vec::new();
    let mut count = 0;
    for paragraph in page.split("\n\n").filter(|paragraph| paragraph.starts_with(INVARIANT)) {
        count += 1;
        let text = paragraph.replace('\n', " ");
        let begin: String = text.chars().take(90).collect();
        let Some((_, held)) = text.rsplit_once(HELD) else {
            problems.push(format!("\"{begin}…\" does not say by what it is held"));
            continue;
        };
        let names: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            problems.push(format!("\"{begin}…\" names neither a test nor a type"));
        }
        let missing = names.into_iter().filter(|name| !holders.contains(name));
        problems.extend(
            missing.map(|name| {
                format!("\"{begin}…\" is held by {name}, which is no test that runs, and no type")
            }),
        );
    }
    assert!(count > 20, "only {count} invariants were found");
    assert!(
        problems.is_empty(),
        "each {INVARIANT} ends with \"{HELD}`…`\": a test or a type. A rule that neither holds is a convention. \
         {problems:#?}"
    );
}

/// Returns the names that may hold an invariant: tests that are not ignored, and definitions.
fn holders(code: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let (mut is_test, mut is_ignored) = (false, false);
    for line in code.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        is_test |= line.starts_with("#[test]");
        is_ignored |= line.starts_with("#[ignore");
        let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        let Some((kind, rest)) = line.split_once(' ') else { continue };
        let name =
            rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default();
        match kind {
            "fn" => {
                // A function that is no test holds something if it fails by itself.
                if is_test && !is_ignored || name.starts_with("assert_") {
                    found.insert(name);
                }
                (is_test, is_ignored) = (false, false);
            }
            "struct" | "enum" | "trait" => _ = found.insert(name),
            _ => {}
        }
    }
    found
}
