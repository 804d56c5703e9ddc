//! The commands of the book and of the README are ones that the program takes. A shell splits them into arguments, as it
//! would for a reader.

use super::Cli;
use clap::Parser as _;
use lydite_architecture::book;
use std::fs;
use std::process::{Command, Stdio};

/// Ends a command in what the shell writes; no argument is that.
const END: &str = "\u{1}";
/// Every block runs with a `lydite` that writes its arguments down, and with no other program.
const PRELUDE: &str = r#"
PATH=/nonexistent
# What follows a pipe is not there.
trap '' PIPE
lydite() { printf '%s\0' "$@" $'\1' >&9; echo postgres://postgres@localhost/tpcc; }
kill() { :; }
exit() { :; }
URL=postgres://postgres@localhost/tpcc url=$URL
set -- "$URL"
"#;

/// Returns the blocks of commands in a page, each with the line on which it begins: whole blocks of `sh`, and of others
/// what stands behind a prompt.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let (mut blocks, mut language) = (Vec::new(), None::<&str>);
    for (number, line) in page.lines().enumerate() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            language = if language.is_some() { None } else { Some(fence.split(',').next().unwrap_or("")) };
            if language.is_some() {
                blocks.push((number + 1, String::new()));
            }
            continue;
        }
        let Some(language) = language else { continue };
        let (_, block) = blocks.last_mut().expect("an open block");
        // A command behind a prompt may go on in the next line.
        let goes_on = block.ends_with("\\\n");
        let command =
            if language == "sh" || goes_on { Some(line) } else { line.trim_start().strip_prefix("$ ") };
        block.extend(command.into_iter().flat_map(|command| [command, "\n"]));
    }
    blocks.retain(|(_, block)| block.contains("lydite "));
    blocks
}

/// Returns the arguments of each call of `lydite` in a block.
fn calls(block: &str) -> Vec<Vec<String>> {
    let place = tempfile::tempdir().expect("a directory");
    let arguments = place.path().join("arguments");
    let script = format!("exec 9>'{}'\n{PRELUDE}\n{block}\n", arguments.display());
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(place.path()).env_clear();
    // Blocks fail: no other program is found.
    let _failed =
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("bash");
    let written = fs::read_to_string(arguments).expect("arguments");
    let mut words = written.split_terminator('\0').map(String::from).peekable();
    let mut calls = Vec::new();
    while words.peek().is_some() {
        calls.push(words.by_ref().take_while(|word| word != END).collect());
    }
    calls
}

#[test]
fn every_command_of_the_book_and_of_the_readme_is_one_that_the_program_takes() {
    let root = book::root().expect("the root");
    let mut paths = book::pages().expect("the book");
    paths.push(root.join("README.md"));
    let (mut number, mut refused) = (0, Vec::new());
    for path in paths {
        let page = fs::read_to_string(&path).expect("a page");
        for (line, block) in blocks(&page) {
            let calls = calls(&block);
            let place = format!("{}:{line}", path.strip_prefix(&root).expect("within").display());
            if calls.is_empty() {
                refused.push(format!("{place}: the shell runs no command of this block"));
            }
            for call in calls {
                number += 1;
                if let Err(error) = Cli::try_parse_from([vec!["lydite".into()], call.clone()].concat())
                    && error.use_stderr()
                {
                    refused.push(format!(
                        "{place}: lydite {}\n  {}",
                        call.join(" "),
                        super::one_line(&error, &call)
                    ));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{} of {number}:\n{}", refused.len(), refused.join("\n"));
    assert!(number > 150, "only {number} commands are found");
}

#[test]
fn a_shell_splits_the_commands_of_a_block() {
    let page = "```sh\nlydite run \"$(lydite lab up pg)\" \\\n  -w 5   # words\nfor side in a b; do lydite check $side; done | cat\n```\n\
                ```console\n$ lydite plan \\\n    --nopm 5\nlydite said this\n```\n```text\nlydite run URL [FLAG]\n```\n";
    let found: Vec<(usize, Vec<Vec<String>>)> =
        blocks(page).into_iter().map(|(line, block)| (line, calls(&block))).collect();
    let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
    let first = ["lab up pg", "run postgres://postgres@localhost/tpcc -w 5", "check a", "check b"]
        .map(words)
        .to_vec();
    assert_eq!(found, [(1, first), (6, vec![words("plan --nopm 5")])]);
}
