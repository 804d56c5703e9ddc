//! What a crate must not use: the workloads touch no system, and only the command line reads arguments, handles signals and
//! ends the process.

use crate::WORKSPACE;

/// Folders of crates, words that their sources must not have, and the rule.
const RULES: &[(&[&str], &[&str], &str)] = &[
    (
        &["tpcc", "micro"],
        &["std::fs", "std::net", "std::thread", "std::process", "std::env", "Instant", "SystemTime"],
        "a workload is data: it has no files, no network, no threads and no clock, so that its numbers are the same everywhere",
    ),
    (
        &["report"],
        &["std::net", "std::thread::spawn", "Command::new", "SystemTime::now"],
        "a rendering is a function of the document alone",
    ),
    (
        &[
            "audit", "bench", "database", "families", "faults", "fleet", "observe", "plan", "report",
            "verify", "was",
        ],
        &["process::exit", "ExitCode", "signal_hook", "clap::"],
        "only the command line reads arguments, sets exit codes and handles signals",
    ),
    (
        &[
            "audit", "bench", "database", "faults", "fleet", "micro", "observe", "plan", "report", "tpcc",
            "verify", "was",
        ],
        &["async fn", "async move", "tokio::"],
        "sessions block: only the library of a protocol may bring a runtime, and `fleet` hides it in `bus.rs`",
    ),
];

#[test]
fn crates_use_nothing_of_the_system_that_their_rule_forbids() {
    let mut found = Vec::new();
    for (folders, words, rule) in RULES {
        for of in WORKSPACE.crates.iter().filter(|of| folders.contains(&of.folder.as_str())) {
            for file in of.files.iter().filter(|file| file.path != "bus.rs") {
                // Tests at the end of a file may use what they like, and documentation may speak of it.
                let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                for word in words.iter().filter(|word| lines.clone().any(|line| line.contains(**word))) {
                    found.push(format!("crates/{}/src/{} uses {word}: {rule}", of.folder, file.path));
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
