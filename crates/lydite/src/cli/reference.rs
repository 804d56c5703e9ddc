//! The reference of the command line in the book, made from the arguments.

use super::Cli;
use clap_markdown::MarkdownOptions;
use lydite_architecture::kept;

#[test]
fn the_reference_of_the_command_line_is_what_the_program_takes() {
    let options = MarkdownOptions::new().title("Command line".into()).show_footer(false);
    let page = clap_markdown::help_markdown_custom::<Cli>(&options);
    if let Err(error) = kept::compare("docs/src/cli.md", &page) {
        panic!("{error}");
    }
}
