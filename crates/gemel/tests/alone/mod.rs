//! The main function of a test program with one test and without the usual harness.

use std::process::ExitCode;

/// Runs the test of this name, unless the program's arguments select others or ask for a list. Supports these two
/// features of the usual harness only.
pub(crate) fn run(name: &str, test: impl FnOnce() -> ExitCode) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let mut names = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    if names.peek().is_some() && !names.any(|selected| name.contains(selected.as_str())) {
        return ExitCode::SUCCESS;
    }
    test()
}
