//! The reference of the command line in the book, made from the arguments.

use super::Cli;
use clap_markdown::MarkdownOptions;
use std::fs;
use std::path::Path;

/// The variable of the environment that has the page written anew.
const RENEW: &str = "LYDITE_RENEW_CLI";

#[test]
fn the_reference_of_the_command_line_is_what_the_program_takes() {
    let options = MarkdownOptions::new().title("Command line".into()).show_footer(false);
    let page = clap_markdown::help_markdown_custom::<Cli>(&options);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/cli.md");
    if std::env::var_os(RENEW).is_some() {
        fs::write(&path, page).expect("the page is written");
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let differs = there.lines().zip(page.lines()).find(|(there, page)| there != page);
    assert!(
        there == page,
        "docs/src/cli.md is old: {differs:?}; renew it: {RENEW}=1 cargo test -p lydite --lib reference"
    );
}
