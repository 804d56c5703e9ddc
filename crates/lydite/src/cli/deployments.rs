//! The commands in the files of deploy/ are commands that the program takes.

use super::Cli;
use clap::Parser;
use std::fs;
use std::path::Path;

/// Returns the arguments of each container of Lydite in a file, which are one list in a line.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut ours = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(image) = line.strip_prefix("image: ") {
            ours = image.contains("/lydite:");
        } else if let Some(list) = line.strip_prefix("args: ").filter(|_| ours) {
            found.push(serde_json::from_str(list).expect("a list of texts"));
        }
    }
    found
}

#[test]
fn the_arguments_in_the_files_for_kubernetes_are_those_of_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the files") {
        found.extend(commands(&fs::read_to_string(entry.expect("a file").path()).expect("a text")));
    }
    assert_eq!(found.len(), 2, "an agent and a run: {found:?}");
    for arguments in found {
        let line = std::iter::once("lydite".to_owned()).chain(arguments);
        if let Err(error) = Cli::try_parse_from(line) {
            panic!("{error}");
        }
    }
}
