//! A crate uses those that the table of ARCHITECTURE.md gives it and no other, so there is no circle among crates.

use crate::WORKSPACE;
use std::collections::BTreeSet;

#[test]
fn each_crate_uses_those_of_the_table_and_only_those_above_it() {
    let page = WORKSPACE.text("ARCHITECTURE.md").expect("ARCHITECTURE.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells.len() == 4 && cells[1].starts_with("`crates/"))
        .collect();
    let mut problems = Vec::new();
    let mut above: BTreeSet<String> = BTreeSet::new();
    for row in &rows {
        let (name, folder) =
            (row[0].trim_matches('`'), row[1].trim_matches('`').trim_start_matches("crates/"));
        let Some(of) = WORKSPACE.crates.iter().find(|of| of.folder == folder) else {
            problems.push(format!("crates/{folder} is in the table and not on disk"));
            continue;
        };
        if of.name != name {
            problems.push(format!("crates/{folder} is {}, and the table calls it {name}", of.name));
        }
        // A remark in brackets is for people.
        let may = row[3].split('(').next().unwrap_or_default();
        let may: BTreeSet<String> = match may.trim() {
            "–" => BTreeSet::new(),
            "all" => above.clone(),
            some => some.split(", ").map(str::trim).map(name_of).collect(),
        };
        let is_all = row[3] == "all";
        let missing = of.uses.iter().filter(|used| !may.contains(*used));
        problems.extend(missing.map(|used| format!("{name} uses {used}, and the table does not let it")));
        let idle = may.iter().filter(|used| !is_all && !of.uses.contains(*used));
        problems.extend(idle.map(|used| format!("the table lets {name} use {used}, and it does not")));
        let up = of.uses.iter().filter(|used| !above.contains(*used));
        problems
            .extend(up.map(|used| format!("{name} uses {used}, which does not stand above it in the table")));
        above.insert(name.to_owned());
    }
    let missing = WORKSPACE.crates.iter().filter(|of| !above.contains(&of.name));
    problems.extend(missing.map(|of| format!("the table lacks {}", of.name)));
    assert!(
        problems.is_empty(),
        "the table of crates in ARCHITECTURE.md and the manifests differ: {problems:#?}"
    );
}

/// Returns a crate's whole name.
fn name_of(short: &str) -> String {
    if short == "gemel" { short.to_owned() } else { format!("lydite-{short}") }
}
