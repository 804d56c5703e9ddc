//! Parts of the system that a crate must not use: the workloads touch none, and only the command line reads arguments, handles signals and
//! ends the process.

use crate::WORKSPACE;

/// Words of a runtime for asynchronous code.
const RUNTIME: &[&str] = &["async fn", "async move", "tokio::"];
/// Folders of crates, or files and folders in them, words that their sources must not have, and the rule.
const RULES: &[(&[&str], &[&str], &str)] = &[
    (
        &["tpcc", "micro"],
        &["std::fs", "std::net", "std::thread", "std::process", "std::env", "Instant", "SystemTime"],
        "a workload is data: it has no files, no network, no threads and no clock, so that its numbers are the same everywhere",
    ),
    (
        &[
            "report/ab/",
            "report/html/",
            "report/table.rs",
            "report/markdown.rs",
            "report/compare.rs",
            "report/compare/",
            "report/groups/",
            "report/disclosure/",
            "export/",
        ],
        &["std::fs", "std::net", "std::env", "std::thread", "std::process", "Instant", "SystemTime"],
        "a rendering is a function of the document alone",
    ),
    (
        &[
            "ab",
            "audit",
            "bench",
            "console",
            "csv",
            "database",
            "driver-kit",
            "durability",
            "export",
            "families",
            "faults",
            "find",
            "fleet",
            "import",
            "lab",
            "observe",
            "plan",
            "report",
            "run",
            "sweep",
            "verify",
            "was",
        ],
        &["process::exit", "ExitCode", "signal_hook", "clap::"],
        "only the command line reads arguments, sets exit codes and handles signals",
    ),
    (
        &[
            "ab",
            "audit",
            "bench",
            "console",
            "csv",
            "database",
            "driver-kit",
            "durability",
            "export",
            "faults",
            "find",
            "fleet",
            "import",
            "lab",
            "micro",
            "observe",
            "plan",
            "report",
            "run",
            "sweep",
            "tpcc",
            "verify",
            "was",
        ],
        RUNTIME,
        "sessions block: only the library of a protocol may bring a runtime, and `fleet` hides it in `bus.rs`",
    ),
];

#[test]
fn crates_use_nothing_of_the_system_that_their_rule_forbids() {
    let mut found = Vec::new();
    for (folders, words, rule) in RULES {
        for of in &WORKSPACE.crates {
            for file in &of.files {
                let path = format!("{}/{}", of.folder, file.path);
                // The library of NATS brings a runtime.
                if !folders.iter().any(|folder| is_within(&path, folder))
                    || path == "fleet/bus.rs" && *words == RUNTIME
                {
                    continue;
                }
                for word in words.iter().filter(|word| file.code().any(|line| uses(line, word))) {
                    found.push(format!("crates/{}/src/{} uses {word}: {rule}", of.folder, file.path));
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns true if a path, which begins with the folder of its crate, is a file or in a folder.
fn is_within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns true if a line uses a path, also as one of several in braces.
fn uses(line: &str, word: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let in_braces = |module: &str| {
        line.contains("use std::{") && line.split(|letter| !is_word(letter)).any(|part| part == module)
    };
    line.contains(word) || word.strip_prefix("std::").is_some_and(in_braces)
}
