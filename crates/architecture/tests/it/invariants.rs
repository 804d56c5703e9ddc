//! An invariant that ARCHITECTURE.md states is held by something: a test or a type, which it names.

use crate::WORKSPACE;
use std::fs;
use std::path::Path;

/// How an invariant begins.
const INVARIANT: &str = "**Architecture Invariant:**";
/// How the sentence begins that names what holds it.
const HELD: &str = "Held by ";

#[test]
fn each_invariant_names_the_tests_or_types_that_hold_it() {
    let page = WORKSPACE.text("ARCHITECTURE.md").expect("ARCHITECTURE.md");
    let mut code = String::new();
    add_sources(&WORKSPACE.root.join("crates"), &mut code);
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
        let missing = names.into_iter().filter(|name| !is_defined(name, &code));
        problems.extend(missing.map(|name| format!("\"{begin}…\" is held by {name}, which is not there")));
    }
    assert!(count > 20, "only {count} invariants were found");
    assert!(
        problems.is_empty(),
        "each {INVARIANT} ends with \"{HELD}`…`\": a test, a type or a lint of the manifest. What nothing holds is called \
         a convention. {problems:#?}"
    );
}

/// Whether the sources define a function, a type or a constant of this name. `Type::field` needs both.
fn is_defined(name: &str, code: &str) -> bool {
    let (first, rest) = name.split_once("::").unwrap_or((name, ""));
    let kinds = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "macro_rules!"];
    let is_there = |name: &str| {
        kinds.iter().any(|kind| {
            let definition = format!("{kind} {name}");
            code.match_indices(&definition).any(|(at, _)| {
                code[at + definition.len()..]
                    .chars()
                    .next()
                    .is_none_or(|next| !next.is_alphanumeric() && next != '_')
            })
        })
    };
    is_there(first) && (rest.is_empty() || is_there(rest) || code.contains(&format!("{rest}: ")))
}

/// Adds the text of all Rust files below a directory.
fn add_sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        // What Cargo builds bears this mark.
        if path.is_dir() && !path.join("CACHEDIR.TAG").exists() {
            add_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
}
