//! The book says nothing of the tests that is not so.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust sources below a directory, as one text.
fn sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        // What cargo builds bears this mark; the crate of the targets is called as cargo's directories are.
        if path.is_dir() && !path.join("CACHEDIR.TAG").exists() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("a source"));
        }
    }
}

#[test]
fn every_test_that_the_matrix_names_is_there() {
    let page = fs::read_to_string(root().join("docs/src/matrix.md")).expect("the page");
    let mut code = String::new();
    sources(&root().join("crates"), &mut code);
    // Names of tests are sentences: nothing else in that page has so many underscores.
    let named: Vec<&str> =
        page.split('`').skip(1).step_by(2).filter(|word| word.matches('_').count() > 3).collect();
    assert!(named.len() > 40, "{} tests are named", named.len());
    let missing: Vec<&&str> = named.iter().filter(|name| !code.contains(&format!("fn {name}"))).collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}
