//! Pages of the manual and completions of shells.

use crate::program::{lydite, scratch, text};
use std::fs;

#[test]
fn the_manual_has_a_page_for_each_command_that_the_help_lists() {
    let directory = scratch();
    let pages = directory.path().join("man");
    let written = lydite(&["man", text(&pages)]).code(0);
    assert!(written.stdout.contains("lydite.1"), "{written:?}");
    let help = lydite(&["--help"]).code(0).stdout;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .map_while(|line| line.strip_prefix("  "))
        // Further lines of a description are indented more.
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() > 15, "{help}");
    for command in commands {
        let page = fs::read_to_string(pages.join(format!("lydite-{command}.1"))).expect(command);
        let (_, synopsis) = page.split_once(".SH SYNOPSIS\n").expect("a synopsis");
        let synopsis = synopsis.lines().next().expect("a line").replace("\\fB", "").replace("\\fR", "");
        let help = lydite(&[command, "--help"]).code(0).stdout;
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).expect("the usage");
        assert_eq!(synopsis.replace('\\', ""), usage, "{command}");
    }
    let import = fs::read_to_string(pages.join("lydite-import.1")).expect("a page");
    assert!(import.contains("[OPTIONS] <FILE>..."), "an argument that may be repeated: {import}");
    let nested = fs::read_to_string(pages.join("lydite-lab-up.1")).expect("a page of a nested command");
    assert!(nested.contains("\\-\\-agents"), "{nested}");
    // Commands that Lydite starts itself have none.
    assert!(!pages.join("lydite-audit-load.1").exists());

    let file = directory.path().join("file");
    fs::write(&file, "").expect("a file");
    let refused = lydite(&["man", text(&file)]).code(2);
    assert!(refused.only_error().contains("name a directory"), "{refused:?}");
}

#[test]
fn each_shell_gets_completions_that_know_a_flag_of_run() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completions = lydite(&["completions", shell]).code(0);
        assert!(completions.stdout.contains("warehouses") && completions.stderr.is_empty(), "{shell}");
    }
    assert!(lydite(&["completions", "tcsh"]).code(2).only_error().contains("tcsh"));
}
