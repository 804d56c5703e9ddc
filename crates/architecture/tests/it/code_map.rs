//! The code map of the book is made from the first sentences of the files.

use crate::WORKSPACE;
use lydite_architecture::kept;
use std::fmt::Write;

/// The page, from the root of the repository.
const PAGE: &str = "docs/src/code-map.md";

#[test]
fn each_file_says_what_it_is_for_and_the_code_map_says_the_same() {
    let mut page = String::from(
        "# Code map\n\nEach source file of Lydite with the first sentence of its documentation. A test makes this page \
         from the\nsources. How the crates go together is in ARCHITECTURE.md, in the root of the repository.\n",
    );
    let mut mute = Vec::new();
    for of in &WORKSPACE.crates {
        let _ = write!(page, "\n## `crates/{}`\n\n", of.folder);
        for file in &of.files {
            match file.purpose() {
                Some(purpose) => {
                    let _ = writeln!(page, "- `{}`: {}", file.path, first_sentence(&purpose));
                }
                None => mute.push(format!("crates/{}/src/{}", of.folder, file.path)),
            }
        }
    }
    assert!(
        mute.is_empty(),
        "these files do not begin with a `//!` line that says what they are for: {mute:#?}"
    );
    if let Err(error) = kept::compare(PAGE, &page) {
        panic!("{error}");
    }
}

/// Returns a text up to its first full stop before a blank.
fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    &text[..end]
}
