//! The book has each setting of each program.

use lydite_architecture::kept;
use lydite_import::{Kind, Row, TOOLS};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const PAGE: &str = "docs/src/import.md";
/// Heading of the part that is made from the tables.
const BEGIN: &str = "\n## Settings\n";

fn table(page: &mut String, rows: &[Row]) {
    page.push_str("\n| setting | | what becomes of it |\n|---|---|---|\n");
    for row in rows {
        let names: Vec<String> = row.each().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "| {} | {} | {} |", names.join(", "), row.kind().words(), row.meaning());
    }
}

#[test]
fn the_book_has_each_setting_of_each_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let there = fs::read_to_string(path).unwrap();
    let (text, _) = there.split_once(BEGIN).expect("the heading of the settings");
    let mut page =
        format!("{text}{BEGIN}\nThis part is made from the tables in `crates/import/src/tools/`.\n");
    for tool in TOOLS {
        let _ = writeln!(page, "\n### {}\n\nRecognized by {}.", tool.name, tool.mark);
        for difference in tool.differences {
            let _ = write!(page, "\n- {difference}");
        }
        page.push('\n');
        table(&mut page, tool.rows);
    }
    if let Err(error) = kept::compare(PAGE, &page) {
        panic!("{error}");
    }
}

#[test]
fn a_table_has_each_setting_once() {
    for (name, rows) in TOOLS.iter().map(|tool| (tool.name, tool.rows)) {
        let mut seen = BTreeSet::new();
        for row in rows {
            for setting in row.each() {
                assert!(
                    !setting.trim().is_empty() && seen.insert(setting.to_ascii_lowercase()),
                    "{name} has {setting} twice"
                );
            }
            assert!(row.kind() != Kind::NotUnderstood && !row.becomes.is_empty(), "{name}: {}", row.names);
        }
    }
}
