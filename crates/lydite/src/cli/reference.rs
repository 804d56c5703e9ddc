//! Pages of the book that are made from the program: the reference of the command line, from the arguments, and the
//! parameters of connection strings, from their tables.

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

#[test]
fn the_book_has_each_parameter_of_each_connection_string() {
    let path = "docs/src/connection-strings.md";
    let marker = "<!-- The tables below are made from the program. -->\n";
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/connection-strings.md"));
    let page = page.expect("the page");
    let (text, _) = page.split_once(marker).expect("the marker");
    if let Err(error) = kept::compare(path, &format!("{text}{marker}{}", lydite_families::parameters_page()))
    {
        panic!("{error}");
    }
}
